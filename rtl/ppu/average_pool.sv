// SPDX-License-Identifier: Apache-2.0
// Average pooling of int8 transfers (one channel of every column) over runs of 2^span_i columns in
// use and over all pixels of a block. It computes the integer average of TensorFlow Lite's
// reference kernel, with halves rounded away from zero.
//
// Each channel and run yields one value. Value r belongs to run r; it leaves Latency cycles after
// the transfer of the last pixel of the block. All stages move together while enable_i is high.
//
// The division by count is (|sum| + count / 2) * reciprocal >> (17 + shift). It is exact for every
// reachable sum with reciprocal and shift of model.arithmetic.average_reciprocal and at most 1024
// values. The configuration is stable while values are in flight.
//
// A RAM holds the totals of the pixels so far, one word per channel, and is read in parallel with
// stage 1. The total of the previous transfer is not in the RAM yet and is forwarded.
//
// Stages: 1 sums over columns; 2 sums over pixels, magnitude and half the count; 3 product; 4 shift
// and sign.
`include "assertions.svh"

module average_pool
  import eyrie_pkg::*;
#(
  parameter int unsigned COLS = 8,  // PE columns
  localparam int unsigned Latency = 4
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  enable_i,
  input  logic [4:0]            columns_i,
  input  logic [2:0]            span_i,
  input  logic [10:0]           count_i,
  input  logic [17:0]           reciprocal_i,
  input  logic [3:0]            shift_i,

  input  logic                  valid_i,
  input  logic [COLS-1:0][7:0]  values_i,
  input  drain_flags_t          flags_i,

  output logic                  valid_o,
  output logic [COLS-1:0][7:0]  values_o,
  output drain_flags_t          flags_o
);

  localparam int unsigned RowWidth = 8 + $clog2(COLS);  // sum of COLS int8 values
  localparam int unsigned TotalWidth = 18;              // sum of 1024 int8 values
  localparam int unsigned FractionBits = 17;
  localparam int unsigned QuotientWidth = TotalWidth + 18 - FractionBits;
  localparam int unsigned Rows = 10;                    // base-4 digits of a magnitude

  logic [Latency:1]                valid_q;
  drain_flags_t                    flags_q [1:Latency];
  logic                            first_q;  // first pixel of a block
  logic                            again_q;  // stage 1 and stage 2 have the same channel
  logic [COLS-1:0][TotalWidth-1:0] totals, stored;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      first_q <= 1'b1;
    end else if (enable_i) begin
      valid_q[1] <= valid_i;
      valid_q[2] <= valid_q[1] && flags_q[1].pixel_last;
      valid_q[3] <= valid_q[2];
      valid_q[4] <= valid_q[3];
      if (valid_q[1] && flags_q[1].block_last) first_q <= flags_q[1].pixel_last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      flags_q[1] <= flags_i;
      again_q    <= valid_q[1] && flags_i.channel == flags_q[1].channel;
      for (int unsigned stage = 2; stage <= Latency; stage++) flags_q[stage] <= flags_q[stage-1];
    end
  end

  ram_1r1w #(.WORDS(BlockChannels), .WIDTH(COLS * TotalWidth)) u_totals (
    .clk_i,
    .write_i        (enable_i && valid_q[1]),
    .write_address_i(flags_q[1].channel),
    .write_data_i   (totals),
    .read_i         (enable_i && valid_i),
    .read_address_i (flags_i.channel),
    .read_data_o    (stored)
  );

  for (genvar run = 0; run < int'(COLS); run++) begin : gen_runs
    logic signed [RowWidth-1:0]   row, row_q;
    logic signed [TotalWidth-1:0] so_far, total, total_q;
    logic [TotalWidth-1:0]        magnitude_q;
    logic signed [2*Rows+32:0]    product;
    logic [QuotientWidth-1:0]     product_q, quotient;
    logic                         negative, negative_q;
    logic [7:0]                   value_q;

    always_comb begin : sum_columns
      row = '0;
      for (int unsigned column = 0; column < COLS; column++) begin
        if (5'(column) < columns_i && 5'(column) >> span_i == 5'(run)) begin
          row += RowWidth'($signed(values_i[column]));
        end
      end
    end

    assign so_far      = again_q ? total_q : $signed(stored[run]);
    assign total       = TotalWidth'(row_q) + (first_q ? '0 : so_far);
    assign totals[run] = total;
    assign negative    = total[TotalWidth-1];
    assign quotient    = product_q >> shift_i;

    booth_step #(.ROWS(Rows)) u_product (  // computes twice the product
      .value_i     (32'(reciprocal_i)),
      .multiplier_i({(2 * Rows)'(magnitude_q), 1'b0}),
      .addend_i    ('0),
      .sum_o       (product)
    );

    always_ff @(posedge clk_i) begin
      if (enable_i) begin
        row_q       <= row;
        total_q     <= total;
        magnitude_q <= (total ^ {TotalWidth{negative}}) + TotalWidth'(negative) +
                       TotalWidth'(count_i[10:1]);
        product_q   <= QuotientWidth'(product >>> (FractionBits + 1));
        negative_q  <= total_q[TotalWidth-1];
        value_q     <= negative_q ? -quotient[7:0] : quotient[7:0];
      end
    end

    assign values_o[run] = value_q;

    `EYRIE_ASSERT_WHEN(QuotientIsInt8, enable_i && valid_q[3],
        quotient <= (negative_q ? QuotientWidth'(128) : QuotientWidth'(127)),
        "the reciprocal does not fit the count")
  end

  assign valid_o = valid_q[Latency];
  assign flags_o = flags_q[Latency];

  `EYRIE_ASSERT_WHEN(CountInRange, valid_i,
      (count_i != '0) && (count_i <= 11'd1024), "average over 0 or more than 1024 pixels")

endmodule
