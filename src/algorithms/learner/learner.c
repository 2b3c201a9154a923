#include "algorithms/learner/learner.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/learner/members.h"
#include "algorithms/learner/outcome.h"
#include "hawser/advanced.h"

static hawser_status begin(const hw_learner *learner, void **own, hawser_job *job, const hawser_training_input *input,
                           hawser_error *error)
{
    *own = calloc(1, learner->size);
    if (*own == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a training");
    return learner->read(*own, job, input, error);
}

static void end(const hw_learner *learner, void *own)
{
    if (own != NULL)
        learner->members != NULL ? hw_row_path_free(own) : learner->release(own);
    free(own);
}

static hawser_program *program_of(const hw_learner *learner, void *own, const hawser_job *job)
{
    return learner->members != NULL ? hw_members_build(own, learner->members, job) : learner->build(own, job);
}

hawser_status hw_learner_train(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                               hawser_training *training, hawser_error *error)
{
    const hw_learner *learner = algorithm->user;
    void *own = NULL;
    memset(training, 0, sizeof *training);
    hawser_status status = begin(learner, &own, job, input, error);
    if (status == HAWSER_OK && learner->policy != NULL)
        learner->policy(own, input->options, training->policy, sizeof training->policy);
    HAWSER_THEN(status, learner->members != NULL
                            ? hw_members_run(program_of(learner, own, job), own, job, input, training, error)
                            : learner->run(own, job, input, training, error));
    end(learner, own);
    return status;
}

hawser_status hw_learner_plan(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                              hawser_plan_format format, FILE *out, hawser_error *error)
{
    const hw_learner *learner = algorithm->user;
    void *own = NULL;
    hawser_status status = begin(learner, &own, job, input, error);
    if (status == HAWSER_OK) {
        hawser_program *program = program_of(learner, own, job);
        char text[sizeof((hawser_training *)0)->policy];
        if (learner->policy != NULL) {
            learner->policy(own, input->options, text, sizeof text);
            hawser_plan_note(program, text);
        }
        status = hawser_plan_print(job, program, format, out, error);
        hawser_program_free(program);
    }
    end(learner, own);
    return status;
}
