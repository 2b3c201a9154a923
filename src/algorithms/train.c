/* train.c - hawser_train and hawser_train_plan: an algorithm on data in any layout, with the result on every node. */
#include <stdlib.h>
#include <string.h>

#include "algorithms/by_column.h"
#include "algorithms/model/facts.h"
#include "algorithms/narrow.h"
#include "hawser/algorithm.h"
#include "hawser/job_data.h"

enum { FACTS = sizeof((hawser_training *)0)->facts / sizeof(hawser_fact) };

/* Returns whether trainings take several targets. */
static bool takes_several(const hawser_algorithm *algorithm)
{
    const hawser_head *prediction = hawser_algorithm_head(algorithm, "prediction");
    return prediction != NULL && prediction->width != NULL;
}

static bool is_by_row(const hawser_matrix *A)
{
    return A->layout == HAWSER_CSR || A->layout == HAWSER_DENSE_ROWS;
}

/* Turns *data if the algorithm does not read them as they are; then *turned is to be freed. */
static hawser_status turn(const hawser_algorithm *algorithm, const hawser_dataset **data, hawser_dataset **turned,
                          hawser_error *error)
{
    const hawser_matrix *A = hawser_dataset_matrix(*data);
    if (A == NULL || is_by_row(A) == (algorithm->split == HAWSER_BY_ROW))
        return HAWSER_OK;
    HAWSER_TRY(hawser_dataset_turn(*data, turned, error));
    *data = *turned;
    return HAWSER_OK;
}

/* What belongs to rows that are on this node. */
typedef struct sides {
    bool held; /* there are such rows: rows over nodes are held by block */
    bool offset, weights;
} sides;

static sides sides_of(const hawser_dataset *data)
{
    uint32_t blocks = 0;
    const size_t *cut = hawser_dataset_cut(data, &blocks);
    hawser_error other = {0}; /* the block is on another node */
    for (uint32_t b = 0; b < blocks; b++) {
        hawser_beside beside;
        if (cut[b] < cut[b + 1] && hawser_dataset_beside(data, cut[b], cut[b + 1] - cut[b], &beside, &other) == HAWSER_OK)
            return (sides){true, beside.offset != NULL, beside.weights != NULL};
    }
    return (sides){cut == NULL, hawser_dataset_offset(data) != NULL, hawser_dataset_weights(data) != NULL};
}

/* Refuses an offset or weights that the algorithm does not have. Margins with and without an offset are no measure of each
 * other: the data of both kinds have one, or none have. */
static hawser_status check_sides(const hawser_algorithm *algorithm, const hawser_training_input *input, hawser_error *error)
{
    sides own = sides_of(input->data);
    if (own.offset && algorithm->no_offset)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--offset: %s has no offset; leave it out%s", algorithm->name,
                           takes_several(algorithm) ? ", or subtract it from the targets" : "");
    if (algorithm->no_weights && (own.weights || (input->validation != NULL && sides_of(input->validation).weights)))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--weights: %s has no weights of rows; leave it out", algorithm->name);
    if (input->validation == NULL || !own.held || own.offset == sides_of(input->validation).offset)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       own.offset
                           ? "--validation: the training data have an offset, and the validation data have none; give them "
                             "one, such as zeros"
                           : "--validation: the validation data have an offset, and the training data have none; leave it "
                             "out");
}

static hawser_status check_validation(const char *call, const hawser_algorithm *algorithm,
                                      const hawser_training_input *input, hawser_error *error)
{
    const hawser_matrix *own = hawser_dataset_matrix(input->validation), *data = hawser_dataset_matrix(input->data);
    size_t outputs = hawser_dataset_outputs(input->data), own_outputs = hawser_dataset_outputs(input->validation);
    hawser_error why = {0};
    if (hawser_matrix_whole(own, &why) != HAWSER_OK)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "%s: the validation data are distributed over the nodes; pass all of them on node 0, which "
                           "measures the error, as hawser_dataset_load or hawser_dataset_borrow makes them",
                           call);
    if (own->cols != data->cols)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the validation data have %zu columns, the training data %zu", own->cols,
                           data->cols);
    if (!algorithm->no_target && own_outputs != outputs)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the validation data have %zu targets, the training data %zu",
                           own_outputs, outputs);
    return HAWSER_OK;
}

