/*
 * client_listener_inner.h - what listener.c (links, words, who comes and goes) and control.c (sessions, keys, groups that have ended) share.
 *
 * The net's thread alone hears requests; the control alone makes and frees groups and forgets clients. A group that is closed is ended once nobody
 * hears a request of it any more.
 */
#ifndef HW_RUNTIME_SERVING_CLIENT_LISTENER_INNER_H
#define HW_RUNTIME_SERVING_CLIENT_LISTENER_INNER_H

#include "runtime/serving/client_listener.h"

enum { HW_CLIENT_BUCKETS = 256 }; /* of clients, by number */

/* A group. */
typedef struct hw_group_connection {
    struct hw_group_connection *next;
    hw_register_wire registration; /* of its first session here; .group is its number */
    hw_group *group;
    uint32_t seated;
    atomic_uint hearing; /* requests that are being heard: raised under the mutex while it is not closed */
    bool closed, ended;  /* nothing of it is heard; the server has been registration */
    char why[300];
} hw_group_connection;

typedef struct hw_remote_client {
    struct hw_remote_client *next;
    uint32_t number, node;
    char name[HW_NET_NAME];
    hw_group_connection *connection; /* NULL: it has no session, */
    bool sat;                        /* or has none any more */
    hw_client_session *session;
    uint32_t asking; /* words of its that wait */
    bool gone, dropped;
} hw_remote_client;

/* Words that wait. */
typedef struct hw_control_queue {
    hw_message *first, **end;
} hw_control_queue;

struct hw_client_listener {
    hawser_store *store;
    hw_net *net;
    void (*warn)(void *argument, const char *text);
    void *argument; /* of warn */
    char (*addresses)[HW_NET_ADDRESS];
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t common_filled, local_filled;
    hw_control_queue common, local; /* for all servers; for the control */
    hw_remote_client *clients[HW_CLIENT_BUCKETS];
    hw_group_connection *parties;
    uint32_t next_number, client_count, group_count;
    bool open, over;
    bool stirred; /* somebody has gone, or is to go, since the control last looked */
    pthread_t control;
    bool control_runs;
};

/* With the mutex held. */
void hw_control_queue_put(hw_control_queue *to, hw_message *message);
hw_message *hw_control_queue_take(hw_control_queue *from); /* NULL: it is empty */
hw_remote_client *hw_client_listener_find(hw_client_listener *listener, uint32_t number);
/* Nothing of the group is heard any more; its other clients learn why. */
void hw_group_connection_close(hw_client_listener *listener, hw_group_connection *of, const char *why);

hawser_status hw_control_start(hw_client_listener *listener, hawser_error *error) HAWSER_MUST_USE;
void hw_control_stop(hw_client_listener *listener); /* listener->over is set */

#endif
