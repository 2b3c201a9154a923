/*
 * mapping.h - memory that processes of one host share: an anonymous file (memfd) of fixed size, mapped by each, handed from one to the
 * other over a Unix socket.
 *
 * The size is sealed, so that no process can make another's reads fault by cutting the file short. The file has no name and no place in
 * /dev/shm, which is small in containers: it is gone with the last process that holds it. Pages take memory when they are first touched.
 * What stands in the memory is as believable as whoever else maps it: check before use.
 */
#ifndef HW_TRANSPORT_NET_MAPPING_H
#define HW_TRANSPORT_NET_MAPPING_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "hawser/status.h"

typedef struct hw_mapping {
    unsigned char *data; /* page-aligned, readable and writable; NULL: none */
    size_t size;
} hw_mapping;

/* Makes `size` zeroed bytes and maps them. *fd is to be handed on and is the caller's to close; the mapping does not need it. HAWSER_IO
 * where the system lets nobody make such memory, HAWSER_NO_MEMORY where there is none. */
hawser_status hw_mapping_new(size_t size, hw_mapping *mapping, int *fd, hawser_error *error) HAWSER_MUST_USE;
/* Maps what another process has made. fd stays the caller's. HAWSER_BAD_INPUT: it is no such memory, its size is not sealed, or it does
 * not have between `least` and `most` bytes. */
hawser_status hw_mapping_open(int fd, size_t least, size_t most, hw_mapping *mapping, hawser_error *error) HAWSER_MUST_USE;
/* Unmaps; harmless on a zeroed or freed mapping. */
void hw_mapping_free(hw_mapping *mapping);

/* Sends bytes over a connected Unix socket, without blocking, and with the first of them a descriptor; -1 as descriptor: none. As
 * sendmsg: bytes sent, which may be fewer, or -1 with errno. The descriptor has gone if at least one byte has. */
ssize_t hw_mapping_send(int socket, const struct iovec *bytes, int count, int fd);
/* Receives bytes and, where *fd is -1, into it the descriptor that came with them, if one did (close-on-exec, now the caller's). All
 * others are closed. As recvmsg. */
ssize_t hw_mapping_receive(int socket, void *to, size_t size, int *fd);

#endif
