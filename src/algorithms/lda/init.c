#include "algorithms/lda/init.h"

#include <stdlib.h>
#include <string.h>

/* A name of a word of the model, and its number. */
typedef struct named_word {
    char *name;
    size_t word;
} named_word;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named_word *)a)->name, ((const named_word *)b)->name);
}

static void free_names(named_word *names, size_t count)
{
    for (size_t w = 0; names != NULL && w < count; w++)
        free(names[w].name);
    free(names);
}

/* Stores the names of the model's words, sorted. */
static hawser_status sort_names(const hawser_schema *schema, size_t count, named_word **out, hawser_error *error)
{
    named_word *names = *out = calloc(count + 1, sizeof *names);
    for (size_t w = 0; names != NULL && w < count; w++) {
        size_t length = hawser_schema_print(schema, w, NULL, 0) + 1;
        names[w] = (named_word){calloc(length, 1), w};
        if (names[w].name == NULL)
            return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the names of %zu words", count);
        (void)hawser_schema_print(schema, w, names[w].name, length);
    }
    if (names == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the names of %zu words", count);
    qsort(names, count, sizeof *names, by_name);
    return HAWSER_OK;
}

static hawser_status match(const hawser_schema *schema, const hawser_dataset *data, hw_lda_init *init, hawser_error *error)
{
    named_word *names = NULL;
    size_t words = hawser_dataset_matrix(data)->cols, count = init->topics.words;
    bool named = schema != NULL && hawser_dataset_column(data, 0) != NULL;
    hawser_status status = named ? sort_names(schema, count, &names, error) : HAWSER_OK;
    for (size_t w = 0; status == HAWSER_OK && w < words; w++) {
        const char *name = hawser_dataset_column(data, w);
        named_word key = {.name = (char *)(uintptr_t)(name != NULL ? name : "")};
        const named_word *found = named ? bsearch(&key, names, count, sizeof *names, by_name) : NULL;
        init->word[w] = found != NULL ? (int64_t)found->word : !named && w < count ? (int64_t)w : -1;
    }
    free_names(names, count);
    return status;
}

hawser_status hw_lda_init_of(const hawser_model *model, const hawser_dataset *data, hw_lda_init *init, hawser_error *error)
{
    hawser_schema *schema = NULL;
    const char *algorithm = hawser_model_text(model, "algorithm");
    *init = (hw_lda_init){0};
    if (algorithm == NULL || strcmp(algorithm, "lda") != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "--init: a model of %.60s has no topics",
                           algorithm != NULL ? algorithm : "unknown origin");
    HAWSER_TRY(hw_topics_of(model, &init->topics, error));
    init->word = calloc(hawser_dataset_matrix(data)->cols + 1, sizeof *init->word);
    if (init->word == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the words of --init");
    HAWSER_TRY(hawser_model_schema(model, &schema, error));
    hawser_status status = match(schema, data, init, error);
    hawser_schema_free(schema);
    return status;
}

size_t hw_lda_init_draw(const hw_lda_init *init, size_t word, size_t topics, hw_draws *draws)
{
    const hw_topics *from = &init->topics;
    int64_t known = init->word != NULL ? init->word[word] : -1;
    size_t tokens = 0;
    if (known < 0 || from->offsets[known] == from->offsets[known + 1])
        return hw_draw_below(draws, topics);
    int64_t e = from->offsets[known];
    for (; e < from->offsets[known + 1]; e++)
        tokens += (size_t)from->count[e];
    size_t at = hw_draw_below(draws, tokens);
    for (e = from->offsets[known]; at >= (size_t)from->count[e]; e++)
        at -= (size_t)from->count[e];
    return (size_t)from->topic[e];
}
