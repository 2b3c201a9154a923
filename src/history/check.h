/*
 * check.h - does a history keep what docs/guarantees.md promises? Rules over records, written from the papers and not from the code that
 * they checker: nothing of exchange, store or consistency is used here.
 */
#ifndef HW_HISTORY_CHECK_H
#define HW_HISTORY_CHECK_H

#include <stdio.h>

#include "history/file.h"

typedef enum hw_rule {
    HW_RULE_RECORD,     /* the records are ones that a job makes */
    HW_RULE_ORDER,      /* clocks and parts of a block come one after the other */
    HW_RULE_DEFINITION, /* Goel et al. 2015, definition 3: an iteration reads before it writes */
    HW_RULE_READ,       /* its read constraint, with the delay in force (section 7) */
    HW_RULE_WRITE,      /* its write constraint, likewise */
    HW_RULE_BSP,        /* a clock begins on exactly the updates of all clocks before it, the same on every block */
    HW_RULE_DIFFERENCE, /* Ho et al. 2013: nobody is more than s clocks ahead; */
    HW_RULE_TIMESTAMPS, /* updates carry their clock and count in its order; */
    HW_RULE_VISIBLE,    /* all updates of clocks <= t - s - 1 are in when clock t begins; */
    HW_RULE_MINE,       /* and all own ones */
    HW_RULE_ONCE,       /* every update counts once where it should: none is lost, repeated or made up */
    HW_RULE_VALUE,      /* what is read is what was written */
    HW_RULE_HELD,       /* what a filter holds back goes out in time, and before a loop ends */
    HW_RULE_CREDIT,     /* nobody runs a clock that was not allowed */
    HW_RULE_WAIT,       /* nobody waits for others without a reason */
    HW_RULE_END,        /* all blocks end at the same clock, with everything in */
    HW_RULE_REDUCTION,  /* every block contributes once to each reduction, and all get the same result */
    HW_RULE_LOSS, /* nothing comes from a node once it is lost, and who is told that the store is lost asks it for nothing */
    HW_RULES
} hw_rule;

const char *hw_rule_name(hw_rule rule);
const char *hw_rule_text(hw_rule rule); /* what it says */

/* A record and where it stands. */
typedef struct hw_counterexample {
    hw_stream_name stream;
    size_t number;
    hw_event_record record;
} hw_counterexample;

enum { HW_COUNTEREXAMPLES = 4 };

typedef struct hw_verdict {
    uint64_t checked[HW_RULES]; /* how often each rule was applied */
    uint64_t streams, records;
    uint64_t unrecorded; /* what others saw of a lost node, and its own part no longer has */
    bool broken;
    hw_rule rule;
    char text[400];
    hw_counterexample counterexamples
        [HW_COUNTEREXAMPLES]; /* the shortest fragment found that breaks it, in the order that makes it a violation */
    size_t count;
} hw_verdict;

/* Judges a whole history (hw_history_whole). Of a job that failed every stream may end anywhere, and of a lost node it may lack what others know of:
 * that breaks nothing, everything else must hold. HAWSER_OK whatever the verdict; HAWSER_NO_MEMORY. */
hawser_status hw_history_check(const hw_history *history, hw_verdict *verdict, hawser_error *error) HAWSER_MUST_USE;
/* Prints it: what was verified and how often, or the rule, what is wrong, and the records. */
void hw_verdict_print(const hw_verdict *verdict, const hw_history *history, FILE *out);
/* One record of the fragment, in a line without its end. */
void hw_counterexample_print(const hw_counterexample *counterexample, const hw_history *history, FILE *out);

#endif
