#include "exchange/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "codec/narrow.h"
#include "exchange/replica.h"

hw_share_head hw_share_head_of(const hw_message *message)
{
    hw_share_head head;
    memcpy(&head, message->payload, sizeof head);
    return head;
}

static const double *numbers_of(const hw_message *message)
{
    return (const double *)((const char *)message->payload + sizeof(hw_share_head));
}

uint64_t hw_share_digest(const hw_message *message)
{
    return hw_digest_64(numbers_of(message), message->envelope.count, hw_share_head_of(message).first);
}

/* A sum may overflow to NaN on the way; a maximum or minimum never has NaN. */
static bool has_nan(const hw_message *message)
{
    const double *numbers = numbers_of(message);
    for (uint64_t i = 0; i < message->envelope.count; i++)
        if (isnan(numbers[i]))
            return true;
    return false;
}

bool hw_share_sound(const hw_message *message, uint32_t blocks)
{
    const hw_envelope *envelope = &message->envelope;
    hw_share_head head;
    if (envelope->source >= blocks || message->payload == NULL || envelope->length < sizeof head ||
        (envelope->length - sizeof head) % sizeof(double) != 0 ||
        envelope->count != (envelope->length - sizeof head) / sizeof(double) ||
        !hw_is_subtree(blocks, envelope->first, envelope->covers))
        return false;
    head = hw_share_head_of(message);
    return head.first <= head.count && envelope->count <= head.count - head.first && head.by <= HAWSER_MIN &&
           head.stop <= 1 && (head.by == HAWSER_SUM || !has_nan(message));
}

static bool gathers(const hw_shares *shares)
{
    return shares->adding != NULL && shares->adding->gathers;
}

/* Finds the numbers of a range. */
static void range_of(const hw_shares *shares, uint32_t range, size_t *begin, size_t *end)
{
    *begin = shares->adding != NULL ? shares->adding->ranges[range].begin : 0;
    *end = shares->adding != NULL ? shares->adding->ranges[range].end : shares->call.count;
}

static hw_reduce_run run_of(const hw_shares *shares, uint32_t range)
{
    return shares->adding != NULL ? shares->adding->ranges[range].run : (hw_reduce_run){0, 0};
}

void hw_shares_close(hw_shares *shares)
{
    for (size_t i = 0; shares->pieces != NULL && i < (size_t)shares->range_count * shares->blocks; i++)
        hw_message_free(shares->pieces[i]);
    for (uint32_t k = 0; shares->totals != NULL && k < shares->range_count; k++)
        hw_message_free(shares->totals[k]);
    hw_message_free(shares->own);
    hw_messages_free(shares->outgoing);
    free(shares->pieces);
    free(shares->covered);
    free(shares->totals);
    free(shares->missing);
    free(shares->sum);
    free(shares->scratch);
    hw_adding_free(shares->adding);
    *shares = (hw_shares){0};
}

static hawser_status open_arrays(hw_shares *shares, hawser_error *error)
{
    static const char what[] = "the shares of a reduction";
    size_t pieces = (size_t)shares->range_count * shares->blocks;
    uint32_t levels = 2;
    while (levels < 33 && (UINT64_C(1) << levels) < shares->blocks)
        levels++;
    HAWSER_TRY(HW_NEW(&shares->pieces, pieces, what, error));
    HAWSER_TRY(HW_NEW(&shares->covered, pieces, what, error));
    HAWSER_TRY(HW_NEW(&shares->totals, shares->range_count, what, error));
    HAWSER_TRY(HW_NEW(&shares->missing, shares->range_count, what, error));
    HAWSER_TRY(HW_NEW(&shares->scratch, (size_t)(levels + 1) * HW_TILE, what, error));
    return shares->adding != NULL && shares->adding->adds ? HW_NEW(&shares->sum, shares->call.count, what, error)
                                                          : HAWSER_OK;
}

hawser_status hw_shares_open(hw_shares *shares, const hw_reduction_call *call, uint32_t block, uint32_t blocks,
                             hw_adding *adding, hawser_error *error)
{
    hw_shares_close(shares);
    *shares = (hw_shares){.call = *call,
                          .block = block,
                          .blocks = blocks,
                          .adding = adding,
                          .range_count = adding != NULL ? adding->range_count : 1};
    HAWSER_TRY(open_arrays(shares, error));
    shares->open = true;
    shares->absent = gathers(shares) ? shares->range_count : blocks;
    for (uint32_t k = 0; k < shares->range_count; k++)
        shares->missing[k] = run_of(shares, k).end - run_of(shares, k).begin;
    return HAWSER_OK;
}

/* --------------------------------------------------------------------------------------------------- combination ---- */

