/* settle.c - from the cells of a table to a matrix: dense if all columns have numbers, else compressed columns or rows. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/type.h"
#include "data/layout/assemble.h"
#include "data/table/cells.h"
#include "data/table/dates.h"
#include "data/table/table.h"

typedef struct settle_work {
    const struct hw_table *table;
    const hawser_schema *schema;
    const hw_table_wishes *wishes;
    size_t *field;    /* of each column of the table, in the schema's order */
    uint32_t **words; /* of each column: the levels' numbers by those of the survey; NULL: the cells have them */
    uint32_t **idle;  /* the same for the words of rows of weight 0 */
    uint32_t *target, *target_idle; /* the same of the target; NULL */
    hawser_matrix matrix;
    uint64_t *offsets;
    uint32_t *indices;
    void *values;
    double *means;
    bool filling, single;
} settle_work;

static double cell_of(const settle_work *w, uint64_t row, size_t column)
{
    return w->table->cells[row * w->table->rules.width + w->field[column]];
}

static void put_value(const settle_work *w, uint64_t place, double value)
{
    if (w->single)
        ((float *)w->values)[place] = (float)value;
    else
        ((double *)w->values)[place] = value;
}

/* The entries of one cell: at most four columns of the matrix, ascending, and their values. */
typedef struct cell_entries {
    size_t count;
    size_t columns[4];
    double values[4];
} cell_entries;

static void add_entry(cell_entries *e, size_t column, double value)
{
    e->columns[e->count] = column;
    e->values[e->count++] = value;
}

/* `seconds`: since 1970. The day of a date before 1970 begins at the next lower multiple of a day. */
static void date_entries(const hawser_schema_column *shape, double seconds, cell_entries *e)
{
    hw_date_parts parts;
    hw_date_split(seconds, &parts);
    size_t at = shape->first;
    if (seconds != 0)
        add_entry(e, at, seconds / 86400.0);
    add_entry(e, at + 1 + parts.month, 1.0);
    add_entry(e, at + 1 + HW_DATE_MONTHS + parts.weekday, 1.0);
    if (shape->count > 1 + HW_DATE_MONTHS + HW_DATE_WEEKDAYS)
        add_entry(e, at + 1 + HW_DATE_MONTHS + HW_DATE_WEEKDAYS + parts.hour, 1.0);
}

/* Returns the level of a word, by the maps of words and of idle words. */
static uint32_t level_of(uint32_t number, const uint32_t *words, const uint32_t *idle)
{
    if (number == HW_UNKNOWN_WORD || words == NULL)
        return number;
    return (number & HW_IDLE_WORD) != 0 ? idle[number & ~(uint32_t)HW_IDLE_WORD] : words[number];
}

static void entries_of(const settle_work *w, size_t k, double cell, cell_entries *e)
{
    const hw_schema_column *column = &w->schema->columns[k];
    const hawser_schema_column *shape = &column->shape;
    uint32_t number;
    e->count = 0;
    if (shape->kind == HAWSER_NUMERIC) {
        if (isnan(cell) && w->means != NULL)
            cell = w->means[shape->first];
        else if (isnan(cell) && !(w->wishes->keep_missing && w->table->rules.missing_number == HW_MEAN))
            cell = 0; /* --missing zero, or a row of weight 0 */
        if (cell != 0)
            add_entry(e, shape->first, cell);
    } else if (shape->kind == HAWSER_DATE) {
        if (!isnan(cell))
            date_entries(shape, cell, e);
    } else if (hw_cell_word(cell, &number)) {
        number = level_of(number, w->words[k], w->idle[k]);
        if (number != HW_UNKNOWN_WORD)
            add_entry(e, shape->first + number, 1.0);
    } else if (isnan(cell) && w->table->rules.missing_word == HW_LEVEL && hw_levels_find(&column->levels, "", 0, &number)) {
        add_entry(e, shape->first + number, 1.0);
    }
}

