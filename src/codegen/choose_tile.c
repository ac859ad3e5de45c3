/* choose_tile.c - the number of lanes of a vector, and the tile of points that a step of the inner loop computes.
 *
 * Columns hide latency: with a long chain of dependent operations the processor idles once its instruction window is
 * full, unless independent points are interleaved. Rows and columns save loads that points share: the tile of a stencil
 * loads each element once for all its points. Rows read more rows of memory at a time, and the processor prefetches few:
 * they pay where each row is read at many places. Both cost registers, code and compile time. So the smallest tile is
 * chosen whose estimated cost is close to the least.
 *
 * Compile time matters where little work is expected. A large body that neither stores past the cache nor reduces gets
 * no columns for latency, and is compiled once instead of twice: INTERIOR only where rows are long, BORDER only where
 * masked accesses are nearly free.
 */
#include "codegen/phases.h"
#include "ir/cost.h"
#include <stdlib.h>

enum { MOST_SHARED = 1024 }; /* loads that are compared */

#define MOST_OFFSET (INT64_C(1) << 40) /* larger offsets are not shared within a tile, and could overflow */

/* ---- the work of the body at one point ---- */
typedef struct shared_load { /* its offsets along the row and lane axes; loads of a group differ in nothing else */
    uint32_t group;
    int64_t row, lane;
} shared_load;

typedef struct study {
    wf__gen *g;
    const wf__ir *body;
    const wf__vary *vary;
    const uint8_t *live;
    bool light;                          /* compile time matters */
    uint32_t weight;                     /* estimated LLVM instructions */
    uint32_t operations, loads, uniform; /* vector instructions; loads that cannot be shared; uniform vectors */
    bool bordered;                       /* border modes are used */
    bool crossed;                        /* neighbours in memory lie along rows (find_packets.c) */
    uint32_t carried;                    /* registers of the states of a loop and of those inside, at most */
    uint32_t loop_weight;                /* as weight, of an outermost loop */
    uint64_t local_bytes;                /* of the local memory of a vector */
    uint32_t latency;                    /* cycles of the longest chain */
    uint32_t registers;                  /* registers that are live at once, without loads */
    shared_load load[MOST_SHARED];
    uint32_t load_n, group_n;
    struct group {
        uint32_t slot, tuple[WF_MAX_RANK];
    } group[64];
} study;

static unsigned registers_of(const study *s, unsigned dtype)
{
    unsigned bytes = (unsigned)s->g->options->target->vector_bits / 8;
    return dtype == WF_BOOL ? 0 : ((unsigned)s->g->width * wf__size(dtype) + bytes - 1) / bytes;
}

/* Adds a load to the group of those that differ only by offsets along the row and lane axes. Returns false if points of
 * a tile cannot share the load. */
static bool add_shared_load(study *s, const wf__node *n)
{
    struct group key = { .slot = n->a };
    shared_load l = { 0 };
    int rank = s->body->rank, along_lane = 0, along_row = 0;
    for (uint32_t k = 0; k < wf__tuple_len(s->body, n->b); k++) {
        wf__ref r = wf__tuple_at(s->body, n->b)[k];
        int axis = -1;
        int64_t offset = 0;
        bool simple = wf__as_offset(s->body, r, &axis, &offset) && offset > -MOST_OFFSET && offset < MOST_OFFSET;
        if (simple && axis == rank - 1 && s->body->slot[n->a].step[k] == WF__STEP_UNIT) {
            l.lane = offset;
            key.tuple[k] = UINT32_MAX;
            along_lane++;
        } else if (simple && rank > 1 && axis == rank - 2) {
            l.row = offset;
            key.tuple[k] = UINT32_MAX - 1;
            along_row++;
        } else if (s->vary[r].kind == WF__UNIFORM) {
            key.tuple[k] = r;
        } else {
            return false;
        }
    }
    if (along_lane != 1 || along_row > 1 || s->load_n == MOST_SHARED || s->body->slot[n->a].written ||
        s->body->slot[n->a].may_alias)
        return false;
    while (l.group < s->group_n && memcmp(&s->group[l.group], &key, sizeof key) != 0)
        l.group++;
    if (l.group == WF__COUNT(s->group))
        return false;
    if (l.group == s->group_n)
        s->group[s->group_n++] = key;
    s->load[s->load_n++] = l;
    return true;
}

