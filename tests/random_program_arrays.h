/* random_program_arrays.h - steps of test_random_programs.c that write arrays, by a recording or by the host, and that
 * make, copy, view, read and release them. Each returns false where it does not apply. */
#ifndef WEFT_RANDOM_PROGRAM_ARRAYS_H
#define WEFT_RANDOM_PROGRAM_ARRAYS_H
#include "random_program_values.h"
#include "weft/functions.h"

/* ---- effects ---- */
static bool assign(array *a, const value *v)
{
    say("wf_out(g%d, a%d, v%d);\n", p->depth, a->id, v->id);
    wf_out(graph(), a->a, same_shape(&v->shape, &a->shape) ? v->v : wf_broadcast(v->v, a->shape));
    for (int64_t k = 0, n = count(&a->shape); k < n; ++k)
        *element(a, k) = converted(v->dtype, memory_of(a)->dtype, v->at[spread(&v->shape, &a->shape, k)]);
    written(a, v, NULL, NULL);
    return true;
}

static bool assigned(void)
{
    array *a = to_write();
    const value *v = a ? fitting(&a->shape) : NULL;
    return v && assign(a, v);
}

typedef struct scatter { /* a write by index */
    places at;
    const value *v, *condition; /* written values; where not 0 the write takes place, NULL = everywhere */
} scatter;

static bool find_scatter(scatter *s, const array *a, bool may_meet)
{
    const value *v = any_value();
    if (!find_places(&s->at, &a->shape, rarely(2) ? v->shape : shape_of_most(count(&a->shape)), may_meet))
        return false;
    s->v = fits(&v->shape, &s->at.shape) ? v : fitting(&s->at.shape);
    s->condition = rarely(3) ? fitting(&s->at.shape) : NULL;
    if (!s->v) {
        free(s->at.at);
        return false;
    }
    if (s->condition) { /* where it is 0, the index may lie outside */
        bool outside = rarely(2);
        for (int64_t k = 0, n = count(&s->at.shape); k < n; ++k)
            s->at.at[k] = s->condition->at[spread(&s->condition->shape, &s->at.shape, k)] ? s->at.at[k] : -1;
        for (int d = 0; d < a->shape.rank && outside; ++d)
            s->at.index[d] = wf_select(condition(s->condition), s->at.index[d], wf_const(graph(), WF_I64, -7));
        say(" if v%d%s", s->condition->id, outside ? ", else -7" : "");
    }
    return true;
}

static bool scattered(void)
{
    array *a = to_write();
    scatter s = { 0 };
    say("scatter");
    if (!a || !find_scatter(&s, a, false))
        return false;
    wf_vals index = { s.at.index, (size_t)a->shape.rank };
    wf_dtype t = memory_of(a)->dtype;
    say(" wf_write a%d v%d;\n", a->id, s.v->id);
    if (s.condition)
        wf_write_if_n(graph(), s.condition->v, a->a, s.v->v, index);
    else
        wf_write_n(graph(), a->a, s.v->v, index);
    for (int64_t k = 0, n = count(&s.at.shape); k < n; ++k)
        if (s.at.at[k] >= 0)
            *element(a, s.at.at[k]) = converted(s.v->dtype, t, s.v->at[spread(&s.v->shape, &s.at.shape, k)]);
    free(s.at.at);
    written(a, s.v, s.condition, s.at.made_of);
    return true;
}

static int64_t sum_of_abs(const int64_t *at, int64_t n)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < n; ++k)
        sum += at[k] < 0 ? -at[k] : at[k];
    return sum;
}

/* Returns a join for which results do not depend on the order: floats are added only if sums are exact. */
static wf_join some_join(const array *a, const scatter *s)
{
    wf_dtype t = memory_of(a)->dtype;
    wf_join join = (wf_join)(WF_JOIN_ADD + below(7));
    bool sum = join == WF_JOIN_ADD || join == WF_JOIN_MUL || join == WF_JOIN_MIN || join == WF_JOIN_MAX;
    if (t == WF_BOOL)
        return sum ? WF_JOIN_XOR : join;
    if (!is_float(t) || join == WF_JOIN_MIN)
        return join;
    int64_t most =
        sum_of_abs(memory_of(a)->at, memory_of(a)->n) + sum_of_abs(s->v->at, s->v->n) * (count(&s->at.shape) / s->v->n);
    return most < 1 << 24 && rarely(2) ? WF_JOIN_ADD : WF_JOIN_MAX;
}

