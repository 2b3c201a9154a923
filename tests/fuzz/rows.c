/* Any bytes read in pieces of rows, for the columns of a model: an error, or the rows that a load has, whatever the pieces,
 * from a file as from a pipe. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/rows/rows.h"
#include "data_fuzz.h"

enum { COLUMNS = 3, FIELDS = COLUMNS + 3, MOST = 1 << 14 /* bytes, which a pipe takes without a reader */ };

static const char table[] = "y,a,w,d\n1,2,red,2024-01-31\n0,3,blue,2024-02-28\n1,5,red,2023-12-31\n";

/* What a reading gave: by row the columns, then target, offset and weight, NaN for none. */
typedef struct reading {
    hawser_status status;
    char text[sizeof((hawser_error *)0)->text]; /* of the failure, without the name of the input */
    bool zero;                                  /* the input has a zero byte: one of two messages, depending on the pieces */
    bool sized;                                 /* its head says how long it is */
    double *values;
    size_t rows, width;
    hawser_load_figures figures;
} reading;

static double value_at(const hawser_matrix *A, size_t i, size_t j)
{
    if (A->layout == HAWSER_DENSE)
        return ((const double *)A->values)[j * A->stride + i];
    if (A->layout == HAWSER_DENSE_ROWS)
        return ((const double *)A->values)[i * A->stride + j];
    for (uint64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++)
        if (A->indices[e] == j)
            return ((const double *)A->values)[e];
    return 0.0;
}

static void append(reading *r, const hawser_dataset *data, size_t columns)
{
    const hawser_matrix *A = hawser_dataset_matrix(data);
    const double *sides[] = {hawser_dataset_target(data), hawser_dataset_offset(data), hawser_dataset_weights(data)};
    check_dataset(data);
    must(A->layout != HAWSER_CSC, "pieces are kept by row");
    must(A->cols == columns, "pieces have the columns of the model");
    r->width = columns + 3;
    r->values = realloc(r->values, (r->rows + A->rows) * r->width * sizeof *r->values);
    must(r->values != NULL, "memory for rows");
    for (size_t i = 0; i < A->rows; i++) {
        double *row = r->values + (r->rows + i) * r->width;
        for (size_t j = 0; j < columns; j++)
            row[j] = value_at(A, i, j);
        for (size_t k = 0; k < 3; k++)
            row[columns + k] = sides[k] != NULL ? sides[k][i] : NAN;
    }
    r->rows += A->rows;
}

/* Keeps a failure's text without names of inputs, and also without words of the input that look like one. */
static void fail_with(reading *r, hawser_status status, const hawser_error *error)
{
    static const char *const names[] = {"/proc/self/fd/", "standard input", "whole"};
    size_t used = 0;
    r->status = status;
    must(status == HAWSER_OK || error->text[0] != '\0', "a failure has a text");
    for (const char *at = error->text; status != HAWSER_OK && *at != '\0';) {
        size_t length = 0;
        for (size_t k = 0; k < sizeof names / sizeof *names && length == 0; k++)
            if (strncmp(at, names[k], strlen(names[k])) == 0)
                length = strlen(names[k]);
        if (length > 0)
            at += length + strspn(at + length, "0123456789");
        else
            r->text[used++] = *at++;
    }
}

static reading read_pieces(const char *path, const hawser_load *load, size_t piece_bytes)
{
    reading r = {0};
    hawser_rows *rows = NULL;
    hawser_error error = {0};
    hawser_status status = hw_rows_open(&path, 1, load, piece_bytes, &rows, &error);
    uint64_t number = 0;
    for (bool more = true; status == HAWSER_OK && more; number++) {
        hawser_piece piece;
        status = hawser_rows_next(rows, &piece, &more, &error);
        must(status != HAWSER_OK || !more || piece.number == number, "pieces are numbered in order");
        if (piece.data != NULL)
            append(&r, piece.data, load->columns);
        for (size_t i = 0; piece.ids != NULL && i < hawser_dataset_matrix(piece.data)->rows; i++)
            must(strlen(piece.ids[i]) <= MOST, "ids are text of the input");
        hawser_dataset_free(piece.data);
    }
    if (rows != NULL)
        hawser_rows_figures(rows, &r.figures);
    fail_with(&r, status, &error);
    hawser_rows_close(rows);
    return r;
}

static reading read_file(const uint8_t *data, size_t size, const hawser_load *load, size_t piece_bytes)
{
    char path[40];
    int fd = memfd_create("rows", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, data, size) == (ssize_t)size, "a file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    reading r = read_pieces(path, load, piece_bytes);
    close(fd);
    return r;
}

static reading read_pipe(const uint8_t *data, size_t size, const hawser_load *load, size_t piece_bytes)
{
    int ends[2];
    must(pipe(ends) == 0 && write(ends[1], data, size) == (ssize_t)size && dup2(ends[0], STDIN_FILENO) == 0, "a pipe");
    close(ends[0]);
    close(ends[1]);
    return read_pieces("-", load, piece_bytes);
}

static reading read_whole(const uint8_t *data, size_t size, const hawser_load *load)
{
    reading r = {0};
    hawser_error error = {0};
    hawser_dataset *dataset = NULL;
    hawser_status status = hw_load_memory("whole", (const char *)data, size, 0, load, &dataset, &error);
    fail_with(&r, status, &error);
    if (status == HAWSER_OK) {
        append(&r, dataset, load->columns);
        r.figures = *hawser_dataset_figures(dataset);
    }
    hawser_dataset_free(dataset);
    return r;
}

