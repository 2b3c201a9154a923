#include "algorithms/lda/coherence.h"

#include <math.h>
#include <stdlib.h>

enum { WORDS = 10, PAIRS = WORDS * (WORDS - 1) / 2, NONE = -1 };

/* The likeliest words. Read-only while units run. */
typedef struct top_words {
    size_t topics, columns;
    int64_t *word;   /* WORDS of each topic; NONE: the topic has fewer */
    uint32_t *first; /* columns + 1: the places of a column in `word` are those from first[c] to first[c + 1] of */
    uint32_t *place;
} top_words;

static void release(top_words *top)
{
    free(top->word);
    free(top->first);
    free(top->place);
}

/* ---- the words ---- */

static hawser_status choose(const hw_topics *topics, top_words *top, hawser_error *error)
{
    hw_topic_counts counts = {0};
    if (topics == NULL)
        return HAWSER_OK;
    hawser_status status = hw_topic_counts_of(topics, &counts, error);
    for (size_t k = 0; status == HAWSER_OK && k < top->topics; k++)
        for (size_t n = 0; n < WORDS && counts.offsets[k] + n < counts.offsets[k + 1]; n++)
            top->word[k * WORDS + n] = (int64_t)counts.counts[counts.offsets[k] + n].word;
    hw_topic_counts_free(&counts);
    return status;
}

/* Lists the places of each column. */
static void list_places(top_words *top)
{
    size_t all = top->topics * WORDS;
    for (size_t p = 0; p < all; p++)
        if (top->word[p] != NONE)
            top->first[top->word[p] + 2]++;
    for (size_t c = 2; c <= top->columns + 1; c++)
        top->first[c] += top->first[c - 1];
    for (size_t p = 0; p < all; p++)
        if (top->word[p] != NONE)
            top->place[top->first[top->word[p] + 1]++] = (uint32_t)p;
}

static hawser_status make(top_words *top, size_t topics, size_t columns, hawser_error *error)
{
    *top = (top_words){.topics = topics,
                       .columns = columns,
                       .word = malloc(topics * WORDS * sizeof *top->word),
                       .first = calloc(columns + 2, sizeof *top->first),
                       .place = calloc(topics * WORDS, sizeof *top->place)};
    if (top->word == NULL || top->first == NULL || top->place == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the likeliest words of %zu topics", topics);
    for (size_t p = 0; p < topics * WORDS; p++)
        top->word[p] = NONE;
    return HAWSER_OK;
}

/* ---- the documents that have them ---- */

/* Returns the number of the pair (i, j), i < j. */
static size_t pair_of(size_t i, size_t j)
{
    return j * (j - 1) / 2 + i;
}

/* The topics of which a document has likely words, and which words these are, by bits. */
typedef struct found_words {
    uint16_t *words; /* by topic; zeros between documents */
    uint32_t *topics;
    size_t count;
} found_words;

static void find_words(const top_words *top, const hawser_matrix *X, size_t row, found_words *found)
{
    found->count = 0;
    for (uint64_t e = X->offsets[row]; e < X->offsets[row + 1]; e++) {
        bool has = X->type == HAWSER_F32 ? ((const float *)X->values)[e] > 0.0f : ((const double *)X->values)[e] > 0.0;
        for (uint32_t p = top->first[X->indices[e]]; has && p < top->first[X->indices[e] + 1]; p++) {
            uint32_t topic = top->place[p] / WORDS;
            if (found->words[topic] == 0)
                found->topics[found->count++] = topic;
            found->words[topic] |= (uint16_t)(1U << top->place[p] % WORDS);
        }
    }
}

static void count_words(const top_words *top, found_words *found, int64_t *met)
{
    int64_t *pairs = met + top->topics * WORDS;
    for (size_t t = 0; t < found->count; t++) {
        uint32_t topic = found->topics[t], words = found->words[topic];
        for (size_t j = 0; j < WORDS; j++) {
            if ((words >> j & 1) == 0)
                continue;
            met[topic * WORDS + j]++;
            for (size_t i = 0; i < j; i++)
                pairs[topic * PAIRS + pair_of(i, j)] += words >> i & 1;
        }
        found->words[topic] = 0;
    }
}

static hawser_status meet(hawser_context *context)
{
    const top_words *top = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, X);
    HAWSER_WRITE(context, int64_t, met);
    found_words found = {.words = calloc(top->topics, sizeof *found.words),
                         .topics = calloc(top->topics, sizeof *found.topics)};
    hawser_status status = HAWSER_OK;
    if (found.words == NULL || found.topics == NULL)
        status = hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu topics", top->topics);
    for (size_t i = 0; status == HAWSER_OK && i < X->rows; i++) {
        find_words(top, X, i, &found);
        count_words(top, &found, met);
    }
    free(found.words);
    free(found.topics);
    return status;
}

/* ---- coherence ---- */

/* Returns the coherence of a pair, of which these many documents have one word, the other and both. */
static double of_pair(double one, double other, double both, double documents)
{
    if (both == 0.0)
        return -1.0;
    return both == documents ? 1.0 : log(both * documents / (one * other)) / log(documents / both);
}

/* Returns the coherence of topics. `met` has how many documents have each of the words of all topics, then each of their
 * pairs. */
static double coherence_of(const int64_t *met, size_t topics, double documents)
{
    double sum = 0.0, counted = 0.0;
    for (size_t k = 0; k < topics; k++) {
        const int64_t *words = met + k * WORDS, *both = met + topics * WORDS + k * PAIRS;
        double own = 0.0, pairs = 0.0;
        for (size_t j = 1; j < WORDS && words[j] > 0; j++)
            for (size_t i = 0; i < j; i++, pairs += 1.0)
                own += of_pair((double)words[i], (double)words[j], (double)both[pair_of(i, j)], documents);
        sum += pairs > 0.0 ? own / pairs : 0.0;
        counted += pairs > 0.0 ? 1.0 : 0.0;
    }
    return counted > 0.0 ? sum / counted : NAN;
}

static hawser_status run(hawser_job *job, const hawser_matrix *documents, const top_words *top, double *coherence,
                         hawser_error *error)
{
    hawser_run *run = NULL;
    const int64_t *met = NULL;
    hawser_program *program = hawser_program_new("coherence", (void *)(uintptr_t)top);
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = documents, .split = HAWSER_BY_ROW);
    hawser_state *state = HAWSER_STATE(program, "met", HAWSER_REPLICATED, .type = HAWSER_I64,
                                       .rows = top->topics * (WORDS + PAIRS), .filter = "none");
    HAWSER_UNIT(hawser_root(program), "meet", meet, .reads = {X}, .updates = {state});
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_program_free(program);
    HAWSER_THEN(status, hawser_result(run, "met", &met, NULL, error));
    if (status == HAWSER_OK)
        *coherence = coherence_of(met, top->topics, (double)documents->rows);
    hawser_run_free(run);
    return status == HAWSER_STOP ? HAWSER_OK : status;
}

hawser_status hw_lda_coherence(hawser_job *job, const hawser_matrix *documents, const hw_topics *topics, size_t count,
                               double *coherence, hawser_error *error)
{
    top_words top;
    *coherence = NAN;
    hawser_status status = make(&top, count, documents->cols, error);
    HAWSER_THEN(status, choose(topics, &top, error));
    status = hawser_job_agree(job, status, error);
    HAWSER_THEN(status, hawser_job_broadcast(job, top.word, count * WORDS * sizeof *top.word, error));
    if (status == HAWSER_OK) {
        list_places(&top);
        status = run(job, documents, &top, coherence, error);
    }
    release(&top);
    return status;
}
