#include "algorithms/lda/sampler.h"

#include <stdlib.h>

#include "hawser/advanced.h"
#include "hawser/row_kernels.h"

enum {
    GROUP = 8, /* entries of a document that are added up at a time */
    AHEAD = 6, /* tokens whose lists are fetched before they are needed */
    LINE = 64,
    FETCHED = 256 /* bytes of the cache, and of a list that are fetched */
};

#define INLINE static inline __attribute__((always_inline))

hawser_status hw_sampler_new(hw_sampler *s, size_t topics, size_t words, hawser_error *error)
{
    *s = (hw_sampler){.topics = topics, .words = words};
    s->alpha = calloc(topics, sizeof *s->alpha);
    s->total = calloc(topics, sizeof *s->total);
    s->inverse = calloc(topics, sizeof *s->inverse);
    s->q = calloc(topics, sizeof *s->q);
    s->count = calloc(topics, sizeof *s->count);
    s->topic = calloc(topics, sizeof *s->topic);
    s->is_used = calloc(topics, sizeof *s->is_used);
    s->sums = calloc(topics / GROUP + 1, sizeof *s->sums);
    if (s->alpha == NULL || s->total == NULL || s->inverse == NULL || s->q == NULL || s->count == NULL || s->topic == NULL ||
        s->is_used == NULL || s->sums == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the sampler of %zu topics", topics);
    return hw_tree_new(&s->tree, topics, error);
}

void hw_sampler_free(hw_sampler *s)
{
    free(s->alpha);
    free(s->total);
    free(s->inverse);
    free(s->q);
    free(s->tree.node);
    free(s->count);
    free(s->topic);
    free(s->is_used);
    free(s->sums);
    *s = (hw_sampler){0};
}

uint64_t hw_sampler_bytes(uint64_t topics)
{
    return topics * (8 + 8 + 8 + 8 + 4 + 4 + 1 + 1 + 4 * 8);
}

/* ---- the weights of a word ---- */

INLINE double inverse_of(const hw_sampler *s, int64_t total)
{
    return 1.0 / ((double)(total > 0 ? total : 0) + s->of_words);
}

static void set_totals(hw_sampler *s)
{
    double *weight = hw_tree_weights(&s->tree);
    for (size_t k = 0; k < s->topics; k++) {
        s->inverse[k] = inverse_of(s, s->total[k]);
        s->q[k] = s->beta * s->inverse[k];
        weight[k] = s->alpha[k] * s->q[k];
    }
    hw_tree_sum(&s->tree);
}

void hw_sampler_begin(hw_sampler *s, const double *alpha, double beta, const int64_t *totals)
{
    s->beta = beta;
    s->of_words = beta * (double)s->words;
    memcpy(s->alpha, alpha, s->topics * sizeof *s->alpha);
    memcpy(s->total, totals, s->topics * sizeof *s->total);
    set_totals(s);
}

/* Sets the weight of a topic, without the sums above it. */
INLINE void set_weight(hw_sampler *s, size_t k)
{
    s->q[k] = ((double)s->count[k] + s->beta) * s->inverse[k];
    hw_tree_weights(&s->tree)[k] = s->alpha[k] * s->q[k];
}

INLINE void use(hw_sampler *s, size_t k)
{
    if (!s->is_used[k]) {
        s->is_used[k] = true;
        s->topic[s->used++] = (uint32_t)k;
    }
}

/* Adds up the tree after the weights of the used topics have changed: all of it, if that takes fewer steps. */
static void sum_used(hw_sampler *s)
{
    if (s->used * s->tree.depth > s->tree.leaves) {
        hw_tree_sum(&s->tree);
        return;
    }
    const double *weight = hw_tree_weights(&s->tree);
    for (size_t u = 0; u < s->used; u++)
        hw_tree_set(&s->tree, s->topic[u], weight[s->topic[u]]);
}

static void read_line(hw_sampler *s, const hw_word_line *line)
{
    if (hw_word_line_pairs(line, s->topics)) {
        for (size_t e = 0; e < line->size && line->numbers[e + 1] > 0; e += 2) {
            s->count[line->numbers[e]] = (uint32_t)line->numbers[e + 1];
            use(s, (size_t)line->numbers[e]);
        }
        return;
    }
    for (size_t k = 0; k < s->topics; k++)
        if (line->numbers[k] > 0) {
            s->count[k] = (uint32_t)line->numbers[k];
            use(s, k);
        }
}

static int by_topic(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Writes pairs in the order of topics, so that a line depends on its counts alone. */
static void write_pairs(hw_sampler *s, const hw_word_line *line)
{
    size_t e = 0;
    qsort(s->topic, s->used, sizeof *s->topic, by_topic);
    for (size_t u = 0; u < s->used; u++) {
        if (s->count[s->topic[u]] == 0)
            continue;
        line->numbers[e++] = (int32_t)s->topic[u];
        line->numbers[e++] = (int32_t)s->count[s->topic[u]];
    }
    memset(line->numbers + e, 0, (line->size - e) * sizeof *line->numbers);
}

static void write_line(hw_sampler *s, const hw_word_line *line)
{
    if (hw_word_line_pairs(line, s->topics))
        write_pairs(s, line);
    else
        for (size_t u = 0; u < s->used; u++)
            line->numbers[s->topic[u]] = (int32_t)s->count[s->topic[u]];
}

static void forget_counts(hw_sampler *s)
{
    for (size_t u = 0; u < s->used; u++) {
        s->count[s->topic[u]] = 0;
        s->is_used[s->topic[u]] = false;
    }
}

/* ---- a document's topics ---- */

/* A document's list in either width, which callers know when they are compiled. */
typedef struct list {
    uint32_t *narrow;
    uint64_t *wide;
    uint32_t *length;
} list;

INLINE list list_of(const hw_document_topics *lists, size_t row, bool wide)
{
    return (list){.narrow = wide ? NULL : lists->entries + lists->lists[row].first,
                  .wide = wide ? lists->entries8 + lists->lists[row].first : NULL,
                  .length = &lists->lists[row].length};
}

INLINE size_t topic_at(const list *l, size_t e, bool wide)
{
    return wide ? l->wide[e] >> 32 : l->narrow[e] >> 16;
}

INLINE uint32_t count_at(const list *l, size_t e, bool wide)
{
    return wide ? (uint32_t)l->wide[e] : l->narrow[e] & UINT16_MAX;
}

INLINE size_t find_topic(const list *l, size_t topic, bool wide)
{
    size_t e = 0;
    while (topic_at(l, e, wide) != topic)
        e++;
    return e;
}

INLINE double weight_at(const list *l, size_t e, const double *q, bool wide)
{
    return (double)(int32_t)count_at(l, e, wide) * q[topic_at(l, e, wide)];
}

/* Adds up the weights of a group. */
INLINE double sum_group(const list *l, size_t e, const double *q, bool wide)
{
    double a = weight_at(l, e, q, wide) + weight_at(l, e + 1, q, wide),
           b = weight_at(l, e + 2, q, wide) + weight_at(l, e + 3, q, wide),
           c = weight_at(l, e + 4, q, wide) + weight_at(l, e + 5, q, wide),
           d = weight_at(l, e + 6, q, wide) + weight_at(l, e + 7, q, wide);
    return (a + b) + (c + d);
}

/* Stores the sums up to and with each group, and returns that of all. */
INLINE double sum_list(const list *l, const double *q, double *sums, bool wide)
{
    size_t length = *l->length, e = 0;
    double sum = 0.0;
    for (; e + GROUP <= length; e += GROUP)
        sums[e / GROUP] = sum += sum_group(l, e, q, wide);
    for (size_t r = e; r < length; r++)
        sum += weight_at(l, r, q, wide);
    if (e < length)
        sums[e / GROUP] = sum;
    return sum;
}

/* Returns the topic of the first entry whose sum is above `at`, which is below the sum of all. */
INLINE size_t find_in_list(const list *l, const double *q, const double *sums, double at, bool wide)
{
    size_t g = 0, length = *l->length;
    while (sums[g] <= at)
        g++;
    at -= g > 0 ? sums[g - 1] : 0.0;
    size_t e = g * GROUP, end = e + GROUP < length ? e + GROUP : length, last = e;
    for (; e < end; e++) {
        double weight = weight_at(l, e, q, wide);
        last = weight > 0.0 ? e : last;
        if (at < weight)
            return topic_at(l, e, wide);
        at -= weight;
    }
    return topic_at(l, last, wide); /* only rounding leads here */
}

/* Moves a token within a list: entry `from` has lost it. */
INLINE void move_in_list(list *l, size_t from, size_t topic, bool wide)
{
    size_t length = *l->length;
    bool gone = count_at(l, from, wide) == 0;
    size_t to = 0;
    while (to < length && topic_at(l, to, wide) < topic)
        to++;
    bool has = to < length && topic_at(l, to, wide) == topic;
    if (has && !gone) {
        if (wide)
            l->wide[to]++;
        else
            l->narrow[to]++;
        return;
    }
    /* entries between the one that ends and the one that begins shift by one */
#define MOVE(entries, shift)                                                                                                \
    do {                                                                                                                    \
        if (has) {                                                                                                          \
            (entries)[to]++;                                                                                                \
            memmove((entries) + from, (entries) + from + 1, (length - from - 1) * sizeof *(entries));                       \
        } else if (!gone) {                                                                                                 \
            memmove((entries) + to + 1, (entries) + to, (length - to) * sizeof *(entries));                                 \
            (entries)[to] = (topic << (shift)) + 1;                                                                         \
        } else if (from < to) {                                                                                             \
            memmove((entries) + from, (entries) + from + 1, (to - from - 1) * sizeof *(entries));                           \
            (entries)[to - 1] = (topic << (shift)) + 1;                                                                     \
        } else {                                                                                                            \
            memmove((entries) + to + 1, (entries) + to, (from - to) * sizeof *(entries));                                   \
            (entries)[to] = (topic << (shift)) + 1;                                                                         \
        }                                                                                                                   \
    } while (0)
    if (wide)
        MOVE(l->wide, 32);
    else
        MOVE(l->narrow, 16);
#undef MOVE
    *l->length = (uint32_t)(length + !has - gone);
}

/* ---- sampling ---- */

/* Moves a token of the word from topic `from`, whose q is set without it, to topic `to`. */
INLINE void move_counts(hw_sampler *s, size_t from, size_t to)
{
    s->count[from]--;
    s->inverse[from] = inverse_of(s, --s->total[from]);
    hw_tree_set(&s->tree, from, s->alpha[from] * s->q[from]);
    use(s, to);
    s->count[to]++;
    s->inverse[to] = inverse_of(s, ++s->total[to]);
    s->q[to] = ((double)s->count[to] + s->beta) * s->inverse[to];
    hw_tree_set(&s->tree, to, s->alpha[to] * s->q[to]);
}

/* Draws a topic for a token that has topic `from`. */
INLINE size_t sample_token(hw_sampler *s, list *l, size_t from, double uniform, bool wide)
{
    size_t entry = find_topic(l, from, wide), to;
    double before = s->q[from];
    s->q[from] = ((double)(s->count[from] - 1) + s->beta) * inverse_of(s, s->total[from] - 1);
    if (wide)
        l->wide[entry]--;
    else
        l->narrow[entry]--;
    double of_document = sum_list(l, s->q, s->sums, wide);
    double less = hw_tree_weights(&s->tree)[from] - s->alpha[from] * s->q[from];
    double at = uniform * (of_document + (s->tree.node[1] - less));
    if (at < of_document)
        to = find_in_list(l, s->q, s->sums, at, wide);
    else
        to = hw_tree_find(&s->tree, at - of_document, from, less);
    if (to == from) {
        s->q[from] = before;
        if (wide)
            l->wide[entry]++;
        else
            l->narrow[entry]++;
        return to;
    }
    move_in_list(l, entry, to, wide);
    move_counts(s, from, to);
    return to;
}

/* Fetches lists of later tokens to the cache: documents are far from each other, and only this list of them is known. */
INLINE void fetch_ahead(const hw_document_topics *lists, const hw_word_tokens *tokens, size_t t, bool wide)
{
    if (t + 2 * AHEAD < tokens->count)
        hawser_fetch_line(&lists->lists[tokens->document[t + 2 * AHEAD]]);
    if (t + AHEAD >= tokens->count)
        return;
    const hw_topic_list *next = &lists->lists[tokens->document[t + AHEAD]];
    const char *at = wide ? (const char *)(lists->entries8 + next->first) : (const char *)(lists->entries + next->first);
    size_t bytes = next->length * (wide ? sizeof *lists->entries8 : sizeof *lists->entries);
    for (size_t line = 0; line < bytes && line < FETCHED; line += LINE)
        hawser_fetch_line(at + line);
}

INLINE void sample_tokens(hw_sampler *s, const hw_document_topics *lists, const hw_word_tokens *tokens, hw_draws draws,
                          bool wide)
{
    for (size_t t = 0; t < tokens->count; t++) {
        fetch_ahead(lists, tokens, t, wide);
        list l = list_of(lists, tokens->document[t], wide);
        tokens->topic[t] = (int32_t)sample_token(s, &l, (size_t)tokens->topic[t], hw_draw_uniform(&draws), wide);
    }
}

void hw_sampler_word(hw_sampler *s, hw_document_topics *lists, const hw_word_line *line, const hw_word_tokens *tokens,
                     hw_draws draws)
{
    s->used = 0;
    read_line(s, line);
    for (size_t u = 0; u < s->used; u++)
        set_weight(s, s->topic[u]);
    sum_used(s);
    if (lists->wide)
        sample_tokens(s, lists, tokens, draws, true);
    else
        sample_tokens(s, lists, tokens, draws, false);
    write_line(s, line);
    hawser_simulated_work(NULL, tokens->count + s->used); /* tokens, and the topics of the word */
    forget_counts(s);
    for (size_t u = 0; u < s->used; u++)
        set_weight(s, s->topic[u]);
    sum_used(s);
}

void hw_sampler_add(hw_sampler *s, const hw_word_line *line, const hw_word_tokens *tokens)
{
    s->used = 0;
    read_line(s, line);
    for (size_t t = 0; t < tokens->count; t++) {
        use(s, (size_t)tokens->topic[t]);
        s->count[tokens->topic[t]]++;
        s->total[tokens->topic[t]]++;
    }
    hawser_simulated_work(NULL, tokens->count);
    write_line(s, line);
    forget_counts(s);
}
