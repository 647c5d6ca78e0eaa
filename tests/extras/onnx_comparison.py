# SPDX-License-Identifier: Apache-2.0
"""Eyrie's golden model against onnxruntime: each operator on onnxruntime's own intermediate values, and the whole.

    .venv/bin/python -m tests.extras.onnx_comparison MODEL.onnx [IMAGES]

prints a row for each operator: how many outputs are equal, how many are off by one, by how much the worst is off.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from eyrie.compiler.frontend.file import load
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Constant, Quantized, Tensor
from eyrie.model.operators.quantization import from_uint8


@dataclass(frozen=True)
class Row:
    """One operator of the graph; off: by how much outputs are off, int [N]."""

    node: Node
    off: np.ndarray

    @property
    def equal(self) -> float:
        return float((self.off == 0).mean())

    @property
    def within_one(self) -> float:
        return float((self.off <= 1).mean())

    def __str__(self) -> str:
        return (
            f"{self.node.where:6}{self.node.operator.name:20}{self.off.size:10,}{100 * self.equal:9.3f} %"
            f"{100 * self.within_one:9.3f} %{self.off.max():6}"
        )


@dataclass(frozen=True)
class Comparison:
    """rows: by operator, of those whose result onnxruntime has, too; unseen: the others.

    same    bool [N]: of each image, whether both have the same largest output
    margin  [N]: by how much of the output's range onnxruntime's largest is more than its second
    """

    rows: tuple[Row, ...]
    unseen: tuple[Node, ...]
    same: np.ndarray
    margin: np.ndarray

    @property
    def within_one(self) -> float:
        """Of all operators' outputs."""
        off = np.concatenate([row.off for row in self.rows])
        return float((off <= 1).mean())

    def __str__(self) -> str:
        head = f"{'':6}{'operator':20}{'outputs':>10}{'equal':>11}{'within 1':>11}{'worst':>6}"
        last = [
            f"not seen: {', '.join(f'{node.where} {node.operator.name}' for node in self.unseen) or 'none'}",
            f"all operators: {100 * self.within_one:.3f} % within one; same class: {100 * self.same.mean():.1f} %",
        ]
        return "\n".join([head, *map(str, self.rows), *last])


def compare(path: Path, images: np.ndarray) -> Comparison:
    """images: float32 [N, ...], of the network's one input. N: a multiple of the file's batch."""
    graph, model = load(path), onnx.load(path)
    runner = _everything(model)
    values, outputs = _run(runner, images)
    rows, unseen = [], []
    own: dict[str, np.ndarray] = {}
    for node in graph.nodes:
        off = _off(node, values, own, len(images))
        if off is None:
            unseen.append(node)
        else:
            rows.append(Row(node, off))
    found = np.stack([graph.run(image[None])[graph.output.name].reshape(-1) for image in images])
    outputs = outputs.reshape(len(images), -1)
    ranked = np.sort(outputs, 1)
    return Comparison(
        tuple(rows),
        tuple(unseen),
        found.argmax(1) == outputs.argmax(1),
        (ranked[:, -1] - ranked[:, -2]) / np.ptp(outputs),
    )


def _everything(model: onnx.ModelProto) -> tuple[onnxruntime.InferenceSession, onnxruntime.InferenceSession]:
    """One that has all values as outputs, without onnxruntime's own changes, and the plain one."""
    plain = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    there = {each.name for each in whole.graph.output}
    whole.graph.output.extend(
        onnx.ValueInfoProto(name=name)
        for node in whole.graph.node
        for name in node.output
        if name and name not in there
    )
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(whole.SerializeToString(), options, providers=["CPUExecutionProvider"]), plain


def _run(sessions: tuple, images: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """All values by name, of all images; the outputs of the plain session."""
    whole, plain = sessions
    (end,) = plain.get_inputs()
    batch = end.shape[0] if isinstance(end.shape[0], int) else 1
    names = [each.name for each in whole.get_outputs()]
    runs, outputs = [], []
    for first in range(0, len(images), batch):
        given = {end.name: images[first : first + batch]}
        runs.append(whole.run(None, given))
        outputs.append(plain.run(None, given)[0])
    values = {name: np.concatenate(parts) for name, *parts in zip(names, *runs) if np.ndim(parts[0])}
    return values | {end.name: images}, np.concatenate(outputs)


def _off(node: Node, values: dict[str, np.ndarray], own: dict[str, np.ndarray], count: int) -> np.ndarray | None:
    """By how much a node's results are off on onnxruntime's values; None where those are not there."""
    (output,) = node.outputs
    taken = []
    for tensor in node.inputs:
        theirs = tensor.data if isinstance(tensor, Constant) else _theirs(tensor, values)
        taken.append(own[tensor.name] if theirs is None else theirs)
    made = []
    for number in range(count):
        given = tuple(
            each if isinstance(tensor, Constant) else each[number : number + 1].reshape(tensor.shape)
            for tensor, each in zip(node.inputs, taken)
        )
        made.append(node.run(given)[0].reshape(1, *output.shape[1:]))
    own[output.name] = np.concatenate(made)
    theirs = _theirs(output, values)
    if theirs is None:
        return None
    if output.dtype != "int8":
        off = np.abs(own[output.name] - theirs.reshape(own[output.name].shape)) / max(np.abs(theirs).max(), 1e-9)
        return (off * 2**16).astype(int).ravel()
    return np.abs(own[output.name].astype(int) - theirs.reshape(own[output.name].shape).astype(int)).ravel()


def _theirs(tensor: Tensor, values: dict[str, np.ndarray]) -> np.ndarray | None:
    """onnxruntime's values of a tensor, [N, ...], as codes of its scale and with its axes."""
    base, _, rest = tensor.name.partition("#")
    axes = tuple(int(digit) for digit in rest.partition(".")[0])
    if base not in values or (rest and sorted(axes) != list(range(len(tensor.shape)))):
        return None
    found = values[base]
    if found.dtype == np.uint8:
        found = from_uint8(found)
    elif found.dtype.kind == "f" and isinstance(tensor, Quantized):
        scale = tensor.quantization
        steps = np.rint(found / np.float32(scale.scale)) + scale.zero_point
        found = np.clip(steps, -128, 127).astype(np.int8)
    return found.transpose(axes) if axes else found


def random_images(path: Path, count: int, seed: int) -> np.ndarray:
    """Noise that the input's scale has room for."""
    graph = load(path)
    scale: Quantized = graph.nodes[0].outputs[0]
    rng = np.random.default_rng([seed, 99])
    codes = rng.integers(-128, 128, (count, *graph.input.shape[1:]))
    return ((codes - scale.zero_point) * scale.quantization.scale).astype(np.float32)


def weighted(graph: Graph) -> int:
    """How many layers with weights there are."""
    return sum(node.macs > 0 for node in graph.nodes)


if __name__ == "__main__":
    model_path = Path(sys.argv[1])
    print(compare(model_path, random_images(model_path, int(sys.argv[2]) if sys.argv[2:] else 16, 1)))
