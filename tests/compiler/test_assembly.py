# SPDX-License-Identifier: Apache-2.0
"""Sources of assembly: they become what the same network compiles to, and what they may not do is rejected."""

import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.assemble import Assembled, assemble_file, disassembled
from eyrie.compiler.assembly.commands import from_text, to_text
from eyrie.compiler.assembly.macros import MACROS
from eyrie.compiler.assembly.words import slots
from eyrie.compiler.folder import network_of, save
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.operator import quantized
from eyrie.compiler.ir.program import Config, assemble, disassemble
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.compiler.network import compile_network
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.normalization import LocalResponseNormalization
from eyrie.compiler.operators.registry import of_tflite
from eyrie.compiler.parts import compile_parts
from eyrie.compiler.performance import performance
from eyrie.measure.networks.classics import lstm
from eyrie.model import encoding as enc
from eyrie.model.config import AcceleratorConfig
from eyrie.model.encoding import Stream
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import Quantization
from eyrie.model.word import Word
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.networks import named_on_model
from tb.net.programs import draw_networks
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.assembly_sources import TEN_LAYERS, Both, examples, fully_connected, mixed, ten_layers, write
from tests.compiler.test_schedules import in_parts

SEARCH_ITERATIONS = 4
BY_HAND = examples()[1]


def outputs(assembled: Assembled, rng: np.random.Generator) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Random inputs, and what the functional simulator makes of them."""
    image = assembled.image
    inputs = {name: rng.integers(-128, 128, (2, *place.shape)).astype(np.int8) for name, place in image.inputs.items()}
    return list(inputs.values()), list(named_on_model(image, inputs).values())


# ---- Words ----


def test_every_word_with_a_meaning_has_a_name() -> None:
    """The places of a descriptor are those that the encoding has room for."""
    names = [slot.name for slot in slots().values()]
    assert len(names) == len(set(names)) and max(slots()) < enc.CONFIG_WORDS
    per_stream = 3 + enc.LEVELS
    single = sum(
        name.endswith("_INDEX") and isinstance(getattr(enc, name.removesuffix("_INDEX"), None), Word)
        for name in vars(enc)
    )
    assert len(names) == single + enc.STREAMS_INDEX - enc.ROW_IDS_INDEX + len(Stream) * per_stream


def test_fields_of_every_word_come_back(seed: int) -> None:
    """Any bits of any word: of its fields, or not."""
    rng = np.random.default_rng(seed)
    for index, slot in slots().items():
        fields = slot.word.pack(
            **{field.name: int(rng.integers(1 << field.width - field.signed)) for field in slot.word.fields}
        )
        for word in (0, fields, int(rng.integers(1 << 63)), (1 << 64) - 1):
            assert from_text(to_text([Config(index, (word,))])) == [Config(index, (word,))]
        assert slot.count > 1 or "0x" not in slot.text(fields)


def test_random_networks_round_trip(seed: int) -> None:
    for drawn in islice(draw_networks(seed, 80_000), 8):
        text = to_text(drawn.commands)
        words = assemble(from_text(text))
        assert disassemble(words) == drawn.commands
        assert words.tobytes() == drawn.image.dram[drawn.image.program.address :][: words.nbytes].tobytes()


def test_names_of_tensors_may_have_colons(seed: int, tmp_path: Path) -> None:
    """As those that frameworks write, of maps that go through DRAM."""
    rng, net = np.random.default_rng(seed), TfliteBuilder("colons")
    x = net.input("image:0", (1, 40, 40, 8), INPUT)
    for name in ("first:0/conv", "second:0/conv"):
        x = net.conv(name, x, weights(rng, 24, 3, 3, x.shape[-1]), scales(rng, 24), bias(rng, 24), Quant(0.05, 3))
    (tmp_path / "net.tflite").write_bytes(net.build([x]))
    stages = compile_network(
        tmp_path / "net.tflite", AcceleratorConfig(glb_bank_words=256), search_iterations=SEARCH_ITERATIONS
    )
    assert any(name.startswith("spill.first:0/conv") for name in stages.image.areas)
    save(network_of(stages), tmp_path / "net")
    (tmp_path / "net.s").write_text(disassembled(tmp_path / "net"))
    assert np.array_equal(assemble_file(tmp_path / "net.s").image.dram, stages.image.dram)


# ---- Layers ----


@pytest.mark.parametrize("network", [fully_connected, ten_layers])
def test_layers_are_the_network(
    network: Callable[[np.random.Generator, Path], Both], seed: int, tmp_path: Path
) -> None:
    """As fast as the model, and with the model's values, which its golden model says."""
    rng = np.random.default_rng(seed)
    both = network(rng, tmp_path)
    assembled, compiled = assemble_file(both.source), compile_network(both.model)
    assert performance(compiled).cycles / performance(assembled.stages).cycles >= 0.97
    [inputs], [found] = outputs(assembled, rng)
    golden = tflite.load(both.model).run_images(inputs)
    assert len(np.unique(golden)) > 5 and np.array_equal(found, golden)


