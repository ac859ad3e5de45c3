/* launch.c - see gpu/launch.h. */
#include "run/gpu/launch.h"

/* ---- code ---- */
static void release_kernel(wf__gpu *gpu, wf__gpu_kernel_code *c)
{
    if (c->module)
        wf__map_let_go(gpu->modules, c->module);
    wf__ptx_free(&c->ptx);
}

void wf__gpu_free_stage_code(void *engine, void *code)
{
    wf__gpu_code *c = code;
    wf__held *any = c->body.module ? c->body.module : c->join.module;
    wf__gpu *gpu = ((const wf__gpu_kernel *)wf__held_value(any))->gpu;
    wf__failure ignored = { 0 };
    WF__UNUSED(engine);
    bool current = wf__gpu_enter(gpu, &ignored);
    release_kernel(gpu, &c->body);
    release_kernel(gpu, &c->join);
    if (current)
        wf__gpu_end(gpu);
    wf__str_free(&ignored.text);
    wf__free(c);
}

/* Returns the newest useful PTX version that a driver knows. */
static int ptx_of(int driver) { return !driver || driver >= 12090 ? 88 : driver >= 12010 ? 81 : 78; }

/* Returns the options of code generation for a stage's kernel, or for the kernel that joins. driver: version; 0 = the
 * newest. */
static wf__ptx_options ptx_options_of(const wf__plan *plan, const wf__stage *stage, const wf__mem *mem, int arch,
                                      int driver, bool join)
{
    bool completes = stage->lowered.red_n && !stage->reduce.axes && wf__joins_boxes(stage) == join;
    int last = stage->lowered.rank - 1;
    bool rows = stage->reduce.axes && !stage->lowered.kept_lane && stage->lowered.kept == last &&
                stage->reduce.parts == 1 && stage->extent[last] <= WF__GPU_SHORT_ROW &&
                stage->reduce.kept >= WF__GPU_MANY_ROWS;
    uint32_t post = completes ? wf__step_of(plan, wf__stage_number(plan, stage))->consumer : WF__NO_STAGE;
    return (wf__ptx_options){ .arch = arch,
                              .ptx = ptx_of(driver),
                              .narrow = !join && wf__ptx_is_narrow(&stage->lowered, mem, stage->extent),
                              .thread_block = stage->thread_block,
                              .initial = completes ? stage->reduce.initial : NULL,
                              .post = post == WF__NO_STAGE ? NULL : &plan->stage[post].lowered,
                              .short_rows = rows && !join ? (int)stage->extent[last] : 0,
                              .results = plan->params + 1,
                              .columns = stage->promises.columns,
                              .join = join,
                              .copies = stage->copies.at,
                              .copies_n = join ? 0 : stage->copies.n,
                              .private_bytes = join ? 0 : stage->copies.block_bytes };
}

bool wf__gpu_stage_ptx(const wf__plan *plan, const wf__stage *stage, int arch, bool join, wf__str *out, wf__failure *f)
{
    if (join && !wf__joins_boxes(stage))
        return true;
    wf__ptx_code *code = wf__alloc0(sizeof *code);
    wf__mem *mem = wf__alloc0((stage->lowered.slot_n + 1) * sizeof *mem);
    bool ok = code && mem;
    for (uint32_t s = 0; mem && s < stage->lowered.slot_n; ++s) {
        memcpy(mem[s].stride, stage->mem[s].stride, sizeof mem[s].stride);
        memcpy(mem[s].dim, stage->mem[s].dim, sizeof mem[s].dim);
    }
    if (ok) {
        const wf__ptx_options how = ptx_options_of(plan, stage, mem, arch, 0, join);
        ok = wf__ptx_emit(&stage->lowered, &how, code, f);
        if (ok)
            wf__str_addn(out, wf__str_get(&code->text), code->text.len);
        wf__ptx_free(code);
    } else
        wf__out_of_memory(f, "PTX");
    wf__free(mem);
    wf__free(code);
    return ok;
}

