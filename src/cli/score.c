#include "cli/score.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/format/number_text.h"
#include "data/source/parse.h"

/* More threads than this only wait for their turn to write. */
enum { THREADS_MOST = 16 };

/* What the threads share. Each takes a piece of rows, and writes its predictions when those of all earlier pieces are
 * written. */
typedef struct score_work {
    hw_scoring *scoring;
    pthread_mutex_t lock; /* guards the rest, and the scoring's file and results */
    pthread_cond_t turn;
    uint64_t next;           /* the piece that is written next */
    uint64_t numbered, rows; /* the piece whose rows are numbered next, and the rows before it */
    bool ended;              /* nothing more is written */
    hawser_status status;
    hawser_error error;
} score_work;

/* The output of a piece. */
typedef struct score_text {
    char *bytes;
    size_t used, capacity;
    size_t overflowed; /* the row of the piece, from 1, whose numbers overflowed: the text has those before it. 0: none */
    double value;      /* of that row */
} score_text;

size_t hw_score_width(const hw_scoring *scoring)
{
    return hw_head_width(scoring->head, scoring->fitted->model);
}

static hawser_status need(score_text *text, size_t more, hawser_error *error)
{
    return HW_GROW(&text->bytes, &text->capacity, text->used + more, "predictions", error);
}

static hawser_status put_text(score_text *text, const char *from, size_t length, hawser_error *error)
{
    HAWSER_TRY(need(text, length, error));
    memcpy(text->bytes + text->used, from, length);
    text->used += length;
    return HAWSER_OK;
}

/* Appends a text without control characters, for a terminal. */
static hawser_status put_escaped(score_text *text, const char *from, hawser_error *error)
{
    size_t length = hawser_escape(from, NULL, 0);
    HAWSER_TRY(need(text, length + 1, error));
    (void)hawser_escape(from, text->bytes + text->used, length + 1);
    text->used += length;
    return HAWSER_OK;
}

/* A field of CSV, in quotes where it would not be read back as it is. A program that reads it gets each byte; a terminal
 * gets no control characters. */
static hawser_status put_field(const hw_scoring *s, score_text *text, const char *field, hawser_error *error)
{
    size_t length = strlen(field);
    if (s->shown)
        return put_escaped(text, field, error);
    bool quoted = strpbrk(field, ",\"\r\n") != NULL ||
                  (length > 0 && (strchr(" \t", field[0]) != NULL || strchr(" \t", field[length - 1]) != NULL));
    HAWSER_TRY(need(text, 2 * length + 2, error));
    char *to = text->bytes + text->used;
    if (quoted)
        *to++ = '"';
    for (; *field != '\0'; field++) {
        *to++ = *field;
        if (*field == '"')
            *to++ = '"';
    }
    if (quoted)
        *to++ = '"';
    text->used = (size_t)(to - text->bytes);
    return HAWSER_OK;
}

/* Writes the name of one of several numbers of a row: of a centre, a class or a target. */
static void name_number(const hw_scoring *scoring, const char *const *names, size_t number, char *out, size_t size)
{
    const hw_fitted *fitted = scoring->fitted;
    const char *const *words = hw_label_words(fitted);
    if (strcmp(scoring->head->name, "distances") == 0) {
        snprintf(out, size, "distance_%zu", number);
    } else if (scoring->head->label == NULL && strcmp(scoring->head->name, "probabilities") == 0) {
        snprintf(out, size, "topic_%zu", number);
    } else if (hw_score_width(scoring) > fitted->outputs) {
        double label = scoring->head->label(fitted->model, number);
        if (words != NULL)
            snprintf(out, size, "%s", words[(size_t)label]);
        else
            (void)hawser_print_number(out + snprintf(out, size, "class_"), size - strlen("class_"), label);
    } else {
        snprintf(out, size, "%s", names[number]);
    }
}

hawser_status hw_score_names(const hw_scoring *scoring, hawser_error *error)
{
    const char *id = hawser_rows_id(scoring->rows), *only[] = {"prediction"};
    const hw_fitted *fitted = scoring->fitted;
    const char *const *names = (const char *const *)fitted->output_names;
    score_text text = {0};
    hawser_status status = HAWSER_OK;
    if (names == NULL && (id == NULL || fitted->outputs > 1))
        return HAWSER_OK;
    if (names == NULL)
        names = only;
    if (id != NULL)
        status = put_field(scoring, &text, id, error);
    for (size_t o = 0, width = hw_score_width(scoring); o < width && status == HAWSER_OK; o++) {
        char name[1000];
        name_number(scoring, names, o, name, sizeof name);
        if (id != NULL || o > 0)
            status = put_text(&text, ",", 1, error);
        HAWSER_THEN(status, put_field(scoring, &text, name, error));
    }
    HAWSER_THEN(status, put_text(&text, "\n", 1, error));
    HAWSER_THEN(status, hw_file_write(scoring->file, text.bytes, text.used, error));
    free(text.bytes);
    return status;
}