static bool accumulated(void)
{
    static const wf_mode modes[] = { WF_MODE_AUTO, WF_MODE_AUTO, WF_MODE_DIRECT, WF_MODE_LOCAL, WF_MODE_EXPAND };
    array *a = to_write();
    scatter s = { 0 };
    bool no_conflict = rarely(5);
    say("accumulate");
    if (!a || !find_scatter(&s, a, !no_conflict))
        return false;
    wf_dtype t = memory_of(a)->dtype;
    wf_join join = some_join(a, &s);
    wf_mode mode = no_conflict ? WF_MODE_NO_CONFLICT : modes[below(5)];
    wf_vals index = { s.at.index, (size_t)a->shape.rank };
    say(" %s mode %#x a%d v%d;\n", join_name[join], mode, a->id, s.v->id);
    if (s.condition)
        wf_accumulate_if_n(graph(), s.condition->v, join, mode, a->a, s.v->v, index);
    else
        wf_accumulate_n(graph(), join, mode, a->a, s.v->v, index);
    for (int64_t k = 0, n = count(&s.at.shape); k < n; ++k)
        if (s.at.at[k] >= 0) {
            int64_t *to = element(a, s.at.at[k]), x = s.v->at[spread(&s.v->shape, &s.at.shape, k)];
            *to = joined(join, t, *to, converted(s.v->dtype, t, x));
        }
    free(s.at.at);
    written(a, s.v, s.condition, s.at.made_of);
    return true;
}

/* Exchanges elements, each by one point at most, because the order of points is unspecified; the old element is a
 * value. */
static bool exchanged(void)
{
    array *a = to_write();
    scatter s = { 0 };
    say("atomic");
    if (!a || !find_scatter(&s, a, false))
        return false;
    wf_dtype t = memory_of(a)->dtype;
    int which = is_integer(t) ? (int)below(4) : 0; /* exchange, count, join, compare and swap */
    wf_join join = which == 2 ? some_join(a, &s) : which == 1 ? WF_JOIN_INC : WF_JOIN_EXCH;
    wf_vals index = { s.at.index, (size_t)a->shape.rank };
    if (which == 3 && s.condition) {
        free(s.at.at);
        return false;
    }
    value *before = new_value(t, s.at.shape);
    before->read[a->memory] = ++p->clock;
    if (is_pending(a))
        merge(before->read, memory_of(a)->read);
    before->v = which == 3    ? wf_cas_n(graph(), a->a, wf_const(graph(), t, 1), wf_cast(s.v->v, t), index)
                : s.condition ? wf_atomic_if_n(graph(), s.condition->v, join, a->a, s.v->v, index)
                              : wf_atomic_n(graph(), join, a->a, s.v->v, index);
    for (int64_t k = 0; k < before->n; ++k)
        if (s.at.at[k] >= 0) {
            int64_t *to = element(a, s.at.at[k]),
                    x = converted(s.v->dtype, t, s.v->at[spread(&s.v->shape, &s.at.shape, k)]);
            before->at[k] = *to;
            *to = which == 0   ? x
                  : which == 1 ? wrapped(t, *to + 1)
                  : which == 2 ? joined(join, t, *to, x)
                               : (*to == 1 ? x : *to);
        }
    free(s.at.at);
    written(a, s.v, s.condition, s.at.made_of);
    say(" join %d kind %d a%d v%d", (int)join, which, a->id, s.v->id);
    add_value(before, s.v, s.condition, s.at.made_of);
    return true;
}

static bool kept(void)
{
    value *v = any_value();
    int m = p->arrays < ARRAYS ? new_memory(v->dtype, v->n) : -1;
    if (m < 0)
        return false;
    array *a = add_array(wf_keep(v->v), m, v->shape);
    say("a%d = wf_keep(v%d);\n", a->id, v->id);
    if (!a->a) { /* the recording is poisoned, and reports it when it runs */
        --p->arrays;
        end_and_begin();
        return true;
    }
    memcpy(p->memory[m].at, v->at, (size_t)v->n * sizeof *v->at);
    a->lazy = p->depth + 1;
    p->memory[m].touched = 1u << p->depth;
    p->memory[m].written = ++p->clock;
    memcpy(p->memory[m].read, v->read, sizeof v->read);
    v->kept = m;
    v->kept_when = p->clock;
    return true;
}

