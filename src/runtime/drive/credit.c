/* credit.c - the driver's side of a loop that the blocks run themselves: tests combined clocks and extends credit. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/drive/driver.h"

typedef struct hw_shipment {
    hw_driver *driver;
    const hawser_operator *loop;
    hw_until until;
    hawser_sync sync;
    uint64_t first;    /* the loop's own iteration at which this phase began */
    uint64_t combined; /* clocks of this phase that all blocks have reported */
    uint64_t cap;      /* clocks of this phase after which a limit of clocks ends the loop */
    uint64_t limit;    /* credit given */
    bool at_once;      /* all credit at the begin */
    bool paced;        /* credit up to the end of a window of an adapted loop */
    bool alarmed;      /* the metric has risen within it: the end of the phase is a point */
    bool constant;     /* blocks keep the metrics that they get at the loop's begin: nothing tests what its clocks report */
    bool final;
    bool paused;        /* the end of this phase has been agreed already */
    const char *reason; /* why the loop ends, once it does */
    bool early;         /* and that is why the whole run ends */
    bool begun;         /* a phase has begun */
    bool due;           /* a checkpoint, for which blocks must pause */
    uint64_t step;      /* clocks of the phase that had ended where the run goes on; 0: it begins the phase */
    uint64_t chosen;    /* own iterations of the loop whose branches are chosen, */
    char *memories;     /* and for each of the last `window` of them, what tests of branches remembered before it */
    uint64_t window;
} hw_shipment;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool row_complete(const hw_driver *driver)
{
    for (uint32_t b = 0; b < driver->session->blocks; b++)
        if (driver->reports[b].first == NULL)
            return false;
    return true;
}

/* Returns the reason if a time limit or a signal ends the loop; this does not wait until a clock is complete. */
static const char *asked_to_end(hw_shipment *shipment)
{
    hw_driver *driver = shipment->driver;
    hw_executor *executor = driver->session->executor;
    double seconds = shipment->loop->until.seconds;
    hw_driver_check(driver);
    if (driver->stopping != NULL)
        return driver->stopping;
    if (seconds > 0 && executor->ops->now(executor) - shipment->until.began >= seconds) {
        driver->repeatable = "a loop was ended by time";
        return "seconds";
    }
    return NULL;
}

static bool may_record(const hw_shipment *shipment)
{
    const hw_driver *driver = shipment->driver;
    return driver->recording.by != NULL && !driver->points.ends_phase;
}

/* Returns whether blocks must hold before the clock of a checkpoint until all of them have written their records: they do
 * not keep in step, or the next clock changes memory that they share. */
static bool must_hold(const hw_shipment *shipment)
{
    return shipment->sync.tightness != HAWSER_BSP || shipment->driver->session->program->process_visit != NULL;
}

/* Returns whether a checkpoint is due that blocks with credit for more clocks must pause for. */
static bool pause_is_due(hw_shipment *shipment)
{
    bool ahead = shipment->at_once || shipment->paced || shipment->sync.tightness != HAWSER_BSP;
    bool may = ahead && !shipment->paused && may_record(shipment) && shipment->driver->done == 0;
    shipment->due = shipment->due || (may && hw_record_due(shipment->driver));
    return shipment->due && may;
}

static bool has_news(void *argument)
{
    hw_shipment *shipment = argument;
    return row_complete(shipment->driver) || hw_driver_all_done(shipment->driver) ||
           (shipment->reason == NULL && (asked_to_end(shipment) != NULL || pause_is_due(shipment)));
}

static uint64_t window_of(const hw_shipment *shipment)
{
    return hw_loop_window(shipment->loop, shipment->sync);
}

/* Returns how many clocks blocks get credit for beyond those that are combined. */
static uint64_t ahead_of(const hw_shipment *shipment)
{
    return shipment->paced ? hw_adapt_ahead(shipment->driver, shipment->loop) : window_of(shipment);
}

/* Notes for which clocks blocks have credit. */
static void announce(hw_shipment *shipment, uint64_t limit)
{
    shipment->limit = limit;
    shipment->driver->announced = shipment->driver->clocks + limit - shipment->combined;
}

/* Ends the phase early, at the first clock that no block has begun: under TAP, or if a person waits for the end. */
static hawser_status end_now(hw_shipment *shipment, bool passes)
{
    uint64_t limit = shipment->limit;
    shipment->final = shipment->paused = true;
    hawser_status status = hw_driver_pause(shipment->driver, shipment->sync, passes, &limit);
    announce(shipment, limit);
    return status;
}

