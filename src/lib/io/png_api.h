/* png_api.h - the functions of libpng in a table, and its types and constants, so that Weft is built without libpng's
 * header. tests/test_io_api.c compares png_api.def with the header where it is installed.
 */
#ifndef WEFT_PNG_API_H
#define WEFT_PNG_API_H
#include <stddef.h>
#include <stdint.h>

typedef struct png_struct_def png_struct, *png_structp;
typedef struct png_info_def png_info, *png_infop;
typedef void (*png_error_ptr)(png_structp, const char *);
typedef void (*png_rw_ptr)(png_structp, uint8_t *, size_t);
typedef void (*png_flush_ptr)(png_structp);

#define WFL_FUNCTION(result, name, parameters)
#define WFL_CONSTANT(name, value) name = value,
enum {
#include "png_api.def"
};
#undef WFL_FUNCTION
#undef WFL_CONSTANT

struct wfl_png_functions {
#define WFL_FUNCTION(result, name, parameters) result(*name) parameters;
#define WFL_CONSTANT(name, value)
#include "png_api.def"
#undef WFL_FUNCTION
#undef WFL_CONSTANT
};

/* libpng compares the first two numbers with its own. */
#define PNG_LIBPNG_VER_STRING "1.6.0"
#endif
