/* test_system_fails.c - scenarios over the public interface, each with the first, second, ... call of the system
 * failing. A scenario ends with right results, or with an error that has a message. It does not crash or hang, leaks
 * neither memory (under the address sanitizer) nor file handles, and leaves each file whole, as the old or the new one.
 *
 * The functions of libc that fail are in failing_calls.h. Each run of a scenario is a process of its own, so that what a
 * failure leaves in a process changes no other run.
 *
 * By default each call fails in one of five ways, in turn. WEFT_SYSTEM_FAILS=all makes each call fail in all of them.
 *
 * ctest: failures
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "failing_calls.h"
#include "weft/functions.h"
#include "weft/io.h"
#include "weft/weft.h"

/* ---- what scenarios use ---- */
/* Exit status of a process; sanitizers have others. */
enum { RIGHT = 100, FAILED, NOT_REACHED, WRONG };

static void wrong(const char *what, const char *more)
{
    atomic_store(&armed, false);
    snprintf(report->text, sizeof report->text, "%s%s%s", what, *more ? ": " : "", more);
    _exit(WRONG);
}

/* Ends a scenario that has failed. The error of a context has a message. */
static int failed(wf_context *ctx)
{
    if (wf_last_status(ctx) == WF_OK || !*wf_last_message(ctx))
        wrong("a failure without an error", "");
    snprintf(report->text, sizeof report->text, "%s", wf_last_message(ctx));
    return FAILED;
}

static wf_context *context(wf_device device, int threads, uint32_t flags)
{
    wf_config config = {
        .size = sizeof config, .device = device, .threads = threads, .cache_dir = "cache/of/weft", .flags_on = flags
    };
    return wf_context_new(&config);
}

static bool are_linear(wf_array *a, double first, double step)
{
    int64_t n = wf_array_count(a);
    float *at = malloc((size_t)n * sizeof *at);
    bool ok = at && wf_download(a, at, (size_t)n * sizeof *at) == WF_OK;
    bool same = ok;
    for (int64_t i = 0; same && i < n; ++i)
        same = at[i] == (float)(first + step * (double)i);
    if (ok && !same)
        wrong("other elements", "");
    free(at);
    return ok;
}

/* ---- scenarios ---- */
static int contexts(void)
{
    wf_context *ctx = context(WF_CPU, 2, 0);
    if (!ctx)
        return FAILED;
    wf_info info = { .size = sizeof info };
    if (wf_get_info(ctx, false, &info) != WF_OK)
        wrong("wf_get_info", wf_last_message(ctx));
    wf_set_threads(ctx, 3);
    wf_context_free(ctx);
    return RIGHT;
}

/* y = 3 x + 1 over n elements, and the sum of y. */
static int computes(wf_context *ctx, int64_t n)
{
    int result = RIGHT;
    wf_array *x = wf_array_arange(ctx, WF_F32, n, 0, 1), *y = NULL, *sum = NULL;
    if (x) {
        wf_graph *g = wf_begin(ctx, .serial_below = 1);
        wf_val v = wf_add(wf_mul(wf_in(g, x), 3), 1);
        y = wf_keep(v);
        sum = wf_keep(wf_sum(wf_cast(v, WF_F64), WF_ALL_AXES));
        result = wf_run(g) == WF_OK && are_linear(y, 1, 3) ? RIGHT : failed(ctx);
    } else
        result = failed(ctx);
    double got = 0, want = 1.5 * (double)n * (double)(n - 1) + (double)n;
    if (result == RIGHT && wf_download(sum, &got, sizeof got) != WF_OK)
        result = failed(ctx);
    if (result == RIGHT && got != want)
        wrong("another sum", "");
    wf_release(x), wf_release(y), wf_release(sum);
    return result;
}

static int run_with(wf_device device, int threads, uint32_t flags, int64_t n)
{
    wf_context *ctx = context(device, threads, flags);
    if (!ctx)
        return FAILED;
    int result = computes(ctx, n);
    atomic_store(&armed, false);
    wf_clear_error(ctx);
    if (result == FAILED && computes(ctx, n) != RIGHT)
        wrong("the context does not recover", report->text);
    wf_context_free(ctx);
    return result;
}

