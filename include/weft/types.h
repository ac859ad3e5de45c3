/* types.h - dtypes, devices, shapes, joins, and the handles and values that all other headers use.
 * Reference: docs/reference/types.md */
#ifndef WF_TYPES_H
#define WF_TYPES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WF_API __declspec(dllimport)
#elif defined(__GNUC__)
#define WF_API __attribute__((visibility("default")))
#else
#define WF_API
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef struct wf_context wf_context;
typedef struct wf_array wf_array;
typedef struct wf_graph wf_graph;
typedef struct wf_kernel wf_kernel;
typedef struct wf_frozen wf_frozen;
typedef struct wf_stream wf_stream;
typedef struct wf_event wf_event;
typedef struct wf_site wf_site;
/* A function that records: an operator's (operator.h), or one that is called (control.h). It may neither end the recording
 * nor evaluate it (WF_ERR_CONTRACT). */
typedef void wf_hook(const wf_site *site);

/* Types of elements. A bool is one byte, 0 or 1. f16 and bf16 are computed in f32 and rounded once.
 * c32, c64 and c128 are pairs (real, imaginary) of f16, f32 and f64.
 * Source: docs/numerics.md says what each operation means for every dtype. */
typedef enum wf_dtype {
    WF_NONE,
    WF_BOOL,
    WF_I8,
    WF_U8,
    WF_I16,
    WF_U16,
    WF_I32,
    WF_U32,
    WF_I64,
    WF_U64,
    WF_F16,
    WF_BF16,
    WF_F32,
    WF_F64,
    WF_C32,
    WF_C64,
    WF_C128
} wf_dtype;
/* A name such as "f32"; "unknown" past the last dtype. Never NULL. */
WF_API const char *wf_dtype_name(wf_dtype dtype);
/* Bytes of an element; 0 for WF_NONE and past the last dtype. */
WF_API size_t wf_dtype_size(wf_dtype dtype);
typedef enum wf_kind {
    WF_KIND_NONE,
    WF_KIND_BOOL,
    WF_KIND_SIGNED,
    WF_KIND_UNSIGNED,
    WF_KIND_FLOAT,
    WF_KIND_COMPLEX
} wf_kind;
/* The kind of a dtype; WF_KIND_NONE for WF_NONE and past the last dtype. */
WF_API wf_kind wf_dtype_kind(wf_dtype dtype);
/* The dtype of the parts of complex numbers; for other dtypes the dtype itself. */
WF_API wf_dtype wf_dtype_part(wf_dtype dtype);
/* True if a C number of this value can stand beside values of the dtype.
 * Floats and complex numbers take any number, integers a whole one in range, its magnitude below 2^53, bools 0 and 1.
 * False for WF_NONE. */
WF_API bool wf_number_fits(double value, wf_dtype dtype);

/* A device; 0 = the context's default, for wf_wrap WF_CPU. */
typedef int32_t wf_device;
#ifdef __cplusplus
#define WF__DEVICE(n) (wf_device(n))
#else
#define WF__DEVICE(n) ((wf_device)(n))
#endif
/* The processor. */
#define WF_CPU WF__DEVICE(1)
/* The reference interpreter: one thread, any machine, the same results. */
#define WF_INTERP WF__DEVICE(2)
/* NVIDIA GPU number n, by its driver, which is opened at the first use. Arrays are in the GPU's memory.
 * Results have the same bits as elsewhere, except sums of floats where points of an accumulation meet.
 * Waits: work without a stream is done in order; streams run side by side (stream.h). */
#define WF_GPU(n) WF__DEVICE(256 + (n))
/* The same by the PTX emulator (docs/emulator.md): slow, on any machine.
 * Errors: finds accesses out of bounds, reads of memory that nothing has written, and data races. */
#define WF_GPU_EMU(n) WF__DEVICE(512 + (n))

#define WF_MAX_RANK 8
typedef struct wf_shape {
    int32_t rank, reserved;
    int64_t dim[WF_MAX_RANK];
} wf_shape; /* frozen */
/* Writes "(3, 4)" to buf, cut to cap bytes; "?" for an extent that a formal leaves open, "()" for NULL. */
WF_API void wf_shape_text(const wf_shape *shape, char *buf, size_t cap);
/* A set of axes: bit d is set for axis d. Example: WF_AXES(0, 2) */
typedef uint32_t wf_axes;
#define WF_ALL_AXES 0xffu
#define WF_DROP_AXES 0x80000000u /* in a mask of axes to reduce: results do not have them */

/* How two values are joined in reductions, accumulation and atomics.
 * WF_JOIN_EXCH and WF_JOIN_INC are for wf_atomic only. */
typedef enum wf_join {
    WF_JOIN_CUSTOM,
    WF_JOIN_ADD,
    WF_JOIN_MUL,
    WF_JOIN_MIN,
    WF_JOIN_MAX,
    WF_JOIN_AND,
    WF_JOIN_OR,
    WF_JOIN_XOR,
    WF_JOIN_EXCH, /* the new value instead of the old */
    WF_JOIN_INC   /* adds 1; the value is ignored */
} wf_join;

/* ---- values -----------------------------------------------------------------------------------------------------
 * A value or variable, passed in two registers. graph == NULL: the number `num`, weakly typed; a complex one uses both
 * fields. Else `num` is the id of a node (> 0), of a variable (< 0), or 0 for poison.
 * The nesting lets WF_V(x) accept a wf_val, a wf_var or any C number, evaluated once, without _Generic.
 * Errors: a value of another graph, or poison, poisons the graph that it is given to. */
typedef struct wf_var {
    double num;
    wf_graph *graph;
} wf_var; /* frozen */
typedef struct wf_val {
    wf_var h;
} wf_val; /* frozen */

typedef struct wf_vals {
    const wf_val *at;
    size_t n;
} wf_vals;
typedef struct wf_arrays {
    wf_array *const *at;
    size_t n;
} wf_arrays;
/* The member of wf_arg.as that holds an argument. */
typedef enum wf_arg_kind {
    WF_ARG_ARRAY = 1,
    WF_ARG_VALUE = 2,
    WF_ARG_NUMBER = 3,
    WF_ARG_I64 = 4, /* an integer that a double would round */
    WF_ARG_U64 = 5
} wf_arg_kind;
typedef struct wf_arg {
    const char *name;
    int32_t kind, reserved; /* wf_arg_kind; 0 */
    union {
        wf_array *array;
        wf_val val;
        double num;
        int64_t i64;
        uint64_t u64;
    } as;
} wf_arg;
typedef struct wf_args {
    const wf_arg *at;
    size_t n;
} wf_args;

#ifdef __cplusplus
}
#endif
#endif
