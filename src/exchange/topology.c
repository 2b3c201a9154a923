#include "exchange/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/circulant.h"
#include "exchange/graph.h"

/* From this many hosts on "auto" chooses servers. In lock-step on three a clock took 1.3 times as long as over "all". Under
 * SSP a relay passes updates on between two units, which on four hosts, slow in turn, took up to 1.6 times as long. */
enum { HOSTS_OF_SERVERS = 4, HOSTS_UNDER_SSP = 8 };

typedef enum topology_shape { ALL, TREE, SERVERS, CIRCULANT, GRAPH } topology_shape;

struct hw_topology {
    topology_shape shape;
    uint32_t nodes;
    uint32_t servers, clients; /* SERVERS */
    hw_circulant circulant;    /* CIRCULANT */
    hw_graph graph;            /* GRAPH */
    hw_topology_figures figures;
};

/* ---------------------------------------------------------------------------------------------------------- trees ---- */

/* The parent of a node is the node without its lowest set bit. All nodes below a node are consecutive, and their number is
 * that of a subtree of the canonical reduction, so their updates add up to one sum. */
static uint32_t parent_of(uint32_t node)
{
    return node & (node - 1);
}

/* Returns the first node after `node` that is not below it. */
static uint64_t end_below(uint32_t node, uint32_t nodes)
{
    uint64_t end = node == 0 ? nodes : (uint64_t)node + (node & -node);
    return end < nodes ? end : nodes;
}

/* A tree has one path between two nodes: the children are all neighbours but the one towards the origin. */
static uint32_t tree_children(uint32_t nodes, uint32_t origin, uint32_t node, uint32_t *children)
{
    uint32_t count = 0;
    for (uint64_t bit = 1; node + bit < end_below(node, nodes); bit *= 2) {
        uint32_t child = node + (uint32_t)bit;
        if (origin < child || origin >= end_below(child, nodes))
            children[count++] = child;
    }
    if (node != 0 && origin >= node && origin < end_below(node, nodes))
        children[count++] = parent_of(node);
    return count;
}

static uint32_t tree_degree(uint32_t nodes, uint32_t node)
{
    uint32_t degree = node != 0;
    for (uint64_t bit = 1; node + bit < end_below(node, nodes); bit *= 2)
        degree++;
    return degree;
}

static uint32_t tree_distance(uint32_t a, uint32_t b)
{
    uint32_t steps = 0;
    for (; a != b; steps++) { /* the larger one is never above the other */
        if (a > b)
            a = parent_of(a);
        else
            b = parent_of(b);
    }
    return steps;
}

/* Returns the node that is farthest from `from`. */
static uint32_t tree_farthest(uint32_t nodes, uint32_t from)
{
    uint32_t farthest = from;
    for (uint32_t node = 0; node < nodes; node++)
        if (tree_distance(from, node) > tree_distance(from, farthest))
            farthest = node;
    return farthest;
}

static hw_topology_figures tree_figures(uint32_t nodes)
{
    hw_topology_figures figures = {.links = 2 * ((uint64_t)nodes - 1)};
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t degree = tree_degree(nodes, node);
        uint64_t relayed = degree > 1 ? (uint64_t)(nodes - 1) * (degree - 1) : 0;
        figures.degree = degree > figures.degree ? degree : figures.degree;
        if (relayed > figures.relayed) {
            figures.relayed = relayed;
            figures.relaying = node;
        }
    }
    uint32_t end = tree_farthest(nodes, 0); /* in a tree it is one end of a longest path */
    figures.depth = tree_distance(end, tree_farthest(nodes, end));
    return figures;
}

/* --------------------------------------------------------------------------------------------------------- servers ---- */

/* Updates of client c (counted from 0) reach the r-th client after it, around the clients, by server
 * (c (clients - 1) + r) modulo servers: over all origins, servers take turns. */
static uint32_t turn_of(const hw_topology *t, uint32_t client)
{
    return (uint32_t)((uint64_t)client * (t->clients - 1) % t->servers);
}

/* Returns the first r of a server for a client: the others follow at distances of `servers`. */
static uint32_t first_turn(const hw_topology *t, uint32_t client, uint32_t server)
{
    return (server + t->servers - turn_of(t, client)) % t->servers;
}

