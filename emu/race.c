/* race.c - data races (section "Memory Consistency Model"): two accesses to one byte, at least one of them a write, not
 * both strong, that nothing orders.
 *
 * Each granule of memory (4 bytes, or 1 in pages with smaller accesses) remembers its last writer and two readers of
 * different threads. A remembered access is its context (block, warp, time, line) and its lane. `time` counts the
 * synchronisations of a block. An access is ordered before a later one of another thread if a synchronisation of both
 * threads lies between them: a barrier of the block or of some of its warps, a barrier of lanes of one warp, or a
 * release (fence, strong write) whose value an acquire (strong read, fence) has read.
 *
 * Every reported race is real. Races may be missed: those with a third reader, and those behind chains of releases
 * through a third block. Writes that do not change the memory do not race with other writes. A compare-and-swap of a
 * word, after a strong read of it, leaves the bytes that it does not change to other threads.
 */
#include "emu/run.h"

enum { NEVER = UINT32_MAX, LANE_BITS = 5, CHUNK_BITS = 14, CHUNK = 1 << CHUNK_BITS, MAX_CONTEXTS = 1 << 27 };

typedef struct context {
    uint32_t block, warp, time, line;
    uint8_t access, bytes;
} context;
typedef struct cell {
    uint32_t writer, reader[2]; /* (1 + context) << LANE_BITS | lane; 0 = none */
} cell;
struct emu_page {
    uint64_t owner;
    bool bytes; /* granules have 1 byte, not 4 */
    cell cells[];
};
typedef struct release {
    uint32_t block, thread, time, sync_all, warp_sync;
    uint8_t scope;
} release;
typedef struct location {
    uint64_t address;
    release *list;
    uint32_t n, cap;
} location;
struct emu_races {
    context **chunks;
    uint32_t n, cap_chunks, n_chunks;
    uint32_t current; /* 1 + context of the running instruction */
    location *locations;
    uint32_t n_locations, cap_locations;
    uint32_t *slots; /* hash table of addresses: 1 + location; 0 = empty */
    uint32_t n_slots;
};

bool wfe_races_new(emu_run *r)
{
    r->races = wf__alloc0(sizeof *r->races);
    return r->races != NULL;
}
void wfe_races_free(emu_run *r)
{
    emu_races *s = r->races;
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n_chunks; i++)
        wf__free(s->chunks[i]);
    for (uint32_t i = 0; i < s->n_locations; i++)
        wf__free(s->locations[i].list);
    wf__free(s->chunks);
    wf__free(s->locations);
    wf__free(s->slots);
    wf__free(s);
    r->races = NULL;
}
void wfe_pages_free(emu_page **pages, uint64_t bytes)
{
    for (uint64_t i = 0; pages && i < (bytes + EMU_PAGE - 1) / EMU_PAGE; i++)
        wf__free(pages[i]);
    wf__free(pages);
}

static void no_memory(emu_run *r) { wfe_report(r, EMU_FAULT_MEMORY, NULL, EMU_LANES, "the host ran out of memory"); }

void wfe_begin_accesses(emu_run *r, const emu_inst *in)
{
    emu_races *s = r->races;
    uint32_t chunk = s->n >> CHUNK_BITS;
    if (s->n >= MAX_CONTEXTS) { /* the search ends; earlier findings stay */
        wfe_races_free(r);
        return;
    }
    if (chunk == s->n_chunks) {
        context *c = wf__alloc(CHUNK * sizeof *c);
        if (!c || !wf__grow(&s->chunks, &s->cap_chunks, chunk + 1, sizeof *s->chunks)) {
            wf__free(c);
            no_memory(r);
            return;
        }
        s->chunks[s->n_chunks++] = c;
    }
    uint8_t access = in->kind == EMU_LD ? EMU_READ : in->kind == EMU_ATOM ? EMU_READ | EMU_WRITE : EMU_WRITE;
    s->chunks[chunk][s->n & (CHUNK - 1)] = (context){
        r->b->id,          r->w->index, r->b->time, in->line, (uint8_t)(access | (in->strong ? EMU_STRONG : 0)),
        (uint8_t)in->bytes
    };
    s->current = ++s->n;
}

static const context *context_of(const emu_races *s, uint32_t record)
{
    uint32_t i = (record >> LANE_BITS);
    return &s->chunks[i >> CHUNK_BITS][i & (CHUNK - 1)];
}

/* ---- order ---- */
/* True if accesses of thread (warp, lane) of this block at `time` are ordered before the next one of lane `now` of the
 * running warp. */
