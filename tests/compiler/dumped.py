# SPDX-License-Identifier: Apache-2.0
"""What each stage of the compiler prints for two small networks, as tests/compiler/dumps/ has it.

    python -m tests.compiler.dumped

writes the files anew: what changes in them is what a change to the compiler does to these networks.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from eyrie.compiler.network import compile_network
from eyrie.compiler.pipeline import NAMES, dumped
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder, bias, scales, separable, weights

FOLDER = Path(__file__).parent / "dumps"
SEARCH_ITERATIONS = 8


def branches() -> bytes:
    """A residual block between two convolutions, and an average pool; two outputs."""
    rng, net = np.random.default_rng(2), TfliteBuilder("branches")
    out = Quant(0.1, 3)
    x = net.conv(
        "stem", net.input("picture", (1, 6, 8, 3), INPUT), weights(rng, 8, 3, 3, 3), scales(rng, 8), bias(rng, 8), out
    )
    inner = net.conv("inner", x, weights(rng, 8, 3, 3, 8), scales(rng, 8), bias(rng, 8), out)
    total = net.add("total", x, inner, out)
    pooled = net.average_pool("pooled", total, 2, 2)
    return net.build([pooled, net.conv("head", total, weights(rng, 4, 1, 1, 8), scales(rng, 4), bias(rng, 4), out)])


NETWORKS = {
    "chain": (separable(np.random.default_rng(1)), NAMES),
    "branches": (branches(), tuple(name for name in NAMES if name != "fusion")),
}  # that is of chains


def printed(network: str) -> str:
    """All stages of a network, a key of NETWORKS."""
    model, names = NETWORKS[network]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "net.tflite"
        path.write_bytes(model)
        stages = compile_network(path, search_iterations=SEARCH_ITERATIONS)
        return "".join(f"==== {name}\n{dumped(stages, name)}\n" for name in names)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in NETWORKS:
        (FOLDER / f"{name}.txt").write_text(printed(name))
