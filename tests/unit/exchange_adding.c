/*
 * Updates that are added up on the way. For every placement of up to six blocks on nodes and every shape the bits are those
 * of updates that are sent separately. Other tests check the number of messages, and sums that no block may send.
 */
#include "exchange_cluster.h"

#include "exchange/pack.h"
#include "exchange/reduce.h"
#include "exchange/replica.h"

enum { CLOCKS = 4, EPOCHS = 2, ENTRIES = 3 * 512 + 7 };

typedef struct setup {
    hw_adding_shape shape;
    uint32_t home[MOST_BLOCKS], blocks, nodes;
    uint32_t in_parts; /* one bit per block: it cuts each clock in two parts */
    bool cancels;      /* block 1 cancels the changes of block 0 in the first tile, and no block changes the second */
    size_t changes;    /* entries that a unit changes; ENTRIES or more: all */
    bool wide;         /* every second block's changes are tiny, so that rounded sums need all their bits */
    hw_replica_spec spec;
} setup;

/* Messages and packed bytes from node to node; a message to several nodes counts for each. */
typedef struct traffic {
    uint64_t messages, bytes;
} traffic;

typedef struct world {
    const setup *how;
    hw_replica *replicas[MOST_BLOCKS];
    hw_adding *adding[MOST_BLOCKS];
    link_queue links[MOST_BLOCKS][MOST_BLOCKS];
    uint64_t clock[MOST_BLOCKS];
    hw_random random;
    traffic traffic;
} world;

static void deliver_to_all(world *w, uint32_t from, hw_message *message)
{
    uint32_t counted = UINT32_MAX;
    hw_message *packed;
    assert_int_equal(hw_pack(message, w->how->spec.count, &packed, NULL), HAWSER_OK);
    uint64_t length = (packed != NULL ? packed : message)->envelope.length;
    hw_message_free(packed);
    for (uint32_t to = 0; to < w->how->blocks; to++) {
        bool here = w->how->home[to] == w->how->home[from];
        if (!is_for(message, w->how->home, from, to))
            continue;
        link_send(&w->links[to][from], message)->envelope.source = from;              /* as a transport does */
        if (here || w->how->home[to] == counted || message->envelope.clock >= CLOCKS) /* except flushes */
            continue;
        counted = w->how->home[to]; /* once per node */
        w->traffic.messages++;
        w->traffic.bytes += length;
    }
    hw_message_free(message);
}

static void send(world *w, uint32_t from, hw_message *message)
{
    for (; message != NULL; message = hw_replica_next(w->replicas[from]))
        deliver_to_all(w, from, message);
}

static void open_world(world *w, const setup *how, bool adds, uint64_t seed)
{
    hawser_error error = {0};
    *w = (world){.how = how, .random = hw_random_at(seed, 3, 0, 0)};
    for (uint32_t b = 0; b < how->blocks; b++) {
        hw_replica_spec spec = how->spec;
        spec.block = b;
        spec.blocks = spec.sources = how->blocks;
        const hw_view view = {HW_VIEW_FIRST, how->blocks, how->nodes, (uint32_t *)how->home};
        if (adds)
            check(hw_adding_new(how->shape, &view, b, spec.state, spec.count, &w->adding[b], &error), &error);
        spec.adding = w->adding[b];
        check(hw_replica_new(&spec, &w->replicas[b], &error), &error);
    }
}

static void close_world(world *w)
{
    for (uint32_t b = 0; b < w->how->blocks; b++) {
        for (uint32_t s = 0; s < w->how->blocks; s++)
            assert_null(w->links[b][s].first);
        assert_null(hw_replica_next(w->replicas[b]));
        hw_replica_free(w->replicas[b]);
        hw_adding_free(w->adding[b]);
    }
}

/* Makes changes of blocks 0 and 1 that cancel in their sum. */
static void cancel(double *cache, uint32_t b)
{
    for (size_t i = 0; b < 2 && i < 512; i++)
        cache[i] += b == 0 ? 1 : -1;
    for (size_t i = 1024; b == 0 && i < ENTRIES; i++)
        cache[i] += 1;
}

