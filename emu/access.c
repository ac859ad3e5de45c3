/* access.c - loads, stores, atomic operations and asynchronous copies. Each access is checked for bounds, alignment,
 * state space, reads of unwritten memory, and races.
 */
#include "emu/alu.h"
#include "emu/run.h"

typedef struct place {
    uint8_t *at;
    emu_page ***pages; /* shadow for races; NULL = memory that only one thread sees */
    uint64_t offset, size, address;
    emu_memory *memory; /* allocation in global memory; NULL = another space */
    uint8_t *state;     /* state of bytes in shared memory; NULL = another space */
    uint64_t *bits;     /* in global and local memory: from bit `offset` on, the bytes written so far; NULL = all */
} place;

static const char *const verbs[] = { "", "read of", "write of", "atomic operation on" };

static uint64_t address_of(const emu_run *r, const emu_inst *in, uint64_t base, int64_t offset, bool narrow)
{
    uint64_t a = base + (uint64_t)offset + (in->frame ? r->local : 0);
    return narrow ? (uint32_t)a : a;
}

static void report_global(emu_run *r, const emu_inst *in, uint32_t lane, uint64_t a, unsigned bytes, unsigned access)
{
    wf__str text = { 0 };
    wfe_describe(r->l->heap, a, bytes, &text);
    wfe_report(r, EMU_FAULT_ADDRESS, in, lane, "%s %u bytes at global address 0x%llx out of bounds: %s", verbs[access],
               bytes, (unsigned long long)a, wf__str_get(&text));
    wf__str_free(&text);
}

static bool find_global(emu_run *r, const emu_inst *in, uint32_t lane, uint64_t a, unsigned bytes, unsigned access,
                        place *out)
{
    emu_memory *m = r->hit;
    if (!m || a - m->base >= m->size || m->size - (a - m->base) < bytes || !m->at) {
        m = wfe_heap_find(r->l->heap, a);
        if (!m || !m->at || a - m->base >= m->size || m->size - (a - m->base) < bytes) {
            report_global(r, in, lane, a, bytes, access);
            return false;
        }
        if (m->kind == EMU_MEM_DEVICE && m->device != r->l->device && !(r->l->peers >> m->device & 1)) {
            wfe_report(r, EMU_FAULT_ADDRESS, in, lane,
                       "address 0x%llx is memory of device %d, and peer access is not enabled", (unsigned long long)a,
                       m->device);
            return false;
        }
        r->hit = m;
    }
    if (m->constant && access != EMU_READ) {
        wfe_report(r, EMU_FAULT_ADDRESS, in, lane, "%s constant '%s'", verbs[access], m->name);
        return false;
    }
    out->offset = a - m->base;
    out->at = m->at + out->offset;
    out->memory = m;
    out->pages = &m->pages;
    out->size = m->size;
    out->bits = m->written;
    return true;
}

static void describe_shared(const emu_run *r, uint64_t a, wf__str *text)
{
    const emu_var *best = NULL;
    for (uint32_t i = 0; i < r->m->n_vars; i++) {
        const emu_var *v = &r->m->vars[i];
        bool here = v->space == EMU_SHARED && (!v->owner || v->owner == r->l->func || v->owner == r->f);
        if (here && v->at <= a && v->at >> EMU_SEGMENT_BITS == a >> EMU_SEGMENT_BITS && (!best || v->at > best->at))
            best = v;
    }
    if (a >> EMU_SEGMENT_BITS == 2)
        wf__str_addf(text, "byte %llu of %u bytes of dynamic shared memory",
                     (unsigned long long)(a & ((1u << EMU_SEGMENT_BITS) - 1)), r->b->shared_size[2]);
    else if (best)
        wf__str_addf(text, "byte %llu of shared variable '%s' of %llu bytes", (unsigned long long)(a - best->at),
                     best->name, (unsigned long long)best->size);
    else
        wf__str_add(text, "no shared variable lies there");
}

