/* load_text.c - the words of text: all nodes agree on which there are, in the order of their bytes, and on which of them
 * stay. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/vocabulary.h"
#include "runtime/input/loading.h"

/* The words of all nodes. */
typedef struct all_words {
    hw_bytes *in; /* the words of each node in ascending order, each ended by zero */
    size_t bytes; /* of all of them */
    size_t most;  /* how many the nodes have sent */
    const char **names;
    size_t count;
    uint32_t *own;  /* of each column of the own rows: its place among the names, in the end among those that stay */
    uint32_t *stay; /* of each name: its column; HW_NO_COLUMN: none */
} all_words;

static void free_words(hw_loading *l, all_words *w)
{
    hw_bytes_free(w->in, l->nodes);
    free(w->names);
    free(w->own);
    free(w->stay);
}

static hawser_status pack_words(const hawser_dataset *rows, hw_bytes *out, hawser_error *error)
{
    size_t length = 0;
    char *text = NULL;
    for (size_t j = 0; j < rows->matrix.cols; j++)
        length += strlen(rows->columns[j]) + 1;
    HAWSER_TRY(HW_NEW(&text, length + 1, "the words of the text", error));
    *out = (hw_bytes){text, 0};
    for (size_t j = 0; j < rows->matrix.cols; j++) {
        const size_t size = strlen(rows->columns[j]) + 1;
        memcpy(text + out->length, rows->columns[j], size);
        out->length += size;
    }
    return HAWSER_OK;
}

/* Every node receives the words of all. */
static hawser_status gather_words(hw_loading *l, all_words *w, hawser_error *error)
{
    hw_bytes own = {0};
    hawser_status status = pack_words(l->rows, &own, error);
    status = hw_loading_gather(l, status, own.data, own.length, &w->in, error);
    free(own.data);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        const char *text = w->in[i].data;
        const size_t length = w->in[i].length;
        w->bytes += length;
        if (length > 0 && text[length - 1] != '\0')
            status = hawser_fail(error, HAWSER_INTERNAL, "node %u sent words that are cut off", i);
        for (size_t k = 0; status == HAWSER_OK && k < length; k++)
            w->most += text[k] == '\0';
    }
    return hw_loading_agree(l, status, error);
}

static bool has_more(const hw_bytes *in, const char *at)
{
    return in->length > 0 && at < (const char *)in->data + in->length;
}

/* Lists the words of all nodes, each once, and finds the own ones there. */
static hawser_status unite_words(hw_loading *l, all_words *w, hawser_error *error)
{
    const char **at = NULL;
    size_t own = 0;
    HAWSER_TRY(HW_NEW(&w->names, w->most + 1, "the words of the text", error));
    HAWSER_TRY(HW_NEW(&w->stay, w->most + 1, "the words of the text", error));
    HAWSER_TRY(HW_NEW(&w->own, l->rows->matrix.cols + 1, "the words of the text", error));
    HAWSER_TRY(HW_NEW(&at, l->nodes, "the words of nodes", error));
    for (uint32_t i = 0; i < l->nodes; i++)
        at[i] = w->in[i].data;
    for (const char *least;; w->names[w->count++] = least) {
        least = NULL;
        for (uint32_t i = 0; i < l->nodes; i++)
            if (has_more(&w->in[i], at[i]) && (least == NULL || strcmp(at[i], least) < 0))
                least = at[i];
        if (least == NULL || w->count >= UINT32_MAX - 1)
            break;
        for (uint32_t i = 0; i < l->nodes; i++)
            if (has_more(&w->in[i], at[i]) && strcmp(at[i], least) == 0) {
                if (i == l->self)
                    w->own[own++] = (uint32_t)w->count;
                at[i] += strlen(at[i]) + 1;
            }
    }
    free(at);
    return w->count < UINT32_MAX - 1
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_INPUT, "the text has more than %zu different words", w->count);
}

/* Adds up documents and counts of the words over the nodes. Collective. */
static hawser_status count_words(hw_loading *l, const all_words *w, hw_vocabulary *v, hawser_error *error)
{
    hawser_dataset *side = NULL;
    const double *weights = NULL;
    hawser_status status = hw_loading_agree(l, hw_vocabulary_new(w->count, w->names, v, error), error);
    HAWSER_THEN(status, hw_loading_weights(l, false, &side, &weights, error));
    HAWSER_THEN(status, hw_loading_agree(l, hw_vocabulary_count(l->load, l->rows, weights, w->own, 0, v, error), error));
    HAWSER_THEN(status, hw_loading_add(l, &v->rows, 1, error));
    HAWSER_THEN(status, hw_loading_add(l, v->documents, w->count, error));
    if (status == HAWSER_OK && l->load->max_words != 0)
        status = hw_loading_add(l, v->tokens, w->count, error);
    hawser_dataset_free(side);
    return status;
}

/* Gives the own rows the columns of the whole. */
static hawser_status keep_words(hw_loading *l, const char *name, all_words *w, const hw_vocabulary *v, hawser_error *error)
{
    size_t kept;
    hw_budget budget;
    hw_budget_init(&budget, l->limit);
    HAWSER_TRY(hw_vocabulary_choose(l->load, name, v, w->stay, &kept, error));
    for (size_t j = 0; j < l->rows->matrix.cols; j++)
        w->own[j] = w->stay[w->own[j]];
    HAWSER_TRY(hw_columns_keep(l->rows, &budget, w->own, 0, kept, false, error));
    return hw_columns_name(l->rows, w->names, w->count, w->stay, kept, error);
}

static hawser_status agree_on_words(hw_loading *l, const char *name, all_words *w, hawser_error *error)
{
    hw_vocabulary v = {0};
    HAWSER_TRY(gather_words(l, w, error));
    const uint64_t each = 2 * sizeof *w->names + 2 * sizeof *w->stay + 2 * sizeof *v.documents;
    HAWSER_TRY(hw_loading_afford(l, l->rows->figures.memory_taken + 2 * w->bytes + w->most * each, error));
    HAWSER_TRY(hw_loading_agree(l, unite_words(l, w, error), error));
    hawser_status status = count_words(l, w, &v, error);
    HAWSER_THEN(status, hw_loading_agree(l, keep_words(l, name, w, &v, error), error));
    hw_vocabulary_free(&v);
    return status;
}

hawser_status hw_loading_agree_on_text(hw_loading *l, const char *name, hawser_error *error)
{
    all_words w = {0};
    if (!hw_vocabulary_is_new(l->load))
        return hw_loading_add(l, &l->rows->figures.unknown_words, 1, error);
    const hawser_status status = agree_on_words(l, name, &w, error);
    free_words(l, &w);
    return status;
}
