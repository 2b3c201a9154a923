/* idle.c - finds the job's options that can do nothing in a program: refuses those of the command line and of calls, and
 * notes the others in one line each. */
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/option_value.h"
#include "program/kind.h"
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
    return hawser_options_source(options, "workers", NULL) >= HAWSER_FROM_COMMAND_LINE &&
           hawser_options_integer(options, "workers") == 1;
}

/* Returns whether one of the option's values lets the driver change its setting in a run. */
static bool asks_to_adapt(const hawser_options *options, const char *key)
{
    static const char *const by_state[] = {"encoding", "quota"};
    hw_option_item item;
    for (size_t i = 0; i < sizeof by_state / sizeof *by_state; i++)
        for (const char *rest = NULL; strcmp(key, by_state[i]) == 0 && hw_option_next_item(options, key, &rest, &item);)
            if (hw_is_auto(item.text))
                return true;
    return (strcmp(key, "sync") == 0 || strcmp(key, "exchange-every") == 0) && hw_is_auto(hw_option_text(options, key));
}

/* The states of a program whose updates can be held back and rounded. */
typedef struct hw_sent_states {
    bool any;      /* there are such states */
    bool common;   /* one of them takes the option's value for all states, */
    bool filter;   /* one has a filter, */
    bool quota;    /* a quota, */
    bool filtered; /* both, */
    bool rounded;  /* a form that rounds */
} hw_sent_states;

static hw_sent_states find_sent(const hawser_job *job, const hw_plan *plan, const char *key)
{
    hw_sent_states sent = {0};
    bool form = strcmp(key, "encoding") == 0;
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
        const hw_state_plan *own = &plan->states[state->number];
        if (!hw_state_is_sent(plan, state))
            continue;
        hw_option_item item;
        bool filter = own->filter.kind != HW_FILTER_NONE, quota = own->filter.quota > 0;
        sent.any = true;
        sent.common |= (form || !state->filter_set) && !hw_option_of_state(job->options, key, state->name, &item);
        sent.filter |= filter;
        sent.quota |= quota;
        sent.filtered |= filter && quota;
        sent.rounded |= own->rounding != HW_F64;
    }
    return sent;
}

/* Returns true if the option has a value for all states that is not the default. */
static bool has_common(const hawser_options *options, const char *key)
{
    hw_option_item item;
    for (const char *rest = NULL; hw_option_next_item(options, key, &rest, &item);)
        if (item.length == 0)
            for (size_t i = 0; hawser_options_row(options, i) != NULL; i++)
                if (strcmp(hawser_options_row(options, i)->key, key) == 0)
                    return strcmp(hawser_options_row(options, i)->value, item.text) != 0;
    return false;
}

/* Judges an option about updates that are held back or rounded. */
static idle_kind judge_sent(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    hw_sent_states sent = find_sent(job, plan, key);
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
    if (strcmp(key, "filter") == 0 && !sent.quota && !asks_to_adapt(job->options, "quota"))
        return IDLE;
    *why = "it needs a --filter and a --quota";
    if (strcmp(key, "max-held-clocks") == 0 && !sent.filtered)
        return IDLE;
    *why = "its value for all states is used by none: each state whose updates are sent has its own, by a STATE= of this "
           "option or by the state's .filter";
    if (has_common(job->options, key) && !sent.common)
        return IDLE;
    *why = "the program sends no state in this form (.form)";
    return strcmp(key, "encoding") == 0 && !sent.rounded && !asks_to_adapt(job->options, key) ? IDLE : USED;
}

enum { REASON = 400 };

/* Writes why a state cannot be named, with the names of those that can. */
static void explain_name(const hw_plan *plan, const hw_option_item *item, const hawser_state *state, char why[REASON])
{
    size_t used = (size_t)snprintf(why, REASON, "%s '%.*s'%s; ",
                                   state == NULL ? "the program has no state" : "no updates are sent of the state",
                                   (int)(item->length < 80 ? item->length : 80), item->state,
                                   state == NULL                ? ""
                                   : !hw_kind_of(state)->summed ? ", which is not replicated"
                                                                : ", which no unit updates");
    const char *before = "states whose updates are sent: ";
    for (const hawser_state *other = plan->program->states; other != NULL && used < REASON; other = other->next)
        if (hw_state_is_sent(plan, other)) {
            used += (size_t)snprintf(why + used, REASON - used, "%s%s", before, other->name);
            before = ", ";
        }
    if (before[0] != ',' && used < REASON)
        (void)snprintf(why + used, REASON - used, "updates are sent of no state");
}