/* Columns of the table, each by one thread: counts their entries, or puts them. */
static hawser_status work_columns(void *context, uint32_t thread, hawser_error *error)
{
    const settle_work *w = context;
    uint64_t *places = NULL;
    cell_entries e;
    if (w->filling)
        HAWSER_TRY(HW_NEW(&places, w->schema->width + 1, "places of entries", error));
    for (size_t k = thread; k < w->schema->count; k += w->wishes->threads) {
        const hawser_schema_column *shape = &w->schema->columns[k].shape;
        if (w->filling)
            memcpy(places + shape->first, w->offsets + shape->first, shape->count * sizeof *places);
        for (uint64_t r = 0; r < w->table->rows; r++) {
            entries_of(w, k, cell_of(w, r, k), &e);
            for (size_t i = 0; i < e.count; i++) {
                if (!w->filling) {
                    w->offsets[e.columns[i] + 1]++;
                    continue;
                }
                uint64_t place = places[e.columns[i]]++;
                w->indices[place] = (uint32_t)r;
                put_value(w, place, e.values[i]);
            }
        }
    }
    free(places);
    return HAWSER_OK;
}

/* Does what work_columns does, by runs of rows. */
static hawser_status work_rows(void *context, uint32_t thread, hawser_error *error)
{
    const settle_work *w = context;
    uint64_t rows = w->table->rows, begin = rows * thread / w->wishes->threads,
             end = rows * (thread + 1) / w->wishes->threads;
    cell_entries e;
    (void)error;
    for (uint64_t r = begin; r < end; r++) {
        uint64_t place = w->filling ? w->offsets[r] : 0;
        for (size_t k = 0; k < w->schema->count; k++) {
            entries_of(w, k, cell_of(w, r, k), &e);
            for (size_t i = 0; w->filling && i < e.count; i++) {
                w->indices[place + i] = (uint32_t)e.columns[i];
                put_value(w, place + i, e.values[i]);
            }
            place += e.count;
        }
        if (!w->filling)
            w->offsets[r + 1] = place;
    }
    return HAWSER_OK;
}

static hawser_status own_array(settle_work *w, void **array, uint64_t count, size_t size, const char *what,
                               hawser_dataset *dataset, hawser_error *error)
{
    hw_budget *budget = (hw_budget *)(uintptr_t)&w->table->budget;
    HAWSER_TRY(hw_budget_array(budget, array, count, size, what, error));
    hw_dataset_own(dataset, *array);
    return HAWSER_OK;
}

static hawser_status make_sparse(settle_work *w, hawser_dataset *dataset, hawser_error *error)
{
    bool by_row = w->wishes->by_row;
    uint64_t rows = w->table->rows, lines = by_row ? rows : w->schema->width;
    hw_work work = by_row ? work_rows : work_columns;
    HAWSER_TRY(own_array(w, (void **)&w->offsets, lines + 1, sizeof *w->offsets, "offsets", dataset, error));
    memset(w->offsets, 0, (lines + 1) * sizeof *w->offsets);
    HAWSER_TRY(hw_in_parallel(w->wishes->threads, work, w, error));
    for (uint64_t k = 0; k < lines; k++)
        w->offsets[k + 1] += w->offsets[k];
    uint64_t stored = w->offsets[lines];
    HAWSER_TRY(own_array(w, (void **)&w->indices, stored, sizeof *w->indices, "indices", dataset, error));
    HAWSER_TRY(own_array(w, &w->values, stored, w->single ? 4 : 8, "values", dataset, error));
    w->filling = true;
    HAWSER_TRY(hw_in_parallel(w->wishes->threads, work, w, error));
    dataset->matrix = (hawser_matrix){.rows = rows,
                                      .cols = w->schema->width,
                                      .stored = stored,
                                      .layout = by_row ? HAWSER_CSR : HAWSER_CSC,
                                      .type = w->wishes->type,
                                      .offsets = w->offsets,
                                      .indices = w->indices,
                                      .values = w->values};
    return HAWSER_OK;
}

static hawser_status make_dense(settle_work *w, size_t count, hawser_dataset *dataset, hawser_error *error)
{
    uint64_t rows = w->table->rows;
    bool by_row = w->wishes->dense_rows;
    HAWSER_TRY(own_array(w, &w->values, rows * count, w->single ? 4 : 8, "a dense matrix", dataset, error));
    for (size_t k = 0; k < count; k++)
        for (uint64_t r = 0; r < rows; r++) {
            double cell = cell_of(w, r, k);
            if (isnan(cell) && w->means != NULL)
                cell = w->means[k];
            else if (isnan(cell) && w->table->rules.missing_number != HW_MEAN)
                cell = 0;
            put_value(w, by_row ? r * count + k : k * rows + r, cell);
        }
    dataset->matrix = (hawser_matrix){.rows = rows,
                                      .cols = count,
                                      .stored = rows * count,
                                      .layout = by_row ? HAWSER_DENSE_ROWS : HAWSER_DENSE,
                                      .type = w->wishes->type,
                                      .values = w->values,
                                      .stride = by_row ? count : rows};
    return HAWSER_OK;
}

