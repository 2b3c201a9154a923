/* group.c - groups of clients: what a server keeps for each client, from its registration until its group ends. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "store/stripe.h"

static void leave_table(const hw_server *server, hw_group *group, uint32_t table)
{
    const hw_served *served = server->tables[table];
    hw_progress *progress = group->progress[table];
    for (uint32_t s = 0; progress != NULL && s < served->stripe_count; s++) {
        uint64_t ranges = 0;
        for (uint32_t w = 0; progress[s].clocks != NULL && w < group->workers; w++) {
            ranges += progress[s].clocks[w].count;
            hw_range_clock_free(&progress[s].clocks[w]);
        }
        atomic_fetch_sub_explicit(&served->stripes[s].clock_ranges, ranges, memory_order_relaxed);
        free(progress[s].clocks);
        hw_range_clock_free(&progress[s].written);
        hw_before_free(&served->stripes[s], &progress[s].before);
        uint64_t rows = progress[s].sums.rows;
        hw_sums_free(&progress[s].sums);
        hw_stripe_count_sums(&served->stripes[s], &progress[s].sums, rows);
    }
    free(progress);
    group->progress[table] = NULL;
}

static hawser_status enter_stripe(hw_group *group, hw_stripe *stripe, hw_progress *progress, hawser_error *error)
{
    hw_sums_init(&progress->sums, stripe->spec, group->workers);
    progress->end_marker = (hw_piece){.inflight = group->end_marker, .stripe = stripe};
    progress->loss_marker = (hw_piece){.inflight = group->loss_marker, .stripe = stripe};
    atomic_init(&progress->loss_queued, false);
    HAWSER_TRY(HW_NEW(&progress->clocks, group->workers, "the clocks of a table", error));
    for (uint32_t w = 0; w < group->workers; w++) {
        HAWSER_TRY(hw_range_clock_new(stripe->first, stripe->last, &progress->clocks[w], error));
        atomic_fetch_add_explicit(&stripe->clock_ranges, 1, memory_order_relaxed);
    }
    atomic_init(&progress->ranges, group->workers);
    return stripe->spec->centric ? hw_range_clock_new(stripe->first, stripe->last, &progress->written, error) : HAWSER_OK;
}

static hawser_status enter_table(const hw_server *server, hw_group *group, uint32_t table, hawser_error *error)
{
    const hw_served *served = server->tables[table];
    hw_progress *progress = NULL;
    HAWSER_TRY(HW_NEW(&progress, served->stripe_count, "the clocks of a table", error));
    group->progress[table] = progress;
    hawser_status status = HAWSER_OK;
    for (uint32_t s = 0; s < served->stripe_count && status == HAWSER_OK; s++)
        status = enter_stripe(group, &served->stripes[s], &progress[s], error);
    if (status != HAWSER_OK)
        leave_table(server, group, table);
    return status;
}

hawser_status hw_groups_enter(hw_server *server, uint32_t table, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    for (hw_group *group = server->groups; group != NULL && status == HAWSER_OK; group = group->next)
        if (!group->ended)
            status = enter_table(server, group, table, error);
    if (status != HAWSER_OK)
        hw_groups_leave(server, table);
    return status;
}

void hw_groups_leave(hw_server *server, uint32_t table)
{
    for (hw_group *group = server->groups; group != NULL; group = group->next)
        leave_table(server, group, table);
}

static hawser_status new_marker(hw_group *group, uint8_t operation, hw_inflight **marker, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(marker, 1, "a group of clients", error));
    (*marker)->server = group->server;
    (*marker)->group = group;
    (*marker)->request.head.operation = operation;
    return HAWSER_OK;
}

hawser_status hw_group_new(hw_server *server, uint32_t workers, hw_group **out, hawser_error *error)
{
    hw_group *group = NULL;
    HAWSER_TRY(HW_NEW(&group, 1, "a group of clients", error));
    group->server = server;
    group->workers = workers;
    atomic_init(&group->over, false);
    atomic_init(&group->overflowed, false);
    atomic_init(&group->seated, 0);
    atomic_init(&group->put_by, 0);
    atomic_init(&group->any_lost, false);
    hawser_status status = new_marker(group, HW_END_OF_GROUP, &group->end_marker, error);
    HAWSER_THEN(status, new_marker(group, HW_LOSS_IN_GROUP, &group->loss_marker, error));
    HAWSER_THEN(status, HW_NEW(&group->lost, workers, "a group of clients", error));
    for (uint32_t t = 0; t < server->made && status == HAWSER_OK; t++)
        status = enter_table(server, group, t, error);
    group->next = server->groups;
    server->groups = group;
    if (status != HAWSER_OK) {
        hw_group_free(group);
        return status;
    }
    *out = group;
    return HAWSER_OK;
}

hawser_status hw_client_session_new(hw_group *group, uint32_t client, hw_client_session **out, hawser_error *error)
{
    hw_client_session *session = NULL;
    hw_message *refusal = NULL;
    HAWSER_TRY(hw_clock_refusal_new(&refusal, error));
    hawser_status status = HW_NEW(&session, 1, "a client's place", error);
    if (status != HAWSER_OK) {
        hw_message_free(refusal);
        return status;
    }
    atomic_init(&session->refusal, refusal);
    session->group = group;
    session->client = client;
    hw_lists_init(&session->lists, group->server->options.list_bytes);
    session->next = atomic_load(&group->sessions);
    atomic_store(&group->sessions, session); /* a stripe may be sending refusals to the earlier sessions */
    atomic_fetch_add(&group->seated, 1);
    *out = session;
    return HAWSER_OK;
}

