/* test_block_scratch.c - scratch of blocks that are boxes of the space: loops of sections become points, each worker
 * has its own memory, and indices count from the beginning of the block. Each operator runs in spaces that blocks
 * divide and in others, beside C that works block by block. The tests also see which kernels run block by block as
 * one.
 *
 * ctest: devices threads
 */
#include "with_history.h"

enum { MOST = 1 << 15, BINS = 8 };

typedef struct blocks { /* one launch */
    wf_graph *g;
    int32_t h, w, bh, bw; /* extents of the space and of a block */
    const wf_array *in;   /* i32 [h, w] */
    wf_array *out;        /* likewise */
    wf_array *bins;       /* i32 [blocks, BINS], 0 at first */
} blocks;

typedef struct plain { /* the same in C, for the block that begins at (y0, x0) */
    int32_t h, w, bh, bw, y0, x0, block;
    const int32_t *in;
    int32_t *out, *bins;
} plain;

static int32_t pixel(const plain *p, int32_t y, int32_t x)
{
    return y >= 0 && y < p->h && x >= 0 && x < p->w ? p->in[y * p->w + x] : 0;
}

/* ---- operators ---- */
static wf_val begin_of(const blocks *b, int axis) { return wf_mul(wf_block_id(b->g, axis), axis ? b->bw : b->bh); }
static wf_val within(const blocks *b, int axis) { return wf_sub(wf_index(b->g, axis), begin_of(b, axis)); }
static void put(const blocks *b, wf_val v) { wf_write(b->g, b->out, v, wf_index(b->g, 0), wf_index(b->g, 1)); }

static wf_val around(const blocks *b, const wf_array *tile)
{
    wf_val y = within(b, 0), x = within(b, 1), sum = WF_V(0);
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx)
            sum = wf_add(sum, wf_mul(wf_read(b->g, tile, wf_add(y, dy), wf_add(x, dx)), dy * 3 + dx + 1));
    return sum;
}
static void around_plain(const plain *p, int32_t y, int32_t x)
{
    int32_t sum = 0;
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx)
            sum += pixel(p, y + dy - 1, x + dx - 1) * (dy * 3 + dx + 1);
    p->out[y * p->w + x] = sum;
}

/* A window, filled by all threads of a block together. */
static void window(const blocks *b)
{
    wf_array *tile = wf_scratch(b->g, WF_I32, WF_SHAPE(b->bh + 2, b->bw + 2), false);
    wf_val y, x;
    wf_section(b->g, WF_SECTION_INIT);
    wf_val y0 = wf_sub(begin_of(b, 0), 1), x0 = wf_sub(begin_of(b, 1), 1);
    WF_FOR (b->g, y, wf_thread_id(b->g, 0), b->bh + 2, wf_block_size(b->g, 0)) {
        WF_FOR (b->g, x, wf_thread_id(b->g, 1), b->bw + 2, wf_block_size(b->g, 1)) {
            wf_write(b->g, tile, wf_read_or(b->g, b->in, 0, wf_add(y0, y), wf_add(x0, x)), y, x);
        }
        WF_END(b->g);
    }
    WF_END(b->g);
    wf_section(b->g, WF_SECTION_CALL);
    put(b, around(b, tile));
}

/* The same with one index for both axes, counters that begin elsewhere and advance by 2, and a condition inside. */
static void window_by_hand(const blocks *b)
{
    int32_t row = 2 * (b->bw + 2);
    wf_array *tile = wf_scratch(b->g, WF_I32, WF_SHAPE((b->bh + 2) * row), false);
    wf_val y, x, sum = WF_V(0);
    wf_section(b->g, WF_SECTION_INIT);
    WF_FOR (b->g, y, -1, b->bh + 1, 1) {
        WF_FOR (b->g, x, -2, 2 * b->bw + 1, 2) {
            wf_val at_y = wf_add(begin_of(b, 0), y), at_x = wf_add(begin_of(b, 1), wf_idiv(x, 2));
            wf_val above = wf_and(wf_ge(at_y, 0), wf_lt(at_y, b->h)), left = wf_and(wf_ge(at_x, 0), wf_lt(at_x, b->w));
            wf_val at = wf_add(wf_mul(wf_add(y, 1), row), wf_add(x, 2));
            WF_IF (b->g, wf_and(above, left)) {
                wf_write(b->g, tile, wf_read(b->g, b->in, at_y, at_x), at);
            }
            WF_ELSE(b->g) { wf_write(b->g, tile, 0, at); }
            WF_END(b->g);
        }
        WF_END(b->g);
    }
    WF_END(b->g);
    wf_section(b->g, WF_SECTION_CALL);
    wf_val at = wf_add(wf_mul(within(b, 0), row), wf_mul(within(b, 1), 2));
    for (int k = 0; k < 9; ++k)
        sum = wf_add(sum, wf_mul(wf_read(b->g, tile, wf_add(at, k / 3 * row + k % 3 * 2)), k + 1));
    put(b, sum);
}

