/* phases.h - the phases of generating one kernel, in their order. llvm.c runs the first two, then wf__emit_kernel,
 * which runs the others. */
#ifndef WEFT_PHASES_H
#define WEFT_PHASES_H
#include "codegen/instance.h"

/* ---- choose_tile.c ---- */
int wf__choose_width(const wf__ir *body, const wf__vary *vary, const uint8_t *live, const wf__target *target);
void wf__choose_tile(wf__gen *g, const wf__ir *body, const wf__vary *vary, const uint8_t *live, int *rows,
                     int *columns);

/* ---- loops.c ---- */
/* rows x columns: the tile of INTERIOR; 0 x 0 = BORDER computes everything. */
bool wf__emit_kernel(wf__gen *g, const wf__ir *body, int rows, int columns);

/* ---- schedule.c ---- */
void wf__schedule_nodes(wf__instance *in, int registers); /* sets in->order */

/* ---- prefetch.c ---- */
/* Finds what to prefetch: a body with the indices of scattered accesses, each as a LOAD. It may be empty. Returns false
 * when out of memory. The caller frees `out` in either case. */
bool wf__find_prefetches(const wf__ir *body, wf__ir *out);
/* Sets the lane index of a PREFETCH instance: some points beyond `lane`, at most `last`. */
void wf__set_prefetch_index(wf__instance *in, val lane, val last);

/* ---- find_packets.c ---- */
bool wf__find_packets(wf__instance *in); /* after scheduling; false = out of memory */

/* ---- interior.c ---- */
bool wf__find_interior(wf__kernel_emitter *kernel); /* sets interior_lo and interior_hi, at level 0 */
#endif
