/*
 * members.pml - losses as events (src/cluster/members.c): each subscriber receives each loss once and in one order, whichever threads note losses, subscribe
 * and unsubscribe at the same time.
 *
 * Two threads note the losses of LOSSES nodes, each of all nodes. One subscriber stays. Another one comes, goes, and frees its memory. The thread that notes a
 * loss calls the subscribers, unless another thread is calling them. No lock is held during a call.
 *
 * Checked: a call has the event after the last one of that subscriber; no two calls of a subscriber overlap; none is made to a subscriber whose unsubscription
 * has returned; in the end the one that stayed has received all losses, each of which is noted once.
 *
 * -DMUTANT=1 a thread calls subscribers although another one does. Must be refused: calls overlap.
 * -DMUTANT=2 an unsubscription does not wait for a call in progress. Must be refused: a freed subscriber is called.
 * -DMUTANT=3 the thread that calls takes the events that it saw when it began. Must be refused: a loss that is noted meanwhile reaches no subscriber.
 * -DMUTANT=4 a loss is noted by each thread that sees it. Must be refused.
 */
#ifndef LOSSES
#define LOSSES 2
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#define STAYS 0
#define COMES 1
#define NO_ONE 2

bool lock = false, delivering = false;
bool lost[LOSSES];
byte events = 0;       /* noted; event i is one loss */
byte seen[2];
bool subscribed[2], freed[2];
byte inside[2];        /* calls in progress */
byte calling = NO_ONE;
byte done = 0;

#if MUTANT == 3
#define LIMIT until
#else
#define LIMIT events
#endif
#define LOCK   atomic { !lock -> lock = true }
#define UNLOCK lock = false

/* The lock is held. */
inline deliver(who, until)
{
    if
#if MUTANT != 1
    :: delivering -> skip
#endif
    :: else ->
        delivering = true;
        until = events;
        do
        :: (subscribed[STAYS] && seen[STAYS] < LIMIT) || (subscribed[COMES] && seen[COMES] < LIMIT) ->
            if
            :: subscribed[STAYS] && seen[STAYS] < LIMIT && !(subscribed[COMES] && seen[COMES] < seen[STAYS]) -> who = STAYS
            :: else -> who = COMES
            fi;
            seen[who]++;
            calling = who;
            UNLOCK;
            assert(!freed[who]);
            inside[who]++;
            assert(inside[who] == 1);
            assert(!freed[who]);
            inside[who]--;
            LOCK;
            calling = NO_ONE
        :: else -> break
        od;
        delivering = false
    fi
}

proctype notes(bool down)
{
    byte i, node, who, until;
    for (i : 0 .. LOSSES - 1) {
        node = (down -> LOSSES - 1 - i : i);
        LOCK;
        if
#if MUTANT == 4
        :: true ->
#else
        :: !lost[node] ->
#endif
            lost[node] = true;
            events++;
            assert(events <= LOSSES);
            deliver(who, until)
        :: else
        fi;
        UNLOCK
    }
    done++
}

proctype comes()
{
    byte who, until;
    LOCK;
    subscribed[COMES] = true;
    deliver(who, until);
    UNLOCK;
    LOCK;
    subscribed[COMES] = false;
#if MUTANT != 2
    do
    :: calling == COMES -> UNLOCK; atomic { calling != COMES && !lock -> lock = true }
    :: else -> break
    od;
#endif
    UNLOCK;
    assert(inside[COMES] == 0);
    freed[COMES] = true;
    done++
}

init
{
    atomic {
        subscribed[STAYS] = true;
        run notes(false);
        run notes(true);
        run comes()
    }
    (done == 3);
    assert(events == LOSSES && seen[STAYS] == LOSSES && !delivering)
}