static bool compressed(void)
{
    const value *v = any_value(), *mask = fitting(&v->shape);
    if (!mask || p->depth || p->arrays == ARRAYS || p->memories == MEMORIES)
        return false;
    int64_t n = 0;
    for (int64_t k = 0; k < v->n; ++k)
        n += mask->at[spread(&mask->shape, &v->shape, k)] != 0;
    int m = new_memory(v->dtype, n);
    n = 0;
    for (int64_t k = 0; k < v->n; ++k)
        if (mask->at[spread(&mask->shape, &v->shape, k)])
            p->memory[m].at[n++] = v->at[k];
    p->memory[m].touched = 1u << p->depth;
    wf_array *a = wf_compress(v->v, mask->v);
    array *to = add_array(a, m, WF_SHAPE(n));
    say("a%d = wf_compress(v%d, v%d);\n", to->id, v->id, mask->id);
    if (!a) {
        --p->arrays;
        if (did(wf_last_status(ctx)))
            end_and_begin();
        return true;
    }
    if (wf_array_count(a) != n)
        must(false, "another count than in plain C");
    evaluated(p->depth);
    return true;
}

/* ---- arrays and memory ---- */
static void fill(memory *m, void *raw)
{
    int64_t limit = rarely(2) ? 10 : 2 + below(100),
            low = m->dtype == WF_BOOL || m->dtype == WF_U8 ? 0 : below(2) * -limit / 2;
    for (int64_t k = 0; k < m->n; ++k) {
        m->at[k] = m->dtype == WF_BOOL ? below(2) : low + below(limit);
        put_element(m->dtype, raw, k, m->at[k]);
    }
}

/* Makes an array: in memory of the library, in C order or another one; or in memory of the program, with gaps and
 * reversed axes. */
static bool new_array(void)
{
    wf_dtype t = plain_dtypes[below(PLAIN_DTYPES)];
    wf_shape shape = some_shape();
    int axes[AXES] = { 0 };
    int64_t stride[AXES] = { 0 }, start = 0, n = 1;
    bool wraps = rarely(3) && !is_on_gpu(), strided = wraps || rarely(3);
    if (p->arrays == ARRAYS || count(&shape) > p->most)
        return false;
    any_order(shape.rank, axes);
    for (int i = 0; i < shape.rank; ++i) {
        int d = strided ? axes[i] : shape.rank - 1 - i;
        int64_t gap = wraps && rarely(3) ? 2 : 1, dim = shape.dim[d] ? shape.dim[d] : 1;
        stride[d] = n * gap;
        n = stride[d] * dim + (wraps ? below(3) : 0);
        if (wraps && rarely(4)) {
            start += stride[d] * (dim - 1);
            stride[d] = -stride[d];
        }
    }
    int m = new_memory(t, n);
    if (m < 0)
        return false;
    char *raw = malloc((size_t)n * 8 + 8);
    assert_non_null(raw);
    fill(&p->memory[m], raw);
    wf_array *a = wraps ? wf_wrap(ctx, raw + (size_t)start * wf_dtype_size(t), t, shape, NULL, NULL, .strides = stride)
                        : wf_empty(ctx, t, shape, .strides = strided ? stride : NULL);
    must(a != NULL, wf_last_message(ctx));
    array *to = add_array(a, m, shape);
    to->start = start;
    memcpy(to->stride, stride, sizeof stride);
    say("a%d = %s %s", to->id, wraps ? "wf_wrap" : "wf_empty", wf_dtype_name(t));
    say_shape(&shape, " ", " strides");
    for (int d = 0; d < shape.rank; ++d)
        say(" %lld", (long long)stride[d]);
    say(";\n");
    if (wraps) {
        p->memory[m].own = raw;
        return true;
    }
    for (int64_t k = 0; k < n; ++k) /* in C order */
        put_element(t, raw, k, k < count(&shape) ? *element(to, k) : 0);
    did(wf_upload(a, raw, (size_t)count(&shape) * wf_dtype_size(t)));
    free(raw);
    return true;
}

