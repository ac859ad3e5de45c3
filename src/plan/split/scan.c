/* scan.c - places the scans of an array graph. Each is a stage of its own. The result goes to a temporary, or directly to
 * the array that the value is assigned to, if nothing else changes this array afterwards.
 */
#include "ir/cost.h"
#include "plan/split/split.h"

/* True if the array has the scan's shape and dtype, and its elements in C order, as the blocks of ranks are. */
static bool has_layout(const splitter *s, uint32_t object, wf__ref scan)
{
    const wf__bind *b = &s->bind[object];
    const wf_shape *shape = &s->shape[scan];
    bool fits = b->dtype == s->ir->node[scan].dtype && b->rank == shape->rank;
    int64_t step = 1;
    for (int d = shape->rank - 1; fits && d >= 0; --d) {
        fits = b->dim[d] == shape->dim[d] && (b->stride[d] == step || b->dim[d] < 2 || b->dist);
        step *= shape->dim[d];
    }
    return fits;
}

static bool apart(const splitter *s, uint32_t object, uint32_t slot)
{
    return wf__split_overlap(s, object, s->ir->slot[slot].object, true) == WF__APART;
}

/* True if nothing but the store changes the array from the scan on. */
static bool stays(const splitter *s, wf__ref scan, wf__ref store)
{
    uint32_t object = s->ir->slot[s->ir->node[store].a].object;
    for (wf__ref r = scan + 1; r < s->ir->n; ++r)
        if (r != store && s->live[r] && wf__op_is_effect(s->ir->node[r].op) && !apart(s, object, s->ir->node[r].a))
            return false;
    return true;
}

/* True if the scan's operands do not overlap the store's array, or are its elements at the same places. */
static bool unread(const splitter *s, wf__ref scan, wf__ref store)
{
    uint32_t object = s->ir->slot[s->ir->node[store].a].object;
    for (wf__ref r = 1; r < scan; ++r) {
        const wf__node *n = &s->ir->node[r];
        if (s->cone[r] && n->op == WF__LOAD &&
            wf__split_overlap(s, object, s->ir->slot[n->a].object, wf__split_gathers(s, r)) == WF__PARTIAL)
            return false;
    }
    return true;
}

/* Returns the assignment that a scan may make itself: the whole array becomes the scan and stays so. 0 = none. Debug
 * mode checks assignments, so there is none in debug mode. */
static wf__ref find_store(const splitter *s, wf__ref scan)
{
    if (s->ir->flags & WF_FLAG_DEBUG)
        return 0;
    for (wf__ref r = scan + 1; r < s->ir->n; ++r) {
        const wf__node *n = &s->ir->node[r];
        if (n->op == WF__STORE && n->c == scan && !n->b && !n->d && !(s->block && s->block[r]) &&
            has_layout(s, s->ir->slot[n->a].object, scan) && unread(s, scan, r) && stays(s, scan, r))
            return r;
    }
    return 0;
}

/* Makes group `at` the one that scans object `from`. */
static void set_scan(splitter *s, wf__ref root, uint32_t at, uint32_t from, bool computed)
{
    const wf__node *n = &s->ir->node[root];
    s->home[root] = at;
    s->group[at].scan = (wf__scan){ .on = true,
                                    .exclusive = n->aux & WF__EXCLUSIVE,
                                    .reversed = n->aux & WF__REVERSED,
                                    .computed = computed,
                                    .dtype = n->dtype,
                                    .join = (uint8_t)n->b,
                                    .axis = (uint8_t)n->c,
                                    .from = from,
                                    .to = s->result[root] };
}

/* Adds a group before group `at`, which scans object `from`. */
static bool add_scan(splitter *s, wf__ref root, uint32_t at, uint32_t from)
{
    if (!wf__group_add(s, at, &s->shape[root]))
        return false;
    set_scan(s, root, at, from, false);
    return true;
}

/* Sets the object of the result: the array of the assignment `store`, or a new temporary if there is none. Raises *g
 * to the first group that may write it. */
static bool find_place(splitter *s, wf__ref root, wf__ref store, uint32_t *g)
{
    if (store) {
        s->placed[store] = 1;
        s->result[root] = s->ir->slot[s->ir->node[store].a].object;
        *g = wf__split_effect_bound(s, store, *g);
    } else
        s->result[root] = wf__plan_add_temp(s->plan, s->ir->node[root].dtype, &s->shape[root]);
    return s->result[root] != UINT32_MAX;
}

static bool touch_array(splitter *s, wf__ref root, wf__ref store, uint32_t g)
{
    const touch t = { .object = s->result[root], .group = g, .node = store, .store = true, .gather = true };
    return !store || wf__split_touch(s, &t);
}

/* Returns the group that computes the scanned elements. On the processor, each scan has a group of its own for them,
 * and runs part by part with it. A common group of several scans would have to store the elements. */
