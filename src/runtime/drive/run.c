/* run.c - one execution from its plan to its results: blocks, transport, executor. */
#include "runtime/block/fault.h"
#include "runtime/block/trap.h"
#include "runtime/drive/agent.h"
#include "runtime/drive/collect.h"
#include "runtime/drive/driver.h"
#include "runtime/drive/keep.h"
#include "runtime/drive/loss.h"
#include "runtime/job/entries.h"
#include "runtime/job/kept_results.h"
#include "runtime/job/signals.h"
#include "runtime/session/fetch.h"
#include "runtime/session/status.h"

#include <stdlib.h>

#include "base/argument.h"
#include "base/memory.h"

static void wake_endpoint(void *argument)
{
    hw_mailbox *mailbox = argument;
    mailbox->session->executor->ops->wake(mailbox->session->executor, mailbox->runner);
}

static hawser_status place_blocks(hw_session *session, hawser_error *error)
{
    session->node = session->cluster != NULL ? hw_cluster_self(session->cluster) : 0;
    session->nodes = session->cluster != NULL ? hw_cluster_nodes(session->cluster) : 1;
    HAWSER_TRY(hw_view_first(session->blocks, session->nodes, &session->view, error));
    session->local = hw_view_count(&session->view, session->node);
    HAWSER_TRY(HW_NEW(&session->own, session->local, "the places of blocks", error));
    for (uint32_t i = 0, b = 0; i < session->local; i++, b++)
        session->own[i] = b = hw_view_next(&session->view, session->node, b);
    return HAWSER_OK;
}

static hawser_status open_executor(hw_session *session, hawser_error *error)
{
    const hawser_job *job = session->job;
    uint32_t runners = session->local + 1, threads = job->settings.threads;
    uint32_t sharing = 1;
    if (session->cluster != NULL)
        sharing = hw_cluster_host_members(session->cluster, hw_cluster_member(session->cluster, session->node)->host);
    if (threads > session->local)
        threads = session->local;
    /* A waiting thread may poll before it sleeps only if no other thread needs its processor. */
    int spin = threads == session->local && session->local * sharing <= job->settings.processors;
    if (job->fibers)
        return hw_fiber_executor(runners, job->fiber_seed, job->chooser, &session->executor, error);
    if (session->local == 1 && session->cluster == NULL)
        return hw_single_executor(&session->executor, error);
    return hw_thread_executor(runners, threads, spin, &session->executor, error);
}

static hawser_status open_transport(hw_session *session, hawser_error *error)
{
    uint32_t endpoints = session->blocks + 1, *home = NULL;
    if (session->cluster == NULL)
        return hw_inproc_new(endpoints, &session->transport, error);
    HAWSER_TRY(HW_NEW(&home, endpoints + session->nodes, "the places of blocks", error));
    for (uint32_t b = 0; b < session->blocks; b++)
        home[b] = hw_view_node(&session->view, b);
    for (uint32_t node = 0; node < session->nodes; node++)
        home[hw_agent_endpoint(session, node)] = node;
    hawser_status status =
        hw_cluster_begin(session->cluster, endpoints + session->nodes, session->blocks, home, &session->transport, error);
    free(home);
    return status;
}

static hawser_status open_driver(hw_session *session, hawser_error *error)
{
    if (session->node == 0) {
        HAWSER_TRY(HW_NEW(&session->driver, 1, "a driver", error));
        return hw_driver_open(session->driver, session, error);
    }
    HAWSER_TRY(HW_NEW(&session->agent, 1, "an agent", error));
    hw_agent_open(session->agent, session);
    return HAWSER_OK;
}

/* Watches the calls of this node's blocks and, on node 0, of the driver. */
static hawser_status watch_calls(hw_session *session, hawser_error *error)
{
    hw_watchdog *watchdog = session->job->fibers ? NULL : session->job->watchdog; /* fibers have their own time */
    for (uint32_t i = 0; i < session->local; i++)
        HAWSER_TRY(hw_watch_add(watchdog, &session->mailboxes[i]->work, error));
    return session->driver != NULL ? hw_watch_add(watchdog, &session->driver->mailbox.work, error) : HAWSER_OK;
}

static void stop_watching(hw_session *session)
{
    for (uint32_t i = 0; session->mailboxes != NULL && i < session->local; i++)
        hw_watch_remove(session->job->watchdog, &session->mailboxes[i]->work);
    if (session->driver != NULL)
        hw_watch_remove(session->job->watchdog, &session->driver->mailbox.work);
}

