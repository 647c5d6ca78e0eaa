"""The whole machine running compiled networks."""

from tb.catalogue import Bench
from tb.sim.dram import SOURCES

DRAM_BYTES = 4 << 20  # of tb_top
CYCLE_LIMIT = 5_000_000  # of a run
PASS_DONE = "image %d: pass %d done"  # what runs_requests logs, both counted from 1

_MODULE = "tb.net.net_tests"


def network(name: str, about: str, testcase: str = "runs_network", **arguments: object) -> Bench:
    return Bench(name, about, "tb_top", _MODULE, testcase, arguments=arguments, sources=SOURCES)


BENCHES = [
    network("net", "MobileNetV1 on the demo photo, every pass and the result against the model"),
]
