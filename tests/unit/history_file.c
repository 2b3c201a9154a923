/* Recorded histories as files: what a run writes can be read back whole; one that is cut off, damaged, mixed up or of a
 * failed job is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "directory.h"
#include "hawser/store.h"
#include "history_runs.h"
#include "nodes.h"

static size_t count_of(const hw_history *history, hw_event_kind kind)
{
    size_t count = 0;
    for (size_t s = 0; s < history->count; s++)
        for (size_t i = 0; i < history->streams[s].count; i++)
            count += history->streams[s].records[i].kind == kind;
    return count;
}

static void record_one(const char *path, uint64_t clocks)
{
    hawser_error error = {0};
    test_job test = OPEN_JOB("workers", "3", "sync", "ssp:1", "record-history", path);
    if (run_recorded(test.job, clocks, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    close_job(test);
}

static void every_record_is_in_the_file(void **state)
{
    (void)state;
    hawser_error error = {0};
    hw_history history = {0};
    const size_t blocks = 3, clocks = 40, runs = 2;
    record_one("h", clocks);
    if (add_history(&history, "h", &error) != HAWSER_OK || hw_history_whole(&history, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(history.count, blocks);
    size_t last = 0, begun = 0, others = 0;
    for (size_t s = 0; s < history.count; s++)
        for (size_t i = 0; i < history.streams[s].count; i++) {
            const hw_event_record *r = &history.streams[s].records[i];
            last += r->kind == HW_EVENT_WRITE && r->object == 2 && (r->flags & HW_EVENT_LAST);
            begun += r->kind == HW_EVENT_READ && r->object == 2 && (r->flags & HW_EVENT_INNER) == 0;
            others += r->kind == HW_EVENT_SEEN && r->object == 2;
        }
    assert_int_equal(last, blocks * clocks * runs); /* of the partitioned state: one part a clock */
    assert_int_equal(begun, blocks * clocks * runs);
    assert_int_equal(others, blocks * (blocks - 1) * clocks * runs);
    assert_int_equal(count_of(&history, HW_EVENT_STATE), blocks * 3);
    assert_int_equal(count_of(&history, HW_EVENT_BEGIN), count_of(&history, HW_EVENT_END));
    hw_history_free(&history);
}

static hawser_status read_whole(hw_history *history, const char *path, const void *bytes, size_t size, hawser_error *error)
{
    hawser_status status = hw_history_add(history, path, bytes, size, error);
    return status == HAWSER_OK ? hw_history_whole(history, error) : status;
}

/* Every length but the whole, and every batch boundary, is refused with the word for it. */
static void a_part_is_no_history(void **state)
{
    (void)state;
    size_t size;
    record_one("h", 200);
    unsigned char *bytes = read_file("h", &size);
    for (size_t cut = 0; cut < size; cut += cut < 300 || cut + 300 > size ? 1 : 997) {
        hawser_error error = {0};
        hw_history history = {0};
        assert_int_equal(read_whole(&history, "cut", bytes, cut, &error), HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, cut < sizeof(hw_history_head) ? "is not a history" : "is not whole"));
        hw_history_free(&history);
    }
    free(bytes);
}

/* A batch that is taken out, so that heads and digests are all right. */
static void a_missing_batch_is_seen(void **state)
{
    (void)state;
    size_t size, batches = 0;
    record_one("h", 300);
    unsigned char *bytes = read_file("h", &size), *less = malloc(size);
    for (size_t at = sizeof(hw_history_head), next; at < size; at = next, batches++) {
        hw_batch_head head;
        hawser_error error = {0};
        hw_history history = {0};
        memcpy(&head, bytes + at, sizeof head);
        next = at + sizeof head + (size_t)head.count * sizeof(hw_event_record);
        memcpy(less, bytes, at);
        memcpy(less + at, bytes + next, size - next);
        assert_int_equal(read_whole(&history, "less", less, size - (next - at), &error), HAWSER_BAD_INPUT);
        hw_history_free(&history);
    }
    assert_true(batches > 6);
    free(bytes);
    free(less);
}

static void damage_is_seen(void **state)
{
    (void)state;
    size_t size;
    record_one("h", 20);
    unsigned char *bytes = read_file("h", &size);
    for (size_t at = 0; at < size; at += at < 400 ? 1 : 61) {
        hawser_error error = {0};
        hw_history history = {0};
        bytes[at] ^= 0x10;
        assert_int_equal(read_whole(&history, "bad", bytes, size, &error), HAWSER_BAD_INPUT);
        bytes[at] ^= 0x10;
        hw_history_free(&history);
    }
    free(bytes);
}

