/* lifeline.h - notices that the launcher is gone: its descriptor has come to its end. */
#ifndef HW_CLUSTER_LIFELINE_H
#define HW_CLUSTER_LIFELINE_H

#include <pthread.h>
#include <stdbool.h>

#include "hawser/status.h"

typedef struct hw_lifeline {
    int descriptor, wake[2];
    void (*gone)(void *argument); /* once, on the lifeline's thread */
    void *argument;
    pthread_t thread;
    bool started;
} hw_lifeline;

/* Watches `descriptor` (-1: nothing to watch) until the end. What is read from it is thrown away. */
hawser_status hw_lifeline_begin(hw_lifeline *lifeline, int descriptor, void (*gone)(void *argument), void *argument,
                                hawser_error *error) HAWSER_MUST_USE;
void hw_lifeline_end(hw_lifeline *lifeline);

#endif
