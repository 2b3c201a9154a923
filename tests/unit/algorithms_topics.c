/* Topics of new documents and their perplexity against exact expectations, and model files that no training writes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms/lda/fold_in.h"
#include "algorithms/lda/perplexity.h"

enum { K = 3, V = 4, COUNTS = 6, SEEDS = 10000, TOKENS = 4 };

static const double alpha[K] = {0.5, 0.2, 1.1};
static const int64_t offsets[V + 1] = {0, 2, 3, 3, 6};
static const int32_t topic[COUNTS] = {0, 2, 1, 0, 1, 2}, count[COUNTS] = {5, 1, 4, 1, 2, 3};

/* A model whose words have all topics, some, one or none. */
static hw_topics small_model(void)
{
    return (hw_topics){.topics = K,
                       .words = V,
                       .alpha = alpha,
                       .beta = 0.3,
                       .tokens = 16,
                       .offsets = offsets,
                       .topic = topic,
                       .count = count};
}

/* Returns the probability of a word in a topic, as the definition has it. */
static double word_in_topic(size_t word, size_t of)
{
    static const double counts[V][K] = {{5, 0, 1}, {0, 4, 0}, {0, 0, 0}, {1, 2, 3}};
    double total = 0.0;
    for (size_t w = 0; w < V; w++)
        total += counts[w][of];
    return (counts[word][of] + 0.3) / (total + V * 0.3);
}

/* ---- fold-in ---- */

/* Stores the exact mean of theta over the posterior of the assignments of a document, all of which it visits. */
static void enumerate(const uint32_t *words, size_t tokens, double *theta)
{
    size_t all = 1;
    double mass = 0.0, sum = alpha[0] + alpha[1] + alpha[2];
    memset(theta, 0, K * sizeof *theta);
    for (size_t t = 0; t < tokens; t++)
        all *= K;
    for (size_t z = 0; z < all; z++) {
        double n[K] = {0.0}, probability = 1.0;
        for (size_t t = 0, rest = z; t < tokens; t++, rest /= K) {
            size_t k = rest % K;
            probability *= word_in_topic(words[t], k) * (n[k] + alpha[k]);
            n[k] += 1.0;
        }
        mass += probability;
        for (size_t k = 0; k < K; k++)
            theta[k] += probability * (n[k] + alpha[k]) / ((double)tokens + sum);
    }
    for (size_t k = 0; k < K; k++)
        theta[k] /= mass;
}

static void topics_of_a_short_document_are_those_of_all_assignments(void **state)
{
    (void)state;
    static const hw_counted_word words[] = {{0, 1}, {1, 2}, {3, 1}};
    static const uint32_t tokens[TOKENS] = {0, 1, 1, 3};
    hw_topics topics = small_model();
    double exact[K], sum[K] = {0.0}, squares[K] = {0.0}, theta[K];
    enumerate(tokens, TOKENS, exact);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        hw_fold_in fold;
        assert_int_equal(hw_fold_in_new(&fold, &topics, seed, NULL), HAWSER_OK);
        assert_int_equal(hw_fold_in_document(&fold, words, 3, 17, theta, NULL), HAWSER_OK);
        for (size_t k = 0; k < K; k++) {
            sum[k] += theta[k];
            squares[k] += theta[k] * theta[k];
        }
        hw_fold_in_free(&fold);
    }
    for (size_t k = 0; k < K; k++) {
        double mean = sum[k] / SEEDS, error = sqrt((squares[k] / SEEDS - mean * mean) / SEEDS);
        assert_true(fabs(mean - exact[k]) < 4.0 * error);
        assert_true(error < 0.004); /* else the bound says little */
    }
}

