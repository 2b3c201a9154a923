/* csv_roles.c - what each field of a table is read as: by the options of the load, or by the columns of a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/exposure.h"
#include "data/format/csv.h"
#include "data/layout/assemble.h"
#include "data/table/whole.h"

static hawser_status no_column(const hw_reading *reading, const hw_csv *csv, const char *what, const char *spec, bool file,
                               hawser_error *error)
{
    char names[200] = "";
    size_t length = 0, j = 0;
    for (; csv->rules.names != NULL && j < csv->rules.width; j++) {
        if (length + strlen(csv->rules.names[j]) + 32 >= sizeof names)
            break;
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", j == 0 ? "; its columns are " : ", ",
                                   csv->rules.names[j]);
    }
    if (length > 0 && j < csv->rules.width)
        (void)snprintf(names + length, sizeof names - length, ", ...");
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the %s '%.100s' is %s column (of %zu, from 0)%s%s",
                       reading->input.files[0].name, what, spec, file ? "neither a" : "no", csv->rules.width,
                       file ? " nor a file" : "", names);
}

/* Gives a column the role that `spec` asks for; a spec that names none must be a file, unless it need not be there. */
static hawser_status give_role(const hw_reading *reading, hw_csv *csv, const char *what, const char *spec,
                               unsigned char role, bool optional, hawser_error *error)
{
    hw_table_rules *rules = &csv->rules;
    if (spec == NULL || strcmp(spec, "none") == 0)
        return HAWSER_OK;
    size_t column = hw_csv_column(spec, rules->names, rules->width);
    if (column == rules->width)
        return optional || hw_is_file(spec) ? HAWSER_OK : no_column(reading, csv, what, spec, true, error);
    if (rules->roles[column] != HW_FEATURE)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the %s '%s' names a column that has another role",
                           reading->input.files[0].name, what, spec);
    rules->roles[column] = role;
    return HAWSER_OK;
}

static hawser_status give_groups(const hw_reading *reading, hw_csv *csv, hawser_error *error)
{
    const char *spec = reading->load->groups;
    if (spec != NULL && hw_csv_column(spec, csv->rules.names, csv->rules.width) == csv->rules.width)
        return no_column(reading, csv, "groups", spec, false, error);
    return give_role(reading, csv, "groups", spec, HW_GROUPS, false, error);
}

/* The columns of a table by their names, for lists of many. */
typedef struct name_index {
    const hw_table_rules *rules;
    hw_levels names;
    size_t *columns; /* by number of the name: the first column that has it */
    size_t longest;
} name_index;

static void index_free(name_index *index)
{
    hw_levels_free(&index->names);
    free(index->columns);
}

static hawser_status index_names(const hw_table_rules *rules, name_index *index, hawser_error *error)
{
    *index = (name_index){.rules = rules};
    hawser_status status = HW_NEW(&index->columns, rules->width, "column names", error);
    for (size_t j = 0; rules->names != NULL && j < rules->width && status == HAWSER_OK; j++) {
        size_t length = strlen(rules->names[j]), known = index->names.count;
        uint32_t number;
        status = hw_levels_put(&index->names, rules->names[j], length, &number, error);
        if (status == HAWSER_OK && number == known)
            index->columns[number] = j;
        index->longest = length > index->longest ? length : index->longest;
    }
    if (status != HAWSER_OK)
        index_free(index);
    return status;
}

/* As hw_csv_column, for the `length` bytes at `spec`, which a zero byte ends. */
static size_t index_find(const name_index *index, const char *spec, size_t length)
{
    uint32_t number;
    if (length <= index->longest && hw_levels_find(&index->names, spec, length, &number))
        return index->columns[number];
    return hw_csv_column(spec, NULL, index->rules->width);
}

/* Cuts the first name off a list that ends at `end`: the longest beginning up to a comma, or the whole, that names a column.
 * If none does, it is the text up to the first comma, and the result is the width. Only the first comma may end a number,
 * and no comma beyond the longest name ends a name, so a list takes time in proportion to its length. */
