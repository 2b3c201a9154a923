/* Any bytes read as text, with words of one character, and with words left out: an error or a dataset that keeps its own
 * rules. */
#include "data_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const hawser_load loads[] = {{.format = HAWSER_DOCUMENTS},
                                        {.format = HAWSER_DOCUMENTS, .min_length = 1, .max_words = 5},
                                        {.format = HAWSER_DOCUMENTS, .min_documents = "2", .max_documents = "0.9"}};
    for (size_t k = 0; k < sizeof loads / sizeof *loads; k++)
        fuzz_load_as(data, size, loads[k]);
    return 0;
}
