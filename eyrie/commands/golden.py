# SPDX-License-Identifier: Apache-2.0
"""Write the golden data of a test: the inputs of the accelerator and the expected outputs.

    eyrie golden [TEST] [--seed N] [--out DIR]

TEST is a pass or array test (`make list`). Without TEST the command writes pass0 to pass3 and array0 to array5. The
layers are those that `make sim TEST=... SEED=N` generates from the same seed. For each pass of each layer DIR
(build/golden/TEST) gets an .npz file and the same data as .hex files, and a README.md that explains them.
"""

import argparse
import hashlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_folder, writing
from eyrie.compiler.single_layer.layer_run import Case
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import number_of, unknown
from eyrie.model.passes import run_pass
from eyrie.runtime.folders import BUILD, locked_folder, replacing
from eyrie.runtime.simulator.simulation_test import SimulationTest
from eyrie.testing import beats, pass_layers
from eyrie.testing.array_layers import draw
from eyrie.testing.catalogue import simulation_tests
from eyrie.testing.layers import Layer

TOPS = ("pass_tb", "pe_array_tb")  # tops of the tests with golden data
DEFAULT_TESTS = [f"pass{n}" for n in range(4)] + [f"array{n}" for n in range(6)]
OURS = re.compile(r"layer\d+_(pass\d+_\w+\.hex|pass\d+\.npz|result\.npz)|README\.md")

README = """# Golden data of {test}, seed {seed}

{about}. Written by `eyrie golden {test} --seed {seed}`.

Layers, each in one or several passes:

{layers}

| file | contents |
|---|---|
| `layerL_passN.npz` | the arrays of a pass by the names below |
| `layerL_passN_glb.hex` | `glb`: GLB before the pass, a 64-bit word a line, from word 0 on |
| `layerL_passN_descriptor.hex` | `descriptor`: the 152 configuration words, a 64-bit word a line |
| `layerL_passN_sums.hex` | `sums`: the psums that leave the array, a transfer a line, int32, column 0 first |
| `layerL_passN_after.hex` | `after`: GLB after the pass (ofmap written), like `glb` |
| `layerL_result.npz` | result of the layer: `sums` int32 [M, E, F] or `ofmap` int8 [E, F, C], or both |

Only in the .npz: `places`, int [tiles, transfers, columns, 3], is (m, y, x) of each psum in the pass, -1
for a psum of an unused column; `filters` and `rows` are the first and the last + 1 filter and
output row of the pass in the layer. $readmemh reads the .hex. Array: {rows} x {cols} PEs.
"""


def find(name: str) -> SimulationTest:
    known = {
        bench.name: bench
        for bench in simulation_tests().values()
        if bench.top in TOPS and bench.testcase == "runs_layers"
    }
    if name not in known:
        raise InputError(unknown("pass or array test", name, known))
    return known[name]


def config_of(bench: SimulationTest) -> AcceleratorConfig:
    assert bench.config is not None  # all testbenches of TOPS have one
    # The testbenches of the array run without a GLB: theirs holds any layer in one pass.
    return beats.behind_any_glb(bench.config) if bench.top == "pe_array_tb" else bench.config


def generator(bench: SimulationTest, seed: int) -> np.random.Generator:
    """That of the simulation: cocotb adds a hash of the test's name to the seed."""
    name = f"{bench.module}.{bench.testcase}"
    return np.random.default_rng(bench.seed(seed) + int(hashlib.sha1(name.encode()).hexdigest(), 16))


def layers(bench: SimulationTest, seed: int) -> Iterator[tuple[str, Layer]]:
    """Return the layers that the testbench generates from this seed."""
    rng, config = generator(bench, seed), config_of(bench)
    if bench.top == "pass_tb":
        kinds, count = bench.arguments["kinds"], bench.arguments["layers"]
        assert isinstance(kinds, list | tuple) and isinstance(count, int)
        for number in range(pass_layers.layers_to_draw(count, kinds)):
            layer, about = pass_layers.draw(rng, kinds[number % len(kinds)], config)
            yield about, layer
        return
    drawn = bench.arguments["layers"]
    assert isinstance(drawn, list | tuple)
    for options in drawn:
        about, layer = draw(rng, options, config)
        yield about, layer
        for case, *_ in layer.parts:
            beats.pass_beats(config, case, rng)  # draws, too


