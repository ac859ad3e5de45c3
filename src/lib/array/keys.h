/* keys.h - real elements as unsigned integers of the same order: sorting and selection need one code for all dtypes. */
#ifndef WEFT_ARRAY_KEYS_H
#define WEFT_ARRAY_KEYS_H
#include "array_internal.h"

/* Elements of up to 32 bits have keys of 32 (in their low bits), others of 64. NaN is the largest key of its width, in
 * either direction. */
static inline bool wfl_key_is_wide(wf_dtype t) { return wf_dtype_size(t) == 8; }
static inline wf_dtype wfl_key_dtype(wf_dtype t) { return wfl_key_is_wide(t) ? WF_U64 : WF_U32; }
void wfl_keys_of(wf_dtype dtype, bool descending, const void *from, int64_t n, void *keys);
void wfl_keys_to(wf_dtype dtype, bool descending, const void *keys, int64_t n, void *to);
/* The same of values of a recording. */
wf_val wfl_key_of(wf_val element, bool descending);
wf_val wfl_element_of(wf_val key, wf_dtype dtype, bool descending);
static inline uint64_t wfl_largest_key(wf_dtype t) { return ~(uint64_t)0 >> (64 - 8 * wf_dtype_size(t)); }

/* Sorts n keys of `bits` bits; `other` is room for as many. With `index` (and room for as many), 0 to n - 1 are moved
 * along: stable. */
void wfl_sort32(uint32_t *key, uint32_t *other, int64_t *index, int64_t *other_index, int64_t n, int bits);
void wfl_sort64(uint64_t *key, uint64_t *other, int64_t *index, int64_t *other_index, int64_t n, int bits);
/* The key of rank k in ascending order (0: the least); keys of `bits` bits. `other` is room for as many, lost. */
uint32_t wfl_select32(const uint32_t *key, uint32_t *other, int64_t n, int64_t k, int bits);
uint64_t wfl_select64(const uint64_t *key, uint64_t *other, int64_t n, int64_t k, int bits);
/* The key of rank k + 1 < n, when that of rank k is x. */
uint32_t wfl_next32(const uint32_t *key, int64_t n, int64_t k, uint32_t x);
uint64_t wfl_next64(const uint64_t *key, int64_t n, int64_t k, uint64_t x);

/* sort_long.c: sorts n elements in place with all threads, or with `index` leaves them and gives their order. */
enum { WFL_LONG_ROW = 1 << 18 };
wf_status wfl_sort_long(wf_context *ctx, wf_dtype dtype, bool descending, void *data, int64_t n, int64_t *index);
/* sort_gpu.c: consumes keys [rows, n] of `bits` bits, in C order in a GPU's memory, and returns them sorted along the
 * rows, or with `indices` their order, u32 or i64. Stable. NULL: error. */
wf_array *wfl_sort_gpu(wf_array *keys, int bits, bool indices);
#endif