/* The mean of a column's cells is added up in the order of the rows, as hw_fill_mean does. */
static hawser_status find_means(settle_work *w, size_t count, size_t width, hawser_dataset *dataset, hawser_error *error)
{
    HAWSER_TRY(own_array(w, (void **)&w->means, width, sizeof *w->means, "the columns' means", dataset, error));
    memset(w->means, 0, width * sizeof *w->means);
    double *column = NULL;
    char text[HW_FIELD_CALLED];
    hawser_status status = HW_NEW(&column, w->table->rows, "a column", error);
    for (size_t k = 0; k < count && status == HAWSER_OK; k++) {
        const hawser_schema_column *shape = w->schema != NULL ? &w->schema->columns[k].shape : NULL;
        size_t at = shape != NULL ? shape->first : k;
        if (shape != NULL && shape->kind != HAWSER_NUMERIC)
            continue;
        for (uint64_t r = 0; r < w->table->rows; r++) {
            double cell = cell_of(w, r, k);
            column[r] = w->single ? (double)(float)cell : cell;
        }
        const hw_column_values values = {
            .values = column, .stored = w->table->rows, .step = 1, .rows = w->table->rows, .weights = dataset->weights};
        w->means[at] = hw_fill_mean(&values, w->wishes->means != NULL ? &w->wishes->means[at] : NULL);
        if (isnan(w->means[at]))
            status = hw_no_mean(w->table->input, hw_field_called(&w->table->rules, w->field[k], text), error);
        else if (w->single && isinf((float)w->means[at]))
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: the mean %g of %s is too large for type f32; use f64",
                                 w->table->input, w->means[at], hw_field_called(&w->table->rules, w->field[k], text));
    }
    free(column);
    dataset->means = w->means;
    return status;
}

static hawser_status take_special(settle_work *w, hawser_dataset *dataset, hawser_error *error)
{
    const hw_table_rules *rules = &w->table->rules;
    const double **to[] = {[HW_TARGET] = &dataset->target,
                           [HW_WEIGHTS] = &dataset->weights,
                           [HW_OFFSET] = &dataset->offset,
                           [HW_GROUPS] = &dataset->groups};
    for (size_t j = 0; j < rules->width; j++) {
        double *values;
        if (rules->roles[j] == HW_FEATURE || rules->roles[j] >= HW_UNSEEN)
            continue;
        HAWSER_TRY(own_array(w, (void **)&values, w->table->rows, sizeof *values, "a column", dataset, error));
        for (uint64_t r = 0; r < w->table->rows; r++) {
            uint32_t number;
            values[r] = w->table->cells[r * rules->width + j];
            bool word = hw_cell_word(values[r], &number);
            number = word ? level_of(number, w->target, w->target_idle) : 0;
            if (word)
                values[r] = number == HW_UNKNOWN_WORD ? 0 : number;
            else if (isnan(values[r]))
                values[r] = 0; /* a row of weight 0 */
        }
        if (rules->roles[j] < HW_FURTHER)
            *to[rules->roles[j]] = values;
        else
            dataset->further[rules->roles[j] - HW_FURTHER] = values;
        dataset->further_count += rules->roles[j] >= HW_FURTHER;
    }
    return HAWSER_OK;
}

/* The numbers that the schema gives to the words of a survey. */
static hawser_status map_words(const hw_levels *from, const hw_levels *to, uint32_t **map, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(map, from->count + 1, "the levels of a column", error));
    for (size_t k = 0; k < from->count; k++)
        if (!hw_levels_find(to, from->texts[k], strlen(from->texts[k]), &(*map)[k]))
            (*map)[k] = HW_UNKNOWN_WORD; /* only rows of weight 0 have it */
    return HAWSER_OK;
}

static hawser_status map_all(const hw_survey_column *column, const hw_levels *to, uint32_t **words, uint32_t **idle,
                             hawser_error *error)
{
    HAWSER_TRY(map_words(&column->levels, to, words, error));
    return map_words(&column->idle, to, idle, error);
}

