#include "sim/image.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

#define BYTES_MOST (UINT64_C(4) << 30) /* of all nodes */

enum { PARTS = 2 }; /* .data and .bss */

typedef struct sim_image {
    char *data[PARTS];
    size_t sizes[PARTS];
    char **kept; /* by node: both parts */
    uint32_t loaded;
} sim_image;

static sim_image image;

/* The executable's file. */
typedef struct sim_elf {
    const char *bytes;
    size_t size;
    const ElfW(Ehdr) * head;
    const ElfW(Shdr) * sections;
    const char *names;
} sim_elf;

static hawser_status open_elf(sim_elf *elf, hawser_error *error)
{
    struct stat facts;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool read = fd >= 0 && fstat(fd, &facts) == 0;
    void *bytes = read ? mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        (void)close(fd);
    if (bytes == MAP_FAILED)
        return hawser_fail(error, HAWSER_IO, "cannot read the program's file");
    *elf = (sim_elf){.bytes = bytes, .size = (size_t)facts.st_size, .head = bytes};
    elf->sections = (const void *)(elf->bytes + elf->head->e_shoff);
    elf->names = elf->bytes + elf->sections[elf->head->e_shstrndx].sh_offset;
    return HAWSER_OK;
}

static const ElfW(Shdr) * section_of(const sim_elf *elf, const char *name)
{
    for (size_t i = 0; i < elf->head->e_shnum; i++)
        if (strcmp(elf->names + elf->sections[i].sh_name, name) == 0)
            return &elf->sections[i];
    return NULL;
}

/* Returns the name of a symbol in a section, the largest, or "?" in a program without symbols. */
static const char *symbol_in(const sim_elf *elf, const ElfW(Shdr) * section)
{
    const ElfW(Shdr) *table = section_of(elf, ".symtab"), *texts = section_of(elf, ".strtab");
    const char *name = "?";
    size_t largest = 0, count = table != NULL && texts != NULL ? table->sh_size / sizeof(ElfW(Sym)) : 0;
    for (size_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = (const ElfW(Sym) *)(const void *)(elf->bytes + table->sh_offset) + i;
        if (symbol->st_shndx != section - elf->sections || symbol->st_size <= largest)
            continue;
        largest = symbol->st_size;
        name = elf->bytes + texts->sh_offset + symbol->st_name;
    }
    return name;
}

/* --------------------------------------------------------------------------------------------------- what is loaded ---- */

typedef struct sim_loaded {
    bool begun;
    ElfW(Addr) bias;     /* of the program */
    const char *foreign; /* a library whose data nodes would share; NULL: none */
} sim_loaded;

/* Libraries whose data may be shared: the C library, and what Hawser gives all they use. */
static bool is_known(const char *path)
{
    static const char *const known[] = {"linux-vdso", "ld-linux", "libc.",      "libm.",   "libpthread.",
                                        "libdl.",     "librt.",   "libgcc_s",   "libz.",   "liblzma.",
                                        "libzstd.",   "liblz4.",  "libjansson", "libssl.", "libcrypto"};
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(name, known[i], strlen(known[i])) == 0)
            return true;
    return name[0] == '\0';
}

static int see(struct dl_phdr_info *info, size_t size, void *user)
{
    sim_loaded *loaded = user;
    (void)size;
    if (!loaded->begun)
        loaded->bias = info->dlpi_addr;
    else if (!is_known(info->dlpi_name) && loaded->foreign == NULL)
        loaded->foreign = info->dlpi_name;
    loaded->begun = true;
    return 0;
}

static hawser_status find_data(const sim_elf *elf, uint32_t nodes, hawser_error *error)
{
    static const char *const names[PARTS] = {".data", ".bss"}, *const own_of_threads[] = {".tdata", ".tbss"};
    sim_loaded loaded = {0};
    (void)dl_iterate_phdr(see, &loaded);
    if (loaded.foreign != NULL)
        return hawser_fail(error, HAWSER_BAD_PROGRAM,
                           "the program uses %s, whose data all simulated nodes would share; link without it",
                           loaded.foreign);
    for (int i = 0; i < 2; i++)
        if (section_of(elf, own_of_threads[i]) != NULL)
            return hawser_fail(error, HAWSER_BAD_PROGRAM,
                               "the program has the thread-local variable '%s', which all simulated threads would share",
                               symbol_in(elf, section_of(elf, own_of_threads[i])));
    for (int i = 0; i < PARTS; i++) {
        const ElfW(Shdr) *section = section_of(elf, names[i]);
        if (section == NULL)
            continue;
        image.data[i] = (char *)(uintptr_t)(loaded.bias + section->sh_addr);
        image.sizes[i] = section->sh_size;
        if (section->sh_size > BYTES_MOST / nodes)
            return hawser_fail(error, HAWSER_BAD_PROGRAM,
                               "the program's writable data, of which '%s' is the largest, have %zu bytes, and each of %u "
                               "nodes needs its own; make it an allocated array",
                               symbol_in(elf, section), (size_t)section->sh_size, nodes);
    }
    return HAWSER_OK;
}

/* --------------------------------------------------------------------------------------------------------- swapping ---- */

static void keep(uint32_t node)
{
    for (size_t i = 0, at = 0; i < PARTS; at += image.sizes[i++])
        if (image.sizes[i] > 0)
            memcpy(image.kept[node] + at, image.data[i], image.sizes[i]);
}

hawser_status sim_image_open(uint32_t nodes, hawser_error *error)
{
    sim_elf elf = {0};
    HAWSER_TRY(open_elf(&elf, error));
    hawser_status status = find_data(&elf, nodes, error);
    (void)munmap((void *)(uintptr_t)elf.bytes, elf.size);
    HAWSER_TRY(status);
    HAWSER_TRY(HW_NEW(&image.kept, nodes, "the data of simulated nodes", error));
    for (uint32_t i = 0; i < nodes; i++) {
        HAWSER_TRY(HW_NEW(&image.kept[i], image.sizes[0] + image.sizes[1] + 1, "the data of simulated nodes", error));
        keep(i);
    }
    return HAWSER_OK;
}

void sim_image_load(uint32_t node)
{
    if (node == image.loaded)
        return;
    keep(image.loaded);
    for (size_t i = 0, at = 0; i < PARTS; at += image.sizes[i++])
        if (image.sizes[i] > 0)
            memcpy(image.data[i], image.kept[node] + at, image.sizes[i]);
    image.loaded = node;
}
