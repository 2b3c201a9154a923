/* input.h - loads the data that a call names, checks outputs before any work is done, and matches data to models. */
#ifndef HW_CLI_INPUT_H
#define HW_CLI_INPUT_H

#include "cli/cli.h"

/* Refuses a path that could not be written, before hours of work. NULL is allowed. */
hawser_status hw_check_writable(const char *path, hawser_error *error) HAWSER_MUST_USE;
/* Checks that no output is a file that the command reads, as a word or by an option, and that no two outputs are one
 * file. */
hawser_status hw_check_outputs(const hw_call *call, hawser_error *error) HAWSER_MUST_USE;
/* Makes the same check for the history file that node `node` writes; it is not node 0. */
hawser_status hw_check_history_of(const hw_call *call, uint32_t node, hawser_error *error) HAWSER_MUST_USE;

/* Returns the text of an option that is a path, or NULL. */
const char *hw_path_of(const hw_call *call, const char *key);

/* The option row of --init-if-exists. */
#define HW_INIT_ROW                                                                                                         \
    {                                                                                                                       \
        "init-if-exists", HAWSER_FLAG, "no", NULL, NULL,                                                                    \
            "start from zero if the file of --init does not exist yet, so a restarted job can continue",                    \
            "Start from a model", 0                                                                                         \
    }
/* Reads the model of --init, for the caller to free; NULL if there is none. Called before the input is read, which may take
 * long: a damaged model is refused at once. */
hawser_status hw_load_init(const hw_call *call, hawser_job *job, hawser_model **init, hawser_error *error) HAWSER_MUST_USE;

/* The option row of --validation, in a group of options. */
#define HW_VALIDATION_ROW(group)                                                                                            \
    {                                                                                                                       \
        "validation", HAWSER_PATH, NULL, NULL, "FILE", "data to measure the error on while training", group, 0              \
    }
/* Reads the data of --validation, which must fit the training data, for the caller to free; NULL if there are none, and on
 * other nodes than the first, which has the result and measures the error. */
hawser_status hw_load_validation(const hw_call *call, const hawser_job *job, const hawser_dataset *data,
                                 hawser_dataset **validation, hawser_error *error) HAWSER_MUST_USE;

/* Sets how an algorithm's data are split and whether they have a target. */
void hw_load_for(const hawser_algorithm *algorithm, hawser_load *how);

/* Loads the call's words on all nodes of the job together. */
hawser_status hw_load_shares(const hw_call *call, hawser_job *job, hawser_dataset **data,
                             hawser_error *error) HAWSER_MUST_USE;
/* Loads `count` paths according to `how`. Prints on err what a user must know: a guessed base, dropped rows, options without
 * effect. */
hawser_status hw_load_as(const hw_call *call, char *const *words, size_t count, const hawser_load *how,
                         hawser_dataset **data, hawser_error *error) HAWSER_MUST_USE;
/* Loads the inputs that the call names, with its input options. */
hawser_status hw_load_words(const hw_call *call, hawser_dataset **data, hawser_error *error) HAWSER_MUST_USE;

/* Prints, one per line, the options of the command line that have no effect with input of that format; or refuses one. */
void hw_say_idle_input(const hw_call *call, hawser_format format);
hawser_status hw_refuse_idle(const hw_call *call, const char *key, bool idle, const char *why,
                             hawser_error *error) HAWSER_MUST_USE;

/* The option row of --unseen. */
#define HW_UNSEEN_ROW                                                                                                       \
    {                                                                                                                       \
        "unseen", HAWSER_WORD, "error", "error|zero", "HOW",                                                                \
            "words that the training data did not have; error: refuse them, zero: read them as none of the known ones",     \
            NULL, 0                                                                                                         \
    }

/* A model and its data. */
typedef struct hw_fitted {
    hawser_model *model;
    const hawser_algorithm *algorithm;
    size_t columns;
    size_t outputs;        /* predictions per row */
    char **output_names;   /* of several; NULL: they have no names */
    hawser_schema *schema; /* of its columns; NULL: they have no names */
} hw_fitted;

hawser_status hw_fitted_load(const char *path, hw_fitted *fitted, hawser_error *error) HAWSER_MUST_USE;
void hw_fitted_free(hw_fitted *fitted);
/* Returns whether the trainings of an algorithm, which may be NULL, take several targets. */
bool hw_takes_several(const hawser_algorithm *algorithm);
/* Returns how many numbers a head, which may be NULL, has for a row. */
size_t hw_head_width(const hawser_head *head, const hawser_model *model);
/* Returns the words that are the model's labels: label K is word K. NULL: labels are numbers, as of classes that a condition
 * made. */
const char *const *hw_label_words(const hw_fitted *fitted);
/* Gives the model of file `path` the member of its path that the option of hw_member_rows names, if it is set. */
hawser_status hw_choose_member(const hw_call *call, const char *path, hawser_model *model,
                               hawser_error *error) HAWSER_MUST_USE;

/* Sets how data are read like the model's own: index base, columns and CSV settings are the model's. Columns that the model
 * lacks are left out. Columns match by name if both sides have names, else by position. Only `needs_target` refuses data
 * without a target. */
hawser_status hw_load_like_model(const hw_call *call, const hw_fitted *fitted, bool needs_target, hawser_load *how,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Refuses data without an offset for a model that was trained with one, and with one for a model that has none. */
hawser_status hw_check_sides(const hw_call *call, const hw_fitted *fitted, const hawser_dataset *data,
                             hawser_error *error) HAWSER_MUST_USE;
/* Prints, unless quiet, that the data have an offset and the training had none; if they are `measured`, also that they lack
 * its weights. */
void hw_say_sides(const hw_call *call, const hw_fitted *fitted, const hawser_dataset *data, bool measured);
/* Returns whether no row of sparse data has column 0. */
bool hw_lacks_first_column(const hawser_dataset *data);
/* Warns if columns seem to be counted from 1 where the model's are counted from 0: no column is 0, and the last one is one
 * beyond the model's. */
void hw_doubt_base(const hw_call *call, const hw_fitted *fitted, const hawser_load_figures *figures, bool lacks_first);
/* Prints what a user must know of an input that was read, unless quiet: a guessed base, dropped rows, columns that the model
 * lacks. */
void hw_say_load(const hw_call *call, const hawser_load_figures *figures);

/* Loads MODEL of the call's words, which must make predictions; the caller frees it. */
hawser_status hw_predictor_load(const hw_call *call, hw_fitted *fitted, hawser_error *error) HAWSER_MUST_USE;

/* Checks that the files of data that is written to `path`, which may be two in a format, are none that the command reads,
 * and that the second is no output. */
hawser_status hw_check_spares_data(const hw_call *call, const char *path, hawser_error *error) HAWSER_MUST_USE;
/* Finds the format of a path's extension; HAWSER_BAD_OPTION lists the known ones. */
hawser_status hw_format_of_path(const char *path, hawser_format *format, hawser_error *error) HAWSER_MUST_USE;
/* Writes a whole dataset in the format of the path's extension. */
hawser_status hw_write_dataset(const hawser_dataset *data, const char *path, hawser_error *error) HAWSER_MUST_USE;

#endif
