/* fuzz_sections.c - makes a random recording with blocks, scratch and sections from bytes. The interpreter, which runs
 * each section for all blocks before the next section, and the CPU, where blocks may be boxes and loops points, must
 * leave the same elements in all arrays. The recording is run directly, and as a kernel that was recorded for another
 * space. WEFT_FUZZ_DEVICE=cuda-emu (or cuda:0) takes that device in place of the CPU; there blocks are blocks of
 * threads, which share work and wait for one another.
 *
 * ctest: devices
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "weft/weft.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_RANK = 3, MOST_SCRATCH = 2, SLOTS = 16, MOST_POINTS = 1 << 16 };

typedef struct tape {
    const uint8_t *p;
    size_t n;
} tape;

/* Returns a choice below `below`; 0 after the last byte. */
static int64_t take(tape *t, int64_t below)
{
    if (t->n == 0 || below < 2)
        return 0;
    --t->n;
    return *t->p++ % below;
}

typedef struct scratch {
    wf_array *a;
    wf_dtype dtype;
    wf_shape shape;
    bool counts; /* true: WF_SECTION_CALL accumulates into it */
} scratch;

typedef struct recorder {
    tape t;
    wf_graph *g;
    wf_shape space, block, wider; /* wider: the space that a kernel is recorded for */
    wf_array *in, *out, *more;    /* i32 [space], [space], [blocks, SLOTS] */
    scratch s[MOST_SCRATCH];
    int scratches;
    wf_array *tile;     /* i32, an element for each point of a block; NULL: none */
    bool interp, large; /* large: scratch of many KiB */
} recorder;

/* the device under test has several threads in a block, which share work and wait for one another */
static bool threads;

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static void done(wf_context *ctx, wf_status status)
{
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    must(status == WF_OK, "failed");
}

/* ---- values ---- */
static wf_val begin_of(recorder *r, int d) { return wf_mul(wf_block_id(r->g, d), (double)r->block.dim[d]); }
static wf_val within(recorder *r, int d) { return wf_sub(wf_index(r->g, d), begin_of(r, d)); }
static wf_val small(wf_val v) { return wf_and(wf_cast(v, WF_I32), 1023); }

/* Returns a pixel near the block's beginning; the n counters of loops choose it. */
static wf_val pixel(recorder *r, const wf_val *counter, int n)
{
    wf_val at[MOST_RANK];
    for (int d = 0; d < r->space.rank; ++d) {
        at[d] = wf_add(begin_of(r, d), (double)take(&r->t, 5) - 2);
        if (n && take(&r->t, 4))
            at[d] = wf_add(at[d], counter[(int)take(&r->t, n)]);
    }
    return wf_read_border_n(r->g, r->in, WF_BORDER_VALUE, WF_V(7), (wf_vals){ at, (size_t)r->space.rank });
}

static wf_val value(recorder *r, const wf_val *counter, int n)
{
    wf_val v = pixel(r, counter, n);
    if (n && take(&r->t, 3) == 0)
        v = wf_add(v, wf_cast(wf_mul(counter[(int)take(&r->t, n)], (double)take(&r->t, 5)), WF_I32));
    return small(v);
}

static wf_val in_range(wf_val v, int64_t n) { return wf_mod(wf_and(v, 0xffff), (double)n); }

/* ---- loops of the sections that run once a block ---- */
static void put(recorder *r, const scratch *s, wf_val v, const wf_val *at)
{
    wf_vals index = { at, (size_t)s->shape.rank };
    if (take(&r->t, 6) == 0) {
        WF_IF (r->g, wf_eq(wf_and(v, 1), 0)) {
            wf_write_n(r->g, s->a, wf_cast(v, s->dtype), index);
        }
        WF_ELSE(r->g)
        {
            if (take(&r->t, 2))
                wf_write_n(r->g, s->a, wf_cast(wf_add(v, 1), s->dtype), index);
        }
        WF_END(r->g);
    } else
        wf_write_n(r->g, s->a, wf_cast(v, s->dtype), index);
}

