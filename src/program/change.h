/* change.h - a change of a policy in words, for plans, traces and JSON. */
#ifndef HW_PROGRAM_CHANGE_H
#define HW_PROGRAM_CHANGE_H

#include "hawser/advanced.h"
#include "program/program.h"

typedef enum hw_change_value { HW_CHANGE_WORD, HW_CHANGE_NUMBER, HW_CHANGE_COUNT } hw_change_value;

typedef struct hw_change_words {
    const char *what;      /* "sync", "work", "share" (of a block), or of a state "quota", "encoding" or "gain" */
    hw_change_value value; /* what the old and the new value are */
    double numbers[2];     /* unless they are words */
    char texts[2][HW_SYNC_TEXT];
} hw_change_words;

hw_change_words hw_change_in_words(const hawser_policy_change *change);

#endif
