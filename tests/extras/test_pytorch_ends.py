# SPDX-License-Identifier: Apache-2.0
"""Inputs, outputs, constants and changes in place of PyTorch models: the right numbers, or one line with the reason."""

import copy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from eyrie.model.errors import InputError
from eyrie.pytorch import quantized, to_tflite
from eyrie.pytorch.quantizer import EyrieQuantizer
from tests.extras.test_pytorch import reference

pytest.importorskip("torchao", reason="make extra-pytorch")
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

pytestmark = pytest.mark.extra("pytorch")

Function = Callable[..., object]


class Model(nn.Module):
    """A function of layers and an input."""

    def __init__(self, function: Function, *layers: nn.Module) -> None:
        super().__init__()
        self.function, self.layers = function, nn.ModuleList(layers)
        self.register_buffer("state", torch.zeros(1))

    def forward(self, x: Tensor) -> object:
        return self.function(x, *self.layers)


def conv(channels: int, made: int) -> nn.Module:
    return nn.Conv2d(channels, made, 3)


@pytest.fixture
def images(seed: int) -> Tensor:
    torch.manual_seed(seed)
    torch.compiler.reset()
    return torch.randn(8, 3, 8, 8)


ENDS = {
    "another order": (lambda x, a, b: (b(y := a(x)), y), (conv(3, 5), conv(5, 4))),
    "names": (lambda x, a, b: {"z": a(x), "a": b(x)}, (conv(3, 5), conv(3, 4))),
    "softmax": (lambda x, a: functional.softmax(a(x.flatten(1)), 1), (nn.Linear(192, 5),)),
    "dropout first": (lambda x, a, b: b(a(x)), (nn.Dropout(), conv(3, 5))),
    "dropout last": (lambda x, a, b: b(a(x)), (conv(3, 5), nn.Dropout())),
    "parts": (lambda x, a: a(x).chunk(2, 1)[::-1], (conv(3, 6),)),
    "one part": (lambda x, a: a(x).split([2, 4], 1)[1], (conv(3, 6),)),
    "bilinear": (lambda x, a: functional.interpolate(a(x), scale_factor=2, mode="bilinear"), (conv(3, 6),)),
    "a copy": (lambda x, a: a(x).contiguous(), (conv(3, 6),)),
    "input joined behind": (lambda x, a: a(torch.cat([functional.max_pool2d(x, 3, 1, 1), x], 1)), (conv(6, 4),)),
    "matrix": (lambda x, a: x.flatten(1) @ a.weight.T, (nn.Linear(192, 5),)),
    "mean of an image": (lambda x, a: a(x) - a(x).mean((1, 2, 3), True), (conv(3, 4),)),
    "a copy that changes": (lambda x, a, b: (b((y := a(x)).clone().relu_()), y), (conv(3, 6), conv(6, 4))),
    "softmax between": (lambda x, a, b: b(functional.softmax(a(x), 1)), (conv(3, 6), conv(6, 4))),
    "change in place": (lambda x, a, b: b(a(x).add_(1).relu_()), (conv(3, 6), conv(6, 4))),
}


@pytest.mark.parametrize("name", ENDS)
def test_outputs_of_tflite(name: str, images: Tensor, tmp_path: Path) -> None:
    """All of them, in the order of the model, as LiteRT computes them."""
    function, layers = ENDS[name]
    model, path = Model(function, *layers).eval(), tmp_path / "net.tflite"
    to_tflite(model, images, path)
    interpreter = reference(path)
    [source] = interpreter.get_input_details()
    scale, zero_point = source["quantization"]
    codes = np.clip(np.rint(images[:1].permute(0, 2, 3, 1).numpy() / scale) + zero_point, -128, 127)
    interpreter.set_tensor(source["index"], codes.astype(np.int8))
    interpreter.invoke()
    expected = torch.utils._pytree.tree_leaves(model(images[:1]))
    made = interpreter.get_output_details()
    assert len(made) == len(expected)
    for detail, tensor in zip(made, expected):
        scale, zero_point = detail["quantization"]
        real = scale * (interpreter.get_tensor(detail["index"]).astype(float) - zero_point)
        wanted = tensor.detach().numpy()
        wanted = wanted.transpose(0, 2, 3, 1) if wanted.ndim == 4 else wanted
        assert real.shape == wanted.shape
        assert np.abs(real - wanted).max() <= 0.05 * np.ptp(wanted)


