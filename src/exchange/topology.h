/*
 * topology.h - over which links updates travel between nodes: a directed graph, and from it one tree an origin.
 *
 * Pure. A node hands what its blocks changed to the nodes that the origin's tree has below it, and each of them hands it on. A tree
 * reaches every node once, by a shortest way, and always the same one: so an update arrives exactly once, and updates of one origin
 * arrive in the order in which they were made as long as each link keeps order. All nodes compute the same trees from the same words.
 */
#ifndef HW_EXCHANGE_TOPOLOGY_H
#define HW_EXCHANGE_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "exchange/adding.h"
#include "hawser/status.h"

enum { HW_TOPOLOGY_NODES_MOST = 4096 }; /* of other topologies than "all": every node keeps every origin's tree */

typedef struct hw_topology hw_topology;

typedef struct hw_topology_figures {
    uint64_t links;    /* of the graph, each direction by itself */
    uint32_t degree;   /* most links out of one node */
    uint32_t depth;    /* most links between an origin and a node */
    uint64_t relayed;  /* most messages that one node passes on for others when each node says one thing */
    uint32_t relaying; /* the node that does */
} hw_topology_figures;

/* `name`: "all"; "halton" (MALT: log2 N links a node, at distances N/2, N/4, 3N/4, N/8 ..., and as many more as it takes to
 * reach everybody within 2 log2 N links); "tree" (binomial, both ways: node n and n without its lowest set bit); "servers:K"
 * (nodes 0 to K - 1 are linked with everybody, the others with them alone); or anything else with `edges`, a text with a
 * link "from to" a line and comments from # on. A graph in which some node cannot be reached from another is refused, and
 * both are named. */
hawser_status hw_topology_new(const char *name, const char *edges, uint32_t nodes, hw_topology **topology,
                              hawser_error *error) HAWSER_MUST_USE;
void hw_topology_free(hw_topology *topology);

/* True when every node talks to every other directly: no routes are needed. */
bool hw_topology_direct(const hw_topology *topology);
/* The nodes to which `node` passes on what blocks of `origin` say; children has room for all nodes. */
uint32_t hw_topology_children(const hw_topology *topology, uint32_t origin, uint32_t node, uint32_t *children);
/* To how many nodes each node passes that on; sends has room for all nodes. */
void hw_topology_sends(const hw_topology *topology, uint32_t origin, uint32_t *sends);
uint32_t hw_topology_nodes(const hw_topology *topology);
/* How updates are added up over it: along a tree, at servers, or only within nodes. */
hw_adding_shape hw_topology_adding(const hw_topology *topology);
const hw_topology_figures *hw_topology_figures_of(const hw_topology *topology);

/* Tells a net of as many nodes to which of them it passes on what: once everybody is linked and before the first run. */
struct hw_net;
hawser_status hw_topology_routes(const hw_topology *topology, struct hw_net *net, hawser_error *error) HAWSER_MUST_USE;

/* Checks the words alone: what an option's value can be judged by before anybody has joined. */
hawser_status hw_topology_check(const char *name, hawser_error *error) HAWSER_MUST_USE;

#endif
