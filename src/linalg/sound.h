/* sound.h - checks a matrix of the user before its arrays are read. */
#ifndef HW_LINALG_SOUND_H
#define HW_LINALG_SOUND_H

#include "hawser/matrix.h"

/* Returns why a matrix cannot be used, as text that follows its name ("has no values"), or NULL. */
const char *hw_matrix_wrong(const hawser_matrix *A);

#endif