/* Small enough for the folder of the cache to be scanned, and entries to be removed, at each store. */
static int small_cache(void)
{
    wf_config config = { .size = sizeof config, .threads = 1, .cache_dir = "cache/small", .cache_bytes = 64 << 10 };
    wf_context *ctx = wf_context_new(&config);
    if (!ctx)
        return FAILED;
    int result = computes(ctx, 100);
    wf_info info = { .size = sizeof info };
    if (wf_get_info(ctx, true, &info) != WF_OK || !info.cache_problem || !info.llvm_path)
        wrong("wf_get_info", wf_last_message(ctx));
    wf_context_free(ctx);
    return result;
}

static int first_run(void) { return run_with(WF_CPU, 1, WF_FLAG_NO_DISK_CACHE, 100); }
static int cached_run(void) { return run_with(WF_CPU, 1, 0, 100); }
static int several_threads(void) { return run_with(WF_CPU, 6, 0, 300000); }
static int interpreted(void) { return run_with(WF_INTERP, 1, 0, 100); }

static int large_arrays(void)
{
    wf_context *ctx = context(WF_INTERP, 2, 0);
    if (!ctx)
        return FAILED;
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(3 << 20)), *b = wf_empty(ctx, WF_U8, WF_SHAPE(5 << 20));
    int result = a && b ? RIGHT : failed(ctx);
    wf_release(a), wf_release(b);
    wf_array *c = wf_empty(ctx, WF_F32, WF_SHAPE(3 << 20));
    if (!c && result == RIGHT)
        result = failed(ctx);
    wf_release(c);
    wf_context_free(ctx);
    return result;
}

static int streams(void)
{
    wf_context *ctx = context(WF_INTERP, 2, 0);
    if (!ctx)
        return FAILED;
    wf_stream *s = wf_stream_new(ctx, 0), *t = wf_stream_new(ctx, 0);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(64), 1);
    int result = s && t && a ? RIGHT : failed(ctx);
    if (result == RIGHT) {
        wf_graph *g = wf_begin(ctx, .stream = s);
        wf_out(g, a, wf_add(wf_in(g, a), 1));
        bool ok = wf_run(g) == WF_OK;
        wf_event *e = ok ? wf_event_record(s) : NULL;
        ok = ok && e && wf_stream_wait(t, e) == WF_OK;
        wf_event_free(e);
        g = wf_begin(ctx, .stream = t);
        wf_out(g, a, wf_mul(wf_in(g, a), 5));
        ok = wf_run(g) == WF_OK && ok && wf_stream_sync(t) == WF_OK && wf_sync(ctx) == WF_OK && are_linear(a, 10, 0);
        result = ok ? RIGHT : failed(ctx);
    }
    wf_release(a);
    wf_stream_free(s), wf_stream_free(t);
    wf_context_free(ctx);
    return result;
}

static void add_one(const wf_chunk *c, void *user)
{
    (void)user;
    for (int64_t i = 0; i < c->n; ++i)
        ((float *)c->out[0])[i] = ((const float *)c->in[0])[i] + 1;
}

static int text_and_host(void)
{
    wf_context *ctx = context(WF_INTERP, 3, 0);
    if (!ctx)
        return FAILED;
    wf_array *a = wf_array_arange(ctx, WF_F32, 101, 0, 1), *out = wf_like(a), *sorted = NULL;
    bool ok = a && out && wf_text(ctx, "out = 2 * (a - mean(a))", a, out) == WF_OK && are_linear(out, -100, 2);
    ok = ok && wf_host_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(out), add_one, NULL) == WF_OK && are_linear(out, 1, 1);
    sorted = ok ? wf_array_sort(a, 0, true) : NULL;
    ok = ok && sorted && are_linear(sorted, 100, -1);
    int result = ok ? RIGHT : failed(ctx);
    wf_release(a), wf_release(out), wf_release(sorted);
    wf_context_free(ctx);
    return result;
}

/* ---- files ---- */
enum { SIDE = 24 };
static const char *path; /* the file of the scenario */

static wf_array *picture(wf_context *ctx, int value)
{
    uint8_t at[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; ++i)
        at[i] = (uint8_t)(value + i % 7);
    wf_array *a = wf_empty(ctx, WF_U8, WF_SHAPE(SIDE, SIDE));
    if (a && wf_upload(a, at, sizeof at) != WF_OK)
        wf_release(a), a = NULL;
    return a;
}

/* Returns the value of the picture; 0 = the file does not load. */
static int value_of(wf_context *ctx, const char *file)
{
    uint8_t at[SIDE * SIDE];
    wf_array *a = wf_load(ctx, file, NULL);
    if (!a)
        return 0;
    if (wf_array_count(a) != SIDE * SIDE || wf_array_dtype(a) != WF_U8 || wf_download(a, at, sizeof at) != WF_OK)
        wrong("another picture", file);
    for (int i = 0; i < SIDE * SIDE; ++i)
        if (at[i] != at[0] + i % 7)
            wrong("another picture", file);
    wf_release(a);
    return at[0];
}

