/*
 * algorithms_lda.c - trainings of topic models: an oracle that shares no code with them runs the blocks in turn, with the
 * sums of topics as they were when the clock began, and the same draws. Threads and nodes have the same bits, and under
 * every sync the counts of a model are those of the words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lda/perplexity.h"
#include "base/hash.h"
#include "hawser/algorithm.h"
#include "nodes.h"

enum { DOCUMENTS = 70, WORDS = 41, BLOCKS_MOST = 4, TOPICS_MOST = 12, TOKENS_MOST = 4096, SEED = 5 };

/* ---- documents ---- */

typedef struct corpus {
    uint64_t offsets[DOCUMENTS + 1];
    uint32_t indices[DOCUMENTS * WORDS];
    float values[DOCUMENTS * WORDS];
    int64_t frequency[WORDS], tokens;
} corpus;

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* Some documents have no words, some words no documents, and some entries are 0. */
static void draw_corpus(corpus *c)
{
    uint64_t state = 3, at = 0;
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < DOCUMENTS; i++) {
        for (uint32_t w = 0; w < WORDS && i % 13 != 4; w++) {
            uint64_t draw = mix(state++);
            if (w % 17 == 5 || draw % 100 >= (w % 3 == i % 3 ? 45 : 12))
                continue;
            c->indices[at] = w;
            c->values[at] = (float)(draw >> 20 & 3);
            c->frequency[w] += (int64_t)c->values[at];
            c->tokens += (int64_t)c->values[at++];
        }
        c->offsets[i + 1] = at;
    }
}