static uint32_t choose_feed(splitter *s, uint32_t bound, const wf_shape *shape)
{
    for (;;) {
        uint32_t g = wf__split_choose(s, bound, shape, 0);
        bool feeds = g != UINT32_MAX && g + 1 < s->group_n && s->group[g + 1].scan.on;
        if (!feeds || s->plan->target == WF__GPU)
            return g;
        wf__plan_because(
            s->plan, "scan",
            "the scan's input gets a group of its own, because group %u computes the input of another scan",
            (unsigned)g);
        bound = g + 1;
    }
}

/* ---- on GPUs: computing the elements within the scan, or storing them first ---- */
/* A scan on a GPU reads its elements twice: for the sums of parts, and to store the result. Computing its input inline
 * therefore computes it once more than storing it, while storing costs a write and two reads of each element, and a
 * kernel. All costs are in additions of f32, of which a GPU computes half as many of 64 bits. Both ways give the same
 * bits. */
enum {
    BYTE = WF__GPU_OPERATIONS_OF_BYTE,
    SECTOR = 32 * BYTE /* cost of the fewest bytes that memory transfers */
};

/* Returns how many elements apart in memory neighbouring threads read: points that are neighbours along the
 * innermost axis. */
static int64_t step_of(const group *g, uint32_t slot, const wf__bind *b)
{
    int inner = g->shape.rank - 1, k;
    int64_t step = 0;
    while (inner > 0 && g->shape.dim[inner] == 1)
        --inner;
    for (uint32_t v = 0; v < g->view_n; ++v)
        if (g->view[v].slot == slot) {
            for (k = 0; k < b->rank; ++k)
                step += g->view[v].step[k][inner] * b->stride[k];
            return step;
        }
    k = inner - (g->shape.rank - b->rank);
    return k >= 0 && b->dim[k] != 1 ? b->stride[k] : 0;
}

/* Returns the cost of reading one element. */
static int64_t cost_of_load(const splitter *s, const group *g, const wf__node *load)
{
    const wf__slot *slot = &g->ir.slot[load->a];
    wf__bind b;
    if (slot->object < s->plan->objects)
        b = s->bind[slot->object];
    else
        wf__temp_bind(&s->plan->temp[slot->object - s->plan->objects], &b);
    double bytes = wf__size(slot->dtype);
    int64_t size = wf__size(slot->dtype) * BYTE, step = load->b ? INT64_MAX : step_of(g, load->a, &b);
    for (int d = 0; d < b.rank; ++d)
        bytes *= (double)b.dim[d];
    if (bytes <= WF__GPU_CACHED && step)
        return size;
    step = step < 0 ? -step : step;
    return step >= SECTOR / size ? SECTOR : step * size;
}

/* Returns the cost of computing an element of the value in group g once more. Only the dearest read of each array
 * counts, because the others find the line in the cache. INT64_MAX = too large for the kernels of a scan. */
static int64_t cost_of_value(const splitter *s, const group *g, wf__ref value)
{
    const wf__ir *ir = &g->ir;
    int64_t dearest[WF__SCAN_MOST_SLOTS] = { 0 }, cost = 0, ops = 0;
    bool few = ir->slot_n <= WF__SCAN_MOST_SLOTS && ir->param_n <= WF__SCAN_MOST_PARAMS;
    uint8_t *live = few ? wf__alloc0(ir->n) : NULL;
    if (!live)
        return INT64_MAX;
    live[value] = 1;
    wf__mark_live(ir, live);
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (!live[r])
            continue;
        ops += wf__cost_of(n)->recompute;
        cost += wf__cost_recompute_on_gpu(n);
        if (n->op != WF__LOAD)
            continue;
        uint32_t first = 0; /* first slot of the same array */
        while (ir->slot[first].object != ir->slot[n->a].object)
            ++first;
        int64_t read = cost_of_load(s, g, n);
        cost += read > dearest[first] ? read - dearest[first] : 0;
        dearest[first] = read > dearest[first] ? read : dearest[first];
    }
    wf__free(live);
    return ops > WF__SCAN_MOST_OPS ? INT64_MAX : cost;
}

/* True if another node uses the value, so that its stage can store it as well. */
static bool is_shared(const splitter *s, wf__ref scan, wf__ref value)
{
    wf__ref used[WF__MAX_OPERANDS];
    for (wf__ref r = value + 1; r < s->ir->n; ++r) {
        uint32_t count = s->live[r] && r != scan ? wf__operands(s->ir, &s->ir->node[r], used) : 0;
        for (uint32_t i = 0; i < count; ++i)
            if (used[i] == value)
                return true;
    }
    return false;
}

