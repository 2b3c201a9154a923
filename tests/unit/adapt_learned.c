/*
 * Settings that runs leave for later ones: a file gives back what was written, except lines that were cut or changed and
 * those of other versions; the nearest run is that of a search written apart; a run begins within its bounds, under bsp, and
 * without the trials that the earlier one lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/learned.h"
#include "adapt/line.h"
#include "base/json.h"
#include "base/random.h"

enum { WORKERS_MOST = 5, LINES = 12 };

static const char *const programs[] = {"lasso", "own \"program\"\n"};
static const char *const loops[] = {"rounds", "epochs"};
static const double factors[] = {0.25, 0.5, 0.9, 1, 1.5, 2, 2.01, 8};

/* A drawn line, with memory for its shares. */
typedef struct drawn_line {
    hw_learned_run run;
    hw_decided decided;
    double shares[WORKERS_MOST];
} drawn_line;

static void draw(hw_random *random, drawn_line *line)
{
    const uint32_t hosts = 1 + (uint32_t)hw_random_below(random, 9);
    *line = (drawn_line){.run = {.program = programs[hw_random_below(random, 2)],
                                 .loop = loops[hw_random_below(random, 2)],
                                 .workers = 4 + (uint32_t)hw_random_below(random, 2),
                                 .hosts = hosts,
                                 .exchange = hw_random_below(random, 3) > 0 ? 1 : 0.5,
                                 .bytes = 1000 * factors[hw_random_below(random, sizeof factors / sizeof *factors)],
                                 .places = hw_random_next(random),
                                 .identity = 1 + hw_random_below(random, 3)}};
    hw_decided *decided = &line->decided;
    const double values[HW_KNOB_SHARE] = {[HW_KNOB_ENCODING] = 2,
                                          [HW_KNOB_QUOTA] = 4096,
                                          [HW_KNOB_WORK] = 2.7182818284590452,
                                          [HW_KNOB_SYNC] = 3,
                                          [HW_KNOB_GAIN] = 0.5};
    for (int k = 0; k < HW_KNOB_SHARE; k++)
        decided->value[k] = hw_random_below(random, 2) > 0 ? values[k] : (double)NAN;
    for (int k = 0; k < HW_KNOBS; k++)
        decided->losses[k] = (uint32_t)hw_random_below(random, 4);
    decided->clocks = 1 + (double)hw_random_below(random, 1000);
    decided->lost = hw_random_uniform(random) * decided->clocks;
    decided->noise = hw_random_uniform(random);
    for (uint32_t b = 0; b < WORKERS_MOST; b++)
        line->shares[b] = 0.125 + 0.875 * hw_random_uniform(random);
}

static hw_setting draw_setting(hw_random *random)
{
    return (hw_setting){HW_KNOB_WORK + (hw_knob)hw_random_below(random, 2), (uint32_t)hw_random_below(random, 4),
                        (double)hw_random_below(random, 4)};
}

static void draw_across(hw_random *random, hw_across *across)
{
    *across = (hw_across){.seconds = hw_random_uniform(random), .progress = hw_random_uniform(random)};
    if (hw_random_below(random, 2) > 0)
        across->next = (hw_untried){.windows = 1, .setting = draw_setting(random), .why = "waits \"86 %\""};
    if (hw_random_below(random, 2) > 0)
        across->tried = (hw_across_trial){draw_setting(random), 0.5, 1 + hw_random_uniform(random),
                                          hw_random_uniform(random), hw_random_below(random, 2) > 0};
    if (hw_random_below(random, 2) > 0) {
        across->lost = draw_setting(random);
        across->lost_seconds = 1 + hw_random_uniform(random);
    }
}

/* Draws a line whose shares are in it. */
static void draw_whole(hw_random *random, drawn_line *line)
{
    draw(random, line);
    line->decided.shares = hw_random_below(random, 2) > 0 ? line->shares : NULL;
    draw_across(random, &line->decided.across);
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a >= b && a <= b);
}

static void expect_setting(const hw_setting *read, const hw_setting *setting)
{
    assert_true(read->knob == setting->knob && read->block == setting->block && same(read->to, setting->to));
}

