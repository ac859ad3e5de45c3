/* frozen.h - a frozen sequence: freeze.c fills it while it notes launches, replay.c runs it. */
#ifndef WEFT_FROZEN_H
#define WEFT_FROZEN_H
#include "launch/launch.h"

typedef struct wf__frozen_step { /* one launch */
    wf__plan_entry *plan;        /* used */
    bool interpret;
    wf__gpu *gpu;  /* NULL = the processor */
    char *name;    /* label of the recording; NULL = none */
    wf__str where; /* place of the recording, for messages */
    /* per object of the plan */
    uint32_t *array; /* number of its array in wf_frozen.array */
    bool *written;
    uint64_t *param; /* bits of the parameters */
    /* for the arrays that are bound now (replay.c) */
    char **base;
    wf__prepared call;
} wf__frozen_step;

typedef struct wf__frozen_input { /* properties that an input of a replay must have */
    wf_dtype dtype;
    wf_shape shape;
    bool written; /* a launch writes it, or a view of it */
    wf_device device;
    bool viewed;                 /* the sequence uses views of it, so its strides must stay */
    int64_t stride[WF_MAX_RANK]; /* if `viewed` */
} wf__frozen_input;

typedef struct wf__frozen_alias { /* a view of an input; each replay with other inputs makes it anew */
    uint32_t number, input;       /* numbers of the view and of the input in wf_frozen.array */
    int64_t offset;               /* bytes from the input's first element */
    wf_dtype dtype;
    wf_shape shape;
    int64_t stride[WF_MAX_RANK];
    bool read_only;
} wf__frozen_alias;

struct wf_frozen {
    wf_context *ctx;

    /* while it is noted, by one thread (freeze.c) */
    wf_frozen *next; /* next of wf__launcher.freezing, under the context's lock */
    wf__thread thread;
    wf_array **filled; /* arrays that the host has filled; retained */
    uint32_t filled_n, filled_cap;
    wf_status status; /* first error */
    char text[1200];

    /* the sequence, complete after wf_freeze_end */
    wf__frozen_step *step;
    uint32_t step_n, step_cap;
    wf_array **array; /* the inputs, retained only while it is noted; then all other arrays, retained */
    uint32_t array_n, array_cap, inputs;
    wf__frozen_input *expected; /* [inputs] */
    int64_t *apart;             /* wf__frozen_distance of each two inputs, in the order of wf__frozen_pair */
    wf__frozen_alias *alias;
    uint32_t alias_n, alias_cap;

    /* state of the latest replay, under `lock` (replay.c) */
    wf__mutex lock;
    uint64_t *id; /* ids of the inputs bound now; 0 = none */
    bool bound;   /* calls and addresses of the steps hold for these inputs */
    bool turned;  /* `turned` of the latest replay, see wf__cpu_run_prepared */
};

enum { WF__FROZEN_APART = INT64_MIN }; /* a distance: the two share no memory */

/* Returns the number of the pair of inputs i and j < i. */
static inline size_t wf__frozen_pair(uint32_t i, uint32_t j) { return (size_t)i * (i - 1) / 2 + j; }
/* Returns the bytes from b's first element to a's, if they share memory; else WF__FROZEN_APART. */
int64_t wf__frozen_distance(const wf_array *a, const wf_array *b);
/* Releases the views of inputs in the table. */
void wf__frozen_drop_aliases(wf_frozen *f);
#endif