/* Writes every element of a scratch, in nested loops whose counters may begin anywhere; with `partly`, only some. */
static void fill(recorder *r, const scratch *s, bool partly)
{
    wf_val counter[2] = { 0 }, at[2];
    int rank = s->shape.rank, first = rank == 2 ? (int)take(&r->t, 2) : 0;
    int64_t lo[2] = { take(&r->t, 5) - 2, take(&r->t, 5) - 2 }, step[2] = { 1, 1 };
    for (int k = 0; k < rank && partly; ++k)
        step[k] = 1 + take(&r->t, 3);
    for (int k = 0; k < rank; ++k) {
        int d = k ? 1 - first : first;
        wf_for_(r->g, WF_HERE, &counter[d], WF_V((double)lo[d]), WF_V((double)(lo[d] + s->shape.dim[d])),
                WF_V((double)step[d]));
        at[d] = wf_sub(counter[d], (double)lo[d]);
    }
    for (int k = 0; k < rank && partly; ++k)
        switch (take(&r->t, 6)) {
        case 0:
            at[k] = wf_const(r->g, WF_I64, (double)take(&r->t, s->shape.dim[k]));
            break;
        case 1:
            at[k] = in_range(wf_mul(at[k], 3), s->shape.dim[k]);
            break;
        case 2:
            at[k] = in_range(wf_add(at[k], at[rank - 1 - k]), s->shape.dim[k]);
            break;
        default:
            break;
        }
    wf_val v = value(r, counter, rank);
    if (partly && take(&r->t, 5) == 0)
        v = small(wf_add(v, small(wf_read_n(r->g, s->a, (wf_vals){ at, (size_t)rank }))));
    if (partly)
        put(r, s, v, at);
    else
        wf_write_n(r->g, s->a, wf_cast(v, s->dtype), (wf_vals){ at, (size_t)rank });
    for (int k = 0; k < rank; ++k)
        WF_END(r->g);
}

/* The same by all threads of the block, which then share all work of the section. */
static void fill_together(recorder *r, const scratch *s)
{
    wf_val k, first = wf_thread_id(r->g, -1), step = wf_block_size(r->g, -1);
    int64_t row = s->shape.dim[s->shape.rank - 1], n = s->shape.rank == 2 ? s->shape.dim[0] * row : row;
    for (int64_t turn = 0, turns = 1 + take(&r->t, 3); turn < turns; ++turn) {
        bool again = turn && take(&r->t, 2);
        WF_FOR (r->g, k, first, (double)n, step) {
            wf_val at[2];
            at[0] = s->shape.rank == 2 ? wf_idiv(k, (double)row) : k;
            at[1] = wf_mod(k, (double)row);
            wf_vals place = { at, (size_t)s->shape.rank };
            wf_val v = value(r, &k, 1);
            if (again)
                v = small(wf_add(v, wf_cast(wf_read_n(r->g, s->a, place), WF_I32)));
            wf_write_n(r->g, s->a, wf_cast(v, s->dtype), place);
            if (turn && take(&r->t, 2))
                wf_write_n(r->g, s->a, wf_cast(wf_add(small(wf_read_n(r->g, s->a, place)), 1), s->dtype), place);
        }
        WF_END(r->g);
        first = wf_sub(wf_sub(step, 1), wf_thread_id(r->g, -1)); /* another thread than before writes an element */
        wf_barrier(r->g);
    }
}

static void before(recorder *r)
{
    wf_section(r->g, WF_SECTION_INIT);
    if (threads && take(&r->t, 3) == 0) {
        for (int k = 0; k < r->scratches; ++k)
            if (!r->s[k].counts)
                fill_together(r, &r->s[k]);
        return;
    }
    for (int k = 0; k < r->scratches; ++k) {
        if (!r->s[k].counts || take(&r->t, 2))
            fill(r, &r->s[k], false);
        if (take(&r->t, 3) == 0)
            fill(r, &r->s[k], true);
    }
}