static hawser_status fail_at_once(hawser_context *context)
{
    return hawser_unit_fail(context, HAWSER_BAD_PROGRAM, "as it was told");
}

static void other_versions_are_named(void **state)
{
    (void)state;
    hawser_error error = {0};
    hw_history history = {0};
    size_t size;
    record_one("h", 5);
    unsigned char *bytes = read_file("h", &size);
    bytes[6] = '3';
    assert_int_equal(hw_history_add(&history, "old", bytes, size, &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "old is a history of another version"));
    assert_non_null(strstr(error.text, "layout 3; this one reads layout F"));
    hw_history_free(&history);
    free(bytes);
}

static void failed_jobs_are_marked_and_mixtures_are_refused(void **state)
{
    (void)state;
    hawser_error error = {0};
    hw_history history = {0};
    test_job test = OPEN_JOB("workers", "2", "record-history", "failed");
    hawser_program *program = hawser_program_new("empty", NULL);
    hawser_run *run = NULL;
    HAWSER_UNIT(hawser_root(program), "fails", fail_at_once);
    assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_BAD_PROGRAM);
    hawser_program_free(program);
    close_job(test);
    assert_int_equal(add_history(&history, "failed", &error), HAWSER_OK);
    assert_int_equal(hw_history_whole(&history, &error), HAWSER_OK);
    assert_true(history.ended == HAWSER_BAD_PROGRAM && history.cut == 0);
    hw_history_free(&history);

    record_one("a", 5);
    record_one("b", 5);
    assert_int_equal(add_history(&history, "a", &error), HAWSER_OK);
    assert_int_equal(add_history(&history, "b", &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "another job"));
    hw_history_free(&history);
    assert_int_equal(add_history(&history, "a", &error), HAWSER_OK);
    assert_int_equal(add_history(&history, "a", &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "already"));
    hw_history_free(&history);
}

/* A history that cannot be written is said before the run where it can be known then, and ends the run where not. */
static void failed_writes_are_reported(void **state)
{
    (void)state;
    hawser_error error = {0};
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
    assert_int_equal(hawser_options_set(options, "record-history", "no/such/place", HAWSER_FROM_PROGRAM, "test", &error),
                     HAWSER_OK);
    assert_int_equal(hawser_open_options(options, &job, &error), HAWSER_IO);
    assert_non_null(strstr(error.text, "no/such/place"));
    hawser_options_free(options);

    struct rlimit before, small = {20000, 20000};
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    small.rlim_max = before.rlim_max;
    test_job test = OPEN_JOB("workers", "2", "record-history", "full");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(run_recorded(test.job, 2000, &error), HAWSER_IO);
    assert_non_null(strstr(error.text, "cannot write the history to full"));
    close_job(test);
    setrlimit(RLIMIT_FSIZE, &before);
    hw_history history = {0};
    assert_int_equal(add_history(&history, "full", &error), HAWSER_OK);
    assert_int_equal(hw_history_whole(&history, &error), HAWSER_BAD_INPUT);
    hw_history_free(&history);
}

/* ---------------------------------------------------------------------------------------------------- several nodes ---- */