static void rows_draw_apart_and_a_row_always_draws_the_same(void **state)
{
    (void)state;
    static const hw_counted_word words[] = {{0, 3}, {2, 1}, {3, 4}};
    hw_topics topics = small_model();
    hw_fold_in one, other;
    double first[K], again[K], next[K];
    assert_int_equal(hw_fold_in_new(&one, &topics, 1, NULL), HAWSER_OK);
    assert_int_equal(hw_fold_in_new(&other, &topics, 1, NULL), HAWSER_OK);
    assert_int_equal(hw_fold_in_document(&one, words, 3, 0, first, NULL), HAWSER_OK);
    assert_int_equal(hw_fold_in_document(&one, words, 3, 1, next, NULL), HAWSER_OK);
    assert_int_equal(hw_fold_in_document(&other, words, 2, 5, again, NULL), HAWSER_OK);
    assert_int_equal(hw_fold_in_document(&other, words, 3, 0, again, NULL), HAWSER_OK);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, next, sizeof first);
    hw_fold_in_free(&one);
    hw_fold_in_free(&other);
}

static void document_without_words_has_the_prior(void **state)
{
    (void)state;
    hw_topics topics = small_model();
    hw_fold_in fold;
    double theta[K];
    assert_int_equal(hw_fold_in_new(&fold, &topics, 1, NULL), HAWSER_OK);
    assert_int_equal(hw_fold_in_document(&fold, NULL, 0, 3, theta, NULL), HAWSER_OK);
    for (size_t k = 0; k < K; k++)
        assert_true(fabs(theta[k] - alpha[k] / 1.8) < 1e-15);
    hw_fold_in_free(&fold);
}

/* ---- perplexity ---- */

/* Adds what remains of `left` draws, each of topic k with probability p[k], to the expected log probability of a word, after
 * m[k] of 25 draws have been of topic k. */
static double expect(const double *p, double *m, size_t k, int left, uint32_t word)
{
    double sum = 0.0, way = 1.0;
    if (k + 1 == K) {
        double at = 0.0;
        m[k] = left;
        for (size_t j = 0; j < K; j++)
            at += (m[j] / HW_FOLD_KEPT + alpha[j]) / 2.8 * word_in_topic(word, j);
        return pow(p[k], left) * log(at);
    }
    for (int n = 0; n <= left; n++) {
        m[k] = n;
        sum += way * pow(p[k], n) * expect(p, m, k + 1, left - n, word);
        way *= (double)(left - n) / (n + 1); /* left choose n + 1 */
    }
    return sum;
}

/* Returns the expected log probability of `word` in a document whose first half is the token `known`: each sweep draws its
 * topic anew, from the same probabilities. */
static double completed(uint32_t known, uint32_t word)
{
    double p[K], m[K], sum = 0.0;
    for (size_t k = 0; k < K; k++)
        sum += p[k] = alpha[k] * word_in_topic(known, k);
    for (size_t k = 0; k < K; k++)
        p[k] /= sum;
    return expect(p, m, 0, HW_FOLD_KEPT, word);
}

static void two_tokens_are_completed_as_expected(void **state)
{
    (void)state;
    static uint64_t begin[SEEDS + 1];
    static uint32_t indices[2 * SEEDS];
    static double values[2 * SEEDS];
    static hw_second_half completions[SEEDS];
    hw_topics topics = small_model();
    for (size_t i = 0; i < SEEDS; i++) {
        indices[2 * i] = 1, indices[2 * i + 1] = 3;
        values[2 * i] = values[2 * i + 1] = 1.0;
        begin[i + 1] = 2 * i + 2;
    }
    hawser_matrix documents = {.rows = SEEDS,
                               .cols = V,
                               .stored = 2 * SEEDS,
                               .layout = HAWSER_CSR,
                               .offsets = begin,
                               .indices = indices,
                               .values = values};
    assert_int_equal(hw_topics_complete(&topics, 5, &documents, completions, NULL), HAWSER_OK);
    double sum = 0.0, squares = 0.0, exact = 0.5 * (completed(1, 3) + completed(3, 1)), perplexity;
    for (size_t i = 0; i < SEEDS; i++) {
        assert_true(completions[i].tokens == 1.0);
        sum += completions[i].log_probability;
        squares += completions[i].log_probability * completions[i].log_probability;
    }
    double mean = sum / SEEDS, error = sqrt((squares / SEEDS - mean * mean) / SEEDS);
    assert_true(fabs(mean - exact) < 4.0 * error);
    assert_true(error < 0.01);
    assert_int_equal(hw_topics_perplexity(&topics, 5, &documents, &perplexity, NULL), HAWSER_OK);
    assert_true(fabs(log(perplexity) + mean) < 1e-12);
    /* a view of the last rows has the same numbers */
    hw_second_half last[10];
    hawser_matrix view = hawser_matrix_rows(&documents, SEEDS - 10, SEEDS);
    assert_int_equal(hw_topics_complete(&topics, 5, &view, last, NULL), HAWSER_OK);
    assert_memory_equal(last, completions + SEEDS - 10, sizeof last);
}

