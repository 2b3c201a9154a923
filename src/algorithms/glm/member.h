/* member.h - the members of a model's path: what they are, and a model of one of them. */
#ifndef HW_ALGORITHMS_GLM_MEMBER_H
#define HW_ALGORITHMS_GLM_MEMBER_H

#include "hawser/algorithm.h"

/* The `member_rows` of hawser_algorithm. */
extern const hawser_option hw_linear_member_rows[];
/* Describes the path of a model; `error_name` names the errors on rows that the training did not see. */
hawser_status hw_linear_path_of(const hawser_model *model, const char *error_name, hawser_path *path,
                                hawser_error *error) HAWSER_MUST_USE;
/* Finds the member of a model's path that a value of --lambda names. The model's facts become those of the member; its arrays hold the path. */
hawser_status hw_linear_take_member(hawser_model *model, const char *lambda, hawser_path *path, size_t *at,
                                    hawser_error *error) HAWSER_MUST_USE;
/* The `choose` of hawser_algorithm, for models of hw_linear_model_make. */
hawser_status hw_linear_choose_member(hawser_model *model, const char *lambda, hawser_error *error) HAWSER_MUST_USE;
/* Likewise, for models with all coefficients of each class (model/classed.h). */
hawser_status hw_linear_choose_classed(hawser_model *model, const char *lambda, hawser_error *error) HAWSER_MUST_USE;

#endif
