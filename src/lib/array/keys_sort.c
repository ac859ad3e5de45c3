/* keys_sort.c - sorting and selecting keys of 32 and of 64 bits: keys_sort.inc twice. */
#include "keys.h"
#include <string.h>

enum { SHORT = 40, MANY = 1500, MOST_BITS = 11, MOST_DIGITS = 1 << MOST_BITS }; /* fewer than MANY: digits of 8 bits */

#define KEY uint32_t
#define NAME(x) x##32
#include "keys_sort.inc"
#undef KEY
#undef NAME
#define KEY uint64_t
#define NAME(x) x##64
#include "keys_sort.inc"
