/* member.h - the members of a model's path: what they are, and a model of one of them. */
#ifndef HW_ALGORITHMS_CHOICE_MEMBER_H
#define HW_ALGORITHMS_CHOICE_MEMBER_H

#include "algorithms/choice/rows.h"
#include "algorithms/model/classed.h"

/* The `member_rows` of hawser_algorithm. */
extern const hawser_option hw_choice_member_rows[];
/* Describes the path of a model; `error_name` names the errors on rows that the training did not see. */
hawser_status hw_choice_path(const hawser_model *model, const char *error_name, hawser_path *path,
                             hawser_error *error) HAWSER_MUST_USE;
/* The `choose` of hawser_algorithm, for models of hw_fit_make. */
hawser_status hw_choice_member(hawser_model *model, const char *lambda, hawser_error *error) HAWSER_MUST_USE;
/* The `choose` of hawser_algorithm, for models with all coefficients of each class (model/classed.h). */
hawser_status hw_choice_classed(hawser_model *model, const char *lambda, hawser_error *error) HAWSER_MUST_USE;

/* clang-format off */
/* The members of hawser_algorithm of models with all coefficients of each class. */
#define HW_CHOICE_CLASSED \
    .init_use = hw_choice_init_use, .starts = HW_CLASSED_STARTS, .choose = hw_choice_classed, .member_rows = hw_choice_member_rows
/* clang-format on */

#endif
