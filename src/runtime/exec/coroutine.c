#include "runtime/exec/coroutine.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define HW_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HW_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HW_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HW_TSAN 1
#endif
#endif
#ifdef HW_ASAN
#include <sanitizer/asan_interface.h>
#endif
#ifdef HW_TSAN
#include <sanitizer/tsan_interface.h>
#endif

hawser_status hw_coroutine_new(hw_coroutine *coroutine, size_t bytes, hawser_error *error)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    memset(coroutine, 0, sizeof *coroutine);
    char *memory =
        mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot map a stack of %zu bytes", bytes);
    if (mprotect(memory, page, PROT_NONE) != 0) {
        munmap(memory, bytes + page);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot protect the end of a stack");
    }
    coroutine->stack = memory + page;
    coroutine->bytes = bytes;
    return HAWSER_OK;
}

void hw_coroutine_free(hw_coroutine *coroutine)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (coroutine->stack != NULL) {
#ifdef HW_ASAN
        /* Its last function never returned, and what is mapped here next must not inherit the marks of that frame. */
        __asan_unpoison_memory_region(coroutine->stack, coroutine->bytes);
#endif
        munmap((char *)coroutine->stack - page, coroutine->bytes + page);
    }
    memset(coroutine, 0, sizeof *coroutine);
}

void hw_coroutine_home(hw_coroutine *home)
{
    memset(home, 0, sizeof *home);
#ifdef HW_TSAN
    home->race = __tsan_get_current_fiber();
#endif
}

/* makecontext passes ints only, so the pointer comes in two halves. */
static void coroutine_main(unsigned high, unsigned low)
{
    hw_coroutine *self = (hw_coroutine *)(uintptr_t)((uint64_t)high << 32 | low);
#ifdef HW_ASAN
    __sanitizer_finish_switch_fiber(NULL, &self->home->bottom, &self->home->height);
#endif
    self->body(self->argument);
    self->ended = true;
    hw_coroutine_switch(self, self->home);
}

bool hw_coroutine_begin(hw_coroutine *coroutine, hw_coroutine *home, void (*body)(void *argument), void *argument)
{
    uint64_t pointer = (uintptr_t)coroutine;
    if (getcontext(&coroutine->context) != 0)
        return false;
    coroutine->context.uc_stack.ss_sp = coroutine->stack;
    coroutine->context.uc_stack.ss_size = coroutine->bytes;
    makecontext(&coroutine->context, (void (*)(void))coroutine_main, 2, (unsigned)(pointer >> 32), (unsigned)pointer);
    coroutine->home = home;
    coroutine->body = body;
    coroutine->argument = argument;
    coroutine->ended = false;
    coroutine->bottom = coroutine->stack;
    coroutine->height = coroutine->bytes;
#ifdef HW_TSAN
    coroutine->race = __tsan_create_fiber(0);
#endif
    return true;
}

void hw_coroutine_end(hw_coroutine *coroutine)
{
#ifdef HW_TSAN
    if (coroutine->race != NULL)
        __tsan_destroy_fiber(coroutine->race);
#endif
    coroutine->race = NULL;
}

void hw_coroutine_switch(hw_coroutine *from, hw_coroutine *to)
{
#ifdef HW_ASAN
    __sanitizer_start_switch_fiber(from->ended ? NULL : &from->fake_stack, to->bottom, to->height);
#endif
#ifdef HW_TSAN
    __tsan_switch_to_fiber(to->race, 0);
#endif
    swapcontext(&from->context, &to->context);
#ifdef HW_ASAN
    const void *bottom;
    size_t height;
    __sanitizer_finish_switch_fiber(from->fake_stack, &bottom, &height);
#endif
}
