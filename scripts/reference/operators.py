# SPDX-License-Identifier: Apache-2.0
"""The page of the operators: the names of an operator in each front end, and the unit that runs it.

OPERATORS groups the names; `registered` reads the names from the front ends, without importing their packages. A page
is written only if both have the same names.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

from eyrie.compiler.frontend.tflite.registry import IMPORTERS
from scripts.reference.markdown import code, page, table

FRONTEND = Path(__file__).resolve().parents[2] / "compiler" / "frontend"
ATEN = "aten::"


@dataclass(frozen=True)
class Row:
    """unit: what runs the operator; the other fields: its names, separated by blanks. pytorch: without `aten::`."""

    operator: str
    unit: str
    tflite: str = ""
    onnx: str = ""
    pytorch: str = ""
    tvm: str = ""
    library: str = ""


ARRAY, PPU, MOVE, HOST = "array", "PPU", "data movement", "host"
TABLE = "PPU (lookup table)"
OPERATORS = (
    Row(
        "convolution",
        ARRAY,
        "CONV_2D DEPTHWISE_CONV_2D",
        "Conv QLinearConv",
        "conv1d conv2d convolution",
        "nn.conv1d nn.conv2d",
        "eyrie_convolution",
    ),
    Row(
        "fully connected layer",
        ARRAY,
        "FULLY_CONNECTED",
        "Gemm MatMul QGemm QLinearMatMul",
        "linear",
        "matmul",
        "eyrie_fully_connected",
    ),
    Row(
        "batch normalisation",
        "array (part of the layer before it, if possible)",
        "",
        "BatchNormalization",
        "batch_norm",
    ),
    Row("addition", PPU, "ADD", "Add Sum QLinearAdd", "add", "add", "eyrie_addition"),
    Row("subtraction", PPU, "SUB", "Sub", "sub", "subtract"),
    Row("multiplication, square", PPU, "MUL", "Mul QLinearMul Pow", "mul", "multiply"),
    Row("division by a constant", PPU, "", "Div", "div", "divide"),
    Row("maximum, minimum", PPU, "MAXIMUM MINIMUM", "Max Min", "maximum minimum", "maximum minimum"),
    Row("PReLU", PPU, "PRELU", "PRelu", "prelu"),
    Row(
        "average pooling",
        PPU,
        "AVERAGE_POOL_2D",
        "AveragePool GlobalAveragePool QLinearAveragePool QLinearGlobalAveragePool",
        "avg_pool1d avg_pool2d adaptive_avg_pool1d adaptive_avg_pool2d",
        "nn.avg_pool1d nn.avg_pool2d nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d",
        "eyrie_pooling",
    ),
    Row(
        "max pooling",
        PPU,
        "MAX_POOL_2D",
        "MaxPool GlobalMaxPool",
        "max_pool1d max_pool2d",
        "nn.max_pool1d nn.max_pool2d",
        "eyrie_pooling",
    ),
    Row("mean", "PPU; over channels: array", "MEAN", "ReduceMean", "mean", "mean"),
    Row(
        "ReLU and clamps",
        "epilogue of the layer before it, or PPU",
        "RELU RELU6 RELU_N1_TO_1",
        "Relu Clip",
        "relu relu6 hardtanh clamp clamp_min clamp_max",
        "nn.relu nn.relu6 clip",
        "eyrie_activation",
    ),
    Row(
        "LeakyReLU, sigmoid, tanh, hard swish, ELU, exp",
        TABLE,
        "LEAKY_RELU LOGISTIC TANH HARD_SWISH ELU EXP",
        "LeakyRelu QLinearLeakyRelu Sigmoid QLinearSigmoid Tanh HardSwish Elu Exp",
        "leaky_relu sigmoid tanh hardswish elu exp",
        "nn.leakyrelu sigmoid tanh exp",
        "eyrie_activation",
    ),
    Row(
        "other functions of one value",
        TABLE,
        "ABS",
        "Abs Neg Sqrt Erf Gelu HardSigmoid Softplus Mish",
        "abs neg sqrt erf gelu hardsigmoid softplus mish silu",
        "abs negative sqrt erf nn.gelu nn.gelu_tanh nn.softplus nn.silu",
    ),
    Row(
        "shapes and orders",
        MOVE,
        "RESHAPE SQUEEZE EXPAND_DIMS TRANSPOSE",
        "Reshape Flatten Squeeze Unsqueeze Transpose DepthToSpace",
        "flatten view reshape _unsafe_view unsqueeze squeeze unflatten permute transpose",
        "reshape flatten squeeze expand_dims nn.batch_flatten permute_dims",
    ),
    Row("padding", MOVE, "PAD PADV2 MIRROR_PAD", "Pad", "constant_pad_nd pad", "nn.pad"),
    Row(
        "parts and joins",
        MOVE,
        "SLICE STRIDED_SLICE SPLIT SPLIT_V GATHER TILE CONCATENATION PACK UNPACK",
        "Slice Split Gather Concat QLinearConcat",
        "slice split split_with_sizes chunk cat concat",
        "strided_slice concat",
    ),
    Row("nearest-neighbour resize", MOVE, "RESIZE_NEAREST_NEIGHBOR", "Resize", "upsample_nearest2d"),
    Row("bilinear resize", HOST, "RESIZE_BILINEAR", "Resize", "upsample_bilinear2d"),
    Row("softmax", HOST, "SOFTMAX", "Softmax QLinearSoftmax", "softmax", "nn.softmax", "eyrie_softmax"),
    Row("argmax", HOST, "ARG_MAX"),
    Row(
        "quantisation",
        "int8 to int8: PPU; from or to float32: host",
        "QUANTIZE DEQUANTIZE",
        "QuantizeLinear DequantizeLinear",
        "quantized_decomposed::quantize_per_tensor quantized_decomposed::dequantize_per_tensor "
        "quantized_decomposed::quantize_per_channel quantized_decomposed::dequantize_per_channel",
        "quantize dequantize",
    ),
    Row("no operation", "removed", "", "Identity Dropout Cast", "dropout contiguous clone detach alias"),
    Row("dynamic quantisation", "rejected", "", "DynamicQuantizeLinear ConvInteger MatMulInteger"),
)


# ---- Names of the front ends ----


def registered(path: Path, variable: str = "OPERATORS") -> set[str]:
    """Return the keys of a dictionary of a module. Keys: texts, names of texts, comprehensions, other dictionaries."""
    constants: dict[str, str] = {}
    for module in (path, *path.parent.glob("steps.py")):
        constants |= _texts(ast.parse(module.read_text()))
    for node in ast.parse(path.read_text()).body:
        target = (
            node.target
            if isinstance(node, ast.AnnAssign)
            else node.targets[0]
            if isinstance(node, ast.Assign)
            else None
        )
        if isinstance(target, ast.Name) and target.id == variable and isinstance(node.value, ast.Dict):
            return {name for pair in zip(node.value.keys, node.value.values) for name in _keys(path, *pair, constants)}
    raise ValueError(f"{path}: no dictionary {variable}")


def _keys(path: Path, key: ast.expr | None, value: ast.expr, constants: dict[str, str]) -> set[str]:
    if key is not None:
        return {eval(compile(ast.Expression(key), path, "eval"), {}, constants)}
    if isinstance(value, ast.Name):  # **MOVES
        return registered(path.with_name(f"{value.id.lower()}.py"), value.id)
    if isinstance(value, ast.Call):  # **dict.fromkeys(names, function)
        return set(ast.literal_eval(value.args[0]))
    assert isinstance(value, ast.DictComp)
    names = ast.ListComp(value.key, value.generators)
    return set(eval(compile(ast.fix_missing_locations(ast.Expression(names)), path, "eval")))


def _texts(tree: ast.Module) -> dict[str, str]:
    """Return the texts that a module assigns to names, one by one or as a tuple."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names, values = node.targets[0], node.value
            pairs = (
                zip(names.elts, values.elts)
                if isinstance(names, ast.Tuple) and isinstance(values, ast.Tuple)
                else [(names, values)]
            )
            for name, value in pairs:
                if isinstance(name, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found[name.id] = value.value
    return found


def front_ends() -> dict[str, set[str]]:
    """Return the names that each front end knows, by the field of Row."""
    onnx = FRONTEND / "onnx"
    return {
        "tflite": set(IMPORTERS),
        "onnx": {
            name
            for family in ("weighted", "elementwise", "pooling", "movement", "qlinear")
            for name in registered(onnx / f"{family}.py")
        },
        "pytorch": {name.removeprefix(ATEN) for name in registered(FRONTEND / "pytorch" / "operators.py")},
        "tvm": registered(FRONTEND / "tvm" / "operators.py"),
    }


def text() -> str:
    """Write the operators. Raises ValueError if a front end knows other names than OPERATORS."""
    for field, names in front_ends().items():
        listed = {name for row in OPERATORS for name in getattr(row, field).split()}
        if differ := sorted(listed ^ names):
            raise ValueError(f"scripts/reference/operators.py and the front end {field} differ in {', '.join(differ)}")
    columns = ("tflite", "onnx", "pytorch", "tvm", "library")
    rows = [
        (row.operator, row.unit, *(", ".join(map(code, getattr(row, column).split())) for column in columns))
        for row in OPERATORS
    ]
    return page(
        "Operators",
        "Each row is an operator, the unit that runs it, and its names in the front ends. An operator that the unit "
        "cannot run with its shape or its attributes runs on the host, or stays in PyTorch or TVM; the report of the "
        "compiler names it with the reason. A file with any other operator is rejected, except for custom operators: "
        "they run on the host as Python functions. `eyrie c` writes every operator of the TensorFlow Lite column as "
        "portable C.",
        "`scripts/reference/operators.py`, which is checked against the front ends in `compiler/frontend/`",
        table(
            ("operator", "unit", "TensorFlow Lite", "ONNX", "PyTorch (ATen)", "TVM (Relax)", "operator library"), rows
        ),
        "Array: the PE array. PPU: the post-processing unit, either after a layer of the array or in a vector pass. "
        "Data movement: address generators of the DMA and of the streams, or no work at all if the neighbour layer "
        "reads or writes in the new order. Host: the CPU, also for `eyrie_softmax` of the operator library.",
    )
