# SPDX-License-Identifier: Apache-2.0
"""Models of PyTorch through torch.compile, held to PyTorch's own results and to the golden model."""

import copy
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from ai_edge_litert import interpreter as litert
from torch import Tensor, nn
from torch.fx import GraphModule, Interpreter, Node

from eyrie.compiler.frontend.pytorch.regions import regions_of
from eyrie.compiler.frontend.tflite.importer import import_model
from eyrie.compiler.frontend.tflite.writer import written
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.tensor import Constant
from eyrie.compiler.network import compile_network
from eyrie.compiler.passes.obstacle import obstacle
from eyrie.model.errors import InputError
from eyrie.pytorch import quantized, report, to_tflite
from eyrie.pytorch.convert import graph_of_model
from eyrie.pytorch.tensors import arrays_of, fixed_tensors
from eyrie.runtime.folders import ROOT
from tests.extras.pytorch_networks import (
    MobileNetV2,
    ResNet8,
    TwoWays,
    UNet,
    WithTransform,
    stripes,
    trained,
)

pytest.importorskip("torchao", reason="make extra-pytorch")
pytestmark = pytest.mark.extra("pytorch")
MODELS = {"mobilenetv2": MobileNetV2, "resnet8": ResNet8, "unet": UNet}
CALIBRATION, IMAGES, ON_MODEL = 64, 100, 4
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ONE_COUNT = 0.995  # of the outputs of a layer
TOP_1 = 0.95  # of float answers that int8 keeps


@pytest.fixture(scope="module")
def floats(seed: int) -> Callable[[str], nn.Module]:
    made: dict[str, nn.Module] = {}
    return lambda name: made.setdefault(name, trained(MODELS[name](), seed))


@pytest.fixture(scope="module")
def models(floats: Callable[[str], nn.Module], seed: int) -> Callable[[str], nn.Module]:
    """int8, by name."""
    made: dict[str, nn.Module] = {}

    def model(name: str) -> nn.Module:
        if name not in made:
            made[name] = quantized(floats(name), stripes(CALIBRATION, seed + 1)[0])
        return made[name]

    return model


@pytest.fixture(autouse=True)
def anew():
    torch.compiler.reset()
    with torch.no_grad():
        yield


@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_the_golden_model(name: str, models: Callable[[str], nn.Module], seed: int) -> None:
    images, _ = stripes(ON_MODEL, seed + 2)
    made = torch.compile(models(name), backend="eyrie")(images)
    torch.compiler.reset()
    golden = torch.compile(models(name), backend="eyrie", options={"back_end": "golden"})(images)
    assert torch.equal(made, golden)
    assert made.shape == (ON_MODEL, 4) and made.std() > 0


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_pytorch(name: str, models: Callable[[str], nn.Module], seed: int) -> None:
    images, _ = stripes(IMAGES, seed + 3)
    compiled = torch.compile(models(name), backend="eyrie", options={"back_end": "golden"})
    expected = models(name)(images).argmax(1)
    assert torch.equal(compiled(images).argmax(1), expected)
    assert len(expected.unique()) == 4
    found = report(compiled)
    assert len(found.regions) == 1 and not found.rest


@pytest.mark.parametrize("name", MODELS)
def test_layers_are_those_of_pytorch(name: str, models: Callable[[str], nn.Module], seed: int) -> None:
    module, inputs = captured(models(name), stripes(ON_MODEL, seed + 4)[0])
    graph, values = graph_and_values(module, inputs)
    layers = compared(graph, values)
    assert len(layers) > 8
    for layer, share in layers.items():
        assert share >= ONE_COUNT, layer


def captured(model: nn.Module, images: Tensor) -> tuple[GraphModule, list[Tensor]]:
    """The graph that a back end is given."""
    found: list[tuple[GraphModule, list[Tensor]]] = []

    def backend(module: GraphModule, inputs: list[Tensor]) -> Callable:
        found.append((copy.deepcopy(module), list(inputs)))
        return module.forward

    torch.compile(model, backend=backend)(images)
    [result] = found
    return result