static size_t next_of_list(const name_index *index, char *at, char *end, char **next)
{
    size_t width = index->rules->width, found = width, column, length = (size_t)(end - at);
    char *first = memchr(at, ',', length), *cut = first;
    *next = NULL;
    if (first == NULL || length <= index->longest) {
        column = index_find(index, at, length);
        if (column < width || first == NULL)
            return column;
    }
    for (char *comma = first; comma != NULL; comma = memchr(comma + 1, ',', (size_t)(end - comma - 1))) {
        if (comma != first && (size_t)(comma - at) > index->longest)
            break;
        *comma = '\0';
        column = index_find(index, at, (size_t)(comma - at));
        *comma = ',';
        cut = column < width ? comma : cut;
        found = column < width ? column : found;
    }
    *cut = '\0';
    *next = cut + 1;
    return found;
}

/* Calls `take` for each column of a list, whose names may have commas in them. `optional`: what names no column is passed
 * over. */
static hawser_status each_column(const hw_reading *reading, hw_csv *csv, const char *what, const char *list, bool optional,
                                 hawser_status (*take)(const hw_reading *reading, hw_csv *csv, const char *what,
                                                       size_t column, hawser_error *error),
                                 hawser_error *error)
{
    const hw_table_rules *rules = &csv->rules;
    name_index index;
    char *copy;
    HAWSER_TRY(index_names(rules, &index, error));
    hawser_status status = hw_copy_text(&copy, list, error);
    if (status != HAWSER_OK) {
        index_free(&index);
        return status;
    }
    char *end = copy + strlen(copy);
    for (char *at = copy, *next; at != NULL && status == HAWSER_OK; at = next) {
        size_t column = next_of_list(&index, at, end, &next);
        if (column < rules->width)
            status = take(reading, csv, what, column, error);
        else if (!optional)
            status = no_column(reading, csv, what, at, false, error);
    }
    free(copy);
    index_free(&index);
    return status;
}

/* Gives a column the role of the next target. */
static hawser_status take_target(const hw_reading *reading, hw_csv *csv, const char *what, size_t column,
                                 hawser_error *error)
{
    hw_table_rules *rules = &csv->rules;
    char text[HW_FIELD_CALLED];
    size_t count = 0;
    for (size_t j = 0; j < rules->width; j++)
        count += rules->roles[j] == HW_TARGET || (rules->roles[j] >= HW_FURTHER && rules->roles[j] < HW_UNSEEN);
    if (rules->roles[column] != HW_FEATURE)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the %s names %s twice, or one that has another role",
                           reading->input.files[0].name, what, hw_field_called(rules, column, text));
    if (count > HW_FURTHER_TARGETS)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: more than %d targets", reading->input.files[0].name,
                           HW_FURTHER_TARGETS + 1);
    rules->roles[column] = (unsigned char)(count == 0 ? HW_TARGET : HW_FURTHER + count - 1);
    return HAWSER_OK;
}

/* Gives the columns of a list the roles of targets, unless it is a file of targets. */
static hawser_status give_targets(const hw_reading *reading, hw_csv *csv, const char *list, hawser_error *error)
{
    bool column = hw_csv_column(list, csv->rules.names, csv->rules.width) < csv->rules.width;
    if (strcmp(list, "none") == 0 || (!column && hw_is_file(list)))
        return HAWSER_OK;
    return each_column(reading, csv, "target", list, false, take_target, error);
}

/* Leaves a target of new data of a model unread. */
static hawser_status skip_target(const hw_reading *reading, hw_csv *csv, const char *what, size_t column,
                                 hawser_error *error)
{
    (void)reading, (void)what, (void)error;
    if (csv->rules.roles[column] == HW_FEATURE)
        csv->rules.roles[column] = HW_IGNORED;
    return HAWSER_OK;
}

static hawser_status ignore_column(const hw_reading *reading, hw_csv *csv, const char *what, size_t column,
                                   hawser_error *error)
{
    char text[HW_FIELD_CALLED];
    (void)what;
    if (csv->rules.roles[column] != HW_FEATURE && csv->rules.roles[column] != HW_IGNORED)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--ignore: %s of %s is the target, weights or offset; --target none leaves the target out",
                           hw_field_called(&csv->rules, column, text), reading->input.files[0].name);
    csv->rules.roles[column] = HW_IGNORED;
    return HAWSER_OK;
}

