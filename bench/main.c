/* main.c - weft-bench: measures Weft beside hand-written C and other systems. docs/performance.md explains the results. */
#include "bench.h"
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "usage: weft-bench [options]\n"
    "  --rows A,B,...   rows whose names begin with A, B, ... (all)\n"
    "  --list           names the rows\n"
    "  --threads N      threads of every contender, at most 1024 (all cores)\n"
    "  --quick          a rough answer in a few seconds a row\n"
    "  --budget S       seconds to spend on one row (4)\n"
    "  --json FILE      also writes the results to this file\n"
    "  --peers PYTHON   runs Dr.Jit, JAX, numexpr, NumPy, SciPy, scikit-image and OpenCV through this interpreter,\n"
    "                   those that it has; default: the one made by\n"
    "                   bench/peers/install, if it has been run; none: only C\n"
    "Every result is checked before it is measured. Exit status 1: a contender failed.\n";

extern const bench_row bench_triad_1k_prepared, bench_triad_1k_traced, bench_triad_64k, bench_triad_64m, bench_full_64m,
    bench_chained_64k, bench_math_16m, bench_sum_64m, bench_sqdiff_64m, bench_conv_4096, bench_conv_scratch_4096,
    bench_stencil27_256, bench_stencil27_64, bench_fft_r2c_4096, bench_fft_r2c_3838, bench_fft_r2c_256_3,
    bench_fft_r2c_320_3, bench_fft_r2c_1000_256, bench_fft_c2c_1024, bench_fft_c2c_16k, bench_fft_c2c_1m,
    bench_fft_c2c_1009, bench_fft_c2c_3710, bench_fft_c2c_16x64, bench_fft_c2c_16x256, bench_fft_c2c_16x1024,
    bench_fft_c2c_16x4096, bench_fft_r2c_16x64, bench_fft_r2c_16x256, bench_fft_r2c_16x1024, bench_fft_r2c_16x4096,
    bench_fft_c2c_1x16, bench_fft_c2c_1x1024, bench_fft_r2c_1x1024, bench_fft_c2c_32_2, bench_fft_c2c_64_2,
    bench_fft_c2c_256_2, bench_fft_r2c_32_2, bench_fft_r2c_64_2, bench_fft_r2c_256_2, bench_mandelbrot,
    bench_launch_prepared, bench_launch_traced, bench_launch_queued, bench_replay, bench_tracing, bench_node_bytes,
    bench_cold_10, bench_cold_100, bench_cold_1000, bench_cold_20000, bench_cold_several, bench_first_10,
    bench_first_100, bench_disk_10, bench_disk_100, bench_disk_1000, bench_process_start, bench_process_memory,
    bench_argmax_16m, bench_variance_16m, bench_histogram_16m, bench_histogram_rows, bench_histogram_scratch,
    bench_transpose_4096, bench_scan_16m, bench_scan_expr_16m, bench_copy_64m, bench_layout_f, bench_layout_transposed,
    bench_layout_padded, bench_layout_broadcast, bench_layout_reversed, bench_sort_4096, bench_matmul_2048,
    bench_filter_4096, bench_rotate_4096, bench_median_2048, bench_bin_4096, bench_match_2048, bench_convolve_2048,
    bench_convolve_line, bench_grad_math, bench_grad_conv_image, bench_grad_conv_kernel, bench_grad_rotate,
    bench_grad_table_1, bench_grad_table_100, bench_grad_table_10000, bench_grad_logsumexp, bench_grad_softmax,
    bench_grad_tiny_prepared, bench_grad_tiny_traced, bench_grad_logistic, bench_grad_logistic_own;
