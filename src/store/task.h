/* task.h - the inside of a client, shared by client.c (tasks) and cut.c (cuts tasks by server). */
#ifndef HW_STORE_TASK_H
#define HW_STORE_TASK_H

#include "store/client.h"
#include "store/failed.h"

/* Consecutive rows of a task. */
typedef struct hw_run {
    size_t begin, count;
    struct hw_run *next; /* of the same slice */
} hw_run;

/* The sub-request of one message to a server. */
typedef struct hw_slice {
    uint32_t server;
    uint32_t parts; /* slices of a push with one reply of this server; 0: each has its own */
    bool done;
    uint64_t first, last;
    size_t begin, count;  /* consecutive rows of the task; */
    const hw_run *runs;   /* or these, if keys of several servers alternate in a dense table; */
    const uint32_t *rows; /* or these, of a sparse one; begin: of the task's grouped keys */
    const uint64_t *bits; /* of the keys first .. last, if keys are sent as bits */
    uint32_t list;        /* number under which the keys were sent, 0: none */
    bool known;           /* only that number was sent */
} hw_slice;

/* The place at which a server's next keys of a range begin. */
typedef struct hw_range_place {
    size_t arc;
    uint64_t first;
} hw_range_place;

/* The slice of a server that is being filled. */
typedef struct hw_filling {
    hw_slice *part;
    hw_run *last;
} hw_filling;

/* Pulls of ranges, which are short, go to a server this many at a time. */
enum { HW_FOLLOWED = 32 };

typedef struct hw_task {
    hw_order order;
    uint64_t number;
    size_t waits; /* number of tasks that it waits for */
    struct hw_task **followers;
    size_t follower_count, follower_capacity;
    hw_slice *slices;
    size_t slice_count, slices_left, slices_sent;
    hw_run *runs; /* with several servers: of a dense table's slices */
    size_t run_count;
    hw_message *buffer; /* of a sparse table: keys by server, and the task's row of each */
    uint64_t *keys;
    uint32_t *rows;
    hw_message *bits; /* of all slices that use bits */
    bool is_cut;
    uint64_t oldest; /* clock */
    bool batched;    /* servers answer its parts together */
    uint64_t root;   /* the task whose failure made it fail; 0: none has */
    bool begun;
    hw_passed passed;      /* the rows of a filtered or rounded push */
    bool noted;            /* its start was recorded, so its end is too */
    struct hw_task *ready; /* next in the queue of ready tasks, or of tasks being sent */
    hawser_status failed;
    hawser_error error;
} hw_task;

/* What a client knows of a server that is lost. */
typedef struct hw_lost_server {
    hawser_status status; /* HAWSER_OK: it is not lost */
    char text[400];
} hw_lost_server;

struct hw_client {
    hw_client_options options;
    hw_ring ring;
    hw_table_spec *tables;
    hw_table_spec *memories; /* by table: rows of what its function remembers */
    uint32_t *there;         /* the servers' numbers of the tables */
    hw_arcs *arcs;           /* of dense tables */
    hw_holding **holdings;   /* of tables with a filter */
    size_t table_count, table_capacity, memory_capacity, there_capacity, arcs_capacity, holdings_capacity;
    hw_lists *lists;         /* by server */
    uint32_t *counts;        /* by server: parts of the task being cut; */
    hw_filling *filling;     /* and the slice being filled, for a list; */
    hw_range_place *cursors; /* or where its next keys begin, for a range */
    hw_pool *pool;
    hw_task **window; /* of tasks base + 0, 1 ...; NULL: ended */
    size_t window_count, window_capacity, open;
    uint64_t base, next;
    hw_failed failed_tasks;
    hw_lost_server *lost; /* by server */
    bool any_lost;
    hw_task *ready, **ready_end;     /* may begin */
    hw_task *sending, **sending_end; /* started; their slices are sent in this order */
    hw_message *followed;            /* message of a slice that leaves together with the next; it must arrive first */
    uint32_t followed_to;
    bool beginning;          /* a caller up the stack starts them */
    hawser_error broken;     /* of a clock that was not sent; status HAWSER_OK: none */
    bool refusals;           /* a clock of the group has been refused */
    unsigned char *gathered; /* rows of one slice */
    uint64_t *gathered_keys; /* and its keys */
    size_t gathered_capacity, gathered_keys_capacity;
    hw_client_figures figures;
    hw_client_traffic *traffic; /* by worker: options.workers of them */
};

/* Cuts a task into slices by server. Checks that the keys of a list ascend (or HAWSER_BAD_ARGUMENT) and makes bits of close
 * keys. Uses the client's `filling` and pool. */
hawser_status hw_task_cut(const hw_client *client, hw_task *task, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_task_unordered(const hw_table_spec *spec, hawser_error *error) HAWSER_MUST_USE;

/* Returns whether a slice's rows are scattered in the task. */
static inline bool hw_slice_apart(const hw_slice *slice)
{
    return slice->rows != NULL || (slice->runs != NULL && slice->runs->next != NULL);
}
/* Copies a slice's rows, of `bytes` each, from the task to contiguous memory; and back. */
void hw_slice_gather(const hw_slice *slice, const unsigned char *from, size_t bytes, unsigned char *to);
void hw_slice_scatter(const hw_slice *slice, const unsigned char *from, size_t bytes, unsigned char *to);
/* Returns the description of the rows that an order sends or receives. */
static inline const hw_table_spec *hw_order_rows(const hw_client *client, const hw_order *order)
{
    return &(hw_operation_of_memory(order->operation) ? client->memories : client->tables)[order->table];
}
static inline size_t hw_task_row(const hw_client *client, const hw_task *task)
{
    const hw_table_spec *spec = hw_order_rows(client, &task->order);
    return spec->width * hw_value_size(spec->type);
}

#endif
