#include "exchange/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* From this many hosts on "auto" chooses servers. On three a clock took 1.3 times as long as over "all". */
enum { HOSTS_OF_SERVERS = 4 };

struct hw_topology {
    uint32_t nodes;
    bool *link;         /* [from * nodes + to]; NULL: every node is linked with every other */
    uint32_t *out, *in; /* [node * (nodes + 1)]: the number of links, then the nodes at their other ends */
    uint32_t *parent;   /* [origin * nodes + node] */
    hw_adding_shape adding;
    hw_topology_figures figures;
};

static bool *link_at(const hw_topology *topology, uint32_t from, uint32_t to)
{
    return &topology->link[(size_t)from * topology->nodes + to];
}

static void link_both(hw_topology *topology, uint32_t a, uint32_t b)
{
    *link_at(topology, a, b) = *link_at(topology, b, a) = true;
}

/* ------------------------------------------------------------------------------------------------------- graphs ---- */

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Returns the common divisor of the number of nodes and the ring's distances except `without`. If it is 1, every node can be
 * reached. */
static uint32_t common_divisor_of(const hw_topology *topology, uint32_t without)
{
    uint32_t divisor = topology->nodes;
    for (uint32_t distance = 1; distance < topology->nodes; distance++)
        if (distance != without && *link_at(topology, 0, distance))
            divisor = common_divisor(divisor, distance);
    return divisor;
}

/* Returns the most steps from node 0, and so from any node, to another node of the ring; UINT32_MAX if a node cannot be
 * reached. */
static uint32_t ring_depth(const hw_topology *topology, uint32_t *steps, uint32_t *queue)
{
    uint32_t nodes = topology->nodes, head = 0, tail = 0;
    for (uint32_t node = 1; node < nodes; node++)
        steps[node] = UINT32_MAX;
    steps[0] = 0;
    queue[tail++] = 0;
    while (head < tail) {
        uint32_t at = queue[head++];
        for (uint32_t distance = 1; distance < nodes; distance++) {
            uint32_t to = (uint32_t)(((uint64_t)at + distance) % nodes);
            if (steps[to] != UINT32_MAX || !*link_at(topology, 0, distance))
                continue;
            steps[to] = steps[at] + 1;
            queue[tail++] = to;
        }
    }
    return tail == nodes ? steps[queue[tail - 1]] : UINT32_MAX;
}

/* Makes links at distances nodes/2, nodes/4, 3 nodes/4, nodes/8 ...: halves, then the odd quarters, then the odd eighths.
 * The first log2(nodes) are MALT's. Later distances are added if they help, until every node reaches every other within
 * twice that many steps. */
static void make_halton(hw_topology *topology, uint32_t *steps, uint32_t *queue)
{
    uint32_t nodes = topology->nodes, least = 0, made = 0, depth = UINT32_MAX;
    for (uint32_t n = nodes; n > 1; n /= 2)
        least++;
    for (uint64_t denominator = 2; nodes > 1 && (made < least || depth > 2 * least); denominator *= 2)
        for (uint64_t numerator = 1; numerator < denominator && (made < least || depth > 2 * least); numerator += 2) {
            uint32_t distance = (uint32_t)(nodes * numerator / denominator);
            if (distance == 0 || *link_at(topology, 0, distance))
                continue;
            *link_at(topology, 0, distance) = true;
            uint32_t now = ring_depth(topology, steps, queue);
            uint32_t before = common_divisor_of(topology, distance), after = common_divisor_of(topology, 0);
            if (made >= least && now >= depth && before == after &&
                denominator <= 4 * (uint64_t)nodes) { /* neither reach nor depth improves */
                *link_at(topology, 0, distance) = false;
                continue;
            }
            depth = now;
            made++;
        }
    for (uint32_t node = 1; node < nodes; node++)
        for (uint32_t distance = 1; distance < nodes; distance++)
            *link_at(topology, node, (uint32_t)(((uint64_t)node + distance) % nodes)) = *link_at(topology, 0, distance);
}

/* Links each node with the node without its lowest set bit, its parent. All nodes below a node are consecutive, and their
 * number is that of a subtree of the canonical reduction, so their updates add up to one sum. */
