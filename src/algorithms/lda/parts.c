#include "algorithms/lda/parts.h"

#include "algorithms/lda/sampler.h"

hawser_status hw_lda_parts(hawser_context *context, hawser_moving_part parts[HW_LDA_PARTS])
{
    hawser_moving_part part;
    for (int k = 0; k <= HW_LDA_PARTS; k++) {
        HAWSER_TRY(hawser_next_part(context, "n_wk", &part));
        if (k < HW_LDA_PARTS)
            parts[k] = part;
    }
    return HAWSER_OK;
}

double hw_lda_sum_counts(const hw_lda *lda, const hawser_moving_part *part, double (*f)(double beta, double count),
                         double beta)
{
    double sum = 0.0;
    const int32_t *values = part->values;
    for (size_t w = part->first_line; w < part->first_line + part->lines; w++) {
        const int32_t *line = values + (lda->offsets[w] - part->first);
        size_t size = lda->offsets[w + 1] - lda->offsets[w], step = size < lda->topics ? 2 : 1;
        for (size_t e = step - 1; e < size; e += step)
            if (line[e] > 0)
                sum += f(beta, line[e]);
    }
    return sum;
}
