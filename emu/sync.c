/* sync.c - operations between lanes: shuffles, votes, matches, reductions and barriers of a warp, barriers of a block.
 *
 * A .sync instruction runs once every live lane of its membermask has reached it with the same mask. An aligned barrier
 * (section "barrier{.cta}") needs every live lane of the warp at the same place. A live lane is one that has not ended.
 */
#include "emu/run.h"

enum {
    POISON = 0xa5a5a5a5u
}; /* value of a shuffle from a lane outside the membermask; the manual leaves it undefined */

static void set_result(emu_run *r, const emu_inst *in, unsigned i, uint32_t lane, uint64_t x)
{
    uint32_t d = i < in->nd ? r->ops[in->ops + i] : EMU_ROW_NONE;
    if (d != EMU_ROW_NONE)
        emu_out(r, d)[lane] = x;
}

/* The pseudo code of section "shfl.sync". */
static void shuffle(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint32_t *s = r->ops + in->ops + in->nd;
    const uint64_t *b = emu_row(r, s[2]), *c = emu_row(r, s[3]);
    uint64_t a[EMU_LANES], bv[EMU_LANES], cv[EMU_LANES];
    memcpy(a, emu_row(r, s[1]), sizeof a); /* copies, because d may be a, b or c */
    memcpy(bv, b, sizeof bv);
    memcpy(cv, c, sizeof cv);
    EMU_EACH(mask, lane)
    {
        int bval = (int)bv[lane] & 31, cval = (int)cv[lane] & 31, seg = (int)(cv[lane] >> 8) & 31, me = (int)lane;
        int most = (me & seg) | (cval & ~seg), least = me & seg, j;
        bool p;
        switch (in->what) {
        case EMU_SHFL_UP:
            j = me - bval;
            p = j >= most;
            break;
        case EMU_SHFL_DOWN:
            j = me + bval;
            p = j <= most;
            break;
        case EMU_SHFL_BFLY:
            j = me ^ bval;
            p = j <= most;
            break;
        default:
            j = least | (bval & ~seg);
            p = j <= most;
            break;
        }
        if (!p)
            j = me;
        set_result(r, in, 0, lane, mask >> (j & 31) & 1 ? a[j & 31] : POISON);
        set_result(r, in, 1, lane, p);
    }
}

static void vote(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint64_t *a = emu_row(r, r->ops[in->ops + in->nd + 1]);
    uint32_t yes = 0;
    EMU_EACH(mask, one) { yes |= (uint32_t)((a[one] & 1) != in->negate_a) << one; }
    uint64_t x = in->what == EMU_VOTE_ALL   ? yes == mask
                 : in->what == EMU_VOTE_ANY ? yes != 0
                 : in->what == EMU_VOTE_UNI ? yes == mask || yes == 0
                                            : yes;
    EMU_EACH(mask, lane) { set_result(r, in, 0, lane, x); }
}

static void match(emu_run *r, const emu_inst *in, uint32_t mask)
{
    uint64_t a[EMU_LANES];
    memcpy(a, emu_row(r, r->ops[in->ops + in->nd + 1]), sizeof a);
    EMU_EACH(mask, lane)
    {
        uint32_t same = 0;
        EMU_EACH(mask, other) { same |= (uint32_t)(a[other] == a[lane]) << other; }
        bool all = same == mask;
        set_result(r, in, 0, lane, in->what == EMU_MATCH_ANY ? same : all ? mask : 0);
        set_result(r, in, 1, lane, all);
    }
}

static void reduce(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint64_t *a = emu_row(r, r->ops[in->ops + in->nd + 1]);
    uint32_t first = (uint32_t)__builtin_ctz(mask);
    uint64_t x = a[first];
    EMU_EACH(mask & (mask - 1), other) { x = in->fn(in, x, a[other], 0, 0); }
    EMU_EACH(mask, lane) { set_result(r, in, 0, lane, x); }
}

static void do_warp_op(emu_run *r, const emu_inst *in, uint32_t mask)
{
    switch (in->what) {
    case EMU_SHFL_UP:
    case EMU_SHFL_DOWN:
    case EMU_SHFL_BFLY:
    case EMU_SHFL_IDX:
        shuffle(r, in, mask);
        break;
    case EMU_VOTE_ALL:
    case EMU_VOTE_ANY:
    case EMU_VOTE_UNI:
    case EMU_VOTE_BALLOT:
        vote(r, in, mask);
        break;
    case EMU_MATCH_ANY:
    case EMU_MATCH_ALL:
        match(r, in, mask);
        break;
    case EMU_REDUX:
        reduce(r, in, mask);
        break;
    case EMU_ELECT: {
        uint32_t first = (uint32_t)__builtin_ctz(mask);
        EMU_EACH(mask, lane)
        {
            set_result(r, in, 0, lane, first);
            set_result(r, in, 1, lane, lane == first);
        }
        break;
    }
    default:
        if (r->races)
            wfe_race_warp_barrier(r, r->w, mask);
        break;
    }
    wfe_mark_defined(r, in, mask);
}

