/* update.h - updates of elements that several lanes or threads may share: ACCUM, ATOMIC, CAS.
 *
 * update_element.c updates one element, or a vector of distinct elements. update_private.c accumulates into memory that
 * only this thread touches. emit_update.c and emit_packet.c choose between them.
 */
#ifndef WEFT_UPDATE_H
#define WEFT_UPDATE_H
#include "codegen/memory.h"

typedef struct wf__update_op {
    wf__instance *in;
    const wf__node *n;
    unsigned dtype, join, with; /* with: dtype of the values */
    int spread, together;       /* as wf__private says; 1 if the memory is not private */
    bool plain;                 /* needs no atomic operations */
    val mask;                   /* active lanes; NULL = all */
    wf__address at;
    wf__ref value, expected; /* expected: of CAS; else 0 */
} wf__update_op;

/* Everything but `at`. */
wf__update_op wf__describe_update(wf__instance *in, wf__ref r);

/* ---- update_element.c. Elements are as in memory, values as in registers. ---- */
/* join(old, value), as in memory. */
val wf__join_values(wf__gen *g, unsigned join, unsigned dtype, int w, val old, val value);
val wf__load_element(wf__gen *g, unsigned dtype, val p);
void wf__store_element(wf__gen *g, unsigned dtype, val p, val v);
/* Update an element, and return its old value. */
val wf__update_element(wf__gen *g, unsigned join, unsigned dtype, val p, val value);
val wf__update_atomically(wf__gen *g, unsigned join, unsigned dtype, val p, val value);
val wf__exchange_element(wf__gen *g, bool plain, unsigned dtype, val p, val expected, val desired); /* CAS */
/* A complex number, its parts one after the other. */
void wf__update_parts(const wf__update_op *u, val p, val value);
/* v, with the neutral element of the join where `mask` is off. */
val wf__select_neutral(const wf__update_op *u, val mask, val v);
/* Updates the elements of all lanes at once, which must be distinct. */
void wf__update_vector(const wf__update_op *u, const wf__address *at);

/* ---- update_private.c ---- */
/* Returns false, and emits nothing, if all lanes update one element: other code is better then. */
bool wf__update_private(const wf__update_op *u);
/* Byte offsets of the lanes from *base, as i32. Uniform indices are added to *base. NULL = all lanes are at *base. */
val wf__private_offsets(const wf__update_op *u, val *base);
val wf__private_lane(const wf__update_op *u, val base, val offset, int l); /* the address of lane l's element */
#endif