/* Makes changes that depend on the cache, so that a single wrong bit spreads. */
static void work(world *w, uint32_t b, uint64_t clock)
{
    hawser_error error = {0};
    hw_message *message;
    double *cache = hw_replica_cache(w->replicas[b]);
    hw_random random = hw_random_at(5, 1, b, clock);
    size_t n = w->how->spec.count, changes = w->how->changes;
    for (int part = 0; part < 2; part++) {
        if (w->how->cancels)
            cancel(cache, b);
        for (size_t k = 0; n > 0 && k < (changes < n ? changes : n); k++) {
            size_t i = changes < n ? (size_t)hw_random_below(&random, n) : k;
            if (w->how->wide)
                cache[i] += (b % 2 ? 1e-9 : 1) * hw_random_uniform(&random);
            else
                cache[i] += 0.3 * (sin((double)(i + 7 * b + 1)) * hw_random_uniform(&random) - cache[i] / 3);
        }
        bool parts = (w->how->in_parts >> b) & 1, last = part == 1 || !parts;
        check(hw_replica_cut(w->replicas[b], clock, last, false, &message, &error), &error);
        if (w->adding[b] == NULL && message != NULL)
            assert_int_equal(message->envelope.destination, HW_TO_BLOCKS);
        send(w, b, message != NULL ? message : hw_replica_next(w->replicas[b]));
        if (last)
            return;
    }
}

static bool receive(world *w, uint32_t b)
{
    hawser_error error = {0};
    uint32_t start = (uint32_t)hw_random_below(&w->random, w->how->blocks);
    for (uint32_t i = 0; i < w->how->blocks; i++) {
        hw_message *message = link_take(&w->links[b][(start + i) % w->how->blocks]);
        if (message == NULL)
            continue;
        check(hw_replica_accept(w->replicas[b], message, &error), &error);
        send(w, b, hw_replica_next(w->replicas[b]));
        return true;
    }
    return false;
}

static bool holds_back(const hw_replica_spec *spec)
{
    return spec->rounding != HW_F64 || spec->filter.kind != HW_FILTER_NONE;
}

static void run_epoch(world *w, uint64_t epoch)
{
    const hw_policy bsp = {HW_POLICY_BSP, 0};
    hawser_error error = {0};
    uint32_t blocks = w->how->blocks, ended = 0;
    uint64_t clocks = CLOCKS + holds_back(&w->how->spec); /* one more clock, which flushes */
    bool over[MOST_BLOCKS] = {false};
    /* Some blocks are still in the last epoch when others begin: each begins when it is first scheduled. */
    bool begun[MOST_BLOCKS] = {false};
    memset(w->clock, 0, sizeof w->clock);
    for (uint64_t steps = 0; ended < blocks; steps++) {
        assert_true(steps < 1000000);
        uint32_t b = (uint32_t)hw_random_below(&w->random, blocks);
        if (hw_random_below(&w->random, 3) > 0) {
            receive(w, b);
            continue;
        }
        if (!begun[b]) {
            hw_replica_begin(w->replicas[b], epoch, bsp);
            send(w, b, hw_replica_next(w->replicas[b]));
            begun[b] = true;
        }
        if (over[b] || !hw_admit_read(bsp, hw_replica_clocks(w->replicas[b]), w->clock[b]))
            continue;
        if (w->clock[b] == clocks) {
            check(hw_replica_end(w->replicas[b], clocks, &error), &error);
            over[b] = true;
            ended++;
            continue;
        }
        check(hw_replica_merge(w->replicas[b], w->clock[b], &error), &error);
        if (w->clock[b] < CLOCKS) {
            work(w, b, w->clock[b]);
        } else {
            hw_message *message;
            check(hw_replica_cut(w->replicas[b], w->clock[b], true, true, &message, &error), &error);
            send(w, b, message != NULL ? message : hw_replica_next(w->replicas[b]));
        }
        w->clock[b]++;
    }
    for (uint32_t b = 0; b < blocks; b++) /* messages that no merge needed any more */
        while (receive(w, b))
            continue;
}

/* Runs the case with and without adding up, compares the bits, and stores the traffic of both. */
static void compare(const setup *how, uint64_t seed, traffic *alone, traffic *added)
{
    world a, b;
    open_world(&a, how, false, seed);
    open_world(&b, how, true, seed + 1);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        run_epoch(&a, epoch);
        run_epoch(&b, epoch);
        for (uint32_t block = 0; block < how->blocks; block++) {
            assert_true(same_bits(hw_replica_base(a.replicas[0]), hw_replica_base(b.replicas[block]), how->spec.count));
            assert_true(same_bits(hw_replica_base(b.replicas[0]), hw_replica_cache(b.replicas[block]), how->spec.count));
        }
    }
    *alone = a.traffic;
    *added = b.traffic;
    close_world(&a);
    close_world(&b);
}

