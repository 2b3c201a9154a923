/* model.h - the parts of model files, for the loader's fuzzer. */
#ifndef HW_DATA_MODEL_H
#define HW_DATA_MODEL_H

#include <stddef.h>

#include "hawser/data.h"

/* Facts that Hawser adds to a model's own: a version and a checksum. One without the other means damage, so that a damaged
 * key cannot hide the checksum. A file without both was written by other software. */
#define HW_MODEL_FORMAT   "hawser.format"
#define HW_MODEL_VERSION  "1"
#define HW_MODEL_CHECKSUM "hawser.checksum"

/* Of the format: bytes of a header's length, and the longest header. Of Hawser: tensors, the index of the facts among them,
 * and facts including the two above; names are compared pairwise. */
enum { HW_MODEL_LENGTH_BYTES = 8, HW_MODEL_MOST_HEADER = 100000000, HW_MODEL_MOST_NAMES = 1000 };

/* Reads a model from the bytes of a file; `name` is for messages. Any bytes are allowed and give a model or an error. */
hawser_status hw_model_parse(const unsigned char *bytes, size_t size, const char *name, hawser_model **model,
                             hawser_error *error) HAWSER_MUST_USE;

/* Reads the bytes of a model file, for hw_model_parse; the caller frees *bytes, also after a failure. */
hawser_status hw_model_read(const char *path, unsigned char **bytes, size_t *size, hawser_error *error) HAWSER_MUST_USE;

/* Returns a digest of all tensors and facts that does not depend on their order, so it stays right if software rewrites a
 * file. */
uint64_t hw_model_digest(const hawser_model *model);

/* What model.c (in memory) and file.c (in files) share. */
typedef struct hw_tensor {
    char *name;
    hawser_type type;
    size_t dims[2]; /* dims[1] = 0: one dimension */
    size_t bytes;
    void *values;
} hw_tensor;

typedef struct hw_fact {
    char *key;
    char *value;
} hw_fact;

struct hawser_model {
    hw_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    hw_fact *facts;
    size_t fact_count, fact_capacity;
};

/* The fact that has the schema of a table, as JSON. */
#define HW_MODEL_SCHEMA "schema"
/* The fact that has the numbers of the input's columns that are features (hawser_dataset_numbers). */
#define HW_MODEL_NUMBERS "column_numbers"

#endif
