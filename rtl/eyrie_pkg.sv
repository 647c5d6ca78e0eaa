// SPDX-License-Identifier: Apache-2.0
// Types that travel between blocks inside the machine. What software sees (commands, configuration
// words, registers) is in encoding_pkg.
package eyrie_pkg;

  localparam int unsigned SetRows = 3;        // rows of a PE set: one filter row each
  localparam int unsigned WordChannels = 4;   // int8 channels of a PE's 32-bit word
  localparam int unsigned DepthwiseTaps = 3;  // taps of a depthwise filter row
  localparam int unsigned DwSumWidth = 20;    // 9 products of 9 x 8 bit
  localparam int unsigned BlockChannels = 8;  // output channels of a GLB word

  typedef logic [31:0] word_t;        // 4 channels, channel 0 in the low byte
  typedef logic [63:0] glb_word_t;    // 8 channels, channel 0 in the low byte
  typedef logic [15:0] glb_address_t; // in GLB words
  typedef logic signed [31:0] sum_t;
  typedef logic [WordChannels-1:0][DwSumWidth-1:0] dw_sums_t;
  typedef logic [7:0] psum_index_t;   // of a sum in a half of a PE's psum buffer

  // Everything a PE needs to know of a pass; taken at once, at its start.
  typedef struct packed {
    encoding_pkg::array_shape_t      shape;
    encoding_pkg::array_loops_t      loops;
    encoding_pkg::depthwise_output_t depthwise;
  } array_config_t;

  // A beat of the sum chain: which rows of the set add the sum at `index`, and which rows are
  // drained with it. `word`: the SUPER at the end of the chain replaces the sum by a depthwise
  // word.
  typedef struct packed {
    logic [SetRows-1:0] add;
    logic [SetRows-1:0] free;
    psum_index_t        index;
    logic               word;
  } chain_phase_t;

  // A beat on its way down a sum chain.
  typedef struct packed {
    logic         valid;
    chain_phase_t phase;
    sum_t         sum;
  } chain_beat_t;

  // What the networks offer to a PE: one or two adjacent ifmap words, filter words, a depthwise
  // tap. `lanes`: the words that count.
  typedef struct packed {
    logic        valid;
    logic [1:0]  lanes;
    logic        to_pixels;  // pointwise pixels
    word_t [1:0] data;
  } ifmap_offer_t;
  typedef struct packed {
    logic        valid;
    logic [1:0]  lanes;
    word_t [1:0] data;
  } filter_offer_t;
  typedef struct packed {
    logic  valid;
    word_t data;
  } word_offer_t;
  typedef struct packed {
    ifmap_offer_t  ifmap;
    filter_offer_t filter;
    word_offer_t   tap;
  } operands_t;
  typedef struct packed {
    logic ifmap;
    logic filter;
    logic tap;
  } operands_ready_t;

  // A word of a requantisation table, offered to a SUPER; `half`: the 4 of 8 channels that are its.
  typedef struct packed {
    logic      valid;
    logic      half;
    glb_word_t data;
  } table_offer_t;

  // Depthwise sums of a pixel.
  typedef struct packed {
    logic     valid;
    dw_sums_t sums;
  } dw_offer_t;

  function automatic dw_sums_t add_dw_sums(dw_sums_t one, dw_sums_t other);
    dw_sums_t sums;
    for (int unsigned lane = 0; lane < WordChannels; lane++) begin
      sums[lane] = one[lane] + other[lane];
    end
    return sums;
  endfunction

  // What the PPU has to know of a beat of sums: its channel within the block of at most 8, and
  // whether it ends the block (a pixel of 8 channels), the block's pixels, the tile, the pass.
  // to_ppu: else the sums are only looked at, by a test bench.
  typedef struct packed {
    logic       to_ppu;
    logic [2:0] channel;
    logic       block_last;
    logic       pixel_last;
    logic       tile_last;
    logic       pass_last;
  } drain_beat_t;

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
    logic       multiplies;  // a word is issued
    logic [2:0] gated;       // of its channels, those with a zero operand
    pe_wait_e   waits;       // why none is issued
    logic       behind;      // it is at work on the pass before the one on offer
  } pe_activity_t;

  // Two adjacent ifmap words on their way to the PEs: lane 0 is the left one.
  typedef struct packed {
    glb_word_t [1:0]     data;
    logic [1:0]          lanes;
    logic                to_pixels;
    logic                half_by_set;
    encoding_pkg::tag_t  tag;
  } ifmap_beat_t;

  // One or two filter words on their way to the PEs; depthwise words and tables come one by one, in
  // lane 0.
  typedef struct packed {
    glb_word_t [1:0]    data;
    logic [1:0]         lanes;
    logic               half_by_set;
    encoding_pkg::tag_t tag;
  } filter_beat_t;

  // Descriptor of an address generator, level 0 innermost.
  typedef struct packed {
    encoding_pkg::stream_address_t                          address;
    encoding_pkg::stream_range_t                            range;
    encoding_pkg::stream_options_t                          options;
    encoding_pkg::stream_level_t [encoding_pkg::Levels-1:0] levels;
  } stream_config_t;

  // A GLB access: lane 0 at `address`, lane 1 at `address` + 1 (`address` even if lane 1 is used).
  // Bytes with a strobe are accessed; reads take whole words.
  typedef struct packed {
    logic              write;
    glb_address_t      address;
    logic [1:0][7:0]   strobe;
    glb_word_t [1:0]   data;
  } glb_request_t;

  // GLB clients: the streams of encoding_pkg, then the two sides of the DMA.
  localparam int unsigned ClientStore = encoding_pkg::Streams;
  localparam int unsigned ClientLoad = encoding_pkg::Streams + 1;
  localparam int unsigned Clients = encoding_pkg::Streams + 2;

  // Whether a timeline has reached the value that a token names: both count modulo 2**16 and are
  // never 2**15 or more apart.
  function automatic logic token_reached(logic [15:0] count, logic [15:0] token);
    return count - token < 16'h8000;
  endfunction

endpackage
