/* copies.c - private copies of arrays that are accumulated into. The user of a copy fills it, so that its pages and
 * cache lines are local. Copies are joined part by part, in parallel, each part in the order of plan/join_order.h.
 */
#include "run/cpu/copies.h"
#include "plan/join_order.h"

enum { SOME = 256 };

static size_t elements_of(const wf__private *p) { return (size_t)p->elements * p->spread; }

static size_t bytes_of(const wf__stage *stage, const wf__private *p)
{
    return wf__copy_bytes(p, stage->lowered.slot[p->slot].dtype);
}

static size_t bytes_of_all(const wf__stage *stage)
{
    size_t sum = 0;
    for (uint32_t k = 0; k < stage->copies.n; ++k)
        sum += bytes_of(stage, &stage->copies.at[k]);
    return sum;
}

int64_t wf__copies_most(const wf__stage *stage, int64_t wanted)
{
    uint64_t most = stage->copies.most_bytes / bytes_of_all(stage), points = 1;
    for (int d = 0; d < stage->lowered.rank; ++d)
        points *= (uint64_t)stage->extent[d];
    for (uint32_t k = 0; k < stage->copies.n; ++k) {
        uint64_t worth = 1 + wf__copies_worth(points * stage->copies.at[k].updates, elements_of(&stage->copies.at[k]));
        most = worth < most ? worth : most;
    }
    return most < 1 ? 1 : (uint64_t)wanted > most ? (int64_t)most : wanted;
}

bool wf__copies_begin(wf__copies *c, wf__mem_cache *memory, const wf__stage *stage, const wf__mem *mem, int64_t n)
{
    uint32_t slots = stage->lowered.slot_n;
    *c = (wf__copies){ .stage = stage, .memory = memory, .n = n, .each = bytes_of_all(stage) };
    size_t bytes, cells;
    if (!wf__mul_size(c->each, (size_t)n, &bytes) || !wf__mul_size((size_t)n * slots, sizeof *c->mem, &cells))
        return false;
    bool needed = n > 1;
    for (uint32_t k = 0; k < stage->copies.n; ++k)
        needed = needed || !stage->copies.at[k].direct;
    c->mem = wf__alloc(cells);
    c->filled = wf__alloc0((size_t)n);
    c->base = needed ? wf__mem_alloc(memory, bytes) : NULL;
    if (!c->mem || !c->filled || (needed && !c->base)) {
        wf__copies_end(c);
        return false;
    }
    for (int64_t i = 0; i < n; ++i) {
        wf__mem *own = c->mem + (size_t)i * slots;
        size_t at = 0;
        memcpy(own, mem, slots * sizeof *mem);
        for (uint32_t k = 0; k < stage->copies.n; ++k) {
            const wf__private *p = &stage->copies.at[k];
            if (i > 0 || !p->direct)
                own[p->slot].base = c->base + (size_t)i * c->each + at;
            at += bytes_of(stage, p);
        }
    }
    return true;
}

void wf__copies_end(wf__copies *c)
{
    wf__mem_free(c->memory, c->base, c->each * (size_t)c->n);
    wf__free(c->mem);
    wf__free(c->filled);
}

static void fill_elements(char *to, const void *element, unsigned size, size_t n)
{
    enum { STEP = 4096 }; /* a multiple of every size */
    size_t bytes = n * size, done = size;
    memcpy(to, element, size);
    while (done < bytes) {
        size_t step = done < STEP ? done : STEP;
        step = step < bytes - done ? step : bytes - done;
        memcpy(to + done, to, step);
        done += step;
    }
}

void wf__fill_neutral(unsigned join, char *to, unsigned dtype, size_t n)
{
    unsigned part = wf__part_dtype(dtype);
    uint64_t neutral = wf__join_neutral((wf_join)join, part ? part : dtype);
    if (neutral)
        fill_elements(to, &neutral, wf__align(dtype), part ? 2 * n : n);
    else
        memset(to, 0, n * wf__size(dtype));
}

const wf__mem *wf__copies_use(wf__copies *c, int64_t i)
{
    const wf__stage *stage = c->stage;
    const wf__mem *own = c->mem + (size_t)i * stage->lowered.slot_n;
    if (c->filled[i])
        return own;
    c->filled[i] = 1;
    for (uint32_t k = 0; k < stage->copies.n; ++k) {
        const wf__private *p = &stage->copies.at[k];
        if ((i > 0 || !p->direct) && p->elements)
            wf__fill_neutral(p->join, own[p->slot].base, stage->lowered.slot[p->slot].dtype, elements_of(p));
    }
    return own;
}

