/* keep.c - a replica's memory as bytes and back, and merged values of an earlier clock in place of the present ones. */
#include <string.h>

#include "exchange/replica.h"

void hw_replica_put_back(hw_replica *replica, const void *values)
{
    size_t bytes = hw_at(replica, replica->spec.count);
    if (replica->base == NULL)
        return; /* retired: another block of the node has the values of the result */
    memcpy(replica->base, values, bytes);
    if (replica->held != NULL)
        memset(replica->held, 0, bytes);
    if (replica->rest != NULL)
        memset(replica->rest, 0, hw_words(replica->spec.count) * sizeof *replica->rest);
    if (replica->cache != NULL) { /* else it is retired */
        memcpy(replica->cache, values, bytes);
        memcpy(replica->origin, values, bytes);
        memset(replica->stale, 0, hw_words(replica->tiles) * sizeof *replica->stale);
        memset(replica->touched, 0, hw_words(replica->tiles) * sizeof *replica->touched);
        replica->marked = false;
    }
    hw_record_all_tiles(replica);
}

static void visit_numbers(hw_replica *replica, hawser_record *record)
{
    hawser_record_bytes(record, &replica->apart, sizeof replica->apart);
    hawser_record_bytes(record, &replica->spent, sizeof replica->spent);
    hawser_record_bytes(record, &replica->cursor, sizeof replica->cursor);
    hawser_record_bytes(record, &replica->gain, sizeof replica->gain);
    hawser_record_bytes(record, &replica->next_gain, sizeof replica->next_gain);
    hawser_record_bytes(record, replica->stale, hw_words(replica->tiles) * sizeof *replica->stale);
}

static void visit_held(hw_replica *replica, hawser_record *record)
{
    size_t entries = replica->spec.count, bytes = hw_at(replica, entries);
    if (replica->held != NULL)
        hawser_record_bytes(record, replica->held, bytes);
    if (replica->since != NULL)
        hawser_record_bytes(record, replica->since, entries * sizeof *replica->since);
    if (replica->rest != NULL)
        hawser_record_bytes(record, replica->rest, hw_words(entries) * sizeof *replica->rest);
}

/* Everything that later clocks depend on, except what is known of other blocks: the epoch, their clocks and their parked
 * updates. The scores of a filter, its selection and the scales of rounding are made anew by each cut. */
void hw_replica_visit(hw_replica *replica, hawser_record *record)
{
    size_t bytes = hw_at(replica, replica->spec.count);
    if (replica->base != NULL)
        hawser_record_bytes(record, replica->base, bytes);
    if (replica->cache == NULL)
        return; /* retired: only the merged values are left */
    visit_numbers(replica, record);
    hawser_record_bytes(record, &replica->marked, sizeof replica->marked);
    hawser_record_bytes(record, &replica->span, sizeof replica->span);
    hawser_record_bytes(record, replica->cache, bytes);
    if (replica->apart)
        hawser_record_bytes(record, replica->origin, bytes);
    hawser_record_bytes(record, replica->touched, hw_words(replica->tiles) * sizeof *replica->touched);
    visit_held(replica, record);
}

void hw_replica_set_base(hw_replica *replica, const void *values)
{
    memcpy(replica->base, values, hw_at(replica, replica->spec.count));
    hw_record_all_tiles(replica);
}

void hw_replica_remember(hw_replica *replica, hawser_record *record)
{
    size_t bytes = hw_at(replica, replica->spec.count);
    visit_numbers(replica, record);
    if (replica->apart) {
        hawser_record_bytes(record, replica->cache, bytes);
        hawser_record_bytes(record, replica->origin, bytes);
    } else if (hawser_record_reads(record)) /* nothing of its own is unsent */
        memcpy(replica->cache, replica->base, bytes);
    visit_held(replica, record);
}

static void spoil(void *memory, size_t bytes)
{
    if (memory != NULL)
        memset(memory, 0xa5, bytes);
}

void hw_replica_drop(hw_replica *replica)
{
    size_t entries = replica->spec.count, bytes = hw_at(replica, entries);
    spoil(replica->base, bytes);
    spoil(replica->cache, bytes);
    spoil(replica->origin, bytes);
    spoil(replica->held, bytes);
    spoil(replica->sum, bytes);
    spoil(replica->since, entries * sizeof *replica->since);
    spoil(replica->score, entries * sizeof *replica->score);
    spoil(replica->rest, hw_words(entries) * sizeof *replica->rest);
    spoil(replica->stale, hw_words(replica->tiles) * sizeof *replica->stale);
    spoil(replica->touched, hw_words(replica->tiles) * sizeof *replica->touched);
    replica->apart = !replica->apart;
    replica->marked = !replica->marked;
    replica->span = UINT32_MAX;
    replica->spent = UINT64_MAX;
    replica->cursor = SIZE_MAX;
    replica->gain = replica->next_gain = -1;
}
