/*
 * vector_slot.pml - items of a dense vector in slots of memory that its receivers map (src/runtime/vector/slots.c): no receiver reads a slot while it is
 * written, and no scatter waits for a slot.
 *
 * The sender's program scatters SCATTERS times to RECEIVERS receivers. It looks for a slot that no receiver may read any more, writes the array there in two
 * halves, and announces the slot on each edge. If none is free, the item is a message. Up to MOST items are in flight on an edge. With MOST=1 (tap) no scatter
 * waits: what is scattered meanwhile waits as one pending item, of values the newest, in a slot or not, of deltas (-DDELTAS) the sum, in a message. With more
 * (bsp and ssp) a scatter waits for space. The sender's thread of the net takes acknowledgements and may send the pending item. Both give an
 * item its number and lend its slot under a lock. A barrier or a finish may flush the pending item.
 *
 * A receiver takes one item or several, reads them in two halves, and acknowledges the last one. It ends at any time: values are then dropped, deltas are read
 * at its finish, without acknowledgement. A receiver may die at any time (-DDIES). The sender may be killed between the halves of a write (-DKILLED); that
 * it may be stopped there is among the interleavings.
 *
 * Checked: what is read from a slot is the announced item, whole; a sum is never in a slot; with three slots one is always free for values under bsp and ssp,
 * and under tap with one receiver; all processes end.
 *
 * -DMUTANT=1 a slot is announced before its second half is written. Must be refused.
 * -DMUTANT=2 a slot is free when its first receiver has gathered. Must be refused.
 * -DMUTANT=3 a slot is free although an item that is pending is in it. Must be refused.
 * -DMUTANT=4 a slot is lent after its item has left. Must be refused: it is free in between.
 * -DMUTANT=5 the slots of a receiver that has ended are free for deltas, too. Must be refused with DELTAS and MOST=3.
 * -DMUTANT=6 a receiver acknowledges what it takes before it has read it. Must be refused.
 * -DMUTANT=7 a scatter waits for a slot, in place of a message. Must be refused with DIES.
 */
#ifndef SCATTERS
#define SCATTERS 4
#endif
#ifndef RECEIVERS
#define RECEIVERS 2
#endif
#ifndef MOST
#define MOST 1
#endif
#ifndef SLOTS
#define SLOTS 3
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#define END 0  /* in place of a number: the receiver gathers no more */
#define LAST 0 /* in place of a number: the sender has finished */

#ifdef DELTAS
#define SUMS true
#define DROPS(r) false
#else
#define SUMS false
#define DROPS(r) ended[r]
#endif
#if MUTANT == 5
#define NEVER(r) ended[r]
#else
#define NEVER(r) DROPS(r)
#endif
#define SPACE(r) (sent[r] - gathered[r] < MOST)
#define LENT(s, r) (lent[(s) * RECEIVERS + (r)] > gathered[r] && !NEVER(r))
#if MUTANT == 3
#define USED(s, r) LENT(s, r)
#else
#define USED(s, r) (LENT(s, r) || (pending[r] != 0 && place[r] == (s)))
#endif
#if RECEIVERS == 1 || MUTANT == 2
#define FREE(s) (!USED(s, 0))
#else
#define FREE(s) (!USED(s, 0) && !USED(s, 1))
#endif
#if SLOTS > 2
#define FREE2 FREE(2)
#else
#define FREE2 false
#endif

chan wire[RECEIVERS] = [MOST + 3] of { byte, byte, byte }; /* number, slot (SLOTS: a message), scatter */
chan back = [8] of { byte, byte };                         /* receiver, number */
byte low[SLOTS], high[SLOTS];                              /* the halves of each slot */
byte lent[SLOTS * RECEIVERS];
byte pending[RECEIVERS], place[RECEIVERS]; /* scatter (0: none), and its slot */
byte sent[RECEIVERS], gathered[RECEIVERS];
bool flushes[RECEIVERS], ended[RECEIVERS], dead[RECEIVERS];
bool lost = false, over = false, killed = false;
byte finished = 0;

/* Both threads of the sender, in an atomic step: sends what may be sent to receiver r. That needs a lock for the order, see edge.pml. */
inline pump(r)
{
    if
    :: pending[r] != 0 && (flushes[r] || SPACE(r)) ->
        item = pending[r]; at = place[r];
        pending[r] = 0; place[r] = 0; flushes[r] = false;
        sent[r]++; number = sent[r];
        if
        :: !dead[r] -> wire[r] ! number, at, item
        :: else
        fi
    :: else
    fi
}

