/* zlib_api.h - the functions of zlib in a table, and its types and constants, so that Weft is built without zlib's header.
 * tests/test_io_api.c compares zlib_api.def with the header where it is installed.
 */
#ifndef WEFT_ZLIB_API_H
#define WEFT_ZLIB_API_H

typedef void *(*zlib_allocate)(void *, unsigned, unsigned);
typedef void (*zlib_free)(void *, void *);

#define WFL_FUNCTION(result, name, parameters)
#define WFL_CONSTANT(name, value)
#define WFL_MEMBER(type, name) type name;
typedef struct z_stream {
#include "zlib_api.def"
} z_stream;
#undef WFL_MEMBER
#define WFL_MEMBER(type, name)

#undef WFL_CONSTANT
#define WFL_CONSTANT(name, value) name = value,
enum {
#include "zlib_api.def"
};
#undef WFL_CONSTANT
#define WFL_CONSTANT(name, value)

#undef WFL_FUNCTION
#define WFL_FUNCTION(result, name, parameters) result(*name) parameters;
struct wfl_zlib_functions {
#include "zlib_api.def"
};
#undef WFL_FUNCTION
#undef WFL_CONSTANT
#undef WFL_MEMBER

#define ZLIB_VERSION "1" /* zlib compares the first digit with its own */
#endif
