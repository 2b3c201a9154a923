/* input.h - loading what the words of a call name, checking outputs before work is done, and models against data. */
#ifndef HW_CLI_INPUT_H
#define HW_CLI_INPUT_H

#include "cli/cli.h"

/* Refuses a path that could not be written, now rather than after hours. NULL is fine. */
hawser_status hw_check_writable(const char *path, hawser_error *error) HAWSER_MUST_USE;
/* No output is one of the files that the command reads, words and options alike, and no two outputs are one file. */
hawser_status hw_check_outputs(const hw_call *call, hawser_error *error) HAWSER_MUST_USE;
/* The same of what node `node` of a job, not the first, writes itself: its part of the history. */
hawser_status hw_check_history_of(const hw_call *call, uint32_t node, hawser_error *error) HAWSER_MUST_USE;
/* The first half of that for one path, of which the option `key` is the reason. */
hawser_status hw_check_spares(const hw_call *call, const char *key, const char *path, hawser_error *error) HAWSER_MUST_USE;

/* The text of an option that is a path, or NULL. */
const char *hw_path_of(const hw_call *call, const char *key);

/* The call's words, read by all nodes of the job together. */
hawser_status hw_load_shares(const hw_call *call, hawser_job *job, hawser_dataset **data,
                             hawser_error *error) HAWSER_MUST_USE;
/* Loads `count` paths as `how` says; says on err what a user must know (guessed base, dropped rows, options that can do nothing). */
hawser_status hw_load_as(const hw_call *call, char *const *words, size_t count, const hawser_load *how,
                         hawser_dataset **data, hawser_error *error) HAWSER_MUST_USE;
/* The same of the call's words, with its input options. */
hawser_status hw_load_words(const hw_call *call, hawser_dataset **data, hawser_error *error) HAWSER_MUST_USE;

/* Says, one line each unless quiet, which options of the command line can do nothing under so many workers, or with input of that
 * format; or refuses one. */
void hw_say_idle_job(const hw_call *call, uint32_t workers);
void hw_say_idle_input(const hw_call *call, hawser_format format);
hawser_status hw_refuse_idle(const hw_call *call, const char *key, bool idle, const char *why,
                             hawser_error *error) HAWSER_MUST_USE;

/* The tensor that keeps what missing values of each column are read as. */
#define HW_MEANS "missing.means"

/* A model with what belongs to it. */
typedef struct hw_fitted {
    hawser_model *model;
    const hawser_algorithm *algorithm;
    size_t columns;
} hw_fitted;

hawser_status hw_fitted_load(const char *path, hw_fitted *fitted, hawser_error *error) HAWSER_MUST_USE;
void hw_fitted_free(hw_fitted *fitted);

/* Loads data as the model has seen its own: index base, columns and CSV settings are the model's; unseen columns are counted,
 * said and left out; columns of other names are refused. */
hawser_status hw_load_for_model(const hw_call *call, const hw_fitted *fitted, char *const *words, size_t count,
                                hawser_dataset **data, hawser_error *error) HAWSER_MUST_USE;

/* Loads MODEL DATA... of the call's words and predicts; the caller frees all three. */
hawser_status hw_predict_words(const hw_call *call, hw_fitted *fitted, hawser_dataset **data, double **predictions,
                               hawser_error *error) HAWSER_MUST_USE;

/* What data written to `path` takes, which in a format may be two files, is none that the command reads, nor the second an output. */
hawser_status hw_check_spares_data(const hw_call *call, const char *path, hawser_error *error) HAWSER_MUST_USE;
/* The format by a path's extension; HAWSER_BAD_OPTION lists the known ones. */
hawser_status hw_format_of_path(const char *path, hawser_format *format, hawser_error *error) HAWSER_MUST_USE;
/* Writes a whole dataset in the format of the path's extension. */
hawser_status hw_write_dataset(const hawser_dataset *data, const char *path, hawser_error *error) HAWSER_MUST_USE;

#endif
