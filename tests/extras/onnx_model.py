# SPDX-License-Identifier: Apache-2.0
"""Small ONNX files, node by node."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Model:
    """A small file: one input x, and operators with random weights."""

    def __init__(
        self,
        seed: int,
        shape: tuple[int, ...] = (1, 6, 8, 10),
        unsigned: bool = False,
        source: TensorProto.DataType = TensorProto.FLOAT,
    ) -> None:
        self.source = source  # the type of x
        self.rng, self.shape, self.kind = np.random.default_rng([seed, 3]), shape, np.uint8 if unsigned else np.int8
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}

    def constant(self, values: object) -> str:
        name = f"constant{len(self.constants)}"
        self.constants[name] = np.asarray(values)
        return name

    def add(self, kind: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: object) -> str:
        names = [f"{kind}{len(self.nodes)}_{n}" for n in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0]

    def scale(self, scale: float, zero: int) -> tuple[str, str]:
        shift = 128 if self.kind == np.uint8 else 0
        return self.constant(np.float32(scale)), self.constant(self.kind(zero + shift))

    def through(self, name: str, scale: float, zero: int = 0) -> str:
        by = self.scale(scale, zero)
        return self.add("DequantizeLinear", self.add("QuantizeLinear", name, *by), *by)

    def weights(self, *shape: int, axis: int = 0) -> str:
        codes = self.constant(self.rng.integers(-127, 128, shape).astype(np.int8))
        scale = self.rng.uniform(0.5, 1.5, shape[axis]).astype(np.float32) / 127 / np.sqrt(np.prod(shape[1:]))
        return self.add(
            "DequantizeLinear",
            codes,
            self.constant(scale.astype(np.float32)),
            self.constant(np.zeros(shape[axis], np.int8)),
            axis=axis,
        )

    def write(self, path: Path, *outputs: str, version: int = 17, batch: object = None) -> Path:
        shape = [batch, *self.shape[1:]] if batch else self.shape
        graph = helper.make_graph(
            self.nodes,
            "one",
            [helper.make_tensor_value_info("x", self.source, shape)],
            [onnx.ValueInfoProto(name=output) for output in outputs],
            [numpy_helper.from_array(values, name) for name, values in self.constants.items()],
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)]
        )
        model.ir_version = 8
        model = onnx.shape_inference.infer_shapes(model)
        for made in model.graph.output:
            tensor = made.type.tensor_type
            tensor.elem_type = tensor.elem_type or TensorProto.FLOAT
            if not tensor.HasField("shape"):
                tensor.shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in range(4))
        path.write_bytes(model.SerializeToString())
        return path