static bool make_kernel(wf__gpu_launch *l, bool join, wf__gpu_kernel_code *out, wf__note *note)
{
    const wf__ptx_options how = ptx_options_of(l->plan, l->stage, l->mem, l->gpu->arch, l->gpu->driver, join);
    if (wf__ptx_emit(&l->stage->lowered, &how, &out->ptx, l->failure))
        out->module = wf__gpu_module(l->gpu, wf__str_get(&out->ptx.text), out->ptx.text.len, note, l->failure);
    return out->module != NULL;
}

bool wf__gpu_get_code(wf__gpu_launch *l)
{
    wf__note *note = l->note;
    wf__gpu_code *c = atomic_load(&l->stage->code);
    l->code = c;
    if (c) {
        if (note)
            note->code = WF_CODE_READY;
        return true;
    }
    if (!(c = wf__alloc0(sizeof *c))) {
        wf__out_of_memory(l->failure, "a launch");
        return false;
    }
    bool joins = wf__joins_boxes(l->stage), empty = l->stage->empty;
    if ((!empty && !make_kernel(l, false, &c->body, note)) ||
        (joins && !make_kernel(l, true, &c->join, empty ? note : NULL))) {
        release_kernel(l->gpu, &c->body);
        release_kernel(l->gpu, &c->join);
        wf__free(c);
        return false;
    }
    l->code = c;
    atomic_store(&l->stage->code, (void *)c);
    return true;
}

/* ---- the grid ---- */
static int64_t divided(int64_t n, int64_t by) { return n / by + (n % by != 0); }

static int64_t boxes_along(const wf__stage *stage, int d) { return divided(stage->extent[d], stage->partition.box[d]); }

/* Returns the threads of a block: the limit of the launch, else those of the best occupancy, but fewer if there is
 * work for few blocks. */
static unsigned block_threads(const wf__gpu_launch *l, int64_t threads)
{
    enum { LEAST = 32 };
    const wf__gpu_kernel *kernel = wf__held_value(l->code->body.module);
    unsigned n = (unsigned)kernel->threads;
    if (l->limits->block_threads)
        return (unsigned)l->limits->block_threads;
    while (n > LEAST && threads / n < WF__GPU_BLOCKS * l->gpu->processors)
        n /= 2;
    return n;
}

/* Returns the number of idle threads in the last block of a row, with x threads along rows. */
static int64_t idle_threads(int64_t extent, int64_t width, unsigned x)
{
    return divided(extent, x * width) * x - divided(extent, width);
}

/* Sets the grid of a kernel over rows; x goes along the lane axis. Blocks are as long as leaves few threads idle at
 * the ends of rows. Short rows share a block. */
static void shape_rows(wf__gpu_launch *l)
{
    enum { WARP = 32, FEW = 8 /* one of so many */ };
    const wf__stage *stage = l->stage;
    int last = stage->lowered.rank - 1;
    int64_t width = l->code->body.ptx.width, extent = stage->extent[last], threads = divided(extent, width);
    l->rows = 1;
    for (int d = 0; d < last; ++d)
        l->rows *= !stage->lowered.red_n || d < stage->lowered.kept ? stage->extent[d] : boxes_along(stage, d);
    unsigned n = block_threads(l, threads * l->rows), best = n;
    for (unsigned x = n; last > 0 && x >= WARP; x /= 2)
        if (idle_threads(extent, width, best) > threads / FEW &&
            idle_threads(extent, width, x) < idle_threads(extent, width, best))
            best = x;
    while (best > 1 && (int64_t)best / 2 >= threads)
        best /= 2;
    l->block_x = best;
    l->block_y = last > 0 ? n / best : 1;
    l->tiles = divided(extent, best * width);
}

/* True if every row of the slots with wide accesses begins at a multiple of a thread's elements. */
static bool is_aligned(const wf__gpu_launch *l)
{
    const wf__ptx_code *code = &l->code->body.ptx;
    bool aligned = true;
    for (uint32_t i = 0; i < code->wide_n; ++i) {
        const wf__mem *m = &l->mem[code->wide[i]];
        uint64_t bytes = (uint64_t)code->width * wf__size(l->stage->lowered.slot[code->wide[i]].dtype);
        aligned = aligned && wf__gpu_address(m->base) % bytes == 0;
        for (int d = 0; d < l->stage->lowered.rank - 1; ++d)
            aligned = aligned && (l->stage->extent[d] < 2 || m->stride[d] % code->width == 0);
    }
    return aligned;
}

