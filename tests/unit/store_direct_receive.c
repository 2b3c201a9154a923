/* Answers whose values are read straight into the user's memory: they belong where the client says, which says so of nothing
 * but what was asked for, and nobody is at a task's memory when it has ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <unistd.h>

#include "hawser/store.h"
#include "nodes.h"
#include "runtime/store/hub.h"
#include "store_world.h"
#include "transport/net/fabric.h"

enum { KEYS = 1000, PART_KEYS = 64 };

/* What is known of a reply before its values are read. */
static hw_message *head_of(const hw_message *reply)
{
    hw_message *head = NULL;
    assert_int_equal(hw_message_new(HW_ANSWER_HEAD, &head, NULL), HAWSER_OK);
    memcpy(head->payload, reply->payload, HW_ANSWER_HEAD);
    head->envelope = reply->envelope;
    return head;
}

static world *open_pulled(uint32_t servers, double *values, double *out, uint64_t *task)
{
    world *w = open_world_of((world_shape){.seed = 3, .servers = servers, .clients = 1, .part = PART_KEYS});
    uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 0, KEYS - 1));
    for (int i = 0; i < KEYS; i++) {
        values[i] = i + 1;
        out[i] = -1;
    }
    submit(w, 0, (hw_order){.operation = HW_PUSH, .table = table, .last = KEYS - 1, .values = values});
    while (step(w))
        ;
    *task = submit(w, 0, (hw_order){.operation = HW_PULL, .table = table, .last = KEYS - 1, .out = out});
    while (hw_client_more(w->client[0]))
        ;
    for (uint32_t s = 0; s < servers; s++)
        while (w->there[0][s].first != NULL)
            assert_int_equal(hw_server_receive(w->server[s], 0, take(&w->there[0][s]), NULL), HAWSER_OK);
    while (w->ready_count > 0)
        hw_stripe_work(w->ready[--w->ready_count]);
    return w;
}

/* A place for this one, if any, is within `out`, and as long as what it says. */
static bool has_receive_buffer(const world *w, uint32_t server, const hw_message *head, const double *out)
{
    const unsigned char *place = hw_client_place(w->client[0], server, head), *first = (const unsigned char *)out;
    uint64_t bytes = head->envelope.length - HW_ANSWER_HEAD;
    if (place == NULL)
        return false;
    assert_true(place >= first && bytes % sizeof *out == 0 && bytes <= KEYS * sizeof *out);
    assert_true((size_t)(place - first) <= KEYS * sizeof *out - bytes);
    return true;
}

/* Every bit of a head changed, with the length that it was and the one that it says: no place but for another part of the
 * same length. */
static void distrust(const world *w, uint32_t server, const hw_message *reply, const double *out)
{
    for (size_t bit = 0; bit < 8 * (size_t)HW_ANSWER_HEAD; bit++) {
        hw_message *head = head_of(reply);
        hw_reply_head said;
        size_t byte = bit / 8;
        bool slice = byte >= offsetof(hw_reply_head, slice) && byte < offsetof(hw_reply_head, parts);
        bool unread = (byte >= offsetof(hw_reply_head, unused) && byte < offsetof(hw_reply_head, table)) ||
                      (byte >= offsetof(hw_reply_head, clock) && byte < offsetof(hw_reply_head, count));
        ((unsigned char *)head->payload)[byte] ^= (unsigned char)(1 << bit % 8);
        memcpy(&said, head->payload, sizeof said);
        assert_true(!has_receive_buffer(w, server, head, out) || slice || unread);
        head->envelope.length = HW_ANSWER_HEAD + said.value_bytes;
        assert_true(!has_receive_buffer(w, server, head, out) || slice || unread);
        hw_message_free(head);
    }
}