/* While a list of features is read, HW_IGNORED marks the others. */
static hawser_status select_column(const hw_reading *reading, hw_csv *csv, const char *what, size_t column,
                                   hawser_error *error)
{
    char text[HW_FIELD_CALLED];
    (void)what;
    if (csv->rules.roles[column] == HW_FEATURE)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--columns: names %s of %s twice",
                           hw_field_called(&csv->rules, column, text), reading->input.files[0].name);
    if (csv->rules.roles[column] != HW_IGNORED)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--columns: %s of %s is the target, weights or offset",
                           hw_field_called(&csv->rules, column, text), reading->input.files[0].name);
    csv->rules.roles[column] = HW_FEATURE;
    return HAWSER_OK;
}

static hawser_status read_as(const hw_reading *reading, hw_csv *csv, const char *what, size_t column, hw_text text,
                             hawser_error *error)
{
    hw_table_rules *rules = &csv->rules;
    bool target = rules->roles[column] == HW_TARGET;
    char called[HW_FIELD_CALLED];
    if (rules->texts == NULL)
        HAWSER_TRY(HW_NEW(&rules->texts, rules->width, "columns", error));
    if (rules->roles[column] != HW_FEATURE && !(target && text == HW_TEXT_WORDS))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--%s: %s of %s is no feature", what,
                           hw_field_called(rules, column, called), reading->input.files[0].name);
    if (rules->texts[column] != HW_TEXT_AUTO && rules->texts[column] != text)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--%s: %s of %s has words (--categories) or dates (--dates), not both",
                           what, hw_field_called(rules, column, called), reading->input.files[0].name);
    rules->texts[column] = text;
    return HAWSER_OK;
}

static hawser_status read_as_words(const hw_reading *reading, hw_csv *csv, const char *what, size_t column,
                                   hawser_error *error)
{
    return read_as(reading, csv, what, column, HW_TEXT_WORDS, error);
}

static hawser_status read_as_dates(const hw_reading *reading, hw_csv *csv, const char *what, size_t column,
                                   hawser_error *error)
{
    return read_as(reading, csv, what, column, HW_TEXT_DATES, error);
}

/* HOW, or NUMBERS,WORDS. */
static hawser_status read_missing(const char *spec, hw_table_rules *rules, hawser_error *error)
{
    static const char *const words[] = {"refuse", "zero", "mean", "drop", "level"};
    hw_missing how[2] = {HW_REFUSE, HW_REFUSE};
    size_t count = 0;
    for (const char *at = spec; at != NULL && count < 2; count++) {
        size_t length = strcspn(at, ","), k = 0;
        while (k < 5 && (strlen(words[k]) != length || strncmp(words[k], at, length) != 0))
            k++;
        if (k == 5)
            break;
        how[count] = (hw_missing)k;
        at = at[length] == ',' ? at + length + 1 : NULL;
        if (at == NULL)
            spec = NULL;
    }
    bool both = count == 2;
    if (spec != NULL || (both && (how[0] == HW_DROP || how[0] == HW_LEVEL || how[1] == HW_DROP || how[1] == HW_MEAN)))
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--missing: expected refuse, zero, mean, drop or level, or one of refuse, zero and mean for numbers "
            "and one of refuse, zero and level for words, as mean,level");
    rules->missing_number = !both && how[0] == HW_LEVEL ? HW_REFUSE : how[0];
    rules->missing_word = both ? how[1] : how[0] == HW_MEAN ? HW_REFUSE : how[0];
    return HAWSER_OK;
}

/* Returns whether the columns of a model differ by their names. One of several may have none, as the numbers of rows that
 * pandas writes; two could not be told apart, and one column alone without a name is of a file without names. */
static bool csv_is_named(const hawser_schema *schema)
{
    size_t unnamed = 0;
    for (size_t k = 0; k < schema->count; k++)
        unnamed += schema->columns[k].shape.name[0] == '\0';
    return unnamed == 0 || (unnamed == 1 && schema->count > 1);
}

static hawser_status other_count(const hw_reading *reading, size_t features, size_t count, hawser_error *error)
{
    return hawser_fail(
        error, HAWSER_BAD_INPUT,
        "%s: has %zu columns besides target, weights and offset, and the model has %zu; without names on both "
        "sides they are matched by position",
        reading->input.files[0].name, features, count);
}