/* Prints the predictions of a row: one, or one per target. */
static hawser_status put_row(const hw_scoring *s, const char *id, const double *values, score_text *text,
                             hawser_error *error)
{
    double value = values[0];
    size_t width = hw_score_width(s);
    if (id != NULL) {
        HAWSER_TRY(put_field(s, text, id, error));
        HAWSER_TRY(put_text(text, ",", 1, error));
    }
    if (s->words != NULL && id != NULL)
        HAWSER_TRY(put_field(s, text, s->words[(size_t)value], error));
    else if (s->words != NULL && s->shown)
        HAWSER_TRY(put_escaped(text, s->words[(size_t)value], error));
    else if (s->words != NULL && strpbrk(s->words[(size_t)value], "\r\n") != NULL) /* a row stays one prediction */
        HAWSER_TRY(put_field(s, text, s->words[(size_t)value], error));
    else if (s->words != NULL)
        HAWSER_TRY(put_text(text, s->words[(size_t)value], strlen(s->words[(size_t)value]), error));
    HAWSER_TRY(need(text, width * (HW_NUMBER_TEXT + 1), error));
    if (s->words == NULL)
        text->used += hw_number_text(text->bytes + text->used, value, HAWSER_F64);
    for (size_t o = 1; o < width; o++) {
        text->bytes[text->used++] = ',';
        text->used += hw_number_text(text->bytes + text->used, values[o], HAWSER_F64);
    }
    text->bytes[text->used++] = '\n';
    return HAWSER_OK;
}

/* Returns how many rows precede the first one with a number that is not finite, and stores that number. */
static size_t finite_rows(const double *values, size_t count, size_t outputs, double *value)
{
    for (size_t k = 0; k < count * outputs; k++)
        if (!isfinite(values[k])) {
            *value = values[k];
            return k / outputs;
        }
    return count;
}

static hawser_status make_text(const hw_scoring *s, const hawser_piece *piece, score_text *text, hawser_error *error)
{
    size_t count = hawser_dataset_matrix(piece->data)->rows, outputs = hw_score_width(s);
    double *values;
    HAWSER_TRY(hw_check_sides(s->call, s->fitted, piece->data, error));
    HAWSER_TRY(HW_NEW(&values, count * outputs, "predictions", error));
    hawser_status status = s->head->compute(s->fitted->model, piece->data, values, error);
    text->overflowed = 0;
    if (status == HAWSER_OK && s->take == NULL) {
        size_t finite = finite_rows(values, count, outputs, &text->value);
        text->overflowed = finite < count ? finite + 1 : 0;
        count = finite;
    }
    if (status == HAWSER_OK && (s->binary || s->take != NULL))
        status = put_text(text, (const char *)values, count * outputs * sizeof *values, error);
    for (size_t i = 0; status == HAWSER_OK && !s->binary && s->take == NULL && i < count; i++)
        status = put_row(s, piece->ids != NULL ? piece->ids[i] : NULL, values + i * outputs, text, error);
    free(values);
    return status;
}

/* Writes the predictions of a piece, at once where a reader may wait for them; or has them taken. */
static hawser_status put_piece(hw_scoring *s, const hawser_piece *piece, const score_text *text, hawser_error *error)
{
    if (s->take != NULL)
        return s->take(s, piece->data, (const double *)text->bytes, error);
    HAWSER_TRY(hw_file_write(s->file, text->bytes, text->used, error));
    return hw_file_is_direct(s->file) ? hw_file_flush(s->file, error) : HAWSER_OK;
}

/* Puts a piece in its turn, then ends the work if that failed or `status` is a failure behind it. Returns whether the work
 * goes on. */
