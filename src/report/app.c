/* app.c - the main of a program with a command line. */
#include "hawser/app.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/clock.h"
#include "hawser/job_data.h"
#include "program/program.h"
#include "report/exit_code.h"
#include "report/json.h"
#include "report/option_text.h"
#include "report/threads.h"
#include "report/trace.h"
#include "runtime/job/job.h"

static const hawser_option app_rows[] = {
    {"plan", HAWSER_FLAG, "no", NULL, NULL, "print the plan, and run nothing", NULL, 0},
    {"trace", HAWSER_PATH, NULL, NULL, "FILE", "write the metrics of each clock to this file, as CSV", NULL, 0},
    {"log-view", HAWSER_FLAG, "no", NULL, NULL,
     "print a table at the end: count, time and bytes of each event, waits, staleness", NULL, 0},
    {"json", HAWSER_FLAG, "no", NULL, NULL, "print metrics and figures as one JSON object on the last line", NULL, 0},
    {"quiet", HAWSER_FLAG, "no", NULL, NULL, "print no notes", NULL, 'q'},
    {"config", HAWSER_PATH, NULL, NULL, "FILE", "file of key = value lines", NULL, 0},
    {"help", HAWSER_FLAG, "no", NULL, NULL, "print this, and leave", NULL, 'h'},
    {"help-all", HAWSER_FLAG, "no", NULL, NULL, "print all options, and leave", NULL, 0},
    {0},
};

enum { TABLES = 5 };

/* One call of an app. */
typedef struct app_process {
    const hawser_app *app;
    hawser_options *options;
    hawser_app_call call;
    hawser_job *job;
    hawser_dataset *data;
    hawser_program *program;
    hawser_run *run;
    hw_trace trace;
    double seconds_load, seconds_run;
    bool interrupted;
} app_process;

static void tables_of(const hawser_app *app, const hawser_option *tables[TABLES])
{
    size_t n = 0;
    if (app->rows != NULL)
        tables[n++] = app->rows;
    tables[n++] = app_rows;
    tables[n++] = hawser_job_rows();
    tables[n++] = app->files ? hawser_data_rows() : hw_machine_rows();
    tables[n] = NULL;
}

static void print_help(const hawser_app *app, bool all, FILE *out)
{
    fprintf(out, "usage: %s [options] %s\n", app->name, app->usage != NULL ? app->usage : "");
    if (app->about != NULL) {
        fputc('\n', out);
        hw_help_wrapped(out, app->about, 0, 0);
        fputc('\n', out);
    }
    hw_help_rows(out, "Options", app->rows);
    hw_help_rows(out, app->rows != NULL ? "Options of every program" : "Options", app_rows);
    if (!all) {
        fputs("\n--workers, --sync, --seed and other options of the job", out);
        fputs(app->files ? " and of the input: --help-all. " : ": --help-all. ", out);
        fputs("Each is also a variable (HAWSER_WORKERS) and a key of --config.\n", out);
        return;
    }
    hw_help_rows(out, "Options of the job", hawser_job_rows());
    if (app->files)
        hw_help_rows(out, "Options of the input", hawser_data_rows());
}

static hawser_status read_options(app_process *p, int *argc, char **argv, hawser_error *error)
{
    const hawser_option *tables[TABLES];
    tables_of(p->app, tables);
    HAWSER_TRY(hawser_options_new(tables, &p->options, error));
    HAWSER_TRY(hawser_options_arguments(p->options, argc, argv, error));
    if (hawser_options_flag(p->options, "help") || hawser_options_flag(p->options, "help-all")) {
        print_help(p->app, hawser_options_flag(p->options, "help-all"), stdout);
        return HAWSER_STOP;
    }
    HAWSER_TRY(hawser_options_environment(p->options, environ, error));
    const char *path = hawser_options_text(p->options, "config");
    return path != NULL ? hawser_options_file(p->options, path, error) : HAWSER_OK;
}

