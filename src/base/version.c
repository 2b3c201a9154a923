/* version.c - the version of the library. */
#include "hawser/version.h"

const char *hawser_version(void)
{
    return HAWSER_VERSION;
}