static void make_tree(hw_topology *topology)
{
    for (uint32_t node = 1; node < topology->nodes; node++)
        link_both(topology, node, node & (node - 1));
}

static void make_servers(hw_topology *topology, uint32_t servers)
{
    for (uint32_t server = 0; server < servers; server++)
        for (uint32_t node = 0; node < topology->nodes; node++)
            if (node != server)
                link_both(topology, server, node);
}

/* Reads digits after blanks; returns false if there are none. A number that is too large stays too large. */
static bool read_number(const char **at, uint64_t *number)
{
    while (**at == ' ' || **at == '\t')
        ++*at;
    if (**at < '0' || **at > '9')
        return false;
    for (*number = 0; **at >= '0' && **at <= '9'; ++*at)
        if (*number <= UINT32_MAX)
            *number = *number * 10 + (uint64_t)(**at - '0');
    return true;
}

static hawser_status read_edges(hw_topology *topology, const char *name, const char *at, hawser_error *error)
{
    for (size_t line = 1; *at != '\0'; line++) {
        uint64_t from = 0, to = 0;
        bool one = read_number(&at, &from), two = one && read_number(&at, &to);
        while (*at == ' ' || *at == '\t' || *at == '\r')
            at++;
        bool ends = *at == '\0' || *at == '\n' || *at == '#';
        if ((one && !two) || !ends)
            return hawser_fail(error, HAWSER_BAD_INPUT, "topology %s, line %zu: expected two node numbers, FROM TO", name,
                               line);
        if (two && (from >= topology->nodes || to >= topology->nodes || from == to))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "topology %s, line %zu: no link from node %llu to node %llu among %u nodes (0 to %u)", name,
                               line, (unsigned long long)from, (unsigned long long)to, topology->nodes, topology->nodes - 1);
        if (two)
            *link_at(topology, (uint32_t)from, (uint32_t)to) = true;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return HAWSER_OK;
}

/* Returns K of "servers:K"; 0 for another name. */
static uint32_t servers_of(const char *name)
{
    uint64_t number = 0;
    if (strncmp(name, "servers:", 8) != 0 || name[8] == ' ' || name[8] == '\t')
        return 0;
    const char *at = name + 8;
    return read_number(&at, &number) && *at == '\0' && number < UINT32_MAX ? (uint32_t)number : 0;
}

hawser_status hw_topology_check(const char *name, hawser_error *error)
{
    bool named =
        strcmp(name, "auto") == 0 || strcmp(name, "all") == 0 || strcmp(name, "halton") == 0 || strcmp(name, "tree") == 0;
    if (named || servers_of(name) > 0 || (strncmp(name, "file:", 5) == 0 && name[5] != '\0'))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "topology = '%s': expected auto, all, halton, tree, servers:K with K >= 1, or file:PATH", name);
}

void hw_topology_choose(uint32_t nodes, uint32_t hosts, bool in_step, char name[HW_TOPOLOGY_NAME])
{
    const bool chooses = in_step && nodes <= HW_TOPOLOGY_NODES_MOST;
    if (chooses && hosts >= HOSTS_OF_SERVERS)
        (void)snprintf(name, HW_TOPOLOGY_NAME, "servers:%u", nodes);
    else
        (void)snprintf(name, HW_TOPOLOGY_NAME, "%s", chooses && nodes > HW_ADDING_DIRECT ? "tree" : "all");
}

static hawser_status make_graph(hw_topology *topology, const char *name, const char *edges, uint32_t *steps, uint32_t *queue,
                                hawser_error *error)
{
    uint32_t nodes = topology->nodes, servers = servers_of(name);
    if (edges != NULL)
        return read_edges(topology, name, edges, error);
    if (servers > nodes)
        return hawser_fail(error, HAWSER_BAD_OPTION, "topology = %s: there are only %u nodes", name, nodes);
    if (servers > 0) {
        make_servers(topology, servers);
        topology->adding = (hw_adding_shape){HW_ADDING_SERVERS, servers};
    } else if (strcmp(name, "tree") == 0) {
        make_tree(topology);
        topology->adding = (hw_adding_shape){HW_ADDING_TREE, 0};
    } else if (strcmp(name, "halton") == 0) {
        make_halton(topology, steps, queue);
    } else {
        return hawser_fail(error, HAWSER_BAD_OPTION, "topology = '%s': there is no such topology, and no file of one", name);
    }
    return HAWSER_OK;
}

