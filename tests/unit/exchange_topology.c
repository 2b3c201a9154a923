/* Graphs and their trees, checked by brute force for every number of nodes, and replicas that exchange over them. */
#include "exchange/topology.h"

#include "exchange_cluster.h"

enum { NODES_MOST = 256 };

/* The links between nodes: those that a node's own updates reach first. */
static bool linked[NODES_MOST][NODES_MOST];

static void see_links(const hw_topology *topology)
{
    uint32_t next[NODES_MOST];
    memset(linked, 0, sizeof linked);
    for (uint32_t node = 0; node < hw_topology_nodes(topology); node++)
        for (uint32_t count = hw_topology_children(topology, node, node, next), i = 0; i < count; i++)
            linked[node][next[i]] = true;
}

static hw_topology *make(const char *words, const char *edges, uint32_t nodes)
{
    hawser_error error = {0};
    hw_topology *topology;
    hawser_status status = hw_topology_new(words, edges, nodes, &topology, &error);
    if (status != HAWSER_OK)
        fail_msg("%s with %u nodes: %s", words, nodes, error.text);
    see_links(topology);
    return topology;
}

/* Passes on one update of each origin along the trees. Every node must get it once, over links of the graph, by a shortest
 * path. */
static void check_trees(const char *words, const char *edges, uint32_t nodes)
{
    static uint32_t children[NODES_MOST], queue[NODES_MOST], depth[NODES_MOST], shortest[NODES_MOST];
    static uint64_t relayed[NODES_MOST];
    hw_topology *topology = make(words, edges, nodes);
    const hw_topology_figures *figures = hw_topology_figures_of(topology);
    uint32_t deepest = 0, degree = 0;
    memset(relayed, 0, sizeof relayed);
    for (uint32_t origin = 0; origin < nodes; origin++) {
        uint32_t head = 0, tail = 0, got[NODES_MOST] = {0};
        for (uint32_t node = 0; node < nodes; node++)
            shortest[node] = node == origin ? 0 : UINT32_MAX / 2;
        for (bool changed = true; changed;) { /* Bellman and Ford: slow, but not the tested algorithm */
            changed = false;
            for (uint32_t a = 0; a < nodes; a++)
                for (uint32_t b = 0; b < nodes && shortest[a] < nodes; b++)
                    if (shortest[a] + 1 < shortest[b] && linked[a][b]) {
                        shortest[b] = shortest[a] + 1;
                        changed = true;
                    }
        }
        queue[tail++] = origin;
        depth[origin] = 0;
        while (head < tail) {
            uint32_t at = queue[head++], count = hw_topology_children(topology, origin, at, children);
            relayed[at] += at != origin ? count : 0;
            for (uint32_t i = 0; i < count; i++) {
                assert_true(children[i] < nodes && linked[at][children[i]]);
                got[children[i]]++;
                assert_true(got[children[i]] == 1 && children[i] != origin);
                depth[children[i]] = depth[at] + 1;
                assert_true(depth[children[i]] == shortest[children[i]]);
                deepest = depth[children[i]] > deepest ? depth[children[i]] : deepest;
                queue[tail++] = children[i];
            }
        }
        assert_int_equal(tail, nodes);
    }
    for (uint32_t a = 0; a < nodes; a++) {
        uint32_t links = 0;
        for (uint32_t b = 0; b < nodes; b++)
            links += linked[a][b];
        degree = links > degree ? links : degree;
        assert_true(relayed[a] <= figures->relayed);
    }
    assert_true(figures->depth == deepest && figures->degree == degree);
    assert_true(relayed[figures->relaying] == figures->relayed);
    hw_topology_free(topology);
}

static void every_origin_reaches_every_node_once(void **state)
{
    (void)state;
    const char *const words[] = {"all", "halton", "tree", "servers:1", "servers:2", "servers:5"};
    for (uint32_t nodes = 1; nodes <= NODES_MOST; nodes += nodes < 34 ? 1 : 37)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (nodes > 4 || k < 3)
                check_trees(words[k], NULL, nodes);
    check_trees("halton", NULL, NODES_MOST);
}

