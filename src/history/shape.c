/* shape.c - which fields and flags a record of each kind may have. All others are zero, so nothing in a record has no
 * meaning. */
#include "history/checker.h"

enum {
    RANGE = 1 << 0,
    OBJECT = 1 << 1,
    ACTOR = 1 << 2,
    FROM = 1 << 3,
    COVERS = 1 << 4,
    PART = 1 << 5,
    SPAN = 1 << 6,
    MORE = 1 << 7,
    LEAST = SPAN | MORE, /* one number in place of the two */
    EPOCH = 1 << 8,
    CLOCK = 1 << 9,
    FIRST = 1 << 10,
    LAST = 1 << 11,
    COUNT = 1 << 12,
    DIGEST = 1 << 13,
    BLOCKS = ACTOR | EPOCH, /* what each record of a block has */
    TASK = OBJECT | ACTOR | FROM | EPOCH | CLOCK | FIRST | LAST,
    PIECE = TASK | COVERS | PART | LEAST | COUNT
};

typedef struct shape {
    unsigned streams; /* kinds of streams, one bit each */
    unsigned fields, flags;
} shape;

enum {
    IN_BLOCK = 1 << HW_STREAM_BLOCK,
    IN_STRIPE = 1 << HW_STREAM_STRIPE,
    IN_CLIENT = 1 << HW_STREAM_CLIENT,
    IN_VECTOR = 1 << HW_STREAM_VECTOR
};

static const shape shapes[HW_EVENT_CLOSE] = {
    [HW_EVENT_STATE] = {IN_BLOCK, ACTOR | RANGE | OBJECT | FROM | PART | CLOCK | FIRST | LAST | COUNT | DIGEST,
                        HW_EVENT_VALUES | HW_EVENT_HOLDS | HW_EVENT_ROUNDS},
    [HW_EVENT_NAME] = {IN_BLOCK | IN_STRIPE | IN_CLIENT | IN_VECTOR, OBJECT | ACTOR | EPOCH | CLOCK | FIRST | LAST | COUNT,
                       0},
    [HW_EVENT_BEGIN] = {IN_BLOCK, BLOCKS | OBJECT | FROM | PART | CLOCK | FIRST | LAST | COUNT | DIGEST, HW_EVENT_PLAIN},
    [HW_EVENT_READ] = {IN_BLOCK, BLOCKS | OBJECT | PART | CLOCK | FIRST | LAST | COUNT | DIGEST, HW_EVENT_INNER},
    [HW_EVENT_WRITE] = {IN_BLOCK, BLOCKS | OBJECT | PART | SPAN | CLOCK | FIRST | LAST | COUNT | DIGEST,
                        HW_EVENT_LAST | HW_EVENT_FLUSH | HW_EVENT_VALUES},
    [HW_EVENT_DEFER] = {IN_BLOCK, BLOCKS | OBJECT | CLOCK, 0},
    [HW_EVENT_SEEN] = {IN_BLOCK, BLOCKS | RANGE | OBJECT | FROM | COVERS | PART | SPAN | MORE | CLOCK | COUNT | DIGEST,
                       HW_EVENT_LAST | HW_EVENT_VALUES},
    [HW_EVENT_FORGET] = {IN_BLOCK, BLOCKS | OBJECT, 0},
    [HW_EVENT_END] = {IN_BLOCK, BLOCKS | OBJECT | CLOCK | DIGEST, 0},
    [HW_EVENT_CREDIT] = {IN_BLOCK, BLOCKS | CLOCK | FIRST | COUNT | DIGEST, 0},
    [HW_EVENT_CHANGED] = {IN_BLOCK, BLOCKS | PART | CLOCK | FIRST | LAST, 0},
    [HW_EVENT_WAIT] = {IN_STRIPE, PIECE, HW_EVENT_PULLS | HW_EVENT_PUSHES | HW_EVENT_LISTED | HW_EVENT_REREAD},
    [HW_EVENT_TABLE] = {IN_STRIPE | IN_CLIENT, OBJECT | PART | CLOCK | FIRST | LAST | COUNT,
                        HW_EVENT_CENTRIC | HW_EVENT_ASSIGNS | HW_EVENT_SPARSE | HW_EVENT_SUMMED | HW_EVENT_KEEPS |
                            HW_EVENT_DROPS},
    [HW_EVENT_GIVEN] = {IN_STRIPE, PIECE | DIGEST, HW_EVENT_LISTED | HW_EVENT_REREAD | HW_EVENT_FAILED},
    [HW_EVENT_TAKEN] = {IN_STRIPE, PIECE | DIGEST, HW_EVENT_LISTED | HW_EVENT_FAILED | HW_EVENT_RESTORES},
    [HW_EVENT_CLOCK] = {IN_STRIPE, TASK | COVERS | PART, 0},
    [HW_EVENT_ASKED] = {IN_CLIENT, TASK | PART | LEAST | COUNT | DIGEST,
                        HW_EVENT_PULLS | HW_EVENT_PUSHES | HW_EVENT_TICKS | HW_EVENT_LISTED | HW_EVENT_REREAD |
                            HW_EVENT_RESTORES},
    [HW_EVENT_ANSWER] = {IN_CLIENT, PIECE | DIGEST,
                         HW_EVENT_PULLS | HW_EVENT_PUSHES | HW_EVENT_FAILED | HW_EVENT_LISTED | HW_EVENT_REREAD |
                             HW_EVENT_RESTORES},
    [HW_EVENT_TURN] = {IN_BLOCK, BLOCKS | OBJECT | FROM | PART | CLOCK | COUNT, HW_EVENT_MOVES},
    [HW_EVENT_HELD] = {IN_CLIENT, TASK | SPAN | COUNT | DIGEST, HW_EVENT_FLUSH},
    [HW_EVENT_LOST] = {IN_BLOCK | IN_CLIENT, BLOCKS | FROM | CLOCK, 0},
    [HW_EVENT_SHARE] = {IN_BLOCK, BLOCKS | OBJECT | FROM | COVERS | PART | CLOCK | COUNT | DIGEST, HW_EVENT_STOPS},
    [HW_EVENT_REDUCED] = {IN_BLOCK, BLOCKS | OBJECT | FROM | COVERS | PART | CLOCK | COUNT | DIGEST, HW_EVENT_STOPS},
    [HW_EVENT_REDUCTIONS] = {IN_BLOCK, BLOCKS | COVERS | PART | CLOCK, 0},
    [HW_EVENT_STRICTER] = {IN_BLOCK, BLOCKS | OBJECT | PART | FIRST | COUNT, 0},
    [HW_EVENT_CHOSEN] = {IN_BLOCK, BLOCKS | CLOCK | FIRST | LAST, 0},
    [HW_EVENT_PASSED] = {IN_BLOCK, BLOCKS | OBJECT | FROM | COVERS | PART | CLOCK | FIRST | COUNT | DIGEST,
                         HW_EVENT_RETURNED | HW_EVENT_RESTORES},
    [HW_EVENT_RESUMED] = {IN_BLOCK, BLOCKS | CLOCK, 0},
    [HW_EVENT_RESTORED] = {IN_BLOCK, ACTOR | OBJECT | FIRST | LAST | COUNT | DIGEST, 0},
    [HW_EVENT_KEPT] = {IN_BLOCK, BLOCKS | OBJECT | PART | DIGEST, 0},
    [HW_EVENT_BACK] = {IN_BLOCK, BLOCKS | OBJECT | PART | DIGEST, 0},
    [HW_EVENT_VECTOR] = {IN_VECTOR, ACTOR | FROM | PART | COUNT, HW_EVENT_VALUES | HW_EVENT_ROWS | HW_EVENT_KEEPS},
    [HW_EVENT_EDGE] = {IN_VECTOR, ACTOR | FROM, HW_EVENT_INPUT},
    [HW_EVENT_SCATTER] = {IN_VECTOR, ACTOR | FROM | CLOCK | COUNT | DIGEST, 0},
    [HW_EVENT_SENT] = {IN_VECTOR, ACTOR | FROM | SPAN | EPOCH | CLOCK | COUNT | DIGEST, 0},
    [HW_EVENT_GOT] = {IN_VECTOR, ACTOR | FROM | SPAN | EPOCH | CLOCK | FIRST | COUNT | DIGEST,
                      HW_EVENT_LAST | HW_EVENT_FLUSH},
    [HW_EVENT_GATHER] = {IN_VECTOR, ACTOR | CLOCK, 0},
    [HW_EVENT_ENDING] = {IN_VECTOR, ACTOR, 0},
    [HW_EVENT_FINISHED] = {IN_VECTOR, ACTOR | DIGEST, 0},
};

