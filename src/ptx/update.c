/* update.c - updates of elements that other threads may update too: ACCUM, ATOMIC, CAS. An update is the GPU's atomic
 * instruction where that has the same result, else a loop of compare-and-swap. An element below 32 bits is swapped with
 * the whole word that holds it.
 */
#include "ptx/gen.h"

typedef struct update {
    gen *g;
    unsigned dtype, join;
    val address, when; /* when: predicate; V_NONE = always */
    bool plain;        /* no other thread updates the element: no atomic operation */
    bool local;        /* lanes with equal addresses are joined first */
    const char *space;
} update;

/* ---- bits of an element, zero-extended to 32 or 64 ---- */
static val to_bits(gen *g, unsigned t, val v)
{
    unsigned size = wf__size(t);
    if (size >= 4)
        return v;
    val r = wf__ptx_reg(g, V_R);
    if (t == WF_BOOL)
        EMIT(g, "selp.b32 $0, 1, 0, $1", r, v);
    else if (wf__is_half(t))
        EMIT(g, "cvt.u32.u16 $0, $1", r, v);
    else
        EMIT(g, "and.b32 $0, $1, $2", r, v, v_int(size == 1 ? 0xff : 0xffff));
    return r;
}

static val from_bits(gen *g, unsigned t, val bits)
{
    if (wf__size(t) >= 4)
        return bits;
    val r = wf__ptx_new(g, t);
    if (t == WF_BOOL)
        EMIT(g, "setp.ne.s32 $0, $1, 0", r, bits);
    else if (wf__is_half(t))
        EMIT(g, "cvt.u16.u32 $0, $1", r, bits);
    else {
        EMIT(g, "mov.b32 $0, $1", r, bits);
        wf__ptx_normalise(g, t, r);
    }
    return r;
}

/* join(old, value), of dtype t; value of its update dtype. */
static val join_values(gen *g, unsigned join, unsigned t, val old, val value)
{
    unsigned with = wf__update_dtype(t, join);
    if (join == WF_JOIN_EXCH)
        return value;
    val x[3] = { wf__ptx_cast(g, with, t, old), value, value };
    return wf__ptx_cast(g, t, with, wf__ptx_op(g, wf__join_op((wf_join)join), with, x));
}

/* The GPU's atomic instruction for a join; NULL = none. */
static const char *native_operation(unsigned join, unsigned t)
{
    bool whole = t == WF_I32 || t == WF_U32 || t == WF_I64 || t == WF_U64, large = wf__size(t) >= 4;
    bool wide = wf__ptx_wide(t);
    switch (join) {
    case WF_JOIN_ADD:
        return t == WF_F32 ? "add.f32" : t == WF_F64 ? "add.f64" : !whole ? NULL : wide ? "add.u64" : "add.u32";
    case WF_JOIN_MIN:
        return t == WF_I32   ? "min.s32"
               : t == WF_U32 ? "min.u32"
               : t == WF_I64 ? "min.s64"
               : t == WF_U64 ? "min.u64"
                             : NULL;
    case WF_JOIN_MAX:
        return t == WF_I32   ? "max.s32"
               : t == WF_U32 ? "max.u32"
               : t == WF_I64 ? "max.s64"
               : t == WF_U64 ? "max.u64"
                             : NULL;
    case WF_JOIN_AND:
        return !whole ? NULL : wide ? "and.b64" : "and.b32";
    case WF_JOIN_OR:
        return !whole ? NULL : wide ? "or.b64" : "or.b32";
    case WF_JOIN_XOR:
        return !whole ? NULL : wide ? "xor.b64" : "xor.b32";
    case WF_JOIN_EXCH:
        return !large ? NULL : wide ? "exch.b64" : "exch.b32";
    default:
        return NULL;
    }
}

/* The address of the word that holds a small element; *shift: the bits below the element. */
static val find_word(gen *g, val address, val *shift)
{
    val word = wf__ptx_reg(g, V_D), low = wf__ptx_reg(g, V_R);
    EMIT(g, "and.b64 $0, $1, -4", word, address);
    EMIT(g, "cvt.u32.u64 $0, $1", low, address);
    EMIT(g, "and.b32 $0, $0, 3", low);
    EMIT(g, "shl.b32 $0, $0, 3", low);
    *shift = low;
    return word;
}

/* Repeats a compare-and-swap until no other thread has changed the word in between. `expected`: value to compare with,
 * for a compare-and-swap of the element itself; V_NONE = an update. `old` gets the bits of the previous value. */
