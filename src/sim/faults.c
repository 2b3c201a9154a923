#include "sim/faults.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "hawser/options.h"
#include "sim/compute.h"
#include "sim/nets.h"
#include "sim/network.h"
#include "sim/world.h"

/* A fault's words: a node, and then another node or a factor. */
typedef struct sim_fault_row {
    const char *name;
    bool other, times;
} sim_fault_row;

static const sim_fault_row rows[] = {
    [SIM_FAULT_KILL] = {"kill", false, false},         [SIM_FAULT_STOP] = {"stop", false, false},
    [SIM_FAULT_CONTINUE] = {"continue", false, false}, [SIM_FAULT_CUT] = {"cut", true, false},
    [SIM_FAULT_HEAL] = {"heal", true, false},          [SIM_FAULT_SLOW] = {"slow", false, true},
    [SIM_FAULT_LINK] = {"link", false, true},
};
enum { KINDS = sizeof rows / sizeof *rows, WORDS_MOST = 5 };

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

static bool read_node(const char *text, uint32_t nodes, uint32_t *node)
{
    double value;
    if (!read_number(text, &value) || value != floor(value) || value >= nodes)
        return false;
    *node = (uint32_t)value;
    return true;
}

static bool read_words(char *const *words, size_t count, uint32_t nodes, sim_fault *fault)
{
    size_t kind = 0;
    if (count < 3 || strncmp(words[0], "t=", 2) != 0 || !read_number(words[0] + 2, &fault->at))
        return false;
    while (kind < KINDS && strcmp(words[1], rows[kind].name) != 0)
        kind++;
    if (kind == KINDS || !read_node(words[2], nodes, &fault->node))
        return false;
    fault->kind = (sim_fault_kind)kind;
    if (rows[kind].other)
        return count == 4 && read_node(words[3], nodes, &fault->other);
    if (rows[kind].times)
        return count == 4 && read_number(words[3], &fault->times) && fault->times > 0;
    return count == 3;
}

static hawser_status read_line(const char *where, size_t number, const char *line, uint32_t nodes, sim_faults *faults,
                               hawser_error *error)
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
    if (strlen(line) >= sizeof copy || !read_words(words, count, nodes, &fault))
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "%s:%zu: '%.80s': expected t=SECONDS and one of kill N, stop N, continue N, cut N N, heal N N, slow N "
            "TIMES, link N TIMES, with nodes from 0 to %u",
            where, number, line, nodes - 1);
    return sim_faults_add(faults, fault, error);
}

hawser_status sim_faults_read(const char *where, const char *text, uint32_t nodes, sim_faults *faults, hawser_error *error)
{
    char line[200];
    for (size_t number = 1; text != NULL && *text != '\0'; number++) {
        size_t length = strcspn(text, ";\n");
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), text);
        HAWSER_TRY(read_line(where, number, line, nodes, faults, error));
        text += text[length] != '\0' ? length + 1 : length;
    }
    return HAWSER_OK;
}

hawser_status sim_faults_load(const char *path, uint32_t nodes, sim_faults *faults, hawser_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return hawser_fail(error, HAWSER_IO, "cannot open the scenario %s", path);
    ssize_t length = getdelim(&text, &size, '\0', file);
    (void)fclose(file);
    hawser_status status = length > 0 ? sim_faults_read(path, text, nodes, faults, error) : HAWSER_OK;
    free(text);
    return status;
}

void sim_fault_text(const sim_fault *fault, char *text, size_t size)
{
    const sim_fault_row *row = &rows[fault->kind];
    int used = snprintf(text, size, "t=%.9f %s %u", fault->at, row->name, fault->node);
    if (row->other)
        snprintf(text + used, size - (size_t)used, " %u", fault->other);
    if (row->times)
        snprintf(text + used, size - (size_t)used, " %.17g", fault->times);
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

static void happen(void *argument, uint64_t unused)
{
    const sim_fault *fault = argument;
    (void)unused;
    sim_process *process = sim_process_at(fault->node);
    switch (fault->kind) {
    case SIM_FAULT_KILL: sim_kill(process); break;
    case SIM_FAULT_STOP: sim_stop(process); break;
    case SIM_FAULT_CONTINUE: sim_continue(process); break;
    case SIM_FAULT_CUT:
    case SIM_FAULT_HEAL:
        sim_nets_cut(process->host, sim_process_at(fault->other)->host, fault->kind == SIM_FAULT_CUT);
        break;
    case SIM_FAULT_SLOW: sim_slow_host(process->host, fault->times); break;
    case SIM_FAULT_LINK: sim_slow_link(process->host, fault->times); break;
    }
}

void sim_faults_plan(const sim_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++)
        sim_at(SIM_FIRST + (uint64_t)(faults->list[i].at * 1e9), happen, &faults->list[i], 0);
}