static void run_and_ask(test_node *node)
{
    hawser_store *store = NULL;
    uint32_t table = 0;
    uint64_t task = 0;
    float values[100] = {1, 2, 3};
    node->status = run_recorded(node->job, 10, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_store_open(node->job, NULL, &store, &node->error);
    if (node->status == HAWSER_OK)
        node->status =
            hawser_store_table(store, &(hawser_table){.name = "t", .type = HAWSER_F32, .last = 99}, &table, &node->error);
    if (node->status == HAWSER_OK)
        node->status =
            hawser_push(store, &(hawser_request){.table = table, .last = 99, .values = values}, &task, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_store_wait(store, task, &node->error);
    hawser_store_close(store);
}

static void nodes_write_their_parts(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    test_node nodes[COUNT];
    hawser_error error = {0};
    hw_history history = {0};
    const char *const pairs[] = {"workers", "4", "sync", "bsp", "topology", "tree", "record-history", "h", NULL};
    run_nodes(nodes, COUNT, pairs, run_and_ask, NULL);
    for (int i = 0; i < COUNT; i++)
        if (nodes[i].status != HAWSER_OK)
            fail_msg("%s", nodes[i].error.text);
    assert_int_equal(add_history(&history, "h", &error), HAWSER_OK);
    assert_int_equal(hw_history_whole(&history, &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "lacks the file of node 1"));
    assert_int_equal(add_history(&history, "h.2", &error), HAWSER_OK);
    assert_int_equal(add_history(&history, "h.1", &error), HAWSER_OK);
    assert_int_equal(hw_history_whole(&history, &error), HAWSER_OK);
    uint64_t asked = 0, taken = 0, rows = 0;
    for (size_t s = 0; s < history.count; s++)
        for (size_t i = 0; i < history.streams[s].count; i++) {
            const hw_event_record *r = &history.streams[s].records[i];
            asked += r->kind == HW_EVENT_ASKED ? r->digest : 0;
            taken += r->kind == HW_EVENT_TAKEN ? r->digest : 0;
            rows += r->kind == HW_EVENT_TAKEN ? r->count : 0;
        }
    assert_int_equal(rows, 100 * COUNT); /* whatever node serves them, in any number of pieces */
    assert_true(asked != 0 && asked == taken);
    hw_history_free(&history);
}

/* Takes off the end record, or replaces it by one that names `count` lost nodes. */
static void end_otherwise(const char *from, const char *to, const uint32_t *lost, size_t count)
{
    size_t size;
    unsigned char *bytes = read_file(from, &size);
    size_t last = size - sizeof(hw_batch_head) - sizeof(hw_event_record);
    hw_batch_head head;
    hw_event_record record, records[4];
    memcpy(&record, bytes + last + sizeof head, sizeof record);
    assert_int_equal(record.kind, HW_EVENT_CLOSE);
    hw_close_make(record.first, record.count, HAWSER_PEER_LOST, lost, count, &head, records);
    FILE *out = fopen(to, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, last, out), last);
    if (count > 0) {
        assert_int_equal(fwrite(&head, 1, sizeof head, out), sizeof head);
        assert_int_equal(fwrite(records, sizeof *records, count, out), count);
    }
    assert_int_equal(fclose(out), 0);
    free(bytes);
}

static hawser_status read_three(hw_history *history, const char *a, const char *b, const char *c, hawser_error *error)
{
    const char *const names[] = {a, b, c};
    *history = (hw_history){0};
    for (int i = 0; i < 3; i++)
        if (names[i] != NULL)
            HAWSER_TRY(add_history(history, names[i], error));
    return hw_history_whole(history, error);
}

/* What is left of a node that others have lost may end anywhere, or be nothing; of all others it has to be whole. */
static void a_lost_node_may_leave_a_prefix(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    test_node nodes[COUNT];
    hawser_error error = {0};
    hw_history history;
    const char *const pairs[] = {"workers", "3", "sync", "bsp", "record-history", "h", NULL};
    run_nodes(nodes, COUNT, pairs, run_and_ask, NULL);
    const uint32_t lost[] = {2, 1};
    end_otherwise("h", "l0", lost, 1);
    end_otherwise("h.1", "l1", lost, 1);
    end_otherwise("h.1", "c1", NULL, 0);
    end_otherwise("h.2", "c2", NULL, 0);
    assert_int_equal(read_three(&history, "l0", "l1", "c2", &error), HAWSER_OK);
    assert_true(history.ended == HAWSER_PEER_LOST && history.cut == 1 && history.parts[2].lost);
    for (size_t s = 0; s < history.count; s++)
        assert_int_equal(history.streams[s].cut, history.streams[s].node == 2);
    hw_history_free(&history);
    size_t size;
    unsigned char *bytes = read_file("c2", &size);
    for (size_t cut = sizeof(hw_history_head); cut <= size; cut += cut + 200 > size ? 1 : 83) {
        history = (hw_history){0};
        assert_int_equal(add_history(&history, "l0", &error), HAWSER_OK);
        assert_int_equal(add_history(&history, "l1", &error), HAWSER_OK);
        assert_int_equal(read_whole(&history, "c2", bytes, cut, &error), HAWSER_OK);
        hw_history_free(&history);
    }
    free(bytes);
    assert_int_equal(read_three(&history, "l0", "l1", NULL, &error), HAWSER_OK);
    hw_history_free(&history);
    assert_int_equal(read_three(&history, "l0", "c1", "h.2", &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "no other node's file says that it was lost"));
    hw_history_free(&history);
    assert_int_equal(read_three(&history, "l0", NULL, "h.2", &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "lacks the file of node 1"));
    hw_history_free(&history);
    assert_int_equal(read_three(&history, "h", "h.1", "c2", &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "the job was killed or still runs"));
    hw_history_free(&history);
}

/* An end record names all lost nodes that its node knew of. */
static void two_lost_nodes_may_leave_prefixes(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    test_node nodes[COUNT];
    hawser_error error = {0};
    hw_history history;
    const char *const pairs[] = {"workers", "3", "sync", "bsp", "record-history", "h", NULL};
    run_nodes(nodes, COUNT, pairs, run_and_ask, NULL);
    end_otherwise("h", "both", (const uint32_t[]){2, 1}, 2);
    end_otherwise("h", "self", (const uint32_t[]){2, 0}, 2);
    end_otherwise("h", "none", (const uint32_t[]){HW_HISTORY_NONE, 1}, 2);
    end_otherwise("h", "other", (const uint32_t[]){2, 3}, 2);
    end_otherwise("h.1", "c1", NULL, 0);
    const char *const seconds[] = {NULL, "c1", "h.1"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read_three(&history, "both", seconds[i], NULL, &error), HAWSER_OK);
        assert_true(history.ended == HAWSER_PEER_LOST && history.cut == (i < 2 ? 2 : 1));
        assert_true(history.parts[1].lost && history.parts[2].lost);
        hw_history_free(&history);
    }
    const char *const wrong[] = {"self", "none", "other"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read_three(&history, wrong[i], "h.1", "h.2", &error), HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, "the history is damaged"));
        hw_history_free(&history);
    }
}