static void same_rows(const reading *a, const reading *b, size_t rows, const char *what)
{
    must(a->rows >= rows && b->rows >= rows, what);
    must(rows == 0 || memcmp(a->values, b->values, rows * a->width * sizeof *a->values) == 0, what);
}

/* Both read the same rows and fail alike, and count alike what they left out. */
static void same(const reading *a, const reading *b, const char *what)
{
    if (a->status == HAWSER_NO_MEMORY || b->status == HAWSER_NO_MEMORY)
        return;
    if (a->zero && a->status != b->status)
        return; /* targets that are not read may have zero bytes, which not all pieces are searched for */
    if (a->sized && a->status != HAWSER_OK && b->status == a->status)
        return; /* a file that is too short fails at once, and a pipe after its last row */
    bool alike = a->status == b->status && (a->zero || strcmp(a->text, b->text) == 0) && a->rows == b->rows;
    if (!alike)
        fprintf(stderr, "%zu rows, %d: %s\n%zu rows, %d: %s\n", a->rows, a->status, a->text, b->rows, b->status, b->text);
    must(alike, what);
    same_rows(a, b, a->rows, what);
    must(a->status != HAWSER_OK ||
             (a->figures.rows_dropped == b->figures.rows_dropped && a->figures.unseen_columns == b->figures.unseen_columns &&
              a->figures.unseen_entries == b->figures.unseen_entries),
         what);
}

static const hawser_schema *schema_of_table(void)
{
    static hawser_dataset *made;
    hawser_error error = {0};
    hawser_load load = {.target = "y", .threads = 1, .dates = "d"};
    if (made == NULL)
        must(hw_load_memory("table", table, sizeof table - 1, 0, &load, &made, &error) == HAWSER_OK, error.text);
    return hawser_dataset_schema(made);
}

/* The first byte chooses how the rest is read. */
static hawser_load draw_load(uint8_t byte)
{
    static const double means[COLUMNS] = {1.5, -2.0, 0.25};
    static const hawser_load loads[] = {
        {.format = HAWSER_SVMLIGHT, .index_base = 2, .columns = COLUMNS},
        {.format = HAWSER_SVMLIGHT, .index_base = 1, .columns = COLUMNS, .target_optional = true},
        {.format = HAWSER_GUESS, .index_base = 2, .columns = COLUMNS, .target_optional = true},
        {.format = HAWSER_CSV, .target = "0", .columns = COLUMNS},
        {.format = HAWSER_CSV, .target = "-1", .columns = COLUMNS, .offset = "1", .missing = "drop", .id = "0"},
        {.format = HAWSER_CSV,
         .target = "0",
         .columns = COLUMNS,
         .exposure = "2",
         .missing = "zero",
         .target_optional = true},
        {.format = HAWSER_CSV, .target = "0", .columns = COLUMNS, .missing = "mean", .means = means, .weights = "1"},
        {.format = HAWSER_CSV, .target = "y", .missing = "zero"},
        {.format = HAWSER_CSV, .target = "y", .missing = "drop", .unseen_zero = true, .target_optional = true},
        {.format = HAWSER_NPY, .target = "0", .columns = COLUMNS},
        {.format = HAWSER_NPY, .target = "-1", .columns = COLUMNS, .offset = "1", .target_optional = true}};
    hawser_load load = loads[byte % (sizeof loads / sizeof *loads)];
    if (load.columns == 0) {
        load.schema = schema_of_table();
        load.columns = 1;
        while (hawser_schema_print(load.schema, load.columns, NULL, 0) > 0)
            load.columns++;
    }
    load.threads = 1;
    load.rows_layout = 1;
    load.memory_limit = 64 << 20;
    return load;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > MOST)
        return 0;
    hawser_load load = draw_load(data[0]);
    size_t small = 1 + data[0] / 16;
    data++;
    size--;
    reading file = read_file(data, size, &load, 0), cut = read_file(data, size, &load, small);
    reading pipe = read_pipe(data, size, &load, 0), drops = read_pipe(data, size, &load, small);
    reading whole = read_whole(data, size, &load);
    file.sized = load.format == HAWSER_NPY;
    file.zero = load.format != HAWSER_NPY && memchr(data, '\0', size) != NULL;
    same(&file, &cut, "small pieces of a file change nothing");
    const bool archive = size >= 2 && memcmp(data, "PK", 2) == 0; /* which no pipe is read from */
    if (load.format != HAWSER_GUESS && !archive) {                /* a pipe is guessed by what can be read without waiting */
        same(&file, &pipe, "a pipe is read like a file");
        same(&file, &drops, "small pieces of a pipe change nothing");
    }
    bool plain =
        load.format != HAWSER_GUESS && hw_packing_of(data, size) == HW_PLAIN; /* a load from memory unpacks nothing */
    if (plain && file.status == HAWSER_OK && file.rows > 0)
        same(&file, &whole, "pieces have the rows of a load");
    else if (plain && whole.status == HAWSER_OK)
        must(file.status == HAWSER_NO_MEMORY, "what can be loaded can be read in pieces");
    free(file.values);
    free(cut.values);
    free(pipe.values);
    free(drops.values);
    free(whole.values);
    return 0;
}