/* -------------------------------------------------------------------------------------------------------- trees ---- */

/* Finds the distance of each node from `origin` over the links in `lists`; UINT32_MAX without a path. `queue` has space for
 * all nodes. */
static void find_distances(const hw_topology *topology, uint32_t origin, const uint32_t *lists, uint32_t *distance,
                           uint32_t *queue)
{
    uint32_t nodes = topology->nodes, head = 0, tail = 0;
    for (uint32_t node = 0; node < nodes; node++)
        distance[node] = UINT32_MAX;
    distance[origin] = 0;
    queue[tail++] = origin;
    while (head < tail) {
        uint32_t at = queue[head++];
        const uint32_t *list = lists + (size_t)at * (nodes + 1);
        for (uint32_t i = 1; i <= list[0]; i++) {
            if (distance[list[i]] != UINT32_MAX)
                continue;
            distance[list[i]] = distance[at] + 1;
            queue[tail++] = list[i];
        }
    }
}

static void list_links(hw_topology *topology)
{
    uint32_t nodes = topology->nodes;
    for (uint32_t from = 0; from < nodes; from++)
        for (uint32_t to = 0; to < nodes; to++) {
            if (!*link_at(topology, from, to))
                continue;
            uint32_t *out = topology->out + (size_t)from * (nodes + 1), *in = topology->in + (size_t)to * (nodes + 1);
            out[++out[0]] = to;
            in[++in[0]] = from;
        }
}

static hawser_status check_connected(const hw_topology *topology, const char *name, uint32_t *distance, uint32_t *queue,
                                     hawser_error *error)
{
    for (int against = 0; against < 2; against++) {
        find_distances(topology, 0, against ? topology->in : topology->out, distance, queue);
        for (uint32_t node = 0; node < topology->nodes; node++)
            if (distance[node] == UINT32_MAX)
                return hawser_fail(error, HAWSER_BAD_INPUT,
                                   "topology %s: node %u cannot be reached from node %u; every node must reach every other",
                                   name, against ? 0 : node, against ? node : 0);
    }
    return HAWSER_OK;
}

/* Returns the node one step nearer to the origin that passes on the fewest messages so far; of equal nodes the next one
 * after `node`, so that different nodes choose different parents. */
static uint32_t choose_parent(const hw_topology *topology, uint32_t origin, uint32_t node, const uint32_t *distance,
                              const uint64_t *load)
{
    uint32_t nodes = topology->nodes, best = UINT32_MAX, best_step = 0;
    const uint32_t *list = topology->in + (size_t)node * (nodes + 1);
    if (distance[node] == 1)
        return origin;
    for (uint32_t i = 1; i <= list[0]; i++) {
        uint32_t candidate = list[i], step = candidate > node ? candidate - node : candidate + nodes - node;
        if (distance[candidate] + 1 != distance[node])
            continue;
        bool less = best == UINT32_MAX || load[candidate] < load[best];
        if (less || (load[candidate] == load[best] && step < best_step)) {
            best = candidate;
            best_step = step;
        }
    }
    return best;
}

static void make_trees(hw_topology *topology, uint32_t *distance, uint32_t *queue, uint64_t *load)
{
    hw_topology_figures *figures = &topology->figures;
    uint32_t nodes = topology->nodes;
    for (uint32_t origin = 0; origin < nodes; origin++) {
        find_distances(topology, origin, topology->out, distance, queue);
        for (uint32_t step = 1; step < nodes; step++) {
            uint32_t node = (uint32_t)(((uint64_t)origin + step) % nodes);
            uint32_t parent = choose_parent(topology, origin, node, distance, load);
            topology->parent[(size_t)origin * nodes + node] = parent;
            load[parent] += parent != origin;
            if (distance[node] > figures->depth)
                figures->depth = distance[node];
        }
    }
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t degree = topology->out[(size_t)node * (nodes + 1)];
        figures->links += degree;
        if (degree > figures->degree)
            figures->degree = degree;
        if (load[node] > figures->relayed) {
            figures->relayed = load[node];
            figures->relaying = node;
        }
    }
}