static bool is_before_now(const emu_run *r, uint32_t warp, uint32_t lane, uint32_t time, uint32_t now)
{
    const emu_block *b = r->b;
    const emu_warp *w = r->w;
    if (time < b->sync_all || (warp == w->index && lane == now))
        return true;
    if (warp == w->index)
        return time < w->sync_all || (w->met && time < w->met[now][lane]);
    return b->warps_met && time < b->warps_met[w->index * b->n_warps + warp];
}

static bool is_released(const release *e, const context *c, uint32_t lane, uint32_t here)
{
    uint32_t thread = c->warp * EMU_LANES + lane;
    if (e->block != c->block || (e->scope == EMU_SCOPE_CTA && c->block != here))
        return false;
    if (c->time < e->sync_all || (e->thread == thread && c->time < e->time))
        return true;
    return e->thread / EMU_LANES == c->warp && c->time < e->warp_sync;
}

static bool is_acquired(const emu_run *r, const context *c, uint32_t lane, uint32_t now)
{
    const emu_block *b = r->b;
    uint32_t done = NEVER;
    for (uint32_t i = b->n_acquired; i-- > 0;) {
        const emu_acquired *q = &b->acquired[i];
        if (q->location == done || q->time == NEVER ||
            !is_before_now(r, q->thread / EMU_LANES, q->thread % EMU_LANES, q->time, now))
            continue;
        const location *l = &r->races->locations[q->location];
        done = q->location; /* older entries of this location have fewer releases */
        for (uint32_t k = 0; k < q->count; k++)
            if (is_released(&l->list[k], c, lane, b->id))
                return true;
    }
    return false;
}

static bool is_ordered(const emu_run *r, uint32_t record, uint32_t now)
{
    const context *c = context_of(r->races, record);
    uint32_t lane = record & (EMU_LANES - 1);
    if (c->block == r->b->id && is_before_now(r, c->warp, lane, c->time, now))
        return true;
    return r->b->n_acquired && is_acquired(r, c, lane, now);
}

static location *find_location(emu_races *s, uint64_t address, bool make)
{
    if (s->n_slots < 2 * (s->n_locations + 1)) {
        if (!make && s->n_locations == 0)
            return NULL;
        uint32_t n = s->n_slots ? 2 * s->n_slots : 256;
        uint32_t *slots = wf__alloc0(n * sizeof *slots);
        if (!slots)
            return NULL;
        for (uint32_t i = 0; i < s->n_locations; i++) {
            uint32_t at = wf__mix32(s->locations[i].address) & (n - 1);
            while (slots[at])
                at = (at + 1) & (n - 1);
            slots[at] = i + 1;
        }
        wf__free(s->slots);
        s->slots = slots;
        s->n_slots = n;
    }
    uint32_t at = wf__mix32(address) & (s->n_slots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1))
        if (s->locations[s->slots[at] - 1].address == address)
            return &s->locations[s->slots[at] - 1];
    if (!make || !wf__grow(&s->locations, &s->cap_locations, s->n_locations + 1, sizeof *s->locations))
        return NULL;
    s->locations[s->n_locations] = (location){ .address = address };
    s->slots[at] = ++s->n_locations;
    return &s->locations[s->n_locations - 1];
}

static bool fences_ready(emu_run *r)
{
    emu_block *b = r->b;
    if (!b->fenced)
        b->fenced = wf__alloc0(b->n_warps * EMU_LANES * sizeof *b->fenced);
    if (!b->fence_scope)
        b->fence_scope = wf__alloc0(b->n_warps * EMU_LANES);
    if (!b->fenced || !b->fence_scope)
        no_memory(r);
    return !r->fault;
}

static void add_release(emu_run *r, uint32_t thread, uint64_t address)
{
    emu_block *b = r->b;
    location *l = find_location(r->races, address, true);
    if (!l || !wf__grow(&l->list, &l->cap, l->n + 1, sizeof *l->list)) {
        no_memory(r);
        return;
    }
    /* If other threads fenced before a barrier, the write releases their accesses too. All accesses before the barrier
     * count as released: this may miss a race, but reports no false one. */
    uint8_t scope = b->fence_scope[thread] ? b->fence_scope[thread] : (uint8_t)EMU_SCOPE_GPU;
    const release *e = l->n ? &l->list[l->n - 1] : NULL;
    if (e && e->block == b->id && e->thread == thread && e->time == b->fenced[thread] && e->sync_all == b->sync_all &&
        e->warp_sync == r->w->sync_all)
        return;
    l->list[l->n++] = (release){ b->id, thread, b->fenced[thread], b->sync_all, r->w->sync_all, scope };
}

