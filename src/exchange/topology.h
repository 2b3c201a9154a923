/*
 * topology.h - the links over which nodes send updates: a directed graph, and from it one tree per origin.
 *
 * Pure. A node sends its blocks' updates to its children in its own tree, and each of them passes the updates on. A tree
 * reaches every node once, by a shortest path that never changes. So an update arrives exactly once, and updates of one
 * origin arrive in order if each link keeps order. All nodes compute the same trees from the same name.
 */
#ifndef HW_EXCHANGE_TOPOLOGY_H
#define HW_EXCHANGE_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "exchange/adding.h"
#include "hawser/hawser.h"

enum { HW_TOPOLOGY_GRAPH_MOST = 4096 }; /* nodes of a graph from a file: every node keeps every origin's tree */

typedef struct hw_topology hw_topology;

typedef struct hw_topology_figures {
    uint64_t links;    /* of the graph; each direction counts */
    uint32_t degree;   /* most links out of one node */
    uint32_t depth;    /* most links between an origin and a node */
    uint64_t relayed;  /* most messages that one node passes on for others if each node sends one update */
    uint32_t relaying; /* that node */
} hw_topology_figures;

/* Makes the topology that `name` names: "all"; "halton" (MALT: log2 N links per node, at distances N/2, N/4, 3N/4, N/8 ...,
 * and as many more as every node needs to reach every other within 2 log2 N links); "tree" (binomial, both directions: node
 * n and n without its lowest set bit); "servers:K" (nodes 0 to K - 1 are linked with all nodes, the others only with them).
 * All of these need O(N) memory and O(N log N) steps. With `edges`, a text with one link "from to" per line and comments
 * from # on, `name` is only for errors. Fails if a node cannot be reached from another, and names both. */
hawser_status hw_topology_new(const char *name, const char *edges, uint32_t nodes, hw_topology **topology,
                              hawser_error *error) HAWSER_MUST_USE;
void hw_topology_free(hw_topology *topology);

/* Returns true if every node sends to every other directly, so that no routes are needed. */
bool hw_topology_direct(const hw_topology *topology);
/* Stores the nodes to which `node` passes on the updates of `origin`, and returns their number. `children` has space for all
 * nodes. */
uint32_t hw_topology_children(const hw_topology *topology, uint32_t origin, uint32_t node, uint32_t *children);
/* Stores to how many nodes each node passes on the updates of `origin`. `sends` has space for all nodes. */
void hw_topology_sends(const hw_topology *topology, uint32_t origin, uint32_t *sends);
uint32_t hw_topology_nodes(const hw_topology *topology);
/* Returns how updates are added up over the topology: along a tree, at servers, or only within nodes. */
hw_adding_shape hw_topology_adding(const hw_topology *topology);
const hw_topology_figures *hw_topology_figures_of(const hw_topology *topology);

/* Sets the routes of a net with as many nodes. Call it once all nodes are linked, and before the first run. */
struct hw_net;
hawser_status hw_topology_routes(const hw_topology *topology, struct hw_net *net, hawser_error *error) HAWSER_MUST_USE;

/* Checks only the name, as the value of an option before the number of nodes is known: one of hw_topology_new's, or
 * "auto". */
hawser_status hw_topology_check(const char *name, hawser_error *error) HAWSER_MUST_USE;
/* Writes the name that "auto" stands for if the job's sync is `sync`. Under BSP this is "servers:N" on four hosts or more,
 * where the busiest card decides, and "tree" for more than eight nodes on fewer hosts, where the number of messages does.
 * Under SSP it is "servers:N" on eight hosts or more, unless updates are `rounded`: their sums take more bytes than they.
 * Else it is "all". */
enum { HW_TOPOLOGY_NAME = 24 };
void hw_topology_choose(uint32_t nodes, uint32_t hosts, hawser_tightness sync, bool rounded, char name[HW_TOPOLOGY_NAME]);

#endif
