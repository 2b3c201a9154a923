/* Slots and segments by themselves: whatever mixture of puts is in a slot, only complete ones are found, in any order of
 * writes. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "transport/segment/segment.h"

enum { SIZE = 40, TRAILER = 4, TIMEOUT = 60 };

static void fill(unsigned char *data, size_t length, uint64_t seed)
{
    for (size_t i = 0; i < length; i++)
        data[i] = (unsigned char)(seed * 31 + i * 7 + (seed >> 3));
}

static void rest(double seconds)
{
    struct timespec time = hw_timespec(seconds);
    nanosleep(&time, NULL);
}

static void a_slot_returns_the_last_put(void **state)
{
    (void)state;
    for (size_t size = 1; size < 200; size++) {
        size_t words = hw_slot_words(size);
        assert_true(words % 8 == 0 && words * 8 >= size + 8 * TRAILER && words * 8 < size + 8 * TRAILER + 8 + 64);
        hw_slot_word *slot = calloc(words, sizeof *slot);
        unsigned char data[200], copy[200];
        hw_stamp found;
        assert_false(hw_slot_read(slot, words, size, &found, copy)); /* empty */
        assert_int_equal(hw_slot_sequence(slot, words), 0);
        for (size_t length = size + 1; length-- > 0;) {
            const hw_stamp stamp = {length, 3, 1000 - length};
            fill(data, length, length + size);
            hw_slot_write(slot, words, &stamp, data);
            assert_true(hw_slot_read(slot, words, size, &found, copy));
            assert_memory_equal(&found, &stamp, sizeof stamp);
            assert_memory_equal(copy, data, length);
            assert_int_equal(hw_slot_sequence(slot, words), stamp.sequence);
        }
        free(slot);
    }
    assert_int_equal(hw_slot_words(SIZE_MAX), 0);
}

/* Every bit of every word that counts. */
static void every_changed_bit_is_detected(void **state)
{
    (void)state;
    size_t words = hw_slot_words(SIZE);
    hw_slot_word *slot = calloc(words, sizeof *slot);
    unsigned char data[SIZE], copy[SIZE];
    const hw_stamp stamp = {SIZE, 1, 12};
    hw_stamp found;
    fill(data, SIZE, 12);
    hw_slot_write(slot, words, &stamp, data);
    for (size_t word = 0; word < words; word++) {
        bool counts = word < SIZE / 8 || word >= words - TRAILER;
        for (int bit = 0; bit < 64; bit++) {
            slot[word] ^= UINT64_C(1) << bit;
            assert_int_equal(hw_slot_read(slot, words, SIZE, &found, copy), !counts);
            slot[word] ^= UINT64_C(1) << bit;
        }
    }
    assert_true(hw_slot_read(slot, words, SIZE, &found, copy));
    free(slot);
}

/* A put that is under way, in any order of its words, over nothing or over another: any mixture of old words and new ones is
 * refused. */
static void no_mixture_of_two_puts_is_accepted(void **state)
{
    (void)state;
    size_t words = hw_slot_words(SIZE), used[SIZE / 8 + TRAILER], count = 0;
    hw_slot_word *slots[3], *mixed = calloc(words, sizeof *mixed);
    unsigned char data[SIZE], copy[SIZE];
    hw_stamp found;
    for (uint64_t i = 0; i < 3; i++) {
        const hw_stamp stamp = {SIZE - 3 * i, 1 + i / 2, 2 * i};
        slots[i] = calloc(words, sizeof *slots[i]);
        fill(data, SIZE, i + 40);
        if (i > 0) /* the first is empty */
            hw_slot_write(slots[i], words, &stamp, data);
    }
    for (size_t word = 0; word < words; word++)
        if (word < SIZE / 8 || word >= words - TRAILER)
            used[count++] = word;
    for (int pair = 0; pair < 3; pair++) {
        const hw_slot_word *before = slots[pair / 2], *after = slots[pair == 0 ? 1 : 2];
        for (uint64_t mask = 0; mask < UINT64_C(1) << count; mask++) {
            bool all_old = true, all_new = true;
            for (size_t k = 0; k < count; k++) {
                uint64_t old = before[used[k]], new = after[used[k]];
                mixed[used[k]] = mask >> k & 1 ? new : old;
                all_old &= mixed[used[k]] == old;
                all_new &= mixed[used[k]] == new;
            }
            bool whole = all_new || (all_old && before != slots[0]);
            assert_int_equal(hw_slot_read(mixed, words, SIZE, &found, copy), whole);
        }
    }
    for (int i = 0; i < 3; i++)
        free(slots[i]);
    free(mixed);
}