/* Returns true if an option's value for one state can do nothing, and stores why. */
static bool is_idle_for(const hw_plan *plan, const hawser_options *options, const char *key, const hw_option_item *item,
                        char why[REASON])
{
    char name[80];
    (void)snprintf(name, sizeof name, "%.*s", (int)item->length, item->state);
    const hawser_state *state = item->length < sizeof name ? hw_program_state(plan->program, name) : NULL;
    if (state == NULL || !hw_state_is_sent(plan, state)) {
        explain_name(plan, item, state, why);
        return true;
    }
    const hw_filter *filter = &plan->states[state->number].filter;
    bool chooses = filter->kind != HW_FILTER_NONE, limited = filter->quota > 0;
    const char *lacks = NULL;
    if (strcmp(key, "filter") == 0 && chooses && !limited && !asks_to_adapt(options, "quota"))
        lacks = "--quota, so everything passes";
    else if (strcmp(key, "quota") == 0 && limited && !chooses)
        lacks = "--filter, which chooses what is held back";
    else if (strcmp(key, "max-held-clocks") == 0 && item->value.integer > 0 && !(chooses && limited))
        lacks = "--filter with a --quota, so nothing is held back";
    if (lacks != NULL)
        (void)snprintf(why, REASON, "state '%s' has no %s", name, lacks);
    return lacks != NULL;
}

static bool has_sent(const hw_plan *plan, const hw_option_item *item)
{
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next)
        if (hw_state_is_sent(plan, state) && strlen(state->name) == item->length &&
            strncmp(state->name, item->state, item->length) == 0)
            return true;
    return false;
}

/* Returns true if an option names a state that this program lacks and a later one may have. */
static bool names_later(const hawser_job *job, const hw_plan *plan, const char *key)
{
    hw_option_item item;
    for (const char *rest = NULL; !hw_names_last(&job->named) && hw_option_next_item(job->options, key, &rest, &item);)
        if (item.length > 0 && !has_sent(plan, &item))
            return true;
    return false;
}

/* Returns true if one of the states that an option names makes no use of it, and stores why. */
static bool names_unused(const hawser_job *job, const hw_plan *plan, const char *key, char why[REASON])
{
    hw_option_item item;
    for (const char *rest = NULL; hw_option_next_item(job->options, key, &rest, &item);) {
        if (item.length == 0 || hw_names_know(&job->named, item.state, item.length))
            continue;
        if (!hw_names_last(&job->named) && !has_sent(plan, &item))
            continue; /* a later program may have it */
        if (is_idle_for(plan, job->options, key, &item, why))
            return true;
    }
    return false;
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

/* Returns whether the driver may change anything of a loop (drive/adapt.c), and stores why not otherwise. */
static bool may_adapt(const hw_plan *plan, const char **why)
{
    const char *own;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        if (hw_plan_adapts(plan, loop, &own))
            return true;
        if (*why == NULL || (loop->adapted && hw_operator_shipped(loop)))
            *why = own;
    }
    return false;
}

/* Judges an option that lets the driver change its setting in a run. */
static idle_kind judge_adapting(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    *why = "one worker has no other to exchange with";
    if (plan->settings.blocks == 1)
        return asks_for_one(job->options) ? IDLE : IDLE_HERE;
    *why = hw_plan_adapts_nothing(plan, key);
    bool replays = hw_option_text(job->options, "replay-decisions") != NULL; /* which need not be of as many nodes */
    return *why != NULL && !replays ? IDLE : USED;
}

static idle_kind judge_auto(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    (void)job, (void)key;
    *why = "one worker waits for no other";
    if (plan->settings.blocks == 1)
        return IDLE_HERE;
    *why = NULL;
    return may_adapt(plan, why) ? USED : IDLE_HERE;
}

static idle_kind judge_decisions(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    *why = "it is about the changes of --auto, --sync auto and the like, of which none was given";
    return job->settings.adapts == 0 ? IDLE : judge_auto(job, plan, key, why);
}

/* A model is for trainings, which read the option; files of states are read before (first_values.c). */
static idle_kind judge_init(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    (void)plan;
    *why = "the program reads no model to start from; give --init STATE=FILE, the numbers with which a state begins";
    return hw_first_names_model(&job->first) && !hw_option_was_read(job->options, key) ? IDLE : USED;
}

