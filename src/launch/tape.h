/* tape.h - a tape: tape.c fills it while its thread launches, tape_grad.c goes back through it. */
#ifndef WEFT_TAPE_H
#define WEFT_TAPE_H
#include "launch/again.h"
#include "weft/derivative.h"

typedef struct wf__noted { /* a launch */
    wf__recorded kept;     /* of a rule, the name alone */
    bool blocks;           /* the recording has other sections, or scratch; its arrays are not kept */
    uint32_t n;            /* arrays */
    wf_array **array;      /* [n] the program's arrays, retained */
    wf_array **before;     /* [n] contents before the launch; NULL = the launch does not read them */
    uint32_t *memory;      /* [n] 1 + the number of the array's memory on the tape; 0 = it has no derivative */
    int64_t *at;           /* [n] number of the first element in that memory */
    bool *varies;          /* [n] the memory depended on a watched array before the launch */
    bool *stored;          /* [n] */
    /* A call of a rule for arrays, in place of a launch: its inputs are the first `ins` arrays. */
    wf_array_rule rule; /* size 0: a launch */
    uint32_t ins;
    wf_array **after;            /* [n - ins] contents of the outputs after the call */
    void (*release)(void *user); /* frees rule.user with the tape; NULL = the program owns it */
} wf__noted;

typedef struct wf__tape_memory { /* memory that depends on a watched array */
    wf_array *array;             /* an array of it, retained */
    int64_t first;               /* number of that array's first element in the memory */
    int64_t count;               /* elements of the memory */
    bool watched;                /* an array of it is one of wf_tape_begin */
    wf_array *adjoint;           /* [count] derivatives, while wf_tape_grad runs; NULL = 0 */
} wf__tape_memory;

struct wf_tape {
    wf_context *ctx;
    wf_tape *next; /* of wf__launcher.taping, under the context's lock */
    wf__thread thread;
    bool noting, busy;
    wf__tape_memory *memory;
    uint32_t memory_n, memory_cap;
    wf__noted *step;
    uint32_t step_n, step_cap;
    wf_status status; /* first error */
    char text[400];
};

/* Calls a rule, which has .call and a name, as wf_custom_arrays does. release: frees rule->user, which is the tape's if the
 * call is noted, and freed after the call otherwise; NULL = the program owns it. */
wf_status wf__call_rule(wf_context *ctx, const wf_array_rule *rule, void (*release)(void *user), wf_arrays in,
                        wf_arrays out);
/* Returns 1 + the number of the memory that the array is a part of, and sets *at to the number of its first element
 * there; 0 = none. */
uint32_t wf__tape_memory_of(wf_tape *t, const wf_array *a, int64_t *at);
#endif