/* Places the blocks on nodes: if bit b is set, block b + 1 is on the next node. */
static void lay(setup *how, uint32_t blocks, uint32_t bits)
{
    how->blocks = blocks;
    how->home[0] = 0;
    for (uint32_t b = 1; b < blocks; b++)
        how->home[b] = how->home[b - 1] + ((bits >> (b - 1)) & 1);
    how->nodes = how->home[blocks - 1] + 1;
}

static hw_replica_spec plain(size_t count)
{
    return (hw_replica_spec){.name = "v", .count = count, .rule = {.damping = 1, .gain = 1}, .seed = 9};
}

static void every_layout_and_shape_gives_the_same_bits(void **state)
{
    (void)state;
    const size_t counts[] = {ENTRIES, 40, 0};
    uint64_t seed = 1;
    for (uint32_t blocks = 2; blocks <= 6; blocks++)
        for (uint32_t bits = 0; bits < 1u << (blocks - 1); bits++)
            for (uint32_t shape = 0; shape < (bits == 0 ? 1 : 5); shape++) {
                setup how = {.spec = plain(counts[seed % 3]), .changes = seed % 2 ? ENTRIES : 3};
                lay(&how, blocks, bits);
                uint32_t servers = shape < 2 ? 0 : shape == 2 ? 1 : shape == 3 ? 2 : how.nodes;
                how.shape = (hw_adding_shape){shape < 2 ? (hw_adding_kind)shape : HW_ADDING_SERVERS, servers};
                if (bits == 0) /* one node */
                    how.shape = (hw_adding_shape){HW_ADDING_BLOCKS, 0};
                how.spec.state = (uint32_t)(seed % 4);
                how.in_parts = seed % 5 == 0 ? (uint32_t)(seed / 5) % (1u << blocks) : 0;
                if (servers > how.nodes)
                    continue;
                traffic alone, added;
                compare(&how, seed++, &alone, &added);
                if (how.in_parts == 0 && shape == 0)
                    assert_true(added.messages <= alone.messages && added.bytes <= alone.bytes);
            }
}

/* If the blocks of a node are not neighbours, fewer of them form subtrees, and the bits are the same. */
static void blocks_in_any_order_on_nodes_give_the_same_bits(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (uint32_t blocks = 3; blocks <= 5; blocks++)
        for (uint32_t nodes = 2; nodes <= 3; nodes++)
            for (uint32_t number = 0; number < (nodes == 2 ? 1u << blocks : 243u); number++)
                for (uint32_t shape = 0; shape < 3; shape++) {
                    setup how = {.spec = plain(40), .changes = 5, .blocks = blocks, .nodes = nodes};
                    uint32_t rest = number, seen = 0;
                    for (uint32_t b = 0; b < blocks; b++, rest /= nodes)
                        seen |= 1u << (how.home[b] = rest % nodes);
                    how.shape = (hw_adding_shape){(hw_adding_kind)shape, shape == HW_ADDING_SERVERS ? nodes : 0};
                    if (seen != (1u << nodes) - 1 || rest > 0)
                        continue;
                    traffic alone, added;
                    compare(&how, seed++, &alone, &added);
                }
    assert_true(seed > 300);
}

/* A sum of zero changes neither the sign of a zero in the base nor the cache of a block whose own changes it cancels. */
static void sums_of_zero_leave_no_trace(void **state)
{
    (void)state;
    double minus[ENTRIES];
    for (size_t i = 0; i < ENTRIES; i++)
        minus[i] = -0.0;
    for (uint32_t shape = 0; shape < 4; shape++)
        for (uint32_t bits = 1; bits < 8; bits++) {
            setup how = {.shape = {(hw_adding_kind)shape, 1}, .spec = plain(ENTRIES), .cancels = true};
            traffic alone, added;
            how.spec.initial = minus;
            lay(&how, 4, bits);
            compare(&how, 20 + shape, &alone, &added);
        }
}