def pass_data(config: AcceleratorConfig, case: Case, filters: slice, rows: slice) -> dict[str, np.ndarray]:
    after = np.zeros(config.glb_words, np.uint64)
    after[: len(case.glb)] = case.glb
    trace = run_pass(config, case.descriptor, after)
    return {
        "glb": case.glb,
        "descriptor": np.array(case.descriptor.words, np.uint64),
        "sums": trace.sums.reshape(-1, config.cols),
        "after": after[: len(case.glb)],
        "places": case.places,
        "filters": np.array([filters.start, filters.stop]),
        "rows": np.array([rows.start, rows.stop]),
    }


def write_hex(path: Path, words: np.ndarray) -> None:
    """One line per word, or per row of words."""
    digits = 2 * words.itemsize
    unsigned = words.view(f"uint{8 * words.itemsize}").reshape(len(words), -1)
    path.write_text("".join(" ".join(f"{w:0{digits}x}" for w in row) + "\n" for row in unsigned.tolist()))


def write(bench: SimulationTest, seed: int, folder: Path) -> int:
    """Writes all files of a test into an empty folder; returns the number of passes."""
    drawn = list(layers(bench, seed))
    config, passes = config_of(bench), 0
    for number, (_, layer) in enumerate(drawn):
        for n, part in enumerate(layer.parts):
            stem, data = f"layer{number}_pass{n}", pass_data(config, *part)
            np.savez_compressed(folder / f"{stem}.npz", allow_pickle=False, **data)
            for name in ("glb", "descriptor", "sums", "after"):
                write_hex(folder / f"{stem}_{name}.hex", data[name])
            passes += 1
        result = {"sums": layer.sums, "ofmap": layer.ofmap}
        np.savez_compressed(
            folder / f"layer{number}_result.npz",
            allow_pickle=False,
            **{name: value for name, value in result.items() if value is not None},
        )
    lines = "\n".join(f"- layer {n}: {about}" for n, (about, _) in enumerate(drawn))
    about = bench.about[0].upper() + bench.about[1:]
    (folder / "README.md").write_text(
        README.format(
            test=bench.name,
            seed=seed,
            about=about,
            layers=lines,
            rows=config.rows,
            cols=config.cols,
        )
    )
    return passes


def write_beside(bench: SimulationTest, seed: int, folder: Path) -> int:
    """`write` into somebody's folder, in place of the files of a test before; the README.md, which says that all are
    there, goes first and comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked_folder(folder), tempfile.TemporaryDirectory(prefix=".golden-", dir=folder) as name:
        passes = write(bench, seed, Path(name))
        for path in sorted(folder.iterdir(), key=lambda path: path.name != "README.md"):
            if OURS.fullmatch(path.name):
                path.unlink()
        for path in sorted(Path(name).iterdir(), key=lambda path: path.name == "README.md"):
            path.rename(folder / path.name)
    return passes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("test", metavar="TEST", nargs="?", help="test name (all standard ones)")
    parser.add_argument("--seed", type=whole_number(0), default=1, help="seed of the layers (1)")
    parser.add_argument("--out", metavar="DIR", type=file_name, help="build/golden/TEST by default")


def run(options: argparse.Namespace) -> None:
    if options.out and not options.test:
        raise InputError("--out needs a TEST: name one")
    if options.out:
        check_folder(options.out)
    for bench in [find(name) for name in ([options.test] if options.test else DEFAULT_TESTS)]:
        folder = options.out or BUILD / "golden" / bench.name
        if options.out:
            with writing(folder):
                passes = write_beside(bench, options.seed, folder)
        else:
            with replacing(folder) as own:
                passes = write(bench, options.seed, own)
        print(f"{bench.name}: {number_of(passes, 'pass')} in {folder}", flush=True)
