#include "sim/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/random.h"
#include "runtime/exec/coroutine.h"

enum {
    STACKS = 64,         /* in one mapping */
    LOOKS = 64,          /* reads of a clock before time passes */
    LOOK_TIME = 10000,   /* the time that passes then */
    STEPS = 64,          /* of so many steps in a drawn world, one is a pause, */
    SWITCHES = 12,       /* and so many let another thread run */
    PAUSE_MOST = 400000, /* longest pause */
    LISTENERS = 4,       /* of changes of processes */
    MEMORY_TURNS = 1024  /* turns of threads between two looks at the memory of the process */
};
/* Stacks are side by side: a page without access between them would need a mapping for each. This word is at the end. */
#define GUARD UINT64_C(0x5afe5afe5afe5afe)
static const size_t STACK_BYTES = (size_t)1 << 20;

struct sim_thread {
    hw_coroutine coroutine;
    sim_process *process;
    uint64_t number;
    void *(*body)(void *argument);
    void *argument, *result;
    sim_thread *next; /* in the list in which it waits */
    sim_list *list;
    sim_list joiners;
    size_t timer; /* 1 + the place of its deadline among the events; 0: it has none */
    bool waits, timed_out, ended;
    uint32_t looks;
    sim_facts facts;
};

typedef struct sim_event {
    uint64_t time, order;
    void (*fire)(void *argument, uint64_t value);
    void *argument;
    uint64_t value;
} sim_event;

typedef struct sim_world {
    uint64_t now, order, events, turns, memory; /* memory: most bytes of the process; 0: no limit */
    bool drawn;
    sim_chooser chooser;
    hw_random random;
    sim_event *heap;
    size_t heap_count, heap_capacity;
    sim_thread **ready; /* a ring */
    size_t ready_first, ready_count, ready_capacity;
    sim_thread **threads; /* by number - 1 */
    size_t thread_count, thread_capacity;
    sim_process *processes;
    uint32_t process_count, process_capacity, running;
    void **stacks; /* that no thread has */
    size_t stack_count, stack_capacity;
    void **mappings;
    size_t mapping_count, mapping_capacity;
    hw_coroutine home;
    sim_thread *self;
    void (*changed[LISTENERS])(sim_process *process);
    size_t listeners;
} sim_world;

static sim_world *world;

/* The simulator has no way to go on without memory, and nothing to save. */
static void *sound(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "hawser-sim: there is no memory for the simulated cluster\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static void *grown(void *memory, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return memory;
    *capacity = needed < 64 ? 64 : 2 * needed;
    return sound(realloc(memory, *capacity * size));
}

/* -------------------------------------------------------------------------------------------------------- events ---- */