#define X(name) extern const bench_row bench_sum_##name;
BENCH_AXES_ROWS(X)
#undef X
#define X(name) &bench_sum_##name,
/* clang-format off */
const bench_row *const bench_rows[] = {
    &bench_triad_1k_prepared,
    &bench_triad_1k_traced,
    &bench_triad_64k,
    &bench_triad_64m,
    &bench_full_64m,
    &bench_copy_64m,
    &bench_layout_f,
    &bench_layout_transposed,
    &bench_layout_padded,
    &bench_layout_broadcast,
    &bench_layout_reversed,
    &bench_chained_64k,
    &bench_math_16m,
    &bench_sum_64m,
    &bench_sqdiff_64m,
    BENCH_AXES_ROWS(X) & bench_conv_4096,
    &bench_conv_scratch_4096,
    &bench_stencil27_256,
    &bench_stencil27_64,
    &bench_fft_r2c_4096,
    &bench_fft_r2c_3838,
    &bench_fft_r2c_256_3,
    &bench_fft_r2c_320_3,
    &bench_fft_r2c_1000_256,
    &bench_fft_c2c_1024,
    &bench_fft_c2c_16k,
    &bench_fft_c2c_1m,
    &bench_fft_c2c_1009,
    &bench_fft_c2c_3710,
    &bench_fft_c2c_16x64,
    &bench_fft_c2c_16x256,
    &bench_fft_c2c_16x1024,
    &bench_fft_c2c_16x4096,
    &bench_fft_r2c_16x64,
    &bench_fft_r2c_16x256,
    &bench_fft_r2c_16x1024,
    &bench_fft_r2c_16x4096,
    &bench_fft_c2c_1x16,
    &bench_fft_c2c_1x1024,
    &bench_fft_r2c_1x1024,
    &bench_fft_c2c_32_2,
    &bench_fft_c2c_64_2,
    &bench_fft_c2c_256_2,
    &bench_fft_r2c_32_2,
    &bench_fft_r2c_64_2,
    &bench_fft_r2c_256_2,
    &bench_mandelbrot,
    &bench_argmax_16m,
    &bench_variance_16m,
    &bench_transpose_4096,
    &bench_scan_16m,
    &bench_scan_expr_16m,
    &bench_histogram_16m,
    &bench_histogram_rows,
    &bench_histogram_scratch,
    &bench_sort_4096,
    &bench_matmul_2048,
    &bench_filter_4096,
    &bench_rotate_4096,
    &bench_median_2048,
    &bench_bin_4096,
    &bench_match_2048,
    &bench_convolve_2048,
    &bench_convolve_line,
    &bench_grad_math,
    &bench_grad_conv_image,
    &bench_grad_conv_kernel,
    &bench_grad_rotate,
    &bench_grad_table_1,
    &bench_grad_table_100,
    &bench_grad_table_10000,
    &bench_grad_logsumexp,
    &bench_grad_softmax,
    &bench_grad_tiny_prepared,
    &bench_grad_tiny_traced,
    &bench_grad_logistic,
    &bench_grad_logistic_own,
    &bench_launch_prepared,
    &bench_launch_traced,
    &bench_launch_queued,
    &bench_replay,
    &bench_tracing,
    &bench_node_bytes,
    &bench_cold_10,
    &bench_cold_100,
    &bench_cold_1000,
    &bench_cold_20000,
    &bench_first_10,
    &bench_first_100,
    &bench_cold_several,
    &bench_disk_10,
    &bench_disk_100,
    &bench_disk_1000,
    &bench_process_start,
    &bench_process_memory,
    NULL,
};
/* clang-format on */
#undef X

typedef struct options {
    const char *rows, *json, *python;
    int threads;
    bool quick, list;
    double budget;
} options;

static bool parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; ++i) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--quick") == 0)
            o->quick = true;
        else if (strcmp(name, "--list") == 0)
            o->list = true;
        else if (!value)
            return false;
        else if (++i, strcmp(name, "--rows") == 0)
            o->rows = value;
        else if (strcmp(name, "--json") == 0)
            o->json = value;
        else if (strcmp(name, "--peers") == 0)
            o->python = value;
        else if (strcmp(name, "--threads") == 0 && atoi(value) > 0 && atoi(value) <= BENCH_THREADS)
            o->threads = atoi(value);
        else if (strcmp(name, "--budget") == 0 && atof(value) > 0)
            o->budget = atof(value);
        else
            return false;
    }
    return true;
}

