#include "algorithms/choice/folds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FOLDS = 1000 };

/* A row, or a group of rows, in the order in which they are dealt. */
typedef struct card {
    double value; /* the row's class, or the group */
    uint64_t key; /* random */
    size_t row, rows;
} card;

/* Returns a hash of (seed, row), the same on every node and in every run. */
static uint64_t mix(uint64_t seed, uint64_t row)
{
    uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + row + UINT64_C(0x632be59bd9b4e019);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int by_value(const void *left, const void *right)
{
    const card *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Makes a card for each row, sorted by value, if there are any, and then by chance. The caller frees them. */
static hawser_status shuffle(const hw_fold_deal *deal, const double *values, card **cards, hawser_error *error)
{
    *cards = malloc((deal->rows + 1) * sizeof **cards);
    if (*cards == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the folds of %zu rows", deal->rows);
    for (size_t i = 0; i < deal->rows; i++)
        (*cards)[i] = (card){.value = values != NULL ? values[i] : 0.0, .key = mix(deal->seed, i), .row = i, .rows = 1};
    qsort(*cards, deal->rows, sizeof **cards, by_value);
    return HAWSER_OK;
}

/* Deals the rows in turn, so that folds differ by at most one row, of each class and of all. */
static hawser_status deal_rows(const hw_fold_deal *deal, const double *classes, uint32_t folds, uint32_t *fold,
                               hawser_error *error)
{
    card *cards = NULL;
    HAWSER_TRY(shuffle(deal, classes, &cards, error));
    for (size_t k = 0; k < deal->rows; k++)
        fold[cards[k].row] = 1 + (uint32_t)(k % folds);
    free(cards);
    return HAWSER_OK;
}

static int larger_first(const void *left, const void *right)
{
    const card *a = left, *b = right;
    if (a->rows != b->rows)
        return a->rows > b->rows ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Joins the cards of each group, which are neighbours, to one with the group's first key. Returns the number of groups. */
static size_t join(card *cards, size_t rows)
{
    size_t groups = 0;
    for (size_t k = 0; k < rows; k++)
        if (groups > 0 && cards[groups - 1].value == cards[k].value)
            cards[groups - 1].rows++;
        else
            cards[groups++] = cards[k];
    return groups;
}

static const card *find_group(const card *cards, size_t groups, double value)
{
    size_t begin = 0, end = groups;
    while (end - begin > 1) {
        size_t middle = begin + (end - begin) / 2;
        if (cards[middle].value <= value)
            begin = middle;
        else
            end = middle;
    }
    return &cards[begin];
}

/* Deals whole groups, the largest first, each to the fold that has the fewest rows. */
static hawser_status deal_groups(const hw_fold_deal *deal, uint32_t folds, uint32_t *fold, hawser_error *error)
{
    card *cards = NULL;
    size_t sizes[MOST_FOLDS + 1] = {0};
    HAWSER_TRY(shuffle(deal, deal->groups, &cards, error));
    size_t groups = join(cards, deal->rows);
    if (groups < folds) {
        free(cards);
        return hawser_fail(error, HAWSER_BAD_OPTION, "--cv %u: the column of --folds has only %zu groups", (unsigned)folds,
                           groups);
    }
    qsort(cards, groups, sizeof *cards, larger_first);
    for (size_t k = 0; k < groups; k++) {
        uint32_t least = 1;
        for (uint32_t f = 2; f <= folds; f++)
            least = sizes[f] < sizes[least] ? f : least;
        sizes[least] += cards[k].rows;
        cards[k].rows = least; /* from here on, the group's fold */
    }
    qsort(cards, groups, sizeof *cards, by_value);
    for (size_t i = 0; i < deal->rows; i++)
        fold[i] = (uint32_t)find_group(cards, groups, deal->groups[i])->rows;
    free(cards);
    return HAWSER_OK;
}

/* Takes the number of a fold, from 0 on. */
static bool take_fold(double value, uint32_t *number)
{
    if (!(value >= 0.0 && value <= MOST_FOLDS) || value != floor(value))
        return false;
    *number = (uint32_t)value;
    return true;
}

/* Reads the number of a fold. */
static bool read_fold(const char *line, uint32_t *number)
{
    double value = 0;
    const char *end = hawser_read_number(line, &value);
    return end != NULL && end[strspn(end, " \t")] == '\0' && take_fold(value, number);
}

static hawser_status read_lines(FILE *file, const char *path, size_t rows, uint32_t *fold, hawser_error *error)
{
    char line[256];
    size_t at = 0;
    for (; fgets(line, sizeof line, file) != NULL; at++) {
        if (at == rows)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: more lines than the data have rows (%zu)", path, at + 1,
                               rows);
        line[strcspn(line, "\r\n")] = '\0';
        if (!read_fold(line, &fold[at]))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s:%zu: '%.60s' is not the number of a fold; the file of --folds has one number per row",
                               path, at + 1, line);
    }
    if (ferror(file))
        return hawser_fail(error, HAWSER_IO, "--folds %s: %s", path, strerror(errno));
    if (at < rows)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %zu fold numbers for %zu rows", path, at, rows);
    return HAWSER_OK;
}

/* Checks that folds are numbered from 0 or 1 without a gap, and numbers them from 1. */
static hawser_status check_numbers(const char *path, size_t rows, uint32_t folds, uint32_t *fold, hawser_error *error)
{
    uint64_t count[MOST_FOLDS + 2] = {0};
    uint32_t last = 0;
    for (size_t i = 0; i < rows; i++) {
        count[fold[i]]++;
        last = fold[i] > last ? fold[i] : last;
    }
    uint32_t first = count[0] > 0 ? 0 : 1, found = last + 1 - first;
    if (found != folds)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--cv %u: %s has folds %u to %u, so use --cv %u", folds, path, first,
                           last, found);
    for (uint32_t f = first; f <= last; f++)
        if (count[f] == 0)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: no row is in fold %u, and others are in folds %u to %u", path,
                               f, first, last);
    for (size_t i = 0; i < rows; i++)
        fold[i] += 1 - first;
    return HAWSER_OK;
}

