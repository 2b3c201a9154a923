#include "exchange/circulant.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* What making a ring needs, an entry per node. */
typedef struct circulant_search {
    uint32_t *steps; /* from node 0; UINT32_MAX: not reached */
    uint32_t *queue, *parent, *load;
} circulant_search;

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Returns the common divisor of the number of nodes and the first `count` distances. If it is 1, every node can be
 * reached. */
static uint32_t common_divisor_of(const hw_circulant *graph, uint32_t count)
{
    uint32_t divisor = graph->nodes;
    for (uint32_t i = 0; i < count; i++)
        divisor = common_divisor(divisor, graph->distances[i]);
    return divisor;
}

/* Returns the most steps from node 0, and so from any node, to another node; UINT32_MAX if a node cannot be reached. */
static uint32_t find_steps(const hw_circulant *graph, const circulant_search *m)
{
    uint32_t nodes = graph->nodes, head = 0, tail = 0;
    for (uint32_t node = 1; node < nodes; node++)
        m->steps[node] = UINT32_MAX;
    m->steps[0] = 0;
    m->queue[tail++] = 0;
    while (head < tail) {
        uint32_t at = m->queue[head++];
        for (uint32_t i = 0; i < graph->degree; i++) {
            uint32_t to = (uint32_t)(((uint64_t)at + graph->distances[i]) % nodes);
            if (m->steps[to] != UINT32_MAX)
                continue;
            m->steps[to] = m->steps[at] + 1;
            m->queue[tail++] = to;
        }
    }
    return tail == nodes ? m->steps[m->queue[tail - 1]] : UINT32_MAX;
}

static bool has(const hw_circulant *graph, uint32_t distance)
{
    for (uint32_t i = 0; i < graph->degree; i++)
        if (graph->distances[i] == distance)
            return true;
    return false;
}

static int by_number(const void *one, const void *two)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)two;
    return a < b ? -1 : a > b;
}

static hawser_status choose_distances(hw_circulant *graph, const circulant_search *m, hawser_error *error)
{
    uint32_t nodes = graph->nodes, least = 0;
    size_t capacity = 0;
    graph->depth = nodes > 1 ? UINT32_MAX : 0;
    for (uint32_t n = nodes; n > 1; n /= 2)
        least++;
    for (uint64_t denominator = 2; graph->degree < least || graph->depth > 2 * least; denominator *= 2)
        for (uint64_t numerator = 1; numerator < denominator && (graph->degree < least || graph->depth > 2 * least);
             numerator += 2) {
            uint32_t distance = (uint32_t)(nodes * numerator / denominator), made = graph->degree;
            if (distance == 0 || has(graph, distance))
                continue;
            HAWSER_TRY(HW_GROW(&graph->distances, &capacity, made + 1, "a topology's links", error));
            graph->distances[graph->degree++] = distance;
            uint32_t before = common_divisor_of(graph, made), after = common_divisor_of(graph, made + 1);
            uint32_t depth = after == 1 ? find_steps(graph, m) : UINT32_MAX;
            if (made >= least && depth >= graph->depth && before == after &&
                denominator <= 4 * (uint64_t)nodes) /* neither reach nor depth improves */
                graph->degree = made;
            else
                graph->depth = depth;
        }
    if (graph->degree > 0)
        qsort(graph->distances, graph->degree, sizeof *graph->distances, by_number);
    return HAWSER_OK;
}

/* Returns the node one step nearer to node 0 that has the fewest children so far; of equal ones the next after `node`. */
static uint32_t choose_parent(const hw_circulant *graph, const circulant_search *m, uint32_t node)
{
    uint32_t best = UINT32_MAX;
    if (m->steps[node] == 1)
        return 0;
    for (uint32_t i = graph->degree; i-- > 0;) { /* the longest way back leads to the next node after this one */
        uint32_t candidate = (node + graph->nodes - graph->distances[i]) % graph->nodes;
        if (m->steps[candidate] + 1 == m->steps[node] && (best == UINT32_MAX || m->load[candidate] < m->load[best]))
            best = candidate;
    }
    return best;
}

/* Makes the tree of node 0. */
static void make_tree(hw_circulant *graph, const circulant_search *m)
{
    uint32_t nodes = graph->nodes;
    (void)find_steps(graph, m);
    for (uint32_t node = 1; node < nodes; node++) {
        m->parent[node] = choose_parent(graph, m, node);
        m->load[m->parent[node]]++;
    }
    for (uint32_t node = 0; node < nodes; node++)
        graph->first[node + 1] = graph->first[node] + m->load[node];
    for (uint32_t node = 0, at = 0; node < nodes; node++)
        for (uint32_t i = 0; i < graph->degree; i++) {
            uint32_t to = (uint32_t)(((uint64_t)node + graph->distances[i]) % nodes);
            if (to != 0 && m->parent[to] == node)
                graph->below[at++] = to;
        }
}

hawser_status hw_circulant_make(hw_circulant *graph, uint32_t nodes, hawser_error *error)
{
    circulant_search m = {NULL, NULL, NULL, NULL};
    graph->nodes = nodes;
    hawser_status status = HW_NEW(&graph->first, (size_t)nodes + 1, "a topology's tree", error);
    HAWSER_THEN(status, HW_NEW(&graph->below, nodes, "a topology's tree", error));
    HAWSER_THEN(status, HW_NEW(&m.steps, nodes, "a topology's tree", error));
    HAWSER_THEN(status, HW_NEW(&m.queue, nodes, "a topology's tree", error));
    HAWSER_THEN(status, HW_NEW(&m.parent, nodes, "a topology's tree", error));
    HAWSER_THEN(status, HW_NEW(&m.load, nodes, "a topology's tree", error));
    HAWSER_THEN(status, choose_distances(graph, &m, error));
    if (status == HAWSER_OK)
        make_tree(graph, &m);
    free(m.steps);
    free(m.queue);
    free(m.parent);
    free(m.load);
    return status;
}

void hw_circulant_free(hw_circulant *graph)
{
    free(graph->distances);
    free(graph->first);
    free(graph->below);
}

uint32_t hw_circulant_children(const hw_circulant *graph, uint32_t origin, uint32_t node, uint32_t *children)
{
    uint32_t place = (uint32_t)(((uint64_t)node + graph->nodes - origin) % graph->nodes);
    uint32_t first = graph->first[place], count = graph->first[place + 1] - first;
    for (uint32_t i = 0; i < count; i++)
        children[i] = (uint32_t)(((uint64_t)graph->below[first + i] + origin) % graph->nodes);
    return count;
}

uint32_t hw_circulant_sends(const hw_circulant *graph, uint32_t origin, uint32_t node)
{
    uint32_t place = (uint32_t)(((uint64_t)node + graph->nodes - origin) % graph->nodes);
    return graph->first[place + 1] - graph->first[place];
}
