/* alltoall.c - sends bytes from every node to every node, between runs: this brings the input to the nodes that need it.
 * What all nodes send to all goes over a tree (allgather.c) if there are more than a few. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cluster/internal.h"

/* Up to so many nodes send what is for all directly. More use the tree: two or four steps, but N (N - 1) messages fewer. */
enum { DIRECT_MOST = 4 };

static hawser_status receive_block(hw_cluster *cluster, uint32_t node, hw_bytes *in, hawser_error *error)
{
    hw_message *list = NULL;
    pthread_mutex_lock(&cluster->mutex);
    hawser_status status = hw_cluster_wait(cluster, hw_cluster_block_is_whole, node, cluster->alltoall_timeout, true, error);
    if (status == HAWSER_OK)
        list = hw_cluster_take_block(cluster, node);
    pthread_mutex_unlock(&cluster->mutex);
    return status == HAWSER_OK ? hw_cluster_unpack(cluster, node, HW_DATA_BLOCK, list, in, error) : status;
}

static hawser_status copy_own(hw_bytes out, hw_bytes *in, hawser_error *error)
{
    HAWSER_TRY(hw_new_array(&in->data, out.length, 1, "a part of the input", error));
    if (out.length != 0)
        memcpy(in->data, out.data, out.length);
    in->length = out.length;
    return HAWSER_OK;
}

/* Sends out[d * step] to node d; step 0: the same to all. `taken` is NULL, or equal to `out`: then each block is freed once
 * it was sent. */
static hawser_status trade(hw_cluster *cluster, const hw_bytes *out, size_t step, hw_bytes *taken, hw_bytes *in,
                           hawser_error *error)
{
    uint32_t nodes = cluster->nodes, self = cluster->self;
    for (uint32_t i = 1; i < nodes; i++) {
        uint32_t node = (self + i) % nodes;
        HAWSER_TRY(hw_cluster_send_block(cluster, node, out[node * step], HW_DATA_BLOCK, error));
        if (taken == NULL)
            continue;
        free(taken[node].data);
        taken[node] = (hw_bytes){0};
    }
    if (taken == NULL)
        HAWSER_TRY(copy_own(out[self * step], &in[self], error));
    if (taken != NULL) {
        in[self] = taken[self];
        taken[self] = (hw_bytes){0};
    }
    for (uint32_t i = 1; i < nodes; i++)
        HAWSER_TRY(receive_block(cluster, (self + nodes - i) % nodes, &in[(self + nodes - i) % nodes], error));
    return HAWSER_OK;
}

/* After a failure in the middle of a collective call no other can follow: its blocks would be those of a call that others
 * have not made yet. They receive at once that this node leaves, unless the failure is a loss or a timeout, which they find
 * themselves. */
static void leave(hw_cluster *cluster, hawser_status status, const hawser_error *error)
{
    char words[sizeof cluster->words];
    const bool ends = status != HAWSER_PEER_LOST && status != HAWSER_TIMEOUT;
    if (status == HAWSER_STOP)
        snprintf(words, sizeof words, "it was cancelled while it was %.150s", cluster->doing);
    else
        snprintf(words, sizeof words, "%.*s", (int)sizeof words - 1,
                 error != NULL ? error->text : hawser_status_name(status));
    hw_cluster_set_reason(cluster, words);
    pthread_mutex_lock(&cluster->mutex);
    cluster->failed = status;
    cluster->cancelled |= ends;
    pthread_mutex_unlock(&cluster->mutex);
    if (ends)
        hw_cluster_say_end(cluster);
}

hawser_status hw_cluster_fail_again(const hw_cluster *cluster, hawser_error *error)
{
    return cluster->failed == HAWSER_STOP
               ? hawser_fail(error, HAWSER_STOP, "a collective call of this job was cancelled; close the job")
               : hawser_fail(error, cluster->failed, "a collective call of this job has failed: %s; close the job",
                             cluster->words);
}

/* Begins a collective call. A node that knows of a loss begins none: the others may be in another call, as above. */
static hawser_status enter(hw_cluster *cluster, hw_call_kind call, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&cluster->mutex);
    const bool failed = cluster->failed != HAWSER_OK, lost = !failed && hw_cluster_is_lost(cluster);
    if (failed) {
        status = hw_cluster_fail_again(cluster, error);
    } else if (lost) {
        hw_cluster_await_losses(cluster);
        status = hw_cluster_fail_lost(cluster, error);
    } else {
        cluster->rounds++;
        cluster->call = call;
    }
    pthread_mutex_unlock(&cluster->mutex);
    if (lost)
        leave(cluster, status, error);
    return status;
}

static hawser_status finish(hw_cluster *cluster, hawser_status status, hw_bytes *in, hawser_error *error)
{
    if (status == HAWSER_OK) {
        pthread_mutex_lock(&cluster->mutex);
        cluster->completed = cluster->rounds;
        pthread_mutex_unlock(&cluster->mutex);
        return HAWSER_OK;
    }
    leave(cluster, status, error);
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        free(in[i].data);
        in[i] = (hw_bytes){0};
    }
    return status;
}

