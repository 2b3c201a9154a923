/*
 * slot.pml - one-sided puts into slots that end in sequence and checksum (src/transport/segment), in all interleavings.
 *
 * A sender makes PUTS puts into SLOTS slots of the receiver's memory; put n goes to slot n % SLOTS. It writes data, generation, sequence
 * and checksum one by one in any order whatever: nothing below keeps one. It may die between any two words; a successor goes on
 * with the next put. The receiver reads word by word meanwhile. It retires the segment at any time: from then on it reads fresh memory under
 * the next generation, into which the sender goes on putting for the old one until it hears of that. The checksum is perfect here: it names
 * the words that it was made of.
 *
 * Checked: what a read gives back is one put, whole; meant for the segment's generation; newer than what was read before; and when nobody
 * has died and nobody writes any more, the last put is found.
 *
 * -DMUTANT=1 the reader does not compare the checksum. Must be refused.
 * -DMUTANT=2 the reader looks whether the sequence is still the same after copying, in place of the checksum. Must be refused: words have
 *            no order.
 * -DMUTANT=3 the reader does not compare generations. Must be refused.
 * -DMUTANT=4 the reader takes a put that is not newer than what it has. Must be refused.
 * -DMUTANT=5 the checksum does not cover the generation. Must be refused.
 */
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef PUTS
#define PUTS 3
#endif
#ifndef LOOKS
#define LOOKS 2
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#define WORDS 4 /* 0: data; 1: generation; 2: sequence; 3: checksum */
#define DATA(n, g) ((n) + 8 * (g)) /* says what it was put as */

#if MUTANT == 5
#define DIGEST(d, g, s) (1 + (d) + 512 * (s))
#else
#define DIGEST(d, g, s) (1 + (d) + 64 * (g) + 512 * (s))
#endif

short memory[SLOTS * WORDS];
byte generation = 1; /* the receiver's */
bool died = false, over = false;

active proctype sender()
{
    byte n, left, own = 1;
    for (n : 1 .. PUTS) {
        left = 15;
        do
        :: left & 1 -> atomic { left = left - 1; memory[(n % SLOTS) * WORDS] = DATA(n, own) }
        :: left & 2 -> atomic { left = left - 2; memory[(n % SLOTS) * WORDS + 1] = own }
        :: left & 4 -> atomic { left = left - 4; memory[(n % SLOTS) * WORDS + 2] = n }
        :: left & 8 -> atomic { left = left - 8; memory[(n % SLOTS) * WORDS + 3] = DIGEST(DATA(n, own), own, n) }
        :: left > 0 && left < 15 && !died -> atomic { died = true; left = 0 }
        :: left == 0 -> break
        od;
        if
        :: own = generation /* it hears of the new one */
        :: skip
        fi
    }
    over = true
}

active proctype receiver()
{
    byte seen = 0, look, slot;
    short word[WORDS], again;
    bool whole, quiet;
    for (look : 1 .. LOOKS) {
        quiet = over && !died && generation == 1;
        for (slot : 0 .. SLOTS - 1) {
            word[3] = memory[slot * WORDS + 3];
            word[1] = memory[slot * WORDS + 1];
            word[2] = memory[slot * WORDS + 2];
            word[0] = memory[slot * WORDS];
#if MUTANT == 2
            again = memory[slot * WORDS + 2];
#endif
            d_step {
                whole = word[2] != 0;
#if MUTANT == 2
                whole = whole && again == word[2];
#elif MUTANT != 1
                whole = whole && word[3] == DIGEST(word[0], word[1], word[2]);
#endif
#if MUTANT != 3
                whole = whole && word[1] == generation;
#endif
#if MUTANT != 4
                whole = whole && word[2] > seen;
#endif
                if
                :: whole ->
                    assert(word[0] == DATA(word[2], word[1]));
                    assert(word[1] == generation);
                    assert(word[2] > seen);
                    seen = word[2]
                :: else
                fi;
                whole = false; again = 0; word[0] = 0; word[1] = 0; word[2] = 0; word[3] = 0
            }
        }
        assert(!quiet || seen == PUTS);
        if
        :: generation == 1 ->
            d_step {
                generation = 2;
                seen = 0;
                for (slot : 0 .. SLOTS * WORDS - 1) {
                    memory[slot] = 0
                }
                slot = 0
            }
        :: skip
        fi
    }
}