/* Finds the field of each column, and its words' numbers. */
static hawser_status find_fields(settle_work *w, size_t *count, hawser_error *error)
{
    const hw_table_rules *rules = &w->table->rules;
    size_t k = 0;
    for (size_t j = 0; j < rules->width; j++)
        k += rules->roles[j] == HW_FEATURE;
    *count = k;
    HAWSER_TRY(HW_NEW(&w->field, k + 1, "columns", error));
    HAWSER_TRY(HW_NEW(&w->words, k + 1, "columns", error));
    HAWSER_TRY(HW_NEW(&w->idle, k + 1, "columns", error));
    k = 0;
    for (size_t j = 0; j < rules->width; j++) {
        const hw_survey_column *column = &w->table->survey->columns[j];
        if (rules->roles[j] == HW_TARGET && rules->known == NULL && w->schema != NULL && w->schema->target.count > 0)
            HAWSER_TRY(map_all(column, &w->schema->target, &w->target, &w->target_idle, error));
        if (rules->roles[j] != HW_FEATURE)
            continue;
        size_t at = rules->source != NULL ? rules->source[j] : k++;
        w->field[at] = j;
        if (rules->known == NULL && w->schema != NULL && w->schema->columns[at].shape.kind == HAWSER_CATEGORY)
            HAWSER_TRY(map_all(column, &w->schema->columns[at].levels, &w->words[at], &w->idle[at], error));
    }
    return HAWSER_OK;
}

/* Gives the fields of dataset->equals the numbers of their columns. Words and dates have several columns, and are left
 * out. */
static hawser_status place_equals(const settle_work *w, size_t count, hawser_dataset *dataset, hawser_error *error)
{
    const hw_table_rules *rules = &w->table->rules;
    hw_equals own = dataset->equals;
    size_t kept = 0, *places = NULL;
    if (own.count == 0)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&places, rules->width, "columns", error));
    for (size_t k = 0; k < count; k++)
        places[w->field[k]] = k;
    dataset->equals = (hw_equals){0};
    for (size_t e = 0; e < own.count; e++) {
        hw_equal item = own.items[e];
        unsigned role = rules->roles[item.column];
        const size_t k = places[item.column];
        const hawser_schema_column *shape = role == HW_FEATURE && w->schema != NULL ? &w->schema->columns[k].shape : NULL;
        if (shape != NULL && shape->kind != HAWSER_NUMERIC)
            continue;
        item.column = shape != NULL        ? (uint32_t)shape->first
                      : role == HW_FEATURE ? (uint32_t)k
                      : role == HW_TARGET  ? HW_EQUAL_TARGET(0)
                                           : HW_EQUAL_TARGET(1 + role - HW_FURTHER);
        own.items[kept++] = item;
    }
    own.count = kept;
    hw_equals_take(&dataset->equals, &own);
    free(places);
    return HAWSER_OK;
}

static hawser_status settle(settle_work *w, size_t *count, hawser_dataset *dataset, hawser_error *error)
{
    HAWSER_TRY(find_fields(w, count, error));
    HAWSER_TRY(place_equals(w, *count, dataset, error));
    HAWSER_TRY(take_special(w, dataset, error));
    if (dataset->figures.text_rules != 0)
        return HAWSER_OK; /* the words of a text are the matrix already */
    bool plain = w->schema == NULL || hw_schema_is_plain(w->schema);
    size_t width = plain ? *count : w->schema->width;
    if (w->table->rules.missing_number == HW_MEAN && !w->wishes->keep_missing)
        HAWSER_TRY(find_means(w, *count, width, dataset, error));
    return plain ? make_dense(w, *count, dataset, error) : make_sparse(w, dataset, error);
}

hawser_status hw_table_settle(struct hw_table *table, const hawser_schema *schema, const hw_table_wishes *wishes,
                              hawser_dataset *dataset, hawser_error *error)
{
    settle_work w = {.table = table, .schema = schema, .wishes = wishes, .single = wishes->type == HAWSER_F32};
    size_t count = 0;
    hawser_status status = settle(&w, &count, dataset, error);
    for (size_t k = 0; w.idle != NULL && k < count; k++) {
        free(w.words[k]);
        free(w.idle[k]);
    }
    free(w.words);
    free(w.idle);
    free(w.target);
    free(w.target_idle);
    free(w.field);
    hw_pages_free(&table->budget, table->cells, table->bytes);
    table->cells = NULL;
    table->bytes = 0;
    return status;
}
