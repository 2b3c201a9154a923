/* plot_model.c - hawser plot. */
#include "cli/input.h"
#include "cli/plot_check.h"
#include "cli/plot_path.h"
#include "cli/plot_trace.h"

const hawser_option *hw_plot_model_rows(void)
{
    static const hawser_option rows[] = {
        {"output", HAWSER_PATH, NULL, NULL, "FILE", "file of the plot; .svg or .png", NULL, 'o'},
        {0},
    };
    return rows;
}

hawser_status hw_plot_model(hw_call *call, hawser_error *error)
{
    const char *path = hw_path_of(call, "output");
    hw_fitted fitted;
    hawser_error own = {0};
    if (path == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "missing option -o FILE: the plot's file, .svg or .png");
    HAWSER_TRY(hw_plot_check("output", path, error));
    HAWSER_TRY(hw_check_outputs(call, error));
    HAWSER_TRY(hw_check_writable(path, error));
    if (hw_is_trace(call->words[0]))
        return hw_plot_trace(call->words[0], path, error);
    HAWSER_TRY(hw_fitted_load(call->words[0], &fitted, error));
    hawser_status status = hw_plot_path_write(path, fitted.model, &own);
    hw_fitted_free(&fitted);
    return status == HAWSER_OK ? HAWSER_OK : hawser_fail(error, status, "%s: %.600s", call->words[0], own.text);
}
