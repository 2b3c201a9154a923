/*
 * moving.pml - parts that go from block to block (src/runtime/block/part_moving.c): each is in one place, no block waits for
 * ever, and nobody works on an old version.
 *
 * BLOCKS blocks run two loops, one after the other. In clock t part p belongs to block owner(p, t): by rotation, or with
 * -DDRAWN by a table that is drawn, with as many parts for each block (in clock 0 as in rotation). A block begins clock t when
 * it has credit and when the updates that its sync asks for have come (-DS=0: bsp, -DS=1: ssp:1; -DTAP: it asks for none). It
 * takes its parts in the order of their numbers and waits for each until the version for this clock has come. At the end of
 * the clock it waits for all its parts, sends them to their owners in clock t + 1, and sends an update of a replicated state to
 * all others, where a sync waits for updates. Before that a stage may be done over, and a block may leave its parts as they
 * are, each once in a run. The driver gives credit as in ssp.pml, and may end a loop at any clock. Then parts go to their
 * owners in clock 0 of the next loop.
 *
 * Checked: two blocks never have the same part; a block that works on one has what the block before has left; no part is lost;
 * a block has, with those on their way to it, at most its parts of W + 1 clocks, which is what a plan counts, and of one more
 * before it begins a loop that others have begun; under rotation a block works in clock t when all others have ended
 * t - BLOCKS + 2 clocks, even under tap; all blocks end at the same clock; and nobody waits for ever (no invalid end state).
 *
 * -DLOOSE    claims that a block has at most its parts of W clocks. Must be refused.
 * -DMUTANT=1 a block keeps what it has sent, and waits for a part of any version. Must be refused under tap: it works on an old
 *            one.
 * -DMUTANT=2 a block keeps what it has sent. Must be refused: the part comes where it is already.
 * -DMUTANT=3 a part is sent when a unit is done with it, and not when the clock ends. Must be refused: a stage that is done over
 *            has it no more.
 * -DMUTANT=4 a block sends its parts when those of the next clock have come. Must be refused: all wait.
 * -DMUTANT=5 parts go to their owners of the clock that ends. Must be refused.
 * -DMUTANT=6 a block that leaves its parts as they are does not send them. Must be refused: their next owners wait for ever.
 */
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef EACH
#define EACH 1 /* parts of a block in a clock */
#endif
#ifndef S
#define S 0
#endif
#ifndef CLOCKS
#define CLOCKS 2 /* of the first loop; of the second: 1 */
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#ifdef TAP
#define W CLOCKS /* credit for all: the parts alone make blocks wait */
#define UPDATES 0
#else
#define W (S + 1)
#define UPDATES (2 * W)
#endif
#ifdef LOOSE
#define PILE (EACH * W)
#else
#define PILE (EACH * (W + 1))
#endif
#define PARTS (BLOCKS * EACH)
#ifndef PERIOD
#define PERIOD 3 /* of drawn owners */
#endif
#define UPDATE PARTS
#define TAG(loop, t) ((loop) * 16 + (t))
#define AT(b, p) ((b) * PARTS + (p))
#ifdef DRAWN
#define OWNER(p, t) drawn[((t) % PERIOD) * PARTS + (p)]
#else
#define OWNER(p, t) (((p) % BLOCKS + BLOCKS - (t) % BLOCKS) % BLOCKS)
#endif
#if MUTANT == 1
#define HERE(b, p, number) (has[AT(b, p)] != 0)
#else
#define HERE(b, p, number) (has[AT(b, p)] != 0 && tag[AT(b, p)] == (number))
#endif

byte drawn[PERIOD * PARTS];
byte version[PARTS];       /* the truth: how often units have changed it */
bool busy[PARTS];          /* a unit works on it */
byte has[BLOCKS * PARTS];  /* what a block has: 0, or 1 + the version */
byte tag[BLOCKS * PARTS];  /* for which loop and clock it has that */
byte load[BLOCKS];         /* parts of each block, with those on their way to it */
byte begun[BLOCKS];        /* the loop that a block has begun */
byte clock[BLOCKS];
byte merged[BLOCKS * BLOCKS]; /* [reader * BLOCKS + source]: clocks of the source whose updates are in */
byte reported[BLOCKS];
byte loop = 0;             /* that the driver has begun */
byte credit = W;
bool final = false;
byte ended = 0;
bool again = false;        /* a stage has been done over */
bool idled = false;        /* a block has left its parts as they were */
chan link[BLOCKS * BLOCKS] = [PARTS + UPDATES] of { byte, byte, byte }; /* part or UPDATE, for which clock, version */

