/*
 * mapping.h - memory that processes of one host share: an anonymous file (memfd) of fixed size, mapped by each, and passed
 * over a Unix socket.
 *
 * The size is sealed, so that no process can make another's reads fault by truncating the file. The file has no name and no
 * place in /dev/shm, which is small in containers; the kernel frees it with the last process that holds it. Pages take
 * memory when they are first touched. The contents are as trustworthy as every other process that maps them: check before
 * use.
 */
#ifndef HW_TRANSPORT_NET_MAPPING_H
#define HW_TRANSPORT_NET_MAPPING_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "hawser/status.h"

#define HW_MAPPING_NAME "hawser" /* of the memory, in /proc */

typedef struct hw_mapping {
    unsigned char *data; /* page-aligned, readable and writable; NULL: none */
    size_t size;
} hw_mapping;

/* Makes and maps `size` zeroed bytes. *fd is for the other process; the caller closes it, and the mapping does not need it.
 * Returns HAWSER_IO if the system does not allow such memory, and HAWSER_NO_MEMORY. */
hawser_status hw_mapping_new(size_t size, hw_mapping *mapping, int *fd, hawser_error *error) HAWSER_MUST_USE;
/* Maps memory that another process has made. The caller keeps fd. Returns HAWSER_BAD_INPUT if it is not such memory, its
 * size is not sealed, or it has fewer than `least` or more than `most` bytes. */
hawser_status hw_mapping_open(int fd, size_t least, size_t most, hw_mapping *mapping, hawser_error *error) HAWSER_MUST_USE;
/* Unmaps. A zeroed or freed mapping is allowed. */
void hw_mapping_free(hw_mapping *mapping);

/* Sends bytes over a connected Unix socket without blocking, and a descriptor with the first of them (-1: none). Returns,
 * like sendmsg, the number of bytes sent, which may be fewer, or -1 with errno. The descriptor is sent if at least one byte
 * is. */
ssize_t hw_mapping_send(int socket, const struct iovec *bytes, int count, int fd);
/* Receives bytes and, if *fd is -1, a descriptor that was sent with them (close-on-exec; the caller closes it). All other
 * descriptors are closed. Returns like recvmsg. */
ssize_t hw_mapping_receive(int socket, void *to, size_t size, int *fd);

#endif
