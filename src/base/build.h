/* build.h - tells one build from another. */
#ifndef HW_BASE_BUILD_H
#define HW_BASE_BUILD_H

#include <stdbool.h>

enum { HW_BUILD_SIZE = 48 };

/* "0.1.0+1f2e3d4c5b6a7988": version and the beginning of the linker's build id, or the version alone where there is none. */
void hw_build(char text[HW_BUILD_SIZE]);

#endif
