# SPDX-License-Identifier: Apache-2.0
"""Small networks for the usual tasks, whose answers can be told from the picture."""

from collections.abc import Sequence

import numpy as np
from flatbuffers import flexbuffers

from eyrie.testing.tflite_builder import STEPS, Builder

UNIT = {"scale": 1 / 255, "zero_point": -128}  # real numbers from 0 to 1
SIGNED = {"scale": 2 / 255, "zero_point": -1}  # about -1 to 1
LIKELY = {"scale": 1 / 256, "zero_point": -128}
ANCHORS = ((0.5, 0.5, 0.2, 0.4), (0.25, 0.75, 0.2, 0.2), (0.5, 0.25, 0.6, 0.1), (0.8, 0.8, 0.1, 0.1))  # y, x, h, w
SCORES = ((0.9, 0.0), (0.0, 0.8), (0.6, 0.0), (0.3, 0.0))  # of two classes


def detector(order: Sequence[int] = (0, 1, 2, 3)) -> bytes:
    """TFLite_Detection_PostProcess: an input of 4 x 4 pixels is the code of four boxes, a row each: black is an anchor.

    order: of boxes, classes, scores and count among the outputs
    """
    net = Builder()
    picture = net.tensor((1, 4, 4, 1), **UNIT)
    real, codes = net.tensor((1, 4, 4, 1), "float32"), net.tensor((1, 4, 4), "float32")
    scores = net.tensor((1, 4, 3), "float32", data=[[(0, *row) for row in SCORES]])
    anchors = net.tensor((4, 4), "float32", data=ANCHORS)
    made = [net.tensor(shape, "float32") for shape in ((1, 3, 4), (1, 3), (1, 3), (1,))]
    net.operator("DEQUANTIZE", [picture], [real])
    net.operator("RESHAPE", [real], [codes], newShape=[1, 4, 4])
    options = flexbuffers.Builder()
    with options.Map():
        for name, value in {"max_detections": 3, "max_classes_per_detection": 1, "num_classes": 2}.items():
            options.Int(name, value)
        for name, number in {
            "nms_score_threshold": 0.1,
            "nms_iou_threshold": 0.5,
            "y_scale": 10,
            "x_scale": 10,
        }.items():
            options.Float(name, number)
        options.Float("h_scale", 5)
        options.Float("w_scale", 5)
        options.Bool("use_regular_nms", False)
    net.custom("TFLite_Detection_PostProcess", [codes, scores, anchors], made, bytes(options.Finish()))
    return net.pack([picture], [made[n] for n in order])


def _two_classes(net: Builder, source: int, shape: tuple[int, ...]) -> int:
    """Logits of two classes for values from -1 to 1: class 0 is black, class 1 is white."""
    logits = net.tensor((*shape[:3], 2), scale=0.1)
    filters = net.tensor((2, 1, 1, 1), scale=0.05, data=np.int8([[[[-100]]], [[[100]]]]))
    net.operator("CONV_2D", [source, filters], [logits], **STEPS)
    return logits


def heat_map(side: int) -> bytes:
    """A map of black and white at 1/8 of the input."""
    net = Builder()
    picture = net.tensor((1, side, side, 1), **SIGNED)
    shape = (1, side // 8, side // 8, 1)
    means, likely = net.tensor(shape, **SIGNED), net.tensor((*shape[:3], 2), **LIKELY)
    window = {"strideH": 8, "strideW": 8, "filterHeight": 8, "filterWidth": 8, "padding": 1}
    net.operator("AVERAGE_POOL_2D", [picture], [means], **window)
    net.operator("SOFTMAX", [_two_classes(net, means, shape)], [likely], beta=1.0)
    return net.pack([picture], [likely])


def segmenter(end: str = "ARG_MAX") -> bytes:
    """Black and white pixels of 4 x 4. end: ARG_MAX, SOFTMAX, or CONV_2D for logits"""
    net, shape = Builder(), (1, 4, 4, 1)
    picture = net.tensor(shape, **SIGNED)
    made = logits = _two_classes(net, picture, shape)
    if end == "ARG_MAX":
        made = net.tensor((1, 4, 4), "int32")
        net.operator("ARG_MAX", [logits, net.tensor((1,), "int32", data=[3])], [made], outputType=2)
    elif end == "SOFTMAX":
        made = net.tensor((1, 4, 4, 2), **LIKELY)
        net.operator("SOFTMAX", [logits], [made], beta=1.0)
    return net.pack([picture], [made])


def segmenter_channels_first() -> bytes:
    """Scores of black and white pixels of 4 x 4, [1, C, H, W]."""
    net = Builder()
    picture, last = net.tensor((1, 1, 4, 4), **SIGNED), net.tensor((1, 4, 4, 1), **SIGNED)
    net.operator("TRANSPOSE", [picture, net.tensor((4,), "int32", data=[0, 2, 3, 1])], [last])
    logits, made = _two_classes(net, last, (1, 4, 4, 1)), net.tensor((1, 2, 4, 4), scale=0.1)
    net.operator("TRANSPOSE", [logits, net.tensor((4,), "int32", data=[0, 3, 1, 2])], [made])
    return net.pack([picture], [made])


def pose() -> bytes:
    """An input of 17 rows of 3 pixels is the output: y, x and score of each keypoint."""
    net = Builder()
    picture, rows = net.tensor((1, 17, 3, 1), **UNIT), net.tensor((1, 1, 17, 3), **UNIT)
    made = net.tensor((1, 1, 17, 3), "float32")
    net.operator("RESHAPE", [picture], [rows], newShape=[1, 1, 17, 3])
    net.operator("DEQUANTIZE", [rows], [made])
    return net.pack([picture], [made])


def classifier(end: str = "SOFTMAX", shape: tuple[int, ...] = (1, 2, 2, 1)) -> bytes:
    """Scores of three classes: the sum of all values times -1, 0.5 and 1. end: SOFTMAX, or none for logits"""
    net, size = Builder(), int(np.prod(shape))
    source, logits = net.tensor(shape, **SIGNED), net.tensor((1, 3), scale=0.05)
    weights = np.repeat(np.int8([[-100], [50], [100]]), size, 1)
    net.operator("FULLY_CONNECTED", [source, net.tensor((3, size), scale=0.01, data=weights)], [logits])
    if end != "SOFTMAX":
        return net.pack([source], [logits])
    made = net.tensor((1, 3), **LIKELY)
    net.operator("SOFTMAX", [logits], [made], beta=1.0)
    return net.pack([source], [made])


def front_end(**scale: float) -> bytes:
    """The first two of 480 samples, int16, as int8; scale: scale and zero_point of the output"""
    net = Builder()
    window, first, made = net.tensor((1, 480), "int16"), net.tensor((1, 2), "int16"), net.tensor((1, 2), **scale)
    begin, size = (net.tensor((2,), "int32", data=values) for values in ([0, 0], [1, 2]))
    net.operator("SLICE", [window, begin, size], [first])
    net.operator("CAST", [first], [made])
    return net.pack([window], [made])
