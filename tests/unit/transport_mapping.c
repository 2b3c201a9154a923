/* Shared memory between processes: made, sealed, handed over, mapped; and whatever else may come through the socket. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "transport/net/mapping.h"

enum { SIZE = 3 << 20 };

static int descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static hw_mapping make(size_t size, int *fd)
{
    hw_mapping made;
    hawser_error error;
    if (hw_mapping_new(size, &made, fd, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(made.size, size);
    return made;
}

static void pair(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

static void send_fd(int socket, int fd)
{
    const struct iovec pieces[] = {{"ab", 2}, {"c", 1}};
    assert_int_equal(hw_mapping_send(socket, pieces, 2, fd), 3);
}

/* The child maps what comes, adds to what it reads there, and says so. */
static void child_main(int socket)
{
    char text[3];
    int fd = -1;
    hw_mapping mapped;
    if (hw_mapping_receive(socket, text, sizeof text, &fd) != 3 || memcmp(text, "abc", 3) != 0 || fd < 0)
        _exit(1);
    if (hw_mapping_open(fd, 1, SIZE, &mapped, NULL) != HAWSER_OK || mapped.size != SIZE || mapped.data[0] != 5)
        _exit(2);
    close(fd);
    mapped.data[SIZE - 1] = (unsigned char)(mapped.data[0] + 1);
    _exit(write(socket, "d", 1) != 1);
}

static void two_processes_see_one_memory(void **state)
{
    (void)state;
    int before = descriptors(), ends[2], fd, status;
    pair(ends);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        child_main(ends[1]);
    hw_mapping made = make(SIZE, &fd);
    assert_int_equal(made.data[0] + made.data[SIZE - 1], 0);
    made.data[0] = 5;
    send_fd(ends[0], fd);
    close(fd);
    char answer;
    assert_int_equal(read(ends[0], &answer, 1), 1);
    assert_int_equal(made.data[SIZE - 1], 6);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    hw_mapping_free(&made);
    hw_mapping_free(&made);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(descriptors(), before);
}

static void no_process_can_change_its_size(void **state)
{
    (void)state;
    int fd;
    hw_mapping made = make(SIZE, &fd);
    assert_int_equal(ftruncate(fd, SIZE / 2), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, SIZE * 2), -1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1); /* nor its seals */
    hw_mapping_free(&made);
    close(fd);
}

static void expect_refused(int fd, size_t least, size_t most, const char *why)
{
    hw_mapping mapped;
    hawser_error error;
    assert_int_equal(hw_mapping_open(fd, least, most, &mapped, &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, why));
    assert_null(mapped.data);
}

static void memory_that_is_not_sealed_is_refused(void **state)
{
    (void)state;
    int ends[2], fd, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    expect_refused(null, 1, SIZE, "not shared memory");
    close(null);
    pair(ends);
    expect_refused(ends[0], 1, SIZE, "not shared memory");
    close(ends[0]);
    close(ends[1]);
    int open_ended = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(open_ended, SIZE), 0);
    expect_refused(open_ended, 1, SIZE, "not sealed");
    assert_int_equal(fcntl(open_ended, F_ADD_SEALS, F_SEAL_GROW), 0);
    expect_refused(open_ended, 1, SIZE, "not sealed");
    close(open_ended);
    hw_mapping made = make(SIZE, &fd);
    expect_refused(fd, 1, SIZE - 1, "3145728 bytes");
    expect_refused(fd, SIZE + 1, 2 * SIZE, "3145728 bytes");
    hw_mapping_free(&made);
    close(fd);
}

/* Impossible sizes are a status. */
static void too_much_is_refused(void **state)
{
    (void)state;
    int before = descriptors(), fd = 0;
    hw_mapping made;
    hawser_error error;
    assert_int_equal(hw_mapping_new(SIZE_MAX, &made, &fd, &error), HAWSER_NO_MEMORY);
    assert_int_equal(fd, -1);
    assert_int_equal(hw_mapping_new((size_t)1 << 60, &made, &fd, &error), HAWSER_NO_MEMORY);
    assert_non_null(strstr(error.text, "shared memory"));
    assert_null(made.data);
    assert_int_equal(descriptors(), before);
}

static void bytes_may_arrive_without_a_descriptor(void **state)
{
    (void)state;
    int ends[2], fd = -1;
    char text[8];
    pair(ends);
    send_fd(ends[0], -1);
    assert_int_equal(hw_mapping_receive(ends[1], text, sizeof text, &fd), 3);
    assert_int_equal(fd, -1);
    close(ends[0]);
    assert_int_equal(hw_mapping_receive(ends[1], text, sizeof text, &fd), 0);
    assert_int_equal(hw_mapping_receive(-1, text, sizeof text, &fd), -1);
    assert_int_equal(fd, -1);
    close(ends[1]);
}

/* One is kept, whatever comes, in however many messages. */
static void surplus_descriptors_are_closed(void **state)
{
    (void)state;
    enum { MANY = 20 };
    int before = descriptors(), ends[2], fd = -1, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    pair(ends);
    for (int count = 1; count <= MANY; count += MANY - 1) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(MANY * sizeof(int))] = {0};
        struct iovec piece = {"x", 1};
        struct msghdr message = {.msg_iov = &piece,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
        for (int i = 0; i < count; i++)
            memcpy(CMSG_DATA(head) + (size_t)i * sizeof(int), &null, sizeof null);
        for (int twice = 0; twice < 2; twice++) {
            char text[8];
            assert_int_equal(sendmsg(ends[0], &message, 0), 1);
            assert_int_equal(hw_mapping_receive(ends[1], text, sizeof text, &fd), 1);
        }
    }
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    const int all[] = {fd, null, ends[0], ends[1]};
    for (int i = 0; i < 4; i++)
        close(all[i]);
    assert_int_equal(descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_see_one_memory),          cmocka_unit_test(no_process_can_change_its_size),
        cmocka_unit_test(memory_that_is_not_sealed_is_refused),  cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(bytes_may_arrive_without_a_descriptor), cmocka_unit_test(surplus_descriptors_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
