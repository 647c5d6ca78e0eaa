# SPDX-License-Identifier: Apache-2.0
"""The choice of the interpreter for an operator without a golden function."""

from math import prod

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.frontend.tflite.contents import operator_number
from eyrie.compiler.frontend.tflite.cut import CALLERS, Cut, cut
from eyrie.compiler.frontend.tflite.reader import STORED, Call
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.operators.interpreted import Interpreted, InterpretedFunction
from eyrie.model.errors import InputError
from eyrie.model.interpreters import APART, Rejected
from eyrie.model.operators.reference import Reference
from eyrie.model.operators.tables import VALUES

_RANDOM = ("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL")
# Operators whose results depend on more than inputs and variables.
_HIDDEN = {
    **dict.fromkeys(
        ("SignalDelay", "SignalFramer", "SignalOverlapAdd", "SignalStacker", "CIRCULAR_BUFFER"),
        "tflite-micro keeps its state to itself",
    ),
    **dict.fromkeys(_RANDOM, "it draws random numbers"),
}
# Functions of each value, where they have no golden function
_FUNCTIONS = ("COS", "ELU", "EXP", "GELU", "LOG", "RSQRT", "SIGN", "SIN", "SQRT", "SQUARE")
_UNKNOWN = ("unresolved custom op", "Didn't find op")  # in LiteRT's reasons
_WRONG_SUMS = ("int8", "int16")  # types whose SUM LiteRT's reference kernel computes wrongly


def interpreted(call: Call, reason: str) -> tuple[Cut, Interpreted]:
    """Return a call of an operator as a model of its own, and the operator that runs it. reason: why it has no golden
    function

    Raise Unsupported if no interpreter runs it.
    """
    if call.name in _HIDDEN:
        raise Unsupported(f"{reason}, and {_HIDDEN[call.name]}")
    _check_types(call)
    if call.name in CALLERS:
        _check_subgraphs(call)
    made = cut(call.reader, call.operator, call.name)
    operator = Interpreted(
        operator=call.name,
        interpreter=_reference(made, call, reason).value,
        reason=reason,
        variables=len(made.kept),
        work=_work(call),
        taken=made.taken + made.kept,
        made=made.made + made.kept,
        model=np.frombuffer(made.data, np.uint8),
    )
    indices = (*call.inputs, *call.outputs)
    if call.name in _FUNCTIONS and [call.reader.stored_type(index) for index in indices] == ["int8", "int8"]:
        entries = _entries(operator, call.reader.shape(call.inputs[0]))
        return made, InterpretedFunction(**vars(operator), entries=entries)
    return made, operator


def _entries(operator: Interpreted, shape: tuple[int, ...]) -> np.ndarray:
    """Return the results of a function of each value, int8 [256], or an empty array if the interpreter rejects one."""
    runs = -(-len(VALUES) // max(prod(shape), 1))
    values = np.resize(VALUES, (runs, *shape)).astype(np.int8)
    try:
        made = [operator.compute((each,))[0] for each in values]
    except InputError:
        return np.zeros(0, np.int8)
    return np.concatenate(made, axis=None)[: len(VALUES)]


def _check_subgraphs(call: Call) -> None:
    """Raise Unsupported if subgraphs that operators call may keep a state or draw random numbers."""
    model = call.reader.model
    codes = {schema.BuiltinOperator.VAR_HANDLE, *(getattr(schema.BuiltinOperator, name) for name in _RANDOM)}
    once = [operator.builtinOptions for operator in model.subgraphs[0].operators]
    begins = {options.initSubgraphIndex for options in once if isinstance(options, schema.CallOnceOptionsT)}
    for number, subgraph in enumerate(model.subgraphs[1:], 1):
        keeps = any(tensor.isVariable for tensor in subgraph.tensors)
        used = {operator_number(model.operatorCodes[operator.opcodeIndex]) for operator in subgraph.operators}
        if number not in begins and (keeps or used & codes):
            raise Unsupported(f"subgraph {number}, which it may call, keeps a state or draws random numbers")


def _check_types(call: Call) -> None:
    for index in (*call.inputs, *call.outputs):
        if index >= 0 and call.reader.stored_type(index) not in STORED and not call.reader.is_constant(index):
            raise Unsupported(f"tensor {call.reader.name(index)} is {call.reader.stored_type(index)}")


def _reference(made: Cut, call: Call, reason: str) -> Reference:
    """Return the interpreter of a call. The reader gets the shapes of its outputs if they differ from the file's.

    It is LiteRT; or tflite-micro, which believes the shapes of the file, if LiteRT does not know the operator or gets
    its result wrong, or does not know the shapes before a run.
    """
    ends, said = (made.taken + made.kept, made.made), list[str]()
    unknown = call.name == "SUM" and call.reader.stored_type(call.inputs[0]) in _WRONG_SUMS
    try:
        if unknown:
            raise Rejected("its result is wrong")
        shapes = [end.shape for end in APART.outputs(Reference.LITERT, made.data, ends)]
        if None not in shapes:
            for index, shape in zip(call.outputs, shapes, strict=True):
                call.reader.set_shape(index, shape or ())
            return Reference.LITERT
    except Rejected as rejection:
        said = [f"{Reference.LITERT}: {rejection}"]
        unknown = unknown or any(each in str(rejection) for each in _UNKNOWN)
    open_shapes = any(map(call.reader.has_open_shape, call.outputs))
    if (unknown or not said) and not made.kept and not open_shapes:  # it gives no access to variables
        try:
            APART.outputs(Reference.MICRO, made.data, ends)
            return Reference.MICRO
        except Rejected as rejection:
            said += [f"{Reference.MICRO}: {rejection}"] if unknown else []
    if said:
        raise Unsupported(f"{reason}, and no interpreter runs it ({'; '.join(said)})")
    if open_shapes:
        raise Unsupported(f"{reason}; the shape of its output is known at run time only")
    return Reference.LITERT


def _work(call: Call) -> int:
    """Return the number of MACs of a call with weights, else of output values."""
    reader, made = call.reader, sum(prod(call.reader.shape(index)) for index in call.outputs)
    shapes = [reader.shape(index) for index in call.inputs if index >= 0 and reader.is_constant(index)]
    if not shapes or not call.outputs:
        return made
    weights = max(shapes, key=prod)
    if call.name in ("CONV_2D", "FULLY_CONNECTED", "CONV_3D"):
        return made * prod(weights[1:])
    if call.name == "DEPTHWISE_CONV_2D":
        return made * prod(weights[1:3])
    if call.name == "TRANSPOSE_CONV":
        return prod(reader.shape(call.inputs[2])) * prod(weights[:3])
    if call.name in ("UNIDIRECTIONAL_SEQUENCE_LSTM", "SVDF"):
        steps = prod(reader.shape(call.outputs[0])[:-1])
        return steps * sum(prod(shape) for shape in shapes if len(shape) == 2)
    return made
