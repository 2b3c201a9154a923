#include "transport/net/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
    DESCRIPTORS = 4 /* descriptors accepted with one message; the kernel closes further ones */
};

static hawser_status map(int fd, size_t size, hw_mapping *mapping, hawser_error *error)
{
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot map %zu bytes of shared memory: %s", size, strerror(errno));
    *mapping = (hw_mapping){data, size};
    return HAWSER_OK;
}

hawser_status hw_mapping_new(size_t size, hw_mapping *mapping, int *fd, hawser_error *error)
{
    *mapping = (hw_mapping){NULL, 0};
    *fd = -1;
    int made = memfd_create(HW_MAPPING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0)
        return hawser_fail(error, HAWSER_IO, "cannot make shared memory (memfd_create): %s", strerror(errno));
    hawser_status status = HAWSER_OK;
    if (size > INT64_MAX || ftruncate(made, (off_t)size) != 0)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "cannot make %zu bytes of shared memory: %s", size, strerror(errno));
    else if (fcntl(made, F_ADD_SEALS, SEALS) != 0)
        status = hawser_fail(error, HAWSER_IO, "cannot seal the size of shared memory: %s", strerror(errno));
    else
        status = map(made, size, mapping, error);
    if (status != HAWSER_OK) {
        close(made);
        return status;
    }
    *fd = made;
    return HAWSER_OK;
}

hawser_status hw_mapping_open(int fd, size_t least, size_t most, hw_mapping *mapping, hawser_error *error)
{
    *mapping = (hw_mapping){NULL, 0};
    struct stat about;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || fstat(fd, &about) != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the received descriptor is not shared memory: %s", strerror(errno));
    if ((seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
        return hawser_fail(error, HAWSER_BAD_INPUT, "the size of the received shared memory is not sealed");
    if ((uint64_t)about.st_size < least || (uint64_t)about.st_size > most)
        return hawser_fail(error, HAWSER_BAD_INPUT, "received shared memory of %jd bytes; expected %zu to %zu",
                           (intmax_t)about.st_size, least, most);
    return map(fd, (size_t)about.st_size, mapping, error);
}

void hw_mapping_free(hw_mapping *mapping)
{
    if (mapping->data != NULL)
        munmap(mapping->data, mapping->size);
    *mapping = (hw_mapping){NULL, 0};
}

ssize_t hw_mapping_send(int socket, const struct iovec *bytes, int count, int fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {0};
    struct msghdr message = {.msg_iov = (struct iovec *)(size_t)bytes, .msg_iovlen = (size_t)count};
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Keeps the first descriptor that was received and closes all others. */
static void keep(const struct cmsghdr *head, int *fd)
{
    for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= head->cmsg_len; at += sizeof(int)) {
        int came;
        memcpy(&came, CMSG_DATA(head) + at, sizeof came);
        if (*fd < 0)
            *fd = came;
        else
            close(came);
    }
}

ssize_t hw_mapping_receive(int socket, void *to, size_t size, int *fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    struct iovec bytes = {to, size};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t moved = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    for (struct cmsghdr *head = moved < 0 ? NULL : CMSG_FIRSTHDR(&message); head != NULL; head = CMSG_NXTHDR(&message, head))
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
            keep(head, fd);
    return moved;
}
