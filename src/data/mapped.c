#include "data/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

static hawser_status map(const char *path, hw_mapped_file *file, hawser_error *error)
{
    struct stat facts;
    file->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (file->descriptor < 0 || fstat(file->descriptor, &facts) != 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot open: %s", path, strerror(errno));
    if (!S_ISREG(facts.st_mode) || facts.st_size == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: a cache must be a plain file that is not empty", path);
    void *bytes = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file->descriptor, 0);
    if (bytes == MAP_FAILED)
        return hawser_fail(error, HAWSER_IO, "%s: cannot map: %s", path, strerror(errno));
    file->bytes = bytes;
    file->size = (size_t)facts.st_size;
    return hw_copy_text(&file->name, path, error);
}

hawser_status hw_mapped_open(const char *path, hw_mapped_file **file, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(file, 1, "a mapped file", error));
    hawser_status status = map(path, *file, error);
    if (status != HAWSER_OK) {
        hw_mapped_close(*file);
        *file = NULL;
    }
    return status;
}

hawser_status hw_mapped_check(const hw_mapped_file *file, hawser_error *error)
{
    struct stat facts;
    if (fstat(file->descriptor, &facts) != 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot find its length: %s", file->name, strerror(errno));
    if ((uint64_t)facts.st_size >= file->size)
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_BAD_INPUT,
        "%s: had %zu bytes when it was opened, and now has %llu: another program has cut it; convert the data "
        "again, and leave the file as it is while it is used",
        file->name, file->size, (unsigned long long)facts.st_size);
}

void hw_mapped_close(hw_mapped_file *file)
{
    if (file == NULL)
        return;
    if (file->bytes != NULL)
        (void)munmap(file->bytes, file->size);
    if (file->descriptor >= 0)
        (void)close(file->descriptor);
    free(file->name);
    free(file);
}
