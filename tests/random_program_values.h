/* random_program_values.h - steps of test_random_programs.c that make values from other values and from arrays. Each
 * returns false where it does not apply. */
#ifndef WEFT_RANDOM_PROGRAM_VALUES_H
#define WEFT_RANDOM_PROGRAM_VALUES_H
#include "borders.h"
#include "random_program_state.h"

/* ---- operations, element by element ---- */
static bool one_operand(void)
{
    const value *from = any_value();
    int which = (int)below(5);
    int64_t c = 1 + below(7);
    if ((which == 0 && !is_float(from->dtype) && from->dtype != WF_I32 && from->dtype != WF_I64) ||
        (which > 1 && from->dtype == WF_BOOL))
        which = 1;
    wf_dtype to = which == 1 ? plain_dtypes[below(PLAIN_DTYPES)] : from->dtype;
    value *v = new_value(to, from->shape);
    static const char *const names[] = { "neg", "cast", "floor_mod", "max", "mul" };
    say("v = %s of v%d, %d", names[which], from->id, (int)c);
    v->v = which == 0   ? wf_neg(from->v)
           : which == 1 ? wf_cast(from->v, to)
           : which == 2 ? wf_floor_mod(from->v, (double)c)
           : which == 3 ? wf_max(from->v, (double)c)
                        : wf_mul(from->v, (double)c);
    for (int64_t k = 0; k < v->n; ++k) {
        int64_t x = from->at[k];
        v->at[k] = which == 0   ? -x
                   : which == 1 ? converted(from->dtype, to, x)
                   : which == 2 ? floor_mod(x, c)
                   : which == 3 ? (x > c ? x : c)
                                : wrapped(to, x * c);
    }
    add_value(v, from, NULL, NULL);
    return true;
}