/* Finds the latency of the longest chain, and the registers of one point. work: [2 * ir.n], zeros. */
static void study_chain(study *s, uint32_t *work)
{
    const wf__ir *ir = s->body;
    uint32_t *depth = work, *last = work + ir->n, now = 0;
    wf__ref operand[WF__MAX_OPERANDS];
    for (uint32_t i = 1; i < ir->n; i++) {
        if (!s->live[i] || s->vary[i].kind != WF__VARYING)
            continue;
        uint32_t n = wf__operands(ir, &ir->node[i], operand), most = 0;
        for (uint32_t k = 0; k < n; k++) {
            most = depth[operand[k]] > most ? depth[operand[k]] : most;
            last[operand[k]] = i;
        }
        depth[i] = most + wf__cost_of(&ir->node[i])->cycles;
        s->latency = depth[i] > s->latency ? depth[i] : s->latency;
    }
    for (uint32_t i = 1; i < ir->n; i++) {
        if (!s->live[i] || s->vary[i].kind != WF__VARYING || ir->node[i].op == WF__LOAD)
            continue;
        uint32_t n = wf__operands(ir, &ir->node[i], operand);
        for (uint32_t k = 0; k < n; k++)
            if (last[operand[k]] == i && s->vary[operand[k]].kind == WF__VARYING &&
                ir->node[operand[k]].op != WF__LOAD) {
                last[operand[k]] = 0;
                now -= registers_of(s, wf__dtype(ir, operand[k]));
            }
        if (last[i])
            now += registers_of(s, ir->node[i].dtype);
        s->registers = now > s->registers ? now : s->registers;
    }
}

static void study_nodes(study *s)
{
    const wf__ir *ir = s->body;
    for (uint32_t i = 1; i < ir->n; i++) {
        const wf__node *n = &ir->node[i];
        if (!s->live[i])
            continue;
        if (s->vary[i].kind == WF__UNIFORM)
            s->uniform += n->op == WF__LOAD || n->op == WF__PARAM;
        if (s->vary[i].kind != WF__VARYING)
            continue;
        if (n->op == WF__LOAD)
            s->loads += !add_shared_load(s, n) * registers_of(s, n->dtype);
        else if (wf__op_is_pure(n->op) && n->op != WF__BITCAST)
            s->operations += registers_of(s, n->dtype) + (n->dtype == WF_BOOL);
        s->weight += wf__cost_of(n)->instructions;
        s->bordered |= n->op == WF__LOAD && n->aux != WF_BORDER_NONE;
        s->crossed |= n->op == WF__LOAD && wf__is_crossed(&ir->slot[n->a]);
    }
}

/* Finds what the outermost loops need at most: one runs after the other. */
static void study_loops(study *s)
{
    const wf__ir *ir = s->body;
    uint32_t depth = 0, carried = 0, weight = 0;
    for (uint32_t i = 1; i < ir->n; i++) {
        const wf__node *n = &ir->node[i];
        if (n->op == WF__LOCAL)
            s->local_bytes += (uint64_t)n->a * (unsigned)s->g->width * wf__size(n->dtype);
        if (n->op == WF__LOOP && !depth++)
            carried = weight = 0;
        if (s->live[i] && s->vary[i].kind == WF__VARYING) {
            weight += wf__cost_of(n)->instructions;
            if (n->op == WF__STATE && !ir->node[n->a].aux && !wf__local_of(ir, i))
                carried += registers_of(s, n->dtype);
        }
        if (n->op == WF__END && !--depth) {
            s->carried = carried > s->carried ? carried : s->carried;
            s->loop_weight = weight > s->loop_weight ? weight : s->loop_weight;
        }
    }
}

/* ---- tiles ---- */
static int compare_loads(const void *x, const void *y)
{
    const shared_load *a = x, *b = y;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->lane < b->lane ? -1 : a->lane > b->lane;
}

/* Twice the number of distinct loads of a tile. Unaligned loads count 3 instead of 2. */
static uint32_t shared_cost(const study *s, int rows, int columns, shared_load *place)
{
    uint32_t n = 0, cost = 0;
    for (uint32_t i = 0; i < s->load_n; i++)
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                place[n++] =
                    (shared_load){ s->load[i].group, s->load[i].row + r, s->load[i].lane + (int64_t)c * s->g->width };
    qsort(place, n, sizeof *place, compare_loads);
    for (uint32_t i = 0; i < n; i++)
        if (!i || compare_loads(&place[i - 1], &place[i]) != 0)
            cost += place[i].lane % s->g->width ? 3 : 2;
    return cost;
}

/* The loads of a point from one row of memory, on average. */
static uint32_t loads_of_row(const study *s, shared_load *place)
{
    uint32_t rows = 0;
    memcpy(place, s->load, s->load_n * sizeof *place);
    qsort(place, s->load_n, sizeof *place, compare_loads);
    for (uint32_t i = 0; i < s->load_n; i++)
        rows += !i || place[i].group != place[i - 1].group || place[i].row != place[i - 1].row;
    return rows ? s->load_n / rows : 0;
}

