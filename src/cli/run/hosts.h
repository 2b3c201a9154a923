/* hosts.h - assigns nodes to hosts. */
#ifndef HW_CLI_RUN_HOSTS_H
#define HW_CLI_RUN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

typedef struct hw_host {
    char *name;            /* as ssh takes it: [user@]host */
    uint32_t slots;        /* the most nodes that it may run */
    uint32_t first, count; /* its nodes */
    bool lost;             /* it failed at the last start, and did not answer since */
    bool out;              /* it gets no nodes */
} hw_host;

typedef struct hw_hosts {
    hw_host *list;
    size_t count, capacity;
} hw_hosts;

/* Reads lines "host", "host slots=N" or "host:N"; # begins a comment. Slots of a host that occurs again are added. Errors
 * name file and line. */
hawser_status hw_hosts_read(hw_hosts *hosts, const char *path, hawser_error *error) HAWSER_MUST_USE;
/* Returns the slots of all hosts that are not left out. */
uint64_t hw_hosts_slots(const hw_hosts *hosts);
/* Assigns `nodes` nodes to the hosts in order, each up to its slots; 0: as many as there are slots. Sets *nodes. */
hawser_status hw_hosts_fill(hw_hosts *hosts, uint32_t *nodes, hawser_error *error) HAWSER_MUST_USE;
/* Writes a node's name: its host without user, and, if that host (under any user) has several nodes, its number there:
 * "ash-1". */
void hw_hosts_name(const hw_hosts *hosts, const hw_host *host, uint32_t node, char *text, size_t size);
void hw_hosts_free(hw_hosts *hosts);

#endif
