/* model.h - the model file of k-means, and what is computed from it. */
#ifndef HW_ALGORITHMS_KMEANS_MODEL_H
#define HW_ALGORITHMS_KMEANS_MODEL_H

#include "hawser/algorithm.h"

/* A model's centres, clusters x columns, which it owns. */
typedef struct hw_kmeans_fitted {
    const double *centres;
    const int64_t *sizes;
    size_t clusters, columns;
    bool single;
} hw_kmeans_fitted;

/* Reads a model. HAWSER_BAD_INPUT: its tensors do not fit together. */
hawser_status hw_kmeans_fitted_of(const hawser_model *model, hw_kmeans_fitted *fitted, hawser_error *error) HAWSER_MUST_USE;

/* The result of a training. */
typedef struct hw_kmeans_result {
    const double *centres, *sizes; /* rows of each cluster */
    size_t clusters;
    double inertia, iterations;
} hw_kmeans_result;
hawser_status hw_kmeans_model_make(const hw_kmeans_result *result, const hawser_training_input *input, hawser_model **model,
                                   hawser_error *error) HAWSER_MUST_USE;

/* The functions of hawser_algorithm. */
hawser_status hw_kmeans_predict(const hawser_model *model, const hawser_dataset *data, double *clusters,
                                hawser_error *error);
hawser_status hw_kmeans_distances(const hawser_model *model, const hawser_dataset *data, double *values,
                                  hawser_error *error);
size_t hw_kmeans_count(const hawser_model *model);
size_t hw_kmeans_score_count(const hawser_model *model);
/* Two numbers per row: its cluster, and its squared distance to the centre. */
hawser_status hw_kmeans_scores(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error);
hawser_status hw_kmeans_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error);
hawser_status hw_kmeans_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);
extern const hawser_measure_row hw_kmeans_measures[];

/* Adds up the weighted squared distances of all rows to their nearest centres. */
hawser_status hw_kmeans_inertia(const double *centres, size_t clusters, bool single, const hawser_dataset *data,
                                double *inertia, hawser_error *error) HAWSER_MUST_USE;

/* options.c: k-means' option and metric rows. */
extern const hawser_option hw_kmeans_rows[];
extern const hawser_metric_row hw_kmeans_metrics[];

#endif
