#include "sim/faults.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "hawser/options.h"
#include "sim/compute.h"
#include "sim/disk.h"
#include "sim/nets.h"
#include "sim/network.h"
#include "sim/quantity.h"
#include "sim/world.h"

/* What stands behind the node of a fault. */
typedef enum sim_rest { NOTHING, OTHER, TIMES, RATE, TURN } sim_rest;

typedef struct sim_fault_row {
    const char *name;
    sim_rest rest;
} sim_fault_row;

static const sim_fault_row rows[] = {
    [SIM_FAULT_KILL] = {"kill", NOTHING},
    [SIM_FAULT_STOP] = {"stop", NOTHING},
    [SIM_FAULT_TERM] = {"term", NOTHING},
    [SIM_FAULT_CRASH] = {"crash", NOTHING},
    [SIM_FAULT_FULL] = {"full", NOTHING},
    [SIM_FAULT_CONTINUE] = {"continue", NOTHING},
    [SIM_FAULT_CUT] = {"cut", OTHER},
    [SIM_FAULT_HEAL] = {"heal", OTHER},
    [SIM_FAULT_SLOW] = {"slow", TIMES},
    [SIM_FAULT_LINK] = {"link", TIMES},
    [SIM_FAULT_RATE] = {"rate", RATE},
    [SIM_FAULT_TURN_SLOW] = {"turn slow", TURN},
    [SIM_FAULT_TURN_LINK] = {"turn link", TURN},
};
#define CLOCKS_BELOW 9e15 /* whole numbers that a double has */
enum { KINDS = sizeof rows / sizeof *rows, WORDS_MOST = 7 };

/* The faults of the world that is open. */
static const sim_faults *planned;

hawser_status sim_faults_add(sim_faults *faults, sim_fault fault, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&faults->list, &faults->capacity, faults->count + 1, "the faults", error));
    faults->list[faults->count++] = fault;
    return HAWSER_OK;
}

static bool read_number(const char *text, double *value)
{
    const char *end = hawser_read_number(text, value);
    return end != NULL && *end == '\0' && isfinite(*value) && *value >= 0;
}

static bool read_whole(const char *text, double below, uint64_t *whole)
{
    double value;
    if (!read_number(text, &value) || value != floor(value) || value >= below)
        return false;
    *whole = (uint64_t)value;
    return true;
}

static bool read_node(const char *text, uint32_t nodes, uint32_t *node)
{
    uint64_t number;
    if (!read_whole(text + (text[0] == 'h'), nodes, &number))
        return false;
    *node = (uint32_t)number;
    return true;
}

static bool read_kind(const char *name, sim_fault *fault)
{
    size_t kind = 0;
    while (kind < KINDS && (rows[kind].rest == TURN || strcmp(name, rows[kind].name) != 0))
        kind++;
    fault->kind = (sim_fault_kind)kind;
    return kind < KINDS;
}

static bool read_time(const char *word, uint32_t jobs, sim_fault *fault)
{
    uint64_t job;
    if (strncmp(word, "clock=", 6) == 0) {
        fault->trigger = SIM_BY_CLOCK;
        return read_whole(word + 6, CLOCKS_BELOW, &fault->clock);
    }
    if (strncmp(word, "end=", 4) == 0) {
        fault->trigger = SIM_BY_END;
        if (!read_whole(word + 4, jobs, &job))
            return false;
        fault->job = (uint32_t)job;
        return true;
    }
    return strncmp(word, "t=", 2) == 0 && read_number(word + 2, &fault->at);
}

/* Reads `turn slow TIMES every N clocks`. */
static bool read_turn(char *const *words, size_t count, sim_fault *fault)
{
    hawser_error ignored;
    if (count != 6 || (strcmp(words[1], "slow") != 0 && strcmp(words[1], "link") != 0))
        return false;
    fault->trigger = SIM_BY_CLOCK;
    fault->kind = words[1][0] == 's' ? SIM_FAULT_TURN_SLOW : SIM_FAULT_TURN_LINK;
    return sim_read_factor("", words[2], &fault->times, &ignored) == HAWSER_OK && strcmp(words[3], "every") == 0 &&
           read_whole(words[4], CLOCKS_BELOW, &fault->clock) && fault->clock > 0 && strcmp(words[5], "clocks") == 0;
}

