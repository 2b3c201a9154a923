/* job.c - opens a job: options, machine, and the request to stop. */
#include "runtime/job/job.h"
#include "runtime/job/cluster.h"
#include "runtime/job/kept_results.h"
#include "runtime/job/watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/messages.h"
#include "base/option_value.h"
#include "base/text.h"
#include "codec/forms.h"
#include "exchange/merges.h"

/* The greatest staleness of a loop that is adapted, if --sync auto:N does not set it, and the largest N. */
enum { STALENESS_USUAL = 3, STALENESS_MOST = 8 };

static hawser_status read_slow(hawser_job *job, const char *text, hawser_error *error)
{
    job->slow_block = UINT32_MAX;
    if (text == NULL || *text == '\0')
        return HAWSER_OK;
    char *stop = NULL;
    unsigned long block = strtoul(text, &stop, 10);
    double factor = 0;
    const char *end = stop != text && *stop == ':' ? hawser_read_number(stop + 1, &factor) : NULL;
    if (end == NULL || *end != '\0' || !(factor >= 1 && factor <= 1000) || block >= job->settings.blocks)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "slow = '%s': expected WORKER:FACTOR, a worker below %u and a factor from 1 to 1000", text,
                           job->settings.blocks);
    job->slow_block = (uint32_t)block;
    job->slow_factor = factor;
    return HAWSER_OK;
}

static uint32_t default_blocks(const hawser_job *job)
{
    if (job->cluster == NULL)
        return job->settings.processors;
    uint32_t nodes = hw_cluster_nodes(job->cluster), processors = hw_cluster_processors(job->cluster);
    return nodes > processors ? nodes : processors;
}

/* Returns the limit of this process, with memory that nodes of its host share. */
static uint64_t limit_of(const hawser_job *job)
{
    bool given = hawser_options_has(job->options, "memory-limit");
    uint32_t sharers =
        job->cluster == NULL
            ? 1
            : hw_cluster_host_members(job->cluster, hw_cluster_member(job->cluster, hw_cluster_self(job->cluster))->host);
    return given ? hawser_options_bytes(job->options, "memory-limit") : hw_machine_memory(sharers);
}

/* Memory that the nodes of one host share is subtracted from the limit of each, because the kernel may charge its pages to
 * any of them. If that leaves nothing, settings->memory is 0. */
static void find_memory(hawser_job *job)
{
    hw_plan_settings *settings = &job->settings;
    uint64_t limit = limit_of(job);
    settings->shared = job->cluster != NULL ? hw_cluster_shared_bytes(job->cluster) : 0;
    settings->memory = limit > settings->shared ? limit - settings->shared : 0;
}

static hawser_status check_shared(const hawser_job *job, hawser_error *error)
{
    if (job->settings.memory > 0)
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_NO_MEMORY,
        "this node shares %.1f MiB of memory with other nodes of its host and may take %.1f MiB in all; raise "
        "--memory-limit, or use --transport unix",
        (double)job->settings.shared / 0x1p20, (double)limit_of(job) / 0x1p20);
}

/* What each node reports when it opens a job. */
typedef struct worker_report {
    uint32_t given;       /* by --workers; 0: it was not */
    uint32_t before;      /* node 0: workers of the checkpoint from which the job goes on; 0: there is none */
    uint32_t checkpoints; /* --checkpoint was given */
    uint32_t decisions;   /* --save-decisions, --replay-decisions or --learn was given */
    uint64_t memory;      /* its limit */
} worker_report;

static uint32_t blocks_of(const hawser_job *job, const worker_report *own, const worker_report *first)
{
    return own->given > 0 ? own->given : first->before > 0 ? first->before : default_blocks(job);
}