static void add_acquired(emu_run *r, uint32_t thread, uint64_t address, bool at_once)
{
    emu_block *b = r->b;
    const location *l = find_location(r->races, address, false);
    if (!l || !l->n)
        return;
    uint32_t index = (uint32_t)(l - r->races->locations), time = at_once ? b->time : NEVER;
    if (!b->newest)
        b->newest = wf__alloc0(b->n_warps * EMU_LANES * sizeof *b->newest);
    const emu_acquired *q = b->newest && b->newest[thread] ? &b->acquired[b->newest[thread] - 1] : NULL;
    if (q && q->location == index && q->count == l->n && (q->time == NEVER) == (time == NEVER))
        return;
    if (!b->newest || !wf__grow(&b->acquired, &b->cap_acquired, b->n_acquired + 1, sizeof *b->acquired)) {
        no_memory(r);
        return;
    }
    b->acquired[b->n_acquired++] = (emu_acquired){ thread, time, index, l->n, b->time };
    b->newest[thread] = b->n_acquired;
}

void wfe_race_strong(emu_run *r, const emu_inst *in, uint32_t lane, uint64_t address, bool writes, bool reads)
{
    emu_block *b = r->b;
    uint32_t thread = r->w->index * EMU_LANES + lane;
    if (reads)
        add_acquired(r, thread, address, in->acquire);
    if (writes && in->release && fences_ready(r)) {
        b->fenced[thread] = ++b->time;
        b->fence_scope[thread] = in->scope;
    }
    if (writes && b->fenced && !r->fault)
        add_release(r, thread, address);
}

void wfe_race_fence(emu_run *r, const emu_inst *in, uint32_t mask)
{
    emu_block *b = r->b;
    if (!fences_ready(r))
        return;
    b->time++;
    EMU_EACH(mask, lane)
    {
        uint32_t thread = r->w->index * EMU_LANES + lane;
        b->fenced[thread] = b->time;
        b->fence_scope[thread] = in->scope;
    }
    for (uint32_t i = 0; i < b->n_acquired; i++) {
        emu_acquired *q = &b->acquired[i];
        bool mine = q->thread / EMU_LANES == r->w->index && (mask >> q->thread % EMU_LANES & 1);
        bool after =
            q->time == NEVER && mask &&
            is_before_now(r, q->thread / EMU_LANES, q->thread % EMU_LANES, q->read, (uint32_t)__builtin_ctz(mask));
        /* A fence of another thread, after a barrier with the reader, acquires too. It counts from the read on. */
        if (q->time == NEVER && (mine || after))
            q->time = q->read;
    }
}

/* ---- barriers ---- */
void wfe_race_warp_barrier(emu_run *r, emu_warp *w, uint32_t lanes)
{
    emu_block *b = r->b;
    b->time++;
    if (lanes == w->live && w->live == UINT32_MAX) {
        w->sync_all = b->time;
        return;
    }
    if (!w->met) {
        w->met = wf__alloc0(EMU_LANES * sizeof *w->met);
        if (!w->met) {
            no_memory(r);
            return;
        }
    }
    uint32_t joined[EMU_LANES] = { 0 };
    EMU_EACH(lanes, a)
    {
        for (int i = 0; i < EMU_LANES; i++)
            joined[i] = w->met[a][i] > joined[i] ? w->met[a][i] : joined[i];
        joined[a] = b->time;
    }
    EMU_EACH(lanes, c) { memcpy(w->met[c], joined, sizeof joined); }
}

void wfe_race_barrier(emu_run *r, const uint32_t *lanes)
{
    emu_block *b = r->b;
    b->time++;
    if (!lanes) {
        b->sync_all = b->time;
        return;
    }
    if (!b->warps_met) {
        b->warps_met = wf__alloc0((size_t)b->n_warps * b->n_warps * sizeof *b->warps_met);
        if (!b->warps_met) {
            no_memory(r);
            return;
        }
    }
    for (uint32_t i = 0; i < b->n_warps; i++) {
        for (uint32_t k = 0; lanes[i] && k < b->n_warps; k++)
            if (lanes[k])
                b->warps_met[i * b->n_warps + k] = b->time;
        if (lanes[i])
            b->warps[i].sync_all = b->time;
    }
}

/* ---- pages ---- */
static emu_page *find_page(emu_run *r, emu_page ***pages, uint64_t size, uint64_t at, bool bytes)
{
    uint64_t count = (size + EMU_PAGE - 1) / EMU_PAGE, index = at / EMU_PAGE;
    const emu_block *b = r->b;
    uint64_t owner = pages >= b->pages && pages < b->pages + EMU_SEGMENTS ? b->serial : r->l->id;
    if (!*pages)
        *pages = wf__alloc0((size_t)count * sizeof **pages);
    emu_page *p = *pages ? (*pages)[index] : NULL;
    if (p && p->owner == owner && (p->bytes || !bytes))
        return p;
    size_t cells = bytes || (p && p->bytes) ? EMU_PAGE : EMU_PAGE / 4;
    if (p && p->owner != owner && (p->bytes || !bytes)) {
        memset(p->cells, 0, cells * sizeof(cell));
        p->owner = owner;
        return p;
    }
    emu_page *q = *pages ? wf__alloc0(sizeof *q + cells * sizeof(cell)) : NULL;
    if (!q) {
        no_memory(r);
        return NULL;
    }
    q->owner = owner;
    q->bytes = bytes;
    for (size_t i = 0; p && p->owner == owner && i < cells; i++)
        q->cells[i] = p->cells[i / 4];
    wf__free(p);
    (*pages)[index] = q;
    return q;
}

