/* gpu_run.c - runs the stages of a plan on a GPU: PTX at the first run of a stage, then the block of parameters that its
 * recipe asks for, and the grid. Results of reductions come to the host where they are joined, in the order of
 * the processor.
 */
#include "run/gpu_internal.h"
#include "run/partials.h"
#include "run/stage.h"
#include <stdio.h>

typedef struct gpu_code { /* stage->code */
    wf__ptx_code ptx;
    wf__held *module;
} gpu_code;

typedef struct gpu_launch {
    wf__gpu *gpu;
    const wf__stage *stage;
    const gpu_code *code;
    const wf__mem *mem;
    const uint64_t *param;
    char **result; /* of reductions: device memory */
    int64_t tiles, rows, warps;
    unsigned block_x, block_y;
    wf__gpu_watch *watch; /* of debug mode; else NULL */
    wf__failure *failure;
} gpu_launch;

static bool no_memory(wf__failure *f)
{
    f->status = WF_ERR_MEMORY;
    wf__str_add(&f->text, "out of memory for a launch");
    return false;
}

void wf__gpu_free_stage_code(void *engine, void *code)
{
    gpu_code *c = code;
    const wf__gpu_kernel *kernel = c->module ? wf__held_value(c->module) : NULL;
    wf__failure ignored = { 0 };
    WF__UNUSED(engine);
    if (kernel) {
        wf__gpu *gpu = kernel->gpu;
        bool current = wf__gpu_enter(gpu, &ignored);
        wf__map_let_go(gpu->modules, c->module);
        if (current)
            wf__gpu_end(gpu);
    }
    wf__str_free(&ignored.text);
    wf__ptx_free(&c->ptx);
    wf__free(c);
}

/* The code of a stage; the GPU is ours, so nobody else is here. */
static const gpu_code *code_of(wf__gpu *gpu, wf__stage *stage, const wf__mem *mem, wf__note *note, wf__failure *f)
{
    gpu_code *c = atomic_load(&stage->code);
    if (c) {
        if (note)
            note->code = WF_CODE_READY;
        return c;
    }
    if (!(c = wf__alloc0(sizeof *c))) {
        no_memory(f);
        return NULL;
    }
    wf__ptx_options how = { .arch = gpu->arch,
                            .narrow = wf__ptx_is_narrow(&stage->body, mem, stage->extent),
                            .team = stage->team };
    wf_status status = wf__ptx_emit(&stage->body, &how, &c->ptx, &f->text);
    if (status != WF_OK)
        f->status = status;
    else
        c->module = wf__gpu_module(gpu, wf__str_get(&c->ptx.text), c->ptx.text.len, note, f);
    if (!c->module) {
        wf__ptx_free(&c->ptx);
        wf__free(c);
        return NULL;
    }
    atomic_store(&stage->code, (void *)c);
    return c;
}

/* ---- the grid ---- */
static int64_t divided(int64_t n, int64_t by) { return n / by + (n % by != 0); }

static int64_t boxes(const wf__stage *stage, int d) { return divided(stage->extent[d], stage->block[d]); }

/* x goes along the lane axis; short rows share a block. */
static void shape_rows(gpu_launch *l)
{
    enum { THREADS = 256 };
    const wf__stage *stage = l->stage;
    int last = stage->body.rank - 1;
    int64_t width = l->code->ptx.width;
    l->block_x = THREADS;
    while (l->block_x > 1 && l->block_x / 2 * width >= stage->extent[last])
        l->block_x /= 2;
    l->block_y = last > 0 ? THREADS / l->block_x : 1;
    l->tiles = divided(stage->extent[last], l->block_x * width);
    l->rows = 1;
    for (int d = 0; d < last; ++d)
        l->rows *= !stage->body.red_n || d < stage->body.kept ? stage->extent[d] : boxes(stage, d);
}

