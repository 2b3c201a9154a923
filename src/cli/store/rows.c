/* rows.c - hawser store get and put: reads and writes rows of a table as lines KEY NUMBER ... */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/order.h"
#include "base/type.h"
#include "cli/store/store.h"
#include "data/format/number_text.h"
#include "runtime/store/asking.h"

enum { NUMBERS = 1 << 16, KEYS_MOST = 1 << 16 };

/* The rows of one request. */
typedef struct rows {
    hw_store_session session;
    hawser_table table;
    uint32_t number;
    size_t most, count;
    uint64_t *keys;
    unsigned char *values;
} rows;

static size_t row_bytes(const rows *r)
{
    return r->table.width * hw_type_size(r->table.type);
}

static hawser_status begin(hw_call *call, rows *r, hawser_error *error)
{
    HAWSER_TRY(hw_store_session_begin(call, &r->session, error));
    HAWSER_TRY(hawser_store_find(r->session.store, call->words[0], &r->table, &r->number, error));
    if (r->table.sparse)
        r->table.last = UINT64_MAX;
    r->most = NUMBERS / r->table.width > 0 ? NUMBERS / r->table.width : 1;
    HAWSER_TRY(HW_NEW(&r->keys, r->most, "keys", error));
    return hw_new_array((void **)&r->values, r->most, row_bytes(r), "rows of a table", error);
}

static void end(rows *r)
{
    free(r->keys);
    free(r->values);
    hw_store_session_end(&r->session);
}

/* ---------------------------------------------------------------------------------------------------------- reading ---- */

static void print_shortest(FILE *out, double value, hawser_type type)
{
    char text[HW_NUMBER_TEXT];
    fprintf(out, "%.*s", (int)hw_number_text(text, value, type), text);
}

static void print_number(FILE *out, const rows *r, size_t row, uint32_t i)
{
    const unsigned char *at = r->values + row * row_bytes(r);
    switch (r->table.type) {
    case HAWSER_F32: print_shortest(out, (double)((const float *)(const void *)at)[i], HAWSER_F32); return;
    case HAWSER_F64: print_shortest(out, ((const double *)(const void *)at)[i], HAWSER_F64); return;
    case HAWSER_I64: fprintf(out, "%" PRId64, ((const int64_t *)(const void *)at)[i]); return;
    case HAWSER_I32: return; /* no table has i32 */
    }
}

static void print_rows(const rows *r)
{
    FILE *out = r->session.call->out;
    bool json = hawser_options_flag(r->session.call->options, "json");
    for (size_t row = 0; row < r->count; row++) {
        fprintf(out, json ? "{\"key\": %" PRIu64 ", \"values\": [" : "%" PRIu64, r->keys[row]);
        for (uint32_t i = 0; i < r->table.width; i++) {
            fputs(json ? i > 0 ? ", " : "" : " ", out);
            print_number(out, r, row, i);
        }
        fputs(json ? "]}\n" : "\n", out);
    }
}

/* Pulls the rows of the listed keys. */
static hawser_status pull(rows *r, hawser_error *error)
{
    uint64_t task;
    if (r->count == 0)
        return HAWSER_OK;
    const hawser_request request = {.table = r->number, .keys = r->keys, .count = r->count, .out = r->values};
    HAWSER_TRY(hawser_pull(r->session.store, &request, &task, error));
    HAWSER_TRY(hawser_store_wait(r->session.store, task, error));
    print_rows(r);
    return HAWSER_OK;
}

static hawser_status get_dense(rows *r, uint64_t first, uint64_t last, hawser_error *error)
{
    for (uint64_t key = first;; key += r->count) {
        r->count = last - key < r->most ? (size_t)(last - key) + 1 : r->most;
        for (size_t i = 0; i < r->count; i++)
            r->keys[i] = key + i;
        HAWSER_TRY(pull(r, error));
        if (last - key < r->count)
            return HAWSER_OK;
    }
}

/* Lists the least keys of a sparse table from `first` on, of all servers; *more: there are further keys. */
static hawser_status list_keys(rows *r, uint64_t first, uint64_t last, uint64_t **keys, size_t *count, bool *more,
                               hawser_error *error)
{
    hawser_store *store = r->session.store;
    size_t capacity = 0;
    uint64_t bound = last; /* a server may have keys beyond it that it has not sent yet */
    *count = 0;
    *more = false;
    for (uint32_t s = 0; s < hw_store_servers(store); s++) {
        hw_bytes listed;
        HAWSER_TRY(hw_store_keys_of(store, s, r->number, first, last, KEYS_MOST, &listed, error));
        size_t got = listed.length / sizeof **keys;
        hawser_status status = HW_GROW(keys, &capacity, *count + got + 1, "the keys of a table", error);
        if (status == HAWSER_OK && got > 0)
            memcpy(*keys + *count, listed.data, got * sizeof **keys);
        free(listed.data);
        HAWSER_TRY(status);
        *count += got;
        if (got == KEYS_MOST) {
            *more = true;
            bound = (*keys)[*count - 1] < bound ? (*keys)[*count - 1] : bound;
        }
    }
    qsort(*keys, *count, sizeof **keys, hw_ascending);
    while (*count > 0 && (*keys)[*count - 1] > bound)
        --*count;
    return HAWSER_OK;
}

static hawser_status get_sparse(rows *r, uint64_t first, uint64_t last, hawser_error *error)
{
    for (bool more = true; more;) {
        uint64_t *keys = NULL;
        size_t count = 0;
        hawser_status status = list_keys(r, first, last, &keys, &count, &more, error);
        for (size_t at = 0; status == HAWSER_OK && at < count; at += r->count) {
            r->count = count - at < r->most ? count - at : r->most;
            memcpy(r->keys, keys + at, r->count * sizeof *keys);
            status = pull(r, error);
        }
        more = more && count > 0 && keys[count - 1] < last;
        first = more ? keys[count - 1] + 1 : first;
        free(keys);
        HAWSER_TRY(status);
    }
    return HAWSER_OK;
}

