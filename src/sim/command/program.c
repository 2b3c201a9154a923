#include "sim/command/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "sim/program.h"

/* A program without the simulator would run for real. */
static hawser_status check_linked(const char *path, hawser_error *error)
{
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool read = fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0;
    void *bytes = read ? mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    int code = errno;
    if (fd >= 0)
        (void)close(fd);
    if (bytes == MAP_FAILED)
        return hawser_fail(error, HAWSER_IO, "cannot read the program %s: %s", path, strerror(code));
    bool linked = memcmp(bytes, "\177ELF", 4) == 0 &&
                  memmem(bytes, (size_t)facts.st_size, SIM_PROGRAM_MARK, sizeof SIM_PROGRAM_MARK) != NULL;
    (void)munmap(bytes, (size_t)facts.st_size);
    if (linked)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_PROGRAM,
                       "%s is not linked with the simulator of this version; link a C program with `pkg-config --cflags "
                       "--libs hawser-sim` (scripts and Python programs cannot be simulated)",
                       path);
}

static hawser_status pass_cluster(const sim_cluster *cluster, const char *link, hawser_error *error)
{
    sim_passed passed = {.cluster = *cluster};
    char text[2 * sizeof passed + 1];
    snprintf(passed.mark, sizeof passed.mark, "%s", SIM_PROGRAM_MARK);
    snprintf(passed.link, sizeof passed.link, "%s", link);
    passed.cluster.faults = NULL;
    for (size_t i = 0; i < sizeof passed; i++)
        snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)&passed)[i]);
    if (setenv(SIM_PROGRAM_CLUSTER, text, 1) != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the environment");
    return HAWSER_OK;
}

static hawser_status pass_faults(const sim_faults *faults, hawser_error *error)
{
    char line[200], *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size);
    for (size_t i = 0; lines != NULL && i < faults->count; i++) {
        sim_fault_text(&faults->list[i], line, sizeof line);
        fprintf(lines, "%s\n", line);
    }
    bool passed = lines != NULL && fclose(lines) == 0 && setenv(SIM_PROGRAM_FAULTS, text, 1) == 0;
    free(text);
    return passed ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the environment");
}

hawser_status sim_become(const sim_cluster *cluster, const char *link, char *const *words, hawser_error *error)
{
    HAWSER_TRY(check_linked(words[0], error));
    HAWSER_TRY(pass_cluster(cluster, link, error));
    HAWSER_TRY(pass_faults(cluster->faults, error));
    (void)execv(words[0], words);
    return hawser_fail(error, HAWSER_IO, "cannot run %s: %s", words[0], strerror(errno));
}