/* Scratch filled column by column: neighbouring lanes write elements that lie apart. */
static void across(const blocks *b)
{
    wf_array *tile = wf_scratch(b->g, WF_I32, WF_SHAPE(b->bw + 2, b->bh + 2), false);
    wf_val y, x, sum = WF_V(0);
    wf_section(b->g, WF_SECTION_INIT);
    WF_FOR (b->g, y, 0, b->bh + 2, 1) {
        WF_FOR (b->g, x, 0, b->bw + 2, 1) {
            wf_write(
                b->g, tile,
                wf_read_or(b->g, b->in, 0, wf_sub(wf_add(begin_of(b, 0), y), 1), wf_sub(wf_add(begin_of(b, 1), x), 1)),
                x, y);
        }
        WF_END(b->g);
    }
    WF_END(b->g);
    wf_section(b->g, WF_SECTION_CALL);
    for (int k = 0; k < 9; ++k)
        sum = wf_add(sum, wf_mul(wf_read(b->g, tile, wf_add(within(b, 1), k % 3), wf_add(within(b, 0), k / 3)), k + 1));
    put(b, sum);
}

/* Sums of the block's rows by a loop in a loop, which has a variable; the point's own index is a value, too. */
static void rows(const blocks *b)
{
    wf_array *sums = wf_scratch(b->g, WF_I32, WF_SHAPE(b->bh), false);
    wf_val y, x;
    wf_section(b->g, WF_SECTION_INIT);
    WF_FOR (b->g, y, 0, b->bh, 1) {
        wf_var sum = wf_local(b->g, WF_I32, 0);
        WF_FOR (b->g, x, 0, b->bw, 1) {
            wf_inc(sum, wf_read_or(b->g, b->in, 0, wf_add(begin_of(b, 0), y), wf_add(begin_of(b, 1), x)));
        }
        WF_END(b->g);
        wf_write(b->g, sums, sum, y);
    }
    WF_END(b->g);
    wf_section(b->g, WF_SECTION_CALL);
    wf_val y_in = within(b, 0);
    put(b, wf_add(wf_read(b->g, sums, y_in), wf_cast(wf_mul(y_in, within(b, 1)), WF_I32)));
}
static void rows_plain(const plain *p, int32_t y, int32_t x)
{
    int32_t sum = 0;
    for (int32_t k = 0; k < p->bw; ++k)
        sum += pixel(p, y, p->x0 + k);
    p->out[y * p->w + x] = sum + (y - p->y0) * (x - p->x0);
}

static wf_val bin_of(wf_val v) { return wf_and(v, BINS - 1); }
static wf_val linear(const blocks *b) { return wf_block_id(b->g, -1); }

