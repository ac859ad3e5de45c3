/* fortran.h - libraries with Fortran's interface, such as BLAS and LAPACK. They are never linked: the first use opens
 * one, and a new value of the environment variable that names it opens another; earlier ones stay open.
 *
 * Integers are passed by address, as 64 bits. A library with 32-bit integers uses the lower half, which comes first on
 * little-endian machines; other machines find no library. Results that are integers are set to 0 before.
 */
#ifndef WEFT_ARRAY_FORTRAN_H
#define WEFT_ARRAY_FORTRAN_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { WFL_FORTRAN_MOST = 32, WFL_FORTRAN_TEXT = 1024 };

typedef struct wfl_fortran {
    const char *variable;                         /* of the environment: the path of a library, or "none" */
    const char *const *usual;                     /* libraries that are tried if it is unset; NULL ends the list */
    bool (*usable)(void *handle, const char *so); /* whether a usual library is wanted */
    const char *const *routines;                  /* names such as "dgemm"; NULL ends the list */
    pthread_mutex_t lock;
    bool tried, found;
    char name[WFL_FORTRAN_TEXT]; /* the variable's value when a library was looked for */
    char why[WFL_FORTRAN_TEXT];  /* why there is none */
    void *function[WFL_FORTRAN_MOST];
} wfl_fortran;

/* Copies the addresses of all routines to `functions`. False, with the reason in `why`, if there is no library; *named:
 * the variable names one that cannot be used. */
bool wfl_fortran_find(wfl_fortran *library, void **functions, char why[WFL_FORTRAN_TEXT], bool *named);
#endif
