#include "algorithms/lda/problem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lda/asked.h"
#include "algorithms/lda/frequency.h"
#include "algorithms/lda/sampler.h"
#include "algorithms/model/given.h"
#include "hawser/advanced.h"

/* A block is worth its waiting for others from so many stored counts on. */
enum { ENTRIES_EACH = 1 << 15 };

/* ---- alpha ---- */

static const double MOST = 1e9;

static hawser_status read_alpha_file(const char *path, size_t topics, double *alpha, hawser_error *error)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return hawser_fail(error, HAWSER_IO, "--alpha %s: %s", path, strerror(errno));
    char line[256];
    size_t at = 0;
    hawser_status status = HAWSER_OK;
    while (status == HAWSER_OK && fgets(line, sizeof line, file) != NULL) {
        double value = 0.0;
        line[strcspn(line, "\r\n")] = '\0';
        const char *end = hawser_read_number(line, &value);
        if (end == NULL || end[strspn(end, " \t")] != '\0' || !(value > 0.0) || !(value <= MOST))
            status = hawser_fail(
                error, HAWSER_BAD_INPUT,
                "%s:%zu: '%.60s' is not a number above 0 and at most 1e9; the file has one for each topic, one a line", path,
                at + 1, line);
        else if (at == topics)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: more lines than topics (%zu)", path, at + 1, topics);
        else
            alpha[at++] = value;
    }
    if (status == HAWSER_OK && ferror(file))
        status = hawser_fail(error, HAWSER_IO, "--alpha %s: %s", path, strerror(errno));
    fclose(file);
    if (status == HAWSER_OK && at < topics)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: %zu lines, but --topics is %zu", path, at, topics);
    return status;
}

static hawser_status read_prior(hw_lda *lda, const hawser_options *options, hawser_error *error)
{
    const char *text = hawser_options_text(options, "alpha");
    double value = 0.0;
    lda->prior = calloc(lda->topics + 1, sizeof *lda->prior);
    if (lda->prior == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu topics", lda->topics);
    lda->prior[lda->topics] = hawser_options_number(options, "beta");
    const char *end = hawser_read_number(text, &value);
    if (end == NULL || *end != '\0')
        return read_alpha_file(text, lda->topics, lda->prior, error);
    if (!(value > 0.0) || !(value <= MOST))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--alpha %s: the prior of a topic is above 0 and at most 1e9", text);
    for (size_t k = 0; k < lda->topics; k++)
        lda->prior[k] = value;
    return HAWSER_OK;
}

/* ---- words ---- */

/* Cuts the words into parts of about equally many tokens. */
static hawser_status cut_words(hw_lda *lda, hawser_error *error)
{
    double before = 0.0;
    uint32_t part = 1;
    lda->parts = 2 * lda->blocks;
    lda->offsets = calloc(lda->words + 1, sizeof *lda->offsets);
    lda->cut = calloc((size_t)lda->parts + 1, sizeof *lda->cut);
    if (lda->offsets == NULL || lda->cut == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu words", lda->words);
    for (size_t w = 0; w < lda->words; w++) {
        double tokens = (double)lda->frequency[w];
        lda->offsets[w + 1] = lda->offsets[w] + hw_word_line_size((uint64_t)lda->frequency[w], lda->topics);
        while (part < lda->parts && before + tokens / 2.0 >= lda->tokens * part / lda->parts)
            lda->cut[part++] = w;
        before += tokens;
    }
    for (; part <= lda->parts; part++)
        lda->cut[part] = lda->words;
    return HAWSER_OK;
}

/* ---- options ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void read_options(hw_lda *lda, const hawser_options *options)
{
    lda->topics = (size_t)hawser_options_integer(options, "topics");
    lda->passes = (uint64_t)hawser_options_integer(options, "iterations");
    lda->burn_in = (uint64_t)hawser_options_integer(options, "burn-in");
    lda->optimize_every = (uint64_t)hawser_options_integer(options, "optimize-every");
    lda->measure_every = (uint64_t)hawser_options_integer(options, "measure-every");
    lda->rotation = common_divisor(common_divisor(lda->passes, lda->measure_every), lda->optimize_every);
}

/* Takes the model of --init, and with it the number of topics. */
static hawser_status take_init(hw_lda *lda, const hawser_training_input *input, hawser_error *error)
{
    if (input->init == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_lda_init_of(input->init, input->data, &lda->init, error));
    if (hw_option_given(input->options, "topics") && lda->topics != lda->init.topics.topics)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--topics %zu: --init has %zu topics; leave --topics out", lda->topics,
                           lda->init.topics.topics);
    lda->topics = lda->init.topics.topics;
    return HAWSER_OK;
}

static hawser_status check_policy(hw_lda *lda, hawser_job *job, const hawser_options *options, hawser_error *error)
{
    hawser_sync sync = hawser_job_sync(job);
    if (sync.tightness == HAWSER_DELAY || sync.tightness == HAWSER_CENTRIC)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--sync %s is about states in the store, of which topic models have none",
                           hawser_options_text(options, "sync"));
    if (lda->optimize_every == 0)
        return hawser_job_idle(job, "burn-in", "alpha and beta stay as they are (--optimize-every 0)", error);
    return HAWSER_OK;
}

static hawser_status check_data(const hw_lda *lda, hawser_error *error)
{
    if (lda->X->layout != HAWSER_CSR)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "topics are found in sparse counts of words, and the data are dense, as CSV and .npy are read (a bag of words "
            "without entries looks like CSV); give them as a bag of words, svmlight, Matrix Market or CSR, or name a column "
            "of "
            "texts by --text");
    if (lda->words == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have no words: they have no columns");
    if (lda->X->rows > UINT32_MAX)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu documents; at most 4294967295 are possible",
                           lda->X->rows);
    return HAWSER_OK;
}

hawser_status hw_lda_read(void *own, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    hw_lda *lda = own;
    *lda = (hw_lda){
        .X = hawser_dataset_matrix(input->data), .data = input->data, .held = input->held, .seed = hawser_job_seed(job)};
    lda->words = lda->X->cols;
    read_options(lda, input->options);
    HAWSER_TRY(check_policy(lda, job, input->options, error));
    HAWSER_TRY(hawser_job_agree(job, take_init(lda, input, error), error));
    HAWSER_TRY(hawser_job_agree(job, check_data(lda, error), error));
    HAWSER_TRY(hawser_job_agree(job, read_prior(lda, input->options, error), error));
    HAWSER_TRY(hawser_job_broadcast(job, lda->prior, (lda->topics + 1) * sizeof *lda->prior, error));
    HAWSER_TRY(hw_early_new(&lda->early, job, input, lda->words, false, error));
    HAWSER_TRY(hw_asked_words(job, &lda->early, lda->words, &lda->asked, error));
    hawser_job_fit(job, lda->X->stored, ENTRIES_EACH);
    lda->blocks = hawser_job_workers(job);
    HAWSER_TRY(hw_count_words(job, lda->X, &lda->frequency, &lda->tokens, error));
    if (lda->tokens == 0.0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the documents have no words: all counts are 0");
    return hawser_job_agree(job, cut_words(lda, error), error);
}

void hw_lda_release(void *own)
{
    hw_lda *lda = own;
    free(lda->init.word);
    free(lda->asked);
    free(lda->prior);
    free(lda->frequency);
    free(lda->offsets);
    free(lda->cut);
}