/* Counts of the block, which begin at 0 and are written at its end. */
static void counts(const blocks *b)
{
    wf_array *mine = wf_scratch(b->g, WF_I32, WF_SHAPE(BINS), true);
    wf_val k, v = wf_read(b->g, b->in, wf_index(b->g, 0), wf_index(b->g, 1));
    wf_accumulate(b->g, WF_JOIN_ADD, mine, 1, bin_of(v));
    put(b, v);
    wf_section(b->g, WF_SECTION_DEINIT);
    WF_FOR (b->g, k, 0, BINS, 1) {
        wf_write(b->g, b->bins, wf_read(b->g, mine, k), linear(b), k);
    }
    WF_END(b->g);
}
/* The same by atomic operations, whose results do not matter; accumulated at the end. */
static void counts_atomic(const blocks *b)
{
    wf_array *mine = wf_scratch(b->g, WF_I32, WF_SHAPE(BINS), true);
    wf_val k, v = wf_read(b->g, b->in, wf_index(b->g, 0), wf_index(b->g, 1));
    wf_val before = wf_atomic(b->g, WF_JOIN_ADD, mine, 1, bin_of(v));
    put(b, wf_select(wf_lt(before, 0), -1, v));
    wf_section(b->g, WF_SECTION_DEINIT);
    WF_FOR (b->g, k, 0, BINS, 1) {
        wf_accumulate(b->g, WF_JOIN_ADD, b->bins, wf_read(b->g, mine, k), linear(b), k);
    }
    WF_END(b->g);
}
static void counts_plain(const plain *p, int32_t y, int32_t x)
{
    ++p->bins[p->block * BINS + (p->in[y * p->w + x] & (BINS - 1))];
    p->out[y * p->w + x] = p->in[y * p->w + x];
}

/* The largest of each class, in floats; the order of points does not matter. */
static void largest(const blocks *b)
{
    wf_array *mine = wf_scratch(b->g, WF_F32, WF_SHAPE(BINS), true);
    wf_val k, v = wf_read(b->g, b->in, wf_index(b->g, 0), wf_index(b->g, 1));
    wf_accumulate(b->g, WF_JOIN_MAX, mine, wf_cast(v, WF_F32), bin_of(v));
    put(b, v);
    wf_section(b->g, WF_SECTION_DEINIT);
    WF_FOR (b->g, k, 0, BINS, 1) {
        wf_write(b->g, b->bins, wf_cast(wf_read(b->g, mine, k), WF_I32), linear(b), k);
    }
    WF_END(b->g);
}
static void largest_plain(const plain *p, int32_t y, int32_t x)
{
    int32_t v = p->in[y * p->w + x], *bin = &p->bins[p->block * BINS + (v & (BINS - 1))];
    *bin = v > *bin ? v : *bin;
    p->out[y * p->w + x] = v;
}

/* Turns that all write one element, which then has the value of the last turn; and turns that read elements of other
 * turns. */
static void last_turn(const blocks *b)
{
    wf_array *mine = wf_scratch(b->g, WF_I32, WF_SHAPE(1), false);
    wf_val y;
    wf_section(b->g, WF_SECTION_INIT);
    WF_FOR (b->g, y, 0, b->bh, 1) {
        wf_write(b->g, mine, wf_read_or(b->g, b->in, -1, wf_add(begin_of(b, 0), y), begin_of(b, 1)), 0);
    }
    WF_END(b->g);
    wf_section(b->g, WF_SECTION_CALL);
    put(b, wf_add(wf_read(b->g, mine, 0), wf_cast(within(b, 1), WF_I32)));
}
static void last_turn_plain(const plain *p, int32_t y, int32_t x)
{
    int32_t last = p->y0 + p->bh - 1;
    p->out[y * p->w + x] = (last < p->h ? p->in[last * p->w + p->x0] : -1) + x - p->x0;
}
static void running(const blocks *b)
{
    wf_array *mine = wf_scratch(b->g, WF_I32, WF_SHAPE(b->bw + 1), true);
    wf_val x;
    wf_section(b->g, WF_SECTION_INIT);
    WF_FOR (b->g, x, 0, b->bw, 1) {
        wf_val more = wf_read_or(b->g, b->in, 0, begin_of(b, 0), wf_add(begin_of(b, 1), x));
        wf_write(b->g, mine, wf_add(wf_read(b->g, mine, x), more), wf_add(x, 1));
    }
    WF_END(b->g);
    wf_section(b->g, WF_SECTION_CALL);
    put(b, wf_read(b->g, mine, wf_add(within(b, 1), 1)));
}
static void running_plain(const plain *p, int32_t y, int32_t x)
{
    int32_t sum = 0;
    for (int32_t k = p->x0; k <= x; ++k)
        sum += pixel(p, p->y0, k);
    p->out[y * p->w + x] = sum;
}

/* Turns that have elements of their own in one block and share elements in the next: the index is the number of the
 * turn times that of the block. */