inline accept(me, source)
{
    if
    :: part == UPDATE -> merged[me * BLOCKS + source] = number
    :: else ->
#if MUTANT != 1
        assert(has[AT(me, part)] == 0);
#endif
        has[AT(me, part)] = value + 1;
        tag[AT(me, part)] = number
    fi;
    part = 0; number = 0; value = 0
}

/* Takes a message from any block; waits for one. */
inline take(me)
{
    if
    :: link[me * BLOCKS + 0] ? part, number, value -> accept(me, 0)
    :: link[me * BLOCKS + 1] ? part, number, value -> accept(me, 1)
#if BLOCKS > 2
    :: link[me * BLOCKS + 2] ? part, number, value -> accept(me, 2)
#endif
    fi
}

/* Gives a part to its owner in clock t. */
inline give(me, p, t)
{
    if
    :: OWNER(p, t) == me -> tag[AT(me, p)] = TAG(own, t)
    :: else ->
        link[OWNER(p, t) * BLOCKS + me] ! p, TAG(own, t), has[AT(me, p)] - 1;
#if MUTANT != 1 && MUTANT != 2
        has[AT(me, p)] = 0;
        tag[AT(me, p)] = 0;
#endif
        load[me]--;
        load[OWNER(p, t)]++;
        assert(load[OWNER(p, t)] <= PILE + (begun[OWNER(p, t)] == own -> 0 : EACH))
    fi
}

#define NEXT (t + 1)
#if MUTANT == 5
#define TO t
#else
#define TO NEXT
#endif

inline give_all(me, from, to)
{
    for (k : 0 .. PARTS - 1) {
        if
        :: OWNER(k, from) == me && has[AT(me, k)] != 0 -> give(me, k, to)
        :: else
        fi
    }
    k = 0
}

inline all_here(me, t, answer)
{
    answer = true;
    for (k : 0 .. PARTS - 1) {
        answer = answer && (OWNER(k, t) != me || HERE(me, k, TAG(own, t)))
    }
    k = 0
}

/* Have the others ended the clocks before t - slack? */
inline admit(me, t, slack, answer)
{
    answer = true;
    for (k : 0 .. BLOCKS - 1) {
        answer = answer && (k == me || merged[me * BLOCKS + k] + slack >= t)
    }
    k = 0
}