static void expect_across(const hw_across *read, const hw_across *across)
{
    const hw_across_trial *tried = &across->tried;
    assert_true(same(read->seconds, across->seconds) && same(read->progress, across->progress));
    assert_int_equal(read->next.windows, across->next.windows);
    expect_setting(&read->next.setting, &across->next.setting);
    assert_string_equal(read->next.why, across->next.why);
    expect_setting(&read->tried.setting, &tried->setting);
    assert_true(same(read->tried.from, tried->from) && same(read->tried.before, tried->before) &&
                same(read->tried.after, tried->after) && read->tried.kept == tried->kept);
    expect_setting(&read->lost, &across->lost);
    assert_true(same(read->lost_seconds, across->lost_seconds));
}

static void expect_line(const hw_learned_line *read, const drawn_line *line)
{
    const hw_learned_run *run = &read->run;
    const hw_decided *decided = &read->decided;
    assert_true(read->known);
    assert_string_equal(run->program, line->run.program);
    assert_string_equal(run->loop, line->run.loop);
    assert_int_equal(run->workers, line->run.workers);
    assert_int_equal(run->hosts, line->run.hosts);
    expect_across(&decided->across, &line->decided.across);
    assert_true(run->identity == line->run.identity);
    assert_true(run->places == line->run.places && same(run->exchange, line->run.exchange) &&
                same(run->bytes, line->run.bytes));
    for (int k = 0; k < HW_KNOB_SHARE; k++)
        assert_true(same(decided->value[k], line->decided.value[k]));
    assert_memory_equal(decided->losses, line->decided.losses, sizeof decided->losses);
    assert_true(same(decided->clocks, line->decided.clocks) && same(decided->lost, line->decided.lost) &&
                same(decided->noise, line->decided.noise));
    assert_int_equal(decided->shares == NULL, line->decided.shares == NULL);
    for (uint32_t b = 0; decided->shares != NULL && b < run->workers; b++)
        assert_true(same(decided->shares[b], line->shares[b]));
}

/* A file of drawn lines; ends[i] is where line i ends. */
typedef struct drawn_file {
    drawn_line lines[LINES];
    char *text;
    size_t length, ends[LINES];
} drawn_file;

static drawn_file draw_file(uint64_t seed)
{
    drawn_file file = {.text = NULL};
    hw_random random = hw_random_at(seed, 0, 0, 0);
    for (int i = 0; i < LINES; i++) {
        draw_whole(&random, &file.lines[i]);
        char *line = hw_learned_text(&file.lines[i].run, &file.lines[i].decided);
        assert_non_null(line);
        const size_t length = strlen(line);
        assert_ptr_equal(strchr(line, '\n'), line + length - 1);
        file.text = realloc(file.text, file.length + length + 1);
        assert_non_null(file.text);
        memcpy(file.text + file.length, line, length + 1);
        file.ends[i] = file.length += length;
        free(line);
    }
    return file;
}

static hw_learned_file read(const char *text, size_t length)
{
    hawser_error error = {0};
    hw_learned_file file;
    assert_int_equal(hw_learned_read(text, length, &file, &error), HAWSER_OK);
    return file;
}

static void a_file_gives_back_what_was_written(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        drawn_file drawn = draw_file(seed);
        hw_learned_file file = read(drawn.text, drawn.length);
        assert_int_equal(file.count, LINES);
        assert_int_equal(file.damaged, 0);
        for (int i = 0; i < LINES; i++)
            expect_line(&file.lines[i], &drawn.lines[i]);
        hw_learned_free(&file);
        free(drawn.text);
    }
}

/* Of a file that was cut anywhere the whole lines are left. The end of the last line may be missing. */
static void a_file_that_was_cut_keeps_its_whole_lines(void **state)
{
    (void)state;
    drawn_file drawn = draw_file(3);
    for (size_t length = 0; length <= drawn.length; length++) {
        size_t whole = 0;
        while (whole < LINES && drawn.ends[whole] - 1 <= length)
            whole++;
        const bool rest = length > (whole > 0 ? drawn.ends[whole - 1] : 0);
        char *copy = malloc(length + 1); /* so that reading beyond it is seen */
        assert_non_null(copy);
        memcpy(copy, drawn.text, length);
        hw_learned_file file = read(copy, length);
        assert_int_equal(file.count, whole);
        assert_int_equal(file.damaged, rest);
        assert_int_equal(file.first_damaged, rest ? whole + 1 : 0);
        for (size_t i = 0; i < whole; i++)
            expect_line(&file.lines[i], &drawn.lines[i]);
        hw_learned_free(&file);
        free(copy);
    }
    free(drawn.text);
}