static hw_segment_table *new_table(void)
{
    hw_segment_table *table;
    assert_int_equal(hw_segment_table_new(4, &table, NULL), HAWSER_OK);
    return table;
}

static hw_segment *expose(hw_segment_table *table, uint32_t generation, uint32_t slots)
{
    const uint32_t senders[] = {3, 1};
    const hw_segment_shape shape = {7, generation, senders, 2, slots, SIZE};
    hw_segment *segment;
    assert_int_equal(hw_segment_table_expose(table, 0, &shape, &segment, NULL), HAWSER_OK);
    return segment;
}

static hawser_status put(hw_segment_table *table, uint32_t source, uint32_t generation, uint64_t sequence)
{
    hw_message *message;
    if (hw_message_new(SIZE, &message, NULL) != HAWSER_OK)
        return HAWSER_NO_MEMORY;
    fill(message->payload, SIZE, sequence + source);
    message->envelope.source = source;
    message->envelope.state = 7;
    message->envelope.epoch = generation;
    message->envelope.clock = sequence;
    hawser_status status = hw_segment_table_put(table, message, NULL);
    hw_message_free(message);
    return status;
}

static bool is_put(const hw_fresh *found, const unsigned char *data)
{
    unsigned char wanted[SIZE];
    fill(wanted, SIZE, found->sequence + found->sender);
    return found->length == SIZE && memcmp(data, wanted, SIZE) == 0;
}

/* A sender that died in the middle of put 6: what was there before is found while its slot is, else that there is something
 * torn. */
static void a_torn_put_is_skipped(void **state)
{
    (void)state;
    for (uint32_t slots = 1; slots <= 3; slots++) {
        hw_segment_table *table = new_table();
        hw_segment *segment = expose(table, 1, slots);
        size_t words = hw_slot_words(SIZE);
        unsigned char data[SIZE];
        hw_fresh found;
        hw_segment_figures figures;
        for (uint64_t i = 1; i <= 6; i++)
            assert_int_equal(put(table, 3, 1, i), HAWSER_OK);
        hw_slot_word *slot = hw_segment_slot(segment, 0, 6); /* sender 3 stands first in the shape */
        assert_int_equal(hw_slot_sequence(slot, words), 6);
        slot[1] ^= 1;
        hw_look look = hw_segment_newest(segment, 3, 2, data, &found);
        assert_int_equal(look, slots == 1 ? HW_LOOK_TORN : HW_LOOK_FRESH);
        if (slots > 1) {
            assert_int_equal(found.sequence, 5);
            assert_int_equal(found.missed, 2);
            assert_true(is_put(&found, data));
            assert_int_equal(hw_segment_newest(segment, 3, 5, data, &found), HW_LOOK_TORN); /* seen that already */
        }
        hw_segment_figures_of(segment, &figures);
        assert_int_equal(figures.torn, slots > 1 ? 2 : 1);
        slot[1] ^= 1; /* the writer was only slow */
        assert_int_equal(hw_segment_newest(segment, 3, 5, data, &found), HW_LOOK_FRESH);
        assert_int_equal(found.sequence, 6);
        assert_int_equal(hw_segment_newest(segment, 1, 0, data, &found), HW_LOOK_NOTHING);
        assert_int_equal(hw_segment_newest(segment, 2, 0, data, &found), HW_LOOK_NOTHING); /* has no slots */
        hw_segment_table_free(table);
    }
}