static void sums_that_do_not_pay_are_not_sent(void **state)
{
    (void)state;
    const hw_width roundings[] = {HW_F64, HW_BF16};
    for (int k = 0; k < 2; k++) {
        setup how = {.spec = plain(ENTRIES), .changes = ENTRIES, .wide = true};
        traffic alone, added;
        how.spec.rounding = roundings[k];
        lay(&how, 4, 2);
        compare(&how, 30, &alone, &added);
        assert_true(added.messages * (k == 0 ? 2 : 1) == alone.messages && added.bytes <= alone.bytes);
    }
}

/* Along a tree of blocks, three of six have nothing below them and send their two parts up, two send a sum, and the root
 * sends one total to five. */
static void parts_are_added_up_along_a_tree_of_blocks(void **state)
{
    (void)state;
    setup how = {.shape = {HW_ADDING_BLOCKS, 0}, .spec = plain(40), .changes = 40, .in_parts = 63};
    traffic alone, added;
    lay(&how, 6, 31);
    compare(&how, 40, &alone, &added);
    assert_int_equal(alone.messages, EPOCHS * CLOCKS * 6 * 2 * 5);
    assert_int_equal(added.messages, EPOCHS * CLOCKS * (3 * 2 + 2 + 5));
}

static void halve(const hawser_merging *merging)
{
    for (size_t i = 0; i < merging->count; i++)
        merging->state[i] = 0.5 * (merging->state[i] + merging->sum[i]);
}

/* Rules, filters and roundings, on each shape. */
static void every_rule_filter_and_rounding_gives_the_same_bits(void **state)
{
    (void)state;
    const hawser_rule rules[] = {{.damping = 1, .gain = 3},
                                 {.damping = 0.25, .gain = 1},
                                 {.damping = -1, .gain = 1},
                                 {.damping = 1, .gain = 1, .merge = halve}};
    const hw_filter filters[] = {{HW_FILTER_NONE, 0, 0}, {HW_FILTER_ABSOLUTE, 200, 2}, {HW_FILTER_RANDOM, 60, 1}};
    const hw_width roundings[] = {HW_F64, HW_BF16, HW_F16, HW_INT8};
    const uint32_t layouts[][2] = {{4, 2}, {5, 15}, {6, 10}, {8, 8}, {9, 0x24}};
    double minus[ENTRIES];
    for (size_t i = 0; i < ENTRIES; i++)
        minus[i] = i % 3 == 0 ? -0.0 : 1e-3 * (double)i;
    for (uint64_t k = 0; k < 4 * 3 * 4 * 5; k++) {
        setup how = {.spec = plain(ENTRIES), .changes = k % 2 ? ENTRIES : 5};
        how.spec.rule = rules[k % 4];
        how.spec.filter = filters[k / 4 % 3];
        how.spec.rounding = roundings[k / 12 % 4];
        how.spec.initial = minus;
        lay(&how, layouts[k / 48][0], layouts[k / 48][1]);
        how.in_parts = k % 7 == 0 ? 2 : 0;
        how.shape = (hw_adding_shape){k % 5 == 4 ? HW_ADDING_BLOCKS : (hw_adding_kind)(k % 3), 2};
        traffic alone, added;
        compare(&how, 1000 + 2 * k, &alone, &added);
        if (how.shape.kind == HW_ADDING_SPREAD) /* sums never take more bytes, rounded or not */
            assert_true(added.bytes <= alone.bytes + 104 * (alone.messages - added.messages));
    }
}

/* If the blocks of each node are a subtree, a clock takes n - 1 messages up and n - 1 down, and a dense state as many times
 * its bytes. */
static void sums_take_the_fewest_messages(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 8; nodes++)
        for (uint32_t each = 1; nodes * each <= MOST_BLOCKS; each *= 2)
            for (uint32_t shape = 0; shape < 4; shape++) {
                uint32_t servers = shape < 2 ? 0 : shape - 1;
                setup how = {.spec = plain(ENTRIES), .changes = ENTRIES, .blocks = nodes * each, .nodes = nodes};
                how.shape = (hw_adding_shape){shape < 2 ? (hw_adding_kind)shape : HW_ADDING_SERVERS, servers};
                for (uint32_t b = 0; b < how.blocks; b++)
                    how.home[b] = b / each;
                traffic alone, added;
                compare(&how, 50 + nodes, &alone, &added);
                uint64_t clocks = CLOCKS * EPOCHS, dense = ENTRIES * sizeof(double);
                assert_int_equal(alone.messages, clocks * how.blocks * (nodes - 1));
                assert_int_equal(alone.bytes, clocks * how.blocks * (nodes - 1) * (dense + 8));
                uint64_t messages =
                    shape == 0 ? (uint64_t)nodes * (nodes - 1) : 2 * (uint64_t)(nodes - 1) * (servers + (servers == 0));
                assert_int_equal(added.messages, clocks * messages);
                uint64_t whole = shape == 0 ? nodes * (nodes - 1) : 2 * (nodes - 1); /* copies of the state that are sent */
                assert_int_equal(added.bytes, clocks * (whole * dense + 8 * messages));
            }
}

