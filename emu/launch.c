/* launch.c - runs a grid of thread blocks. A thread block runs until it ends. One that runs long gives way to the next,
 * so that thread blocks which wait for one another make progress.
 */
#include "base/floats.h"
#include "base/os.h"
#include "emu/run.h"

enum { TURN = 1 << 20, WARP_TURN = 1 << 16, RESIDENT = 64, STACK = 16 << 10 };

typedef struct grid {
    emu_run run;
    emu_block *blocks; /* resident thread blocks */
    uint32_t resident, cap, most;
    uint64_t next, count, serial;
    uint8_t *states[2]; /* initial state of the shared memory of function and module */
} grid;

static void free_warp(emu_warp *w)
{
    wf__free(w->regs);
    wf__free(w->defined);
    wf__free(w->frames);
    wf__free(w->locals);
    wf__free(w->locals_written);
    wf__free(w->copies);
    wf__free(w->met);
}
static void free_block(emu_block *b)
{
    for (uint32_t i = 0; b->warps && i < b->n_warps; i++)
        free_warp(&b->warps[i]);
    wf__free(b->warps);
    for (int s = 0; s < EMU_SEGMENTS; s++) {
        wf__free(b->shared[s]);
        wf__free(b->shared_state[s]);
        wfe_pages_free(b->pages[s], b->shared_size[s]);
    }
    wf__free(b->barriers[0].lanes);
    wf__free(b->acquired);
    wf__free(b->warps_met);
    wf__free(b->fenced);
    wf__free(b->fence_scope);
    wf__free(b->newest);
}

static bool no_memory(emu_run *r)
{
    r->b = NULL;
    wfe_report(r, EMU_FAULT_MEMORY, NULL, EMU_LANES, "the host ran out of memory");
    return false;
}

/* Allocates the memory of a thread block, which later thread blocks reuse. */
static bool make_block(grid *g, emu_block *b)
{
    emu_run *r = &g->run;
    const emu_launch *l = r->l;
    *b = (emu_block){ .threads = l->block[0] * l->block[1] * l->block[2] };
    b->n_warps = (b->threads + EMU_LANES - 1) / EMU_LANES;
    b->warps = wf__alloc0(b->n_warps * sizeof *b->warps);
    uint32_t *lanes = wf__alloc0(2 * (size_t)b->n_warps * EMU_BARRIERS * sizeof *lanes);
    b->barriers[0].lanes = lanes;
    uint32_t sizes[EMU_SEGMENTS] = { l->func->shared_bytes, r->m->shared_bytes, l->dynamic_bytes };
    if (!b->warps || !lanes)
        return no_memory(r);
    for (int s = 0; s < EMU_SEGMENTS; s++) {
        b->shared_size[s] = sizes[s];
        b->shared[s] = wf__alloc(sizes[s] + 1u);
        b->shared_state[s] = wf__alloc(sizes[s] + 1u);
        if (!b->shared[s] || !b->shared_state[s])
            return no_memory(r);
    }
    for (uint32_t i = 0; i < b->n_warps; i++) {
        emu_warp *w = &b->warps[i];
        if (!wfe_warp_rows(r, w, r->reg_rows ? r->reg_rows : 1))
            return false;
        if (!r->local_bytes)
            continue;
        w->locals = wf__alloc((size_t)r->local_bytes * EMU_LANES);
        w->locals_written = wf__alloc((size_t)r->local_bytes * EMU_LANES / 8);
        if (!w->locals || !w->locals_written)
            return no_memory(r);
    }
    return true;
}

static void set_row(emu_warp *w, unsigned row, uint64_t x)
{
    for (int lane = 0; lane < EMU_LANES; lane++)
        w->special[row * EMU_LANES + (unsigned)lane] = x;
}