/* Does every row of what is read and written at once begin at a multiple of what a thread has? */
static bool is_aligned(const gpu_launch *l)
{
    const wf__ptx_code *code = &l->code->ptx;
    bool aligned = true;
    for (uint32_t i = 0; i < code->wide_n; ++i) {
        const wf__mem *m = &l->mem[code->wide[i]];
        uint64_t bytes = (uint64_t)code->width * wf__size(l->stage->body.slot[code->wide[i]].dtype);
        aligned = aligned && wf__gpu_address(m->base) % bytes == 0;
        for (int d = 0; d < l->stage->body.rank - 1; ++d)
            aligned = aligned && (l->stage->extent[d] < 2 || m->stride[d] % code->width == 0);
    }
    return aligned;
}

static uint64_t field(const gpu_launch *l, const wf__ptx_field *f)
{
    const wf__stage *stage = l->stage;
    switch (f->what) {
    case WF__PTX_BASE:
        return wf__gpu_address(l->mem[f->number].base);
    case WF__PTX_STRIDE:
        return (uint64_t)l->mem[f->number].stride[f->axis];
    case WF__PTX_DIM:
        return (uint64_t)l->mem[f->number].dim[f->axis];
    case WF__PTX_PARAM:
        return l->param[f->number];
    case WF__PTX_EXTENT:
        return (uint64_t)stage->extent[f->axis];
    case WF__PTX_TILES:
        return (uint64_t)l->tiles;
    case WF__PTX_ROWS:
        return (uint64_t)l->rows;
    case WF__PTX_BOX:
        return (uint64_t)stage->block[f->axis];
    case WF__PTX_BOXES:
        return (uint64_t)boxes(stage, f->axis);
    case WF__PTX_WARPS:
        return (uint64_t)l->warps;
    case WF__PTX_KEPT:
        return (uint64_t)stage->kept;
    case WF__PTX_ALIGNED:
        return is_aligned(l);
    case WF__PTX_REPORT:
    case WF__PTX_WRITERS:
        return wf__gpu_watch_field(l->watch, f);
    default:
        return wf__gpu_address(l->result[f->number]);
    }
}

static bool launch(gpu_launch *l)
{
    enum { WARPS = 4, MOST_X = INT32_MAX, MOST_Y = 65535 };
    const wf__stage *stage = l->stage;
    const wf__cuda *cuda = l->gpu->cuda;
    uint64_t values[WF__PTX_MOST_FIELDS];
    void *params[] = { values };
    int64_t blocks;
    if (stage->team.threads) {
        l->block_x = (unsigned)stage->team.threads;
        l->block_y = 1;
        blocks = stage->blocks;
    } else if (stage->body.red_n && !stage->body.kept_lane) {
        l->warps = stage->reduce ? stage->kept * stage->parts : stage->blocks;
        l->block_x = WARPS * WF__LANES;
        l->block_y = 1;
        blocks = divided(l->warps, WARPS);
    } else {
        shape_rows(l);
        blocks = l->tiles * divided(l->rows, l->block_y);
    }
    int64_t y = divided(blocks, MOST_X);
    if (y > MOST_Y) {
        l->failure->status = WF_ERR_UNSUPPORTED;
        wf__str_addf(&l->failure->text, "%s: %lld blocks of threads are too many", l->gpu->name, (long long)blocks);
        return false;
    }
    for (uint32_t i = 0; i < l->code->ptx.fields; ++i)
        values[i] = field(l, &l->code->ptx.field[i]);
    const wf__gpu_kernel *kernel = wf__held_value(l->code->module);
    int result = cuda->LaunchKernel(kernel->function, (unsigned)divided(blocks, y), (unsigned)y, 1, l->block_x,
                                    l->block_y, 1, 0, l->gpu->stream, params, NULL);
    return wf__gpu_ok(l->gpu, "launching a kernel", result, l->failure);
}

/* ---- reductions ---- */
static bool result_bytes(const wf__stage *stage, uint32_t k, size_t *bytes)
{
    int64_t n = stage->blocks;
    return (!stage->reduce || wf__mul_i64(stage->parts, stage->kept, &n)) &&
           wf__mul_size(wf__size(stage->body.red[k].dtype), (size_t)n, bytes);
}

/* Device memory for results: [boxes], or [parts][kept points]. With one part the results are where they belong. */
static bool make_results(gpu_launch *l, char *const *base)
{
    const wf__stage *stage = l->stage;
    for (uint32_t k = 0; k < stage->body.red_n; ++k) {
        size_t bytes;
        if (stage->reduce && stage->parts == 1) {
            l->result[k] = base[stage->result[k]];
            continue;
        }
        if (!result_bytes(stage, k, &bytes))
            return no_memory(l->failure);
        if (!(l->result[k] = wf__gpu_take(l->gpu, bytes, l->failure)))
            return false;
    }
    return true;
}

