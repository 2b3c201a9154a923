/* member.h - the members of a model's path: what they are, and a model of one of them. */
#ifndef HW_ALGORITHMS_GLM_MEMBER_H
#define HW_ALGORITHMS_GLM_MEMBER_H

#include "hawser/algorithm.h"

/* The `member_rows` of hawser_algorithm. */
extern const hawser_option hw_linear_member_rows[];
/* Describes the path of a model; `error_name` names the errors on rows that the training did not see. */
hawser_status hw_linear_path_of(const hawser_model *model, const char *error_name, hawser_path *path,
                                hawser_error *error) HAWSER_MUST_USE;
/* The `choose` of hawser_algorithm. */
hawser_status hw_linear_choose_member(hawser_model *model, const char *lambda, hawser_error *error) HAWSER_MUST_USE;

/* Finds two members: the one with the least error, and the first whose error is at most one standard error above that. Of equal errors the first
 * counts, whose lambda is larger. `standard_error` may be NULL: then both are the same. */
void hw_linear_best_members(const double *error, const double *standard_error, size_t count, size_t *least, size_t *one_se);

#endif