static void only_requested_rows_have_a_receive_buffer(void **state)
{
    (void)state;
    static double values[KEYS], out[KEYS];
    uint64_t task;
    world *w = open_pulled(2, values, out, &task);
    size_t parts = 0;
    for (uint32_t s = 0; s < 2; s++)
        while (w->back[0][s].first != NULL) {
            hw_message *reply = take(&w->back[0][s]), *head = head_of(reply);
            size_t bytes = (size_t)reply->envelope.length - HW_ANSWER_HEAD;
            distrust(w, s, reply, out);
            assert_null(hw_client_place(w->client[0], 1 - s, head));
            unsigned char *place = hw_client_place(w->client[0], s, head);
            assert_non_null(place);
            memcpy(place, (unsigned char *)reply->payload + HW_ANSWER_HEAD, bytes);
            head->tail = place;
            head->tail_length = bytes;
            head->tail_received = true;
            assert_int_equal(hw_client_receive(w->client[0], s, head, NULL), HAWSER_OK);
            head = head_of(reply);
            assert_null(hw_client_place(w->client[0], s, head)); /* it is there */
            hw_message_free(head);
            hw_message_free(reply);
            parts++;
        }
    assert_true(parts > KEYS / PART_KEYS);
    assert_true(w->ended[0][task] > 0);
    assert_int_equal(w->status[0][task], HAWSER_OK);
    assert_memory_equal(out, values, sizeof out);
    close_world(w);
}

/* What has been read to another place than the one that counts now is not what the task waits for. */
static void a_tail_in_another_buffer_is_refused(void **state)
{
    (void)state;
    static double values[KEYS], out[KEYS];
    uint64_t task;
    world *w = open_pulled(1, values, out, &task);
    hw_message *reply = take(&w->back[0][0]), *head = head_of(reply);
    double *elsewhere = malloc(sizeof out);
    head->tail = elsewhere;
    head->tail_length = (size_t)reply->envelope.length - HW_ANSWER_HEAD;
    head->tail_received = true;
    free(elsewhere); /* no thread reads it */
    assert_int_equal(hw_client_receive(w->client[0], 0, head, NULL), HAWSER_OK);
    hw_message_free(reply);
    while (step(w))
        ;
    assert_true(w->ended[0][task] > 0);
    assert_int_equal(w->status[0][task], HAWSER_BAD_INPUT);
    close_world(w);
}

static void a_failed_task_has_no_receive_buffer(void **state)
{
    (void)state;
    static double values[KEYS], out[KEYS];
    uint64_t task;
    world *w = open_pulled(1, values, out, &task);
    hw_message *head = head_of(w->back[0][0].first);
    hawser_error error = {0};
    (void)hawser_fail(&error, HAWSER_PEER_LOST, "somebody is lost");
    assert_non_null(hw_client_place(w->client[0], 0, head));
    hw_client_fail(w->client[0], HAWSER_PEER_LOST, &error);
    assert_int_equal(w->status[0][task], HAWSER_PEER_LOST);
    assert_null(hw_client_place(w->client[0], 0, head));
    hw_message_free(head);
    close_world(w);
}

/* ------------------------------------------------------------------------------------------------- under threads ---- */

#define MUST(call)                                                                                                          \
    do {                                                                                                                    \
        if ((call) != HAWSER_OK)                                                                                            \
            return;                                                                                                         \
    } while (0)

static const char *const plain[] = {"workers", "1", NULL};

typedef struct reader {
    hawser_store *store;
    hw_message *head;
    void *place;
    atomic_bool reads, ends;
} reader;

/* What the net's thread does while a read takes its time. */
static void *read_slowly(void *argument)
{
    reader *r = argument;
    r->place = hw_hub_acquire(r->store, 0, r->head);
    atomic_store(&r->reads, true);
    while (!atomic_load(&r->ends))
        usleep(1000);
    if (r->place != NULL)
        hw_hub_release(r->store);
    return NULL;
}

static void *lose(void *argument)
{
    hawser_error lost = {0};
    (void)hawser_fail(&lost, HAWSER_PEER_LOST, "somebody is lost");
    hw_hub_end(argument, &lost);
    return NULL;
}

/* Has the loss been seen? *ended: and the task ended. */
static bool is_lost(hawser_store *store, uint64_t task, bool *ended)
{
    pthread_mutex_lock(&store->mutex);
    bool lost = store->over;
    *ended = hw_client_ended(store->client, task);
    pthread_mutex_unlock(&store->mutex);
    return lost;
}