/* Returns true if the job works for itself. A store may be that of servers elsewhere, which it reaches by the same
 * options. */
static bool is_alone(const hawser_job *job, const hw_plan *plan)
{
    return hawser_job_nodes(job) == 1 && plan->settings.nodes <= 1 && job->store == NULL;
}

static idle_kind judge_key(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    (void)key;
    *why = "the job has one node, which proves itself to no other";
    if (is_alone(job, plan))
        return IDLE_HERE;
    *why = "the launcher gives the nodes a key of their own";
    return job->place.ops != NULL && !job->place.key_of_file && job->store == NULL ? IDLE_HERE : USED;
}

static idle_kind judge_checkpoint(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    (void)plan, (void)key;
    *why = "it is about the checkpoints of --checkpoint DIR";
    return hawser_options_text(job->options, "checkpoint") == NULL ? IDLE : USED;
}

static idle_kind judge_listen(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    (void)plan;
    *why = "a first node of one waits for no other";
    return hawser_options_integer(job->options, key) == 1 ? IDLE_HERE : USED;
}

static idle_kind judge_nodes(const hawser_job *job, const hw_plan *plan, const char *key, const char **why)
{
    *why = "the job has one node";
    if (is_alone(job, plan))
        return IDLE_HERE;
    *why = "no loop runs under ssp or tap";
    return strcmp(key, "backlog") == 0 && !runs_apart(plan) ? IDLE_HERE : USED;
}

typedef idle_kind judge(const hawser_job *job, const hw_plan *plan, const char *key, const char **why);

static bool is_about_nodes(judge *by)
{
    return by == judge_nodes || by == judge_key || by == judge_listen;
}

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
    {"auto", judge_auto},
    {"save-decisions", judge_decisions},
    {"replay-decisions", judge_decisions},
    {"learn", judge_decisions},
    {"init", judge_init},
    {"topology", judge_nodes},
    {"backlog", judge_nodes},
    {"rate", judge_nodes},
    {"transport", judge_nodes},
    {"trust-fabric", judge_nodes},
    {"failure-timeout", judge_nodes},
    {"join-timeout", judge_nodes},
    {"interface", judge_nodes},
    {"port-range", judge_nodes},
    {"node-name", judge_nodes},
    {"key-file", judge_key},
    {"listen", judge_listen},
    {"checkpoint-every", judge_checkpoint},
    {"checkpoint-keep", judge_checkpoint},
    {"fresh", judge_checkpoint},
};

/* Records a note about an option. Returns false if there was one before, as from the plan of a program that then runs. */
static bool is_first_note(hawser_job *job, const char *key)
{
    size_t i = 0, most = sizeof job->noted / sizeof *job->noted * 64;
    while (i < most && hawser_options_row(job->options, i) != NULL &&
           strcmp(hawser_options_row(job->options, i)->key, key) != 0)
        i++;
    if (i == most || (job->noted[i / 64] >> i % 64 & 1) != 0)
        return i == most;
    job->noted[i / 64] |= UINT64_C(1) << i % 64;
    return true;
}

void hw_job_note_idle(hawser_job *job, const char *key, const char *why)
{
    const char *where = NULL;
    hawser_source source = hawser_options_source(job->options, key, &where);
    if (!hawser_job_leads(job) || hawser_options_flag(job->options, "quiet") || !is_first_note(job, key))
        return;
    if (source == HAWSER_FROM_FILE)
        hw_notify(job->messages, HAWSER_NOTE, 0, "%s: %s does nothing here: %s", where, key, why);
    else
        hw_notify(job->messages, HAWSER_NOTE, 0, "%s does nothing here: %s", where, why);
}

static hawser_status refuse(const hawser_job *job, const char *key, const char *why, hawser_error *error)
{
    char name[HW_OPTION_CALLED];
    return hawser_fail(error, HAWSER_BAD_OPTION, "%s does nothing here: %s", hw_option_called(job->options, key, name), why);
}

hawser_status hawser_job_idle(hawser_job *job, const char *key, const char *why, hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(key);
    HW_GIVEN(why);
    if (!is_asked(job->options, key))
        return HAWSER_OK;
    if (hawser_options_source(job->options, key, NULL) >= HAWSER_FROM_COMMAND_LINE)
        return refuse(job, key, why, error);
    hw_job_note_idle(job, key, why);
    return HAWSER_OK;
}