/* As many streams as records, each in two batches, whose turns go round: found again, and in order. */
static void many_streams_are_distinguished(void **state)
{
    (void)state;
    enum { STREAMS = 20000, EACH = sizeof(hw_batch_head) + sizeof(hw_event_record) };
    hawser_error error = {0};
    hw_history history = {0};
    hw_history_head head;
    hw_batch_head batch;
    hw_event_record record = {.kind = HW_EVENT_CREDIT};
    unsigned char *bytes = malloc(sizeof head + (2 * (size_t)STREAMS + 1) * EACH), *end = bytes + sizeof head;
    assert_non_null(bytes);
    hw_history_head_make(0, 1, 7, &head);
    memcpy(bytes, &head, sizeof head);
    for (uint32_t i = 0; i <= 2 * STREAMS; i++, end += EACH) {
        hw_log log = {.name = {HW_STREAM_CLIENT, 0, i * 7919 % STREAMS, 0}, .records = &record, .count = 1};
        log.batches = i / STREAMS;
        record.clock = i;
        if (i == 2 * STREAMS)
            hw_close_make(i, i, HAWSER_OK, NULL, 0, &batch, &record);
        else
            hw_batch_head_make(&log, &batch);
        memcpy(end, &batch, sizeof batch);
        memcpy(end + sizeof batch, &record, sizeof record);
    }
    if (read_whole(&history, "many", bytes, (size_t)(end - bytes), &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(history.count, STREAMS);
    for (uint32_t i = 0; i < STREAMS; i++) {
        const hw_stream *stream = &history.streams[i];
        assert_true(stream->name.number == i && stream->count == 2 &&
                    stream->records[0].clock + STREAMS == stream->records[1].clock);
        assert_ptr_equal(hw_history_stream(&history, HW_STREAM_CLIENT, 0, i), stream);
    }
    assert_null(hw_history_stream(&history, HW_STREAM_BLOCK, 0, 0));
    hw_history_free(&history);
    free(bytes);
}

static void digests_add_up(void **state)
{
    (void)state;
    double values[50];
    for (int i = 0; i < 50; i++)
        values[i] = i % 3 == 0 ? 0 : i - 20;
    uint64_t whole = hw_digest_64(values, 50, 7);
    for (size_t cut = 0; cut <= 50; cut++)
        assert_true(whole == hw_digest_64(values, cut, 7) + hw_digest_64(values + cut, 50 - cut, 7 + cut));
    for (int i = 0; i < 50; i++) { /* every change of one number, and every exchange of two, changes it */
        double kept = values[i];
        values[i] = -kept;
        assert_true(hw_digest_64(values, 50, 7) != whole);
        values[i] = kept;
        for (int j = 0; j < i; j++) {
            double other = values[j];
            if (other == kept)
                continue;
            values[i] = other, values[j] = kept;
            assert_true(hw_digest_64(values, 50, 7) != whole);
            values[i] = kept, values[j] = other;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_record_is_in_the_file, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_part_is_no_history, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_missing_batch_is_seen, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(damage_is_seen, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(failed_jobs_are_marked_and_mixtures_are_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(other_versions_are_named, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_lost_node_may_leave_a_prefix, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(two_lost_nodes_may_leave_prefixes, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(failed_writes_are_reported, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(nodes_write_their_parts, make_directory, remove_directory),
        cmocka_unit_test(many_streams_are_distinguished),
        cmocka_unit_test(digests_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
