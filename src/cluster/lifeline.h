/* lifeline.h - a thread that reads what the launcher sends and reports when its descriptor has come to its end: the launcher
 * is gone. */
#ifndef HW_CLUSTER_LIFELINE_H
#define HW_CLUSTER_LIFELINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "hawser/status.h"

/* Called on the lifeline's thread. */
typedef struct hw_lifeline_events {
    void (*arrived)(void *argument, const void *bytes, size_t length); /* NULL: what is read is dropped */
    void (*gone)(void *argument);                                      /* once */
} hw_lifeline_events;

typedef struct hw_lifeline {
    int descriptor, wake[2];
    hw_lifeline_events events;
    void *argument;
    pthread_t thread;
    bool started;
} hw_lifeline;

/* Watches `descriptor` (-1: nothing to watch) until hw_lifeline_end. */
hawser_status hw_lifeline_begin(hw_lifeline *lifeline, int descriptor, const hw_lifeline_events *events, void *argument,
                                hawser_error *error) HAWSER_MUST_USE;
void hw_lifeline_end(hw_lifeline *lifeline);

#endif
