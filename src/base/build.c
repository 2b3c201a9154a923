/* build.c - identifies a build by the note that the linker writes into the object with this code. */
#include "base/build.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hawser/version.h"

typedef struct search {
    uintptr_t address;
    char *id;
    size_t size;
} search;

static bool holds(const struct dl_phdr_info *object, uintptr_t address)
{
    for (ElfW(Half) i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && address >= begin && address - begin < segment->p_memsz)
            return true;
    }
    return false;
}

static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

static void read_notes(const char *notes, size_t size, search *wanted)
{
    ElfW(Nhdr) note;
    while (size >= sizeof note) {
        memcpy(&note, notes, sizeof note);
        size_t whole = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
        if (whole > size)
            return;
        const unsigned char *id = (const unsigned char *)notes + sizeof note + padded(note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + sizeof note, "GNU", 4) == 0) {
            for (size_t i = 0; i < note.n_descsz && i < 8 && 2 * i + 3 <= wanted->size; i++)
                snprintf(wanted->id + 2 * i, 3, "%02x", id[i]);
            return;
        }
        notes += whole;
        size -= whole;
    }
}

static int look_at(struct dl_phdr_info *object, size_t size, void *argument)
{
    search *wanted = argument;
    (void)size;
    if (!holds(object, wanted->address))
        return 0;
    for (ElfW(Half) i = 0; i < object->dlpi_phnum && wanted->id[0] == '\0'; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE)
            read_notes((const char *)object->dlpi_addr + segment->p_vaddr, segment->p_memsz, wanted);
    }
    return 1;
}

void hw_build(char text[HW_BUILD_SIZE])
{
    char id[17] = "";
    search wanted = {.address = (uintptr_t)&hw_build, .id = id, .size = sizeof id};
    dl_iterate_phdr(look_at, &wanted);
    snprintf(text, HW_BUILD_SIZE, "%s%s%s", hawser_version(), id[0] != '\0' ? "+" : "", id);
}
