/*
 * trap.c - a fault at entries that are not on this node leaves the unit that caused it.
 *
 * There are no globals, so the handler finds the unit by the alternate stack on which it runs: each thread has its own
 * during a unit, with the trap at its lowest address.
 */
#include "runtime/block/trap.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/messages.h"
#include "data/absent.h"
#include "data/residence.h"
#include "data/share/blocks.h"

#define MAGIC UINT64_C(0x6861777365726764)
enum { STACK = 1 << 16 };

struct hw_trap {
    uint64_t magic;
    const hawser_program *program;
    const hawser_state *state; /* after a fault */
    size_t column;             /* HW_TRAP_WHOLE: rows are held by block */
    sigjmp_buf back;
    unsigned char stack[STACK];
};

static bool is_guarded(const hw_session *session)
{
    if (!session->job->check || session->job->fibers) /* fibers share a thread, and so its alternate stack */
        return false;
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next)
        if (hw_state_residence(state) != NULL)
            return true;
    return false;
}

/* Returns the trap of the unit that this thread runs, or NULL. */
static hw_trap *trap_of_thread(void)
{
    stack_t own;
    if (sigaltstack(NULL, &own) != 0 || (own.ss_flags & SS_ONSTACK) == 0 || own.ss_size != sizeof(hw_trap))
        return NULL;
    hw_trap *trap = own.ss_sp;
    return trap->magic == MAGIC ? trap : NULL;
}

/* Async-signal-safe. Returns whether an address is that of entries that are not on this node. */
static bool finds_entry(const struct hawser_residence *residence, const void *address, size_t *column)
{
    *column = HW_TRAP_WHOLE;
    if (residence->rows != NULL)
        return hw_row_blocks_shadow(residence->rows, address);
    *column = hw_absent_find(&residence->whole, &residence->presence, address);
    return *column != SIZE_MAX;
}

/* Async-signal-safe. A fault that is not a trap's ends the process as without this handler, when the instruction is
 * repeated. */
static void take_fault(int number, siginfo_t *info, void *machine)
{
    static const char text[] =
        "hawser: memory that --check has made inaccessible was used outside of a unit, such as a column that is on "
        "another node (fetch it first, hawser_job_fetch) or the whole of data whose rows are held by block\n";
    (void)machine;
    hw_trap *trap = trap_of_thread();
    const hawser_state *state = trap != NULL && info->si_code == SEGV_ACCERR ? trap->program->states : NULL;
    for (; state != NULL; state = state->next) {
        if (hw_state_residence(state) == NULL || !finds_entry(hw_state_residence(state), info->si_addr, &trap->column))
            continue;
        trap->state = state;
        siglongjmp(trap->back, 1);
    }
    if (trap == NULL && info->si_code == SEGV_ACCERR)
        hw_print_fault(text, sizeof text - 1);
    (void)signal(number, SIG_DFL);
}

hawser_status hw_trap_session(const hw_session *session, hawser_error *error)
{
    struct sigaction action;
    if (!is_guarded(session))
        return HAWSER_OK;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = take_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    if (sigaction(SIGSEGV, &action, NULL) != 0)
        return hawser_fail(error, HAWSER_INTERNAL, "--check cannot handle faults: %s", strerror(errno));
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next)
        if (hw_state_residence(state) != NULL && hw_state_residence(state)->rows == NULL)
            hw_residence_guard(hw_state_residence(state));
    return HAWSER_OK;
}

hawser_status hw_trap_new(const hw_session *session, hw_trap **trap, hawser_error *error)
{
    *trap = NULL;
    if (!is_guarded(session))
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(trap, 1, "a block's trap", error));
    (*trap)->magic = MAGIC;
    (*trap)->program = session->program;
    return HAWSER_OK;
}

void hw_trap_free(hw_trap *trap)
{
    free(trap);
}

hawser_status hw_trap_call(hw_trap *trap, hawser_unit_function *function, hawser_context *context,
                           const hawser_state **state, size_t *column)
{
    stack_t own = {.ss_sp = trap, .ss_size = sizeof *trap}, before;
    *state = NULL;
    if (trap == NULL || sigaltstack(&own, &before) != 0)
        return function(context);
    volatile hawser_status status = HAWSER_BAD_PROGRAM;
    trap->state = NULL;
    if (sigsetjmp(trap->back, 1) == 0) {
        status = function(context);
    } else {
        *state = trap->state;
        *column = trap->column;
    }
    (void)sigaltstack(&before, NULL);
    return status;
}