/* True if every record begins at a multiple of `elements`. */
static bool has_aligned_records(const wf__mem *m, const wf__slot *slot, int elements)
{
    bool aligned = wf__gpu_address(m->base) % ((uint64_t)elements * wf__size(slot->dtype)) == 0;
    for (int k = 0; k < slot->rank - 1; ++k)
        aligned = aligned && (m->dim[k] < 2 || m->stride[k] % elements == 0);
    return aligned;
}

static uint64_t field_value(const wf__gpu_launch *l, const wf__ptx_field *f)
{
    bool post = f->number & WF__PTX_OF_POST;
    const wf__stage *stage = l->stage + post;
    const wf__mem *mem = (post ? l->post : l->mem) + (f->number & ~WF__PTX_OF_POST);
    switch (f->what) {
    case WF__PTX_BASE:
        return wf__gpu_address(mem->base);
    case WF__PTX_STRIDE:
        return (uint64_t)mem->stride[f->axis];
    case WF__PTX_DIM:
        return (uint64_t)mem->dim[f->axis];
    case WF__PTX_PARAM:
        return l->param[f->number & ~WF__PTX_OF_POST];
    case WF__PTX_EXTENT:
        return (uint64_t)stage->extent[f->axis];
    case WF__PTX_TILES:
        return (uint64_t)l->tiles;
    case WF__PTX_BLOCKS:
        return (uint64_t)l->blocks;
    case WF__PTX_ROWS:
        return (uint64_t)l->rows;
    case WF__PTX_BOX:
        return (uint64_t)stage->partition.box[f->axis];
    case WF__PTX_BOXES:
        return (uint64_t)boxes_along(stage, f->axis);
    case WF__PTX_WARPS:
        return (uint64_t)l->warps;
    case WF__PTX_KEPT:
        return (uint64_t)l->cells;
    case WF__PTX_RECORD:
        return has_aligned_records(mem, &stage->lowered.slot[f->number & ~WF__PTX_OF_POST], f->axis);
    case WF__PTX_ALIGNED:
        return is_aligned(l);
    case WF__PTX_REPORT:
    case WF__PTX_WRITERS:
        return wf__gpu_watch_field(l->watch, f);
    case WF__PTX_RESULTS:
        return wf__gpu_address(l->results);
    case WF__PTX_FROM:
        return wf__gpu_address(l->from);
    case WF__PTX_PLANE:
        return l->plane;
    case WF__PTX_LINES:
        return (uint64_t)l->lines;
    case WF__PTX_RANGES:
        return (uint64_t)l->ranges;
    case WF__PTX_DEPTH:
        return (uint64_t)l->depth;
    default:
        return wf__gpu_address(l->result[f->number]);
    }
}

/* Starts a kernel. Blocks are numbered along x, and along y if there are too many for x. */
static bool start_kernel(wf__gpu_launch *l, const wf__gpu_kernel_code *code, int64_t blocks)
{
    enum { MOST_X = INT32_MAX, MOST_Y = 65535 };
    uint64_t values[WF__PTX_MOST_FIELDS];
    void *params[] = { values };
    int64_t y = divided(blocks, MOST_X);
    if (y > MOST_Y) {
        l->failure->status = WF_ERR_UNSUPPORTED;
        wf__str_addf(&l->failure->text, "%s: %lld blocks of threads are too many", l->gpu->name, (long long)blocks);
        return false;
    }
    for (uint32_t i = 0; i < code->ptx.fields; ++i)
        values[i] = field_value(l, &code->ptx.field[i]);
    const wf__gpu_kernel *kernel = wf__held_value(code->module);
    uint32_t own = l->stage->thread_block.own.bytes, shared = own > WF__SHARED_MEMORY ? own : 0;
    const wf__cuda *c = l->gpu->cuda;
    int result = shared ? c->FuncSetAttribute(kernel->function, WF__CUDA_FUNCTION_MEMORY, (int)shared) : 0;
    if (!wf__gpu_ok(l->gpu, "giving a kernel shared memory", result, l->failure))
        return false;
    result = c->LaunchKernel(kernel->function, (unsigned)divided(blocks, y), (unsigned)y, 1, l->block_x, l->block_y, 1,
                             shared, l->gpu->now->stream, params, NULL);
    return wf__gpu_ok(l->gpu, "launching a kernel", result, l->failure);
}