/* ---- joining ---- */
void wf__join_packed(unsigned join, unsigned dtype, char *a, const char *b, size_t n)
{
    unsigned part = wf__part_dtype(dtype), t = part ? part : dtype, op = wf__join_op((wf_join)join);
    n = part ? 2 * n : n;
    if (!wf__is_half(t)) {
        wf__eval(op, t, a, a, b, NULL, n);
        return;
    }
    float x[SOME], y[SOME];
    for (size_t i = 0; i < n; i += SOME) {
        size_t m = n - i < SOME ? n - i : SOME;
        wf__eval_cast(WF_F32, t, x, a + i * 2, m);
        wf__eval_cast(WF_F32, t, y, b + i * 2, m);
        wf__eval(op, WF_F32, x, x, y, NULL, m);
        wf__eval_cast(t, WF_F32, a + i * 2, x, m);
    }
}

/* Gathers n <= SOME elements of the array from number `first` on, in C order. `back`: scatters them. */
static void move_elements(const wf__slot *slot, const wf__mem *m, uint64_t first, size_t n, char *packed, bool back)
{
    unsigned size = wf__size(slot->dtype);
    int64_t index[WF_MAX_RANK], offset = 0;
    for (int d = slot->rank - 1; d >= 0; --d) {
        index[d] = (int64_t)(first % (uint64_t)m->dim[d]);
        first /= (uint64_t)m->dim[d];
        offset += index[d] * m->stride[d];
    }
    for (size_t i = 0; i < n; ++i) {
        char *element = m->base + offset * (int64_t)size;
        memcpy(back ? element : packed + i * size, back ? packed + i * size : element, size);
        for (int d = slot->rank - 1; d >= 0; --d) {
            offset += m->stride[d];
            if (++index[d] < m->dim[d])
                break;
            offset -= m->dim[d] * m->stride[d];
            index[d] = 0;
        }
    }
}

/* Joins packed values of the private dtype to elements of the array. */
static void join_array(const wf__private *p, const wf__slot *from, const wf__slot *to, const wf__mem *m, uint64_t first,
                       const char *value, size_t n)
{
    _Alignas(16) char own[SOME * 16], wide[SOME * 16];
    unsigned size = wf__size(from->dtype);
    for (size_t i = 0; i < n; i += SOME) {
        size_t count = n - i < SOME ? n - i : SOME;
        move_elements(to, m, first + i, count, own, false);
        for (size_t k = 0; to->dtype == WF_BOOL && k < count; ++k)
            own[k] = own[k] != 0;
        if (from->dtype == to->dtype) {
            wf__join_packed(p->join, to->dtype, own, value + i * size, count);
        } else {
            wf__eval_cast(from->dtype, to->dtype, wide, own, count);
            wf__join_packed(p->join, from->dtype, wide, value + i * size, count);
            wf__eval_cast(to->dtype, from->dtype, own, wide, count);
        }
        move_elements(to, m, first + i, count, own, true);
    }
}

/* Joins the spread values of each element pairwise, k with k + s, as reductions join lanes. Packs the elements. */
static void join_spread(const wf__private *p, unsigned dtype, char *at, size_t elements)
{
    size_t size = wf__size(dtype) * p->together;
    for (size_t i = 0; i < elements / p->together; ++i) {
        char *own = at + i * p->spread * size;
        for (size_t s = p->spread / 2; s; s /= 2)
            wf__join_packed(p->join, dtype, own, own + s * size, s * p->together);
        memmove(at + i * size, own, size);
    }
}

/* Returns the number of elements joined at a time: whole records. */
static size_t part_of(const wf__private *p) { return WF__JOINED_PART / (size_t)p->together * p->together; }

/* The copies as a grid: that of the boxes, or one after the other. The first one is left out if it is the array itself. */
static wf__part_grid grid_of(const wf__copies *c, bool direct, wf__box *range)
{
    const bool of_boxes = c->stage->copies.per == WF__PER_BOX;
    const wf__part_grid grid = of_boxes ? wf__parts_of(c->stage) : wf__in_line(c->n);
    *range = wf__all_parts(&grid);
    range->lo[0] = direct;
    return grid;
}

typedef struct joining {
    const wf__copies *c;
    const wf__private *p;
    const wf__mem *mem;
    bool joined; /* the first copy holds the values of all */
} joining;

