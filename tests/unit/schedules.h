/*
 * schedules.h - a walk over all schedules of a small job. The job runs again and again through the real runtime; the walk is
 * depth first over the runner that continues at each point. For one test file, linked with --wrap as tests/CMakeLists.txt
 * says.
 *
 * A step is the work of one runner between two points at which another runner could continue: it checks its mailbox, sends
 * one message, or makes one request to the store. The wrappers here make these points, so that steps are no coarser than the
 * interleavings of threads. Three rules keep the number of schedules down. runtime_schedules.c shows on the smallest jobs
 * that they lose no outcome:
 * - Steps that touch nothing in common may change places without an effect. Of schedules that differ only in that, one is
 *   walked. Races in the runs show where another order matters (source sets and sleep sets: Abdulla et al. 2014).
 * - A waiting runner checks its mailbox as soon as a message arrives, because an earlier check changes nothing. After the
 *   arrival other runners may continue first, and their messages are received as well.
 * - Messages of sorts that the receiver keeps apart may change places, and so may requests for different chunks of a stored
 *   state.
 */
#ifndef HW_TESTS_SCHEDULES_H
#define HW_TESTS_SCHEDULES_H

#include "hawser/store.h"
#include "job.h"
#include "runtime/block/worker.h"
#include "transport/queue.h"

enum { RUNNERS_MOST = 5, STEPS_MOST = 2000, CLASSES_MOST = 1 << 16 };

/* What a step touches, as bits: the mail of a runner, of four sorts, or a chunk in the store. */
#define SORT(runner, sort) (1U << (4 * (runner) + (sort)))
#define MAIL(runner)       (15U << 4 * (runner))
#define CHUNK(number)      (1U << (4 * RUNNERS_MOST + (number)))
#define THE_STORE          (15U << 4 * RUNNERS_MOST)
enum { THINGS = 4 * RUNNERS_MOST + 4 };

typedef struct step {
    uint32_t runner, ready;         /* the runner of the step, and those that could have made it */
    uint32_t touched;               /* by the step */
    uint32_t todo, done, asleep;    /* runners still to be walked here; walked; whose walk would only repeat */
    uint32_t touches[RUNNERS_MOST]; /* by the step of a runner that was walked or sleeps */
    uint32_t turn, delays;          /* the runner whose turn it was; how often another one continued, up to here */
} step;

typedef struct walk {
    bool every;      /* also walks schedules that differ in nothing that matters */
    bool exact;      /* every check of a mailbox is a step, and all messages are of one sort */
    uint32_t delays; /* how often a runner out of turn may continue; 0: as often as it matters */
    bool fair;       /* runners without a decision take turns, and do not continue until they wait */
    uint64_t draws;  /* runs with drawn schedules, in place of a walk */
    uint64_t chunk;  /* keys of a chunk of the store that can be requested alone; 0: none */
    /* The present run: */
    step steps[STEPS_MOST];
    size_t known, at; /* steps to make again; made */
    bool running;
    bool aborting;                    /* the driver has ended the job: a wakeup has no meaning any more */
    bool repeats;                     /* this schedule was walked already; the run only ends */
    bool wrote, took;                 /* what the step has done already */
    bool looks;                       /* checks its mailbox at once, which is not a step */
    bool mailed;                      /* the wakeup belongs to a message */
    uint32_t current, runners, waits; /* waits: runners that check their mailbox as soon as a message arrives */
    hw_executor *executor;
    hw_executor_ops ops;
    /* All runs: */
    hw_random random;
    uint64_t runs, repeated, longest;
    uint64_t *classes; /* digests of the orders that matter, open addressing; NULL: not kept */
    uint64_t class_count;
} walk;

static walk *walking; /* NULL: none */

#ifdef __SANITIZE_ADDRESS__
/* The sanitizer clears its shadow of a fiber's stack at each switch, by a mapping if it is larger than this. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "clear_shadow_mmap_threshold=1048576";
}
#endif

/* ------------------------------------------------------------------------------------------- what steps are made of ---- */

