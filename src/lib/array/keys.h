/* keys.h - real elements as unsigned integers (keys) of the same order, so that sorting and selection exist once for
 * all dtypes. */
#ifndef WEFT_ARRAY_KEYS_H
#define WEFT_ARRAY_KEYS_H
#include "array_internal.h"

/* True if keys of the dtype have 64 bits. Elements of up to 32 bits have keys of 32 bits, in the low bits. NaN is the
 * largest key of its width, in ascending and in descending order. */
static inline bool wfl_key_is_wide(wf_dtype t) { return wf_dtype_size(t) == 8; }
static inline wf_dtype wfl_key_dtype(wf_dtype t) { return wfl_key_is_wide(t) ? WF_U64 : WF_U32; }
void wfl_keys_of(wf_dtype dtype, bool descending, const void *from, int64_t n, void *keys);
void wfl_keys_to(wf_dtype dtype, bool descending, const void *keys, int64_t n, void *to);
/* The same for values of a recording. */
wf_val wfl_key_of(wf_val element, bool descending);
wf_val wfl_element_of(wf_val key, wf_dtype dtype, bool descending);
static inline uint64_t wfl_largest_key(wf_dtype t) { return ~(uint64_t)0 >> (64 - 8 * wf_dtype_size(t)); }

/* Sorts n keys of `bits` bits, stably; `other` has room for n. With `index`, whose room is `other_index`, index[i]
 * becomes the original place of key i. */
void wfl_sort32(uint32_t *key, uint32_t *other, int64_t *index, int64_t *other_index, int64_t n, int bits);
void wfl_sort64(uint64_t *key, uint64_t *other, int64_t *index, int64_t *other_index, int64_t n, int bits);
/* keys_avx512.c: sort n keys by comparison, for processors with AVX-512. Return false, with the keys in any order, if
 * that takes more nested partitions than `splits`. */
bool wfl_has_avx512(void);
bool wfl_sort_avx512_32(uint32_t *key, uint32_t *other, int64_t n, int splits);
bool wfl_sort_avx512_64(uint64_t *key, uint64_t *other, int64_t n, int splits);
/* Returns the key of rank k in ascending order (0: the least); keys of `bits` bits. `other` has room for n and is
 * overwritten. */
uint32_t wfl_select32(const uint32_t *key, uint32_t *other, int64_t n, int64_t k, int bits);
uint64_t wfl_select64(const uint64_t *key, uint64_t *other, int64_t n, int64_t k, int bits);
/* Returns the key of rank k + 1 < n; x is the key of rank k. */
uint32_t wfl_next32(const uint32_t *key, int64_t n, int64_t k, uint32_t x);
uint64_t wfl_next64(const uint64_t *key, int64_t n, int64_t k, uint64_t x);

/* sort_rows.c: returns an ordinary array sorted along an axis or, with `indices`, the order as i64. NULL: error. */
wf_array *wfl_sorted(const wf_array *array, int axis, bool descending, bool indices, const char *function);
/* sort_long.c: sorts n elements in place with all threads; with `index` leaves them and writes their order to it. Rows
 * of at least WFL_LONG_ROW elements are sorted so. */
enum { WFL_LONG_ROW = 1 << 18 };
wf_status wfl_sort_long(wf_context *ctx, wf_dtype dtype, bool descending, void *data, int64_t n, int64_t *index);
/* select_ranks.c: finds the keys of n elements in each line of a distributed array: those at the places rank[i] in ascending
 * order, low[i, line], and those after them, high[i, line], where between[i] > 0; the largest key in lines with a NaN. The
 * array has elements. Collective: ranks fail together. */
wf_status wfl_select_ranks(const wf_array *array, wf_axes axes, int64_t n, const int64_t *rank, const double *between,
                           uint64_t *low, uint64_t *high, const char *function);
/* sort_ranks.c: elements in order, ordinary arrays of one axis, and what goes with each of them; NULL: nothing does. */
typedef struct wfl_ordered {
    wf_array *elements, *beside;
} wfl_ordered;
void wfl_ordered_end(wfl_ordered *o); /* releases both */
/* Collective: each rank brings elements in order, and gets those of all ranks that lie in its block of the sorted whole, in no
 * order. result: a distributed array of one line of as many elements. Consumes `from`; ok: false if this rank has failed to make
 * it. Ranks fail together. */
wf_status wfl_cut_ordered(const wf_array *result, bool descending, wfl_ordered *from, bool ok, wfl_ordered *got,
                          const char *function);
/* Collective: writes what a rank has got to its block of y: the elements in order or, if there is anything beside them, that, in
 * the order of the elements. Ranks fail together. */
wf_status wfl_write_ordered(wf_array *y, const wfl_ordered *got, bool descending, const char *function);
/* Sorts a distributed array with one line, whose other axes have extent 1, into y or, with `indices`, writes the order as i64.
 * y is distributed as x is. Collective: ranks fail together. */
wf_status wfl_sort_ranks(wf_array *y, const wf_array *x, bool descending, bool indices, const char *function);
/* sort_gpu.c: consumes keys [rows, n] of `bits` bits, in C order in a GPU's memory. Returns them stably sorted along
 * the rows or, with `indices`, their order as u32 or i64. NULL: error. */
wf_array *wfl_sort_gpu(wf_array *keys, int bits, bool indices);
#endif
