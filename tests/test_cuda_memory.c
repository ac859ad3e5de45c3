/* test_cuda_memory.c - memory, launches and kernels of a GPU through the driver (the emulator or the one that
 * WEFT_CUDA names): reuse of memory, running out of it, failures reported late, kernels on disk, the context of the
 * host program.
 *
 * ctest: threads gpu
 */
#include <dlfcn.h>
#include <dirent.h>
#include <unistd.h>
#include "launch/launch.h"
#include "run/gpu/internal.h"
#include "weft_test.h"

enum { MIB = 1 << 20 };
static char driver[1024];

static wf__gpu *gpu_of(wf_context *ctx)
{
    wf__gpu *gpu = wf__gpu_of(ctx, "test", WF_GPU(0));
    if (!gpu)
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(gpu);
    return gpu;
}

static void test_reuse(void **state)
{
    (void)state;
    wf_context *ctx = test_context_alone(WF_GPU(0), 1);
    wf__gpu *gpu = gpu_of(ctx);
    wf__failure f = { 0 };
    char *a = wf__gpu_alloc(gpu, 1000, &(wf__gpu_use){ 0 }, &f), *b = wf__gpu_alloc(gpu, 1000, &(wf__gpu_use){ 0 }, &f);
    assert_true(a && b && a != b);
    wf__gpu_free(gpu, a, 1000, (wf__gpu_use){ 0 });
    assert_int_equal(gpu->idle_bytes, 1024);
    char *c = wf__gpu_alloc(gpu, 900, &(wf__gpu_use){ 0 }, &f); /* of the same size class */
    assert_ptr_equal(c, a);
    assert_int_equal(gpu->idle_bytes, 0);
    char *d = wf__gpu_alloc(gpu, 1025, &(wf__gpu_use){ 0 }, &f);
    assert_ptr_not_equal(d, a);
    wf__gpu_free(gpu, b, 1000, (wf__gpu_use){ 0 }), wf__gpu_free(gpu, c, 900, (wf__gpu_use){ 0 }),
        wf__gpu_free(gpu, d, 1025, (wf__gpu_use){ 0 }), wf__gpu_free(gpu, NULL, 7, (wf__gpu_use){ 0 });
    assert_int_equal(gpu->idle_bytes, 1024 + 1024 + 1280);
    for (size_t bytes = 1; bytes < 300 * (size_t)MIB; bytes += bytes / 3 + 1) { /* classes of all sizes */
        char *at = bytes < 40 * (size_t)MIB ? wf__gpu_alloc(gpu, bytes, &(wf__gpu_use){ 0 }, &f) : NULL;
        if (!at)
            break;
        size_t before = gpu->idle_bytes;
        wf__gpu_free(gpu, at, bytes, (wf__gpu_use){ 0 });
        char *again = gpu->idle_bytes > before ? wf__gpu_alloc(gpu, bytes, &(wf__gpu_use){ 0 }, &f) : NULL;
        if (again) {
            assert_ptr_equal(again, at);
            assert_int_equal(gpu->idle_bytes, before);
            wf__gpu_free(gpu, again, bytes, (wf__gpu_use){ 0 });
        }
    }
    assert_true(gpu->idle_bytes > MIB && gpu->idle_bytes <= gpu->idle_most);
    wf__str_free(&f.text);
    wf_context_free(ctx);
}

/* The emulated GPU has 64 MiB. */
static void test_running_out(void **state)
{
    (void)state;
    wf_context *ctx = test_context_alone(WF_GPU(0), 1);
    wf__gpu *gpu = gpu_of(ctx);
    if (gpu->idle_most != 16 * MIB)
        skip();
    wf_array *a[4];
    for (int i = 0; i < 4; ++i)
        assert_non_null(a[i] = wf_empty(ctx, WF_U8, WF_SHAPE(14 * MIB)));
    assert_null(wf_empty(ctx, WF_U8, WF_SHAPE(14 * MIB)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_MEMORY,
            "cuda:0: out of memory: 14680064 bytes requested, 8388608 of 67108864 are");
    for (int i = 0; i < 4; ++i)
        wf_release(a[i]);
    assert_int_equal(gpu->idle_bytes, 14 * MIB);
    wf_array *large = wf_empty(ctx, WF_U8, WF_SHAPE(60 * MIB)); /* needs the unused memory that is kept */
    assert_non_null(large);
    assert_int_equal(gpu->idle_bytes, 0);
    wf_release(large);
    large = wf_full(ctx, WF_F32, WF_SHAPE(100), 4);
    assert_non_null(large);
    wf_release(large);
    wf_context_free(ctx);
}

static void fail_late(bool next_is_launch)
{
    wf_context *ctx = test_context_alone(WF_GPU(0), 1);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(40), 1), *out = wf_like(a);
    OK(ctx, wf_sync(ctx));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(40), .name = "first");
    wf_out(g, out, wf_read(g, a, wf_add(wf_index(g, 0), 100000)));
    OK(ctx, wf_run(g)); /* no call has looked for errors yet */
    if (next_is_launch) {
        g = wf_begin(ctx, .name = "second");
        wf_out(g, out, wf_in(g, a));
        REFUSED(ctx, wf_run(g), WF_ERR_BACKEND, "(in 'first')");
    } else
        REFUSED(ctx, wf_sync(ctx), WF_ERR_BACKEND, "(in 'first')");
    REFUSED(ctx, wf_sync(ctx), WF_ERR_BACKEND, "wf_sync: cuda:0: lost by an earlier failure");
    wf_release(a), wf_release(out);
    wf_context_free(ctx);
    ctx = test_context_alone(WF_GPU(0), 1); /* no other context has used it */
    a = wf_full(ctx, WF_F32, WF_SHAPE(40), 1);
    OK(ctx, wf_sync(ctx));
    wf_release(a);
    wf_context_free(ctx);
}

