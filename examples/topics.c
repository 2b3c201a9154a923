/*
 * topics.c - latent Dirichlet allocation over a parameter server, as Li et al. (2014, section 5.4) run it: how often each
 * word has each topic is on the servers, and each worker keeps its own documents, with a topic for each of their tokens. A
 * worker asks for the counts of the words of the next documents while it samples those of the present ones, and sends what
 * has changed. Each token gets a topic by its probability given the topics of all others (Gibbs sampling).
 *
 * `./topics K FILE` reads documents as sparse rows: how often a document has each word (Matrix Market coordinates, or
 * svmlight). It prints the mean log-probability of a token given all others, and of each topic its share of the tokens and
 * its ten likeliest words, as numbers of columns from 0. Try `--workers 4`, `--sync ssp:2`, and `hawser run -n 3 -- ./topics
 * K FILE --workers 6 --sync ssp:2`. Workers count each other's changes as they arrive, so no two runs are alike in all bits.
 */
#include <hawser/app.h>
#include <hawser/stored.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLOCKS = 150, DOCUMENTS = 64 /* that are asked for at once */, SHOWN = 10 };
static const double ALPHA = 0.1, BETA = 0.01;

/* Some documents, and their words' lines of the state: a number for each topic. The last line has those of all words. */
typedef struct batch {
    size_t first, end, lines;
    uint32_t *line; /* by word */
    uint64_t *keys; /* of lines x topics numbers */
    double *change; /* of each */
} batch;

typedef struct scratch {
    batch batches[2]; /* the present documents, and the next ones */
    double *of_document, *sums;
} scratch;

static void release(void *memory)
{
    scratch *s = memory;
    for (int i = 0; i < 2; i++) {
        free(s->batches[i].line);
        free(s->batches[i].keys);
        free(s->batches[i].change);
    }
    free(s->of_document);
    free(s->sums);
}

