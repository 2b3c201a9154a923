/* Any bytes as a manifest and as a part of a checkpoint, with their checksums put right, which would keep a fuzzer out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "checkpoint/part.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

#define NAME "checkpoint-00000001-0123456789abcdef.json"

/* What was taken must be within bounds. */
static void use_manifest(const hw_checkpoint *checkpoint)
{
    hawser_error error;
    char *text = NULL;
    hw_checkpoint *again = NULL;
    uint64_t sum = 0;
    for (size_t i = 0; i < checkpoint->part_count; i++) {
        const hw_checkpoint_part *part = &checkpoint->parts[i];
        if (strchr(part->file, '/') != NULL ||
            hw_checkpoint_find(checkpoint, (hw_checkpoint_kind)part->kind, part->index) != part)
            abort();
        sum += part->bytes;
    }
    if (sum != checkpoint->bytes)
        abort();
    /* What is written of it reads as it did. */
    if (hw_checkpoint_print(checkpoint, &text, &error) != HAWSER_OK ||
        hw_checkpoint_parse(text, strlen(text), NAME, &again, &error) != HAWSER_OK ||
        hw_checkpoint_same(checkpoint, again, "fuzz", &error) != HAWSER_OK || again->bytes != sum)
        abort();
    hw_checkpoint_free(again);
    free(text);
}

static void manifest(const unsigned char *bytes, size_t size)
{
    hawser_error error;
    hw_checkpoint *checkpoint;
    char *text = malloc(size + 50);
    if (text == NULL)
        return;
    memcpy(text, bytes, size);
    if (hw_checkpoint_parse(text, size, NAME, &checkpoint, &error) == HAWSER_OK)
        hw_checkpoint_free(checkpoint);
    text[size] = '\n';
    int seal = snprintf(text + size + 1, 49, "{\"checksum\":\"%016llx\"}\n", (unsigned long long)hw_hash(text, size + 1, 0));
    if (hw_checkpoint_parse(text, size + 1 + (size_t)seal, NAME, &checkpoint, &error) == HAWSER_OK) {
        use_manifest(checkpoint);
        hw_checkpoint_free(checkpoint);
    }
    free(text);
}

/* Reads all tensors of a part, as each of the types. */
static void use_part(const hw_part_reader *reader)
{
    hawser_error error;
    const char *name;
    json_t *item;
    json_object_foreach(reader->header, name, item)
    {
        for (hw_tensor_type type = HW_TENSOR_F64; type <= HW_TENSOR_U8; type++) {
            hw_checkpoint_tensor tensor = {.name = name, .type = type};
            if (hw_part_find(reader, &tensor, &error) != HAWSER_OK)
                continue;
            uint64_t count = hw_checkpoint_tensor_bytes(&tensor);
            unsigned char *to = count <= reader->file.size ? malloc(count + 1) : NULL;
            if (to == NULL || hw_part_read(reader, &tensor, 0, to, (size_t)count, &error) != HAWSER_OK)
                abort(); /* it is larger than its file */
            free(to);
        }
    }
}

static void part(const unsigned char *bytes, size_t size)
{
    hawser_error error;
    hw_checksum seal = {0};
    hw_part_reader reader;
    hw_checkpoint_part of = {.kind = HW_CHECKPOINT_BLOCK, .bytes = size + sizeof(uint64_t)};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    hw_checksum_add(&seal, bytes, size);
    of.checksum = hw_checksum_of(&seal);
    if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size &&
        write(fd, &of.checksum, sizeof of.checksum) == (ssize_t)sizeof of.checksum) {
        (void)snprintf(of.file, sizeof of.file, "%d", fd);
        if (hw_part_open(&reader, "/proc/self/fd", &of, &error) == HAWSER_OK)
            use_part(&reader);
        else if (reader.header != NULL)
            use_part(&reader); /* of another checkpoint, which the fuzzer cannot help */
        hw_part_close(&reader);
    }
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    char name[HW_CHECKPOINT_NAME];
    hw_checkpoint_label label;
    if (size == 0)
        return 0;
    if (bytes[0] == 'm')
        manifest(bytes + 1, size - 1);
    else if (bytes[0] == 'p')
        part(bytes + 1, size - 1);
    else if (size < sizeof name) {
        memcpy(name, bytes, size);
        name[size] = '\0';
        (void)hw_checkpoint_read_name(name, &label);
    }
    return 0;
}
