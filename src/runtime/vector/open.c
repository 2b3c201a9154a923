/* open.c - opens and closes vectors. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/type.h"
#include "base/utf8.h"
#include "codec/forms.h"
#include "exchange/topology.h"
#include "runtime/vector/vector.h"
#include "transport/wire.h"

enum { SLACK_MOST = 1000, LEAST_SLOTS = 3, DATAFLOW = 64 };

/* What all nodes must give alike, in fields that can be compared and printed. */
typedef struct vector_facts {
    char name[HW_VECTOR_NAME], type[8], content[8], dataflow[DATAFLOW], sync[16], waits[8], any_number[8], rounding[8];
    uint64_t count, width, edges; /* width: 0 if it is dense; edges: a digest */
} vector_facts;

/* ---------------------------------------------------------------------------------------------------------- checks ---- */

static hawser_status check_name(const char *name, hawser_error *error)
{
    if (name == NULL || name[0] == '\0' || strnlen(name, HW_VECTOR_NAME) == HW_VECTOR_NAME)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a vector needs a name of 1 to %d bytes", HW_VECTOR_NAME - 1);
    if (!hw_is_utf8(name) || hw_has_control(name))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "a vector's name is no UTF-8, or has a control character: use letters, digits and signs");
    return HAWSER_OK;
}

static hawser_status read_sync(const hawser_vector_options *options, hw_edge_rules *rules, hawser_error *error)
{
    const char *text = options->sync != NULL ? options->sync : "tap";
    *rules = (hw_edge_rules){.most = 1, .deltas = options->content == HAWSER_VECTOR_DELTAS, .waits = options->waits};
    if (strcmp(text, "tap") == 0)
        return HAWSER_OK;
    rules->sync = strcmp(text, "bsp") == 0 ? HW_VECTOR_BSP : HW_VECTOR_SSP;
    if (rules->sync == HW_VECTOR_SSP) {
        char *end = NULL;
        bool number = strncmp(text, "ssp:", 4) == 0 && text[4] >= '0' && text[4] <= '9';
        errno = 0;
        rules->slack = number ? strtoull(text + 4, &end, 10) : 0;
        if (!number || errno != 0 || *end != '\0' || rules->slack > SLACK_MOST)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "vector '%s': sync = '%.40s': expected tap, bsp, or ssp:S with S "
                               "from 0 to %d",
                               options->name, text, SLACK_MOST);
    }
    rules->most = rules->slack + 2 > LEAST_SLOTS ? rules->slack + 2 : LEAST_SLOTS;
    if (options->waits)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': `waits` is for tap; %s waits for space by itself",
                           options->name, text);
    return HAWSER_OK;
}

/* Reads `servers` and `servers:K`; *servers is 0 for all nodes. Returns false for another dataflow. */
static bool read_servers(const char *words, uint32_t *servers)
{
    *servers = 0;
    if (words == NULL || strncmp(words, "servers", 7) != 0 || (words[7] != ':' && words[7] != '\0'))
        return false;
    for (const char *c = words + 8; words[7] == ':' && *servers <= HW_VECTOR_REPLICAS; c++) {
        if (*c == '\0')
            break;
        *servers = *c >= '0' && *c <= '9' ? *servers * 10 + (uint32_t)(*c - '0') : HW_VECTOR_REPLICAS + 1;
    }
    if (words[7] == ':' && *servers == 0)
        *servers = HW_VECTOR_REPLICAS + 1;
    return true;
}

static hawser_status check_servers(const hawser_vector_options *options, uint32_t servers, uint32_t nodes,
                                   hawser_error *error)
{
    if (servers > nodes)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': dataflow = '%.60s': expected servers:K with K from 1 to %u, the nodes of the job",
                           options->name, options->dataflow, nodes);
    if (options->content != HAWSER_VECTOR_DELTAS)
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "vector '%s': the servers of dataflow = '%.60s' add up deltas (HAWSER_VECTOR_DELTAS); values need "
            "edges, for instance of all",
            options->name, options->dataflow);
    if (options->waits)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': `waits` is for edges; the servers of dataflow = '%.60s' add each scatter at once",
                           options->name, options->dataflow);
    return HAWSER_OK;
}

