/*
 * branches.pml - a loop with a branch under stale-synchronous clocks: who chooses, when, and on which metrics, in all interleavings.
 *
 * Each block reports one metric of a clock, a bit that is drawn. The driver chooses the branch of clock t by the metric of clock t - W, W = S + 1, as
 * soon as all blocks have reported that clock, and sends the choice in the message that extends the credit to t. The first W clocks are chosen before
 * the loop begins, by no metric. A block takes the message when it has no credit left. Before clock t it waits for the updates of all other blocks of
 * the clocks below t - S, which here are their clocks.
 *
 * Checked: every block runs each clock on the choice that the metric of clock t - W gives, no clock runs without a choice, all end after the last
 * clock, and no process waits for ever (no invalid end state).
 *
 * -DMUTANT=1 a block takes every message at once and runs on the last choice. Must be refused.
 * -DMUTANT=2 the driver chooses by the newest metric that block 0 has reported. Must be refused.
 * -DMUTANT=3 the driver waits for the metric of clock t - W + 1. Must be refused: with S = 0 clock t waits for itself.
 * -DMUTANT=4 the credit is sent before the choice. Must be refused.
 * -DMUTANT=5 each block chooses by the newest metric of a clock that it has seen of all. Must be refused.
 */
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef S
#define S 1
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef CLOCKS
#define CLOCKS 4
#endif
#define W (S + 1)
#if MUTANT == 3
#define SOONER 1
#else
#define SOONER 0
#endif

byte clock[BLOCKS];        /* clocks that a block has ended, and reported */
bit metric[CLOCKS];        /* of a clock, from block 0 */
bool sent[CLOCKS];         /* the choice of a clock is on its way to all blocks; for MUTANT 4 */
bit choice[CLOCKS];        /* the driver's, while it sends it */
byte ended = 0;
chan credit[BLOCKS] = [CLOCKS] of { byte, bit }; /* the clock that may run, and its choice */

/* The driver gives credit for a clock, with its choice. */
inline announce(t, by)
{
    choice[t] = by;
#if MUTANT != 4
    sent[t] = true;
#endif
    for (k : 0 .. BLOCKS - 1) {
        credit[k] ! t, by
    }
}

proctype block(byte me)
{
    byte k, t, limit, given;
    bit by;
    bool ready;
    do
    :: t == CLOCKS -> break
    :: atomic { t < CLOCKS && limit <= t && nempty(credit[me]) ->
           credit[me] ? given, by;
           limit = given + 1
       }
#if MUTANT == 1
    :: atomic { nempty(credit[me]) ->
           credit[me] ? given, by;
           limit = given + 1
       }
#endif
    :: atomic { t < limit ->
           ready = true;
           for (k : 0 .. BLOCKS - 1) {
               ready = ready && clock[k] + S >= t
           }
           ready
       } ->
       atomic {
#if MUTANT == 5
           given = clock[0];
           for (k : 0 .. BLOCKS - 1) {
               given = (clock[k] < given -> clock[k] : given)
           }
           by = (given > 0 && t >= W -> metric[given - 1] : by);
#endif
           assert(sent[t]);
           assert(t < W || by == metric[t - W]);
           assert(t >= W || by == 0);
           if
           :: me == 0 -> /* draws what it reports */
               if
               :: metric[t] = 0
               :: metric[t] = 1
               fi
           :: else -> skip
           fi;
           t++;
           clock[me] = t
       }
    od;
    ended++
}

proctype driver()
{
    byte k, n, t;
    do
    :: n + W >= CLOCKS + SOONER -> break
    :: atomic {
           (n + W < CLOCKS + SOONER && clock[0] > n && clock[1] > n
#if BLOCKS > 2
            && clock[2] > n
#endif
           );
           n++;
           t = n - 1 + W - SOONER;
#if MUTANT == 2
           announce(t, metric[clock[0] - 1])
#elif MUTANT == 3
           announce(t, metric[t - W])
#else
           announce(t, metric[n - 1])
#endif
       }
#if MUTANT == 4
       sent[t] = true
#endif
    od
}

init
{
    byte b, k;
    atomic {
        for (b : 0 .. W - 1 - SOONER) {
            announce(b, 0);
            sent[b] = true
        }
        for (b : 0 .. BLOCKS - 1) {
            run block(b)
        }
        run driver()
    }
    ended == BLOCKS;
    assert(clock[0] == CLOCKS && clock[1] == CLOCKS)
}
