/* verdict.h - what the checker finds: the rules, how often each was applied, and the shortest records that break one. */
#ifndef HW_HISTORY_VERDICT_H
#define HW_HISTORY_VERDICT_H

#include <stdio.h>

#include "history/file.h"

typedef enum hw_rule {
    HW_RULE_RECORD,     /* the records are ones that a job can make */
    HW_RULE_ORDER,      /* clocks and parts of a block are consecutive */
    HW_RULE_DEFINITION, /* Goel et al. 2015, definition 3: an iteration reads before it writes */
    HW_RULE_READ,       /* its read constraint, with the delay in force (section 7) */
    HW_RULE_WRITE,      /* its write constraint, likewise */
    HW_RULE_BSP,        /* a clock begins on exactly the updates of all clocks before it, the same on every block */
    HW_RULE_DIFFERENCE, /* Ho et al. 2013: no worker is more than s clocks ahead; */
    HW_RULE_TIMESTAMPS, /* updates carry their clock and count in its order; */
    HW_RULE_VISIBLE,    /* all updates of clocks <= t - s - 1 are merged when clock t begins; */
    HW_RULE_MINE,       /* and all own updates */
    HW_RULE_ONCE,       /* every update counts once where it should: none is lost, repeated or made up */
    HW_RULE_REQUEST,    /* a request is done as it was made: table, keys, worker, clock, and clocks of the others */
    HW_RULE_VALUE,      /* a read returns what was written */
    HW_RULE_HELD,       /* what a filter holds back is sent in time, and before a loop ends */
    HW_RULE_CREDIT,     /* no block runs a clock without credit */
    HW_RULE_WAIT,       /* no block waits for others without a reason */
    HW_RULE_END,        /* all blocks end at the same clock, with all updates merged */
    HW_RULE_REDUCTION,  /* every block contributes once to each reduction, and all get the same result */
    HW_RULE_MOVING,     /* a part of a moving state has one block at a time, and the version that the one before has left */
    /* a node sends nothing after its loss, and a client that was notified of the store's loss sends no requests */
    HW_RULE_LOSS,
    HW_RULES
} hw_rule;

const char *hw_rule_name(hw_rule rule);

/* A record and its place in the history. */
typedef struct hw_counterexample {
    hw_stream_name stream;
    size_t number;
    hw_event_record record;
} hw_counterexample;

enum { HW_COUNTEREXAMPLES = 4 };

typedef struct hw_verdict {
    uint64_t checked[HW_RULES]; /* how often each rule was applied */
    uint64_t streams, records;
    uint64_t unrecorded; /* updates of a lost node that other nodes merged and its own part lacks */
    bool resumed;        /* the job went on from a checkpoint, and is judged from there */
    bool broken;
    hw_rule rule;
    char text[400];
    hw_counterexample counterexamples
        [HW_COUNTEREXAMPLES]; /* the shortest fragment found that breaks the rule, in the order that makes it a violation */
    size_t count;
} hw_verdict;

/* Prints a verdict: what was verified and how often, or the rule, what is wrong, and the records. */
void hw_verdict_print(const hw_verdict *verdict, const hw_history *history, FILE *out);
/* Prints one record of a counterexample on a line, without the newline. */
void hw_counterexample_print(const hw_counterexample *counterexample, const hw_history *history, FILE *out);

#endif
