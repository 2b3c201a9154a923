#include "data/format/text_word.h"

#include "base/memory.h"

/* Letters and digits of ASCII in lower case; 0: separates words. */
static const unsigned char ascii[128] = {
    ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4', ['5'] = '5', ['6'] = '6', ['7'] = '7', ['8'] = '8',
    ['9'] = '9', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd', ['E'] = 'e', ['F'] = 'f', ['G'] = 'g', ['H'] = 'h',
    ['I'] = 'i', ['J'] = 'j', ['K'] = 'k', ['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o', ['P'] = 'p', ['Q'] = 'q',
    ['R'] = 'r', ['S'] = 's', ['T'] = 't', ['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y', ['Z'] = 'z',
    ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f', ['g'] = 'g', ['h'] = 'h', ['i'] = 'i',
    ['j'] = 'j', ['k'] = 'k', ['l'] = 'l', ['m'] = 'm', ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q', ['r'] = 'r',
    ['s'] = 's', ['t'] = 't', ['u'] = 'u', ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y', ['z'] = 'z'};

/* Characters with a lower-case letter: from first to last, each `step`-th, plus `shift`. In ascending order. */
static const struct {
    uint16_t first, last, step;
    int16_t shift;
} upper[] = {
    {0x00c0, 0x00d6, 1, 32}, {0x00d8, 0x00de, 1, 32},   /* Latin-1 */
    {0x0100, 0x012e, 2, 1},  {0x0130, 0x0130, 1, -199}, /* Latin Extended-A; the dotted capital I becomes i */
    {0x0132, 0x0136, 2, 1},  {0x0139, 0x0147, 2, 1},    /* and its other pairs, */
    {0x014a, 0x0176, 2, 1},  {0x0178, 0x0178, 1, -121}, /* Y with a diaeresis, whose small letter is in Latin-1 */
    {0x0179, 0x017d, 2, 1},  {0x0386, 0x0386, 1, 38},   /* Greek, first the letters with accents */
    {0x0388, 0x038a, 1, 37}, {0x038c, 0x038c, 1, 64},   {0x038e, 0x038f, 1, 63},
    {0x0391, 0x03a1, 1, 32}, {0x03a3, 0x03ab, 1, 32},   {0x0400, 0x040f, 1, 80}, /* Cyrillic */
    {0x0410, 0x042f, 1, 32},
};

uint32_t hw_lower(uint32_t character)
{
    if (character < sizeof ascii)
        return ascii[character] != 0 ? ascii[character] : character;
    for (size_t k = 0; k < sizeof upper / sizeof *upper && character >= upper[k].first; k++)
        if (character <= upper[k].last)
            return (character - upper[k].first) % upper[k].step == 0 ? character + (uint32_t)upper[k].shift : character;
    return character;
}

/* Returns whether a character beyond ASCII separates words: signs of Latin-1, punctuation and symbols, and those of Chinese
 * and Japanese. */
static bool separates(uint32_t character)
{
    return (character >= 0x80 && character <= 0xbf) || (character >= 0x2000 && character <= 0x2bff) ||
           (character >= 0x3000 && character <= 0x303f);
}

static bool follows(const char *at, const char *end)
{
    return at < end && ((unsigned char)*at & 0xc0) == 0x80;
}

/* Reads a character beyond ASCII. Returns its bytes; 0: they are no UTF-8, as overlong forms and surrogates are not. */
static size_t read_character(const char *at, const char *end, uint32_t *character)
{
    const unsigned char first = (unsigned char)*at;
    const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (first < 0xc2 || first > 0xf4)
        return 0;
    uint32_t read = first & (0x7fU >> bytes);
    for (size_t k = 1; k < bytes; k++) {
        if (!follows(at + k, end))
            return 0;
        read = read << 6 | ((unsigned char)at[k] & 0x3fU);
    }
    if (read < least[bytes] || read > 0x10ffff || (read >= 0xd800 && read <= 0xdfff))
        return 0;
    *character = read;
    return bytes;
}

/* Writes the lower-case letter of a character of `bytes` bytes at `at`, which takes no more bytes. Returns how many it
 * took. */
static size_t put_lower(uint32_t character, const char *at, size_t bytes, char *to)
{
    const uint32_t lower = hw_lower(character);
    if (lower < 0x80) {
        to[0] = (char)lower;
        return 1;
    }
    if (bytes == 2) {
        to[0] = (char)(0xc0 | lower >> 6);
        to[1] = (char)(0x80 | (lower & 0x3f));
        return 2;
    }
    for (size_t k = 0; k < bytes; k++)
        to[k] = at[k];
    return bytes;
}

/* Cuts the run of letters and digits that begins next, if there is one. Returns the number of its characters. */
static hawser_status cut_run(hw_cutter *c, uint64_t *characters, hawser_error *error)
{
    c->length = 0;
    *characters = 0;
    for (; c->at < c->end; *characters += (c->length > 0)) {
        const unsigned char byte = (unsigned char)*c->at;
        uint32_t character = byte;
        const size_t bytes = byte < 0x80 ? 1 : read_character(c->at, c->end, &character);
        if (bytes == 0) {
            c->bad = c->at;
            break;
        }
        if (byte < 0x80 ? ascii[byte] == 0 : separates(character)) {
            if (c->length > 0)
                break;
            c->at += bytes;
            continue;
        }
        if (c->length + 5 > c->capacity)
            HAWSER_TRY(HW_GROW(&c->word, &c->capacity, c->length + 64, "a word", error));
        c->length += put_lower(character, c->at, bytes, c->word + c->length);
        c->at += bytes;
    }
    return HAWSER_OK;
}

hawser_status hw_cut_word(hw_cutter *cutter, bool *found, hawser_error *error)
{
    uint64_t characters = 0;
    *found = false;
    while (cutter->at < cutter->end && cutter->bad == NULL && !*found) {
        HAWSER_TRY(cut_run(cutter, &characters, error));
        *found = cutter->length > 0 && characters >= cutter->least && cutter->bad == NULL;
    }
    if (!*found)
        return HAWSER_OK;
    cutter->word[cutter->length] = '\0';
    cutter->hash = hw_word_hash(cutter->word, cutter->length);
    return HAWSER_OK;
}

size_t hw_lower_text(const char *text, size_t length, char *to)
{
    size_t written = 0;
    for (const char *at = text, *end = text + length; at < end;) {
        const unsigned char byte = (unsigned char)*at;
        uint32_t character = byte;
        const size_t bytes = byte < 0x80 ? 1 : read_character(at, end, &character);
        if (bytes == 0)
            to[written++] = *at++;
        else
            written += put_lower(character, at, bytes, to + written);
        at += bytes;
    }
    return written;
}

uint64_t hw_word_hash(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t k = 0; k < length; k++)
        hash = (hash ^ (unsigned char)text[k]) * 0x100000001b3;
    return hash ^ hash >> 29;
}
