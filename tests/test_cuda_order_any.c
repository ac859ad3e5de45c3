/* test_cuda_order_any.c - random work in streams of every kind, with arrays that pass from one stream to another and
 * memory that is given back and taken again. The emulator finds no two unordered operations on the same memory, and
 * the results are those of the same work in order.
 *
 * ctest: threads gpu
 */
#include "cuda_program.h"

enum { STREAMS = 6, QUEUES = 2, ARRAYS = 6, N = 48, STEPS = 1000, THREADS = 3 };
typedef struct player {
    uint64_t seed;
    bool queues; /* queues do not wait for each other, so contents are unknown */
    CUstream mine[2];
    wf_stream *stream[STREAMS]; /* none, two of the program and the default one, those of Weft */
    wf_array *array[ARRAYS];
    double want[ARRAYS]; /* all elements are this */
} player;

static uint64_t draw(player *p, uint64_t n) { return test_random(&p->seed) % n; }

static void open_stream(player *p, int i)
{
    if (i >= STREAMS - QUEUES)
        p->stream[i] = wf_stream_new(ctx, GPU);
    else if (i > 0)
        p->stream[i] = wf_stream_wrap(ctx, GPU, i < 3 ? p->mine[i - 1] : NULL);
    must(i == 0 || p->stream[i] != NULL, "a stream");
}

static void fail_with(const char *what)
{
    print_error("%s\n", wf_last_message(ctx));
    must(false, what);
}
#define GOOD(call, what) ((call) == WF_OK ? (void)0 : fail_with(what))

static void fill(wf_array *a, double value)
{
    double x[4 * N];
    for (int k = 0; k < 4 * N; ++k)
        x[k] = value;
    GOOD(wf_upload(a, x, sizeof x), "an upload");
}

static wf_array *made(player *p, double x)
{
    static const wf_memory kinds[] = { WF_MEMORY_DEVICE, WF_MEMORY_PINNED, WF_MEMORY_MANAGED };
    wf_array *a = draw(p, 2) ? wf_full(ctx, WF_F64, WF_SHAPE(4, N), x)
                             : wf_empty(ctx, WF_F64, WF_SHAPE(4, N), .memory = kinds[draw(p, 3)]);
    must(a != NULL, "an array");
    fill(a, x);
    return a;
}

static void compute(player *p, wf_stream *s)
{
    int from = (int)draw(p, ARRAYS), other = (int)draw(p, ARRAYS), to = (int)draw(p, ARRAYS);
    wf_graph *g = wf_begin(ctx, .stream = s);
    wf_val x = wf_in(g, p->array[from]), y = wf_in(g, p->array[other]);
    double want = p->want[from];
    wf_array *kept = NULL;
    switch (draw(p, 5)) {
    case 0:
        x = wf_add(wf_mul(x, 0.5), wf_mul(y, 0.5));
        want = 0.5 * want + 0.5 * p->want[other];
        break;
    case 1: /* kernels one after the other, with temporaries */
        x = wf_mul(wf_add(x, wf_div(wf_sum(y, WF_ALL_AXES), 4 * N)), 0.5);
        want = (want + p->want[other]) * 0.5;
        break;
    case 2:
        x = wf_scan(WF_JOIN_MAX, y, 1, false, false);
        want = p->want[other];
        break;
    default:
        x = wf_add(x, 1);
        want += 1;
    }
    if (p->queues || draw(p, 3))
        wf_out(g, p->array[to], x);
    else
        kept = wf_keep(x);
    GOOD(wf_run(g), "a recording");
    if (kept) {
        wf_release(p->array[to]);
        p->array[to] = kept;
    }
    p->want[to] = want;
}

static void look(player *p, int i)
{
    double got[4 * N];
    GOOD(wf_download(p->array[i], got, sizeof got), "a download");
    for (int k = 0; k < 4 * N; ++k)
        must(p->queues || got[k] == p->want[i], "contents");
}