static void meeting(const blocks *b)
{
    wf_array *mine = wf_scratch(b->g, WF_I32, WF_SHAPE(BINS), true);
    wf_val k;
    wf_section(b->g, WF_SECTION_INIT);
    wf_val odd = wf_and(linear(b), 1);
    WF_FOR (b->g, k, 0, BINS, 1) {
        wf_accumulate(b->g, WF_JOIN_ADD, mine, 1, wf_sub(k, wf_mul(k, odd)));
    }
    WF_END(b->g);
    wf_section(b->g, WF_SECTION_CALL);
    put(b, wf_read(b->g, mine, 0));
}
static void meeting_plain(const plain *p, int32_t y, int32_t x) { p->out[y * p->w + x] = p->block & 1 ? BINS : 1; }

/* Scratch that the points write and read, each its own element, by the same index and by another. */
static void to_and_fro(const blocks *b)
{
    wf_array *mine = wf_scratch(b->g, WF_I32, WF_SHAPE(b->bh, b->bw), false);
    wf_val y = within(b, 0), x = within(b, 1);
    wf_write(b->g, mine, wf_mul(wf_read(b->g, b->in, wf_index(b->g, 0), wf_index(b->g, 1)), 3), y, x);
    put(b, wf_sub(wf_read(b->g, mine, y, x), wf_cast(wf_index(b->g, 1), WF_I32)));
}
static void to_and_fro_plain(const plain *p, int32_t y, int32_t x)
{
    p->out[y * p->w + x] = p->in[y * p->w + x] * 3 - x;
}

typedef struct op_case {
    const char *name;
    void (*record)(const blocks *b);
    void (*point)(const plain *p, int32_t y, int32_t x);
    int stages; /* stages that run as one, block by block, on the processor; 0 = none */
} op_case;
static const op_case cases[] = {
    { "window", window, around_plain, 2 },        { "window by hand", window_by_hand, around_plain, 2 },
    { "across", across, around_plain, 2 },        { "rows", rows, rows_plain, 0 },
    { "counts", counts, counts_plain, 2 },        { "atomic counts", counts_atomic, counts_plain, 2 },
    { "largest", largest, largest_plain, 2 },     { "last turn", last_turn, last_turn_plain, 0 },
    { "running sum", running, running_plain, 0 }, { "to and fro", to_and_fro, to_and_fro_plain, 1 },
    { "meeting", meeting, meeting_plain, 0 },
};

/* ---- comparing ---- */
static void all_points(const op_case *c, plain *p)
{
    p->block = 0;
    for (p->y0 = 0; p->y0 < p->h; p->y0 += p->bh)
        for (p->x0 = 0; p->x0 < p->w; p->x0 += p->bw, ++p->block)
            for (int32_t y = p->y0; y < p->h && y < p->y0 + p->bh; ++y)
                for (int32_t x = p->x0; x < p->w && x < p->x0 + p->bw; ++x)
                    c->point(p, y, x);
}

static void check(const op_case *c, int32_t h, int32_t w, int32_t bh, int32_t bw, bool compiled)
{
    static int32_t in[MOST], out[MOST], bins[MOST];
    int32_t many = ((h + bh - 1) / bh) * ((w + bw - 1) / bw);
    assert_true(h * w <= MOST && many * BINS <= MOST);
    for (int32_t i = 0; i < h * w; ++i)
        in[i] = i * 7919 % 1013 - 300;
    memset(bins, 0, sizeof bins);
    plain p = { .h = h, .w = w, .bh = bh, .bw = bw, .in = in, .out = out, .bins = bins };
    all_points(c, &p);
    wf_array *a = array_of(ctx, WF_I32, WF_SHAPE(h, w), in), *o = wf_full(ctx, WF_I32, WF_SHAPE(h, w), -7);
    wf_array *n = wf_full(ctx, WF_I32, WF_SHAPE(many, BINS), 0);
    /* a kernel is recorded for another space, and launched on this one */
    wf_graph *g =
        wf_begin(ctx, .shape = compiled ? WF_SHAPE(h + bh, 2 * w) : WF_SHAPE(h, w), .block = WF_SHAPE(bh, bw));
    c->record(&(blocks){ g, h, w, bh, bw, a, o, n });
    wf_history(ctx, NULL, 0);
    if (compiled) {
        wf_kernel *k = wf_compile(g);
        assert_non_null(k);
        OK(ctx,
           wf_launch_with(k, WF_NO_ARGS, &(wf_launch_opts){ .size = sizeof(wf_launch_opts), .shape = WF_SHAPE(h, w) }));
        wf_kernel_free(k);
    } else
        OK(ctx, wf_run(g));
    int32_t *got = contents(o), *count = contents(n);
    for (int32_t i = 0; i < h * w; ++i)
        if (got[i] != out[i])
            fail_msg("%s, (%d, %d) in blocks of (%d, %d): at (%d, %d) there is %d, not %d", c->name, h, w, bh, bw,
                     i / w, i % w, got[i], out[i]);
    assert_memory_equal(count, bins, sizeof *bins * (size_t)(many * BINS));
    free(got), free(count);
    wf_release(a), wf_release(o), wf_release(n);
}