static hawser_status check_dataflow(const hawser_vector_options *options, uint32_t nodes, hawser_error *error)
{
    const char *words = options->dataflow != NULL ? options->dataflow : "all";
    uint32_t servers;
    if (options->edges != NULL && options->dataflow != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': give `dataflow` or `edges`, not both", options->name);
    if (read_servers(words, &servers))
        return check_servers(options, servers, nodes, error);
    if (strcmp(words, "all") == 0 || strcmp(words, "halton") == 0 || strcmp(words, "tree") == 0 ||
        (strncmp(words, "file:", 5) == 0 && words[5] != '\0'))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "vector '%s': dataflow = '%.60s': expected all, halton, tree, servers[:K] or file:PATH",
                       options->name, words);
}

static hawser_status check_rounding(const hawser_vector_options *options, hawser_error *error)
{
    const hw_form_row *form = hw_form_row_of((unsigned)options->rounding);
    uint32_t servers;
    if (form == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': there is no rounding %d: expected HAWSER_EXACT, HAWSER_AS_BF16, HAWSER_AS_F16 or "
                           "HAWSER_AS_INT8",
                           options->name, (int)options->rounding);
    if (form->width == HW_F64)
        return HAWSER_OK;
    if (options->content != HAWSER_VECTOR_DELTAS)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': rounding to %s is for deltas (HAWSER_VECTOR_DELTAS), of which a later one has what "
                           "it leaves out; values are sent as they are",
                           options->name, form->word);
    if (read_servers(options->dataflow, &servers))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': rounding to %s is for edges, and dataflow = '%.60s' has none; take all, halton, "
                           "tree or edges of your own, or leave the rounding out",
                           options->name, form->word, options->dataflow);
    return HAWSER_OK;
}

static hawser_status check_options(const hawser_vector_options *options, uint32_t nodes, hw_edge_rules *rules,
                                   hawser_error *error)
{
    HAWSER_TRY(check_name(options->name, error));
    const char *name = options->name;
    if (options->type != HAWSER_F64 && options->type != HAWSER_F32)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': its numbers are HAWSER_F64 or HAWSER_F32, not %d", name,
                           (int)options->type);
    if (options->content != HAWSER_VECTOR_VALUES && options->content != HAWSER_VECTOR_DELTAS)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': there is no content %d", name, (int)options->content);
    if (options->count == 0 || options->count > HW_WIRE_PAYLOAD_MOST / hw_type_size(options->type))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s' of %zu numbers: expected 1 to %llu", name,
                           options->count, (unsigned long long)(HW_WIRE_PAYLOAD_MOST / hw_type_size(options->type)));
    if (options->sparse ? options->count % (options->width > 0 ? options->width : 1) != 0 : options->width > 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           options->sparse ? "vector '%s' of %zu numbers: they are no whole rows of `width` %u"
                                           : "vector '%s' of %zu numbers: a `width` (%u) is for sparse vectors",
                           name, options->count, options->width);
    uint64_t rows = options->count / (options->width > 0 ? options->width : 1), bytes = hw_type_size(options->type);
    if (options->sparse && rows * sizeof(uint64_t) + options->count * bytes > HW_WIRE_PAYLOAD_MOST)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': %zu numbers and their keys take more than 4 GiB", name,
                           options->count);
    if (options->any_number && options->content == HAWSER_VECTOR_DELTAS)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': `any_number` is for values, not for deltas", name);
    if (nodes > HW_VECTOR_REPLICAS)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': at most %d replicas, not %u", name, HW_VECTOR_REPLICAS,
                           nodes);
    HAWSER_TRY(read_sync(options, rules, error));
    HAWSER_TRY(check_dataflow(options, nodes, error));
    return check_rounding(options, error);
}

