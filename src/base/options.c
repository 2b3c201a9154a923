/* options.c - a set of option values over tables of rows. */
#include "hawser/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/distance.h"
#include "base/memory.h"
#include "base/option_value.h"

enum { LONGEST_PLACE = 300, LONGEST_KEY = 64 };

typedef struct hw_slot {
    const hawser_option *row;
    const char *text; /* NULL: unset */
    const char *where;
    bool copied; /* text and where are the slot's; those of a default are the row's */
    hawser_source source;
    hw_option_value value;
    atomic_bool was_read;
} hw_slot;

struct hawser_options {
    hw_slot *slots;
    size_t count;
};

/* -------------------------------------------------------------------------------------------------------- set ---- */

static hw_slot *find(const hawser_options *options, const char *key)
{
    for (size_t i = 0; options != NULL && key != NULL && i < options->count; i++)
        if (strcmp(options->slots[i].row->key, key) == 0)
            return &options->slots[i];
    return NULL;
}

static hw_slot *find_letter(const hawser_options *options, char letter)
{
    for (size_t i = 0; i < options->count; i++)
        if (options->slots[i].row->letter == letter && letter != '\0')
            return &options->slots[i];
    return NULL;
}

static const char *nearest(const hawser_options *options, const char *key, bool flags)
{
    hw_nearest found = hw_nearest_to(key);
    for (size_t i = 0; i < options->count; i++)
        if (!flags || options->slots[i].row->kind == HAWSER_FLAG)
            (void)hw_nearest_try(&found, options->slots[i].row->key);
    return found.best;
}

/* "exchange-every" -> "HAWSER_EXCHANGE_EVERY". */
static void variable_name(const char *key, char name[LONGEST_KEY + 8])
{
    size_t n = (size_t)snprintf(name, LONGEST_KEY + 8, "HAWSER_");
    for (; *key != '\0' && n + 1 < LONGEST_KEY + 8; key++, n++)
        name[n] = *key == '-' ? '_' : (char)toupper((unsigned char)*key);
    name[n] = '\0';
}

/* Finds the slot of a variable by its name, because keys may have capitals (C). */
static hw_slot *find_variable(const hawser_options *options, const char *variable, size_t length)
{
    char name[LONGEST_KEY + 8];
    for (size_t i = 0; i < options->count; i++) {
        variable_name(options->slots[i].row->key, name);
        if (strlen(name) == length && strncmp(name, variable, length) == 0)
            return &options->slots[i];
    }
    return NULL;
}

static hawser_status unknown_flag(const hawser_options *options, const char *key, const char *where, hawser_error *error)
{
    const char *known = nearest(options, key, false);
    const char *negated = strncmp(key, "no-", 3) == 0 ? nearest(options, key + 3, true) : NULL;
    if (negated != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "unknown option %s; did you mean --no-%s?", where, negated);
    if (known != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "unknown option %s; did you mean --%s?", where, known);
    return hawser_fail(error, HAWSER_BAD_OPTION, "unknown option %s%s", where,
                       find(options, "help-all") != NULL ? "; --help-all lists all"
                       : find(options, "help") != NULL   ? "; --help lists all"
                                                         : "");
}

