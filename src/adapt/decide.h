/*
 * decide.h - decides from feedback what changes of a loop while it runs, one setting at a time. Pure.
 *
 * hw_decider_window takes what blocks waited for in a window of clocks. hw_decider_point takes the metric of the program at
 * a BSP point, where all blocks have the same values. Both may ask for changes, which hw_decider_next gives one by one.
 *
 * Encoding and quota change at once, and are undone if clocks do not get shorter. Work, staleness, gain and shares are
 * tried between BSP points: old, new, old. The new value is kept if progress per second was larger than with the old one
 * both times. If it was plainly larger after the first two, the third is left out. The guard undoes a change if the metric
 * rises, and bars its setting; the states of the program return to a point that was kept before. After three changes that
 * were undone the settings of the start hold for the rest of the run.
 */
#ifndef HW_ADAPT_DECIDE_H
#define HW_ADAPT_DECIDE_H

#include "adapt/cause.h"

/* What may change. Values are numbers: of an encoding 0 (exact), 1 (bf16) or 2 (int8), of a sync its staleness, of a quota
 * bytes; work, gain and share are factors. */
typedef enum hw_knob {
    HW_KNOB_ENCODING,
    HW_KNOB_QUOTA,
    HW_KNOB_WORK,
    HW_KNOB_SYNC,
    HW_KNOB_GAIN,
    HW_KNOB_SHARE, /* of one block */
    HW_KNOBS,
    HW_KNOB_POINT = HW_KNOBS /* no setting: the states of the program are kept (0) or return to what was kept (1) */
} hw_knob;

enum { HW_REASON = 160 };

#define HW_SHORTER       1.1 /* times that clocks get shorter by another encoding or quota, and progress per second larger */
#define HW_PLAINLY       1.5 /* times that progress per second is larger: a trial is kept without the old value again */
#define HW_FALLS_BEHIND  1.5 /* times that progress per clock is smaller: a change is undone */
#define HW_STEADY        1.5 /* times that progress per clock rises at most where it is steady, */
#define HW_STEADILY      2.5 /* and falls: what it would have done lies between two old windows then */
#define HW_MOSTLY        0.5 /* of the time that blocks wait, from which the narrowest encoding is the first one */
#define HW_MOVED         1.5 /* times that clocks change their length in two windows by themselves: trials wait no longer */
#define HW_LOST_SHARE    0.05 /* of all clocks, which lost trials take at most after the first one */
#define HW_UNITS_OVERLAP 0.3  /* of a clock that units take, for sending to overlap with them: s = 1 */
#define HW_EXCHANGE_IDLE 0.1  /* of a clock that the exchange takes, below which blocks may exchange more often */
enum { HW_UNDONE_MOST = 3 };

/* The value of each knob at the start, and its bounds. A knob with equal bounds stays as it is. */
typedef struct hw_bounds {
    double start[HW_KNOBS], least[HW_KNOBS], most[HW_KNOBS];
    bool measured; /* there is a metric; else only encoding and quota change */
    bool is_gap;   /* it falls to 0, so progress is the fall of its logarithm */
    bool returns;  /* states can be kept and taken back */
    bool often;    /* it is measured in every window, so trials wait until progress per clock is steady */
} hw_bounds;

/* A window. Shares are of the time of the median block. */
typedef struct hw_feedback {
    hw_finding found;
    double units, exchanging;
    double sent;        /* bytes of a block's update, as a mean over clocks */
    const double *pace; /* by block: seconds of its units per work, by those of the median block; NULL: unknown */
} hw_feedback;

/* A value of a knob. */
typedef struct hw_setting {
    hw_knob knob; /* HW_KNOBS: there is none */
    uint32_t block;
    double to;
} hw_setting;

/* A setting that would have been tried for a cause, had the run been long enough. */
typedef struct hw_untried {
    uint32_t windows; /* that had this cause since a setting changed */
    hw_setting setting;
    char why[HW_REASON / 2];
} hw_untried;