/* Refuses a field in the place of a column of the model that has another name. */
static hawser_status check_place(const hw_reading *reading, const hw_table_rules *rules, size_t field, size_t column,
                                 hawser_error *error)
{
    if (rules->names == NULL || rules->known == NULL || column >= rules->known->count)
        return HAWSER_OK;
    const char *name = rules->known->columns[column].shape.name;
    if (name[0] == '\0' || rules->names[field][0] == '\0' || hw_csv_is_name(name, name + strlen(name), rules->names[field]))
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_BAD_INPUT,
        "%s: column %zu is '%.100s', and the model has '%.100s' in its place; columns of the model have no name, "
        "so that all are matched by position: give the columns in the order of the training",
        reading->input.files[0].name, field, rules->names[field], name);
}

/* Without names, features are the model's columns in its order: exactly these. */
static hawser_status match_positions(const hw_reading *reading, hw_csv *csv, size_t count, hawser_error *error)
{
    hw_table_rules *rules = &csv->rules;
    size_t features = 0;
    for (size_t j = 0; j < rules->width; j++)
        if (rules->roles[j] == HW_FEATURE)
            rules->source[j] = features++;
    if (features != count)
        return other_count(reading, features, count, error);
    for (size_t j = 0; j < rules->width; j++)
        if (rules->roles[j] == HW_FEATURE)
            HAWSER_TRY(check_place(reading, rules, j, rules->source[j], error));
    return HAWSER_OK;
}

static hawser_status match_names(const hw_reading *reading, hw_csv *csv, hawser_error *error)
{
    hw_table_rules *rules = &csv->rules;
    const hawser_schema *known = rules->known;
    hw_levels names = {0};
    hawser_status status = HAWSER_OK;
    size_t *field = NULL;
    uint32_t number;
    for (size_t k = 0; k < known->count && status == HAWSER_OK; k++) {
        const char *name = known->columns[k].shape.name + strspn(known->columns[k].shape.name, " \t");
        size_t length = strlen(name);
        while (length > 0 && strchr(" \t", name[length - 1]) != NULL)
            length--;
        status = hw_levels_put(&names, name, length, &number, error);
        if (status == HAWSER_OK && number != k)
            status = hawser_fail(error, HAWSER_BAD_INPUT,
                                 "the model has two columns '%.100s', so that columns cannot be matched "
                                 "by name",
                                 name);
    }
    if (status == HAWSER_OK)
        status = HW_NEW(&field, known->count + 1, "columns", error);
    for (size_t j = 0; j < rules->width && status == HAWSER_OK; j++) {
        if (rules->roles[j] != HW_FEATURE)
            continue;
        bool found = hw_levels_find(&names, rules->names[j], strlen(rules->names[j]), &number);
        if (found && field[number] != 0)
            status =
                hawser_fail(error, HAWSER_BAD_INPUT,
                            "%s: columns %zu and %zu (from 0) have no name, and the model has one such column; name them, "
                            "or leave one out (--ignore)",
                            reading->input.files[0].name, field[number] - 1, j);
        else if (found)
            field[rules->source[j] = number] = j + 1;
        else
            rules->roles[j] = HW_UNSEEN;
    }
    for (size_t k = 0; k < known->count && status == HAWSER_OK; k++)
        if (field[k] == 0)
            status =
                hawser_fail(error, HAWSER_BAD_INPUT, "%s: has no column '%.100s', which the model needs%s",
                            reading->input.files[0].name, known->columns[k].shape.name,
                            reading->load->guess_text
                                ? ": its columns are words of text; name the column of the texts (--text), or read lines as "
                                  "documents (--format text; for --validation a name without .csv)"
                                : "");
    free(field);
    hw_levels_free(&names);
    return status;
}

