/* child_weft.c - a program that uses Weft alone, for rows_process.c: JOB CACHE_DIR does one small job and ends. */
#include "bench.h"
#include "program.h"
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1024, NODES = 1 << 20 };

/* A field of /proc/self/status, in KiB. */
static long status_kib(const char *key)
{
    char line[256];
    long value = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtol(line + strlen(key), NULL, 10);
    if (f)
        fclose(f);
    return value;
}

static int is_llvm(struct dl_phdr_info *library, size_t size, void *user)
{
    (void)size;
    (void)user;
    return library->dlpi_name && strstr(library->dlpi_name, "libLLVM");
}
static bool llvm_is_mapped(void) { return dl_iterate_phdr(is_llvm, NULL) != 0; }

/* Computes out = a*b + c on 1024 elements, by one kernel. */
static bool triad(wf_context *ctx)
{
    static float at[4][N];
    wf_array *array[4];
    for (int i = 0; i < N; ++i) {
        at[0][i] = 2;
        at[1][i] = 3;
        at[2][i] = (float)i;
    }
    for (int k = 0; k < 4; ++k)
        array[k] = wf_wrap(ctx, at[k], WF_F32, WF_SHAPE(N), NULL, NULL);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, array[3], wf_add(wf_mul(wf_in(g, array[0]), wf_in(g, array[1])), wf_in(g, array[2])));
    wf_status status = wf_run(g);
    if (status != WF_OK)
        fprintf(stderr, "weft-bench-child-weft: %s\n", wf_last_message(ctx));
    for (int k = 0; k < 4; ++k)
        wf_release(array[k]);
    return status == WF_OK && at[3][N - 1] > 6 + N - 2 && at[3][N - 1] < 6 + N;
}

static double node_bytes(wf_context *ctx)
{
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(16), 2);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), y = wf_add(x, 1);
    bench_program(x, y, 16, 0.5); /* makes the allocations that happen once */
    long before = status_kib("VmRSS:");
    wf_val last = bench_program(x, y, NODES, 0);
    long after = status_kib("VmRSS:");
    bool good = last.h.num > (double)NODES;
    wf_drop(g);
    wf_release(a);
    return good ? 1024.0 * (double)(after - before) / (double)NODES : 0;
}

int main(int argc, char **argv)
{
    const char *job = argc > 1 ? argv[1] : "", *cache = argc > 2 && *argv[2] ? argv[2] : NULL;
    wf_config config = { .size = sizeof config,
                         .cache_dir = cache,
                         .flags_on = cache ? 0 : WF_FLAG_NO_DISK_CACHE,
                         .flags_off =
                             cache ? 0 : WF_FLAG_INTERPRET_FIRST }; /* else the process ends before it has compiled */
    wf_context *ctx = wf_context_new(&config);
    bool good = false;
    if (strcmp(job, "node-bytes") == 0) {
        double bytes = node_bytes(ctx);
        good = bytes > 0;
        printf("%.2f\n", bytes);
    } else {
        good = triad(ctx);
        if (strncmp(job, "cached", 6) == 0 && llvm_is_mapped()) {
            fprintf(stderr, "weft-bench-child-weft: a cached kernel opened LLVM\n");
            good = false;
        }
        if (strstr(job, "-memory"))
            printf("%.3f\n", (double)status_kib("VmHWM:") / 1024);
    }
    wf_context_free(ctx);
    return !good;
}