static bool read_words(char *const *words, size_t count, uint32_t nodes, uint32_t jobs, sim_fault *fault)
{
    hawser_error ignored;
    if (strcmp(words[0], "turn") == 0)
        return read_turn(words, count, fault);
    if (count < 3 || !read_time(words[0], jobs, fault) || !read_kind(words[1], fault) ||
        !read_node(words[2], nodes, &fault->node))
        return false;
    switch (rows[fault->kind].rest) {
    case OTHER: return count == 4 && read_node(words[3], nodes, &fault->other);
    case TIMES: return count == 4 && sim_read_factor("", words[3], &fault->times, &ignored) == HAWSER_OK;
    case RATE: return count == 4 && sim_read_rate("", words[3], &fault->times, &ignored) == HAWSER_OK;
    default: return count == 3;
    }
}

static hawser_status read_line(const char *where, size_t number, const char *line, uint32_t nodes, uint32_t jobs,
                               sim_faults *faults, hawser_error *error)
{
    char copy[200], *words[WORDS_MOST], *rest = copy, *word;
    size_t count = 0;
    sim_fault fault = {0};
    snprintf(copy, sizeof copy, "%s", line);
    copy[strcspn(copy, "#\n")] = '\0';
    while ((word = strsep(&rest, " \t")) != NULL && count < WORDS_MOST)
        if (*word != '\0')
            words[count++] = word;
    if (count == 0)
        return HAWSER_OK;
    if (strlen(line) >= sizeof copy || !read_words(words, count, nodes, jobs, &fault))
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "%s:%zu: '%.80s': expected t=SECONDS, clock=N or end=JOB and one of kill N, term N, crash N, full N, stop N, "
            "continue N, cut N N, heal N N, slow N TIMES, link N TIMES, rate N RATE, with nodes from 0 to %u and jobs from "
            "0 "
            "to %u, or turn slow (or link) TIMES every N clocks",
            where, number, line, nodes - 1, jobs - 1);
    return sim_faults_add(faults, fault, error);
}

hawser_status sim_faults_read(const char *where, const char *text, uint32_t nodes, uint32_t jobs, sim_faults *faults,
                              hawser_error *error)
{
    char line[200];
    for (size_t number = 1; text != NULL && *text != '\0'; number++) {
        size_t length = strcspn(text, ";\n");
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), text);
        HAWSER_TRY(read_line(where, number, line, nodes, jobs, faults, error));
        text += text[length] != '\0' ? length + 1 : length;
    }
    return HAWSER_OK;
}

hawser_status sim_faults_load(const char *path, uint32_t nodes, uint32_t jobs, sim_faults *faults, hawser_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return hawser_fail(error, HAWSER_IO, "cannot open the scenario %s", path);
    ssize_t length = getdelim(&text, &size, '\0', file);
    bool unread = ferror(file) != 0;
    (void)fclose(file);
    hawser_status status = HAWSER_OK;
    if (unread)
        status = hawser_fail(error, HAWSER_IO, "cannot read the scenario %s", path);
    else if (length > 0)
        status = sim_faults_read(path, text, nodes, jobs, faults, error);
    free(text);
    return status;
}

void sim_fault_text(const sim_fault *fault, char *text, size_t size)
{
    const sim_fault_row *row = &rows[fault->kind];
    char when[40];
    if (row->rest == TURN) {
        snprintf(text, size, "%s %.17g every %" PRIu64 " clocks", row->name, fault->times, fault->clock);
        return;
    }
    if (fault->trigger == SIM_BY_CLOCK)
        snprintf(when, sizeof when, "clock=%" PRIu64, fault->clock);
    else if (fault->trigger == SIM_BY_END)
        snprintf(when, sizeof when, "end=%u", fault->job);
    else
        snprintf(when, sizeof when, "t=%.9f", fault->at);
    int used = snprintf(text, size, "%s %s %u", when, row->name, fault->node);
    if (row->rest == OTHER)
        snprintf(text + used, size - (size_t)used, " %u", fault->other);
    if (row->rest == TIMES || row->rest == RATE)
        snprintf(text + used, size - (size_t)used, " %.17g%s", fault->times, row->rest == RATE ? "B" : "");
}