static hawser_status check_words(const app_process *p, size_t count, hawser_error *error)
{
    const hawser_app *app = p->app;
    size_t least = app->words + (app->files ? 1 : 0);
    const char *usage = app->usage != NULL ? app->usage : "";
    if (count < least)
        return hawser_fail(error, HAWSER_BAD_OPTION, "an argument is missing; usage: %s %s", app->name, usage);
    if (count > least && !app->files)
        return hawser_fail(error, HAWSER_BAD_OPTION, "unexpected argument '%s'; usage: %s %s", p->call.words[least],
                           app->name, usage);
    return HAWSER_OK;
}

hawser_status hawser_app_number(const hawser_app_call *call, size_t index, const char *name, size_t least, size_t most,
                                size_t *number, hawser_error *error)
{
    HW_GIVEN(call);
    HW_GIVEN(name);
    HW_GIVEN(number);
    if (index >= call->count)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_app_number: word %zu, but the app takes %zu", index,
                           call->count);
    const char *text = call->words[index];
    size_t value = 0;
    bool sound = *text != '\0';
    for (; sound && *text != '\0'; text++) {
        sound = *text >= '0' && *text <= '9' && value <= (SIZE_MAX - 9) / 10;
        value = sound ? 10 * value + (size_t)(*text - '0') : value;
    }
    if (!sound || value < least || value > most)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s is '%s'; it takes a whole number from %zu to %zu", name,
                           call->words[index], least, most);
    *number = value;
    return HAWSER_OK;
}

static hawser_status load(app_process *p, size_t count, hawser_error *error)
{
    hawser_load how;
    if (!p->app->files)
        return HAWSER_OK;
    double began = hw_seconds();
    HAWSER_TRY(hawser_load_from_options(p->options, &how, error));
    how.split = p->app->split;
    if (p->app->target != NULL && hawser_options_source(p->options, "target", NULL) == HAWSER_FROM_DEFAULT)
        how.target = p->app->target;
    hw_load_threads(p->job, &how);
    HAWSER_TRY(hawser_job_load(p->job, (const char *const *)p->call.words + p->app->words, count - p->app->words, &how,
                               &p->data, error));
    p->call.data = p->data;
    p->seconds_load = hw_seconds() - began;
    return HAWSER_OK;
}

static void observe(const hawser_progress *progress, void *user)
{
    app_process *p = user;
    double values[HW_METRICS_MOST];
    size_t count = p->program->metric_count;
    for (size_t k = 0; k < count; k++)
        values[k] = hawser_progress_metric(progress, p->program->metrics[k].name);
    const hw_trace_line line = {.clock = (double)hawser_progress_clocks(progress),
                                .seconds = hawser_progress_seconds(progress),
                                .bytes = hawser_progress_metric(progress, "bytes"),
                                .staleness = hawser_progress_metric(progress, "staleness")};
    hw_trace_add(&p->trace, progress, &line, values, count);
}

static hawser_status begin_trace(app_process *p, hawser_error *error)
{
    const char *names[HW_METRICS_MOST], *path = hawser_options_text(p->options, "trace");
    hawser_status status = HAWSER_OK;
    for (size_t k = 0; k < p->program->metric_count; k++)
        names[k] = p->program->metrics[k].name;
    if (hawser_job_leads(p->job))
        status = hw_trace_begin(&p->trace, path, hw_trace_goes_on(p->options), names, p->program->metric_count, error);
    HAWSER_THEN(status, hw_job_keep_log(p->job, HW_LOG_TRACE, p->trace.file != NULL ? path : NULL, error));
    if (path != NULL)
        hawser_observe(p->job, observe, p);
    return hawser_job_agree(p->job, status, error);
}

static hawser_status print_json(const app_process *p, hawser_error *error)
{
    bool ok = true;
    const hawser_figures *figures = hawser_run_figures(p->run);
    json_t *object = json_object(), *metrics = json_object();
    hw_json_text(object, "program", p->app->name, &ok);
    for (size_t k = 0; k < p->program->metric_count; k++)
        hw_json_number(metrics, p->program->metrics[k].name, hawser_result_metric(p->run, p->program->metrics[k].name), &ok);
    hw_json_take(object, "metrics", metrics, &ok);
    hw_json_count(object, "clocks", figures->clocks, &ok);
    hw_json_number(object, "seconds_load", p->seconds_load, &ok);
    hw_json_number(object, "seconds_run", p->seconds_run, &ok);
    hw_json_run(object, p->job, p->run, figures->stop_reason, p->data, &ok);
    hw_json_take(object, "options", hw_json_options(p->options, &ok), &ok);
    return hw_json_line(stdout, object, ok, error);
}