static wf_status save_picture(wf_context *ctx, int value)
{
    wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_U8, .durable = true, .deflate = value == 20 };
    wf_array *a = picture(ctx, value);
    wf_status status = a ? wf_save(a, path, &meta) : wf_last_status(ctx);
    wf_release(a);
    return status;
}

static int leftovers(void)
{
    int found = 0;
    DIR *dir = opendir(".");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        found += strncmp(entry->d_name, ".weft-", 6) == 0;
    if (dir)
        closedir(dir);
    return found;
}

/* Saves a file where there is none (`old` false), or in place of one with the value 10. */
static int save_file(bool old)
{
    atomic_store(&armed, false);
    wf_context *ctx = context(WF_INTERP, 1, 0);
    if (!ctx)
        wrong("no context", "");
    unlink(path);
    if (old && save_picture(ctx, 10) != WF_OK)
        wrong("the old file", wf_last_message(ctx));
    atomic_store(&armed, true);
    wf_status status = save_picture(ctx, 20);
    atomic_store(&armed, false);
    int result = status == WF_OK ? RIGHT : failed(ctx);
    if (result == FAILED && !strstr(wf_last_message(ctx), path))
        wrong("the message has no path", wf_last_message(ctx));
    wf_clear_error(ctx);
    int value = value_of(ctx, path);
    bool is_there = access(path, F_OK) == 0;
    if (status == WF_OK ? value != 20 : old ? value != 10 && value != 20 : is_there && value != 20)
        wrong("the file is neither the old nor the new one", wf_last_message(ctx));
    if (leftovers())
        wrong("a temporary file is left", report->text);
    unlink(path);
    wf_context_free(ctx);
    return result;
}

static int save_new(void) { return save_file(false); }
static int save_over(void) { return save_file(true); }

static int load_file(void)
{
    atomic_store(&armed, false);
    wf_context *ctx = context(WF_INTERP, 1, 0);
    if (!ctx || save_picture(ctx, 20) != WF_OK)
        wrong("the file", wf_last_message(ctx));
    atomic_store(&armed, true);
    wf_shape shape;
    bool ok = wf_probe(ctx, path, NULL, NULL, &shape) == WF_OK && shape.rank == 2;
    int value = ok ? value_of(ctx, path) : 0;
    atomic_store(&armed, false);
    int result = value == 20 ? RIGHT : failed(ctx);
    wf_context_free(ctx);
    return result;
}

/* Saves through a link, and to a pipe, which is never replaced. */
static int save_through_link(void)
{
    atomic_store(&armed, false);
    unlink("target.npy"), unlink("link.npy");
    if (symlink("target.npy", "link.npy") != 0)
        wrong("a link", "");
    path = "link.npy";
    wf_context *ctx = context(WF_INTERP, 1, 0);
    atomic_store(&armed, true);
    bool ok = save_picture(ctx, 20) == WF_OK;
    atomic_store(&armed, false);
    struct stat info;
    int result = ok ? RIGHT : failed(ctx);
    if (lstat("link.npy", &info) != 0 || !S_ISLNK(info.st_mode))
        wrong("the link is gone", report->text);
    if (ok ? value_of(ctx, "target.npy") != 20 : access("target.npy", F_OK) == 0 && value_of(ctx, "target.npy") != 20)
        wrong("the target of the link", report->text);
    if (leftovers())
        wrong("a temporary file is left", report->text);
    wf_context_free(ctx);
    return result;
}

static int save_to_pipe(void)
{
    atomic_store(&armed, false);
    unlink("pipe.npy");
    if (mkfifo("pipe.npy", 0600) != 0)
        wrong("a pipe", "");
    path = "pipe.npy";
    wf_context *ctx = context(WF_INTERP, 1, 0);
    atomic_store(&armed, true);
    bool ok = save_picture(ctx, 20) == WF_OK;
    atomic_store(&armed, false);
    struct stat info;
    if (ok || lstat("pipe.npy", &info) != 0 || !S_ISFIFO(info.st_mode))
        wrong("the pipe is gone", report->text);
    int result = failed(ctx);
    wf_context_free(ctx);
    return result;
}

