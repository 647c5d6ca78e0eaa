# SPDX-License-Identifier: Apache-2.0
"""A function of Relax as a list of operators, with the operators of the functions that it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from tvm import ir, relax
from tvm.tirx import FloatImm, IntImm

CODE_GENERATOR = "eyrie"  # the name by which Relax knows it
QUANTIZE, DEQUANTIZE = "quantize", "dequantize"


@dataclass(frozen=True)
class Value:
    """An argument of a function or the result of an operator.

    shape: sizes, as text if they are known only at run time; dtype: "" if it is not a tensor of known rank
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: str


@dataclass(frozen=True, eq=False)
class Step:
    """An operator.

    operands: Values, constants (arrays), numbers, tuples of these, None for others; part: the function for the code
    generator that contains the operator, or ""; unit: the number of the function within that one
    """

    operator: str
    operands: tuple[object, ...]
    attributes: object
    made: Value
    place: int
    part: str = ""
    unit: int = 0

    @property
    def where(self) -> str:
        return f"#{self.place}"

    @property
    def taken(self) -> tuple[Value, ...]:
        return tuple(values_in(self.operands))


@dataclass(frozen=True, eq=False)
class Steps:
    """A function. taken, made: its arguments and its results"""

    taken: tuple[Value, ...]
    steps: tuple[Step, ...]
    made: tuple[Value, ...]


def values_in(operands: tuple[object, ...]) -> Iterator[Value]:
    for each in operands:
        if isinstance(each, Value):
            yield each
        elif isinstance(each, tuple):
            yield from values_in(each)


def steps_of(function: relax.Function, module: ir.IRModule | None = None) -> Steps:
    """Return the operators of a function. module: has the functions for the code generator that it calls"""
    reading = _Reading(module)
    taken = tuple(reading.value(parameter) for parameter in function.params)
    made = reading.function(function, taken, "", 0)
    return Steps(taken, tuple(reading.steps), tuple(values_in((made,))))


def steps_of_match(root: relax.Var, bindings: Mapping[relax.Var, ir.Expr]) -> Steps:
    """Return the operators of the expressions that a pattern matches. root: the result of the last one"""
    reading = _Reading(None)
    values: dict[object, object] = {}

    def settle(variable: relax.Var) -> None:
        if variable not in values:
            if variable not in bindings:
                taken.append(reading.value(variable))
                values[variable] = taken[-1]
                return
            for each in _variables(bindings[variable]):
                settle(each)
            values[variable] = reading.bound(variable, bindings[variable], values, "", 0)

    taken: list[Value] = []
    settle(root)
    return Steps(tuple(taken), tuple(reading.steps), tuple(values_in((values[root],))))


def _variables(expression: ir.Expr) -> Iterator[relax.Var]:
    if isinstance(expression, relax.Var):
        yield expression
    for each in getattr(expression, "args", None) or getattr(expression, "fields", None) or ():
        yield from _variables(each)


class _Reading:
    def __init__(self, module: ir.IRModule | None) -> None:
        self.module = module
        self.steps: list[Step] = []
        self._names: set[str] = set()
        self._units = 0

    def function(self, function: relax.Function, arguments: tuple[object, ...], part: str, unit: int) -> object:
        """Add the operators of a function, and return its result."""
        values: dict[object, object] = dict(zip(function.params, arguments, strict=True))
        body = function.body
        for block in body.blocks:
            for binding in block.bindings:
                values[binding.var] = self.bound(binding.var, binding.value, values, part, unit)
        return self._operand(body.body, values)

    def bound(
        self, variable: relax.Var, expression: ir.Expr, values: Mapping[object, object], part: str, unit: int
    ) -> object:
        if isinstance(expression, relax.Function):
            return expression
        if not isinstance(expression, ir.Call):
            made = self._operand(expression, values)
            return made if made is not None else self._step(type(expression).__name__, (), None, variable, part, unit)
        arguments = tuple(self._operand(each, values) for each in expression.args)
        called = self._called(expression.op, values)
        if called is None:
            return self._step(_name(expression), arguments, expression.attrs, variable, part, unit)
        if called.attrs and "Composite" in called.attrs:
            self._units += 1
            unit = self._units
        return self.function(called, arguments, part or _part(expression.op), unit)

    def _called(self, called: object, values: Mapping[object, object]) -> relax.Function | None:
        """Return the function that a call refers to."""
        if isinstance(called, ir.GlobalVar):
            function = self.module[called] if self.module else None
            attributes = getattr(function, "attrs", None)
            return function if attributes and attributes.get("Codegen") == CODE_GENERATOR else None
        found = values.get(called) if isinstance(called, relax.Var) else None
        return found if isinstance(found, relax.Function) else None

    def _step(
        self, operator: str, operands: tuple[object, ...], attributes: object, variable: relax.Var, part: str, unit: int
    ) -> Value:
        made = self.value(variable)
        self.steps.append(Step(operator, operands, attributes, made, len(self.steps), part, unit))
        return made

    def value(self, variable: relax.Var) -> Value:
        """Return the value of a variable, under a unique name."""
        name, count = variable.name, 1
        while name in self._names:
            count += 1
            name = f"{variable.name}.{count}"
        self._names.add(name)
        return Value(name, *_form(variable.ty))

    def _operand(self, expression: ir.Expr, values: Mapping[object, object]) -> object:
        if isinstance(expression, relax.Var):
            return values[expression]
        for kind, read in _LITERALS:
            if isinstance(expression, kind):
                return read(expression)
        if isinstance(expression, relax.Tuple):
            return tuple(self._operand(each, values) for each in expression.fields)
        if isinstance(expression, relax.TupleGetItem):
            source = self._operand(expression.tuple_value, values)
            return source[expression.index] if isinstance(source, tuple) else None
        return None


def _array(expression: ir.GenericConst) -> np.ndarray | None:
    return expression.value.numpy() if hasattr(expression.value, "numpy") else None


_LITERALS: tuple[tuple[type, Callable[[ir.Expr], object]], ...] = (
    (ir.GenericConst, _array),
    (relax.ShapeExpr, lambda expression: tuple(map(_size, expression.values))),
    (IntImm, lambda expression: expression.value),
    (FloatImm, lambda expression: expression.value),
)


def _form(type_: object) -> tuple[tuple[int | str, ...], str]:
    if not isinstance(type_, relax.TensorType) or not isinstance(type_.shape, relax.ShapeExpr):
        return (), ""
    return tuple(map(_size, type_.shape.values)), str(type_.dtype)


def _size(size: object) -> int | str:
    return int(size) if isinstance(size, (int, IntImm)) else str(size)


def _name(call: ir.Call) -> str:
    """Return the operator's name without "relax."; a call of a function has the function's name."""
    if isinstance(call.op, ir.Op):
        name = call.op.name.removeprefix("relax.")
        inner = call.args[0] if name.startswith("call_") and call.args else None
        return getattr(inner, "name_hint", None) or getattr(inner, "global_symbol", None) or name
    return getattr(call.op, "name_hint", "call")


def _part(called: object) -> str:
    return called.name_hint if isinstance(called, ir.GlobalVar) else ""
