/* pass.h - passes: the transforms of all lines along one axis (pass.c). pass_kernel.h has what their code needs. */
#ifndef WEFT_FFT_PASS_H
#define WEFT_FFT_PASS_H
#include "fft_internal.h"
#include "lib/array/array_internal.h"

typedef enum wfl_fft_kind {
    WFL_FFT_C2C,
    WFL_FFT_R2C,
    WFL_FFT_C2R,
    WFL_FFT_CHIRP, /* sums over the elements times powers of points on a spiral, by Bluestein's algorithm */
    /* A pass without a transform: from the transforms of real lines, as complex lines of half the length, to spectra,
     * and from spectra to what such transforms have, with parts swapped. */
    WFL_FFT_UNTANGLE,
    WFL_FFT_TANGLE
} wfl_fft_kind;

/* What the code of a pass depends on. Bytes that no field uses are 0, so that descriptions compare as bytes. */
typedef struct wfl_pass {
    int64_t n;         /* length of the lines in space: of real elements, where there are any */
    int64_t twist;     /* second length b of n b = N: results are multiplied by exp(-2 pi i k line / N); 0 = not */
    int64_t results;   /* of a line of WFL_FFT_CHIRP; else 0 */
    int64_t inner;     /* the extent of that axis, of WFL_FFT_C2C, where it is part of the code; 0 = any */
    wfl_chirp chirp;   /* of WFL_FFT_CHIRP */
    int32_t device;    /* of the recording */
    uint8_t kind;      /* wfl_fft_kind */
    uint8_t in, out;   /* dtypes of the arrays */
    uint8_t part;      /* dtype of the computation: f32 or f64 */
    uint8_t inverse;   /* bool; parts are swapped on the way in and on the way out */
    uint8_t scaled;    /* bool */
    uint8_t rows_in;   /* elements of a line are neighbours in x; else the elements of neighbouring lines are */
    uint8_t rows_out;  /* the same of y */
    uint8_t in_place;  /* x is y */
    uint8_t filtered;  /* forward, a filter, and back; x and y are columns */
    uint8_t started;   /* elements are multiplied by those of `start` before all else */
    uint8_t pairs_in;  /* x has real elements, two of which are one complex element; beside `inner` */
    uint8_t pairs_out; /* the same of y, with parts swapped */
    uint8_t reserved[7];
} wfl_pass;

/* The lengths of a line that fits into scratch (wfl_pass_fits). */
typedef struct wfl_lengths {
    int32_t core;    /* of the complex transform: n, or n/2 of even n beside real elements */
    int32_t results; /* `core`; of WFL_FFT_CHIRP as the pass says */
    int32_t chirps;  /* of Bluestein's algorithm: the larger one of `core` and `results`; 0 = not this algorithm */
    int32_t steps;   /* product of the radices: `core`, or the longer convolution of Bluestein's algorithm */
    wfl_chirp chirp;
    bool untangled;      /* real elements are the parts of complex ones, even ones real */
    wfl_radices radices; /* of `steps` */
} wfl_lengths;
wfl_lengths wfl_lengths_of(const wfl_pass *pass);
/* True if the pass is a butterfly that writes its results to rows, without scratch. */
bool wfl_pass_is_direct(const wfl_pass *pass);
/* True if a line of the pass fits into scratch. */
bool wfl_pass_fits(wf_context *ctx, const wfl_pass *pass);
/* Lines that a vector transforms side by side. */
int64_t wfl_pass_lanes(wf_context *ctx, wf_dtype part, wf_device device);

wfl_table wfl_table_of(const wfl_lengths *lengths);
/* Pairs that wfl_table_fill needs after those of the table. */
int64_t wfl_table_room(const wfl_lengths *lengths);
/* Writes at->pairs pairs. */
void wfl_table_fill(const wfl_lengths *lengths, const wfl_table *at, double *out);

/* What a pass is run with, besides its arrays. */
typedef struct wfl_with {
    double scale;
    const wf_array *start; /* complex [n]; NULL = none */
    int64_t first;         /* index of the first line along the outer axis, for filters */
} wfl_with;
/* Runs a pass. x and y: [outer, n, inner] in C order, n the extent in x and in y; with rows, inner lines of n elements:
 * [outer, inner, n]. */
wf_status wfl_pass_run(const wfl_pass *pass, wf_array *y, const wf_array *x, wfl_with with, const char *function);

/* A function of each element of a spectrum. */
typedef struct wfl_filter {
    wf_hook *hook; /* in[0]: an element of the spectrum; out[0]: the result; index: of the spectrum */
    void *user;
    wf_shape shape;   /* of the spectrum, or of a block of it */
    int axis;         /* of the pass */
    wf_array *origin; /* of the block, i64 for each axis, so that code serves all blocks; NULL = zeros */
} wfl_filter;
/* Records the filter for element k of the pass's axis. `outer` and `inner` are linear indices, in C order, over the axes
 * before and after it. Returns the result. */
wf_val wfl_filter_call(wf_graph *g, const wfl_filter *filter, wf_val outer, wf_val k, wf_val inner, wf_val v);
/* A prepared pass. */
typedef struct wfl_prepared wfl_prepared;
/* Prepares a filtered pass; NULL: an error. */
wfl_prepared *wfl_pass_prepare(wf_context *ctx, const wfl_pass *pass, const wfl_filter *filter, const char *function);
/* Runs a filtered pass in y, [outer, n, inner]. The filter sees indices from `first` on along the outer axis. */
wf_status wfl_prepared_run(const wfl_prepared *prepared, wf_array *y, double scale, int64_t first);
void wfl_prepared_free(wfl_prepared *prepared);
#endif