/* The slot of what was sent belongs to the receiver until it has gathered. */
inline lend(r)
{
    if
    :: item != 0 && at < SLOTS -> lent[at * RECEIVERS + r] = number
    :: else
    fi;
    item = 0; at = 0; number = 0
}
#if MUTANT == 4
#define THEN } atomic {
#else
#define THEN
#endif

active proctype program()
{
    byte t, r, slot, item, at, number;
    bool slots; /* this edge may have the item in a slot */
    for (t : 1 .. SCATTERS) {
#if MOST > 1
        for (r : 0 .. RECEIVERS - 1) {
            ((pending[r] == 0 && SPACE(r)) || ended[r] || lost)
        }
#endif
        if
        :: lost -> goto out
        :: else
        fi;
        slot = SLOTS;
        for (r : 0 .. RECEIVERS - 1) {
            atomic {
#ifdef DELTAS
                slots = (pending[r] == 0 && SPACE(r));
#else
                slots = !DROPS(r);
#endif
                if
                :: slots && slot == SLOTS ->
#if MUTANT == 7
                    (FREE(0) || FREE(1) || FREE2);
#endif
                    if
                    :: FREE(0) -> slot = 0
                    :: !FREE(0) && FREE(1) -> slot = 1
                    :: !FREE(0) && !FREE(1) && FREE2 -> slot = 2
                    :: else ->
                        assert(SLOTS < 3 || SUMS || (MOST == 1 && RECEIVERS > 1))
                    fi;
                    if
                    :: slot < SLOTS -> low[slot] = t; goto half
                    :: else
                    fi
                :: else
                fi;
                goto written
            }
half:
            atomic {
#ifdef KILLED
                if
                :: killed = true; goto gone
                :: true
                fi;
#endif
#if MUTANT == 1
                skip;
#else
                high[slot] = t;
#endif
written: /* the edge gets the item */
                if
                :: DROPS(r) -> pending[r] = 0; place[r] = 0
                :: else ->
#ifdef DELTAS
                    assert(pending[r] == 0 || place[r] == SLOTS);
#endif
                    pending[r] = t;
                    place[r] = (slots -> slot : SLOTS)
                fi;
                slots = false;
                pump(r);
                THEN
                lend(r)
            }
#if MUTANT == 1
            if
            :: slot < SLOTS -> high[slot] = t
            :: else
            fi
#endif
        }
        if
        :: t == SCATTERS -> /* the finish flushes */
            for (r : 0 .. RECEIVERS - 1) {
                atomic { flushes[r] = (pending[r] != 0); pump(r); lend(r) }
            }
        :: else
        fi
    }
    for (r : 0 .. RECEIVERS - 1) {
        atomic {
            if
            :: !dead[r] -> wire[r] ! LAST, 0, 0
            :: else
            fi
        }
    }
out:
    over = true;
gone:
    skip
}

/* The sender's thread of the net. */
active proctype net()
{
    byte r, n, item, at, number;
    do
    :: atomic {
           !killed && nempty(back) -> back ? r, n;
           if
           :: n == END -> ended[r] = true;
               if
               :: DROPS(r) -> pending[r] = 0; place[r] = 0
               :: else
               fi
           :: else -> assert(n > gathered[r] && n <= sent[r]); gathered[r] = n
           fi;
           n = 0;
           pump(r);
           THEN
           lend(r);
           r = 0
       }
    :: killed || (over && finished == RECEIVERS && empty(back)) -> break
    od
}

active [RECEIVERS] proctype receiver()
{
    byte me = _pid - 2, number, slot, item, last;
    bool ends = false;
    do
    :: atomic {
           wire[me] ? number, slot, item ->
           if
           :: number == LAST -> break
           :: else -> assert(item > last); last = item
           fi;
#if MUTANT == 6
           if
           :: !ends -> back ! me, number
           :: else
           fi;
#endif
           if
           :: slot == SLOTS || (ends && !SUMS) -> goto read
           :: else -> assert(low[slot] == item)
           fi
       }
       atomic {
           assert(low[slot] == item && high[slot] == item);
read:
#if MUTANT != 6
           if
           :: !ends -> back ! me, number
           :: !ends && nempty(wire[me]) -> skip /* the gather takes more */
           :: ends
           fi;
#endif
           number = 0; slot = 0; item = 0
       }
    :: atomic { !ends -> ends = true; back ! me, END }
#ifdef DIES
    :: atomic { !ends -> dead[me] = true; lost = true; break }
#endif
    :: (killed || (lost && over)) && empty(wire[me]) -> break
    od;
    finished++
}
