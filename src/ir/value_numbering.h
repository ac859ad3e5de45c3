/* value_numbering.h - value numbering: the table in which the builder finds a node's equal. Inlined into ir.c and
 * build.c, where the fields of a node made just now are still in registers: written to memory one by one and read back
 * as words, they would stall.
 *
 * An open table of groups of four entries, filled from the left, probed as one: the search ends in the first group
 * nearly always, so that no branch is mispredicted. The low bits of an entry, as many as index
 * the table, are a node's id. The bits above are the upper bits of the node's hash, so that most misses read no node.
 * 0 = empty.
 */
#ifndef WEFT_IR_VALUE_NUMBERING_H
#define WEFT_IR_VALUE_NUMBERING_H
#include "ir/ir.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { WF__GROUP = 4, WF__TABLE_MIN = 128 }; /* entries of the smallest table */

typedef struct wf__key { /* all fields of a node, as words */
    uint64_t word[3];
} wf__key;
_Static_assert(sizeof(wf__key) == sizeof(wf__node), "a node is three words without padding");

static inline wf__key wf__key_of(const wf__node *n)
{
    return (wf__key){ { n->op | (uint64_t)n->dtype << 16 | (uint64_t)n->aux << 24 | (uint64_t)n->a << 32,
                        n->b | (uint64_t)n->c << 32, n->d | (uint64_t)n->shape << 32 } };
}

static inline wf__node wf__key_node(const wf__key *k)
{
    return (wf__node){
        .op = (uint16_t)k->word[0],
        .dtype = (uint8_t)(k->word[0] >> 16),
        .aux = (uint8_t)(k->word[0] >> 24),
        .a = (uint32_t)(k->word[0] >> 32),
        .b = (uint32_t)k->word[1],
        .c = (uint32_t)(k->word[1] >> 32),
        .d = (uint32_t)k->word[2],
        .shape = (uint32_t)(k->word[2] >> 32),
    };
}

static inline uint32_t wf__key_hash(const wf__key *k)
{
    uint64_t h = k->word[0] * 0x9E3779B97F4A7C15u + k->word[1] * 0xC2B2AE3D27D4EB4Fu + k->word[2] * 0x165667B19E3779F9u;
    return (uint32_t)((h ^ h >> 32) * 0xBF58476D1CE4E5B9u >> 32);
}

static inline bool wf__key_same(const wf__key *x, const wf__key *y)
{
    return !((x->word[0] ^ y->word[0]) | (x->word[1] ^ y->word[1]) | (x->word[2] ^ y->word[2]));
}

static inline bool wf__is_numbered(const wf__ir *ir, unsigned op)
{
    return (ir->flags & WF_FLAG_VALUE_NUMBERING) && wf__op_is(op, WF__IS_NUMBERED);
}

/* Returns the largest number of nodes, numbered or not, for a table of this size. Their ids fit beside the hashes. */
static inline uint32_t wf__table_most(uint32_t size) { return size - size / 3; }

/* Makes an empty table of `size` entries, a power of two. Reuses the memory of the last table if that is large
 * enough. */
static inline bool wf__table_clear(wf__ir *ir, uint32_t size)
{
    if (size > ir->table_cap) {
        wf__free(ir->table);
        ir->table = wf__alloc0(size * sizeof *ir->table);
        ir->table_cap = ir->table ? size : 0;
        ir->table_size = ir->table_most = 0;
        if (!ir->table)
            return false;
    } else
        memset(ir->table, 0, size * sizeof *ir->table);
    ir->table_size = size;
    ir->table_most = ir->flags & WF_FLAG_VALUE_NUMBERING ? wf__table_most(size) : 0;
    return true;
}

static inline uint32_t wf__table_entry(const wf__ir *ir, uint32_t hash, wf__ref r)
{
    return (hash & ~(ir->table_size - 1)) | r;
}