/* The elements of a copy that a part joins. */
typedef struct piece {
    size_t at, n; /* byte of the first one in the copy, and their number, with the spread ones */
} piece;

/* Joins a piece of a range of copies. Returns the joined piece, in one of the copies; NULL = all copies are unused. */
static char *join_piece(const joining *j, const piece *of, const wf__part_grid *grid, wf__box *range)
{
    const int axis = wf__halved_axis(grid, range);
    const wf__stage *stage = j->c->stage;
    if (axis < 0) {
        const int64_t i = wf__part_number(grid, range->lo);
        const bool used = range->lo[0] < range->hi[0] && j->c->filled[i];
        return used ? j->c->mem[(size_t)i * stage->lowered.slot_n + j->p->slot].base + of->at : NULL;
    }
    const int64_t lo = range->lo[axis], hi = range->hi[axis], mid = wf__second_half(range, axis);
    range->hi[axis] = mid;
    char *sum = join_piece(j, of, grid, range);
    range->hi[axis] = hi;
    range->lo[axis] = mid;
    const char *more = join_piece(j, of, grid, range);
    range->lo[axis] = lo;
    if (sum && more)
        wf__join_packed(j->p->join, stage->lowered.slot[j->p->slot].dtype, sum, more, of->n);
    return sum ? sum : (char *)more;
}

static void join_part(void *user, int64_t part, int worker)
{
    const joining *j = user;
    const wf__private *p = j->p;
    const wf__stage *stage = j->c->stage;
    const wf__slot *from = &stage->lowered.slot[p->slot], *to = &stage->lowered.slot[p->target];
    uint64_t first = (uint64_t)part * part_of(p), left = p->elements - first;
    size_t n = left < part_of(p) ? (size_t)left : part_of(p), size = wf__size(from->dtype);
    const piece own = { first * p->spread * size, n * p->spread };
    wf__box range;
    const wf__part_grid grid = grid_of(j->c, p->direct, &range);
    WF__UNUSED(worker);
    for (int d = 0; j->joined && d < grid.axes; ++d)
        range.hi[d] = 1;
    char *sum = join_piece(j, &own, &grid, &range);
    if (!sum)
        return;
    if (p->spread > 1)
        join_spread(p, from->dtype, sum, n);
    if (from->dtype == to->dtype && to->dtype != WF_BOOL &&
        wf__is_c_order(j->mem[p->target].dim, j->mem[p->target].stride, to->rank))
        wf__join_packed(p->join, to->dtype, j->mem[p->target].base + first * size, sum, n);
    else
        join_array(p, from, to, &j->mem[p->target], first, sum, n);
}

void wf__copies_join(const wf__copies *c, wf__pool *pool, int threads, const wf__mem *mem, bool joined)
{
    for (uint32_t k = 0; k < c->stage->copies.n; ++k) {
        joining j = { c, &c->stage->copies.at[k], mem, joined };
        int64_t parts = (int64_t)((j.p->elements + part_of(j.p) - 1) / part_of(j.p));
        if (parts > WF__JOINED_ALONE)
            wf__pool_run_on(pool, threads, parts, join_part, &j);
        else
            for (int64_t i = 0; i < parts; ++i)
                join_part(&j, i, 0);
    }
}

/* ---- copies of several ranks ---- */
void wf__copies_join_pair(const wf__copies *c, int64_t to, int64_t from)
{
    const wf__stage *stage = c->stage;
    WF__ASSERT(c->filled[to] && c->filled[from]);
    for (uint32_t k = 0; k < stage->copies.n; ++k) {
        const wf__private *p = &stage->copies.at[k];
        wf__join_packed(p->join, stage->lowered.slot[p->slot].dtype,
                        c->mem[(size_t)to * stage->lowered.slot_n + p->slot].base,
                        c->mem[(size_t)from * stage->lowered.slot_n + p->slot].base, elements_of(p));
    }
}

size_t wf__copies_move(wf__copies *c, int64_t i, char *packed, bool out)
{
    const wf__stage *stage = c->stage;
    size_t done = 0;
    for (uint32_t k = 0; k < stage->copies.n; ++k) {
        const wf__private *p = &stage->copies.at[k];
        const size_t bytes = elements_of(p) * wf__size(stage->lowered.slot[p->slot].dtype);
        char *own = c->mem[(size_t)i * stage->lowered.slot_n + p->slot].base;
        if (packed)
            memcpy(out ? packed + done : own, out ? own : packed + done, bytes);
        done += bytes;
    }
    if (packed)
        c->filled[i] = 1;
    return done;
}