def _set(y: Tensor) -> Tensor:
    y[:, :2] = 0.5
    return y


def _turn(y: Tensor) -> Tensor:
    y.view(-1).mul_(3)
    return y


IN_PLACE = "it changes a value in place, which is read again, shares memory, or .* for the next run: make a new value$"
REJECTED = {
    "an input": (lambda x, a: (x, a(x)), "^output 0 of the model is an input: return results of operators, each once$"),
    "twice": (lambda x, a: (a(x),) * 2, "^output 1 of the model is returned twice: "),
    "a constant": (lambda x, a: (a(x), None), "^output 1 of the model is a constant: "),
    "a slice is set": (lambda x, a: functional.relu(_set(a(x))), IN_PLACE),
    "a view is changed": (lambda x, a: functional.relu(_turn(a(x))), IN_PLACE),
    "the input is changed": (lambda x, a: a(x.add_(1)), IN_PLACE),
    "an input behind dropout": (lambda x, a: (a(x), functional.dropout(x, 0.5, False)), "^output 1 .* is an input: "),
    "of weights": (lambda x, a: (a(x), torch.tanh(a.weight)), "^output 1 of the model is a constant: "),
    "twice, once as a copy": (lambda x, a: (y := a(x), y.clone()), "^output 1 of the model is returned twice: "),
    "out": (lambda x, a: torch.clamp(y := a(x), 0, 0.1, out=y), IN_PLACE),
    "a list": (lambda x, a: torch._foreach_mul_([y := a(x)], 3.0) or y + y, IN_PLACE),
    "a crop": (lambda x, a: functional.pad(a(x), (-1, -1)), "pad: it crops: its pads are negative: "),
}


