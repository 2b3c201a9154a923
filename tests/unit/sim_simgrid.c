/*
 * The link model of simulated clusters against SimGrid, whose model of TCP was fitted to a packet-level simulator. Messages
 * are much larger than a frame. Each must arrive within 10 % of the time that SimGrid gives it. The test is skipped without
 * libsimgrid-dev, and with a sanitizer, which does not know SimGrid's stacks.
 */
#include <stdio.h>

#ifndef HAWSER_SIMGRID
int main(void)
{
    puts("skipped: built without SimGrid (libsimgrid-dev), or with a sanitizer");
    return 77;
}
#else

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>

#include "sim/network.h"
#include "sim/world.h"

enum { HOSTS_MOST = 16, FLOWS_MOST = HOSTS_MOST * HOSTS_MOST };
#define BYTES     (4 << 20)
#define TOLERANCE 0.1

/* A message from a host to another, and when it has arrived. */
typedef struct flow {
    sim_item item;
    uint32_t from, to;
    double ours, theirs; /* seconds */
} flow;

typedef struct setting {
    const char *name;
    uint32_t hosts;
    double rate, latency; /* bytes per second of a link, seconds between two hosts */
    double slow;          /* the links of host 1 are this many times slower; 0: as fast as the others */
} setting;

typedef struct traffic {
    setting setting;
    uint32_t count;
    flow flows[FLOWS_MOST];
} traffic;

static traffic *all; /* shared with the process that runs SimGrid */

/* ------------------------------------------------------------------------------------------------------- SimGrid ---- */

static double rate_of(const setting *s, uint32_t host)
{
    return host == 1 && s->slow > 0 ? s->rate / s->slow : s->rate;
}

/* Each pair of hosts is joined by the up-link of one and the down-link of the other. */
static void write_platform(const setting *s, FILE *file)
{
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\">\n<zone id=\"box\" routing=\"Full\">\n",
          file);
    for (uint32_t i = 0; i < s->hosts; i++)
        fprintf(file, "<host id=\"h%u\" speed=\"1Gf\"/>\n", i);
    for (uint32_t i = 0; i < s->hosts; i++)
        fprintf(file, "<link id=\"l%u\" bandwidth=\"%.17gBps\" latency=\"%.17gs\" sharing_policy=\"SPLITDUPLEX\"/>\n", i,
                rate_of(s, i), s->latency / 2);
    for (uint32_t i = 0; i < s->hosts; i++)
        for (uint32_t k = i + 1; k < s->hosts; k++)
            fprintf(file,
                    "<route src=\"h%u\" dst=\"h%u\"><link_ctn id=\"l%u\" direction=\"UP\"/><link_ctn id=\"l%u\" "
                    "direction=\"DOWN\"/></route>\n",
                    i, k, i, k);
    fputs("</zone>\n</platform>\n", file);
}

static void send_one(int count, char **words)
{
    flow *one = &all->flows[atoi(words[1])];
    char name[2][16];
    (void)count;
    (void)snprintf(name[0], sizeof name[0], "h%u", one->from);
    (void)snprintf(name[1], sizeof name[1], "h%u", one->to);
    sg_host_sendto(sg_host_by_name(name[0]), sg_host_by_name(name[1]), BYTES);
    one->theirs = simgrid_get_clock();
}

/* By default SimGrid gives a flow over a slow link less than its share of fast ones, and Linux does not
 * (docs/simulation.md). */
static void run_simgrid(void)
{
    char *arguments[] = {"test", "--log=root.threshold:error", "--cfg=network/weight-S:0", NULL};
    char path[] = "/tmp/hawser-simgrid-XXXXXX.xml";
    int count = 3, descriptor = mkstemps(path, 4);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (file == NULL)
        abort();
    write_platform(&all->setting, file);
    fclose(file);
    simgrid_init(&count, arguments);
    simgrid_load_platform(path);
    unlink(path);
    for (uint32_t i = 0; i < all->count; i++) {
        char number[16];
        const char *words[] = {"send", number, NULL};
        (void)snprintf(number, sizeof number, "%u", i);
        (void)sg_actor_create_("send", sg_host_by_name("h0"), send_one, 2, words);
    }
    simgrid_run();
}

/* SimGrid has one engine per process. */
static void ask_simgrid(void)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        run_simgrid();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ------------------------------------------------------------------------------------------------- the simulator ---- */

static void arrived(sim_item *item)
{
    ((flow *)(void *)item)->ours = 1e-9 * (double)(sim_now() - SIM_FIRST);
}