static bool has(uint32_t set, uint32_t bit)
{
    return (set >> bit & 1) != 0;
}

static bool is_walking(void)
{
    return walking != NULL && walking->running;
}

static void touch(uint32_t things)
{
    if (is_walking() && !walking->repeats)
        walking->steps[walking->at - 1].touched |= things;
}

/* Called before an action that others see: another runner may continue first, unless the step has done nothing yet. */
static void begin_write(uint32_t things)
{
    if (!is_walking())
        return;
    if (walking->wrote || walking->took)
        walking->executor->ops->yield(walking->executor, walking->current);
    touch(things);
    walking->wrote = true;
}

static void begin_look(void)
{
    if (!is_walking())
        return;
    if (!walking->looks && walking->wrote)
        walking->executor->ops->yield(walking->executor, walking->current);
    if (!walking->looks)
        touch(MAIL(walking->current));
    walking->took = true;
}

#define WRAPPED(type, name, ...)                                                                                            \
    type __real_##name(__VA_ARGS__);                                                                                        \
    type __wrap_##name(__VA_ARGS__);                                                                                        \
    type __wrap_##name(__VA_ARGS__)

/* Returns the bit of a message's mailbox and sort. The driver keeps the messages of blocks apart, or counts them. A block
 * keeps updates apart from the driver's messages. The order between such sorts does not matter to the receiver; any other
 * order does. */
static uint32_t mail_of(const hw_message *message)
{
    uint32_t to = message->envelope.destination, driver = walking->runners - 1;
    if (walking->exact)
        return MAIL(to);
    switch (message->envelope.kind) {
    case HW_MESSAGE_UPDATE: return SORT(to, 0);
    case HW_MESSAGE_SHARE: return SORT(to, 2);
    case HW_MESSAGE_TRIGGER:
    case HW_MESSAGE_CREDIT: return SORT(to, 1);
    case HW_MESSAGE_PAUSE: return SORT(to, to == driver ? message->envelope.source : 1);
    case HW_MESSAGE_REPORT: return SORT(to, message->envelope.source);
    case HW_MESSAGE_DONE: return message->payload == NULL ? SORT(to, message->envelope.source) : MAIL(to);
    default: return MAIL(to);
    }
}

static bool (*meddle)(hw_message *message); /* changes a message as the test asks; true: the message is lost */

WRAPPED(bool, hw_inbox_put, hw_inbox *inbox, hw_message *message)
{
    if (!is_walking())
        return __real_hw_inbox_put(inbox, message);
    begin_write(mail_of(message));
    walking->aborting = walking->aborting || message->envelope.kind == HW_MESSAGE_ABORT;
    if (meddle != NULL && meddle(message)) {
        hw_message_free(message);
        return true;
    }
    walking->mailed = true;
    bool put = __real_hw_inbox_put(inbox, message);
    walking->mailed = false;
    return put;
}

WRAPPED(hw_message *, hw_inbox_take, hw_inbox *inbox)
{
    begin_look();
    return __real_hw_inbox_take(inbox);
}

static void begin_request(uint64_t first, uint64_t last, bool listed)
{
    uint32_t things = THE_STORE;
    if (is_walking() && !walking->exact && walking->chunk > 0 && !listed)
        for (things = 0, first /= walking->chunk; first <= last / walking->chunk; first++)
            things |= CHUNK(first);
    begin_write(things);
}

WRAPPED(hawser_status, hawser_pull, hawser_store *store, const hawser_request *request, uint64_t *task, hawser_error *error)
{
    begin_request(request->first, request->last, request->keys != NULL);
    return __real_hawser_pull(store, request, task, error);
}

WRAPPED(hawser_status, hawser_push, hawser_store *store, const hawser_request *request, uint64_t *task, hawser_error *error)
{
    begin_request(request->first, request->last, request->keys != NULL);
    return __real_hawser_push(store, request, task, error);
}

WRAPPED(hawser_status, hawser_store_clock, hawser_store *store, uint32_t table, uint32_t worker, uint64_t clock,
        uint64_t first, uint64_t last, hawser_error *error)
{
    begin_request(first, last, false);
    return __real_hawser_store_clock(store, table, worker, clock, first, last, error);
}

