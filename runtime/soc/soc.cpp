// SPDX-License-Identifier: Apache-2.0
// Drives the ports of soc.sv for soc.h, with nothing between the model and its user: what cocotb does otherwise.

#include "soc.h"

#include <memory>
#include <string>

#include "Vtop.h"
#include "verilated.h"

extern "C" void dram_delete(long long memory, long long bytes);

// The model with its clock. Inputs that change between cycles count at the next rising edge.
struct soc {
 public:
  soc(uint32_t seed, uint16_t latency, uint8_t interval, uint64_t memory_bytes, const char* events) {
    context_.randSeed(static_cast<int>(seed % 0x7FFFFFFFu) + 1);  // 0 is the request to choose one
    context_.randReset(2);
    const std::string recorded = std::string("+events=") + (events != nullptr ? events : "");
    const char* arguments[] = {"soc", recorded.c_str()};
    context_.commandArgs(events != nullptr ? 2 : 1, arguments);
    enter();
    top_ = std::make_unique<Vtop>(&context_);
    top_->rst_ni = 0;
    top_->latency_i = latency;
    top_->beats_i = 1;
    top_->cycles_i = interval;
    top_->bytes_i = memory_bytes;
    top_->outside_i = 3;  // DECERR
    top_->stall_i = top_->dead_i = 0;
    top_->reg_awvalid_i = top_->reg_wvalid_i = top_->reg_bready_i = 0;
    top_->reg_arvalid_i = top_->reg_rready_i = 0;
    top_->trace_pass_i = top_->trace_select_i = 0;
    for (auto& word : top_->flip_i.m_storage) word = 0;
    for (int n = 0; n < 4; n++) cycle();
    top_->rst_ni = 1;
    for (int n = 0; n < 2; n++) cycle();
  }

  ~soc() {
    enter();
    const long long memory = static_cast<long long>(top_->dram_pointer_o);
    top_->final();
    top_.reset();
    dram_delete(memory, 1LL << 32);
  }

  // The calling thread works on this SoC from here on: start values and messages are its context's.
  soc* enter() {
    Verilated::threadContextp(&context_);
    return this;
  }

  uint8_t* dram() { return reinterpret_cast<uint8_t*>(top_->dram_pointer_o); }

  void bus(bool answers) { top_->dead_i = answers ? 0 : 0x1F; }

  void write(uint32_t address, uint32_t value) {
    top_->reg_awaddr_i = address;
    top_->reg_wdata_i = value;
    top_->reg_wstrb_i = 0xF;
    top_->reg_awvalid_i = 1;
    until(top_->reg_awready_o);
    top_->reg_awvalid_i = 0;
    top_->reg_wvalid_i = 1;
    until(top_->reg_wready_o);
    top_->reg_wvalid_i = 0;
    top_->reg_bready_i = 1;
    until(top_->reg_bvalid_o);
    top_->reg_bready_i = 0;
  }

  uint32_t read(uint32_t address) {
    top_->reg_araddr_i = address;
    top_->reg_arvalid_i = 1;
    until(top_->reg_arready_o);
    top_->reg_arvalid_i = 0;
    top_->reg_rready_i = 1;
    until(top_->reg_rvalid_o);
    top_->reg_rready_i = 0;
    return top_->reg_rdata_o;
  }

  bool wait(uint32_t cycles) {
    for (uint32_t n = 0; n < cycles && !top_->interrupt_o; n++) cycle();
    return top_->interrupt_o;
  }

  uint64_t trace(uint16_t pass, uint8_t select) {
    top_->trace_pass_i = pass;
    top_->trace_select_i = select;
    cycle();
    return top_->trace_o;
  }

  uint64_t cycles() const { return cycles_; }

 private:
  void edge(bool level) {
    top_->clk_i = level;
    top_->eval();
    context_.timeInc(1000);  // of 1 ps
  }

  void cycle() {
    edge(false);
    edge(true);
    cycles_++;
  }

  // Goes on to the rising edge at which the output is high.
  void until(const CData& output) {
    for (bool seen = false; !seen; cycles_++) {
      edge(false);
      seen = output;
      edge(true);
    }
  }

  VerilatedContext context_;
  std::unique_ptr<Vtop> top_;
  uint64_t cycles_ = 0;
};

struct soc* soc_open(uint32_t seed, uint16_t latency, uint8_t interval, uint64_t memory_bytes, const char* events) {
  return new soc(seed, latency, interval, memory_bytes, events);
}

void soc_close(struct soc* soc) { delete soc; }

uint8_t* soc_memory(struct soc* soc) { return soc->dram(); }

void soc_bus(struct soc* soc, bool answers) { soc->bus(answers); }

uint32_t soc_read(struct soc* soc, uint32_t address) { return soc->enter()->read(address); }

void soc_write(struct soc* soc, uint32_t address, uint32_t value) { soc->enter()->write(address, value); }

bool soc_wait(struct soc* soc, uint32_t cycles) { return soc->enter()->wait(cycles); }

uint64_t soc_trace(struct soc* soc, uint16_t pass, uint8_t select) { return soc->enter()->trace(pass, select); }

uint64_t soc_cycles(const struct soc* soc) { return soc->cycles(); }