/* A complete put of another generation, in a wrong slot, or with an older sequence is not accepted. */
static void a_planted_put_is_refused(void **state)
{
    (void)state;
    hw_segment_table *table = new_table();
    hw_segment *segment = expose(table, 4, 2);
    size_t words = hw_slot_words(SIZE);
    unsigned char data[SIZE], copy[SIZE];
    hw_fresh found;
    fill(data, SIZE, 1);
    const hw_stamp stale = {SIZE, 3, 8}, misplaced = {SIZE, 4, 9};
    hw_slot_write(hw_segment_slot(segment, 0, 8), words, &stale, data);
    assert_int_not_equal(hw_segment_newest(segment, 3, 0, copy, &found), HW_LOOK_FRESH);
    assert_int_equal(put(table, 3, 4, 7), HAWSER_OK);
    assert_int_equal(hw_segment_newest(segment, 3, 0, copy, &found), HW_LOOK_FRESH);
    assert_int_equal(found.sequence, 7);
    hw_slot_write(hw_segment_slot(segment, 0, 8), words, &misplaced, data);
    assert_int_equal(hw_segment_newest(segment, 3, 7, copy, &found), HW_LOOK_NOTHING);
    const hw_stamp before = {SIZE, 4, 5};
    hw_slot_write(hw_segment_slot(segment, 0, 7), words, &before, data);
    assert_int_equal(hw_segment_newest(segment, 3, 7, copy, &found), HW_LOOK_NOTHING);
    hw_segment_table_free(table);
}

/* Puts i, i + 1, ... into two slots in turn, until it is killed. */
static _Noreturn void write_for_ever(hw_slot_word *slots, size_t words, unsigned char *data, size_t length, uint64_t i)
{
    for (;; i++) {
        const hw_stamp stamp = {length, 1, i};
        memset(data, (int)i, length);
        hw_slot_write(slots + i % 2 * words, words, &stamp, data);
    }
}