static void documents_of_one_token_do_not_count(void **state)
{
    (void)state;
    static const double dense[3][V] = {{0, 0, 1, 0}, {0, 0, 0, 0}, {2, 0, 0, 1}};
    hw_topics topics = small_model();
    hw_second_half completions[3];
    double perplexity;
    hawser_matrix documents = {.rows = 3, .cols = V, .layout = HAWSER_DENSE_ROWS, .values = dense, .stride = V};
    assert_int_equal(hw_topics_complete(&topics, 1, &documents, completions, NULL), HAWSER_OK);
    assert_true(completions[0].tokens == 0.0 && completions[1].tokens == 0.0 && completions[2].tokens == 1.0);
    documents.rows = 2;
    assert_int_equal(hw_topics_perplexity(&topics, 1, &documents, &perplexity, NULL), HAWSER_OK);
    assert_true(isnan(perplexity));
}

static void entries_that_are_no_counts_are_named(void **state)
{
    (void)state;
    static const double wrong[] = {0.5, -1.0, NAN, INFINITY, 2147483648.0};
    hw_topics topics = small_model();
    hw_second_half completions[2];
    for (size_t c = 0; c < sizeof wrong / sizeof *wrong; c++) {
        double dense[2][V] = {{1, 0, 2, 0}, {0, 0, wrong[c], 0}};
        float narrow[2][V] = {{1, 0, 2, 0}, {0, 0, (float)wrong[c], 0}};
        hawser_matrix documents = {.rows = 2, .cols = V, .layout = HAWSER_DENSE_ROWS, .values = dense, .stride = V};
        hawser_error error = {0};
        assert_int_equal(hw_topics_complete(&topics, 1, &documents, completions, &error), HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, "row 2, column 3: "));
        documents.values = narrow;
        documents.type = HAWSER_F32;
        assert_int_equal(hw_topics_complete(&topics, 1, &documents, completions, &error), HAWSER_BAD_INPUT);
    }
}

/* ---- model files ---- */

static hawser_model *made(const hw_topics *topics, const char *columns)
{
    hawser_model *model;
    assert_int_equal(hawser_model_new(&model, NULL), HAWSER_OK);
    assert_int_equal(hawser_model_fact(model, "columns", columns, NULL), HAWSER_OK);
    assert_int_equal(hw_topics_put(topics, model, NULL), HAWSER_OK);
    return model;
}

static void model_is_read_as_it_was_written(void **state)
{
    (void)state;
    hw_topics topics = small_model(), found;
    hawser_model *model = made(&topics, "4");
    assert_int_equal(hw_topics_of(model, &found, NULL), HAWSER_OK);
    assert_int_equal(found.topics, K);
    assert_int_equal(found.words, V);
    assert_int_equal(found.tokens, 16);
    assert_true(found.beta == 0.3);
    assert_memory_equal(found.alpha, alpha, sizeof alpha);
    assert_memory_equal(found.topic, topic, sizeof topic);
    assert_memory_equal(found.count, count, sizeof count);
    hawser_model_free(model);
}

/* Expects that a model is refused with these words. */
static void expect_refused(hawser_model *model, const char *words)
{
    hawser_error error = {0};
    hw_topics found;
    assert_int_equal(hw_topics_of(model, &found, &error), HAWSER_BAD_INPUT);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' does not have '%s'", error.text, words);
    hawser_model_free(model);
}

