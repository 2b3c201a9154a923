/*
 * trap.h - under --check: a unit that reads a column of another node by a pointer, or the whole of data whose rows are held
 * by block, fails there, with the names of unit and state.
 */
#ifndef HW_RUNTIME_BLOCK_TRAP_H
#define HW_RUNTIME_BLOCK_TRAP_H

#include "runtime/session/session.h"

typedef struct hw_trap hw_trap;

/* In place of a column: the whole of data whose rows are held by block. */
#define HW_TRAP_WHOLE SIZE_MAX

/* Makes the columns that a node lacks inaccessible in all data states of the program, if the job checks. */
hawser_status hw_trap_session(const hw_session *session, hawser_error *error) HAWSER_MUST_USE;
/* Makes a block's trap; *trap is NULL if nothing is guarded. The caller frees it. */
hawser_status hw_trap_new(const hw_session *session, hw_trap **trap, hawser_error *error) HAWSER_MUST_USE;
void hw_trap_free(hw_trap *trap);
/* Calls a unit. If it reads guarded entries, it is left at once, *state and *column say which one, and the result is
 * HAWSER_BAD_PROGRAM; else *state is NULL. A unit that is left so cannot free what it has allocated. */
hawser_status hw_trap_call(hw_trap *trap, hawser_unit_function *function, hawser_context *context,
                           const hawser_state **state, size_t *column) HAWSER_MUST_USE;

#endif
