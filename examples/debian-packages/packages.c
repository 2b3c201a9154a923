/*
 * debian-packages: turns the package index (`apt-cache dumpavail`) into a regression problem: how large is an installed
 * package, by its record?
 *
 * Each package is a row. The target is the natural logarithm of Installed-Size (KiB). The features are binary and come from
 * the section, priority, architecture, dependencies, parts of the name and words of the short description. `Size`, that of
 * the archive, is left out, because it nearly gives the answer away. Every fifth row is for testing.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEST_EVERY = 5, LEAST_ROWS = 2 };

/* All features seen so far: an open hash table of numbers into `items`. */
typedef struct feature {
    char *name;
    uint32_t rows, training_rows; /* numbers of rows that have it */
    uint32_t last_row;            /* 1 + the last row that had it, so that one row counts once */
    uint32_t column;              /* from 1 in the output; 0: left out */
} feature;

typedef struct dictionary {
    feature *items;
    uint32_t *slots; /* 1 + number of an item; 0: free */
    size_t count, capacity, slot_count;
} dictionary;

/* One package. */
typedef struct row {
    double target;
    size_t first, end; /* its features in `numbers` */
} row;

typedef struct problem {
    dictionary features, packages; /* packages: names already seen, so that a second architecture gives no second row */
    row *rows;
    uint32_t *numbers;
    size_t row_count, row_capacity, number_count, number_capacity;
    size_t without_size, repeated;
} problem;

/* The fields of a record that have been read so far. */
typedef struct record {
    char *package, *section, *priority, *architecture, *depends, *pre_depends, *recommends, *description, *installed_size;
} record;

static bool out_of_memory(void)
{
    fprintf(stderr, "debian-packages: out of memory\n");
    return false;
}

static bool grow(void **array, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return true;
    size_t larger = *capacity ? *capacity * 2 : 1024;
    while (larger < needed)
        larger *= 2;
    void *moved = realloc(*array, larger * size);
    if (!moved)
        return out_of_memory();
    *array = moved;
    *capacity = larger;
    return true;
}

static uint64_t hash_of(const char *prefix, const char *text, size_t length)
{
    uint64_t hash = 1469598103934665603u; /* FNV-1a */
    for (; *prefix; prefix++)
        hash = (hash ^ (unsigned char)*prefix) * 1099511628211u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash;
}