static hawser_status lose_while_reading(hawser_store *store, uint64_t task, hw_message *head, void *out, hawser_error *error)
{
    reader r = {.store = store, .head = head};
    pthread_t threads[2];
    bool ended = false;
    if (pthread_create(&threads[0], NULL, read_slowly, &r) != 0)
        return hawser_fail(error, HAWSER_INTERNAL, "no thread");
    while (!atomic_load(&r.reads))
        usleep(1000);
    bool right = r.place == out && pthread_create(&threads[1], NULL, lose, store) == 0;
    while (right && !is_lost(store, task, &ended))
        usleep(1000);
    usleep(50000); /* for the task to end too early, if it can */
    right = right && is_lost(store, task, &ended) && !ended;
    atomic_store(&r.ends, true);
    right = right && hawser_store_wait(store, task, error) == HAWSER_PEER_LOST;
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    right = right && hw_hub_acquire(store, 0, head) == NULL;
    return right ? HAWSER_OK : hawser_fail(error, HAWSER_INTERNAL, "a task ended while its memory was written to");
}

/* The store is lost while the net reads: the task ends when the read is over, and there is no place from then on. */
static void lost_body(test_node *node)
{
    hawser_store *store = NULL;
    double out[KEYS] = {0};
    uint32_t table = 0;
    uint64_t task = 0;
    MUST(node->status = hawser_store_open(node->job, NULL, &store, &node->error));
    MUST(node->status = hawser_store_table(store, &(hawser_table){.name = "t", .last = KEYS - 1}, &table, &node->error));
    const hawser_request request = {.table = table, .last = KEYS - 1, .out = out, .least = 1}; /* no worker ends a clock */
    MUST(node->status = hawser_pull(store, &request, &task, &node->error));
    hw_message *head = NULL;
    const hw_reply_head said = {.outcome = HW_APPLIED,
                                .values = HW_VALUES_DENSE,
                                .table = table,
                                .task = task,
                                .count = KEYS,
                                .value_bytes = sizeof out};
    MUST(node->status = hw_message_new(sizeof said, &head, &node->error));
    memcpy(head->payload, &said, sizeof said);
    head->envelope.length = sizeof said + sizeof out;
    node->status = lose_while_reading(store, task, head, out, &node->error);
    hw_message_free(head);
    hawser_store_close(store);
}

static void a_loss_waits_for_the_reader(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 1, plain, lost_body, NULL);
    if (nodes[0].status != HAWSER_OK)
        fail_msg("%s", nodes[0].error.text);
}

enum { LARGE_KEYS = 150000, PULLERS = 2, PULLS = 6 };

typedef struct puller {
    hawser_store *store;
    uint32_t table, seed;
    hawser_status status;
    hawser_error error;
} puller;

/* Ranges and lists of many lengths from memory that is full of something else, several at a time; what lies beside them
 * stays. */
static void *pull_all(void *argument)
{
    puller *p = argument;
    hw_random random = hw_random_at(p->seed, 5, 0, 0);
    float *out = malloc((LARGE_KEYS + 2) * sizeof *out);
    uint64_t *keys = malloc(LARGE_KEYS * sizeof *keys);
    for (int round = 0; round < PULLS && p->status == HAWSER_OK; round++) {
        uint64_t first = hw_random_below(&random, LARGE_KEYS / 4),
                 last = LARGE_KEYS - 1 - hw_random_below(&random, LARGE_KEYS / 4);
        uint64_t task, step = 1 + round % 2;
        size_t count = (size_t)((last - first) / step) + 1;
        for (size_t i = 0; i < count; i++)
            keys[i] = first + i * step;
        for (size_t i = 0; i < LARGE_KEYS + 2; i++)
            out[i] = -5;
        const hawser_request request = {
            .table = p->table, .keys = step > 1 ? keys : NULL, .count = count, .first = first, .last = last, .out = out + 1};
        p->status = hawser_pull(p->store, &request, &task, &p->error);
        if (p->status == HAWSER_OK)
            p->status = hawser_store_wait(p->store, task, &p->error);
        for (size_t i = 0; i < count && p->status == HAWSER_OK; i++)
            if (out[1 + i] != (float)(keys[i] + 1))
                p->status = hawser_fail(&p->error, HAWSER_INTERNAL, "key %zu is %g", (size_t)keys[i], (double)out[1 + i]);
        if (p->status == HAWSER_OK && (out[0] != -5 || out[1 + count] != -5))
            p->status = hawser_fail(&p->error, HAWSER_INTERNAL, "something was written beside what was asked for");
    }
    free(keys);
    free(out);
    return NULL;
}