/* Runs the instruction of every complete set of waiting lanes. */
static void try_sync(emu_run *r)
{
    emu_warp *w = r->w;
    uint32_t done = 0;
    EMU_EACH(w->live & w->blocked, lane)
    {
        if ((done >> lane & 1) || w->state[lane] != EMU_AT_SYNC)
            continue;
        uint32_t mask = w->waits_for[lane] & w->live;
        bool complete = true;
        EMU_EACH(mask, other)
        {
            complete = complete && w->state[other] == EMU_AT_SYNC && w->waits_for[other] == w->waits_for[lane] &&
                       wfe_same_place(w, other, lane);
        }
        if (!complete)
            continue;
        wfe_select_lane(r, lane);
        do_warp_op(r, &r->code[r->pc], mask);
        wfe_release_lanes(w, mask);
        done |= mask;
    }
}

bool wfe_warp_op(emu_run *r, const emu_inst *in, uint32_t mask)
{
    emu_warp *w = r->w;
    const uint64_t *members = emu_row(r, r->ops[in->ops + in->nd]);
    uint32_t first = (uint32_t)members[__builtin_ctz(mask)];
    bool same = (first & w->live) == mask;
    EMU_EACH(mask, lane)
    {
        same = same && (uint32_t)members[lane] == first;
        if (!(members[lane] >> lane & 1)) {
            wfe_report(r, EMU_FAULT_FINDING, in, lane, "the membermask 0x%08x does not name the lane itself",
                       (uint32_t)members[lane]);
            return false;
        }
    }
    if (same) {
        do_warp_op(r, in, mask);
        return true;
    }
    EMU_EACH(mask, each) { w->waits_for[each] = (uint32_t)members[each]; }
    EMU_EACH(r->active & ~mask, rest) { w->pc[rest] = r->pc + 1; }
    wfe_block_lanes(r, in, mask, EMU_AT_SYNC);
    try_sync(r);
    return false;
}

/* ---- barriers of the block ---- */
static void finish_lane(emu_run *r, emu_warp *w, const emu_barrier *bar, uint32_t lane)
{
    const emu_func *f = r->m->funcs[w->func[lane]];
    const emu_inst *in = &f->code[w->pc[lane]];
    if (in->what < EMU_BAR_POPC || f->ops[in->ops] == EMU_ROW_NONE)
        return;
    size_t row = (size_t)w->base[lane] + f->ops[in->ops];
    w->regs[row * EMU_LANES + lane] = in->what == EMU_BAR_POPC  ? bar->popc
                                      : in->what == EMU_BAR_AND ? bar->all
                                                                : bar->any;
    w->defined[row] |= 1u << lane;
}

static void complete_barrier(emu_run *r, emu_barrier *bar)
{
    emu_block *b = r->b;
    uint32_t n = b->n_warps;
    if (bar->arrived == 0 || bar->arrived < (bar->expected ? bar->expected : b->live))
        return;
    bool all = true;
    for (uint32_t i = 0; i < n; i++) {
        emu_warp *w = &b->warps[i];
        all = all && !(w->live & ~bar->lanes[n + i]);
        EMU_EACH(bar->lanes[i], lane) { finish_lane(r, w, bar, lane); }
        wfe_release_lanes(w, bar->lanes[i]);
    }
    if (r->races)
        wfe_race_barrier(r, all ? NULL : bar->lanes + n);
    memset(bar->lanes, 0, 2 * n * sizeof *bar->lanes);
    bar->arrived = bar->expected = bar->popc = 0;
}

/* The lanes arrive at the barrier of the current instruction. True: they go on at once (bar.arrive). */
static bool arrive_at_barrier(emu_run *r, const emu_inst *in, uint32_t mask)
{
    emu_block *b = r->b;
    emu_warp *w = r->w;
    const uint32_t *s = r->ops + in->ops + in->nd;
    uint32_t first = (uint32_t)__builtin_ctz(mask), id = (uint32_t)emu_row(r, s[0])[first];
    uint32_t count = in->has_count ? (uint32_t)emu_row(r, s[1])[first] : 0;
    const uint64_t *p = in->what >= EMU_BAR_POPC ? emu_row(r, s[1 + in->has_count]) : NULL;
    EMU_EACH(mask, lane)
    {
        if ((uint32_t)emu_row(r, s[0])[lane] != id || (in->has_count && (uint32_t)emu_row(r, s[1])[lane] != count)) {
            wfe_report(r, EMU_FAULT_FINDING, in, lane, "the lanes name different barriers or counts");
            return false;
        }
    }
    if (id >= EMU_BARRIERS || count > EMU_MAX_THREADS || (in->has_count && (count == 0 || count % EMU_LANES))) {
        wfe_report(r, EMU_FAULT_FINDING, in, first,
                   "barrier %u with %u threads: there are %d barriers, counts are multiples of %d", id, count,
                   EMU_BARRIERS, EMU_LANES);
        return false;
    }
    emu_barrier *bar = &b->barriers[id];
    if (bar->arrived && bar->expected != count) {
        wfe_report(r, EMU_FAULT_FINDING, in, first,
                   "barrier %u is used with %u threads here and with %u at line %u (0: all)", id, count, bar->expected,
                   bar->line);
        return false;
    }
    if (bar->arrived == 0) {
        bar->expected = count;
        bar->all = true;
        bar->any = false;
        bar->line = in->line;
    }
    EMU_EACH(mask, one)
    {
        bool yes = p && ((p[one] & 1) != 0) != in->negate_a;
        bar->popc += yes;
        bar->all = bar->all && yes;
        bar->any = bar->any || yes;
    }
    bool waits = in->what != EMU_BAR_ARRIVE;
    bar->arrived += count && mask == w->live ? EMU_LANES : (uint32_t)__builtin_popcount(mask);
    bar->lanes[b->n_warps + w->index] |= mask;
    if (waits) {
        bar->lanes[w->index] |= mask;
        EMU_EACH(mask, each) { w->waits_for[each] = id; }
        wfe_block_lanes(r, in, mask, EMU_AT_BAR);
    }
    complete_barrier(r, bar);
    return !waits;
}