static void swap_loop(const update *u, val value, val expected, val old)
{
    gen *g = u->g;
    unsigned t = u->dtype, bits = 8 * wf__size(t);
    bool small = bits < 32;
    wf__ptx_kind kind = bits == 64 ? V_D : V_R;
    val type = v_text(bits == 64 ? "b64" : "b32"), again = wf__ptx_new_label(g), done = wf__ptx_new_label(g);
    val shift = { 0 }, word = wf__ptx_reg(g, kind), now = wf__ptx_reg(g, kind), failed = wf__ptx_reg(g, V_P);
    val at = small ? find_word(g, u->address, &shift) : u->address, others = wf__ptx_reg(g, V_R);
    val want = expected.kind ? wf__ptx_in_register(g, t, to_bits(g, t, expected)) : expected,
        differs = wf__ptx_reg(g, V_P);
    EMIT(g, "ld.volatile.$3.$1 $0, [$2]", word, type, at, v_text(u->space));
    if (small) {
        EMIT(g, "shl.b32 $0, $1, $2", others, v_int((1 << bits) - 1), shift);
        EMIT(g, "not.b32 $0, $0", others);
    }
    wf__ptx_place_label(g, again);
    if (small) {
        EMIT(g, "shr.u32 $0, $1, $2", old, word, shift);
        EMIT(g, "and.b32 $0, $0, $1", old, v_int((1 << bits) - 1));
    } else
        EMIT(g, "mov.$1 $0, $2", old, type, word);
    if (expected.kind) {
        EMIT(g, "setp.ne.$3 $0, $1, $2", differs, old, want, v_text(bits == 64 ? "s64" : "s32"));
        EMIT(g, "@$0 bra $1", differs, done);
    }
    val new = expected.kind ? value : join_values(g, u->join, t, from_bits(g, t, old), value);
    new = wf__ptx_in_register(g, t, to_bits(g, t, new));
    if (small) {
        val all = wf__ptx_reg(g, V_R), kept = wf__ptx_reg(g, V_R);
        EMIT(g, "shl.b32 $0, $1, $2", all, new, shift);
        EMIT(g, "and.b32 $0, $1, $2", kept, word, others);
        EMIT(g, "or.b32 $0, $0, $1", all, kept);
        new = all;
    }
    EMIT(g, "atom.$5.cas.$1 $0, [$2], $3, $4", now, type, at, word, new, v_text(u->space));
    EMIT(g, "setp.ne.$3 $0, $1, $2", failed, now, word, v_text(bits == 64 ? "s64" : "s32"));
    EMIT(g, "mov.$1 $0, $2", word, type, now);
    EMIT(g, "@$0 bra $1", failed, again);
    wf__ptx_place_label(g, done);
}

static val new_bits(gen *g, unsigned t)
{
    val r = wf__ptx_reg(g, wf__size(t) == 8 ? V_D : V_R);
    EMIT(g, wf__size(t) == 8 ? "mov.b64 $0, 0" : "mov.b32 $0, 0", r);
    return r;
}

static void update_real(const update *u, val value, val *old);

/* One lane updates for all active lanes with the same address. */
static void update_by_leader(const update *u, val value)
{
    gen *g = u->g;
    unsigned with = wf__update_dtype(u->dtype, u->join);
    val over = wf__ptx_new_label(g);
    update lead = *u;
    if (u->when.kind != V_NONE)
        EMIT(g, "@!$0 bra $1", u->when, over);
    lead.local = false;
    update_real(&lead, wf__ptx_join_lanes(g, u->address, u->join, with, value, &lead.when), NULL);
    wf__ptx_place_label(g, over);
}

