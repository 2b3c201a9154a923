#include "base/origin.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

hawser_status hw_origin_open(hw_origin *origin, hawser_error *error)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    *origin = (hw_origin){.process = getpid()};
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot map a page: %s", strerror(errno));
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        (void)munmap(page, size);
        return HAWSER_OK;
    }
    origin->mark = page;
    *origin->mark = 1;
    return HAWSER_OK;
}

void hw_origin_close(hw_origin *origin)
{
    if (origin->mark != NULL)
        (void)munmap(origin->mark, (size_t)sysconf(_SC_PAGESIZE));
    origin->mark = NULL;
}

hawser_status hw_not_origin(pid_t process, const char *call, const char *what, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "%s: the %s was made in process %ld, and this is process %ld, a fork of it: open a new one here",
                       call, what, (long)process, (long)getpid());
}