/* --------------------------------------------------------------------------------------------------- wrong sums ---- */

typedef struct claim {
    uint16_t kind;
    uint32_t source, first, covers, range;
    uint64_t clock;
    uint32_t part, last;
    uint8_t form;
    size_t entry;
} claim;

static hawser_status say(hw_replica *replica, claim c, hawser_error *error)
{
    hw_message *message;
    double values[ENTRIES] = {0};
    values[c.entry] = 1;
    assert_int_equal(encode(values, ENTRIES, &message, NULL), HAWSER_OK);
    hw_envelope *envelope = &message->envelope;
    envelope->kind = c.kind;
    envelope->form = c.form;
    envelope->source = c.source;
    envelope->first = c.first;
    envelope->covers = c.covers;
    envelope->range = c.range;
    envelope->clock = c.clock;
    envelope->part = c.part;
    envelope->last = c.last;
    return hw_replica_accept(replica, message, error);
}

static void sums_that_no_block_may_send_are_rejected(void **state)
{
    (void)state;
    enum { UP = HW_MESSAGE_ADDEND, DOWN = HW_MESSAGE_UPDATE, DELTA = HW_FORM_DELTA };
    static const struct {
        uint32_t block, shape, servers, policy;
        bool fine; /* the message is valid; the invalid cases behind it differ from it */
        claim claim;
    } cases[] = {
        /* Six blocks on three nodes: 0 1 | 2 3 | 4 5; block 2 receives the message. */
        {2, HW_ADDING_SPREAD, 0, 0, true, {DOWN, 4, 4, 2, 0, 0, 0, 1, DELTA, 0}},
        {2, HW_ADDING_SPREAD, 0, 0, true, {DOWN, 3, 3, 1, 0, 0, 0, 1, DELTA, 0}},
        {2, HW_ADDING_SPREAD, 0, 0, false, {DOWN, 4, 3, 2, 0, 0, 0, 1, DELTA, 0}}, /* no subtree */
        {2, HW_ADDING_SPREAD, 0, 0, false, {DOWN, 4, 4, 3, 0, 0, 0, 1, DELTA, 0}}, /* more blocks than there are */
        {2, HW_ADDING_SPREAD, 0, 0, false, {DOWN, 4, UINT32_MAX, 2, 0, 0, 0, 1, DELTA, 0}},
        {2, HW_ADDING_SPREAD, 0, 0, false, {DOWN, 0, 2, 2, 0, 0, 0, 1, DELTA, 0}}, /* with the own one */
        {2, HW_ADDING_SPREAD, 0, 0, false, {DOWN, 0, 2, 1, 0, 0, 0, 1, DELTA, 0}}, /* the own one */
        {2, HW_ADDING_SPREAD, 0, 0, false, {DOWN, 4, 4, 2, 0, 1, 0, 1, DELTA, 0}}, /* a clock too early */
        {2, HW_ADDING_SPREAD, 0, 0, false, {DOWN, 4, 4, 2, 0, 0, 1, 1, DELTA, 0}}, /* parts of a sum */
        {2, HW_ADDING_SPREAD, 0, 0, false, {DOWN, 4, 4, 2, 0, 0, 0, 0, DELTA, 0}},
        {2, HW_ADDING_SPREAD, 0, 0, false, {DOWN, 4, 4, 2, 1, 0, 0, 1, DELTA, 0}}, /* a range of a state without ranges */
        {2,
         HW_ADDING_SPREAD,
         0,
         0,
         false,
         {UP, 3, 3, 1, 0, 0, 0, 1, DELTA, 0}}, /* an addend for a block that adds up nothing */
        {2, HW_ADDING_SPREAD, 0, 0, false, {DOWN, 4, 4, 2, 0, 0, 0, 1, HW_FORM_VALUES, 0}},
        {2, HW_ADDING_SPREAD, 0, 1, false, {DOWN, 4, 4, 2, 0, 0, 0, 1, DELTA, 0}}, /* SSP has no sums */
        {2,
         HW_ADDING_TREE,
         0,
         0,
         false,
         {DOWN, 0, 0, 6, 0, 0, 0, 1, DELTA, 0}}, /* a total before this block has cut its own update */
        {2, HW_ADDING_TREE, 0, 0, true, {UP, 3, 3, 1, 0, 0, 0, 1, DELTA, 0}},
        {2, HW_ADDING_TREE, 0, 0, false, {UP, 4, 4, 2, 0, 0, 0, 1, DELTA, 0}}, /* not below this node */
        {2, HW_ADDING_TREE, 0, 1, false, {UP, 3, 3, 1, 0, 0, 0, 1, DELTA, 0}},
        {3, HW_ADDING_TREE, 0, 0, false, {UP, 2, 2, 1, 0, 0, 0, 1, DELTA, 0}}, /* block 3 adds up nothing */
        {0, HW_ADDING_TREE, 0, 0, true, {UP, 2, 2, 2, 0, 0, 0, 1, DELTA, 0}},
        {0, HW_ADDING_TREE, 0, 0, false, {UP, 2, 2, 2, 0, 0, 0, 2, DELTA, 0}},
        {0, HW_ADDING_TREE, 0, 0, false, {UP, 2, 2, 2, 0, 0, 1, 1, DELTA, 0}},
        {0, HW_ADDING_SERVERS, 2, 0, true, {UP, 2, 2, 2, 1, 0, 0, 1, DELTA, 5}},
        {0, HW_ADDING_SERVERS, 2, 0, true, {DOWN, 2, 4, 2, 2, 0, 0, 1, DELTA, ENTRIES - 1}},
        {0, HW_ADDING_SERVERS, 2, 0, false, {UP, 2, 2, 2, 3, 0, 0, 1, DELTA, 5}},           /* a third range */
        {0, HW_ADDING_SERVERS, 2, 0, false, {UP, 2, 2, 2, 1, 0, 0, 1, DELTA, ENTRIES - 1}}, /* out of its range */
        {0, HW_ADDING_SERVERS, 2, 0, false, {DOWN, 2, 4, 2, 2, 0, 0, 1, DELTA, 0}},
        {0, HW_ADDING_SERVERS, 2, 0, false, {DOWN, 2, 4, 2, 0, 0, 0, 1, DELTA, 0}}, /* of no range */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        setup how = {.shape = {(hw_adding_kind)cases[k].shape, cases[k].servers}, .spec = plain(ENTRIES)};
        hawser_error error = {0};
        world w;
        lay(&how, 6, 10); /* bits 1 and 3 */
        open_world(&w, &how, true, 1);
        hw_replica *replica = w.replicas[cases[k].block];
        hw_replica_begin(replica, 0, (hw_policy){cases[k].policy ? HW_POLICY_SSP : HW_POLICY_BSP, cases[k].policy});
        hawser_status status = say(replica, cases[k].claim, &error);
        if ((status == HAWSER_OK) != cases[k].fine)
            fail_msg("case %zu: %s", k, error.text);
        assert_true(cases[k].fine || (status == HAWSER_BAD_INPUT && strstr(error.text, "block ") != NULL));
        if (cases[k].fine) /* once is enough */
            assert_int_equal(say(replica, cases[k].claim, &error), HAWSER_BAD_INPUT);
        while (w.replicas[0] != NULL) {
            hw_message *message = hw_replica_next(replica);
            if (message == NULL)
                break;
            hw_message_free(message);
        }
        close_world(&w);
    }
}