/* Adds that the error on the validation data counts their rows alike, where the training has weights. */
static void assume_weights(const hawser_training_input *input, hawser_training *training)
{
    size_t length = strlen(training->assumed), left = sizeof training->assumed - length;
    if (input->validation != NULL && sides_of(input->data).weights && !sides_of(input->validation).weights)
        (void)snprintf(training->assumed + length, left,
                       "%sthe validation data have no weights, so all their rows count alike", length > 0 ? "; " : "");
}

/* The input of a training in the layout that the algorithm reads. */
typedef struct turned_input {
    hawser_training_input input;
    hawser_dataset *data, *validation;            /* turned; NULL: they are read as they are */
    hw_narrow narrow;                             /* of these */
    hawser_dataset *centred, *centred_validation; /* NULL: no column is far from zero */
    double *origin;
} turned_input;

static void free_turned(turned_input *own)
{
    hawser_dataset_free(own->centred);
    hawser_dataset_free(own->centred_validation);
    hw_narrow_free(&own->narrow);
    hawser_dataset_free(own->data);
    hawser_dataset_free(own->validation);
    free(own->origin);
}

/* Fills *own, which the caller frees, also after a failure. */
static hawser_status turn_input(const char *call, const hawser_algorithm *algorithm, const hawser_training_input *input,
                                turned_input *own, hawser_error *error)
{
    if (algorithm->split != HAWSER_BY_ROW && algorithm->split != HAWSER_BY_COLUMN)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: the algorithm is split neither by row nor by column", call);
    if (input->options == NULL || input->data == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: the input has no %s", call,
                           input->data == NULL ? "data" : "options");
    if (!takes_several(algorithm) && !algorithm->no_target && hawser_dataset_outputs(input->data) > 1)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu targets, and %s predicts one; see 'train multitask'",
                           hawser_dataset_outputs(input->data), algorithm->name);
    if (input->validation != NULL) /* the node that measures the error reads all of them */
        HAWSER_TRY(check_validation(call, algorithm, input, error));
    HAWSER_TRY(hawser_dataset_intact(input->data, error));
    if (input->validation != NULL)
        HAWSER_TRY(hawser_dataset_intact(input->validation, error));
    HAWSER_TRY(check_sides(algorithm, input, error));
    HAWSER_TRY(hawser_model_fits(input->data, input->options, error));
    *own = (turned_input){.input = *input};
    hawser_status status = turn(algorithm, &own->input.data, &own->data, error);
    return status == HAWSER_OK ? turn(algorithm, &own->input.validation, &own->validation, error) : status;
}

/* Returns the bytes of a dataset's entries on one of the nodes; those of a mapped file count for no limit. */
static uint64_t bytes_of(hawser_job *job, const hawser_dataset *data)
{
    const hawser_matrix *A = hawser_dataset_matrix(data);
    bool sparse = A->layout == HAWSER_CSC || A->layout == HAWSER_CSR;
    uint64_t entry = (A->type == HAWSER_F32 ? 4 : 8) + (sparse ? sizeof *A->indices : 0),
             lines = is_by_row(A) ? A->rows : A->cols;
    uint64_t bytes = A->residence != NULL ? A->stored * entry / hawser_job_nodes(job) : A->stored * entry;
    return A->mapped ? 0 : bytes + (sparse ? (lines + 1) * sizeof *A->offsets : 0);
}

/* Replaces data with columns far from zero by a copy without their origin. Collective. */
static hawser_status centre_input(const hawser_algorithm *algorithm, hawser_job *job, turned_input *own, hawser_error *error)
{
    hawser_training_input *input = &own->input;
    if (algorithm->centres == NULL || !algorithm->centres(input->options))
        return HAWSER_OK;
    HAWSER_TRY(hawser_job_origins(job, input->data, &own->origin, error));
    if (own->origin == NULL)
        return HAWSER_OK;
    hawser_status status = hawser_dataset_centre(input->data, own->origin, &own->centred, error);
    if (status == HAWSER_OK && input->validation != NULL)
        status = hawser_dataset_centre(input->validation, own->origin, &own->centred_validation, error);
    HAWSER_TRY(hawser_job_agree(job, status, error));
    if (own->data != NULL && input->data == own->data) { /* what belongs to the rows of a turned copy is the caller's */
        hawser_dataset_free(own->data);
        own->data = NULL;
    }
    input->origin = own->origin;
    input->data = own->centred;
    input->validation = own->centred_validation;
    return HAWSER_OK;
}