/* Calls the tests of the branches that a clock reaches in an operator, and adds the bits of those that are true. */
static hawser_status choose_in(hw_driver *driver, const hawser_operator *op, uint64_t *choices)
{
    if (op->kind == HW_BRANCH) {
        bool yes;
        HAWSER_TRY(hw_branch_test(driver, op, &yes));
        const hawser_operator *child = yes ? op->first : op->first->next;
        *choices |= yes ? hw_branch_bit(op) : 0;
        return child != NULL ? choose_in(driver, child, choices) : HAWSER_OK;
    }
    for (const hawser_operator *child = op->first; child != NULL; child = child->next)
        HAWSER_TRY(choose_in(driver, child, choices));
    return HAWSER_OK;
}

/* Makes the memory of a phase's choices, and goes back to that before the first one, if the phase before has chosen it
 * already. */
static hawser_status begin_choices(hw_shipment *shipment)
{
    hw_memories *now = &shipment->driver->memories;
    if (now->size == 0 || hw_loop_branches(shipment->loop) == 0)
        return HAWSER_OK;
    if (shipment->chosen > shipment->first)
        memcpy(now->bytes, shipment->memories + shipment->first % shipment->window * now->size, now->size);
    free(shipment->memories);
    shipment->memories = NULL;
    shipment->window = window_of(shipment);
    return hw_new_array((void **)&shipment->memories, shipment->window, now->size, "what tests of branches remember",
                        &shipment->driver->error);
}

/* Chooses the branches of the clocks of a phase from `begin` to `limit`, which the next message announces. */
static hawser_status choose(hw_shipment *shipment, uint64_t begin)
{
    hw_driver *driver = shipment->driver;
    size_t count = hw_loop_branches(shipment->loop) > 0 ? shipment->limit - begin : 0;
    HAWSER_TRY(HW_GROW(&driver->choices, &driver->choice_capacity, count, "the choices of branches", &driver->error));
    for (driver->choice_count = 0; driver->choice_count < count; driver->choice_count++) {
        uint64_t *choices = &driver->choices[driver->choice_count];
        uint64_t clock = driver->progress.clock = shipment->first + begin + driver->choice_count;
        if (shipment->memories != NULL)
            memcpy(shipment->memories + clock % shipment->window * driver->memories.size, driver->memories.bytes,
                   driver->memories.size);
        shipment->chosen = clock + 1;
        *choices = 0;
        HAWSER_TRY(choose_in(driver, shipment->loop, choices));
    }
    return HAWSER_OK;
}

static hawser_status give(hw_shipment *shipment)
{
    hw_driver *driver = shipment->driver;
    double now[HW_METRICS_MOST];
    memcpy(now, driver->metrics, sizeof now);
    if (shipment->constant)
        memcpy(driver->metrics, driver->shown, sizeof now);
    hawser_status status = hw_driver_credit(driver, shipment->sync, shipment->limit, shipment->final);
    memcpy(driver->metrics, now, sizeof now);
    return status;
}

static hawser_status extend(hw_shipment *shipment)
{
    if (shipment->paced && shipment->combined < shipment->limit)
        return HAWSER_OK;
    uint64_t before = shipment->limit, limit = least(shipment->cap, shipment->combined + ahead_of(shipment));
    bool waits = hw_record_waits(shipment->driver) && hw_loop_branches(shipment->loop) > 0; /* nothing is chosen meanwhile */
    if (shipment->final || limit <= shipment->limit || waits)
        return HAWSER_OK;
    announce(shipment, limit);
    HAWSER_TRY(choose(shipment, before));
    shipment->final = limit == shipment->cap;
    return give(shipment);
}

/* Returns whether the policy has changed: a new policy needs a new phase of the loop. */
static bool sync_changed(const hw_shipment *shipment)
{
    hawser_sync asked = shipment->driver->syncs[shipment->loop->number];
    return asked.tightness != shipment->sync.tightness || asked.staleness != shipment->sync.staleness;
}

/* Stops extending credit. Credit that was given far ahead (a loop of clocks only gets all at once) is taken back. */
static hawser_status stop_credit(hw_shipment *shipment)
{
    uint64_t ahead = shipment->limit - shipment->combined;
    if (shipment->paused || (shipment->final && ahead == 0))
        return HAWSER_OK;
    if (shipment->sync.tightness == HAWSER_TAP || ahead > window_of(shipment))
        return end_now(shipment, true);
    if (shipment->final)
        return HAWSER_OK;
    shipment->final = true;
    return hw_driver_credit(shipment->driver, shipment->sync, shipment->limit, true);
}

