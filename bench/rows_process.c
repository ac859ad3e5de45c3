/* rows_process.c - whole processes: the time from fork to exit of a process that runs one cached kernel, its memory, and
 * the memory of a recording. Each measurement is a child process (child_weft.c; in plain C child_plain.c). */
#include "bench.h"
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct process_row {
    bench *b;
    char cache[256];
} process_row;

/* Runs a program to its end. Its standard output goes to `out` of `cap` bytes, which may be NULL. Returns seconds; NaN =
 * failed. */
static double run(bench *b, const char *const *argv, char *out, size_t cap)
{
    int to[2], status = 0;
    pid_t pid;
    size_t n = 0;
    if (pipe2(to, O_CLOEXEC) != 0)
        return NAN;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[1], 1);
    double start = bench_now();
    int error = posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    close(to[1]);
    char buffer[256];
    for (ssize_t k; error == 0 && (k = read(to[0], buffer, sizeof buffer)) > 0;)
        for (ssize_t i = 0; i < k; ++i)
            if (out && n + 1 < cap)
                out[n++] = buffer[i];
    if (error == 0)
        waitpid(pid, &status, 0);
    double seconds = bench_now() - start;
    if (cap)
        out[n] = 0;
    close(to[0]);
    posix_spawn_file_actions_destroy(&actions);
    if (error == 0 && status == 0)
        return seconds;
    bench_fail(b, "%s %s: %s %d", argv[0], argv[1], error ? strerror(error) : "status", error ? error : status);
    return NAN;
}

static double weft_start(void *data)
{
    process_row *r = data;
    return run(r->b, (const char *const[]){ WEFT_BENCH_CHILD_WEFT, "cached", r->cache, NULL }, NULL, 0);
}
static double plain_start(void *data)
{
    process_row *r = data;
    return run(r->b, (const char *const[]){ WEFT_BENCH_CHILD, "run", NULL }, NULL, 0);
}

/* The number that a child process prints. */
static double told(process_row *r, const char *const *argv)
{
    char text[64];
    double seconds = run(r->b, argv, text, sizeof text);
    return isnan(seconds) ? NAN : atof(text);
}
static double weft_memory(void *data)
{
    process_row *r = data;
    return told(r, (const char *const[]){ WEFT_BENCH_CHILD_WEFT, "cached-memory", r->cache, NULL });
}
static double weft_memory_llvm(void *data)
{
    process_row *r = data;
    return told(r, (const char *const[]){ WEFT_BENCH_CHILD_WEFT, "compiled-memory", "", NULL });
}
static double plain_memory(void *data)
{
    process_row *r = data;
    return told(r, (const char *const[]){ WEFT_BENCH_CHILD, "memory", NULL });
}
static double node_bytes(void *data)
{
    process_row *r = data;
    return told(r, (const char *const[]){ WEFT_BENCH_CHILD_WEFT, "node-bytes", "", NULL });
}

static const bench_kind kind = { sizeof(process_row), NULL, NULL, NULL };

static process_row *setup(bench *b, bench_case *c)
{
    process_row *r = bench_data(b, c, &kind);
    if (!r)
        return NULL;
    r->b = b;
    snprintf(r->cache, sizeof r->cache, "%s/process", b->scratch);
    return r;
}

static void fill_cache(process_row *r)
{
    if (r)
        run(r->b, (const char *const[]){ WEFT_BENCH_CHILD_WEFT, "compiled", r->cache, NULL }, NULL, 0);
}

static void start(bench *b, bench_case *c)
{
    fill_cache(setup(b, c));
    bench_add_figure(c, "weft", "", weft_start);
    bench_add_figure(c, "plain", "no library", plain_start);
}

static void memory(bench *b, bench_case *c)
{
    fill_cache(setup(b, c));
    bench_add_figure(c, "weft", "cached kernel", weft_memory)->once = true;
    bench_add_figure(c, "weft", "compiling it, LLVM open", weft_memory_llvm)->once = true;
    bench_add_figure(c, "plain", "no library", plain_memory)->once = true;
}

static void nodes(bench *b, bench_case *c)
{
    setup(b, c);
    bench_add_figure(c, "weft", "", node_bytes)->once = true;
}

const bench_row bench_process_start = {
    "process_start", "fork, exec, one cached kernel, exit", "ms", 1e3, "<= 3 ms", start, NULL
};
const bench_row bench_process_memory = {
    "process_memory", "largest resident size of such a process", "MiB", 1, NULL, memory, NULL
};
const bench_row bench_node_bytes = {
    "node_bytes", "memory of one recorded operation, with its constants", "bytes", 1, "<= 40 bytes", nodes, NULL
};
