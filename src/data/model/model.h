/* model.h - what model files are made of, for the loader's fuzzer. */
#ifndef HW_DATA_MODEL_H
#define HW_DATA_MODEL_H

#include <stddef.h>

#include "hawser/data.h"

/* Facts that a file of ours holds besides the model's own: a version and a checksum. One without the other is damage, so a
 * hurt key cannot hide the checksum; neither means a file of other software. */
#define HW_MODEL_FORMAT   "hawser.format"
#define HW_MODEL_VERSION  "1"
#define HW_MODEL_CHECKSUM "hawser.checksum"

/* Of the format: bytes of a header's length, and how long it may be. Of ours: tensors, the facts' place among them, and facts, the two
 * above among them; names are compared pairwise. */
enum { HW_MODEL_LENGTH_BYTES = 8, HW_MODEL_MOST_HEADER = 100000000, HW_MODEL_MOST_NAMES = 1000 };

/* Reads a model from the bytes of a file; `name` is for messages. Any bytes are allowed and give a model or an error. */
hawser_status hw_model_parse(const unsigned char *bytes, size_t size, const char *name, hawser_model **model,
                             hawser_error *error) HAWSER_MUST_USE;

/* Reads the bytes of a model file, for hw_model_parse; the caller frees *bytes, also after a failure. */
hawser_status hw_model_read(const char *path, unsigned char **bytes, size_t *size, hawser_error *error) HAWSER_MUST_USE;

/* A digest of all tensors and facts that does not depend on their order, so software that rewrites a file keeps it true. */
uint64_t hw_model_digest(const hawser_model *model);

/* What the two halves (model.c in memory, file.c in files) share. */
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

#endif
