# SPDX-License-Identifier: Apache-2.0
"""A compiled network layer by layer, for reports and dumps."""

from dataclasses import dataclass, replace

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.plan import Plan
from eyrie.compiler.plan.bounds import constant_words
from eyrie.compiler.plan.search import Placed
from eyrie.compiler.target.mapping import Mapping
from eyrie.model.config import AcceleratorConfig
from eyrie.model.messages import number_of


@dataclass(frozen=True)
class Step:
    """What was made of a layer of the network.

    index   of its group in the plan: of the first image's, where each image goes through it alone, or the first strip
    images  that go through its passes, in all; mapping: of the first strip
    passes  counted from 0: each job is one; cycles: estimate for all of them
    """

    group: Group
    index: int
    images: int
    schedule: str
    mapping: Mapping
    filters: str
    passes: tuple[int, ...]
    cycles: int

    @property
    def kind(self) -> str:
        """The kind of the layer, with the operations that are fused to it: "conv", "separable + average"."""
        group = self.group
        fused = [] if isinstance(group, Elementwise) else [operation.name for operation in group.operations]
        return " + ".join([group.kind, *(["average"] if group.averaged else []), *fused])

    @property
    def macs(self) -> int:
        """Of all images."""
        return self.group.macs * self.images // max(self.group.images, 1)

    def constant_words(self, config: AcceleratorConfig) -> int:
        """Words of constants, once for all images that go together."""
        return constant_words(self.group, config) * self.images // max(self.group.images, 1)

    def estimate(self, config: AcceleratorConfig) -> int:
        """The planner's cycles: the array's, or the constants' through the DRAM port, if these are more."""
        return max(self.cycles, int(self.constant_words(config) / config.dram_words))

    def __str__(self) -> str:
        return (
            f"{self.group.layer:10} {self.schedule:9} {number_of(len(self.passes), 'pass'):>9} from {self.passes[0]:2}"
            f"  {self.mapping}, filters {self.filters}"
        )


def steps_of(plan: Plan, placed: Placed, images: int) -> list[Step]:
    """By layer, of all images together."""
    steps: dict[str, Step] = {}
    for n, (group, constants) in enumerate(zip(plan.groups, placed.constants)):
        segment = plan.segment_of[n]
        if segment.is_load:
            continue
        passes = tuple(number for number, job in zip(plan.passes_before, plan.jobs) if job.group == n)
        step = Step(
            group.origin,
            n,
            images,
            segment.nest.describe(n - segment.first),
            constants.mapping(plan, n),
            constants.filters_at,
            passes,
            constants.cycles(plan, n),
        )
        if before := steps.get(step.group.layer):
            step = replace(before, passes=before.passes + step.passes, cycles=before.cycles + step.cycles)
        steps[step.group.layer] = step
    return list(steps.values())
