# SPDX-License-Identifier: Apache-2.0
"""Networks as C: what the header says, where tensors lie, names, and what is rejected. What it computes is tested in
tests/runtime/test_portable_c.py."""

import ast
import re
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler import c
from eyrie.compiler.c import arena
from eyrie.compiler.c.arena import Lifetime
from eyrie.compiler.c.names import identifier, remark, unique
from eyrie.compiler.c.sources import Sources, sources_of
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph
from eyrie.testing.tflite_builder import STEPS, Builder

ROOT = Path(c.__file__).parent


def chain(dtype: str = "int8", channels: int = 4) -> Graph:
    """A convolution, its SOFTMAX, and a view of that."""
    net, shape = Builder(), (1, 6, 6, channels)
    offset = 128 if dtype == "uint8" else 0
    x = net.tensor(shape, dtype, 0.05, 3 + offset)
    filters = net.tensor(
        (channels, 1, 1, channels), dtype, 0.02, offset, data=np.full((channels, 1, 1, channels), offset + 1)
    )
    y = net.tensor(shape, dtype, 0.07, offset)
    z = net.tensor(shape, dtype, 1 / 256, -128 + offset)
    flat = net.tensor((1, 36 * channels), dtype, 1 / 256, -128 + offset)
    net.operator("CONV_2D", (x, filters), (y,), padding=0, **STEPS)
    net.operator("SOFTMAX", (y,), (z,), beta=1.0)
    net.operator("RESHAPE", (z,), (flat,))
    return tflite.from_bytes(net.pack((x,), (flat,)))


def calls(sources: Sources) -> list[str]:
    """Of the function that runs the network."""
    body = sources.files[sources.source].partition("---- Calls ----")[2]
    return re.findall(r"^    (\w+\(.*\));$", body, re.MULTILINE)


def test_the_header_says_what_the_function_takes(tmp_path: Path) -> None:
    sources = c.write(chain(), tmp_path, "my net")
    assert {path.name for path in tmp_path.iterdir()} == {"my_net.h", "my_net.c", "my_net_constants.h"}
    header = (tmp_path / sources.header).read_text()
    for line in (
        "#define MY_NET_ARENA_BYTES 144",
        "#define MY_NET_T0_SIZE 144",
        "#define MY_NET_T0_SHAPE {1, 6, 6, 4}",
        "#define MY_NET_T0_SCALE 0.05f",
        "#define MY_NET_T0_ZERO_POINT (3)",
        "#define MY_NET_T4_SHAPE {1, 144}",
        "#define MY_NET_T4_ZERO_POINT (-128)",
        "int my_net_run(const int8_t *t0, int8_t *t4);",
    ):
        assert line in header.splitlines(), line


def test_maps_lie_where_they_are_wanted() -> None:
    """Inputs are read where they are, and outputs, also those that others are views of, made in their place."""
    assert calls(sources_of(chain(), "net")) == ["conv_2d(&step0, t0, arena)", "softmax(&step1, arena, t4)"]


def test_uint8_is_turned_at_the_ends() -> None:
    sources = sources_of(chain("uint8"), "net")
    assert calls(sources) == [
        "flip(&step0, t0, arena)",
        "conv_2d(&step1, arena, arena + 144)",
        "softmax(&step2, arena + 144, arena)",
        "flip(&step3, arena, t4)",
    ]
    assert "#define NET_T0_ZERO_POINT (131)" in sources.files["net.h"]
    assert "int net_run(const uint8_t *t0, uint8_t *t4);" in sources.files["net.h"]


def test_an_output_that_is_an_input_or_another_output_is_copied() -> None:
    net = Builder()
    x, same, flat = (net.tensor(shape, "int8", 0.1) for shape in ((1, 4), (1, 4), (4,)))
    y, z = net.tensor((1, 4), "int8", 0.1), net.tensor((4,), "int8", 0.1)
    net.operator("RESHAPE", (x,), (same,))
    net.operator("RESHAPE", (same,), (flat,))
    net.operator("MAXIMUM", (same, x), (y,))
    net.operator("RESHAPE", (y,), (z,))
    sources = sources_of(tflite.from_bytes(net.pack((x,), (flat, y, z))), "net")
    assert calls(sources) == ["copy(&step0, t0, t2)", "maximum(&step1, t0, t0, t3)", "copy(&step2, t3, t4)"]


def test_what_no_output_needs_is_left_out() -> None:
    net = Builder()
    x = net.tensor((1, 4), "int8", 0.1)
    parts = [net.tensor((1, 2), "int8", 0.1) for _ in range(2)]
    axis = net.tensor((1,), "int32", data=[1])
    unread = net.tensor((1, 2), "int8", 0.1)
    net.operator("SPLIT", (axis, x), parts, numSplits=2)
    net.operator("MAXIMUM", (parts[0], parts[0]), (unread,))
    sources = sources_of(tflite.from_bytes(net.pack((x,), (parts[1],))), "net")
    assert calls(sources) == ["move(&step0, t0 + 2, t2)"]


def test_equal_constants_are_there_once() -> None:
    net = Builder()
    x, y, z = (net.tensor((1, 40), "int8", 0.1) for _ in range(3))
    twice = [net.tensor((40,), "int8", 0.1, data=np.arange(40)) for _ in range(2)]
    net.operator("MAXIMUM", (x, twice[0]), (y,))
    net.operator("MINIMUM", (y, twice[1]), (z,))
    assert sources_of(tflite.from_bytes(net.pack((x,), (z,))), "net").constant_bytes == 40


# ---- Places ----


