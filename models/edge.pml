/*
 * edge.pml - one edge of a vector that holds deltas, under tap or (-DMOST=2 and more) bsp and ssp (src/vector/edge.c, src/runtime/vector): each delta counts
 * exactly once, and nobody waits for ever.
 *
 * The sender's program scatters SCATTERS times. One item is in flight; what is scattered meanwhile is added to a pending item, without a lock: until it is back,
 * the net's thread leaves it alone. A barrier may flush the pending item behind one in flight, and the receiver then adds up what it holds. An acknowledgement names the last item that was gathered; the
 * net's thread of the sender takes it, and may send the pending item. Both threads of the sender send under one lock, from the choice of the item on. The
 * receiver's program gathers at any times and ends after any gather; then nothing waits for it, and it takes the rest in its finish. With WAITS a scatter waits
 * until the one before is gathered. The receiver may die at any time (-DDIES): acknowledgements on their way are lost, and the sender hears of the loss.
 *
 * Under bsp and ssp up to MOST items are in flight, each of one scatter, and a scatter waits for space. A gather takes the first item (bsp) or all (ssp). When
 * the receiver has ended, no scatter waits, and deltas are added up as under tap.
 *
 * Checked: items arrive in their order, and at most MOST and two more wait; before the receiver has ended no item of bsp and ssp has two scatters; the pending
 * item is sent when all before it are gathered; the receiver has each delta once in the end; both programs end.
 *
 * -DMUTANT=1 the net's thread sends the pending item while the program adds to it. Must be refused without MOST.
 * -DMUTANT=2 the lock is free between the choice of an item and its sending. Must be refused: items overtake each other.
 * -DMUTANT=3 an acknowledgement counts as one item, whatever it names. Must be refused: an item waits although all before it are
 *            gathered.
 * -DMUTANT=4 a loss wakes no scatter that waits. Must be refused with WAITS and DIES.
 * -DMUTANT=5 a receiver that has ended does not say so. Must be refused with WAITS.
 * -DMUTANT=6 the finish does not flush. Must be refused: deltas are lost.
 * -DMUTANT=7 a gather of one item acknowledges all that have arrived. Must be refused with MOST: the next acknowledgement is no news.
 * -DMUTANT=8 a scatter does not wait for space. Must be refused with MOST: an item has two iterations.
 */
#ifndef MOST
#define MOST 1
#endif
#if MOST > 1
#define WAITS
#endif
#ifndef SCATTERS
#define SCATTERS 4
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#define END 0  /* in place of a number: the receiver gathers no more */
#define LAST 0 /* in place of a number: the sender has finished */

chan wire = [6] of { byte, byte }; /* number, deltas in it */
chan back = [8] of { byte };
byte pending = 0, sent = 0, acked = 0, given = 0;
byte named = 0; /* by the last acknowledgement */
bool begun = false, flushes = false, ordered = false, ended = false, lost = false, over = false;
byte arrived = 0, held = 0, held_items = 0, got = 0;
bool dead = false, finished = false, in_finish = false;

/* Both threads of the sender: sends what may be sent. */
inline pump()
{
    atomic { !ordered -> ordered = true }
    item = 0;
    atomic {
        if
#if MUTANT == 1
        :: pending > 0 && (flushes || sent - acked < MOST) ->
#else
        :: pending > 0 && !begun && (flushes || sent - acked < MOST) ->
#endif
            item = pending; pending = 0; flushes = false; sent++; number = sent
        :: else -> assert(pending == 0 || begun || sent - named >= MOST)
        fi;
#if MUTANT == 2
        ordered = false
#endif
    }
    if
    :: item > 0 -> wire ! number, item
    :: else
    fi;
#if MUTANT != 2
    ordered = false;
#endif
    item = 0; number = 0
}

active proctype program()
{
    byte t, own, item, number;
    for (t : 1 .. SCATTERS) {
#ifdef WAITS
#if MUTANT == 4
        ((pending == 0 && sent - acked < MOST) || ended);
#elif MUTANT != 8
        ((pending == 0 && sent - acked < MOST) || ended || lost);
#endif
#endif
        if
        :: lost -> goto out
        :: else
        fi;
        atomic { begun = true; own = pending; }
        assert(MOST == 1 || own == 0 || ended);
        own++;
        atomic { pending = own; own = 0; begun = false; given++ }
        pump();
        if /* a barrier */
        :: MOST == 1 && pending > 0 && !in_finish -> flushes = true; pump();
            (arrived == sent || dead);
            atomic {
                if
                :: held_items > 1 -> held_items = 1 /* the receiver merges what it holds */
                :: else
                fi
            }
        :: true
        fi
    }
#if MUTANT != 6
    flushes = (pending > 0);
    pump();
#endif
    wire ! LAST, 0;
out:
    over = true
}

/* The sender's thread of the net. */
active proctype net()
{
    byte n, item, number;
    do
    :: back ? n ->
        if
        :: n == END -> ended = true
#if MUTANT == 3
        :: n != END -> atomic { acked++; named = n }
#else
        :: n != END -> atomic { assert(n > acked && n <= sent); acked = n; named = n }
#endif
        fi;
        pump()
    :: dead && !lost -> lost = true
    :: over && (finished || dead) -> break
    od
}

/* The receiver's thread of the net. */
active proctype arrivals()
{
    byte n, item;
    do
    :: wire ? n, item ->
        if
        :: n == LAST -> break
        :: n != LAST -> atomic {
               assert(n == arrived + 1);
               arrived = n; held = held + item; held_items++;
               assert(held_items <= MOST + 2 || dead)
           }
        fi
    :: dead && over && len(wire) == 0 -> goto out
    od;
    (in_finish || dead);
    atomic { got = got + held; held = 0; held_items = 0 }
    assert(dead || got == given);
out:
    finished = true
}

active proctype gathers()
{
    byte number;
    do
    :: atomic { held_items > 0 -> got = got + held; number = arrived; held = 0; held_items = 0 }
        back ! number;
        number = 0
#if MOST > 1
    :: atomic {
           held_items > 1 -> /* each has one delta: none has come from a sum, which is for a receiver that has ended */
           got++; held--; held_items--;
#if MUTANT == 7
           number = arrived
#else
           number = arrived - held_items
#endif
       }
        back ! number;
        number = 0
#endif
    :: break
#ifdef DIES
    :: atomic {
           dead = true;
           do
           :: len(back) > 0 -> back ? number
           :: len(back) == 0 -> break
           od
       }
       goto out
#endif
    od;
#if MUTANT != 5
    back ! END;
#endif
    in_finish = true;
out:
    skip
}