/* Opens the transport last, because messages arrive from then on. */
static hawser_status open_session(hw_session *session, hawser_error *error)
{
    atomic_init(&session->ended, 0);
    HAWSER_TRY(place_blocks(session, error));
    if (session->blocks < session->nodes)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%u workers%s are too few for %u nodes; %s", session->blocks,
                           session->job->goes_on ? ", as the checkpoint has," : "", session->nodes,
                           session->job->goes_on ? "start fewer nodes" : "raise --workers");
    HAWSER_TRY(hw_fetch_check(session, error));
    HAWSER_TRY(hw_trap_session(session, error));
    HAWSER_TRY(hw_keep_open(session, error));
    HAWSER_TRY(open_executor(session, error));
    HAWSER_TRY(HW_NEW(&session->workers, session->local, "blocks", error));
    HAWSER_TRY(HW_NEW(&session->mailboxes, session->local, "blocks", error));
    for (uint32_t i = 0; i < session->local; i++)
        session->mailboxes[i] = &session->workers[i].mailbox;
    for (uint32_t i = 0; i < session->local; i++)
        HAWSER_TRY(hw_worker_open(&session->workers[i], session, session->own[i], error));
    HAWSER_TRY(open_driver(session, error));
    HAWSER_TRY(watch_calls(session, error));
    HAWSER_TRY(open_transport(session, error));
    hw_transport *transport = session->transport;
    for (uint32_t i = 0; i < session->local; i++)
        transport->ops->on_delivery(transport, session->own[i], wake_endpoint, &session->workers[i].mailbox);
    hw_mailbox *last = session->node == 0 ? &session->driver->mailbox : &session->agent->mailbox;
    transport->ops->on_delivery(transport, last->endpoint, wake_endpoint, last);
    if (session->cluster == NULL)
        return HAWSER_OK;
    if (session->nodes > 1)
        HAWSER_TRY(hw_status_table_open(session, &session->status_table, error));
    hw_cluster_serve(session->cluster, session->transport, hw_fetch_serve, session);
    return hw_cluster_attach(session->cluster, session->transport, error);
}

static void close_session(hw_session *session, const hawser_error *ended)
{
    stop_watching(session);
    hw_kept_run_drop(session->kept);
    hw_keep_close(session, ended);
    hw_status_table_close(session->status_table);
    if (session->cluster != NULL)
        hw_cluster_end(session->cluster, session->transport);
    else if (session->transport != NULL)
        session->transport->ops->free(session->transport);
    if (session->driver != NULL)
        hw_driver_close(session->driver);
    if (session->agent != NULL)
        hw_agent_close(session->agent);
    for (uint32_t i = 0; session->workers != NULL && i < session->local; i++)
        hw_worker_close(&session->workers[i]);
    free(session->driver);
    free(session->agent);
    free(session->workers);
    free(session->mailboxes);
    free(session->own);
    hw_view_free(&session->view);
    if (session->executor != NULL)
        session->executor->ops->free(session->executor);
    if (ended->status != HAWSER_OK)
        hw_fetch_forget(session);
}

static void body(void *argument, uint32_t number)
{
    hw_session *session = argument;
    if (number < session->local) {
        hw_worker_main(&session->workers[number]);
        atomic_fetch_add(&session->ended, 1);
        session->executor->ops->wake(session->executor, session->local);
    } else if (session->driver != NULL) {
        hw_driver_main(session->driver);
    } else {
        hw_agent_main(session->agent);
    }
}

/* Sends the end and the result to the other nodes. The states that all nodes have are only sent to a node whose own values
 * differ, as they may if sums were made in another order (SSP, TAP). A node that the message cannot reach is lost and has
 * noticed that. */
static hawser_status share(hw_session *session, const hawser_error *ended, const hawser_run *run)
{
    hw_message *messages[2] = {NULL, NULL}; /* without these states, and with them */
    hawser_error error;
    hawser_status status = HAWSER_OK;
    hw_mailbox *mailbox = &session->driver->mailbox;
    mailbox->error = &error;
    for (uint32_t node = 1; node < session->nodes && status == HAWSER_OK; node++) {
        bool whole = run != NULL && !session->driver->abandoned && !session->driver->equal[node];
        hw_message *copy = NULL;
        if (messages[whole] == NULL)
            status = hw_share_pack(session, ended, run, whole, &messages[whole], &error);
        if (status == HAWSER_OK)
            status = hw_message_share(messages[whole], &copy, &error);
        if (status == HAWSER_OK && hw_send(mailbox, hw_agent_endpoint(session, node), copy) != HAWSER_OK)
            continue;
    }
    hw_message_free(messages[0]);
    hw_message_free(messages[1]);
    return status;
}

