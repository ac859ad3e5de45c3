/* peers.c - other systems as child processes. Each child has the same workloads on inputs of the same size and range, and
 * waits for orders, so that its turns alternate with Weft's. An order is one line, its answer another:
 *
 *     child  ready NAME VERSION
 *     prepare ROW       ok | no REASON       makes inputs, compiles, checks the result
 *     run CALLS         SECONDS per call | error TEXT
 *     (end of input)    the child ends
 */
#include "bench.h"
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct bench_peer {
    char name[32], version[96];
    pid_t pid;
    FILE *to, *from;
};

const char *bench_peer_name(const bench_peer *peer) { return peer->name; }
const char *bench_peer_version(const bench_peer *peer) { return peer->version; }

static void stop(bench_peer *p)
{
    if (p->to)
        fclose(p->to);
    if (p->from)
        fclose(p->from);
    waitpid(p->pid, NULL, 0);
    free(p);
}

static bench_peer *start(const bench *b, const char *python, const char *script, const char *name)
{
    int to[2], from[2];
    char threads[16];
    bench_peer *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    if (pipe2(to, O_CLOEXEC) != 0) {
        free(p);
        return NULL;
    }
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]);
        close(to[1]);
        free(p);
        return NULL;
    }
    snprintf(threads, sizeof threads, "%d", b->threads);
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        execl(python, python, script, name, threads, b->scratch, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    p->to = fdopen(to[1], "w");
    p->from = fdopen(from[0], "r");
    if (p->pid < 0 || !p->to || !p->from || fscanf(p->from, "ready %31s %95[^\n]", p->name, p->version) != 2) {
        fprintf(stderr, "weft-bench: %s cannot run here\n", name);
        stop(p);
        return NULL;
    }
    getc(p->from);
    return p;
}

bool bench_peers_start(bench *b, const char *python, const char *script)
{
    static const char *const names[] = { "drjit", "jax", "numexpr", "numpy", "scipy", "skimage", "cv2" };
    for (size_t i = 0; i < sizeof names / sizeof *names && b->peers < BENCH_PEERS; ++i) {
        bench_peer *p = start(b, python, script, names[i]);
        if (p)
            b->peer[b->peers++] = p;
    }
    return b->peers > 0;
}

void bench_peers_stop(bench *b)
{
    for (int i = 0; i < b->peers; ++i)
        stop(b->peer[i]);
    b->peers = 0;
}

bool bench_peer_prepare(bench_peer *p, const char *row)
{
    char line[512];
    if (fprintf(p->to, "prepare %s\n", row) < 0 || fflush(p->to) != 0 || !fgets(line, sizeof line, p->from))
        return false;
    if (strncmp(line, "ok", 2) == 0)
        return true;
    if (strncmp(line, "no", 2) != 0)
        fprintf(stderr, "weft-bench: %s: %s: %s", row, p->name, line);
    return false;
}

double bench_peer_run(bench_peer *p, int64_t calls)
{
    enum { SETTLE = 6000000 }; /* nanoseconds for which the child's threads may spin after the work */
    char line[512], *end;
    if (fprintf(p->to, "run %lld\n", (long long)calls) < 0 || fflush(p->to) != 0 || !fgets(line, sizeof line, p->from))
        return NAN;
    double seconds = strtod(line, &end);
    nanosleep(&(struct timespec){ .tv_nsec = SETTLE }, NULL);
    if (end != line)
        return seconds;
    fprintf(stderr, "weft-bench: %s: %s", p->name, line);
    return NAN;
}
