/* working_set.c - the default local solver, which works on a small set of columns at a time (Johnson and Guestrin 2015,
 * Massias et al. 2018). */
#include <stdlib.h>

#include "algorithms/solve/descent.h"
#include "algorithms/solve/grades.h"
#include "algorithms/solve/memory.h"

typedef struct scored {
    double score;
    uint32_t column;
} scored;

typedef struct working_set {
    hw_linear_members members;
    hw_linear_gram gram;
    bool use_gram;
    scored *heap; /* the best candidates so far, worst on top */
    size_t heap_capacity;
} working_set;

static void free_state(void *opaque)
{
    working_set *set = opaque;
    if (set == NULL)
        return;
    hw_linear_gram_free(&set->gram);
    hw_linear_members_free(&set->members);
    free(set->heap);
    free(set);
}

static hawser_status new_state(const hw_linear_columns *columns, void **opaque, hawser_error *error)
{
    working_set *set = calloc(1, sizeof *set);
    if (set == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a working set");
    hawser_status status = hw_linear_gram_new(&set->gram, columns->X.cols, error);
    if (status != HAWSER_OK) {
        free_state(set);
        return status;
    }
    set->gram.rounds = true;
    *opaque = set;
    return HAWSER_OK;
}

static void reset(void *opaque)
{
    working_set *set = opaque;
    hw_linear_gram_clear(&set->gram);
    set->members.count = 0;
}

static void sift_down(scored *heap, size_t count)
{
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            return;
        if (child + 1 < count && heap[child + 1].score < heap[child].score)
            child++;
        if (heap[at].score <= heap[child].score)
            return;
        scored swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
        at = child;
    }
}

static void sift_up(scored *heap, size_t at)
{
    while (at > 0 && heap[at].score < heap[(at - 1) / 2].score) {
        scored swap = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = swap;
        at = (at - 1) / 2;
    }
}

/* Fills the heap with at most `most` columns outside the support, those with the largest promise. Returns their number. */
static size_t best_candidates(working_set *set, const hw_linear_columns *columns, double lambda,
                              const hw_linear_candidates *candidates, size_t most)
{
    size_t count = 0;
    for (size_t k = 0; k < candidates->count && most > 0; k++) {
        uint32_t j = candidates->list[k];
        if (candidates->screened[j] || candidates->alpha[j] != 0.0 || columns->norm[j] <= 0.0)
            continue;
        double score = hw_linear_promise(columns, j, candidates->gradient[j], lambda);
        if (score <= 0.0 || (count == most && score <= set->heap[0].score))
            continue;
        if (count < most) {
            set->heap[count] = (scored){score, j};
            sift_up(set->heap, count++);
        } else {
            set->heap[0] = (scored){score, j};
            sift_down(set->heap, count);
        }
    }
    return count;
}

static hawser_status choose(void *opaque, const hw_linear_columns *columns, double lambda,
                            const hw_linear_candidates *candidates, size_t most, hawser_error *error)
{
    working_set *set = opaque;
    const double *alpha = candidates->alpha;
    size_t support = 0, always = 0;
    for (size_t k = 0; k < candidates->count; k++) {
        uint32_t j = candidates->list[k];
        support += alpha[j] != 0.0;
        always += alpha[j] == 0.0 && columns->l1[j] == 0.0;
    }
    most += always;
    if (most > set->heap_capacity) {
        scored *heap = realloc(set->heap, 2 * most * sizeof *heap);
        if (heap == NULL)
            return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu candidates", most);
        set->heap = heap;
        set->heap_capacity = 2 * most;
    }
    size_t entering = best_candidates(set, columns, lambda, candidates, most);
    HAWSER_TRY(hw_linear_members_reserve(&set->members, support + entering, error));
    hw_linear_members *members = &set->members;
    members->count = 0;
    for (size_t k = 0; k < candidates->count; k++)
        if (alpha[candidates->list[k]] != 0.0)
            members->columns[members->count++] = candidates->list[k];
    for (size_t k = 0; k < entering; k++)
        members->columns[members->count++] = set->heap[k].column;
    for (size_t k = 0; k < members->count; k++)
        members->terms[k] = hw_linear_term_at(columns, members->columns[k], lambda);
    set->use_gram = set->gram.whole ||
                    hw_linear_gram_pays(&set->gram, columns, members->columns, members->count, HW_LINEAR_LARGEST_GRAM);
    return HAWSER_OK;
}

/* Adds the changes of the round to v and to the coefficients. */
static void apply(hw_linear_members *members, const hw_linear_round *round)
{
    const hw_linear_columns *columns = round->columns;
    for (size_t k = 0; k < members->count; k++) {
        round->alpha[members->columns[k]] = members->x[k];
        members->blend[k] = round->gain * (members->x[k] - members->start[k]);
    }
    if (round->image != NULL)
        hawser_combine(&columns->X, members->columns, members->blend, members->count, round->image);
}

static hawser_status solve(void *opaque, const hw_linear_round *round, hawser_error *error)
{
    working_set *set = opaque;
    hw_linear_members *members = &set->members;
    const hw_linear_columns *columns = round->columns;
    for (size_t k = 0; k < members->count; k++) {
        uint32_t j = members->columns[k];
        members->gradient[k] =
            round->fresh ? round->gradient[j] : hw_linear_dot(columns, j, round->residual, round->sum) / columns->total;
        members->start[k] = members->x[k] = round->alpha[j];
    }
    if (round->slack != NULL)
        *round->slack = 0.0;
    if (members->count == 0)
        return HAWSER_OK;
    if (set->use_gram) {
        size_t fresh = 0;
        HAWSER_TRY(hw_linear_gram_admit(&set->gram, members->columns, members->count, &fresh, error));
        HAWSER_TRY(hw_linear_gram_fill(&set->gram, columns, fresh, set->gram.count, round->stop, error));
    }
    if (hw_linear_stopping(round->stop)) /* entries of the matrix may be missing */
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_descend(members, set->use_gram ? &set->gram : NULL, round, error));
    apply(members, round);
    return HAWSER_OK;
}

static const uint32_t *members_of(const void *opaque, size_t *count)
{
    *count = ((const working_set *)opaque)->members.count;
    return ((const working_set *)opaque)->members.columns;
}

static hawser_status whole(void *opaque, const hw_linear_columns *columns, hw_linear_stop stop,
                           const struct hw_linear_gram **gram, hawser_error *error)
{
    working_set *set = opaque;
    HAWSER_TRY(hw_linear_gram_all(&set->gram, columns, stop, error));
    *gram = set->gram.whole ? &set->gram : NULL;
    return HAWSER_OK;
}

/* Visits the members, which stay the same between two certificates. Each round takes their coefficients from the block. */
static void visit(hawser_record *record, void *opaque, const hw_linear_columns *columns)
{
    working_set *set = opaque;
    HW_LINEAR_REMEMBER(record, set->use_gram);
    hw_linear_gram_visit(record, &set->gram, columns->X.cols);
    hw_linear_members_visit(record, &set->members);
}

const hw_linear_solver *hw_linear_working_set(void)
{
    static const hw_linear_solver solver = {new_state, free_state, reset, choose, solve, members_of, whole, visit};
    return &solver;
}