/* The driver reads it whenever it checks its mailbox. */
WRAPPED(void, hawser_interrupt, hawser_job *job)
{
    if (is_walking())
        begin_write(MAIL(walking->runners - 1));
    __real_hawser_interrupt(job);
}

/* A system call takes longer than a run. */
WRAPPED(uint32_t, hw_machine_processors, void)
{
    return walking != NULL ? 1 : __real_hw_machine_processors();
}

WRAPPED(uint64_t, hw_machine_memory, uint32_t sharers)
{
    return walking != NULL ? UINT64_C(1) << 30 : __real_hw_machine_memory(sharers);
}

WRAPPED(uint64_t, hw_machine_peak_rss, void)
{
    return walking != NULL ? 0 : __real_hw_machine_peak_rss();
}

/* Replies of the store are kept apart from messages. */
static void wake_noted(hw_executor *executor, uint32_t number)
{
    bool answer = !walking->exact && (walking->steps[walking->at - 1].touched & THE_STORE) != 0;
    if (!walking->mailed && !walking->aborting)
        touch(answer ? SORT(number, 2) : MAIL(number));
    walking->ops.wake(executor, number);
}

static void park_noted(hw_executor *executor, uint32_t number, double deadline)
{
    walking->waits |= walking->exact ? 0 : 1U << number;
    walking->ops.park(executor, number, deadline);
    walking->waits &= ~(1U << number);
}

WRAPPED(hawser_status, hw_wait, hw_mailbox *mailbox, bool (*ready)(void *argument), void *argument)
{
    if (!is_walking() || walking->exact)
        return __real_hw_wait(mailbox, ready, argument);
    do {
        walking->looks = true;
        HAWSER_TRY(__real_hw_wait(mailbox, ready, argument));
        walking->executor->ops->yield(walking->executor, mailbox->runner);
        HAWSER_TRY(hw_drain(mailbox));
    } while (!ready(argument));
    return HAWSER_OK;
}

static hawser_status run_noted(hw_executor *executor, void (*body)(void *argument, uint32_t number), void *argument,
                               hawser_error *error)
{
    walking->running = true;
    hawser_status status = walking->ops.run(executor, body, argument, error);
    walking->running = false;
    return status;
}

