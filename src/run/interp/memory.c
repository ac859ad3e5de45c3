/* memory.c - the interpreter's accesses to memory, lane by lane, except for rows of equally spaced elements. In debug
 * mode, debug/watch.c checks each access. */
#include "run/interp/chunk.h"

/* ---- borders ---- */
_Static_assert(WF__BORDERS == 6, "how each border mode maps an index");
static int64_t border_index(wf_border border, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    if (n <= 0)
        return 0;
    int64_t period = border == WF_BORDER_MIRROR ? 2 * n : border == WF_BORDER_REFLECT ? 2 * n - 2 : n;
    if (border == WF_BORDER_CLAMP)
        return i < 0 ? 0 : n - 1;
    if (period <= 0)
        return 0;
    int64_t k = i % period;
    k = k < 0 ? k + period : k;
    if (border == WF_BORDER_MIRROR && k >= n)
        return period - 1 - k;
    if (border == WF_BORDER_REFLECT && k >= n)
        return period - k;
    return k;
}

/* ---- debug mode ---- */
static const int64_t *point_of(const wf__chunk *f, uint32_t l, int64_t point[WF_MAX_RANK])
{
    memcpy(point, f->index, (size_t)f->ir->rank * sizeof *point);
    point[f->ir->rank - 1] += l;
    return point;
}

static void report_outside(const wf__chunk *f, const wf__node *n, uint32_t l)
{
    int64_t index[WF_MAX_RANK], point[WF_MAX_RANK];
    for (uint32_t k = 0; k < wf__tuple_len(f->ir, n->b); ++k)
        index[k] = ((const int64_t *)wf__chunk_at(f, wf__tuple_at(f->ir, n->b)[k]))[l];
    wf__watch_outside(f->call->watch, n, index, point_of(f, l, point));
}

static bool may_store(const wf__chunk *f, const wf__node *n, uint32_t l, int64_t offset, const void *value)
{
    int64_t point[WF_MAX_RANK];
    return !f->call->watch || wf__watch_store(f->call->watch, n, offset, value, point_of(f, l, point));
}

static bool may_join(const wf__chunk *f, const wf__node *n, uint32_t l, unsigned dtype, const void *value)
{
    int64_t point[WF_MAX_RANK];
    return !f->call->watch || wf__watch_value(f->call->watch, n, dtype, value, point_of(f, l, point));
}

/* ---- access ---- */
/* Sets the element offset of lane l. Returns false if the lane has no access: its predicate is false, or its index is
 * outside the array. */
static bool find_offset(const wf__chunk *f, const wf__node *n, uint32_t l, int64_t *out)
{
    const wf__mem *m = &f->call->mem[n->a];
    const wf__ref *index = wf__tuple_at(f->ir, n->b);
    uint32_t rank = wf__tuple_len(f->ir, n->b);
    int64_t offset = 0;
    if (n->op == WF__LOAD && n->when && !((const unsigned char *)wf__chunk_at(f, n->when))[l])
        return false;
    for (uint32_t k = 0; k < rank; ++k) {
        int64_t i = ((const int64_t *)wf__chunk_at(f, index[k]))[l];
        bool bordered = n->op == WF__LOAD && n->aux != WF_BORDER_NONE;
        if (f->call->watch && !bordered && (i < 0 || i >= m->dim[k]) && !f->ir->slot[n->a].element) {
            report_outside(f, n, l);
            return false;
        }
        if (n->op == WF__LOAD && n->aux == WF_BORDER_VALUE && (i < 0 || i >= m->dim[k]))
            return false;
        if (n->op == WF__LOAD && n->aux > WF_BORDER_VALUE) {
            if (m->dim[k] <= 0)
                return false; /* an empty array: the lane gets the border value, or 0 */
            i = border_index((wf_border)n->aux, i, m->dim[k]);
        }
        if (k + 1 == rank && f->ir->slot[n->a].spread > 1)
            i %= f->ir->slot[n->a].spread;
        offset += i * m->stride[k];
    }
    *out = offset;
    return true;
}