static hawser_status trade_all(hw_cluster *cluster, const hw_bytes *out, hw_bytes *taken, hw_bytes *in, hawser_error *error)
{
    memset(in, 0, (cluster != NULL ? cluster->nodes : 1) * sizeof *in);
    if (cluster == NULL)
        return copy_own(out[0], &in[0], error);
    HAWSER_TRY(enter(cluster, HW_CALL_ALLTOALL, error));
    return finish(cluster, trade(cluster, out, 1, taken, in, error), in, error);
}

hawser_status hw_cluster_alltoall(hw_cluster *cluster, const hw_bytes *out, hw_bytes *in, hawser_error *error)
{
    return trade_all(cluster, out, NULL, in, error);
}

/* ---------------------------------------------------------------------------------------------------------- drain ---- */

/* Sends a mark over each link, behind what was sent there before. To a node without a link nothing was sent. */
static hawser_status send_marks(hw_cluster *cluster, hawser_error *error)
{
    for (uint32_t i = 1; i < cluster->nodes; i++) {
        const uint32_t node = (cluster->self + i) % cluster->nodes;
        const bool linked = hw_net_linked(cluster->net, node);
        pthread_mutex_lock(&cluster->mutex);
        cluster->joiners[node].marked = linked;
        pthread_mutex_unlock(&cluster->mutex);
        if (linked)
            HAWSER_TRY(hw_cluster_send_block(cluster, node, (hw_bytes){0}, HW_DATA_MARK, error));
    }
    return HAWSER_OK;
}

static bool has_acknowledged(const hw_cluster *cluster, uint32_t node)
{
    return !cluster->joiners[node].marked;
}

static hawser_status await_acknowledgements(hw_cluster *cluster, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&cluster->mutex);
    for (uint32_t node = 0; node < cluster->nodes && status == HAWSER_OK; node++)
        status = hw_cluster_wait(cluster, has_acknowledged, node, cluster->alltoall_timeout, true, error);
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}

/* What a node has sent has arrived once its marks are acknowledged, and everything once all nodes say so. Few nodes agree by
 * messages of their own to each other, which stay behind what was sent before. */
