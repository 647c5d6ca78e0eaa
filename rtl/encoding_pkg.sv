// SPDX-License-Identifier: Apache-2.0
// Written by scripts/gen_pkg.py from model/encoding.py, which documents the fields: do not edit
// here.

package encoding_pkg;

  typedef enum logic [3:0] {
    OpEnd = 4'd1,
    OpConfig = 4'd2,
    OpPass = 4'd3,
    OpLoad = 4'd4,
    OpStore = 4'd5,
    OpChunks = 4'd6,
    OpCoded = 4'd7
  } opcode_e;

  typedef enum logic [2:0] {
    ArrayConvolution = 3'd0,
    ArrayPointwise = 3'd1,
    ArrayFused = 3'd2,
    ArrayDepthwise = 3'd3,
    ArrayElementwise = 3'd4
  } array_mode_e;

  typedef enum logic [1:0] {
    DrainConvolution = 2'd0,
    DrainPointwise = 2'd1,
    DrainWords = 2'd2,
    DrainNone = 2'd3
  } drain_mode_e;

  typedef enum logic [1:0] {
    PoolNone = 2'd0,
    PoolAverage = 2'd1,
    PoolMax = 2'd2
  } pool_mode_e;

  typedef enum logic [3:0] {
    OperationNone = 4'd0,
    OperationAdd = 4'd1,
    OperationSub = 4'd2,
    OperationMul = 4'd3,
    OperationMaximum = 4'd4,
    OperationMinimum = 4'd5,
    OperationTable = 4'd6,
    OperationSum = 4'd7,
    OperationSquaredDifference = 4'd8,
    OperationPrelu = 4'd9
  } operation_e;

  typedef enum logic [1:0] {
    ToRows = 2'd0,
    ToPixels = 2'd1,
    ToPpu = 2'd2
  } destination_e;

  typedef enum logic [1:0] {
    AxisNone = 2'd0,
    AxisRow = 2'd1,
    AxisColumn = 2'd2
  } axis_e;

  typedef enum logic [3:0] {
    ErrorNone = 4'd0,
    ErrorIllegalCommand = 4'd1,
    ErrorDramAddress = 4'd2,
    ErrorAxiResponse = 4'd3,
    ErrorWatchdog = 4'd4,
    ErrorGlbAddress = 4'd5,
    ErrorDescriptor = 4'd6,
    ErrorCodedWeights = 4'd7
  } error_code_e;

  localparam int unsigned SemaphoreBits = 29;
  localparam int unsigned CodeClasses = 10;
  localparam int unsigned CodeLanes = 16;
  localparam int unsigned LookupWords = 32;
  localparam int unsigned IdsPerWord = 8;
  localparam int unsigned NoColumn = 63;
  localparam int unsigned NoFilterColumn = 3;
  localparam int unsigned ArrayShapeIndex = 0;
  localparam int unsigned ArrayLoopsIndex = 1;
  localparam int unsigned DepthwiseIndex = 2;
  localparam int unsigned DrainIndex = 3;
  localparam int unsigned PpuIndex = 4;
  localparam int unsigned PpuFirstIndex = 5;
  localparam int unsigned PpuSecondIndex = 6;
  localparam int unsigned PpuResultIndex = 7;
  localparam int unsigned RowIdsIndex = 8;
  localparam int unsigned ColumnIdsIndex = 10;
  localparam int unsigned StreamsIndex = 40;
  localparam int unsigned StreamWords = 16;
  localparam int unsigned ConfigWords = 152;
  localparam int unsigned GlbAddressBits = 16;
  localparam int unsigned CoordinateBits = 13;
  localparam int unsigned Levels = 12;
  localparam int unsigned OfmapBlockLevel = 3;
  localparam int unsigned OfmapTileLevel = 5;
  localparam int unsigned StreamAddressOffset = 0;
  localparam int unsigned StreamRangeOffset = 1;
  localparam int unsigned StreamOptionsOffset = 2;
  localparam int unsigned StreamLevelsOffset = 4;
  localparam int unsigned ParameterWords = 9;
  localparam int unsigned DepthwiseRunTag = 4;
  localparam int unsigned Identity = 1163481673;
  localparam int unsigned CounterBytes = 8;

  localparam int unsigned StreamIfmap = 0;
  localparam int unsigned StreamFilter = 1;
  localparam int unsigned StreamDepthwise = 2;
  localparam int unsigned StreamParameters = 3;
  localparam int unsigned StreamIpsum = 4;
  localparam int unsigned StreamOfmap = 5;
  localparam int unsigned StreamResidual = 6;

  localparam int unsigned CounterCycles = 0;
  localparam int unsigned CounterPasses = 1;
  localparam int unsigned CounterTransfers = 2;
  localparam int unsigned CounterMacs = 3;
  localparam int unsigned CounterZeroSkipped = 4;
  localparam int unsigned CounterDramReadBytes = 5;
  localparam int unsigned CounterDramWriteBytes = 6;
  localparam int unsigned CounterCommandBytes = 7;
  localparam int unsigned CounterGlbIfmapBytes = 8;
  localparam int unsigned CounterGlbFilterBytes = 9;
  localparam int unsigned CounterGlbDepthwiseBytes = 10;
  localparam int unsigned CounterGlbParametersBytes = 11;
  localparam int unsigned CounterGlbIpsumBytes = 12;
  localparam int unsigned CounterGlbStoreBytes = 13;
  localparam int unsigned CounterGlbOfmapBytes = 14;
  localparam int unsigned CounterGlbLoadBytes = 15;
  localparam int unsigned CounterGlbConflicts = 16;
  localparam int unsigned CounterArrayBusy = 17;
  localparam int unsigned CounterArrayStall = 18;
  localparam int unsigned CounterIfmapStall = 19;
  localparam int unsigned CounterFilterStall = 20;
  localparam int unsigned CounterDrainBusy = 21;
  localparam int unsigned CounterDrainStall = 22;
  localparam int unsigned CounterDmaBusy = 23;
  localparam int unsigned CounterDmaWait = 24;
  localparam int unsigned CounterPassWait = 25;
  localparam int unsigned CounterGlbResidualBytes = 26;
  localparam int unsigned CounterPeWaitIfmap = 27;
  localparam int unsigned CounterPeWaitWords = 28;
  localparam int unsigned CounterPeWaitFilter = 29;
  localparam int unsigned CounterPeWaitPsum = 30;
  localparam int unsigned CounterFilterWait = 31;
  localparam int unsigned CounterIfmapWait = 32;
  localparam int unsigned CounterPeIdle = 33;
  localparam int unsigned CounterPeBehind = 34;
  localparam int unsigned CounterDecodedBytes = 35;

  localparam logic [11:0] RegisterIdentity = 12'h000;
  localparam logic [11:0] RegisterControl = 12'h004;
  localparam logic [11:0] RegisterStatus = 12'h008;
  localparam logic [11:0] RegisterErrorCode = 12'h00C;
  localparam logic [11:0] RegisterErrorAddress = 12'h010;
  localparam logic [11:0] RegisterProgramBase = 12'h014;
  localparam logic [11:0] RegisterWindowBase = 12'h018;
  localparam logic [11:0] RegisterWindowLimit = 12'h01C;
  localparam logic [11:0] RegisterWatchdogLimit = 12'h020;
  localparam logic [11:0] RegisterInterruptEnable = 12'h024;
  localparam logic [11:0] RegisterCounters = 12'h100;

  localparam int unsigned Streams = 7;
  localparam int unsigned Counters = 36;

  localparam int unsigned EndCommandWidth = 4;
  typedef struct packed {
    logic [3:0] opcode;
  } end_command_t;

  localparam int unsigned ConfigCommandWidth = 64;
  typedef struct packed {
    logic [51:0] more;
    logic [7:0] index;
    logic [3:0] opcode;
  } config_command_t;

  localparam int unsigned PassCommandWidth = 62;
  typedef struct packed {
    logic [28:0] wait_passes;
    logic [28:0] wait_transfers;
    logic [3:0] opcode;
  } pass_command_t;

  localparam int unsigned TransferCommandWidth = 64;
  typedef struct packed {
    logic [28:0] wait_chunks;
    logic [28:0] wait_passes;
    logic block;
    logic chunk;
    logic [3:0] opcode;
  } transfer_command_t;

  localparam int unsigned TransferAddressWidth = 64;
  typedef struct packed {
    logic [15:0] words;
    logic [15:0] glb_address;
    logic [31:0] dram_address;
  } transfer_address_t;

  localparam int unsigned TransferRowsWidth = 60;
  typedef struct packed {
    logic [11:0] count;
    logic signed [15:0] glb_stride;
    logic signed [31:0] dram_stride;
  } transfer_rows_t;

  localparam int unsigned TransferPlanesWidth = 60;
  typedef struct packed {
    logic [11:0] count;
    logic signed [15:0] glb_stride;
    logic signed [31:0] dram_stride;
  } transfer_planes_t;

  localparam int unsigned TransferChunksWidth = 48;
  typedef struct packed {
    logic [15:0] count;
    logic [15:0] ring_end;
    logic [15:0] ring_first;
  } transfer_chunks_t;

  localparam int unsigned CodedCommandWidth = 64;
  typedef struct packed {
    logic [28:0] wait_chunks;
    logic [28:0] wait_passes;
    logic with_table;
    logic chunk;
    logic [3:0] opcode;
  } coded_command_t;

  localparam int unsigned CodedLengthsWidth = 64;
  typedef struct packed {
    logic [15:0] fourth;
    logic [15:0] third;
    logic [15:0] second;
    logic [15:0] first;
  } coded_lengths_t;

  localparam int unsigned WeightClassWidth = 20;
  typedef struct packed {
    logic [7:0] base;
    logic [2:0] extra;
    logic [2:0] length;
    logic [5:0] first;
  } weight_class_t;

  localparam int unsigned CodeTableWidth = 48;
  typedef struct packed {
    logic signed [7:0] centre;
    logic [19:0] second;
    logic [19:0] first;
  } code_table_t;

  localparam int unsigned ArrayShapeWidth = 63;
  typedef struct packed {
    logic signed [7:0] depthwise_zero_point;
    logic signed [7:0] filter_zero_point;
    logic [1:0] rotation;
    logic [8:0] filters_2;
    logic [8:0] filters_1;
    logic [8:0] filters_0;
    logic [8:0] pixels;
    logic word_offset;
    logic ifmap_offset;
    logic stride_2;
    logic [2:0] taps;
    logic [2:0] mode;
  } array_shape_t;

  localparam int unsigned ArrayLoopsWidth = 58;
  typedef struct packed {
    logic [1:0] bands;
    logic [13:0] outer;
    logic [13:0] tiles;
    logic [13:0] inner;
    logic [13:0] groups;
  } array_loops_t;

  localparam int unsigned DepthwiseOutputWidth = 24;
  typedef struct packed {
    logic signed [7:0] act_max;
    logic signed [7:0] act_min;
    logic signed [7:0] zero_point;
  } depthwise_output_t;

  localparam int unsigned DrainWidth = 58;
  typedef struct packed {
    logic [13:0] link_enable;
    logic two_pixels;
    logic pairs;
    logic to_ppu;
    logic ipsum;
    logic [2:0] rows;
    logic [4:0] columns;
    logic fold;
    logic [2:0] chain_sets;
    logic [2:0] chains;
    logic [3:0] set_filters;
    logic [3:0] last_block;
    logic [10:0] blocks;
    logic [3:0] block;
    logic [1:0] mode;
  } drain_t;

  localparam int unsigned PpuConfigWidth = 63;
  typedef struct packed {
    logic [2:0] pool_columns;
    logic [3:0] pool_shift;
    logic [17:0] pool_reciprocal;
    logic [10:0] pool_count;
    logic [1:0] pool;
    logic raw;
    logic signed [7:0] act_max;
    logic signed [7:0] act_min;
    logic signed [7:0] zero_point;
  } ppu_config_t;

  localparam int unsigned PpuFirstWidth = 63;
  typedef struct packed {
    logic [18:0] window;
    logic signed [7:0] zero_point;
    logic [4:0] right_shift;
    logic [30:0] multiplier;
  } ppu_first_t;

  localparam int unsigned PpuSecondWidth = 48;
  typedef struct packed {
    logic signed [7:0] zero_point;
    logic [4:0] right_shift;
    logic [30:0] multiplier;
    logic [3:0] operation;
  } ppu_second_t;

  localparam int unsigned PpuResultWidth = 61;
  typedef struct packed {
    logic signed [7:0] act_max;
    logic signed [7:0] act_min;
    logic signed [7:0] zero_point;
    logic signed [5:0] shift;
    logic [30:0] multiplier;
  } ppu_result_t;

  localparam int unsigned WindowWidth = 64;
  typedef struct packed {
    logic signed [26:0] bias;
    logic signed [5:0] shift;
    logic [30:0] multiplier;
  } window_t;

  localparam int unsigned RowIdWidth = 8;
  typedef struct packed {
    logic [3:0] filter;
    logic [3:0] ifmap;
  } row_id_t;

  localparam int unsigned ColumnIdWidth = 8;
  typedef struct packed {
    logic [1:0] filter;
    logic [5:0] ifmap;
  } column_id_t;

  localparam int unsigned StreamAddressWidth = 64;
  typedef struct packed {
    logic [15:0] ring_size;
    logic [15:0] ring_last;
    logic [15:0] offset;
    logic [15:0] row_address;
  } stream_address_t;

  localparam int unsigned StreamRangeWidth = 61;
  typedef struct packed {
    logic [10:0] tag_wrap;
    logic [11:0] cols;
    logic [11:0] rows;
    logic signed [12:0] x;
    logic signed [12:0] y;
  } stream_range_t;

  localparam int unsigned StreamOptionsWidth = 34;
  typedef struct packed {
    logic [1:0] more_bands;
    logic packed_pixels;
    logic [2:0] level_pairs;
    logic single;
    logic [1:0] pair_level;
    logic [7:0] last_strobe;
    logic half_by_set;
    logic [1:0] destination;
    logic odd_words;
    logic signed [7:0] pad;
    logic [2:0] chunk_level;
    logic chunk;
    logic enable;
  } stream_options_t;

  localparam int unsigned StreamLevelWidth = 56;
  typedef struct packed {
    logic [10:0] tag;
    logic [1:0] axis;
    logic signed [12:0] step;
    logic signed [15:0] stride;
    logic [13:0] last;
  } stream_level_t;

  localparam int unsigned TagWidth = 11;
  typedef struct packed {
    logic half;
    logic [3:0] row;
    logic [5:0] column;
  } tag_t;

endpackage
