/* emit.h - the contract of emitting one node, and one function per kind of node.
 *
 * wf__emit_level emits the nodes of one level in order, and calls one of these functions for each. Such a function
 * gets its operands by wf__get_scalar and wf__get_vector, emits at the builder's position, and leaves its result in
 * in->scalar[r] or in->vector[r]. It may end in another basic block than it began in. Uniform parts may go to the block
 * of their level instead, provided the builder returns. A failure is reported by wf__gen_fail; emission goes on.
 *
 * No function of this header calls wf__emit_level, and nothing below calls up: gen.h <- kernel_emitter.h <- instance.h
 * <- memory.h <- update.h <- emit.h. No circle of files exists.
 */
#ifndef WEFT_EMIT_H
#define WEFT_EMIT_H
#include "codegen/memory.h"

void wf__emit_level(wf__instance *in, int level); /* emit_node.c: all nodes of that level */

/* ---- memory ---- */
void wf__emit_load(wf__instance *in, wf__ref r);
void wf__emit_store(wf__instance *in, const wf__node *n);
void wf__emit_local(wf__instance *in, wf__ref r); /* LOCAL, PUT, GET */
/* A LOAD whose border mode maps indices, along a row, in BORDER. Returns false, and emits nothing, for other loads. */
bool wf__emit_edge_load(wf__instance *in, wf__ref r);
/* BORDER on [lo, hi) of a row, in whose block the builder is: finds the loads along the row that need no test for each
 * vector. Returns whether all their lanes are within the length of the array beyond an end of it; NULL: always. *step: the
 * most active lanes of a vector. */
val wf__find_edge_runs(wf__instance *in, val lo, val hi, val *step);
/* At the start of a vector: finds where these loads begin. Ends in another basic block, in->inner, if `near` is given. */
void wf__place_edge_runs(wf__instance *in, val near);
/* After the active lanes are known. */
void wf__mask_edge_runs(wf__instance *in);
void wf__emit_update(wf__instance *in, wf__ref r); /* ACCUM, ATOMIC, CAS */
void wf__emit_packet_load(wf__instance *in, const wf__packet *packet);
void wf__emit_packet_store(wf__instance *in, const wf__packet *packet);
void wf__emit_packet_update(wf__instance *in, const wf__packet *packet);

/* ---- prefetch.c ---- */
void wf__emit_prefetch(wf__instance *in, wf__ref r); /* a LOAD for which wf__is_prefetch holds */
/* Prefetches what the row reads later, beside a LOAD at `at` of a slot with `flows`. */
void wf__prefetch_row(wf__instance *in, const wf__node *load, const wf__address *at);

/* ---- emit_narrow.c: arithmetic on lane indices in 32 bits, in INTERIOR ---- */
bool wf__is_narrow(const wf__instance *in, wf__ref r); /* true if 32-bit lane indices suffice for node r */
int64_t wf__narrow_limit(const wf__instance *in);      /* wf__is_narrow is right for lane indices below this */
val wf__emit_narrow(wf__instance *in, wf__ref r);
/* True if r is 0 <= *index < *extent, where the index varies and the extent does not. */
bool wf__is_range_test(const wf__instance *in, wf__ref r, wf__ref *index, wf__ref *extent);
val wf__emit_range_test(wf__instance *in, wf__ref index, wf__ref extent);

/* ---- emit_cold.c ---- */
enum { WF__MOST_SITES = 8 };
/* The number of COLD nodes at the start of `order` that can share a branch, at most WF__MOST_SITES. */
uint32_t wf__count_cold_run(const wf__instance *in, const uint32_t *order, uint32_t n);
void wf__emit_cold(wf__instance *in, const uint32_t *order, uint32_t n); /* emits such a run */

/* ---- emit_loop.c ---- */
void wf__emit_loop(wf__instance *in,
                   wf__ref r); /* LOOP with its STATEs, END with its NEXTs; a STATE or NEXT itself emits nothing */
bool wf__is_tested(const wf__instance *in, wf__ref r); /* true if the header of the open loop has tested r */

/* ---- emit_reduce.c: accumulators are on the stack between rows and in registers (phis) during INTERIOR's inner loop.
 * If the lane axis is kept, the results in memory are the accumulators, in registers for one step of the loop. ---- */
bool wf__make_accumulators(wf__kernel_emitter *kernel);                 /* in the entry block; false = out of memory */
void wf__clear_accumulators(wf__kernel_emitter *kernel);                /* sets them to the neutral elements */
void wf__locate_results(wf__instance *in);                              /* at the start of a row */
void wf__enter_loop_accumulators(wf__instance *in, bb before, bb loop); /* makes the phis of `loop` */
void wf__close_loop_accumulators(wf__instance *in, bb latch);           /* completes them */
void wf__leave_loop_accumulators(wf__instance *in);                     /* after the loop: back to the stack */
void wf__emit_red(wf__instance *in, wf__ref r);
void wf__emit_setred(wf__instance *in, const wf__node *n);
/* Joins the lanes, and stores the results of the point at `index` of the kept axes (NULL = no axis is kept). */
void wf__store_results(wf__kernel_emitter *kernel, const val *index);
#endif
