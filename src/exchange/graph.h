/* graph.h - the links of a file: any directed graph in which every node reaches every other.
 *
 * Pure. A graph of N nodes needs 5 N^2 bytes, and N (N + links) steps to make. */
#ifndef HW_EXCHANGE_GRAPH_H
#define HW_EXCHANGE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "hawser/status.h"

typedef struct hw_graph {
    uint32_t nodes, degree, depth, relaying;
    uint64_t links, relayed;                   /* relaying, relayed: see hw_topology_figures */
    bool *link;                                /* [from * nodes + to] */
    uint32_t *first_out, *out, *first_in, *in; /* the nodes at the other ends of a node's links: from first[node] on */
    uint32_t *parent;                          /* [origin * nodes + node] */
} hw_graph;

/* Makes the graph from a text with one link "from to" per line and comments from # on; `name` is for errors. Fails if a node
 * cannot be reached from another, and names both. Free the graph also after a failure. */
hawser_status hw_graph_make(hw_graph *graph, const char *name, const char *edges, uint32_t nodes,
                            hawser_error *error) HAWSER_MUST_USE;
void hw_graph_free(hw_graph *graph);

/* Reads digits after blanks; returns false if there are none. A number that is too large stays too large. */
bool hw_graph_number(const char **at, uint64_t *number);

#endif