/* Returns one bit for each empty entry of a group, and in *like one for each that equals `hash` outside `mask`. */
static inline uint32_t wf__group_probe(const uint32_t *group, uint32_t hash, uint32_t mask, uint32_t *like)
{
#if defined(__SSE2__)
    const __m128i at = _mm_loadu_si128((const __m128i *)group), zero = _mm_setzero_si128();
    const __m128i differ = _mm_andnot_si128(_mm_set1_epi32((int)mask), _mm_xor_si128(at, _mm_set1_epi32((int)hash)));
    *like = (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(differ, zero)));
    return (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(at, zero)));
#else
    uint32_t empty = 0;
    *like = 0;
    for (uint32_t i = 0; i < WF__GROUP; ++i) {
        empty |= (uint32_t)(group[i] == 0) << i;
        *like |= (uint32_t)(((group[i] ^ hash) & ~mask) == 0) << i;
    }
    return empty;
#endif
}

/* Returns the equal of a node; 0 = none, and *entry is set to the empty entry for the node. The table has room.
 * nodes: NULL if no node is equal. */
static inline wf__ref wf__table_find(const wf__ir *ir, const wf__node *nodes, const wf__key *k, uint32_t hash,
                                     uint32_t **entry)
{
    uint32_t mask = ir->table_size - 1, at = hash & mask & ~(uint32_t)(WF__GROUP - 1);
    for (;; at = (at + WF__GROUP) & mask) {
        uint32_t *group = &ir->table[at], like, empty = wf__group_probe(group, hash, mask, &like);
        for (like &= nodes ? ~empty : 0; like; like &= like - 1) {
            wf__ref r = group[__builtin_ctz(like)] & mask;
            wf__key other = wf__key_of(&nodes[r]);
            if (wf__key_same(&other, k) && !wf__is_closed(ir, r))
                return r;
        }
        if (empty) {
            *entry = &group[__builtin_ctz(empty)];
            return 0;
        }
    }
}

/* Makes room for one more node, and enters all nodes again. Returns false if memory or ids are exhausted. */
static inline bool wf__table_grow(wf__ir *ir)
{
    uint32_t size = ir->table_size ? ir->table_size : WF__TABLE_MIN;
    while (ir->n >= wf__table_most(size) && size < (uint32_t)1 << 31)
        size *= 2;
    if (ir->n >= wf__table_most(size) || !wf__table_clear(ir, size))
        return false;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (!wf__is_numbered(ir, n->op))
            continue;
        wf__key k = wf__key_of(n);
        uint32_t h = wf__key_hash(&k), *entry;
        wf__table_find(ir, NULL, &k, h, &entry);
        *entry = wf__table_entry(ir, h, r);
    }
    return true;
}

/* ir.c: appends a node, given as the words of its key, or returns its equal. */
wf__ref wf__append_words(wf__ir *ir, uint64_t w0, uint64_t w1, uint64_t w2);
/* As wf__append_words, for a constant or pure operation, with a fast path for the usual case: a new node in a group with
 * room. */
static inline wf__ref wf__append_pure(wf__ir *ir, uint64_t w0, uint64_t w1, uint64_t w2)
{
    uint32_t n = ir->n;
    if (n < ir->table_most && n < ir->node_cap) {
        const wf__key key = { { w0, w1, w2 } };
        uint32_t hash = wf__key_hash(&key), mask = ir->table_size - 1, like;
        uint32_t *group = &ir->table[hash & mask & ~(uint32_t)(WF__GROUP - 1)];
        uint32_t empty = wf__group_probe(group, hash, mask, &like);
        if (empty && !(like & ~empty)) {
            ir->node[n] = wf__key_node(&key);
            group[__builtin_ctz(empty)] = wf__table_entry(ir, hash, n);
            ir->n = n + 1;
            return n;
        }
    }
    return wf__append_words(ir, w0, w1, w2);
}

/* Appends a constant, or returns its equal. */
static inline wf__ref wf__append_const(wf__ir *ir, unsigned dtype, uint64_t bits)
{
    if (wf__size(dtype) < 8)
        bits &= ((uint64_t)1 << 8 * wf__size(dtype)) - 1;
    return wf__append_pure(ir, WF__CONST | (uint64_t)dtype << 16 | bits << 32, bits >> 32, 0);
}
#endif
