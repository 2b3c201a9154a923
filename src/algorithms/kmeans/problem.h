/* problem.h - a training of k-means: what the options ask for, and the data. Read-only while units run. */
#ifndef HW_ALGORITHMS_KMEANS_PROBLEM_H
#define HW_ALGORITHMS_KMEANS_PROBLEM_H

#include "algorithms/model/centre.h"
#include "algorithms/model/early.h"

typedef enum hw_kmeans_draw { HW_KMEANS_PLUS = 0, HW_KMEANS_PARALLEL, HW_KMEANS_RANDOM, HW_KMEANS_GIVEN } hw_kmeans_draw;

typedef struct hw_kmeans {
    const hawser_matrix *X;
    const hawser_dataset *data;
    size_t clusters, starts;
    hw_kmeans_draw draw;
    /* clusters x columns: the centres that the training starts from, or that are measured; NULL: they are drawn */
    double *given;
    double tolerance; /* share of the columns' mean variance */
    uint64_t iterations;
    size_t batch; /* rows of a mini-batch over all blocks; 0: all rows */
    double epochs;
    uint64_t patience; /* mini-batches without a smaller smoothed inertia after which a start ends; 0: any number */
    size_t groups;     /* of centres, each with a bound per row */
    size_t reduced;    /* the most numbers of a reduction */
    hw_early early;    /* with mini-batches */
    bool single;       /* distances are computed in float */
    hw_centre centre;  /* rows and centres are less these shifts, except in results */
    uint64_t seed;
    uint32_t blocks;
    uint64_t held; /* bytes of data in memory besides X (hawser_training_input.held) */
} hw_kmeans;

/* The functions of hw_learner: reads options and start centres, and checks them. */
hawser_status hw_kmeans_read(void *own, hawser_job *job, const hawser_training_input *input, hawser_error *error);
void hw_kmeans_release(void *own);
/* Returns number e of some centres as a result has it. */
static inline double hw_kmeans_plain(const hw_kmeans *kmeans, const double *centres, size_t e)
{
    return kmeans->centre.count > 0 ? centres[e] + kmeans->centre.shift[e % kmeans->X->cols] : centres[e];
}

/* Rows that are fetched to all blocks at a time while centres are drawn, and the most trials for one centre. */
enum { HW_KMEANS_FETCH = 64, HW_KMEANS_TRIALS = 16 };
/* Returns how many rows k-means++ tries for a centre. */
size_t hw_kmeans_trials(const hw_kmeans *kmeans);
/* Returns how many distances of each row are held at a time while centres are drawn. */
size_t hw_kmeans_start_width(const hw_kmeans *kmeans);

/* Returns a number in [0, 1) that depends on the seed and these numbers alone. */
double hw_kmeans_uniform(const hw_kmeans *kmeans, uint64_t start, uint64_t purpose, uint64_t step, uint64_t number);

#endif