/* A trial across runs: one run with the old value, the next one with the new value, each up to its end by its own test. */
typedef struct hw_across_trial {
    hw_setting setting; /* knob HW_KNOBS: there was none */
    double from;
    double before, after; /* seconds of the runs */
    bool kept;
} hw_across_trial;

/* What runs of one program on the same data, with the same options, leave for each other. */
typedef struct hw_across {
    double seconds;  /* that a run with these settings takes to its end by its own test; 0: unknown */
    double progress; /* per clock of work 1 under bsp; 0: unknown */
    hw_untried next; /* what the next run tries */
    hw_across_trial tried;
    hw_setting lost;     /* a setting that a run has tried and lost */
    double lost_seconds; /* seconds of that run; 0: there was none */
} hw_across;

typedef struct hw_instruction {
    hw_knob knob;
    uint32_t block; /* of a share */
    double from, to;
    const char *reason; /* the decider owns it until its next call */
} hw_instruction;

typedef enum hw_trial_stage { HW_TRIAL_NONE, HW_TRIAL_WAITS, HW_TRIAL_NEW, HW_TRIAL_BACK } hw_trial_stage;

/* A change that is not decided yet. */
typedef struct hw_trial {
    hw_trial_stage stage;
    hw_knob knob;
    uint32_t block;
    double from, to;
    double before, after; /* progress per second with the old and the new value; of a gain per clock */
    double expected;      /* with the old value, had it gone on: progress that slows down by itself would have */
    double began;         /* clocks when the new value was set */
    bool seen;            /* progress with the new value was measured once */
    double once;          /* what it was then */
    bool first;           /* `before` is the first fall in a fit, which is mostly the largest */
    bool behind;          /* a staleness that had been kept is compared with bsp anew */
    bool kept;            /* a value of an earlier run is compared with that of the start */
    char reason[HW_REASON / 2 + 20];
} hw_trial;

/* A change of encoding or quota, until its effect is known. */
typedef struct hw_check {
    bool on;
    hw_knob knob;
    double from, to;
    double clock_seconds; /* with the old value; 0: clocks were short enough, */
    double before;        /* and progress per clock remains to be seen, which was this; NaN: unknown */
    bool behind;          /* progress per clock was too small in the last measurement */
} hw_check;

/* What was measured since a BSP point. */
typedef struct hw_measuring {
    bool begun;
    bool mixed;                /* the encoding changed since, and with it the length of clocks */
    double seconds, clocks, y; /* at that point: y is the metric, or its logarithm */
    double now, rises;         /* y at the last point; sum of its rises from point to point, where there are many points */
    uint64_t windows;          /* since then */
} hw_measuring;

typedef enum hw_point_wish { HW_POINT_NONE, HW_POINT_KEEP, HW_POINT_RETURN } hw_point_wish;