/* One byte that is changed costs its line, or two if it is the end between them; the others are as they were. */
static void a_changed_byte_costs_its_line_alone(void **state)
{
    (void)state;
    drawn_file drawn = draw_file(4);
    hw_random random = hw_random_at(5, 0, 0, 0);
    for (int i = 0; i < 3000; i++) {
        const size_t at = (size_t)hw_random_below(&random, drawn.length);
        const char before = drawn.text[at];
        size_t hit = 0, lost = 1;
        while (drawn.ends[hit] <= at)
            hit++;
        drawn.text[at] = (char)(before ^ (1 << hw_random_below(&random, 8)));
        if (before == '\n' && hit + 1 < LINES)
            lost = 2;
        hw_learned_file file = read(drawn.text, drawn.length);
        assert_int_equal(file.count, LINES - lost);
        assert_in_range(file.damaged, 1, 2); /* a byte may have become the end of a line */
        assert_int_equal(file.first_damaged, hit + 1);
        for (size_t j = 0; j < file.count; j++)
            expect_line(&file.lines[j], &drawn.lines[j < hit ? j : j + lost]);
        hw_learned_free(&file);
        drawn.text[at] = before;
    }
    free(drawn.text);
}

/* Changes a member of a line and gives it a right checksum, as another version would. */
static char *with_member(const char *text, size_t length, const char *key, json_t *value)
{
    json_t *object = hw_line_open(text, length);
    assert_non_null(object);
    json_object_del(object, "checksum");
    bool ok = json_object_set_new(object, key, value) == 0;
    return hw_line_seal(object, ok);
}

/* Lines of other versions, and those whose members are not as expected, are kept, but nothing is learned from them. */
static void other_versions_are_kept_and_not_used(void **state)
{
    (void)state;
    drawn_file drawn = draw_file(6);
    static const char *const keys[] = {"version", "program",  "loop",     "workers", "hosts",  "places",      "exchange",
                                       "bytes",   "settings", "shares",   "lost",    "clocks", "lost_clocks", "noise",
                                       "seconds", "progress", "identity", "next",    "tried",  "doubted"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *const values[] = {json_integer(3), json_string("x"), json_true(),
                                  json_array(),    json_real(-0.5),  json_object()};
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            const bool text = strcmp(keys[i], "program") == 0 || strcmp(keys[i], "loop") == 0;
            const bool number =
                strcmp(keys[i], "workers") == 0 || strcmp(keys[i], "hosts") == 0 || i == 6 || i == 7 || (i > 10 && i < 16);
            const bool may = (v == 0 && number) || (v == 1 && text); /* another value of the same kind */
            char *line = with_member(drawn.text, drawn.ends[0] - 1, keys[i], values[v]);
            assert_non_null(line);
            hw_learned_file file = read(line, strlen(line));
            assert_int_equal(file.count, 1);
            assert_int_equal(file.damaged, 0);
            if (!may && file.lines[0].known)
                fail_msg("a line with another '%s' (%zu) is known", keys[i], v);
            if (!file.lines[0].known)
                assert_null(hw_learned_nearest(&file, &drawn.lines[0].run));
            hw_learned_free(&file);
            free(line);
        }
    }
    char *other = with_member(drawn.text, drawn.ends[0] - 1, "line", json_string("window")); /* as --save-decisions has */
    hw_learned_file file = read(other, strlen(other));
    assert_int_equal(file.count, 0);
    assert_int_equal(file.damaged, 1);
    hw_learned_free(&file);
    free(other);
    free(drawn.text);
}

/* A line of the version before has no trials across runs, and all else. */
static void a_line_of_the_first_version_is_read(void **state)
{
    (void)state;
    static const char *const later[] = {"identity", "seconds", "progress", "next", "tried", "doubted"};
    drawn_file drawn = draw_file(8);
    drawn_line *line = &drawn.lines[0];
    json_t *object = hw_line_open(drawn.text, drawn.ends[0] - 1);
    assert_non_null(object);
    json_object_del(object, "checksum");
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        assert_int_equal(json_object_del(object, later[i]), 0);
    char *text = hw_line_seal(object, json_object_set_new(object, "version", json_integer(1)) == 0);
    assert_non_null(text);
    hw_learned_file file = read(text, strlen(text));
    assert_int_equal(file.count, 1);
    line->run.identity = 0;
    line->decided.across = (hw_across){.seconds = 0};
    expect_line(&file.lines[0], line);
    hw_learned_free(&file);
    free(text);
    free(drawn.text);
}

/* Returns whether two numbers are within a factor of two, and multiplies *far by the factor. */
static bool near(double a, double b, double *far)
{
    const double factor = a > b ? a / b : b / a;
    *far *= factor;
    return factor <= 2;
}