/* -------------------------------------------------------------------------------------------------- the same on all ---- */

static hawser_status differs(const vector_facts *first, const char *field, const char *one, const char *two, uint32_t node,
                             hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "vector '%s': `%s` is %s on node 0 and %s on node %u; every node must open the same vectors in the "
                       "same order",
                       first->name, field, one, two, node);
}

static hawser_status same_facts(const vector_facts *first, const vector_facts *other, uint32_t node, hawser_error *error)
{
    const struct {
        const char *field, *one, *two;
    } texts[] = {{"name", first->name, other->name},
                 {"type", first->type, other->type},
                 {"content", first->content, other->content},
                 {"dataflow", first->dataflow, other->dataflow},
                 {"sync", first->sync, other->sync},
                 {"waits", first->waits, other->waits},
                 {"any_number", first->any_number, other->any_number},
                 {"rounding", first->rounding, other->rounding}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].one, texts[i].two) != 0)
            return differs(first, texts[i].field, texts[i].one, texts[i].two, node, error);
    const struct {
        const char *field;
        uint64_t one, two;
    } counts[] = {{"count", first->count, other->count}, {"width", first->width, other->width}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char one[24], two[24];
        (void)snprintf(one, sizeof one, "%llu", (unsigned long long)counts[i].one);
        (void)snprintf(two, sizeof two, "%llu", (unsigned long long)counts[i].two);
        if (counts[i].one != counts[i].two)
            return differs(first, counts[i].field, one, two, node, error);
    }
    if (first->edges != other->edges)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': `edges` is another text on node 0 than on node %u",
                           first->name, node);
    return HAWSER_OK;
}

static void end_texts(vector_facts *facts)
{
    facts->name[sizeof facts->name - 1] = facts->type[sizeof facts->type - 1] = '\0';
    facts->content[sizeof facts->content - 1] = facts->dataflow[sizeof facts->dataflow - 1] = '\0';
    facts->sync[sizeof facts->sync - 1] = facts->waits[sizeof facts->waits - 1] = '\0';
    facts->any_number[sizeof facts->any_number - 1] = facts->rounding[sizeof facts->rounding - 1] = '\0';
}

