/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of text in a place of fixed size, without the C library.
 */

#include <stdarg.h>

#include "eyrie_library.h"

#define MOST_DIGITS 24u /* of a number, to its base */
#define FLOAT_DIGITS 6u
#define LARGEST_FLOAT 3.4e38

void eyrie_add_text(struct eyrie_text *text, const char *more) {
  for (; *more != '\0' && text->length < EYRIE_MESSAGE_BYTES - 1; more++) text->to[text->length++] = *more;
  text->to[text->length] = '\0';
}

void eyrie_add_number(struct eyrie_text *text, uint64_t number, uint32_t base, uint32_t least_digits) {
  char digits[MOST_DIGITS];
  uint32_t at = sizeof digits - 1, count = 0;
  digits[at] = '\0';
  for (; number != 0 || count < least_digits; number /= base, count++) digits[--at] = "0123456789abcdef"[number % base];
  eyrie_add_text(text, digits + at);
}

void eyrie_add_signed(struct eyrie_text *text, int32_t number) {
  if (number < 0) eyrie_add_text(text, "-");
  eyrie_add_number(text, number < 0 ? (uint64_t)(-(int64_t)number) : (uint64_t)number, 10, 1);
}

/* A real number as <digit>.<digits>e<exponent>. */
static void add_float(struct eyrie_text *text, double value) {
  int32_t exponent = 0;
  double digit = 1;
  if (value < 0) eyrie_add_text(text, "-");
  if (value < 0) value = -value;
  if (!(value >= 0 && value <= LARGEST_FLOAT)) {
    eyrie_add_text(text, value > 0 ? "inf" : "nan");
    return;
  }
  for (; value >= 10; value /= 10) exponent++;
  for (; value > 0 && value < 1; value *= 10) exponent--;
  for (uint32_t n = 1; n < FLOAT_DIGITS; n++) digit *= 10;
  const uint32_t whole = (uint32_t)(value * digit + 0.5), one = (uint32_t)digit;
  eyrie_add_number(text, whole / one, 10, 1);
  eyrie_add_text(text, ".");
  eyrie_add_number(text, whole % one, 10, FLOAT_DIGITS - 1);
  eyrie_add_text(text, "e");
  eyrie_add_signed(text, exponent);
}

enum eyrie_result eyrie_reject(struct eyrie_handle *handle, enum eyrie_result result, const char *line, ...) {
  struct eyrie_text text = {handle->message, 0};
  va_list values;
  va_start(values, line);
  handle->message[0] = '\0';
  for (; *line != '\0'; line++) {
    const char letter[] = {*line, '\0'};
    if (*line != '%') {
      eyrie_add_text(&text, letter);
      continue;
    }
    switch (*++line) {
      case 's': eyrie_add_text(&text, va_arg(values, const char *)); break;
      case 'u': eyrie_add_number(&text, va_arg(values, uint32_t), 10, 1); break;
      case 'x': eyrie_add_number(&text, va_arg(values, uint32_t), 16, 1); break;
      case 'z': eyrie_add_number(&text, va_arg(values, size_t), 10, 1); break;
      case 'd': eyrie_add_signed(&text, va_arg(values, int32_t)); break;
      default: add_float(&text, va_arg(values, double)); break;
    }
  }
  va_end(values);
  return result;
}

enum eyrie_result eyrie_begin(struct eyrie_handle *handle) {
  if (handle == NULL) return EYRIE_BAD_ARGUMENT;
  if (!is_in_use(handle)) return eyrie_reject(handle, EYRIE_CLOSED, "the handle is not open: create it");
  handle->message[0] = '\0';
  return EYRIE_OK;
}