/* Estimated half cycles per point, times WF__TILE_MOST_POINTS; 0 = the tile is not possible. */
static uint32_t tile_cost(const study *s, int rows, int columns, shared_load *place)
{
    uint32_t points = (uint32_t)(rows * columns);
    uint32_t vector_registers = s->g->isa == WF__ISA_AVX512 || s->g->isa == WF__ISA_NEON ? 32 : 16;
    uint32_t held = s->uniform <= WF__TILE_HELD ? s->uniform : 0, loads = shared_cost(s, rows, columns, place);
    if (points > 1 && points * (s->registers ? s->registers : 1) + (uint32_t)columns + 2 + held / 2 > vector_registers)
        return 0;
    uint32_t nodes = points * (s->weight - s->load_n + s->loads) + loads / 2; /* `weight` has one for each load */
    uint32_t most_nodes = !s->light || s->load_n != s->group_n               ? WF__TILE_MOST_NODES
                          : points > 2 && s->latency <= WF__TILE_SHORT_CHAIN ? WF__TILE_LIGHTEST_NODES
                                                                             : WF__TILE_LIGHT_NODES;
    if (points > 1 && nodes > most_nodes)
        return 0;
    loads += 2 * s->loads * points;
    if (!held)
        loads += 2 * s->uniform * (uint32_t)rows; /* broadcast again in each row */
    uint32_t work = 2 * s->operations * points, most = loads > work ? loads : work;
    uint32_t hidden = points * (s->g->options->vector_units >= 4 ? WF__TILE_OVERLAPPED_BY_FOUR : WF__TILE_OVERLAPPED);
    uint32_t waits = s->latency > hidden ? s->latency - hidden : 0;
    return ((most + waits + 4) * WF__TILE_MOST_POINTS + points - 1) / points;
}

/* True if the rows of a tile share accumulators in memory. */
static bool accumulates(const wf__ir *body) { return body->red_n && body->kept_lane && body->kept + 1 < body->rank; }

/* The rows of such a tile: they save loads and stores of accumulators, and run one after the other, without more
 * registers. */
static int shared_rows(const study *s, int columns)
{
    int rows = s->g->options->rows_at_once ? s->g->options->rows_at_once : 4;
    while (rows > 1 && (uint32_t)(rows * columns) * (s->weight + s->loads + s->load_n) > WF__TILE_MOST_SHARING)
        rows /= 2;
    return rows;
}

/* True if the lanes access records. The records of one vector's lanes are many loads at once already. More columns
 * would only fill the processor's window and its registers. A record that is the same for all lanes is none. */
static bool moves_records(const study *s)
{
    for (uint32_t i = 1; i < s->body->n; i++) {
        const wf__node *n = &s->body->node[i];
        if (s->live[i] && wf__op_is_access(n->op) && s->body->slot[n->a].record &&
            (n->op != WF__LOAD || s->vary[i].kind == WF__VARYING))
            return true;
    }
    return false;
}

/* The rows of a tile for transposed arrays: as many as there are registers for. */
static int crossed_rows(const study *s, shared_load *place)
{
    int rows = s->g->options->rows_at_once;
    while (rows > 1 && !tile_cost(s, rows, 1, place))
        rows /= 2;
    return rows;
}

static void find_best_tile(const study *s, int *rows, int *columns)
{
    static const int candidate[][2] = {
        { 1, 1 }, { 1, 2 }, { 2, 1 }, { 1, 4 }, { 2, 2 }, { 4, 1 }, { 2, 4 }, { 4, 2 }
    };
    shared_load *place = wf__alloc((s->load_n * WF__TILE_MOST_POINTS + 1) * sizeof *place);
    uint32_t best = UINT32_MAX;
    if (!place)
        return; /* the smallest tile is always possible */
    int crossed = s->crossed && !s->body->red_n ? crossed_rows(s, place) : 0;
    bool one_column = moves_records(s) && !s->body->red_n;
    /* Stores past the cache fill one row after the other: loads from the like places of a page flush what of a line is
     * stored, and several rows have more such lines. */
    bool one_row = s->body->rank < 2 || s->body->red_n || s->load_n == s->group_n || s->g->options->nontemporal ||
                   loads_of_row(s, place) < WF__TILE_LOADS_OF_ROW;
    for (size_t i = 0; i < WF__COUNT(candidate) && crossed < 2; i++) {
        int r = candidate[i][0], c = candidate[i][1];
        if (c > 1 && one_column)
            continue;
        if (r > 1 && one_row)
            continue;
        uint32_t cost = tile_cost(s, r, c, place);
        if (!cost || cost + cost / 32 >= best)
            continue;
        best = cost;
        *rows = r;
        *columns = c;
    }
    wf__free(place);
    if (crossed > 1) {
        *rows = crossed;
        *columns = 1;
    }
}

