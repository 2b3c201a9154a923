/* sanitized.h - whether a sanitizer looks at memory or threads. It judges paths, each of which it has seen after a part of
 * what the other builds try of numbers and orders, and it takes several times as long. */
#ifndef HW_TESTS_SANITIZED_H
#define HW_TESTS_SANITIZED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZED 1
#elif defined(__has_feature)
#define THREAD_SANITIZED __has_feature(thread_sanitizer)
#else
#define THREAD_SANITIZED 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (THREAD_SANITIZED || __has_feature(address_sanitizer))
#else
#define SANITIZED THREAD_SANITIZED
#endif

/* Returns whether the longer forms of tests are asked for: script/test sets the variable to nothing in its short run. */
static inline bool runs_long(void)
{
    const char *asked = getenv("HAWSER_TEST_LONG");
    return asked != NULL && *asked != '\0';
}

/* How many of `count` random cases are tried. */
static inline uint64_t tried_of(uint64_t count)
{
    return SANITIZED ? count / 3 : count;
}

/* How many of `count` schedules of fibers are tried. One thread steps through them, so they have no races to find. */
static inline uint64_t schedules_of(uint64_t count)
{
    return THREAD_SANITIZED && count > 2 ? 2 : tried_of(count);
}

/* A function that uses NULL on purpose: a sanitizer of undefined behaviour would end the process before the signal comes. */
#define USES_NULL __attribute__((no_sanitize("undefined")))

#endif