/* The search written apart: by products of factors, from the last line to the first. */
static int nearest(const drawn_file *drawn, const hw_learned_run *run)
{
    int found = -1;
    bool found_own = false;
    double least = INFINITY;
    for (int i = LINES - 1; i >= 0; i--) {
        const hw_learned_run *there = &drawn->lines[i].run;
        double far = 1;
        const bool alike = there->program == run->program && there->loop == run->loop && there->workers == run->workers &&
                           same(there->exchange, run->exchange);
        const bool hosts_near = near(there->hosts, run->hosts, &far), bytes_near = near(there->bytes, run->bytes, &far);
        const bool own = there->identity == run->identity;
        const bool nearer = far < least - 1e-9, equal = far < least + 1e-9 && own && !found_own;
        if (!hosts_near || !bytes_near || !alike || !(nearer || equal))
            continue;
        least = far;
        found = i;
        found_own = own;
    }
    return found;
}

static void the_nearest_run_is_that_of_a_search_written_apart(void **state)
{
    (void)state;
    int found = 0, none = 0, not_last = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        drawn_file drawn = draw_file(seed);
        drawn_line asked;
        hw_random random = hw_random_at(seed, 1, 0, 0);
        draw(&random, &asked);
        hw_learned_file file = read(drawn.text, drawn.length);
        const hw_learned_line *line = hw_learned_nearest(&file, &asked.run);
        const int expected = nearest(&drawn, &asked.run);
        if ((line != NULL ? (int)(line - file.lines) : -1) != expected)
            fail_msg("seed %d: line %d, not %d", (int)seed, line != NULL ? (int)(line - file.lines) : -1, expected);
        found += expected >= 0;
        none += expected < 0;
        for (int i = expected + 1; expected >= 0 && i < LINES; i++) {
            double far = 1;
            const hw_learned_run *there = &drawn.lines[i].run;
            if (there->program == asked.run.program && there->loop == asked.run.loop &&
                there->workers == asked.run.workers && same(there->exchange, asked.run.exchange)) {
                not_last += near(there->hosts, asked.run.hosts, &far) && near(there->bytes, asked.run.bytes, &far);
                break;
            }
        }
        hw_learned_free(&file);
        free(drawn.text);
    }
    if (found < 300 || none < 300 || not_last < 20)
        fail_msg("%d found, %d not, %d times another one was the last", found, none, not_last);
}

/* ------------------------------------------------------------------------------------------------------ deciders ---- */

static const hw_bounds bounds = {
    .start = {[HW_KNOB_QUOTA] = 8000, [HW_KNOB_WORK] = 1, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 1},
    .least = {[HW_KNOB_QUOTA] = 256, [HW_KNOB_WORK] = 0.25, [HW_KNOB_GAIN] = 0.5, [HW_KNOB_SHARE] = 0.125},
    .most = {[HW_KNOB_ENCODING] = 2,
             [HW_KNOB_QUOTA] = 8000,
             [HW_KNOB_WORK] = 4,
             [HW_KNOB_SYNC] = 3,
             [HW_KNOB_GAIN] = 1,
             [HW_KNOB_SHARE] = 1},
    .measured = true,
    .is_gap = true};

enum { BLOCKS = 4 };

static hw_decider open_decider(const hw_bounds *own)
{
    hw_decider decider;
    hawser_error error = {0};
    assert_int_equal(hw_decider_open(&decider, own, BLOCKS, &error), HAWSER_OK);
    return decider;
}

/* Takes a window that asks for nothing, and a point behind it at which the logarithm of the gap is y. */
static void pass(hw_decider *decider, hawser_cause cause, double clocks, double y)
{
    const hw_feedback feedback = {.found = {.cause = cause, .clocks = 10, .seconds = 10, .waited = 0.5, .measure = 2}};
    hw_decider_window(decider, &feedback);
    hw_decider_point(decider, clocks, clocks, exp(y));
}

static size_t count_changes(hw_decider *decider, hw_knob *last)
{
    hw_instruction made;
    size_t count = 0;
    for (; hw_decider_next(decider, &made); count++) {
        *last = made.knob;
        assert_true(made.reason[0] != '\0');
    }
    return count;
}

/* Drawn settings: those that may change begin within the bounds, all others stay; staleness is 0 until progress was measured
 * twice under bsp, and then the learned one. */
