/*
 * app.h - a program with a command line: what `main` of a program on hawser.h does, written once.
 */
#ifndef HAWSER_APP_H
#define HAWSER_APP_H

#include "hawser/hawser.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the functions of an app are given. Valid during the call. */
typedef struct hawser_app_call {
    hawser_job *job;
    const hawser_options *options; /**< the app's, the job's and the input's */
    const hawser_dataset *data;    /**< the files; NULL if the app takes none */
    char *const *words;            /**< those in front of the files */
    size_t count;                  /**< of words */
    void *user;                    /**< hawser_app.user */
} hawser_app_call;

/** A program with a command line. Zero fields are defaults. All strings are static. */
typedef struct hawser_app {
    const char *name;  /**< of the program, in messages */
    const char *usage; /**< its arguments: "K FILE..." */
    const char *about; /**< a sentence for --help, or NULL */
    size_t words;      /**< number of arguments in front of the files */
    /** The arguments behind the words, one or more, are input files. They are loaded before `build`, as `split` and `target`
     *  say and with the options of the command (--format, --target ...). false: there are no further arguments */
    bool files;
    hawser_split split;
    const char *target;        /**< default of --target, "none" for example; NULL: that of the command */
    const hawser_option *rows; /**< options of its own, ended by a row without a key; NULL: none */
    void *user;                /**< for its functions, and for units (hawser_user) */
    /** Adds states and units to an empty program. Called on every node */
    hawser_status (*build)(const hawser_app_call *call, hawser_program *program, hawser_error *error);
    /** Uses the results of a run that ended by itself or by a signal or limit. Called on node 0. NULL: nothing */
    hawser_status (*done)(const hawser_app_call *call, const hawser_run *run, hawser_error *error);
} hawser_app;

/** Runs an app as a process does: reads options and words, opens the job, loads the files, builds the program and runs it.
 *  Returns the exit code for `main`, that of `hawser help exit-codes`. Messages go to standard error, results to standard
 *  output. Besides the job's options it has
 *
 *  - --help and --help-all, with exit code 0; --config FILE; --quiet, with which the job prints no notes;
 *  - --plan: prints the plan and runs nothing;
 *  - --trace FILE: writes the metrics of each clock as CSV;
 *  - --log-view: prints a table of the run; --json: prints one line of JSON with metrics and figures, the last of standard
 *    output. */
HAWSER_API int hawser_app_main(const hawser_app *app, int argc, char **argv);
/** The same with named arguments: return HAWSER_APP(argc, argv, "kmeans", "K FILE...", .words = 1, ...). C only. */
#define HAWSER_APP(argc, argv, ...) hawser_app_main(&(hawser_app){__VA_ARGS__}, (argc), (argv))

/** Reads word `index` as a whole number from `least` to `most` and stores it in *number. Returns HAWSER_BAD_OPTION, with
 *  `name`, the word and the bounds, if it is no such number. */
HAWSER_API hawser_status hawser_app_number(const hawser_app_call *call, size_t index, const char *name, size_t least,
                                           size_t most, size_t *number, hawser_error *error) HAWSER_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