static void test_operators(void **state)
{
    (void)state;
    static const int32_t shapes[][4] = {
        { 48, 96, 16, 32 }, { 50, 101, 16, 32 }, { 33, 130, 7, 16 }, { 20, 20, 32, 64 }, { 13, 40, 3, 5 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k)
            for (int compiled = 0; compiled < 2; ++compiled) {
                const int32_t *s = shapes[k];
                if (is_on_gpu() && (k == 0 || k > 2))
                    continue;
                check(&cases[i], s[0], s[1], s[2], s[3], compiled);
            }
}

/* Sections run block by block if their loops have become points and blocks are rows of vectors. */
static void test_block_by_block(void **state)
{
    (void)state;
    if (wf_context_device(ctx) != WF_CPU)
        skip();
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (int narrow = 0; narrow < 2; ++narrow) {
            wf_kernel_info info[16] = { { .size = sizeof *info } };
            int last = 0;
            check(&cases[i], 48, 96, 16, narrow ? 4 : 32, false);
            int n = (int)wf_history(ctx, info, 16);
            for (int k = 0; k < n; ++k)
                if (info[k].stages > 1 || cases[i].stages == 1)
                    last = info[k].fused ? last + 1 : 1;
            int want = !narrow && cases[i].stages ? cases[i].stages : 1;
            if (last != want)
                fail_msg("%s: %d stages run as one, not %d", cases[i].name, last, want);
        }
    wf_set_flags(ctx, 0, WF_FLAG_HISTORY);
}

/* Operators that cannot run block by block: sections that read results of other blocks, sums of floats, large scratch.
 * Their bits are those of the interpreter. */
static void test_not_block_by_block(void **state)
{
    (void)state;
    enum { H = 40, W = 64, B = 16 };
    static float in[H * W], want[H * W];
    float sums[H / 8 * (W / B)] = { 0 };
    for (int i = 0; i < H * W; ++i)
        in[i] = (float)(i * 7919 % 1013) * 0x1p-6f;
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x)
            sums[y / 8 * (W / B) + x / B] += in[y * W + x]; /* exact */
    for (int i = 0; i < H * W; ++i)
        want[i] = in[i] + 1 + in[(i / W + 1) % H * W + i % W];
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(H, W), in), *s = wf_full(ctx, WF_F32, WF_SHAPE(H / 8 * (W / B)), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .block = WF_SHAPE(8, B));
    wf_array *mine = wf_scratch(g, WF_F32, WF_SHAPE(1), true);
    wf_array *large = wf_scratch(g, WF_F32, WF_SHAPE(1 << 17), false);
    wf_section(g, WF_SECTION_CALL);
    wf_val i = wf_index(g, 0), j = wf_index(g, 1), v = wf_read(g, a, i, j);
    wf_accumulate(g, WF_JOIN_ADD, mine, v, 0);
    wf_val at = wf_add(wf_mul(wf_sub(i, wf_mul(wf_block_id(g, 0), 8)), B), wf_sub(j, wf_mul(wf_block_id(g, 1), B)));
    wf_write(g, large, v, at);
    /* in place: neighbours as they were */
    wf_write(g, a, wf_add(wf_add(wf_read(g, large, at), 1), wf_read(g, a, wf_mod(wf_add(i, 1), H), j)), i, j);
    wf_section(g, WF_SECTION_DEINIT);
    wf_write(g, s, wf_read(g, mine, 0), wf_block_id(g, -1));
    OK(ctx, wf_run(g));
    float *got = contents(a), *sum = contents(s);
    assert_memory_equal(got, want, sizeof want);
    assert_memory_equal(sum, sums, sizeof sums);
    free(got), free(sum);
    wf_release(a), wf_release(s);
}