static void a_run_begins_within_its_bounds_and_under_bsp(void **state)
{
    (void)state;
    hw_random random = hw_random_at(7, 0, 0, 0);
    for (int i = 0; i < 500; i++) {
        drawn_line line;
        hw_knob knob = HW_KNOBS;
        draw_whole(&random, &line);
        line.decided.value[HW_KNOB_WORK] *= 2;
        line.decided.across = (hw_across){.seconds = 0};
        line.decided.losses[HW_KNOB_GAIN] = 3; /* so that windows try nothing else */
        hw_bounds own = bounds;
        for (int k = 0; k < HW_KNOBS; k++)
            if (hw_random_below(&random, 3) == 0)
                own.least[k] = own.most[k] = own.start[k];
        hw_decider decider = open_decider(&own);
        hw_decider_learn(&decider, &line.decided, "learned");
        for (int k = 0; k < HW_KNOBS; k++) {
            const double value = line.decided.value[k];
            const bool stays = own.least[k] >= own.most[k] || k == HW_KNOB_SYNC || k == HW_KNOB_SHARE || isnan(value);
            const double expected = stays ? own.start[k] : value > own.most[k] ? own.most[k] : value;
            assert_true(same(decider.value[k], expected));
        }
        for (uint32_t b = 0; b < BLOCKS; b++)
            assert_true(
                same(decider.shares[b], line.decided.shares != NULL && own.least[HW_KNOB_SHARE] < 1 ? line.shares[b] : 1));
        (void)count_changes(&decider, &knob);
        const bool later = own.most[HW_KNOB_SYNC] > 0 && !isnan(line.decided.value[HW_KNOB_SYNC]);
        for (int point = 0; point < 3; point++) {
            assert_true(same(decider.value[HW_KNOB_SYNC], 0));
            pass(&decider, HAWSER_CAUSE_OTHER, 10 + 10 * point, -point);
        }
        assert_true(same(decider.value[HW_KNOB_SYNC], later ? 3 : 0));
        assert_int_equal(count_changes(&decider, &knob), later);
        hw_decider_close(&decider);
    }
}

/* What a run has decided is what another one begins with, and then leaves itself. A trial that goes on is not decided. */
static void what_was_decided_is_handed_on(void **state)
{
    (void)state;
    double shares[BLOCKS], again[BLOCKS];
    hw_knob knob = HW_KNOBS;
    hw_decided first, second;
    hw_decider decider = open_decider(&bounds);
    pass(&decider, HAWSER_CAUSE_LINK, 10, 0); /* a window of a busy link: bf16 */
    assert_int_equal(count_changes(&decider, &knob), 1);
    hw_decider_decided(&decider, shares, 0, false, &first);
    assert_true(isnan(first.value[HW_KNOB_ENCODING])); /* no window has shown that clocks got shorter */
    hw_decider_close(&decider);

    decider = open_decider(&bounds);
    decider.value[HW_KNOB_ENCODING] = 2;
    decider.value[HW_KNOB_SYNC] = 2;
    decider.shares[1] = 0.25;
    decider.losses[HW_KNOB_WORK] = 2;
    decider.barred[HW_KNOB_GAIN] = true;
    decider.clocks = 500;
    decider.lost = 20;
    decider.trial = (hw_trial){.stage = HW_TRIAL_NEW, .knob = HW_KNOB_SHARE, .block = 2, .from = 1, .to = 0.5};
    decider.shares[2] = 0.5;
    hw_decider_decided(&decider, shares, 0, false, &first);
    hw_decider_close(&decider);
    assert_true(same(first.value[HW_KNOB_ENCODING], 2) && same(first.value[HW_KNOB_SYNC], 2) &&
                isnan(first.value[HW_KNOB_WORK]));
    assert_true(same(shares[1], 0.25) && same(shares[2], 1));

    decider = open_decider(&bounds);
    hw_decider_learn(&decider, &first, "learned");
    hw_decider_decided(&decider, again, 0, false, &second);
    for (int k = 0; k < HW_KNOB_SHARE; k++)
        assert_true(same(first.value[k], second.value[k]));
    assert_memory_equal(shares, again, sizeof shares);
    assert_memory_equal(first.losses, second.losses, sizeof first.losses);
    assert_true(same(first.clocks, second.clocks) && same(first.lost, second.lost));
    hw_decider_close(&decider);
}

/* A learned encoding is compared with exact once a measurement is a twentieth of the run. It stays if progress per second
 * was 1.1 times that of exact, which is lost else; without a metric it is not begun with. */