static uint32_t servers_children(const hw_topology *t, uint32_t origin, uint32_t node, uint32_t *children)
{
    uint32_t count = 0, servers = t->servers, clients = t->clients;
    if (origin == node && node < servers) {
        for (uint32_t step = 1; step < t->nodes; step++)
            children[count++] = (uint32_t)(((uint64_t)node + step) % t->nodes);
    } else if (origin == node) {
        for (; count < servers; count++)
            children[count] = count;
    } else if (origin >= servers && node < servers) {
        uint32_t client = origin - servers, before_end = clients - 1 - client, first = first_turn(t, client, node);
        uint64_t wrapped = first; /* the first turn of a client that comes before the origin */
        if (wrapped < before_end)
            wrapped += ((uint64_t)before_end - wrapped + servers - 1) / servers * servers;
        for (uint64_t r = wrapped; r + 1 < clients; r += servers)
            children[count++] = servers + (uint32_t)(r - before_end);
        for (uint64_t r = first; r < before_end; r += servers)
            children[count++] = origin + 1 + (uint32_t)r;
    }
    return count;
}

static uint32_t servers_sends(const hw_topology *t, uint32_t origin, uint32_t node)
{
    if (origin == node)
        return node < t->servers ? t->nodes - 1 : t->servers;
    if (origin < t->servers || node >= t->servers)
        return 0;
    uint32_t first = first_turn(t, origin - t->servers, node), turns = t->clients - 1;
    return first < turns ? (turns - first - 1) / t->servers + 1 : 0;
}

static hw_topology_figures servers_figures(const hw_topology *t)
{
    uint64_t servers = t->servers, clients = t->clients, relayed = clients > 0 ? clients * (clients - 1) : 0;
    return (hw_topology_figures){.links = servers * (servers - 1) + 2 * servers * clients,
                                 .degree = t->nodes - 1,
                                 .depth = clients > 1 ? 2 : t->nodes > 1,
                                 .relayed = (relayed + servers - 1) / servers}; /* by server 0, the first in turn */
}

/* ----------------------------------------------------------------------------------------------------------- names ---- */

