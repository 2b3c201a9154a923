/* Loads that are cancelled: before they begin, while a pipe has nothing to read, while one never ends, and while rows are
 * read in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "directory.h"
#include "hawser/data.h"

static hawser_cancellation *make_handle(void)
{
    hawser_cancellation *handle = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_cancellation_new(&handle, &error), HAWSER_OK);
    return handle;
}

/* A process that writes into a pipe. */
typedef struct writer {
    const char *text;            /* one time after the other */
    size_t most;                 /* bytes, after which it waits for the end of the reader; 0: none */
    hawser_cancellation *cancel; /* cancelled after `most` bytes */
    pthread_t thread;
    const char *path;
} writer;

static void *write_main(void *argument)
{
    const writer *w = argument;
    int fd = open(w->path, O_WRONLY);
    size_t length = strlen(w->text);
    ssize_t got = 1;
    for (size_t sent = 0; got > 0; sent += (size_t)got) {
        if (sent >= w->most)
            hawser_cancel(w->cancel);
        got = write(fd, w->text, length);
    }
    return close(fd) == 0 ? NULL : argument;
}

static void begin_writer(writer *w)
{
    assert_int_equal(mkfifo(w->path, 0600), 0);
    assert_int_equal(pthread_create(&w->thread, NULL, write_main, w), 0);
}

static void end_writer(writer *w)
{
    assert_int_equal(pthread_join(w->thread, NULL), 0);
    assert_int_equal(unlink(w->path), 0);
}

static void a_load_that_was_cancelled_before_it_began_stops(void **state)
{
    (void)state;
    hawser_cancellation *handle = make_handle();
    hawser_dataset *dataset = NULL;
    hawser_error error = {0};
    const char *path = "small";
    put_file(path, "1 1:2\n0 2:3\n");
    hawser_cancel(handle);
    for (int by_row = 0; by_row < 2; by_row++) {
        const hawser_load load = {.rows_layout = by_row, .cancellation = handle};
        assert_int_equal(hawser_dataset_load(&path, 1, &load, &dataset, &error), HAWSER_STOP);
        assert_null(dataset);
        assert_string_equal(error.text, "reading small was cancelled after 0.0 MB");
    }
    hawser_cancellation_reset(handle);
    assert_int_equal(hawser_dataset_load(&path, 1, &(hawser_load){.cancellation = handle}, &dataset, &error), HAWSER_OK);
    assert_int_equal(hawser_dataset_matrix(dataset)->rows, 2);
    assert_int_equal(hawser_dataset_save(dataset, "small.hwc", &error), HAWSER_OK);
    hawser_dataset_free(dataset);
    hawser_cancellation_free(handle);
}

static void a_pipe_without_end_is_cancelled(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        hawser_format format;
    } kinds[] = {{"1 1:2 7:3\n", HAWSER_SVMLIGHT}, {"1,2,3\n", HAWSER_CSV}, {"0123456789", HAWSER_CSV}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint32_t threads = 1; threads < 4; threads += 2) {
            hawser_cancellation *handle = make_handle();
            hawser_dataset *dataset = NULL;
            hawser_error error = {0};
            writer w = {.text = kinds[k].text, .most = 300000, .cancel = handle, .path = "pipe"};
            begin_writer(&w);
            const hawser_load load = {.format = kinds[k].format, .header = -1, .threads = threads, .cancellation = handle};
            assert_int_equal(hawser_dataset_load(&w.path, 1, &load, &dataset, &error), HAWSER_STOP);
            end_writer(&w);
            assert_null(dataset);
            assert_non_null(strstr(error.text, "reading pipe was cancelled after "));
            hawser_cancellation_free(handle);
        }
}

static void *cancel_soon(void *argument)
{
    (void)poll(NULL, 0, 20);
    hawser_cancel(argument);
    return NULL;
}