static void a_learned_encoding_is_compared_with_exact(void **state)
{
    (void)state;
    for (int faster = 0; faster < 2; faster++) {
        hw_knob knob = HW_KNOBS;
        hw_decided learned = {.clocks = 1000, .losses = {[HW_KNOB_GAIN] = 9}};
        for (int k = 0; k < HW_KNOBS; k++)
            learned.value[k] = k == HW_KNOB_ENCODING ? 2 : (double)NAN;
        hw_decider decider = open_decider(&bounds);
        hw_decider_learn(&decider, &learned, "learned");
        assert_int_equal(count_changes(&decider, &knob), 1);
        double seconds = 0, exact_at = 0;
        for (int window = 1; window <= 60; window++) {
            const bool exact = decider.value[HW_KNOB_ENCODING] < 1;
            const double took = exact && faster ? 20 : 10;
            const hw_feedback other = {.found = {.cause = HAWSER_CAUSE_OTHER, .clocks = 10, .seconds = took, .waited = 0.5}};
            hw_decider_window(&decider, &other);
            seconds += took;
            hw_decider_point(&decider, seconds, 10 * window, exp(-window));
            const bool was_exact = decider.value[HW_KNOB_ENCODING] < 1;
            exact_at = was_exact && exact_at == 0 ? window : exact_at;
            assert_true(window >= 20 || !was_exact);
        }
        assert_true(exact_at >= 20 && exact_at < 25);
        assert_true(same(decider.value[HW_KNOB_ENCODING], faster ? 2 : 0));
        hw_decider_close(&decider);
        hw_bounds blind = bounds;
        blind.measured = false;
        decider = open_decider(&blind);
        hw_decider_learn(&decider, &learned, "learned");
        assert_true(same(decider.value[HW_KNOB_ENCODING], 0));
        hw_decider_close(&decider);
    }
}

/* Passes windows without waits, for which sigma' is halved first, until a trial begins; returns their number. */
static int windows_to_a_trial(const hw_decided *learned)
{
    hw_knob knob = HW_KNOBS;
    hw_decider decider = open_decider(&bounds);
    if (learned != NULL)
        hw_decider_learn(&decider, learned, "learned");
    int windows = 0;
    while (windows < 200 && count_changes(&decider, &knob) == 0) {
        windows++;
        const hw_feedback none = {.found = {.cause = HAWSER_CAUSE_NONE, .clocks = 10, .seconds = 10, .waited = 0.1},
                                  .exchanging = 0.5};
        hw_decider_window(&decider, &none);
        hw_decider_point(&decider, 10 * windows, 10 * windows, exp(-windows));
    }
    assert_int_equal(knob, HW_KNOB_GAIN);
    hw_decider_close(&decider);
    return windows;
}

/* A trial that was lost is not begun again at once, the longer the more often it was lost, and not before lost trials of all
 * runs are few. */
static void lost_trials_are_not_repeated_at_once(void **state)
{
    (void)state;
    hw_decided learned = {.clocks = 100};
    for (int k = 0; k < HW_KNOBS; k++)
        learned.value[k] = (double)NAN;
    const int cold = windows_to_a_trial(NULL);
    assert_int_equal(windows_to_a_trial(&learned), cold);
    learned.losses[HW_KNOB_GAIN] = 1;
    const int once = windows_to_a_trial(&learned);
    learned.losses[HW_KNOB_GAIN] = 4;
    const int often = windows_to_a_trial(&learned);
    assert_true(once >= 2 && once >= cold && often >= 16 && often > once);
    learned.losses[HW_KNOB_GAIN] = 0;
    learned.lost = 30; /* with the 10 clocks of a trial a twentieth of 800 clocks, of which 700 are of this run */
    const int costly = windows_to_a_trial(&learned);
    assert_in_range(costly, 69, 72);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_gives_back_what_was_written),
        cmocka_unit_test(a_file_that_was_cut_keeps_its_whole_lines),
        cmocka_unit_test(a_changed_byte_costs_its_line_alone),
        cmocka_unit_test(other_versions_are_kept_and_not_used),
        cmocka_unit_test(a_line_of_the_first_version_is_read),
        cmocka_unit_test(the_nearest_run_is_that_of_a_search_written_apart),
        cmocka_unit_test(a_run_begins_within_its_bounds_and_under_bsp),
        cmocka_unit_test(what_was_decided_is_handed_on),
        cmocka_unit_test(a_learned_encoding_is_compared_with_exact),
        cmocka_unit_test(lost_trials_are_not_repeated_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