/* How the model's columns are read: words and dates, and the target's words. */
static hawser_status read_as_known(hw_csv *csv, hawser_error *error)
{
    hw_table_rules *rules = &csv->rules;
    if (hw_schema_is_plain(rules->known) && rules->known->target.count == 0)
        return HAWSER_OK;
    if (rules->texts == NULL)
        HAWSER_TRY(HW_NEW(&rules->texts, rules->width, "columns", error));
    for (size_t j = 0; j < rules->width; j++) {
        hawser_column_kind kind = HAWSER_NUMERIC;
        if (rules->roles[j] == HW_FEATURE)
            kind = rules->known->columns[rules->source[j]].shape.kind;
        if (csv->text == j + 1)
            continue;
        bool words = kind == HAWSER_CATEGORY || (rules->roles[j] == HW_TARGET && rules->known->target.count > 0);
        rules->texts[j] = words ? HW_TEXT_WORDS : kind == HAWSER_DATE ? HW_TEXT_DATES : HW_TEXT_AUTO;
    }
    return HAWSER_OK;
}

static hawser_status match_model(const hw_reading *reading, hw_csv *csv, hawser_error *error)
{
    hw_table_rules *rules = &csv->rules;
    rules->known = reading->load->schema;
    if (csv->text != 0)
        return read_as_known(csv, error);
    HAWSER_TRY(HW_NEW(&rules->source, rules->width, "columns", error));
    HAWSER_TRY(rules->names != NULL && csv_is_named(rules->known)
                   ? match_names(reading, csv, error)
                   : match_positions(reading, csv, rules->known->count, error));
    return read_as_known(csv, error);
}

/* A model whose number of columns alone is known. */
static hawser_status match_count(const hw_reading *reading, const hw_csv *csv, hawser_error *error)
{
    size_t features = 0, count = reading->load->columns;
    for (size_t j = 0; j < csv->rules.width; j++)
        features += csv->rules.roles[j] == HW_FEATURE;
    return count == 0 || features == count ? HAWSER_OK : other_count(reading, features, count, error);
}

/* The target in new data of a model. By name it may be missing; by position there are exactly the model's columns, or one
 * more where its target was. A target that is not needed is not read, so that a damaged one stops nothing. */
static hawser_status give_target(const hw_reading *reading, hw_csv *csv, hawser_error *error)
{
    const hawser_load *load = reading->load;
    hw_table_rules *rules = &csv->rules;
    bool by_name = load->schema != NULL && rules->names != NULL && csv_is_named(load->schema);
    unsigned char role = load->target_optional ? HW_IGNORED : HW_TARGET;
    size_t features = 0, count = load->schema != NULL ? load->schema->count : load->columns;
    for (size_t j = 0; j < rules->width; j++)
        features += rules->roles[j] == HW_FEATURE;
    if (!by_name && load->target_optional && features == count)
        return HAWSER_OK;
    if (load->outputs && load->target != NULL)
        return load->target_optional ? each_column(reading, csv, "target", load->target, true, skip_target, error)
                                     : give_targets(reading, csv, load->target, error);
    if (!by_name && csv->id != 0 && csv->id <= load->target_place)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s: has no names, and the column of ids (%zu) may have moved the target, which was column %zu: say where "
            "it is with --target",
            reading->input.files[0].name, csv->id - 1, load->target_place - 1);
    if (!by_name && load->target_place > 0 && load->target_place <= rules->width) {
        rules->roles[load->target_place - 1] = role;
        return HAWSER_OK;
    }
    if (load->target != NULL)
        return give_role(reading, csv, "target", load->target, role, load->target_optional, error);
    if (!by_name && rules->roles[0] == HW_FEATURE)
        rules->roles[0] = role;
    return HAWSER_OK;
}

/* The column that identifies rows is a feature only if the model has a column of that name. */
static hawser_status give_id(const hw_reading *reading, hw_csv *csv, hawser_error *error)
{
    const hawser_schema *known = reading->load->schema;
    hw_table_rules *rules = &csv->rules;
    size_t column = hw_csv_column(reading->load->id, rules->names, rules->width);
    if (column == rules->width)
        return no_column(reading, csv, "id", reading->load->id, false, error);
    csv->id = column + 1;
    bool feature = false, named = known != NULL && rules->names != NULL && csv_is_named(known);
    for (size_t k = 0; named && k < known->count; k++)
        feature |= strcmp(known->columns[k].shape.name, rules->names[column]) == 0;
    if (!feature && rules->roles[column] == HW_FEATURE)
        rules->roles[column] = HW_IGNORED;
    return HAWSER_OK;
}