/* ---- rows of equally spaced elements ---- */
/* Sets the address of the first live lane's element and the bytes to that of the next lane, if they are known without
 * a look at each lane. Returns false if they are not, or if lanes need checks. */
static bool find_row(const wf__chunk *f, const wf__node *n, char **at, int64_t *step)
{
    const wf__mem *m = &f->call->mem[n->a];
    const wf__ref *index = wf__tuple_at(f->ir, n->b);
    uint32_t rank = wf__tuple_len(f->ir, n->b);
    int64_t offset = 0, each = 0, size = (int64_t)wf__size(n->dtype);
    if (f->call->watch || f->ir->slot[n->a].spread > 1 || (n->op == WF__LOAD && (n->when || n->aux != WF_BORDER_NONE)))
        return false;
    for (uint32_t k = 0; k < rank; ++k) {
        const wf__node *i = &f->ir->node[index[k]];
        if (i->op != WF__INDEX && !wf__is_constant_of_run(i))
            return false;
        offset += ((const int64_t *)wf__chunk_at(f, index[k]))[f->first] * m->stride[k];
        if (i->op == WF__INDEX && (int)i->a == f->ir->rank - 1)
            each += m->stride[k];
    }
    *at = m->base + offset * size;
    *step = each * size;
    return true;
}

#define COPY_STEPS(bytes)                                                \
    case bytes:                                                          \
        for (size_t i = 0; i < n; ++i, to += to_step, from += from_step) \
            memcpy(to, from, bytes);                                     \
        break;
/* Copies n elements one after the other. The steps are bytes. */
static void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step, size_t n, unsigned size)
{
    if (to_step == (int64_t)size && from_step == (int64_t)size) {
        memcpy(to, from, n * size);
        return;
    }
    switch (size) {
        COPY_STEPS(1)
        COPY_STEPS(2)
        COPY_STEPS(4)
        COPY_STEPS(8)
        COPY_STEPS(16)
    default:
        break;
    }
}

/* ---- nodes ---- */
static void load_lanes(const wf__chunk *f, wf__ref r, const wf__node *n)
{
    unsigned size = wf__size(n->dtype);
    unsigned char *out = wf__chunk_at(f, r);
    for (uint32_t l = f->first; l < f->first + f->n; ++l) {
        int64_t offset;
        if (find_offset(f, n, l, &offset))
            memcpy(out + l * size, f->call->mem[n->a].base + offset * (int64_t)size, size);
        else if (n->c)
            memcpy(out + l * size, (unsigned char *)wf__chunk_at(f, n->c) + l * size, size);
        else
            memset(out + l * size, 0, size);
    }
}

void wf__chunk_load(const wf__chunk *f, wf__ref r, const wf__node *n)
{
    const unsigned size = wf__size(n->dtype);
    unsigned char *out = wf__chunk_at(f, r);
    char *from;
    int64_t step;
    if (f->n && find_row(f, n, &from, &step))
        copy_row((char *)out + (size_t)f->first * size, size, from, step, f->n, size);
    else
        load_lanes(f, r, n);
    if (n->dtype == WF_BOOL)
        for (uint32_t l = f->first; l < f->first + f->n; ++l)
            out[l] = out[l] != 0;
}

void wf__chunk_store(const wf__chunk *f, const wf__node *n)
{
    unsigned size = wf__size(n->dtype);
    const unsigned char *value = wf__chunk_at(f, n->c), *keep = n->d ? wf__chunk_at(f, n->d) : NULL;
    char *to;
    int64_t step;
    if (f->n && !keep && find_row(f, n, &to, &step)) {
        copy_row(to, step, (const char *)value + (size_t)f->first * size, size, f->n, size);
        return;
    }
    for (uint32_t l = f->first; l < f->first + f->n; ++l) {
        int64_t offset;
        if ((!keep || keep[l]) && find_offset(f, n, l, &offset) && may_store(f, n, l, offset, value + l * size))
            memcpy(f->call->mem[n->a].base + offset * (int64_t)size, value + l * size, size);
    }
}