/* Returns the fields of a record that are not zero. */
static unsigned fields_of(const hw_event_record *r)
{
    unsigned least = (r->span != 0 ? SPAN : 0) | (r->more != 0 ? MORE : 0);
    return (r->range != 0 ? RANGE : 0) | (r->object != 0 ? OBJECT : 0) | (r->actor != 0 ? ACTOR : 0) |
           (r->from != 0 ? FROM : 0) | (r->covers != 0 ? COVERS : 0) | (r->part != 0 ? PART : 0) | least |
           (r->epoch != 0 ? EPOCH : 0) | (r->clock != 0 ? CLOCK : 0) | (r->first != 0 ? FIRST : 0) |
           (r->last != 0 ? LAST : 0) | (r->count != 0 ? COUNT : 0) | (r->digest != 0 ? DIGEST : 0);
}

static bool has_shape(const hw_stream *stream, const hw_event_record *r)
{
    static const shape wait = {IN_BLOCK, BLOCKS | PART | CLOCK, HW_EVENT_INPUT};
    const shape *of = r->kind >= HW_EVENT_CLOSE                                          ? &shapes[0]
                      : r->kind == HW_EVENT_WAIT && stream->name.kind == HW_STREAM_BLOCK ? &wait
                                                                                         : &shapes[r->kind];
    return (of->streams >> stream->name.kind & 1) != 0 && (r->flags & ~of->flags) == 0 && (fields_of(r) & ~of->fields) == 0;
}

/* A name stands before the description of its state or table. */
static bool is_named(const hw_stream *stream, size_t i)
{
    const hw_event_record *r = &stream->records[i], *next = i + 1 < stream->count ? r + 1 : NULL;
    return r->kind != HW_EVENT_NAME || next == NULL ||
           ((next->kind == HW_EVENT_STATE || next->kind == HW_EVENT_TABLE || next->kind == HW_EVENT_VECTOR) &&
            next->object == r->object && next->actor == r->actor);
}

void hw_check_shapes(hw_checker *checker)
{
    const hw_history *history = checker->history;
    for (size_t s = 0; s < history->count; s++)
        for (size_t i = 0; i < history->streams[s].count; i++) {
            const hw_stream *stream = &history->streams[s];
            hw_applied(checker, HW_RULE_RECORD);
            if (!has_shape(stream, &stream->records[i]) || !is_named(stream, i))
                (void)hw_violation(checker, HW_RULE_RECORD, &(hw_at){stream, i}, 1,
                                   "a record with fields, flags or a place that no record of kind %u has",
                                   stream->records[i].kind);
        }
}
