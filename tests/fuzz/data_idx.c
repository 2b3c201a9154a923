/* Any bytes read as idx bytes: an error or a dataset that keeps its own rules. */
#include "data_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_load(data, size, HAWSER_IDX);
    return 0;
}
