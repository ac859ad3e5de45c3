/* keys_sort.c - sorting and selecting keys: includes keys_sort.inc for 32 and for 64 bits. */
#include "keys.h"
#include <string.h>

/* rows below MANY keys: digits of 8 bits */
enum { SHORT = 40, MANY = 1500, MOST_BITS = 11, MOST_DIGITS = 1 << MOST_BITS };

#define KEY uint32_t
#define NAME(x) x##32
#include "keys_sort.inc"
#undef KEY
#undef NAME
#define KEY uint64_t
#define NAME(x) x##64
#include "keys_sort.inc"
