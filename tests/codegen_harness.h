/* codegen_harness.h - runs one body in the interpreter and as generated code, with guard pages around every array, and
 * compares all bytes. */
#ifndef WEFT_CODEGEN_HARNESS_H
#define WEFT_CODEGEN_HARNESS_H
#include "plan/kernel.h"

enum { MOST_ARRAYS = 64, MOST_CODES = 192 };
typedef struct test_array {
    unsigned dtype;
    int rank;
    int64_t dim[WF_MAX_RANK], stride[WF_MAX_RANK]; /* in elements, >= 0 */
    bool aligned;                                  /* at 64 bytes; else it ends where the readable memory ends */
    bool reversed;                                 /* all strides negated */
    bool indices;                                  /* filled with small integers around 0..index_limit */
    int64_t index_limit;
} test_array;

typedef struct test_case {
    const char *name;
    wf__ir ir;
    test_array array[MOST_ARRAYS]; /* one per slot */
    uint64_t param[64];
    int64_t extent[WF_MAX_RANK], lo[WF_MAX_RANK], hi[WF_MAX_RANK];
    wf__code_options options;          /* the target is set by the harness */
    struct wf__code *code[MOST_CODES]; /* compiled once for all boxes: by library, target and kind */
} test_case;

/* A slot with C-order strides; unit step along the last axis unless the array says otherwise. */
uint32_t test_slot(test_case *t, unsigned dtype, int rank, const int64_t *dim, bool element);
/* The tuple of all loop indices. */
uint32_t test_here(test_case *t);
/* A tuple of 1..3 refs (0: not there). */
uint32_t test_tuple(test_case *t, wf__ref a, wf__ref b, wf__ref c);
/* The whole space is the box. */
void test_space(test_case *t, int rank, int64_t a, int64_t b, int64_t c);

/* Compares on every instruction set that this machine has. `everywhere`: with every LLVM library, else the first. Fails
 * the cmocka test on a difference. Between calls for one case only boxes and parameters may change. */
void test_compare(test_case *t, bool everywhere);
/* If set, runs each body in place of generated code: on these arrays, one per slot, with the values of reductions in
 * acc. Returns false if it did not run; then nothing is compared. */
typedef struct test_memory {
    unsigned char *at;
    size_t bytes;
    wf__mem mem;
} test_memory;
extern bool (*test_instead)(const test_case *t, const test_memory *memory, uint64_t *acc);
/* Run tests, and return how many failed. */
int codegen_operations(void); /* codegen_cases.c: every operation on every dtype */
int codegen_bodies(void);     /* codegen_cases.c: everything else */
int codegen_borders(void);
int codegen_loops(void);
/* Frees the ir and the code. */
void test_end(test_case *t);
/* Opens the libraries; skips the running test when there is none. */
void test_need_llvm(void);
void test_close_llvm(void);
#endif
