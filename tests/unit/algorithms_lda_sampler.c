/* algorithms_lda_sampler.c - the sampler of topics against the exact posterior of tiny corpora, whose assignments are all
 * enumerated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lda/gamma.h"
#include "algorithms/lda/sampler.h"
#include "sanitized.h"

enum { TOKENS_MOST = 9, TOPICS_MOST = 3, WORDS_MOST = 4, DOCUMENTS_MOST = 3, CHAINS = 20000, SWEEPS = 50 };

/* Tokens in the order of words, and of documents for each word. */
typedef struct corpus {
    size_t topics, words, documents, tokens;
    double alpha[TOPICS_MOST], beta;
    uint32_t word[TOKENS_MOST], document[TOKENS_MOST];
    bool pairs; /* words have pairs of a topic and its count, where they are fewer numbers */
    bool wide;  /* counts of documents take 8 bytes */
} corpus;

static const corpus corpora[] = {
    {2, 3, 2, 8, {0.5, 1.3}, 0.3, {0, 0, 0, 1, 1, 2, 2, 2}, {0, 0, 1, 0, 1, 0, 1, 1}, true, false},
    {3, 4, 3, 6, {0.2, 0.9, 0.4}, 0.5, {0, 0, 1, 2, 2, 3}, {0, 1, 1, 0, 2, 2}, true, false},
    {2, 2, 2, 9, {0.1, 0.1}, 0.05, {0, 0, 0, 0, 1, 1, 1, 1, 1}, {0, 0, 0, 1, 0, 1, 1, 1, 1}, false, true}};

static size_t states_of(const corpus *c)
{
    size_t all = 1;
    for (size_t t = 0; t < c->tokens; t++)
        all *= c->topics;
    return all;
}

/* ---- the exact posterior ---- */

/* Returns the joint probability of the words and an assignment, but for a factor: tokens come one after the other, and each
 * has its probability given those before. */
static double joint(const corpus *c, size_t state)
{
    double documents[DOCUMENTS_MOST][TOPICS_MOST] = {{0.0}}, words[WORDS_MOST][TOPICS_MOST] = {{0.0}};
    double totals[TOPICS_MOST] = {0.0}, probability = 1.0;
    for (size_t t = 0; t < c->tokens; t++, state /= c->topics) {
        size_t k = state % c->topics;
        double *n_dk = &documents[c->document[t]][k], *n_wk = &words[c->word[t]][k];
        probability *= (*n_dk + c->alpha[k]) * (*n_wk + c->beta) / (totals[k] + (double)c->words * c->beta);
        *n_dk += 1.0;
        *n_wk += 1.0;
        totals[k] += 1.0;
    }
    return probability;
}

/* ---- a chain ---- */

typedef struct chain {
    const corpus *c;
    hw_sampler sampler;
    hw_document_topics lists;
    int32_t topic[TOKENS_MOST], numbers[WORDS_MOST][TOPICS_MOST];
    size_t size[WORDS_MOST], start[WORDS_MOST + 1];
} chain;

static void open_chain(chain *h, const corpus *c)
{
    hawser_error error;
    uint32_t length[DOCUMENTS_MOST] = {0};
    *h = (chain){.c = c};
    for (size_t t = 0; t < c->tokens; t++) {
        length[c->document[t]]++;
        h->start[c->word[t] + 1]++;
    }
    for (size_t w = 0; w < c->words; w++) {
        h->size[w] = c->pairs ? hw_word_line_size(h->start[w + 1], c->topics) : c->topics;
        h->start[w + 1] += h->start[w];
    }
    assert_int_equal(hw_sampler_new(&h->sampler, c->topics, c->words, &error), HAWSER_OK);
    if (c->wide)
        length[0] += HW_NARROW_COUNT + 1;
    assert_int_equal(hw_document_topics_new(&h->lists, length, c->documents, c->topics, &error), HAWSER_OK);
    assert_int_equal(h->lists.wide, c->wide);
}

static hw_word_line line_of(chain *h, size_t word)
{
    return (hw_word_line){.numbers = h->numbers[word], .size = h->size[word]};
}

static hw_word_tokens tokens_of(chain *h, size_t word)
{
    return (hw_word_tokens){.document = h->c->document + h->start[word],
                            .topic = h->topic + h->start[word],
                            .count = h->start[word + 1] - h->start[word]};
}