static hawser_dataset *dataset_of(const corpus *c)
{
    hawser_dataset *data = NULL;
    hawser_error error = {0};
    const hawser_arrays arrays = {.matrix = {.rows = DOCUMENTS,
                                             .cols = WORDS,
                                             .layout = HAWSER_CSR,
                                             .type = HAWSER_F32,
                                             .offsets = c->offsets,
                                             .indices = c->indices,
                                             .values = c->values}};
    if (hawser_dataset_borrow(&arrays, &data, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return data;
}

/* ---- the oracle ---- */

/* The rows of each block: what a program finds that does nothing else. */
typedef struct shares {
    size_t first[BLOCKS_MOST], rows[BLOCKS_MOST];
} shares;

static hawser_status note_share(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, X);
    shares *own = hawser_user(context);
    own->first[hawser_block(context)] = X->first; /* each block has its own place */
    own->rows[hawser_block(context)] = X->rows;
    return HAWSER_OK;
}

static shares find_shares(const hawser_dataset *data, const char *workers)
{
    shares found = {{0}, {0}};
    hawser_error error = {0};
    hawser_run *run = NULL;
    test_job job = OPEN_JOB("workers", workers);
    hawser_program *p = hawser_program_new("shares", &found);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = hawser_dataset_matrix(data), .split = HAWSER_BY_ROW);
    HAWSER_UNIT(hawser_root(p), "note", note_share, .reads = {X});
    if (hawser_run_program(job.job, p, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    hawser_run_free(run);
    hawser_program_free(p);
    close_job(job);
    return found;
}

typedef struct oracle {
    const corpus *c;
    size_t topics, blocks, passes;
    double alpha, beta;
    shares of;
    size_t cut[2 * BLOCKS_MOST + 1];
    int n_dk[DOCUMENTS][TOPICS_MOST], n_wk[WORDS][TOPICS_MOST];
    int64_t n_k[TOPICS_MOST];
    uint8_t z[DOCUMENTS][WORDS][4]; /* a word occurs at most three times */
} oracle;

static void cut_words(oracle *o)
{
    int64_t before = 0;
    size_t parts = 2 * o->blocks, p = 1;
    for (size_t w = 0; w < WORDS; w++) {
        for (; p < parts &&
               (double)before + (double)o->c->frequency[w] / 2 >= (double)o->c->tokens * (double)p / (double)parts;
             p++)
            o->cut[p] = w;
        before += o->c->frequency[w];
    }
    for (; p <= parts; p++)
        o->cut[p] = WORDS;
}

static size_t draw_topic(const oracle *o, size_t document, size_t word, const int64_t *totals, double uniform)
{
    double q[TOPICS_MOST], of_document = 0.0, of_prior = 0.0;
    for (size_t k = 0; k < o->topics; k++) {
        q[k] = (o->n_wk[word][k] + o->beta) / ((double)totals[k] + WORDS * o->beta);
        of_document += o->n_dk[document][k] * q[k];
        of_prior += o->alpha * q[k];
    }
    double at = uniform * (of_document + of_prior);
    bool from_document = at < of_document;
    at -= from_document ? 0.0 : of_document;
    for (size_t k = 0; k + 1 < o->topics; k++) {
        at -= (from_document ? o->n_dk[document][k] : o->alpha) * q[k];
        if (at < 0.0)
            return k;
    }
    return o->topics - 1;
}

/* The draws of a word in a pass of a block. */
static uint64_t key_of(uint64_t purpose, size_t pass, size_t block, size_t word)
{
    return mix(mix(mix(mix(mix(SEED) ^ purpose) ^ pass) ^ block) ^ word);
}

/* A block's work on a word. totals: n_k as it sees them. */
static void visit_word(oracle *o, size_t pass, size_t block, size_t word, int64_t *totals)
{
    uint64_t number = 0, key = key_of(pass == 0 ? 3 : 4, pass, block, word);
    for (size_t i = o->of.first[block]; i < o->of.first[block] + o->of.rows[block]; i++)
        for (uint64_t e = o->c->offsets[i]; e < o->c->offsets[i + 1]; e++)
            for (size_t t = 0; o->c->indices[e] == word && t < (size_t)o->c->values[e]; t++) {
                uint64_t draw = mix(key ^ mix(number++));
                uint8_t *z = &o->z[i][word][t];
                if (pass > 0) {
                    o->n_dk[i][*z]--, o->n_wk[word][*z]--, totals[*z]--;
                    *z = (uint8_t)draw_topic(o, i, word, totals, (double)(draw >> 11) * 0x1p-53);
                } else
                    *z = (uint8_t)(draw % o->topics);
                o->n_dk[i][*z]++, o->n_wk[word][*z]++, totals[*z]++;
            }
}

static void run_oracle(oracle *o)
{
    cut_words(o);
    for (size_t clock = 0; clock < (o->passes + 1) * o->blocks; clock++) {
        int64_t frozen[TOPICS_MOST];
        memcpy(frozen, o->n_k, sizeof frozen);
        for (size_t block = 0; block < o->blocks; block++) {
            int64_t totals[TOPICS_MOST];
            memcpy(totals, frozen, sizeof totals);
            for (size_t p = 0; p < 2 * o->blocks; p++)
                for (size_t w = o->cut[p]; (p + o->blocks - clock % o->blocks) % o->blocks == block && w < o->cut[p + 1];
                     w++)
                    visit_word(o, clock / o->blocks, block, w, totals);
            for (size_t k = 0; k < o->topics; k++)
                o->n_k[k] += totals[k] - frozen[k];
        }
    }
}

/* ---- models ---- */

/* Stores the dense counts of a model, and checks that they add up. */
static void counts_of(const corpus *c, const hawser_model *model, size_t topics, int (*counts)[TOPICS_MOST])
{
    size_t dims[2];
    const int64_t *offsets = hawser_model_get(model, "word_offsets", NULL, dims);
    const int32_t *topic = hawser_model_get(model, "word_topics", NULL, NULL);
    const int32_t *count = hawser_model_get(model, "word_counts", NULL, NULL);
    int64_t tokens = 0;
    assert_true(offsets != NULL && topic != NULL && count != NULL && dims[0] == WORDS + 1);
    memset(counts, 0, WORDS * sizeof *counts);
    for (size_t w = 0; w < WORDS; w++) {
        int64_t own = 0;
        for (int64_t e = offsets[w]; e < offsets[w + 1]; e++) {
            assert_true(count[e] > 0 && topic[e] >= 0 && (size_t)topic[e] < topics);
            counts[w][topic[e]] = count[e];
            own += count[e];
        }
        assert_int_equal(own, c->frequency[w]);
        tokens += own;
    }
    assert_int_equal(tokens, c->tokens);
    assert_int_equal(strtoll(hawser_model_text(model, "tokens"), NULL, 10), tokens);
}

static const hawser_option *const *tables(void)
{
    static const hawser_option *all[4];
    if (all[0] == NULL) {
        all[2] = hawser_algorithm_find("lda")->rows;
        all[1] = hw_machine_rows();
        all[0] = hawser_job_rows();
    }
    return all;
}

/* What a training is given and has said, besides data and options. */
typedef struct besides {
    const hawser_dataset *validation;
    const hawser_model *init;
    char stop_reason[64];
    double least; /* perplexity that was reported */
} besides;

static void note_perplexity(const hawser_progress *progress, void *user)
{
    besides *with = user;
    double perplexity = hawser_progress_metric(progress, "perplexity");
    if (!isnan(perplexity) && (with->least == 0.0 || perplexity < with->least))
        with->least = perplexity;
}

/* Trains with these options, "key", "value", ...; NULL ends them. The caller frees the model. */
static hawser_model *train(const hawser_dataset *data, besides *with, const char *const *pairs)
{
    hawser_error error = {0};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_training training = {0};
    assert_int_equal(hawser_options_new(tables(), &options, &error), HAWSER_OK);
    for (; *pairs != NULL; pairs += 2)
        assert_int_equal(hawser_options_set(options, pairs[0], pairs[1], HAWSER_FROM_PROGRAM, "test", &error), HAWSER_OK);
    assert_int_equal(hawser_open_options(options, &job, &error), HAWSER_OK);
    hawser_training_input input = {.options = options,
                                   .data = data,
                                   .observer = with != NULL ? note_perplexity : NULL,
                                   .observer_user = with,
                                   .validation = with != NULL ? with->validation : NULL,
                                   .init = with != NULL ? with->init : NULL};
    if (hawser_train(hawser_algorithm_find("lda"), job, &input, &training, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    if (with != NULL)
        snprintf(with->stop_reason, sizeof with->stop_reason, "%s", training.stop_reason);
    hawser_run_free(training.run);
    hawser_close(job);
    hawser_options_free(options);
    return training.model;
}
#define TRAIN(data, ...) train((data), NULL, (const char *const[]){"seed", "5", __VA_ARGS__, NULL})

/* Makes an oracle that has run. The caller frees it. */
static oracle *oracle_of(const corpus *c, const hawser_dataset *data, const char *workers, size_t topics, size_t passes)
{
    oracle *o = calloc(1, sizeof *o);
    assert_non_null(o);
    *o = (oracle){.c = c,
                  .topics = topics,
                  .blocks = strtoul(workers, NULL, 10),
                  .passes = passes,
                  .alpha = 0.1,
                  .beta = 0.02,
                  .of = find_shares(data, workers)};
    run_oracle(o);
    return o;
}

static double number_of(const hawser_model *model, const char *key)
{
    return hawser_model_text(model, key) != NULL ? strtod(hawser_model_text(model, key), NULL) : (double)NAN;
}

/* Returns the logarithm of the probability of all words and topics, per token. */
static double joint_of(const oracle *o)
{
    double sum = 0.0, words = WORDS * o->beta, topics = (double)o->topics * o->alpha;
    for (size_t k = 0; k < o->topics; k++)
        sum += lgamma(words) - lgamma((double)o->n_k[k] + words);
    for (size_t w = 0; w < WORDS; w++)
        for (size_t k = 0; k < o->topics; k++)
            sum += lgamma(o->n_wk[w][k] + o->beta) - lgamma(o->beta);
    for (size_t i = 0; i < DOCUMENTS; i++) {
        int length = 0;
        for (size_t k = 0; k < o->topics; k++) {
            length += o->n_dk[i][k];
            sum += lgamma(o->n_dk[i][k] + o->alpha) - lgamma(o->alpha);
        }
        sum += lgamma(topics) - lgamma(length + topics);
    }
    return sum / (double)o->c->tokens;
}

static void blocks_draw_what_an_oracle_draws(void **state)
{
    (void)state;
    static const char *const workers[] = {"1", "2", "3", "4"}, *const topics[] = {"2", "3", "7", "12"};
    corpus c;
    draw_corpus(&c);
    hawser_dataset *data = dataset_of(&c);
    for (size_t b = 0; b < BLOCKS_MOST; b++)
        for (size_t n = 0; n < 4; n++) {
            int counts[WORDS][TOPICS_MOST];
            oracle *o = oracle_of(&c, data, workers[b], strtoul(topics[n], NULL, 10), 8);
            hawser_model *model =
                TRAIN(data, "workers", workers[b], "topics", topics[n], "iterations", "8", "beta", "0.02", "optimize-every",
                      "0", "measure-every", n % 2 == 0 ? "4" : "3", "threads", workers[(b + n) % 2]);
            counts_of(&c, model, o->topics, counts);
            for (size_t w = 0; w < WORDS; w++)
                for (size_t k = 0; k < o->topics; k++)
                    assert_int_equal(counts[w][k], o->n_wk[w][k]);
            double joint = joint_of(o);
            assert_true(fabs(number_of(model, "log_likelihood") - joint) <= 1e-9 * fabs(joint));
            hawser_model_free(model);
            free(o);
        }
    hawser_dataset_free(data);
}

/* ---- priors ---- */

/* Returns psi(from + n) - psi(from). */
static double psi_between(double from, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += 1.0 / (from + (double)i);
    return sum;
}

/* Fits alpha and beta to the counts by a step of Minka's fixed point. */
static void step_priors(const oracle *o, double *alpha, double *beta)
{
    double all = 0.0, documents = 0.0, words = 0.0, topics = 0.0, own[TOPICS_MOST] = {0.0};
    for (size_t k = 0; k < o->topics; k++)
        all += alpha[k];
    for (size_t i = 0; i < DOCUMENTS; i++) {
        int64_t length = 0;
        for (size_t k = 0; k < o->topics; k++) {
            own[k] += psi_between(alpha[k], o->n_dk[i][k]);
            length += o->n_dk[i][k];
        }
        documents += psi_between(all, length);
    }
    for (size_t k = 0; k < o->topics; k++) {
        alpha[k] *= own[k] / documents;
        topics += WORDS * psi_between(WORDS * *beta, o->n_k[k]);
        for (size_t w = 0; w < WORDS; w++)
            words += psi_between(*beta, o->n_wk[w][k]);
    }
    *beta *= words / topics;
}

/* The priors are fitted once, after the passes of the oracle; another pass follows. */
static void priors_are_fitted_by_the_fixed_point(void **state)
{
    (void)state;
    static const char *const workers[] = {"1", "2", "3", "4"};
    corpus c;
    draw_corpus(&c);
    hawser_dataset *data = dataset_of(&c);
    for (size_t b = 0; b < BLOCKS_MOST; b++) {
        oracle *o = oracle_of(&c, data, workers[b], 7, 8);
        double alpha[TOPICS_MOST], beta = o->beta;
        for (size_t k = 0; k < o->topics; k++)
            alpha[k] = o->alpha;
        for (int step = 0; step < 5; step++)
            step_priors(o, alpha, &beta);
        hawser_model *model = TRAIN(data, "workers", workers[b], "topics", "7", "iterations", "9", "beta", "0.02", "burn-in",
                                    "3", "optimize-every", "8", "measure-every", "5");
        const double *fitted = hawser_model_get(model, "alpha", NULL, NULL);
        assert_non_null(fitted);
        for (size_t k = 0; k < o->topics; k++)
            assert_true(fabs(fitted[k] - alpha[k]) <= 1e-9 * alpha[k]);
        assert_true(fabs(number_of(model, "beta") - beta) <= 1e-9 * beta);
        hawser_model_free(model);
        free(o);
    }
    hawser_dataset_free(data);
}

/* ---- counts ---- */

static void counts_add_up_under_every_sync(void **state)
{
    (void)state;
    static const char *const syncs[] = {"bsp", "ssp:2", "tap"}, *const workers[] = {"1", "2", "4"};
    corpus c;
    draw_corpus(&c);
    hawser_dataset *data = dataset_of(&c);
    for (size_t n = 0; n < 9; n++) {
        int counts[WORDS][TOPICS_MOST];
        hawser_model *model = TRAIN(data, "workers", workers[n / 3], "sync", syncs[n % 3], "topics", "5", "iterations", "12",
                                    "optimize-every", "2", "burn-in", "4", "measure-every", "5");
        counts_of(&c, model, 5, counts);
        hawser_model_free(model);
    }
    hawser_dataset_free(data);
}

/* ---- validation, and a start from a model ---- */

/* The perplexity of a training is that of its model, whose counts a unit has collected from the parts; with --early-stopping
 * the model is the one of the least perplexity. */
static void perplexities_are_those_of_the_model(void **state)
{
    (void)state;
    static const char *const workers[] = {"1", "3"};
    corpus c;
    draw_corpus(&c);
    hawser_dataset *data = dataset_of(&c);
    const hawser_arrays few = {.matrix = {.rows = 9, /* some words are not asked for */
                                          .cols = WORDS,
                                          .layout = HAWSER_CSR,
                                          .type = HAWSER_F32,
                                          .offsets = c.offsets,
                                          .indices = c.indices,
                                          .values = c.values}};
    for (int n = 0; n < 4; n++) {
        hawser_error error = {0};
        hw_topics topics;
        double perplexity = 0.0;
        besides with = {0};
        hawser_dataset *validation = NULL;
        assert_int_equal(hawser_dataset_borrow(&few, &validation, &error), HAWSER_OK);
        with.validation = validation;
        const char *const pairs[] = {"seed",
                                     "5",
                                     "workers",
                                     workers[n % 2],
                                     "topics",
                                     "6",
                                     "iterations",
                                     n < 2 ? "7" : "4000",
                                     "measure-every",
                                     n < 2 ? "3" : "1",
                                     "burn-in",
                                     "2",
                                     "optimize-every",
                                     "2",
                                     n < 2 ? NULL : "early-stopping",
                                     "3",
                                     NULL};
        hawser_model *model = train(data, &with, pairs);
        assert_int_equal(hw_topics_of(model, &topics, &error), HAWSER_OK);
        if (hw_topics_perplexity(&topics, SEED, hawser_dataset_matrix(validation), &perplexity, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        assert_true(fabs(number_of(model, "perplexity") - perplexity) <= 1e-9 * perplexity);
        assert_string_equal(with.stop_reason, n < 2 ? "iterations" : "early-stopping");
        assert_true(n < 2 || number_of(model, "iterations") < 3000.0);
        assert_true(n < 2 || fabs(with.least - perplexity) <= 1e-9 * perplexity);
        hawser_model_free(model);
        hawser_dataset_free(validation);
    }
    hawser_dataset_free(data);
}

/* Words without tokens are words: V beta counts them, however many they are. */
static void words_without_tokens_count(void **state)
{
    (void)state;
    enum { MANY = 70000 };
    corpus c;
    hawser_dataset *data = NULL;
    hawser_error error = {0};
    hw_topics topics;
    draw_corpus(&c);
    const hawser_arrays wide = {.matrix = {.rows = DOCUMENTS,
                                           .cols = MANY,
                                           .layout = HAWSER_CSR,
                                           .type = HAWSER_F32,
                                           .offsets = c.offsets,
                                           .indices = c.indices,
                                           .values = c.values}};
    assert_int_equal(hawser_dataset_borrow(&wide, &data, &error), HAWSER_OK);
    hawser_model *model = TRAIN(data, "topics", "3", "iterations", "2", "workers", "2");
    if (hw_topics_of(model, &topics, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(topics.words, MANY);
    assert_int_equal(topics.tokens, c.tokens);
    hawser_model_free(model);
    hawser_dataset_free(data);
}

/* A start from a model needs no passes for its likelihood. */
static void trainings_start_from_the_words_of_a_model(void **state)
{
    (void)state;
    corpus c;
    draw_corpus(&c);
    hawser_dataset *data = dataset_of(&c);
    hawser_model *first = TRAIN(data, "topics", "6", "iterations", "60", "workers", "1");
    besides with = {.init = first};
    static const char *const pairs[] = {"seed", "5", "iterations", "1", "workers", "2", NULL};
    hawser_model *second = train(data, &with, pairs);
    hawser_model *apart = TRAIN(data, "topics", "6", "iterations", "1", "workers", "2");
    assert_int_equal(number_of(second, "topics"), 6);
    assert_true(number_of(second, "log_likelihood") > number_of(apart, "log_likelihood") + 0.05);
    hawser_model_free(apart);
    hawser_model_free(second);
    hawser_model_free(first);
    hawser_dataset_free(data);
}

/* ---- nodes ---- */

static uint64_t digest_of(const hawser_model *model)
{
    static const char *const names[] = {"alpha", "word_topics", "word_counts"};
    uint64_t digest = hw_hash(hawser_model_text(model, "log_likelihood"), 12, 0);
    for (size_t k = 0; k < 3; k++) {
        size_t dims[2];
        hawser_type type;
        const void *values = hawser_model_get(model, names[k], &type, dims);
        digest = hw_hash(values, dims[0] * (type == HAWSER_F64 ? 8 : 4), digest);
    }
    return digest;
}

typedef struct work {
    const corpus *c;
    uint64_t digest[NODES_MOST];
} work;

static void train_on_node(test_node *node)
{
    work *w = node->user;
    hawser_dataset *data = dataset_of(w->c);
    hawser_training training = {0};
    hawser_training_input input = {.options = node->options, .data = data};
    node->status = hawser_train(hawser_algorithm_find("lda"), node->job, &input, &training, &node->error);
    if (node->status == HAWSER_OK) {
        int counts[WORDS][TOPICS_MOST];
        counts_of(w->c, training.model, 7, counts);
        w->digest[hawser_job_node(node->job)] = digest_of(training.model);
    }
    hawser_model_free(training.model);
    hawser_run_free(training.run);
    hawser_dataset_free(data);
}

static void nodes_draw_what_threads_draw(void **state)
{
    (void)state;
    static const char *const pairs[] = {"seed",          "5", "workers",        "4",  "topics",  "7",
                                        "iterations",    "9", "optimize-every", "2",  "burn-in", "3",
                                        "measure-every", "4", "timeout",        "60", NULL};
    static const char *const again[] = {"seed",          "5", "workers",        "4", "topics",  "7",
                                        "iterations",    "9", "optimize-every", "2", "burn-in", "3",
                                        "measure-every", "4", "rehearse",       "2", NULL};
    static const char *const lax[] = {"seed", "5",    "workers", "4",       "topics", "7", "iterations",
                                      "9",    "sync", "ssp:2",   "timeout", "60",     NULL};
    corpus c;
    work w = {.c = &c};
    test_node nodes[NODES_MOST];
    draw_corpus(&c);
    hawser_dataset *data = dataset_of(&c);
    hawser_model *model = train(data, NULL, pairs);
    uint64_t digest = digest_of(model);
    hawser_model *rehearsed = train(data, NULL, again); /* stages are done over */
    assert_int_equal(digest_of(rehearsed), digest);
    hawser_model_free(rehearsed);
    for (uint32_t count = 2; count <= 4; count += 2) {
        run_nodes_with(tables(), nodes, count, false, pairs, train_on_node, &w);
        for (uint32_t i = 0; i < count; i++) {
            if (nodes[i].status != HAWSER_OK)
                fail_msg("%s", nodes[i].error.text);
            assert_int_equal(w.digest[i], digest);
        }
    }
    run_nodes_with(tables(), nodes, 2, false, lax, train_on_node, &w);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(nodes[i].status, HAWSER_OK);
    hawser_model_free(model);
    hawser_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_draw_what_an_oracle_draws), cmocka_unit_test(priors_are_fitted_by_the_fixed_point),
        cmocka_unit_test(counts_add_up_under_every_sync),   cmocka_unit_test(perplexities_are_those_of_the_model),
        cmocka_unit_test(words_without_tokens_count),       cmocka_unit_test(trainings_start_from_the_words_of_a_model),
        cmocka_unit_test(nodes_draw_what_threads_draw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
