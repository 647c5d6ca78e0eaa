# SPDX-License-Identifier: Apache-2.0
"""Co-simulation: it finds no difference in a program that is right, and names the first pass of a planted one."""

from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler.artefact.network import AcceleratorSubgraph, CompiledNetwork
from eyrie.compiler.folder import network_of
from eyrie.compiler.ir.image import Image
from eyrie.compiler.network import compile_network
from eyrie.runtime.back_end import AcceleratorRun
from eyrie.runtime.back_ends import cosim
from eyrie.runtime.inputs import random_inputs
from tests.runtime import damages


@pytest.fixture(scope="module", params=[1, 2])
def network(request: pytest.FixtureRequest, seed: int, tmp_path_factory: pytest.TempPathFactory) -> CompiledNetwork:
    path = tmp_path_factory.mktemp("cosim") / "net.tflite"
    path.write_bytes(damages.branch(np.random.default_rng(seed)))
    return network_of(compile_network(path, images=request.param))


def test_equal_programs(network: CompiledNetwork, seed: int) -> None:
    """A program for three images, in runs of one or two."""
    done = cosim.Cosim(seed).run(network, random_inputs(network.whole_graph(), 3, seed))
    assert done.accelerator[0].runs[0]["counters"]["CYCLES"] > 0


@pytest.mark.parametrize("layer", [0, -1])
def test_the_first_pass_that_differs(
    layer: int, network: CompiledNetwork, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The RTL runs a program with other constants for a layer, or takes another input."""
    on_rtl = cosim.named_on_rtl

    def planted(image: Image, inputs: dict[str, np.ndarray], *rest: object, **more: object) -> AcceleratorRun:
        if layer:
            return on_rtl(image, {name: values ^ 1 for name, values in inputs.items()}, *rest, **more)
        area = next(area for name, area in image.areas.items() if name.endswith((".filters", ".table")))
        dram = image.dram.copy()
        dram[area.address : area.end] ^= 0x15
        return on_rtl(replace(image, dram=dram), inputs, *rest, **more)

    monkeypatch.setattr(cosim, "named_on_rtl", planted)
    [program] = network.programs
    name = program.image.steps[0].name
    said = f"^the program: run 0: pass 0, of layer {name}, is the first whose ofmap differs: the signature is 0x"
    with pytest.raises(cosim.Mismatch, match=said):
        cosim.Cosim(seed).run(network, random_inputs(network.whole_graph(), 2, seed))


def test_a_later_pass(network: CompiledNetwork, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature, a byte of DRAM and a counter that differ are reported, in this order."""
    on_rtl = cosim.named_on_rtl
    inputs = random_inputs(network.whole_graph(), 2, seed)

    def planted(change) -> str:
        def changed(image: Image, *given: object, at_end, **more: object) -> AcceleratorRun:
            done = on_rtl(image, *given, at_end=at_end, **more)
            change(done.runs[-1])
            return done

        monkeypatch.setattr(cosim, "named_on_rtl", changed)
        with pytest.raises(cosim.Mismatch) as caught:
            cosim.Cosim(seed).run(network, inputs)
        return str(caught.value)

    steps = network.programs[0].image.steps
    last = steps[-1].passes[-1]
    said = planted(lambda run: run["passes"][last].update(signature=0))
    assert f"pass {last}, of layer {steps[-1].name}, is the first" in said
    assert "no pass differs, but TRANSFERS is 0 on the RTL, " in planted(
        lambda run: run["counters"].update(TRANSFERS=0)
    )
    assert "passes, the functional simulator" in planted(lambda run: run["passes"].pop())


def test_a_byte_of_dram(network: CompiledNetwork, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last pass is right, its store is not."""
    image = network.programs[0].image
    [output] = image.outputs.values()
    program = AcceleratorSubgraph(image)

    class Soc:
        def __init__(self, soc) -> None:
            self.memory = soc.memory.copy()
            self.memory[output.address] ^= 1

    on_rtl = cosim.named_on_rtl
    monkeypatch.setattr(
        cosim, "named_on_rtl", lambda *given, at_end: on_rtl(*given, at_end=lambda soc: at_end(Soc(soc)))
    )
    values = np.zeros((1, *image.input_map.shape), np.int8)
    with pytest.raises(cosim.Mismatch, match=f"no pass differs, but 1 bytes of DRAM do, .* 0x{output.address:08x}$"):
        cosim.Cosim(seed).run_program(program, image.named(values))


@pytest.mark.regress
def test_the_bundled_network(seed: int) -> None:
    from eyrie.runtime.bundled import MODEL

    network = network_of(compile_network(MODEL))
    assert cosim.Cosim(seed).run(network, random_inputs(network.whole_graph(), 1, seed)).outputs