/* Writes the links of a topology as the edges of a file. */
static char *edges_of(const hw_topology *topology)
{
    uint32_t nodes = hw_topology_nodes(topology), *next = malloc(nodes * sizeof *next);
    char *text = malloc(hw_topology_figures_of(topology)->links * 12 + 1), *at = text;
    for (uint32_t node = 0; node < nodes; node++)
        for (uint32_t count = hw_topology_children(topology, node, node, next), i = 0; i < count; i++)
            at += sprintf(at, "%u %u\n", node, next[i]);
    *at = '\0';
    free(next);
    return text;
}

/* Compares the children of all nodes for an origin, in their order. */
static void check_same_children(const hw_topology *a, const hw_topology *b, uint32_t origin)
{
    uint32_t one[NODES_MOST], two[NODES_MOST];
    for (uint32_t node = 0; node < hw_topology_nodes(a); node++) {
        uint32_t count = hw_topology_children(a, origin, node, one);
        assert_int_equal(count, hw_topology_children(b, origin, node, two));
        assert_memory_equal(one, two, count * sizeof *one);
    }
}

static void check_closed_form(const char *words, uint32_t nodes)
{
    uint32_t one[NODES_MOST], two[NODES_MOST];
    hw_topology *closed = make(words, NULL, nodes);
    char *edges = edges_of(closed);
    hw_topology *searched = make("file:x", edges, nodes);
    const hw_topology_figures *a = hw_topology_figures_of(closed), *b = hw_topology_figures_of(searched);
    assert_true(a->links == b->links && a->degree == b->degree && a->depth == b->depth);
    if (strcmp(words, "halton") == 0) { /* its trees are others, and no node has more to pass on than another */
        assert_true(a->relayed <= b->relayed && a->relayed == nodes - 1 - a->degree);
    } else {
        assert_true(a->relayed == b->relayed && a->relaying == b->relaying);
        for (uint32_t origin = 0; origin < nodes; origin++) {
            hw_topology_sends(closed, origin, one);
            hw_topology_sends(searched, origin, two);
            assert_memory_equal(one, two, nodes * sizeof *one);
            if (nodes <= 40 || origin % 50 == nodes % 50)
                check_same_children(closed, searched, origin);
        }
    }
    hw_topology_free(closed);
    hw_topology_free(searched);
    free(edges);
}

/* The same links, given as a file, make the search choose the same trees, with the same load. */
static void closed_forms_are_what_the_search_finds(void **state)
{
    (void)state;
    char words[24];
    for (uint32_t nodes = 1; nodes <= 200; nodes++) {
        const uint32_t servers[] = {1, 2, 5, nodes / 3, nodes - 1, nodes};
        check_closed_form("all", nodes);
        check_closed_form("tree", nodes);
        check_closed_form("halton", nodes);
        for (size_t k = 0; k < sizeof servers / sizeof *servers; k++)
            if (servers[k] >= 1 && servers[k] <= nodes && (nodes <= 40 || nodes % 4 == k % 4)) {
                (void)snprintf(words, sizeof words, "servers:%u", servers[k]);
                check_closed_form(words, nodes);
            }
    }
}

/* With a table of all pairs, these would need terabytes. */
static void many_nodes_need_little_memory(void **state)
{
    (void)state;
    enum { MANY = 1 << 20 };
    const char *const words[] = {"tree", "halton", "servers:32", "servers:1048576"};
    uint32_t *sends = malloc(MANY * sizeof *sends), *children = malloc(MANY * sizeof *children);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        hawser_error error = {0};
        hw_topology *topology;
        assert_int_equal(hw_topology_new(words[k], NULL, MANY, &topology, &error), HAWSER_OK);
        uint64_t sent = 0;
        hw_topology_sends(topology, 1000, sends);
        for (uint32_t node = 0; node < MANY; node++)
            sent += sends[node];
        assert_int_equal(sent, MANY - 1);
        assert_int_equal(hw_topology_children(topology, 1000, 1000, children), sends[1000]);
        hw_topology_free(topology);
    }
    free(sends);
    free(children);
}