def test_an_lstm(seed: int, tmp_path: Path) -> None:
    """A line for each operator of the network gives the network's values."""
    graph, keywords = tflite.from_bytes(lstm(3, 12, 5)), {"FULLY_CONNECTED": "fc", "CONCATENATION": "concat"}
    lines, arrays = [], dict[str, np.ndarray]()

    def scaled(tensor: Tensor) -> str:
        scale = quantized(tensor).quantization
        return f"scale={scale.scale!r} zero_point={scale.zero_point}"

    for tensor in graph.inputs:
        lines.append(f"input {tensor.name} {tensor.shape[1]} {scaled(tensor)}")
    for node in graph.nodes:
        keyword = keywords.get(node.operator.name, node.operator.name.lower())
        names = [tensor.name.replace("/", ".") for tensor in (*node.outputs, *node.inputs)]
        more = "" if keyword == "concat" else scaled(node.outputs[0])
        if isinstance(node.operator, FullyConnected):
            weight = f"w{len(arrays)}"
            arrays |= {weight: node.operator.filters, f"b{weight}": node.operator.bias}
            lines.append(f"filter {weight} {weight}.npy scale={float(node.operator.scales[0])!r}")
            names, more = [*names, weight], f"{more} bias=b{weight}.npy"
        lines.append(f"{keyword} {' '.join(names)} {more}")
    lines.append(f"output {' '.join(tensor.name for tensor in graph.outputs)}")
    image, rng = assemble_file(write(tmp_path, "\n".join(lines), **arrays)).image, np.random.default_rng(seed)
    inputs = {tensor.name: rng.integers(-128, 128, (2, *tensor.shape[1:])).astype(np.int8) for tensor in graph.inputs}
    found = named_on_model(image, {name: values.reshape(2, 1, 1, -1) for name, values in inputs.items()})
    for n in range(2):
        golden = graph.run(*(values[n : n + 1] for values in inputs.values()))
        for tensor in graph.outputs:
            assert np.array_equal(found[tensor.name][n].ravel(), golden[tensor.name].ravel()), tensor.name


@pytest.mark.parametrize("function", ["logistic", "tanh", "hard_swish", "elu", "exp", "log", "abs"])
def test_functions(function: str, tmp_path: Path) -> None:
    """Each value gives the entry of its table."""
    scale, zero_point = {"logistic": (1 / 256, -128), "tanh": (1 / 128, 0)}.get(function, (0.05, 3))
    source = f"""input x 256 scale=0.02 zero_point=-100
        {function} y x scale={scale} zero_point={zero_point}
        output y"""
    image = assemble_file(write(tmp_path, source)).image
    values = np.arange(-128, 128).astype(np.int8)
    found = named_on_model(image, {"x": values.reshape(1, *image.inputs["x"].shape)})["y"]
    table = of_tflite()[function.upper()]().table(Quantization(0.02, -100), Quantization(scale, zero_point))
    assert np.array_equal(found.ravel(), table)


