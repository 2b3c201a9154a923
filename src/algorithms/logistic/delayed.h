/*
 * delayed.h - delayed block proximal gradient (Li et al. 2014, section 5.1): margins kept by a parameter server, which every block
 * tells what its steps change, and weights that each block keeps for its columns.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_DELAYED_H
#define HW_ALGORITHMS_LOGISTIC_DELAYED_H

#include "algorithms/glm/program.h"

struct hw_logistic_delayed;

/* The work between two certificates, where --solver dbpg asks for it. */
void hw_logistic_delayed_work(const hw_linear_frame *frame, hw_linear *linear);
/* Its metrics: "suppressed", columns that the KKT filter left out; "caution", by which steps are shortened;
 * "moved", how far all together wanted to move a margin of late. */
void hw_logistic_delayed_declare(hawser_program *program);
void hw_logistic_delayed_free(struct hw_logistic_delayed *delayed);

#endif
