# SPDX-License-Identifier: Apache-2.0
"""PosenetDecoderOp, a custom operator of libcoral: the poses of people, from the maps of PoseNet."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Node
from eyrie.compiler.ir.operator import Arrays, Tensors, only
from eyrie.compiler.ir.tensor import Form, Quantized, Tensor
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.record import HOST, Imported, Record, Row, not_in_c
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import poses
from eyrie.model.operators.poses import EDGES, KEYPOINTS, MASK_SIDE, Decoding

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.reader import Call

_OPTIONS = {"max_detections": int, "score_threshold": float, "stride": int, "nms_radius": float}
_MOST_POSES = 1 << 16  # far more than anyone asks for: the outputs have rows for all of them
_CHANNELS = (KEYPOINTS, 2 * KEYPOINTS, 4 * len(EDGES), 2 * KEYPOINTS)


@dataclass(frozen=True, kw_only=True)
class DecodePoses(Record):
    """PosenetDecoderOp of scores, short and middle offsets, and for masks long offsets: uint8 or float32."""

    row = Row("poses", HOST)
    name = "PosenetDecoderOp"
    in_no_interpreter = True

    settings: Decoding

    @classmethod
    def read(cls, call: "Call") -> Imported:
        options = call.custom_settings
        if missing := [name for name in _OPTIONS if name not in options]:
            raise ModelImportError(f"it has no option {missing[0]}", remedy=REMEDY)
        made = cls(settings=Decoding(**{name: kind(options[name]) for name, kind in _OPTIONS.items()}))
        inputs = call.tensors()
        if any(tensor.dtype == "int8" and not (isinstance(tensor, Quantized) and tensor.unsigned) for tensor in inputs):
            raise Unsupported("its maps are of int8, not of uint8 or float32")
        try:
            forms = made.infer(inputs)
        except InputError as error:
            raise Unsupported(str(error)) from error
        if len(call.outputs) != len(forms):
            raise ModelImportError(f"{len(inputs)} inputs and {len(call.outputs)} outputs", remedy=REMEDY)
        for index, form in zip(call.outputs, forms, strict=True):  # files leave the shapes open
            call.reader.set_shape(index, form.shape)
        return inputs, made

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        with_masks = len(inputs) == len(_CHANNELS)
        for tensor, channels in zip(only(inputs, 3 + with_masks), _CHANNELS):
            self._check_map(tensor, channels)
        if len(sizes := list(dict.fromkeys(tensor.shape[1:3] for tensor in inputs))) > 1:
            raise InputError(f"maps of {' and '.join(map(times, sizes))} do not go together")
        most = self.settings.max_detections
        if not 1 <= most <= _MOST_POSES or self.settings.stride < 1:
            raise InputError(f"{most:,} poses, must be 1 to {_MOST_POSES:,}; a stride of {self.settings.stride}")
        shapes = [(1, most, KEYPOINTS, 2), (1, most, KEYPOINTS), (1, most), (1,)]
        if with_masks:
            _, height, width, _ = inputs[3].shape
            if poses.last_mask_value(height, width, most) >= most * MASK_SIDE**2:
                raise InputError(f"masks of {height} x {width} do not fit {MASK_SIDE} x {MASK_SIDE}")
            shapes.append((1, most, MASK_SIDE, MASK_SIDE))
        return tuple(Form("float32", shape) for shape in shapes)

    @staticmethod
    def _check_map(tensor: Tensor, channels: int) -> None:
        known = (isinstance(tensor, Quantized) and tensor.dtype == "int8") or tensor.dtype == "float32"
        if len(tensor.shape) != 4 or (tensor.shape[0], tensor.shape[3]) != (1, channels) or not known:
            raise InputError(f"a map of {tensor.form}, must be uint8 or float32 of 1 x H x W x {channels}")

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        scores, *offsets = (
            poses.in_cells(
                value, tensor.quantization if isinstance(tensor, Quantized) else None, self.settings.stride if n else 1
            )
            for n, (value, tensor) in enumerate(zip(values, inputs, strict=True))
        )
        made = list(poses.decode_poses(poses.Maps(scores, *offsets[:2]), self.settings))
        if len(offsets) > 2:
            made.append(poses.decode_masks(offsets[2], made[0], int(made[3][0]), self.settings.stride))
        return tuple(value.reshape(output.shape) for value, output in zip(made, outputs, strict=True))

    def to_c(self, node: Node, calls: Calls) -> None:
        not_in_c(node, "is not written as C", "end the model before it")

    def __str__(self) -> str:
        return "  ".join(f"{name} {getattr(self.settings, name):g}" for name in _OPTIONS)
