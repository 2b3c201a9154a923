/* batches_probe.c - prints batches: batches_probe ROWS SIZE SEED STREAM IN_ORDER WHOLE NUMBER COUNT. COUNT lines from batch
 * NUMBER on have the epoch, the batch's number in it, 1 if it is the last one, and its rows. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hawser/batches.h"

static hawser_status print(hawser_batches *b, size_t *rows, uint64_t count, hawser_error *error)
{
    for (uint64_t i = 0; i < count; i++) {
        hawser_batch batch;
        HAWSER_TRY(hawser_batches_next(b, rows, &batch, error));
        printf("%" PRIu64 " %" PRIu64 " %d", batch.epoch, batch.number, batch.last);
        for (size_t k = 0; k < batch.count; k++)
            printf(" %zu", batch.rows[k]);
        printf("\n");
    }
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    uint64_t words[8] = {0};
    for (int i = 1; i < argc && i <= 8; i++)
        words[i - 1] = strtoull(argv[i], NULL, 10);
    hawser_batches b = {.rows = words[0],
                        .size = words[1],
                        .seed = words[2],
                        .stream = words[3],
                        .in_order = words[4] != 0,
                        .whole = words[5] != 0};
    size_t *rows = calloc(b.size < b.rows ? b.size + 1 : b.rows + 1, sizeof *rows);
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = rows == NULL ? HAWSER_NO_MEMORY : hawser_batches_seek(&b, words[6], &error);
    if (status == HAWSER_OK)
        status = print(&b, rows, words[7], &error);
    free(rows);
    if (status != HAWSER_OK)
        fprintf(stderr, "batches_probe: %s\n", error.text);
    return status == HAWSER_OK ? 0 : 3;
}
