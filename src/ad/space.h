/* space.h - derivatives of whole operators over an index space. Reverse mode: what each read of an array contributes to
 * the array's derivative, and where. Forward mode: the derivative of what each store stores. */
#ifndef WEFT_AD_SPACE_H
#define WEFT_AD_SPACE_H
#include "ad/ad.h"

typedef enum wf__read_kind {
    WF__READ_NOTHING, /* contributes 0 */
    WF__READ_UNIFORM, /* all points read one element: a sum over the points */
    WF__READ_SHIFTED, /* each element is read by one point, which its indices show: the contribution is computed there */
    WF__READ_ANY      /* the contribution is accumulated by index */
} wf__read_kind;

typedef struct wf__ad_access { /* reverse mode: a read of a wanted array; forward mode: a store of an output */
    wf__ref node;              /* of wf__ad_space.ir */
    wf__ref derivative;        /* of the loss with respect to the read; or of what is stored, in the direction */
    uint32_t object;
    /* reverse mode */
    uint8_t kind;
    uint32_t tuple; /* indices of the element that is read; 0 = the array has rank 0 */
    wf__ref inside; /* where it is an element; 0 = at all points */
    /* SHIFTED: index a of the element is start[a] + step[a] * (index axis[a] of the point). */
    uint8_t axis[WF_MAX_RANK];
    int64_t start[WF_MAX_RANK], step[WF_MAX_RANK];
} wf__ad_access;

typedef struct wf__ad_operator { /* an operator and what is wanted of it */
    const char *function;
    const wf__ir *ir; /* section CALL of a recording over an index space */
    wf_shape space;
    const wf_shape *shape;     /* [objects] shapes of the arrays */
    uint32_t objects;          /* arrays of the recording */
    const uint32_t *out, *wrt; /* [outs], [wrts] objects */
    /* Dtypes of the seeds: the upstream arrays of outs, or the directions of wrt. Seed k is object `objects` + k. */
    const uint8_t *seed;
    uint32_t outs, wrts;
    /* Dtypes of the results. Reverse mode: that of wrt[k] is object `objects` + outs + k of wf__ad_space.ir, into which loops
     * accumulate. Forward mode: that of outs[k] is object `objects` + wrts + k, which loops change. */
    const uint8_t *result;
    bool (*record)(void *user, wf__ir *ir, const wf__custom_call *call, wf__ref *result); /* as that of wf__ad_task */
    void *user;
} wf__ad_operator;

typedef struct wf__ad_space {
    const wf__ad_operator *of;
    wf__ir ir;            /* straight code over the operator's space, which also reads the seeds */
    uint32_t *derivative; /* [objects] 1 + the slot of the array's derivative, or direction; 0 = none */
    uint32_t *effects;    /* [objects] wf__ad_task.effects; NULL = no loop changes an output */
    wf__ad_access *access;
    uint32_t access_n;
} wf__ad_space;

/* Reverse and forward mode. False: out->ir has failed. */
bool wf__ad_space_begin(const wf__ad_operator *of, wf__ad_space *out);
bool wf__ad_tangents_begin(const wf__ad_operator *of, wf__ad_space *out);
void wf__ad_space_free(wf__ad_space *s);

/* Records values of wf__ad_space.ir in another recording, at another point. */
typedef struct wf__emitter {
    const wf__ad_space *from;
    wf__ir *to;
    uint32_t (*slot)(void *user, uint32_t object, bool element); /* a slot of `to` */
    void *user;
    wf__ref index[WF_MAX_RANK]; /* nodes of `to`: the point of the operator's space */
    wf__ref within;             /* where it is one; 0 = everywhere */
    bool own;                   /* the point is the recording's own, in the same space */
    bool twice;                 /* the recording may be differentiated: derivatives that the program gives stay */
    bool accumulates;           /* what loops store and accumulate in derivatives is recorded, too */
    /* 1 + an array, and its derivative: where loops store to the array, zeros are stored to the derivative. */
    uint32_t zeroed, zeros;
    wf__ref *map;  /* [nodes of from->ir] */
    wf__ref *loop; /* [nodes of from->ir] the outermost loop around the node; 0 = none */
} wf__emitter;
bool wf__emitter_begin(wf__emitter *e); /* false = out of memory; `map` is to be freed */
wf__ref wf__emit(wf__emitter *e, wf__ref r);
/* Records the loops with effects on derivatives. */
void wf__emit_effects(wf__emitter *e);
uint32_t wf__emit_tuple(wf__emitter *e, uint32_t tuple);
/* Returns the contribution of a SHIFTED read to the element at the point of `to`, 0 where no point reads it. */
wf__ref wf__emit_shifted(wf__emitter *e, const wf__ad_access *read);
#endif