/* ---- the operator ---- */
static wf_val from_scratch(recorder *r, const scratch *s)
{
    wf_val at[2];
    for (int k = 0; k < s->shape.rank; ++k) {
        int d = (int)take(&r->t, r->space.rank);
        int64_t room = s->shape.dim[k] - r->block.dim[d];
        bool fits = room >= 0 && take(&r->t, 6);
        at[k] = fits ? wf_add(within(r, d), (double)take(&r->t, room + 1)) : in_range(within(r, d), s->shape.dim[k]);
    }
    return small(wf_read_n(r->g, s->a, (wf_vals){ at, (size_t)s->shape.rank }));
}

/* Returns a pixel that another point of the block has read, or 0: from that point's register or, where points run one
 * by one, from memory. */
static wf_val neighbour(recorder *r, const wf_val *at)
{
    wf_val own[MOST_RANK], there[MOST_RANK], pixel[MOST_RANK], here = wf_const(r->g, WF_BOOL, 1);
    wf_vals where = { at, (size_t)r->space.rank };
    for (int d = 0; d < r->space.rank; ++d) {
        own[d] = within(r, d);
        there[d] = wf_mod(wf_add(own[d], (double)take(&r->t, 3)), (double)r->block.dim[d]);
        pixel[d] = wf_add(begin_of(r, d), there[d]);
        here = wf_and(here, wf_lt(pixel[d], wf_extent(r->g, d)));
    }
    if (r->interp)
        return wf_select(here, wf_read_or_n(r->g, r->in, WF_V(0), (wf_vals){ pixel, (size_t)r->space.rank }), 0);
    wf_write_n(r->g, r->tile, wf_read_n(r->g, r->in, where), (wf_vals){ own, (size_t)r->space.rank });
    wf_barrier(r->g);
    return wf_read_n(r->g, r->tile, (wf_vals){ there, (size_t)r->space.rank });
}

static void at_points(recorder *r)
{
    wf_val at[MOST_RANK], bin[2];
    for (int d = 0; d < r->space.rank; ++d)
        at[d] = wf_index(r->g, d);
    wf_vals own = { at, (size_t)r->space.rank };
    wf_val v = wf_read_n(r->g, r->in, own);
    for (int k = 0; k < r->scratches; ++k) {
        const scratch *s = &r->s[k];
        for (int64_t n = 1 + take(&r->t, 3); n > 0 && !s->counts; --n)
            v = wf_add(wf_mul(v, 3), from_scratch(r, s));
        for (int d = 0; d < s->shape.rank && s->counts; ++d)
            bin[d] = in_range(wf_add(v, (double)d), s->shape.dim[d]);
        if (s->counts && take(&r->t, 4))
            wf_accumulate_n(r->g, WF_JOIN_ADD, WF_MODE_AUTO, s->a, wf_cast(wf_and(v, 3), s->dtype),
                            (wf_vals){ bin, (size_t)s->shape.rank });
        else if (s->counts)
            wf_atomic_n(r->g, WF_JOIN_MAX, s->a, wf_cast(wf_and(v, 127), s->dtype),
                        (wf_vals){ bin, (size_t)s->shape.rank });
    }
    if (r->tile)
        v = wf_add(wf_mul(v, 3), neighbour(r, at));
    wf_write_n(r->g, r->tile || take(&r->t, 5) ? r->out : r->in, v, own);
}

static void after(recorder *r)
{
    wf_val k, at[2];
    wf_section(r->g, WF_SECTION_DEINIT);
    bool together = threads && take(&r->t, 2);
    wf_val first = together ? wf_thread_id(r->g, -1) : WF_V(0), step = together ? wf_block_size(r->g, -1) : WF_V(1);
    for (int i = 0; i < r->scratches; ++i) {
        const scratch *s = &r->s[i];
        WF_FOR (r->g, k, first, SLOTS, step) {
            for (int d = 0; d < s->shape.rank; ++d)
                at[d] = s->shape.dim[d] >= SLOTS && take(&r->t, 2) ? k : in_range(wf_mul(k, 5), s->shape.dim[d]);
            wf_val v = small(wf_read_n(r->g, s->a, (wf_vals){ at, (size_t)s->shape.rank }));
            wf_accumulate(r->g, WF_JOIN_ADD, r->more, v, wf_block_id(r->g, -1), k);
        }
        WF_END(r->g);
    }
}

