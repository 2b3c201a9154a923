/* Means of arrays: the numbers and bits of a loop that adds one term after another, in each form, for any number of terms
 * and length, with the result in place of a term or apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "base/random.h"
#include "linalg/mean.h"

enum { TERMS = 7, MOST = 2100 };

static double arrays[TERMS][MOST], expected[MOST], found[MOST];

static void put(hawser_type type, void *array, size_t i, double value)
{
    if (type == HAWSER_F32)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

static void plain_mean(hawser_type type, size_t terms, size_t divisor, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (type == HAWSER_F32) {
            float sum = ((const float *)arrays[0])[i];
            for (size_t t = 1; t < terms; t++)
                sum += ((const float *)arrays[t])[i];
            put(type, expected, i, divisor == 1 ? sum : sum / (float)divisor);
        } else {
            double sum = arrays[0][i];
            for (size_t t = 1; t < terms; t++)
                sum += arrays[t][i];
            put(type, expected, i, divisor == 1 ? sum : sum / (double)divisor);
        }
}

static void forms_agree(hawser_type type, size_t terms, size_t divisor, size_t count, hw_random *random)
{
    const void *of[TERMS];
    size_t bytes = count * (type == HAWSER_F32 ? sizeof(float) : sizeof(double));
    for (size_t form = 0; hw_mean_variant(type, form) != NULL; form++)
        for (size_t place = 0; place <= terms; place++) { /* `terms`: apart */
            for (size_t t = 0; t < terms; t++) {
                of[t] = arrays[t];
                for (size_t i = 0; i < count; i++)
                    put(type, arrays[t], i, (hw_random_uniform(random) - 0.5) * (double)(1 << 3 * t));
            }
            plain_mean(type, terms, divisor, count);
            void *out = place < terms ? arrays[place] : found;
            hw_mean_variant(type, form)(out, of, terms, divisor, count);
            assert_memory_equal(out, expected, bytes);
        }
}

static void each_form_has_the_bits_of_a_plain_loop(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 7, 1023, 1024, 1025, MOST};
    hw_random random = hw_random_at(5, 0, 0, 0);
    for (size_t terms = 1; terms <= TERMS; terms++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            forms_agree(HAWSER_F32, terms, terms, counts[c], &random);
            forms_agree(HAWSER_F64, terms, terms % 3 == 0 ? 1 : 3, counts[c], &random);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_form_has_the_bits_of_a_plain_loop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