static hawser_status read_file(const hw_fold_deal *deal, const hw_choice *choice, uint32_t *fold, hawser_error *error)
{
    const char *path = choice->fold_source;
    if (deal->dropped)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "--folds %s: rows were dropped (--missing), so the lines of the file do not belong to the rows",
                           path);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return hawser_fail(error, HAWSER_IO, "--folds %s: %s; expected stratified, by:COLUMN or a file of fold numbers",
                           path, strerror(errno));
    hawser_status status = read_lines(file, path, deal->rows, fold, error);
    fclose(file);
    return status != HAWSER_OK ? status : check_numbers(path, deal->rows, choice->folds, fold, error);
}

static hawser_status take_given(const hw_fold_deal *deal, const hw_choice *choice, uint32_t *fold, hawser_error *error)
{
    if (deal->dropped)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "the array for folds: rows were dropped (--missing), so its numbers do not belong to the rows");
    for (size_t i = 0; i < deal->rows; i++)
        if (!take_fold(deal->given[i], &fold[i]))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "the array for folds: %g, for row %zu (from 1), is not the number of a fold", deal->given[i],
                               i + 1);
    return check_numbers("the array for folds", deal->rows, choice->folds, fold, error);
}

hawser_status hw_deal_folds(const hw_fold_deal *deal, const hw_choice *choice, uint32_t *fold, hawser_error *error)
{
    const char *source = choice->fold_source;
    if (choice->folds > deal->rows)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--cv %u: there are only %zu rows", choice->folds, deal->rows);
    if (deal->given != NULL)
        return take_given(deal, choice, fold, error);
    if (source != NULL && strncmp(source, "by:", 3) == 0)
        return deal->groups != NULL
                   ? deal_groups(deal, choice->folds, fold, error)
                   : hawser_fail(error, HAWSER_BAD_OPTION, "--folds %s: the data have no column of groups", source);
    if (source != NULL && strcmp(source, "stratified") != 0)
        return read_file(deal, choice, fold, error);
    if (source != NULL && deal->classes == NULL)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--folds stratified keeps the shares of classes, and a regression has none; leave --folds out, or "
            "name a file");
    return deal_rows(deal, source != NULL ? deal->classes : NULL, choice->folds, fold, error);
}

hawser_status hw_deal_part(const hw_fold_deal *deal, double fraction, uint32_t kept, uint32_t *fold, hawser_error *error)
{
    card *cards = NULL;
    size_t count = (size_t)(fraction * (double)deal->rows + 0.5);
    if (count == 0 || count == deal->rows)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--validation-fraction %g leaves %zu of %zu rows", fraction, count,
                           deal->rows);
    HAWSER_TRY(shuffle(deal, NULL, &cards, error));
    for (size_t k = 0; k < deal->rows; k++)
        fold[cards[k].row] = k < count ? kept : 0;
    free(cards);
    return HAWSER_OK;
}
