#include "algorithms/model/exact.h"

#include "algorithms/model/given.h"

hawser_status hw_exact_options(const hawser_options *options, hawser_sync sync, uint32_t blocks, const char *name,
                               hawser_error *error)
{
    static const char *const exchange[] = {"exchange-every", "filter", "quota", "max-held-clocks", "encoding", "merge"};
    bool ordering =
        sync.tightness == HAWSER_DELAY || sync.tightness == HAWSER_CENTRIC; /* the store, of which there is none */
    if (ordering || (sync.tightness != HAWSER_BSP && blocks > 1))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--sync %s: each iteration of %s adds up all rows over the workers, which only bsp does",
                           hawser_options_text(options, "sync"), name);
    for (size_t k = 0; k < sizeof exchange / sizeof *exchange; k++)
        if (blocks > 1 && hw_option_given(options, exchange[k])) /* an option that is not read is refused with the program */
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "--%s: workers of %s exchange exact sums, which this option does not apply to; leave it out",
                               exchange[k], name);
    return HAWSER_OK;
}