/* The graph is strongly connected for every number of nodes, with as many links per node as MALT's unless those do not
 * connect it. */
static void halton_connects_any_number_of_nodes(void **state)
{
    (void)state;
    uint32_t children[NODES_MOST];
    for (uint32_t nodes = 2; nodes <= NODES_MOST; nodes++) {
        hw_topology *topology = make("halton", NULL, nodes);
        const hw_topology_figures *figures = hw_topology_figures_of(topology);
        uint32_t log = 0;
        for (uint32_t n = nodes; n > 1; n /= 2)
            log++;
        assert_true(linked[0][nodes / 2] && (log < 2 || linked[0][nodes / 4]));
        assert_true(figures->degree >= log && figures->degree <= 2 * log);
        assert_true(figures->links == (uint64_t)figures->degree * nodes && figures->depth <= 2 * log);
        /* The load is spread: no node passes on more than half as much again as the average. */
        uint64_t passed = (uint64_t)nodes * (nodes - 1 - figures->degree);
        assert_true(figures->relayed <= 1 + 3 * passed / 2 / nodes);
        assert_true(hw_topology_children(topology, 0, 0, children) == figures->degree);
        hw_topology_free(topology);
    }
    hw_topology *six = make("halton", NULL, 6); /* MALT's figure 3 */
    for (uint32_t a = 0; a < 6; a++)
        for (uint32_t b = 0; b < 6; b++)
            assert_true(linked[a][b] == (b == (a + 3) % 6 || b == (a + 1) % 6));
    hw_topology_free(six);
}

static void clients_are_linked_only_with_servers(void **state)
{
    (void)state;
    uint32_t children[20];
    hw_topology *topology = make("servers:3", NULL, 20);
    for (uint32_t a = 3; a < 20; a++)
        for (uint32_t b = 3; b < 20; b++)
            assert_false(linked[a][b]);
    for (uint32_t origin = 3; origin < 20; origin++)
        for (uint32_t server = 0; server < 3; server++) { /* each server passes on updates of its part of the clients */
            uint32_t count = hw_topology_children(topology, origin, server, children);
            assert_true(count >= 5 && count <= 6);
        }
    hw_topology_free(topology);
}

static void a_graph_of_edges_is_checked(void **state)
{
    (void)state;
    check_trees("file:ring", "# a ring, one way\n0 1\n1\t2 # comment\r\n\n2 3\n3 0\n0 1", 4);
    static const struct {
        const char *edges, *words;
    } bad[] = {
        {"0 1\n1 2\n2 0\n3 0", "node 3 cannot be reached from node 0"},
        {"0 1\n1 2\n2 0\n0 3", "node 0 cannot be reached from node 3"},
        {"", "node 1 cannot be reached from node 0"},
        {"0 1\n0 4\n", "line 2: no link from node 0 to node 4"},
        {"0 1\n2 2\n", "line 2: no link from node 2 to node 2"},
        {"0 99999999999999999999\n", "line 1"},
        {"0 1\n0\n", "line 2: expected two"},
        {"0 1\n0 1 2\n", "line 2: expected two"},
        {"a b\n", "line 1: expected two"},
        {"0 -1\n", "line 1: expected two"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        hawser_error error = {0};
        hw_topology *topology;
        assert_int_equal(hw_topology_new("file:x", bad[k].edges, 4, &topology, &error), HAWSER_BAD_INPUT);
        assert_null(topology);
        if (strstr(error.text, bad[k].words) == NULL)
            fail_msg("'%s' does not say '%s'", error.text, bad[k].words);
    }
}

static void names_are_checked(void **state)
{
    (void)state;
    const char *const good[] = {"auto", "all", "halton", "tree", "servers:1", "servers:17", "file:a b"};
    const char *const bad[] = {"",           "ring",       "servers", "servers:", "servers:0",
                               "servers: 1", "servers:2x", "file:",   "ALL",      "servers:99999999999"};
    hawser_error error = {0};
    hw_topology *topology;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++)
        assert_int_equal(hw_topology_check(good[k], &error), HAWSER_OK);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(hw_topology_check(bad[k], &error), HAWSER_BAD_OPTION);
        assert_int_equal(hw_topology_new(bad[k], NULL, 4, &topology, &error), HAWSER_BAD_OPTION);
    }
    assert_int_equal(hw_topology_new("servers:5", NULL, 4, &topology, &error), HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "only 4 nodes"));
    assert_int_equal(hw_topology_new("file:x", "0 1\n", HW_TOPOLOGY_GRAPH_MOST + 1, &topology, &error), HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "at most 4096 nodes, not 4097"));
    assert_int_equal(hw_topology_new("all", NULL, 65536, &topology, &error), HAWSER_OK); /* more than make() takes */
    assert_true(hw_topology_direct(topology) && hw_topology_figures_of(topology)->degree == 65535);
    hw_topology_free(topology);
}

