# SPDX-License-Identifier: Apache-2.0
"""The rules of model/legality.py as rtl/pass/descriptor_rules.sv; scripts/gen_pkg.py writes it."""

import ast
from collections.abc import Iterable

from eyrie.model.config import DEFAULT, sizes
from eyrie.model.legality import PARAMETERS, RULES
from scripts.generated import camel

_FIELDS = {
    "shape": "pass_i.array.shape",
    "loops": "pass_i.array.loops",
    "middle": "pass_i.array.depthwise",
    "drain": "pass_i.drain",
    "ppu": "pass_i.post.finish",
    "first": "pass_i.post.first",
    "second": "pass_i.post.second",
    "result": "pass_i.post.result",
    "ifmap": "pass_i",
}
_ENUMS = {"ArrayMode": "Array", "DrainMode": "Drain", "PoolMode": "Pool", "Operation": "Operation", "Destination": "To"}
_COMPARES = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "/",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.RShift: ">>",
}

_HEAD = """// SPDX-License-Identifier: Apache-2.0
// Written by scripts/gen_pkg.py from model/legality.py, which documents the rules: do not edit
// here.
//
// Checks the rules for the pending descriptor. Combinational.

module descriptor_rules
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
%s) (
  input  pass_config_t pass_i,
  output logic         illegal_o
);

  localparam int unsigned SETS = ROWS / SetRows;

  function automatic int unsigned links_within_set();
    links_within_set = 0;
    for (int unsigned row = 0; row < ROWS - 1; row++) begin
      if (row %% SetRows != SetRows - 1) links_within_set |= 1 << row;
    end
  endfunction
  localparam int unsigned LINKS_WITHIN_SET = links_within_set();

  logic [%d:0] broken;

"""
_TAIL = """
  assign illegal_o = broken != '0;

  logic unused_fields;
  assign unused_fields = ^pass_i;

endmodule
"""


def parameter_list(names: Iterable[str]) -> str:
    """Return accelerator parameters as a module declares them, given the names of their fields in AcceleratorConfig."""
    *others, last = names
    commas = dict.fromkeys(others, ",") | {last: ""}
    return "".join(
        f"  parameter int unsigned {name.upper()} = {getattr(DEFAULT, name)}{comma}  // {sizes()[name].meaning}\n"
        for name, comma in commas.items()
    )


def truth(node: ast.expr) -> str:
    """A rule's expression in SystemVerilog, as a bit."""
    match node:
        case ast.BoolOp():
            return f"({(' && ' if isinstance(node.op, ast.And) else ' || ').join(map(truth, node.values))})"
        case ast.UnaryOp(op=ast.Not()):
            return f"!{truth(node.operand)}"
        case ast.Compare(ops=[operation], comparators=[right]):
            return f"({number(node.left)} {_COMPARES[type(operation)]} {number(right)})"
        case ast.Attribute(value=ast.Name(id="used")):
            return f"pass_i.streams[Stream{node.attr.capitalize()}]"
    return f"({number(node)} != 32'd0)"


def number(node: ast.expr) -> str:
    """A rule's expression in SystemVerilog, as a number of 32 bits with the field's sign."""
    match node:
        case ast.BinOp():
            return f"({number(node.left)} {_OPERATORS[type(node.op)]} {number(node.right)})"
        case ast.IfExp():
            return f"({truth(node.test)} ? {number(node.body)} : {number(node.orelse)})"
        case ast.Constant():
            return f"32'd{node.value}"
        case ast.Name():
            return node.id
        case ast.Attribute(value=ast.Name(id=name)) if name in _ENUMS:
            return f"32'({_ENUMS[name]}{camel(node.attr)})"
        case ast.Attribute(value=ast.Name(id=name)) if name in _FIELDS:
            return f"32'({_FIELDS[name]}.{node.attr})"
        case ast.BoolOp() | ast.UnaryOp() | ast.Compare() | ast.Attribute():
            return f"32'({truth(node)})"
    raise ValueError(f"a rule's expression that has no translation: {ast.dump(node)}")


def _lines(number: int, text: str) -> str:
    """An assignment in lines of at most 100 columns."""
    lines, line = [], f"  assign broken[{number}] ="
    for word in f"!{text};".split(" "):
        if len(line) + 1 + len(word) > 100:
            lines.append(line)
            line = "     "
        line += f" {word}"
    return "\n".join([*lines, line]) + "\n"


def rules_text() -> str:
    parameters = parameter_list(name.lower() for name in PARAMETERS)
    rules = "".join(
        f"  // {rule.message}\n{_lines(n, truth(ast.parse(rule.holds, mode='eval').body))}"
        for n, rule in enumerate(RULES)
    )
    return _HEAD % (parameters, len(RULES) - 1) + rules + _TAIL