static bool emit(score_work *w, const hawser_piece *piece, const score_text *text, hawser_status status,
                 const hawser_error *error)
{
    hw_scoring *s = w->scoring;
    hawser_error own = {0};
    pthread_mutex_lock(&w->lock);
    while (w->next != piece->number && !w->ended)
        pthread_cond_wait(&w->turn, &w->lock);
    if (!w->ended) {
        hawser_status written = text->used > 0 ? put_piece(s, piece, text, &own) : HAWSER_OK;
        if (written == HAWSER_OK && status == HAWSER_OK && text->overflowed > 0)
            written =
                hawser_fail(&own, HAWSER_BAD_INPUT,
                            "row %llu: the prediction is %g, beyond the range of numbers; the values of its columns are "
                            "too large for this model",
                            (unsigned long long)(s->count + text->overflowed), text->value);
        if (piece->data != NULL && text->used > 0) {
            if (s->count == 0)
                hw_say_sides(s->call, s->fitted, piece->data, s->take != NULL);
            s->count += hawser_dataset_matrix(piece->data)->rows;
            s->lacks_first &= !s->lacks_first || hw_lacks_first_column(piece->data);
        }
        w->next++;
        w->status = written != HAWSER_OK ? written : status;
        w->error = written != HAWSER_OK ? own : *error;
        w->ended = w->status != HAWSER_OK;
    }
    bool goes_on = !w->ended;
    pthread_cond_broadcast(&w->turn);
    pthread_mutex_unlock(&w->lock);
    return goes_on;
}

/* Waits until the rows of all earlier pieces are counted, and sets the number of this one's first row. Some predictions
 * depend on it. */
static void number_rows(score_work *w, const hawser_piece *piece)
{
    pthread_mutex_lock(&w->lock);
    while (w->numbered != piece->number && !w->ended)
        pthread_cond_wait(&w->turn, &w->lock);
    if (piece->data != NULL) {
        piece->data->matrix.first = (size_t)w->rows;
        w->rows += piece->data->matrix.rows;
    }
    w->numbered++;
    pthread_cond_broadcast(&w->turn);
    pthread_mutex_unlock(&w->lock);
}

static hawser_status score_pieces(void *context, uint32_t thread, hawser_error *error)
{
    score_work *w = context;
    score_text text = {0};
    (void)thread, (void)error;
    for (bool more = true, goes_on = true; more && goes_on;) {
        hawser_piece piece;
        hawser_error read = {0}, made = {0};
        hawser_status status = hawser_rows_next(w->scoring->rows, &piece, &more, &read);
        if (status == HAWSER_OK && !more)
            break;
        text.used = text.overflowed = 0;
        number_rows(w, &piece);
        hawser_status scored = piece.data != NULL ? make_text(w->scoring, &piece, &text, &made) : HAWSER_OK;
        if (scored != HAWSER_OK)
            text.used = 0;
        goes_on = emit(w, &piece, &text, scored != HAWSER_OK ? scored : status, scored != HAWSER_OK ? &made : &read);
        hawser_dataset_free(piece.data);
        if (!goes_on)
            hawser_rows_stop(w->scoring->rows);
    }
    free(text.bytes);
    return HAWSER_OK;
}

hawser_status hw_score_open(hw_scoring *scoring, const hawser_load *how, hawser_error *error)
{
    const hw_call *call = scoring->call;
    hawser_load_figures figures;
    HAWSER_TRY(hawser_rows_open((const char *const *)call->words + 1, call->count - 1, how, &scoring->rows, error));
    const char *why = hawser_rows_loaded(scoring->rows);
    uint32_t threads = how->threads != 0 ? how->threads : hw_machine_processors();
    threads = why != NULL ? 1 : threads;
    scoring->threads = threads < THREADS_MOST ? threads : THREADS_MOST;
    if (hawser_options_flag(call->options, "quiet"))
        return HAWSER_OK;
    hawser_rows_figures(scoring->rows, &figures);
    hw_say_idle_input(call, figures.format);
    if (why != NULL)
        hw_say(call->err, "%s is loaded as a whole: %s", call->words[1], why);
    return HAWSER_OK;
}

void hw_score_end(const hw_scoring *scoring)
{
    hawser_load_figures figures;
    hawser_rows_figures(scoring->rows, &figures);
    hw_say_load(scoring->call, &figures);
    hw_doubt_base(scoring->call, scoring->fitted, &figures, scoring->lacks_first);
}

hawser_status hw_score(hw_scoring *scoring, hawser_error *error)
{
    score_work w = {.scoring = scoring};
    scoring->lacks_first = true;
    if (pthread_mutex_init(&w.lock, NULL) != 0 || pthread_cond_init(&w.turn, NULL) != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a lock");
    hawser_status status = hw_in_parallel(scoring->threads, score_pieces, &w, error);
    pthread_cond_destroy(&w.turn);
    pthread_mutex_destroy(&w.lock);
    if (status == HAWSER_OK && w.status != HAWSER_OK)
        return hawser_fail(error, w.status, "%s", w.error.text);
    if (status == HAWSER_OK && scoring->count == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: no rows in the input", scoring->call->words[1]);
    return status;
}
