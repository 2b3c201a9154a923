/* reno.c - a library for LD_PRELOAD. It gives a program's TCP connections the congestion control that Hawser uses within a
 * host if the system's is BBR. BBR paces connections over loopback, which would slow a peer down. The file BENCH_RENO_SEEN
 * appears once a socket has it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Writes the file. If it is missing, bench/store/run fails: the program does not call this socket(), for example because it
 * is linked statically. */
static void leave_mark(void)
{
    const char *path = getenv("BENCH_RENO_SEEN");
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        close(fd);
}

/* Sets it for each TCP socket; connections inherit that of their listener. */
__attribute__((visibility("default"))) int socket(int domain, int type, int protocol)
{
    int (*own)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    int fd = own(domain, type, protocol);
    if (fd < 0 || (domain != AF_INET && domain != AF_INET6) || (type & 0xff) != SOCK_STREAM)
        return fd;
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) != 0) {
        perror("bench_reno: TCP_CONGESTION");
        _exit(1);
    }
    leave_mark();
    return fd;
}