static bool find_shared(emu_run *r, const emu_inst *in, uint32_t lane, uint64_t a, unsigned bytes, unsigned access,
                        place *out)
{
    uint64_t segment = a >> EMU_SEGMENT_BITS, at = a & ((1u << EMU_SEGMENT_BITS) - 1);
    emu_block *b = r->b;
    bool good = segment < EMU_SEGMENTS && at + bytes <= b->shared_size[segment];
    for (unsigned i = 0; good && i < bytes; i++)
        good = b->shared_state[segment][at + i] != 0;
    if (!good) {
        wf__str text = { 0 };
        describe_shared(r, a, &text);
        wfe_report(r, EMU_FAULT_ADDRESS, in, lane, "%s %u bytes at shared address 0x%llx out of bounds: %s",
                   verbs[access], bytes, (unsigned long long)a, wf__str_get(&text));
        wf__str_free(&text);
        return false;
    }
    out->at = b->shared[segment] + at;
    out->state = b->shared_state[segment] + at;
    out->pages = &b->pages[segment];
    out->size = b->shared_size[segment];
    out->offset = at;
    return true;
}

static bool find_local(emu_run *r, const emu_inst *in, uint32_t lane, uint64_t a, unsigned bytes, unsigned access,
                       place *out)
{
    if (a > r->local_bytes || r->local_bytes - a < bytes) {
        wfe_report(r, EMU_FAULT_ADDRESS, in, lane,
                   "%s %u bytes at local address 0x%llx out of bounds: there are %u bytes", verbs[access], bytes,
                   (unsigned long long)a, r->local_bytes);
        return false;
    }
    out->offset = (uint64_t)lane * r->local_bytes + a; /* local_bytes is a multiple of 64 */
    out->at = r->w->locals + out->offset;
    out->bits = r->w->locals_written;
    return true;
}

static bool find_param(emu_run *r, const emu_inst *in, uint32_t lane, uint64_t a, unsigned bytes, unsigned access,
                       place *out)
{
    if (a > r->l->func->param_bytes || r->l->func->param_bytes - a < bytes || access != EMU_READ) {
        wfe_report(r, EMU_FAULT_ADDRESS, in, lane,
                   "%s %u bytes at parameter address 0x%llx: there are %u bytes to read", verbs[access], bytes,
                   (unsigned long long)a, r->l->func->param_bytes);
        return false;
    }
    out->at = (uint8_t *)(uintptr_t)(r->l->params + a);
    return true;
}

static bool locate_bytes(emu_run *r, const emu_inst *in, unsigned space, uint32_t lane, uint64_t a, unsigned bytes,
                         unsigned access, place *out)
{
    memset(out, 0, sizeof *out);
    out->address = a;
    if (a & (bytes - 1)) {
        wfe_report(r, EMU_FAULT_MISALIGNED, in, lane, "%s %u bytes at misaligned address 0x%llx", verbs[access], bytes,
                   (unsigned long long)a);
        return false;
    }
    if (space == EMU_GENERIC) {
        if (a - EMU_SHARED_WINDOW < EMU_WINDOW_SIZE)
            return find_shared(r, in, lane, a - EMU_SHARED_WINDOW, bytes, access, out);
        if (a - EMU_LOCAL_WINDOW < EMU_WINDOW_SIZE)
            return find_local(r, in, lane, a - EMU_LOCAL_WINDOW, bytes, access, out);
        return find_global(r, in, lane, a, bytes, access, out);
    }
    if (space == EMU_SHARED)
        return find_shared(r, in, lane, a, bytes, access, out);
    if (space == EMU_LOCAL)
        return find_local(r, in, lane, a, bytes, access, out);
    if (space == EMU_PARAM)
        return find_param(r, in, lane, a, bytes, access, out);
    if (!find_global(r, in, lane, a, bytes, access, out))
        return false;
    if (space == EMU_CONST && !out->memory->constant) {
        wfe_report(r, EMU_FAULT_SPACE, in, lane, "address 0x%llx is not in constant memory", (unsigned long long)a);
        return false;
    }
    return true;
}

static uint64_t byte_mask(uint64_t offset, unsigned bytes)
{
    return ((bytes == 64 ? 0 : (uint64_t)1 << bytes) - 1) << (offset & 63);
}

