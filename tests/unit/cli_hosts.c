/* The list of hosts of `hawser run --hosts`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cli/run/hosts.h"
#include "directory.h"

static hawser_status read_text(hw_hosts *hosts, const char *text, hawser_error *error)
{
    put_file("hosts", text);
    *hosts = (hw_hosts){0};
    return hw_hosts_read(hosts, "hosts", error);
}

static void every_form_is_read(void **state)
{
    (void)state;
    hw_hosts hosts;
    hawser_error error;
    uint32_t nodes = 0;
    char name[64];
    static const char text[] =
        "# the cluster\nash\n  joe@birch slots=3 # big\n\ncedar:2\nfe80::1\n[::1]:4\n10.0.0.7\t slots=1";
    static const struct {
        const char *name;
        uint32_t slots, first;
    } expected[] = {{"ash", 1, 0},     {"joe@birch", 3, 1}, {"cedar", 2, 4},
                    {"fe80::1", 1, 6}, {"::1", 4, 7},       {"10.0.0.7", 1, 11}};
    assert_int_equal(read_text(&hosts, text, &error), HAWSER_OK);
    assert_int_equal(hosts.count, 6);
    assert_int_equal(hw_hosts_fill(&hosts, &nodes, &error), HAWSER_OK);
    assert_int_equal(nodes, 12);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(hosts.list[i].name, expected[i].name);
        assert_int_equal(hosts.list[i].slots, expected[i].slots);
        assert_int_equal(hosts.list[i].first, expected[i].first);
        assert_int_equal(hosts.list[i].count, expected[i].slots);
    }
    hw_hosts_name(&hosts, &hosts.list[0], 0, name, sizeof name);
    assert_string_equal(name, "ash");
    hw_hosts_name(&hosts, &hosts.list[1], 3, name, sizeof name);
    assert_string_equal(name, "birch-3");
    hw_hosts_free(&hosts);
}

static void fewer_nodes_fill_hosts_in_order(void **state)
{
    (void)state;
    hw_hosts hosts;
    hawser_error error;
    uint32_t nodes = 4;
    assert_int_equal(read_text(&hosts, "a:3\nb:3\nc:3\n", &error), HAWSER_OK);
    assert_int_equal(hw_hosts_fill(&hosts, &nodes, &error), HAWSER_OK);
    assert_int_equal(hosts.list[0].count, 3);
    assert_int_equal(hosts.list[1].count, 1);
    assert_int_equal(hosts.list[2].count, 0);
    nodes = 10;
    assert_int_equal(hw_hosts_fill(&hosts, &nodes, &error), HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "9 slots"));
    hw_hosts_free(&hosts);
}

/* The usual list of MPI says a host once a slot; under two users one host has two agents, and every node a name of its
 * own. */
static void a_repeated_host_is_the_same_host(void **state)
{
    (void)state;
    hw_hosts hosts;
    hawser_error error;
    uint32_t nodes = 0;
    char name[64];
    assert_int_equal(read_text(&hosts, "ash\na@birch\nash\nb@birch:2\nash slots=2\ncedar\n", &error), HAWSER_OK);
    assert_int_equal(hosts.count, 4);
    assert_int_equal(hosts.list[0].slots, 4);
    assert_int_equal(hw_hosts_fill(&hosts, &nodes, &error), HAWSER_OK);
    assert_int_equal(nodes, 8);
    static const char *const names[] = {"ash-1", "ash-2", "ash-3", "ash-4", "birch-1", "birch-2", "birch-3", "cedar"};
    for (uint32_t node = 0, i = 0; node < nodes; node++) {
        i += node == hosts.list[i].first + hosts.list[i].count;
        hw_hosts_name(&hosts, &hosts.list[i], node, name, sizeof name);
        assert_string_equal(name, names[node]);
    }
    hw_hosts_free(&hosts);
    assert_int_equal(read_text(&hosts, "ash:65536\nash:65536\nash:65536\n", &error), HAWSER_OK);
    nodes = 0;
    assert_int_equal(hw_hosts_fill(&hosts, &nodes, &error), HAWSER_BAD_INPUT);
    hw_hosts_free(&hosts);
}

static void an_invalid_host_list_is_refused_by_line(void **state)
{
    (void)state;
    static const char *const texts[] = {"ok\n-oProxyCommand=x\n", "ok\na;b\n",  "ok\na:0\n",       "ok\na:x\n",
                                        "ok\n[::1]4\n",           "ok\n$(x)\n", "ok\na slots=0\n", "ok\na slot=2\n",
                                        "ok\na slots=2x\n",       "ok\n[]\n",   "ok\na b\n",       "ok\na:99999999999\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hw_hosts hosts;
        hawser_error error;
        if (read_text(&hosts, texts[i], &error) != HAWSER_BAD_INPUT)
            fail_msg("taken: %s", texts[i]);
        assert_non_null(strstr(error.text, "hosts:2: "));
        hw_hosts_free(&hosts);
    }
    hw_hosts hosts;
    hawser_error error;
    assert_int_equal(read_text(&hosts, "# nobody\n\n", &error), HAWSER_BAD_INPUT);
    hw_hosts_free(&hosts);
    assert_int_equal(hw_hosts_read(&hosts, "missing", &error), HAWSER_IO);
    hw_hosts_free(&hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(fewer_nodes_fill_hosts_in_order),
        cmocka_unit_test(a_repeated_host_is_the_same_host),
        cmocka_unit_test(an_invalid_host_list_is_refused_by_line),
    };
    return cmocka_run_group_tests_name("cli hosts", tests, make_directory, remove_directory);
}
