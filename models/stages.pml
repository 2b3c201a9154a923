/*
 * stages.pml - a loop with two stages in a clock, under stale-synchronous clocks and credit: the waits of the runtime, in all interleavings.
 *
 * Stage 0 of a clock reads y and updates x; stage 1 reads x and updates y. An update goes to all others when its stage ends. Before stage 0 of
 * clock t a block waits for credit > t and for every other block's updates of y of clocks below t - S; before stage 1, in the middle of
 * the clock and whatever the credit, for their updates of x of clocks below t + 1 - S. Channels keep order and lose nothing. The driver gives
 * credit n + W once n clocks have ended everywhere and the test of the last said "go on".
 *
 * Checked: what a stage reads is there, no block is more than S clocks ahead of another, nobody runs without credit, all end at one clock with
 * all updates in, and nobody waits for ever (no invalid end state).
 *
 * -DOWN=N    the unit of stage 1 has a sync of its own, N below S: it waits for clocks below t + 1 - N.
 *
 * -DLOOSE    claims that nobody ever leads by S in stage 1. Must be refused: the waits give all the slack that they may.
 * -DMUTANT=1 stage 1 waits for one clock less than the guarantee asks for. Must be refused.
 * -DMUTANT=2 both updates are sent when the clock ends. Must be refused: with S = 0 everybody waits in stage 1.
 * -DMUTANT=3 stage 1 also waits for y of its own clock. Must be refused for the same reason.
 * -DMUTANT=4 a block takes one clock more than its credit. Must be refused.
 * -DMUTANT=5 stage 1 does not wait. Must be refused.
 * -DMUTANT=6 a block that is told the end leaves after stage 0. Must be refused.
 */
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef S
#define S 0
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef CLOCKS
#define CLOCKS 2
#endif
#ifndef OWN
#define OWN S
#endif
#define W (S + 1)
#if MUTANT == 4
#define MORE 1
#else
#define MORE 0
#endif
#if MUTANT == 1
#define SLACK (OWN + 1)
#else
#define SLACK OWN
#endif
#define X 0
#define Y 1

byte first[BLOCKS];             /* stages 0 that a block has run: the truth, for the assertions */
byte clock[BLOCKS];             /* clocks */
byte done[BLOCKS * BLOCKS * 2]; /* [(reader * BLOCKS + source) * 2 + state]: clocks of whose update the reader has */
byte reported[BLOCKS];
byte credit = W;
bool final = false;             /* the loop ends at `credit` */
byte ended = 0;
chan link[BLOCKS * BLOCKS] = [2 * (CLOCKS + S + 3)] of { byte, byte }; /* [reader * BLOCKS + source]: state, number */

inline send_update(me, state, number)
{
    for (k : 0 .. BLOCKS - 1) {
        if
        :: k != me -> link[k * BLOCKS + me] ! state, number
        :: else -> skip
        fi
    }
}

/* Has every other block's update of the state arrived, of all clocks below t - slack? */
inline admit_read(me, state, t, slack, answer)
{
    answer = true;
    for (k : 0 .. BLOCKS - 1) {
        answer = answer && (k == me || done[(me * BLOCKS + k) * 2 + state] + slack >= t)
    }
}

/* Takes one update, of any block that has one under way; waits for one. */
inline take_update(me)
{
    if
    :: link[me * BLOCKS + 0] ? state, number -> done[(me * BLOCKS + 0) * 2 + state] = number
    :: link[me * BLOCKS + 1] ? state, number -> done[(me * BLOCKS + 1) * 2 + state] = number
#if BLOCKS > 2
    :: link[me * BLOCKS + 2] ? state, number -> done[(me * BLOCKS + 2) * 2 + state] = number
#endif
    fi
}

proctype block(byte me)
{
    byte k, t, state, number;
    bool ready, late;
    do
    :: atomic { final && t >= credit -> break }
    :: atomic { t < credit + MORE ->
           admit_read(me, Y, t, S, ready);
           if
           :: ready ->
               assert(t < credit);
               for (k : 0 .. BLOCKS - 1) {
                   assert(clock[k] + S >= t)
               }
               first[me] = t + 1;
#if MUTANT != 2
               send_update(me, X, t + 1)
#endif
           :: else -> goto wait
           fi
       }
#if MUTANT == 6
       if
       :: atomic { final && t + 1 >= credit -> break }
       :: atomic { !(final && t + 1 >= credit) -> skip }
       fi;
#endif
       do
       :: atomic {
#if MUTANT == 5
              ready = true;
#else
              admit_read(me, X, t + 1, SLACK, ready);
#endif
#if MUTANT == 3
              late = ready;
              admit_read(me, Y, t + 1, S, ready);
              ready = ready && late;
#endif
              if
              :: ready ->
                  for (k : 0 .. BLOCKS - 1) {
                      assert(first[k] + OWN >= t + 1);
                      assert(k == me || done[(me * BLOCKS + k) * 2 + X] + OWN >= t + 1);
#ifdef LOOSE
                      assert(first[k] + OWN > t + 1)
#endif
                  }
                  break
              :: else -> take_update(me)
              fi
          }
       :: atomic { take_update(me) }
       od;
       t++;
       atomic {
           clock[me] = t;
#if MUTANT == 2
           send_update(me, X, t);
#endif
           send_update(me, Y, t)
       }
       reported[me] = t;
       goto next;
wait:  atomic { take_update(me) }
next:  skip
    :: atomic { take_update(me) } /* updates may come in at any time */
    od;
    /* A loop's end is a BSP point: all updates of the others are waited for. */
    do
    :: atomic {
           admit_read(me, X, credit, 0, ready);
           late = ready;
           admit_read(me, Y, credit, 0, ready);
           if
           :: ready && late -> break
           :: else -> take_update(me)
           fi
       }
    od;
    assert(t == credit);
    ended++
}

proctype driver()
{
    byte k, n;
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