static bool wanted(const char *list, const char *name)
{
    if (!list)
        return true;
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t len = strcspn(p, ",");
        if (len && strncmp(name, p, len) == 0)
            return true;
    }
    return false;
}

static bool run_row(bench *b, bench_report *report, const bench_row *row)
{
    bench_case *c = calloc(1, sizeof *c);
    if (c)
        c->row = row;
    if (c)
        row->setup(b, c);
    bool good = c && bench_ok(b, wf_last_status(b->ctx), b->ctx, "setup") && !b->error[0];
    if (!good) {
        fprintf(stderr, "weft-bench: %s: %s\n", row->name, b->error[0] ? b->error : "out of memory");
        b->error[0] = 0;
    } else {
        for (int i = 0; i < b->peers; ++i)
            if (bench_peer_prepare(b->peer[i], row->name))
                bench_add(c, bench_peer_name(b->peer[i]), "", NULL)->peer = b->peer[i];
        good = bench_measure(b, row, c);
        bench_report_row(report, row, c);
    }
    bench_case_free(c);
    return good;
}

/* Removes a folder with its files and at most `depth` levels of folders. */
static void remove_folder(const char *path, int depth)
{
    char name[1024];
    DIR *d = opendir(path);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        struct stat s;
        if (lstat(name, &s) == 0 && S_ISDIR(s.st_mode) && depth > 0)
            remove_folder(name, depth - 1);
        else
            unlink(name);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

int main(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    options o = { .threads = cores < BENCH_THREADS ? (int)cores : BENCH_THREADS };
    if (!parse(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    for (int i = 0; o.list && bench_rows[i]; ++i)
        printf("%-20s %s\n", bench_rows[i]->name, bench_rows[i]->what);
    for (int i = 0; o.list && bench_function_row(i); ++i)
        printf("%-20s %s\n", bench_function_row(i)->name, bench_function_row(i)->what);
    if (o.list)
        return 0;
    signal(SIGPIPE, SIG_IGN); /* writing to a dead peer is then an error of that peer alone */

    char scratch[] = "/tmp/weft-bench-XXXXXX", cache[64];
    if (!mkdtemp(scratch)) {
        perror("weft-bench: /tmp");
        return 1;
    }
    snprintf(cache, sizeof cache, "%s/cache", scratch); /* the user's own cache stays as it is */
    bench b = { .threads = o.threads,
                .quick = o.quick,
                .budget = o.budget > 0 ? o.budget
                          : o.quick    ? 0.4
                                       : 4,
                .scratch = scratch };
    wf_config config = { .size = sizeof config, .threads = o.threads, .cache_dir = cache };
    bool good = true;
    b.ctx = wf_context_new(&config);
    b.pool = bench_pool_new(o.threads);
    bench_report *report = NULL;
    if (!b.ctx || !b.pool) {
        fputs("weft-bench: out of memory\n", stderr);
        good = false;
        goto done;
    }
    if (!o.python && access(WEFT_BENCH_PYTHON, X_OK) == 0)
        o.python = WEFT_BENCH_PYTHON;
    if (o.python && strcmp(o.python, "none") != 0 && !bench_peers_start(&b, o.python, WEFT_BENCH_PEER)) {
        fputs("weft-bench: no other system runs\n", stderr);
        good = false;
    }
    report = bench_report_new(o.json, &b);
    if (!report) {
        perror(o.json ? o.json : "weft-bench");
        good = false;
        goto done;
    }
    for (int i = 0; bench_rows[i]; ++i)
        if (wanted(o.rows, bench_rows[i]->name))
            good = run_row(&b, report, bench_rows[i]) && good;
    b.budget /= 4;
    for (int i = 0; bench_function_row(i); ++i)
        if (wanted(o.rows, bench_function_row(i)->name))
            good = run_row(&b, report, bench_function_row(i)) && good;
done:
    if (report && !bench_report_free(report)) {
        fprintf(stderr, "weft-bench: %s was not written\n", o.json);
        good = false;
    }
    bench_peers_stop(&b);
    bench_pool_free(b.pool);
    wf_context_free(b.ctx);
    remove_folder(scratch, 3);
    return !good;
}