def test_normalization(seed: int, tmp_path: Path) -> None:
    """As the record of the operator computes it, which the tests of the operator library compare with LiteRT."""
    source = """input x 5,4,16 scale=0.1 zero_point=3
        lrn y x radius=2 alpha=0.02 beta=0.75 k=2 scale=0.05 zero_point=-7
        output y"""
    [inputs], [found] = outputs(assemble_file(write(tmp_path, source)), np.random.default_rng(seed))
    operator = LocalResponseNormalization(radius=2, alpha=0.02, beta=0.75, k=2.0)
    ends = [
        Quantized(name=name, shape=(1, 5, 4, 16), dtype="int8", quantization=scale)
        for name, scale in (("x", Quantization(0.1, 3)), ("y", Quantization(0.05, -7)))
    ]
    for values, mine in zip(inputs, found, strict=True):
        (wanted,) = operator.run((values[None],), (ends[0],), (ends[1],))
        assert np.array_equal(mine.ravel(), wanted.ravel())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("lrn y a radius=0 alpha=1 beta=1 k=1 scale=1", "3:1: radius = 0: must be at least 1"),
        ("lrn y a radius=1 alpha=nan beta=1 k=1 scale=1", "3:1: alpha = nan: must be positive and finite in float32"),
        ("lrn y a radius=1 alpha=1e-30 beta=1 k=1 scale=1", "3:1: lrn y: k = 1 is too large for alpha = 1e-30 and the"),
        ("lrn y a radius=1 alpha=1 beta=9e37 k=2 scale=1", "3:1: lrn y: the scale of values from"),
        ("concat y a b", "3:1: concat y: tensors of 1 x 5 x 4 x 8, 1 x 5 x 3 x 8 are not joined along axis 3"),
        ("maximum y a b", "3:1: maximum y: operands of 1 x 5 x 4 x 8 and 1 x 5 x 3 x 8 do not go together"),
        (
            "logistic y a scale=1",
            "3:1: logistic y: its output has scale 1 and zero point 0, must be 0.00390625 and -128",
        ),
        ("mean y a zero_point=5", "3:10: zero_point= without scale=: give both"),
    ],
)
def test_layers_that_are_rejected(line: str, reason: str, tmp_path: Path) -> None:
    source = write(tmp_path, f"input a 5,4,8 scale=0.1\ninput b 5,3,8 scale=0.1\n{line}\noutput y\n")
    with pytest.raises(InputError) as caught:
        assemble_file(source)
    assert str(caught.value).startswith(f"{source}:{reason}")


def test_two_layers_take_few_lines() -> None:
    assert len(examples()[0].splitlines()) <= 15
    layers = [line.split()[0] for line in TEN_LAYERS.splitlines() if " " in line and line.split()[0] in MACROS]
    assert len(layers) == 10 and len(set(layers)) == 7