proctype block(byte me)
{
    byte own, k, p, t, last, part, number, value;
    bool ready, leaves;
    do
    :: own < 2 ->
        atomic {
            loop == own;
            begun[me] = own;
            if
            :: own > 0 -> give_all(me, last, 0)
            :: else
            fi
        }
        t = 0;
        do
        :: atomic { final && t >= credit -> break }
        :: atomic {
               t < credit ->
#ifdef TAP
               ready = true;
#else
               admit(me, t, S, ready);
#endif
               if
               :: ready ->
                   p = 0
               :: else -> goto wait
               fi
           }
#if MUTANT != 3
           if
           :: skip
           :: atomic { !idled -> idled = true; leaves = true }
           fi;
#endif
units:     do
           :: atomic { p < PARTS && (leaves || OWNER(p, t) != me) -> p++ }
           :: atomic {
                  p < PARTS && !leaves && OWNER(p, t) == me && HERE(me, p, TAG(own, t)) ->
                  assert(has[AT(me, p)] == version[p] + 1);
                  assert(!busy[p]);
#ifndef DRAWN
                  for (k : 0 .. BLOCKS - 1) {
                      assert(clock[k] + BLOCKS >= t + 2)
                  }
                  k = 0;
#endif
                  busy[p] = true
              }
              atomic {
                  assert(busy[p]);
                  busy[p] = false;
                  version[p]++;
                  has[AT(me, p)]++;
#if MUTANT == 3
                  give(me, p, NEXT);
#endif
                  p++
              }
           :: atomic { p == PARTS -> break }
           :: atomic { p < PARTS && !leaves && OWNER(p, t) == me && !HERE(me, p, TAG(own, t)) -> take(me) }
           od;
           if
           :: atomic {
                  !again && !leaves -> /* the view has changed, and the stage is done over */
                  again = true;
                  for (k : 0 .. PARTS - 1) {
                      if
                      :: OWNER(k, t) == me ->
                          assert(has[AT(me, k)] == version[k] + 1);
                          version[k]--;
                          has[AT(me, k)]--
                      :: else
                      fi
                  }
                  k = 0;
                  p = 0
              }
              goto units
           :: skip
           fi;
           do
           :: atomic {
#if MUTANT == 3
                  ready = true;
#elif MUTANT == 4
                  ready = true;
                  for (k : 0 .. PARTS - 1) {
                      ready = ready && (OWNER(k, NEXT) != me || has[AT(me, k)] != 0)
                  }
#else
                  all_here(me, t, ready);
#endif
                  if
                  :: ready -> break
                  :: else -> take(me)
                  fi
              }
           od;
           atomic {
#if MUTANT == 6
               if
               :: !leaves -> give_all(me, t, TO)
               :: else
               fi;
#elif MUTANT != 3
               give_all(me, t, TO);
#endif
               leaves = false;
               t++;
               clock[me] = t;
#ifndef TAP
               for (k : 0 .. BLOCKS - 1) {
                   if
                   :: k != me -> link[k * BLOCKS + me] ! UPDATE, t, 0
                   :: else
                   fi
               }
               k = 0;
#endif
               reported[me] = t
           }
           goto next;
wait:      atomic { take(me) }
next:      skip
        od;
        /* The end of a loop: all updates are in, and the parts are with their next owners. */
        do
        :: atomic {
#ifdef TAP
               all_here(me, t, ready);
#else
               admit(me, credit, 0, ready);
               if
               :: ready -> all_here(me, t, ready)
               :: else
               fi;
#endif
               if
               :: ready -> break
               :: else -> take(me)
               fi
           }
        od;
        atomic {
            assert(t == credit);
            last = t;
            t = 0;
            own++;
            ended++
        }
    :: else -> break
    od
}

proctype driver()
{
    byte n;
    do
    :: atomic {
           (reported[0] > n && reported[1] > n
#if BLOCKS > 2
            && reported[2] > n
#endif
           );
           n++;
           if
           :: n < CLOCKS - loop -> credit = n + W
           :: final = true; break
           fi
       }
    od;
    atomic {
        (ended == BLOCKS);
        for (n : 0 .. BLOCKS * BLOCKS - 1) {
            merged[n] = 0
        }
        for (n : 0 .. BLOCKS - 1) {
            reported[n] = 0;
            clock[n] = 0
        }
        n = 0;
        credit = W;
        final = false;
        ended = 0;
        loop++
    }
    if
    :: loop < 2 -> run driver()
    :: else
    fi
}

init
{
    byte t, p, b, holders;
    byte counts[BLOCKS];
    atomic {
#ifdef DRAWN
        for (p : 0 .. PARTS - 1) {
            drawn[p] = p % BLOCKS
        }
        for (t : 1 .. PERIOD - 1) {
            for (b : 0 .. BLOCKS - 1) {
                counts[b] = 0
            }
            for (p : 0 .. PARTS - 1) {
                if
                :: counts[0] < EACH -> b = 0
                :: counts[1] < EACH -> b = 1
#if BLOCKS > 2
                :: counts[2] < EACH -> b = 2
#endif
                fi;
                drawn[t * PARTS + p] = b;
                counts[b]++
            }
        }
        for (b : 0 .. BLOCKS - 1) {
            counts[b] = 0
        }
#endif
        for (p : 0 .. PARTS - 1) {
            has[AT(OWNER(p, 0), p)] = 1
        }
        for (b : 0 .. BLOCKS - 1) {
            load[b] = EACH
        }
        for (b : 0 .. BLOCKS - 1) {
            run block(b)
        }
        run driver()
    }
    (loop == 2);
    atomic {
        for (p : 0 .. PARTS - 1) {
            holders = 0;
            for (b : 0 .. BLOCKS - 1) {
                if
                :: has[AT(b, p)] != 0 -> holders++; assert(has[AT(b, p)] == version[p] + 1)
                :: else
                fi
            }
#if MUTANT != 1
            assert(holders == 1)
#endif
        }
    }
}
