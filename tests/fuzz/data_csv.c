/* Any bytes read as CSV text, as numbers, words and dates: an error or a dataset that keeps its own rules. */
#include "data_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const hawser_load transports[] = {{.format = HAWSER_CSV},
                                             {.format = HAWSER_CSV, .missing = "mean,level"},
                                             {.format = HAWSER_CSV, .missing = "zero", .categories = "-1"},
                                             {.format = HAWSER_CSV, .missing = "drop", .dates = "1"}};
    for (size_t k = 0; k < sizeof transports / sizeof *transports; k++)
        fuzz_load_as(data, size, transports[k]);
    return 0;
}