static int send_all(void *unused)
{
    static sim_channel channels[HOSTS_MOST][HOSTS_MOST];
    (void)unused;
    for (uint32_t i = 0; i < HOSTS_MOST; i++)
        for (uint32_t k = 0; k < HOSTS_MOST; k++)
            channels[i][k] = (sim_channel){.from = i, .to = k};
    for (uint32_t i = 0; i < all->setting.hosts; i++)
        sim_set_link_rate(i, rate_of(&all->setting, i));
    for (uint32_t i = 0; i < all->count; i++) {
        flow *one = &all->flows[i];
        one->item = (sim_item){.bytes = BYTES, .arrived = arrived};
        sim_send(&channels[one->from][one->to], &one->item);
    }
    (void)sim_wait(NULL, sim_now() + UINT64_C(1000000000000));
    return 0;
}

static void run_own(void)
{
    const sim_rates rates = {.link = all->setting.rate, .latency = all->setting.latency};
    sim_open(0, 1);
    sim_network_open(&rates, all->setting.hosts);
    (void)sim_start(0, send_all, NULL);
    assert_int_equal(sim_run(SIM_NEVER), SIM_DONE);
    sim_network_close();
    sim_close();
}

/* ---------------------------------------------------------------------------------------------------- the patterns ---- */

typedef bool pattern(uint32_t hosts, uint32_t from, uint32_t to);

static bool one_to_one(uint32_t hosts, uint32_t from, uint32_t to)
{
    (void)hosts;
    return from == 0 && to == 1;
}

static bool many_to_one(uint32_t hosts, uint32_t from, uint32_t to)
{
    (void)hosts;
    return from != to && to == 0;
}

static bool one_to_many(uint32_t hosts, uint32_t from, uint32_t to)
{
    (void)hosts;
    return from != to && from == 0;
}

static bool all_to_all(uint32_t hosts, uint32_t from, uint32_t to)
{
    (void)hosts;
    return from != to;
}

static bool ring(uint32_t hosts, uint32_t from, uint32_t to)
{
    return to == (from + 1) % hosts;
}

/* Host 0 receives from all others, so the flow from host 2 to host 3 gets more than half of its up-link. */
static bool beside_many(uint32_t hosts, uint32_t from, uint32_t to)
{
    (void)hosts;
    return (to == 0 && from > 0) || (from == 2 && to == 3);
}

static const setting settings[] = {
    {.name = "4 hosts, 1 Gbit/s", .hosts = 4, .rate = 125e6, .latency = 50e-6},
    {.name = "8 hosts, 100 Mbit/s", .hosts = 8, .rate = 12.5e6, .latency = 100e-6},
    {.name = "16 hosts, 10 Mbit/s", .hosts = 16, .rate = 1.25e6, .latency = 1e-3},
    {.name = "8 hosts, 1 Gbit/s, one a quarter of it", .hosts = 8, .rate = 125e6, .latency = 50e-6, .slow = 4},
    {.name = "5 hosts, 100 Mbit/s, one a tenth of it", .hosts = 5, .rate = 12.5e6, .latency = 1e-3, .slow = 10},
};

/* Runs the pattern in each setting on both, and compares when each message has arrived. */
static void compare(const char *name, pattern *has)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        double worst = 0, last[2] = {0, 0};
        *all = (traffic){.setting = settings[i]};
        for (uint32_t from = 0; from < settings[i].hosts; from++)
            for (uint32_t to = 0; to < settings[i].hosts; to++)
                if (has(settings[i].hosts, from, to))
                    all->flows[all->count++] = (flow){.from = from, .to = to};
        ask_simgrid();
        run_own();
        for (uint32_t k = 0; k < all->count; k++) {
            const flow *one = &all->flows[k];
            if (fabs(one->ours / one->theirs - 1) > TOLERANCE)
                fail_msg("%s, %s: the message from %u to %u arrives at %g s, and by SimGrid at %g s", name, settings[i].name,
                         one->from, one->to, one->ours, one->theirs);
            worst = fmax(worst, fabs(one->ours / one->theirs - 1));
            last[0] = fmax(last[0], one->ours);
            last[1] = fmax(last[1], one->theirs);
        }
        print_message("%s, %s: %.4f s, SimGrid %.4f s; a message differs by at most %.1f %%\n", name, settings[i].name,
                      last[0], last[1], 100 * worst);
    }
}

static void patterns_end_when_simgrid_says(void **state)
{
    (void)state;
    compare("one to one", one_to_one);
    compare("many to one", many_to_one);
    compare("one to many", one_to_many);
    compare("all to all", all_to_all);
    compare("ring", ring);
}

/* A sender does not wait for a slow receiver when it has something for another one. */
static void flows_leave_what_they_do_not_use(void **state)
{
    (void)state;
    compare("one beside many to one", beside_many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_end_when_simgrid_says),
        cmocka_unit_test(flows_leave_what_they_do_not_use),
    };
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
