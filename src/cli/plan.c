/* plan.c - hawser plan. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input.h"
#include "runtime/job/enter.h"

const hawser_option *hw_plan_rows(void)
{
    static const hawser_option rows[] = {
        {"logical", HAWSER_FLAG, "no", NULL, NULL, "print the logical plan only", NULL, 0},
        {"physical", HAWSER_FLAG, "no", NULL, NULL, "print the physical plan only", NULL, 0},
        {"suppose-nodes", HAWSER_INTEGER, NULL, "[1,16384]", "N",
         "plan for N nodes like this one, one per host; 'hawser run -n N -- plan ...' plans over real nodes", NULL, 0},
        {"json", HAWSER_FLAG, "no", NULL, NULL, "print both plans as one JSON object ('hawser help plan-json')", "Logs", 0},
        {"dot", HAWSER_FLAG, "no", NULL, NULL, "print Graphviz DOT instead of text", NULL, 0},
        HW_INIT_ROW,
        HW_VALIDATION_ROW("Validation"),
        {"quiet", HAWSER_FLAG, "no", NULL, NULL, "print only errors on standard error", NULL, 'q'},
        {0},
    };
    return rows;
}

/* Prints the plan of the data that a training would have, columns far from zero centred. */
static hawser_status print_plan(const hw_call *call, hawser_job *job, const hawser_training_input *input,
                                hawser_plan_format format, FILE *out, hawser_error *error)
{
    char *text = NULL;
    HAWSER_TRY(hawser_train_plan(call->algorithm, job, input, format, &text, error));
    (void)fputs(text, out); /* whoever closes the output checks it */
    free(text);
    return HAWSER_OK;
}

/* Prints both plans if none is chosen. DOT is one graph, so then only the physical plan is printed. JSON has both. */
static hawser_status print_plans(const hw_call *call, hawser_job *job, const hawser_training_input *input, FILE *out,
                                 hawser_error *error)
{
    bool logical = hawser_options_flag(call->options, "logical"), physical = hawser_options_flag(call->options, "physical");
    bool dot = hawser_options_flag(call->options, "dot");
    if (logical && physical && dot)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--dot prints one graph: give --logical or --physical, not both");
    if (hawser_options_flag(call->options, "json")) {
        if (logical || physical || dot)
            return hawser_fail(error, HAWSER_BAD_OPTION, "--json prints one object with both plans: leave out --%s",
                               dot       ? "dot"
                               : logical ? "logical"
                                         : "physical");
        return print_plan(call, job, input, HAWSER_PLAN_JSON, out, error);
    }
    if (logical || (!physical && !dot))
        HAWSER_TRY(print_plan(call, job, input, dot ? HAWSER_PLAN_LOGICAL_DOT : HAWSER_PLAN_LOGICAL, out, error));
    if (logical && !physical)
        return HAWSER_OK;
    return print_plan(call, job, input, dot ? HAWSER_PLAN_PHYSICAL_DOT : HAWSER_PLAN_PHYSICAL, out, error);
}

/* Every node makes the plan, because columns may have to be fetched for it. Node 0 prints it. */
static hawser_status make_plans(const hw_call *call, hawser_job *job, const hawser_training_input *input,
                                hawser_error *error)
{
    if (hawser_job_leads(job))
        return print_plans(call, job, input, call->out, error);
    FILE *nowhere = fopen("/dev/null", "we");
    if (nowhere == NULL)
        return hawser_fail(error, HAWSER_IO, "cannot open /dev/null: %s", strerror(errno));
    hawser_status status = print_plans(call, job, input, nowhere, error);
    fclose(nowhere);
    return status;
}

hawser_status hw_plan(hw_call *call, hawser_error *error)
{
    hawser_job *job;
    hawser_model *init = NULL;
    hawser_dataset *data = NULL, *validation = NULL;
    static const char *const of_runs[] = {"record-history", "save-decisions", "replay-decisions"};
    for (size_t i = 0; i < sizeof of_runs / sizeof *of_runs; i++) {
        const char *path = hawser_options_text(call->options, of_runs[i]);
        if (path != NULL && *path != '\0')
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s: plan runs nothing to record; leave it out", of_runs[i]);
    }
    HAWSER_TRY(hawser_open_options(call->options, &job, error));
    hawser_status status = hw_load_init(call, job, &init, error);
    if (status == HAWSER_OK)
        status = hw_load_shares(call, job, &data, error);
    if (status == HAWSER_OK)
        status = hw_load_validation(call, job, data, &validation, error);
    if (status == HAWSER_OK && hawser_options_has(call->options, "suppose-nodes"))
        status = hw_job_suppose(job, (uint32_t)hawser_options_integer(call->options, "suppose-nodes"), error);
    hawser_training_input input = {.options = call->options, .data = data, .validation = validation, .init = init};
    if (status == HAWSER_OK)
        status = make_plans(call, job, &input, error);
    hawser_dataset_free(validation);
    hawser_dataset_free(data);
    hawser_model_free(init);
    hawser_close(job);
    return status;
}