static void report_unwritten(emu_run *r, const emu_inst *in, uint32_t lane, const place *p, unsigned bytes)
{
    wf__str text = { 0 };
    if (p->state) {
        describe_shared(r, p->address - (p->address >= EMU_SHARED_WINDOW ? EMU_SHARED_WINDOW : 0), &text);
    } else if (p->memory) {
        wfe_describe(r->l->heap, p->address, bytes, &text);
    } else {
        wf__str_add(&text, "local memory");
    }
    wfe_report(r, EMU_FAULT_FINDING, in, lane, "read of %u bytes that nothing has written, at 0x%llx: %s", bytes,
               (unsigned long long)p->address, wf__str_get(&text));
    wf__str_free(&text);
}

static bool check_written(emu_run *r, const emu_inst *in, uint32_t lane, const place *p, unsigned bytes)
{
    bool good = true;
    if (!(r->l->find & EMU_FIND_UNINIT))
        return true;
    if (p->bits) {
        uint64_t mask = byte_mask(p->offset, bytes);
        good = (p->bits[p->offset >> 6] & mask) == mask;
    }
    for (unsigned i = 0; p->state && i < bytes; i++)
        good = good && p->state[i] == 2;
    if (!good)
        report_unwritten(r, in, lane, p, bytes);
    return good;
}

static void mark_written(const place *p, unsigned bytes)
{
    if (p->bits)
        p->bits[p->offset >> 6] |= byte_mask(p->offset, bytes);
    if (p->state)
        memset(p->state, 2, bytes);
}

/* Notes an access for the order of streams and for races. Strong reads count for races only: a kernel uses them to see
 * what another kernel writes at the same time. */
static void note_access(emu_run *r, const emu_inst *in, const place *p, unsigned bytes, uint32_t lane, unsigned access,
                        bool same)
{
    bool writes = access & EMU_WRITE, strong = access & EMU_STRONG;
    if (p->memory && r->l->touched && (writes || !strong))
        wfe_touch(r->l->touched, p->memory, p->offset, bytes,
                  !writes  ? EMU_TOUCH_READ
                  : strong ? EMU_TOUCH_ATOMIC
                           : EMU_TOUCH_WRITE);
    if (p->pages && r->races)
        wfe_check_race(r, in, p->pages, p->size, p->offset, bytes, lane, access, same, p->address);
}

void wfe_load(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint64_t *base = emu_row(r, r->ops[in->ops + in->nd]);
    unsigned each = in->bytes, total = each * in->vector;
    unsigned access = EMU_READ | (in->strong ? EMU_STRONG : 0);
    if (r->races && in->space != EMU_PARAM && in->space != EMU_LOCAL)
        wfe_begin_accesses(r, in);
    EMU_EACH(mask, lane)
    {
        place p;
        uint64_t a = address_of(r, in, base[lane], in->offset, in->narrow);
        if (!locate_bytes(r, in, in->space, lane, a, total, EMU_READ, &p) || !check_written(r, in, lane, &p, total))
            return;
        note_access(r, in, &p, total, lane, access, false);
        if (in->strong && p.pages && r->races)
            wfe_race_strong(r, in, lane, a, false, true);
        for (unsigned i = 0; i < in->nd; i++) {
            uint64_t bits = 0;
            uint32_t d = r->ops[in->ops + i];
            unsigned n = each > 8 ? 8 : each;
            memcpy(&bits, p.at + (size_t)i * n, n);
            if (d != EMU_ROW_NONE)
                emu_out(r, d)[lane] = wfe_extend((emu_type)in->type, bits, in->dst_bytes);
        }
    }
}