/* Gathers the nodes' reports in *all, by node, which the caller frees, also after a failure. Collective. */
static hawser_status report_workers(const hawser_job *job, worker_report **all, hawser_error *error)
{
    const hawser_options *options = job->options;
    worker_report own = {.memory = job->settings.memory,
                         .checkpoints = hawser_options_text(options, "checkpoint") != NULL,
                         .decisions = hawser_options_text(options, "save-decisions") != NULL ||
                                      hawser_options_text(options, "replay-decisions") != NULL ||
                                      hawser_options_text(options, "learn") != NULL};
    if (hawser_options_has(options, "workers"))
        own.given = (uint32_t)hawser_options_integer(options, "workers");
    if (hawser_job_leads(job))
        own.before = hw_checkpoints_workers(job);
    hw_bytes *in = NULL;
    uint32_t nodes = hawser_job_nodes(job);
    HAWSER_TRY(HW_NEW(all, nodes, "the nodes' workers", error));
    (*all)[0] = own;
    if (job->cluster == NULL)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&in, nodes, "the nodes' workers", error));
    hawser_status status = hw_cluster_allgather(job->cluster, (hw_bytes){&own, sizeof own}, in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < nodes; i++)
        if (in[i].length == sizeof **all)
            memcpy(&(*all)[i], in[i].data, sizeof **all);
    hw_bytes_free(in, nodes);
    return status;
}

/* A job that goes on from a checkpoint has its workers, also on another machine. */
static void choose_blocks(hawser_job *job, const worker_report *all)
{
    const worker_report *own = &all[hawser_job_node(job)];
    job->settings.blocks = blocks_of(job, own, &all[0]);
    job->goes_on = own->given == 0 && all[0].before > 0;
    job->workers_given = own->given > 0 || job->goes_on || hawser_options_text(job->options, "slow") != NULL;
}

/* Returns what an option lets the driver change: its value for all states is "auto", or that for a state. */
static unsigned adapts_of(const hawser_options *options, const char *key, hw_adapts adapts)
{
    unsigned all = 0;
    hw_option_item item;
    for (const char *rest = NULL; hw_option_next_item(options, key, &rest, &item);)
        if (hw_is_auto(item.text))
            all |= item.length == 0 ? (unsigned)adapts : HW_ADAPTS_BY_STATE;
    return all;
}

/* Reads what --auto and single options let the driver change of loops. */
static hawser_status read_adapts(hawser_job *job, hawser_error *error)
{
    const hawser_options *options = job->options;
    const char *sync = hw_option_text(options, "sync");
    hw_plan_settings *settings = &job->settings;
    char name[HW_OPTION_CALLED];
    settings->staleness_most = STALENESS_USUAL;
    settings->adapts = hawser_options_flag(options, "auto") ? HW_ADAPTS_ALL & ~(unsigned)HW_ADAPTS_QUOTA : 0;
    settings->adapts |= hw_is_auto(sync) ? HW_ADAPTS_SYNC : 0;
    settings->adapts |= hw_is_auto(hw_option_text(options, "exchange-every")) ? HW_ADAPTS_WORK : 0;
    settings->adapts |= adapts_of(options, "encoding", HW_ADAPTS_ENCODING);
    settings->adapts |= adapts_of(options, "quota", HW_ADAPTS_QUOTA);
    if (hw_is_auto(sync) && sync[4] == ':')
        settings->staleness_most = (uint32_t)strtoul(sync + 5, NULL, 10);
    if (settings->staleness_most < 1 || settings->staleness_most > STALENESS_MOST)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: '%s' is not within auto:1 to auto:%d",
                           hw_option_called(options, "sync", name), sync, STALENESS_MOST);
    return HAWSER_OK;
}

