/* heap.c - memory of devices. Device memory has addresses that no host can map, so that the host cannot follow them by
 * accident; a gap follows each allocation, and no address is used twice. Freed allocations stay in the list, so that
 * reports can name them. */
#include <stdlib.h>
#include "base/os.h"
#include "emu/emu.h"
#include "emu/run.h"

enum { ALIGN = 512, FREED_KEPT = 65536, POISON = 0xa5 };

/* The number of allocations that begin at or below the address. */
static uint32_t count_below(const emu_heap *h, uint64_t address)
{
    uint32_t lo = 0, hi = h->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (h->list[mid]->base <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

emu_memory *wfe_heap_find(const emu_heap *h, uint64_t address)
{
    uint32_t i = count_below(h, address);
    return i ? h->list[i - 1] : NULL;
}

static void release_memory(emu_memory *m)
{
    if (m->at && m->kind != EMU_MEM_PINNED && m->kind != EMU_MEM_MANAGED)
        wf__free(m->at);
    wf__free(m->written);
    if (m->pages)
        wfe_pages_free(m->pages, m->size);
    wfe_forget_spans(m);
    for (int i = 0; i < EMU_TOUCHES; i++) {
        wf__free(m->touched[i]);
        m->touched[i] = NULL;
    }
    m->at = NULL;
    m->written = NULL;
    m->pages = NULL;
}

static void remove_at(emu_heap *h, uint32_t i)
{
    release_memory(h->list[i]);
    wf__free(h->list[i]);
    memmove(h->list + i, h->list + i + 1, (h->n - i - 1) * sizeof *h->list);
    h->n--;
}

/* Removes freed allocations that overlap new host memory. */
static void forget_freed(emu_heap *h, uint64_t base, uint64_t size)
{
    for (uint32_t i = h->n; i-- > 0;) {
        emu_memory *m = h->list[i];
        if (!m->at && m->base < base + size && base < m->base + m->size) {
            remove_at(h, i);
            h->freed--;
        }
    }
}

emu_memory *wfe_heap_add(emu_heap *h, uint64_t bytes, emu_memory_kind kind, int device, void *host)
{
    if (bytes == 0 || bytes > (uint64_t)1 << 46)
        return NULL;
    emu_memory *m = wf__alloc0(sizeof *m);
    if (!m)
        return NULL;
    m->size = bytes;
    m->kind = (uint8_t)kind;
    m->device = device;
    if (host) {
        m->base = (uint64_t)(uintptr_t)host;
        m->at = host;
        forget_freed(h, m->base, bytes);
    } else {
        if (!h->next)
            h->next = EMU_GLOBAL_BASE;
        m->base = h->next;
        m->at = wf__alloc((size_t)bytes);
        m->written = wf__alloc0(((size_t)bytes + 63) / 64 * 8 + 8);
        if (m->at)
            memset(m->at, POISON, (size_t)bytes);
    }
    if (!m->at || (!host && !m->written) || !wf__grow(&h->list, &h->cap, h->n + 1, sizeof *h->list)) {
        release_memory(m);
        wf__free(m);
        return NULL;
    }
    if (!host)
        h->next = (h->next + bytes + 2 * ALIGN - 1) / ALIGN * ALIGN;
    m->serial = ++h->serial;
    uint32_t i = count_below(h, m->base);
    memmove(h->list + i + 1, h->list + i, (h->n - i) * sizeof *h->list);
    h->list[i] = m;
    h->n++;
    return m;
}

void wfe_heap_drop(emu_heap *h, emu_memory *m)
{
    release_memory(m);
    if (++h->freed <= FREED_KEPT)
        return;
    for (uint32_t i = 0; i < h->n; i++) {
        if (!h->list[i]->at) {
            remove_at(h, i);
            h->freed--;
            return;
        }
    }
}

void wfe_heap_free(emu_heap *h)
{
    for (uint32_t i = 0; i < h->n; i++) {
        release_memory(h->list[i]);
        wf__free(h->list[i]);
    }
    wf__free(h->list);
    *h = (emu_heap){ .next = h->next, .serial = h->serial };
}

void wfe_mark_written(emu_memory *m, uint64_t at, uint64_t bytes)
{
    if (m->written)
        wfe_set_bits(m->written, at, bytes);
}

static void describe_one(const emu_memory *m, wf__str *out)
{
    static const char *const kinds[] = { "device memory", "pinned host memory", "managed memory", "variable" };
    wf__str_addf(out, "%s", kinds[m->kind]);
    if (m->name)
        wf__str_addf(out, " '%s'", m->name);
    wf__str_addf(out, " #%llu of %llu bytes at 0x%llx", (unsigned long long)m->serial, (unsigned long long)m->size,
                 (unsigned long long)m->base);
}

void wfe_describe(const emu_heap *h, uint64_t address, uint64_t bytes, wf__str *out)
{
    uint32_t i = count_below(h, address);
    const emu_memory *below = i ? h->list[i - 1] : NULL, *above = i < h->n ? h->list[i] : NULL;
    if (below && address - below->base < below->size) {
        if (!below->at)
            wf__str_add(out, "freed before: ");
        wf__str_addf(out, "%llu bytes into ", (unsigned long long)(address - below->base));
        describe_one(below, out);
        if (address - below->base + bytes > below->size)
            wf__str_addf(out, ", beyond its end with the last %llu bytes",
                         (unsigned long long)(address - below->base + bytes - below->size));
    } else if (below && (!above || address - (below->base + below->size) <= above->base - address)) {
        wf__str_addf(out, "%llu bytes past the end of ", (unsigned long long)(address - (below->base + below->size)));
        describe_one(below, out);
    } else if (above) {
        wf__str_addf(out, "%llu bytes before ", (unsigned long long)(above->base - address));
        describe_one(above, out);
    } else {
        wf__str_add(out, "there is no memory at all");
    }
}
