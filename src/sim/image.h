/*
 * image.h - the writable data of a program of the user: each simulated node has its own.
 *
 * They are the sections .data and .bss of the executable. Those of the library and the simulator are in sections of other
 * names (src/CMakeLists.txt), which all nodes share.
 */
#ifndef HW_SIM_IMAGE_H
#define HW_SIM_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* Finds the data, and keeps them as they are now for each of the nodes. HAWSER_BAD_PROGRAM: the program has data that cannot
 * be swapped; the text names the symbol or the library. */
hawser_status sim_image_open(uint32_t nodes, hawser_error *error) HAWSER_MUST_USE;
/* Makes the data those of a node. */
void sim_image_load(uint32_t node);

#endif