/* Takes a checkpoint before the clock that follows: no block has begun it, because its credit has not been given. */
static hawser_status record_here(hw_shipment *shipment)
{
    hw_driver *driver = shipment->driver;
    bool in_step = !shipment->at_once && !shipment->paced && shipment->sync.tightness == HAWSER_BSP;
    if (!in_step || shipment->final || !may_record(shipment) || !hw_record_due(driver))
        return HAWSER_OK;
    HAWSER_TRY(hw_record_order(driver, shipment->combined, false));
    HAWSER_TRY(hw_record_place(driver, shipment->combined));
    return hw_record_settle(driver);
}

/* Pauses all blocks, and asks for their records before the first clock that none has begun; if the loop has branches, before
 * the first one whose branches are not chosen. */
static hawser_status pause_to_record(hw_shipment *shipment)
{
    hw_driver *driver = shipment->driver;
    HAWSER_TRY(hw_record_pause(driver));
    uint64_t at = hw_loop_branches(shipment->loop) > 0 ? shipment->limit : driver->furthest;
    if (at == 0 || at >= shipment->cap)
        return HAWSER_OK;
    if (must_hold(shipment))
        HAWSER_TRY(hw_record_hold(driver, at));
    HAWSER_TRY(hw_record_order(driver, at, false));
    HAWSER_TRY(hw_record_place(driver, shipment->combined));
    return must_hold(shipment) ? hw_record_written(driver) : HAWSER_OK;
}

/* Takes a checkpoint in a loop whose blocks have credit for clocks that are not judged. */
static hawser_status record_ahead(hw_shipment *shipment)
{
    shipment->due = false;
    HAWSER_TRY(pause_to_record(shipment));
    return hw_record_go_on(shipment->driver);
}

/* Returns whether all blocks have begun the last combined clock with the same values. A change then holds from the next one,
 * or from the next phase. */
static bool is_point(const hw_shipment *shipment)
{
    if (shipment->sync.tightness == HAWSER_BSP)
        return !shipment->paced || (shipment->combined == shipment->limit && !shipment->alarmed);
    return shipment->combined == 1;
}

/* Handles one combined clock: observers, the stop test, then more credit or none. */
static hawser_status judge(hw_shipment *shipment)
{
    hw_driver *driver = shipment->driver;
    uint64_t clock = shipment->first + shipment->combined++;
    driver->clocks++;
    hw_driver_observe(driver, shipment->loop->name, clock);
    if (shipment->reason == NULL) {
        shipment->reason = hw_until_ends(&shipment->until, driver, clock);
        HAWSER_TRY(driver->error.status);
        if (shipment->reason != NULL)
            return stop_credit(shipment);
    } else if (shipment->early && driver->recording.by != NULL) {
        /* the last clocks count for a run that goes on, too */
        shipment->early = hw_until_ends(&shipment->until, driver, clock) == NULL;
    }
    hw_adapt_watch(driver, shipment->loop);
    if (shipment->reason == NULL && is_point(shipment))
        hw_adapt_point(driver, shipment->loop);
    HAWSER_TRY(driver->error.status);
    bool ends = sync_changed(shipment) || driver->points.ends_phase;
    const bool point = hw_adapt_wants_point(driver, shipment->loop);
    shipment->alarmed = shipment->alarmed || (point && shipment->paced);
    if ((ends || point) && !shipment->final)
        return end_now(shipment, !sync_changed(shipment)); /* clocks before a change of policy are run by all blocks */
    if (shipment->early || shipment->reason == NULL)
        HAWSER_TRY(hw_record_place(driver, shipment->combined));
    if (shipment->reason != NULL)
        return HAWSER_OK;
    HAWSER_TRY(record_here(shipment));
    return extend(shipment);
}

static hawser_status follow(hw_shipment *shipment)
{
    hw_driver *driver = shipment->driver;
    for (;;) {
        HAWSER_TRY(hw_driver_wait(driver, has_news, shipment));
        const char *asked = shipment->reason == NULL ? asked_to_end(shipment) : NULL;
        if (asked != NULL) {
            shipment->reason = asked;
            shipment->early = driver->stopping != NULL;
            /* A limit of clocks of the whole run is part of `cap`. */
            if (shipment->limit > shipment->combined && driver->done < driver->session->blocks)
                HAWSER_TRY(end_now(shipment, true));
        } else if (shipment->reason == NULL && pause_is_due(shipment))
            HAWSER_TRY(record_ahead(shipment));
        if (hw_driver_combine(driver))
            HAWSER_TRY(judge(shipment));
        else if (hw_driver_all_done(driver))
            return HAWSER_OK;
    }
}