static bool viewed(void)
{
    array *from = p->arrays < ARRAYS ? any_array() : NULL;
    if (!from || !from->shape.rank)
        return false;
    array to = *from;
    int which = (int)below(5), axis = (int)below(from->shape.rank), axes[AXES] = { 0 };
    int64_t n = from->shape.dim[axis], start = below(n), stop = start + 1 + below(n - start), step = 1 + below(2);
    if (!n)
        return false;
    run_writes_to(from);
    if (which == 4) { /* an axis merges with the next one if their strides allow it, else it becomes two axes */
        bool joins =
            axis + 1 < from->shape.rank && from->stride[axis] == from->stride[axis + 1] * from->shape.dim[axis + 1];
        int last = from->shape.rank - 1;
        if (!joins && from->shape.rank == AXES)
            return false;
        if (joins) {
            to.shape.dim[axis] *= from->shape.dim[axis + 1];
            for (int d = axis + 1; d <= last; ++d) {
                to.shape.dim[d] = d < last ? from->shape.dim[d + 1] : 0;
                to.stride[d] = d < last ? from->stride[d + 1] : 0;
            }
            to.stride[axis] = from->stride[axis + 1];
            --to.shape.rank;
        } else {
            int64_t part = 1 + below(4);
            part = n % part ? 1 : part;
            for (int d = last; d >= axis; --d) {
                to.shape.dim[d + 1] = from->shape.dim[d];
                to.stride[d + 1] = from->stride[d];
            }
            to.shape.dim[axis] = n / part;
            to.shape.dim[axis + 1] = part;
            to.stride[axis] = from->stride[axis] * part;
            ++to.shape.rank;
        }
        to.a = wf_view_reshape(from->a, to.shape);
    } else if (which == 0) {
        if (rarely(3)) { /* reversed, down to element 0 */
            start = n - 1 - below(n > 3 ? 3 : n);
            step = -step, stop = WF_END_INDEX;
        }
        to.a = wf_view_slice(from->a, axis, start, stop, step);
        to.shape.dim[axis] = step < 0 ? start / -step + 1 : (stop - start - 1) / step + 1;
        to.start += start * from->stride[axis];
        to.stride[axis] *= step;
    } else if (which == 1) {
        any_order(from->shape.rank, axes);
        to.a = wf_view_permute(from->a, axes);
        for (int d = 0; d < from->shape.rank; ++d) {
            to.shape.dim[d] = from->shape.dim[axes[d]];
            to.stride[d] = from->stride[axes[d]];
        }
    } else if (which == 2) {
        to.a = wf_view_at(from->a, axis, start);
        to.start += start * from->stride[axis];
        --to.shape.rank;
        for (int d = axis; d < to.shape.rank; ++d) {
            to.shape.dim[d] = from->shape.dim[d + 1];
            to.stride[d] = from->stride[d + 1];
        }
    } else {
        if (!fits(&from->shape, &p->base))
            return false;
        to.a = wf_view_broadcast(from->a, p->base);
        to.shape = p->base;
        to.read_only = true;
        for (int d = 0; d < p->base.rank; ++d) {
            int of = aligned(&from->shape, &p->base, d);
            to.stride[d] = of < 0 || from->shape.dim[of] == 1 ? 0 : from->stride[of];
        }
    }
    if (!to.a && which == 4 && strstr(wf_last_message(ctx), "would need a copy")) { /* of a lazy copy */
        wf_clear_error(ctx);
        note_evaluation(from);
        return true;
    }
    if (!to.a) {
        did(wf_last_status(ctx));
        return true;
    }
    note_evaluation(from);
    to.id = ++p->ids;
    to.lazy = 0;
    to.is_view = true;
    static const char *const names[] = { "slice", "permute", "at", "broadcast", "reshape" };
    say("a%d = wf_view_%s of a%d: axis %d %lld %lld %lld axes %d %d %d %d", to.id, names[which], from->id, axis,
        (long long)start, (long long)stop, (long long)step, axes[0], axes[1], axes[2], axes[3]);
    say_shape(&to.shape, " ", ";\n");
    p->array[p->arrays++] = to;
    return true;
}

