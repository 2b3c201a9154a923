/* reno.c - for LD_PRELOAD: a program's TCP connections begin with the congestion control that Hawser's have within a host, whatever the system's is.
 * Where that is BBR, connections over loopback are paced, and peers would be measured by that. */
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* What a listener has its connections inherit. */
__attribute__((visibility("default"))) int socket(int domain, int type, int protocol)
{
    int (*own)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    int fd = own(domain, type, protocol);
    if (fd >= 0 && (domain == AF_INET || domain == AF_INET6) && (type & 0xff) == SOCK_STREAM)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    return fd;
}