static hawser_status check(hawser_job *job, const hw_plan *plan, size_t option, hawser_error *error)
{
    const char *key = judged[option].key, *why = NULL;
    char reason[REASON];
    if (!is_asked(job->options, key))
        return HAWSER_OK;
    bool typed = hawser_options_source(job->options, key, NULL) >= HAWSER_FROM_COMMAND_LINE;
    idle_kind kind = job->idle_checked ? USED : judged[option].judge(job, plan, key, &why);
    if (judged[option].judge == judge_sent && names_later(job, plan, key))
        kind = USED;
    if (judged[option].judge == judge_sent && names_unused(job, plan, key, reason)) {
        kind = IDLE;
        why = reason;
    }
    if (kind != IDLE && !job->idle_checked && asks_to_adapt(job->options, key))
        kind = judge_adapting(job, plan, key, &why);
    if (strcmp(key, "init") == 0 && kind == USED && hw_names_last(&job->named) &&
        hw_first_lacks(&job->first, plan->program, reason, sizeof reason)) {
        kind = IDLE;
        why = reason;
    }
    if (kind == IDLE && typed)
        return refuse(job, key, why, error);
    /* A file or the environment sets options of nodes for all jobs, those of one node too. */
    if (kind != USED && (typed || !is_about_nodes(judged[option].judge)))
        hw_job_note_idle(job, key, why);
    return HAWSER_OK;
}

static bool has_loop(const hawser_program *program)
{
    for (size_t i = 0; i < program->operator_count; i++)
        if (program->operators[i]->kind == HW_LOOP)
            return true;
    return false;
}

/* Returns true if a program may read the option, or its states may make use of it: also a program without a loop. */
static bool is_about_program(size_t option)
{
    return judged[option].judge == judge_sent || judged[option].judge == judge_read;
}

/* Records which options had an effect in a program without a loop. It is judged when the job ends, because a program with a
 * loop may follow. */
static void judge_without_loop(hawser_job *job, const hw_plan *plan)
{
    const char *why;
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++)
        if (is_about_program(i) && is_asked(job->options, judged[i].key) &&
            judged[i].judge(job, plan, judged[i].key, &why) == USED)
            job->used_without_loop |= UINT32_C(1) << i;
}

bool hw_job_left_idle(const hawser_job *job, const char *key)
{
    if (!job->named.any || job->named.failed || job->idle_checked || !is_asked(job->options, key) ||
        hawser_options_source(job->options, key, NULL) < HAWSER_FROM_COMMAND_LINE)
        return false;
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++)
        if (is_about_program(i) && strcmp(judged[i].key, key) == 0)
            return (job->used_without_loop >> i & 1) == 0 &&
                   (judged[i].judge == judge_sent || !hw_option_was_read(job->options, key));
    return false;
}

/* Returns whether --checkpoint was given to a job that had no run of which checkpoints are taken. */
static bool left_checkpoint(const hawser_job *job)
{
    bool any = job->named.any || job->stores_opened > 0 || job->vectors_opened > 0;
    return any && !job->named.failed && job->checkpoints == NULL && hawser_job_leads(job) &&
           hawser_options_text(job->options, "checkpoint") != NULL &&
           hawser_options_source(job->options, "checkpoint", NULL) >= HAWSER_FROM_COMMAND_LINE;
}

void hw_job_report_left_idle(const hawser_job *job)
{
    char name[HW_OPTION_CALLED];
    if (left_checkpoint(job))
        hw_notify(job->messages, HAWSER_WARNING, 0,
                  "%s did nothing: checkpoints are taken of programs with a loop, and this job had none",
                  hw_option_called(job->options, "checkpoint", name));
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++)
        if (hawser_job_leads(job) && hw_job_left_idle(job, judged[i].key))
            hw_notify(job->messages, HAWSER_WARNING, 0,
                      "%s did nothing: no program of this job had a loop, or another use for it",
                      hw_option_called(job->options, judged[i].key, name));
}

hawser_status hw_job_check_idle(hawser_job *job, const hw_plan *plan, hawser_error *error)
{
    if (!has_loop(plan->program))
        judge_without_loop(job, plan);
    if ((job->idle_checked && job->named.checked) || !has_loop(plan->program))
        return HAWSER_OK;
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++)
        HAWSER_TRY(check(job, plan, i, error));
    job->idle_checked = true;
    job->named.checked |= hw_names_last(&job->named);
    return HAWSER_OK;
}