static hawser_status get_word(rows *r, const char *word, hawser_error *error)
{
    uint64_t first = r->table.first, last = r->table.last;
    if (word != NULL && !hw_read_keys(word, &first, &last))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "'%.60s' is neither a key nor a range FIRST..LAST of table '%s', whose keys are %" PRIu64
                           " to %" PRIu64,
                           word, r->table.name, r->table.first, r->table.last);
    bool one = first == last; /* a single key that was never written reads as zero */
    return r->table.sparse && !one ? get_sparse(r, first, last, error) : get_dense(r, first, last, error);
}

hawser_status hw_store_get(hw_call *call, hawser_error *error)
{
    rows r = {0};
    hawser_status status = begin(call, &r, error);
    if (status == HAWSER_OK && call->count == 1)
        status = get_word(&r, NULL, error);
    for (size_t i = 1; status == HAWSER_OK && i < call->count; i++)
        status = get_word(&r, call->words[i], error);
    end(&r);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- writing ---- */

static hawser_status flush(rows *r, hawser_error *error)
{
    size_t count = r->count;
    r->count = 0;
    return count > 0 ? hw_store_set(r->session.store, r->number, r->keys, count, r->values, error) : HAWSER_OK;
}

/* Reads one number of a row. Returns the text behind it. */
static const char *read_number(const rows *r, unsigned char *row, uint32_t i, const char *text)
{
    double value = 0;
    const char *digit = text + (*text == '-' || *text == '+');
    if (r->table.type == HAWSER_I64) {
        char *end = NULL;
        errno = 0;
        long long whole = strtoll(text, &end, 10);
        ((int64_t *)(void *)row)[i] = whole;
        return *digit >= '0' && *digit <= '9' && errno == 0 ? end : NULL;
    }
    const char *behind = hw_number_word(text, &value);
    if (r->table.type == HAWSER_F64)
        ((double *)(void *)row)[i] = value;
    else
        ((float *)(void *)row)[i] = (float)value;
    bool fits = r->table.type == HAWSER_F64 ? isfinite(value) : isfinite((float)value);
    return fits ? behind : NULL; /* NULL: it is no number */
}

static hawser_status wrong_numbers(const rows *r, uint64_t key, const char *text, char between, const char *where,
                                   hawser_error *error)
{
    const char *type = r->table.type == HAWSER_I64 ? "i64" : r->table.type == HAWSER_F32 ? "f32" : "f64";
    if (r->table.width == 1)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%skey %" PRIu64 ": '%.60s': expected a finite number of type %s", where,
                           key, text, type);
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%skey %" PRIu64 ": '%.60s': expected %u finite numbers of type %s, with '%c' between them", where,
                       key, text, r->table.width, type, between);
}

/* Reads a row: its key, then `separator`, then the numbers, with `between` between them. */
static hawser_status put_row(rows *r, const char *text, char separator, char between, const char *where, hawser_error *error)
{
    uint64_t key;
    size_t length = strcspn(text, (char[]){separator, '\0'});
    if (text[length] == '\0' || !hw_read_key(text, length, &key) || key < r->table.first || key > r->table.last)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s'%.60s' does not begin with a key of table '%s' (%" PRIu64 " to %" PRIu64 ") and '%c'", where,
                           text, r->table.name, r->table.first, r->table.last, separator);
    if (r->count == r->most || (r->count > 0 && r->keys[r->count - 1] >= key))
        HAWSER_TRY(flush(r, error));
    unsigned char *row = r->values + r->count * row_bytes(r);
    const char *at = text + length + 1;
    for (uint32_t i = 0; i < r->table.width; i++) {
        const char *behind = read_number(r, row, i, at);
        bool last = i + 1 == r->table.width;
        if (behind == NULL || (*behind != (last ? '\0' : between)))
            return wrong_numbers(r, key, text + length + 1, between, where, error);
        at = behind + 1;
    }
    r->keys[r->count++] = key;
    return HAWSER_OK;
}

/* Reads lines in the format that get prints. */
static hawser_status put_lines(rows *r, hawser_error *error)
{
    char *line = NULL, where[64];
    size_t capacity = 0;
    hawser_status status = HAWSER_OK;
    ssize_t length;
    for (uint64_t n = 1; status == HAWSER_OK && (length = getline(&line, &capacity, stdin)) >= 0; n++) {
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r' || line[length - 1] == ' '))
            line[--length] = '\0';
        snprintf(where, sizeof where, "standard input, line %" PRIu64 ": ", n);
        if (strlen(line) != (size_t)length)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%sa byte of zero", where);
        else if (length > 0)
            status = put_row(r, line, ' ', ' ', where, error);
    }
    if (status == HAWSER_OK && ferror(stdin))
        status = hawser_fail(error, HAWSER_IO, "cannot read standard input: %s", strerror(errno));
    free(line);
    return status;
}

hawser_status hw_store_put(hw_call *call, hawser_error *error)
{
    rows r = {0};
    hawser_status status = begin(call, &r, error);
    bool lines = call->count == 2 && strcmp(call->words[1], "-") == 0;
    if (status == HAWSER_OK && lines)
        status = put_lines(&r, error);
    for (size_t i = 1; status == HAWSER_OK && !lines && i < call->count; i++)
        status = put_row(&r, call->words[i], '=', ',', "", error);
    HAWSER_THEN(status, flush(&r, error));
    end(&r);
    return status;
}