@pytest.mark.parametrize("cut", ["depthwise_conv", "add", "max_pool", "fc +head"])
def test_barriers_change_no_value(cut: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    both = ten_layers(rng, tmp_path)
    (tmp_path / "net.s").write_text(re.sub(rf"^{cut}", r"barrier\n\g<0>", TEN_LAYERS, flags=re.MULTILINE))
    assembled = assemble_file(both.source, search_iterations=SEARCH_ITERATIONS)
    assert assembled.stages is None
    [inputs], [found] = outputs(assembled, rng)
    assert np.array_equal(found, tflite.load(both.model).run_images(inputs))


def test_blocks_that_read_the_same_map_of_few_channels(seed: int, tmp_path: Path) -> None:
    """Alone, a convolution would have it packed, a pool would not."""
    rng = np.random.default_rng(seed)
    lines = """input x 8,8,3 scale=0.1
        filter w w.npy scale=0.01
        conv c x w scale=1
        barrier
        max_pool p x kernel=2
        output c p"""
    weights = rng.integers(-127, 128, (8, 3, 3, 3)).astype(np.int8)
    found, whole = (
        outputs(assemble_file(write(tmp_path, text, w=weights)), np.random.default_rng(seed))
        for text in (lines, lines.replace("barrier\n", ""))
    )
    for barrier, alone in zip(found[1], whole[1], strict=True):
        assert len(np.unique(alone)) > 5 and np.array_equal(barrier, alone)


def test_blocks_that_share_a_map_of_one_column(seed: int, tmp_path: Path) -> None:
    """Alone, the first would make it as a row; the second cannot read that."""
    rng = np.random.default_rng(seed)
    lines = """input x 97,1,16 scale=0.1
        filter w w.npy scale=0.01
        filter v v.npy scale=0.01
        conv c x w scale=1
        barrier
        conv d c v scale=1 pad=0,0,1,1
        output c d"""
    filters = {"w": rng.integers(-127, 128, (8, 9, 1, 16)), "v": rng.integers(-127, 128, (8, 1, 1, 8))}
    found, whole = (
        outputs(
            assemble_file(write(tmp_path, text, **{name: values.astype(np.int8) for name, values in filters.items()})),
            np.random.default_rng(seed),
        )
        for text in (lines, lines.replace("barrier\n", ""))
    )
    for barrier, alone in zip(found[1], whole[1], strict=True):
        assert len(np.unique(alone)) > 5 and np.array_equal(barrier, alone)


def test_outputs_of_one_column_have_the_model_s_shape(tmp_path: Path) -> None:
    lines = """input x 97,1,16 scale=0.1
        filter w w.npy scale=0.01
        filter v v.npy scale=0.01
        conv c x w scale=1
        barrier
        conv d c v scale=1
        output d"""
    filters = {"w": np.ones((8, 9, 1, 16), np.int8), "v": np.ones((8, 9, 1, 8), np.int8)}
    [output] = assemble_file(write(tmp_path, lines, **filters)).image.outputs.values()
    assert (output.shape, output.laid) == ((81, 1, 8), (1, 81, 8))


# ---- Commands ----


def expected_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of two maps with a scale of 0.05, in one of 0.1; halves may go either way."""
    return np.clip((a.astype(int) + b) / 2, -128, 127)


def test_an_addition_by_hand(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    (a, b), [found] = outputs(assemble_file(write(tmp_path, BY_HAND)), rng)
    assert np.abs(found - expected_sum(a, b)).max() <= 0.5


def test_commands_between_layers(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    assembled = assemble_file(write(tmp_path, mixed()))
    [a], [found, between] = outputs(assembled, rng)
    padded = np.pad(a.astype(int), ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-128)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2)).max((-1, -2))
    assert np.array_equal(between, windows)
    assert np.abs(found - expected_sum(a, windows).max((1, 2), keepdims=True)).max() <= 0.5
    assert {step.schedule for step in assembled.image.steps} > {"by hand"}


def test_an_accelerator_of_ones_own(tmp_path: Path) -> None:
    text = "accelerator glb_bank_words=512 bus_words=2\n" + BY_HAND
    config = assemble_file(write(tmp_path, text)).image.config
    assert (config.glb_bank_words, config.bus_words) == (512, 2)


def test_the_bundled_network_disassembles(tmp_path: Path) -> None:
    """A source that is its program makes the same folder; what is changed in it is what the program does."""
    stages = compile_network(MODEL, search_iterations=SEARCH_ITERATIONS)
    stages.image.save(tmp_path / "net", stages.text)
    source = tmp_path / "net.s"
    source.write_text(disassembled(tmp_path / "net"))
    again = assemble_file(source)
    assert np.array_equal(again.image.dram, stages.image.dram) and again.text == stages.text
    source.write_text(source.read_text().replace("\nend\n", "\nload dram=0x0 glb=0 words=8 wait_passes=1\nend\n"))
    longer = assemble_file(source).image
    assert len(longer.commands) == len(stages.schedule.commands) + 1
    assert longer.program.address >= stages.image.dram.size
    source.write_text(re.sub(r"wait_transfers=\d+", "wait_transfers=0", source.read_text(), count=1))
    with pytest.raises(ValueError, match=rf"^{source}:\d+:1: .*which has no value.*|in no order"):
        assemble_file(source)


def test_a_network_in_parts_has_several_programs(seed: int, tmp_path: Path) -> None:
    folder = tmp_path / "net"
    save(
        compile_parts(in_parts(tmp_path / "net.tflite", np.random.default_rng(seed)), search_iterations=4).network,
        folder,
    )
    with pytest.raises(InputError, match=f"^{folder}: has several programs: give {folder}/part0$"):
        disassembled(folder)
    assert disassembled(folder / "part0").startswith(f"image {folder}/part0\n")
