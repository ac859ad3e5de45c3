/* update.h - what the files that emit ACCUM, ATOMIC and CAS share. */
#ifndef WEFT_UPDATE_H
#define WEFT_UPDATE_H
#include "codegen/body.h"

typedef struct wf__change {
    wf__inst *in;
    const wf__node *n;
    unsigned dtype, join, with; /* with: dtype of the values */
    int spread, together;       /* of private memory; else 1 */
    bool plain;                 /* no atomic operations */
    val mask;                   /* NULL: all lanes */
    wf__where at;
    wf__ref value, expected; /* expected: CAS */
} wf__change;

wf__change wf__change_of(wf__inst *in, wf__ref r); /* without `at` */
/* join(old, value), both as they are in memory and in registers; the result as in memory. */
val wf__joined(wf__gen *g, unsigned join, unsigned dtype, int w, val old, val value);
val wf__update_plainly(wf__gen *g, unsigned join, unsigned dtype, val p, val value); /* what was there */
val wf__neutral_where_off(const wf__change *u, val mask, val v);
/* Lanes that differ, or have elements of their own side by side. */
void wf__change_vector(const wf__change *u, const wf__where *at);

/* ---- private.c ---- */
bool wf__in_private(const wf__change *u); /* false: not the way to do it */
/* Byte offsets from *base, as i32, without what is uniform: that is added to *base. NULL: nothing else. */
val wf__private_offsets(const wf__change *u, val *base);
val wf__private_lane(const wf__change *u, val base, val offset, int l); /* the address of lane l's element */
#endif