static bool rehash(dictionary *d)
{
    size_t larger = d->slot_count ? d->slot_count * 2 : 4096;
    uint32_t *slots = calloc(larger, sizeof *slots);
    if (!slots)
        return out_of_memory();
    for (size_t i = 0; i < d->count; i++) {
        size_t at = hash_of("", d->items[i].name, strlen(d->items[i].name)) & (larger - 1);
        while (slots[at])
            at = (at + 1) & (larger - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(d->slots);
    d->slots = slots;
    d->slot_count = larger;
    return true;
}

/* Returns the number of the item `prefix` + `text`, which it makes if it is new; SIZE_MAX if there is no memory. */
static size_t number_of(dictionary *d, const char *prefix, const char *text, size_t length)
{
    if (2 * d->count >= d->slot_count && !rehash(d))
        return SIZE_MAX;
    size_t before = strlen(prefix), at = hash_of(prefix, text, length) & (d->slot_count - 1);
    for (; d->slots[at]; at = (at + 1) & (d->slot_count - 1)) {
        const char *name = d->items[d->slots[at] - 1].name;
        if (strncmp(name, prefix, before) == 0 && strncmp(name + before, text, length) == 0 && !name[before + length])
            return d->slots[at] - 1;
    }
    if (!grow((void **)&d->items, &d->capacity, d->count + 1, sizeof *d->items))
        return SIZE_MAX;
    char *name = malloc(before + length + 1);
    if (!name) {
        out_of_memory();
        return SIZE_MAX;
    }
    memcpy(name, prefix, before);
    memcpy(name + before, text, length);
    name[before + length] = '\0';
    d->items[d->count] = (feature){.name = name};
    d->slots[at] = (uint32_t)d->count + 1;
    return d->count++;
}

static void dictionary_free(dictionary *d)
{
    for (size_t i = 0; i < d->count; i++)
        free(d->items[i].name);
    free(d->items);
    free(d->slots);
}

/* Adds a feature to the current row, once. */
static bool add(problem *p, const char *prefix, const char *text, size_t length)
{
    if (length == 0)
        return true;
    size_t number = number_of(&p->features, prefix, text, length);
    if (number == SIZE_MAX || !grow((void **)&p->numbers, &p->number_capacity, p->number_count + 1, sizeof *p->numbers))
        return false;
    feature *f = &p->features.items[number];
    if (f->last_row == p->row_count + 1)
        return true;
    f->last_row = (uint32_t)p->row_count + 1;
    f->rows++;
    f->training_rows += p->row_count % TEST_EVERY != TEST_EVERY - 1;
    p->numbers[p->number_count++] = (uint32_t)number;
    return true;
}

/* Adds each name of a list like "libc6 (>= 2.34), awk | gawk:any". */
static bool add_relations(problem *p, const char *prefix, const char *text)
{
    while (text && *text) {
        text += strspn(text, " \t,|");
        if (!add(p, prefix, text, strcspn(text, " \t(:[<,|")))
            return false;
        text += strcspn(text, ",|");
    }
    return true;
}

static bool is_stop_word(const char *word, size_t length)
{
    static const char words[] =
        " a an the of for and to in with is by on as it its that this from or be at are using based via ";
    for (const char *at = words; (at = strchr(at, ' ')) && at[1]; at++)
        if (strncmp(at + 1, word, length) == 0 && at[1 + length] == ' ')
            return true;
    return false;
}

/* Adds the runs of letters and digits of the description, in lower case (in place). Bytes above ASCII end a word. */
static bool add_words(problem *p, char *text)
{
    for (char *c = text; c && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    for (const char *at = text; at && *at;) {
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
        if (!is_stop_word(at, length) && !add(p, "word=", at, length))
            return false;
        at += length ? length : 1;
    }
    return true;
}

/* Adds the runs of letters and the runs of digits of the name: librust-serde1 has librust, serde and 1. */
static bool add_name(problem *p, const char *text)
{
    while (*text) {
        size_t letters = strspn(text, "abcdefghijklmnopqrstuvwxyz"), digits = strspn(text, "0123456789");
        size_t length = letters ? letters : digits;
        if (!add(p, "name=", text, length))
            return false;
        text += length ? length : 1;
    }
    return true;
}

/* Makes a row of a complete record. Returns false if there is no memory. */
static bool end_record(problem *p, record *r)
{
    if (!r->package)
        return true;
    char *end = NULL;
    double size = r->installed_size ? strtod(r->installed_size, &end) : 0;
    size_t before = p->packages.count;
    size_t number = number_of(&p->packages, "", r->package, strlen(r->package));
    if (number == SIZE_MAX)
        return false;
    if (number < before) {
        p->repeated++;
        return true;
    }
    if (!(size > 0) || !isfinite(size) || end == r->installed_size) {
        p->without_size++;
        return true;
    }
    if (!grow((void **)&p->rows, &p->row_capacity, p->row_count + 1, sizeof *p->rows))
        return false;
    row *made = &p->rows[p->row_count];
    *made = (row){.target = log(size), .first = p->number_count};
    const char *slash = r->section ? strrchr(r->section, '/') : NULL; /* Ubuntu: universe/libs */
    const char *section = slash ? slash + 1 : r->section;
    const char *architecture = r->architecture && strcmp(r->architecture, "all") == 0 ? "all" : "native";
    if ((section && !add(p, "sec=", section, strlen(section))) ||
        (r->priority && !add(p, "prio=", r->priority, strlen(r->priority))) ||
        !add(p, "arch=", architecture, strlen(architecture)) || !add_relations(p, "dep=", r->depends) ||
        !add_relations(p, "dep=", r->pre_depends) || !add_relations(p, "rec=", r->recommends) || !add_name(p, r->package) ||
        !add_words(p, r->description))
        return false;
    made->end = p->number_count;
    p->row_count++;
    return true;
}

static void record_clear(record *r)
{
    char *fields[] = {r->package,     r->section,    r->priority,    r->architecture,  r->depends,
                      r->pre_depends, r->recommends, r->description, r->installed_size};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        free(fields[i]);
    *r = (record){0};
}

/* Stores the value of a line if its field is used; the first occurrence counts. */
static bool take_field(record *r, const char *line)
{
    const struct {
        const char *key;
        char **value;
    } fields[] = {{"Package", &r->package},
                  {"Section", &r->section},
                  {"Priority", &r->priority},
                  {"Architecture", &r->architecture},
                  {"Depends", &r->depends},
                  {"Pre-Depends", &r->pre_depends},
                  {"Recommends", &r->recommends},
                  {"Description", &r->description},
                  {"Description-en", &r->description},
                  {"Installed-Size", &r->installed_size}};
    size_t length = strcspn(line, ":");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strlen(fields[i].key) != length || strncmp(line, fields[i].key, length) != 0 || line[length] != ':' ||
            *fields[i].value)
            continue;
        *fields[i].value = strdup(line + length + 1 + strspn(line + length + 1, " \t"));
        return *fields[i].value || out_of_memory();
    }
    return true;
}

/* Reads all records. A record ends at an empty line. A line that starts with a blank continues the field before it, and is
 * skipped: no field of several lines is used. */
static bool read_records(problem *p, FILE *in)
{
    char *line = NULL;
    size_t capacity = 0;
    record r = {0};
    bool good = true;
    for (ssize_t length; good && (length = getline(&line, &capacity, in)) >= 0;) {
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            line[--length] = '\0';
        if (length == 0) {
            good = end_record(p, &r);
            record_clear(&r);
        } else if (line[0] != ' ' && line[0] != '\t') {
            good = take_field(&r, line);
        }
    }
    if (good && ferror(in)) {
        fprintf(stderr, "debian-packages: cannot read the index: %s\n", strerror(errno));
        good = false;
    }
    good = good && end_record(p, &r);
    record_clear(&r);
    free(line);
    return good;
}

static FILE *create(const char *directory, const char *name)
{
    size_t length = strlen(directory) + strlen(name) + 2;
    char *path = malloc(length);
    if (!path) {
        out_of_memory();
        return NULL;
    }
    snprintf(path, length, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (!file)
        fprintf(stderr, "debian-packages: cannot write %s: %s\n", path, strerror(errno));
    free(path);
    return file;
}

/* Closes a file; returns false if it was not written completely. */
static bool finish(FILE *file, const char *name)
{
    bool good = !ferror(file);
    good = fclose(file) == 0 && good;
    if (!good)
        fprintf(stderr, "debian-packages: cannot write %s: %s\n", name, strerror(errno));
    return good;
}

/* Numbers the features that are in enough rows, and writes their names and numbers of training rows. */
static bool write_features(problem *p, const char *directory, uint32_t *columns)
{
    FILE *names = create(directory, "features.txt");
    FILE *counts = names ? create(directory, "counts.txt") : NULL;
    *columns = 0;
    for (size_t i = 0; counts && i < p->features.count; i++) {
        feature *f = &p->features.items[i];
        if (f->rows < LEAST_ROWS)
            continue;
        f->column = ++*columns;
        fprintf(names, "%s\n", f->name);
        fprintf(counts, "%u\n", (unsigned)f->training_rows);
    }
    bool good = counts && finish(counts, "counts.txt");
    return (!names || finish(names, "features.txt")) && good;
}

static int by_column(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Writes svmlight: the target, then the columns in ascending order. */
static bool write_rows(problem *p, const char *directory)
{
    FILE *training = create(directory, "train.svm");
    FILE *testing = training ? create(directory, "test.svm") : NULL;
    for (size_t i = 0; testing && i < p->row_count; i++) {
        const row *r = &p->rows[i];
        FILE *out = i % TEST_EVERY == TEST_EVERY - 1 ? testing : training;
        for (size_t k = r->first; k < r->end; k++)
            p->numbers[k] = p->features.items[p->numbers[k]].column;
        qsort(p->numbers + r->first, r->end - r->first, sizeof *p->numbers, by_column);
        fprintf(out, "%.6f", r->target);
        for (size_t k = r->first; k < r->end; k++)
            if (p->numbers[k])
                fprintf(out, " %u:1", (unsigned)p->numbers[k]);
        fputc('\n', out);
    }
    bool good = testing && finish(testing, "test.svm");
    return (!training || finish(training, "train.svm")) && good;
}

int main(int argc, char **argv)
{
    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr,
                "usage: apt-cache dumpavail | debian-packages DIRECTORY\n"
                "writes train.svm, test.svm, features.txt (names of the columns) and counts.txt (training rows of each)\n");
        return 2;
    }
    problem p = {0};
    uint32_t columns = 0;
    int code = 1;
    if (!read_records(&p, stdin))
        goto done;
    if (p.row_count < TEST_EVERY) {
        fprintf(stderr, "debian-packages: %zu packages with a size in the index: `apt-get update` fetches it\n",
                p.row_count);
        code = 3;
        goto done;
    }
    if (!write_features(&p, argv[1], &columns) || !write_rows(&p, argv[1]))
        goto done;
    printf("%zu packages, %u features; %zu without a size, %zu of a second architecture left out\n", p.row_count,
           (unsigned)columns, p.without_size, p.repeated);
    code = 0;
done:
    dictionary_free(&p.features);
    dictionary_free(&p.packages);
    free(p.rows);
    free(p.numbers);
    return code;
}