/* *old, unless `old` is NULL, gets the bits of the previous value; 0 where u->when does not hold. */
static void update_real(const update *u, val value, val *old)
{
    gen *g = u->g;
    const char *name = u->plain ? NULL : native_operation(u->join, u->dtype);
    bool always = u->when.kind == V_NONE;
    if (old)
        *old = new_bits(g, u->dtype);
    value = wf__ptx_in_register(g, wf__update_dtype(u->dtype, u->join), value);
    if (u->local) {
        update_by_leader(u, value);
        return;
    }
    if (name && old)
        EMIT(g, always ? "atom.$5.$1 $0, [$2], $3" : "@$4 atom.$5.$1 $0, [$2], $3", *old, v_text(name), u->address,
             value, u->when, v_text(u->space));
    else if (name && u->join == WF_JOIN_EXCH) /* there is no red.exch */
        EMIT(g, always ? "atom.$5.$1 $0, [$2], $3" : "@$4 atom.$5.$1 $0, [$2], $3", new_bits(g, u->dtype), v_text(name),
             u->address, value, u->when, v_text(u->space));
    else if (name)
        EMIT(g, always ? "red.$4.$0 [$1], $2" : "@$3 red.$4.$0 [$1], $2", v_text(name), u->address, value, u->when,
             v_text(u->space));
    if (name)
        return;
    val over = wf__ptx_new_label(g), was = old ? *old : new_bits(g, u->dtype);
    if (!always)
        EMIT(g, "@!$0 bra $1", u->when, over);
    if (u->plain) {
        val now = u->dtype == WF_BOOL ? wf__ptx_reg(g, V_R) : wf__ptx_new(g, u->dtype), none = { 0 };
        wf__ptx_load_element(g, u->dtype, u->address, u->space, none, now, none);
        if (u->dtype == WF_BOOL)
            now = from_bits(g, WF_BOOL, now);
        wf__ptx_store_element(g, u->dtype, u->address, u->space, none, join_values(g, u->join, u->dtype, now, value),
                              none);
    } else
        swap_loop(u, value, (val){ 0 }, was);
    wf__ptx_place_label(g, over);
}

static void update_complex(const update *u, val re, val im)
{
    unsigned part = wf__part_dtype(u->dtype), with = wf__update_dtype(part, u->join);
    update half = *u;
    half.dtype = part;
    update_real(&half, wf__ptx_cast(u->g, with, part, re), NULL);
    half.address = wf__ptx_reg(u->g, V_D);
    EMIT(u->g, "add.s64 $0, $1, $2", half.address, u->address, v_int(wf__size(part)));
    update_real(&half, wf__ptx_cast(u->g, with, part, im), NULL);
}

static void exchange_if(const update *u, val expected, val desired, val *old)
{
    gen *g = u->g;
    unsigned t = u->dtype;
    bool always = u->when.kind == V_NONE;
    *old = new_bits(g, t);
    if (wf__size(t) >= 4) {
        expected = wf__ptx_in_register(g, t, expected);
        desired = wf__ptx_in_register(g, t, desired);
        EMIT(g, always ? "atom.$6.cas.$1 $0, [$2], $3, $4" : "@$5 atom.$6.cas.$1 $0, [$2], $3, $4", *old,
             wf__ptx_bits(t), u->address, expected, desired, u->when, v_text(u->space));
        return;
    }
    val over = wf__ptx_new_label(g);
    if (!always)
        EMIT(g, "@!$0 bra $1", u->when, over);
    swap_loop(u, desired, expected, *old);
    wf__ptx_place_label(g, over);
}

void wf__ptx_join_element(gen *g, unsigned join, unsigned dtype, val address, val re, val im)
{
    update u = { .g = g, .dtype = dtype, .join = join, .address = address, .space = "global" };
    if (wf__is_complex(dtype))
        update_complex(&u, re, im);
    else
        update_real(&u, re, NULL);
}

void wf__ptx_update(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    update u = { .g = g, .dtype = n->dtype, .join = wf__node_join(n), .space = wf__ptx_space(&g->ir->slot[n->a]) };
    const wf__ref *pair = wf__tuple_at(g->ir, n->c);
    bool result = n->op != WF__ACCUM, exchanges = n->op == WF__CAS;
    const wf__ref from = exchanges ? pair[1] : n->c;
    val old = { 0 }, value = wf__ptx_use(g, from);
    val expected = exchanges ? wf__ptx_use(g, pair[0]) : old;
    u.local = n->op == WF__ACCUM && wf__node_mode(n) == WF__MODE_LOCAL;
    u.plain = n->op == WF__ACCUM && wf__node_mode(n) == WF__MODE_EXPAND;
    u.address = wf__ptx_address(g, n, &u.when);
    if (wf__ptx_watches(g) && g->ir->flags & WF_FLAG_TRAP_NAN && u.join != WF_JOIN_INC)
        u.when = wf__ptx_watch_update(g, n, wf__dtype(g->ir, from), u.when, value, g->node[from].more);
    if (wf__has_no_conflict(n) && wf__ptx_watches(g))
        u.when = wf__ptx_watch_store(g, n, u.address, u.when, value, g->node[from].more);
    if (wf__is_complex(u.dtype))
        update_complex(&u, value, g->node[from].more);
    else if (exchanges)
        exchange_if(&u, expected, value, &old);
    else
        update_real(&u, value, result ? &old : NULL);
    if (result)
        g->node[r].v = from_bits(g, u.dtype, old);
}