static hawser_status resolve(hawser_job *job, const worker_report *all, hawser_error *error)
{
    const hawser_options *options = job->options;
    hw_plan_settings *settings = &job->settings;
    settings->processors = hw_machine_processors();
    choose_blocks(job, all);
    settings->threads = hawser_options_has(options, "threads") ? (uint32_t)hawser_options_integer(options, "threads") : 0;
    if (settings->threads == 0 || settings->threads > settings->blocks)
        settings->threads = settings->blocks;
    HAWSER_TRY(check_shared(job, error));
    settings->memory_least = settings->memory;
    for (uint32_t i = 0; i < hawser_job_nodes(job); i++)
        settings->memory_least = all[i].memory < settings->memory_least ? all[i].memory : settings->memory_least;
    settings->checkpoints = hawser_options_has(options, "checkpoint");
    settings->seed = (uint64_t)hawser_options_integer(options, "seed");
    settings->options = options;
    hw_option_item filter;
    settings->filter = (hw_filter){.kind = hw_option_of_state(options, "filter", NULL, &filter) ? hw_filter_find(filter.text)
                                                                                                : HW_FILTER_NONE,
                                   .quota = hawser_options_bytes(options, "quota"),
                                   .max_held = (uint64_t)hawser_options_integer(options, "max-held-clocks")};
    HAWSER_TRY(read_adapts(job, error));
    job->backlog = hawser_options_bytes(options, "backlog");
    job->max_clocks = (uint64_t)hawser_options_integer(options, "max-clocks");
    job->time_limit = hw_time_left(hawser_options_number(options, "time-limit"), environ, hw_wall_seconds());
    job->grace = hawser_options_number(options, "grace");
    job->rehearse = (uint64_t)hawser_options_integer(options, "rehearse");
    job->unit_warning = hawser_options_number(options, "unit-warning");
    job->unit_timeout = hawser_options_number(options, "unit-timeout");
    job->timeout = hawser_options_number(options, "timeout");
    job->check = hawser_options_flag(options, "check");
    HAWSER_TRY(hw_first_open(&job->first, options, error));
    return read_slow(job, hawser_options_text(options, "slow"), error);
}

/* The number of workers fixes the endpoints of runs, so nodes with different ones would take each other's messages for
 * wrong. Checkpoints are collective. */
static hawser_status compare_workers(const hawser_job *job, const worker_report *all, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    uint32_t first = blocks_of(job, &all[0], &all[0]);
    for (uint32_t i = 1; status == HAWSER_OK && i < hawser_job_nodes(job); i++) {
        const char *name = hw_cluster_member(job->cluster, i)->name;
        uint32_t other = blocks_of(job, &all[i], &all[0]);
        if (other != first)
            status = hawser_fail(error, HAWSER_BAD_OPTION,
                                 "node %u (%s) has %u workers, node 0 has %u; give all nodes the same --workers", i, name,
                                 other, first);
        else if (all[i].checkpoints != all[0].checkpoints)
            status = hawser_fail(error, HAWSER_BAD_OPTION,
                                 "node %u (%s) was started with%s --checkpoint, and node 0 with%s; give it to all nodes, or "
                                 "to none",
                                 i, name, all[i].checkpoints != 0 ? "" : "out", all[0].checkpoints != 0 ? "" : "out");
        else if (all[i].decisions != all[0].decisions)
            status =
                hawser_fail(error, HAWSER_BAD_OPTION,
                            "node %u (%s) was started with%s --save-decisions, --replay-decisions or --learn, and node 0 "
                            "with%s; give it to all nodes, or to none",
                            i, name, all[i].decisions != 0 ? "" : "out", all[0].decisions != 0 ? "" : "out");
    }
    return hw_cluster_agree(job->cluster, status, error);
}

/* Chooses what the options leave open, the same on all nodes where it must be. Collective. */
static hawser_status settle(hawser_job *job, hawser_error *error)
{
    worker_report *all = NULL;
    find_memory(job);
    hawser_status status = report_workers(job, &all, error);
    if (status == HAWSER_OK)
        status = resolve(job, all, error);
    if (status == HAWSER_OK)
        status = compare_workers(job, all, error);
    free(all);
    return status;
}