/* A process that writes into memory which we read, killed in the middle of it, again and again. */
static void a_writer_that_is_killed_leaves_no_torn_put(void **state)
{
    (void)state;
    enum { LARGE = 64 << 10, KILLS = 30 };
    size_t words = hw_slot_words(LARGE), bytes = 2 * words * sizeof(hw_slot_word);
    unsigned char *data = malloc(LARGE), *wanted = malloc(LARGE);
    uint64_t seen = 0;
    hw_slot_word *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(slots != MAP_FAILED);
    for (int kill_number = 0; kill_number < KILLS; kill_number++) {
        uint64_t first = seen + 10; /* past what the last one had begun */
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            write_for_ever(slots, words, data, LARGE, first);
        struct timespec before, now;
        clock_gettime(CLOCK_MONOTONIC, &before);
        uint64_t last = seen;
        do { /* read until it is well on its way, then some more */
            hw_stamp found;
            for (size_t i = 0; i < 2; i++) {
                if (!hw_slot_read(slots + i * words, words, LARGE, &found, wanted))
                    continue;
                memset(data, (int)found.sequence, LARGE);
                assert_memory_equal(data, wanted, LARGE);
                last = found.sequence > last ? found.sequence : last;
            }
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while (last < first + (uint64_t)kill_number && now.tv_sec - before.tv_sec < TIMEOUT);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        /* It was in one slot at most; in the other lies the put before, whole. */
        uint64_t best = 0;
        for (size_t i = 0; i < 2; i++) {
            hw_stamp found;
            if (hw_slot_read(slots + i * words, words, LARGE, &found, wanted) && found.sequence > best) {
                best = found.sequence;
                memset(data, (int)best, LARGE);
                assert_memory_equal(data, wanted, LARGE);
            }
        }
        assert_true(best >= last && best >= first);
        seen = best;
    }
    munmap(slots, bytes);
    free(wanted);
    free(data);
}

typedef struct writer {
    hw_segment_table *table;
    uint32_t source;
    atomic_uint *generation; /* the one that is exposed now */
    atomic_uint_fast64_t puts;
    atomic_bool *stop;
    int wrong;
} writer;

/* For the generation that was there a moment ago, and now and then for an older one. */
static void *write_on(void *argument)
{
    writer *self = argument;
    for (uint64_t i = 1; !atomic_load(self->stop); i++) {
        uint32_t generation = atomic_load(self->generation);
        atomic_store(&self->puts, i);
        self->wrong += put(self->table, self->source, i % 7 == 0 ? generation - 1 : generation, i) != HAWSER_OK;
    }
    return NULL;
}

/* Segments come and go under the hands of those who put: nobody waits, every put is counted once, and what was meant for an
 * old one is not in the new one. */
static void a_segment_may_be_freed_during_puts(void **state)
{
    (void)state;
    enum { LIVES = 200, LOOKS = 3 };
    hw_segment_table *table = new_table();
    atomic_bool stop = false;
    atomic_uint generation = 1;
    hw_segment *segments[LIVES];
    writer writers[2];
    pthread_t threads[2];
    uint64_t made = 0, counted = 0, fresh = 0;
    segments[0] = expose(table, 1, 2);
    for (uint32_t i = 0; i < 2; i++) {
        writers[i] = (writer){.table = table, .source = 1 + 2 * i, .generation = &generation, .stop = &stop};
        assert_int_equal(pthread_create(&threads[i], NULL, write_on, &writers[i]), 0);
    }
    for (uint32_t life = 0; life < LIVES; life++) {
        uint64_t base[2] = {0}; /* what was put before this one was there */
        if (life > 0) {
            for (int i = 0; i < 2; i++)
                base[i] = atomic_load(&writers[i].puts);
            segments[life] = expose(table, life + 1, 2);
            atomic_store(&generation, life + 1);
        }
        time_t end = time(NULL) + TIMEOUT;
        for (int k = 0, here = 0; here < LOOKS && time(NULL) < end; k++) {
            unsigned char data[SIZE];
            hw_fresh found;
            if (hw_segment_newest(segments[life], writers[k % 2].source, 0, data, &found) != HW_LOOK_FRESH) {
                rest(0.00001);
                continue;
            }
            assert_true(is_put(&found, data) && found.sequence >= base[k % 2]);
            here++;
            fresh++;
        }
        hw_segment_retire(segments[life]);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(writers[i].wrong, 0);
        made += atomic_load(&writers[i].puts);
    }
    for (uint32_t life = 0; life < LIVES; life++) {
        hw_segment_figures figures;
        hw_segment_figures_of(segments[life], &figures);
        counted += figures.puts + figures.late + figures.backward;
        assert_int_equal(figures.backward, 0);
    }
    assert_int_equal(counted, made);
    assert_int_equal(fresh, LIVES * LOOKS);
    hw_segment_table_free(table);
}

static void impossible_segments_are_refused(void **state)
{
    (void)state;
    hw_segment_table *table = new_table();
    const uint32_t good[] = {0, 1}, twice[] = {1, 1}, none[] = {4};
    const hw_segment_shape bad[] = {
        {1, 0, good, 2, 1, 8}, {1, 1, good, 2, 0, 8}, {1, 1, good, 2, 1, 0}, {1, 1, twice, 2, 1, 8}, {1, 1, none, 1, 1, 8},
    };
    hw_segment *segment;
    hawser_error error;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(hw_segment_table_expose(table, 0, &bad[i], &segment, &error), HAWSER_BAD_ARGUMENT);
    const hw_segment_shape huge[] = {{1, 1, good, 2, 1, SIZE_MAX}, {1, 1, good, 2, UINT32_MAX, SIZE_MAX / 4}};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++)
        assert_int_equal(hw_segment_table_expose(table, 0, &huge[i], &segment, &error), HAWSER_NO_MEMORY);
    const hw_segment_shape fine = {1, 1, good, 2, 1, 8};
    assert_int_equal(hw_segment_table_expose(table, 4, &fine, &segment, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hw_segment_table_expose(table, 0, &fine, &segment, &error), HAWSER_OK);
    hw_segment_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_returns_the_last_put),        cmocka_unit_test(every_changed_bit_is_detected),
        cmocka_unit_test(no_mixture_of_two_puts_is_accepted), cmocka_unit_test(a_torn_put_is_skipped),
        cmocka_unit_test(a_planted_put_is_refused),           cmocka_unit_test(a_writer_that_is_killed_leaves_no_torn_put),
        cmocka_unit_test(a_segment_may_be_freed_during_puts), cmocka_unit_test(impossible_segments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