void wfe_store(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint64_t *base = emu_row(r, r->ops[in->ops]);
    unsigned n = in->bytes > 8 ? 8 : in->bytes, total = (unsigned)in->bytes * in->vector;
    unsigned access = EMU_WRITE | (in->strong ? EMU_STRONG : 0), count = total / n;
    if (r->races && in->space != EMU_LOCAL)
        wfe_begin_accesses(r, in);
    EMU_EACH(mask, lane)
    {
        place p;
        uint8_t data[32];
        uint64_t a = address_of(r, in, base[lane], in->offset, in->narrow);
        if (!locate_bytes(r, in, in->space, lane, a, total, EMU_WRITE, &p))
            return;
        for (unsigned i = 0; i < count; i++)
            memcpy(data + (size_t)i * n, &emu_row(r, r->ops[in->ops + 1 + i])[lane], n);
        if (in->strong && p.pages && r->races)
            wfe_race_strong(r, in, lane, a, true, false);
        note_access(r, in, &p, total, lane, access, p.pages && memcmp(p.at, data, total) == 0);
        memcpy(p.at, data, total);
        mark_written(&p, total);
    }
}

static void swap128(const emu_run *r, const emu_inst *in, uint32_t lane, uint8_t *at, uint64_t old[2])
{
    const uint32_t *s = r->ops + in->ops + in->nd + 1;
    uint64_t b[2] = { emu_row(r, s[0])[lane], emu_row(r, s[1])[lane] };
    memcpy(old, at, 16);
    if (!in->has_count) {
        memcpy(at, b, 16);
    } else if (old[0] == b[0] && old[1] == b[1]) {
        uint64_t c[2] = { emu_row(r, s[2])[lane], emu_row(r, s[3])[lane] };
        memcpy(at, c, 16);
    }
}

static void update_elements(const emu_run *r, const emu_inst *in, uint32_t lane, uint8_t *at)
{
    const uint32_t *s = r->ops + in->ops + in->nd + 1, *d = r->ops + in->ops;
    uint64_t old[8] = { 0 };
    if (in->type == EMU_B128) {
        swap128(r, in, lane, at, old);
    } else {
        for (unsigned i = 0; i < in->vector; i++) {
            memcpy(&old[i], at + (size_t)i * in->bytes, in->bytes);
            uint64_t c = in->has_count ? emu_row(r, s[1])[lane] : 0;
            uint64_t now = in->fn(in, old[i], emu_row(r, s[i])[lane], c, 0);
            memcpy(at + (size_t)i * in->bytes, &now, in->bytes);
        }
    }
    for (unsigned i = 0; i < in->nd; i++)
        if (d[i] != EMU_ROW_NONE)
            emu_out(r, d[i])[lane] = wfe_extend((emu_type)in->type, old[i], in->dst_bytes);
}

/* A compare-and-swap writes only the bytes in which its two values differ. The other bytes may be elements of their
 * own, which other threads own: so code updates elements smaller than a word. */
static void note_swap(emu_run *r, const emu_inst *in, const place *p, uint32_t lane)
{
    const uint32_t *s = r->ops + in->ops + in->nd + 1;
    uint64_t changes = emu_row(r, s[0])[lane] ^ emu_row(r, s[1])[lane];
    unsigned access = EMU_READ | EMU_WRITE | EMU_STRONG;
    for (unsigned from = 0, to; from < in->bytes; from = to) {
        bool changed = changes >> 8 * from & 0xff;
        for (to = from + 1; to < in->bytes && changed == !!(changes >> 8 * to & 0xff);)
            ++to;
        place part = *p;
        part.offset += from;
        part.address += from;
        if (changed)
            note_access(r, in, &part, to - from, lane, access, false);
    }
}

void wfe_atomic(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint64_t *base = emu_row(r, r->ops[in->ops + in->nd]);
    unsigned total = (unsigned)in->bytes * in->vector;
    if (r->races)
        wfe_begin_accesses(r, in);
    uint64_t addresses[EMU_LANES];
    EMU_EACH(mask, all) { addresses[all] = address_of(r, in, base[all], in->offset, in->narrow); }
    EMU_EACH(mask, lane)
    {
        place p;
        if (!locate_bytes(r, in, in->space, lane, addresses[lane], total, EMU_READ | EMU_WRITE, &p))
            return;
        if (!p.pages) {
            wfe_report(r, EMU_FAULT_SPACE, in, lane, "an atomic operation on local memory");
            return;
        }
        bool reads = !(in->what == 4 && in->nd == 1 && r->ops[in->ops] == EMU_ROW_NONE);
        if (reads && !check_written(r, in, lane, &p, total))
            return;
        if (in->has_count && in->type != EMU_B128)
            note_swap(r, in, &p, lane);
        else
            note_access(r, in, &p, total, lane, EMU_READ | EMU_WRITE | EMU_STRONG, false);
        uint8_t before[32];
        memcpy(before, p.at, total);
        update_elements(r, in, lane, p.at);
        bool wrote = !in->has_count || memcmp(before, p.at, total) != 0; /* a failing cas writes nothing */
        if (r->races)
            wfe_race_strong(r, in, lane, addresses[lane], wrote, true);
        mark_written(&p, total);
    }
}

