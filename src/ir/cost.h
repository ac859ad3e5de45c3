/* cost.h - the costs of nodes: one table for planning, rewriting and code generation. The numbers are estimates that
 * decide between ways to compute the same bits. */
#ifndef WEFT_IR_COST_H
#define WEFT_IR_COST_H
#include "ir/ir.h"

typedef enum wf__cost_class {
    WF__COST_MISSING,
#define WF_COST(name, ...) WF__COST_##name,
#define WF_COST_BY_DTYPE(name, ...) WF__COST_##name,
#include "ir/cost.def"
#undef WF_COST
#undef WF_COST_BY_DTYPE
    WF__COST_CLASSES
} wf__cost_class;

typedef struct wf__cost { /* columns of cost.def */
    uint8_t recompute, masked, code, work, cycles, instructions;
    bool is_long;
} wf__cost;

enum { WF__NEVER_MASKED = UINT8_MAX }; /* masked: branch around the node */

wf__cost_class wf__cost_class_of(const wf__node *n);
const wf__cost *wf__cost_of(const wf__node *n);
/* Returns the code size of an access whose lanes are neither at one place nor side by side, in units of
 * wf__cost.code. */
unsigned wf__code_apart(const wf__node *access);
/* Returns the bytes of memory that a node accesses at one point. */
unsigned wf__cost_bytes(const wf__node *n);
/* Returns wf__cost.recompute for a GPU, in additions of 32 bits. */
uint32_t wf__cost_recompute_on_gpu(const wf__node *n);
/* Returns how often a node runs at one point, with an estimated number of turns of each loop around it. */
uint64_t wf__turns_of(const wf__ir *ir, wf__ref r);
/* Return sums over all nodes: of wf__cost.recompute, and of wf__cost.work at one point with an estimated number of
 * turns of each loop. */
uint32_t wf__cost_recompute_of_all(const wf__ir *ir);
uint64_t wf__work_of_point(const wf__ir *ir);
#endif
