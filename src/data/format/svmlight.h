/* svmlight.h - "target [qid:n] index:value ... # comment" lines. */
#ifndef HW_DATA_SVMLIGHT_H
#define HW_DATA_SVMLIGHT_H

#include "data/format/parse.h"

/* hw_parser. The context is not used. Refuses what is no number, index 0 where the base is 1, indices that do not ascend. */
hawser_status hw_svmlight_parse(void *context, hw_job *job, const hw_chunk *chunk, hw_part *part, hawser_error *error);

/* An index of more than seven digits, which the hot loops leave: where its colon is, or NULL when it is none. */
const char *hw_svmlight_long_index(const char *at, uint64_t *index);

static inline const char *hw_skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

#endif