static bool before(const sim_event *a, const sim_event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void time_out(void *argument, uint64_t unused)
{
    sim_thread *thread = argument;
    (void)unused;
    thread->timed_out = true;
    sim_wake(thread);
}

/* Puts an event at a place of the heap. A thread knows where its deadline is. */
static void put(size_t at, const sim_event *event)
{
    world->heap[at] = *event;
    if (event->fire == time_out)
        ((sim_thread *)event->argument)->timer = at + 1;
}

static void rise(size_t at, const sim_event *event)
{
    for (; at > 0 && before(event, &world->heap[(at - 1) / 2]); at = (at - 1) / 2)
        put(at, &world->heap[(at - 1) / 2]);
    put(at, event);
}

static void sink(size_t at, const sim_event *event)
{
    for (size_t child; (child = 2 * at + 1) < world->heap_count; at = child) {
        child += child + 1 < world->heap_count && before(&world->heap[child + 1], &world->heap[child]);
        if (!before(&world->heap[child], event))
            break;
        put(at, &world->heap[child]);
    }
    put(at, event);
}

void sim_at(uint64_t time, void (*fire)(void *argument, uint64_t value), void *argument, uint64_t value)
{
    const sim_event event = {time < world->now ? world->now : time, world->order++, fire, argument, value};
    world->heap = grown(world->heap, &world->heap_capacity, world->heap_count + 1, sizeof *world->heap);
    rise(world->heap_count++, &event);
}

/* Takes the event out that has a place. */
static sim_event take_event(size_t at)
{
    sim_event event = world->heap[at], last = world->heap[--world->heap_count];
    if (event.fire == time_out)
        ((sim_thread *)event.argument)->timer = 0;
    if (at == world->heap_count)
        return event;
    if (at > 0 && before(&last, &world->heap[(at - 1) / 2]))
        rise(at, &last);
    else
        sink(at, &last);
    return event;
}

/* ------------------------------------------------------------------------------------------------------- threads ---- */

static void append(sim_list *list, sim_thread *thread)
{
    thread->next = NULL;
    if (list->first == NULL)
        list->first = thread;
    else
        list->last->next = thread;
    list->last = thread;
    thread->list = list;
}

static void take_out(sim_thread *thread)
{
    sim_list *list = thread->list;
    sim_thread *previous = NULL;
    for (sim_thread *at = list->first; at != thread; at = at->next)
        previous = at;
    *(previous == NULL ? &list->first : &previous->next) = thread->next;
    if (list->last == thread)
        list->last = previous;
    thread->list = NULL;
}

static void make_ready(sim_thread *thread)
{
    if (world->ready_count == world->ready_capacity) {
        size_t capacity = world->ready_capacity == 0 ? 64 : 2 * world->ready_capacity;
        sim_thread **ring = sound(malloc(capacity * sizeof *ring));
        for (size_t i = 0; i < world->ready_count; i++)
            ring[i] = world->ready[(world->ready_first + i) % world->ready_capacity];
        free(world->ready);
        world->ready = ring;
        world->ready_first = 0;
        world->ready_capacity = capacity;
    }
    world->ready[(world->ready_first + world->ready_count++) % world->ready_capacity] = thread;
}

static sim_thread *next_ready(void)
{
    size_t first = world->ready_first, capacity = world->ready_capacity;
    size_t next = world->drawn ? sim_below(world->ready_count) : sim_choose(SIM_CHOICE_NEXT, (uint32_t)world->ready_count);
    size_t at = (first + next) % capacity;
    sim_thread *thread = world->ready[at];
    world->ready[at] = world->ready[first];
    world->ready_first = (first + 1) % capacity;
    world->ready_count--;
    return thread;
}

static void *new_stack(void)
{
    if (world->stack_count == 0) {
        char *memory = mmap(NULL, STACKS * STACK_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        sound(memory == MAP_FAILED ? NULL : memory);
        world->mappings =
            grown(world->mappings, &world->mapping_capacity, world->mapping_count + 1, sizeof *world->mappings);
        world->mappings[world->mapping_count++] = memory;
        world->stacks = grown(world->stacks, &world->stack_capacity, STACKS, sizeof *world->stacks);
        for (size_t i = 0; i < STACKS; i++)
            world->stacks[world->stack_count++] = memory + i * STACK_BYTES;
    }
    return world->stacks[--world->stack_count];
}

static void thread_main(void *argument)
{
    sim_thread *thread = argument;
    errno = 0;
    thread->result = thread->body(thread->argument);
}

sim_thread *sim_thread_start(sim_process *process, void *(*body)(void *argument), void *argument)
{
    sim_thread *thread = sound(calloc(1, sizeof *thread));
    thread->process = process;
    thread->body = body;
    thread->argument = argument;
    thread->coroutine.stack = new_stack();
    thread->coroutine.bytes = STACK_BYTES;
    memcpy(thread->coroutine.stack, &(uint64_t){GUARD}, sizeof(uint64_t));
    world->threads = grown(world->threads, &world->thread_capacity, world->thread_count + 1, sizeof *world->threads);
    world->threads[world->thread_count++] = thread;
    thread->number = world->thread_count;
    if (!hw_coroutine_begin(&thread->coroutine, &world->home, thread_main, thread))
        return sound(NULL);
    make_ready(thread);
    return thread;
}

/* Goes on with the world, and returns when it is this thread's turn again. */
static void leave(sim_thread *self)
{
    int kept = errno;
    hw_coroutine_switch(&self->coroutine, &world->home);
    errno = kept;
}

bool sim_wait(sim_list *list, uint64_t deadline)
{
    sim_thread *self = world->self;
    self->waits = true;
    self->timed_out = false;
    self->looks = 0;
    if (list != NULL)
        append(list, self);
    /* A wait takes time: a loop until a time between two nanoseconds would never reach it. */
    if (deadline != SIM_NEVER)
        sim_at(deadline > world->now ? deadline : world->now + 1, time_out, self, 0);
    leave(self);
    return !self->timed_out;
}

void sim_wake(sim_thread *thread)
{
    if (!thread->waits)
        return;
    if (thread->list != NULL)
        take_out(thread);
    if (thread->timer > 0) /* large worlds would have millions of deadlines that nothing waits for */
        (void)take_event(thread->timer - 1);
    thread->waits = false;
    make_ready(thread);
}

void sim_wake_first(sim_list *list)
{
    if (list->first != NULL)
        sim_wake(list->first);
}

void sim_wake_all(sim_list *list)
{
    while (list->first != NULL)
        sim_wake(list->first);
}

static void yield(void)
{
    make_ready(world->self);
    leave(world->self);
}

void sim_step(void)
{
    if (world == NULL || world->self == NULL)
        return;
    if (!world->drawn) {
        if (world->ready_count > 0 && sim_choose(SIM_CHOICE_SWITCH, 2) == 1)
            yield();
        else if (sim_choose(SIM_CHOICE_PAUSE, 2) == 1)
            (void)sim_wait(NULL, world->now + PAUSE_MOST);
        return;
    }
    uint64_t drawn = sim_below(STEPS);
    if (drawn == 0)
        (void)sim_wait(NULL, world->now + 1 + sim_below(PAUSE_MOST));
    else if (drawn <= SWITCHES && world->ready_count > 0)
        yield();
}

void sim_look(void)
{
    sim_thread *self = world->self;
    if (++self->looks < LOOKS)
        sim_step();
    else
        (void)sim_wait(NULL, world->now + LOOK_TIME);
}

void sim_spend(double seconds)
{
    if (world->self == NULL || !(seconds > 0))
        return;
    world->self->facts.cpu += seconds;
    (void)sim_wait(NULL, world->now + (uint64_t)(seconds * 1e9));
}

sim_thread *sim_self(void)
{
    return world == NULL ? NULL : world->self;
}

sim_process *sim_own(void)
{
    return world == NULL || world->self == NULL ? NULL : world->self->process;
}

uint64_t sim_thread_number(const sim_thread *thread)
{
    return thread->number;
}

sim_thread *sim_thread_at(uint64_t number)
{
    return number == 0 || number > world->thread_count ? NULL : world->threads[number - 1];
}

bool sim_thread_ended(const sim_thread *thread, void **result)
{
    if (thread->ended && result != NULL)
        *result = thread->result;
    return thread->ended;
}

sim_list *sim_thread_joiners(sim_thread *thread)
{
    return &thread->joiners;
}

sim_facts *sim_thread_facts(sim_thread *thread)
{
    return &thread->facts;
}

/* ----------------------------------------------------------------------------------------------------- processes ---- */

static void change(sim_process *process, sim_state state)
{
    process->state = state;
    process->since = world->now;
    if (state == SIM_ENDED || state == SIM_KILLED)
        world->running--;
    for (size_t i = 0; i < world->listeners; i++)
        world->changed[i](process);
}

static void *process_main(void *argument)
{
    sim_process *process = argument;
    process->code = process->main(process->argument);
    change(process, SIM_ENDED);
    return NULL;
}

sim_process *sim_add(uint32_t host, int (*main)(void *argument), void *argument)
{
    if (world->process_count == world->process_capacity)
        return sound(NULL);
    sim_process *process = &world->processes[world->process_count];
    *process = (sim_process){.number = world->process_count++,
                             .host = host,
                             .state = SIM_NEW,
                             .main = main,
                             .argument = argument,
                             .since = world->now};
    world->running++;
    return process;
}

void sim_begin(sim_process *process)
{
    if (process->state != SIM_NEW)
        return;
    change(process, SIM_RUNNING);
    (void)sim_thread_start(process, process_main, process);
}

sim_process *sim_start(uint32_t host, int (*main)(void *argument), void *argument)
{
    sim_process *process = sim_add(host, main, argument);
    sim_begin(process);
    return process;
}

static bool has_ended(const sim_process *process)
{
    return process->state == SIM_ENDED || process->state == SIM_KILLED;
}

void sim_kill(sim_process *process)
{
    if (!has_ended(process))
        change(process, SIM_KILLED);
}

void sim_signal(sim_process *process, int number)
{
    const uint64_t bit = UINT64_C(1) << (number - 1);
    for (size_t i = 0; i < world->thread_count; i++) {
        sim_thread *thread = world->threads[i];
        if (thread->ended || thread->process != process || (thread->facts.awaited & bit) == 0)
            continue;
        thread->facts.signals |= bit;
        if (thread->facts.sigwaits)
            sim_wake(thread);
        return;
    }
    sim_kill(process);
}

void sim_stop(sim_process *process)
{
    if (process->state == SIM_RUNNING)
        change(process, SIM_STOPPED);
}

void sim_continue(sim_process *process)
{
    if (process->state != SIM_STOPPED)
        return;
    process->paused = world->now - process->since;
    change(process, SIM_RUNNING);
    for (sim_thread *thread; (thread = process->held.first) != NULL;) {
        take_out(thread);
        make_ready(thread);
    }
}

void sim_on_change(void (*changed)(sim_process *process))
{
    if (world->listeners == LISTENERS)
        abort();
    world->changed[world->listeners++] = changed;
}

_Noreturn void sim_exit(int code)
{
    sim_thread *self = world->self;
    self->process->code = code;
    change(self->process, SIM_ENDED);
    hw_coroutine_switch(&self->coroutine, &world->home);
    abort(); /* no thread of a process that has ended runs again */
}

uint32_t sim_process_count(void)
{
    return world->process_count;
}

sim_process *sim_process_at(uint32_t number)
{
    return &world->processes[number];
}

/* --------------------------------------------------------------------------------------------------------- world ---- */

void sim_open(uint64_t seed, uint32_t processes)
{
    world = sound(calloc(1, sizeof *world));
    world->now = SIM_FIRST;
    world->drawn = seed != 0;
    world->random = hw_random_at(seed, 0, 0, 0);
    world->process_capacity = processes;
    world->processes = sound(calloc(processes, sizeof *world->processes));
    hw_coroutine_home(&world->home);
}

static void end_thread(sim_thread *thread)
{
    thread->ended = true;
    hw_coroutine_end(&thread->coroutine);
    world->stacks = grown(world->stacks, &world->stack_capacity, world->stack_count + 1, sizeof *world->stacks);
    world->stacks[world->stack_count++] = thread->coroutine.stack;
    sim_wake_all(&thread->joiners);
}

static void (*turn)(const sim_process *process); /* stays from world to world */

void sim_on_turn(void (*called)(const sim_process *process))
{
    turn = called;
}

static void run_thread(sim_thread *thread)
{
    uint64_t guard;
    if (has_ended(thread->process))
        return;
    if (thread->process->state == SIM_STOPPED) {
        append(&thread->process->held, thread);
        return;
    }
    if (turn != NULL)
        turn(thread->process);
    world->self = thread;
    hw_coroutine_switch(&world->home, &thread->coroutine);
    world->self = NULL;
    memcpy(&guard, thread->coroutine.stack, sizeof guard);
    if (guard != GUARD) {
        fprintf(stderr, "hawser-sim: a thread of process %u used more than %zu KiB of stack\n", thread->process->number,
                STACK_BYTES >> 10);
        abort();
    }
    if (thread->coroutine.ended)
        end_thread(thread);
}

void sim_choose_by(sim_chooser chooser)
{
    world->chooser = chooser;
}

uint32_t sim_choose(sim_choice what, uint32_t count)
{
    const sim_chooser *by = &world->chooser;
    return by->choose != NULL && count > 1 ? by->choose(by->argument, what, count) : 0;
}

void sim_limit_memory(uint64_t bytes)
{
    world->memory = bytes;
}

/* Returns the bytes that this process has in memory now; 0: unknown. */
static uint64_t resident(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    if (file != NULL)
        (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool is_full(void)
{
    return world->memory > 0 && world->turns++ % MEMORY_TURNS == 0 && resident() > world->memory;
}

sim_end sim_run(uint64_t limit)
{
    while (world->running > 0) {
        if (is_full())
            return SIM_FULL;
        if (world->ready_count > 0) {
            run_thread(next_ready());
            continue;
        }
        if (world->heap_count == 0)
            return SIM_STUCK;
        sim_event event = take_event(0);
        if (event.time > limit)
            return SIM_LATE;
        world->now = event.time;
        world->events++;
        event.fire(event.argument, event.value);
    }
    return SIM_DONE;
}

void sim_close(void)
{
    for (size_t i = 0; i < world->thread_count; i++) {
        if (!world->threads[i]->ended)
            hw_coroutine_end(&world->threads[i]->coroutine);
        free(world->threads[i]);
    }
    for (size_t i = 0; i < world->mapping_count; i++)
        munmap(world->mappings[i], STACKS * STACK_BYTES);
    free(world->threads);
    free(world->mappings);
    free(world->stacks);
    free(world->ready);
    free(world->heap);
    free(world->processes);
    free(world);
    world = NULL;
}

bool sim_is_open(void)
{
    return world != NULL;
}

uint64_t sim_now(void)
{
    return world->now;
}

double sim_seconds(void)
{
    return 1e-9 * (double)world->now;
}

uint64_t sim_events(void)
{
    return world->events;
}

bool sim_is_drawn(void)
{
    return world->drawn;
}

uint64_t sim_below(uint64_t bound)
{
    return hw_random_below(&world->random, bound);
}