def test_tensors_that_are_there_at_once_share_no_byte(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reached = 0
    for _ in range(30):
        firsts = rng.integers(0, 20, 12)
        lifetimes = [
            Lifetime(str(number), int(size), int(first), int(first + length))
            for number, (size, first, length) in enumerate(
                zip(rng.integers(1, 500, 12), firsts, rng.integers(0, 6, 12))
            )
        ]
        places, size, least = arena.placed(lifetimes)
        used = {step: np.zeros(size, int) for step in range(30)}
        for each in lifetimes:
            for step in range(each.first, each.last + 1):
                used[step][places[each.name] :][: each.size] += 1
        assert max(map(np.max, used.values())) == 1
        assert least == max(map(np.count_nonzero, used.values())) <= size
        assert size == max(places[each.name] + each.size for each in lifetimes)
        reached += size == least
    assert reached > 20


# ---- Names ----


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("serving_default_x:0", "serving_default_x_0"),
        ("a/b//c", "a_b_c"),
        ("0", "value_0"),
        ("", "value"),
        ("*/", "value"),
        ("int", "int_"),
        ("class", "class_"),
        ("caf\u00e9", "caf"),
        ("_x_", "x"),
        ("NULL", "null"),
        ("linux", "linux_"),
    ],
)
def test_identifiers(text: str, word: str) -> None:
    assert identifier(text, "value") == word


def test_names_do_not_meet() -> None:
    assert unique(["a", "A", "a_2", "arena"], {"arena"}) == ["a", "A_2", "a_2_2", "arena_2"]


def test_remarks_end_no_comment() -> None:
    assert remark("a*/b ??/ c\\ \u00e9") == "a_/b __/ c_ _"


# ---- What is rejected ----


def rejected(message: str) -> AbstractContextManager:
    return pytest.raises(Unsupported, match=f"^{re.escape(message)}$")


def test_unknown_operators_are_rejected() -> None:
    why = "its input 0 is float32, not int8, and no interpreter runs it (litert: has_bias was not true)"
    with rejected(f"operator #0 CONV_2D: {why}"):
        net = Builder()
        x, y = (net.tensor((1, 6, 6, 1), "float32") for _ in range(2))
        net.operator("CONV_2D", (x, net.tensor((1, 1, 1, 1), "float32", data=[[[[1]]]])), (y,), padding=0, **STEPS)
        sources_of(tflite.from_bytes(net.pack((x,), (y,))), "net")


def test_a_long_softmax_is_rejected() -> None:
    with rejected("operator #0 SOFTMAX: is over 5,000 values: have at most 4,095"):
        net = Builder()
        x, y = net.tensor((1, 5000), "int8", 0.1), net.tensor((1, 5000), "int8", 1 / 256, -128)
        net.operator("SOFTMAX", (x,), (y,), beta=1.0)
        sources_of(tflite.from_bytes(net.pack((x,), (y,))), "net")


def test_sums_that_leave_int32_are_rejected() -> None:
    with rejected(
        "operator #0 FULLY_CONNECTED: sums of output 1 can leave int32: quantise the model again, with a smaller bias"
    ):
        net = Builder()
        x, y = net.tensor((1, 2), "int8", 0.1, -128), net.tensor((1, 2), "int8", 0.1)
        filters = net.tensor((2, 2), "int8", 0.1, data=np.ones((2, 2)))
        bias = net.tensor((2,), "int32", data=[2**31 - 1 - 2 * 255, 2**31 - 2 * 255])
        net.operator("FULLY_CONNECTED", (x, filters, bias), (y,))
        sources_of(tflite.from_bytes(net.pack((x,), (y,))), "net")


# ---- Beside the golden model ----


GOLDEN = "eyrie.model.operators"
ASKED = {"run", "table", "parameters", "requantization", "fixed_point", "check", "infer", "golden"}
TABLE_OF_GOLDEN_MODEL = ("lookup.py", "Function")  # for functions of one value that have no kernel


def golden_names(tree: ast.Module) -> set[str]:
    """Return the names that a module imports from the golden model."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name
        for node in imports
        for alias in node.names
        if (node.module or "").startswith(GOLDEN) or f"{node.module}.{alias.name}" == GOLDEN
    }


def asks(function: ast.AST, golden: set[str]) -> set[str]:
    """Return the names by which a function asks the golden model, or operators that call it."""
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return (names & golden) | (called(function) & ASKED)


def called(function: ast.AST) -> set[str]:
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in calls}


def test_nothing_asks_the_golden_model() -> None:
    """Neither its functions nor the methods of operators that call them."""
    modules = [path for folder in ("c", "kernel_calls") for path in (ROOT.parent / folder).glob("*.py")]
    assert len(modules) > 8
    for path in modules:
        tree = ast.parse(path.read_text())
        assert not golden_names(tree) and not called(tree) & ASKED, path


def test_no_lowering_of_a_record_asks_the_golden_model() -> None:
    """`to_c` of the records, and all functions of the package that it calls."""
    functions: dict[str, list[tuple[str, ast.AST, set[str]]]] = {}
    for path in (ROOT.parent / "operators").glob("*.py"):
        tree = ast.parse(path.read_text())
        for made in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
            for node in made.body:
                if (
                    isinstance(node, ast.FunctionDef)
                    and (path.name, getattr(made, "name", "")) != TABLE_OF_GOLDEN_MODEL
                ):
                    functions.setdefault(node.name, []).append((path.name, node, golden_names(tree)))
    seen, waiting = set(), {"to_c"}
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for module, function, golden in functions[name]:
            assert not asks(function, golden), (module, name)
            waiting |= {each for each in called(function) if each in functions} - seen
    assert len(functions["to_c"]) > 30 and {"weight_fields", "operand_fields", "scaling_fields"} <= seen
