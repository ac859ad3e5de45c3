/* gather_array.c - see gather_array.h. An axis that no rank divides is joined with the axis before it, so that an array in
 * slabs along its first axis has a single axis, and positions are offsets without a division. */
#include "run/cpu/gather_array.h"

/* ---- axes ---- */
/* Copies axis d with the blocks along it, in units of `inner` elements. Returns the memory after them. */
static int64_t *add_axis(wf__asked_array *a, const wf__gathered *how, int d, int rank, int64_t *begin)
{
    wf__asked_axis *x = &a->axis[a->axes++];
    *x = (wf__asked_axis){ .dim = how->shape.dim[d], .stride = how->stride[d], .hi = how->shape.dim[d] };
    if (!how->begin[d])
        return begin;
    x->places = how->places[d];
    x->weight = how->weight[d];
    x->begin = begin;
    memcpy(begin, how->begin[d], (size_t)(x->places + 1) * sizeof *begin);
    const int64_t place = rank / x->weight % x->places;
    x->lo = begin[place];
    x->hi = begin[place + 1];
    return begin + x->places + 1;
}

/* Joins a whole axis with the axis before it. */
static void join_axis(wf__asked_axis *x, int64_t dim, int64_t stride)
{
    x->dim *= dim;
    x->lo *= dim;
    x->hi *= dim;
    x->stride = stride;
    for (int64_t k = 0; x->begin && k <= x->places; ++k)
        x->begin[k] *= dim;
}

bool wf__asked_begin(wf__asked_array *a, const wf__gathered *how, int rank, char *base, size_t size)
{
    int64_t n = 0;
    int first = 0; /* of the ranks with the elements of this one's block, which gives them */
    for (int d = 0; d < how->shape.rank; ++d)
        n += how->begin[d] ? how->places[d] + 1 : 0;
    *a = (wf__asked_array){ .object = how->from, .base = base, .size = size, .elements = 1 };
    a->begin = wf__alloc((size_t)(n + 1) * sizeof *a->begin);
    if (!a->begin)
        return false;
    int64_t *begin = a->begin;
    for (int d = 0; d < how->shape.rank; ++d) {
        const int64_t dim = how->shape.dim[d];
        a->elements *= (uint64_t)dim;
        if (how->begin[d])
            first += rank / how->weight[d] % how->places[d] * how->weight[d];
        if (d && !how->begin[d] && a->axis[a->axes - 1].stride == dim * how->stride[d])
            join_axis(&a->axis[a->axes - 1], dim, how->stride[d]);
        else
            begin = add_axis(a, how, d, rank, begin);
    }
    a->gives = first == rank;
    for (int d = 0; d < a->axes; ++d)
        a->axis[d].per_each = (double)a->axis[d].places / (double)a->axis[d].dim;
    return true;
}

void wf__asked_end(wf__asked_array *a)
{
    wf__free(a->begin);
    a->begin = NULL;
}

int64_t wf__asked_block(const wf__asked_array *a, int rank)
{
    int64_t n = 1;
    int first = 0;
    for (int d = 0; d < a->axes; ++d) {
        const wf__asked_axis *x = &a->axis[d];
        const int64_t place = x->begin ? rank / x->weight % x->places : 0;
        n *= x->begin ? x->begin[place + 1] - x->begin[place] : x->dim;
        first += (int)place * x->weight;
    }
    return first == rank ? n : 0;
}

/* ---- elements of the own block ---- */
void wf__asked_find_row(const wf__asked_array *a, int64_t number, wf__asked_row *out)
{
    const wf__asked_axis *last = &a->axis[a->axes - 1];
    const int64_t n = last->hi - last->lo;
    int64_t rest = number / n;
    out->stride = last->stride;
    out->begin = rest * n;
    out->end = out->begin + n;
    out->offset = (last->lo - out->begin) * last->stride;
    for (int d = a->axes - 2; d >= 0; --d) {
        const wf__asked_axis *x = &a->axis[d];
        out->offset += (x->lo + rest % (x->hi - x->lo)) * x->stride;
        rest /= x->hi - x->lo;
    }
}

void wf__asked_copy(const wf__asked_array *a, const uint64_t *at, int64_t n, char *to)
{
    wf__asked_row r = { 0 };
    for (int64_t k = 0; k < n; ++k)
        wf__asked_move(to + (size_t)k * a->size, wf__asked_of_row(a, &r, (int64_t)at[k]), a->size);
}

void wf__asked_copy_set(const wf__asked_array *a, int64_t first, const uint64_t *bits, int64_t n, char *to)
{
    wf__asked_row r = { 0 };
    for (int64_t k = 0; k < n; ++k) {
        const int64_t number = first + 64 * k;
        uint64_t left = bits[k];
        if (!~left && number >= r.begin && number + 64 <= r.end && r.stride == 1) {
            memcpy(to, wf__asked_element(a, r.offset + number), 64 * a->size);
            to += 64 * a->size;
            continue;
        }
        for (; left; left &= left - 1, to += a->size)
            wf__asked_move(to, wf__asked_of_row(a, &r, number + __builtin_ctzll(left)), a->size);
    }
}
