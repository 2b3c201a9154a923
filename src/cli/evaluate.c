/* evaluate.c - hawser evaluate. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/input.h"
#include "cli/json.h"

const hawser_option *hw_evaluate_rows(void)
{
    static const hawser_option rows[] = {
        HW_UNSEEN_ROW,
        {"json", HAWSER_FLAG, "no", NULL, NULL, "print one JSON object instead of lines", "0.1", 0},
        {"quiet", HAWSER_FLAG, "no", NULL, NULL, "print only errors on standard error", "0.1", 'q'},
        {0},
    };
    return rows;
}

static hawser_status print_json(const hw_call *call, const hw_fitted *fitted, const hawser_dataset *data,
                                const hawser_fact *facts, hawser_error *error)
{
    bool ok = true;
    json_t *object = json_object();
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    hw_json_text(object, "algorithm", fitted->algorithm->name, &ok);
    hw_json_text(object, "model", call->words[0], &ok);
    hw_json_count(object, "rows", hawser_dataset_matrix(data)->rows, &ok);
    hw_json_count(object, "unseen_columns", figures->unseen_columns, &ok);
    hw_json_count(object, "unseen_entries", figures->unseen_entries, &ok);
    for (; facts->name != NULL; facts++)
        hw_json_number(object, facts->name, facts->value, &ok);
    return hw_json_line(call->out, object, ok, error);
}

hawser_status hw_evaluate(hw_call *call, hawser_error *error)
{
    hw_fitted fitted;
    hawser_dataset *data;
    double *predictions;
    hawser_fact facts[16] = {{0}};
    HAWSER_TRY(hw_predict_words(call, &fitted, true, &data, &predictions, error));
    hawser_status status = fitted.algorithm->evaluate != NULL
                               ? fitted.algorithm->evaluate(fitted.model, data, predictions, facts, error)
                               : hawser_fail(error, HAWSER_BAD_OPTION, "%s: predictions of %s have no metrics",
                                             call->words[0], fitted.algorithm->name);
    if (status == HAWSER_OK && hawser_options_flag(call->options, "json")) {
        status = print_json(call, &fitted, data, facts, error);
    } else if (status == HAWSER_OK) {
        fprintf(call->out, "%-12s %zu\n", "rows", hawser_dataset_matrix(data)->rows);
        for (const hawser_fact *fact = facts; fact->name != NULL; fact++)
            fprintf(call->out, "%-12s %.10g\n", fact->name, fact->value);
    }
    free(predictions);
    hawser_dataset_free(data);
    hw_fitted_free(&fitted);
    return status;
}
