/* busy.c - how long a link has had something to send. The kernel counts that for each TCP connection. Within
 * a host no link has a limit, so only the time counts in which --rate held updates back. */
#include <linux/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "transport/net/parts.h"

enum { TCP_PROTOCOL = 6 }; /* <netinet/in.h> would define the struct of <linux/tcp.h> again */

/* Returns the seconds in which the connection had bytes that the peer has not confirmed; 0 if it is no TCP connection. */
static double tcp_busy(int fd)
{
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    const socklen_t needed = offsetof(struct tcp_info, tcpi_busy_time) + sizeof info.tcpi_busy_time;
    if (getsockopt(fd, TCP_PROTOCOL, TCP_INFO, &info, &length) != 0 || length < needed)
        return 0;
    return (double)info.tcpi_busy_time / 1e6;
}

double hw_link_busy(hw_link *link)
{
    pthread_mutex_lock(&link->mutex);
    bool open = !link->shut && link->channel.fd >= 0;
    double paced = link->paced_seconds;
    if (link->paced.first != NULL)
        paced += hw_seconds() - link->paced_since;
    if (open)
        link->tcp_busy = tcp_busy(link->channel.fd);
    double busy = link->tcp_busy > paced ? link->tcp_busy : paced;
    pthread_mutex_unlock(&link->mutex);
    return busy;
}