static void set_specials(const emu_launch *l, const emu_block *b, emu_warp *w)
{
    for (unsigned i = 0; i < 3; i++) {
        set_row(w, EMU_SR_NTID + i, l->block[i]);
        set_row(w, EMU_SR_CTAID + i, b->coord[i]);
        set_row(w, EMU_SR_NCTAID + i, l->grid[i]);
    }
    set_row(w, EMU_SR_WARPID, w->index);
    set_row(w, EMU_SR_NWARPID, b->n_warps);
    set_row(w, EMU_SR_SMID, b->id % 8);
    set_row(w, EMU_SR_NSMID, 8);
    set_row(w, EMU_SR_GRIDID, l->id);
    set_row(w, EMU_SR_DYNAMIC, l->dynamic_bytes);
    set_row(w, EMU_SR_TOTAL, l->dynamic_bytes + l->func->static_bytes);
    for (uint32_t lane = 0; lane < EMU_LANES; lane++) {
        uint32_t t = w->index * EMU_LANES + lane, bit = 1u << lane;
        uint64_t *s = w->special + lane;
        s[(EMU_SR_TID + 0) * EMU_LANES] = t % l->block[0];
        s[(EMU_SR_TID + 1) * EMU_LANES] = t / l->block[0] % l->block[1];
        s[(EMU_SR_TID + 2) * EMU_LANES] = t / l->block[0] / l->block[1];
        s[EMU_SR_LANEID * EMU_LANES] = lane;
        s[EMU_SR_MASK_EQ * EMU_LANES] = bit;
        s[EMU_SR_MASK_LT * EMU_LANES] = bit - 1;
        s[EMU_SR_MASK_LE * EMU_LANES] = bit | (bit - 1);
        s[EMU_SR_MASK_GT * EMU_LANES] = ~(bit | (bit - 1));
        s[EMU_SR_MASK_GE * EMU_LANES] = ~(bit - 1);
    }
}

static void start_warp(const grid *g, const emu_block *b, emu_warp *w, uint32_t index)
{
    const emu_run *r = &g->run;
    uint32_t func = 0, threads = b->threads - index * EMU_LANES;
    while (r->m->funcs[func] != r->l->func)
        func++;
    w->index = index;
    w->live = threads >= EMU_LANES ? UINT32_MAX : (1u << threads) - 1;
    w->blocked = w->n_copies = w->sync_all = 0;
    memset(w->copy_group, 0, sizeof w->copy_group);
    memset(w->defined, 0, w->cap_rows * sizeof *w->defined);
    memset(w->state, EMU_READY, sizeof w->state);
    memset(w->turn, 0, sizeof w->turn);
    if (w->locals)
        memset(w->locals_written, 0, (size_t)r->local_bytes * EMU_LANES / 8);
    wf__free(w->met);
    w->met = NULL;
    for (int lane = 0; lane < EMU_LANES; lane++) {
        w->func[lane] = func;
        w->pc[lane] = w->base[lane] = w->local[lane] = w->depth[lane] = w->waits_for[lane] = 0;
    }
    set_specials(r->l, b, w);
}

static void start_block(grid *g, emu_block *b)
{
    const emu_launch *l = g->run.l;
    uint32_t *lanes = b->barriers[0].lanes;
    b->id = (uint32_t)g->next++;
    b->coord[0] = b->id % l->grid[0];
    b->coord[1] = b->id / l->grid[0] % l->grid[1];
    b->coord[2] = b->id / l->grid[0] / l->grid[1];
    b->live = b->threads;
    b->time = b->sync_all = b->n_acquired = 0;
    b->time = 1;
    b->done = false;
    b->serial = ++g->serial;
    memset(b->barriers, 0, sizeof b->barriers);
    memset(lanes, 0, 2 * (size_t)b->n_warps * EMU_BARRIERS * sizeof *lanes);
    for (uint32_t i = 0; i < EMU_BARRIERS; i++)
        b->barriers[i].lanes = lanes + (size_t)2 * i * b->n_warps;
    for (int s = 0; s < 2; s++)
        if (b->shared_size[s])
            memcpy(b->shared_state[s], g->states[s], b->shared_size[s]);
    memset(b->shared_state[2], 1, b->shared_size[2]);
    for (int s = 0; s < EMU_SEGMENTS; s++)
        memset(b->shared[s], 0xa5, b->shared_size[s]);
    wf__free(b->warps_met);
    wf__free(b->fenced);
    wf__free(b->fence_scope);
    wf__free(b->newest);
    b->warps_met = b->fenced = b->newest = NULL;
    b->fence_scope = NULL;
    for (uint32_t i = 0; i < b->n_warps; i++)
        start_warp(g, b, &b->warps[i], i);
}

