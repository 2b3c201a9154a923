/* idle.c - finds the job's options that can do nothing in a program: refuses those of the command line, and notes the others in one line each. */
#include <stdio.h>
#include <string.h>

#include "base/option_value.h"
#include "runtime/job/job.h"

/* What a reason depends on: the program, or also how this job was started. */
typedef enum idle_kind { USED, IDLE, IDLE_HERE } idle_kind;

/* Returns true if the option was given and its value is not the default. */
static bool is_asked(const hawser_options *options, const char *key)
{
    return hawser_options_source(options, key, NULL) > HAWSER_FROM_PROGRAM && hw_option_differs(options, key);
}

/* Returns true if the user has asked for one worker; else the machine or the size of the work has decided. */
static bool asks_for_one(const hawser_options *options)
{
    return hawser_options_source(options, "workers", NULL) == HAWSER_FROM_COMMAND_LINE &&
           hawser_options_integer(options, "workers") == 1;
}

/* The states of a program whose updates can be held back and rounded. */
typedef struct hw_sent_states {
    bool any;      /* there are such states */
    bool filter;   /* one of them has a filter, */
    bool quota;    /* a quota, */
    bool filtered; /* both, */
    bool rounded;  /* a form that rounds */
} hw_sent_states;

static hw_sent_states find_sent(const hw_plan *plan)
{
    hw_sent_states sent = {0};
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
        const hw_state_plan *own = &plan->states[state->number];
        if (state->kind != HW_REPLICATED || !hw_operator_updates(plan->program->root, state))
            continue;
        bool filter = own->filter.kind != HW_FILTER_NONE, quota = own->filter.quota > 0;
        sent.any = true;
        sent.filter |= filter;
        sent.quota |= quota;
        sent.filtered |= filter && quota;
        sent.rounded |= state->form != HAWSER_EXACT;
    }
    return sent;
}

/* Judges an option about updates that are held back or rounded. */
static idle_kind judge_sent(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    hw_sent_states sent = find_sent(plan);
    *why = "no unit of the program updates a replicated state, whose updates it is about";
    if (!sent.any)
        return IDLE;
    *why = "one worker has no other to exchange with";
    if (plan->settings.blocks == 1)
        return asks_for_one(job->options) ? IDLE : IDLE_HERE;
    *why = "it needs a --filter, which chooses what is held back";
    if (strcmp(key, "quota") == 0 && !sent.filter)
        return IDLE;
    *why = "without a --quota everything passes";
    if (strcmp(key, "filter") == 0 && !sent.quota)
        return IDLE;
    *why = "it needs a --filter and a --quota";
    if (strcmp(key, "max-held-clocks") == 0 && !sent.filtered)
        return IDLE;
    *why = "the program sends no state in this form (hawser_encoding)";
    return strcmp(key, "encoding") == 0 && !sent.rounded ? IDLE : USED;
}

/* Judges an option that the program reads by a call, which `reader` names. */
static idle_kind judge_read(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    static const struct {
        const char *key, *why;
    } readers[] = {{"sync", "the program has not read it before its first loop (hawser_job_sync)"},
                   {"merge", "the program has not read it before its first loop (hawser_job_damping)"},
                   {"exchange-every", "the program does not read it"}};
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        *why = readers[i].why;
        if (strcmp(readers[i].key, key) == 0 && !hw_option_was_read(job->options, key))
            return IDLE;
    }
    *why = "one worker has no other to exchange with";
    return plan->settings.blocks == 1 && strcmp(key, "exchange-every") != 0 ? IDLE_HERE : USED;
}

/* Returns true if a loop updates states that blocks exchange without waiting for all of each clock. */
static bool runs_apart(const hw_plan *plan)
{
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        if (loop->kind != HW_LOOP || !hw_operator_shipped(loop) || hw_policy_of(loop->sync).kind == HW_POLICY_BSP)
            continue;
        for (const hawser_state *state = plan->program->states; state != NULL; state = state->next)
            if (hw_state_is_exchanged(state) && hw_operator_updates(loop, state))
                return true;
    }
    return false;
}

static idle_kind judge_nodes(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    *why = "the job has one node";
    if (hawser_job_nodes(job) == 1 && plan->settings.nodes <= 1)
        return IDLE_HERE;
    *why = "no loop runs under ssp or tap";
    return strcmp(key, "backlog") == 0 && !runs_apart(plan) ? IDLE_HERE : USED;
}

typedef idle_kind judge(const hawser_job *job, const hw_plan *plan, const char *key, const char **why);

/* Options that are not here have an effect in every job. */
static const struct {
    const char *key;
    judge *judge;
} judged[] = {
    {"filter", judge_sent},
    {"quota", judge_sent},
    {"max-held-clocks", judge_sent},
    {"encoding", judge_sent},
    {"sync", judge_read},
    {"merge", judge_read},
    {"exchange-every", judge_read},
    {"topology", judge_nodes},
    {"backlog", judge_nodes},
    {"rate", judge_nodes},
    {"transport", judge_nodes},
    {"trust-fabric", judge_nodes},
    {"failure-timeout", judge_nodes},
    {"join-timeout", judge_nodes},
    {"interface", judge_nodes},
    {"port-range", judge_nodes},
};

/* Prints the note. The library prints here, because a program has no other line for it. */
static void note(const hawser_job *job, const char *key, const char *why)
{
    const char *where = NULL;
    hawser_source source = hawser_options_source(job->options, key, &where);
    if (!hawser_job_leads(job) || hawser_options_flag(job->options, "quiet"))
        return;
    if (source == HAWSER_FROM_FILE)
        fprintf(stderr, "hawser: %s: %s does nothing here: %s\n", where, key, why);
    else
        fprintf(stderr, "hawser: %s does nothing here: %s\n", where, why);
}

static hawser_status check(const hawser_job *job, const hw_plan *plan, size_t option, hawser_error *error)
{
    const char *key = judged[option].key, *why = NULL;
    if (!is_asked(job->options, key))
        return HAWSER_OK;
    bool typed = hawser_options_source(job->options, key, NULL) == HAWSER_FROM_COMMAND_LINE;
    idle_kind kind = judged[option].judge(job, plan, key, &why);
    if (kind == IDLE && typed)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--%s does nothing here: %s", key, why);
    /* A file or the environment sets options of nodes for all jobs, those of one node too. */
    if (kind != USED && (typed || judged[option].judge != judge_nodes))
        note(job, key, why);
    return HAWSER_OK;
}

static bool has_loop(const hawser_program *program)
{
    for (size_t i = 0; i < program->operator_count; i++)
        if (program->operators[i]->kind == HW_LOOP)
            return true;
    return false;
}

hawser_status hw_job_check_idle(hawser_job *job, const hw_plan *plan, hawser_error *error)
{
    if (job->idle_checked || !has_loop(plan->program))
        return HAWSER_OK;
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++)
        HAWSER_TRY(check(job, plan, i, error));
    job->idle_checked = true;
    return HAWSER_OK;
}
