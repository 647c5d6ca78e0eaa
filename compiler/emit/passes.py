# SPDX-License-Identifier: Apache-2.0
"""The pass descriptor of a job (a tile of a group)."""

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Convolution, Depthwise, Filtered, Group, Grouped, Output, Separable
from eyrie.compiler.ir.plan import Job
from eyrie.compiler.plan.constants import WorkConstants
from eyrie.compiler.target.blocks import Blocks, Filters
from eyrie.compiler.target.descriptors.convolution import ConvolutionPass, convolution_descriptor
from eyrie.compiler.target.descriptors.elementwise import (
    constants_beside,
    constants_by_channel,
    elementwise_descriptor,
    with_operation,
    with_window,
    words_beside,
    words_in,
    words_out,
)
from eyrie.compiler.target.descriptors.separable import SeparablePass, separable_descriptor
from eyrie.compiler.target.descriptors.streams import linear_stream
from eyrie.compiler.target.limits import filter_sets, row_stationary_groups
from eyrie.model.config import WORD_CHANNELS, AcceleratorConfig
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
        elif operation.constants is not None:
            beside = constants_by_channel(constants.operation_address, descriptor.stream(Stream.OFMAP), made, job.part)
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
    ifmap = words_in(source, group.window, pixels, group.words, group.outside, first)
    return elementwise_descriptor(
        config,
        with_window(operation, ifmap),
        ifmap,
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
    blocks, filters = constants.blocks(job), constants.filters_of(job, turn)
    if blocks.flat:
        source, made = source.flat, made.flat
    if constants.packing.mode == ArrayMode.CONVOLUTION:
        assert isinstance(constants.group, Convolution) and filters
        return convolution_descriptor(
            config, _convolution_pass(config, constants.group, blocks, constants.packing.tile, filters, source, made)
        )
    depthwise = constants.depthwise_of(job, turn, source.groups)
    in_parts = constants.part is not constants.group
    return separable_descriptor(
        config, _separable_pass(constants.group, blocks, filters, depthwise, in_parts, source, made)
    )


def _convolution_pass(
    config: AcceleratorConfig,
    group: Convolution,
    blocks: Blocks,
    tile: int,
    filters: Filters,
    source: FeatureMap,
    made: FeatureMap,
) -> ConvolutionPass:
    sets = filter_sets(config)
    return ConvolutionPass(
        source,
        group.window,
        blocks,
        group.source.zero_point,
        p=tile // sets,
        q=WORD_CHANNELS,
        r=1,
        t=sets,
        tiles=filters.tiles,
        filter_address=filters.address,
        table_address=filters.table_address,
        ofmap=made,
        output=group.table.output,
        last_channels=filters.last_channels,
        halves=row_stationary_groups(group.source.shape[2]) // source.groups,
        one_pixel=_one_pixel(group),
        filter_zero_point=stored_zero_point(group.filters),
        ring=filters.ring,
        chunk_groups=filters.chunk_groups,
    )


def _separable_pass(
    group: Group,
    blocks: Blocks,
    filters: Filters | None,
    depthwise: int | None,
    in_parts: bool,
    source: FeatureMap,
    made: FeatureMap,
) -> SeparablePass:
    """depthwise: the address of the depthwise words; in_parts: the job is one of several slices of the channels"""
    middle, depthwise_zero_point = Output(), 0
    if isinstance(group, (Depthwise, Separable)):
        middle, depthwise_zero_point = group.middle.output, stored_zero_point(group.depthwise)
    # Channels that there are not: what an operation on the words makes of them is not written, as what it reads may be
    # words that nobody has written. Slices of channels have no such operation.
    in_slices = isinstance(group, Depthwise) and in_parts
    return SeparablePass(
        source,
        made,
        group.window,
        blocks,
        group.source.zero_point,
        group.table.output if isinstance(group, Filtered) else Output(),
        filters,
        depthwise,
        middle,
        PoolMode.AVERAGE if group.averaged else PoolMode.NONE,
        max(group.averaged, 1),
        by_taps=isinstance(group, (Convolution, Grouped)),
        own_blocks=group.own_blocks if isinstance(group, Grouped) else 0,
        one_pixel=_one_pixel(group),
        filter_zero_point=stored_zero_point(group.filters) if isinstance(group, Filtered) else 0,
        depthwise_zero_point=depthwise_zero_point,
        last_channels=8 if in_slices else (group.output.shape[2] - 1) % 8 + 1,
    )


def _one_pixel(group: Group) -> bool:
    """Whether sums leave for one pixel at a time: for operations, which take a word at a time."""
    return bool(group.operations)
