# SPDX-License-Identifier: Apache-2.0
"""Jobs as passes: the descriptor of what a job does with its group."""

from compiler.ir.feature_map import FeatureMap
from compiler.ir.layer import Convolution, Depthwise, Elementwise, Filtered, Grouped, Output, Separable
from compiler.ir.plan import Job
from compiler.plan.constants import WorkConstants
from compiler.plan.filters import row_stationary_groups
from compiler.target.descriptors.convolution import ConvolutionPass, convolution_descriptor
from compiler.target.descriptors.elementwise import (
    elementwise_descriptor,
    rows_beside,
    rows_in,
    rows_out,
    with_operation,
)
from compiler.target.descriptors.separable import SeparablePass, separable_descriptor
from compiler.target.mapping import CONVOLUTION_FILTERS
from model.config import MachineConfig
from model.descriptor import Descriptor
from model.encoding import ArrayMode, PoolMode, Stream


def job_descriptor(machine: MachineConfig, constants: WorkConstants, job: Job, source: FeatureMap, made: FeatureMap,
                   others: tuple[FeatureMap, ...], first: bool) -> Descriptor:
    """others: maps of words B; first: of the group's jobs, which waits for its constants. Raises ValueError for what
    a pass cannot do."""
    if isinstance(constants.group, Elementwise):
        return _elementwise_descriptor(machine, constants.group, job, source, made, others)
    descriptor = _array_descriptor(machine, constants, job, source, made, first)
    for operation, other in zip(constants.group.operations, others, strict=True):
        beside = _array_descriptor(machine, constants, job, source, other, first).stream(Stream.OFMAP)
        descriptor = with_operation(machine, descriptor, operation, beside)
    return descriptor


def _elementwise_descriptor(machine: MachineConfig, group: Elementwise, job: Job, source: FeatureMap, made: FeatureMap,
                            others: tuple[FeatureMap, ...]) -> Descriptor:
    [operation], [other] = group.operations, others
    rows = job.first, job.last
    last_channels = (group.output.shape[2] - 1) % 8 + 1
    return elementwise_descriptor(machine, operation, rows_in(source, *rows), rows_out(made, *rows, last_channels),
                                  rows_beside(other, *rows))


def _array_descriptor(machine: MachineConfig, constants: WorkConstants, job: Job, source: FeatureMap, made: FeatureMap,
                      first: bool) -> Descriptor:
    group, blocks = constants.group, constants.blocks(job)
    zero_point, filters = group.source.zero_point, constants.filters_of(job, first)
    if constants.packing and constants.packing.mode == ArrayMode.CONVOLUTION:
        halves = row_stationary_groups(group) // source.groups
        return convolution_descriptor(machine, ConvolutionPass(
            source, group.window, blocks, zero_point, CONVOLUTION_FILTERS, 4, 1, machine.sets,
            filters.tiles, filters.address, None, filters.table_address, made,
            group.table.output, filters.last_channels, halves))
    pool = PoolMode.AVERAGE if group.averaged else PoolMode.NONE
    middle = group.middle.output if isinstance(group, (Depthwise, Separable)) else Output()
    output = group.table.output if isinstance(group, Filtered) else Output()
    return separable_descriptor(machine, SeparablePass(
        source, made, group.window, blocks, zero_point, output, filters, constants.depthwise_address, middle, pool,
        max(group.averaged, 1), isinstance(group, (Convolution, Grouped)),
        group.own_blocks if isinstance(group, Grouped) else 0))