/* ---- runs ---- */
typedef struct scenario {
    const char *name;
    int (*run)(void);
    const char *path;
    bool removes_cache; /* before each run */
} scenario;

static int open_handles(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (; dir && readdir(dir);)
        ++n;
    if (dir)
        closedir(dir);
    return n;
}

static int run_in_process(const scenario *s, way in, long number)
{
    *report = (struct report){ 0 };
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(120);
        int handles = open_handles();
        how = in;
        target = number;
        path = s->path;
        atomic_store(&armed, true);
        int result = s->run();
        atomic_store(&armed, false);
        if (open_handles() != handles)
            wrong("file handles are left open", report->text);
        if (*report->call == 0 && result == FAILED && s->run != save_to_pipe)
            wrong("an error without a failure", report->text);
        if (*report->call && in >= INTERRUPTED && result == FAILED && s->run != save_to_pipe)
            wrong("an interruption is an error", report->text);
        exit(*report->call ? result : NOT_REACHED); /* so that the sanitizer reports leaks */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) >= RIGHT && WEXITSTATUS(status) < WRONG)
        return WEXITSTATUS(status);
    print_error("%s: call %ld, %s, %s: %s %d: %s\n", s->name, number, report->call, way_names[in],
                WIFEXITED(status) ? "exit status" : "signal",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), report->text);
    return WRONG;
}

static void remove_cache(void)
{
    if (system("rm -rf cache") != 0)
        fail();
}

static void test_scenario(void **state)
{
    const scenario *s = *state;
    const char *asked = getenv("WEFT_SYSTEM_FAILS");
    bool all = asked && !strcmp(asked, "all");
    long runs = 0, errors = 0, bad = 0, ends[WAYS] = { 0 };
    for (int w = 0; w < WAYS; ++w)
        for (long n = 0; !ends[w]; ++n) {
            if (!all && w < INTERRUPTED && ends[0] && (n + w) % 3 != 0 && n < ends[0])
                continue;
            if (s->removes_cache)
                remove_cache();
            int result = run_in_process(s, (way)w, n);
            if (result == NOT_REACHED)
                ends[w] = n + 1;
            ++runs;
            errors += result == FAILED;
            bad += result == WRONG;
        }
    print_message("%s: %ld calls, %ld runs, %ld with an error, %ld wrong\n", s->name, ends[FIRST] - 1, runs, errors,
                  bad);
    assert_int_equal(bad, 0);
}

static char folder[64];

static int enter_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "system-fails-XXXXXX");
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return report != MAP_FAILED && mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("..") == 0 && system(command) == 0 ? 0 : -1;
}

int main(void)
{
    static const scenario scenarios[] = {
        { "contexts", contexts, NULL, false },
        { "interpreted", interpreted, NULL, false },
        { "first_run", first_run, NULL, false },
        { "first_run_with_cache", cached_run, NULL, true },
        { "second_run", cached_run, NULL, false },
        { "small_cache", small_cache, NULL, true },
        { "several_threads", several_threads, NULL, false },
        { "large_arrays", large_arrays, NULL, false },
        { "streams", streams, NULL, false },
        { "text_and_host", text_and_host, NULL, false },
        { "save_new_mrc", save_new, "a.mrc", false },
        { "save_new_npy", save_new, "a.npy", false },
        { "save_new_tiff", save_new, "a.tif", false },
        { "save_new_png", save_new, "a.png", false },
        { "save_new_gzip", save_new, "a.mrc.gz", false },
        { "save_over_gzip", save_over, "a.npy.gz", false },
        { "save_over_mrc", save_over, "a.mrc", false },
        { "save_over_npy", save_over, "a.npy", false },
        { "save_over_tiff", save_over, "a.tif", false },
        { "save_over_png", save_over, "a.png", false },
        { "load_mrc", load_file, "b.mrc", false },
        { "load_npy", load_file, "b.npy", false },
        { "load_tiff", load_file, "b.tif", false },
        { "load_gzip", load_file, "b.mrc.gz", false },
        { "load_png", load_file, "b.png", false },
        { "save_through_link", save_through_link, NULL, false },
        { "save_to_pipe", save_to_pipe, NULL, false },
    };
    enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };
    struct CMUnitTest tests[SCENARIOS];
    for (int i = 0; i < SCENARIOS; ++i)
        tests[i] = (struct CMUnitTest){ scenarios[i].name, test_scenario, NULL, NULL, (void *)&scenarios[i] };
    return _cmocka_run_group_tests("the system fails", tests, SCENARIOS, enter_folder, leave_folder);
}