static hawser_status execute_here(hw_session *session, hawser_run **run, hawser_error *error)
{
    hw_executor *executor = session->executor;
    session->began = executor->ops->now(executor);
    HAWSER_TRY(executor->ops->run(executor, body, session, error));
    session->led = true;
    hawser_status status = session->driver->error.status;
    if (status != HAWSER_OK && error != NULL)
        *error = session->driver->error;
    if (status != HAWSER_OK && status != HAWSER_STOP && !session->driver->points.result)
        return status;
    hawser_error own = {0};
    hawser_status collected = hw_run_collect(session, executor->ops->now(executor) - session->began, run, &own);
    if (collected == HAWSER_OK || status < HAWSER_OK) /* the failure of the run is the one to report */
        return status;
    if (error != NULL)
        *error = own;
    return collected;
}

static hawser_status lead(hw_session *session, hawser_run **run, hawser_error *error)
{
    hawser_error own = {0};
    hawser_status status = execute_here(session, run, &own);
    own.status = status;
    if (session->nodes > 1 && session->led) {
        hawser_status shared = share(session, &own, *run);
        session->agreed = shared == HAWSER_OK;
        if (shared != HAWSER_OK && status == HAWSER_OK)
            status = hawser_fail(&own, shared, "the result could not be sent to the other nodes");
    }
    if (status != HAWSER_OK && error != NULL)
        *error = own;
    return status;
}

static hawser_status follow(hw_session *session, hawser_run **run, hawser_error *error)
{
    hw_executor *executor = session->executor;
    hw_agent *agent = session->agent;
    session->began = executor->ops->now(executor);
    HAWSER_TRY(executor->ops->run(executor, body, session, error));
    session->agreed = agent->result != NULL;
    if (agent->error.status == HAWSER_OK) {
        hawser_status status = hw_share_take(session, agent->result, run, error);
        hw_run_take_kept(*run, session);
        return status;
    }
    if (error != NULL)
        *error = agent->error;
    return agent->error.status;
}

/* Returns false for a program that no time limit ends and that may belong to the end of the run before it: a certificate. */
static bool has_loop(const hawser_program *program)
{
    for (size_t i = 0; i < program->operator_count; i++)
        if (program->operators[i]->kind == HW_LOOP)
            return true;
    return false;
}

/* Returns the clocks of a failed run: those of the furthest block on this node, or those that the driver has counted. */
static uint64_t clocks_of(const hw_session *session)
{
    uint64_t most = session->driver != NULL ? session->driver->clocks : 0;
    for (uint32_t i = 0; session->driver != NULL && session->workers != NULL && i < session->local; i++) {
        const hw_worker *worker = &session->workers[i];
        bool within = worker->in_phase && !worker->abandoned && worker->current->kind == HW_LOOP;
        uint64_t clocks = worker->clocks + (within ? worker->clock : 0);
        most = clocks > most ? clocks : most;
    }
    return most;
}

/* Notes how a run with a loop has ended, on which it depends whether checkpoints are removed when the job is closed. */
static void note_end(hawser_job *job, hawser_status status, const hawser_run *run)
{
    const char *reason = status == HAWSER_STOP && run != NULL ? run->figures.stop_reason : "";
    job->unfinished |= status != HAWSER_OK;
    job->finished = status == HAWSER_OK || strcmp(reason, "clocks") == 0;
    job->cut |= strcmp(reason, "signal") == 0 || strcmp(reason, "time-limit") == 0;
}

/* Ends a run in the files of the job. Returns its status, or a failure of these files if it has ended well. */
static hawser_status end_files(hawser_job *job, bool has_loop, hawser_status status, hawser_error *error)
{
    const bool failed = status < HAWSER_OK;
    hawser_status saved = has_loop ? hw_decisions_end(job, failed ? NULL : error) : HAWSER_OK;
    if (failed)
        hw_recorder_failed(job->recorder, status);
    else
        HAWSER_TRY(hw_recorder_trouble(job->recorder, saved == HAWSER_OK ? error : NULL));
    return failed || saved == HAWSER_OK ? status : saved;
}