hawser_status hawser_open_options(const hawser_options *options, hawser_job **out, hawser_error *error)
{
    HW_GIVEN(options);
    HW_GIVEN(out);
    return hawser_open_with(options, NULL, out, error);
}

hawser_status hawser_open_with(const hawser_options *options, const hawser_opening *opening, hawser_job **out,
                               hawser_error *error)
{
    HW_GIVEN(options);
    HW_GIVEN(out);
    if (opening == NULL)
        return hw_job_enter(options, &(hw_entry){0}, out, error);
    if (opening->cluster != NULL && (opening->key != NULL || opening->node != 0))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_open_with: a %s for a job on a cluster, whose nodes have joined already; give it to "
                           "hawser_cluster_open",
                           opening->key != NULL ? "key" : "number of a node");
    const hw_entry entry = {.messages = opening->messages,
                            .cancellation = opening->cancellation,
                            .on = opening->cluster,
                            .key = opening->key,
                            .key_length = opening->key_length,
                            .node = opening->node,
                            .own_signals = opening->own_signals,
                            .short_calls = opening->short_calls};
    return hw_job_enter(options, &entry, out, error);
}

hawser_status hw_job_open_at(const hawser_options *options, const hw_place *place, hawser_job **out, hawser_error *error)
{
    return hw_job_enter(options, &(hw_entry){.place = place}, out, error);
}

hawser_status hw_job_enter(const hawser_options *options, const hw_entry *entry, hawser_job **out, hawser_error *error)
{
    *out = NULL;
    hawser_job *job = NULL;
    HAWSER_TRY(HW_NEW(&job, 1, "a job", error));
    hawser_status status = hw_origin_open(&job->origin, error);
    if (status != HAWSER_OK) {
        free(job);
        return status;
    }
    if (entry->place != NULL)
        job->place = *entry->place;
    atomic_init(&job->interrupted, false);
    atomic_init(&job->asked, 0);
    atomic_init(&job->stopped_at, 0.0);
    job->options = options;
    job->messages = entry->messages;
    job->own_signals = entry->own_signals;
    job->cancellation = entry->cancellation;
    atomic_init(&job->waits, entry->cancellation);
    if (entry->on != NULL) {
        bool lent = false;
        status = hw_cluster_lend(entry->on, options, entry, &job->cluster, &lent, error);
        job->on = lent ? entry->on : NULL;
    } else if (entry->joined != NULL) {
        job->cluster = *entry->joined;
        *entry->joined = NULL;
    } else {
        status = hw_enter(options, &job->place, &job->cluster, entry, error);
    }
    if (status == HAWSER_OK)
        status = hw_job_topology(job, error);
    if (status == HAWSER_OK)
        status = settle(job, error);
    if (entry->short_calls && hawser_options_source(options, "unit-warning", NULL) == HAWSER_FROM_DEFAULT)
        job->unit_warning = 0;
    if (status == HAWSER_OK) {
        const hw_watch_options watched = {job->unit_warning, job->unit_timeout, job->cluster, hawser_job_node(job),
                                          job->messages};
        status = hw_watchdog_new(&watched, &job->watchdog, error);
    }
    if (status == HAWSER_OK && entry->check != NULL)
        status = hw_cluster_agree(job->cluster, entry->check(entry->argument, hawser_job_node(job), error), error);
    if (status == HAWSER_OK)
        status = hw_recorder_open(hawser_options_text(job->options, "record-history"), job->cluster,
                                  job->on != NULL ? hw_cluster_histories(job->on) : NULL, &job->recorder, error);
    if (status != HAWSER_OK) {
        if (job->cluster != NULL && error != NULL)
            hw_cluster_set_reason(job->cluster, error->text); /* the others receive the reason, not only the loss */
        hawser_close(job);
        return status;
    }
    *out = job;
    return HAWSER_OK;
}

