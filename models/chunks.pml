/*
 * chunks.pml - data-centric chunks with deferral (Goel et al. 2015, sections 5 and 7.1; src/store/stripe.c), and a reader that dies.
 *
 * WORKERS workers each write one chunk and read all, ITERATIONS times. A worker asks for all chunks of an iteration at once; the server answers
 * what the read constraint admits and sets the rest aside. When all have come it sends its write, and goes on to the next iteration without
 * waiting for it. The server keeps for each chunk the iterations written, and those read by each worker; whenever one of these moves it looks at
 * what it has set aside again. Worker 0 may die between any two steps: the server is told, counts it as having read everything from then
 * on, and drops what it had asked for; its chunk is written by nobody any more, and what waits for that ends.
 *
 * Checked: a read in iteration a sees the write of a - 1 - DELAY or a later one, and none later than the delay lets its writer be; a write
 * destroys nothing that a living worker has yet to read; who does its last iteration over reads a version that it may see, though of each chunk the
 * newest and the one before alone are kept, and that one only where a reader is so far behind (src/store/before.c); with DELAY 0 a read sees exactly the version before; nobody waits for ever, and nothing waits at rest that may be done.
 *
 * -DMUTANT=1 a write does not wait for its readers. Must be refused.
 * -DMUTANT=2 a read does not wait for the write. Must be refused.
 * -DMUTANT=3 what was set aside is looked at again when a chunk is read, not when it is written. Must be refused: a read waits that may be done.
 * -DMUTANT=4 the dead stay readers. Must be refused: their writers wait for ever.
 * -DMUTANT=5 the dead's reads that were set aside are answered, and count for the iteration. Must be refused: see `ghost`.
 * -DMUTANT=6 the version before is kept for those alone who have yet to read. Must be refused: who has read may do it over.
 * -DBARRIER  claims that nobody reads an iteration before everybody has written the one before. Must be refused: there is no barrier.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef ITERATIONS
#define ITERATIONS 3
#endif
#ifndef DELAY
#define DELAY 0
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#define AT(w, c) ((w) * WORKERS + (c))

byte written[WORKERS];              /* of each chunk: iterations */
byte before[WORKERS];               /* the version that is kept beside the newest */
byte got[WORKERS * WORKERS];        /* [reader, chunk]: iterations read */
bool asks[WORKERS * WORKERS];       /* [reader, chunk]: a read waits at the server */
bool pushes[WORKERS];               /* a write waits there; of iteration: */
byte pushed[WORKERS];
byte iteration[WORKERS];            /* of each worker */
byte missing[WORKERS];              /* reads of its iteration that have not come */
bool dead = false;                  /* worker 0, as the server knows */
bool died = false;                  /* as it is */
byte ended = 0;
bool stale = false;                 /* the server has something to look at again */
byte ghost = 0;                     /* reads that were done for the dead */

#define LIVES(w) ((w) != 0 || !died)
/* What worker w gets of chunk c when it does the last iteration that it has read there over. */
#define AGAIN(w, c) (written[c] >= got[AT(w, c)] + DELAY -> before[c] : written[c])

