/* first_values.h - files with the first values of states (--init STATE=FILE). */
#ifndef HW_RUNTIME_FIRST_VALUES_H
#define HW_RUNTIME_FIRST_VALUES_H

#include "data/format/numbers.h"
#include "program/plan.h"

/* The file of one state. */
typedef struct hw_first_value {
    char *state, *path;
    bool used;       /* a program of this job has begun with it */
    bool taken;      /* by hawser_job_init_numbers, */
    uint64_t digest; /* with these numbers */
    hw_number_file file;
} hw_first_value;

typedef struct hw_first_values {
    hw_first_value *items;
    size_t count;
    bool model; /* the option names a model, too */
    hawser_source source;
    char note[300]; /* hw_first_read: why a file is of no use that does not come from the command line; "": all are */
} hw_first_values;

/* Reads the names of the option. */
hawser_status hw_first_open(hw_first_values *first, const hawser_options *options, hawser_error *error) HAWSER_MUST_USE;
void hw_first_free(hw_first_values *first);
static inline bool hw_first_names_model(const hw_first_values *first)
{
    return first->model;
}

/* Returns the file of a name, or NULL. */
hw_first_value *hw_first_find(const hw_first_values *first, const char *name);

/* Reads the files of a plan's states before the plan is split. The job's first program that has a state begins with its
 * file. Refuses a state that cannot begin with one, and numbers that do not fit it or are not finite. Every node reads the
 * whole files; before a run nodes compare their digests. */
hawser_status hw_first_read(hw_first_values *first, uint32_t blocks, hw_plan *plan, hawser_error *error) HAWSER_MUST_USE;
/* Releases what was read. After a run has begun with it, it is `used`, and later programs do not read it again. */
void hw_first_release(hw_first_values *first, hw_plan *plan, bool used);
/* Returns true if a file is for a state that neither `program` nor a program before has, and writes why it is of no use. */
bool hw_first_lacks(const hw_first_values *first, const hawser_program *program, char *why, size_t size);

#endif
