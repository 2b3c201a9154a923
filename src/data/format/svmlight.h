/* svmlight.h - "target [qid:n] index:value ... # comment" lines. */
#ifndef HW_DATA_SVMLIGHT_H
#define HW_DATA_SVMLIGHT_H

#include "base/number.h"
#include "data/source/parse.h"

/* hw_parser. The context is not used. Refuses what is no number, index 0 where the base is 1, indices that do not ascend. */
hawser_status hw_svmlight_parse(void *context, hw_job *job, const hw_chunk *chunk, hw_text_part *part, hawser_error *error);

/* The same into a part that is used again and again: its room is what a chunk of that length can hold, and of its pages those are taken
 * that are written. least and most go on from what they are. */
hawser_status hw_svmlight_read(hw_job *job, const hw_chunk *chunk, hw_text_part *part, hawser_error *error) HAWSER_MUST_USE;

/* An index of more than eight digits, which the hot loops leave: where its colon is, or NULL when it is none. */
const char *hw_svmlight_long_index(const char *at, uint64_t *index);

/* The index in front of a colon: where that is, or NULL when there is none. */
static inline const char *hw_svmlight_index(const char *at, uint64_t *index)
{
    uint64_t word = hw_eight(at);
    unsigned count = hw_digit_count(word);
    *index = hw_digit_value(word, count);
    const char *colon = at + count;
    return *colon == ':' && count > 0 ? colon : hw_svmlight_long_index(at, index);
}

/* Whether the target in the rows is passed over, or lines begin with an entry. */
static inline bool hw_svmlight_no_target(const hawser_load *load)
{
    return load->target_optional || (load->target != NULL && strcmp(load->target, "none") == 0);
}

/* Where the next line begins, from a line end or from something in front of it that is passed over. */
static inline const char *hw_next_line(const char *at, const char *end)
{
    const char *found = *at == '\n' ? at : memchr(at, '\n', (size_t)(end - at));
    return found != NULL ? found + 1 : end; /* a file that is overwritten may lose the end of its last line */
}

/* svmlight_columns.c, svmlight_rows.c. */
/* svmlight text, read once, to CSC. Decides the index base for the whole input. */
hawser_status hw_gather_columns(hw_job *job, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
/* svmlight text in memory, read twice, to CSR without parts; *done is false where that cannot be: archives, pipes, a limit on columns,
 * a part of the input. */
hawser_status hw_place_rows(hw_job *job, hawser_dataset *dataset, bool *done, hawser_error *error) HAWSER_MUST_USE;

#endif