/* True if the processor masks all loads and stores of the body. */
static bool masks_are_cheap(const study *s)
{
    for (uint32_t i = 0; i < s->body->slot_n; i++)
        if (s->g->isa != WF__ISA_AVX512 && (s->g->isa != WF__ISA_AVX2 || wf__size(s->body->slot[i].dtype) < 4))
            return false;
    return true;
}

/* True if many loads are shared by points of a tile. */
static bool is_stencil(const study *s) { return s->load_n - s->group_n >= s->weight / 4; }

/* True if INTERIOR prefetches memory, which BORDER does not. */
static bool prefetches(const wf__ir *body)
{
    for (uint32_t i = 0; i < body->slot_n; i++)
        if (body->slot[i].large_indexed)
            return true;
    return false;
}

/* Of the innermost loops: the most operations of a turn, the longest chain of a turn in cycles, and the most uses of
 * values from before the loop that differ from lane to lane. Conditions in a loop count as a part of it.
 * depth: [ir.n]. */
typedef struct turn {
    uint32_t operations, cycles, values;
} turn;
static turn study_turns(const study *s, uint32_t *depth)
{
    const wf__ir *ir = s->body;
    wf__ref operand[WF__MAX_OPERANDS];
    turn most = { 0 }, now = { 0 };
    for (uint32_t i = 1, loop = 0; i < ir->n; i++) {
        const wf__node *n = &ir->node[i];
        if (n->op == WF__LOOP && !n->aux) {
            now = (turn){ 0 };
            loop = i;
        } else if (n->op == WF__END && n->a == loop) {
            most.operations = now.operations > most.operations ? now.operations : most.operations;
            most.cycles = now.cycles > most.cycles ? now.cycles : most.cycles;
            most.values = now.values > most.values ? now.values : most.values;
        }
        if (!loop || !s->live[i] || s->vary[i].kind != WF__VARYING || n->op == WF__STATE || n->op == WF__NEXT)
            continue;
        uint32_t from = 0;
        for (uint32_t count = wf__operands(ir, n, operand), k = 0; k < count; k++) {
            wf__ref a = operand[k];
            now.values += a < loop && s->vary[a].kind == WF__VARYING;
            from = a > loop && depth[a] > from ? depth[a] : from;
        }
        depth[i] = from + wf__cost_of(n)->cycles;
        now.cycles = depth[i] > now.cycles ? depth[i] : now.cycles;
        now.operations += n->dtype == WF_BOOL ? 1 : registers_of(s, n->dtype);
    }
    return most;
}

/* The columns for a body with loops: they hide latency, as long as the states of loops fit into registers. Where four do
 * not fill the units of the processor, and rows are long, six may. */
static int loop_columns(const study *s, uint32_t *work)
{
    int columns = 4;
    uint32_t vector_registers = s->g->isa == WF__ISA_AVX512 || s->g->isa == WF__ISA_NEON ? 32 : 16;
    if (!s->carried || s->loop_weight > WF__TILE_LIGHT_NODES || s->weight > 4 * WF__TILE_LIGHT_NODES)
        return 1;
    while (columns > 1 && ((uint32_t)columns * s->carried + 4 > vector_registers ||
                           (uint32_t)columns * s->local_bytes > WF__MOST_LOCAL_MEMORY))
        columns /= 2;
    memset(work, 0, s->body->n * sizeof *work);
    turn t = study_turns(s, work);
    bool idle = 4 * t.operations < t.cycles * s->g->options->vector_units;
    if (columns == 4 && idle && !s->local_bytes && s->g->options->long_rows && 6 * s->g->width <= WF__LONG_ROW &&
        6 * (s->carried + t.values) + 4 <= vector_registers)
        columns = 6;
    return columns;
}

/* True if updates take many of the processor's buffers of misses: with values of their own for each lane, or all over an
 * array that does not fit into the first-level cache, which the plan prefetches rows for. A row of an array is small, and
 * so are spread copies. */
