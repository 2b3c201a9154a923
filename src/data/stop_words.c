#include "data/stop_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/format/text_word.h"
#include "data/source/input.h"

/* Function words of English: articles, pronouns, prepositions, conjunctions, auxiliary verbs and adverbs of degree, place
 * and time, with the pieces that apostrophes leave. */
static const char english[] =
    "a about above across after again against ago ain all almost alone along already also although always am among an "
    "and another any anybody anyone anything anywhere are aren around as at away be became because become becomes been "
    "before behind being below beside besides between beyond both but by can cannot could couldn did didn do does doesn "
    "doing don done down during each either else enough even ever every everybody everyone everything everywhere except "
    "few for from further had hadn has hasn have haven having he her here hers herself him himself his how however i if "
    "in indeed instead into is isn it its itself just least less let ll many may maybe me might mightn mine more most "
    "much must mustn my myself near needn neither never no nobody none nor not nothing now nowhere of off often on once "
    "one only onto or other others otherwise ought our ours ourselves out over own per perhaps quite rather re really "
    "same shall shan she should shouldn since so some somebody somehow someone something sometimes somewhere still such "
    "than that the their theirs them themselves then there therefore these they this those though through throughout "
    "thus to together too toward towards under unless until up upon us ve very via was wasn we well were weren what "
    "whatever when whenever where wherever whether which while who whoever whole whom whose why will with within without "
    "won would wouldn yet you your yours yourself yourselves";

static hawser_status put_english(hw_levels *words, hawser_error *error)
{
    uint32_t number;
    for (const char *at = english; *at != '\0'; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        HAWSER_TRY(hw_levels_put(words, at, length, &number, error));
        at += length;
    }
    return HAWSER_OK;
}

/* Cuts a line into words. */
static hawser_status put_words(const char *path, const char *at, const char *end, hw_levels *words, hawser_error *error)
{
    hw_cutter cutter = {.at = at, .end = end, .least = 1};
    hawser_status status = HAWSER_OK;
    for (bool found = true; status == HAWSER_OK && found;) {
        uint32_t number;
        status = hw_cut_word(&cutter, &found, error);
        if (status == HAWSER_OK && found)
            status = hw_levels_put(words, cutter.word, cutter.length, &number, error);
    }
    if (status == HAWSER_OK && cutter.bad != NULL)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: the word '%.*s' is not UTF-8", path, (int)(end - at), at);
    free(cutter.word);
    return status;
}

/* Takes a line, without blanks around it, as one word. */
static hawser_status put_line(const char *at, const char *end, hw_levels *words, hawser_error *error)
{
    char *lower = NULL;
    uint32_t number;
    while (at < end && strchr(" \t\r", *at) != NULL)
        at++;
    while (end > at && strchr(" \t\r", end[-1]) != NULL)
        end--;
    if (at == end)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&lower, (size_t)(end - at) + 1, "a word", error));
    const size_t length = hw_lower_text(at, (size_t)(end - at), lower);
    const hawser_status status = hw_levels_put(words, lower, length, &number, error);
    free(lower);
    return status;
}

static hawser_status put_lines(const char *path, const char *at, const char *end, bool cut, hw_levels *words,
                               hawser_error *error)
{
    if (end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    for (const char *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        if (memchr(at, '\0', (size_t)(stop - at)) != NULL)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is not a file of words, because it has zero bytes", path);
        HAWSER_TRY(cut ? put_words(path, at, stop, words, error) : put_line(at, stop, words, error));
    }
    return words->count > 0 ? HAWSER_OK : hawser_fail(error, HAWSER_BAD_INPUT, "%s: has no words", path);
}

hawser_status hw_stop_words(const char *spec, bool cut, hw_levels *words, hawser_error *error)
{
    enum { MOST = 64 << 20 }; /* bytes of such a file */
    hw_input input;
    hw_budget budget;
    const char *text;
    void *buffer = NULL;
    size_t bytes, capacity = 0;
    if (strcmp(spec, "english") == 0)
        return put_english(words, error);
    if (!hw_is_file(spec))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--stop-words %.600s: is no file; write english, or the name of a file with one word per line",
                           spec);
    hw_budget_init(&budget, 4 * (uint64_t)MOST);
    hawser_status status = hw_input_open(&input, &spec, 1, &budget, error);
    HAWSER_THEN(status, hw_input_whole(&input, 0, MOST, &text, &bytes, &buffer, &capacity, error));
    if (status == HAWSER_OK && bytes > MOST)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: has more than 64 MiB, which is no list of stop words", spec);
    HAWSER_THEN(status, put_lines(spec, text, text + bytes, cut, words, error));
    hw_pages_free(&budget, buffer, capacity);
    hw_input_close(&input);
    return status;
}

hawser_status hw_is_stop_word(const hw_levels *words, const char *name, char **text, size_t *size, bool *is,
                              hawser_error *error)
{
    const size_t length = strlen(name);
    uint32_t number;
    HAWSER_TRY(HW_GROW(text, size, length + 1, "a word", error));
    *is = hw_levels_find(words, *text, hw_lower_text(name, length, *text), &number);
    return HAWSER_OK;
}
