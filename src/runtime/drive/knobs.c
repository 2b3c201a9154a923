/* knobs.c - the work of loops and the shares of blocks in it, which tests change and triggers and credit announce. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/forms.h"
#include "hawser/advanced.h"
#include "program/position.h"
#include "runtime/drive/driver.h"

static const double LEAST_SHARE = 0.125;

static hawser_status open_shares(hw_knobs *knobs, uint32_t blocks, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&knobs->shares, blocks, "shares of work", error));
    HAWSER_TRY(HW_NEW(&knobs->sent_shares, blocks, "shares of work", error));
    for (uint32_t b = 0; b < blocks; b++)
        knobs->shares[b] = knobs->sent_shares[b] = 1;
    return HAWSER_OK;
}

static uint64_t quota_of(const hw_driver *driver, uint32_t state)
{
    const hw_filter *filter = &driver->session->plan->states[state].filter;
    return filter->kind != HW_FILTER_NONE ? filter->quota : 0;
}

hawser_status hw_knobs_open(hw_driver *driver, hawser_error *error)
{
    const hawser_program *program = driver->session->program;
    HAWSER_TRY(HW_NEW(&driver->quotas, program->state_count, "the quotas of states", error));
    for (uint32_t i = 0; i < program->state_count; i++)
        driver->quotas[i].now = driver->quotas[i].sent = quota_of(driver, i);
    HAWSER_TRY(HW_NEW(&driver->forms, program->state_count, "the forms of states", error));
    HAWSER_TRY(HW_NEW(&driver->knobs, program->operator_count, "the work of loops", error));
    for (size_t i = 0; i < program->operator_count; i++) {
        driver->knobs[i].work = driver->knobs[i].sent_work = 1;
        if (program->operators[i]->shares)
            HAWSER_TRY(open_shares(&driver->knobs[i], driver->session->blocks, error));
    }
    return HAWSER_OK;
}

void hw_knobs_close(hw_driver *driver)
{
    for (size_t i = 0; driver->knobs != NULL && i < driver->session->program->operator_count; i++) {
        free(driver->knobs[i].shares);
        free(driver->knobs[i].sent_shares);
    }
    free(driver->knobs);
    free(driver->quotas);
    free(driver->forms);
}

uint64_t hw_knobs_share(const hw_driver *driver, const hawser_operator *op, uint32_t block)
{
    const double *shares = driver->knobs[op->number].shares;
    const double share = shares != NULL ? shares[block] : 1;
    uint64_t bits;
    memcpy(&bits, &share, sizeof bits);
    return bits;
}

/* Returns the shares of all loops that have some, in the order of operators, behind the works of all operators. */
hawser_status hw_knobs_save(const hw_driver *driver, hw_position *position, hawser_error *error)
{
    const size_t operators = driver->session->program->operator_count, blocks = driver->session->blocks;
    size_t count = operators;
    for (size_t i = 0; i < operators; i++)
        count += driver->knobs[i].shares != NULL ? blocks : 0;
    HAWSER_TRY(HW_NEW(&position->quotas, position->states, "the quotas of states", error));
    for (uint64_t i = 0; i < position->states; i++)
        position->quotas[i] = driver->quotas[i].now;
    HAWSER_TRY(HW_NEW(&position->works, count, "the work of loops", error));
    position->work_count = count;
    double *next = position->works + operators;
    for (size_t i = 0; i < operators; i++) {
        position->works[i] = driver->knobs[i].work;
        if (driver->knobs[i].shares == NULL)
            continue;
        memcpy(next, driver->knobs[i].shares, blocks * sizeof *next);
        next += blocks;
    }
    return HAWSER_OK;
}

void hw_knobs_restore(hw_driver *driver, const hw_position *from, bool told)
{
    const size_t operators = driver->session->program->operator_count, blocks = driver->session->blocks;
    for (uint64_t i = 0; i < from->states; i++) /* a state without a filter in this run has no quota */
        if (driver->quotas[i].now > 0 && from->quotas[i] > 0) {
            driver->quotas[i].now = from->quotas[i];
            if (told)
                driver->quotas[i].sent = from->quotas[i];
        }
    const double *next = from->works + operators, *end = from->works + from->work_count;
    for (size_t i = 0; i < operators && from->work_count >= operators; i++) {
        hw_knobs *knobs = &driver->knobs[i];
        knobs->work = from->works[i];
        if (told)
            knobs->sent_work = from->works[i];
        if (knobs->shares == NULL || (size_t)(end - next) < blocks)
            continue;
        memcpy(knobs->shares, next, blocks * sizeof *next);
        if (told)
            memcpy(knobs->sent_shares, next, blocks * sizeof *next);
        next += blocks;
    }
}