typedef struct hw_decider {
    hw_bounds bounds;
    uint32_t blocks;
    double value[HW_KNOBS], sent[HW_KNOBS]; /* as decided, and as hw_decider_next has given them */
    double *shares, *sent_shares;
    char reason[HW_REASON];
    hw_trial trial;
    hw_check check;
    hw_measuring measuring;
    double clocks, lost;        /* so far; those of lost trials */
    double interval;            /* clocks of the last measurement */
    double clock_seconds;       /* of the last window without a change */
    double in_step;             /* progress per clock of work 1 under bsp: the smaller of the last two; NaN: unknown */
    double last_in_step, decay; /* the last one, and in terms of the one before: at most 1 */
    double last;                /* that under the present settings; NaN: not measured yet */
    uint64_t measured;          /* how often, in this fit */
    bool steady;                /* the last two differed little */
    double noise;               /* largest rise of y within measurements under bsp */
    double rose;                /* of y from point to point, summed over the last measurement under bsp */
    bool doubted;               /* bsp was faster than the staleness in the last comparison */
    bool clear;                 /* in the last measurement y fell by more than its rises */
    double best;                /* least y at a point */
    uint32_t rises;             /* points in a row above it */
    uint32_t moved;             /* windows in a row in which the length of clocks had changed by itself */
    uint64_t windows, waits[HW_KNOBS]; /* so far, and the one up to which a knob is not tried again */
    uint32_t losses[HW_KNOBS];
    bool barred[HW_KNOBS];
    hw_point_wish point;        /* what the next instruction is about, if any */
    double kept_y, kept_clocks; /* where states were kept last; NaN: they were not */
    double last_y, last_clocks; /* of the last point */
    bool changed;               /* a change can be undone: the last one */
    hw_knob last_knob;
    uint32_t last_block;
    double last_from;
    uint32_t undone;
    bool defaulted;               /* the start's settings hold for the rest */
    double learned_sync;          /* staleness of an earlier run, which begins once progress under bsp is known; 0: none */
    bool learned[HW_KNOBS];       /* the value is that of an earlier run, and was not compared with that of the start */
    double learned_clocks;        /* of earlier runs, in `clocks` */
    hw_across across;             /* what earlier runs left; */
    bool tries;                   /* this one tries its next setting */
    bool has_tried;               /* a trial had clocks */
    uint64_t in_fit, longest_fit; /* points in this fit, and the most in one */
    bool moves;                   /* a setting has changed since the last window */
    double seconds_since, clocks_since;   /* of windows with the present settings, */
    double seconds_before, clocks_before; /* and with those before in this run */
    hw_untried untried[HAWSER_CAUSES];
    hw_setting doubted_loss; /* of the last lost trial; knob HW_KNOBS: none was lost */
} hw_decider;

hawser_status hw_decider_open(hw_decider *decider, const hw_bounds *bounds, uint32_t blocks,
                              hawser_error *error) HAWSER_MUST_USE;
void hw_decider_close(hw_decider *decider);
/* Returns whether the bounds let anything change. */
bool hw_bounds_allow(const hw_bounds *bounds);
void hw_decider_window(hw_decider *decider, const hw_feedback *feedback);
/* Returns whether a metric is not finite, or has risen above its noise. */
bool hw_decider_is_risen(const hw_decider *decider, double metric);
/* Returns whether a point with such a metric undoes something: settings are not those of the start. */
bool hw_decider_undoes(const hw_decider *decider);
/* Takes a BSP point: the seconds and clocks of the run, and the metric, which falls. */
void hw_decider_point(hw_decider *decider, double seconds, double clocks, double metric);
/* The run ends after the last point: decides a trial that waits for the old value again, by what is known. */
void hw_decider_end(hw_decider *decider);
/* Forgets what was measured so far, because another fit begins with another metric. Settings stay. */
void hw_decider_restart(hw_decider *decider);
/* Gives the next change to be made; false: there is none. */
bool hw_decider_next(hw_decider *decider, hw_instruction *instruction);

/* For earlier.c. hw_decider_set sets a value; hw_decider_keep remembers the change that the guard undoes first, and
 * hw_decider_say the reason of the next changes. hw_decider_opens returns whether a knob can take a value. */
bool hw_bounds_let(const hw_bounds *bounds, hw_knob knob);
bool hw_decider_opens(const hw_decider *decider, hw_setting setting);
double hw_decider_value(const hw_decider *decider, hw_knob knob, uint32_t block); /* the present one; `block` of a share */
void hw_decider_set(hw_decider *decider, hw_knob knob, uint32_t block, double to);
void hw_decider_keep(hw_decider *decider, hw_knob knob, uint32_t block, double from);
void hw_decider_keep_states(hw_decider *decider);
void hw_decider_let_wait(hw_decider *decider, hw_knob knob);
HAWSER_PRINTF(2, 3) void hw_decider_say(hw_decider *decider, const char *format, ...);

#endif