/* ---- cp.async: the source is read at once; the destination is unwritten until the thread waits for the copy ---- */
void wfe_copy_async(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint64_t *to = emu_row(r, r->ops[in->ops]), *from = emu_row(r, r->ops[in->ops + 1]);
    const uint64_t *bytes = in->has_count ? emu_row(r, r->ops[in->ops + 2]) : NULL;
    emu_warp *w = r->w;
    if (r->races)
        wfe_begin_accesses(r, in);
    EMU_EACH(mask, lane)
    {
        place d, s;
        unsigned n = bytes ? (unsigned)(bytes[lane] > in->bytes ? in->bytes : bytes[lane]) : in->bytes;
        uint64_t a = address_of(r, in, to[lane], (int32_t)in->target, in->lut),
                 g = address_of(r, in, from[lane], in->offset, false);
        if (!locate_bytes(r, in, EMU_SHARED, lane, a, in->bytes, EMU_WRITE, &d))
            return;
        if (!wf__grow(&w->copies, &w->cap_copies, w->n_copies + 1, sizeof *w->copies)) {
            wfe_report(r, EMU_FAULT_MEMORY, in, lane, "the host ran out of memory");
            return;
        }
        emu_copy *c = &w->copies[w->n_copies];
        *c = (emu_copy){ .to = (uint32_t)a, .bytes = in->bytes, .lane = lane, .line = in->line };
        if (n > 0) {
            if (g & (in->bytes - 1u)) {
                wfe_report(r, EMU_FAULT_MISALIGNED, in, lane, "read of %u bytes at misaligned address 0x%llx",
                           in->bytes, (unsigned long long)g);
                return;
            }
            for (unsigned i = 0; i < n; i++) { /* src-size may be any number up to the size */
                if (!locate_bytes(r, in, EMU_GLOBAL, lane, g + i, 1, EMU_READ, &s) ||
                    !check_written(r, in, lane, &s, 1))
                    return;
                note_access(r, in, &s, 1, lane, EMU_READ, false);
                c->data[i] = *s.at;
            }
        }
        note_access(r, in, &d, in->bytes, lane, EMU_WRITE, false);
        memset(d.state, 1, in->bytes);
        w->n_copies++;
    }
}

/* The group of a copy is the number of the commit that covers it, counted per lane. */
void wfe_copy_commit(emu_run *r, uint32_t mask)
{
    emu_warp *w = r->w;
    EMU_EACH(mask, lane) { w->copy_group[lane]++; }
    for (uint32_t i = 0; i < w->n_copies; i++) {
        emu_copy *c = &w->copies[i];
        if (!c->committed && (mask >> c->lane & 1)) {
            c->committed = true;
            c->group = w->copy_group[c->lane];
        }
    }
}

void wfe_copy_wait(emu_run *r, const emu_inst *in, uint32_t mask)
{
    emu_warp *w = r->w;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->n_copies; i++) {
        emu_copy *c = &w->copies[i];
        bool due = in->what ? true : c->committed && w->copy_group[c->lane] - c->group >= in->target;
        if (due && (mask >> c->lane & 1)) {
            uint32_t segment = c->to >> EMU_SEGMENT_BITS, at = c->to & ((1u << EMU_SEGMENT_BITS) - 1);
            memcpy(r->b->shared[segment] + at, c->data, c->bytes);
            memset(r->b->shared_state[segment] + at, 2, c->bytes);
        } else {
            w->copies[kept++] = *c;
        }
    }
    w->n_copies = kept;
}