void hw_knobs_spoil(hw_driver *driver)
{
    const hawser_program *program = driver->session->program;
    for (uint32_t i = 0; i < program->state_count; i++)
        if (driver->quotas[i].now > 0)
            driver->quotas[i].now = UINT64_MAX / 3;
    for (size_t i = 0; i < program->operator_count; i++) {
        hw_knobs *knobs = &driver->knobs[i];
        knobs->work = -1;
        for (uint32_t b = 0; knobs->shares != NULL && b < driver->session->blocks; b++)
            knobs->shares[b] = -1;
    }
}

/* Finds the loop of a call, whose declaration allows what it asks for. */
static const hawser_operator *declared_loop(hw_driver *driver, const char *call, const char *name)
{
    const hawser_program *program = driver->session->program;
    for (size_t i = 0; name != NULL && i < program->operator_count; i++) {
        const hawser_operator *op = program->operators[i];
        if (op->kind == HW_LOOP && op->adapted && strcmp(op->name, name) == 0 && hw_operator_shipped(op))
            return op;
    }
    if (driver->error.status == HAWSER_OK)
        (void)hawser_fail(&driver->error, HAWSER_BAD_PROGRAM,
                          "%s: no loop '%s' that blocks run by themselves has a HAWSER_ADAPT", call,
                          name != NULL ? name : "");
    return NULL;
}

void hawser_progress_work(hawser_progress *progress, const char *loop, double work)
{
    if (progress == NULL)
        return;
    hw_driver *driver = progress->driver;
    const hawser_operator *op = declared_loop(driver, "hawser_progress_work", loop);
    if (op == NULL)
        return;
    if (!(work >= op->work_least && work <= op->work_most)) {
        if (driver->error.status == HAWSER_OK)
            (void)hawser_fail(&driver->error, HAWSER_BAD_PROGRAM,
                              "hawser_progress_work: work %g for loop '%s', which declares %g to %g", work, loop,
                              op->work_least, op->work_most);
        return;
    }
    hw_knobs *knobs = &driver->knobs[op->number];
    if (!(knobs->work == work))
        knobs->asker = driver->policies.asking;
    knobs->work = work;
}

void hawser_progress_share(hawser_progress *progress, const char *loop, uint32_t block, double share)
{
    if (progress == NULL)
        return;
    hw_driver *driver = progress->driver;
    const hawser_operator *op = declared_loop(driver, "hawser_progress_share", loop);
    if (op == NULL)
        return;
    hw_knobs *knobs = &driver->knobs[op->number];
    if (knobs->shares == NULL || block >= driver->session->blocks || !(share >= LEAST_SHARE && share <= 1)) {
        if (driver->error.status == HAWSER_OK)
            (void)hawser_fail(
                &driver->error, HAWSER_BAD_PROGRAM,
                "hawser_progress_share: share %g of block %u in loop '%s'; it takes %g to 1, a block below %u, "
                "and a loop that declares .shares",
                share, block, loop, LEAST_SHARE, driver->session->blocks);
        return;
    }
    if (!(knobs->shares[block] == share))
        knobs->asker = driver->policies.asking;
    knobs->shares[block] = share;
}

void hawser_progress_quota(hawser_progress *progress, const char *state, uint64_t quota)
{
    if (progress == NULL)
        return;
    hw_driver *driver = progress->driver;
    const hawser_state *found = state != NULL ? hw_program_state(driver->session->program, state) : NULL;
    if (found == NULL || driver->quotas[found->number].now == 0 || quota == 0) {
        if (driver->error.status == HAWSER_OK)
            (void)hawser_fail(
                &driver->error, HAWSER_BAD_PROGRAM,
                "hawser_progress_quota: quota %llu for '%s'; it takes a state that has a filter with a quota, and "
                "a number of bytes above 0",
                (unsigned long long)quota, state != NULL ? state : "");
        return;
    }
    hw_quota *own = &driver->quotas[found->number];
    if (own->now != quota)
        own->asker = driver->policies.asking;
    own->now = quota;
}

void hawser_progress_encoding(hawser_progress *progress, const char *state, hawser_form form)
{
    if (progress == NULL)
        return;
    hw_driver *driver = progress->driver;
    const hawser_state *found = state != NULL ? hw_program_state(driver->session->program, state) : NULL;
    if (found == NULL || !driver->session->plan->states[found->number].narrows || hw_form_row_of((unsigned)form) == NULL) {
        if (driver->error.status == HAWSER_OK)
            (void)hawser_fail(&driver->error, HAWSER_BAD_PROGRAM,
                              "hawser_progress_encoding: form %d for '%s'; it takes a form of hawser_form, and a state that "
                              "a HAWSER_ADAPT names in a run that lets forms change (--auto or --encoding auto), on more "
                              "than one block and without a filter",
                              (int)form, state != NULL ? state : "");
        return;
    }
    hw_sent_form *own = &driver->forms[found->number];
    if (own->now != form)
        own->asker = driver->policies.asking;
    own->now = form;
}
