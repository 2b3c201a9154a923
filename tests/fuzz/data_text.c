/* Any bytes read as text, with words of one character, with words left out, and as a table with a column of texts: an
 * error or a dataset that keeps its own rules. */
#include "data_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const hawser_load loads[] = {{.format = HAWSER_DOCUMENTS},
                                        {.format = HAWSER_DOCUMENTS, .min_length = 1, .max_words = 5},
                                        {.format = HAWSER_DOCUMENTS, .min_documents = "2", .max_documents = "0.9"},
                                        {.format = HAWSER_CSV, .text = "-1", .target = "none", .min_length = 1},
                                        {.format = HAWSER_CSV, .text = "a", .target = "0", .header = 1, .delimiter = ','}};
    for (size_t k = 0; k < sizeof loads / sizeof *loads; k++)
        fuzz_load_as(data, size, loads[k]);
    return 0;
}