/* Counts the data that are in memory besides those of the training. */
static void count_held(hawser_job *job, const hawser_training_input *given, turned_input *own)
{
    hawser_training_input *input = &own->input;
    const hawser_dataset *const besides[] = {given->validation, own->validation, own->centred_validation};
    const hawser_dataset *base =
        own->data != NULL ? own->data : given->data; /* of which the training has all columns, or some */
    input->held = own->data != NULL ? bytes_of(job, given->data) : 0;
    if (own->centred != NULL)
        input->held += bytes_of(job, base);
    else if (own->narrow.data != NULL)
        input->held += hw_narrow_bytes(job, base);
    hawser_job_loaded(job, given->data);
    hawser_job_loaded(job, given->validation);
    for (size_t k = 0; k < 3; k++)
        input->held += besides[k] != NULL ? bytes_of(job, besides[k]) : 0;
}

/* Names the numbers of the start model, if it was given in memory: files of options are compared by the job. The header of
 * its safetensors file has facts about how it was trained, which do not count. */
static hawser_status name_init(hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    if (input->init == NULL || hawser_options_has(input->options, "init") ||
        !hawser_options_has(input->options, "checkpoint"))
        return HAWSER_OK;
    HAWSER_TRY(hawser_model_to_bytes(input->init, &bytes, &size, error));
    uint64_t header = 0;
    memcpy(&header, bytes, sizeof header);
    size_t begin = sizeof header + (size_t)header;
    hawser_status status = hawser_job_depends(job, "init", (char *)bytes + begin, size - begin, error);
    free(bytes);
    return status;
}

/* Makes the input that the algorithm reads. Collective. The caller frees *own, also after a failure. */
static hawser_status make_input(const char *call, const hawser_algorithm *algorithm, hawser_job *job,
                                const hawser_training_input *input, turned_input *own, hawser_error *error)
{
    HAWSER_TRY(hawser_job_agree(job, turn_input(call, algorithm, input, own, error), error));
    HAWSER_TRY(hw_by_column_check(algorithm, job, input, error));
    HAWSER_TRY(hw_narrow_input(algorithm, job, &own->input, &own->narrow, error));
    HAWSER_TRY(centre_input(algorithm, job, own, error));
    count_held(job, input, own);
    return hawser_job_agree(job, name_init(job, input, error), error);
}

/* Adds what a later load for the model needs and an algorithm does not know. */
static hawser_status complete(hawser_model *model, const hawser_dataset *data, hawser_error *error)
{
    const double *means = hawser_dataset_means(data);
    if (model == NULL || means == NULL)
        return HAWSER_OK;
    return hawser_model_tensor(model, HW_MEANS, HAWSER_F64, (const size_t[2]){hawser_dataset_matrix(data)->cols, 0}, means,
                               error);
}

/* ---- the result on every node ---- */

/* What node 0 sends, before the bytes of its model. Nodes run the same build. */
typedef struct result {
    hawser_training training; /* without pointers */
    size_t metrics[FACTS];    /* the metric row that names each fact */
    size_t facts;
    size_t size; /* of the model; 0: there is none */
} result;

static hawser_status describe(const hawser_algorithm *algorithm, const hawser_training *training, result *out,
                              hawser_error *error)
{
    const hawser_metric_row *rows = algorithm->metrics;
    out->training = *training;
    out->training.model = NULL;
    out->training.run = NULL;
    for (; out->facts < FACTS && training->facts[out->facts].name != NULL; out->facts++) {
        const char *name = training->facts[out->facts].name;
        size_t *row = &out->metrics[out->facts];
        while (rows != NULL && rows[*row].name != NULL && strcmp(rows[*row].name, name) != 0)
            ++*row;
        if (rows == NULL || rows[*row].name == NULL)
            return hawser_fail(error, HAWSER_INTERNAL, "%s: its fact '%.80s' is no metric of it", algorithm->name, name);
        out->training.facts[out->facts].name = NULL;
    }
    return HAWSER_OK;
}

static hawser_status pack(const hawser_algorithm *algorithm, const hawser_training *training, result *out, void **bytes,
                          hawser_error *error)
{
    HAWSER_TRY(describe(algorithm, training, out, error));
    return training->model != NULL ? hawser_model_to_bytes(training->model, bytes, &out->size, error) : HAWSER_OK;
}

static hawser_status make_space(size_t size, void **bytes, hawser_error *error)
{
    *bytes = malloc(size > 0 ? size : 1);
    return *bytes != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a model of %zu bytes", size);
}