/* In place, with a window in scratch: WF_SECTION_INIT reads what WF_SECTION_CALL writes, so all blocks' windows come
 * first. */
static void test_in_place(void **state)
{
    (void)state;
    enum { H = 24, W = 48, B = 12 };
    int32_t in[H * W], want[H * W];
    for (int i = 0; i < H * W; ++i)
        in[i] = i * 7919 % 1013;
    for (int i = 0; i < H * W; ++i)
        want[i] = in[i] + (i % W ? in[i - 1] : 0);
    wf_array *a = array_of(ctx, WF_I32, WF_SHAPE(H, W), in);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .block = WF_SHAPE(B, B));
    wf_array *tile = wf_scratch(g, WF_I32, WF_SHAPE(B, B + 1), false);
    wf_val y, x;
    wf_section(g, WF_SECTION_INIT);
    WF_FOR (g, y, 0, B, 1) {
        WF_FOR (g, x, 0, B + 1, 1) {
            wf_val at = wf_sub(wf_add(wf_mul(wf_block_id(g, 1), B), x), 1);
            wf_write(g, tile, wf_read_or(g, a, 0, wf_add(wf_mul(wf_block_id(g, 0), B), y), at), y, x);
        }
        WF_END(g);
    }
    WF_END(g);
    wf_section(g, WF_SECTION_CALL);
    wf_val i = wf_index(g, 0), j = wf_index(g, 1);
    wf_val top = wf_sub(i, wf_mul(wf_block_id(g, 0), B)), left = wf_sub(j, wf_mul(wf_block_id(g, 1), B));
    wf_write(g, a, wf_add(wf_read(g, tile, top, left), wf_read(g, tile, top, wf_add(left, 1))), i, j);
    OK(ctx, wf_run(g));
    int32_t *got = contents(a);
    assert_memory_equal(got, want, sizeof want);
    free(got);
    wf_release(a);
}

/* Blocks with scratch that accumulate into an array of all blocks, which the program asks to be kept in copies: the
 * scratch and copies in shared memory must not meet. */
static void test_scratch_and_copies(void **state)
{
    (void)state;
    enum { H = 12, W = 20, B = 4 };
    int32_t bins[BINS] = { 0 }, sums[H / B * (W / B)] = { 0 };
    wf_array *count = wf_full(ctx, WF_I32, WF_SHAPE(BINS), 0),
             *sum = wf_full(ctx, WF_I32, WF_SHAPE(H / B * (W / B)), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .block = WF_SHAPE(B, B));
    wf_array *mine = wf_scratch(g, WF_I32, WF_SHAPE(1), true);
    wf_val place = wf_add(wf_mul(wf_index(g, 0), W), wf_index(g, 1));
    wf_accumulate(g, WF_JOIN_ADD, mine, wf_cast(place, WF_I32), 0);
    wf_accumulate_if_n(g, (wf_val){ { 1, NULL } }, WF_JOIN_ADD, WF_MODE_EXPAND, count, WF_V(1),
                       WF_VALS(wf_mod(place, BINS)));
    wf_section(g, WF_SECTION_DEINIT);
    wf_write(g, sum, wf_read(g, mine, 0), wf_block_id(g, -1));
    OK(ctx, wf_run(g));
    for (int i = 0; i < H * W; ++i) {
        ++bins[i % BINS];
        sums[i / W / B * (W / B) + i % W / B] += i;
    }
    int32_t *found = contents(count), *found_sums = contents(sum);
    assert_memory_equal(found, bins, sizeof bins);
    assert_memory_equal(found_sums, sums, sizeof sums);
    free(found), free(found_sums);
    wf_release(count);
    wf_release(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_operators), cmocka_unit_test(test_block_by_block),
                                        cmocka_unit_test(test_not_block_by_block), cmocka_unit_test(test_in_place),
                                        cmocka_unit_test(test_scratch_and_copies) };
    return RUN_ON_ALL(tests);
}