static void free_results(gpu_launch *l)
{
    bool own = !l->stage->reduce || l->stage->parts > 1;
    size_t bytes;
    for (uint32_t k = 0; own && k < l->stage->body.red_n; ++k)
        if (result_bytes(l->stage, k, &bytes))
            wf__gpu_give(l->gpu, l->result[k], bytes);
}

static bool fetch(gpu_launch *l, void *to, const char *from, size_t bytes)
{
    const wf__cuda *cuda = l->gpu->cuda;
    return wf__gpu_ok(l->gpu, "copying results", cuda->MemcpyDtoH(to, wf__gpu_address(from), bytes, l->gpu->stream),
                      l->failure) &&
           wf__gpu_wait(l->gpu, "running a kernel", l->failure);
}

/* All axes reduced: the boxes' values to `result`. */
static bool join_boxes(gpu_launch *l, uint64_t *result)
{
    const wf__stage *stage = l->stage;
    uint32_t n = stage->body.red_n;
    uint64_t *partial = wf__alloc0(wf__partial_bytes(stage));
    char *row = wf__alloc((size_t)stage->blocks * sizeof(uint64_t));
    bool ok = (partial && row) || no_memory(l->failure);
    for (uint32_t k = 0; ok && k < n; ++k) {
        size_t size = wf__size(stage->body.red[k].dtype);
        ok = fetch(l, row, l->result[k], size * (size_t)stage->blocks);
        for (int64_t b = 0; ok && b < stage->blocks; ++b)
            memcpy(&partial[(size_t)b * n + k], row + (size_t)b * size, size);
    }
    if (ok)
        wf__finish_reductions(stage, partial, result);
    wf__free(partial);
    wf__free(row);
    return ok;
}

/* Some axes kept: the parts' values into one, and that to its place. */
static bool join_parts(gpu_launch *l, char *const *base)
{
    const wf__stage *stage = l->stage;
    uint32_t n = stage->body.red_n;
    uint64_t *partial = wf__alloc0(wf__partial_bytes(stage));
    char **row = wf__alloc0(n * sizeof *row);
    bool ok = (partial && row) || no_memory(l->failure);
    for (uint32_t k = 0; ok && k < n; ++k) {
        size_t bytes = wf__size(stage->body.red[k].dtype) * (size_t)stage->kept;
        row[k] = wf__alloc(bytes * (size_t)stage->parts);
        ok = row[k] ? fetch(l, row[k], l->result[k], bytes * (size_t)stage->parts) : no_memory(l->failure);
        for (int64_t p = 0; ok && p < stage->parts; ++p)
            partial[(size_t)p * n + k] = (uint64_t)(uintptr_t)(row[k] + (size_t)p * bytes);
    }
    if (ok)
        wf__finish_reductions(stage, partial, NULL);
    for (uint32_t k = 0; ok && k < n; ++k) {
        size_t bytes = wf__size(stage->body.red[k].dtype) * (size_t)stage->kept;
        int result = l->gpu->cuda->MemcpyHtoD(wf__gpu_address(base[stage->result[k]]), row[k], bytes, l->gpu->stream);
        ok = wf__gpu_ok(l->gpu, "copying results", result, l->failure) &&
             wf__gpu_wait(l->gpu, "copying results", l->failure);
    }
    for (uint32_t k = 0; row && k < n; ++k)
        wf__free(row[k]);
    wf__free(row);
    wf__free(partial);
    return ok;
}

