/*
 * learner.h - the frame of trainings by rows: reading and checking, the plan, the run and its result.
 *
 * hawser_algorithm.user of such an algorithm is its hw_learner; hw_learner_train and hw_learner_plan are its `train` and
 * `plan`. What a training is made of (options, data, numbers that follow from them) is one struct, which units read as
 * hawser_user(context).
 */
#ifndef HW_ALGORITHMS_LEARNER_LEARNER_H
#define HW_ALGORITHMS_LEARNER_LEARNER_H

#include "hawser/algorithm.h"

typedef struct hw_learner {
    size_t size; /* bytes of the struct of a training, which is zeroed */
    /* Reads options and data, and checks them. Collective. The frame calls `release`, also after a failure. */
    hawser_status (*read)(void *own, hawser_job *job, const hawser_training_input *input, hawser_error *error);
    void (*release)(void *own); /* NULL with members: hw_row_path_free */
    /* Writes what the sync means for it (hawser_training.policy); may be NULL. */
    void (*policy)(const void *own, const hawser_options *options, char *text, size_t size);
    /* Of a learner with members (members.h), whose struct begins with its hw_row_path; or NULL, and: */
    const struct hw_member_method *members;
    hawser_program *(*build)(void *own, const hawser_job *job);
    /* Runs the program and makes the result. Collective. */
    hawser_status (*run)(void *own, hawser_job *job, const hawser_training_input *input, hawser_training *training,
                         hawser_error *error);
} hw_learner;

/* The functions of hawser_algorithm. */
hawser_status hw_learner_train(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                               hawser_training *training, hawser_error *error);
hawser_status hw_learner_plan(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                              hawser_plan_format format, FILE *out, hawser_error *error);

/* clang-format off */
/* The members of hawser_algorithm that all such algorithms have. `learner` is a hw_learner. */
#define HW_LEARNER_ALGORITHM(learner) \
    .split = HAWSER_BY_ROW, .no_offset = true, .user = &(learner), .train = hw_learner_train, .plan = hw_learner_plan
/* clang-format on */

#endif