/* Checks that all counts are those of the topics. */
static void check_counts(chain *h)
{
    const corpus *c = h->c;
    for (size_t k = 0; k < c->topics; k++) {
        int64_t total = 0;
        for (size_t t = 0; t < c->tokens; t++)
            total += (size_t)h->topic[t] == k;
        assert_int_equal(h->sampler.total[k], total);
    }
    for (size_t d = 0; d < c->documents; d++)
        for (size_t e = 0; e < h->lists.lists[d].length; e++) {
            size_t topic, last = 0, found = 0;
            uint32_t count;
            hw_document_topic(&h->lists, d, e, &topic, &count);
            assert_true(count > 0 && (e == 0 || topic > last));
            for (size_t t = 0; t < c->tokens; t++)
                found += c->document[t] == d && (size_t)h->topic[t] == topic;
            assert_int_equal(found, count);
            last = topic;
        }
}

/* Runs a chain, and returns the assignment at its end. */
static size_t run_chain(chain *h, uint64_t seed)
{
    const corpus *c = h->c;
    const int64_t zeros[TOPICS_MOST] = {0};
    memset(h->numbers, 0, sizeof h->numbers);
    hw_document_topics_clear(&h->lists);
    hw_sampler_begin(&h->sampler, c->alpha, c->beta, zeros);
    for (size_t w = 0; w < c->words; w++) {
        hw_draws draws = hw_draws_of_word(seed, HW_DRAW_FIRST, 0, 0, w);
        hw_word_line line = line_of(h, w);
        hw_word_tokens tokens = tokens_of(h, w);
        for (size_t t = 0; t < tokens.count; t++) {
            tokens.topic[t] = (int32_t)hw_draw_below(&draws, c->topics);
            hw_document_topics_add(&h->lists, tokens.document[t], (size_t)tokens.topic[t]);
        }
        hw_sampler_add(&h->sampler, &line, &tokens);
    }
    hw_sampler_begin(&h->sampler, c->alpha, c->beta, h->sampler.total);
    for (uint64_t s = 1; s <= SWEEPS; s++)
        for (size_t w = 0; w < c->words; w++) {
            hw_word_line line = line_of(h, w);
            hw_word_tokens tokens = tokens_of(h, w);
            hw_sampler_word(&h->sampler, &h->lists, &line, &tokens, hw_draws_of_word(seed, HW_DRAW_PASS, s, 0, w));
        }
    if (seed % 1000 == 0)
        check_counts(h);
    size_t state = 0;
    for (size_t t = c->tokens; t > 0; t--)
        state = state * c->topics + (size_t)h->topic[t - 1];
    return state;
}

/* ---- the comparison ---- */

typedef struct cell {
    double expected;
    uint32_t found;
} cell;

static int by_expected(const void *a, const void *b)
{
    double x = ((const cell *)a)->expected, y = ((const cell *)b)->expected;
    return (x > y) - (x < y);
}

/* Returns how many standard deviations chi square is above its mean, over cells joined to at least 5 expected chains. */
static double excess(cell *cells, size_t count)
{
    double expected = 0.0, found = 0.0, square = 0.0, joined = 0.0;
    qsort(cells, count, sizeof *cells, by_expected);
    for (size_t s = 0; s < count; s++) {
        expected += cells[s].expected;
        found += cells[s].found;
        if (expected < 5.0 && s + 1 < count)
            continue;
        square += (found - expected) * (found - expected) / expected;
        joined += 1.0;
        expected = found = 0.0;
    }
    return (square - (joined - 1.0)) / sqrt(2.0 * (joined - 1.0));
}

/* Returns the cells of all assignments, with the chains that are expected. The caller frees them. */
static cell *cells_of(const corpus *c, uint32_t chains)
{
    size_t states = states_of(c);
    cell *cells = calloc(states, sizeof *cells);
    double mass = 0.0;
    assert_non_null(cells);
    for (size_t s = 0; s < states; s++)
        mass += cells[s].expected = joint(c, s);
    for (size_t s = 0; s < states; s++)
        cells[s].expected *= chains / mass;
    return cells;
}

static void chains_have_the_posterior(void **state)
{
    (void)state;
    const uint32_t chains = SANITIZED ? CHAINS / 10 : CHAINS;
    for (size_t n = 0; n < sizeof corpora / sizeof *corpora; n++) {
        cell *cells = cells_of(&corpora[n], chains);
        chain h;
        open_chain(&h, &corpora[n]);
        for (uint32_t i = 0; i < chains; i++)
            cells[run_chain(&h, n * CHAINS + i)].found++;
        double high = excess(cells, states_of(&corpora[n]));
        if (!(high < 4.0))
            fail_msg("corpus %zu: chi square is %g deviations above its mean", n, high);
        hw_sampler_free(&h.sampler);
        hw_document_topics_free(&h.lists);
        free(cells);
    }
}

