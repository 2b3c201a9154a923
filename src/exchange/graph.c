#include "exchange/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* What graph_search a graph needs, an entry per node. */
typedef struct graph_search {
    uint32_t *distance, *queue;
    uint64_t *load; /* messages that the node passes on, so far */
} graph_search;

bool hw_graph_number(const char **at, uint64_t *number)
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

static bool *link_at(const hw_graph *graph, uint32_t from, uint32_t to)
{
    return &graph->link[(size_t)from * graph->nodes + to];
}

static hawser_status read_edges(hw_graph *graph, const char *name, const char *at, hawser_error *error)
{
    for (size_t line = 1; *at != '\0'; line++) {
        uint64_t from = 0, to = 0;
        bool one = hw_graph_number(&at, &from), two = one && hw_graph_number(&at, &to);
        while (*at == ' ' || *at == '\t' || *at == '\r')
            at++;
        bool ends = *at == '\0' || *at == '\n' || *at == '#';
        if ((one && !two) || !ends)
            return hawser_fail(error, HAWSER_BAD_INPUT, "topology %s, line %zu: expected two node numbers, FROM TO", name,
                               line);
        if (two && (from >= graph->nodes || to >= graph->nodes || from == to))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "topology %s, line %zu: no link from node %llu to node %llu among %u nodes (0 to %u)", name,
                               line, (unsigned long long)from, (unsigned long long)to, graph->nodes, graph->nodes - 1);
        if (two)
            *link_at(graph, (uint32_t)from, (uint32_t)to) = true;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return HAWSER_OK;
}

/* Lists the links of each node: those out of it, or with `against` those into it. */
static void list_links(const hw_graph *graph, bool against, uint32_t *first, uint32_t *list)
{
    uint32_t used = 0;
    for (uint32_t node = 0; node < graph->nodes; node++) {
        first[node] = used;
        for (uint32_t other = 0; other < graph->nodes; other++)
            if (against ? *link_at(graph, other, node) : *link_at(graph, node, other))
                list[used++] = other;
    }
    first[graph->nodes] = used;
}

/* Finds the distance of each node from `origin` over the listed links; UINT32_MAX without a path. */
static void find_distances(const hw_graph *graph, uint32_t origin, const uint32_t *first, const uint32_t *list,
                           const graph_search *m)
{
    uint32_t head = 0, tail = 0;
    for (uint32_t node = 0; node < graph->nodes; node++)
        m->distance[node] = UINT32_MAX;
    m->distance[origin] = 0;
    m->queue[tail++] = origin;
    while (head < tail) {
        uint32_t at = m->queue[head++];
        for (uint32_t i = first[at]; i < first[at + 1]; i++) {
            if (m->distance[list[i]] != UINT32_MAX)
                continue;
            m->distance[list[i]] = m->distance[at] + 1;
            m->queue[tail++] = list[i];
        }
    }
}

static hawser_status check_connected(const hw_graph *graph, const char *name, const graph_search *m, hawser_error *error)
{
    for (int against = 0; against < 2; against++) {
        find_distances(graph, 0, against ? graph->first_in : graph->first_out, against ? graph->in : graph->out, m);
        for (uint32_t node = 0; node < graph->nodes; node++)
            if (m->distance[node] == UINT32_MAX)
                return hawser_fail(error, HAWSER_BAD_INPUT,
                                   "topology %s: node %u cannot be reached from node %u; every node must reach every other",
                                   name, against ? 0 : node, against ? node : 0);
    }
    return HAWSER_OK;
}

/* Returns the node one step nearer to the origin that passes on the fewest messages so far; of equal nodes the next one
 * after `node`, so that different nodes choose different parents. */
static uint32_t choose_parent(const hw_graph *graph, uint32_t origin, uint32_t node, const graph_search *m)
{
    uint32_t best = UINT32_MAX, best_step = 0;
    if (m->distance[node] == 1)
        return origin;
    for (uint32_t i = graph->first_in[node]; i < graph->first_in[node + 1]; i++) {
        uint32_t candidate = graph->in[i];
        uint32_t step = candidate > node ? candidate - node : candidate + graph->nodes - node;
        if (m->distance[candidate] + 1 != m->distance[node])
            continue;
        bool less = best == UINT32_MAX || m->load[candidate] < m->load[best];
        if (less || (m->load[candidate] == m->load[best] && step < best_step)) {
            best = candidate;
            best_step = step;
        }
    }
    return best;
}

static void make_trees(hw_graph *graph, const graph_search *m)
{
    uint32_t nodes = graph->nodes;
    for (uint32_t origin = 0; origin < nodes; origin++) {
        find_distances(graph, origin, graph->first_out, graph->out, m);
        for (uint32_t step = 1; step < nodes; step++) {
            uint32_t node = (uint32_t)(((uint64_t)origin + step) % nodes);
            uint32_t parent = choose_parent(graph, origin, node, m);
            graph->parent[(size_t)origin * nodes + node] = parent;
            m->load[parent] += parent != origin;
            if (m->distance[node] > graph->depth)
                graph->depth = m->distance[node];
        }
    }
    graph->links = graph->first_out[nodes];
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t degree = graph->first_out[node + 1] - graph->first_out[node];
        if (degree > graph->degree)
            graph->degree = degree;
        if (m->load[node] > graph->relayed) {
            graph->relayed = m->load[node];
            graph->relaying = node;
        }
    }
}

/* Makes the lists of links and from them the trees. */
static hawser_status link_up(hw_graph *graph, const char *name, const graph_search *m, hawser_error *error)
{
    size_t nodes = graph->nodes, links = 0;
    for (size_t i = 0; i < nodes * nodes; i++)
        links += graph->link[i];
    HAWSER_TRY(HW_NEW(&graph->first_out, nodes + 1, "a topology's links", error));
    HAWSER_TRY(HW_NEW(&graph->first_in, nodes + 1, "a topology's links", error));
    HAWSER_TRY(HW_NEW(&graph->out, links, "a topology's links", error));
    HAWSER_TRY(HW_NEW(&graph->in, links, "a topology's links", error));
    list_links(graph, false, graph->first_out, graph->out);
    list_links(graph, true, graph->first_in, graph->in);
    HAWSER_TRY(check_connected(graph, name, m, error));
    HAWSER_TRY(HW_NEW(&graph->parent, nodes * nodes, "a topology's trees", error));
    make_trees(graph, m);
    return HAWSER_OK;
}

hawser_status hw_graph_make(hw_graph *graph, const char *name, const char *edges, uint32_t nodes, hawser_error *error)
{
    graph_search m = {NULL, NULL, NULL};
    graph->nodes = nodes;
    hawser_status status = HW_NEW(&graph->link, (size_t)nodes * nodes, "a topology's links", error);
    HAWSER_THEN(status, HW_NEW(&m.distance, nodes, "a topology's trees", error));
    HAWSER_THEN(status, HW_NEW(&m.queue, nodes, "a topology's trees", error));
    HAWSER_THEN(status, HW_NEW(&m.load, nodes, "a topology's trees", error));
    HAWSER_THEN(status, read_edges(graph, name, edges, error));
    HAWSER_THEN(status, link_up(graph, name, &m, error));
    free(m.distance);
    free(m.queue);
    free(m.load);
    return status;
}

void hw_graph_free(hw_graph *graph)
{
    free(graph->link);
    free(graph->first_out);
    free(graph->out);
    free(graph->first_in);
    free(graph->in);
    free(graph->parent);
}