/* Takes the documents from `first` on into a batch, with the keys of their words. */
static hawser_status gather(hawser_context *context, const hawser_matrix *rows, size_t topics, size_t first, batch *b)
{
    size_t words = rows->cols;
    if (b->line == NULL && (b->line = malloc((words + 1) * sizeof *b->line)) == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu words", words);
    b->first = first;
    b->end = first + DOCUMENTS < rows->rows ? first + DOCUMENTS : rows->rows;
    b->lines = 0;
    memset(b->line, 0, words * sizeof *b->line);
    for (uint64_t e = rows->offsets[b->first]; e < rows->offsets[b->end]; e++)
        b->line[rows->indices[e]] = 1;
    b->line[words] = 1;
    for (size_t w = 0; w <= words; w++)
        b->lines += b->line[w];
    free(b->keys);
    free(b->change);
    b->keys = malloc(b->lines * topics * sizeof *b->keys);
    b->change = calloc(b->lines * topics, sizeof *b->change);
    if (b->keys == NULL || b->change == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for the counts of %zu words", b->lines);
    for (size_t w = 0, line = 0; w <= words; w++)
        if (b->line[w] == 1) {
            for (size_t k = 0; k < topics; k++)
                b->keys[line * topics + k] = w * topics + k;
            b->line[w] = (uint32_t)line++;
        }
    return HAWSER_OK;
}

static void count(batch *b, size_t words, size_t topics, uint32_t word, int32_t topic, double by)
{
    b->change[b->line[word] * topics + (size_t)topic] += by;
    b->change[b->line[words] * topics + (size_t)topic] += by;
}

/* Sends what has changed. */
static hawser_status send(hawser_context *context, batch *b, size_t topics)
{
    size_t changed = 0;
    for (size_t i = 0; i < b->lines * topics; i++)
        if (b->change[i] != 0) {
            b->keys[changed] = b->keys[i];
            b->change[changed++] = b->change[i];
        }
    return hawser_inc(context, "counts", b->keys, b->change, changed);
}

/* Gives each token a topic by chance. */
static hawser_status begin(hawser_context *context)
{
    size_t topics = *(const size_t *)hawser_user(context);
    scratch *s = hawser_scratch(context);
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_WRITE(context, int32_t, topic);
    for (size_t first = 0; first < rows->rows; first += DOCUMENTS) {
        batch *b = &s->batches[0];
        HAWSER_TRY(gather(context, rows, topics, first, b));
        for (uint64_t e = rows->offsets[b->first]; e < rows->offsets[b->end]; e++)
            for (double n = ((const double *)rows->values)[e]; n > 0; n--, topic++) {
                *topic = (int32_t)(hawser_random_uniform(context) * (double)topics);
                count(b, rows->cols, topics, rows->indices[e], *topic, 1);
            }
        HAWSER_TRY(send(context, b, topics));
    }
    return HAWSER_OK;
}

/* Draws the topic of a token that counts nowhere. Returns it, and adds the log-probability of the word to *likelihood. */
static int32_t draw(hawser_context *context, const scratch *s, size_t topics, size_t words, const double *counts,
                    const batch *b, uint32_t word, double *likelihood)
{
    size_t own = b->line[word] * topics, all = b->line[words] * topics, k = 0;
    double sum = 0, weight = 0; /* a count that is on its way may be missing: never below 0 */
    for (size_t j = 0; j < topics; j++) {
        double of_word = fmax(0, counts[own + j] + b->change[own + j]),
               of_all = fmax(0, counts[all + j] + b->change[all + j]);
        weight += s->of_document[j] + ALPHA;
        s->sums[j] = sum += (s->of_document[j] + ALPHA) * (of_word + BETA) / (of_all + (double)words * BETA);
    }
    *likelihood += log(sum / weight);
    double at = hawser_random_uniform(context) * sum;
    while (k + 1 < topics && s->sums[k] <= at)
        k++;
    return (int32_t)k;
}

/* Draws all topics of a document. Returns where those of the next one begin. */
static int32_t *sample(hawser_context *context, const scratch *s, const hawser_matrix *rows, size_t topics, size_t i,
                       int32_t *topic, const double *counts, batch *b, double *likelihood)
{
    int32_t *begin = topic;
    memset(s->of_document, 0, topics * sizeof *s->of_document);
    for (uint64_t e = rows->offsets[i]; e < rows->offsets[i + 1]; e++)
        for (double n = ((const double *)rows->values)[e]; n > 0; n--)
            s->of_document[*topic++]++;
    topic = begin;
    for (uint64_t e = rows->offsets[i]; e < rows->offsets[i + 1]; e++)
        for (double n = ((const double *)rows->values)[e]; n > 0; n--, topic++) {
            uint32_t word = rows->indices[e];
            s->of_document[*topic]--;
            count(b, rows->cols, topics, word, *topic, -1);
            *topic = draw(context, s, topics, rows->cols, counts, b, word, likelihood);
            s->of_document[*topic]++;
            count(b, rows->cols, topics, word, *topic, 1);
        }
    return topic;
}

static hawser_status ask(hawser_context *context, const hawser_matrix *rows, size_t topics, size_t first, batch *b)
{
    HAWSER_TRY(gather(context, rows, topics, first, b));
    return hawser_prefetch(context, "counts", b->keys, 0, b->lines * topics);
}

static hawser_status pass(hawser_context *context)
{
    size_t topics = *(const size_t *)hawser_user(context);
    scratch *s = hawser_scratch(context);
    double likelihood = 0, tokens = (double)hawser_part(context, "topic", NULL);
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_WRITE(context, int32_t, topic);
    if (s->sums == NULL && ((s->of_document = calloc(topics, sizeof *s->of_document)) == NULL ||
                            (s->sums = calloc(topics, sizeof *s->sums)) == NULL))
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu topics", topics);
    for (size_t first = 0, turn = 0; first < rows->rows; first += DOCUMENTS, turn++) {
        batch *b = &s->batches[turn % 2], *next = &s->batches[(turn + 1) % 2];
        const double *counts;
        if (first == 0)
            HAWSER_TRY(ask(context, rows, topics, 0, b));
        if (b->end < rows->rows)
            HAWSER_TRY(ask(context, rows, topics, b->end, next));
        HAWSER_TRY(hawser_prefetch_wait(context, "counts", &counts));
        for (size_t i = b->first; i < b->end; i++)
            topic = sample(context, s, rows, topics, i, topic, counts, b, &likelihood);
        HAWSER_TRY(send(context, b, topics));
    }
    HAWSER_TRY(hawser_report(context, "likelihood", likelihood));
    return hawser_report(context, "tokens", tokens);
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    size_t *topics = call->user;
    const hawser_matrix *A = hawser_dataset_matrix(call->data);
    HAWSER_TRY(hawser_app_number(call, 0, "K", 2, 10000, topics, error));
    if (A->layout != HAWSER_CSR || A->type != HAWSER_F64)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the counts must be sparse: Matrix Market coordinates, or svmlight");
    hawser_state *rows = HAWSER_STATE(program, "rows", HAWSER_DATA, .data = call->data, .split = HAWSER_BY_ROW);
    hawser_state *topic =
        HAWSER_STATE(program, "topic", HAWSER_ENTRIES, .type = HAWSER_I32, .along = rows, .by_value = true);
    hawser_state *counts =
        HAWSER_STATE(program, "counts", HAWSER_STORED, .rows = A->cols + 1, .cols = *topics, .function = "add");
    hawser_scratch_size(program, sizeof(scratch), release);
    hawser_metric_declare(program, "likelihood", HAWSER_SUM);
    hawser_metric_declare(program, "tokens", HAWSER_SUM);
    HAWSER_UNIT(hawser_root(program), "begin", begin, .reads = {rows}, .updates = {topic, counts});
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "passes", hawser_job_sync(call->job), .clocks = CLOCKS);
    HAWSER_UNIT(loop, "pass", pass, .reads = {rows}, .updates = {topic, counts});
    return HAWSER_OK;
}

/* Prints the words that a topic has most often. */
static void print_topic(double *counts, size_t words, size_t topics, size_t k, double tokens)
{
    printf("%.3f", counts[words * topics + k] / tokens);
    for (int shown = 0; shown < SHOWN; shown++) {
        size_t best = 0;
        for (size_t w = 1; w < words; w++)
            if (counts[w * topics + k] > counts[best * topics + k])
                best = w;
        if (counts[best * topics + k] <= 0)
            break;
        printf(" %zu", best);
        counts[best * topics + k] = 0;
    }
    printf("\n");
}

static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    size_t topics = *(const size_t *)call->user, words = hawser_dataset_matrix(call->data)->cols;
    double tokens = hawser_result_metric(run, "tokens"), *counts = malloc((words + 1) * topics * sizeof *counts);
    if (counts == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the counts");
    hawser_status status = hawser_result_range(run, "counts", 0, (words + 1) * topics, counts, error);
    if (status == HAWSER_OK)
        printf("%.6f\n", hawser_result_metric(run, "likelihood") / tokens);
    for (size_t k = 0; status == HAWSER_OK && k < topics; k++)
        print_topic(counts, words, topics, k, tokens);
    free(counts);
    return status;
}

int main(int argc, char **argv)
{
    size_t topics = 0;
    return HAWSER_APP(argc, argv, "topics", "K FILE...", .words = 1, .files = true, .split = HAWSER_BY_ROW, .target = "none",
                      .user = &topics, .build = build, .done = print);
}