static void test_late_failures(void **state)
{
    (void)state;
    if (!strstr(driver, "_emu")) /* on a real GPU it would touch memory that may belong to another program */
        skip();
    fail_late(false);
    fail_late(true);
}

static void empty_folder(const char *dir, bool remove)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            char path[600];
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
            unlink(path);
        }
    if (d)
        closedir(d);
    if (remove)
        rmdir(dir);
}

static void test_kernels_on_disk(void **state)
{
    (void)state;
    char dir[] = "cuda_cache_XXXXXX";
    assert_non_null(mkdtemp(dir));
    static const struct {
        bool fresh;
        uint64_t compiled, disk;
    } want[] = { { true, 1, 0 }, { false, 0, 1 }, { true, 1, 0 } };
    for (size_t k = 0; k < sizeof want / sizeof *want; ++k) {
        if (want[k].fresh)
            empty_folder(dir, false);
        wf_context *ctx = wf_context_new(
            &(wf_config){ .size = sizeof(wf_config), .device = WF_GPU(0), .cache_dir = dir, .threads = 1 });
        wf_graph *g = wf_begin(ctx);
        wf_array *a = wf_keep(wf_mul(wf_iota(g, WF_SHAPE(50), 0), 3));
        OK(ctx, wf_run(g));
        int64_t *x = contents(a);
        assert_true(x[49] == 147);
        free(x);
        wf_info info = { .size = sizeof info };
        OK(ctx, wf_get_info(ctx, false, &info));
        assert_int_equal(info.compiled, want[k].compiled);
        assert_int_equal(info.disk_hits, want[k].disk);
        wf_release(a);
        wf_context_free(ctx);
    }
    empty_folder(dir, true);
}

static void test_host_program(void **state)
{
    (void)state;
    void *library = dlopen(driver, RTLD_NOW), *mine = NULL, *now = NULL, *primary = NULL;
    int (*create)(void **, unsigned, int), (*current)(void **), (*destroy)(void *), (*retain)(void **, int);
    int (*let_go)(int), (*is_active)(int, unsigned *, int *), (*init)(unsigned), active = 0;
    unsigned flags;
    assert_non_null(library);
#define FIND(name, to) memcpy(&(to), &(void *){ dlsym(library, name) }, sizeof(to))
    FIND("cuCtxCreate_v2", create), FIND("cuCtxGetCurrent", current), FIND("cuCtxDestroy_v2", destroy);
    FIND("cuDevicePrimaryCtxRetain", retain), FIND("cuDevicePrimaryCtxRelease_v2", let_go);
    FIND("cuDevicePrimaryCtxGetState", is_active), FIND("cuInit", init);
    assert_true(create && current && destroy && retain && let_go && is_active && init && !init(0));
    assert_int_equal(create(&mine, 0, 0), 0); /* the context of the program, current from here on */
    assert_int_equal(retain(&primary, 0), 0);
    wf_context *ctx = test_context_alone(WF_GPU(0), 1);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(40, 3), 1), *b = wf_copy_to(a, WF_CPU);
    assert_true(a && b && !current(&now) && now == mine);
    wf_graph *g = wf_begin(ctx);
    wf_array *sum = wf_keep(wf_reduce(WF_JOIN_ADD, wf_in(g, a), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    assert_true(!current(&now) && now == mine);
    assert_null(wf_empty(ctx, WF_U8, WF_SHAPE((int64_t)1 << 50)));
    wf_clear_error(ctx);
    assert_true(!current(&now) && now == mine);
    wf_release(a), wf_release(b), wf_release(sum);
    wf_context_free(ctx);
    assert_true(!current(&now) && now == mine);
    assert_true(!is_active(0, &flags, &active) && active); /* the program's reference holds it */
    assert_int_equal(let_go(0), 0);
    assert_true(!is_active(0, &flags, &active) && !active);
    assert_int_equal(destroy(mine), 0);
    dlclose(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse),         cmocka_unit_test(test_running_out),
        cmocka_unit_test(test_late_failures), cmocka_unit_test(test_kernels_on_disk),
        cmocka_unit_test(test_host_program),
    };
    const char *own = getenv("WEFT_CUDA"), *emulator = getenv("WEFT_CUDA_EMU");
    if (!own && !emulator) {
        print_message("neither WEFT_CUDA nor WEFT_CUDA_EMU names a driver: nothing to test\n");
        return 0;
    }
    setenv("WEFT_EMU_MEMORY", "64", 1);
    snprintf(driver, sizeof driver, "%s", own ? own : emulator);
    setenv("WEFT_CUDA", driver, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