/* Runs a chain of a plain sampler. leaves: it leaves the token that it draws in the counts. */
static size_t run_plain(const corpus *c, uint64_t seed, bool leaves)
{
    size_t topic[TOKENS_MOST], state = 0;
    hw_draws draws = {.key = ~seed};
    for (size_t t = 0; t < c->tokens; t++)
        topic[t] = hw_draw_below(&draws, c->topics);
    for (size_t step = 0; step < SWEEPS * c->tokens; step++) {
        double weight[TOPICS_MOST], sum = 0.0;
        size_t own = step % c->tokens, k = 0;
        for (k = 0; k < c->topics; k++) {
            double n_dk = 0.0, n_wk = 0.0, n_k = 0.0;
            for (size_t t = 0; t < c->tokens; t++)
                if (topic[t] == k && (leaves || t != own)) {
                    n_dk += c->document[t] == c->document[own];
                    n_wk += c->word[t] == c->word[own];
                    n_k += 1.0;
                }
            weight[k] = (n_dk + c->alpha[k]) * (n_wk + c->beta) / (n_k + (double)c->words * c->beta);
            sum += weight[k];
        }
        double at = hw_draw_uniform(&draws) * sum;
        for (k = 0; k + 1 < c->topics && at >= weight[k]; k++)
            at -= weight[k];
        topic[own] = k;
    }
    for (size_t t = c->tokens; t > 0; t--)
        state = state * c->topics + topic[t - 1];
    return state;
}

/* The comparison is strict enough: it takes a plain sampler for right, and notices what is wrong by one token. */
static void a_sampler_that_leaves_the_token_in_the_counts_is_noticed(void **state)
{
    (void)state;
    const uint32_t chains = CHAINS / 2;
    if (SANITIZED)
        skip(); /* fewer chains would not do */
    for (size_t n = 0; n < sizeof corpora / sizeof *corpora; n++)
        for (int leaves = 0; leaves < 2; leaves++) {
            cell *cells = cells_of(&corpora[n], chains);
            for (uint32_t i = 0; i < chains; i++)
                cells[run_plain(&corpora[n], n * CHAINS + i, leaves == 1)].found++;
            double high = excess(cells, states_of(&corpora[n]));
            if ((high < 4.0) != (leaves == 0))
                fail_msg("corpus %zu, %d: chi square is %g deviations above its mean", n, leaves, high);
            free(cells);
        }
}

/* ---- parts of it ---- */

/* A tree that changes by single weights is the tree of all weights, and finds what a loop over them finds. */
static void trees_find_what_loops_find(void **state)
{
    (void)state;
    static const size_t sizes[] = {2, 3, 7, 8, 100};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        hw_tree tree, again;
        hawser_error error;
        hw_draws draws = {.key = n};
        assert_int_equal(hw_tree_new(&tree, sizes[n], &error), HAWSER_OK);
        assert_int_equal(hw_tree_new(&again, sizes[n], &error), HAWSER_OK);
        for (int step = 0; step < 2000; step++) {
            size_t k = hw_draw_below(&draws, sizes[n]), less_of = hw_draw_below(&draws, sizes[n]), expected = 0;
            double weight = hw_draw_uniform(&draws);
            hw_tree_set(&tree, k, weight);
            hw_tree_weights(&again)[k] = weight;
            hw_tree_sum(&again);
            assert_memory_equal(tree.node + 1, again.node + 1, (2 * tree.leaves - 1) * sizeof *tree.node);
            double less = hw_draw_uniform(&draws) * hw_tree_weights(&tree)[less_of];
            double at = hw_draw_uniform(&draws) * (tree.node[1] - less);
            for (double left = at; expected + 1 < sizes[n]; expected++) {
                left -= hw_tree_weights(&tree)[expected] - (expected == less_of ? less : 0.0);
                if (left < 0.0)
                    break;
            }
            assert_int_equal(hw_tree_find(&tree, at, less_of, less), expected);
        }
        free(tree.node);
        free(again.node);
    }
}

static void gammas_are_sums(void **state)
{
    (void)state;
    static const double from[] = {1e-6, 0.01, 0.5, 1.0, 3.7, 123.4};
    for (size_t a = 0; a < sizeof from / sizeof *from; a++)
        for (double n = 0.0; n < 200.0; n += n < 20.0 ? 1.0 : 13.0) {
            double logs = 0.0, parts = 0.0;
            for (double i = 0.0; i < n; i++) {
                logs += log(from[a] + i);
                parts += 1.0 / (from[a] + i);
            }
            assert_true(fabs(hw_log_rising(from[a], n) - logs) <= 1e-11 * (1.0 + fabs(logs)));
            assert_true(fabs(hw_psi_rising(from[a], n) - parts) <= 1e-11 * (1.0 + parts));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_have_the_posterior),
        cmocka_unit_test(a_sampler_that_leaves_the_token_in_the_counts_is_noticed),
        cmocka_unit_test(trees_find_what_loops_find),
        cmocka_unit_test(gammas_are_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