class Values(Interpreter):
    """Of all nodes, as PyTorch computes them."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.values: dict[str, Tensor] = {}

    def run_node(self, node: Node) -> object:
        made = super().run_node(node)
        self.values[node.name] = made
        return made


def graph_and_values(module: GraphModule, inputs: list[Tensor]) -> tuple[Graph, dict[str, Tensor]]:
    run = Values(module)
    run.run(*inputs)
    known = arrays_of(fixed_tensors(module, inputs))
    [region] = regions_of(module, known, obstacle).regions
    return region.graph, run.values


def compared(graph: Graph, values: dict[str, Tensor]) -> dict[str, float]:
    """For each node of a Graph whose results PyTorch has: the share of these that is at most one count off, each node
    being fed PyTorch's values where it has them. Names after a "#" are orders of axes."""

    def of_pytorch(name: str, image: int) -> np.ndarray | None:
        base, _, axes = name.partition("#")
        base = base.removesuffix(".image")
        if base not in values or values[base].dtype != torch.int8:
            return None
        value = values[base][image : image + 1].numpy()
        order = tuple(map(int, axes)) if axes else (0, 2, 3, 1) if name.endswith(".image") else range(value.ndim)
        return value.transpose(order)

    differences: dict[str, list[np.ndarray]] = {}
    for image in range(ON_MODEL):
        known = {tensor.name: of_pytorch(tensor.name, image) for tensor in graph.inputs}
        for node in graph.nodes:
            taken = tuple(each.data if isinstance(each, Constant) else known[each.name] for each in node.inputs)
            for tensor, made in zip(node.outputs, node.run(taken), strict=True):
                expected = of_pytorch(tensor.name, image)
                known[tensor.name] = made if expected is None else expected
                if expected is not None:
                    away = np.abs(made.astype(int) - expected)
                    differences.setdefault(f"{node.place} {tensor.name}", []).append(away)
    return {layer: float(np.mean(np.stack(away) <= 1)) for layer, away in differences.items()}


def test_a_layer_that_is_not_known_is_left_to_pytorch(seed: int) -> None:
    model = quantized(trained(WithTransform(), seed), stripes(CALIBRATION, seed + 1)[0])
    images, _ = stripes(ON_MODEL, seed + 2)
    compiled = torch.compile(model, backend="eyrie")
    made, expected = compiled(images), model(images)
    assert (made - expected).abs().max() < 0.05 * expected.abs().max()
    found = report(compiled)
    assert len(found.regions) == 2
    assert "conv2d" in found.regions[0].operators and "linear" in found.regions[1].operators
    assert {each.operator for each in found.rest} == {"fft_fft", "abs"}
    assert "PyTorch" in str(found) and "accelerator" in str(found)


def test_pads_of_each_axis(seed: int) -> None:
    torch.manual_seed(seed)
    layers = nn.Conv2d(3, 8, (3, 5), padding=(1, 2)), nn.MaxPool2d((2, 3), padding=(0, 1)), nn.ReLU()
    images, _ = stripes(CALIBRATION, seed + 10)
    model = quantized(nn.Sequential(*layers).eval(), images)
    compiled = torch.compile(model, backend="eyrie", options={"back_end": "c"})
    made, expected = compiled(images[:2]), model(images[:2])
    assert (made - expected).abs().max() < 0.02 * expected.abs().max() and not report(compiled).rest


FLAT = {  # layers, and the shape of an image
    "conv2d": ((nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4)), (3, 8, 8)),
    "conv1d": ((nn.Conv1d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6, 4)), (3, 8)),
    "rows that go out": ((nn.Conv1d(3, 8, 3), nn.ReLU(), nn.MaxPool1d(2)), (3, 8)),
}


@pytest.mark.parametrize("back_end", ["functional", "c"])
@pytest.mark.parametrize("name", FLAT)
def test_flatten_and_rows_are_the_accelerator_s(name: str, back_end: str, seed: int) -> None:
    """In one region, with values in the order that PyTorch has."""
    torch.manual_seed(seed)
    layers, shape = FLAT[name]
    images = torch.randn(CALIBRATION, *shape)
    model = quantized(nn.Sequential(*layers).eval(), images)
    compiled = torch.compile(model, backend="eyrie", options={"back_end": back_end})
    made, expected = compiled(images[:2]), model(images[:2])
    assert made.shape == expected.shape and (made - expected).abs().max() < 0.03 * expected.abs().max()
    found = report(compiled)
    assert len(found.regions) == 1 and not found.rest and not found.regions[0].host


