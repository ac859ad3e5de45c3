/* split_scan.c - where scans of an array graph are placed: each a stage of its own, into a temporary or, where that is
 * all that becomes of the array, right into the array that its value is assigned to.
 */
#include "plan/split.h"

/* Does the array have the scan's shape and dtype, and its elements in C order? */
static bool has_layout(const splitter *s, uint32_t object, wf__ref scan)
{
    const wf__bind *b = &s->bind[object];
    const wf_shape *shape = &s->shape[scan];
    bool fits = b->dtype == s->ir->node[scan].dtype && b->rank == shape->rank;
    int64_t step = 1;
    for (int d = shape->rank - 1; fits && d >= 0; --d) {
        fits = b->dim[d] == shape->dim[d] && (b->stride[d] == step || b->dim[d] < 2);
        step *= shape->dim[d];
    }
    return fits;
}

static bool apart(const splitter *s, uint32_t object, uint32_t slot)
{
    return wf__split_overlap(s, object, s->ir->slot[slot].object, true) == WF__APART;
}

/* May nothing else change the array from the scan on? */
static bool stays(const splitter *s, wf__ref scan, wf__ref store)
{
    uint32_t object = s->ir->slot[s->ir->node[store].a].object;
    for (wf__ref r = scan + 1; r < s->ir->n; ++r)
        if (r != store && s->live[r] && wf__op_is_effect(s->ir->node[r].op) && !apart(s, object, s->ir->node[r].a))
            return false;
    return true;
}

/* Is the array apart from what the scan needs, or the elements in the same places? */
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

/* The assignment that a scan may do at once: the whole array becomes the scan and stays so. 0: there is none. */
static wf__ref find_store(const splitter *s, wf__ref scan)
{
    for (wf__ref r = scan + 1; r < s->ir->n; ++r) {
        const wf__node *n = &s->ir->node[r];
        if (n->op == WF__STORE && n->c == scan && !n->b && !n->d && !(s->block && s->block[r]) &&
            has_layout(s, s->ir->slot[n->a].object, scan) && unread(s, scan, r) && stays(s, scan, r))
            return r;
    }
    return 0;
}

/* The group that scans object `from`, before group `at`. */
static bool add_scan(splitter *s, wf__ref root, uint32_t at, uint32_t from)
{
    const wf__node *n = &s->ir->node[root];
    group *g = wf__group_add(s, at, &s->shape[root]);
    if (!g)
        return false;
    s->home[root] = at;
    g->scan = (wf__scan){ .on = true,
                          .exclusive = n->aux & WF__EXCLUSIVE,
                          .reversed = n->aux & WF__REVERSED,
                          .dtype = n->dtype,
                          .join = (uint8_t)n->b,
                          .axis = (uint8_t)n->c,
                          .from = from,
                          .to = s->result[root] };
    return true;
}

/* Its result: a temp or, of the assignment `store`, the array. Sets *g to the first group that may come. */
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

/* The group that computes what is scanned. On the processor a scan has one of its own, which it follows part by
 * part: to compute operands of several scans together would be to store them. */
static uint32_t choose_feed(splitter *s, uint32_t bound, const wf_shape *shape)
{
    for (;;) {
        uint32_t g = wf__split_choose(s, bound, shape, 0);
        bool feeds = g != UINT32_MAX && g + 1 < s->group_n && s->group[g + 1].scan.on;
        if (!feeds || s->plan->gpu)
            return g;
        bound = g + 1;
    }
}

/* Arrays are scanned where they are; other values go to what then becomes the result. */
bool wf__split_scan(splitter *s, wf__ref root, uint32_t bound)
{
    const wf__node *n = &s->ir->node[root], *value = &s->ir->node[n->a];
    wf__ref store = find_store(s, root);
    if (!find_place(s, root, store, &bound))
        return false;
    if (value->op == WF__LOAD && !value->b) {
        s->cone[n->a] |= WF__VIEWED; /* in an order of its own */
        memset(s->redirect, 0xff, s->ir->n * sizeof *s->redirect);
        if (wf__split_save_old(s, s->group_n) == UINT32_MAX)
            return false;
        uint32_t from = s->redirect[n->a] != UINT32_MAX ? s->redirect[n->a] : s->ir->slot[value->a].object;
        return add_scan(s, root, s->group_n, from) && wf__split_note_loads(s, s->group_n - 1) &&
               touch_array(s, root, store, s->group_n - 1);
    }
    uint32_t g = choose_feed(s, bound, &s->shape[root]);
    g = g == UINT32_MAX ? g : wf__split_record(s, g);
    return g != UINT32_MAX &&
           wf__split_store(s, &s->group[g], s->result[root], n, s->shape[root].rank, s->group[g].map[n->a]) &&
           wf__split_note_loads(s, g) && touch_array(s, root, store, g) && add_scan(s, root, g + 1, s->result[root]) &&
           touch_array(s, root, store, g + 1);
}