static void print_help(const hawser_options *options, const char *program)
{
    hw_print_help(
        "usage: %s [options]\n\nOptions of the runtime (also HAWSER_KEY in the environment, key = value in --config "
        "FILE):\n",
        program);
    const hawser_option *row;
    for (size_t i = 0; (row = hawser_options_row(options, i)) != NULL; i++)
        hw_print_help("  --%s%s%s\n      %s%s%s%s\n", row->key, row->unit ? " " : "", row->unit ? row->unit : "", row->help,
                      row->value ? " [" : "", row->value ? row->value : "", row->value ? "]" : "");
}

static hawser_status fill_options(int *argc, char **argv, hawser_options *options, hawser_error *error)
{
    HAWSER_TRY(hawser_options_environment(options, environ, error));
    HAWSER_TRY(hawser_options_arguments(options, argc, argv, error));
    const char *path = hawser_options_text(options, "config");
    return path != NULL ? hawser_options_file(options, path, error) : HAWSER_OK;
}

hawser_status hawser_open(int *argc, char **argv, hawser_job **job, hawser_error *error)
{
    HW_GIVEN(argc);
    HW_GIVEN(argv);
    HW_GIVEN(job);
    static const hawser_option own_rows[] = {
        {"config", HAWSER_PATH, NULL, NULL, "FILE", "file of key = value lines", "Every command", 0},
        {"help", HAWSER_FLAG, "no", NULL, NULL, "print these options and leave", "Every command", 'h'},
        {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0},
    };
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), own_rows, NULL};
    *job = NULL;
    hawser_options *options = NULL;
    HAWSER_TRY(hawser_options_new(tables, &options, error));
    hawser_status status = fill_options(argc, argv, options, error);
    if (status == HAWSER_OK && hawser_options_flag(options, "help")) {
        print_help(options, argv[0]);
        status = hawser_fail(error, HAWSER_STOP, "help was asked for");
    }
    if (status == HAWSER_OK)
        status = hawser_open_options(options, job, error);
    if (status != HAWSER_OK) {
        hawser_options_free(options);
        return status;
    }
    (*job)->own_options = options;
    return HAWSER_OK;
}

void hw_job_keep_checkpoints(hawser_job *job)
{
    job->finished = false;
}

void hawser_close(hawser_job *job)
{
    if (job == NULL || !hw_is_origin(&job->origin)) /* its locks may be held by threads that a fork has left behind */
        return;
    hw_job_report_left_idle(job);
    hw_names_close(job);
    hw_checkpoints_close(job, job->finished);
    hw_decisions_close(job);
    hw_learning_close(job);
    free(job->depends);
    for (size_t i = 0; i < HW_LOGS; i++)
        free(job->logs[i]);
    free(job->loaded.digests);
    hw_first_free(&job->first);
    hw_watchdog_free(job->watchdog);
    hw_recorder_close(job->recorder, job->cluster);
    free(job->earlier.all);
    hw_topology_free(job->topology);
    free(job->names);
    hw_kept_results_close(job->kept_results);
    if (job->on != NULL)
        hw_cluster_give_back(job->on);
    else
        hw_cluster_leave(job->cluster);
    hw_place_close(&job->place);
    hawser_options_free(job->own_options);
    hw_origin_close(&job->origin);
    free(job);
}

uint32_t hawser_job_workers(const hawser_job *job)
{
    return job != NULL ? job->settings.blocks : 0;
}

void hawser_job_fit(hawser_job *job, uint64_t entries, uint64_t each)
{
    if (job == NULL)
        return;
    hw_plan_settings *settings = &job->settings;
    if (job->workers_given || job->cluster != NULL || each == 0)
        return;
    uint64_t most = entries / each > 0 ? entries / each : 1;
    if (settings->blocks > most)
        settings->blocks = (uint32_t)most;
    if (settings->threads > settings->blocks)
        settings->threads = settings->blocks;
    snprintf(settings->chosen, sizeof settings->chosen,
             "%" PRIu32 " %s for %" PRIu64 " stored entries on %" PRIu32
             " processors: each more pays for itself with %" PRIu64 " entries of its own (--workers decides otherwise)",
             settings->blocks, settings->blocks == 1 ? "worker" : "workers", entries, settings->processors, each);
}