static void auto_stands_for_a_topology_that_the_nodes_can_have(void **state)
{
    (void)state;
    const struct {
        uint32_t nodes, hosts;
        hawser_tightness sync;
        const char *name;
    } cases[] = {
        {2, 1, HAWSER_BSP, "all"},       {8, 1, HAWSER_BSP, "all"},     {9, 1, HAWSER_BSP, "tree"},
        {9, 3, HAWSER_BSP, "tree"},      {3, 3, HAWSER_BSP, "all"},     {4, 4, HAWSER_BSP, "servers:4"},
        {9, 4, HAWSER_BSP, "servers:9"}, {4096, 2, HAWSER_BSP, "tree"}, {4096, 4096, HAWSER_BSP, "servers:4096"},
        {70000, 1, HAWSER_BSP, "tree"},  {4, 4, HAWSER_SSP, "all"},     {64, 7, HAWSER_SSP, "all"},
        {9, 8, HAWSER_SSP, "servers:9"}, {64, 64, HAWSER_TAP, "all"},   {70000, 70000, HAWSER_BSP, "servers:70000"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char name[HW_TOPOLOGY_NAME];
        hw_topology_choose(cases[k].nodes, cases[k].hosts, cases[k].sync, false, name);
        assert_string_equal(name, cases[k].name);
        char rounded[HW_TOPOLOGY_NAME];
        hw_topology_choose(cases[k].nodes, cases[k].hosts, cases[k].sync, true, rounded);
        assert_string_equal(rounded, cases[k].sync == HAWSER_SSP ? "all" : name);
        if (cases[k].nodes <= 64)
            hw_topology_free(make(name, NULL, cases[k].nodes));
    }
}

/* ------------------------------------------------------------------------------------- replicas over a topology ---- */

/* Nodes with one block each. Each link of the graph keeps its messages in order, and a node passes them on when they arrive.
 * A seed decides which link delivers next. */
typedef struct net {
    cluster c; /* its links: [to][from] of the graph */
    hw_topology *topology;
    uint64_t seen[MOST_BLOCKS][MOST_BLOCKS], most_late, most_lead; /* [node][origin]: clocks */
} net;

static void pass_on(net *n, uint32_t at, const hw_message *message)
{
    uint32_t children[MOST_BLOCKS];
    uint32_t count = hw_topology_children(n->topology, message->envelope.source, at, children);
    for (uint32_t i = 0; i < count; i++)
        link_send(&n->c.links[children[i]][at], message);
}

/* Delivers the oldest message of a link. Returns false if there is none. */
static bool move(net *n, uint32_t to, uint32_t from)
{
    hawser_error error = {0};
    hw_message *message = link_take(&n->c.links[to][from]);
    if (message == NULL)
        return false;
    uint32_t origin = message->envelope.source;
    assert_true(message->envelope.clock == n->seen[to][origin]); /* once, and in order */
    n->seen[to][origin]++;
    pass_on(n, to, message);
    check(hw_replica_accept(n->c.replicas[to], message, &error), &error);
    return true;
}

static bool step(net *n, uint32_t node, uint64_t clocks)
{
    cluster *c = &n->c;
    hawser_error error = {0};
    if (c->clock[node] >= clocks || !cluster_ready(c, node))
        return false;
    uint64_t clock = c->clock[node], least = hw_clock_table_least(hw_replica_clocks(c->replicas[node]));
    assert_true(hw_ssp_holds(c->policy, hw_replica_clocks(c->replicas[node]), clock));
    for (uint32_t origin = 0; origin < c->blocks; origin++) /* the updates that the policy guarantees have arrived */
        assert_true(origin == node || n->seen[node][origin] + c->policy.staleness >= clock ||
                    c->policy.kind == HW_POLICY_TAP);
    n->most_late = clock - least > n->most_late ? clock - least : n->most_late;
    cluster_merge(c, node);
    for (int k = 0; k < 3; k++)
        cluster_change(c, node, (size_t)hw_random_below(&c->random, c->n), (double)hw_random_below(&c->random, 9) - 4);
    hw_message *message;
    check(hw_replica_cut(c->replicas[node], clock, true, false, &message, &error), &error);
    c->clock[node]++;
    pass_on(n, node, message);
    hw_message_free(message);
    return true;
}

static void run(const char *words, uint32_t nodes, hw_policy policy, uint64_t seed)
{
    enum { CLOCKS = 14, ENTRIES = 40 };
    net n = {.topology = make(words, NULL, nodes)};
    hw_replica_spec spec = {.name = "v", .count = ENTRIES, .blocks = nodes, .sources = nodes, .rule = {1, 1, NULL, NULL}};
    cluster_open(&n.c, spec, policy, seed);
    uint32_t slow_from =
        (uint32_t)hw_random_below(&n.c.random, nodes); /* the links out of one node are slow, and one node rarely runs */
    for (uint64_t at = 0, idle = 0; idle < 20000; at++) {
        uint32_t a = (uint32_t)hw_random_below(&n.c.random, nodes), b = (uint32_t)hw_random_below(&n.c.random, nodes);
        bool lazy = at % 7 != 0;
        bool done = at % 3 == 0 ? !(lazy && a == 0) && step(&n, a, CLOCKS) : !(lazy && b == slow_from) && move(&n, a, b);
        idle = done ? 0 : idle + 1;
    }
    for (uint32_t b = 0; b < nodes; b++) {
        hawser_error error = {0};
        assert_true(n.c.clock[b] == CLOCKS);
        for (uint32_t origin = 0; origin < nodes; origin++)
            assert_true(n.seen[b][origin] == (origin == b ? 0 : CLOCKS));
        check(hw_replica_end(n.c.replicas[b], CLOCKS, &error), &error);
        assert_true(same_bits(hw_replica_base(n.c.replicas[b]), n.c.computed, ENTRIES)); /* whole numbers: exact */
    }
    if (policy.kind == HW_POLICY_SSP)
        assert_true(n.most_late <= policy.staleness);
    cluster_close(&n.c);
    hw_topology_free(n.topology);
}

static void guarantees_hold_over_several_hops(void **state)
{
    (void)state;
    const char *const words[] = {"halton", "tree", "servers:1", "servers:2"};
    const hw_policy policies[] = {{HW_POLICY_BSP, 0}, {HW_POLICY_SSP, 1}, {HW_POLICY_SSP, 3}, {HW_POLICY_TAP, 0}};
    for (uint32_t nodes = 2; nodes <= MOST_BLOCKS; nodes++)
        for (size_t w = 0; w < 4; w++)
            for (size_t p = 0; p < 4; p++)
                run(words[w], nodes, policies[p], nodes * 100 + w * 10 + p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_origin_reaches_every_node_once),
        cmocka_unit_test(closed_forms_are_what_the_search_finds),
        cmocka_unit_test(many_nodes_need_little_memory),
        cmocka_unit_test(halton_connects_any_number_of_nodes),
        cmocka_unit_test(clients_are_linked_only_with_servers),
        cmocka_unit_test(a_graph_of_edges_is_checked),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(auto_stands_for_a_topology_that_the_nodes_can_have),
        cmocka_unit_test(guarantees_hold_over_several_hops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
