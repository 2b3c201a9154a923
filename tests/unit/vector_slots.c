/* Items of vectors in slots of shared memory: what is in a slot stays until all receivers have gathered it, sums leave slots
 * alone, and memory that is not what was offered is not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "hawser/vector.h"
#include "nodes.h"
#include "runtime/vector/vector.h"

enum { COUNT = 5000, WIDE = 60000, PLACES = 3 };

static const char *const near[] = {"workers", "2", "timeout", "60", "transport", "shm", NULL};
static const char *const far[] = {"workers", "2", "timeout", "60", "transport", "tcp", NULL};
static const char *const narrow[] = {"workers", "2", "timeout", "60", "transport", "shm", "memory-limit", "3M", NULL};

/* Returns HAWSER_INTERNAL with the place of a mistake: a node's thread must not end the test. */
#define SEE(node, condition)                                                                                                \
    do {                                                                                                                    \
        if (!(condition))                                                                                                   \
            return hawser_fail(&(node)->error, HAWSER_INTERNAL, "line %d: %s", __LINE__, #condition);                       \
    } while (0)

typedef struct story {
    hawser_vector_options options;
    hawser_status (*act)(test_node *node, hawser_vector *vector);
} story;

static void body(test_node *node)
{
    const story *of = node->user;
    hawser_vector *vector = NULL;
    node->status = hawser_vector_open(node->job, &of->options, &vector, &node->error);
    /* The answer to an offer comes before what a node sends in its second barrier. */
    for (int i = 0; i < 2 && node->status == HAWSER_OK; i++)
        node->status = hawser_vector_barrier(vector, &node->error);
    if (node->status == HAWSER_OK)
        node->status = of->act(node, vector);
    hawser_vector_close(vector);
}

static void tell(const char *const *pairs, const story *of)
{
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 2, pairs, body, (void *)(uintptr_t)of);
    check_all(nodes, 2, of->options.name);
}

static void fill(float *array, float number)
{
    for (size_t i = 0; i < COUNT; i++)
        array[i] = number + (float)(i % 5);
}

static bool is_filled(const float *array, float number, float times)
{
    for (size_t i = 0; i < COUNT; i++)
        if (array[i] != number + times * (float)(i % 5))
            return false;
    return true;
}

static hawser_status scatter(test_node *node, hawser_vector *vector, uint64_t iteration, float number)
{
    float array[COUNT];
    fill(array, number);
    return hawser_vector_scatter(vector, &(hawser_scatter){.iteration = iteration, .values = array}, &node->error);
}

typedef struct heard {
    uint64_t items;
    bool whole;
} heard;

/* An item has its iteration as numbers. */
static hawser_status listen(void *user, void *array, const hawser_arrival *arrival)
{
    heard *all = user;
    (void)array;
    all->items++;
    all->whole = all->whole && is_filled(arrival->values, (float)arrival->iteration, 1);
    return HAWSER_OK;
}

/* Node 1 gathers when node 0 has scattered twice. */
static hawser_status two_in_flight(test_node *node, hawser_vector *vector)
{
    float array[COUNT] = {0};
    heard all = {0, true};
    const hawser_gather_function function = {listen, &all};
    SEE(node, vector->slots.count == 4 && vector->slots.reads[0] && vector->slots.descriptor < 0);
    for (uint64_t t = 0; t < 2 - node->node; t++) {
        HAWSER_TRY(scatter(node, vector, t, (float)t));
        if (node->node == 0)
            HAWSER_TRY(hawser_vector_gather(vector, t, HAWSER_GATHER_FUNCTION, &function, array, &node->error));
    }
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    if (node->node == 1)
        HAWSER_TRY(hawser_vector_gather(vector, 0, HAWSER_GATHER_FUNCTION, &function, array, &node->error));
    SEE(node, all.whole && (node->node == 0 || all.items == 2));
    return hawser_vector_finish(vector, array, &node->error);
}

static void test_a_slot_stays_until_it_is_gathered(void **state)
{
    (void)state;
    tell(near,
         &(story){{.name = "kept", .type = HAWSER_F32, .count = COUNT, .sync = "ssp:2", .content = HAWSER_VECTOR_DELTAS},
                  two_in_flight});
}

/* Of two scatters before a barrier the first one is in a slot, and the second one is added to it. */
static hawser_status sums(test_node *node, hawser_vector *vector)
{
    float array[COUNT];
    for (uint64_t round = 0; round < 4; round++) {
        HAWSER_TRY(scatter(node, vector, 2 * round, 10));
        HAWSER_TRY(scatter(node, vector, 2 * round + 1, 100));
        HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
        memset(array, 0, sizeof array);
        HAWSER_TRY(hawser_vector_gather(vector, 2 * round + 1, HAWSER_GATHER_SUM, NULL, array, &node->error));
        SEE(node, is_filled(array, 110, 2));
        HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    }
    return hawser_vector_finish(vector, array, &node->error);
}