/* Prints and saves, on node 0. */
static hawser_status conclude(app_process *p, hawser_error *error)
{
    hw_trace_accept(&p->trace);
    hawser_status status = p->app->done != NULL ? p->app->done(&p->call, p->run, error) : HAWSER_OK;
    if (status == HAWSER_OK && hawser_options_flag(p->options, "log-view"))
        hawser_run_log_view(p->run, stdout);
    if (status == HAWSER_OK && hawser_options_flag(p->options, "json"))
        status = print_json(p, error);
    if (status == HAWSER_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = hawser_fail(error, HAWSER_IO, "cannot write to standard output: disk full or pipe closed");
    return status;
}

static hawser_status run(app_process *p, hawser_error *error)
{
    HAWSER_TRY(begin_trace(p, error));
    double began = hw_seconds();
    hawser_job_last_run(p->job);
    hawser_status status = hawser_run_program(p->job, p->program, &p->run, error);
    p->seconds_run = hw_seconds() - began;
    p->interrupted = status == HAWSER_STOP && hawser_run_figures(p->run)->interrupted_signal != 0;
    if (status >= HAWSER_OK)
        status = hawser_job_leads(p->job) ? conclude(p, error) : HAWSER_OK;
    hw_trace_end(&p->trace);
    if (status != HAWSER_OK || p->trace.error.status == HAWSER_OK)
        return status;
    return hawser_fail(error, p->trace.error.status, "%s", p->trace.error.text);
}

static hawser_status print_plan(app_process *p, hawser_error *error)
{
    char *text = NULL;
    static const hawser_plan_format formats[] = {HAWSER_PLAN_LOGICAL, HAWSER_PLAN_PHYSICAL};
    for (size_t i = 0; i < 2; i++) {
        HAWSER_TRY(hawser_plan_text(p->job, p->program, formats[i], &text, error));
        if (hawser_job_leads(p->job))
            fputs(text, stdout);
        free(text);
    }
    return HAWSER_OK;
}

static hawser_status call(app_process *p, int argc, char **argv, hawser_error *error)
{
    HAWSER_TRY(read_options(p, &argc, argv, error));
    size_t count = (size_t)argc - 1;
    p->call = (hawser_app_call){.options = p->options, .words = argv + 1, .count = p->app->words, .user = p->app->user};
    HAWSER_TRY(check_words(p, count, error));
    HAWSER_TRY(hawser_open_options(p->options, &p->job, error));
    p->call.job = p->job;
    HAWSER_TRY(load(p, count, error));
    p->program = hawser_program_new(p->app->name, p->app->user);
    HAWSER_TRY(hawser_job_agree(p->job, p->app->build(&p->call, p->program, error), error));
    return hawser_options_flag(p->options, "plan") ? print_plan(p, error) : run(p, error);
}

int hawser_app_main(const hawser_app *app, int argc, char **argv)
{
    hawser_error error = {0};
    if (app == NULL || argv == NULL || argc < 1)
        return HW_EXIT_USAGE;
    app_process p = {.app = app};
    hawser_status status =
        app->name == NULL || app->build == NULL
            ? hawser_fail(&error, HAWSER_BAD_PROGRAM, "an app needs a name and a function that builds its program")
            : call(&p, argc, argv, &error);
    bool helped = status == HAWSER_STOP && p.job == NULL;
    if (status < HAWSER_OK) {
        char line[3 * sizeof error.text];
        hawser_escape(error.text, line, sizeof line);
        fprintf(stderr, "%s: %s\n", app->name != NULL ? app->name : argv[0], line);
    }
    hawser_run_free(p.run);
    hawser_program_free(p.program);
    hawser_dataset_free(p.data);
    hawser_close(p.job);
    hawser_options_free(p.options);
    return helped ? HW_EXIT_OK : status == HAWSER_OK && p.interrupted ? HW_EXIT_SIGNAL : hw_exit_code(status);
}