/* Returns K of "servers:K"; 0 for another name. */
static uint32_t servers_of(const char *name)
{
    uint64_t number = 0;
    if (strncmp(name, "servers:", 8) != 0 || name[8] == ' ' || name[8] == '\t')
        return 0;
    const char *at = name + 8;
    return hw_graph_number(&at, &number) && *at == '\0' && number < UINT32_MAX ? (uint32_t)number : 0;
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

void hw_topology_choose(uint32_t nodes, uint32_t hosts, hawser_tightness sync, bool rounded, char name[HW_TOPOLOGY_NAME])
{
    bool in_step = sync == HAWSER_BSP, waiting = sync == HAWSER_SSP && !rounded;
    if ((in_step && hosts >= HOSTS_OF_SERVERS) || (waiting && hosts >= HOSTS_UNDER_SSP))
        (void)snprintf(name, HW_TOPOLOGY_NAME, "servers:%u", nodes);
    else
        (void)snprintf(name, HW_TOPOLOGY_NAME, "%s", in_step && nodes > HW_ADDING_DIRECT ? "tree" : "all");
}

/* ---------------------------------------------------------------------------------------------------------- making ---- */

static hawser_status make_circulant(hw_topology *t, hawser_error *error)
{
    t->shape = CIRCULANT;
    HAWSER_TRY(hw_circulant_make(&t->circulant, t->nodes, error));
    const uint32_t degree = t->circulant.degree;
    t->figures = (hw_topology_figures){.links = (uint64_t)degree * t->nodes,
                                       .degree = degree,
                                       .depth = t->circulant.depth,
                                       .relayed = t->nodes - 1 - degree}; /* by every node */
    return HAWSER_OK;
}

static hawser_status make_graph(hw_topology *t, const char *name, const char *edges, hawser_error *error)
{
    t->shape = GRAPH;
    if (t->nodes > HW_TOPOLOGY_GRAPH_MOST)
        return hawser_fail(error, HAWSER_BAD_OPTION, "topology %s: at most %d nodes, not %u; take all, tree or servers:K",
                           name, HW_TOPOLOGY_GRAPH_MOST, t->nodes);
    HAWSER_TRY(hw_graph_make(&t->graph, name, edges, t->nodes, error));
    t->figures = (hw_topology_figures){.links = t->graph.links,
                                       .degree = t->graph.degree,
                                       .depth = t->graph.depth,
                                       .relayed = t->graph.relayed,
                                       .relaying = t->graph.relaying};
    return HAWSER_OK;
}

static hawser_status make(hw_topology *t, const char *name, const char *edges, hawser_error *error)
{
    const uint32_t nodes = t->nodes, servers = servers_of(name);
    if (edges != NULL)
        return make_graph(t, name, edges, error);
    if (servers > nodes)
        return hawser_fail(error, HAWSER_BAD_OPTION, "topology = %s: there are only %u nodes", name, nodes);
    if (strcmp(name, "all") == 0) {
        t->figures =
            (hw_topology_figures){.links = (uint64_t)nodes * (nodes - 1), .degree = nodes - 1, .depth = nodes > 1 ? 1 : 0};
    } else if (strcmp(name, "tree") == 0) {
        t->shape = TREE;
        t->figures = tree_figures(nodes);
    } else if (servers > 0) {
        t->shape = SERVERS;
        t->servers = servers;
        t->clients = nodes - servers;
        t->figures = servers_figures(t);
    } else if (strcmp(name, "halton") == 0) {
        return make_circulant(t, error);
    } else {
        return hawser_fail(error, HAWSER_BAD_OPTION, "topology = '%s': there is no such topology, and no file of one", name);
    }
    return HAWSER_OK;
}

hawser_status hw_topology_new(const char *name, const char *edges, uint32_t nodes, hw_topology **topology,
                              hawser_error *error)
{
    hw_topology *made = NULL;
    *topology = NULL;
    if (nodes == 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "topology %s: no nodes", name);
    HAWSER_TRY(HW_NEW(&made, 1, "a topology", error));
    made->nodes = nodes;
    hawser_status status = make(made, name, edges, error);
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
    hw_circulant_free(&topology->circulant);
    hw_graph_free(&topology->graph);
    free(topology);
}

/* -------------------------------------------------------------------------------------------------------- queries ---- */

bool hw_topology_direct(const hw_topology *topology)
{
    return topology->shape == ALL;
}

uint32_t hw_topology_children(const hw_topology *topology, uint32_t origin, uint32_t node, uint32_t *children)
{
    const uint32_t nodes = topology->nodes;
    uint32_t count = 0;
    if (topology->shape == TREE)
        return tree_children(nodes, origin, node, children);
    if (topology->shape == SERVERS)
        return servers_children(topology, origin, node, children);
    if (topology->shape == CIRCULANT)
        return hw_circulant_children(&topology->circulant, origin, node, children);
    for (uint32_t step = 1; step < nodes; step++) {
        uint32_t child = (uint32_t)(((uint64_t)node + step) % nodes);
        bool below = topology->shape == ALL
                         ? node == origin
                         : child != origin && topology->graph.parent[(size_t)origin * nodes + child] == node;
        if (below)
            children[count++] = child;
    }
    return count;
}

void hw_topology_sends(const hw_topology *topology, uint32_t origin, uint32_t *sends)
{
    const uint32_t nodes = topology->nodes;
    if (topology->shape == GRAPH) {
        memset(sends, 0, nodes * sizeof *sends);
        for (uint32_t child = 0; child < nodes; child++)
            if (child != origin)
                sends[topology->graph.parent[(size_t)origin * nodes + child]]++;
        return;
    }
    for (uint32_t node = 0; node < nodes; node++)
        sends[node] = topology->shape == ALL       ? (node == origin ? nodes - 1 : 0)
                      : topology->shape == TREE    ? tree_degree(nodes, node) - (node != origin)
                      : topology->shape == SERVERS ? servers_sends(topology, origin, node)
                                                   : hw_circulant_sends(&topology->circulant, origin, node);
}

uint32_t hw_topology_nodes(const hw_topology *topology)
{
    return topology->nodes;
}

hw_adding_shape hw_topology_adding(const hw_topology *topology)
{
    if (topology->shape == SERVERS)
        return (hw_adding_shape){HW_ADDING_SERVERS, topology->servers};
    return (hw_adding_shape){topology->shape == TREE ? HW_ADDING_TREE : HW_ADDING_SPREAD, 0};
}

const hw_topology_figures *hw_topology_figures_of(const hw_topology *topology)
{
    return &topology->figures;
}
