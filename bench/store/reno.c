/* reno.c - for LD_PRELOAD: a program's TCP connections begin with the congestion control that Hawser's have within a host where the system's is
 * BBR. BBR paces connections over loopback, and peers would be measured by that. The file BENCH_RENO_SEEN appears once a socket has it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Without this file bench/store/run reports a program that does not call our socket(), as one that is linked statically. */
static void leave_mark(void)
{
    const char *path = getenv("BENCH_RENO_SEEN");
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        close(fd);
}

/* What a listener has its connections inherit. */
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
