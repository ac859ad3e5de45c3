/* foreign.h - the libraries behind PNG, TIFF and gzip, which the first such file opens. A program that touches no such file
 * starts without them, and without the dozen libraries behind libtiff, and runs where they are not installed.
 *
 * A format declares the functions that it uses, so that Weft is built without the library's header. A soname stands for
 * one interface, which is the one that is declared: libpng 1.6, libtiff 4.5 and later, zlib 1.
 */
#ifndef WEFT_IO_FOREIGN_H
#define WEFT_IO_FOREIGN_H
#include "io_internal.h"

typedef struct wfl_foreign_function {
    const char *name;
    void *pointer; /* to the function pointer to set */
} wfl_foreign_function;

typedef struct wfl_foreign {
    const char *soname[2]; /* the names to try, in order; NULL: no second one */
    const char *format;    /* for messages */
    const wfl_foreign_function *function;
    size_t functions;
    _Atomic bool ready;
} wfl_foreign;

/* Opens the library and fills the table, once; the library stays open. Any thread may call it. WF_ERR_UNSUPPORTED: the
 * library is not installed. */
wf_status wfl_foreign_open(wfl_foreign *library, wf_context *ctx, const char *path);
#endif
