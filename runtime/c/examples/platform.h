/* SPDX-License-Identifier: Apache-2.0
 *
 * What the examples ask of those who run them on a machine of theirs; runtime/board/environment.c is that of the
 * simulated one.
 */
#ifndef PLATFORM_H
#define PLATFORM_H

#include "eyrie_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills in how to reach the machine; called once. */
void platform_open(struct eyrie_platform *platform);

#ifdef __cplusplus
}
#endif

#endif