static hawser_status same_on_all(const hawser_job *job, const hawser_vector_options *options, hawser_error *error)
{
    vector_facts own = {.count = options->count}, first, other;
    uint32_t nodes = hawser_job_nodes(job);
    hw_bytes *in = NULL;
    (void)snprintf(own.name, sizeof own.name, "%s", options->name);
    (void)snprintf(own.type, sizeof own.type, "%s", options->type == HAWSER_F32 ? "f32" : "f64");
    (void)snprintf(own.content, sizeof own.content, "%s", options->content == HAWSER_VECTOR_DELTAS ? "deltas" : "values");
    (void)!snprintf(own.dataflow, sizeof own.dataflow, "%s", options->dataflow != NULL ? options->dataflow : "all");
    (void)snprintf(own.sync, sizeof own.sync, "%s", options->sync != NULL ? options->sync : "tap");
    (void)snprintf(own.waits, sizeof own.waits, "%s", options->waits ? "true" : "false");
    (void)snprintf(own.any_number, sizeof own.any_number, "%s", options->any_number ? "true" : "false");
    (void)snprintf(own.rounding, sizeof own.rounding, "%s", hw_form_row_of((unsigned)options->rounding)->word);
    if (options->sparse)
        own.width = options->width > 0 ? options->width : 1;
    if (options->edges != NULL)
        own.edges = hw_hash(options->edges, strlen(options->edges), 1);
    HAWSER_TRY(HW_NEW(&in, nodes, "what all nodes open", error));
    hawser_status status = hw_cluster_allgather(job->cluster, (hw_bytes){&own, sizeof own}, in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < nodes; i++) {
        if (in[0].length != sizeof first || in[i].length != sizeof other) {
            status = hawser_fail(error, HAWSER_BAD_ARGUMENT, "node %u opens no vector while others do", i);
            break;
        }
        memcpy(&first, in[0].data, sizeof first);
        memcpy(&other, in[i].data, sizeof other);
        end_texts(&first);
        end_texts(&other);
        status = same_facts(&first, &other, i, error);
    }
    hw_bytes_free(in, nodes);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- graph ---- */

/* Reads the edges of a file, on node 0, as a text that ends with a zero. */
static hawser_status read_file(const char *name, const char *path, hw_bytes *text, hawser_error *error)
{
    size_t capacity = 0, used = 0;
    char *made = NULL;
    FILE *file = fopen(path, "r");
    hawser_status status = file != NULL ? HAWSER_OK : HAWSER_IO;
    for (size_t got = 1; status == HAWSER_OK && got > 0; used += got) {
        got = 0;
        status = HW_GROW(&made, &capacity, used + 4097, "a dataflow's text", error);
        if (status == HAWSER_OK)
            got = fread(made + used, 1, 4096, file);
    }
    if (file == NULL || ferror(file))
        status = hawser_fail(error, HAWSER_IO, "vector '%s': dataflow = file:%.400s: %s", name, path, strerror(errno));
    if (file != NULL)
        fclose(file);
    if (status != HAWSER_OK) {
        free(made);
        return status;
    }
    made[used] = '\0';
    *text = (hw_bytes){made, used + 1};
    return HAWSER_OK;
}

/* Stores the text of the edges, from malloc; NULL for a graph with a name. Collective. */
static hawser_status find_edges(hawser_job *job, const hawser_vector_options *options, hw_bytes *text, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    bool file = options->dataflow != NULL && strncmp(options->dataflow, "file:", 5) == 0;
    *text = (hw_bytes){0};
    if (options->edges != NULL) {
        char *copy = NULL;
        status = hw_copy_text(&copy, options->edges, error);
        *text = (hw_bytes){copy, copy != NULL ? strlen(copy) + 1 : 0};
    } else if (file && hawser_job_leads(job)) {
        status = read_file(options->name, options->dataflow + 5, text, error);
    }
    status = hw_cluster_agree(job->cluster, status, error);
    if (status == HAWSER_OK && file && job->cluster != NULL) {
        hw_bytes received;
        status = hw_job_send_all(job, *text, &received, error);
        if (status == HAWSER_OK && !hawser_job_leads(job))
            *text = received;
        if (status == HAWSER_OK && (text->length == 0 || ((char *)text->data)[text->length - 1] != '\0'))
            status = hawser_fail(error, HAWSER_INTERNAL, "vector '%s': node 0 has sent no edges", options->name);
    }
    return status;
}

static int by_number(const void *one, const void *two)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)two;
    return a < b ? -1 : a > b;
}

static hawser_status list_neighbours(hawser_vector *vector, const hw_topology *topology, hawser_error *error)
{
    uint32_t *next = NULL, nodes = vector->nodes;
    HAWSER_TRY(HW_NEW(&next, nodes, "the edges of a vector", error));
    hawser_status status = HW_NEW(&vector->sources, nodes, "the edges of a vector", error);
    HAWSER_THEN(status, HW_NEW(&vector->receivers, nodes, "the edges of a vector", error));
    for (uint32_t node = 0; status == HAWSER_OK && node < nodes; node++) {
        uint32_t count = hw_topology_children(topology, node, node, next);
        for (uint32_t i = 0; i < count; i++) {
            if (node == vector->self)
                vector->receivers[vector->receiver_count++] = next[i];
            else if (next[i] == vector->self)
                vector->sources[vector->source_count++] = node;
        }
    }
    free(next);
    if (status == HAWSER_OK)
        qsort(vector->receivers, vector->receiver_count, sizeof *vector->receivers, by_number);
    return status;
}

