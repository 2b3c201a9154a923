/* svm.h - the linear SVM that both programs of this folder train: its rows, steps and loss. */
#ifndef EXPERIMENTS_MALT_SVM_H
#define EXPERIMENTS_MALT_SVM_H

#include <hawser/hawser.h>

/* Mean hinge loss + penalty / 2 ||w||^2 over rows with labels -1 and 1. */
typedef struct svm {
    hawser_matrix matrix; /* CSR; the arrays are owned */
    double *labels;
    double *share;        /* share of the rows that have a column; it divides a penalty that acts on touched columns alone */
    double rate, penalty; /* of a step: rate / (1 + rate penalty steps) */
    size_t batch;         /* rows that a block learns from in a clock */
    uint64_t clocks;
} svm;

/* Loads an input and turns it into rows; labels are the signs of the target. The arguments are BATCH CLOCKS [RATE [PENALTY]]. */
hawser_status svm_open(svm *self, const char *path, char *const *words, int count, hawser_error *error) HAWSER_MUST_USE;
void svm_close(svm *self);

/* Learns from rows first, first + 1 ... of `rows` (around its end), `batch` of them. `steps` is the number of steps before. */
void svm_learn(const svm *self, const hawser_matrix *rows, size_t first, double steps, double *w);
/* Returns the sum of the hinge losses of these rows. */
double svm_hinge(const svm *self, const hawser_matrix *rows, const double *w);
double svm_objective(const svm *self, const double *w);

#endif