/* Runs the thread block until it ends or has run for TURN. */
static void run_block(grid *g, emu_block *b)
{
    emu_run *r = &g->run;
    uint64_t end = r->effort + TURN;
    r->b = b;
    while (!r->fault && b->live && r->effort < end) {
        bool moved = false;
        for (uint32_t i = 0; i < b->n_warps && !r->fault; i++)
            if (b->warps[i].live & ~b->warps[i].blocked)
                moved = wfe_run_warp(r, &b->warps[i], WARP_TURN) || moved;
        if (!moved && !r->fault && b->live)
            wfe_report_deadlock(r);
    }
    b->done = b->live == 0;
}

static bool add_block(grid *g)
{
    emu_run *r = &g->run;
    if (!wf__grow(&g->blocks, &g->cap, g->resident + 1, sizeof *g->blocks))
        return no_memory(r);
    emu_block *b = &g->blocks[g->resident];
    bool good = make_block(g, b);
    g->resident++; /* freed with the others even on failure */
    if (good)
        start_block(g, b);
    return good;
}

static void run_grid(grid *g)
{
    emu_run *r = &g->run;
    bool left = true;
    while (!r->fault && left) {
        left = false;
        for (uint32_t i = 0; i < g->resident && !r->fault; i++) {
            emu_block *b = &g->blocks[i];
            while (!r->fault) {
                if (!b->done)
                    run_block(g, b);
                if (!b->done || g->next >= g->count)
                    break;
                start_block(g, b);
            }
            left = left || !b->done;
        }
        if (left && g->next < g->count && g->resident < g->most)
            add_block(g);
    }
}

/* Marks the bytes of static shared memory that are variables. */
static bool make_states(grid *g)
{
    const emu_module *m = g->run.m;
    uint32_t sizes[2] = { g->run.l->func->shared_bytes, m->shared_bytes };
    for (int s = 0; s < 2; s++) {
        g->states[s] = wf__alloc0(sizes[s] + 1u);
        if (!g->states[s])
            return no_memory(&g->run);
    }
    for (uint32_t i = 0; i < m->n_vars; i++) {
        const emu_var *v = &m->vars[i];
        uint64_t segment = v->at >> EMU_SEGMENT_BITS;
        if (v->space == EMU_SHARED && segment < 2 && (!v->owner || v->owner == g->run.l->func))
            memset(g->states[segment] + (v->at & ((1u << EMU_SEGMENT_BITS) - 1)), 1, (size_t)v->size);
    }
    return true;
}

emu_fault wfe_run(emu_launch *l)
{
    grid g = { .run = { .l = l, .m = l->module } };
    emu_run *r = &g.run;
    g.count = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    g.most = l->cooperative ? UINT32_MAX : RESIDENT;
    if (g.count > UINT32_MAX) {
        wfe_report(r, EMU_FAULT_MEMORY, NULL, EMU_LANES,
                   "a grid of more than 2^32 blocks is too much for the emulator");
        return r->fault;
    }
    wf__floats floats = wf__floats_begin();
    r->reg_rows = l->func->n_regs;
    r->local_bytes = (l->func->local_bytes + (l->func->calls ? STACK : 0) + 63) / 64 * 64;
    if (make_states(&g) && (!(l->find & EMU_FIND_RACES) || wfe_races_new(r) || no_memory(r))) {
        uint64_t first = l->cooperative ? g.count : 1;
        while (!r->fault && g.resident < first)
            add_block(&g);
        run_grid(&g);
    }
    for (uint32_t i = 0; i < g.resident; i++)
        free_block(&g.blocks[i]);
    wf__free(g.blocks);
    wf__free(g.states[0]);
    wf__free(g.states[1]);
    wfe_races_free(r);
    wf__floats_end(floats);
    return r->fault;
}
