/* batches.c - the iterator of hawser/batches.h: which rows a batch has. data/layout/batch.c copies rows. */
#include "hawser/batches.h"

#include "base/argument.h"
#include "base/shuffle.h"

/* More rows than memory can have. Up to here no sum of a place and a size wraps around. */
static const uint64_t MOST_ROWS = UINT64_C(1) << 62;

/* Returns the batches of an epoch of a sound iterator. */
static uint64_t count_of(const hawser_batches *b)
{
    if (b->rows == 0)
        return 1;
    return b->rows / b->size + (!b->whole && b->rows % b->size != 0);
}

static hawser_status check(const hawser_batches *b, hawser_error *error)
{
    if (b->size == 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "batches have 0 rows: set hawser_batches.size to 1 or more");
    if (b->rows > MOST_ROWS)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "batches are taken of %llu rows; at most 2^62 are possible",
                           (unsigned long long)b->rows);
    if (b->whole && b->rows > 0 && b->rows < b->size)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "%llu rows have no whole batch of %llu: lower hawser_batches.size, or let `whole` be false",
                           (unsigned long long)b->rows, (unsigned long long)b->size);
    if (b->next >= count_of(b))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "batch %llu is asked for, and an epoch has %llu: were rows or size changed after the start?",
                           (unsigned long long)b->next, (unsigned long long)count_of(b));
    return HAWSER_OK;
}

uint64_t hawser_batches_count(const hawser_batches *batches)
{
    if (batches == NULL || check(batches, NULL) != HAWSER_OK)
        return 0;
    return count_of(batches);
}

hawser_status hawser_batches_next(hawser_batches *batches, size_t *rows, hawser_batch *batch, hawser_error *error)
{
    HW_GIVEN(batches);
    HW_GIVEN(rows);
    HW_GIVEN(batch);
    HAWSER_TRY(check(batches, error));
    uint64_t begin = batches->next * batches->size, rest = batches->rows - begin;
    *batch = (hawser_batch){.rows = rows,
                            .count = (size_t)(rest < batches->size ? rest : batches->size),
                            .epoch = batches->epoch,
                            .number = batches->next,
                            .last = batches->next + 1 == count_of(batches)};
    if (batches->in_order) {
        for (size_t k = 0; k < batch->count; k++)
            rows[k] = (size_t)begin + k;
    } else if (batch->count > 0) {
        hw_shuffle shuffle = hw_shuffle_of(batches->rows, batches->seed, batches->stream, batches->epoch);
        for (size_t k = 0; k < batch->count; k++)
            rows[k] = (size_t)hw_shuffle_at(&shuffle, begin + k);
    }
    batches->next = batch->last ? 0 : batches->next + 1;
    batches->epoch += batch->last;
    return HAWSER_OK;
}

hawser_status hawser_batches_seek(hawser_batches *batches, uint64_t number, hawser_error *error)
{
    HW_GIVEN(batches);
    hawser_batches moved = *batches;
    moved.next = 0;
    HAWSER_TRY(check(&moved, error));
    moved.epoch = number / count_of(&moved);
    moved.next = number % count_of(&moved);
    *batches = moved;
    return HAWSER_OK;
}

void hawser_batches_record(hawser_record *record, void *batches)
{
    hawser_batches *b = batches;
    if (b == NULL) {
        hawser_record_fail(record, HAWSER_BAD_ARGUMENT, "hawser_batches_record: batches is NULL");
        return;
    }
    uint64_t *numbers[] = {&b->rows, &b->size, &b->seed, &b->stream, &b->epoch, &b->next};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hawser_record_bytes(record, numbers[i], sizeof *numbers[i]);
    unsigned char flags = (unsigned char)(b->in_order | b->whole << 1); /* a byte of any value can be read, a bool cannot */
    hawser_record_bytes(record, &flags, sizeof flags);
    if (!hawser_record_reads(record))
        return;
    b->in_order = flags & 1;
    b->whole = flags >> 1 & 1;
    bool zeros = b->rows == 0 && b->size == 0 && b->next == 0; /* never used yet */
    hawser_error error = {HAWSER_OK, ""};
    if (!zeros && check(b, &error) != HAWSER_OK)
        hawser_record_fail(record, HAWSER_BAD_INPUT, error.text);
}

void hawser_batch_gather(const hawser_batch *batch, const double *values, double *out)
{
    for (size_t k = 0; k < batch->count; k++)
        out[k] = values != NULL ? values[batch->rows[k]] : 1;
}