/* Writes a key as a keyword argument of a binding: "exchange_every". */
static const char *keyword(const char *key, char name[LONGEST_KEY + 8])
{
    snprintf(name, LONGEST_KEY + 8, "%s", key);
    for (char *at = name; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
    return name;
}

static hawser_status unknown_key(const hawser_options *options, const char *key, hawser_source source, const char *where,
                                 hawser_error *error)
{
    if (source == HAWSER_FROM_COMMAND_LINE)
        return unknown_flag(options, key, where, error);
    const char *known = nearest(options, key, false);
    bool variable = source == HAWSER_FROM_ENVIRONMENT;
    char name[LONGEST_KEY + 8];
    if (source == HAWSER_FROM_CALL && known != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "unknown option %s; did you mean %s=?", where, keyword(known, name));
    if (source == HAWSER_FROM_CALL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "unknown option %s", where);
    if (known == NULL && variable)
        return hawser_fail(error, HAWSER_BAD_OPTION, "unknown environment variable %s", where);
    if (known == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: there is no option '%s'", where, key);
    variable_name(known, name);
    if (variable)
        return hawser_fail(error, HAWSER_BAD_OPTION, "unknown environment variable %s; did you mean %s?", where, name);
    return hawser_fail(error, HAWSER_BAD_OPTION, "%s: unknown key '%s'; did you mean '%s'?", where, key, known);
}

static void clear(hw_slot *slot)
{
    if (slot->copied) {
        free((char *)slot->text);
        free((char *)slot->where);
    }
    hw_option_value_clear(&slot->value);
}

/* Replaces both texts or neither, so that a failed allocation keeps the old value. */
static hawser_status slot_set(hw_slot *slot, const char *text, hawser_source source, const char *where, hawser_error *error)
{
    hw_option_value value;
    char place[LONGEST_PLACE + LONGEST_KEY + 8]; /* flags and variables contain the key already */
    bool named = source >= HAWSER_FROM_ENVIRONMENT;
    snprintf(place, sizeof place, named ? "%.*s" : "%.*s: %s", LONGEST_PLACE, where, slot->row->key);
    HAWSER_TRY(hw_option_value_read(slot->row, text, place, &value, error));
    if (source < slot->source) {
        hw_option_value_clear(&value);
        return HAWSER_OK;
    }
    char *text_copy = NULL, *where_copy = NULL;
    hawser_status status = hw_copy_text(&text_copy, text, error);
    HAWSER_THEN(status, hw_copy_text(&where_copy, where, error));
    if (status != HAWSER_OK) {
        free(text_copy);
        hw_option_value_clear(&value);
        return status;
    }
    clear(slot);
    slot->text = text_copy;
    slot->where = where_copy;
    slot->copied = true;
    slot->source = source;
    slot->value = value;
    return HAWSER_OK;
}

static hawser_status add_row(hawser_options *options, const hawser_option *row, hawser_error *error)
{
    if (strlen(row->key) >= LONGEST_KEY)
        return hawser_fail(error, HAWSER_INTERNAL, "option row '%s' has too long a key", row->key);
    if ((unsigned)row->kind > HAWSER_NUMBERS)
        return hawser_fail(error, HAWSER_INTERNAL, "option row '%s' has kind %d, which is none", row->key, (int)row->kind);
    if (find(options, row->key) != NULL)
        return hawser_fail(error, HAWSER_INTERNAL, "two option rows have the key '%s'", row->key);
    const hw_slot *same = find_letter(options, row->letter);
    if (same != NULL)
        return hawser_fail(error, HAWSER_INTERNAL, "options '%s' and '%s' have one letter, '%c'", same->row->key, row->key,
                           row->letter);
    HAWSER_TRY(hw_option_bounds_check(row, error));
    hw_slot *slot = &options->slots[options->count++];
    slot->row = row;
    if (row->value == NULL)
        return HAWSER_OK;
    hawser_status status = hw_option_value_read(row, row->value, "default", &slot->value, error);
    if (status == HAWSER_OK) {
        slot->text = row->value;
        slot->where = "default";
        slot->source = HAWSER_FROM_DEFAULT;
    }
    if (status == HAWSER_BAD_OPTION)
        return hawser_fail(error, HAWSER_INTERNAL, "option row '%s' has a default '%s' that its kind or bounds refuse",
                           row->key, row->value);
    return status;
}

hawser_status hawser_options_new(const hawser_option *const *tables, hawser_options **options, hawser_error *error)
{
    HW_GIVEN(tables);
    HW_GIVEN(options);
    *options = NULL;
    size_t count = 0;
    for (const hawser_option *const *table = tables; *table != NULL; table++)
        for (const hawser_option *row = *table; row->key != NULL; row++)
            count++;
    hawser_options *made = NULL;
    HAWSER_TRY(HW_NEW(&made, 1, "an option set", error));
    hawser_status status = HW_NEW(&made->slots, count, "an option set", error);
    for (const hawser_option *const *table = tables; status == HAWSER_OK && *table != NULL; table++)
        for (const hawser_option *row = *table; status == HAWSER_OK && row->key != NULL; row++)
            status = add_row(made, row, error);
    if (status != HAWSER_OK) {
        hawser_options_free(made);
        return status;
    }
    *options = made;
    return HAWSER_OK;
}

void hawser_options_free(hawser_options *options)
{
    if (options == NULL)
        return;
    for (size_t i = 0; i < options->count; i++)
        clear(&options->slots[i]);
    free(options->slots);
    free(options);
}

hawser_status hawser_options_set(hawser_options *options, const char *key, const char *value, hawser_source source,
                                 const char *where, hawser_error *error)
{
    HW_GIVEN(options);
    HW_GIVEN(key);
    HW_GIVEN(value);
    HW_GIVEN(where);
    if ((unsigned)source > HAWSER_FROM_CALL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_options_set: there is no source %d", (int)source);
    hw_slot *slot = find(options, key);
    if (slot == NULL)
        return unknown_key(options, key, source, where, error);
    return slot_set(slot, value, source, where, error);
}

/* ------------------------------------------------------------------------------------------------------- file ---- */

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Cuts a comment. It starts with a # at the beginning of a line or after a blank, because a path may contain one. */
static void cut_comment(char *line)
{
    for (char *at = strchr(line, '#'); at != NULL; at = strchr(at + 1, '#'))
        if (at == line || isspace((unsigned char)at[-1])) {
            *at = '\0';
            return;
        }
}

static hawser_status read_line(hawser_options *options, char *line, size_t length, const char *place, hawser_error *error)
{
    if (strlen(line) != length)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: a zero byte; this is no text file", place);
    cut_comment(line);
    line = trim(line);
    if (*line == '\0')
        return HAWSER_OK;
    char *equals = strchr(line, '=');
    if (equals == NULL || equals == line)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: '%.80s' is not of the form key = value", place, line);
    *equals = '\0';
    char *key = trim(line), *value = trim(equals + 1);
    return hawser_options_set(options, key, value, HAWSER_FROM_FILE, place, error);
}

hawser_status hawser_options_file(hawser_options *options, const char *path, hawser_error *error)
{
    HW_GIVEN(options);
    HW_GIVEN(path);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return hawser_fail(error, HAWSER_IO, "cannot open the options file '%s': %s", path, strerror(errno));
    char *line = NULL;
    size_t capacity = 0;
    hawser_status status = HAWSER_OK;
    errno = 0;
    for (unsigned long number = 1; status == HAWSER_OK; number++) {
        ssize_t length = getline(&line, &capacity, file);
        if (length < 0)
            break;
        char place[LONGEST_PLACE];
        snprintf(place, sizeof place, "%.250s:%lu", path, number);
        status = read_line(options, line, (size_t)length, place, error);
    }
    if (status == HAWSER_OK && !feof(file))
        status = hawser_fail(error, HAWSER_IO, "cannot read the options file '%s': %s", path, strerror(errno));
    free(line);
    fclose(file);
    return status;
}

/* ------------------------------------------------------------------------------------------------ environment ---- */

/* Returns whether a variable like "HAWSER_NODE=3" is one of the names, which end with =. */
static bool is_one_of(const char *variable, const char *const *names, size_t count)
{
    for (size_t i = 0; strncmp(variable, "HAWSER_", 7) == 0 && i < count; i++)
        if (strncmp(variable + 7, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

bool hw_place_variable(const char *variable)
{
    static const char *const names[] = {
        "LAUNCH=", "NODE=", "NODES=", "NODE_NAME=", "JOB=", "SOCKETS=", "LOCAL=", "PYTHON_NODE="};
    return is_one_of(variable, names, sizeof names / sizeof *names);
}

/* Returns whether the text begins with a transport of Kubernetes Services; *length is its length. */
static bool begins_with_transport(const char *text, const char *const transports[3], size_t *length)
{
    for (size_t i = 0; i < 3; i++) {
        *length = strlen(transports[i]);
        if (strncmp(text, transports[i], *length) == 0)
            return true;
    }
    return false;
}

/* Returns whether "PORT=..." is "PORT=tcp://..." or "PORT_N_TCP", with or without _PROTO, _PORT or _ADDR. */
static bool is_service_port(const char *text)
{
    static const char *const urls[] = {"tcp://", "udp://", "sctp://"}, *const transports[] = {"TCP", "UDP", "SCTP"};
    static const char *const ends[] = {"=", "_PROTO=", "_PORT=", "_ADDR="};
    size_t length;
    if (strncmp(text, "PORT=", 5) == 0)
        return begins_with_transport(text + 5, urls, &length);
    size_t digits = strncmp(text, "PORT_", 5) == 0 ? strspn(text + 5, "0123456789") : 0;
    if (digits == 0 || text[5 + digits] != '_' || !begins_with_transport(text + 6 + digits, transports, &length))
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strncmp(text + 6 + digits + length, ends[i], strlen(ends[i])) == 0)
            return true;
    return false;
}

bool hw_kubernetes_variable(const char *variable)
{
    size_t length = strcspn(variable, "=");
    for (const char *at = variable + 7; strncmp(variable, "HAWSER_", 7) == 0 && at < variable + length; at++)
        if (at[-1] == '_' && (strncmp(at, "SERVICE_HOST=", 13) == 0 || strncmp(at, "SERVICE_PORT=", 13) == 0 ||
                              strncmp(at, "SERVICE_PORT_", 13) == 0 || is_service_port(at)))
            return true;
    return false;
}

/* Returns whether `hawser run`, Kubernetes, the test suite or a user of the Python package sets this variable; these are not
 * options. */
static bool reserved(const char *variable)
{
    static const char *const names[] = {"BINARY=", "SOURCE=", "LIBRARY="};
    return hw_place_variable(variable) || hw_kubernetes_variable(variable) ||
           is_one_of(variable, names, sizeof names / sizeof *names) || strncmp(variable, "HAWSER_TEST_", 12) == 0;
}

static hawser_status read_variable(hawser_options *options, const char *variable, hawser_error *error)
{
    char key[LONGEST_KEY], name[LONGEST_KEY + 8];
    size_t length = strcspn(variable, "="), n = 0;
    if (variable[length] != '=' || reserved(variable))
        return HAWSER_OK;
    for (const char *at = variable + 7; at < variable + length && n + 1 < sizeof key; at++, n++)
        key[n] = *at == '_' ? '-' : (char)tolower((unsigned char)*at);
    key[n] = '\0';
    snprintf(name, sizeof name, "%.*s", (int)length, variable);
    hw_slot *slot = find_variable(options, variable, length);
    if (slot == NULL && strcmp(key, "at") == 0) /* set by `hawser store`, beside which a user's own programs may run */
        return HAWSER_OK;
    if (slot == NULL)
        return unknown_key(options, key, HAWSER_FROM_ENVIRONMENT, name, error);
    return slot_set(slot, variable + length + 1, HAWSER_FROM_ENVIRONMENT, name, error);
}

hawser_status hawser_options_environment(hawser_options *options, char *const *environment, hawser_error *error)
{
    HW_GIVEN(options);
    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, "HAWSER_", 7) == 0)
            HAWSER_TRY(read_variable(options, *environment, error));
    return HAWSER_OK;
}

/* -------------------------------------------------------------------------------------------------- arguments ---- */

/* A pass over argv: `next` is the argument to read, `kept` the place of the next positional argument. */
typedef struct hw_walk {
    hawser_options *options;
    char **argv;
    int count, next, kept;
    hawser_error *error;
} hw_walk;

/* Returns whether users of other software may repeat the option, once for each column. */
static bool names_columns(const hawser_option *row)
{
    return row->unit != NULL && (strcmp(row->unit, "LIST") == 0 || strcmp(row->unit, "COLUMN") == 0);
}

/* Adds a file to those that were given before. One without a state comes first, since a comma separates only what STATE=
 * follows. */
static hawser_status add_path(hw_slot *slot, const char *value, bool ahead, const char *where, hawser_error *error)
{
    char *both = NULL;
    if (asprintf(&both, "%s,%s", ahead ? value : slot->text, ahead ? slot->text : value) < 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "%s: no memory for the names of files", where);
    hawser_status status = slot_set(slot, both, HAWSER_FROM_COMMAND_LINE, where, error);
    free(both);
    return status;
}

static hawser_status set_argument(const hw_walk *walk, hw_slot *slot, const char *value)
{
    char where[LONGEST_KEY + 8];
    snprintf(where, sizeof where, "--%s", slot->row->key);
    if (slot->source == HAWSER_FROM_COMMAND_LINE && slot->row->kind == HAWSER_PATH && hw_option_by_state(slot->row)) {
        hw_option_path first, next;
        const char *old = slot->text, *new = value;
        bool states = hw_option_next_path(&old, &first) && first.state_length > 0;
        bool state = hw_option_next_path(&new, &next) && next.state_length > 0;
        if (states || state)
            return add_path(slot, value, !state, where, walk->error);
    }
    if (slot->source == HAWSER_FROM_COMMAND_LINE && names_columns(slot->row) && strcmp(slot->text, value) != 0)
        return hawser_fail(
            walk->error, HAWSER_BAD_OPTION,
            "--%s is given twice, as '%.60s' and '%.60s', and the second would replace the first; where several "
            "columns are meant, write one list: --%s %.60s,%.60s",
            slot->row->key, slot->text, value, slot->row->key, slot->text, value);
    if (slot->source == HAWSER_FROM_COMMAND_LINE && hw_option_by_state(slot->row) && strcmp(slot->text, value) != 0 &&
        (strchr(slot->text, '=') != NULL || strchr(value, '=') != NULL))
        return hawser_fail(walk->error, HAWSER_BAD_OPTION,
                           "--%s is given twice, as '%.60s' and '%.60s', and the second would replace the first; write one "
                           "list: --%s %.60s,%.60s",
                           slot->row->key, slot->text, value, slot->row->key, slot->text, value);
    return slot_set(slot, value, HAWSER_FROM_COMMAND_LINE, where, walk->error);
}

/* Returns true for "--KEY", "--KEY=VALUE" and "--no-KEY" of a known option. */
static bool names_option(const hawser_options *options, const char *word)
{
    char key[LONGEST_KEY];
    size_t length = strcspn(word, "=");
    if (strncmp(word, "--", 2) != 0 || length - 2 >= LONGEST_KEY)
        return false;
    snprintf(key, sizeof key, "%.*s", (int)length - 2, word + 2);
    return find(options, key) != NULL || (strncmp(key, "no-", 3) == 0 && find(options, key + 3) != NULL);
}

/* A value that reads as an option is one only behind an equals sign: it is more often the next option of a line that lacks a
 * value. */
static hawser_status take_value(hw_walk *walk, hw_slot *slot)
{
    const char *key = slot->row->key, *unit = slot->row->unit != NULL ? slot->row->unit : "VALUE";
    if (walk->next >= walk->count)
        return hawser_fail(walk->error, HAWSER_BAD_OPTION, "--%s needs a value (%s)", key, unit);
    const char *value = walk->argv[walk->next++];
    if (names_option(walk->options, value))
        return hawser_fail(walk->error, HAWSER_BAD_OPTION,
                           "--%s needs a value (%s), but '%.60s' behind it is an option; a value that begins so is written "
                           "--%s=%.60s",
                           key, unit, value, key, value);
    return set_argument(walk, slot, value);
}

static hawser_status read_long(hw_walk *walk, const char *word)
{
    char key[LONGEST_KEY];
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    snprintf(key, sizeof key, "%.*s", (int)(length < LONGEST_KEY ? length : LONGEST_KEY), name);
    hw_slot *slot = length < LONGEST_KEY ? find(walk->options, key) : NULL;
    if (slot == NULL && strncmp(key, "no-", 3) == 0) {
        slot = find(walk->options, key + 3);
        if (slot != NULL && slot->row->kind == HAWSER_FLAG && equals != NULL)
            return hawser_fail(walk->error, HAWSER_BAD_OPTION, "--%s takes no value; '%s' gives one", key, word);
        if (slot != NULL && slot->row->kind == HAWSER_FLAG)
            return set_argument(walk, slot, "no");
        slot = NULL;
    }
    if (slot == NULL) {
        char where[LONGEST_KEY + 8];
        snprintf(where, sizeof where, "--%s", key);
        return unknown_key(walk->options, key, HAWSER_FROM_COMMAND_LINE, where, walk->error);
    }
    if (equals != NULL)
        return set_argument(walk, slot, equals + 1);
    return slot->row->kind == HAWSER_FLAG ? set_argument(walk, slot, "yes") : take_value(walk, slot);
}

/* Reads "-q", "-o FILE", "-oFILE", "-qo FILE". */
static hawser_status read_letters(hw_walk *walk, const char *word)
{
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        hw_slot *slot = find_letter(walk->options, *letter);
        if (slot == NULL)
            return hawser_fail(walk->error, HAWSER_BAD_OPTION,
                               "unknown option -%c in '%s'; write -- before words that begin "
                               "with a dash",
                               *letter, word);
        if (slot->row->kind != HAWSER_FLAG)
            return letter[1] != '\0' ? set_argument(walk, slot, letter + 1) : take_value(walk, slot);
        HAWSER_TRY(set_argument(walk, slot, "yes"));
    }
    return HAWSER_OK;
}

hawser_status hawser_options_arguments(hawser_options *options, int *argc, char **argv, hawser_error *error)
{
    HW_GIVEN(options);
    HW_GIVEN(argc);
    HW_GIVEN(argv);
    hw_walk walk = {options, argv, *argc, 1, 1, error};
    bool flags = true;
    while (walk.next < walk.count) {
        char *word = argv[walk.next++];
        if (!flags || word[0] != '-' || word[1] == '\0')
            argv[walk.kept++] = word;
        else if (strcmp(word, "--") == 0)
            flags = false;
        else
            HAWSER_TRY(word[1] == '-' ? read_long(&walk, word) : read_letters(&walk, word));
    }
    if (walk.kept < *argc) {
        *argc = walk.kept;
        argv[walk.kept] = NULL;
    }
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------ reads ---- */

/* Finds an option for a call that returns its value. */
static const hw_slot *slot_to_read(const hawser_options *options, const char *key)
{
    hw_slot *slot = find(options, key);
    if (slot != NULL)
        atomic_store_explicit(&slot->was_read, true, memory_order_relaxed);
    return slot;
}

bool hw_option_was_read(const hawser_options *options, const char *key)
{
    hw_slot *slot = find(options, key);
    return slot != NULL && atomic_load_explicit(&slot->was_read, memory_order_relaxed);
}

bool hw_option_differs(const hawser_options *options, const char *key)
{
    const hw_slot *slot = find(options, key);
    return slot != NULL && slot->text != NULL && (slot->row->value == NULL || strcmp(slot->row->value, slot->text) != 0);
}

const char *hw_option_called(const hawser_options *options, const char *key, char name[HW_OPTION_CALLED])
{
    const hw_slot *slot = find(options, key);
    if (slot != NULL && slot->source == HAWSER_FROM_CALL)
        snprintf(name, HW_OPTION_CALLED, "%s", slot->where);
    else
        snprintf(name, HW_OPTION_CALLED, "--%s", key);
    return name;
}

static const hw_slot *set_slot(const hawser_options *options, const char *key, hawser_kind a, hawser_kind b)
{
    const hw_slot *slot = slot_to_read(options, key);
    return slot != NULL && slot->text != NULL && (slot->row->kind == a || slot->row->kind == b) ? slot : NULL;
}

bool hawser_options_has(const hawser_options *options, const char *key)
{
    const hw_slot *slot = find(options, key);
    return slot != NULL && slot->text != NULL;
}

bool hawser_options_flag(const hawser_options *options, const char *key)
{
    const hw_slot *slot = set_slot(options, key, HAWSER_FLAG, HAWSER_FLAG);
    return slot != NULL && slot->value.flag;
}

int64_t hawser_options_integer(const hawser_options *options, const char *key)
{
    const hw_slot *slot = set_slot(options, key, HAWSER_INTEGER, HAWSER_INTEGER);
    return slot != NULL ? slot->value.integer : 0;
}

double hawser_options_number(const hawser_options *options, const char *key)
{
    const hw_slot *slot = set_slot(options, key, HAWSER_NUMBER, HAWSER_SECONDS);
    return slot != NULL ? slot->value.number : 0;
}

uint64_t hawser_options_bytes(const hawser_options *options, const char *key)
{
    const hw_slot *slot = set_slot(options, key, HAWSER_BYTES, HAWSER_BYTES);
    return slot != NULL ? slot->value.bytes : 0;
}

const char *hawser_options_text(const hawser_options *options, const char *key)
{
    const hw_slot *slot = slot_to_read(options, key);
    return slot != NULL ? slot->text : NULL;
}

const double *hawser_options_numbers(const hawser_options *options, const char *key, size_t *count)
{
    const hw_slot *slot = set_slot(options, key, HAWSER_NUMBERS, HAWSER_NUMBERS);
    if (count != NULL)
        *count = slot != NULL ? slot->value.count : 0;
    return slot != NULL ? slot->value.numbers : NULL;
}

const char *hw_option_text(const hawser_options *options, const char *key)
{
    const hw_slot *slot = find(options, key);
    return slot != NULL ? slot->text : NULL;
}

bool hw_option_next_item(const hawser_options *options, const char *key, const char **rest, hw_option_item *item)
{
    const hw_slot *slot = find(options, key);
    if (slot == NULL || slot->text == NULL)
        return false;
    if (*rest == NULL)
        *rest = slot->text;
    return **rest != '\0' && hw_option_item_read(slot->row, *rest, key, item, rest, NULL) == HAWSER_OK;
}

bool hw_option_of_state(const hawser_options *options, const char *key, const char *state, hw_option_item *item)
{
    size_t length = state != NULL ? strlen(state) : 0;
    for (const char *rest = NULL; hw_option_next_item(options, key, &rest, item);)
        if (item->length == length && strncmp(item->state, state != NULL ? state : "", length) == 0)
            return true;
    const hw_slot *slot = find(options, key);
    const char *rest;
    return state == NULL && slot != NULL && slot->row->value != NULL &&
           hw_option_item_read(slot->row, slot->row->value, key, item, &rest, NULL) == HAWSER_OK;
}

hawser_source hawser_options_source(const hawser_options *options, const char *key, const char **where)
{
    const hw_slot *slot = find(options, key);
    if (where != NULL)
        *where = slot != NULL ? slot->where : NULL;
    return slot != NULL ? slot->source : HAWSER_FROM_DEFAULT;
}

const hawser_option *hawser_options_row(const hawser_options *options, size_t index)
{
    return options != NULL && index < options->count ? options->slots[index].row : NULL;
}
