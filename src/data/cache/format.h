/* format.h - the layout of the mapped file: a header, then sections at multiples of 64 bytes, each with size and digest.
 * Little-endian, as in memory. */
#ifndef HW_DATA_CACHE_FORMAT_H
#define HW_DATA_CACHE_FORMAT_H

#include <stdint.h>

#include "data/cache/cache.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "cache files are little-endian and mapped without conversion");

enum { HW_CACHE_VERSION = 4, HW_CACHE_ALIGNMENT = 64, HW_CACHE_PIECE = 1 << 20 };

enum hw_cache_section {
    HW_CACHE_OFFSETS, /* sparse: lines + 1 numbers of 64 bits */
    HW_CACHE_INDICES, /* sparse: stored numbers of 32 bits */
    HW_CACHE_VALUES,  /* stored numbers; dense: column after column, or in HAWSER_DENSE_ROWS row after row, without gaps */
    HW_CACHE_TARGET,  /* rows doubles or empty; so are the next two */
    HW_CACHE_WEIGHTS,
    HW_CACHE_OFFSET,
    HW_CACHE_NAMES, /* cols texts, each ending in a zero byte, or empty */
    HW_CACHE_TARGET_NAME,
    HW_CACHE_MEANS, /* cols doubles that stand for missing values, or empty; version 1 ends in front of it */
    /* a text of JSON (hawser_schema_write) that ends in a zero byte, or empty; version 2 ends in front of it */
    HW_CACHE_SCHEMA,
    HW_CACHE_SECTIONS
};

typedef struct hw_cache_span {
    uint64_t begin;
    uint64_t size;
    uint64_t digest; /* hw_hash chained over pieces of HW_CACHE_PIECE bytes, seed 0 */
} hw_cache_span;

typedef struct hw_cache_header {
    char magic[8];
    uint32_t version; /* 4 only for HAWSER_DENSE_ROWS, so that older readers read all other files */
    uint32_t layout;
    uint64_t digest; /* hw_hash of the header with zeros in this field */
    uint64_t file_size;
    uint64_t rows;
    uint64_t cols;
    uint64_t stored;
    uint32_t type;
    int32_t index_base; /* -1: the input's format has none */
    /* bit 0: index_base was guessed; from bit 8 on: text_rules of the figures, below 256; from bit 16 on: text_length */
    uint32_t facts;
    uint32_t equals; /* 1 + the number of columns behind the last section (hw_cache_equals); 0: unknown, as in older files */
    hw_cache_span sections[HW_CACHE_SECTIONS];
} hw_cache_header;

/* The end of a file with columns whose values rounding made equal (data/equal.h): a digest of 64 bits, and numbers of 32
 * bits. Older readers pass over it. */
static inline uint64_t hw_cache_equals(uint64_t count)
{
    uint64_t bytes = sizeof(uint64_t) + count * sizeof(uint32_t);
    return count == 0 ? 0 : (bytes + HW_CACHE_ALIGNMENT - 1) / HW_CACHE_ALIGNMENT * HW_CACHE_ALIGNMENT;
}

/* Writes and reads these facts. */
static inline uint32_t hw_cache_facts(const hawser_load_figures *figures)
{
    return (uint32_t)figures->base_guessed | figures->text_rules << 8 | figures->text_length << 16;
}

static inline void hw_cache_take_facts(uint32_t facts, hawser_load_figures *figures)
{
    figures->base_guessed = (facts & 1) != 0;
    figures->text_rules = facts >> 8 & 0xff;
    figures->text_length = facts >> 16;
}

_Static_assert(sizeof(hw_cache_header) == 72 + 24 * HW_CACHE_SECTIONS, "padding would make digests differ");

/* Makes a dataset over the bytes of a cache, which are aligned to HW_CACHE_ALIGNMENT and must outlive it. Any bytes are
 * allowed. Without `verify` digests are not checked, so that a fuzzer gets past them. Everything that memory safety depends
 * on is always checked. */
hawser_status hw_cache_view(const unsigned char *bytes, size_t size, const char *name, bool verify, hawser_dataset **dataset,
                            hawser_error *error) HAWSER_MUST_USE;

#endif
