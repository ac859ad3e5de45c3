/* compact.c - removes the nodes that are out of use from a recording that wf_eval has run many times. The other nodes
 * move together, so that memory and the cost of an evaluation do not grow with the number of evaluations.
 *
 * Values that the program holds refer to nodes by ids, and no id is used twice, nor by a later recording of the
 * context (wf__graphs.ids). At first the id of node r is r + g->id_distance. Once nodes have moved, g->id[] holds the
 * ids of the first g->moved nodes, in ascending order; the id of a later node r is r + g->id_distance. The last of
 * the moved nodes has no id. It stands for all nodes out of use, which a variable may hold.
 */
#include "record/record.h"
#include "ir/pass/pass.h"

enum { LEAST = 256 };

double wf__id_of(const wf_graph *g, wf__ref r) { return r < g->moved ? g->id[r] : (double)r + g->id_distance; }

wf__ref wf__node_of(const wf_graph *g, double id)
{
    if (id <= g->first_id) /* of an earlier recording */
        return UINT32_MAX;
    if (id - g->id_distance >= g->moved)
        return id - g->id_distance < UINT32_MAX ? (wf__ref)(id - g->id_distance) : UINT32_MAX;
    uint32_t lo = 1, gone = g->moved - 1, hi = gone;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (g->id[middle] < id)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < gone && g->id[lo] == id ? lo : gone;
}

static void move_labels(wf__ir *ir, const wf__ref *map, wf__ref gone)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < ir->label_n; ++i) {
        wf__label *label = &ir->label[i];
        bool array = label->ref >= wf__array_ref(0);
        wf__ref to = array ? label->ref : map[label->ref];
        if (to == gone)
            continue;
        ir->label[left] = *label;
        ir->label[left++].ref = to;
    }
    ir->label_n = left;
}

static void move_wholes(wf__ir *ir, const wf__ref *map, wf__ref gone)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < ir->whole_n; ++i) {
        wf__whole whole = ir->whole[i];
        bool stays = map[whole.node] != gone;
        whole.node = map[whole.node];
        for (unsigned k = 0; k < 4; ++k) {
            wf__ref *part = &whole.part[k / 2][k % 2];
            *part = map[*part]; /* map[0] is 0 */
            stays = stays && *part != gone;
        }
        if (stays)
            ir->whole[left++] = whole;
    }
    ir->whole_n = left;
}

/* Moves the nodes that stay to the front; `left` is their number. Takes over `id`; fills `map`. */
static void move_nodes(wf_graph *g, uint32_t left, wf__ref *map, double *id)
{
    wf__ir *ir = &g->program.rec.ir;
    wf__ref to = 1, gone = left + 1;
    for (wf__ref r = 1; r < ir->n; ++r) {
        map[r] = ir->node[r].op == WF__NOP ? gone : to;
        if (map[r] == gone)
            continue;
        id[to] = wf__id_of(g, r);
        ir->node[to++] = wf__map_node(ir, r, map, ir);
    }
    ir->node[gone] = (wf__node){ .op = WF__NOP };
    g->id_distance += (double)ir->n - (double)(gone + 1);
    wf__free(g->id);
    g->id = id;
    g->moved = ir->n = gone + 1;
    ir->closed[0] = ir->closed[1] = gone;
    ir->closed_n = 1;
    for (uint32_t i = 0; i < g->var_n; ++i)
        if (g->var[i].value)
            g->var[i].value = map[g->var[i].value];
    move_labels(ir, map, gone);
    move_wholes(ir, map, gone);
}

void wf__compact(wf_graph *g)
{
    const wf__ir *ir = &g->program.rec.ir;
    uint32_t left = 0;
    bool can = !ir->loops && ir->status == WF_OK;
    for (wf__ref r = 1; r < ir->n && can; ++r) {
        can = wf__op_is(ir->node[r].op, WF__IS_MOVES);
        left += ir->node[r].op != WF__NOP;
    }
    if (!can || ir->n < 2 * left + LEAST)
        return;
    wf__ref *map = wf__alloc0(ir->n * sizeof *map);
    double *id = map ? wf__alloc((left + 2) * sizeof *id) : NULL;
    if (id) /* without memory, the nodes stay until a later evaluation */
        move_nodes(g, left, map, id);
    wf__free(map);
}