static hawser_status make_graph(hawser_vector *vector, const hawser_vector_options *options, const char *edges,
                                hawser_error *error)
{
    hw_topology *topology = NULL;
    uint32_t servers;
    const char *name = options->edges != NULL ? "of `edges`" : options->dataflow != NULL ? options->dataflow : "all";
    if (read_servers(options->dataflow, &servers)) /* through the servers each replica has the deltas of all */
        name = "all";
    hawser_error own = {0};
    hawser_status status = hw_topology_new(name, edges, vector->nodes, &topology, &own);
    if (status != HAWSER_OK)
        return hawser_fail(error, status, "vector '%s': %s", options->name, own.text);
    status = list_neighbours(vector, topology, error);
    hw_topology_free(topology);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- making ---- */

static const hw_channel vector_channel = {.name = "vectors", .kinds = {HW_MESSAGE_VECTOR}, .arrived = hw_vector_arrived};

static void free_vector(hawser_vector *vector)
{
    for (uint32_t i = 0; vector->in != NULL && i < vector->source_count; i++)
        hw_edge_in_free(&vector->in[i]);
    for (uint32_t i = 0; vector->out != NULL && i < vector->receiver_count; i++)
        hw_edge_out_free(&vector->out[i]);
    hw_vector_servers_close(vector);
    free(vector->in);
    free(vector->out);
    for (uint32_t i = 0; vector->left != NULL && i < vector->receiver_count; i++)
        free(vector->left[i]);
    free(vector->left);
    free(vector->terms);
    free(vector->parts);
    hw_vector_slots_free(vector);
    hw_pool_free(vector->pool);
    free(vector->places);
    free(vector->holds);
    free(vector->taken);
    hw_recorder_drop(vector->log);
    free(vector->recorded);
    free(vector->numbers);
    free(vector->closed);
    free(vector->sources);
    free(vector->receivers);
    pthread_mutex_destroy(&vector->calls);
    pthread_mutex_destroy(&vector->order);
    pthread_mutex_destroy(&vector->mutex);
    pthread_mutex_destroy(&vector->logging);
    free(vector);
}

/* Returns the bytes that the mean of a finish takes. */
static uint64_t mean_memory(const hawser_vector *vector)
{
    uint64_t piece = vector->slot < HW_VECTOR_PIECE ? vector->slot : HW_VECTOR_PIECE;
    return vector->deltas ? 0 : piece * (vector->self == 0 ? vector->nodes : 1) + (vector->sparse ? piece : 0);
}

static hawser_status count_servers(hawser_vector *vector, uint64_t others, hawser_error *error)
{
    double need = hw_vector_servers_memory(vector), limit = (double)vector->job->settings.memory;
    if (need + (double)others > limit)
        return hawser_fail(
            error, HAWSER_NO_MEMORY,
            "vector '%s': its table and three copies may take %.1f MiB, besides %.1f MiB of other vectors, and "
            "the limit is %.1f MiB; take more servers, or raise --memory-limit",
            vector->name, need / 0x1p20, (double)others / 0x1p20, limit / 0x1p20);
    vector->memory = (uint64_t)need;
    return HAWSER_OK;
}

/* Counts what the edges may keep. `others`: bytes of the other open vectors. */
static hawser_status count_memory(hawser_vector *vector, uint64_t others, hawser_error *error)
{
    /* Of each in-neighbour the items in flight and the one that a barrier or a finish flushes; of each out-neighbour one
     * that waits to be sent, and the scatter that is sent. */
    uint64_t slots = vector->rules.most + 1, bytes = vector->slot;
    double need = ((double)vector->source_count * (double)slots + vector->receiver_count + 1) * (double)bytes +
                  (double)mean_memory(vector);
    if (vector->sparse) /* two are merged into a third one, and rows that are held are known */
        need += (double)bytes + (double)vector->shape.rows;
    if (vector->rounding != HW_F64) /* what each edge has left, at both ends, and an item before it is rounded */
        need += (double)vector->receiver_count * (double)vector->bytes + ((double)vector->source_count + 1) * (double)bytes;
    uint64_t limit = vector->job->settings.memory;
    if (vector->nodes == 1)
        need = 0;
    if (need + (double)others > (double)limit)
        return hawser_fail(error, HAWSER_NO_MEMORY,
                           "vector '%s': %u in-neighbours with %llu slots of %.1f MiB each, and %u out-neighbours, may take "
                           "%.1f MiB, besides %.1f MiB of other vectors, and the limit is %.1f MiB; take a dataflow with "
                           "fewer edges, or raise --memory-limit",
                           vector->name, vector->source_count, (unsigned long long)slots, (double)bytes / 0x1p20,
                           vector->receiver_count, need / 0x1p20, (double)others / 0x1p20, (double)limit / 0x1p20);
    vector->memory = (uint64_t)need;
    return HAWSER_OK;
}

/* Makes slots if the limit has room for them, else there are messages. */
static hawser_status make_slots(hawser_vector *vector, uint64_t others, hawser_error *error)
{
    uint64_t bytes = hw_vector_slots_memory(vector), limit = vector->job->settings.memory;
    if (bytes > limit || vector->memory > limit - bytes || others > limit - bytes - vector->memory)
        bytes = 0;
    HAWSER_TRY(hw_vector_slots_new(vector, bytes, error));
    vector->memory += vector->slots.count > 0 ? bytes : 0;
    return HAWSER_OK;
}

/* Sent items leave their memory to later ones: new memory costs a page fault for every 4 KiB, more than the copy. The pool
 * keeps what count_memory counts: one item for each out-neighbour, and the scatter that is sent. */
static hawser_status make_pool(hawser_vector *vector, hawser_error *error)
{
    if (vector->sparse || vector->servers != NULL || vector->receiver_count == 0)
        return HAWSER_OK;
    HAWSER_TRY(hw_pool_new(&vector->pool, error));
    hw_pool_keep(vector->pool, (vector->receiver_count + (size_t)1) * vector->bytes);
    return HAWSER_OK;
}

/* Makes what each edge keeps of rounding. */
static hawser_status make_left(hawser_vector *vector, hawser_error *error)
{
    if (vector->rounding == HW_F64)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&vector->left, vector->receiver_count, "what rounding leaves", error));
    for (uint32_t i = 0; vector->left != NULL && i < vector->receiver_count; i++)
        HAWSER_TRY(HW_NEW(&vector->left[i], vector->bytes, "what rounding leaves", error));
    return HAWSER_OK;
}

