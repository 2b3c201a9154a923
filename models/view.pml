/*
 * view.pml - how a lost node ends a job (src/cluster, src/runtime/drive): everybody that lives ends, for one reason, and nobody has a result
 * that others lack.
 *
 * NODES nodes; node 0 has the driver. Each of the others computes, then gives what it came to. The driver takes all of that, and tells all the
 * result; who has the result is through. One node may die at any time; its links end, which each of the others hears for itself, in any
 * order, and not before what the dead had sent them. Who hears of a loss before it is through ends the job for itself. The driver, when it
 * hears of one before it has everything, tells all others that the job is over; when it has told the result to all it is through.
 *
 * Checked: every node that lives ends; if nobody dies all are through; if a node that lives is through with the result then the driver had all
 * parts; nobody waits for ever; the driver never tells both a result and an end.
 *
 * -DMUTANT=1 a loss is not told to who waits. Must be refused: it waits for ever.
 * -DMUTANT=2 the driver takes a lost node for one that has given its part. Must be refused.
 * -DMUTANT=3 word of a loss overtakes what was sent before. Must be refused: a part that has come is not counted, and the driver ends a job
 *            that was whole.
 * -DMUTANT=4 the driver tells the result before it has everything. Must be refused.
 */
#ifndef NODES
#define NODES 3
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
mtype = { PART, RESULT, OVER, LOSS };

chan inbox[NODES] = [NODES * 3] of { mtype, byte };
bool dead[NODES], gave[NODES], through[NODES], gone[NODES];
bool has[NODES];   /* the driver has this node's part */
bool told_result = false, told_over = false;
byte deaths = 0;

inline die(me)
{
    dead[me] = true;
    deaths++;
    for (k : 0 .. NODES - 1) {
        if
#if MUTANT == 1
        :: k != me && k == 0 -> inbox[k] ! LOSS, me
#elif MUTANT == 3
        :: k != me -> inbox[k] !! LOSS, me
#else
        :: k != me -> inbox[k] ! LOSS, me
#endif
        :: else
        fi
    }
}

proctype node(byte me)
{
    byte k, from;
    mtype what;
    atomic {
        if
        :: inbox[0] ! PART, me; gave[me] = true
        :: deaths == 0 -> die(me); goto end
        fi
    }
    do
    :: atomic { inbox[me] ? what, from ->
           if
           :: what == RESULT -> through[me] = true; break
           :: what == OVER || what == LOSS -> gone[me] = true; break
           fi
       }
    :: atomic { deaths == 0 -> die(me); goto end }
    od;
end:
    skip
}

proctype driver()
{
    byte k, from, parts = 1;
    mtype what;
    has[0] = true;
    do
    :: atomic { parts == NODES ->
           for (k : 1 .. NODES - 1) {
               assert(has[k] || dead[k]);
               assert(gave[k]);
               inbox[k] ! RESULT, 0
           }
           told_result = true;
           through[0] = true;
           break
       }
#if MUTANT == 4
    :: atomic { parts == NODES - 1 -> parts = NODES }
#endif
    :: atomic { parts < NODES && inbox[0] ? [PART, from] -> inbox[0] ? PART, from; has[from] = true; parts++ }
    :: atomic { parts < NODES && inbox[0] ? [LOSS, from] -> inbox[0] ? LOSS, from;
#if MUTANT == 2
           if
           :: !has[from] -> has[from] = true; parts++
           :: else
           fi
#else
           /* A node that has given its part and died has nothing more to give: but the job has lost it, and says so. */
           assert(gave[from] == has[from]);
           for (k : 1 .. NODES - 1) {
               inbox[k] ! OVER, 0
           }
           told_over = true;
           gone[0] = true;
           break
#endif
       }
    :: atomic { deaths == 0 -> die(0); goto end }
    od;
end:
    skip
}

init
{
    byte n;
    atomic {
        run driver();
        for (n : 1 .. NODES - 1) {
            run node(n)
        }
    }
    /* All but this process have ended, or the state is no valid end. */
    (_nr_pr == 1);
    assert(!(told_result && told_over));
    for (n : 0 .. NODES - 1) {
        assert(dead[n] || through[n] || gone[n]);
        assert(deaths > 0 || through[n]);
        assert(!through[n] || told_result)
    }
}