static bool copied(void)
{
    array *from = p->arrays < ARRAYS ? any_array() : NULL;
    if (!from)
        return false;
    run_writes_to(from);
    int m = p->refused ? -1 : new_memory(memory_of(from)->dtype, count(&from->shape));
    if (m < 0)
        return false;
    for (int64_t k = 0; k < p->memory[m].n; ++k)
        p->memory[m].at[k] = *element(from, k);
    wf_array *a = wf_copy(from->a);
    array *to = add_array(a, m, from->shape);
    say("a%d = wf_copy(a%d);\n", to->id, from->id);
    if (!a) {
        --p->arrays;
        did(wf_last_status(ctx));
        return true;
    }
    note_evaluation(from);
    return true;
}

static void drop_array(int i)
{
    say("wf_release(a%d);\n", p->array[i].id);
    wf_release(p->array[i].a);
    p->array[i] = p->array[--p->arrays];
}

static bool released(void)
{
    if (p->arrays)
        drop_array((int)below(p->arrays));
    return true;
}

/* Uploads elements to an array. Pending reads of the array run first. */
static bool uploaded(void)
{
    array *a = any_array();
    if (!a || a->read_only || p->depth)
        return false;
    bool ends = memory_of(a)->touched & 1;
    if (!ends || memory_of(a)->pending || !a->lazy)
        evaluate(0);
    if (p->refused)
        return true;
    int64_t n = count(&a->shape);
    memory *m = memory_of(a), fresh = { .dtype = m->dtype, .n = n, .at = malloc((size_t)(n + 1) * sizeof *m->at) };
    void *raw = malloc((size_t)n * 8 + 8);
    assert_true(raw && fresh.at);
    fill(&fresh, raw);
    say("wf_upload(a%d);\n", a->id);
    if (did(wf_upload(a->a, raw, (size_t)n * wf_dtype_size(m->dtype)))) {
        for (int64_t k = 0; k < n; ++k)
            *element(a, k) = fresh.at[k];
        evaluated(0);
        m->written = m->other[0] = ++p->clock;
        evaluated(0); /* values that read the old contents are forgotten */
        if (ends)
            end_and_begin();
    }
    free(fresh.at);
    free(raw);
    return true;
}

static bool looked_at(void)
{
    const array *a = any_array();
    if (!a || p->depth)
        return false;
    run_writes_to(a);
    if (!p->refused) {
        check(a);
        note_evaluation(a);
    }
    return true;
}

/* Makes the array of the places of the largest elements along an axis, by wf_array_argmax. */
static bool largest(void)
{
    const array *a = any_array();
    if (!a || p->depth || !a->shape.rank || memory_of(a)->dtype == WF_BOOL || !count(&a->shape))
        return false;
    run_writes_to(a);
    int axis = (int)below(a->shape.rank);
    wf_shape shape = a->shape;
    shape.dim[axis] = 1;
    int m = p->refused || p->arrays == ARRAYS ? -1 : new_memory(WF_I64, count(&shape));
    if (m < 0)
        return false;
    wf_array *at = wf_array_argmax(a->a, WF_AXES(axis));
    if (!at) {
        did(wf_last_status(ctx));
        return true;
    }
    note_evaluation(a);
    say("wf_array_argmax(a%d, axis %d);\n", a->id, axis);
    for (int64_t k = 0; k < count(&a->shape); ++k) {
        int64_t index[AXES] = { 0 }, *best = &p->memory[m].at[spread(&shape, &a->shape, k)];
        indices(&a->shape, k, index);
        int64_t here = index[axis];
        index[axis] = *best;
        if (*element(a, k) > *element(a, place(&a->shape, index)))
            *best = here;
    }
    add_array(at, m, shape);
    check(&p->array[p->arrays - 1]);
    return true;
}

static bool evaluated_now(void)
{
    evaluate(p->depth);
    return true;
}

static bool began_again(void)
{
    if (!p->depth)
        end_and_begin();
    return true;
}
#endif
