# SPDX-License-Identifier: Apache-2.0
"""Jobs as passes: the descriptor of what a job does with its group."""

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Convolution, Depthwise, Filtered, Grouped, Output, Separable
from eyrie.compiler.ir.plan import Job
from eyrie.compiler.plan.constants import WorkConstants
from eyrie.compiler.target.descriptors.convolution import ConvolutionPass, convolution_descriptor
from eyrie.compiler.target.descriptors.elementwise import (
    constants_beside,
    elementwise_descriptor,
    with_operation,
    words_beside,
    words_in,
    words_out,
)
from eyrie.compiler.target.descriptors.separable import SeparablePass, separable_descriptor
from eyrie.compiler.target.descriptors.streams import linear_stream
from eyrie.compiler.target.limits import filter_sets, row_stationary_groups
from eyrie.model.config import AcceleratorConfig
from eyrie.model.descriptor import Descriptor, Level, StreamDescriptor
from eyrie.model.encoding import LOOKUP_WORDS, ArrayMode, Operation, PoolMode, Stream
from eyrie.model.operators.quantization import stored_zero_point


def job_descriptor(
    config: AcceleratorConfig,
    constants: WorkConstants,
    job: Job,
    source: FeatureMap,
    made: FeatureMap,
    others: tuple[FeatureMap, ...],
    turn: int,
) -> Descriptor:
    """others: maps of words of the second operand; turn: which of the group's jobs it is. Raises InputError for what
    a pass cannot do."""
    if isinstance(constants.group, Elementwise):
        return _elementwise_descriptor(config, constants.group, constants.operation_address, job, source, made, others)
    descriptor = _array_descriptor(config, constants, job, source, made, turn)
    for operation in constants.group.operations:
        if operation.kind == Operation.TABLE:
            beside = _lookup_stream(constants.operation_address)
        else:
            [other] = others
            beside = _array_descriptor(config, constants, job, source, other, turn).stream(Stream.OFMAP)
        descriptor = with_operation(config, descriptor, operation, beside)
    return descriptor


def _elementwise_descriptor(
    config: AcceleratorConfig,
    group: Elementwise,
    address: int | None,
    job: Job,
    source: FeatureMap,
    made: FeatureMap,
    others: tuple[FeatureMap, ...],
) -> Descriptor:
    """address: of the constants of the operation"""
    operation, rows = group.operation, (job.first, job.last)
    pixels, first = group.pixels(job.last - job.first), job.first // group.together
    residual = windows = None
    if operation.kind == Operation.TABLE:
        residual = _lookup_stream(address)
    elif operation.constants is not None:
        assert address is not None
        beside = constants_beside(address, operation.constants.shape, made, *rows)
        residual, windows = (None, beside) if operation.kind == Operation.SUM else (beside, None)
    elif others:
        [other] = others
        residual = words_beside(other, made, *rows)
    last_channels = (group.output.shape[2] - 1) % 8 + 1
    return elementwise_descriptor(
        config,
        operation,
        words_in(source, group.window, pixels, group.outside, first),
        words_out(made, *rows, last_channels),
        residual,
        windows,
    )


def _lookup_stream(address: int | None) -> StreamDescriptor:
    assert address is not None
    return linear_stream(address, Level(LOOKUP_WORDS, 1))


def _array_descriptor(
    config: AcceleratorConfig, constants: WorkConstants, job: Job, source: FeatureMap, made: FeatureMap, turn: int
) -> Descriptor:
    group, blocks = constants.group, constants.blocks(job)
    zero_point, filters = group.source.zero_point, constants.filters_of(job, turn)
    if blocks.flat:
        source, made = source.flat, made.flat
    one_pixel = bool(group.operations)  # which take a word at a time
    filter_zero_point = stored_zero_point(group.filters) if isinstance(group, Filtered) else 0
    if constants.packing and constants.packing.mode == ArrayMode.CONVOLUTION:
        assert isinstance(group, Filtered) and filters
        halves, sets = row_stationary_groups(group.source.shape[2]) // source.groups, filter_sets(config)
        return convolution_descriptor(
            config,
            ConvolutionPass(
                source,
                group.window,
                blocks,
                zero_point,
                constants.packing.tile // sets,
                4,
                1,
                sets,
                filters.tiles,
                filters.address,
                None,
                filters.table_address,
                made,
                group.table.output,
                filters.last_channels,
                halves,
                one_pixel,
                filter_zero_point,
                filters.ring,
                filters.chunk_groups,
            ),
        )
    pool = PoolMode.AVERAGE if group.averaged else PoolMode.NONE
    depthwise = constants.depthwise_of(job, turn, source.groups)
    middle, depthwise_zero_point = Output(), 0
    if isinstance(group, (Depthwise, Separable)):
        middle, depthwise_zero_point = group.middle.output, stored_zero_point(group.depthwise)
    output = group.table.output if isinstance(group, Filtered) else Output()
    # Channels that there are not: what an operation on the words makes of them is not written, as what it reads may be
    # words that nobody has written. Slices of channels have no such operation.
    in_parts = isinstance(group, Depthwise) and constants.part is not group
    last_channels = 8 if in_parts else (group.output.shape[2] - 1) % 8 + 1
    return separable_descriptor(
        config,
        SeparablePass(
            source,
            made,
            group.window,
            blocks,
            zero_point,
            output,
            filters,
            depthwise,
            middle,
            pool,
            max(group.averaged, 1),
            isinstance(group, (Convolution, Grouped)),
            group.own_blocks if isinstance(group, Grouped) else 0,
            one_pixel,
            filter_zero_point,
            depthwise_zero_point,
            last_channels,
        ),
    )