/* ---- one run ---- */
static int64_t blocks_of(const recorder *r)
{
    int64_t n = 1;
    for (int d = 0; d < r->space.rank; ++d)
        n *= (r->space.dim[d] + r->block.dim[d] - 1) / r->block.dim[d];
    return n;
}

static void choose_spaces(recorder *r)
{
    r->space.rank = r->block.rank = r->wider.rank = 1 + (int)take(&r->t, MOST_RANK);
    for (int d = 0; d < r->space.rank; ++d) {
        bool last = d == r->space.rank - 1;
        r->space.dim[d] = 1 + take(&r->t, last ? 90 : 14);
        r->block.dim[d] = 1 + take(&r->t, last ? 40 : 8);
        r->wider.dim[d] = r->space.dim[d] + take(&r->t, 30);
    }
    if (blocks_of(r) * SLOTS > MOST_POINTS)
        r->block.dim[r->block.rank - 1] = 40;
}

/* Makes the scratch larger than a block of threads can have on any GPU (48 KiB), on newer ones (227 KiB), or than a
 * worker keeps (256 KiB). This is rare, and for few blocks only, as one thread fills most of it. It takes no byte of
 * the input, so the meaning of older inputs does not change. */
static void enlarge(const recorder *r, scratch *s)
{
    static const int64_t kib[] = { 49, 99, 140, 228, 260 };
    int64_t bytes = kib[r->t.n % 5] << 10, row = (int64_t)wf_dtype_size(s->dtype);
    for (int d = 1; d < s->shape.rank; ++d)
        row *= s->shape.dim[d];
    int64_t rows = bytes / row + 1;
    s->shape.dim[0] = rows > s->shape.dim[0] ? rows : s->shape.dim[0];
}

static void choose_scratch(recorder *r)
{
    static const wf_dtype dtypes[] = { WF_I32, WF_I32, WF_U8, WF_I64, WF_F32, WF_F64, WF_I16 };
    bool zeroed[MOST_SCRATCH];
    r->scratches = 1 + (int)take(&r->t, MOST_SCRATCH);
    for (int k = 0; k < r->scratches; ++k) {
        scratch *s = &r->s[k];
        s->dtype = dtypes[take(&r->t, 7)];
        s->counts = take(&r->t, 3) == 0 && s->dtype != WF_U8 && s->dtype != WF_I16;
        s->shape.rank = 1 + (int)take(&r->t, 2);
        for (int d = 0; d < s->shape.rank; ++d)
            s->shape.dim[d] =
                take(&r->t, 3) ? r->block.dim[(int)take(&r->t, r->block.rank)] + take(&r->t, 4) : 1 + take(&r->t, 40);
        zeroed[k] = s->counts || take(&r->t, 2);
    }
    if (r->large)
        enlarge(r, &r->s[0]);
    for (int k = 0; k < r->scratches; ++k)
        r->s[k].a = wf_scratch(r->g, r->s[k].dtype, r->s[k].shape, zeroed[k]);
    int64_t points = 1;
    for (int d = 0; d < r->block.rank; ++d)
        points *= r->block.dim[d];
    if (threads && points <= 1024 && take(&r->t, 3) == 0)
        r->tile = wf_scratch(r->g, WF_I32, r->block, true);
}

static wf_array *filled(wf_context *ctx, const wf_shape *shape, bool with_numbers)
{
    static int32_t x[MOST_POINTS];
    int64_t n = 1;
    for (int d = 0; d < shape->rank; ++d)
        n *= shape->dim[d];
    must(n <= MOST_POINTS, "too many points");
    for (int64_t i = 0; i < n; ++i)
        x[i] = with_numbers ? (int32_t)(i * 7919 % 1013 - 300) : 0;
    wf_array *a = wf_empty_with(ctx, WF_I32, *shape, NULL);
    must(a != NULL, "no memory");
    done(ctx, wf_upload(a, x, (size_t)n * sizeof *x));
    return a;
}

