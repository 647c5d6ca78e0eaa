/* SPDX-License-Identifier: Apache-2.0
 *
 * What the examples ask of those who run them on an accelerator of theirs; runtime/soc/environment.c is that of the
 * simulated one.
 */
#ifndef PLATFORM_H
#define PLATFORM_H

#include "eyrie_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills in how to reach the accelerator; called once. */
void platform_open(struct eyrie_platform *platform);

#ifdef __cplusplus
}
#endif

#endif
