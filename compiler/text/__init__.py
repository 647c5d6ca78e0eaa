# SPDX-License-Identifier: Apache-2.0
"""The compiler's data at each stage as text, which is read back (docs/reference/ir.md).

    stage  = comment? assignment*            assignment = name "=" value
    value  = number | string | None | True | False | inf | nan | name | Enumeration.MEMBER
           | "(" value, .. ")" | "[" value, .. "]" | "{" value: value, .. "}" | "frozenset" "(" "[" value, .. "]" ")"
           | Class "(" field "=" value, .. ")"            fields that have their default are left out
           | "array" "(" type, "[" number, .. "]" ")"     or  "array" "(" type, shape, base64 of zlib ")"
                                                           or  "array" "(" type, shape, offset in a binary file ")"

Names are given to what several places share, and to what would make a long line; they are given before they are used.
"""
