#include "data/source/runs.h"

#include "base/memory.h"
#include "base/wide.h"

typedef struct runs_work {
    hw_reading *reading;
    hw_chunk_work work;
    void *context;
    uint64_t total;            /* bytes of all files */
    _Atomic uint32_t failed;   /* the first reader that failed: later ones stop, earlier ones continue */
    _Atomic uint64_t consumed; /* bytes of text */
} runs_work;

hawser_status hw_runs_begin(hw_reading *reading, bool *can, hawser_error *error)
{
    enum { CHUNK = 1 << 18 }; /* the text and the parsed numbers stay in the second-level cache */
    *can = reading->input.all_mapped && reading->load->parts <= 1; /* a part of the input is distributed in chunks */
    if (!*can)
        return HAWSER_OK;
    hw_input_share(&reading->input, reading->threads, reading->chunk_bytes != 0 ? reading->chunk_bytes : CHUNK);
    return HW_NEW(&reading->rows_read, reading->input.readers, "figures", error);
}

/* Finds where run k begins: the line start at or after its share of the bytes. */
static void run_begin(const runs_work *w, uint32_t k, size_t *file, uint64_t *offset)
{
    const hw_input *input = &w->reading->input;
    uint64_t at = hw_share_of(w->total, k, input->readers);
    for (*file = 0; *file < input->count && at >= input->files[*file].bytes; ++*file)
        at -= input->files[*file].bytes;
    *offset = at;
    if (at == 0 || *file == input->count)
        return;
    const hw_input_file *f = &input->files[*file];
    *offset = hw_line_from(input, f, at);
    if (f->bytes - *offset <= HW_CHUNK_SLACK) { /* a chunk may end there only if the file does */
        *offset = 0;
        ++*file;
    }
}

static hawser_status walk(runs_work *w, uint32_t reader, hw_chunk *chunk, hawser_error *error)
{
    hw_input *input = &w->reading->input;
    size_t file, last;
    uint64_t offset, end;
    run_begin(w, reader, &file, &offset);
    run_begin(w, reader + 1, &last, &end);
    for (; file <= last && file < input->count; file++, offset = 0) {
        uint64_t limit = file == last ? end : input->files[file].bytes;
        for (; offset < limit && atomic_load(&w->failed) >= reader; offset = chunk->next) {
            HAWSER_TRY(hw_chunk_cut(input, &input->files[file], offset, limit, chunk, error));
            HAWSER_TRY(w->work(w->context, reader, chunk, error));
            atomic_fetch_add(&w->consumed, (uint64_t)(chunk->end - chunk->begin));
            hw_chunk_done(chunk);
        }
    }
    return HAWSER_OK;
}

static hawser_status read_run(void *context, uint32_t reader, hawser_error *error)
{
    runs_work *w = context;
    hw_chunk chunk = {0};
    hawser_status status = walk(w, reader, &chunk, error);
    hw_chunk_release(&w->reading->input, &chunk);
    uint32_t first = atomic_load(&w->failed);
    while (status != HAWSER_OK && reader < first && !atomic_compare_exchange_weak(&w->failed, &first, reader)) {
    }
    return status;
}

hawser_status hw_runs(hw_reading *reading, hw_chunk_work work, void *context, hawser_error *error)
{
    runs_work w = {.reading = reading, .work = work, .context = context};
    atomic_init(&w.failed, UINT32_MAX);
    atomic_init(&w.consumed, 0);
    for (size_t i = 0; i < reading->input.count; i++)
        w.total += reading->input.files[i].bytes;
    hawser_status status = hw_in_parallel(reading->input.readers, read_run, &w, error);
    reading->input.text = atomic_load(&w.consumed);
    return status;
}

hawser_status hw_runs_changed(const hw_reading *reading, const hw_input_file *file, hawser_error *error)
{
    if (file == NULL && reading->input.count == 1)
        file = &reading->input.files[0];
    return hawser_fail(error, HAWSER_IO, "%s: the input changed while it was read; load it again when it is complete",
                       file != NULL ? file->name : "one of the files");
}