typedef enum binary { B_ADD, B_SUB, B_MIN, B_MAX, B_MUL, B_LT, B_EQ, B_AND, B_OR, B_XOR, B_SELECT } binary;
static wf_val binary_value(binary op, wf_val a, wf_val b)
{
    switch (op) {
    case B_ADD:
        return wf_add(a, b);
    case B_SUB:
        return wf_sub(a, b);
    case B_MIN:
        return wf_min(a, b);
    case B_MAX:
        return wf_max(a, b);
    case B_MUL:
        return wf_mul(a, b);
    case B_LT:
        return wf_lt(a, b);
    case B_EQ:
        return wf_eq(a, b);
    case B_AND:
        return wf_and(a, b);
    case B_OR:
        return wf_or(a, b);
    default:
        return wf_xor(a, b);
    }
}
static int64_t binary_element(binary op, wf_dtype t, int64_t a, int64_t b)
{
    switch (op) {
    case B_ADD:
        return wrapped(t, a + b);
    case B_SUB:
        return wrapped(t, a - b);
    case B_MIN:
        return a < b ? a : b;
    case B_MAX:
        return a > b ? a : b;
    case B_MUL:
        return wrapped(t, a * b);
    case B_LT:
        return a < b;
    case B_EQ:
        return a == b;
    case B_AND:
        return a & b;
    case B_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static bool two_operands(void)
{
    const value *a = any_value(), *b = NULL, *c = NULL;
    wf_shape shape = a->shape;
    for (int tries = 0; tries < 8 && !b; ++tries) {
        b = any_value();
        b = common_shape(&a->shape, &b->shape, &shape) ? b : NULL;
    }
    if (!b)
        return false;
    wf_dtype t = wider(a->dtype, b->dtype);
    binary op = (binary)below(B_SELECT + 1);
    if (t == WF_BOOL && op < B_LT)
        op = B_XOR;
    if (is_float(t) && (op == B_MUL || (op >= B_AND && op < B_SELECT)))
        op = B_SUB;
    if (op == B_SELECT && !(c = fitting(&shape)))
        return false;
    value *v = new_value(op == B_LT || op == B_EQ ? WF_BOOL : t, shape);
    if (!v)
        return false;
    static const char *const names[] = { "add", "sub", "min", "max", "mul", "lt", "eq", "and", "or", "xor", "select" };
    say("v = %s of v%d, v%d", names[op], a->id, b->id);
    if (c)
        say(" by v%d", c->id);
    v->v = c ? wf_select(condition(c), a->v, b->v) : binary_value(op, a->v, b->v);
    for (int64_t k = 0; k < v->n; ++k) {
        int64_t x = converted(a->dtype, t, a->at[spread(&a->shape, &shape, k)]);
        int64_t y = converted(b->dtype, t, b->at[spread(&b->shape, &shape, k)]);
        v->at[k] = c ? (c->at[spread(&c->shape, &shape, k)] ? x : y) : binary_element(op, t, x, y);
    }
    add_value(v, a, b, c);
    return true;
}

/* ---- views ---- */
static bool sliced(void)
{
    const value *from = any_value();
    if (!from->shape.rank)
        return false;
    int axis = (int)below(from->shape.rank);
    int64_t n = from->shape.dim[axis], step = rarely(3) ? -1 - below(3) : 1 + below(rarely(2) ? 3 : 1);
    int64_t far = step < 0 ? -step : step, size = n ? 1 + below((n - 1) / far + 1) : 0,
            span = size ? (size - 1) * far : 0;
    int64_t start = n ? (step < 0 ? span : 0) + below(n - span) : 0, stop = start + size * step;
    wf_shape shape = from->shape;
    shape.dim[axis] = size;
    value *v = new_value(from->dtype, shape);
    say("v = wf_slice(v%d, %d, %lld, %lld, %lld)", from->id, axis, (long long)start, (long long)stop, (long long)step);
    v->v = wf_slice(from->v, axis, start, stop < 0 ? WF_END_INDEX : stop, step);
    for (int64_t k = 0; k < v->n; ++k) {
        int64_t index[AXES];
        indices(&shape, k, index);
        index[axis] = start + index[axis] * step;
        v->at[k] = from->at[place(&from->shape, index)];
    }
    add_value(v, from, NULL, NULL);
    return true;
}

static void any_order(int rank, int axes[AXES])
{
    for (int d = 0; d < rank; ++d) {
        int at = (int)below(d + 1);
        axes[d] = axes[at];
        axes[at] = d;
    }
}

static bool permuted(void)
{
    const value *from = any_value();
    int axes[AXES] = { 0 };
    wf_shape shape = from->shape;
    any_order(shape.rank, axes);
    for (int d = 0; d < shape.rank; ++d)
        shape.dim[d] = from->shape.dim[axes[d]];
    value *v = new_value(from->dtype, shape);
    say("v = wf_permute(v%d, %d %d %d %d)", from->id, axes[0], axes[1], axes[2], axes[3]);
    v->v = wf_permute(from->v, axes);
    for (int64_t k = 0; k < v->n; ++k) {
        int64_t index[AXES], old[AXES];
        indices(&shape, k, index);
        for (int d = 0; d < shape.rank; ++d)
            old[axes[d]] = index[d];
        v->at[k] = from->at[place(&from->shape, old)];
    }
    add_value(v, from, NULL, NULL);
    return true;
}

static bool reshaped(void)
{
    const value *from = any_value();
    wf_shape shape = shape_of(from->n);
    bool spreads = rarely(3) && fits(&from->shape, &p->base);
    value *v = new_value(from->dtype, spreads ? p->base : shape);
    if (!v)
        return false;
    say("v = %s(v%d)", spreads ? "wf_broadcast" : "wf_reshape", from->id);
    v->v = spreads ? wf_broadcast(from->v, p->base) : wf_reshape(from->v, shape);
    for (int64_t k = 0; k < v->n; ++k)
        v->at[k] = from->at[spreads ? spread(&from->shape, &p->base, k) : k];
    add_value(v, from, NULL, NULL);
    return true;
}

/* Rearranges a value along an axis: tiled, repeated, reversed, rolled, concatenated with itself or another value. */
static bool rearranged(void)
{
    const value *from = any_value(), *other = from;
    if (!from->shape.rank)
        return false;
    int axis = (int)below(from->shape.rank), which = (int)below(4);
    int64_t n = from->shape.dim[axis], times = 1 + below(3);
    for (int tries = 0; which == 3 && tries < 8; ++tries) {
        const value *o = any_value();
        wf_shape as = o->shape;
        if (o->dtype == from->dtype && as.rank == from->shape.rank) {
            as.dim[axis] = n;
            other = same_shape(&as, &from->shape) ? o : other;
        }
    }
    wf_shape shape = from->shape, each = { .rank = from->shape.rank, .dim = { 1, 1, 1, 1 } };
    each.dim[axis] = times;
    shape.dim[axis] = which < 2 ? n * times : which == 2 ? n : n + other->shape.dim[axis];
    value *v = new_value(from->dtype, shape);
    if (!v)
        return false;
    static const char *const names[] = { "wf_tile", "wf_repeat", "wf_reverse", "wf_concat" };
    say("v = %s(v%d, axis %d, times %d, v%d)", names[which], from->id, axis, (int)times, other->id);
    v->v = which == 0   ? wf_tile(from->v, each)
           : which == 1 ? wf_repeat(from->v, axis, times)
           : which == 2 ? wf_reverse(from->v, axis)
                        : wf_concat(axis, from->v, other->v);
    for (int64_t k = 0; k < v->n; ++k) {
        int64_t index[AXES];
        indices(&shape, k, index);
        bool second = which == 3 && index[axis] >= n;
        index[axis] = which == 0   ? index[axis] % n
                      : which == 1 ? index[axis] / times
                      : which == 2 ? n - 1 - index[axis]
                                   : index[axis] - (second ? n : 0);
        v->at[k] = second ? other->at[place(&other->shape, index)] : from->at[place(&from->shape, index)];
    }
    add_value(v, from, other, NULL);
    return true;
}

/* ---- reductions and scans ---- */
/* Gives the result of a join its dtype: u64, as of u8, is cast to i64; f32 is joined in f64 and rounded once. */
static value *cast_down(value *v, wf_dtype *dtype)
{
    for (int64_t k = 0; k < v->n && *dtype == WF_F32; ++k)
        v->at[k] = (int64_t)(float)v->at[k];
    if (*dtype == WF_U64)
        v->v = wf_cast(v->v, *dtype = WF_I64);
    v->dtype = *dtype;
    return v;
}

static bool reduced(void)
{
    const value *from = any_value();
    wf_join join = (wf_join)(rarely(2) ? WF_JOIN_ADD : WF_JOIN_ADD + below(7));
    wf_dtype t = joined_dtype(join, from->dtype);
    if (!joins(join, from->dtype) || (!from->n && is_float(t) && join != WF_JOIN_ADD))
        return false;
    wf_axes axes = rarely(4) ? WF_ALL_AXES : (wf_axes)(1 + below(15)) & ((1u << from->shape.rank) - 1);
    if (!axes)
        return false;
    wf_shape shape = from->shape;
    for (int d = 0; d < shape.rank; ++d)
        shape.dim[d] = axes >> d & 1 ? 1 : shape.dim[d];
    value *v = new_value(t, shape);
    if (!v) /* an empty array may have too large a result */
        return false;
    say("v = wf_reduce(%s, v%d, %#x)", join_name[join], from->id, axes);
    v->v = wf_reduce(join, from->v, axes);
    for (int64_t k = 0; k < v->n; ++k)
        v->at[k] = neutral(join, t);
    bool begins_with_element = is_float(t) && join != WF_JOIN_ADD; /* floats have no neutral element here */
    for (int64_t k = 0; k < from->n && begins_with_element; ++k)
        v->at[spread(&shape, &from->shape, k)] = from->at[k];
    for (int64_t k = 0; k < from->n; ++k) {
        int64_t *to = &v->at[spread(&shape, &from->shape, k)];
        *to = joined(join, t, *to, from->at[k]);
    }
    add_value(cast_down(v, &t), from, NULL, NULL);
    return true;
}

static bool scanned(void)
{
    const value *from = any_value();
    wf_join join = (wf_join)(rarely(2) ? WF_JOIN_ADD : WF_JOIN_ADD + below(7));
    wf_dtype t = joined_dtype(join, from->dtype);
    bool exclusive = rarely(2) && (join == WF_JOIN_ADD || !is_float(t)), back = rarely(2);
    if (!joins(join, from->dtype) || !from->shape.rank)
        return false;
    int axis = (int)below(from->shape.rank);
    value *v = new_value(t, from->shape);
    say("v = wf_scan(%s, v%d, %d, %d, %d)", join_name[join], from->id, axis, exclusive, back);
    v->v = wf_scan(join, from->v, axis, exclusive, back);
    int64_t n = from->shape.dim[axis], step = 1;
    for (int d = axis + 1; d < from->shape.rank; ++d)
        step *= from->shape.dim[d];
    for (int64_t i = 0; i < v->n; ++i) {
        int64_t k = back ? v->n - 1 - i : i, in_row = k / step % n, x = from->at[k];
        bool first = in_row == (back ? n - 1 : 0);
        int64_t before = back ? k + step : k - step;
        if (exclusive)
            v->at[k] = first ? neutral(join, t) : joined(join, t, v->at[before], from->at[before]);
        else
            v->at[k] = first ? x : joined(join, t, v->at[before], x);
    }
    add_value(cast_down(v, &t), from, NULL, NULL);
    return true;
}

static bool block_reduced(void)
{
    const value *from = any_value();
    wf_join join = (wf_join)(WF_JOIN_ADD + below(7));
    wf_dtype t = joined_dtype(join, from->dtype);
    int last = from->shape.rank - 1;
    if (last < 0 || !joins(join, from->dtype) || !from->n)
        return false;
    int64_t n = from->shape.dim[last], block = 1 + below(n + 1);
    wf_shape shape = from->shape;
    shape.dim[last] = (n + block - 1) / block;
    value *v = new_value(t, shape);
    say("v = wf_block_reduce(%s, v%d, %lld)", join_name[join], from->id, (long long)block);
    v->v = wf_block_reduce(join, from->v, block);
    for (int64_t k = 0; k < from->n; ++k) {
        int64_t *to = &v->at[k / n * shape.dim[last] + k % n / block];
        *to = k % n % block ? joined(join, t, *to, from->at[k]) : from->at[k];
    }
    add_value(cast_down(v, &t), from, NULL, NULL);
    return true;
}

/* ---- places by index ---- */
typedef struct places { /* elements of an array or value, one for each element of `shape` */
    wf_shape shape;
    wf_val index[AXES];
    int64_t *at;          /* numbers of the elements in C order; -1 = none */
    const value *made_of; /* the value that gives the indices, or NULL */
} places;

static wf_val cut_index(wf_val linear, const wf_shape *in, int d)
{
    int64_t weight = 1;
    for (int e = d + 1; e < in->rank; ++e)
        weight *= in->dim[e];
    wf_val q = weight > 1 ? wf_idiv(linear, (double)weight) : linear;
    return d ? wf_mod(q, (double)in->dim[d]) : q;
}

/* Sets index start + step i along each axis. Returns false if an extent of `in` is too small. */
static bool affine_places(places *to, const wf_shape *in)
{
    int64_t start[AXES], step[AXES];
    if (to->shape.rank != in->rank)
        return false;
    for (int d = 0; d < in->rank; ++d) {
        int64_t n = to->shape.dim[d];
        if (n > in->dim[d] || !n)
            return false;
        step[d] = 1 + below(n > 1 ? (in->dim[d] - 1) / (n - 1) : 1);
        start[d] = below(in->dim[d] - (n - 1) * step[d]);
        if (rarely(3)) {
            start[d] += (n - 1) * step[d];
            step[d] = -step[d];
        }
        wf_shape line = { .rank = in->rank, .dim = { 1, 1, 1, 1 } };
        line.dim[d] = n;
        to->index[d] =
            wf_add(wf_mul(wf_iota(graph(), rarely(2) ? line : to->shape, d), (double)step[d]), (double)start[d]);
        say(" [%lld + %lld i%d]", (long long)start[d], (long long)step[d], d);
    }
    for (int64_t k = 0, n = count(&to->shape); k < n; ++k) {
        int64_t index[AXES];
        indices(&to->shape, k, index);
        for (int d = 0; d < in->rank; ++d)
            index[d] = start[d] + step[d] * index[d];
        to->at[k] = place(in, index);
    }
    return true;
}

/* Sets places that are all different: element k has place (a + b k) mod n. */
static void spread_places(places *to, const wf_shape *in)
{
    int64_t n = count(in), m = count(&to->shape), a = below(n), b = 1 + below(n), x = b, y = n;
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    b = x == 1 ? b : 1;
    wf_val k = wf_reshape(wf_iota(graph(), WF_SHAPE(m), 0), to->shape);
    wf_val linear = wf_mod(wf_add(wf_mul(k, (double)b), (double)a), (double)n);
    say(" [(%lld + %lld k) mod %lld]", (long long)a, (long long)b, (long long)n);
    for (int64_t i = 0; i < m; ++i)
        to->at[i] = (a + b * i) % n;
    for (int d = 0; d < in->rank; ++d)
        to->index[d] = cut_index(linear, in, d);
}

/* Sets the places that the value names, modulo the number of elements. */
static void places_named_by(places *to, const wf_shape *in, const value *v)
{
    int64_t n = count(in);
    wf_val linear = wf_floor_mod(wf_cast(v->v, WF_I64), (double)n);
    say(" [v%d mod %lld]", v->id, (long long)n);
    to->made_of = v;
    for (int64_t i = 0; i < v->n; ++i)
        to->at[i] = floor_mod(v->at[i], n);
    for (int d = 0; d < in->rank; ++d)
        to->index[d] = cut_index(linear, in, d);
}

static bool find_places(places *to, const wf_shape *in, wf_shape shape, bool may_meet)
{
    const value *v = may_meet && !rarely(3) ? any_value() : NULL;
    *to = (places){ .shape = v ? v->shape : shape };
    int64_t m = count(&to->shape), n = count(in);
    if (!n || m > p->most || !in->rank || (!v && m > n) || !m)
        return false;
    to->at = malloc((size_t)(m + 1) * sizeof *to->at);
    assert_non_null(to->at);
    if (v)
        places_named_by(to, in, v);
    else if (rarely(2) || !affine_places(to, in))
        spread_places(to, in);
    return true;
}

/* ---- gathers ---- */
static bool gathered(void)
{
    const value *from = any_value();
    places at;
    say("gather of v%d", from->id);
    if (!find_places(&at, &from->shape, shape_of_most(from->n), true))
        return false;
    bool or_other = rarely(2);
    int64_t other = below(2);
    value *v = new_value(from->dtype, at.shape);
    if (or_other && rarely(2)) { /* some places lie outside */
        at.index[0] = wf_sub(at.index[0], 1);
        int64_t row = from->n / from->shape.dim[0];
        for (int64_t k = 0; k < v->n; ++k)
            at.at[k] = at.at[k] < row ? -1 : at.at[k] - row;
    }
    wf_vals index = { at.index, (size_t)from->shape.rank };
    say(" or %d", or_other ? (int)other : -1);
    v->v = or_other ? wf_gather_or_n(from->v, wf_const(graph(), from->dtype, (double)other), index)
                    : wf_gather_n(from->v, index);
    for (int64_t k = 0; k < v->n; ++k)
        v->at[k] = at.at[k] < 0 ? other : from->at[at.at[k]];
    free(at.at);
    add_value(v, from, at.made_of, NULL);
    return true;
}

/* Reads elements at these places, each shifted along each axis, with a border mode. */
static wf_val read_around(const array *a, places *at, wf_dtype t)
{
    wf_border border = (wf_border)(WF_BORDER_VALUE + below(WF__BORDERS - 1));
    int64_t shift[AXES], n = count(&at->shape);
    for (int d = 0; d < a->shape.rank; ++d) {
        shift[d] = below(7) - 3;
        at->index[d] = wf_add(at->index[d], (double)shift[d]);
        say(" %+d", (int)shift[d]);
    }
    say(" border %d", (int)border);
    for (int64_t k = 0; k < n; ++k) {
        int64_t index[AXES];
        bool inside = true;
        indices(&a->shape, at->at[k], index);
        for (int d = 0; d < a->shape.rank; ++d) {
            index[d] = border_index(border, index[d] + shift[d], a->shape.dim[d]);
            inside = inside && index[d] >= 0;
        }
        at->at[k] = inside ? place(&a->shape, index) : -1;
    }
    wf_vals index = { at->index, (size_t)a->shape.rank };
    return wf_read_border_n(graph(), a->a, border, wf_const(graph(), t, 1), index);
}

/* Adds a value that reads the array. If the array is not computed yet, it reads the operands. */
static void add_read(value *v, const array *a, const value *index)
{
    v->read[a->memory] = ++p->clock;
    if (is_pending(a))
        merge(v->read, memory_of(a)->read);
    add_value(v, index, NULL, NULL);
    if (p->depth && a->lazy == 1)
        evaluated(0);
}

static bool read_array(void)
{
    const array *a = to_read();
    places at = { 0 };
    if (!a)
        return false;
    bool whole = !rarely(3);
    wf_dtype t = memory_of(a)->dtype;
    say("v = %s of a%d", whole ? "wf_in" : "wf_read", a->id);
    if (!whole && !find_places(&at, &a->shape, shape_of_most(count(&a->shape)), true))
        return false;
    value *v = new_value(t, whole ? a->shape : at.shape);
    if (v) {
        v->v = whole       ? wf_in(graph(), a->a)
               : rarely(2) ? read_around(a, &at, t)
                           : wf_read_n(graph(), a->a, (wf_vals){ at.index, (size_t)a->shape.rank });
        for (int64_t k = 0; k < v->n; ++k)
            v->at[k] = whole ? *element(a, k) : at.at[k] < 0 ? 1 : *element(a, at.at[k]);
        add_read(v, a, at.made_of);
    }
    free(at.at);
    return v != NULL;
}
#endif
