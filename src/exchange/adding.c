#include "exchange/adding.h"

#include <stdlib.h>

#include "base/memory.h"
#include "codec/narrow.h"
#include "transport/transport.h"

/* Returns the longest run of blocks around `block` on its node. */
static hw_reduce_run run_of(const hw_view *view, uint32_t block)
{
    uint32_t node = hw_view_node(view, block);
    hw_reduce_run run = {block, block + 1};
    while (run.begin > 0 && hw_view_node(view, run.begin - 1) == node)
        run.begin--;
    while (run.end < view->blocks && hw_view_node(view, run.end) == node)
        run.end++;
    return run;
}

/* Returns all blocks of a node, if the view's blocks are in order. */
static hw_reduce_run blocks_of(const hw_view *view, uint32_t node)
{
    return run_of(view, hw_view_next(view, node, 0));
}

/* The tree of make_tree in topology.c: below node n are the nodes up to n + its lowest set bit, and its parent is n without
 * that bit. */
static hw_adding_range in_tree(const hw_view *view, uint32_t node)
{
    uint32_t lowest = node & (0 - node);
    hw_reduce_run own = blocks_of(view, node);
    if (node == 0)
        return (hw_adding_range){.run = {0, view->blocks}, .to = HW_TO_BLOCKS};
    uint32_t end = lowest < view->nodes - node ? blocks_of(view, node + lowest).begin : view->blocks;
    return (hw_adding_range){.run = {own.begin, end}, .to = blocks_of(view, node - lowest).begin};
}

static hw_adding_range at_server(const hw_view *view, uint32_t node, uint32_t server)
{
    if (node == server)
        return (hw_adding_range){.run = {0, view->blocks}, .to = HW_TO_BLOCKS};
    return (hw_adding_range){.run = blocks_of(view, node), .to = blocks_of(view, server).begin};
}

static void add_link(hw_adding *adding, hw_adding_range *range, const hw_view *view, uint32_t node)
{
    adding->links[adding->link_count++] = blocks_of(view, node).begin;
    range->link_count++;
}

/* Lists a node's links of a range: those of make_tree in topology.c, or those between a server and the other nodes. */
static void list_links(hw_adding *adding, hw_adding_range *range, hw_adding_shape shape, const hw_view *view, uint32_t node,
                       uint32_t server)
{
    range->links = adding->links + adding->link_count;
    if (shape.kind == HW_ADDING_SERVERS && node != server) {
        add_link(adding, range, view, server);
        return;
    }
    for (uint32_t other = 0; other < view->nodes; other++)
        if (other != node && (shape.kind == HW_ADDING_SERVERS || hw_adding_parent(other) == node))
            add_link(adding, range, view, other);
    if (shape.kind == HW_ADDING_TREE && node > 0)
        add_link(adding, range, view, hw_adding_parent(node));
}

static void fill_gathered(hw_adding *adding, hw_adding_shape shape, const hw_view *view, uint32_t block, uint32_t state)
{
    uint32_t node = hw_view_node(view, block), leader = blocks_of(view, node).begin;
    adding->gathers = adding->combines = true;
    adding->own_to = leader;
    adding->adds = block == leader;
    for (uint32_t k = 0; k < adding->range_count; k++) {
        hw_adding_range *range = &adding->ranges[k];
        size_t begin = range->begin, end = range->end;
        uint32_t server = shape.kind == HW_ADDING_SERVERS ? (k + state) % shape.servers : 0;
        if (block == leader)
            *range = shape.kind == HW_ADDING_TREE ? in_tree(view, node) : at_server(view, node, server);
        if (block == leader)
            list_links(adding, range, shape, view, node, server);
        range->begin = begin;
        range->end = end;
    }
}

static void fill_spread(hw_adding *adding, const hw_view *view, uint32_t block)
{
    hw_reduce_run tree = hw_subtree_in(view->blocks, block, run_of(view, block));
    bool alone = tree.end - tree.begin == 1;
    adding->own_to = alone ? HW_TO_BLOCKS : HW_TO_LOCAL;
    adding->adds = !alone && block == tree.begin;
    if (adding->adds) {
        adding->ranges[0].run = tree;
        adding->ranges[0].to = HW_TO_NODES;
    }
}

/* A block without others below it has its parent add its updates up. */
static void fill_blocks(hw_adding *adding, const hw_view *view, uint32_t block)
{
    hw_reduce_run run = hw_adding_branch(block, view->blocks);
    uint32_t to = block == 0 ? HW_TO_BLOCKS : hw_adding_parent(block);
    adding->gathers = adding->waits = true;
    adding->adds = block == 0 || run.end - run.begin > 1;
    adding->own_to = adding->adds ? block : to;
    if (adding->adds) {
        adding->ranges[0].run = run;
        adding->ranges[0].to = to;
    }
}

hawser_status hw_adding_new(hw_adding_shape shape, const hw_view *view, uint32_t block, uint32_t state, size_t count,
                            hw_adding **adding, hawser_error *error)
{
    size_t tiles = count / HW_TILE + (count % HW_TILE != 0);
    hw_adding *made = NULL;
    *adding = NULL;
    HAWSER_TRY(HW_NEW(&made, 1, "the adding up of updates", error));
    made->range_count = 1;
    if (!hw_view_in_order(view) && shape.kind != HW_ADDING_BLOCKS)
        shape.kind = HW_ADDING_SPREAD;
    if (shape.kind == HW_ADDING_SERVERS && tiles > 1)
        made->range_count = tiles < shape.servers ? (uint32_t)tiles : shape.servers;
    hawser_status status = HW_NEW(&made->ranges, made->range_count, "the adding up of updates", error);
    if (status == HAWSER_OK) /* a server of one range has all nodes, each other range one; a tree's node has at most 32 */
        status = HW_NEW(&made->links, (size_t)made->range_count + view->nodes, "the adding up of updates", error);
    if (status != HAWSER_OK) {
        hw_adding_free(made);
        return status;
    }
    for (uint32_t k = 0; k < made->range_count; k++) {
        made->ranges[k].begin = tiles * k / made->range_count * HW_TILE;
        made->ranges[k].end = k + 1 < made->range_count ? tiles * (k + 1) / made->range_count * HW_TILE : count;
    }
    if (shape.kind == HW_ADDING_BLOCKS)
        fill_blocks(made, view, block);
    else if (shape.kind == HW_ADDING_SPREAD)
        fill_spread(made, view, block);
    else
        fill_gathered(made, shape, view, block, state);
    *adding = made;
    return HAWSER_OK;
}

void hw_adding_free(hw_adding *adding)
{
    if (adding == NULL)
        return;
    free(adding->ranges);
    free(adding->links);
    free(adding);
}