/* ---- one stage ---- */
static bool run_stage(wf__gpu *gpu, wf__stage *stage, char *const *base, const uint64_t *param, uint64_t *result,
                      wf__note *note, wf__failure *f)
{
    const wf__ir *body = &stage->body;
    wf__mem *mem = wf__alloc0((body->slot_n + 1) * sizeof *mem);
    gpu_launch l = { .gpu = gpu, .stage = stage, .mem = mem, .param = param, .failure = f };
    l.result = wf__alloc0((body->red_n + 1) * sizeof *l.result);
    bool ok = (mem && l.result) || no_memory(f);
    if (ok && stage->empty) {
        if (body->red_n)
            wf__finish_reductions(stage, NULL, result);
    } else if (ok) {
        wf__stage_mem(stage, base, mem);
        l.code = code_of(gpu, stage, mem, note, f);
        ok = l.code && make_results(&l, base);
        if (ok && body->flags & WF_DEBUG)
            ok = (l.watch = wf__gpu_watch_begin(gpu, stage, mem, f)) != NULL;
        ok = ok && launch(&l) && (!l.watch || wf__gpu_watch_look(l.watch, f));
        wf__gpu_watch_end(l.watch);
        if (ok && body->red_n && !stage->reduce)
            ok = join_boxes(&l, result);
        else if (ok && body->red_n && stage->parts > 1)
            ok = join_parts(&l, base);
        if (ok)
            atomic_fetch_add_explicit(&gpu->engine->evaluated, 1, memory_order_relaxed);
        free_results(&l);
    }
    wf__free(mem);
    wf__free(l.result);
    return ok;
}

static bool run_stages(wf__gpu *gpu, wf__plan *plan, char *const *base, uint64_t *param, wf__note *notes,
                       wf__failure *f)
{
    bool ok = true;
    for (uint32_t s = 0; ok && s < plan->stage_n; ++s) {
        double start = notes ? wf__now() : 0;
        ok = run_stage(gpu, &plan->stage[s], base, param, param + plan->params, notes ? &notes[s] : NULL, f);
        if (ok && (notes || gpu->emulated)) /* what an emulator finds belongs to a stage */
            ok = wf__gpu_wait(gpu, "running a kernel", f);
        if (!ok && plan->stage_n > 1)
            wf__str_addf(&f->text, " (stage %u of %u)", s + 1, plan->stage_n);
        if (notes && !plan->stage[s].empty) {
            notes[s].ran = true;
            notes[s].run_s = wf__now() - start;
        }
    }
    return ok;
}

static void note_label(wf__gpu *gpu, const char *label)
{
    if (!gpu->emulated)
        snprintf(gpu->recent[gpu->recent_n++ % WF__GPU_RECENT], sizeof *gpu->recent, "%s", label ? label : "unnamed");
}

bool wf__gpu_run(wf__gpu_on on, wf__plan *plan, const char *label, char *const *given, const uint64_t *param,
                 wf__note *notes, wf__failure *f)
{
    wf__gpu *gpu = on.gpu;
    uint32_t objects = plan->objects + plan->temp_n, temps = 0;
    char **base = wf__alloc0((objects + 1) * sizeof *base);
    uint64_t *all = wf__alloc0((plan->params + plan->most_reds + 1) * sizeof *all);
    bool ok = ((base && all) || no_memory(f)) && wf__gpu_begin_on(gpu, on.foreign ? on.stream : gpu->own, f);
    bool begun = ok;
    for (uint32_t i = 0; ok && i < plan->objects; ++i)
        base[i] = given[i];
    if (ok && plan->params)
        memcpy(all, param, plan->params * sizeof *all);
    for (; ok && temps < plan->temp_n; ++temps) {
        if (plan->temp[temps].shared)
            continue;
        size_t bytes = wf__temp_bytes(&plan->temp[temps]);
        char *at = bytes == SIZE_MAX ? NULL : wf__gpu_take(gpu, bytes, f);
        base[plan->objects + temps] = at;
        if (!at)
            ok = bytes == SIZE_MAX ? no_memory(f) : false;
    }
    ok = ok && run_stages(gpu, plan, base, all, notes, f);
    if (ok)
        note_label(gpu, label);
    if (begun) {
        wf__failure late = { 0 };
        if (!ok)
            wf__gpu_wait(gpu, "running a kernel", &late);
        wf__str_free(&late.text);
        for (uint32_t t = 0; t < plan->temp_n; ++t)
            wf__gpu_give(gpu, base[plan->objects + t], wf__temp_bytes(&plan->temp[t]));
        wf__gpu_end(gpu);
    }
    wf__free(base);
    wf__free(all);
    return ok;
}