/* Updates elements in the order of the lanes. */
void wf__chunk_update(const wf__chunk *f, wf__ref r, const wf__node *n)
{
    const wf__ref *pair = wf__tuple_at(f->ir, n->c);
    unsigned size = wf__size(n->dtype), join = wf__node_join(n);
    wf__ref from = n->op == WF__CAS ? pair[1] : n->c;
    unsigned dtype = wf__dtype(f->ir, from), step = wf__size(dtype);
    const unsigned char *value = wf__chunk_at(f, from), *expected = n->op == WF__CAS ? wf__chunk_at(f, pair[0]) : NULL;
    const unsigned char *keep = n->d ? wf__chunk_at(f, n->d) : NULL;
    unsigned char *old = wf__chunk_at(f, r);
    for (uint32_t l = f->first; l < f->first + f->n; ++l) {
        int64_t offset;
        memset(old + l * size, 0, size);
        if ((keep && !keep[l]) || !find_offset(f, n, l, &offset))
            continue;
        if (join != WF_JOIN_INC && !may_join(f, n, l, dtype, value + l * step))
            continue;
        if (wf__has_no_conflict(n) && !may_store(f, n, l, offset, value + l * step))
            continue;
        char *element = f->call->mem[n->a].base + offset * (int64_t)size;
        memcpy(old + l * size, element, size);
        if (n->dtype == WF_BOOL)
            old[l] = old[l] != 0;
        if (n->op == WF__CAS ? !memcmp(old + l * size, expected + l * size, size) : join == WF_JOIN_EXCH)
            memcpy(element, value + l * size, size);
        else if (n->op != WF__CAS)
            wf__update(join, n->dtype, element, value + l * step);
    }
}

/* ---- local memory ---- */
typedef struct local {     /* the memory that a PUT or GET names */
    unsigned char *at;     /* [element][WF__LANES] */
    const uint32_t *index; /* [lanes] */
    uint32_t last;         /* index of the last element */
    unsigned size;
} local;

static local local_of(const wf__chunk *f, const wf__node *n)
{
    const wf__ref r = wf__local_of(f->ir, n->a);
    unsigned char *memory = f->value + (size_t)f->ir->n * f->row;
    return (local){ memory + f->interp->local[r], wf__chunk_at(f, n->b), f->ir->node[r].a - 1, wf__size(n->dtype) };
}

static unsigned char *element_of(const local *m, uint32_t l)
{
    return m->at + ((size_t)(m->index[l] & m->last) * WF__LANES + l) * m->size;
}

void wf__chunk_put(const wf__chunk *f, const wf__node *n)
{
    const local m = local_of(f, n);
    const unsigned char *value = wf__chunk_at(f, n->c), *keep = n->d ? wf__chunk_at(f, n->d) : NULL;
    for (uint32_t l = f->first; l < f->first + f->n; ++l)
        if (!keep || keep[l])
            memcpy(element_of(&m, l), value + (size_t)l * m.size, m.size);
}

void wf__chunk_get(const wf__chunk *f, wf__ref r, const wf__node *n)
{
    const local m = local_of(f, n);
    unsigned char *out = wf__chunk_at(f, r);
    for (uint32_t l = f->first; l < f->first + f->n; ++l)
        memcpy(out + (size_t)l * m.size, element_of(&m, l), m.size);
}

/* Checks an index of a local array. */
void wf__chunk_check(const wf__chunk *f, wf__ref r, const wf__node *n)
{
    const unsigned char *right = wf__chunk_at(f, n->a);
    const int64_t *index = wf__chunk_at(f, n->b);
    int64_t point[WF_MAX_RANK];
    memcpy(wf__chunk_at(f, r), index, f->lanes * sizeof *index);
    for (uint32_t l = f->first; f->call->watch && l < f->first + f->n; ++l)
        if (!right[l])
            wf__watch_local(f->call->watch, n, index[l], point_of(f, l, point));
}