/* Finds the columns of labels and groups, whose whole numbers may be larger than a double holds exactly. */
static hawser_status find_labels(const hw_reading *reading, hw_csv *csv, hawser_error *error)
{
    hw_table_rules *rules = &csv->rules;
    for (size_t j = 0; j < rules->width; j++) {
        bool target = rules->roles[j] == HW_TARGET, words = rules->texts != NULL && rules->texts[j] != HW_TEXT_AUTO;
        csv->group = rules->roles[j] == HW_GROUPS ? j + 1 : csv->group;
        if (!target)
            continue;
        if (rules->known != NULL) {
            csv->exact_labels = hw_levels_are_labels(&rules->known->target);
        } else if (reading->load->labels == HW_LABELS_AS_WORDS && !words) {
            csv->exact_labels = true;
            if (rules->texts == NULL)
                HAWSER_TRY(HW_NEW(&rules->texts, rules->width, "columns", error));
            rules->texts[j] = HW_TEXT_WORDS;
        } else if (reading->load->labels != 0 && !words) {
            csv->label = j + 1;
        }
    }
    return HAWSER_OK;
}

/* A list of the names of columns, as text. */
typedef struct name_list {
    char *text;
    size_t size, length, count;
} name_list;

static hawser_status add_name(name_list *list, const char *name, size_t number, hawser_error *error)
{
    enum { SHOWN = 6 };
    const size_t most = 4 * strlen(name) + 32;
    if (list->count++ > SHOWN)
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&list->text, &list->size, list->length + most, "names of columns", error));
    char *at = list->text + list->length;
    const char *between = list->count > 1 ? ", " : "";
    if (list->count > SHOWN)
        list->length += (size_t)snprintf(at, most, ", ...");
    else if (name[0] == '\0')
        list->length += (size_t)snprintf(at, most, "%s%zu", between, number);
    else
        list->length += (size_t)snprintf(at, most, "%s'%s'", between, name);
    return HAWSER_OK;
}

hawser_status hw_csv_name_unread(const hw_csv *csv, char **names, hawser_error *error)
{
    const hw_table_rules *rules = &csv->rules;
    name_list list = {0};
    hawser_status status = HAWSER_OK;
    for (size_t j = 0; j < rules->width && status == HAWSER_OK; j++)
        if (rules->roles[j] == HW_BESIDE)
            status = add_name(&list, rules->names != NULL ? rules->names[j] : "", j, error);
    *names = list.text;
    return status;
}

/* Refuses options about features that are columns of their own. */
static hawser_status check_text(const hawser_load *load, hawser_error *error)
{
    const char *const others[][2] = {{"columns", load->select}, {"dates", load->dates}};
    for (size_t k = 0; k < 2; k++)
        if (others[k][1] != NULL)
            return hawser_fail(
                error, HAWSER_BAD_OPTION,
                "--%s %.100s: with --text %.100s the features are the words of that column alone; leave one of the "
                "two out",
                others[k][0], others[k][1], load->text);
    return HAWSER_OK;
}

/* Refuses a table without the column of texts, which may be no table. */
static hawser_status no_text(const hw_reading *reading, const hw_csv *csv, hawser_error *error)
{
    const hawser_status status = no_column(reading, csv, "text", reading->load->text, false, error);
    if (error == NULL || !reading->load->guess_text)
        return status;
    const hawser_error before = *error;
    return hawser_fail(error, status,
                       "%.600s; name another column with --text, or read lines as documents with --format text",
                       before.text);
}

