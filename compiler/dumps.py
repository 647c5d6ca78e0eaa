# SPDX-License-Identifier: Apache-2.0
"""The texts that --dump prints for the stages between groups and commands."""

from eyrie.compiler.emit.steps import Step
from eyrie.compiler.ir.buffer import Buffer
from eyrie.compiler.ir.divisions import sliced
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.nest_text import header, lines_of
from eyrie.compiler.ir.plan import Plan, Segment
from eyrie.compiler.passes.fold_moves import why_cached
from eyrie.compiler.plan.bounds import Bounds
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.mappings import access_of, mappings_of
from eyrie.compiler.study import banks as mapping
from eyrie.compiler.study import fusion as plans
from eyrie.compiler.study import pairs
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.messages import number_of


def moves(before: Graph, after: Graph) -> str:
    """Return a table of data-movement operators: the result of each, and how many bytes they store
    (docs/research/movement.md)."""
    return pairs.describe(before, after, why_cached)


def banks(graph: Graph) -> str:
    """Return the copies under local and global bank mapping, for two arrays (docs/research/movement.md)."""
    arrays = (mapping.Array(), mapping.Array(columns=mapping.ROWS))
    return "\n\n".join(f"{array}\n{mapping.describe(graph, array)}" for array in arrays)


def fusion(groups: list[Group], config: AcceleratorConfig) -> str:
    """Return the best plans of the chain under the objectives of the literature and of Eyrie (docs/research/fusion.md).

    Raise Unsupported if the network is not a chain.
    """
    if not Flow(tuple(groups)).is_chain:
        raise Unsupported("the measures of fusion need a chain, and the network has branches")
    chain = plans.chain_of(groups)
    found = {name: plans.best_plan(chain, name, config.glb_bytes) for name in plans.MEASURES}
    return "\n".join(f"{name}\n{plans.describe(plan)}" for name, plan in found.items())


def segments(plan: Plan, config: AcceleratorConfig, turn: bool, compose: bool) -> str:
    """Return the loop nests of all segments, as `eyrie compile --schedule` reads them, with comments.

    turn, compose: as the network was compiled
    """
    maps = {map_.name: map_ for group in plan.groups for map_ in (group.source, *group.others, group.output)}
    planar = [name for name, map_ in maps.items() if map_.planar]
    lines = header(planar, plan.stores_overlap, turn, compose)
    return "\n".join([*lines, *(_segment(segment, config) for segment in plan.segments)])


def _segment(segment: Segment, config: AcceleratorConfig) -> str:
    rings = [segment.ring_rows(n) for n in range(len(segment.groups) - 1)]
    kept = f"; rows kept between passes: {' '.join(map(str, rings))}" if rings else ""
    kept += "; transfers alone, no pass" if segment.is_load else ""
    jobs, most = number_of(len(segment.jobs), "job"), Bounds(segment, config).peak_words * GLB_WORD_BYTES
    about = f"# {jobs}, at most {most} bytes{kept}"
    head, *lines = lines_of(segment)
    return "\n".join([f"{head:24}{about}", *lines])


def mappings(steps: list[Step], plan: Plan, config: AcceleratorConfig) -> str:
    """Return a line per fused operator: the mapping, the number of candidates, the estimated cycles, and the lower
    bound.

    The lower bound is the longer of the MACs on all multipliers and the weights through the DRAM port.
    """
    return "\n".join(_mapping(step, plan, config) for step in steps)


def _mapping(step: Step, plan: Plan, config: AcceleratorConfig) -> str:
    n = step.index
    segment, rows = plan.segment_of[n], [job.last - job.first for job in plan.jobs_of[n]]
    kinds = mappings_of(config, sliced(plan.groups[n], segment.parts_of(n)), max(rows), access_of(segment, n))
    bound = max(step.macs / config.total_multipliers, step.constant_words(config) / config.dram_words, 1)
    cycles = step.estimate(config)
    return (
        f"{step.group.layer:10} {step.mapping}; 1 of {len(kinds)} kinds, {cycles} cycles, "
        f"lower bound {round(bound)} (+{100 * (cycles / bound - 1):.1f} %)"
    )


def places(buffers: list[Buffer]) -> str:
    """Return a line per buffer in the GLB: bytes, and the jobs during which it is in use."""
    found = sorted(buffers, key=lambda buffer: (buffer.birth, buffer.placed))
    return "\n".join(
        f"{buffer.placed * GLB_WORD_BYTES:6} to {(buffer.placed + buffer.words) * GLB_WORD_BYTES:6}"
        f"  jobs {buffer.birth // 2:3} to {buffer.death // 2:3}  {buffer.name}"
        for buffer in found
    )
