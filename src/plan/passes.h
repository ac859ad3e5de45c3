/* passes.h - the passes of planning, as passes.c lists them, and the data that they share. */
#ifndef WEFT_PLAN_PASSES_H
#define WEFT_PLAN_PASSES_H
#include "plan/plan.h"

typedef struct wf__planning {
    wf__plan *plan;
    const wf__recording *rec;
    const wf__bind *bind; /* [recording's objects] */
    wf__bind *all;        /* [objects and temporaries], once there are stages */
    uint32_t all_cap;
    uint32_t bound;         /* temporaries that `all` has */
    struct splitter *split; /* of an array graph, until it has been split */
    struct spacer *space;   /* of an index space, until it has been split */
} wf__planning;
/* True if ranks divide the points of stages. A plan that was not made of a recording has none. */
static inline bool wf__has_ranks(const wf__planning *p) { return p->rec && p->rec->group; }

/* ---- derived.c ---- */
bool wf__has_derived(const wf__recording *rec); /* true if there may be DERIVED nodes */
/* Sets *out to the recording without them; the other function frees what it owns, also after a failure. False = out of
 * memory. */
bool wf__without_derived(const wf__recording *rec, wf__recording *out);
void wf__without_derived_free(const wf__recording *rec, wf__recording *out);
/* ---- array graphs: src/plan/split ---- */
bool wf__pass_shapes(wf__planning *p);
bool wf__pass_dead_effects(wf__planning *p);
bool wf__pass_stored_views(wf__planning *p);
bool wf__pass_split(wf__planning *p);
void wf__split_print(const wf__planning *p, wf__str *out); /* the recording: shapes, dead nodes and stored values */
void wf__split_end(wf__planning *p);
/* ---- index spaces: src/plan/space ---- */
bool wf__pass_space(wf__planning *p);
bool wf__pass_loop_axes(wf__planning *p);
bool wf__pass_thread_blocks(wf__planning *p);
bool wf__pass_block_boxes(wf__planning *p);
bool wf__pass_sections(wf__planning *p);
void wf__space_print(const wf__planning *p, wf__str *out); /* the sections, as passes have changed them */
void wf__space_end(wf__planning *p);
/* ---- stage s: src/plan/scan, src/plan/kernel ---- */
bool wf__pass_scans(wf__planning *p, uint32_t s);
bool wf__pass_inner_axes(wf__planning *p, uint32_t s);
bool wf__pass_ordinary_arrays(wf__planning *p, uint32_t s); /* src/plan/distribute */
bool wf__pass_accumulations(wf__planning *p, uint32_t s);   /* src/plan/distribute */
bool wf__pass_gathers(wf__planning *p, uint32_t s);         /* src/plan/distribute */
bool wf__pass_images(wf__planning *p, uint32_t s);          /* src/plan/distribute */
bool wf__pass_cuts(wf__planning *p, uint32_t s);            /* src/plan/distribute */
bool wf__pass_layout(wf__planning *p, uint32_t s);
bool wf__pass_records(wf__planning *p, uint32_t s);
bool wf__pass_accumulate(wf__planning *p, uint32_t s);
bool wf__pass_expand(wf__planning *p, uint32_t s);
bool wf__pass_counters(wf__planning *p, uint32_t s);
bool wf__pass_partition(wf__planning *p, uint32_t s);
bool wf__pass_open_extents(wf__planning *p, uint32_t s);
bool wf__pass_number_arrays(wf__planning *p, uint32_t s);
/* ---- all stages ---- */
bool wf__pass_regions(wf__planning *p); /* src/plan/distribute */
bool wf__pass_schedule(wf__planning *p);

/* Makes `all` hold the temporaries that a pass has added. false: out of memory, which is the plan's error. */
bool wf__planning_bind(wf__planning *p);
#endif
