/* options.h - the options of a net, and the description of a node that it sends on connecting. */
#ifndef HW_TRANSPORT_NET_OPTIONS_H
#define HW_TRANSPORT_NET_OPTIONS_H

#include "base/cancellation.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HW_NET_NAME = 64,       /* bytes of a node's or job's name, including the final zero */
    HW_NET_ADDRESS = 256,   /* bytes of an address */
    HW_NET_LISTENING = 480, /* bytes of the list of listening addresses for messages */
    HW_NET_KEY_LEAST = 16,  /* bytes of a job key */
    HW_NET_KEY_MOST = 64,
    HW_NET_REFUSED_SECONDS = 10,
    HW_NET_HALF_OPEN_MOST = 1024 /* half-open connections at a time; one more evicts the oldest */
};
#define HW_NET_ANY UINT32_MAX /* asks for a number, in a hello */

/* The description of a node. It is sent first and checked before anything else that the peer sends is used. Texts end in
 * zero. */
typedef struct hw_net_hello {
    uint32_t node;                /* number, or HW_NET_ANY */
    uint64_t incarnation;         /* of the node, drawn at random when its net is made */
    char name[HW_NET_NAME];       /* for messages: host name and process id, or the launcher's name of the node */
    char address[HW_NET_ADDRESS]; /* the address on which it listens */
} hw_net_hello;

/* The transport between nodes of one host. Between hosts it is always TCP, or UCX if that is asked for. */
typedef enum hw_transport_kind {
    HW_NET_BEST,   /* shared memory if both sides can, otherwise a Unix socket if there is one, otherwise TCP */
    HW_NET_SHARED, /* shared memory; any other link within this host is an error */
    HW_NET_UNIX,   /* Unix sockets, no shared memory; any other link within this host is an error */
    HW_NET_TCP,    /* no Unix socket */
    HW_NET_UCX     /* UCX, or it is an error; also between hosts if the fabric is trusted, otherwise TCP there */
} hw_transport_kind;

/* Zero fields mean the default. Texts and key are copied. */
typedef struct hw_net_options {
    const char *job;          /* a peer of another job is rejected with a message that names both */
    const unsigned char *key; /* HW_NET_KEY_LEAST..MOST bytes */
    size_t key_length;
    uint32_t node;     /* own number, or HW_NET_ANY until a peer sends it (hw_net_dial) */
    const char *name;  /* own name */
    const char *build; /* version and build id; a peer of another build is rejected with a message that names both */
    /* Name or address to listen on; "all": every address of the host. NULL: the addresses of the default route (without one,
     * of the first interface that is up), that of `known_as`, and loopback. The announced address is the first. */
    const char *interface;
    const char *known_as;         /* host name by which others find this node if they do not have its address; NULL: none */
    uint16_t port_low, port_high; /* 0, 0: the system chooses */
    /* Also listens on a Unix socket in this directory (mode 0700), for this user's processes on the same host. "@": an
     * abstract socket, for those in the same network namespace. */
    const char *directory;
    hw_transport_kind transport;
    size_t ring;         /* bytes of shared memory per direction of a link within the host: a power of two; default 1 MiB */
    bool dial_only;      /* does not listen; the address is empty */
    bool direct;         /* no messages are spread on this net: a peer that does so is lost */
    bool local_only;     /* only the Unix socket (or, without a directory, loopback) */
    bool trust_fabric;   /* no encryption between hosts; links within a host are never encrypted */
    bool encrypt_always; /* encrypts within a host too; for tests and measurements */
    double failure_timeout;   /* seconds of silence; default 5 */
    double handshake_timeout; /* default 5 */
    /* Bytes queued for a peer, or expected to be sent to it (hw_net_account), above which reading from it is paused until
     * half of them are sent. A paused peer that receives nothing for the failure timeout is lost. 0: no limit. */
    uint64_t unread_most;
    /* bytes per second that this node sends in updates and in a store's requests and replies, evenly; 0: no limit. Other
     * messages overtake them, except those with the same source and destination, and those of meetings behind a store's
     * messages. */
    uint64_t rate;
    const hawser_cancellation *cancellation; /* ends hw_net_dial with HAWSER_STOP; outlives the net; NULL: none */
} hw_net_options;

#endif