def test_a_unit_with_two_ends_stays_whole(seed: int) -> None:
    """Of a SPLIT one part goes through PyTorch and meets the other one again."""
    torch.manual_seed(seed)
    images, _ = stripes(CALIBRATION, seed + 9)
    model = quantized(TwoWays().eval(), images)
    compiled = torch.compile(model, backend="eyrie", options={"back_end": "golden"})
    made, expected = compiled(images[:2]), model(images[:2])
    assert (made - expected).abs().max() < 0.05 * expected.abs().max()
    found = report(compiled)
    assert {each.operator for each in found.rest} == {"erfinv"}
    assert sum(count for region in found.regions for count in region.operators.values()) == 7


def test_dropout_that_trains_is_left_to_pytorch(seed: int) -> None:
    """Between one scale and the same one."""
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.Dropout(), nn.Conv2d(4, 4, 1)).eval()
    model = quantized(model, stripes(CALIBRATION, seed)[0])
    for node in model.graph.nodes:
        if "dropout" in node.name:
            node.args = (*node.args[:2], True)
    model.recompile()
    compiled = torch.compile(model, backend="eyrie", options={"back_end": "golden"})
    compiled(stripes(1, seed)[0])
    assert {each.operator for each in report(compiled).rest} == {"dropout"}
    assert "training mode" in report(compiled).rest[0].reason


def test_batches_of_any_size(models: Callable[[str], nn.Module], seed: int) -> None:
    images, _ = stripes(5, seed + 5)
    compiled = torch.compile(models("resnet8"), backend="eyrie", options={"back_end": "golden"})
    whole = compiled(images)
    for count in (1, 3):
        assert torch.equal(compiled(images[:count]), whole[:count])


def test_weights_that_have_changed_are_rejected(seed: int) -> None:
    model = quantized(trained(ResNet8(), seed), stripes(CALIBRATION, seed + 1)[0])
    images, _ = stripes(1, seed)
    compiled = torch.compile(model, backend="eyrie", options={"back_end": "golden"})
    before = compiled(images)
    weights = next(value for name, value in model.named_buffers() if "frozen" in name)
    weights.data.neg_()
    with pytest.raises(ValueError, match="weights have been changed"):
        compiled(images)
    torch.compiler.reset()
    assert not torch.equal(compiled(images), before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"back_end": "chip"}, "unknown back end 'chip': choose from c, cosim, functional, golden, rtl"),
        ({"confg": None}, "unknown option 'confg'; did you mean 'config'?"),
    ],
)
def test_options_that_mean_nothing(options: dict, message: str) -> None:
    with pytest.raises(Exception, match="(?s)" + message.replace("?", r"\?")):
        torch.compile(nn.Linear(2, 2), backend="eyrie", options=options)(torch.zeros(1, 2))


@pytest.mark.parametrize("name", MODELS)
def test_float_model_to_tflite(name: str, floats: Callable[[str], nn.Module], seed: int, tmp_path: Path) -> None:
    """In LiteRT, not in anything of ours."""
    path = tmp_path / "net.tflite"
    to_tflite(floats(name), stripes(CALIBRATION, seed + 1)[0], path)
    images, _ = stripes(IMAGES, seed + 6)
    made = in_litert(path, images)
    agree = made.argmax(1) == floats(name)(images).argmax(1).numpy()
    assert agree.mean() >= TOP_1
    compile_network(path)


def in_litert(path: Path, images: Tensor) -> np.ndarray:
    """Outputs int8 of float images."""
    interpreter = reference(path)
    [source], [result] = interpreter.get_input_details(), interpreter.get_output_details()
    scale, zero_point = source["quantization"]
    made = []
    for image in images.permute(0, 2, 3, 1).numpy():
        codes = np.clip(np.rint(image / scale) + zero_point, -128, 127).astype(np.int8)
        interpreter.set_tensor(source["index"], codes[None])
        interpreter.invoke()
        made.append(interpreter.get_tensor(result["index"])[0])
    return np.stack(made)


