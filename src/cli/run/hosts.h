/* hosts.h - which node runs where. */
#ifndef HW_CLI_RUN_HOSTS_H
#define HW_CLI_RUN_HOSTS_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

typedef struct hw_host {
    char *name;            /* as ssh takes it: [user@]host */
    uint32_t slots;        /* nodes that it may carry */
    uint32_t first, count; /* its nodes */
} hw_host;

typedef struct hw_hosts {
    hw_host *list;
    size_t count, capacity;
} hw_hosts;

/* Lines "host", "host slots=N" or "host:N", # begins a comment; of a host that is there again the slots are added. The errors name
 * file and line. */
hawser_status hw_hosts_read(hw_hosts *hosts, const char *path, hawser_error *error) HAWSER_MUST_USE;
/* `nodes` of them, hosts filled in order; 0: as many as there are slots. *nodes is set. */
hawser_status hw_hosts_fill(hw_hosts *hosts, uint32_t *nodes, hawser_error *error) HAWSER_MUST_USE;
/* A node's name: its host without user, or, where that has several, whoever they log in as, with its number there: "ash-1". */
void hw_hosts_name(const hw_hosts *hosts, const hw_host *host, uint32_t node, char *text, size_t size);
void hw_hosts_free(hw_hosts *hosts);

#endif
