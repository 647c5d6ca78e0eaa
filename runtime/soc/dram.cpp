// SPDX-License-Identifier: Apache-2.0
// The storage behind axi_dram: plain memory in the simulation's process. Its address goes to the
// test bench through a port of axi_dram, so that NumPy reads and writes it in bulk
// (tb/sim/dram.py). It may be as large as addresses go: the system gives memory to pages that are
// touched, and zeros to all others.

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" long long dram_new(long long bytes) {
  void* memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("the simulated memory");
    std::exit(1);
  }
  return reinterpret_cast<long long>(memory);
}

extern "C" void dram_delete(long long base, long long bytes) {
  (void)munmap(reinterpret_cast<void*>(base), static_cast<size_t>(bytes));
}

extern "C" long long dram_read(long long base, int word) {
  return reinterpret_cast<const int64_t*>(base)[static_cast<uint32_t>(word)];
}

extern "C" void dram_write(long long base, int word, long long data, int strobe) {
  const size_t offset = 8 * static_cast<size_t>(static_cast<uint32_t>(word));
  uint8_t* bytes = reinterpret_cast<uint8_t*>(base) + offset;
  for (int lane = 0; lane < 8; lane++) {
    if (strobe >> lane & 1) bytes[lane] = static_cast<uint8_t>(data >> (8 * lane));
  }
}