def reference(path: Path) -> litert.Interpreter:
    with warnings.catch_warnings(action="ignore"):
        made = litert.Interpreter(str(path), experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    made.allocate_tensors()
    return made


@pytest.mark.parametrize("name", MODELS)
def test_file_is_the_graph(name: str, models: Callable[[str], nn.Module], seed: int) -> None:
    """What is written, read again, computes the same."""
    image, _ = stripes(1, seed + 7)
    graph = graph_of_model(models(name), image)
    again = import_model(written(graph))
    rng = np.random.default_rng(seed)
    for _ in range(3):
        codes = rng.integers(-128, 128, graph.input.shape, np.int8)
        expected, made = graph.run(codes)[graph.output.name], again.run(codes)[again.output.name]
        assert np.array_equal(made, expected)


FUNCTIONS = [nn.LeakyReLU(slope) for slope in (0.01, 0.2, 1.5)]
FUNCTIONS += [nn.Hardsigmoid(), nn.SiLU(), nn.GELU(), nn.GELU("tanh")]


class Line(nn.Module):
    def __init__(self, factor: float, offset: float) -> None:
        super().__init__()
        self.factor, self.offset = factor, offset

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor + self.offset

    def extra_repr(self) -> str:
        return f"{self.factor}, {self.offset}"


class Square(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * x


FUNCTIONS += [Line(0.3, 0), Line(1, 1.5), Line(-0.5, 0.1), Square()]


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
@pytest.mark.parametrize("factor", [1, 8])
def test_functions_to_tflite(function: nn.Module, factor: int, seed: int, tmp_path: Path) -> None:
    """Compare values of several ranges with LiteRT; some functions are several operators."""
    torch.manual_seed(seed)
    images = factor * stripes(CALIBRATION, seed)[0]
    model = nn.Sequential(nn.Conv2d(3, 8, 1), function).eval()
    to_tflite(model, images, tmp_path / "net.tflite")
    compile_network(tmp_path / "net.tflite")
    interpreter = reference(tmp_path / "net.tflite")
    [source], [output] = interpreter.get_input_details(), interpreter.get_output_details()
    codes = np.random.default_rng(seed).integers(-128, 128, source["shape"], np.int8)
    interpreter.set_tensor(source["index"], codes)
    interpreter.invoke()
    graph = graph_of_model(quantized(model, images), images[:1])
    away = np.abs(interpreter.get_tensor(output["index"]).astype(int) - graph.run(codes)[graph.output.name])
    assert away.max() <= 2 and (away <= 1).mean() > 0.9


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU())
        self.side, self.classes = nn.Conv2d(8, 8, 1), nn.Linear(8, 4)

    def forward(self, picture: Tensor) -> Tensor:
        made = self.stem(picture)
        made = self.side(made) + made
        return self.classes((self.side(made) + made).mean((2, 3)))


def test_names_are_those_of_the_model(seed: int, tmp_path: Path) -> None:
    """Arguments, modules and operators give the names; a second one of a name is numbered."""
    to_tflite(Named().eval(), stripes(4, seed)[0], tmp_path / "net.tflite")
    interpreter = reference(tmp_path / "net.tflite")
    names = {tensor["name"] for tensor in interpreter.get_tensor_details()}
    values = {name for name in names if name and "/" not in name}
    assert values == {"picture", "stem.1", "side", "add", "side_1", "add_1", "mean", "classes"}
    assert names >= {"stem.1/filters", "side/bias"}
    assert interpreter.get_input_details()[0]["name"] == "picture"


def test_what_tflite_has_not_is_rejected(seed: int, tmp_path: Path) -> None:
    """In one line, with the layer, the reason, and what to do."""
    images, _ = stripes(4, seed)
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.Mish()).eval()
    reason = "TensorFlow Lite has no operator for this function of one value"
    with pytest.raises(InputError, match=f"^1: TABLE: {reason}: replace the layer by others, or leave it out [a-z ]+$"):
        to_tflite(model, images, tmp_path / "net.tflite")
    assert not (tmp_path / "net.tflite").exists()
    with pytest.raises(InputError, match="^fft_fft: no such operator is known: replace these layers, or call .*$"):
        to_tflite(WithTransform().eval(), images, tmp_path / "net.tflite")


def test_the_example_of_the_page(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    block = PYTHON.findall((ROOT / "docs" / "howto" / "pytorch.md").read_text())[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build").mkdir()
    torch.manual_seed(seed)
    names: dict = {}
    exec(block, names)
    images = names["images"][:2]
    made, floats = names["compiled"](images), names["model"](images)
    assert (made - floats).abs().max() < 0.05 * floats.abs().max()
    assert not report(names["compiled"]).rest
    compile_network(tmp_path / "build" / "torch.tflite")


def test_on_the_rtl(models: Callable[[str], nn.Module], seed: int) -> None:
    image, _ = stripes(1, seed + 8)
    golden = torch.compile(models("resnet8"), backend="eyrie", options={"back_end": "golden"})(image)
    torch.compiler.reset()
    made = torch.compile(models("resnet8"), backend="eyrie", options={"back_end": "rtl"})(image)
    assert torch.equal(made, golden)