static bool fills_buffers(const study *s)
{
    bool rows = false, anywhere = false, varies = false;
    for (uint32_t i = 0; i < s->body->slot_n; i++)
        rows |= s->body->slot[i].prefetch_rows;
    for (uint32_t i = 1; i < s->body->n; i++) {
        const wf__node *n = &s->body->node[i];
        if (!wf__op_is_update(n->op))
            continue;
        if (s->body->slot[n->a].large_indexed)
            return false; /* each update is a miss, and the more are under way, the better */
        bool small = s->body->slot[n->a].spread > 1;
        for (uint32_t k = 0; k < wf__tuple_len(s->body, n->b); k++)
            small |= s->vary[wf__tuple_at(s->body, n->b)[k]].kind == WF__UNIFORM;
        anywhere |= !small;
        varies |= s->vary[n->c].kind == WF__VARYING;
    }
    return varies || (rows && anywhere);
}

/* The columns for a body with updates, which run lane after lane. The operations of a column run beside the updates of
 * the columns before it, as far as these are written one after the other. More columns than two would delay what is
 * prefetched where the processor's buffers of misses are full. */
static int update_columns(const study *s, uint32_t updates)
{
    int columns = fills_buffers(s) ? 2 : 4;
    if (moves_records(s))
        return 1;
    if (s->weight > WF__TILE_LIGHT_NODES || (uint32_t)(columns * s->g->width) * updates > WF__MANY_UPDATES_WRITTEN)
        columns = 2;
    return columns;
}

/* True if each vector is to be stored before the next one is computed. */
static bool streams_by_column(const wf__gen *g, const wf__ir *body)
{
    uint32_t nodes = 0;
    for (wf__ref r = 1; r < body->n; r++)
        nodes += body->node[r].op != WF__NOP && body->node[r].op != WF__CONST;
    return g->options->nontemporal && nodes <= WF__POINT_BY_POINT_NODES;
}

void wf__choose_tile(wf__gen *g, const wf__ir *body, const wf__vary *vary, const uint8_t *live, int *rows, int *columns)
{
    int r = g->options->rows, c = g->options->columns, best_r = 1, best_c = 1;
    bool in_order = body->red_n > 0;
    uint32_t updates = 0;
    for (uint32_t i = 1; i < body->n; i++)
        updates += wf__op_is_update(body->node[i].op); /* lanes and rows of updates run one after the other */
    in_order |= updates > 0;
    study *s = r > 0 && c > 0 ? NULL : wf__alloc0(sizeof *s);
    uint32_t *work = s ? wf__alloc0(2 * body->n * sizeof *work) : NULL;
    if (s && work) {
        *s = (study){ .g = g, .body = body, .vary = vary, .live = live };
        s->light = !g->options->nontemporal && !body->red_n;
        study_nodes(s);
        study_loops(s);
        study_chain(s, work);
        find_best_tile(s, &best_r, &best_c);
        if (accumulates(body))
            best_r = shared_rows(s, best_c);
        if (body->loops) {
            best_r = 1;
            best_c = updates ? 1 : loop_columns(s, work);
        } else if (updates) {
            best_r = 1;
            best_c = update_columns(s, updates);
        } else if (s->light && s->weight > WF__TILE_ONE_COPY && !s->bordered && !is_stencil(s)) {
            if (g->options->long_rows)
                best_r = 1; /* then INTERIOR is enough */
            else if (masks_are_cheap(s) && !prefetches(body))
                best_r = best_c = 0;
        }
    }
    wf__free(s);
    wf__free(work);
    *columns = c > 0 ? c : best_c;
    bool one_row = body->rank < 2 || body->loops || updates || (in_order && !accumulates(body));
    *rows = *columns && one_row ? 1 : r > 0 ? r : best_r;
    g->by_column = streams_by_column(g, body);
    if (body->red_n && !body->kept_lane) { /* columns: a multiple of the accumulators' vectors */
        const int instances = WF__LANES / g->width;
        g->by_column = g->by_column || (*columns < instances && !body->loops && !updates);
        *columns = (*columns + instances - 1) / instances * instances;
    }
}

int wf__choose_width(const wf__ir *body, const wf__vary *vary, const uint8_t *live, const wf__target *target)
{
    unsigned most = 0;
    bool word = false;
    for (uint32_t i = 1; i < body->n; i++) {
        const wf__node *n = &body->node[i];
        if (!live[i] || vary[i].kind != WF__VARYING || n->dtype == WF_BOOL)
            continue;
        unsigned size = wf__align(n->dtype); /* for complex numbers, the size of a part */
        most = size > most ? size : most;
        word |= size < 8;
    }
    if (most == 8 && word)
        most = 4; /* 64-bit values take two registers or more */
    if (!most)
        most = 4;
    int w = target->vector_bits / (8 * (int)most);
    return w > WF__LANES ? WF__LANES : w;
}
