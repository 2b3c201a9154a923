/* decisions.h - files of decisions of a job: the one that it writes (--save-decisions), and the one whose decisions it makes
 * again (--replay-decisions). Node 0 has them. */
#ifndef HW_RUNTIME_DECISIONS_H
#define HW_RUNTIME_DECISIONS_H

#include "adapt/log.h"
#include "hawser/hawser.h"

typedef struct hw_decisions {
    char *save, *replay;  /* paths; NULL: not asked for */
    char *text;           /* to be saved */
    size_t length, count; /* its bytes and lines */
    hawser_error failure; /* of a line that could not be added */
    hw_log_file file;     /* of the replay */
    size_t next, run_end; /* lines of the present run in it: the first one that is left, and the one behind the last */
} hw_decisions;

/* Begins a run of the identity `text`, on node 0. Returns HAWSER_BAD_OPTION with the first difference if the file to replay
 * is of another one. */
hawser_status hw_decisions_begin(hawser_job *job, uint64_t run, const char *text, hawser_error *error) HAWSER_MUST_USE;
/* Saves a line of the present run. A failure is reported by hw_decisions_end. Does nothing without --save-decisions. */
void hw_decisions_add(hw_decisions *own, const hw_log_line *line);
/* Returns the next change of a loop that a replay makes up to `place`, or NULL; its line in the file is *line. */
const hw_instruction *hw_decisions_next(hw_decisions *own, const char *loop, hw_log_place place, size_t *line);
/* Reads a file of any size, which `option` has named, into *text. The caller frees it, also after a failure. */
hawser_status hw_decisions_text(const char *option, const char *path, char **text, size_t *length,
                                hawser_error *error) HAWSER_MUST_USE;
/* Makes a path absolute, because the program may change its directory. The caller frees it; NULL stays NULL. */
hawser_status hw_decisions_path(const char *given, char **path, hawser_error *error) HAWSER_MUST_USE;
/* Puts the name of an option before the text of an error. Returns `status`. */
hawser_status hw_decisions_named(const char *option, hawser_status status, hawser_error *error) HAWSER_MUST_USE;

#endif