/* With WEFT_FUZZ_TRACE=1 prints the recording and the plan of a kernel, to examine a mismatch. */
static void trace(const wf_kernel *k)
{
    static char text[1 << 20];
    size_t n;
    for (int what = WF_DUMP_TRACE; what <= WF_DUMP_KERNELS && getenv("WEFT_FUZZ_TRACE"); ++what) {
        wf_kernel_dump(k, WF_NO_ARGS, (wf_dump)what, text, sizeof text, &n);
        fprintf(stderr, "%s\n", text);
    }
}

/* Runs the recording and copies all arrays to `out`, one after the other. Returns the number of bytes. */
static size_t run(wf_context *ctx, const uint8_t *data, size_t size, bool kernel, char *out)
{
    recorder r = { .t = { data, size }, .interp = wf_context_device(ctx) == WF_INTERP };
    choose_spaces(&r);
    wf_shape slots = { .rank = 2, .dim = { blocks_of(&r), SLOTS } };
    r.in = filled(ctx, &r.space, true);
    r.out = filled(ctx, &r.space, false);
    r.more = filled(ctx, &slots, false);
    r.large = size % 6 == 5 && blocks_of(&r) <= 4;
    r.g = wf_begin(ctx, .shape = kernel ? r.wider : r.space, .block = r.block);
    choose_scratch(&r);
    before(&r);
    wf_section(r.g, WF_SECTION_CALL);
    at_points(&r);
    if (take(&r.t, 4))
        after(&r);
    if (kernel) {
        wf_kernel *k = wf_compile(r.g);
        done(ctx, k ? WF_OK : wf_last_status(ctx));
        trace(k);
        done(ctx, wf_launch_with(k, WF_NO_ARGS, &(wf_launch_opts){ .size = sizeof(wf_launch_opts), .shape = r.space }));
        wf_kernel_free(k);
    } else
        done(ctx, wf_run(r.g));
    wf_array *all[] = { r.in, r.out, r.more };
    size_t at = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        wf_shape shape = wf_array_shape(all[i]);
        size_t bytes = sizeof(int32_t);
        for (int d = 0; d < shape.rank; ++d)
            bytes *= (size_t)shape.dim[d];
        done(ctx, wf_download(all[i], out + at, bytes));
        at += bytes;
        wf_release(all[i]);
    }
    return at;
}

static wf_context *device, *interp;

static void leave(void)
{
    wf_context_free(device);
    wf_context_free(interp);
}

static void enter(void)
{
    const char *name = getenv("WEFT_FUZZ_DEVICE");
    wf_config config = { .size = sizeof(wf_config), .threads = 2, .flags_on = WF_FLAG_NO_DISK_CACHE };
    config.device = name ? wf_device_named(name) : WF_CPU;
    threads = config.device >= WF_GPU(0);
    device = config.device ? wf_context_new(&config) : NULL;
    config.device = WF_INTERP;
    interp = wf_context_new(&config);
    must(device && interp, "no context");
    atexit(leave);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char want[3 * 4 * MOST_POINTS], got[3 * 4 * MOST_POINTS];
    if (size > 1024)
        return 0;
    if (!device)
        enter();
    if (getenv("WEFT_FUZZ_TRACE"))
        run(wf_context_device(device) == WF_CPU ? interp : device, data, size, true, got);
    size_t n = run(interp, data, size, false, want);
    must(run(device, data, size, false, got) == n && !memcmp(want, got, n), "interpreter and device");
    must(run(device, data, size, true, got) == n && !memcmp(want, got, n), "interpreter and a kernel of another space");
    if (size % 8 == 0) {
        wf_set_flags(device, WF_FLAG_DEBUG, 0);
        must(run(device, data, size, false, got) == n && !memcmp(want, got, n), "interpreter and debug mode");
        wf_set_flags(device, 0, WF_FLAG_DEBUG);
    }
    return 0;
}
