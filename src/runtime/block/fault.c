/* There are no globals, so the handler finds the block by the alternate stack on which it runs: the stack begins with its
 * description. */
#include "runtime/block/fault.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/messages.h"

#define MAGIC UINT64_C(0x6861777365726661)
enum { STACK = 1 << 16 };
static const int numbers[HW_FAULTS] = {SIGSEGV, SIGBUS};

struct hw_fault_stack {
    uint64_t magic;
    const hw_call_place *place;
    const hawser_error *refused;
    unsigned char stack[STACK];
};

typedef struct line {
    char text[1024];
    size_t length;
} line;

/* The three are async-signal-safe. */
static void add_text(line *to, const char *text)
{
    for (; *text != 0 && to->length < sizeof to->text; text++)
        to->text[to->length++] = *text;
}

static void add_number(line *to, uint64_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = 0;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    add_text(to, digits + at);
}

static void say(const hw_call_place *place, const hawser_error *refused, uint64_t address)
{
    line to = {.length = 0};
    const char *kind = atomic_load_explicit(&place->kind, memory_order_relaxed);
    const char *name = atomic_load_explicit(&place->name, memory_order_relaxed);
    if (kind == NULL || name == NULL)
        return;
    add_text(&to, "hawser: ");
    add_text(&to, kind);
    add_text(&to, " '");
    add_text(&to, name);
    add_text(&to, "', block ");
    add_number(&to, place->block, 10);
    if (refused->status != HAWSER_OK && address < 4096) { /* the unit uses the pointer that it did not get */
        add_text(&to, ": a use of NULL, after ");
        add_text(&to, refused->text);
        add_text(&to, "\n");
        hw_print_fault(to.text, to.length);
        return;
    }
    add_text(&to, ": memory at address 0x");
    add_number(&to, address, 16);
    add_text(&to, address < 4096
                      ? ", a use of NULL. Check what calls return: hawser_dataset_target of a load by row is NULL "
                        "(units have hawser_data_beside)\n"
                      : ", which does not belong to the process or may not be changed, was used\n");
    hw_print_fault(to.text, to.length);
}

/* The instruction is repeated without this handler and ends the process. A signal that another process has sent is raised
 * again. */
static void take_fault(int number, siginfo_t *info, void *machine)
{
    stack_t own;
    (void)machine;
    if (info->si_code > 0 && sigaltstack(NULL, &own) == 0 && (own.ss_flags & SS_ONSTACK) != 0 &&
        own.ss_size == sizeof(hw_fault_stack)) {
        const hw_fault_stack *stack = own.ss_sp;
        if (stack->magic == MAGIC)
            say(stack->place, stack->refused, (uint64_t)(uintptr_t)info->si_addr);
    }
    (void)signal(number, SIG_DFL);
    if (info->si_code <= 0)
        (void)raise(number);
}

void hw_faults_take(hw_faults *faults)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = take_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (size_t i = 0; i < HW_FAULTS; i++) {
        struct sigaction *before = &faults->before[i];
        faults->handled[i] = sigaction(numbers[i], NULL, before) == 0 && (before->sa_flags & SA_SIGINFO) == 0 &&
                             before->sa_handler == SIG_DFL && sigaction(numbers[i], &action, NULL) == 0;
    }
}

void hw_faults_release(const hw_faults *faults)
{
    for (size_t i = 0; i < HW_FAULTS; i++) {
        struct sigaction now;
        if (faults->handled[i] && sigaction(numbers[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
            now.sa_sigaction == take_fault)
            (void)sigaction(numbers[i], &faults->before[i], NULL);
    }
}

hawser_status hw_fault_stack_new(const hw_call_place *place, const hawser_error *refused, hw_fault_stack **out,
                                 hawser_error *error)
{
    stack_t now;
    *out = NULL;
    if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0)
        return HAWSER_OK;
    /* its pages stay untouched until a fault */
    hw_fault_stack *stack = mmap(NULL, sizeof *stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate %zu bytes for the report of a fault; free memory",
                           sizeof *stack);
    stack->magic = MAGIC;
    stack->place = place;
    stack->refused = refused;
    stack_t own = {.ss_sp = stack, .ss_size = sizeof *stack};
    if (sigaltstack(&own, NULL) == 0)
        *out = stack;
    else
        (void)munmap(stack, sizeof *stack);
    return HAWSER_OK;
}

void hw_fault_stack_free(hw_fault_stack *stack)
{
    stack_t now, none = {.ss_flags = SS_DISABLE};
    if (stack == NULL)
        return;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == stack)
        (void)sigaltstack(&none, NULL);
    (void)munmap(stack, sizeof *stack);
}
