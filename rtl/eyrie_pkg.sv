// SPDX-License-Identifier: Apache-2.0
// Types that travel between blocks inside the machine. What software sees (commands, configuration
// words, registers) is in encoding_pkg.
package eyrie_pkg;

  localparam int unsigned SetRows = 3;        // rows of a PE set: one filter row each
  localparam int unsigned WordChannels = 4;   // int8 channels of a PE's 32-bit word
  localparam int unsigned DepthwiseTaps = 3;  // taps of a depthwise filter row
  localparam int unsigned DwSumWidth = 21;    // 9 products of up to 255 x 255
  localparam int unsigned BlockChannels = 8;  // output channels of a GLB word
  localparam int unsigned ActivityDelay = 3;  // cycles by which the array counts late

  localparam int unsigned MaxRows = 15;       // of PEs, in any machine
  localparam int unsigned MaxCols = 16;

  typedef logic [31:0] word_t;        // 4 channels, channel 0 in the low byte
  typedef logic [63:0] glb_word_t;    // 8 channels, channel 0 in the low byte
  typedef logic [15:0] glb_address_t; // in GLB words
  typedef logic signed [encoding_pkg::CoordinateBits-1:0] coordinate_t;  // y or x in a map
  typedef logic signed [31:0] sum_t;
  typedef logic [WordChannels-1:0][DwSumWidth-1:0] dw_sums_t;
  typedef logic [7:0] psum_index_t;   // of a sum in a half of a PE's psum buffer

  // Sizes of a PE and of its SUPER.
  typedef struct packed {
    int unsigned multipliers;        // of a PE: 4 or 1
    int unsigned ifmap_words;        // of a PE's ifmap queue
    int unsigned filter_words;       // of a PE's filter queue
    int unsigned pixel_words;        // of a PE's pixel queue
    int unsigned psum_words;         // sums in each half of a PE
    int unsigned word_buffer_words;  // depthwise words that a SUPER keeps
    int unsigned filter_lanes;       // filter words a cycle: 1 or 2
  } pe_sizes_t;

  // Everything a PE needs to know of a pass; taken at once, at its start.
  typedef struct packed {
    encoding_pkg::array_shape_t      shape;
    encoding_pkg::array_loops_t      loops;
    encoding_pkg::depthwise_output_t depthwise;
  } array_config_t;

  typedef logic [10:0] group_words_t;  // ifmap words of a depthwise group

  // The pass on offer, and the configurations of both epochs: a PE or SUPER is at that of its own.
  typedef struct packed {
    logic                       pass_phase;  // of the offer
    encoding_pkg::array_shape_t pending;
    array_config_t [1:0]        held;
    group_words_t [1:0]         group_words;
  } array_passes_t;

  // A beat of the sum chain: which rows of the set add the sum at `index`, and which are drained
  // with it. `word`: the SUPER at the end of the chain replaces the sum by a depthwise word.
  // `two_pixels`: a sum of the next pixel goes beside, that at `index` + 1.
  typedef struct packed {
    logic [SetRows-1:0] add;
    logic [SetRows-1:0] free;
    psum_index_t        index;
    logic               word;
    logic               two_pixels;
  } chain_control_t;

  // A beat on its way down a sum chain. sums[1] means nothing but in a beat of two pixels.
  typedef struct packed {
    logic           valid;
    chain_control_t control;
    sum_t [1:0]     sums;
  } chain_transfer_t;

  // What the networks offer to a PE: one or two adjacent ifmap words, filter words, a depthwise
  // tap. `lanes`: the words that count. `pass_phase`: of the pass that they were brought for.
  typedef struct packed {
    logic        valid;
    logic        pass_phase;
    logic [1:0]  lanes;
    logic        to_pixels;  // pointwise pixels
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

  // A depthwise word, offered by a SUPER to the PEs of its set.
  typedef struct packed {
    logic  valid;
    word_t data;
  } word_request_t;

  // A word of a requantisation table, offered to a SUPER; `half`: the 4 of 8 channels that are its.
  typedef struct packed {
    logic      valid;
    logic      pass_phase;
    logic      half;
    glb_word_t data;
  } parameters_request_t;

  // Depthwise sums of a pixel.
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

  // What the PPU has to know of a beat of sums: whether it has those of two pixels, its channel
  // within the block of at most 8, and whether it ends the block (8 channels of its pixels), the
  // block's pixels, the tile, the pass. to_ppu: else the sums are only looked at, by a test bench.
  typedef struct packed {
    logic       two_pixels;
    logic       to_ppu;
    logic [2:0] channel;
    logic       block_last;
    logic       pixel_last;
    logic       tile_last;
    logic       pass_last;
  } drain_flags_t;

  // Where the product of a PE's word goes: to a depthwise sum, or to a psum.
  typedef struct packed {
    logic        depthwise;
    logic        first;      // the sum starts here
    logic        last;       // depthwise: the sum is complete
    logic        tile_last;  // the psum half is complete
    logic        half;
    psum_index_t index;
  } product_t;

  // Why a PE does not multiply: the operand or the psum half that it has not got, or that it runs
  // no pass.
  typedef enum logic [2:0] {
    WaitNone, WaitIfmap, WaitWords, WaitFilter, WaitPsum, WaitPass
  } pe_wait_e;
  localparam int unsigned PeWaits = 5;  // reasons, WaitIfmap first

  // What a PE does in a cycle.
  typedef struct packed {
    logic       multiplies;    // a word is issued
    logic [2:0] zero_skipped;  // of its channels, those with a zero operand
    pe_wait_e   waits;         // why none is issued
    logic       behind;        // it is at work on the pass before the one on offer
  } pe_activity_t;

  // ---- Channels: the fields of a feed have a meaning while `valid`, which waits for a ready ----

  // Two adjacent ifmap words on their way to the PEs: lane 0 is the left one. swap, without a word:
  // the words behind it are the next pass's, with its IDs and its pass_phase.
  typedef struct packed {
    logic                swap;
    logic                pass_phase;
    logic                valid;
    glb_word_t [1:0]     data;
    logic [1:0]          lanes;
    logic                to_pixels;
    logic                half_by_set;
    encoding_pkg::tag_t  tag;
  } ifmap_stream_t;

  // One or two filter words on their way to the PEs; depthwise words and tables come one by one, in
  // lane 0.
  typedef struct packed {
    logic               swap;
    logic               pass_phase;
    logic               valid;
    glb_word_t [1:0]    data;
    logic [1:0]         lanes;
    logic               half_by_set;
    encoding_pkg::tag_t tag;
  } filter_stream_t;

  // Words for the PPU and the drain. `pass_phase`: of the pass that they were brought for.
  typedef struct packed {
    logic      valid;
    logic      pass_phase;
    glb_word_t word;
  } word_stream_t;

  // Words A of an elementwise pass.
  typedef struct packed {
    logic      valid;
    logic      last;  // of a pass
    glb_word_t word;
  } elementwise_stream_t;

  // Words of the PPU: of a pixel, and with two_pixels of the one on its right.
  typedef struct packed {
    logic            valid;
    logic            last;  // of a pass
    logic            two_pixels;
    glb_word_t [1:0] words;
  } ofmap_stream_t;

  // Whether a word on offer is one too many, of a pass that its unit is done with: by the epochs of
  // the word, of the unit and of the pass on offer, and whether the unit runs a pass. A word for
  // the next pass comes only when that is on offer.
  function automatic logic is_overrun(logic word, logic unit, logic pending, logic running);
    return (word == unit) ? !running : (unit == pending);
  endfunction

  // A beat for the sum chains, which begins at set `set`. ln and columns say how the chains are
  // joined and which are used, with or without a beat; they change only while there is none.
  typedef struct packed {
    logic                valid;
    logic [2:0]          set;
    chain_control_t      control;
    drain_flags_t        flags;
    logic [MaxRows-2:0]  link_enable;
    logic [MaxCols-1:0]  columns;
  } drain_stream_t;

  // IDs on their way into the scan chains.
  typedef struct packed {
    logic                     row_valid;
    encoding_pkg::row_id_t    row;
    logic                     column_valid;
    encoding_pkg::column_id_t column;
  } id_scan_t;

  // ---- A pass, as the units take it ----

  // Descriptor of an address generator, level 0 innermost.
  typedef struct packed {
    encoding_pkg::stream_address_t                          address;
    encoding_pkg::stream_range_t                            range;
    encoding_pkg::stream_options_t                          options;
    encoding_pkg::stream_level_t [encoding_pkg::Levels-1:0] levels;
  } stream_config_t;

  // What the PPU has to know of a pass. used: else its sums are only looked at. elementwise: words
  // come, not sums.
  typedef struct packed {
    encoding_pkg::ppu_config_t finish;
    encoding_pkg::ppu_first_t  first;
    encoding_pkg::ppu_second_t second;
    encoding_pkg::ppu_result_t result;
    logic [4:0]                columns;
    logic                      used;
    logic                      elementwise;
  } ppu_pass_t;

  // The pass on offer: new, once `pass_phase` has changed; it stands until every unit has taken it.
  typedef struct packed {
    logic                                         pass_phase;
    array_config_t                                array;
    encoding_pkg::drain_t                         drain;
    ppu_pass_t                                    post;
    logic [encoding_pkg::Streams-1:0]             streams;  // that are used
    encoding_pkg::destination_e                   destination;  // of ifmap words
    logic                                         single, packed_pixels;  // likewise
  } pass_config_t;

  // Words of the descriptor: its index, pairs of an even word and the next.
  localparam int unsigned ConfigIndexWidth = $clog2(encoding_pkg::ConfigWords);
  typedef logic [ConfigIndexWidth-1:0] config_index_t;
  typedef logic [ConfigIndexWidth-2:0] config_pair_t;
  typedef logic [2:0]                  stream_pair_t;  // within a stream's words

  // Words for the stream whose bit of `valid` is set; pair 0 comes last.
  typedef struct packed {
    logic [encoding_pkg::Streams-1:0] valid;
    stream_pair_t                     pair;
    glb_word_t [1:0]                  words;
  } stream_load_t;

  // Where a stream stands in its loops. inner_first[l], inner_last[l]: all levels below l are in
  // their first, last iteration; at_first[l], at_last[l]: level l is.
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

  // A GLB access: lane 0 at `address`, lane 1 at `address` + 1 (`address` even if lane 1 is used).
  // Bytes with a strobe are accessed; reads take whole words. last: of what a client writes before
  // others are told that it is there (docs/glb.md).
  typedef struct packed {
    logic              last;
    glb_address_t      address;
    logic [1:0][7:0]   strobe;
    glb_word_t [1:0]   data;
  } glb_request_t;

  // GLB clients: the streams of encoding_pkg, then the two sides of the DMA.
  localparam int unsigned ClientStore = encoding_pkg::Streams;
  localparam int unsigned ClientLoad = encoding_pkg::Streams + 1;
  localparam int unsigned Clients = encoding_pkg::Streams + 2;
  localparam logic [Clients-1:0] GlbWriters =  // the others read
      Clients'(1) << encoding_pkg::StreamOfmap | Clients'(1) << ClientLoad;

  // What software tells the machine. start and soft_reset pulse; the base and the window stay while
  // the machine is busy.
  typedef struct packed {
    logic        start;
    logic        soft_reset;
    logic [31:0] program_base;
    logic [31:0] window_base;
    logic [31:0] window_limit;
    logic [31:0] watchdog_limit;
  } accelerator_control_t;

  // What the machine tells software. clear: a run begins; counting: its cycles count. When done or
  // error is there no counter changes. bus_waits: the machine has stopped, or wants to, and the AXI
  // port has not ended what it began.
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
  typedef logic [PeCountWidth-1:0] pe_count_t;  // of PEs, or of their multiplications

  typedef struct packed {
    pe_count_t               macs;
    pe_count_t               zero_skipped;
    pe_count_t [PeWaits-1:0] waits;          // PEs that wait, by reason
    pe_count_t               behind;         // PEs in the pass before the one offered last
    logic                    ifmap_waits;    // the ifmap stream waits for passes
    logic                    filter_waits;   // the filter stream waits for a chunk
    logic                    ifmap_stall;    // a word of the stream is not taken
    logic                    filter_stall;
    logic                    elementwise;    // the PPU runs an elementwise pass
    logic                    drain_busy;     // a beat of sums, or a word A, enters the PPU
    logic                    drain_stall;    // one is not taken
    logic [Clients-1:0][4:0] glb_bytes;
    logic [3:0]              glb_conflicts;  // clients that wait
  } activity_t;

  // A timeline: events since the start of the run, or a token that names one; it never wraps (see
  // SEMAPHORE_BITS of model/encoding.py).
  typedef logic [encoding_pkg::SemaphoreBits-1:0] count_t;

  // Whether a timeline has reached the value that a token names.
  function automatic logic semaphore_reached(count_t count, count_t token);
    return count >= token;
  endfunction

  // From the tiling controller to the pass side: configuration words and passes, on two channels of
  // which only one is valid at a time, and the timelines that a pass may wait for.
  typedef struct packed {
    logic          config_valid;
    config_index_t config_index;
    logic [63:0]   config_data;
    logic          pass_valid;
    count_t        wait_passes;    // of the pass that is offered
    count_t        passes_done;
    count_t        chunks_loaded;
  } pass_control_t;

  // Back: pass_done and chunk_freed pulse, at most once a cycle. For the watchdog: wants_chunk, a
  // pass waits for a filter chunk and for nothing else that has to come; progress, something moved.
  // glb_error: an access beyond the GLB. illegal_pass: the pass that is offered has a descriptor
  // that the machine does not run; overrun: one that was offered brings more words than it takes.
  // reading: words of a pass may be on their way.
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