static bool is_worth_computing(const splitter *s, const group *g, wf__ref root)
{
    wf__ref value = s->ir->node[root].a;
    int64_t once = cost_of_value(s, g, g->map[value]);
    if (once == INT64_MAX || !wf__has_points(&g->shape)) {
        wf__plan_because(s->plan, "scan", "%s",
                         once == INT64_MAX
                             ? "the scan's kernels do not compute their input, because its code is too large"
                             : "the scan's kernels do not compute their input, because it has no points");
        return false;
    }
    double points = 1, again = (double)once * (is_shared(s, root, value) ? 2 : 1);
    double stored = 3.0 * BYTE * wf__size(s->ir->node[root].dtype);
    for (int d = 0; d < g->shape.rank; ++d)
        points *= (double)g->shape.dim[d];
    wf__plan_because(
        s->plan, "scan",
        "computing an input element in the scan's kernels costs %.0f, and storing it first costs %.0f; one "
        "more kernel costs %.0f",
        again, stored, (double)WF__GPU_KERNEL * BYTE);
    return (again - stored) * points <= (double)WF__GPU_KERNEL * BYTE;
}

/* True if the value needs the contents of an array before an assignment that is already in a group. The last group would
 * need a copy of them; a group before the assignment needs none. */
static bool sees_old(const splitter *s)
{
    for (wf__ref r = 1; r <= s->last; ++r)
        for (uint32_t i = 0; s->cone[r] && s->ir->node[r].op == WF__LOAD && i < s->touch_n; ++i) {
            const touch *t = &s->touch[i];
            if (t->store && t->node > r && t->object < s->plan->objects && !apart(s, t->object, s->ir->node[r].a))
                return true;
        }
    return false;
}

/* Gives the scan a group of its own that also computes its elements. Sets *done to false, and adds nothing, if storing
 * the elements first is cheaper. */
static bool compute_within(splitter *s, wf__ref root, wf__ref store, bool *done)
{
    const wf__node *n = &s->ir->node[root];
    uint32_t g = wf__split_choose(s, s->group_n, &s->shape[root], 0);
    g = g == UINT32_MAX ? g : wf__split_record(s, g);
    if (g == UINT32_MAX)
        return false;
    *done = is_worth_computing(s, &s->group[g], root);
    if (!*done) {
        wf__group_free(&s->group[--s->group_n]);
        return true;
    }
    set_scan(s, root, g, s->result[root], true);
    return wf__split_store(s, &s->group[g], s->result[root], n, s->shape[root].rank, s->group[g].map[n->a]) &&
           wf__split_note_loads(s, g) && touch_array(s, root, store, g);
}

static bool scan_value(splitter *s, wf__ref root, wf__ref store, uint32_t bound)
{
    const wf__node *n = &s->ir->node[root];
    bool done = false;
    bool may = s->plan->target == WF__GPU && !(s->ir->flags & WF_FLAG_DEBUG) && !sees_old(s);
    if (may && !compute_within(s, root, store, &done))
        return false;
    wf__plan_because(s->plan, "scan", "%s",
                     done ? "the scan's kernels compute their input"
                          : "a stage before the scan stores the input in the memory of the result");
    if (done)
        return true;
    uint32_t g = choose_feed(s, bound, &s->shape[root]);
    g = g == UINT32_MAX ? g : wf__split_record(s, g);
    return g != UINT32_MAX &&
           wf__split_store(s, &s->group[g], s->result[root], n, s->shape[root].rank, s->group[g].map[n->a]) &&
           wf__split_note_loads(s, g) && touch_array(s, root, store, g) && add_scan(s, root, g + 1, s->result[root]) &&
           touch_array(s, root, store, g + 1);
}

/* An array is scanned where it is. Another value is computed within the scan's kernels, or is first stored in the
 * memory of the result. */
bool wf__split_scan(splitter *s, wf__ref root, uint32_t bound)
{
    const wf__node *value = &s->ir->node[s->ir->node[root].a];
    wf__ref store = find_store(s, root);
    if (!find_place(s, root, store, &bound))
        return false;
    char name[WF__OBJECT_NAME];
    wf__plan_because(s->plan, "scan", "scan %%%u writes its result to %s, because %s", (unsigned)root,
                     wf__plan_object_name(s->plan, s->bind, s->result[root], name),
                     store ? "an assignment stores exactly this result there"
                           : "the result has no direct assignment to a whole array in C order");
    if (value->op != WF__LOAD || value->b)
        return scan_value(s, root, store, bound);
    s->cone[s->ir->node[root].a] |= WF__VIEWED; /* a scan reads its elements in another order */
    memset(s->redirect, 0xff, s->ir->n * sizeof *s->redirect);
    if (wf__split_save_old(s, s->group_n) == UINT32_MAX)
        return false;
    wf__ref load = s->ir->node[root].a;
    uint32_t from = s->redirect[load] != UINT32_MAX ? s->redirect[load] : s->ir->slot[value->a].object;
    return add_scan(s, root, s->group_n, from) && wf__split_note_loads(s, s->group_n - 1) &&
           touch_array(s, root, store, s->group_n - 1);
}