/* Returns why results differ from run to run, or NULL if they have the same bits each time. */
static const char *not_repeatable(const hw_shipment *shipment)
{
    const hawser_program *program = shipment->driver->session->program;
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        if (state->function != NULL && !state->summed && hw_operator_updates(shipment->loop, state))
            return "changes of a stored state take effect in the order in which they come";
    return hw_loop_delay(shipment->sync) == 0 ? NULL : hw_policy_row_of((unsigned)shipment->sync.tightness)->varies;
}

static void plan_phase(hw_shipment *shipment)
{
    const hawser_until *until = &shipment->loop->until;
    hw_driver *driver = shipment->driver;
    uint64_t whole = driver->session->job->max_clocks;
    shipment->sync = driver->syncs[shipment->loop->number];
    shipment->combined = shipment->step;
    shipment->paused = false;
    shipment->cap = until->clocks != 0 ? until->clocks - shipment->first : UINT64_MAX;
    if (whole != 0)
        shipment->cap = least(shipment->cap, shipment->step + whole - driver->clocks);
    /* The store has no clocks for its tables here, so only credit keeps blocks from running ahead on stored states; and on
     * moving ones, whose parts would pile up before a slow block. */
    bool tied = shipment->sync.tightness != HAWSER_TAP && !hw_operator_moves(shipment->loop) &&
                (shipment->sync.tightness == HAWSER_CENTRIC || !hw_operator_stores(shipment->loop));
    shipment->constant = hw_loop_untested(shipment->loop) && tied;
    shipment->at_once = shipment->constant && !hw_loop_adapts(driver, shipment->loop);
    shipment->paced = driver->paced =
        tied && shipment->sync.tightness == HAWSER_BSP && hw_adapt_paces(driver, shipment->loop);
    announce(shipment, shipment->at_once ? shipment->cap : least(shipment->cap, shipment->step + ahead_of(shipment)));
    shipment->final = shipment->limit == shipment->cap;
    if (driver->session->blocks > 1 && driver->repeatable == NULL)
        driver->repeatable = not_repeatable(shipment);
}

/* Begins a phase. Blocks that keep their metrics get those of now with the loop's first phase, or those that they had before
 * if the loop goes on. */
static hawser_status trigger(hw_shipment *shipment)
{
    hw_driver *driver = shipment->driver;
    double now[HW_METRICS_MOST];
    memcpy(now, driver->metrics, sizeof now);
    const double *before = shipment->begun ? driver->shown : shipment->until.shown;
    memmove(driver->shown, shipment->constant && before != NULL ? before : now, sizeof now);
    memcpy(driver->metrics, driver->shown, sizeof now);
    hawser_status status =
        hw_driver_trigger(driver, shipment->loop, shipment->sync, shipment->first, shipment->limit, shipment->final);
    memcpy(driver->metrics, now, sizeof now);
    return status;
}

static hawser_status ship(hw_driver *driver, hw_shipment *shipment)
{
    hw_driver_check(driver);
    hw_adapt_point(driver, shipment->loop);
    HAWSER_TRY(driver->error.status);
    shipment->first = shipment->until.first;
    shipment->reason = driver->stopping;
    shipment->step = hw_record_step(driver);
    while (shipment->reason == NULL) {
        hw_level_at(driver, NULL, shipment->first);
        if (shipment->step == 0)
            HAWSER_TRY(hw_record_between(driver));
        plan_phase(shipment);
        driver->points.loop = shipment->loop;
        driver->points.sync = shipment->sync;
        driver->points.ends_phase = false;
        HAWSER_TRY(begin_choices(shipment));
        HAWSER_TRY(choose(shipment, shipment->step));
        HAWSER_TRY(trigger(shipment));
        shipment->begun = true;
        shipment->due = shipment->alarmed = false;
        shipment->step = 0;
        HAWSER_TRY(follow(shipment));
        hw_record_give_up(driver);
        shipment->first += shipment->combined;
        driver->points.loop = NULL;
        if (shipment->alarmed && shipment->reason == NULL)
            hw_adapt_point(driver, shipment->loop);
        HAWSER_TRY(driver->error.status);
        hw_driver_check(driver);
        if (shipment->reason == NULL)
            shipment->reason = driver->stopping;
    }
    driver->stop_reason = shipment->reason;
    return HAWSER_OK;
}

hawser_status hw_driver_ship(hw_driver *driver, const hawser_operator *loop)
{
    hw_shipment shipment = {.driver = driver, .loop = loop};
    hawser_status status = hw_until_begin(&shipment.until, driver, loop);
    if (status == HAWSER_OK)
        status = ship(driver, &shipment);
    driver->points.loop = NULL;
    hw_until_end(&shipment.until);
    free(shipment.memories);
    return status;
}