WRAPPED(hawser_status, hw_fiber_executor, uint32_t count, uint64_t seed, hw_chooser chooser, hw_executor **executor,
        hawser_error *error)
{
    static hw_executor_ops noting;
    HAWSER_TRY(__real_hw_fiber_executor(count, seed, chooser, executor, error));
    if (walking == NULL)
        return HAWSER_OK;
    assert_true(count <= RUNNERS_MOST);
    walking->executor = *executor;
    walking->runners = count;
    walking->ops = *(*executor)->ops;
    noting = walking->ops;
    noting.run = run_noted;
    noting.wake = wake_noted;
    noting.park = park_noted;
    (*executor)->ops = &noting;
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------------------- one run ---- */

/* Returns the runner that continues without a decision: the present one, or the next in turn. */
static uint32_t next_in_turn(const walk *w, uint32_t among)
{
    uint32_t next = w->current + (w->fair ? 1 : 0);
    while (!has(among, next % w->runners))
        next++;
    return next % w->runners;
}

/* Returns the runners that sleep: a runner whose step was walked before the previous one sleeps until something that it
 * touches is touched, because its step would lead to the same states. */
static uint32_t sleeping_runners(const walk *w, step *s)
{
    uint32_t asleep = 0;
    if (w->every || w->delays > 0 || w->draws > 0 || w->at == 0)
        return 0;
    const step *before = &w->steps[w->at - 1];
    for (uint32_t v = 0; v < w->runners; v++)
        if (has((before->asleep | before->done) & ~(1U << before->runner), v) &&
            (before->touches[v] & before->touched) == 0) {
            asleep |= 1U << v;
            s->touches[v] = before->touches[v];
        }
    return asleep;
}

/* Begins a step at a point of the walk that is new. */
static void begin_step(walk *w, step *s, uint32_t ready)
{
    *s = (step){.ready = ready, .delays = w->at > 0 ? w->steps[w->at - 1].delays : 0};
    s->asleep = sleeping_runners(w, s);
    uint32_t awake = ready & ~s->asleep;
    if (awake == 0) { /* every continuation was walked from another point */
        w->repeats = true;
        awake = ready;
    }
    if (w->draws > 0)
        w->current = (uint32_t)hw_random_below(&w->random, w->runners);
    s->runner = s->turn = next_in_turn(w, awake);
    s->todo = w->every || s->delays < w->delays ? ready : 1U << s->runner;
}

/* Begins the step of the runner that continues, at a point at which others could. */
static void decide(walk *w, uint32_t can)
{
    assert_true(w->at < STEPS_MOST);
    step *s = &w->steps[w->at];
    if (w->repeats)
        s->runner = next_in_turn(w, can);
    else if (w->at >= w->known)
        begin_step(w, s, can);
    else if (s->ready != can)
        fail_msg("step %zu is another than it was", w->at);
    w->current = s->runner;
    s->touched = 0;
    w->at += w->repeats ? 0 : 1;
}

static uint32_t go_on(void *argument, const uint32_t *ready, uint32_t count)
{
    walk *w = argument;
    uint32_t can = 0;
    for (uint32_t i = 0; i < count; i++)
        can |= 1U << ready[i];
    w->wrote = w->took = false;
    w->looks = (can & w->waits) != 0;
    if (w->looks)
        for (w->current = 0; !has(can & w->waits, w->current);)
            w->current++;
    else
        decide(w, can);
    for (uint32_t i = 0;; i++)
        if (ready[i] == w->current)
            return i;
}

/* ---------------------------------------------------------------------------------------- what remains to be walked ---- */

/* The order of the steps of a run that is fixed by the things that they touch in common. */
typedef struct order {
    uint32_t count[STEPS_MOST][RUNNERS_MOST]; /* by runner: how many of its steps come before, the step itself included */
    size_t earlier[STEPS_MOST][THINGS + 1];
    uint32_t earlier_count[STEPS_MOST]; /* steps directly before: of the same runner, or touching the same thing */
    uint32_t number[STEPS_MOST];        /* number among the steps of its runner, from 1 */
    uint64_t digest;
} order;

static bool comes_before(const walk *w, const order *o, size_t a, size_t b)
{
    return o->count[b][w->steps[a].runner] >= o->number[a];
}

static uint64_t mixed(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) + UINT64_C(0x9e3779b97f4a7c15);
    digest = (digest ^ digest >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    digest = (digest ^ digest >> 27) * UINT64_C(0x94d049bb133111eb);
    return digest ^ digest >> 31;
}

static void add_earlier(order *o, size_t i, size_t j)
{
    for (uint32_t k = 0; k < o->earlier_count[i]; k++)
        if (o->earlier[i][k] == j)
            return;
    o->earlier[i][o->earlier_count[i]++] = j;
    for (uint32_t v = 0; v < RUNNERS_MOST; v++)
        if (o->count[j][v] > o->count[i][v])
            o->count[i][v] = o->count[j][v];
}

static void order_steps(const walk *w, order *o)
{
    size_t by_runner[RUNNERS_MOST] = {0}, by_thing[THINGS] = {0}; /* 1 + the last; 0: none */
    uint64_t versions[THINGS] = {0};
    o->digest = 0;
    for (size_t i = 0; i < w->at; i++) {
        const step *s = &w->steps[i];
        size_t last = by_runner[s->runner];
        memset(o->count[i], 0, sizeof o->count[i]);
        o->earlier_count[i] = 0;
        o->number[i] = last > 0 ? o->number[last - 1] + 1 : 1;
        uint64_t own = mixed(mixed(0, s->runner), o->number[i]);
        if (last > 0)
            add_earlier(o, i, last - 1);
        for (uint32_t t = 0; t < THINGS; t++) {
            if (!has(s->touched, t))
                continue;
            if (by_thing[t] > 0)
                add_earlier(o, i, by_thing[t] - 1);
            by_thing[t] = i + 1;
            own = mixed(own, t << 16 | versions[t]++);
        }
        by_runner[s->runner] = i + 1;
        o->count[i][s->runner] = o->number[i];
        o->digest += mixed(own, 1);
    }
}

/* Returns whether step i may come before the earlier step j of another runner: no step between them explains their order. */
static bool races(const walk *w, const order *o, size_t j, size_t i)
{
    uint32_t runner = w->steps[i].runner;
    if (w->steps[j].runner == runner)
        return false;
    for (uint32_t k = 0; k < o->earlier_count[i]; k++)
        if (o->earlier[i][k] != j && comes_before(w, o, j, o->earlier[i][k]))
            return false;
    size_t woken = j; /* the step at which the runner was ready again; that step must be possible without j */
    while (!has(w->steps[woken].ready, runner))
        woken++;
    return woken == j || (woken - 1 != j && !comes_before(w, o, j, woken - 1));
}

/* Adds a runner to be walked at j: one of those that can begin a schedule with i before j. */
static void add_todo(walk *w, const order *o, size_t j, size_t i)
{
    size_t without[STEPS_MOST], count = 0;
    uint32_t seen = 0, first = 0;
    for (size_t k = j + 1; k <= i; k++) {
        if (k < i && comes_before(w, o, j, k))
            continue;
        bool free = !has(seen, w->steps[k].runner);
        for (size_t m = 0; m < count && free; m++)
            free = !comes_before(w, o, without[m], k);
        seen |= 1U << w->steps[k].runner;
        first |= free ? 1U << w->steps[k].runner : 0;
        without[count++] = k;
    }
    step *s = &w->steps[j];
    first &= s->ready;
    if (first == 0)
        s->todo |= s->ready;
    else if ((first & s->todo) == 0)
        s->todo |= has(first, w->steps[i].runner) ? 1U << w->steps[i].runner : first & ~(first - 1);
}

static void learn(walk *w)
{
    static order o;
    order_steps(w, &o);
    size_t from = w->known > 0 ? w->known - 1 : 0; /* earlier races are known */
    for (size_t i = from; i < w->at && !w->every && w->delays == 0; i++)
        for (uint32_t k = 0; k < o.earlier_count[i]; k++)
            if (races(w, &o, o.earlier[i][k], i))
                add_todo(w, &o, o.earlier[i][k], i);
    if (w->classes == NULL || w->repeats)
        return;
    size_t place = o.digest % CLASSES_MOST;
    while (w->classes[place] != 0 && w->classes[place] != o.digest)
        place = (place + 1) % CLASSES_MOST;
    w->class_count += w->classes[place] == 0;
    assert_true(w->class_count < CLASSES_MOST / 2);
    w->classes[place] = o.digest;
}

/* Returns to the last point at which another runner must be walked. */
static bool back(walk *w)
{
    for (size_t n = w->at; n > 0; n--) {
        step *s = &w->steps[n - 1];
        s->done |= 1U << s->runner;
        s->touches[s->runner] = s->touched;
        uint32_t left = s->todo & ~s->done & ~s->asleep;
        if (left == 0)
            continue;
        if (s->runner == s->turn)
            s->delays++;
        for (s->runner = 0; !has(left, s->runner);)
            s->runner++;
        w->known = n;
        return true;
    }
    return false;
}

/* Prepares the next run. Returns false if none is left. */
static bool another_run(walk *w)
{
    w->longest = w->at > w->longest ? w->at : w->longest;
    w->runs += !w->repeats;
    w->repeated += w->repeats;
    if (w->draws > 0)
        return w->runs < w->draws;
    learn(w);
    return back(w);
}

static void begin_run(walk *w, hawser_job *job)
{
    w->at = w->waits = w->current = 0;
    w->repeats = w->aborting = w->running = w->looks = w->mailed = false;
    w->random = hw_random_at(w->runs, 0, 0, 0);
    walking = w;
    hw_job_use_choices(job, (hw_chooser){go_on, w});
}

#endif