/* One fault, and its end if it has one. */
static hawser_status draw_one(hw_random *random, uint32_t nodes, double seconds, sim_faults *faults, hawser_error *error)
{
    static const sim_fault_kind kinds[] = {SIM_FAULT_KILL, SIM_FAULT_STOP, SIM_FAULT_CUT, SIM_FAULT_SLOW, SIM_FAULT_LINK};
    sim_fault fault = {.at = seconds * hw_random_uniform(random),
                       .kind = kinds[hw_random_below(random, sizeof kinds / sizeof *kinds)],
                       .node = (uint32_t)hw_random_below(random, nodes),
                       .other = (uint32_t)hw_random_below(random, nodes),
                       .times = 1 + 20 * hw_random_uniform(random)};
    double longest = hw_random_below(random, 2) == 0 ? 0.01 : 8; /* shorter, or perhaps longer, than the failure timeout */
    HAWSER_TRY(sim_faults_add(faults, fault, error));
    fault.at += longest * hw_random_uniform(random);
    if (fault.kind == SIM_FAULT_STOP)
        fault.kind = SIM_FAULT_CONTINUE;
    else if (fault.kind == SIM_FAULT_CUT)
        fault.kind = SIM_FAULT_HEAL;
    else
        return HAWSER_OK;
    return sim_faults_add(faults, fault, error);
}

hawser_status sim_faults_draw(hw_random *random, uint32_t nodes, double seconds, sim_faults *faults, hawser_error *error)
{
    for (uint64_t left = 1 + hw_random_below(random, 4); left > 0; left--)
        HAWSER_TRY(draw_one(random, nodes, seconds, faults, error));
    return HAWSER_OK;
}

void sim_faults_free(sim_faults *faults)
{
    free(faults->list);
    *faults = (sim_faults){0};
}

static void slow_down(sim_fault_kind kind, uint32_t host, double times)
{
    if (kind == SIM_FAULT_SLOW || kind == SIM_FAULT_TURN_SLOW)
        sim_slow_host(host, times);
    else
        sim_slow_link(host, times);
}

/* It is the next host's turn; the one before is as fast as it was without turns. */
static void turn(const sim_fault *fault, uint64_t number)
{
    uint32_t nodes = sim_process_count();
    if (number > 0)
        slow_down(fault->kind, sim_process_at((uint32_t)((number - 1) % nodes))->host, 1);
    slow_down(fault->kind, sim_process_at((uint32_t)(number % nodes))->host, fault->times);
}

/* All processes of a host end, and its disk loses what was not synced. Those that have not begun do so later. */
static void crash(uint32_t host)
{
    for (uint32_t i = 0; i < sim_process_count(); i++)
        if (sim_process_at(i)->host == host && sim_process_at(i)->state != SIM_NEW)
            sim_kill(sim_process_at(i));
    sim_disk_crash(host);
}

static void happen(void *argument, uint64_t number)
{
    const sim_fault *fault = argument;
    sim_process *process = sim_process_at(fault->node);
    switch (fault->kind) {
    case SIM_FAULT_KILL: sim_kill(process); break;
    case SIM_FAULT_TERM: sim_signal(process, SIGTERM); break;
    case SIM_FAULT_CRASH: crash(process->host); break;
    case SIM_FAULT_FULL: sim_disk_fill(process->host); break;
    case SIM_FAULT_STOP: sim_stop(process); break;
    case SIM_FAULT_CONTINUE: sim_continue(process); break;
    case SIM_FAULT_CUT:
    case SIM_FAULT_HEAL:
        sim_nets_cut(process->host, sim_process_at(fault->other)->host, fault->kind == SIM_FAULT_CUT);
        break;
    case SIM_FAULT_SLOW:
    case SIM_FAULT_LINK: slow_down(fault->kind, process->host, fault->times); break;
    case SIM_FAULT_RATE: sim_set_link_rate(process->host, fault->times); break;
    case SIM_FAULT_TURN_SLOW:
    case SIM_FAULT_TURN_LINK: turn(fault, number); break;
    }
}

static bool clock_begun(uint64_t clock)
{
    bool some = false;
    for (size_t i = 0; i < planned->count; i++) {
        sim_fault *fault = &planned->list[i];
        bool turns = rows[fault->kind].rest == TURN;
        if (fault->trigger != SIM_BY_CLOCK || (turns ? clock % fault->clock != 0 : clock != fault->clock))
            continue;
        sim_at(sim_now(), happen, fault, turns ? clock / fault->clock : 0);
        some = true;
    }
    return some;
}

void sim_faults_plan(const sim_faults *faults)
{
    planned = faults;
    sim_on_clock(clock_begun);
    for (size_t i = 0; i < faults->count; i++)
        if (faults->list[i].trigger == SIM_BY_TIME)
            sim_at(SIM_FIRST + (uint64_t)(faults->list[i].at * 1e9), happen, &faults->list[i], 0);
}

void sim_faults_end(uint32_t job)
{
    for (size_t i = 0; i < planned->count; i++)
        if (planned->list[i].trigger == SIM_BY_END && planned->list[i].job == job)
            sim_at(sim_now(), happen, &planned->list[i], 0);
}