uint32_t hawser_job_nodes(const hawser_job *job)
{
    if (job == NULL)
        return 0;
    return job->cluster != NULL ? hw_cluster_nodes(job->cluster) : 1;
}

uint32_t hawser_job_node(const hawser_job *job)
{
    return job != NULL && job->cluster != NULL ? hw_cluster_self(job->cluster) : 0;
}

bool hawser_job_leads(const hawser_job *job)
{
    return job != NULL && hawser_job_node(job) == 0;
}

hawser_sync hawser_job_sync(const hawser_job *job)
{
    hawser_sync sync = job != NULL ? hw_sync_read(hawser_options_text(job->options, "sync")) : hawser_bsp();
    return job != NULL ? hw_sync_of_blocks(sync, hawser_job_workers(job)) : sync;
}

hawser_form hawser_job_encoding(const hawser_job *job)
{
    hw_option_item form;
    return job != NULL && hw_option_of_state(job->options, "encoding", NULL, &form) ? (hawser_form)hw_form_find(form.text)
                                                                                    : HAWSER_EXACT;
}

double hawser_job_damping(const hawser_job *job)
{
    return job != NULL ? hw_merge_damping(hawser_options_text(job->options, "merge"), hawser_job_workers(job)) : 0.0;
}

uint64_t hawser_job_seed(const hawser_job *job)
{
    return job != NULL ? job->settings.seed : 0;
}

void hw_job_stop(hawser_job *job)
{
    double none = 0.0;
    (void)atomic_compare_exchange_strong(&job->stopped_at, &none, hw_seconds());
}

void hw_job_interrupt(hawser_job *job, uint64_t asked)
{
    uint64_t none = 0;
    (void)atomic_compare_exchange_strong(&job->asked, &none, asked);
    hw_job_stop(job);
    atomic_store(&job->interrupted, true);
}

bool hw_job_interrupted(hawser_job *job)
{
    if (!atomic_load_explicit(&job->interrupted, memory_order_relaxed) && hw_cancelled(job->cancellation))
        hw_job_interrupt_by(job, 0);
    return atomic_load(&job->interrupted);
}

void hw_job_cancellable(const hawser_job *job, const hawser_cancellation *own)
{
    if (job->cluster != NULL)
        hw_cluster_cancel_by(job->cluster, own != NULL ? own : atomic_load(&job->waits));
}

hawser_status hw_job_uncancellable(const hawser_job *job, hawser_status status)
{
    if (job->cluster != NULL)
        hw_cluster_cancel_by(job->cluster, NULL);
    return status;
}

void hw_job_interrupt_by(hawser_job *job, int signal_number)
{
    hw_job_interrupt(job, hw_asked(hawser_job_node(job), signal_number));
}

void hw_job_abort_by(hawser_job *job, int signal_number)
{
    enum { GOODBYE_SECONDS = 1 };
    char words[60];
    const char *name = sigabbrev_np(signal_number);
    (void)!snprintf(words, sizeof words, "it was ended by SIG%s", name != NULL ? name : "?");
    if (job->cluster != NULL)
        hw_cluster_abort(job->cluster, words, GOODBYE_SECONDS);
}

void hawser_interrupt(hawser_job *job)
{
    if (job != NULL)
        hw_job_interrupt_by(job, 0);
}

double hw_job_grace_left(const hawser_job *job)
{
    double stopped = atomic_load(&job->stopped_at);
    return stopped > 0.0 ? stopped + job->grace - hw_seconds() : (double)INFINITY;
}

double hawser_job_grace_left(const hawser_job *job)
{
    return job != NULL ? fmax(0.0, hw_job_grace_left(job)) : (double)INFINITY;
}