/* Numbers [begin, begin + count) of the vector, within one tile. */
typedef struct window {
    size_t begin, count;
    hawser_combine_by by;
} window;

/* Returns the numbers of one share in a window; NULL if it adds nothing. */
static const double *leaf(const hw_message *message, window where, double *scratch)
{
    size_t first = (size_t)hw_share_head_of(message).first, end = first + (size_t)message->envelope.count;
    const double *numbers = numbers_of(message);
    if (first <= where.begin && end >= where.begin + where.count)
        return numbers + (where.begin - first);
    size_t from = first > where.begin ? first : where.begin;
    size_t to = end < where.begin + where.count ? end : where.begin + where.count;
    if (from >= to && where.by == HAWSER_SUM)
        return NULL;
    memset(scratch, 0, where.count * sizeof *scratch);
    if (from < to)
        memcpy(scratch + (from - where.begin), numbers + (from - first), (to - from) * sizeof *scratch);
    return scratch;
}

/* Combines two windows. No share has NaN or -0.0, so the order of maxima and minima does not matter. */
static void join(double *to, const double *left, const double *right, window where)
{
    switch (where.by) {
    case HAWSER_MAX:
        for (size_t i = 0; i < where.count; i++)
            to[i] = left[i] > right[i] ? left[i] : right[i];
        return;
    case HAWSER_MIN:
        for (size_t i = 0; i < where.count; i++)
            to[i] = left[i] < right[i] ? left[i] : right[i];
        return;
    default:
        for (size_t i = 0; i < where.count; i++)
            to[i] = left[i] + right[i];
    }
}

/* Returns the canonical combination over blocks [first, first + count), whose shares have all arrived; NULL if they add
 * nothing. */
static const double *combine(const hw_shares *shares, uint32_t range, window where, uint32_t first, uint32_t count,
                             double *scratch)
{
    const hw_message *piece = shares->pieces[(size_t)range * shares->blocks + first];
    if (count == 1 || (piece != NULL && piece->envelope.covers == count))
        return leaf(piece, where, scratch);
    uint32_t left_count = hw_left_of(count);
    const double *left = combine(shares, range, where, first, left_count, scratch);
    if (left == NULL)
        return combine(shares, range, where, first + left_count, count - left_count, scratch);
    const double *right = combine(shares, range, where, first + left_count, count - left_count, scratch + HW_TILE);
    if (right == NULL)
        return left;
    join(scratch, left, right, where);
    return scratch;
}

/* Combines numbers [begin, end) into `values`, which begins with number 0. */
static void combine_range(const hw_shares *shares, uint32_t range, hw_reduce_run run, size_t begin, size_t end,
                          double *values)
{
    for (size_t at = begin; at < end; at += HW_TILE) {
        window where = {at, end - at < HW_TILE ? end - at : HW_TILE, shares->call.by};
        const double *numbers = combine(shares, range, where, run.begin, run.end - run.begin, shares->scratch);
        if (numbers != NULL)
            memcpy(values + at, numbers, where.count * sizeof *values);
        else
            memset(values + at, 0, where.count * sizeof *values);
    }
}

static void merge_stop(hw_stop_request *stop, const hw_message *share)
{
    hw_share_head head = hw_share_head_of(share);
    stop->stop = stop->stop || head.stop != 0;
    stop->asked = head.asked > stop->asked ? head.asked : stop->asked;
}

/* Merges the requests to stop in the shares of these blocks. */
static hw_stop_request stop_of(const hw_shares *shares, uint32_t range, hw_reduce_run run)
{
    hw_stop_request stop = {0};
    for (uint32_t block = run.begin; block < run.end; block++) {
        const hw_message *piece = shares->pieces[(size_t)range * shares->blocks + block];
        if (piece != NULL)
            merge_stop(&stop, piece);
    }
    return stop;
}

/* ------------------------------------------------------------------------------------------------------ messages ---- */

/* Makes a share of numbers [begin, end) of `values`, which begins with number 0. Zeros at both ends are left out, and -0.0
 * becomes 0.0. */