static void a_sum_that_overflows_is_reported(void **state)
{
    (void)state;
    setup how = {.shape = {HW_ADDING_SPREAD, 0}, .spec = plain(ENTRIES)};
    hawser_error error = {0};
    hw_message *message;
    world w;
    lay(&how, 4, 2);
    open_world(&w, &how, true, 1);
    for (uint32_t b = 0; b < 2; b++) {
        hw_replica_begin(w.replicas[b], 0, (hw_policy){HW_POLICY_BSP, 0});
        cache_of(w.replicas[b])[1100] = 1.5e308;
    }
    check(hw_replica_cut(w.replicas[1], 0, true, false, &message, &error), &error);
    assert_int_equal(message->envelope.destination, HW_TO_LOCAL);
    check(hw_replica_accept(w.replicas[0], message, &error), &error);
    hawser_status status = hw_replica_cut(w.replicas[0], 0, true, false, &message, &error);
    assert_int_equal(status, HAWSER_NOT_FINITE);
    assert_non_null(strstr(error.text, "state 'v' by blocks 0 to 1 add up to inf at entry 1100"));
    assert_non_null(strstr(error.text, "or average the workers' updates (--merge average;"));
    hw_message_free(message);
    close_world(&w);
}

/* Returns true if the definition of subtrees lists these blocks. */
static bool listed(uint32_t begin, uint32_t size, uint32_t first, uint32_t count)
{
    if (begin == first && size == count)
        return true;
    if (size <= 1)
        return false;
    uint32_t left = hw_left_of(size);
    return listed(begin, left, first, count) || listed(begin + left, size - left, first, count);
}