static void pull_body(test_node *node)
{
    hawser_store *store = NULL;
    uint64_t task;
    puller pullers[PULLERS] = {0};
    pthread_t threads[PULLERS];
    const hawser_store_options options = {.servers = *(const uint32_t *)node->user};
    MUST(node->status = hawser_store_open(node->job, &options, &store, &node->error));
    const hawser_table table = {.name = "t", .type = HAWSER_F32, .last = LARGE_KEYS - 1};
    node->status = hawser_store_table(store, &table, &pullers[0].table, &node->error);
    float *values = malloc(LARGE_KEYS * sizeof *values);
    for (int i = 0; i < LARGE_KEYS; i++)
        values[i] = (float)(i + 1);
    const hawser_request all = {.table = pullers[0].table, .last = LARGE_KEYS - 1, .values = values};
    if (node->status == HAWSER_OK && node->node == node->nodes - 1)
        node->status = hawser_push(store, &all, &task, &node->error);
    if (node->status == HAWSER_OK && node->node == node->nodes - 1)
        node->status = hawser_store_wait(store, task, &node->error);
    for (uint32_t i = 0; i < PULLERS && node->node == node->nodes - 1; i++) {
        pullers[i] = (puller){.store = store, .table = pullers[0].table, .seed = i, .status = node->status};
        assert_int_equal(pthread_create(&threads[i], NULL, pull_all, &pullers[i]), 0);
    }
    for (uint32_t i = 0; i < PULLERS && node->node == node->nodes - 1; i++) {
        pthread_join(threads[i], NULL);
        if (node->status == HAWSER_OK && pullers[i].status != HAWSER_OK) {
            node->status = pullers[i].status;
            node->error = pullers[i].error;
        }
    }
    free(values);
    hawser_store_close(store);
}

static void ranges_are_exact_over_every_transport(void **state)
{
    static const char *const transports[] = {"tcp", "unix", "shm", "ucx"};
    for (size_t transport = 0; transport < sizeof transports / sizeof *transports - !*(bool *)*state; transport++)
        for (uint32_t servers = 1; servers <= 3; servers++) {
            const char *const pairs[] = {"workers", "1", "transport", transports[transport], NULL};
            test_node nodes[NODES_MOST];
            run_nodes(nodes, 3 + (servers == 3), pairs, pull_body, &servers);
            for (uint32_t i = 0; i < 3 + (servers == 3); i++)
                if (nodes[i].status != HAWSER_OK)
                    fail_msg("%s, %u servers: node %u: %s", transports[transport], servers, i, nodes[i].error.text);
        }
}

/* In the build and on the machine; asked before there are threads. */
static bool has_ucx(void)
{
    hw_fabric *fabric = NULL;
    hawser_error error;
    (void)setenv("UCX_MEM_MMAP_HOOK_MODE", "none", 0); /* its patches of mmap and ThreadSanitizer's do not go together */
    bool there = hw_fabric_new(false, &fabric, &error) == HAWSER_OK;
    if (!there)
        print_message("not by UCX: %s\n", error.text);
    hw_fabric_free(fabric);
    return there;
}

int main(void)
{
    static bool ucx;
    ucx = has_ucx();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_requested_rows_have_a_receive_buffer),
        cmocka_unit_test(a_tail_in_another_buffer_is_refused),
        cmocka_unit_test(a_failed_task_has_no_receive_buffer),
        cmocka_unit_test(a_loss_waits_for_the_reader),
        cmocka_unit_test_prestate(ranges_are_exact_over_every_transport, &ucx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
