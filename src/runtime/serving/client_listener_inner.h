/*
 * client_listener_inner.h - shared by listener.c (the net), clients.c (connections, their messages) and control.c (sessions,
 * keys, ended groups).
 *
 * Only the net's thread receives requests. Only the control thread makes and frees groups and removes clients. A closed
 * group ends once none of its requests is being received.
 */
#ifndef HW_RUNTIME_SERVING_CLIENT_LISTENER_INNER_H
#define HW_RUNTIME_SERVING_CLIENT_LISTENER_INNER_H

#include "runtime/serving/client_listener.h"

enum { HW_CLIENT_BUCKETS = 256 }; /* of clients, by number */

/* The connections of one group of clients. */
typedef struct hw_group_connection {
    struct hw_group_connection *next;
    hw_register_wire registration; /* of its first client; .group is its number */
    hw_group *group;
    uint32_t registered;
    atomic_uint receiving; /* requests that are being received: raised under the mutex while the group is not closed */
    bool closed, ended;    /* no request is received any more; the group has left the server */
    char why[300];
} hw_group_connection;

typedef struct hw_remote_client {
    struct hw_remote_client *next;
    uint32_t number, node;
    char name[HW_NET_NAME];
    hw_group_connection *connection; /* NULL: not registered, */
    bool registered;                 /* or no longer */
    hw_client_session *session;
    unsigned char session_name[HW_STORE_SESSION];
    uint64_t requests; /* number of the last request that was received in the session */
    uint32_t asking;   /* its control messages that wait */
    bool gone, dropped;
} hw_remote_client;

/* Control messages that wait. */
typedef struct hw_control_queue {
    hw_message *first, **end;
} hw_control_queue;

struct hw_client_listener {
    hawser_store *store;
    hw_net *net;
    void (*warn)(void *argument, const char *text);
    void *argument; /* of warn */
    char (*addresses)[HW_NET_ADDRESS];
    pthread_mutex_t mutex; /* guards the next fields */
    pthread_cond_t common_filled, local_filled;
    hw_control_queue common, local; /* for all servers; for the control thread */
    hw_remote_client *clients[HW_CLIENT_BUCKETS];
    hw_group_connection *groups;
    uint32_t next_number, client_count, group_count;
    bool open, over;
    bool stirred; /* a client has left, or must, since the control thread last checked */
    pthread_t control;
    bool control_runs;
};

/* Needs the mutex. */
void hw_control_queue_put(hw_control_queue *to, hw_message *message);
hw_message *hw_control_queue_take(hw_control_queue *from); /* NULL: it is empty */
hw_remote_client *hw_client_listener_find(hw_client_listener *listener, uint32_t number);
/* Closes a group: no request of it is received any more, and its other clients are sent the reason. */
void hw_group_connection_close(hw_client_listener *listener, hw_group_connection *of, const char *why);

/* Sends a control message; nothing if the client has left. */
void hw_client_listener_send(hw_client_listener *listener, uint32_t to, hw_control_message word, uint64_t clock,
                             hawser_status status, const void *data, size_t length);
/* Returns the events of the net to the clients. */
hw_net_events hw_client_listener_events(hw_client_listener *listener);

hawser_status hw_control_start(hw_client_listener *listener, hawser_error *error) HAWSER_MUST_USE;
void hw_control_stop(hw_client_listener *listener); /* listener->over is set */

#endif
