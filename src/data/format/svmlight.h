/* svmlight.h - lines of the form "target [qid:n] index:value ... # comment". */
#ifndef HW_DATA_SVMLIGHT_H
#define HW_DATA_SVMLIGHT_H

#include "base/number.h"
#include "data/source/parse.h"

/* A hw_parser; the context is not used. Refuses words that are not numbers, index 0 if the base is 1, and indices that do
 * not ascend. */
hawser_status hw_svmlight_parse(void *context, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                                hawser_error *error);

/* Like hw_svmlight_parse, for a part that is reused: its capacity is what a chunk of that length can hold, and only written
 * pages take memory. least and most continue from their values. */
hawser_status hw_svmlight_read(hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                               hawser_error *error) HAWSER_MUST_USE;

/* Reads an index of more than eight digits, which the hot loops do not. Returns the position of its colon, or NULL if it is
 * not an index. */
const char *hw_svmlight_long_index(const char *at, uint64_t *index);

/* Reads the index before a colon. Returns the position of the colon, or NULL if it is not an index. */
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

/* Whether the target in the rows has labels of classes. */
static inline bool hw_svmlight_has_labels(const hawser_load *load)
{
    bool in_rows = load->target == NULL || strcmp(load->target, "0") == 0;
    return in_rows && !load->target_optional && (load->labels != 0 || load->schema != NULL);
}

/* Returns the start of the next line, from a line end or from text before it that is skipped. */
static inline const char *hw_next_line(const char *at, const char *end)
{
    const char *found = *at == '\n' ? at : memchr(at, '\n', (size_t)(end - at));
    return found != NULL ? found + 1 : end; /* a file that is overwritten may lose the line end of its last line */
}

/* svmlight_equal.c: compares row `row` of a part with what part->equals has. `text`: of the row; its entries are in
 * [entries, end). */
hawser_status hw_svmlight_see(const hw_reading *reading, hw_text_part *part, uint64_t row, const char *text,
                              const char *entries, const char *end, hawser_error *error) HAWSER_MUST_USE;
/* svmlight_equal.c: moves the reading's list to the dataset, whose index base is known. */
void hw_svmlight_take_equals(hw_reading *reading, hawser_dataset *dataset);

/* svmlight_columns.c, svmlight_rows.c. */
/* Reads svmlight text once, to CSC. Determines the index base of the whole input. */
hawser_status hw_gather_columns(hw_reading *reading, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
/* Reads svmlight text in memory twice, to CSR without parts. *done is false if that is impossible: archives, pipes, a limit
 * on columns, a part of the input. */
hawser_status hw_place_rows(hw_reading *reading, hawser_dataset *dataset, bool *done, hawser_error *error) HAWSER_MUST_USE;

#endif
