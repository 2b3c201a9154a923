/* build.h - identifies a build. */
#ifndef HW_BASE_BUILD_H
#define HW_BASE_BUILD_H

#include <stdbool.h>

enum { HW_BUILD_SIZE = 48 };

/* Writes "0.1.0+1f2e3d4c5b6a7988": the version and the beginning of the linker's build id, or only the version if there is
 * no build id. */
void hw_build(char text[HW_BUILD_SIZE]);

#endif
