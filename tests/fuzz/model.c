/* Any bytes as a model file. */
#include "data/model/model.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    hawser_error error;
    hawser_model *model;
    if (hw_model_parse(bytes, size, "fuzz", &model, &error) != HAWSER_OK)
        return 0;
    /* What was taken must be whole: the digest reads every tensor and fact. */
    (void)hw_model_digest(model);
    hawser_model_free(model);
    return 0;
}