@pytest.mark.parametrize("name", REJECTED)
def test_models_that_are_rejected(name: str, images: Tensor, tmp_path: Path) -> None:
    function, reason = REJECTED[name]
    with pytest.raises(InputError, match=reason):
        to_tflite(Model(function, conv(3, 4)), images, tmp_path / "net.tflite")
    assert not (tmp_path / "net.tflite").exists()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (np.zeros((2, 3, 8, 8), np.float32), "^the images are ndarray: give a tensor"),
        (torch.zeros(0, 3, 8, 8), "^no images to calibrate with$"),
        (torch.zeros(2, 3, 8, 8, dtype=torch.float64), "^the images are torch.float64: give float32"),
        (torch.full((2, 3, 8, 8), torch.nan), "^the images have values that are not finite"),
    ],
)
def test_images_that_are_rejected(given: Tensor, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        quantized(conv(3, 4), given)


class Stateful(nn.Module):
    """Adds its last result."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 4)
        self.register_buffer("state", torch.zeros(1, 4))

    def forward(self, x: Tensor) -> Tensor:
        made = self.layer(x) + self.state
        self.state.copy_(made[:1])
        return made


def test_a_state_changes_in_pytorch(images: Tensor, tmp_path: Path) -> None:
    """A compiled model goes on from run to run; a conversion rejects one, and leaves it as it was, with its mode."""
    model, x = Stateful().train(), torch.randn(1, 3)
    for convert in (quantized, lambda *given: to_tflite(*given, tmp_path / "net.tflite")):
        with pytest.raises(InputError, match=IN_PLACE):
            convert(model, x.repeat(4, 1))
    assert model.training and not model.state.any()
    prepared = prepare_pt2e(torch.export.export(model.eval(), (x,)).module(), EyrieQuantizer())
    with torch.no_grad():
        prepared(x)
        int8 = convert_pt2e(prepared)
    expected, made = copy.deepcopy(int8), torch.compile(copy.deepcopy(int8), backend="eyrie")
    for _ in range(3):
        right = expected(x)
        assert (made(x) - right).abs().max() <= 0.02 * right.abs().max()


def qdq(value: Tensor, scale: float, zero_point: int) -> Tensor:
    operators = torch.ops.quantized_decomposed
    codes = operators.quantize_per_tensor(value, scale, zero_point, -128, 127, torch.int8)
    return operators.dequantize_per_tensor(codes, scale, zero_point, -128, 127, torch.int8)


def _set_between(x: Tensor) -> Tensor:
    made = qdq(x, 0.03, 3)
    made[:, :3] = 0.0
    return qdq(made + made, 0.1, 0)


def _view_between(x: Tensor) -> Tensor:
    made = qdq(x, 0.03, 3)
    view = made.view(-1, 7)
    made.mul_(2)
    return qdq(view + view, 0.1, 0)


def _ignored(change: Function) -> Function:
    """Return a function that changes a value and ignores the result of the change."""

    def function(x: Tensor) -> Tensor:
        made = qdq(x, 0.03, 3)
        change(made)
        return qdq(made + made, 0.1, 0)

    return function


def _random(x: Tensor) -> Tensor:
    noise = torch.rand_like(WEIGHT)
    return qdq(x + noise, 0.03, 0) - noise - qdq(x, 0.03, 0)


COMPILED = {
    "add_": _ignored(lambda y: y.add_(0.5)),
    "relu in place": _ignored(lambda y: functional.relu(y, inplace=True)),
    "out": _ignored(lambda y: torch.add(y, 0.5, out=y)),
    "list": _ignored(lambda y: torch._foreach_mul_([y], 2)),
    "view of another operator": _ignored(lambda y: torch.einsum("ab->ba", y).mul_(2)),
    "item": _ignored(lambda y: y.__setitem__((slice(None), 0), 0.0)),
    "a slice is set": _set_between,
    "a view is read": _view_between,
    "products": lambda x: qdq(torch.bmm(qdq(x, 0.03, 0)[:, None], qdq(x, 0.03, 0)[:, :, None]), 0.1, 0),
    "mean of all": lambda x: qdq(qdq(x, 0.03, 0) - qdq(qdq(x, 0.03, 0).mean(), 0.01, 0), 0.05, 0),
    "constant with two readers": lambda x: (
        qdq(qdq(x, 0.03, 3) + qdq(torch.tanh(WEIGHT), 0.01, 0), 0.05, 0),
        torch.tanh(WEIGHT),
    ),
}
WEIGHT = nn.Parameter(torch.linspace(-1, 1, 7))


class Between(nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function, self.weight = function, WEIGHT

    def forward(self, x: Tensor) -> object:
        return self.function(x)


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("exported", [False, True])
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_models(name: str, exported: bool, count: int, images: Tensor) -> None:
    x, model = torch.randn(count, 7), Between(COMPILED[name])
    model = torch.export.export(model, (x,)).module() if exported else model
    expected = torch.utils._pytree.tree_leaves(model(x))
    made = torch.utils._pytree.tree_leaves(torch.compile(model, backend="eyrie", options={"back_end": "golden"})(x))
    for mine, right in zip(made, expected, strict=True):
        assert mine.shape == right.shape and (mine - right).abs().max() <= 0.101


def test_a_random_value_stays_one_value(images: Tensor) -> None:
    x, model = torch.randn(4, 7), Between(_random)
    made = torch.compile(model, backend="eyrie", options={"back_end": "golden"})(x)
    assert made.abs().max() < 0.04


def test_parameters_that_numpy_does_not_have(images: Tensor) -> None:
    model, x = nn.Linear(5, 3).bfloat16(), torch.randn(2, 5).bfloat16()
    made = torch.compile(model, backend="eyrie", options={"back_end": "golden"})(x)
    assert torch.allclose(made, model(x))