/* Lets lanes that wait at an aligned barrier arrive, once the whole warp is there. */
static void try_align(emu_run *r)
{
    emu_warp *w = r->w;
    uint32_t waiting = 0, first = EMU_LANES;
    EMU_EACH(w->live & w->blocked, lane)
    {
        if (w->state[lane] != EMU_AT_ALIGN)
            continue;
        waiting |= 1u << lane;
        first = first == EMU_LANES ? lane : first;
    }
    if (!waiting || waiting != w->live)
        return;
    EMU_EACH(waiting, other)
    {
        if (!wfe_same_place(w, other, first))
            return;
    }
    wfe_select_lane(r, first);
    w->blocked &= ~waiting;
    EMU_EACH(waiting, each) { w->state[each] = EMU_READY; }
    if (arrive_at_barrier(r, &r->code[r->pc], waiting))
        EMU_EACH(waiting, go) { w->pc[go] = r->pc + 1; }
}

bool wfe_bar(emu_run *r, const emu_inst *in, uint32_t mask)
{
    EMU_EACH(r->active & ~mask, rest) { r->w->pc[rest] = r->pc + 1; }
    if (!in->aligned || mask == r->w->live) {
        if (!arrive_at_barrier(r, in, mask))
            return false;
        if (mask == r->active)
            return true;
        EMU_EACH(mask, go) { r->w->pc[go] = r->pc + 1; }
        return false;
    }
    wfe_block_lanes(r, in, mask, EMU_AT_ALIGN);
    try_align(r);
    return false;
}

void wfe_lanes_ended(emu_run *r)
{
    try_sync(r);
    try_align(r);
    for (int i = 0; i < EMU_BARRIERS && r->b->live; i++)
        if (r->b->barriers[i].arrived && !r->b->barriers[i].expected)
            complete_barrier(r, &r->b->barriers[i]);
}

/* ---- deadlock ---- */
static void add_waiting(const emu_run *r, const emu_warp *w, wf__str *out, bool *divergent)
{
    uint32_t left = w->live;
    while (left) {
        uint32_t first = (uint32_t)__builtin_ctz(left), group = 0;
        EMU_EACH(left, lane)
        {
            if (w->state[lane] == w->state[first] && w->waits_for[lane] == w->waits_for[first] &&
                wfe_same_place(w, lane, first))
                group |= 1u << lane;
        }
        left &= ~group;
        wf__str_addf(out, "\n  warp %u lanes 0x%08x wait ", w->index, group);
        if (w->state[first] == EMU_AT_SYNC)
            wf__str_addf(out, "for lanes 0x%08x", w->waits_for[first]);
        else if (w->state[first] == EMU_AT_ALIGN)
            wf__str_addf(out, "for the other lanes 0x%08x of their warp", w->live & ~group);
        else
            wf__str_addf(out, "at barrier %u, where %u of %u threads are", w->waits_for[first],
                         r->b->barriers[w->waits_for[first]].arrived,
                         r->b->barriers[w->waits_for[first]].expected ? r->b->barriers[w->waits_for[first]].expected
                                                                      : r->b->live);
        wf__str_add(out, ", ");
        wfe_add_line(out, r->m, r->m->funcs[w->func[first]]->code[w->pc[first]].line);
        *divergent = *divergent || w->state[first] == EMU_AT_ALIGN;
    }
}

void wfe_report_deadlock(emu_run *r)
{
    wf__str text = { 0 };
    bool divergent = false;
    for (uint32_t i = 0; i < r->b->n_warps; i++)
        add_waiting(r, &r->b->warps[i], &text, &divergent);
    r->w = NULL;
    r->f = NULL;
    wfe_report(r, divergent ? EMU_FAULT_FINDING : EMU_FAULT_DEADLOCK, NULL, EMU_LANES, "%s%s",
               divergent ? "a divergent barrier: only some lanes of a warp came to it"
                         : "deadlock: no thread can go on",
               wf__str_get(&text));
    wf__str_free(&text);
}