/* Finds the column whose words are the features. Other columns without a role are not read. */
static hawser_status give_text(const hw_reading *reading, hw_csv *csv, hawser_error *error)
{
    const hawser_load *load = reading->load;
    hw_table_rules *rules = &csv->rules;
    char text[HW_FIELD_CALLED];
    const size_t column = hw_csv_column(load->text, rules->names, rules->width);
    HAWSER_TRY(check_text(load, error));
    if (column == rules->width)
        return no_text(reading, csv, error);
    const unsigned role = rules->roles[column];
    if (role != HW_FEATURE && role != HW_UNSEEN) {
        const bool first = role == HW_TARGET && load->target == NULL;
        return hawser_fail(
            error, HAWSER_BAD_OPTION, "--text: %s of %s %s", hw_field_called(rules, column, text),
            reading->input.files[0].name,
            first ? "is the first one, which is the target by default; name the target (--target COLUMN, FILE or none)"
                  : "has another role, such as the target, or is ignored");
    }
    csv->text = column + 1;
    for (size_t j = 0; j < rules->width; j++)
        rules->roles[j] = rules->roles[j] == HW_FEATURE ? HW_BESIDE : rules->roles[j];
    rules->roles[column] = HW_IGNORED;
    if (rules->texts == NULL)
        HAWSER_TRY(HW_NEW(&rules->texts, rules->width, "columns", error));
    rules->texts[column] = HW_TEXT_WORDS;
    return HAWSER_OK;
}

static hawser_status give_roles(hw_reading *reading, hw_csv *csv, hawser_error *error)
{
    const hawser_load *load = reading->load;
    hw_table_rules *rules = &csv->rules;
    HAWSER_TRY(read_missing(load->missing, rules, error));
    HAWSER_TRY(HW_NEW(&rules->roles, rules->width, "columns", error));
    bool known = load->schema != NULL || load->columns != 0;
    if (!known && load->target == NULL)
        rules->roles[0] = HW_TARGET; /* the first, whatever it is called: a name may be a number */
    if (!known && load->outputs && load->target != NULL)
        HAWSER_TRY(give_targets(reading, csv, load->target, error));
    else if (!known)
        HAWSER_TRY(give_role(reading, csv, "target", load->target, HW_TARGET, false, error));
    HAWSER_TRY(give_role(reading, csv, "weights", load->weights, HW_WEIGHTS, false, error));
    const char *offset = hw_load_exposes(load) ? "exposure" : "offset";
    HAWSER_TRY(give_role(reading, csv, offset, hw_load_offset(load), HW_OFFSET, false, error));
    for (size_t j = 0; hw_load_exposes(load) && j < rules->width; j++)
        csv->exposure = rules->roles[j] == HW_OFFSET ? j + 1 : csv->exposure;
    for (size_t j = 0; j < rules->width; j++)
        csv->weights = rules->roles[j] == HW_WEIGHTS ? j + 1 : csv->weights;
    csv->weighed_later = csv->weights == 0 && load->weights != NULL && strcmp(load->weights, "none") != 0;
    HAWSER_TRY(give_groups(reading, csv, error));
    if (load->id != NULL)
        HAWSER_TRY(give_id(reading, csv, error));
    if (known)
        HAWSER_TRY(give_target(reading, csv, error));
    if (load->ignore != NULL)
        HAWSER_TRY(each_column(reading, csv, "ignored column", load->ignore, false, ignore_column, error));
    for (size_t j = 0; load->select != NULL && j < rules->width; j++)
        rules->roles[j] = rules->roles[j] == HW_FEATURE ? HW_IGNORED : rules->roles[j];
    if (load->select != NULL)
        HAWSER_TRY(each_column(reading, csv, "feature", load->select, false, select_column, error));
    if (load->text != NULL)
        HAWSER_TRY(give_text(reading, csv, error));
    if (load->schema != NULL)
        return match_model(reading, csv, error);
    bool words = load->categories != NULL && strcmp(load->categories, "auto") != 0 && strcmp(load->categories, "none") != 0;
    if (known && (words || load->dates != NULL))
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s = '%s': the columns are a model's that has numbers only",
                           words ? "categories" : "dates", words ? load->categories : load->dates);
    if (load->dates != NULL)
        HAWSER_TRY(each_column(reading, csv, "dates", load->dates, false, read_as_dates, error));
    if (words)
        HAWSER_TRY(each_column(reading, csv, "categories", load->categories, false, read_as_words, error));
    if (csv->text != 0)
        return HAWSER_OK;
    return match_count(reading, csv, error);
}

hawser_status hw_csv_roles(hw_reading *reading, hw_csv *csv, hawser_error *error)
{
    HAWSER_TRY(give_roles(reading, csv, error));
    return find_labels(reading, csv, error);
}
