// SPDX-License-Identifier: Apache-2.0
// Types that connect the blocks of the accelerator. Types that software sees (commands,
// configuration words, registers) are in encoding_pkg.
package eyrie_pkg;

  localparam int unsigned SetRows = 3;        // rows of a PE set, one per filter row
  localparam int unsigned WordChannels = 4;   // int8 channels of a PE's 32-bit word
  localparam int unsigned DwSumWidth = 23;    // 63 products of up to 255 x 255
  localparam int unsigned BlockChannels = 8;  // output channels of a GLB word
  localparam int unsigned ActivityDelay = 3;  // delay of the array's activity in cycles

  localparam int unsigned MaxRows = 15;       // maximum of ROWS
  localparam int unsigned MaxCols = 16;

  typedef logic [31:0] word_t;        // 4 channels, channel 0 in the low byte
  typedef logic [63:0] glb_word_t;    // 8 channels, channel 0 in the low byte
  typedef logic [15:0] glb_address_t; // in GLB words
  typedef logic signed [encoding_pkg::CoordinateBits-1:0] coordinate_t;  // y or x in a feature map
  typedef logic signed [31:0] sum_t;
  typedef logic [WordChannels-1:0][DwSumWidth-1:0] dw_sums_t;
  typedef logic [7:0] psum_index_t;   // index of a sum in a half of the psum buffer

  // Sizes of a PE and of a SUPER
  typedef struct packed {
    int unsigned multipliers;        // multipliers of a PE: 1 or 4
    int unsigned ifmap_words;        // depth of the ifmap queue
    int unsigned filter_words;       // depth of the filter queue
    int unsigned pixel_words;        // depth of the pixel queue
    int unsigned psum_words;         // psums in a half of a PE's psum buffer
    int unsigned word_buffer_words;  // depth of a SUPER's word buffer
    int unsigned filter_lanes;       // filter words per cycle: 1 or 2
  } pe_sizes_t;

  // Pass configuration of a PE, accepted when the pass starts
  typedef struct packed {
    encoding_pkg::array_shape_t      shape;
    encoding_pkg::array_loops_t      loops;
    encoding_pkg::depthwise_output_t depthwise;
  } array_config_t;

  typedef logic [10:0] group_words_t;  // ifmap words per band of a depthwise group
  typedef logic [4:0] group_taps_t;    // taps of a PE per depthwise group, of all bands

  // The pending pass, and the configurations for both values of the pass ID (phase bit). A PE or
  // SUPER uses the configuration of its own phase.
  typedef struct packed {
    logic                       pass_phase;  // of the pending pass
    encoding_pkg::array_shape_t pending;
    array_config_t [1:0]        held;
    group_words_t [1:0]         group_words;
    group_taps_t [1:0]          group_taps;
  } array_passes_t;

  // Control bits of an adder chain transfer. `add`: rows of the set that add their sum at `index`.
  // `free`: rows that release the half afterwards. `word`: the SUPER at the end of the chain
  // replaces the sum by a depthwise word. `two_pixels`: the transfer also has the sum at `index` +
  // 1, of the next pixel.
  typedef struct packed {
    logic [SetRows-1:0] add;
    logic [SetRows-1:0] free;
    psum_index_t        index;
    logic               word;
    logic               two_pixels;
  } chain_control_t;

  // A transfer in an adder chain. sums[1] is used only with two_pixels.
  typedef struct packed {
    logic           valid;
    chain_control_t control;
    sum_t [1:0]     sums;
  } chain_transfer_t;

  // Operands from the networks for a PE: one or two adjacent ifmap words, filter words, a depthwise
  // tap. `lanes`: words that are valid. `pass_phase`: the pass that uses the words.
  typedef struct packed {
    logic        valid;
    logic        pass_phase;
    logic [1:0]  lanes;
    logic        to_pixels;  // the words are pointwise pixels
    word_t [1:0] data;
  } ifmap_request_t;
  typedef struct packed {
    logic        valid;
    logic        pass_phase;
    logic [1:0]  lanes;
    word_t [1:0] data;
  } filter_request_t;
  typedef struct packed {
    logic  valid;
    logic  pass_phase;
    word_t data;
  } tap_request_t;
  typedef struct packed {
    ifmap_request_t  ifmap;
    filter_request_t filter;
    tap_request_t    tap;
  } operands_t;
  typedef struct packed {
    logic ifmap;
    logic filter;
    logic tap;
  } operands_ready_t;

  // A depthwise word from a SUPER to the PEs of its set
  typedef struct packed {
    logic  valid;
    word_t data;
  } word_request_t;

  // A word of quantisation parameters for a SUPER. `half`: the SUPER uses channels 4 to 7.
  typedef struct packed {
    logic      valid;
    logic      pass_phase;
    logic      half;
    glb_word_t data;
  } parameters_request_t;

  // Depthwise sums of a pixel
  typedef struct packed {
    logic     valid;
    dw_sums_t sums;
  } dw_request_t;

  function automatic dw_sums_t add_dw_sums(dw_sums_t one, dw_sums_t other);
    dw_sums_t sums;
    for (int unsigned lane = 0; lane < WordChannels; lane++) begin
      sums[lane] = one[lane] + other[lane];
    end
    return sums;
  endfunction

  // Flags of a transfer of sums. two_pixels: it has the sums of two pixels. channel: the channel
  // within a block of at most 8. The *_last flags mark the last transfer of the block (all channels
  // of its pixels), of the block's pixels, of the tile and of the pass. Without to_ppu the PPU
  // drops the sums; testbenches read them.
  typedef struct packed {
    logic       two_pixels;
    logic       to_ppu;
    logic [2:0] channel;
    logic       block_last;
    logic       pixel_last;
    logic       tile_last;
    logic       pass_last;
  } drain_flags_t;

  // Destination of the product of a word: a depthwise sum or a psum
  typedef struct packed {
    logic        depthwise;
    logic        first;      // first product of a sum
    logic        last;       // depthwise: last product of a sum
    logic        pixel_end;  // depthwise: last product of a pixel in a band
    logic        again;      // depthwise: last product of a band; the next band follows
    logic        tile_last;  // last product of a psum half
    logic        half;
    psum_index_t index;
  } product_t;

  // Reason why a PE does not multiply: a missing operand, no free psum half, or no pass
  typedef enum logic [2:0] {
    WaitNone, WaitIfmap, WaitWords, WaitFilter, WaitPsum, WaitPass
  } pe_wait_e;
  localparam int unsigned PeWaits = 5;  // number of reasons; WaitIfmap is the first

  // Activity of a PE in a cycle
  typedef struct packed {
    logic       multiplies;    // a word is multiplied
    logic [2:0] zero_skipped;  // channels with a zero operand
    pe_wait_e   waits;         // reason to wait
    logic       behind;        // still in the pass before the pending one
  } pe_activity_t;

  // ---- Stream interfaces: fields are valid with `valid`; ready is a separate port ----

  // Two adjacent ifmap words for the PEs; lane 0 is the left one. swap, without a word: the
  // following words belong to the next pass, with its IDs and its pass_phase.
  typedef struct packed {
    logic                swap;
    logic                pass_phase;
    logic                valid;
    glb_word_t [1:0]     data;
    logic [1:0]          lanes;
    logic                to_pixels;
    logic                half_by_set;
    logic [1:0]          more_bands;  // further bands whose rows a PE takes
    encoding_pkg::tag_t  tag;
  } ifmap_stream_t;

  // One or two filter words for the PEs. Depthwise words and parameters arrive one by one in lane
  // 0.
  typedef struct packed {
    logic               swap;
    logic               pass_phase;
    logic               valid;
    glb_word_t [1:0]    data;
    logic [1:0]         lanes;
    logic               half_by_set;
    encoding_pkg::tag_t tag;
  } filter_stream_t;

  // Words for the PPU and the drain. `pass_phase`: the pass that uses the word.
  typedef struct packed {
    logic      valid;
    logic      pass_phase;
    glb_word_t word;
  } word_stream_t;

  // First operands of a vector pass: a word in lane 0, or up to two words of a window
  typedef struct packed {
    logic            valid;
    logic            last;  // last transfer of a pass
    logic [1:0]      lanes;
    glb_word_t [1:0] words;
  } elementwise_stream_t;

  // Words from the PPU: of one pixel, or with two_pixels also of the pixel to its right
  typedef struct packed {
    logic            valid;
    logic            last;  // last word of a pass
    logic            two_pixels;
    glb_word_t [1:0] words;
  } ofmap_stream_t;

  // Whether a pending word is an overrun: it belongs to a pass that its unit has finished. The
  // arguments are the pass IDs (phase bits) of the word, of the unit and of the pending pass, and
  // whether the unit runs a pass. A word of the next pass arrives only while that pass is pending.
  function automatic logic is_overrun(logic word, logic unit, logic pending, logic running);
    return (word == unit) ? !running : (unit == pending);
  endfunction

  // A transfer for the adder chains that enters at set `set`. link_enable and columns select the
  // links and the columns in use. They are valid without a transfer, too, and change only while the
  // chains are empty.
  typedef struct packed {
    logic                valid;
    logic [2:0]          set;
    chain_control_t      control;
    drain_flags_t        flags;
    logic [MaxRows-2:0]  link_enable;
    logic [MaxCols-1:0]  columns;
  } drain_stream_t;

  // IDs for the scan chains
  typedef struct packed {
    logic                     row_valid;
    encoding_pkg::row_id_t    row;
    logic                     column_valid;
    encoding_pkg::column_id_t column;
  } id_scan_t;

  // ---- Configuration of a pass ----

  // Configuration of an address generator; level 0 is innermost
  typedef struct packed {
    encoding_pkg::stream_address_t                          address;
    encoding_pkg::stream_range_t                            range;
    encoding_pkg::stream_options_t                          options;
    encoding_pkg::stream_level_t [encoding_pkg::Levels-1:0] levels;
  } stream_config_t;

  // Configuration of the PPU. used: without it the PPU drops the sums of the pass. elementwise: the
  // pass brings words instead of sums.
  typedef struct packed {
    encoding_pkg::ppu_config_t finish;
    encoding_pkg::ppu_first_t  first;
    encoding_pkg::ppu_second_t second;
    encoding_pkg::ppu_result_t result;
    logic [4:0]                columns;
    logic                      used;
    logic                      elementwise;
  } ppu_pass_t;

  // The pending pass. A change of `pass_phase` marks a new one; it is stable until every unit has
  // accepted it.
  typedef struct packed {
    logic                                         pass_phase;
    array_config_t                                array;
    encoding_pkg::drain_t                         drain;
    ppu_pass_t                                    post;
    logic [encoding_pkg::Streams-1:0]             streams;  // streams in use
    encoding_pkg::destination_e                   destination;  // destination of ifmap words
    logic                                         single, packed_pixels;  // its options
    logic [1:0]                                   more_bands;
  } pass_config_t;

  // Index of a descriptor word, and of a pair of an even word and the next
  localparam int unsigned ConfigIndexWidth = $clog2(encoding_pkg::ConfigWords);
  typedef logic [ConfigIndexWidth-1:0] config_index_t;
  typedef logic [ConfigIndexWidth-2:0] config_pair_t;
  typedef logic [2:0]                  stream_pair_t;  // pair within a stream's words

  // A pair of descriptor words for the stream whose `valid` bit is set; pair 0 is the last
  typedef struct packed {
    logic [encoding_pkg::Streams-1:0] valid;
    stream_pair_t                     pair;
    glb_word_t [1:0]                  words;
  } stream_load_t;

  // Position of a stream in its loops. inner_first[l], inner_last[l]: all levels below l are in
  // their first, last iteration. at_first[l], at_last[l]: level l is in its first, last iteration.
  typedef struct packed {
    glb_address_t                       address;
    coordinate_t                        x;
    logic                               y_inside;  // 0 <= y < rows
    encoding_pkg::tag_t                 tag;
    logic [encoding_pkg::Levels:0]      inner_first;
    logic [encoding_pkg::Levels:0]      inner_last;
    logic [encoding_pkg::Levels-1:0]    at_first;
    logic [encoding_pkg::Levels-1:0]    at_last;
  } stream_position_t;

  // A GLB access: lane 0 at `address`, lane 1 at `address` + 1 (`address` is even if lane 1 is
  // used). The strobes select bytes; reads read whole words. last: the last write before a
  // semaphore announces the data (docs/hardware/glb.md).
  typedef struct packed {
    logic              last;
    glb_address_t      address;
    logic [1:0][7:0]   strobe;
    glb_word_t [1:0]   data;
  } glb_request_t;

  // GLB clients: the streams of encoding_pkg, then STORE and LOAD of the DMA
  localparam int unsigned ClientStore = encoding_pkg::Streams;
  localparam int unsigned ClientLoad = encoding_pkg::Streams + 1;
  localparam int unsigned Clients = encoding_pkg::Streams + 2;
  localparam logic [Clients-1:0] GlbWriters =  // all other clients read
      Clients'(1) << encoding_pkg::StreamOfmap | Clients'(1) << ClientLoad;

  // Control by software. start and soft_reset are pulses. The program base and the window are
  // stable while the accelerator is busy.
  typedef struct packed {
    logic        start;
    logic        soft_reset;
    logic [31:0] program_base;
    logic [31:0] window_base;
    logic [31:0] window_limit;
    logic [31:0] watchdog_limit;
  } accelerator_control_t;

  // Status for software. clear: a run begins. counting: the cycle counts. No counter changes once
  // done or error is high. bus_waits: the accelerator has stopped or is stopping, and a transaction
  // of the AXI port has not ended.
  typedef struct packed {
    logic                      clear;
    logic                      counting;
    logic                      busy;
    logic                      done;
    logic                      error;
    logic                      bus_waits;
    encoding_pkg::error_code_e error_code;
    logic [31:0]               error_address;
  } accelerator_status_t;

  // ---- Activity in a cycle, for the counters ----

  localparam int unsigned PeCountWidth = $clog2(MaxRows * MaxCols * WordChannels + 1);
  typedef logic [PeCountWidth-1:0] pe_count_t;  // number of PEs, or of their MACs

  typedef struct packed {
    pe_count_t               macs;
    pe_count_t               zero_skipped;
    pe_count_t [PeWaits-1:0] waits;          // waiting PEs by reason
    pe_count_t               behind;         // PEs still in the pass before the pending one
    logic                    ifmap_waits;    // the ifmap stream waits for passes to end
    logic                    filter_waits;   // the filter stream waits for a chunk
    logic                    ifmap_stall;    // a word of the stream is not accepted
    logic                    filter_stall;
    logic                    elementwise;    // the PPU runs a vector pass
    logic                    drain_busy;     // sums, or a first operand, enter the PPU
    logic                    drain_stall;    // pending sums or operand not accepted
    logic [Clients-1:0][4:0] glb_bytes;
    logic [3:0]              glb_conflicts;  // number of waiting clients
  } activity_t;

  // A semaphore (number of finished events since the start of the run) or a wait count.
  // SEMAPHORE_BITS of model/encoding.py explains the width.
  typedef logic [encoding_pkg::SemaphoreBits-1:0] count_t;

  // Whether a semaphore has reached a wait count
  function automatic logic semaphore_reached(count_t count, count_t token);
    return count >= token;
  endfunction

  // From the tiling controller to the core: configuration words and passes on two channels, of
  // which one is valid at a time, and the semaphores that a pass can wait for
  typedef struct packed {
    logic          config_valid;
    config_index_t config_index;
    logic [63:0]   config_data;
    logic          pass_valid;
    count_t        wait_passes;    // wait count of the pending pass
    count_t        passes_done;
    count_t        chunks_loaded;
  } pass_control_t;

  // From the core to the tiling controller. pass_done and chunk_freed are pulses, at most one per
  // cycle. wants_chunk and progress are for the watchdog: a pass waits only for a filter chunk;
  // some unit made progress. The following bits are errors. glb_error is an access beyond the GLB.
  // illegal_pass marks a requested pass whose descriptor breaks a rule. overrun marks a pass that
  // receives more words than it uses. reading is high while words of a pass may be in flight.
  typedef struct packed {
    logic config_ready;
    logic pass_ready;
    logic pass_done;
    logic chunk_freed;
    logic wants_chunk;
    logic progress;
    logic glb_error;
    logic illegal_pass;
    logic overrun;
    logic reading;
  } pass_status_t;

endpackage
