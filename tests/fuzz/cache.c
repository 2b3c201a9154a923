/* Any bytes as a cache file, without its digests, which would keep a fuzzer out; what is taken is then computed with. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/cache/format.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

static void compute(const hawser_matrix *A)
{
    double *w = NULL, *out = NULL;
    if (A->rows + A->cols < 1 << 20 && HW_NEW(&w, A->cols, "w", NULL) == HAWSER_OK &&
        HW_NEW(&out, A->rows, "out", NULL) == HAWSER_OK) {
        hawser_multiply(A, w, 1, out);
        if (A->layout != HAWSER_CSR)
            hawser_scan(A, out, w);
        if (A->layout != HAWSER_CSR && A->cols > 4) {
            const uint32_t columns[5] = {0, 1, 2, 3, 4};
            double G[25];
            (void)!hawser_gram(A, columns, 0, 5, NULL, G, 5, NULL);
        }
    }
    free(w);
    free(out);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    hawser_error error;
    hawser_dataset *dataset;
    unsigned char *aligned = NULL; /* as a mapping is */
    if (HW_NEW(&aligned, size, "input", &error) != HAWSER_OK)
        return 0;
    memcpy(aligned, bytes, size);
    if (hw_cache_view(aligned, size, "fuzz", false, &dataset, &error) == HAWSER_OK) {
        compute(hawser_dataset_matrix(dataset));
        size_t letters = 0;
        for (size_t j = 0; hawser_dataset_column(dataset, j) != NULL; j++)
            letters += strlen(hawser_dataset_column(dataset, j));
        if (letters > size)
            abort(); /* names reach beyond the file */
        hawser_dataset_free(dataset);
    }
    free(aligned);
    return 0;
}
