/* version.c - the version of Weft, a part of every key of the kernel cache. */
#include "weft/weft.h"

#ifndef WEFT_VERSION
#define WEFT_VERSION "0.1.0"
#endif

const char *wf_version(void) { return WEFT_VERSION; }
