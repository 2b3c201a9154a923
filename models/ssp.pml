/*
 * ssp.pml - stale-synchronous clocks under clock credit: the waits of the runtime, in all interleavings.
 *
 * BLOCKS blocks run a loop. Before clock t a block waits for credit > t, from the driver, and for every other block's clocks
 * below t - S, from their updates. After it, its update goes to all others and a report to the driver. Channels keep order and
 * lose nothing. The driver gives credit n + W once n clocks have ended everywhere and the test of the last said "go on". The test
 * may say stop at any clock; then the credit given is final, and every block must end at exactly that clock.
 *
 * Checked: a block that runs clock t has all updates of clocks <= t - S - 1 (what is visible), no block is more than S clocks
 * ahead of another (bounded difference), nobody runs without credit, all end at one clock with all updates in, and nobody waits
 * for ever (no invalid end state).
 *
 * -DLOOSE    claims that nobody ever leads by S. Must be refused: the waits give all the slack that they may.
 * -DMUTANT=1 a read waits for one clock less than the guarantee asks for. Must be refused.
 * -DMUTANT=2 a block that is told the end keeps its last update to itself. Must be refused.
 * -DMUTANT=3 a credit window of S. With it LOOSE holds, and must not: W >= S + 1 is needed.
 * -DMUTANT=4 a block takes one clock more than its credit. Must be refused.
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
#define CLOCKS 3
#if MUTANT == 3
#define W S
#else
#define W (S + 1)
#endif
#if MUTANT == 4
#define MORE 1
#else
#define MORE 0
#endif
#if MUTANT == 1
#define SLACK (S + 1)
#else
#define SLACK S
#endif

byte clock[BLOCKS];         /* clocks run: the truth, for the assertions */
byte done[BLOCKS * BLOCKS]; /* [reader * BLOCKS + source]: clocks of the source that are in at the reader */
byte reported[BLOCKS];
byte credit = W;            /* number of clocks that may run, as the driver has said */
bool final = false;         /* the loop ends at `credit` */
byte ended = 0;
chan link[BLOCKS * BLOCKS] = [CLOCKS + S + 3] of { byte }; /* [reader * BLOCKS + source] */

inline send_update(me, number)
{
    for (k : 0 .. BLOCKS - 1) {
        if
        :: k != me -> link[k * BLOCKS + me] ! number
        :: else -> skip
        fi
    }
}

/* Is the least clock enough for clock t? */
inline admit_read(me, t, slack, answer)
{
    answer = true;
    for (k : 0 .. BLOCKS - 1) {
        answer = answer && (k == me || done[me * BLOCKS + k] + slack >= t)
    }
}

/* Takes one update, of any block that has one under way; waits for one. */
inline take_update(me)
{
    if
    :: link[me * BLOCKS + 0] ? done[me * BLOCKS + 0]
    :: link[me * BLOCKS + 1] ? done[me * BLOCKS + 1]
#if BLOCKS > 2
    :: link[me * BLOCKS + 2] ? done[me * BLOCKS + 2]
#endif
    fi
}

proctype block(byte me)
{
    byte k, t;
    bool ready;
    do
    :: atomic { final && t >= credit -> break }
    :: atomic { t < credit + MORE ->
           admit_read(me, t, SLACK, ready);
           if
           :: ready ->
               assert(t < credit);
               for (k : 0 .. BLOCKS - 1) {
                   assert(k == me || done[me * BLOCKS + k] + S >= t);
                   assert(clock[k] + S >= t);
#ifdef LOOSE
                   assert(clock[k] + S > t)
#endif
               }
               t++;
               clock[me] = t
           :: else -> goto wait
           fi
       }
#if MUTANT == 2
       if
       :: atomic { !(final && t >= credit) -> send_update(me, t) }
       :: atomic { final && t >= credit -> skip }
       fi;
#else
       atomic { send_update(me, t) }
#endif
       reported[me] = t;
       goto next;
wait:  atomic { take_update(me) }
next:  skip
    :: atomic { take_update(me) } /* updates may come in at any time */
    od;
    /* A loop's end is a BSP point: all updates of the others are waited for. */
    do
    :: atomic {
           admit_read(me, credit, 0, ready);
           if
           :: ready -> break
           :: else -> take_update(me)
           fi
       }
    od;
    assert(t == credit);
    ended++
}

proctype driver()
{
    byte k, n, least;
    do
    :: atomic {
           (reported[0] > n && reported[1] > n
#if BLOCKS > 2
            && reported[2] > n
#endif
           );
           n++;
           if
           :: n < CLOCKS -> credit = n + W
           :: final = true; break
           fi
       }
    od
}

init
{
    byte b;
    atomic {
        for (b : 0 .. BLOCKS - 1) {
            run block(b)
        }
        run driver()
    }
    (ended == BLOCKS);
    for (b : 0 .. BLOCKS - 1) {
        assert(clock[b] == credit)
    }
}