static hawser_status make_edges(hawser_vector *vector, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&vector->in, vector->source_count, "the edges of a vector", error));
    HAWSER_TRY(HW_NEW(&vector->out, vector->receiver_count, "the edges of a vector", error));
    HAWSER_TRY(HW_NEW(&vector->taken, vector->source_count, "the edges of a vector", error));
    HAWSER_TRY(HW_NEW(&vector->numbers, vector->source_count, "the edges of a vector", error));
    HAWSER_TRY(HW_NEW(&vector->recorded, vector->source_count, "the edges of a vector", error));
    HAWSER_TRY(HW_NEW(&vector->closed, vector->nodes, "the edges of a vector", error));
    size_t terms = (size_t)vector->source_count * (vector->rules.most + 3) + 1;
    HAWSER_TRY(HW_NEW(&vector->terms, terms, "the edges of a vector", error));
    if (vector->sparse)
        HAWSER_TRY(HW_NEW(&vector->parts, terms, "the edges of a vector", error));
    if (vector->sparse)
        HAWSER_TRY(HW_NEW(&vector->places, terms, "the edges of a vector", error));
    if (vector->sparse && !vector->deltas)
        HAWSER_TRY(HW_NEW(&vector->holds, vector->shape.rows, "the rows of a vector", error));
    HAWSER_TRY(make_pool(vector, error));
    HAWSER_TRY(make_left(vector, error));
    for (uint32_t i = 0; i < vector->source_count; i++)
        vector->in[i].rules = &vector->rules;
    for (uint32_t i = 0; i < vector->receiver_count; i++)
        vector->out[i].rules = &vector->rules;
    return HAWSER_OK;
}

