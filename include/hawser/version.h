/* version.h - the version of Hawser. */
#ifndef HAWSER_VERSION_H
#define HAWSER_VERSION_H

#include "hawser/status.h"

#define HAWSER_VERSION_MAJOR 0
#define HAWSER_VERSION_MINOR 1
#define HAWSER_VERSION_PATCH 0
#define HAWSER_VERSION       "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the version of the loaded library, which may differ from the HAWSER_VERSION at compile time. */
HAWSER_API const char *hawser_version(void);

/** Returns the digest of the public headers that the library was built from, without comments and white space. Libraries
 *  with the same digest have the same structs and calls. A binding refuses a library with another digest than its own. */
HAWSER_API const char *hawser_headers_digest(void);

#ifdef __cplusplus
}
#endif
#endif
