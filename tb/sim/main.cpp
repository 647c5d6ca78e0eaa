// SPDX-License-Identifier: Apache-2.0
// Drives tb_top from C++, with nothing between the model and its user: what cocotb does otherwise.
//
//   model STEP ...       the steps, in order:
//     latency N          cycles of the DRAM
//     memory N           bytes of the DRAM
//     load FILE N        reads N bytes into the DRAM, from address 0
//     write A V          register A becomes V
//     run A V LIMIT      the same, then the clock runs until the interrupt, for at most LIMIT cycles;
//                        prints the wall-clock seconds of both
//     read A             prints register A
//     dump FILE A N      writes N bytes of DRAM from address A to FILE
//
// Numbers are decimal; registers are those of model/encoding.py. tb/sim/native.py writes the steps.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "Vtop.h"
#include "verilated.h"

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "model: %s\n", what.c_str());
  std::exit(1);
}

// tb_top with its clock. Inputs that change between cycles count at the next rising edge.
class Top {
 public:
  explicit Top(VerilatedContext& context) : context_(context), top_(&context) {
    top_.rst_ni = 0;
    top_.latency_i = top_.beats_i = top_.cycles_i = top_.stall_i = 0;
    top_.reg_awvalid_i = top_.reg_wvalid_i = top_.reg_bready_i = 0;
    top_.reg_arvalid_i = top_.reg_rready_i = 0;
    top_.bytes_i = 0;
    top_.outside_i = 3;  // DECERR
    top_.dead_i = 0;
    top_.trace_pass_i = top_.trace_select_i = 0;
    for (auto& word : top_.flip_i.m_storage) word = 0;
  }

  void latency(int cycles) { top_.latency_i = cycles; }
  void memory(long bytes) { top_.bytes_i = bytes; }

  void reset() {
    for (int n = 0; n < 4; n++) cycle();
    top_.rst_ni = 1;
    for (int n = 0; n < 2; n++) cycle();
  }

  uint8_t* dram() { return reinterpret_cast<uint8_t*>(top_.dram_pointer_o); }

  void write(uint32_t address, uint32_t value) {
    top_.reg_awaddr_i = address;
    top_.reg_wdata_i = value;
    top_.reg_wstrb_i = 0xF;
    top_.reg_awvalid_i = 1;
    until(top_.reg_awready_o);
    top_.reg_awvalid_i = 0;
    top_.reg_wvalid_i = 1;
    until(top_.reg_wready_o);
    top_.reg_wvalid_i = 0;
    top_.reg_bready_i = 1;
    until(top_.reg_bvalid_o);
    top_.reg_bready_i = 0;
  }

  uint32_t read(uint32_t address) {
    top_.reg_araddr_i = address;
    top_.reg_arvalid_i = 1;
    until(top_.reg_arready_o);
    top_.reg_arvalid_i = 0;
    top_.reg_rready_i = 1;
    until(top_.reg_rvalid_o);
    top_.reg_rready_i = 0;
    return top_.reg_rdata_o;
  }

  void run(long limit) {
    for (long n = 0; !top_.interrupt_o; n++) {
      if (n == limit) fail("no interrupt after " + std::to_string(limit) + " cycles");
      cycle();
    }
  }

 private:
  void edge(bool level) {
    top_.clk_i = level;
    top_.eval();
    context_.timeInc(1000);  // of 1 ps
  }

  void cycle() {
    edge(false);
    edge(true);
  }

  // Goes on to the rising edge at which the output is high.
  void until(const CData& output) {
    for (bool seen = false; !seen;) {
      edge(false);
      seen = output;
      edge(true);
    }
  }

  VerilatedContext& context_;
  Vtop top_;
};

void copy(const char* path, const char* mode, uint8_t* memory, size_t bytes) {
  std::FILE* file = std::fopen(path, mode);
  if (!file) fail(std::string(path) + ": cannot be opened");
  const size_t done = *mode == 'r' ? std::fread(memory, 1, bytes, file)
                                   : std::fwrite(memory, 1, bytes, file);
  if (std::fclose(file) != 0 || done != bytes) fail(std::string(path) + ": not so many bytes");
}

}  // namespace

int main(int argc, char** argv) {
  VerilatedContext context;
  context.commandArgs(argc, argv);
  Top top(context);
  top.reset();
  int place = 1;
  auto word = [&] { return place < argc ? argv[place++] : (fail("a step is not complete"), nullptr); };
  auto number = [&] { return std::strtol(word(), nullptr, 10); };
  while (place < argc) {
    const std::string step = word();
    if (step[0] == '+') continue;  // Verilator's
    if (step == "latency") {
      top.latency(number());
    } else if (step == "memory") {
      top.memory(number());
    } else if (step == "load") {
      const char* path = word();
      copy(path, "rb", top.dram(), number());
    } else if (step == "write") {
      const long address = number();
      top.write(address, number());
    } else if (step == "run") {
      const long address = number(), value = number(), limit = number();
      const auto began = std::chrono::steady_clock::now();
      top.write(address, value);
      top.run(limit);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
      std::printf("%.6f\n", seconds.count());
    } else if (step == "read") {
      std::printf("%u\n", top.read(number()));
    } else if (step == "dump") {
      const char* path = word();
      const long address = number(), bytes = number();
      copy(path, "wb", top.dram() + address, bytes);
    } else {
      fail("no step " + step);
    }
  }
  return 0;
}
