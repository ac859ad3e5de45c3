/* tiff_api.h - the functions of libtiff in a table, and its types and constants, so that Weft is built without libtiff's
 * headers. tests/test_io_api.c compares tiff_api.def with the headers where they are installed.
 */
#ifndef WEFT_TIFF_API_H
#define WEFT_TIFF_API_H
#include <stdarg.h>
#include <stdint.h>

typedef struct tiff TIFF;
typedef struct TIFFOpenOptions TIFFOpenOptions;
typedef void *thandle_t;
typedef int64_t tmsize_t;
typedef uint64_t toff_t;
typedef int (*TIFFErrorHandlerExtR)(TIFF *, void *, const char *, const char *, va_list);
typedef tmsize_t (*TIFFReadWriteProc)(thandle_t, void *, tmsize_t);
typedef toff_t (*TIFFSeekProc)(thandle_t, toff_t, int);
typedef int (*TIFFCloseProc)(thandle_t);
typedef toff_t (*TIFFSizeProc)(thandle_t);
typedef int (*TIFFMapFileProc)(thandle_t, void **, toff_t *);
typedef void (*TIFFUnmapFileProc)(thandle_t, void *, toff_t);

#define WFL_FUNCTION(result, name, parameters)
#define WFL_CONSTANT(name, value) name = value,
enum {
#include "tiff_api.def"
};
#undef WFL_FUNCTION
#undef WFL_CONSTANT

struct wfl_tiff_functions {
#define WFL_FUNCTION(result, name, parameters) result(*name) parameters;
#define WFL_CONSTANT(name, value)
#include "tiff_api.def"
#undef WFL_FUNCTION
#undef WFL_CONSTANT
};
#endif