static hawser_status new_vector(hawser_job *job, const hawser_vector_options *options, const hw_edge_rules *rules,
                                uint32_t number, hawser_vector **out, hawser_error *error)
{
    hawser_vector *vector = NULL;
    HAWSER_TRY(HW_NEW(&vector, 1, "a vector", error));
    *vector = (hawser_vector){.job = job,
                              .number = number,
                              .self = hawser_job_node(job),
                              .nodes = hawser_job_nodes(job),
                              .type = options->type,
                              .count = options->count,
                              .bytes = options->count * hw_type_size(options->type),
                              .deltas = rules->deltas,
                              .any_number = options->any_number,
                              .sparse = options->sparse,
                              .form = options->rounding,
                              .rounding = hw_form_row_of((unsigned)options->rounding)->width,
                              .rules = *rules};
    (void)snprintf(vector->name, sizeof vector->name, "%s", options->name);
    uint32_t width = options->width > 0 ? options->width : 1;
    vector->shape = (hw_sparse_shape){
        .type = options->type, .width = width, .row = width * hw_type_size(options->type), .rows = options->count / width};
    vector->slot = options->sparse ? hw_sparse_bytes(&vector->shape, (size_t)vector->shape.rows) : vector->bytes;
    pthread_mutex_init(&vector->calls, NULL);
    pthread_mutex_init(&vector->order, NULL);
    pthread_mutex_init(&vector->logging, NULL);
    pthread_mutex_init(&vector->mutex, NULL);
    *out = vector;
    return HAWSER_OK;
}

/* Returns the job's open vectors, which it makes if there are none. */
static hawser_status open_hub(hawser_job *job, hw_vectors **out, hawser_error *error)
{
    hw_vectors *all = job->vectors;
    if (all == NULL) {
        HAWSER_TRY(HW_NEW(&all, 1, "the vectors of a job", error));
        all->job = job;
        pthread_mutex_init(&all->mutex, NULL);
        hawser_status status =
            job->cluster != NULL ? hw_cluster_open_channel(job->cluster, &vector_channel, all, error) : HAWSER_OK;
        if (status != HAWSER_OK) {
            pthread_mutex_destroy(&all->mutex);
            free(all);
            return status;
        }
        job->vectors = all;
    }
    *out = all;
    return HAWSER_OK;
}

/* Closes the channel with the last vector. */
static void close_hub(hawser_job *job)
{
    hw_vectors *all = job->vectors;
    if (all == NULL || all->first != NULL)
        return;
    if (job->cluster != NULL) {
        hw_cluster_close_channel(job->cluster, &vector_channel);
        hw_cluster_set_phase(job->cluster, "between two runs");
    }
    pthread_mutex_destroy(&all->mutex);
    free(all);
    job->vectors = NULL;
}

/* Adds the vector to the open ones, so that it receives. */
static hawser_status join_hub(hawser_vector *vector, hawser_error *error)
{
    hw_vectors *all = vector->all;
    for (const hawser_vector *other = all->first; other != NULL; other = other->next)
        if (strcmp(other->name, vector->name) == 0)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': another open vector has this name", vector->name);
    HAWSER_TRY(vector->servers != NULL ? count_servers(vector, all->memory, error)
                                       : count_memory(vector, all->memory, error));
    HAWSER_TRY(make_edges(vector, error));
    HAWSER_TRY(make_slots(vector, all->memory, error));
    pthread_mutex_lock(&all->mutex);
    vector->next = all->first;
    all->first = vector;
    all->memory += vector->memory;
    pthread_mutex_unlock(&all->mutex);
    return HAWSER_OK;
}

