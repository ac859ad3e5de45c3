/* memory.h - how the lanes of one access reach memory: addresses, masks, and loads and stores of vectors.
 *
 * An access node is emitted in three steps. mask.c finds the lanes that may access memory, and maps their indices if a
 * border mode does so. address.c classifies where the elements of the lanes lie. vector_memory.c then picks the
 * cheapest instructions for this pattern and mask. An inactive lane never touches the array: the processor masks the
 * access, or the lane accesses the dummy element on the stack.
 */
#ifndef WEFT_CODEGEN_MEMORY_H
#define WEFT_CODEGEN_MEMORY_H
#include "codegen/instance.h"

/* ---- address.c ---- */
/* Places of the elements of the lanes: one element for all lanes, neighbours in ascending or descending order, one
 * stride from lane to lane, or an offset per lane. */
typedef enum wf__lane_pattern {
    WF__ONE_ELEMENT,
    WF__ASCENDING,
    WF__DESCENDING,
    WF__STRIDED,
    WF__SCATTERED
} wf__lane_pattern;
typedef struct wf__address {
    wf__lane_pattern pattern;
    val base;    /* address of lane 0; SCATTERED: the address that offsets are added to */
    val stride;  /* STRIDED: bytes from lane to lane */
    val offset;  /* SCATTERED: vector of i64 */
    bool scaled; /* true if offsets count elements, not bytes */
} wf__address;
/* mapped: indices that replace those of the tuple, because of a border mode (NULL = none of them). mapped_wide: true
 * where the replacement is a vector. */
wf__address wf__make_address(wf__instance *in, uint32_t slot, uint32_t tuple, const val *mapped,
                             const bool *mapped_wide);
void wf__lane_pointers(wf__gen *g, unsigned dtype, const wf__address *at, val out[WF__LANES]);
/* Addresses of all lanes as a vector of i64; inactive lanes get that of the dummy element. mask: NULL = all active. */
val wf__lane_addresses(wf__instance *in, unsigned dtype, const wf__address *at, val mask);
/* The same as pointers, lane by lane. */
void wf__active_pointers(wf__instance *in, unsigned dtype, const wf__address *at, val mask, val out[WF__LANES]);
/* Stores vector v into stack room number `which` (0 to 2), so that lanes are read back by address. */
val wf__spill_lanes(wf__instance *in, int which, val v);

/* ---- mask.c ---- */
/* The lanes that may access memory: the conjunction of the tests that are not NULL. */
typedef struct wf__guard {
    val scalar, vector;
    bool early;   /* the scalar is known once per row */
    bool uniform; /* the load is done once for all lanes, in any loop */
} wf__guard;
/* Tests and maps the indices of a LOAD with a border mode. */
void wf__guard_indices(wf__instance *in, const wf__node *n, wf__guard *guard, val *mapped, bool *wide);
void wf__guard_predicate(wf__instance *in, wf__ref predicate, wf__guard *guard);
val wf__guard_mask(wf__instance *in, const wf__guard *guard); /* NULL = all lanes */
/* The active lanes of load n, whose indices the guard has tested. NULL = all lanes. */
val wf__load_mask(wf__instance *in, const wf__node *n, wf__guard *guard);
/* The active lanes of a store or update. predicate: 0 = none. Returns NULL = all lanes. */
val wf__effect_mask(wf__instance *in, wf__ref predicate);

/* ---- map_index.c ---- */
/* The index in 0 .. dim-1 that `index` stands for under a border mode; dim >= 1. */
val wf__map_index(wf__gen *g, unsigned border, val index, val dim, int w);
/* The index shifted by periods of the border mode into -dim .. dim-1, so that it and all indices after it stand for the
 * same elements as before. CLAMP has no period: the index stays. */
val wf__shift_index(wf__gen *g, unsigned border, val index, val dim);

/* ---- vector_memory.c. A mask of NULL means all lanes; values are as in memory (bools are bytes). ---- */
bool wf__has_masked(const wf__gen *g, unsigned dtype); /* true if the processor masks such loads and stores */
val wf__load_masked(wf__gen *g, LLVMTypeRef vector, val p, unsigned align, val mask, val other);
void wf__store_masked(wf__gen *g, val v, val p, unsigned align, val mask);
/* True if one instruction gives each lane of a vector the value of any other one. */
bool wf__has_permutation(const wf__gen *g, unsigned dtype);
/* What that instruction takes, from the lane that each lane gets the value of (i32). */
val wf__permutation(wf__gen *g, unsigned dtype, val lanes);
val wf__permute_lanes(wf__gen *g, unsigned dtype, val v, val permutation);
/* other: value of the inactive lanes. dummy: memory that inactive lanes may read. */
val wf__load_vector(wf__gen *g, unsigned dtype, const wf__address *at, val mask, val other, val dummy);
void wf__store_vector(wf__instance *in, unsigned dtype, const wf__address *at, val mask, val v);
void wf__store_past_cache(wf__gen *g, unsigned dtype, const wf__address *at, val v); /* ASCENDING or DESCENDING */
val wf__load_outside(wf__instance *in, const wf__node *load); /* the value beyond the array, in every lane */
val wf__to_memory(wf__gen *g, unsigned dtype, int w, val v);
val wf__from_memory(wf__gen *g, unsigned dtype, int w, val v);
static inline unsigned wf__memory_dtype(unsigned dtype) { return dtype == WF_BOOL ? WF_U8 : dtype; }
#endif
