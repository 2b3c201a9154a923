/* hold.c - cuts of states with held entries. Own changes are added to `held`, a filter selects entries of it, rounding
 * shortens them, and the sent values are subtracted from `held`. */
#include <math.h>
#include <string.h>

#include "exchange/replica.h"

static hawser_status check_finite(const hw_replica *replica, hawser_error *error)
{
    double gain = hw_gain_now(replica);
    size_t begin, end;
    for (size_t tile = 0; tile < replica->tiles; tile++) {
        if (!hw_changed_part(replica, tile, &begin, &end))
            continue;
        size_t at = hw_at(replica, begin);
        size_t good =
            replica->numbers->hold(replica->held + at, replica->cache + at, replica->origin + at, gain, true, end - begin);
        if (good < end - begin)
            return hw_cannot_send(replica, begin + good, replica->cache + at, good, error);
    }
    return HAWSER_OK;
}

/* Makes a changed entry wait, from `clock` on if it did not wait before. */
static void start_waiting(hw_replica *replica, size_t i, uint64_t clock)
{
    if (hw_filters(replica) && !hw_waits(replica, i))
        replica->since[i] = (uint32_t)clock;
    if (replica->rest != NULL)
        hw_clear_bit(replica->rest, i);
}

/* Adds the own changes since the last cut to `held`. */
static void hold_changes(hw_replica *replica, uint64_t clock)
{
    size_t begin, end;
    for (size_t tile = 0; tile < replica->tiles; tile++) {
        if (!hw_changed_part(replica, tile, &begin, &end))
            continue;
        bool changed = false;
        for (size_t i = begin; i < end; i++) {
            if (!hw_differs(replica, i))
                continue;
            start_waiting(replica, i, clock);
            changed = true;
        }
        if (!changed)
            continue;
        size_t at = hw_at(replica, begin);
        (void)replica->numbers->hold(replica->held + at, replica->cache + at, replica->origin + at, hw_gain_now(replica),
                                     false, end - begin);
        hw_set_bit(replica->stale, tile);
    }
}

static hw_changes count_waiting(const hw_replica *replica)
{
    hw_changes changes = {0};
    for (size_t i = 0; i < replica->spec.count; i++) {
        if (!hw_waits(replica, i))
            continue;
        changes.first = changes.count == 0 ? i : changes.first;
        changes.last = i;
        changes.count++;
    }
    return changes;
}

static hw_changes count_selected(const hw_replica *replica)
{
    hw_changes changes = {0};
    for (size_t word = 0; word < hw_words(replica->spec.count); word++) {
        uint64_t bits = replica->selected[word];
        for (size_t i = word * 64; bits != 0; i++, bits >>= 1) {
            if ((bits & 1) == 0)
                continue;
            changes.first = changes.count == 0 ? i : changes.first;
            changes.last = i;
            changes.count++;
        }
    }
    return changes;
}

static void select_all(hw_replica *replica, bool rests)
{
    for (size_t i = 0; i < replica->spec.count; i++)
        if (rests ? !hw_is_zero(replica->numbers, replica->held, i) : hw_waits(replica, i))
            hw_set_bit(replica->selected, i);
}

/* Writes what is sent of an entry to `out`, and subtracts it from `held`. */
static void take(hw_replica *replica, size_t i, bool exact, char *out)
{
    char *at = replica->held + hw_at(replica, i);
    if (exact) {
        memcpy(out, at, replica->numbers->size);
        memset(at, 0, replica->numbers->size);
        return;
    }
    double sent = hw_rounded(replica, i), left = replica->numbers->load(at, 0) - sent;
    if (replica->spec.type == HAWSER_F64) {
        memcpy(out, &sent, sizeof sent);
        memcpy(at, &left, sizeof left);
    } else { /* an f32: only floats are rounded, and to numbers that are f32 */
        memcpy(out, &(float){(float)sent}, sizeof(float));
        memcpy(at, &(float){(float)left}, sizeof(float));
    }
    /* If the value was too large for the format, the remainder is more than a rounding error, so the entry keeps waiting. */
    double large = replica->spec.rounding == HW_F16 ? 65504 : 0x1p127;
    if (replica->rest != NULL && !hw_is_zero(replica->numbers, at, 0) && fabs(sent) < large)
        hw_set_bit(replica->rest, i);
}

static hawser_status take_selected(hw_replica *replica, bool exact, hw_message **message, hawser_error *error)
{
    size_t n = replica->spec.count, position = 0;
    hw_changes changes = count_selected(replica);
    size_t window = changes.count > 0 ? changes.last - changes.first + 1 : 0;
    hw_packing packing = hw_choose_packing(replica->spec.type, n, changes.count, window);
    void *values;
    HAWSER_TRY(hw_packing_message(packing, changes.first, hw_list_room(replica), &replica->spares, message, &values, error));
    char *out = values;
    replica->spent += packing.bytes;
    for (size_t i = changes.first; changes.count > 0 && i <= changes.last; i++) {
        bool sent = hw_bit(replica->selected, i);
        if (packing.encoding == HW_DENSE) {
            if (sent)
                take(replica, i, exact, out + hw_at(replica, i - changes.first));
            else
                memset(out + hw_at(replica, i - changes.first), 0, replica->numbers->size);
        } else if (sent) {
            take(replica, i, exact, out + hw_at(replica, position));
            hw_packing_index(*message, n, position++, i);
        }
    }
    return HAWSER_OK;
}

/* Counts the entries of a flush that exceed the quota. */
static void count_flush(hw_replica *replica)
{
    size_t n = replica->spec.count;
    hw_changes all = count_selected(replica);
    uint64_t quota = replica->spec.filter.quota, left = quota > replica->spent ? quota - replica->spent : 0;
    uint64_t fit = left / hw_sparse_entry(replica->spec.type, n);
    bool whole =
        hw_choose_packing(replica->spec.type, n, all.count, all.count > 0 ? all.last - all.first + 1 : 0).bytes <= left;
    if (!whole && all.count > fit)
        replica->figures.flushed_over_quota += all.count - fit;
}

hawser_status hw_hold_cut(hw_replica *replica, uint64_t clock, uint32_t part, bool flush, hw_message **message,
                          hawser_error *error)
{
    HAWSER_TRY(check_finite(replica, error));
    hold_changes(replica, clock);
    memset(replica->selected, 0, hw_words(replica->spec.count) * sizeof *replica->selected);
    if (flush)
        select_all(replica, true);
    else if (hw_filters(replica))
        hw_filter_select(replica, clock, part, count_waiting(replica));
    else
        select_all(replica, false);
    if (flush && hw_filters(replica))
        count_flush(replica);
    bool exact = flush || replica->spec.rounding == HW_F64;
    if (!exact)
        hw_round_selected(replica);
    return take_selected(replica, exact, message, error);
}

void hw_replica_forget_held(hw_replica *replica)
{
    if (!hw_holds(replica))
        return;
    memset(replica->held, 0, hw_at(replica, replica->spec.count));
    hw_set_bits(replica->stale, 0, replica->tiles);
    hw_record_forget(replica);
}