uint64_t hw_job_failed_clocks(const hawser_job *job)
{
    return job->failed_clocks;
}

void hawser_observe(hawser_job *job, hawser_observer *observer, void *user)
{
    if (job == NULL)
        return;
    job->observer = observer;
    job->observer_user = user;
}

void hw_job_use_fibers(hawser_job *job, uint64_t seed)
{
    job->fibers = true;
    job->fiber_seed = seed;
}

void hw_job_use_choices(hawser_job *job, hw_chooser chooser)
{
    job->fibers = true;
    job->chooser = chooser;
}

void hw_job_drop_scratch(hawser_job *job, uint64_t every, uint64_t seed, hawser_scratch_visit *visit)
{
    job->drops.every = every;
    job->drops.seed = seed;
    job->drops.visit = visit;
}

void hw_job_change_view(hawser_job *job, uint64_t every, uint64_t seed)
{
    job->changes.every = every;
    job->changes.seed = seed;
}

void hw_job_change_view_at(hawser_job *job, uint32_t block, uint64_t call)
{
    job->changes.every = 1;
    job->changes.block = block;
    job->changes.call = call;
}

hawser_status hw_job_plan(hawser_job *job, const hawser_program *program, hw_plan **out, hawser_error *error)
{
    *out = NULL;
    hw_plan *plan = NULL;
    HAWSER_TRY(hw_program_settle(program, job->settings.blocks, error));
    /* What is refused with several blocks is refused with one, too. */
    (void)hw_program_settle_syncs(program, 0);
    HAWSER_TRY(hw_compile(program, &plan, error));
    if (hw_program_settle_syncs(program, job->settings.blocks)) {
        hw_plan_free(plan);
        HAWSER_TRY(hw_compile(program, &plan, error));
    }
    hawser_status status = hw_first_read(&job->first, job->settings.blocks, plan, error);
    if (job->first.note[0] != '\0')
        hw_job_note_idle(job, "init", job->first.note);
    if (status == HAWSER_OK)
        status = hw_parallelise(plan, &job->settings, error);
    if (status == HAWSER_OK)
        status = hw_job_check_idle(job, plan, error);
    if (status != HAWSER_OK) {
        job->named.failed = true;
        hw_first_release(&job->first, plan, false);
        hw_plan_free(plan);
        return status;
    }
    *out = plan;
    return HAWSER_OK;
}

static hawser_status print_plan(const hw_plan *plan, hawser_plan_format format, FILE *out, hawser_error *error)
{
    switch (format) {
    case HAWSER_PLAN_LOGICAL:
    case HAWSER_PLAN_LOGICAL_DOT: hw_plan_print_logical(plan, format == HAWSER_PLAN_LOGICAL_DOT, out); return HAWSER_OK;
    case HAWSER_PLAN_PHYSICAL:
    case HAWSER_PLAN_PHYSICAL_DOT: return hw_plan_print_physical(plan, format == HAWSER_PLAN_PHYSICAL_DOT, out, error);
    case HAWSER_PLAN_JSON: return hw_plan_print_json(plan, out, error);
    }
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_plan_print: there is no format %d of plans", (int)format);
}

hawser_status hawser_plan_print(hawser_job *job, hawser_program *program, hawser_plan_format format, FILE *out,
                                hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(out);
    hw_plan *plan = NULL;
    HAWSER_TRY(hw_job_plan(job, program, &plan, error));
    hawser_status status = print_plan(plan, format, out, error);
    hw_first_release(&job->first, plan, false);
    hw_plan_free(plan);
    return status;
}

hawser_status hawser_plan_text(hawser_job *job, hawser_program *program, hawser_plan_format format, char **text,
                               hawser_error *error)
{
    HW_GIVEN(text);
    hw_memory_text made;
    HAWSER_TRY(hw_text_open(&made, error));
    return hw_text_close(&made, hawser_plan_print(job, program, format, made.file, error), text, error);
}
