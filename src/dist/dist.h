/* dist.h - distributed arrays: their memory, and what ranks exchange before and during a launch.
 *
 * A file calls files to its left, never to its right:
 *
 *     copy group exchange array redistribute beside
 *
 * What ranks need of each other is decided in the plan (src/plan/distribute); src/launch/distribute.c runs it.
 */
#ifndef WEFT_DIST_INTERNAL_H
#define WEFT_DIST_INTERNAL_H
#include "object/object.h"
#include "weft/distributed.h"

/* ---- copy.c: boxes of elements ---- */
wf__box wf__block_of(const wf_array *a, int rank); /* the block of a rank of a distributed array */
/* Copies a box of elements between two arrays of any strides. from, to: addresses of the elements [0, ..., 0], which may
 * lie outside of the memory. */
typedef struct wf__elements {
    uintptr_t base;
    const int64_t *stride;
} wf__elements;
void wf__box_copy(const wf__box *box, int rank, size_t size, wf__elements from, wf__elements to);
wf__elements wf__elements_of(const wf_array *a);
/* The same elements of `size` bytes, with indices that are larger by `shift`. */
wf__elements wf__elements_shifted(wf__elements e, const int64_t *shift, int rank, size_t size);
/* Elements of `size` bytes that lie in C order from `memory` on; sets their strides. */
wf__elements wf__elements_packed(char *memory, const wf__box *box, int rank, size_t size, int64_t *stride);
/* Sets the strides of elements that lie in C order in a box. Returns the number of elements from the first one to element
 * [0, ..., 0]. */
int64_t wf__box_strides(const wf__box *box, int rank, int64_t *stride);

/* ---- group.c: what the arrays over a group of ranks share ---- */
typedef struct wf__dist_group {
    struct wf__dist_group *next;
    wf_ranks *ranks;
    int64_t refs;     /* number of arrays, under the context's lock */
    uint64_t *agreed; /* hashes of the launches that all ranks have planned, an open table */
    size_t agreed_n, agreed_cap;
    uint32_t exchanges; /* number of exchanges that were made, the same on all ranks */
    void *scratch;      /* memory for what ranks tell each other: 16 bytes for each rank */
} wf__dist_group;
/* NULL = out of memory. */
wf__dist_group *wf__dist_group_get(wf_context *ctx, wf_ranks *ranks);
void wf__dist_group_release(wf_context *ctx, wf__dist_group *group);
/* True if all ranks have agreed on a launch with this hash before. */
bool wf__dist_agreed(const wf__dist_group *group, uint64_t hash);
/* All ranks learn whether they plan the same launch, and whether one has failed; `status` and `text`: this rank's failure.
 * Returns WF_OK on all ranks, or an error on all, with `failure` set. */
wf_status wf__dist_agree(wf__dist_group *group, uint64_t hash, wf_status status, const char *text,
                         wf__failure *failure);
/* Ends the group of the array's ranks, since this one has no memory for what the others wait for. */
void wf__dist_group_end(const wf_array *a, const char *text);
/* For wf__others. Messages between two ranks have this tag; exchanges have lower ones. */
enum { WF__TAG_CARRIES = WF_TAG_MAX };
bool wf__dist_agree_on(void *group, int64_t mine, int64_t *all, wf__failure *failure);
bool wf__dist_gather(void *group, void *all, const size_t *bytes, const size_t *offset, wf__failure *failure);
bool wf__dist_all_to_all(void *group, const wf__parcels *out, const wf__parcels *in, wf__failure *failure);
bool wf__dist_send(void *group, int to, const void *data, size_t bytes, wf__failure *failure);
bool wf__dist_receive(void *group, int from, void *data, size_t bytes, wf__failure *failure);

/* ---- exchange.c: elements that ranks read from the blocks of others ---- */
typedef struct wf__exchange wf__exchange;
/* Returns the exchange in which each rank gets what it needs; makes it if there is none. *made: it is new. NULL with *made
 * false: no rank needs elements of another one; with *made true: out of memory. */
wf__exchange *wf__exchange_for(wf_array *a, wf__needs *need, bool *made);
void wf__exchange_drop(wf_array *a, wf__exchange *exchange); /* frees an exchange of the array */
/* True if the elements have been exchanged since the array was written. The same on all ranks. */
bool wf__exchange_is_fresh(const wf_array *a, const wf__exchange *exchange);
/* Begins an exchange of elements of the array; `status`: this rank's, which others learn with their elements. */
wf_status wf__exchange_begin(const wf_array *a, wf__exchange *exchange, wf_status status);
/* Waits for it, and writes the elements into the array or a part of it. to: NULL = nowhere. *failed: the rank that sent a
 * failure and no elements, whose status is returned; -1: none did. */
wf_status wf__exchange_end(wf__exchange *exchange, wf_array *to, int *failed);
/* Lets its messages make progress. Returns true if some are on their way. The end reports a failure of them. */
bool wf__exchange_poll(wf__exchange *exchange);
void wf__exchanges_free(wf__exchange *first);

/* ---- array.c ---- */
/* Gives the array memory for the elements of the box. False = failure, in *status, with the context's error set. */
bool wf__distributed_hold(wf_array *a, const wf__box *box, wf_status *status);
void wf__distributed_free(wf_context *ctx, wf__distributed *distributed);
/* Returns an array that is distributed as `a` is, with memory for the elements of the box alone; a launch reads them there.
 * NULL = out of memory, with the context's error set. */
wf_array *wf__distributed_part(const wf_array *a, const wf__box *box);
void wf__distributed_copy_own(const wf_array *a, wf_array *part); /* copies what the part has of this rank's block */
/* Returns an array that is distributed so over the group of `like`. Ranks need not agree: where there is no memory for the
 * block, the first launch asks again. NULL = no memory for the handle, with the context's error set. */
wf_array *wf__distributed_like(const wf_array *like, wf_dtype dtype, const wf_dist *dist);

/* ---- beside.c ---- */
/* Finds an operand whose distribution the result gets, if the grid divides no axis that has a single index in the result alone:
 * one of the same shape, else of as many axes. dropped: axes of the operands' space that the result has not; 0 = none. NULLs
 * and ordinary arrays are passed over. False = there is none, and out->like is NULL. */
bool wf__dist_beside_operands(const wf_array *const *operand, size_t n, wf_axes dropped, const wf_shape *shape,
                              wf__beside *out);
/* Cuts a result of another number of axes over the group of an operand, or NULL: where axis k of the operand goes along axis
 * along[k] of the result (-1 = along none), as that is cut; other axes as wf_dist_make does. */
void wf__dist_beside_group(const wf_array *operand, const int along[WF_MAX_RANK], const wf_shape *shape,
                           wf__beside *out);
#endif
