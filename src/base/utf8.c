#include "base/utf8.h"

#include <stdint.h>

bool hw_is_utf8(const char *text)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        unsigned more = *at < 0x80 ? 0 : (*at & 0xe0) == 0xc0 ? 1 : (*at & 0xf0) == 0xe0 ? 2 : (*at & 0xf8) == 0xf0 ? 3 : 4;
        if (more == 4)
            return false;
        uint32_t point = more == 0 ? *at : *at & (0x3fU >> more);
        at++;
        for (unsigned i = 0; i < more; i++, at++) {
            if ((*at & 0xc0) != 0x80)
                return false;
            point = point << 6 | (*at & 0x3fU);
        }
        if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
            return false;
    }
    return true;
}

bool hw_has_control(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    for (; *at != '\0'; at++)
        if (*at < 0x20 || *at == 0x7f || (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0))
            return true;
    return false;
}