static void step(player *p)
{
    int i = (int)draw(p, ARRAYS), j = (int)draw(p, ARRAYS), s = (int)draw(p, p->queues ? STREAMS : STREAMS - QUEUES);
    switch (draw(p, 16)) {
    case 0:
        look(p, i);
        break;
    case 1:
        fill(p->array[i], p->want[i] = 1 + i);
        break;
    case 2: {
        wf_array *copy = wf_copy(p->array[i]);
        must(copy != NULL, "a copy");
        wf_release(p->array[j]);
        p->array[j] = copy;
        p->want[j] = p->want[i];
        break;
    }
    case 3:
        wf_release(p->array[i]);
        p->array[i] = made(p, 3);
        p->want[i] = 3;
        break;
    case 4:
        wf_stream_free(p->stream[s]);
        open_stream(p, s);
        break;
    case 5:
        if (p->stream[s])
            GOOD(wf_stream_sync(p->stream[s]), "waiting");
        break;
    default:
        compute(p, p->stream[s]);
    }
}

static void *play(void *user)
{
    player *p = user;
    must(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS, "the context");
    for (int i = 0; i < 2; ++i)
        must(cu.cuStreamCreate(&p->mine[i], i == 0) == CUDA_SUCCESS, "a CUDA stream");
    for (int i = 0; i < STREAMS; ++i)
        open_stream(p, i);
    for (int i = 0; i < ARRAYS; ++i)
        p->array[i] = made(p, p->want[i] = i);
    for (int i = 0; i < STEPS && !atomic_load(&failures); ++i)
        step(p);
    for (int i = 0; i < ARRAYS && !atomic_load(&failures); ++i)
        look(p, i);
    for (int i = 0; i < ARRAYS; ++i)
        wf_release(p->array[i]);
    for (int i = 0; i < STREAMS; ++i)
        wf_stream_free(p->stream[i]);
    for (int i = 0; i < 2; ++i)
        must(cu.cuStreamDestroy_v2(p->mine[i]) == CUDA_SUCCESS, "the end of a CUDA stream");
    return NULL;
}

static void in_threads(bool queues)
{
    player all[THREADS] = { 0 };
    for (int i = 0; i < THREADS; ++i) {
        all[i].seed = (uint64_t)i + 1;
        all[i].queues = queues;
    }
    run_at_once(1, play, all, sizeof *all);
    run_at_once(THREADS, play, all, sizeof *all);
    OK(ctx, wf_sync(ctx));
}

static void test_contents(void **state)
{
    (void)state;
    in_threads(false);
}

static void test_queues(void **state)
{
    (void)state;
    in_threads(true);
}

/* The program uses an array in a stream of its own and does not wait. This is the last test, because it loses the
 * context. */
static void test_program_forgets(void **state)
{
    (void)state;
    CUstream mine;
    void *at = NULL;
    char report[1024];
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(8), 1);
    OK(ctx, wf_map_device(a, &at, NULL));
    wf_graph *g = wf_begin(ctx, .name = "scaled");
    wf_out(g, a, wf_mul(wf_in(g, a), 2));
    OK(ctx, wf_run(g));
    CU(cu.cuStreamCreate(&mine, 1));
    void *params[] = { &at };
    CU(cu.cuLaunchKernel(emu_function(emu_load(doubling), "twice"), 1, 1, 1, 8, 1, 1, 0, mine, params, NULL));
    CU_IS(cu.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    cu.weftEmuLastReport(report, sizeof report);
    assert_non_null(strstr(report, "missing order: kernel 'twice' (operation "));
    assert_non_null(strstr(report, "\n  kernel 'weft_kernel' of 'scaled' (operation "));
    REFUSED(ctx, wf_sync(ctx), WF_ERR_BACKEND, "missing order");
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_contents, still_current),
                                        cmocka_unit_test_teardown(test_queues, still_current),
                                        cmocka_unit_test(test_program_forgets) };
    return RUN_BESIDE(tests);
}