static hawser_status build(hw_topology *topology, const char *name, const char *edges, hawser_error *error)
{
    size_t nodes = topology->nodes;
    uint32_t *distance = NULL, *queue = NULL;
    uint64_t *load = NULL;
    hawser_status status = HW_NEW(&topology->link, nodes * nodes, "a topology's links", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&topology->out, nodes * (nodes + 1), "a topology's links", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&topology->in, nodes * (nodes + 1), "a topology's links", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&topology->parent, nodes * nodes, "a topology's trees", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&distance, nodes, "a topology's trees", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&queue, nodes, "a topology's trees", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&load, nodes, "a topology's trees", error);
    if (status == HAWSER_OK)
        status = make_graph(topology, name, edges, distance, queue, error);
    if (status == HAWSER_OK)
        list_links(topology);
    if (status == HAWSER_OK)
        status = check_connected(topology, name, distance, queue, error);
    if (status == HAWSER_OK)
        make_trees(topology, distance, queue, load);
    free(distance);
    free(queue);
    free(load);
    return status;
}

hawser_status hw_topology_new(const char *name, const char *edges, uint32_t nodes, hw_topology **topology,
                              hawser_error *error)
{
    bool direct = edges == NULL && strcmp(name, "all") == 0;
    hw_topology *made = NULL;
    *topology = NULL;
    if (nodes == 0 || (!direct && nodes > HW_TOPOLOGY_NODES_MOST))
        return hawser_fail(error, HAWSER_BAD_OPTION, "topology %s: at most %d nodes, not %u; take all", name,
                           HW_TOPOLOGY_NODES_MOST, nodes);
    HAWSER_TRY(HW_NEW(&made, 1, "a topology", error));
    made->nodes = nodes;
    if (direct) {
        made->figures =
            (hw_topology_figures){.links = (uint64_t)nodes * (nodes - 1), .degree = nodes - 1, .depth = nodes > 1 ? 1 : 0};
        *topology = made;
        return HAWSER_OK;
    }
    hawser_status status = build(made, name, edges, error);
    if (status != HAWSER_OK) {
        hw_topology_free(made);
        return status;
    }
    *topology = made;
    return HAWSER_OK;
}

void hw_topology_free(hw_topology *topology)
{
    if (topology == NULL)
        return;
    free(topology->link);
    free(topology->out);
    free(topology->in);
    free(topology->parent);
    free(topology);
}

bool hw_topology_direct(const hw_topology *topology)
{
    return topology->link == NULL;
}

uint32_t hw_topology_children(const hw_topology *topology, uint32_t origin, uint32_t node, uint32_t *children)
{
    uint32_t nodes = topology->nodes, count = 0;
    /* The list begins after the node itself, so that not all nodes send to node 0 first. */
    for (uint32_t step = 1; step < nodes; step++) {
        uint32_t child = (uint32_t)(((uint64_t)node + step) % nodes);
        bool below = hw_topology_direct(topology)
                         ? node == origin
                         : child != origin && topology->parent[(size_t)origin * nodes + child] == node;
        if (below)
            children[count++] = child;
    }
    return count;
}

void hw_topology_sends(const hw_topology *topology, uint32_t origin, uint32_t *sends)
{
    uint32_t nodes = topology->nodes;
    memset(sends, 0, nodes * sizeof *sends);
    for (uint32_t child = 0; child < nodes; child++)
        if (child != origin)
            sends[hw_topology_direct(topology) ? origin : topology->parent[(size_t)origin * nodes + child]]++;
}

uint32_t hw_topology_nodes(const hw_topology *topology)
{
    return topology->nodes;
}

hw_adding_shape hw_topology_adding(const hw_topology *topology)
{
    return topology->adding;
}

const hw_topology_figures *hw_topology_figures_of(const hw_topology *topology)
{
    return &topology->figures;
}
