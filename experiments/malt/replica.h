/* replica.h - one replica of MALT's loops: it learns, sends its model or what has changed in it, and mixes in what has
 * arrived. The time of each part is measured, and models are kept for a curve, which is computed after the loop. */
#ifndef EXPERIMENTS_MALT_REPLICA_H
#define EXPERIMENTS_MALT_REPLICA_H

#include <hawser/vector.h>

enum { REPLICA_VECTORS = 3, REPLICA_POINTS = 40 };
typedef enum replica_part { REPLICA_LEARN, REPLICA_SCATTER, REPLICA_GATHER, REPLICA_PARTS } replica_part;

/* What replicas send. */
typedef enum replica_content {
    REPLICA_VALUES, /* whole models; each replica makes their mean */
    REPLICA_DELTAS, /* what has changed, by key, divided by the number of replicas; each adds them up */
    REPLICA_ROWS    /* the rows that have changed, by key; they replace those of the receiver (Hogwild) */
} replica_content;

typedef struct replica {
    hawser_job *job;
    uint32_t node, nodes;
    uint64_t steps;
    double *model; /* `count` numbers, `vectors` arrays one after another */
    size_t count, counts[REPLICA_VECTORS], vectors;
    replica_content content;
    uint32_t width; /* of the rows of REPLICA_ROWS; otherwise 1 */
    /* private */
    hawser_vector *vector[REPLICA_VECTORS];
    double *base, *change, *rows; /* the model after the last exchange; the own change, then all; what is sent */
    uint64_t *keys;
    double wall[REPLICA_PARTS], cpu[REPLICA_PARTS], wall_at, cpu_at;
    struct replica_point {
        uint64_t step;
        double seconds, bytes, *model;
    } points[REPLICA_POINTS + 1];
    size_t point_count;
} replica;

/* Opens the job and takes FLOW SYNC CONTENT, the first three arguments. FLOW is a dataflow of vectors, or "halved": node i
 * sends to i + N/2, i + N/4 and so on to i + 1. */
hawser_status replica_open(replica *self, int *argc, char **argv, hawser_error *error) HAWSER_MUST_USE;
/* Opens the vectors, when the fields from `steps` on are set. argv as above. */
hawser_status replica_begin(replica *self, char **argv, hawser_error *error) HAWSER_MUST_USE;
/* Makes the learning of a step take `seconds`, up to a fifth less or more by node and step: a pause in place of a processor
 * of its own. */
void replica_pace(replica *self, uint64_t step, double seconds);
/* Exchanges the model, after the learning of a step (from 0). */
hawser_status replica_exchange(replica *self, uint64_t step, hawser_error *error) HAWSER_MUST_USE;
/* Ends the loop, and prints a line of JSON: of each replica its parts, its bytes and its last measure, of the first one also
 * the curve, and the measure of the model after the finish. */
hawser_status replica_end(replica *self, double (*measure)(const void *user, const double *model), const void *user,
                          hawser_error *error) HAWSER_MUST_USE;
/* Prints an error, frees all but the model, and returns the exit status. */
int replica_close(replica *self, hawser_status status, const hawser_error *error);

/* Returns a number from 0 to below 1. */
double replica_uniform(uint64_t *seed);
/* Reads the numbers of a command line that follow the first `skip` arguments, all above zero and at most 1e9. */
hawser_status replica_numbers(int argc, char **argv, int skip, double *numbers, int count, const char *usage,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