/* The server: does what of all that waits may be done. */
inline look_again()
{
    byte w, c, k;
    bool may;
    d_step {
        stale = false;
        for (w : 0 .. WORKERS - 1) {
            for (c : 0 .. WORKERS - 1) {
                may = asks[AT(w, c)];
#if MUTANT != 2
                may = may && written[c] + DELAY >= iteration[w];
#endif
                if
                :: may ->
                    assert(written[c] + DELAY >= iteration[w]);
                    /* Not from a future that would have to have been hidden from this reader. */
                    assert(written[c] <= iteration[w] + DELAY);
#if DELAY == 0
                    assert(written[c] == iteration[w]);
#endif
                    ghost = ghost + (dead && w == 0);
#ifdef BARRIER
                    for (k : 0 .. WORKERS - 1) {
                        assert(!LIVES(k) || died || written[k] + DELAY >= iteration[w])
                    }
#endif
                    asks[AT(w, c)] = false;
                    got[AT(w, c)] = iteration[w] + 1;
                    missing[w] = missing[w] - 1;
                    stale = true
                :: else
                fi
            }
        }
        for (c : 0 .. WORKERS - 1) {
            may = pushes[c];
#if MUTANT != 1
            for (k : 0 .. WORKERS - 1) {
                may = may && (got[AT(k, c)] + DELAY > pushed[c]
#if MUTANT != 4
                              || (k == 0 && dead)
#endif
                             )
            }
#endif
            if
            :: may ->
                for (k : 0 .. WORKERS - 1) {
                    assert(!LIVES(k) || got[AT(k, c)] + DELAY > pushed[c])
                }
                assert(pushed[c] == written[c]);
                pushes[c] = false;
                may = false;
                for (k : 0 .. WORKERS - 1) {
#if MUTANT != 6
                    may = may || got[AT(k, c)] + DELAY < pushed[c] + 2
#else
                    may = may || got[AT(k, c)] + DELAY < pushed[c] + 1
#endif
                }
                if
                :: may -> before[c] = written[c]
                :: else
                fi;
                written[c] = pushed[c] + 1;
                for (k : 0 .. WORKERS - 1) {
                    assert(!LIVES(k) || got[AT(k, c)] == 0 ||
                           (AGAIN(k, c) < got[AT(k, c)] + DELAY && AGAIN(k, c) + DELAY + 1 >= got[AT(k, c)]))
#if DELAY == 0
                    assert(!LIVES(k) || got[AT(k, c)] == 0 || AGAIN(k, c) == got[AT(k, c)] - 1)
#endif
                }
#if MUTANT != 3
                stale = true
#endif
            :: else
            fi
        }
        /* At rest nothing waits that may be done. */
        if
        :: !stale ->
            for (w : 0 .. WORKERS - 1) {
                for (c : 0 .. WORKERS - 1) {
                    assert(!asks[AT(w, c)] || written[c] + DELAY < iteration[w])
                }
            }
        :: else
        fi;
        w = 0; c = 0; k = 0; may = false
    }
}

/* Is what this worker waits for something that nobody will write any more? Then its run ends: the job has lost a worker. */
#define HOPELESS(me) (dead && (me) != 0)

proctype worker(byte me)
{
    byte c;
    do
    :: iteration[me] < ITERATIONS ->
        atomic {
            for (c : 0 .. WORKERS - 1) {
                asks[AT(me, c)] = true
            }
            c = 0;
            missing[me] = WORKERS;
            stale = true
        }
        if
        :: atomic { missing[me] == 0 -> skip }
        :: atomic { me == 0 && !died -> died = true; goto gone }
        :: atomic { HOPELESS(me) && missing[me] > 0 && !stale -> goto gone }
        fi;
        if
        :: atomic { !pushes[me] -> pushes[me] = true; pushed[me] = iteration[me]; iteration[me]++; stale = true }
        :: atomic { me == 0 && !died -> died = true; goto gone }
        :: atomic { HOPELESS(me) && pushes[me] && !stale -> goto gone }
        fi
    :: else -> break
    od;
gone:
    ended++
}

/* Hears that worker 0 is gone, at any time after it is. */
proctype view()
{
    byte c;
end_view:
    atomic {
        died -> dead = true;
#if MUTANT != 5
        for (c : 0 .. WORKERS - 1) {
            asks[AT(0, c)] = false
        }
        pushes[0] = false;
        c = 0;
#endif
        stale = true
    }
}

proctype server()
{
end_server:
    do
    :: atomic { stale -> look_again() }
    od
}

init
{
    byte w, c;
    bool excuse;
    atomic {
        for (w : 0 .. WORKERS - 1) {
            run worker(w)
        }
        run server();
        run view()
    }
    (ended == WORKERS && !stale);
    (!died || dead) && !stale;
    /* What was sent is done, unless a living reader has not come so far. */
    d_step {
        for (c : 0 .. WORKERS - 1) {
            excuse = !pushes[c] || (c == 0 && died);
            for (w : 0 .. WORKERS - 1) {
                excuse = excuse || (died && LIVES(w) && got[AT(w, c)] + DELAY <= pushed[c])
            }
            assert(excuse)
        }
    }
    assert(ghost == 0)
}