hawser_status hw_cluster_drain(hw_cluster *cluster, hawser_error *error)
{
    hw_bytes *in = NULL;
    if (cluster == NULL || cluster->nodes <= DIRECT_MOST)
        return HAWSER_OK;
    HAWSER_TRY(enter(cluster, HW_CALL_DRAIN, error));
    hawser_status status = HW_NEW(&in, cluster->nodes, "the nodes of a job", error);
    if (status != HAWSER_OK) {
        leave(cluster, status, error); /* the others wait for it */
        return status;
    }
    status = send_marks(cluster, error);
    HAWSER_THEN(status, await_acknowledgements(cluster, error));
    HAWSER_THEN(status, hw_cluster_gather(cluster, "", (hw_bytes){0}, in, error));
    status = finish(cluster, status, in, error);
    hw_bytes_free(in, cluster->nodes);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- to all ---- */

hawser_status hw_cluster_hand_over(hw_cluster *cluster, hw_bytes *out, hw_bytes *in, hawser_error *error)
{
    return trade_all(cluster, out, out, in, error);
}

static hawser_status gather(hw_cluster *cluster, hw_call_kind call, const char *name, hw_bytes own, hw_bytes *in,
                            hawser_error *error)
{
    memset(in, 0, (cluster != NULL ? cluster->nodes : 1) * sizeof *in);
    if (cluster == NULL)
        return copy_own(own, &in[0], error);
    HAWSER_TRY(enter(cluster, call, error));
    hawser_status status = cluster->nodes <= DIRECT_MOST ? trade(cluster, &own, 0, NULL, in, error)
                                                         : hw_cluster_gather(cluster, name, own, in, error);
    return finish(cluster, status, in, error);
}

hawser_status hw_cluster_allgather(hw_cluster *cluster, hw_bytes own, hw_bytes *in, hawser_error *error)
{
    return gather(cluster, HW_CALL_ALLGATHER, "", own, in, error);
}

/* Fails with the text of this node, or with that of another node, which the launcher learns as well. To other nodes a
 * cancelled node is one that has failed: only its own caller has asked for the end. */
static hawser_status fail_as(hw_cluster *cluster, uint32_t node, const hawser_error *said, hawser_error *error)
{
    if (node == cluster->self)
        return hawser_fail(error, said->status, "%s", said->text);
    pthread_mutex_lock(&cluster->mutex);
    hw_cluster_blame(cluster, node, said->text);
    pthread_mutex_unlock(&cluster->mutex);
    const char *name = hw_cluster_name(cluster, node);
    if (said->status == HAWSER_STOP)
        return hawser_fail(error, HAWSER_PEER_LOST, "node %u (%s) was cancelled while it was %s: %s", node, name,
                           cluster->doing, said->text);
    return hawser_fail(error, said->status, "node %u (%s): %s", node, name, said->text);
}

/* What a node says where all agree. */
typedef struct node_word {
    hawser_error said;
    char call[HW_CALL_NAME];
    bool marked;
} node_word;

/* As it is sent: this, and then both texts, each with its zero. */
typedef struct word_head {
    int32_t status;
    uint32_t marked;
} word_head;

enum { WORD_MOST = sizeof(word_head) + HW_CALL_NAME + sizeof(((hawser_error *)0)->text) };

static hw_bytes write_word(const node_word *word, char space[WORD_MOST])
{
    word_head head = {.status = word->said.status, .marked = word->marked};
    const size_t call = strlen(word->call) + 1, text = strlen(word->said.text) + 1;
    memcpy(space, &head, sizeof head);
    memcpy(space + sizeof head, word->call, call);
    memcpy(space + sizeof head + call, word->said.text, text);
    return (hw_bytes){space, sizeof head + call + text};
}

/* Returns false if no node has written these bytes. */
static bool read_word(hw_bytes bytes, node_word *word)
{
    word_head head;
    const char *at = (const char *)bytes.data + sizeof head;
    *word = (node_word){0};
    if (bytes.length < sizeof head + 2 || at[bytes.length - sizeof head - 1] != '\0')
        return false;
    memcpy(&head, bytes.data, sizeof head);
    const size_t call = strlen(at) + 1;
    if (sizeof head + call >= bytes.length)
        return false;
    word->said.status = (hawser_status)head.status;
    word->marked = head.marked != 0;
    (void)snprintf(word->call, sizeof word->call, "%s", at);
    (void)snprintf(word->said.text, sizeof word->said.text, "%s", at + call);
    return true;
}

static bool has_failed(const node_word *word)
{
    const hawser_status status = word->said.status;
    return (status < HAWSER_OK && status >= HAWSER_INTERNAL) || status == HAWSER_STOP;
}

/* Fails if another node makes another call than this one, which would take its answer for that of its own call. */
static hawser_status same_call(const hw_cluster *cluster, const char *own, const hw_bytes *in, hawser_error *error)
{
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        node_word other;
        if (!read_word(in[i], &other) || strcmp(other.call, own) != 0)
            return hw_cluster_fail_calls(cluster, own, i, other.call, error);
    }
    return HAWSER_OK;
}

static hawser_status agree(hw_cluster *cluster, const char *call, hawser_status own, bool mark, bool *marked,
                           hawser_error *error)
{
    *marked = mark;
    if (cluster == NULL)
        return mark ? HAWSER_OK : own;
    node_word word = {.marked = mark}, other;
    char space[WORD_MOST];
    hw_bytes *in = NULL;
    if (own != HAWSER_OK && error != NULL)
        word.said = *error;
    word.said.status = own;
    (void)snprintf(word.call, sizeof word.call, "%s", call);
    hawser_status status = HW_NEW(&in, cluster->nodes, "what all nodes say", error);
    if (status != HAWSER_OK) {
        leave(cluster, status, error);
        return status;
    }
    status = gather(cluster, HW_CALL_AGREE, word.call, write_word(&word, space), in, error);
    /* Others have received this failure and left before all blocks arrived here. */
    if (status != HAWSER_OK && own != HAWSER_OK)
        status = hawser_fail(error, own, "%s", word.said.text);
    for (uint32_t i = 0; status == HAWSER_OK && i < cluster->nodes; i++)
        *marked |= read_word(in[i], &other) && other.marked;
    for (uint32_t i = 0; status == HAWSER_OK && i < cluster->nodes; i++) {
        if (!read_word(in[i], &other))
            continue;
        bool counts = own == HAWSER_STOP ? i == cluster->self : !*marked || other.said.status == HAWSER_STOP;
        if (has_failed(&other) && counts)
            status = fail_as(cluster, i, &other.said, error);
    }
    HAWSER_THEN(status, same_call(cluster, word.call, in, error));
    hw_bytes_free(in, cluster->nodes);
    return status;
}

hawser_status hw_cluster_agree_marked(hw_cluster *cluster, hawser_status own, bool mark, bool *marked, hawser_error *error)
{
    return agree(cluster, "", own, mark, marked, error);
}

hawser_status hw_cluster_agree(hw_cluster *cluster, hawser_status own, hawser_error *error)
{
    bool marked;
    return agree(cluster, "", own, false, &marked, error);
}

hawser_status hw_cluster_agree_call(hw_cluster *cluster, const char *call, hawser_status own, hawser_error *error)
{
    bool marked;
    return agree(cluster, call, own, false, &marked, error);
}
