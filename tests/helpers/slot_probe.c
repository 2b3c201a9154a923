/* slot_probe.c - a sender that is stopped or killed within the write of a slot, for tests on processes: `slot_probe stop
 * PAGE ROUNDS` or `slot_probe kill PAGE 0`, on two nodes of one host. A page of the array that node 0 scatters faults when
 * it is first read, and the handler of the fault stops or kills the process. Node 1 finds the slot half-written, and must
 * not take it. */
#include <hawser/hawser.h>
#include <hawser/vector.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/vector/vector.h"

enum { PAGE = 4096, PAGES = 8, COUNT = PAGES * PAGE / sizeof(float), LOST = 8, END = 3 /* the round of a kill */ };

static char *fence; /* the page that faults */
static int halt;    /* the signal */

#define SEE(condition)                                                                                                      \
    do {                                                                                                                    \
        if (!(condition))                                                                                                   \
            return hawser_fail(error, HAWSER_INTERNAL, "line %d, round %d: %s", __LINE__, (int)t, #condition);              \
    } while (0)

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if ((char *)info->si_addr < fence || (char *)info->si_addr >= fence + PAGE) {
        (void)signal(number, SIG_DFL);
        return;
    }
    (void)raise(halt);
    if (mprotect(fence, PAGE, PROT_READ | PROT_WRITE) != 0)
        _exit(1);
}

static void fill(float *array, float number)
{
    for (size_t i = 0; i < COUNT; i++)
        array[i] = number;
}

static bool is_all(const float *array, float number)
{
    for (size_t i = 0; i < COUNT; i++)
        if (array[i] != number)
            return false;
    return true;
}

static hawser_status scatter(hawser_vector *vector, float *array, uint64_t t, bool faults, hawser_error *error)
{
    if (faults)
        SEE(mprotect(fence, PAGE, PROT_NONE) == 0);
    return hawser_vector_scatter(vector, &(hawser_scatter){.iteration = t, .values = array}, error);
}

/* Returns whether a slot of node 0 has a number in its first page, and another one from the fence on. A copy may write the
 * first and the last bytes at its end. */
static bool is_half(const hawser_vector *vector, const float *array, float number)
{
    const hw_mapping *in = &vector->slots.in[0];
    size_t after = (size_t)(fence - (const char *)array) / sizeof *array;
    for (size_t at = PAGE; at + PAGES * (size_t)PAGE <= in->size; at += PAGES * (size_t)PAGE) {
        const float *slot = (const float *)(const void *)(in->data + at);
        if (slot[PAGE / sizeof *slot / 2] == number)
            return slot[after] != number;
    }
    return false;
}

/* Waits until a process is stopped. Returns false if it has ended. */
static bool await_stop(pid_t process)
{
    char path[64], text[256];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    for (;;) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : -1;
        if (file >= 0)
            close(file);
        if (length <= 0)
            return false;
        text[length] = '\0';
        const char *state = strrchr(text, ')');
        if (state == NULL || strchr("ZX", state[2]) != NULL)
            return false;
        if (state[2] == 'T')
            return true;
        (void)sched_yield();
    }
}

static hawser_status take(hawser_vector *vector, float *array, uint64_t t, hawser_error *error)
{
    fill(array, -1);
    return hawser_vector_gather(vector, t, HAWSER_GATHER_REPLACE, NULL, array, error);
}

/* Under tap a gather finds nothing while the sender is stopped, and the whole item later. A scatter waits for the gather of
 * the one before, so that none is unsent when the next one stops. */
static hawser_status watch_stops(hawser_vector *vector, float *array, uint64_t rounds, hawser_error *error)
{
    uint64_t t = 0;
    HAWSER_TRY(take(vector, array, 0, error));
    pid_t sender = (pid_t)array[0];
    SEE(sender > 1 && is_all(array, (float)sender));
    for (t = 1; t <= rounds; t++) {
        SEE(await_stop(sender) && is_half(vector, array, (float)t));
        hawser_status status = take(vector, array, 0, error);
        bool none = is_all(array, -1);
        SEE(kill(sender, SIGCONT) == 0);
        HAWSER_TRY(status);
        SEE(none);
        while (is_all(array, -1)) {
            HAWSER_TRY(take(vector, array, 0, error));
            (void)sched_yield();
        }
        SEE(is_all(array, (float)t));
    }
    return HAWSER_OK;
}

static hawser_status stop(hawser_vector *vector, uint32_t node, float *array, uint64_t rounds, hawser_error *error)
{
    fill(array, (float)getpid());
    HAWSER_TRY(scatter(vector, array, 0, false, error));
    HAWSER_TRY(hawser_vector_barrier(vector, error));
    for (uint64_t t = 1; node == 0 && t <= rounds; t++) {
        fill(array, (float)t);
        HAWSER_TRY(scatter(vector, array, t, true, error));
    }
    if (node == 1)
        HAWSER_TRY(watch_stops(vector, array, rounds, error));
    return hawser_vector_finish(vector, array, error);
}

/* Under bsp: the gather of the item that is never whole ends by the name of its sender. */
static hawser_status end(hawser_vector *vector, uint32_t node, float *array, hawser_error *error)
{
    for (uint64_t t = 1; t <= END; t++) {
        fill(array, (float)t);
        HAWSER_TRY(scatter(vector, array, t, node == 0 && t == END, error));
        hawser_status status = take(vector, array, t, error);
        if (t < END) {
            HAWSER_TRY(status);
            SEE(is_all(array, (float)t));
            continue;
        }
        SEE(status == HAWSER_PEER_LOST && is_all(array, -1) && is_half(vector, array, (float)t));
        return status;
    }
    return HAWSER_OK;
}

static hawser_status run(hawser_job *job, hawser_vector **vector, char **words, hawser_error *error)
{
    bool stops = strcmp(words[1], "stop") == 0;
    const hawser_vector_options options = {
        .name = "w", .type = HAWSER_F32, .count = COUNT, .sync = stops ? "tap" : "bsp", .any_number = true, .waits = stops};
    void *array = mmap(NULL, PAGES * (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    size_t page = strtoul(words[2], NULL, 10);
    if (array == MAP_FAILED || page == 0 || page >= PAGES - 1 || sigaction(SIGSEGV, &action, NULL) != 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a page from 1 to %d", PAGES - 2);
    fence = (char *)array + page * PAGE;
    halt = stops ? SIGSTOP : SIGKILL;
    HAWSER_TRY(hawser_vector_open(job, &options, vector, error));
    for (int i = 0; i < 2; i++) /* the answer to an offer comes before what a node sends in its second barrier */
        HAWSER_TRY(hawser_vector_barrier(*vector, error));
    return stops ? stop(*vector, hawser_job_node(job), array, strtoull(words[3], NULL, 10), error)
                 : end(*vector, hawser_job_node(job), array, error);
}

int main(int argc, char **argv)
{
    hawser_error error = {0};
    hawser_job *job = NULL;
    hawser_vector *vector = NULL;
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_OK && argc != 4)
        status = hawser_fail(&error, HAWSER_BAD_ARGUMENT, "usage: slot_probe stop|kill PAGE ROUNDS");
    if (status == HAWSER_OK)
        status = run(job, &vector, argv, &error);
    hawser_vector_close(vector);
    hawser_close(job);
    if (status != HAWSER_OK)
        fprintf(stderr, "%s\n", error.text);
    return status == HAWSER_OK ? 0 : status == HAWSER_PEER_LOST ? LOST : 1;
}