/* Returns the number of blocks with private copies of arrays: as many as run at once, if each has enough work. */
static int64_t blocks_with_copies(const wf__gpu_launch *l, int64_t blocks)
{
    enum { THREADS = 2048, MEMORY = 64 << 10 }; /* what a multiprocessor has, at least */
    const wf__stage *stage = l->stage;
    unsigned threads = l->block_x * l->block_y;
    WF__ASSERT(threads > 0 && stage->copies.block_bytes > 0);
    int64_t by_threads = THREADS / threads, by_memory = MEMORY / stage->copies.block_bytes, points = 1;
    int64_t most = (by_threads < by_memory ? by_threads : by_memory) * l->gpu->processors;
    for (int d = 0; d < stage->lowered.rank; ++d)
        points *= stage->extent[d];
    for (uint32_t i = 0; i < stage->copies.n; ++i) {
        int64_t worth = points / WF__GPU_UPDATES_OF_BLOCK_COPY * stage->copies.at[i].updates /
                        (int64_t)stage->copies.at[i].elements;
        most = worth < most ? worth : most;
    }
    most = most < 1 ? 1 : most < blocks ? most : blocks;
    if (l->note)
        l->note->copies = (int)most;
    return most;
}

bool wf__gpu_start(wf__gpu_launch *l)
{
    const wf__stage *stage = l->stage;
    int64_t blocks;
    if (stage->thread_block.threads) {
        l->block_x = (unsigned)stage->thread_block.threads;
        l->block_y = 1;
        blocks = stage->partition.boxes;
    } else if (stage->lowered.red_n && !stage->lowered.kept_lane) {
        l->warps = stage->reduce.axes ? stage->reduce.kept * stage->reduce.parts : stage->partition.boxes;
        int64_t warps = divided(l->warps, l->code->body.ptx.rows);
        l->block_x = block_threads(l, warps * WF__LANES);
        l->block_y = 1;
        blocks = divided(warps, l->block_x / WF__LANES);
    } else {
        shape_rows(l);
        blocks = l->blocks = l->tiles * divided(l->rows, l->block_y);
        if (stage->copies.n)
            blocks = blocks_with_copies(l, blocks);
    }
    if (l->note)
        l->note->threads = (int32_t)(l->block_x * l->block_y);
    if (!(stage->lowered.flags & WF_FLAG_DEBUG))
        return start_kernel(l, &l->code->body, blocks);
    l->watch = wf__gpu_watch_begin(l->gpu, stage, l->mem, l->failure);
    bool ok = l->watch && start_kernel(l, &l->code->body, blocks) && wf__gpu_watch_look(l->watch);
    wf__gpu_watch_end(l->watch);
    return ok;
}

/* ---- joins ---- */
/* Gives threads along y one line each, and threads along x cells. */
void wf__gpu_shape_join(wf__gpu_launch *l)
{
    enum { THREADS = 256 };
    unsigned most = (unsigned)wf__ptx_join_threads(&l->stage->lowered);
    l->block_x = l->block_y = 1;
    l->ranges = 1;
    l->depth = 0;
    for (; l->block_y < most && l->block_y < l->lines; ++l->depth)
        l->block_y *= 2;
    while (2 * l->block_x * l->block_y <= (most < THREADS ? most : THREADS) && l->block_x < l->cells)
        l->block_x *= 2;
    for (; divided(l->lines, l->ranges) > l->block_y; ++l->depth)
        l->ranges *= 2;
    l->tiles = divided(l->cells, l->block_x);
}

bool wf__gpu_start_join(wf__gpu_launch *l) { return start_kernel(l, &l->code->join, l->tiles * l->ranges); }