static hawser_status run_program(hawser_job *job, hawser_program *program, hawser_run **run, hawser_error *error)
{
    hw_plan *plan = NULL;
    uint64_t number = ++job->runs;
    if (!hw_job_interrupted(job) && has_loop(program))
        atomic_store(&job->stopped_at, 0.0);
    hawser_status counted = hw_job_count_entries(job, program, error);
    job->named.failed |= counted != HAWSER_OK;
    HAWSER_TRY(counted);
    if (has_loop(program))
        HAWSER_TRY(hw_learning_open(job, error));
    if (has_loop(program))
        HAWSER_TRY(hw_decisions_open(job, error));
    if (has_loop(program) && job->checkpointer == NULL)
        HAWSER_TRY(hw_checkpoints_open(job, error));
    const struct hw_checkpointer *checkpointer = has_loop(program) && !job->unfinished ? job->checkpointer : NULL;
    HAWSER_TRY(hw_job_plan(job, program, &plan, error));
    atomic_store(&job->waits, NULL);
    char *data = NULL;
    if (checkpointer != NULL || (has_loop(program) && hw_job_identifies(job))) {
        hawser_status digested = hw_checkpoints_data(job, program, &data, error);
        if (digested != HAWSER_OK) {
            hw_plan_free(plan);
            return digested;
        }
    }
    hw_session session = {.job = job,
                          .program = program,
                          .plan = plan,
                          .cluster = job->cluster,
                          .blocks = job->settings.blocks,
                          .checkpointer = checkpointer,
                          .data = data,
                          .number = number,
                          .after_loss = hw_after_loss,
                          .run = hw_recorder_run(job->recorder)};
    hawser_error own = {0};
    hawser_status status = hw_names_add(&job->named, plan, &own);
    if (status == HAWSER_OK)
        status = open_session(&session, &own);
    hw_first_release(&job->first, plan, true); /* the blocks have copied them */
    if (status == HAWSER_OK)
        status = session.node == 0 ? lead(&session, run, &own) : follow(&session, run, &own);
    own.status = status;
    if (status < HAWSER_OK && status != HAWSER_PEER_LOST && session.nodes > 1 && !session.agreed)
        hw_cluster_give_up(job->cluster, own.text);
    if (status == HAWSER_PEER_LOST && job->cluster != NULL)
        hw_cluster_name_lost(job->cluster, &own);
    if (status == HAWSER_PEER_LOST)
        hw_kept_results_told(job->kept_results);
    /* A run that ends well takes back the reason of one before it, after which the program went on: nodes that still wait
     * for others would fail by it. */
    if (job->cluster != NULL)
        hw_cluster_set_reason(job->cluster, status < HAWSER_OK ? own.text : "");
    if (status != HAWSER_OK && error != NULL)
        *error = own;
    job->named.any = true;
    job->named.failed |= status < HAWSER_OK;
    job->named.run += has_loop(program);
    if (has_loop(program))
        job->failed_clocks = status < HAWSER_OK ? clocks_of(&session) : 0;
    if (status >= HAWSER_OK && session.driver != NULL) {
        hw_policies_report(session.driver);
        hw_adapt_end(session.driver);
    }
    if (status != HAWSER_OK && session.driver != NULL)
        hw_policies_keep(job, *run != NULL ? &(*run)->changes : &session.driver->policies.changes);
    if (has_loop(program))
        note_end(job, status, *run);
    close_session(&session, &own);
    atomic_store(&job->waits, job->cancellation);
    hw_plan_free(plan);
    free(data);
    return end_files(job, has_loop(program), status, error);
}

hawser_status hawser_run_program(hawser_job *job, hawser_program *program, hawser_run **run, hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(program);
    HW_GIVEN(run);
    *run = NULL;
    hw_signals signals;
    hw_faults faults;
    hw_signals_take(&signals, job);
    hw_faults_take(&faults);
    atomic_fetch_add(&job->running, 1);
    hawser_status status = run_program(job, program, run, error);
    atomic_fetch_sub(&job->running, 1);
    hw_faults_release(&faults);
    hw_signals_release(&signals);
    return status;
}