static void subtrees_match_their_definition(void **state)
{
    (void)state;
    for (uint32_t blocks = 1; blocks <= 33; blocks++)
        for (uint32_t first = 0; first <= blocks; first++)
            for (uint32_t count = 0; count <= blocks + 1; count++)
                assert_int_equal(hw_is_subtree(blocks, first, count), count > 0 && listed(0, blocks, first, count));
}

/* Over many servers a state has many ranges, and each message is about one range and many blocks. */
static void clocks_of_ranges_take_a_step_for_each_range(void **state)
{
    (void)state;
    enum { MANY = 40, LENGTH = MANY * 512, RUNS = 6 };
    hawser_error error = {0};
    uint32_t home[MANY], order[MANY];
    uint64_t steps = 0;
    for (uint32_t i = 0; i < MANY; i++)
        home[i] = order[i] = i;
    const hw_view view = {HW_VIEW_FIRST, MANY, MANY, home};
    hw_replica_spec spec = plain(LENGTH);
    spec.block = 3;
    spec.blocks = spec.sources = MANY;
    hw_adding *adding;
    hw_replica *replica;
    hw_random random = hw_random_at(1, 2, 3, 4);
    check(hw_adding_new((hw_adding_shape){HW_ADDING_SERVERS, MANY}, &view, 3, spec.state, LENGTH, &adding, &error), &error);
    spec.adding = adding;
    check(hw_replica_new(&spec, &replica, &error), &error);
    assert_int_equal(replica->range_count, MANY);
    for (uint64_t clock = 0; clock < RUNS; clock++)
        for (uint32_t block = 0; block < MANY; block++) {
            for (uint32_t i = MANY - 1; i > 0; i--) {
                const uint32_t k = (uint32_t)hw_random_below(&random, i + 1), other = order[k];
                order[k] = order[i];
                order[i] = other;
            }
            for (uint32_t i = 0; i < MANY; i++) {
                const uint32_t before = replica->slow[block];
                hw_mark_block(replica, block, order[i], order[i] + 1, clock + 1);
                const bool all = i + 1 == MANY;
                assert_int_equal(replica->clocks.done[block], clock + all);
                steps += all ? MANY : (replica->slow[block] + MANY - before) % MANY;
                if (!all) /* the search ended at the first range that keeps the block back, and begins there next time */
                    assert_int_equal(replica->ranges[replica->slow[block]].done[block], clock);
            }
        }
    assert_true(steps <= (uint64_t)2 * RUNS * MANY * MANY);
    hw_replica_free(replica);
    hw_adding_free(adding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subtrees_match_their_definition),
        cmocka_unit_test(every_layout_and_shape_gives_the_same_bits),
        cmocka_unit_test(blocks_in_any_order_on_nodes_give_the_same_bits),
        cmocka_unit_test(sums_of_zero_leave_no_trace),
        cmocka_unit_test(sums_that_do_not_pay_are_not_sent),
        cmocka_unit_test(parts_are_added_up_along_a_tree_of_blocks),
        cmocka_unit_test(every_rule_filter_and_rounding_gives_the_same_bits),
        cmocka_unit_test(sums_take_the_fewest_messages),
        cmocka_unit_test(clocks_of_ranges_take_a_step_for_each_range),
        cmocka_unit_test(sums_that_no_block_may_send_are_rejected),
        cmocka_unit_test(a_sum_that_overflows_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