static void report_race(emu_run *r, const emu_inst *in, uint32_t record, uint32_t lane, unsigned access,
                        uint64_t address)
{
    const context *c = context_of(r->races, record);
    const uint32_t *g = r->l->grid;
    uint32_t other[3] = { c->block % g[0], c->block / g[0] % g[1], c->block / g[0] / g[1] };
    wf__str text = { 0 };
    wfe_add_line(&text, r->m, c->line);
    wf__str_add(&text, "\n  ");
    wfe_add_thread(r, &text, other, c->warp * EMU_LANES + (record & (EMU_LANES - 1)));
    static const char *const names[] = { "", "read", "write", "atomic operation" };
    wfe_report(r, EMU_FAULT_FINDING, in, lane,
               "data race: this %s at 0x%llx and an earlier %s without order between them, at\n  %s", names[access & 3],
               (unsigned long long)address, names[c->access & 3], wf__str_get(&text));
    wf__str_free(&text);
}

/* True for a strong read of a word and a plain write of a part of it. An update of another part by compare-and-swap
 * begins with such a read; if the write changes the word in between, the swap fails and repeats. */
static bool reads_part(unsigned reader, unsigned reads, unsigned writer, unsigned writes)
{
    return reader == (EMU_READ | EMU_STRONG) && writer == EMU_WRITE && writes < reads;
}

static bool is_race(const emu_run *r, const emu_inst *in, uint32_t record, uint32_t lane, unsigned access, bool same)
{
    if (!record)
        return false;
    record -= 1u << LANE_BITS;
    const context *c = context_of(r->races, record);
    if (!((access | c->access) & EMU_WRITE) || (access & c->access & EMU_STRONG))
        return false;
    if (same && c->access == EMU_WRITE && access == EMU_WRITE)
        return false;
    if (reads_part(access, in->bytes, c->access, c->bytes) || reads_part(c->access, c->bytes, access, in->bytes))
        return false;
    return !is_ordered(r, record, lane);
}

static bool is_same_thread(const emu_run *r, uint32_t a, uint32_t b)
{
    if (!a || !b || ((a ^ b) & (EMU_LANES - 1)))
        return false;
    const context *x = context_of(r->races, a - (1u << LANE_BITS)), *y = context_of(r->races, b - (1u << LANE_BITS));
    return x->block == y->block && x->warp == y->warp;
}

static void remember_access(const emu_run *r, cell *c, uint32_t record, unsigned access)
{
    if (access & EMU_WRITE) {
        /* Nothing need order a strong write after the previous access, so that one is kept too. */
        uint32_t old = c->writer && !is_same_thread(r, c->writer, record) ? c->writer : 0;
        c->writer = record;
        if (!(access & EMU_STRONG)) {
            c->reader[0] = c->reader[1] = 0;
        } else if (old) {
            c->reader[1] = c->reader[0];
            c->reader[0] = old;
        }
        return;
    }
    if (!is_same_thread(r, c->reader[0], record))
        c->reader[1] = c->reader[0];
    c->reader[0] = record;
}

void wfe_check_race(emu_run *r, const emu_inst *in, emu_page ***pages, uint64_t size, uint64_t at, unsigned bytes,
                    uint32_t lane, unsigned access, bool same, uint64_t address)
{
    emu_races *s = r->races;
    if (!s || r->fault)
        return;
    uint32_t record = s->current << LANE_BITS | lane;
    bool fine = bytes < 4 || (at & 3);
    emu_page *p = find_page(r, pages, size, at, fine);
    unsigned shift = p && p->bytes ? 0 : 2;
    for (unsigned i = 0; p && i < bytes; i += 1u << shift) {
        cell *c = &p->cells[(at + i) % EMU_PAGE >> shift];
        uint32_t bad = is_race(r, in, c->writer, lane, access, same)      ? c->writer
                       : is_race(r, in, c->reader[0], lane, access, same) ? c->reader[0]
                       : is_race(r, in, c->reader[1], lane, access, same) ? c->reader[1]
                                                                          : 0;
        if (bad) {
            report_race(r, in, bad - (1u << LANE_BITS), lane, access, address + i);
            return;
        }
        remember_access(r, c, record, access);
    }
}
