/* The link model of simulated clusters against formulas: one message, messages that meet at a link, within a host, order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "sim/network.h"
#include "sim/world.h"

enum { HOSTS = 4, ITEMS_MOST = 400 };
#define RATE    1e6 /* bytes per second */
#define LATENCY 1e-3
#define NEARBY  1e-4
#define WITHIN  1e8

typedef struct item {
    sim_item item;
    int number;
} item;

/* What was sent, and when it has arrived, in the order of arrival. */
typedef struct all_traffic {
    sim_channel channels[HOSTS][HOSTS];
    item items[ITEMS_MOST];
    int sent, arrived, numbers[ITEMS_MOST];
    double at[ITEMS_MOST];
    void (*plan)(struct all_traffic *traffic);
} all_traffic;

static all_traffic all;

static void arrived(sim_item *one)
{
    all.numbers[all.arrived] = ((item *)(void *)one)->number;
    all.at[all.arrived++] = 1e-9 * (double)(sim_now() - SIM_FIRST);
}

static void give(uint32_t from, uint32_t to, uint64_t bytes)
{
    item *one = &all.items[all.sent];
    *one = (item){.item = {.bytes = bytes, .arrived = arrived}, .number = all.sent};
    all.sent++;
    sim_send(&all.channels[from][to], &one->item);
}

static int sender(void *argument)
{
    all_traffic *how = argument;
    how->plan(how);
    (void)sim_wait(NULL, sim_now() + UINT64_C(1000000000000));
    return 0;
}

static void run(uint64_t seed, void (*plan)(all_traffic *traffic))
{
    const sim_rates rates = {RATE, WITHIN, LATENCY, NEARBY};
    all = (all_traffic){.plan = plan};
    for (uint32_t i = 0; i < HOSTS; i++)
        for (uint32_t k = 0; k < HOSTS; k++)
            all.channels[i][k] = (sim_channel){.from = i, .to = k};
    sim_open(seed, 1);
    sim_network_open(&rates, HOSTS);
    (void)sim_start(0, sender, &all);
    assert_int_equal(sim_run(SIM_NEVER), SIM_DONE);
    assert_int_equal(all.arrived, all.sent);
}

static void end(void)
{
    sim_network_close();
    sim_close();
}

/* Bytes on the wire: a head of 66 bytes for each 1,448. Frames are of two of these at this rate. */
static double wire(double bytes)
{
    return bytes + 66 * ceil(bytes / 1448);
}

/* Bytes by which a message is acknowledged. */
static double acknowledgements(double bytes)
{
    return 66 * floor(ceil(bytes / 1448) / 2);
}

static void assert_near(double seconds, double expected)
{
    if (fabs(seconds - expected) > 1e-6 * expected + 1e-7)
        fail_msg("%.9f s, and not %.9f", seconds, expected);
}

static void one_message(all_traffic *traffic)
{
    (void)traffic;
    give(0, 1, 1000000);
}

static void a_message_takes_its_bytes_and_the_latency(void **state)
{
    (void)state;
    run(0, one_message);
    assert_near(all.at[0], wire(1000000) / RATE + LATENCY);
    assert_int_equal(sim_link_bytes(0), (uint64_t)wire(1000000));
    assert_int_equal(sim_link_bytes(1), (uint64_t)acknowledgements(1000000));
    end();
}

static void two_to_one(all_traffic *traffic)
{
    (void)traffic;
    give(0, 2, 500000);
    give(1, 2, 500000);
}

static void one_to_two(all_traffic *traffic)
{
    (void)traffic;
    give(0, 1, 500000);
    give(0, 2, 500000);
}

static void messages_share_the_link_where_they_meet(void **state)
{
    (void)state;
    void (*const plans[])(all_traffic *) = {two_to_one, one_to_two};
    for (int p = 0; p < 2; p++) {
        run(0, plans[p]);
        double frame = wire(2896) / RATE, whole = 2 * wire(500000) / RATE + LATENCY;
        assert_near(all.at[1], whole);
        assert_true(all.at[0] >= whole - 2 * frame); /* they take turns, so both end late */
        end();
    }
}

static void apart(all_traffic *traffic)
{
    (void)traffic;
    give(0, 1, 500000);
    give(2, 3, 500000);
    give(1, 0, 500000);
}

/* But for the acknowledgements of what comes the other way, the last ones of which arrive too late to delay anything. */
static void other_links_and_directions_are_free(void **state)
{
    (void)state;
    const double alone = wire(500000), both = alone + acknowledgements(500000), late = 3 * 66;
    run(0, apart);
    assert_int_equal(all.numbers[0], 1);
    assert_near(all.at[0], alone / RATE + LATENCY);
    for (int i = 1; i < 3; i++)
        assert_true(all.at[i] <= both / RATE + LATENCY && all.at[i] >= (both - late) / RATE + LATENCY);
    end();
}