static hawser_status make(const hw_shares *shares, const double *values, size_t begin, size_t end, hw_share_place place,
                          hw_stop_request stop, hw_message **message, hawser_error *error)
{
    while (begin < end && values[begin] == 0)
        begin++;
    while (end > begin && values[end - 1] == 0)
        end--;
    hw_share_head head = {shares->call.count, begin, stop.asked, (uint32_t)shares->call.by, stop.stop};
    HAWSER_TRY(hw_message_new(sizeof head + (end - begin) * sizeof *values, message, error));
    hw_message *made = *message;
    memcpy(made->payload, &head, sizeof head);
    double *numbers = (double *)((char *)made->payload + sizeof head);
    for (size_t i = begin; i < end; i++)
        numbers[i - begin] = values[i] + 0.0;
    hw_envelope *envelope = &made->envelope;
    envelope->kind = HW_MESSAGE_SHARE;
    envelope->source = shares->block;
    envelope->destination = place.to;
    envelope->loop = shares->call.unit;
    envelope->epoch = shares->epoch;
    envelope->clock = shares->clock;
    envelope->part = shares->number;
    envelope->first = place.first;
    envelope->covers = place.covers;
    envelope->range = place.range;
    envelope->count = end - begin;
    return HAWSER_OK;
}

static bool same_bytes(const hw_message *a, const hw_message *b)
{
    return a->envelope.length == b->envelope.length && a->envelope.loop == b->envelope.loop &&
           memcmp(a->payload, b->payload, (size_t)a->envelope.length) == 0;
}

static hawser_status send(hw_shares *shares, const hw_message *message, uint32_t to, hawser_error *error)
{
    hw_message *copy;
    HAWSER_TRY(hw_message_share(message, &copy, error));
    copy->envelope.destination = to;
    hw_append(&shares->outgoing, copy);
    return HAWSER_OK;
}

static hawser_status take_total(hw_shares *shares, uint32_t range, hw_message *message)
{
    shares->totals[range] = message;
    shares->absent--;
    return HAWSER_OK;
}

/* Sends the largest subtrees of a range's run among those over blocks [first, first + count), each as one message. */
static hawser_status send_subtrees(hw_shares *shares, uint32_t range, uint32_t first, uint32_t count, hawser_error *error)
{
    const hw_adding_range *of = &shares->adding->ranges[range];
    if (first + count <= of->run.begin || first >= of->run.end)
        return HAWSER_OK;
    if (first < of->run.begin || first + count > of->run.end) {
        uint32_t left = hw_left_of(count);
        HAWSER_TRY(send_subtrees(shares, range, first, left, error));
        return send_subtrees(shares, range, first + left, count - left, error);
    }
    hw_reduce_run run = {first, first + count};
    hw_message *message;
    size_t begin, end;
    range_of(shares, range, &begin, &end);
    combine_range(shares, range, run, begin, end, shares->sum);
    hw_share_place place = {first, count, shares->range_count > 1 ? range + 1 : 0, of->to};
    HAWSER_TRY(make(shares, shares->sum, begin, end, place, stop_of(shares, range, run), &message, error));
    hawser_status status = send(shares, message, of->to, error);
    if (status == HAWSER_OK && gathers(shares) && of->to == HW_TO_BLOCKS)
        return take_total(shares, range, message);
    hw_message_free(message);
    return status;
}

/* Keeps a share in one range, where no share of its blocks has arrived yet. */
static hawser_status keep(hw_shares *shares, uint32_t range, const hw_message *message, hawser_error *error)
{
    const hw_envelope *envelope = &message->envelope;
    size_t at = (size_t)range * shares->blocks;
    hw_reduce_run run = run_of(shares, range);
    HAWSER_TRY(hw_message_share(message, &shares->pieces[at + envelope->first], error));
    for (uint32_t j = envelope->first; j < envelope->first + envelope->covers; j++)
        shares->covered[at + j] = true;
    if (!gathers(shares))
        shares->absent -= envelope->covers;
    bool adds = envelope->first >= run.begin && envelope->first + envelope->covers <= run.end;
    if (!adds)
        return HAWSER_OK;
    shares->missing[range] -= envelope->covers;
    return shares->missing[range] == 0 ? send_subtrees(shares, range, 0, shares->blocks, error) : HAWSER_OK;
}

/* Returns the arrived share of the same blocks; NULL if there is none. *clash is true if shares of some of these blocks have
 * arrived. */
static const hw_message *arrived(const hw_shares *shares, uint32_t range, const hw_envelope *envelope, bool *clash)
{
    size_t at = (size_t)range * shares->blocks;
    *clash = false;
    if (gathers(shares) && envelope->covers == shares->blocks)
        return shares->totals[range];
    const hw_message *piece = shares->pieces[at + envelope->first];
    if (piece != NULL && piece->envelope.covers == envelope->covers)
        return piece;
    for (uint32_t j = envelope->first; j < envelope->first + envelope->covers; j++)
        *clash = *clash || shares->covered[at + j];
    return NULL;
}

/* Returns true if a share may be about its blocks and range: about other blocks, and where shares are gathered, about blocks
 * that this block combines, or about all blocks unless this block makes the total. */
