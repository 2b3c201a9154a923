/* plot_none.c - plots of a command that was built without cairo: hw_plot_check refuses them before any work, so the others
 * are never called. */
#include "cli/plot.h"
#include "cli/plot_check.h"
#include "cli/plot_path.h"

static hawser_status refuse(hawser_error *error, const char *option, const char *path)
{
    return hawser_fail(
        error, HAWSER_BAD_OPTION,
        "--%s %.200s: this command was built without plots, as those of Python wheels are; draw with a command that "
        "was built with cairo",
        option, path);
}

hawser_status hw_plot_check(const char *option, const char *path, hawser_error *error)
{
    return path == NULL ? HAWSER_OK : refuse(error, option, path);
}

hawser_status hw_plot_write(const char *path, const char *title, const char *subtitle, const hw_watched *watched,
                            const hw_sample *samples, size_t count, hawser_error *error)
{
    (void)title, (void)subtitle, (void)watched, (void)samples, (void)count;
    return refuse(error, "plot", path);
}

hawser_status hw_plot_has_path(const hawser_model *model, bool *has, hawser_error *error)
{
    (void)model, (void)error;
    *has = false;
    return HAWSER_OK;
}

hawser_status hw_plot_path_write(const char *path, const hawser_model *model, hawser_error *error)
{
    (void)model;
    return refuse(error, "plot", path);
}
