# SPDX-License-Identifier: Apache-2.0
"""C identifiers."""

import re
from collections.abc import Iterable

KEYWORDS = frozenset(  # of C and, for the header, of C++
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl "
    "concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default "
    "delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long "
    "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void "
    "volatile wchar_t while xor xor_eq main errno linux unix".split()
)  # the last two are macros

HEADERS = ("stddef", "stdint", "string")  # that the C files include


def identifier(text: str, otherwise: str) -> str:
    """Return a C identifier for a text, unlike a macro's name; otherwise: the name if no letter is legal."""
    word = re.sub(r"_+", "_", re.sub(r"\W", "_", text, flags=re.ASCII)).strip("_")
    word = word or otherwise
    word = f"{otherwise}_{word}" if word[0].isdigit() else word
    word = word.lower() if word.isupper() else word
    return f"{word}_" if word in KEYWORDS or word.lower() in HEADERS else word


def unique(words: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return the words, with numbers added so that no two are equal and none is in `taken`; case is ignored."""
    seen, found = {word.lower() for word in taken}, []
    for word in words:
        candidates = (word if number == 1 else f"{word}_{number}" for number in range(1, 1 << 30))
        found.append(next(candidate for candidate in candidates if candidate.lower() not in seen))
        seen.add(found[-1].lower())
    return found


def remark(text: str) -> str:
    """Return the text for a comment, without characters that could end it."""
    return re.sub(r"[^\w .,:;/\[\]()+=#-]", "_", text, flags=re.ASCII).replace("//", "/")
