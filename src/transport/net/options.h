/* options.h - what a net is made with, and what a node says of itself when it connects. */
#ifndef HW_TRANSPORT_NET_OPTIONS_H
#define HW_TRANSPORT_NET_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HW_NET_NAME = 64,       /* bytes of a node's or job's name, the zero included */
    HW_NET_ADDRESS = 256,   /* bytes of an address */
    HW_NET_LISTENING = 480, /* bytes of the addresses on which a net listens, as people read them */
    HW_NET_KEY_LEAST = 16,  /* bytes of a job key */
    HW_NET_KEY_MOST = 64,
    HW_NET_REFUSED_SECONDS = 10,
    HW_NET_HALF_OPEN_MOST = 1024 /* half-open connections at a time; one more evicts the oldest */
};
#define HW_NET_ANY UINT32_MAX /* "give me a number", in a hello */

/* Who stands at the other end; sent first, checked before anything else of a peer is believed. Texts end in zero. */
typedef struct hw_net_hello {
    uint32_t node;                /* number, or HW_NET_ANY */
    uint64_t incarnation;         /* of the node: drawn at random when its net is made */
    char name[HW_NET_NAME];       /* for people: host name and process id, or what the launcher calls it */
    char address[HW_NET_ADDRESS]; /* its address: where it listens */
} hw_net_hello;

/* How nodes of one host reach each other; between hosts it is always TCP. */
typedef enum hw_net_way {
    HW_NET_BEST,   /* shared memory if both sides can, else a Unix socket if there is one, else TCP */
    HW_NET_SHARED, /* a link within this host that is not by shared memory is an error */
    HW_NET_UNIX,   /* or not by a Unix socket; no shared memory */
    HW_NET_TCP,    /* no Unix socket */
    HW_NET_UCX     /* by UCX, or it is an error; between hosts too where the fabric is trusted, else there by TCP */
} hw_net_way;

/* Zero fields mean the default. Texts and key are copied. */
typedef struct hw_net_options {
    const char *job;          /* a peer of another job is refused by name */
    const unsigned char *key; /* HW_NET_KEY_LEAST..MOST bytes */
    size_t key_length;
    uint32_t node;     /* own number, or HW_NET_ANY until a peer says it (hw_net_dial) */
    const char *name;  /* own name */
    const char *build; /* version and build id: a peer of another one is refused, both named */
    /* Name or address to listen on; "all": every address of the host. NULL: the addresses that the default route or, without one, the first
     * interface that is up has, the one of `known_as`, and loopback. The address names the first. */
    const char *interface;
    const char *known_as;         /* host name by which others find this node without its address; NULL: none */
    uint16_t port_low, port_high; /* 0, 0: the system's choice */
    /* Also listens on a Unix socket in this directory (mode 0700) for this user's processes of the same host; "@": on one that is in no
     * directory, for those of the same network namespace */
    const char *directory;
    hw_net_way way;
    size_t ring;            /* bytes of memory that a link within the host shares, each way: a power of two; default 1 MiB */
    bool dial_only;         /* does not listen; its address is empty */
    bool direct;            /* nothing is spread here: a peer that does so is lost */
    bool local_only;        /* the Unix socket (or, without a directory, loopback) alone */
    bool trust_fabric;      /* no encryption between hosts; on one host there is none in any case */
    bool encrypt_always;    /* there too; for tests and measurements */
    double failure_timeout; /* seconds of silence; default 5 */
    double handshake_timeout; /* default 5 */
    uint64_t
        unread_most; /* bytes that wait to be sent to a peer, or are owed to it (hw_net_account), beyond which it is not read until
                               * half of them have gone; a peer that takes nothing for the failure timeout meanwhile is lost. 0: any */
    uint64_t rate; /* bytes a second that this node sends in updates, evenly; 0: no limit. All else overtakes, but
                    * for each (source, destination) the order holds. */
} hw_net_options;

#endif