/* Takes node 0's result; the run stays the own one. */
static hawser_status take(const hawser_algorithm *algorithm, const result *from, const void *bytes,
                          hawser_training *training, hawser_error *error)
{
    hawser_run *run = training->run;
    *training = from->training;
    training->run = run;
    for (size_t k = 0; k < from->facts; k++)
        training->facts[k].name = algorithm->metrics[from->metrics[k]].name;
    return from->size > 0 ? hawser_model_from_bytes(bytes, from->size, &training->model, error) : HAWSER_OK;
}

/* Each step that can fail on one node is agreed on, so that all nodes take the same steps. */
static hawser_status share(const hawser_algorithm *algorithm, hawser_job *job, hawser_status own, hawser_training *training,
                           hawser_error *error)
{
    bool leads = hawser_job_leads(job);
    void *bytes = NULL;
    result all = {0};
    if (own == HAWSER_OK && leads)
        own = pack(algorithm, training, &all, &bytes, error);
    hawser_status status = hawser_job_agree(job, own, error);
    HAWSER_THEN(status, hawser_job_broadcast(job, &all, sizeof all, error));
    HAWSER_THEN(status, hawser_job_agree(job, leads ? HAWSER_OK : make_space(all.size, &bytes, error), error));
    HAWSER_THEN(status, hawser_job_broadcast(job, bytes, all.size, error));
    HAWSER_THEN(status, hawser_job_agree(job, leads ? HAWSER_OK : take(algorithm, &all, bytes, training, error), error));
    free(bytes);
    return status;
}

/* ---- the calls ---- */

static void forget_model(hawser_training *training)
{
    hawser_model_free(training->model);
    training->model = NULL;
}

hawser_status hawser_train(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                           hawser_training *training, hawser_error *error)
{
    turned_input own = {0};
    hawser_error why = {0}; /* other nodes need the text, also if the caller does not */
    if (algorithm == NULL || algorithm->train == NULL || job == NULL || input == NULL || training == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_train: algorithm, its train, job, input or training is NULL");
    memset(training, 0, sizeof *training);
    hawser_status status = make_input("hawser_train", algorithm, job, input, &own, &why);
    HAWSER_THEN(status, algorithm->train(algorithm, job, &own.input, training, &why));
    bool trained = status == HAWSER_OK;
    hawser_error *spoilt = trained ? &why : NULL; /* a failure that leaves a model keeps its text */
    hawser_status made = trained || training->model != NULL ? HAWSER_OK : status;
    if (made == HAWSER_OK && hawser_job_leads(job))
        made = hw_narrow_widen(&own.narrow, training->model, spoilt);
    if (made == HAWSER_OK && hawser_job_leads(job))
        made = complete(training->model, input->data, spoilt);
    if (made == HAWSER_OK && hawser_job_leads(job))
        assume_weights(input, training);
    if (trained)
        status = made;
    else if (made != HAWSER_OK)
        forget_model(training);
    if (trained && hawser_job_nodes(job) > 1 && !input->result_on_lead)
        status = share(algorithm, job, status, training, &why);
    free_turned(&own);
    if (status != HAWSER_OK && error != NULL)
        *error = why;
    return status;
}

hawser_status hawser_train_plan(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                                hawser_plan_format format, char **text, hawser_error *error)
{
    turned_input own = {0};
    char *printed = NULL;
    size_t length = 0;
    if (algorithm == NULL || algorithm->plan == NULL || job == NULL || input == NULL || text == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_train_plan: algorithm, its plan, job, input or text is NULL");
    if ((unsigned)format > HAWSER_PLAN_JSON)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_train_plan: there is no format %d of plans", (int)format);
    *text = NULL;
    hawser_error why = {0}; /* other nodes need the text, also if the caller does not */
    hawser_status status = make_input("hawser_train_plan", algorithm, job, input, &own, &why);
    FILE *out = status == HAWSER_OK ? open_memstream(&printed, &length) : NULL;
    if (out != NULL)
        status = algorithm->plan(algorithm, job, &own.input, format, out, &why);
    else if (status == HAWSER_OK)
        status = hawser_fail(&why, HAWSER_NO_MEMORY, "no memory for the text of a plan");
    if (out != NULL && fclose(out) != 0 && status == HAWSER_OK)
        status = hawser_fail(&why, HAWSER_NO_MEMORY, "no memory for the text of a plan");
    if (out != NULL)
        status = hawser_job_agree(job, status, &why);
    free_turned(&own);
    if (status == HAWSER_OK)
        *text = printed;
    else
        free(printed);
    if (status != HAWSER_OK && error != NULL)
        *error = why;
    return status;
}
