#include "data/source/claims.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

hw_spot hw_spot_of(const hw_chunk *chunk, const char *line)
{
    return (hw_spot){.file = chunk->file,
                     .line = chunk->line != 0 ? hw_chunk_line(chunk, line) : 0,
                     .offset = chunk->offset + (uint64_t)(line - chunk->begin)};
}

void hw_spot_print(const hw_spot *spot, char *out, size_t size)
{
    uint64_t line = spot->line;
    if (line == 0 && spot->file != NULL && spot->file->map != NULL)
        line = 1 + hw_count(spot->file->map, spot->file->map + spot->offset, '\n');
    snprintf(out, size, "%s:%" PRIu64, spot->file != NULL ? spot->file->name : "the input", line);
}

static int by_place(const void *a, const void *b)
{
    const hw_spot *x = *(hw_spot *const *)a, *y = *(hw_spot *const *)b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void hw_spots_number(hw_spot **spots, size_t count)
{
    const hw_input_file *file = NULL;
    uint64_t line = 0, offset = 0;
    if (count > 1)
        qsort(spots, count, sizeof *spots, by_place);
    for (size_t k = 0; k < count; k++) {
        hw_spot *spot = spots[k];
        if (spot->line != 0 || spot->file == NULL || spot->file->map == NULL)
            continue;
        if (spot->file != file) {
            file = spot->file;
            line = 1;
            offset = 0;
        }
        line += hw_count(file->map + offset, file->map + spot->offset, '\n');
        offset = spot->offset;
        spot->line = line;
    }
}

uint64_t hw_claims_most(uint64_t text)
{
    return HW_CLAIMS_FREE + (text < UINT64_MAX / 2 / HW_CLAIMS_SHARE ? text * HW_CLAIMS_SHARE : UINT64_MAX / 2);
}

hawser_status hw_check_claim(const char *where, uint64_t count, const char *what, uint64_t text, bool given,
                             hawser_error *error)
{
    if (given || count <= hw_claims_most(text))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%s: makes %" PRIu64 " %s of an input with %" PRIu64 " bytes of text, which may have %" PRIu64
                       "; correct the number, or give --memory-limit to allow what fits into it",
                       where, count, what, text, hw_claims_most(text));
}
