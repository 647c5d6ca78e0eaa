/* SPDX-License-Identifier: Apache-2.0 */

#include "eyrie_driver.h"

static const char *const result_texts[EYRIE_RESULTS] = {
    "all right",
    "a pointer is NULL, the device is not open, or a number means nothing",
    "the platform lacks a function, or its window is none",
    "no accelerator answers at the registers",
    "the network's description or its command list contradicts itself",
    "the network was compiled for an accelerator of other sizes",
    "the image is not the one that the network's description goes with",
    "the network is larger than the window",
    "the map has another number of values",
    "no network is loaded",
    "no run has begun",
    "a run has not ended",
    "the accelerator stopped with an error",
    "the run has not ended within the limit",
    "the memory does not answer, and the accelerator waits for it",
    "a descriptor is not set, is destroyed, or does not go with the others",
    "a place is no allocation, one that is too small, or overlaps what is read",
    "the window has no room, or the library no entry for another allocation",
    "the accelerator does not run the operator",
    "there is no program for the operator, and nothing that compiles one",
    "the handle is destroyed",
    "the library was compiled from another eyrie.h, or with other limits, than the caller",
};
static const char *const error_texts[EYRIE_ERROR_CODES] = {EYRIE_ERROR_TEXTS};
static const char *const counter_names[EYRIE_COUNTERS] = {EYRIE_COUNTER_NAMES};

static const char *text_of(const char *const *texts, uint32_t count, uint32_t number) {
  return number < count ? texts[number] : "unknown";
}

const char *eyrie_result_text(enum eyrie_result result) {
  return text_of(result_texts, EYRIE_RESULTS, (uint32_t)result);
}

const char *eyrie_error_text(enum eyrie_error_code code) {
  return text_of(error_texts, EYRIE_ERROR_CODES, (uint32_t)code);
}

const char *eyrie_counter_name(enum eyrie_counter counter) {
  return text_of(counter_names, EYRIE_COUNTERS, (uint32_t)counter);
}
