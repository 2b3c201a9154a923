/* Replicas on threads of their own over the inproc transport, for the thread sanitizer; sums must be right too. */
#include <pthread.h>
#include <sched.h>

#include "exchange_cluster.h"

enum { BLOCKS = 3, CLOCKS = 12, LARGE = 9000 };

typedef struct worker {
    hw_transport *transport;
    hw_replica *replica;
    hw_policy policy;
    uint32_t block;
    hawser_error error;
} worker;

static hawser_status drain(worker *self)
{
    hw_message *message;
    while ((message = self->transport->ops->receive(self->transport, self->block)) != NULL)
        HAWSER_TRY(hw_replica_accept(self->replica, message, &self->error));
    sched_yield();
    return HAWSER_OK;
}

static hawser_status send_to_all(worker *self, hw_message *message)
{
    for (uint32_t b = 0; b < BLOCKS; b++) {
        hw_message *copy;
        if (b == self->block)
            continue;
        HAWSER_TRY(hw_message_share(message, &copy, &self->error));
        HAWSER_TRY(self->transport->ops->send(self->transport, self->block, b, copy, &self->error));
    }
    hw_message_free(message);
    return HAWSER_OK;
}

static hawser_status work(worker *self)
{
    hw_message *message;
    for (uint64_t clock = 0; clock < CLOCKS; clock++) {
        while (!hw_admit_read(self->policy, hw_replica_clocks(self->replica), clock))
            HAWSER_TRY(drain(self));
        HAWSER_TRY(hw_replica_merge(self->replica, clock, &self->error));
        for (size_t i = 0; i < LARGE; i++)
            cache_of(self->replica)[i] += (double)(self->block + 1 + i % 5);
        HAWSER_TRY(hw_replica_cut(self->replica, clock, true, false, &message, &self->error));
        HAWSER_TRY(send_to_all(self, message));
    }
    while (hw_clock_table_least(hw_replica_clocks(self->replica)) < CLOCKS)
        HAWSER_TRY(drain(self));
    return hw_replica_end(self->replica, CLOCKS, &self->error);
}

static void *thread(void *argument)
{
    worker *self = argument;
    self->error.status = work(self);
    return NULL;
}

static void run_threads(hw_policy policy)
{
    hawser_error error = {0};
    hw_transport *transport;
    worker workers[BLOCKS];
    pthread_t threads[BLOCKS];
    check(hw_inproc_new(BLOCKS + 1, &transport, &error), &error);
    for (uint32_t b = 0; b < BLOCKS; b++) {
        hw_replica_spec spec = {.name = "v", .count = LARGE, .block = b, .blocks = BLOCKS, .sources = BLOCKS};
        spec.rule = (hawser_rule){.damping = 1, .gain = 1};
        workers[b] = (worker){.transport = transport, .policy = policy, .block = b};
        check(hw_replica_new(&spec, &workers[b].replica, &error), &error);
        hw_replica_begin(workers[b].replica, 0, policy);
    }
    for (uint32_t b = 0; b < BLOCKS; b++)
        assert_int_equal(pthread_create(&threads[b], NULL, thread, &workers[b]), 0);
    for (uint32_t b = 0; b < BLOCKS; b++)
        pthread_join(threads[b], NULL);
    for (uint32_t b = 0; b < BLOCKS; b++) {
        check(workers[b].error.status, &workers[b].error);
        for (size_t i = 0; i < LARGE; i++) /* whole numbers: exact in any order */
            assert_true(base_of(workers[b].replica)[i] == CLOCKS * (6 + 3 * (double)(i % 5)));
        hw_replica_free(workers[b].replica);
    }
    transport->ops->free(transport);
}

static void blocks_on_threads_agree(void **state)
{
    (void)state;
    run_threads((hw_policy){HW_POLICY_BSP, 0});
    run_threads((hw_policy){HW_POLICY_SSP, 2});
    run_threads((hw_policy){HW_POLICY_TAP, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_on_threads_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
