/* work.c - a unit's own count of its work, which only the simulator needs: it replaces this function by --wrap. */
#include "hawser/advanced.h"

void hawser_simulated_work(hawser_context *context, uint64_t entries)
{
    (void)context;
    (void)entries;
}