static void test_sums_leave_slots_alone(void **state)
{
    (void)state;
    tell(near, &(story){{.name = "sums", .type = HAWSER_F32, .count = COUNT, .content = HAWSER_VECTOR_DELTAS}, sums});
}

/* Nobody gathers many scatters of values; the newest arrives whole. */
static hawser_status newest(test_node *node, hawser_vector *vector)
{
    float array[COUNT];
    for (uint64_t t = 0; t < 100; t++)
        HAWSER_TRY(scatter(node, vector, t, (float)t));
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    HAWSER_TRY(hawser_vector_gather(vector, 99, HAWSER_GATHER_REPLACE, NULL, array, &node->error));
    SEE(node, is_filled(array, 99, 1));
    return hawser_vector_finish(vector, array, &node->error);
}

static void test_the_newest_values_arrive(void **state)
{
    (void)state;
    tell(near, &(story){{.name = "newest", .type = HAWSER_F32, .count = COUNT}, newest});
}

static hawser_status without_slots(test_node *node, hawser_vector *vector)
{
    static const float sent[WIDE] = {7, 8};
    float array[WIDE] = {9, 10};
    SEE(node, vector->slots.count == 0 && !vector->slots.reads[0] && vector->memory <= 2 << 20);
    HAWSER_TRY(hawser_vector_scatter(vector, &(hawser_scatter){.values = sent}, &node->error));
    HAWSER_TRY(hawser_vector_gather(vector, 0, HAWSER_GATHER_AVERAGE, NULL, array, &node->error));
    SEE(node, array[0] == 8 && array[1] == 9 && array[WIDE - 1] == 0);
    return hawser_vector_finish(vector, array, &node->error);
}

static void test_slots_beyond_the_limit_are_not_made(void **state)
{
    (void)state;
    tell(narrow, &(story){{.name = "narrow", .type = HAWSER_F32, .count = WIDE, .sync = "bsp"}, without_slots});
}

/* Returns whether a vector reads from the memory of a descriptor, which it then leaves. */
static bool reads_from(hawser_vector *vector, int descriptor, const unsigned char *token)
{
    struct {
        uint64_t process, descriptor;
        unsigned char token[HW_VECTOR_TOKEN];
    } offer = {.process = (uint64_t)getpid(), .descriptor = (uint64_t)descriptor};
    memcpy(offer.token, token, sizeof offer.token);
    hw_message message = {.payload = &offer, .envelope.length = sizeof offer};
    bool reads = false;
    if (!hw_vector_slots_offered(vector, 0, &message, &reads))
        return false;
    hw_mapping *in = &vector->slots.in[0];
    hw_message item = {.envelope = {.range = 4, .span = 1}};
    reads = reads && in->data != NULL && !hw_vector_slots_take(vector, 0, &item); /* it has three */
    item.envelope.range = 3;
    reads = reads && hw_vector_slots_take(vector, 0, &item) && item.envelope.length == vector->bytes;
    reads = reads && !hw_vector_slots_take(vector, 0, &item); /* a payload and a slot */
    hw_mapping_free(in);
    return reads;
}

static hawser_status offers(test_node *node, hawser_vector *vector)
{
    hw_mapping mapping = {0}, other = {0};
    int right = -1, wrong = -1, file = open("/dev/null", O_RDWR | O_CLOEXEC);
    size_t stride = (COUNT * sizeof(float) + 4095) / 4096 * 4096;
    unsigned char token[HW_VECTOR_TOKEN] = {1, 2, 3};
    HAWSER_TRY(hw_mapping_new(4096 + PLACES * stride, &mapping, &right, &node->error));
    HAWSER_TRY(hw_mapping_new(4096 + (PLACES - 1) * stride, &other, &wrong, &node->error));
    memcpy(mapping.data, token, sizeof token);
    memcpy(other.data, token, sizeof token);
    bool reads = reads_from(vector, right, token), reads_file = reads_from(vector, file, token);
    bool reads_wrong = reads_from(vector, wrong, token);
    token[5] = 1;
    bool reads_other = reads_from(vector, right, token);
    close(right), close(wrong), close(file);
    hw_mapping_free(&mapping);
    hw_mapping_free(&other);
    SEE(node, reads && !reads_file && !reads_wrong && !reads_other && vector->slots.count == 0);
    float array[COUNT] = {0};
    return hawser_vector_finish(vector, array, &node->error);
}

static void test_other_memory_is_not_read(void **state)
{
    (void)state;
    tell(far, &(story){{.name = "offers", .type = HAWSER_F32, .count = COUNT}, offers});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_slot_stays_until_it_is_gathered), cmocka_unit_test(test_sums_leave_slots_alone),
        cmocka_unit_test(test_the_newest_values_arrive),          cmocka_unit_test(test_slots_beyond_the_limit_are_not_made),
        cmocka_unit_test(test_other_memory_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