/* `held`: the pipe has a writer, which writes nothing. */
static void cancel_silent_pipe(bool held, bool in_pieces)
{
    hawser_cancellation *handle = make_handle();
    hawser_dataset *dataset = NULL;
    hawser_rows *rows = NULL;
    hawser_error error = {0};
    pthread_t thread;
    const char *path = "silent";
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = held ? open(path, O_RDWR | O_CLOEXEC) : -1;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, handle), 0);
    const hawser_load load = {.columns = in_pieces ? 3 : 0, .cancellation = handle};
    assert_int_equal(in_pieces ? hawser_rows_open(&path, 1, &load, &rows, &error)
                               : hawser_dataset_load(&path, 1, &load, &dataset, &error),
                     HAWSER_STOP);
    assert_string_equal(error.text, "reading silent was cancelled after 0.0 MB");
    assert_null(dataset);
    assert_null(rows);
    pthread_join(thread, NULL);
    if (held)
        assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path), 0);
    hawser_cancellation_free(handle);
}

static void a_pipe_that_says_nothing_is_cancelled(void **state)
{
    (void)state;
    for (int held = 0; held < 2; held++)
        for (int in_pieces = 0; in_pieces < 2; in_pieces++)
            cancel_silent_pipe(held != 0, in_pieces != 0);
}

static void rows_in_pieces_are_cancelled(void **state)
{
    (void)state;
    hawser_cancellation *handle = make_handle();
    hawser_rows *rows = NULL;
    hawser_error error = {0};
    hawser_piece piece;
    bool more = false;
    const char *path = "pieces";
    pthread_t thread;
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(write(fd, "1 1:2\n", 6), 6);
    const hawser_load load = {
        .format = HAWSER_SVMLIGHT, .columns = 3, .index_base = 2, .target_optional = true, .cancellation = handle};
    assert_int_equal(hawser_rows_open(&path, 1, &load, &rows, &error), HAWSER_OK);
    assert_int_equal(hawser_rows_next(rows, &piece, &more, &error), HAWSER_OK);
    assert_true(more);
    assert_int_equal(hawser_dataset_matrix(piece.data)->rows, 1);
    hawser_dataset_free(piece.data);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, handle), 0);
    assert_int_equal(hawser_rows_next(rows, &piece, &more, &error), HAWSER_STOP);
    assert_string_equal(error.text, "reading pieces was cancelled after 0.0 MB");
    pthread_join(thread, NULL);
    hawser_rows_close(rows);
    assert_int_equal(close(fd), 0);
    hawser_cancellation_free(handle);
}

/* A writer that comes late is waited for, as without a handle. */
static void a_handle_that_is_not_used_changes_nothing(void **state)
{
    (void)state;
    hawser_cancellation *handle = make_handle();
    hawser_dataset *dataset = NULL;
    hawser_error error = {0};
    const char *paths[] = {"small", "small.hwc"};
    assert_int_equal(system("mkfifo late; (sleep 0.1; cat small > late) &"), 0);
    const char *late = "late";
    assert_int_equal(hawser_dataset_load(&late, 1, &(hawser_load){.cancellation = handle}, &dataset, &error), HAWSER_OK);
    assert_int_equal(hawser_dataset_matrix(dataset)->rows, 2);
    hawser_dataset_free(dataset);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hawser_dataset_load(&paths[i], 1, &(hawser_load){.cancellation = handle}, &dataset, &error),
                         HAWSER_OK);
        hawser_dataset_free(dataset);
    }
    hawser_cancellation_free(handle);
}

static void empty_handles_are_allowed(void **state)
{
    (void)state;
    hawser_cancel(NULL);
    hawser_cancellation_reset(NULL);
    hawser_cancellation_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_that_was_cancelled_before_it_began_stops), cmocka_unit_test(a_pipe_without_end_is_cancelled),
        cmocka_unit_test(a_pipe_that_says_nothing_is_cancelled),           cmocka_unit_test(rows_in_pieces_are_cancelled),
        cmocka_unit_test(a_handle_that_is_not_used_changes_nothing),       cmocka_unit_test(empty_handles_are_allowed),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
