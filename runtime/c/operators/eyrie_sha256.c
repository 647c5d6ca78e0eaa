/* SPDX-License-Identifier: Apache-2.0 */

#include "eyrie_library.h"

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotated(uint32_t word, uint32_t bits) { return word >> bits | word << (32 - bits); }

static void add_block(struct eyrie_sha256 *sha) {
  uint32_t words[64], s[8];
  for (uint32_t n = 0; n < 16; n++) {
    const uint8_t *bytes = sha->block + 4 * n;
    words[n] = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
  }
  for (uint32_t n = 16; n < 64; n++) {
    const uint32_t early = words[n - 15], late = words[n - 2];
    words[n] = words[n - 16] + words[n - 7] + (rotated(early, 7) ^ rotated(early, 18) ^ early >> 3) +
               (rotated(late, 17) ^ rotated(late, 19) ^ late >> 10);
  }
  for (uint32_t n = 0; n < 8; n++) s[n] = sha->state[n];
  for (uint32_t n = 0; n < 64; n++) {
    const uint32_t chosen = (s[4] & s[5]) ^ (~s[4] & s[6]), most = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const uint32_t one = s[7] + (rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25)) + chosen + constants[n] +
                         words[n];
    const uint32_t two = (rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22)) + most;
    for (uint32_t m = 7; m > 0; m--) s[m] = s[m - 1];
    s[4] += one;
    s[0] = one + two;
  }
  for (uint32_t n = 0; n < 8; n++) sha->state[n] += s[n];
}

void eyrie_sha256_begin(struct eyrie_sha256 *sha) {
  static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (uint32_t n = 0; n < 8; n++) sha->state[n] = first[n];
  sha->bytes = 0;
}

void eyrie_sha256_add(struct eyrie_sha256 *sha, const uint8_t *bytes, uint32_t count) {
  for (uint32_t n = 0; n < count; n++) {
    sha->block[sha->bytes++ % sizeof sha->block] = bytes[n];
    if (sha->bytes % sizeof sha->block == 0) add_block(sha);
  }
}

void eyrie_sha256_end(struct eyrie_sha256 *sha, uint8_t *digest) {
  const uint64_t bits = 8 * sha->bytes;
  uint8_t byte = 0x80;
  do {
    eyrie_sha256_add(sha, &byte, 1);
    byte = 0;
  } while (sha->bytes % sizeof sha->block != sizeof sha->block - 8);
  for (uint32_t n = 0; n < 8; n++) {
    byte = (uint8_t)(bits >> (56 - 8 * n));
    eyrie_sha256_add(sha, &byte, 1);
  }
  for (uint32_t n = 0; n < EYRIE_DIGEST_BYTES; n++) digest[n] = (uint8_t)(sha->state[n / 4] >> (24 - 8 * (n % 4)));
}
