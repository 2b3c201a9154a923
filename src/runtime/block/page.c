/* page.c - in debug builds a unit that only reads a state gets a copy of it in pages that are mapped read-only. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/block/worker.h"

#ifdef NDEBUG
hawser_status hw_part_map_page(hw_state_part *part, hawser_error *error)
{
    (void)part;
    (void)error;
    return HAWSER_OK;
}
#else
hawser_status hw_part_map_page(hw_state_part *part, hawser_error *error)
{
    size_t unit = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = (hw_state_bytes(part->state) + unit - 1) / unit * unit;
    void *page = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot map %zu bytes for a read-only copy of state '%s'", bytes,
                           part->state->name);
    part->page = page;
    part->page_bytes = bytes;
    return HAWSER_OK;
}
#endif

const void *hw_part_page(hw_state_part *part)
{
    if (part->page != NULL && !part->page_filled)
        hw_part_refresh_page(part);
    return part->page_filled ? part->page : hw_replica_cache(part->replica);
}

void hw_part_refresh_page(hw_state_part *part)
{
    part->page_filled = mprotect(part->page, part->page_bytes, PROT_READ | PROT_WRITE) == 0;
    if (!part->page_filled)
        return;
    memcpy(part->page, hw_replica_cache(part->replica), hw_state_bytes(part->state));
    (void)mprotect(part->page, part->page_bytes, PROT_READ);
}

void hw_part_unmap_page(hw_state_part *part)
{
    if (part->page != NULL)
        munmap(part->page, part->page_bytes);
}