void hw_group_refuse(hw_group *group, const hw_client_session *of, const hw_request_head *head, hw_outcome outcome,
                     const char *words)
{
    hw_server *server = group->server;
    char text[HW_REFUSAL_WORDS];
    if (outcome == HW_CLOCK_OVERFLOWED)
        atomic_store(&group->overflowed, true);
    atomic_fetch_add_explicit(&server->refused, 1, memory_order_relaxed);
    snprintf(text, sizeof text, "clock %llu of worker %u %s: %s", (unsigned long long)head->clock, head->worker,
             outcome == HW_CLOCK_OVERFLOWED ? "has failed" : "was refused, so requests that wait for it can never complete",
             words);
    for (hw_client_session *session = atomic_load(&group->sessions); session != NULL; session = session->next) {
        hw_message *message = atomic_exchange(&session->refusal, NULL);
        hw_request_head own = *head;
        if (session != of) /* the task is another client's */
            own.task = own.slice = 0;
        if (message == NULL)
            continue;
        hw_clock_refusal_write(message, &own, outcome, text);
        server->options.reply(server->options.argument, session->client, message);
    }
}

/* Puts an end-of-group marker into every stripe to which the group may have sent requests. Behind the marker a stripe holds
 * nothing of the group. */
void hw_group_end(hw_group *group)
{
    hw_server *server = group->server;
    size_t tables = atomic_load(&server->table_count);
    unsigned stripes = 0;
    group->ended = true;
    for (size_t t = 0; t < tables; t++)
        stripes += server->tables[t]->stripe_count;
    atomic_init(&group->end_marker->left, stripes);
    if (stripes == 0)
        atomic_store(&group->over, true);
    for (size_t t = 0; t < tables; t++)
        for (uint32_t s = 0; s < server->tables[t]->stripe_count; s++) {
            hw_stripe *stripe = &server->tables[t]->stripes[s];
            if (hw_stripe_put(stripe, &group->progress[t][s].end_marker))
                server->options.ready(server->options.argument, stripe);
        }
}

void hw_group_lose_workers(hw_group *group, const bool *lost, const char *words)
{
    hw_server *server = group->server;
    if (!atomic_load(&group->any_lost))
        snprintf(group->loss, sizeof group->loss, "%.*s", (int)sizeof group->loss - 1, words);
    for (uint32_t w = 0; w < group->workers; w++)
        if (lost[w])
            atomic_store(&group->lost[w], true);
    atomic_store(&group->any_lost, true);
    size_t tables = atomic_load(&server->table_count);
    for (size_t t = 0; t < tables; t++)
        for (uint32_t s = 0; s < server->tables[t]->stripe_count; s++) {
            hw_stripe *stripe = &server->tables[t]->stripes[s];
            hw_progress *progress = &group->progress[t][s];
            if (!atomic_exchange(&progress->loss_queued, true) && hw_stripe_put(stripe, &progress->loss_marker))
                server->options.ready(server->options.argument, stripe);
        }
}

bool hw_group_over(const hw_group *group)
{
    return atomic_load(&group->over);
}

void hw_group_free(hw_group *group)
{
    if (group == NULL)
        return;
    hw_server *server = group->server;
    hw_group **at = &server->groups;
    while (*at != group)
        at = &(*at)->next;
    *at = group->next;
    for (uint32_t t = 0; t < server->made; t++)
        leave_table(server, group, t);
    for (hw_client_session *session = group->sessions, *next; session != NULL; session = next) {
        next = session->next;
        hw_lists_free(&session->lists);
        hw_batches_free(session->batches);
        hw_message_free(atomic_load(&session->refusal));
        free(session);
    }
    free(group->end_marker);
    free(group->loss_marker);
    free(group->lost);
    free(group);
}