static void fast(all_traffic *traffic)
{
    (void)traffic;
    sim_set_link_rate(0, 1e9);
    give(0, 1, 3 * 65536);
    give(0, 2, 1);
}

/* A fast link sends 64 KiB of a message before it is another's turn, and no more. */
static void frames_are_no_larger_than_64_kib(void **state)
{
    (void)state;
    run(0, fast);
    assert_int_equal(all.numbers[0], 1);
    assert_near(all.at[0], wire(65536) / 1e9 + LATENCY + 67 / RATE);
    end();
}

static void within(all_traffic *traffic)
{
    (void)traffic;
    give(1, 1, 1000000);
}

static void a_host_has_no_link_to_itself(void **state)
{
    (void)state;
    run(0, within);
    double bytes = 1000000 + 66 * ceil(1000000. / 1448);
    assert_near(all.at[0], bytes / WITHIN + NEARBY);
    assert_int_equal(sim_link_bytes(1), 0);
    end();
}

static void slow(all_traffic *traffic)
{
    (void)traffic;
    sim_slow_link(0, 10);
    give(0, 1, 100000);
}

static void a_slow_link_takes_its_factor(void **state)
{
    (void)state;
    run(0, slow);
    assert_near(all.at[0], 10 * wire(100000) / RATE + LATENCY);
    end();
}

static void slow_beside_fast(all_traffic *traffic)
{
    (void)traffic;
    sim_slow_link(1, 10);
    give(0, 1, 1000000);
    give(0, 2, 1000000);
}

/* The window of the slow one fills, and then it leaves nine tenths of the up-link to the other. */
static void a_slow_receiver_leaves_the_link_to_others(void **state)
{
    (void)state;
    const double window = 4 * wire(65536), message = wire(1000000) / RATE;
    run(0, slow_beside_fast);
    assert_int_equal(all.numbers[0], 1);
    assert_true(all.at[0] > message + 0.9 * window / RATE);
    assert_true(all.at[0] < (message + 1.1 * window / RATE) / 0.9);
    assert_near(all.at[1], 10 * message + LATENCY);
    end();
}

static void many(all_traffic *traffic)
{
    (void)traffic;
    for (int i = 0; i < ITEMS_MOST; i++)
        give((uint32_t)(i % 2), (uint32_t)(i % 3), 24 + (uint64_t)(i * i * 37 % 90000));
}

static void messages_of_a_channel_keep_their_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        int last[6] = {-1, -1, -1, -1, -1, -1}, swapped = 0;
        run(seed, many);
        for (int i = 0; i < ITEMS_MOST; i++) {
            int channel = all.numbers[i] % 6;
            assert_true(all.numbers[i] > last[channel]);
            last[channel] = all.numbers[i];
            swapped += i > 0 && all.numbers[i] < all.numbers[i - 1];
        }
        assert_true(swapped > 10); /* of different channels they do not */
        end();
    }
}

static void cut_off(all_traffic *traffic)
{
    (void)traffic;
    sim_cut(&all.channels[0][1]);
    give(0, 1, 1000);
    give(1, 0, 1000);
    (void)sim_wait(NULL, sim_now() + 5000000000);
    assert_int_equal(all.arrived, 1);
    sim_heal(&all.channels[0][1]);
}

static void what_is_cut_off_arrives_when_it_is_healed(void **state)
{
    (void)state;
    run(0, cut_off);
    assert_near(all.at[1], 5);
    end();
}

static bool is_odd(void *unused, const sim_item *one)
{
    (void)unused;
    return ((const item *)(const void *)one)->number % 2 == 1;
}

static void taken_back(all_traffic *traffic)
{
    for (int i = 0; i < 6; i++)
        give(0, 1, 65536);
    sim_item *taken = sim_take_back(&all.channels[0][1], is_odd, NULL);
    for (; taken != NULL; taken = taken->next)
        traffic->sent--;
    give(0, 1, 65536);
}

static void what_was_not_sent_can_be_taken_back(void **state)
{
    (void)state;
    run(0, taken_back);
    assert_int_equal(all.arrived, 4);
    assert_near(all.at[3], wire(4 * 65536.) / RATE + LATENCY);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_takes_its_bytes_and_the_latency),
        cmocka_unit_test(messages_share_the_link_where_they_meet),
        cmocka_unit_test(other_links_and_directions_are_free),
        cmocka_unit_test(frames_are_no_larger_than_64_kib),
        cmocka_unit_test(a_host_has_no_link_to_itself),
        cmocka_unit_test(a_slow_link_takes_its_factor),
        cmocka_unit_test(a_slow_receiver_leaves_the_link_to_others),
        cmocka_unit_test(messages_of_a_channel_keep_their_order),
        cmocka_unit_test(what_is_cut_off_arrives_when_it_is_healed),
        cmocka_unit_test(what_was_not_sent_can_be_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
