/* join_tallies.c - arrays that each rank has, and that a stage accumulates into. Each rank joins the values of its points to
 * neutral elements. Then all ranks exchange these arrays, part by part, and join them with the elements before.
 */
#include "run/cpu/join_tallies.h"
#include "run/cpu/copies.h"

enum { PART = 1 << 16 }; /* bytes; a multiple of every size */

static size_t bytes_of(const wf__tally *t) { return t->elements * wf__size(t->dtype); }

/* The bytes of a tally in `before`, where the next one is aligned for every dtype. */
static size_t room_of(const wf__tally *t) { return (bytes_of(t) + 63) / 64 * 64; }

bool wf__tallies_begin(wf__tallies *t, const wf__stage *stage, const wf__others *others, wf__mem_cache *memory,
                       char *const *base)
{
    const wf__division *division = &stage->division;
    const size_t ranks = (size_t)others->ranks;
    *t = (wf__tallies){ .stage = stage, .others = others, .memory = memory, .base = base };
    for (uint32_t k = 0; k < division->tallies; ++k)
        t->sum += room_of(&division->tally[k]);
    t->bytes = wf__alloc(2 * ranks * sizeof *t->bytes);
    t->all = wf__mem_alloc(memory, ranks * PART);
    char *before = t->bytes && t->all ? wf__mem_alloc(memory, t->sum + 1) : NULL;
    if (!before)
        return false;
    t->offset = t->bytes + ranks;
    t->before = before;
    for (uint32_t k = 0; k < division->tallies; ++k) {
        const wf__tally *tally = &division->tally[k];
        memcpy(before, base[tally->object], bytes_of(tally));
        before += room_of(tally);
        wf__fill_neutral(tally->join, base[tally->object], tally->dtype, tally->elements);
    }
    return true;
}

void wf__tallies_end(wf__tallies *t)
{
    if (!t->stage)
        return;
    wf__mem_free(t->memory, t->before, t->sum + 1);
    wf__mem_free(t->memory, t->all, (size_t)t->others->ranks * PART);
    wf__free(t->bytes);
}

/* Joins a part of an array, of n elements at `at`, with those before. */
static bool join_part(const wf__tallies *t, const wf__tally *tally, char *at, char *before, size_t n, wf__failure *f)
{
    const size_t bytes = n * wf__size(tally->dtype);
    for (int r = 0; r < t->others->ranks; ++r) {
        t->bytes[r] = bytes;
        t->offset[r] = (size_t)r * bytes;
    }
    memcpy(t->all + t->offset[t->others->rank], at, bytes);
    if (!t->others->gather(t->others->user, t->all, t->bytes, t->offset, f))
        return false;
    for (size_t i = 0; tally->dtype == WF_BOOL && i < n; ++i)
        before[i] = before[i] != 0;
    for (int r = 0; r < t->others->ranks; ++r)
        wf__join_packed(tally->join, tally->dtype, before, t->all + t->offset[r], n);
    memcpy(at, before, bytes);
    return true;
}

/* Gives the arrays the elements that they had. */
static void restore(const wf__tallies *t)
{
    const wf__division *division = &t->stage->division;
    const char *before = t->before;
    for (uint32_t k = 0; before && k < division->tallies; ++k) {
        memcpy(t->base[division->tally[k].object], before, bytes_of(&division->tally[k]));
        before += room_of(&division->tally[k]);
    }
}

bool wf__tallies_join(wf__tallies *t, const wf__others *others, bool ok, bool told, wf__failure *f)
{
    const wf_status mine = ok ? WF_OK : f->status == WF_OK ? WF_ERR_BACKEND : f->status;
    if (told ? !ok : !wf__ranks_go_on(others, mine, f)) {
        if (t->stage)
            restore(t);
        return false;
    }
    char *before = t->before;
    for (uint32_t k = 0; k < t->stage->division.tallies; ++k) {
        const wf__tally *tally = &t->stage->division.tally[k];
        const size_t size = wf__size(tally->dtype), most = PART / size;
        for (size_t i = 0; i < tally->elements; i += most) {
            const size_t n = tally->elements - i < most ? tally->elements - i : most;
            if (!join_part(t, tally, t->base[tally->object] + i * size, before + i * size, n, f))
                return false;
        }
        before += room_of(tally);
    }
    return true;
}