static bool fits(const hw_shares *shares, uint32_t range, const hw_message *message)
{
    const hw_envelope *envelope = &message->envelope;
    size_t begin, end, first = (size_t)hw_share_head_of(message).first;
    hw_reduce_run run = run_of(shares, range);
    bool own = shares->block >= envelope->first && shares->block - envelope->first < envelope->covers;
    range_of(shares, range, &begin, &end);
    if (envelope->range != 0 && (first < begin || first + envelope->count > end))
        return false;
    if (!gathers(shares))
        return !own && envelope->range == 0;
    bool total = envelope->covers == shares->blocks, root = run.end - run.begin == shares->blocks;
    return total ? !root && (envelope->range != 0 || shares->range_count == 1)
                 : !own && envelope->first >= run.begin && envelope->first + envelope->covers <= run.end;
}

static hawser_status refuse(const hw_message *message, const char *why, hawser_error *error)
{
    const hw_envelope *envelope = &message->envelope;
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "block %u sent a share of reduction %u of clock %llu, by blocks %u to %u, that %s", envelope->source,
                       envelope->part, (unsigned long long)envelope->clock, envelope->first,
                       envelope->first + envelope->covers - 1, why);
}

hawser_status hw_shares_take(hw_shares *shares, hw_message *message, hawser_error *error)
{
    const hw_envelope *envelope = &message->envelope;
    hawser_status status = HAWSER_OK;
    uint32_t begin = envelope->range == 0 ? 0 : envelope->range - 1,
             end = envelope->range == 0 ? shares->range_count : envelope->range;
    if (end > shares->range_count)
        status = refuse(message, "is about a range which no block combines", error);
    for (uint32_t range = begin; range < end && status == HAWSER_OK; range++) {
        bool clash, total = gathers(shares) && envelope->covers == shares->blocks;
        if (!fits(shares, range, message)) {
            status = refuse(message, "does not belong here", error);
            break;
        }
        const hw_message *before = arrived(shares, range, envelope, &clash);
        if (clash || (before != NULL && !same_bytes(before, message)))
            status = refuse(message, "has arrived before with other numbers", error);
        else if (before == NULL && total)
            return take_total(shares, range, message);
        else if (before == NULL)
            status = keep(shares, range, message, error);
    }
    hw_message_free(message);
    return status;
}

hawser_status hw_shares_put(hw_shares *shares, const double *values, hw_stop_request stop, hawser_error *error)
{
    uint32_t to = shares->adding != NULL ? shares->adding->own_to : HW_TO_BLOCKS;
    hw_share_place place = {shares->block, 1, 0, to};
    HAWSER_TRY(make(shares, values, 0, shares->call.count, place, stop, &shares->own, error));
    if (to != shares->block && shares->blocks > 1)
        HAWSER_TRY(send(shares, shares->own, to, error));
    for (uint32_t range = 0; range < shares->range_count && (!gathers(shares) || to == shares->block); range++)
        HAWSER_TRY(keep(shares, range, shares->own, error));
    return HAWSER_OK;
}

bool hw_shares_equal_own(const hw_shares *shares, const double *values)
{
    const double *numbers = numbers_of(shares->own);
    size_t first = (size_t)hw_share_head_of(shares->own).first, end = first + (size_t)shares->own->envelope.count;
    for (size_t i = 0; i < shares->call.count; i++) {
        double now = values[i] + 0.0, before = i >= first && i < end ? numbers[i - first] : 0.0;
        if (memcmp(&now, &before, sizeof now) != 0)
            return false;
    }
    return true;
}

/* -------------------------------------------------------------------------------------------------------- result ---- */

bool hw_shares_complete(const hw_shares *shares)
{
    return shares->open && shares->absent == 0;
}

static void put_total(const hw_shares *shares, uint32_t range, double *values)
{
    const hw_message *total = shares->totals[range];
    size_t begin, end, first = (size_t)hw_share_head_of(total).first, count = (size_t)total->envelope.count;
    range_of(shares, range, &begin, &end);
    if (begin == end)
        return; /* `values` may be NULL */
    memset(values + begin, 0, (end - begin) * sizeof *values);
    memcpy(values + first, numbers_of(total), count * sizeof *values);
}

void hw_shares_result(const hw_shares *shares, double *values, hw_stop_request *stop)
{
    hw_reduce_run all = {0, shares->blocks};
    *stop = stop_of(shares, 0, all);
    if (!gathers(shares))
        combine_range(shares, 0, all, 0, shares->call.count, values);
    for (uint32_t range = 0; gathers(shares) && range < shares->range_count; range++) {
        merge_stop(stop, shares->totals[range]);
        put_total(shares, range, values);
    }
}