static void leave_hub(hawser_vector *vector)
{
    hw_vectors *all = vector->all;
    pthread_mutex_lock(&all->mutex);
    for (hawser_vector **at = &all->first; *at != NULL; at = &(*at)->next)
        if (*at == vector) {
            *at = vector->next;
            all->memory -= vector->memory;
            break;
        }
    pthread_mutex_unlock(&all->mutex);
}

/* Makes the vector on this node. Collective: the file of edges is sent. */
static hawser_status make(hawser_job *job, const hawser_vector_options *options, const hw_edge_rules *rules, uint32_t run,
                          hawser_vector **vector, hawser_error *error)
{
    hw_bytes text;
    hw_vectors *all = NULL;
    uint32_t servers;
    hawser_status status = find_edges(job, options, &text, error);
    HAWSER_THEN(status, new_vector(job, options, rules, job->vectors_opened, vector, error));
    HAWSER_THEN(status, make_graph(*vector, options, text.data, error));
    if (status == HAWSER_OK && read_servers(options->dataflow, &servers))
        status = hw_vector_servers_new(*vector, servers, error);
    HAWSER_THEN(status, hw_vector_record_open(*vector, run, error));
    HAWSER_THEN(status, open_hub(job, &all, error));
    if (status == HAWSER_OK) {
        (*vector)->all = all;
        status = join_hub(*vector, error);
    }
    free(text.data);
    return status;
}

static hawser_status open_on_all(hawser_job *job, const hawser_vector_options *options, hawser_vector **out,
                                 hawser_error *error)
{
    hw_edge_rules rules = {0};
    hawser_vector *vector = NULL;
    job->vectors_opened++;
    uint32_t run = hw_recorder_run(job->recorder);
    hawser_status own = check_options(options, hawser_job_nodes(job), &rules, error);
    HAWSER_TRY(hw_cluster_agree_call(job->cluster, "the opening of a vector", own, error));
    HAWSER_TRY(same_on_all(job, options, error));
    if (job->cluster != NULL)
        hw_cluster_set_phase(job->cluster, "using vectors");
    /* When all nodes have agreed, all receive. */
    hawser_status status = hw_cluster_agree(job->cluster, make(job, options, &rules, run, &vector, error), error);
    if (status == HAWSER_OK && vector->servers != NULL)
        status = hw_vector_servers_join(vector, error);
    HAWSER_THEN(status, hw_vector_slots_offer(vector, error));
    if (status == HAWSER_OK) {
        *out = vector;
        return HAWSER_OK;
    }
    if (vector != NULL && vector->all != NULL)
        leave_hub(vector);
    if (vector != NULL)
        free_vector(vector);
    close_hub(job);
    return status;
}

hawser_status hawser_vector_open(hawser_job *job, const hawser_vector_options *options, hawser_vector **vector,
                                 hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(options);
    HW_GIVEN(vector);
    *vector = NULL;
    HAWSER_TRY(hw_vector_outside(job, options->name != NULL ? options->name : "", "an opening", error));
    hw_job_cancellable(job, NULL);
    return hw_job_uncancellable(job, open_on_all(job, options, vector, error));
}

void hawser_vector_close(hawser_vector *vector)
{
    if (vector == NULL || !hw_is_origin(&vector->job->origin))
        return;
    hawser_job *job = vector->job;
    hawser_error ignored = {0};
    /* After a loss, of which all nodes hear by themselves, this would only hide the first cause. */
    if (!vector->finished && job->cluster != NULL && hw_cluster_lost_node(job->cluster) == HW_NET_ANY)
        (void)!hw_vector_say_all(vector, HW_VECTOR_CLOSED, &ignored);
    leave_hub(vector);
    free_vector(vector);
    close_hub(job);
}
