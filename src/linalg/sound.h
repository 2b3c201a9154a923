/* sound.h - what a matrix of the user's must be before anything walks it. */
#ifndef HW_LINALG_SOUND_H
#define HW_LINALG_SOUND_H

#include "hawser/matrix.h"

/* What makes a matrix unusable, as words that follow its name ("has no values"), or NULL. */
const char *hw_matrix_wrong(const hawser_matrix *A);

#endif
