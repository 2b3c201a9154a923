#include "data/exposure.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool hw_load_exposes(const hawser_load *load)
{
    return load->exposure != NULL && strcmp(load->exposure, "none") != 0;
}

const char *hw_load_offset(const hawser_load *load)
{
    return hw_load_exposes(load) ? load->exposure : load->offset;
}

hawser_status hw_check_exposure(const hawser_load *load, hawser_error *error)
{
    if (!hw_load_exposes(load) || load->offset == NULL || strcmp(load->offset, "none") == 0)
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_BAD_OPTION,
        "--offset %.60s and --exposure %.60s both set the offset of a row; give one (an offset is added as it "
        "is, an exposure by its logarithm)",
        load->offset, load->exposure);
}

bool hw_is_exposure(double value)
{
    return value >= DBL_MIN && isfinite(value);
}

/* log(m 2^k) with m between sqrt(1/2) and sqrt(2), by the series of 2 atanh((m - 1) / (m + 1)). A C library chooses its
 * logarithm by processor, and nodes may differ in theirs. */
double hw_exposure_log(double exposure)
{
    int k;
    double m = frexp(exposure, &k), sum = 0.0;
    if (m < 0.70710678118654757) {
        m *= 2.0;
        k--;
    }
    double z = (m - 1.0) / (m + 1.0), s = z * z;
    for (int n = 23; n >= 3; n -= 2)
        sum = (sum + 1.0 / n) * s;
    return k * 0x1.62e42fee00000p-1 + (k * 0x1.a39ef35793c76p-33 + (2.0 * z + 2.0 * z * sum));
}

hawser_status hw_take_exposures(const char *name, double *values, size_t count, size_t first, hawser_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (!hw_is_exposure(values[i]))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: the exposure of row %zu is %g; exposures are above 0, so remove the row or correct it",
                               name, first + i + 1, values[i]);
        values[i] = hw_exposure_log(values[i]);
    }
    return HAWSER_OK;
}