static void models_with_wrong_numbers_are_refused(void **state)
{
    (void)state;
    static const double low[K] = {0.5, 0.0, 1.0}, large[K] = {1e308, 1e308, 1e308}, unknown[K] = {0.5, NAN, 1.0};
    static const double *const alphas[] = {low, large, unknown};
    static const int64_t starts[V + 1] = {1, 2, 3, 3, 6}, falls[V + 1] = {0, 3, 2, 3, 6}, below[V + 1] = {0, -5, 2, 3, 6};
    static const int64_t *const wrong_offsets[] = {starts, falls, below};
    static const int32_t beyond[] = {0, 3, 1, 0, 1, 2}, negative[] = {-1, 2, 1, 0, 1, 2}, twice[] = {0, 2, 1, 1, 1, 2};
    static const int32_t *const wrong_topics[] = {beyond, negative, twice};
    static const int32_t zero[] = {5, 1, 0, 1, 2, 7}, less[] = {5, 1, 4, 1, 2, -3};
    static const int32_t *const wrong_counts[] = {zero, less};
    hw_topics topics = small_model();
    for (size_t c = 0; c < 3; c++) {
        hw_topics t = topics;
        t.alpha = alphas[c];
        expect_refused(made(&t, "4"), "alpha");
        t = topics;
        t.offsets = wrong_offsets[c];
        expect_refused(made(&t, "4"), "word_offsets");
        t = topics;
        t.topic = wrong_topics[c];
        expect_refused(made(&t, "4"), "word_topics");
        t = topics;
        if (c < 2) {
            t.count = wrong_counts[c];
            expect_refused(made(&t, "4"), "word_counts");
        }
    }
    topics.beta = 0.0;
    expect_refused(made(&topics, "4"), "beta");
    topics.beta = 1e308;
    expect_refused(made(&topics, "4"), "beta");
    topics = small_model();
    topics.tokens = 17;
    expect_refused(made(&topics, "4"), "tokens");
    topics.tokens = 16;
    topics.topics = 1;
    expect_refused(made(&topics, "4"), "alpha");
    topics.topics = K;
    expect_refused(made(&topics, "5"), "columns");
}

static void models_with_other_tensors_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"alpha", "word_offsets", "word_topics", "word_counts", "beta", "tokens", "columns"};
    static const double numbers[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    hw_topics topics = small_model();
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        hawser_model *model = made(&topics, "4");
        hawser_model_remove(model, names[n]);
        expect_refused(model, n == 6 ? "columns" : names[n]);
    }
    for (size_t n = 0; n < 4; n++) { /* another type, or another shape, or another length */
        hawser_model *model = made(&topics, "4");
        hawser_model_remove(model, names[n]);
        assert_int_equal(
            hawser_model_tensor(model, names[n], n == 0 ? HAWSER_F32 : HAWSER_F64, (const size_t[2]){3, 0}, numbers, NULL),
            HAWSER_OK);
        expect_refused(model, names[n]);
        model = made(&topics, "4");
        hawser_model_remove(model, names[n]);
        hawser_type type = n == 0 ? HAWSER_F64 : n == 1 ? HAWSER_I64 : HAWSER_I32;
        assert_int_equal(hawser_model_tensor(model, names[n], type, (const size_t[2]){2, 2}, numbers, NULL), HAWSER_OK);
        expect_refused(model, names[n]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_of_a_short_document_are_those_of_all_assignments),
        cmocka_unit_test(rows_draw_apart_and_a_row_always_draws_the_same),
        cmocka_unit_test(document_without_words_has_the_prior),
        cmocka_unit_test(two_tokens_are_completed_as_expected),
        cmocka_unit_test(documents_of_one_token_do_not_count),
        cmocka_unit_test(entries_that_are_no_counts_are_named),
        cmocka_unit_test(model_is_read_as_it_was_written),
        cmocka_unit_test(models_with_wrong_numbers_are_refused),
        cmocka_unit_test(models_with_other_tensors_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
