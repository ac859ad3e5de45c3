/* report.c - the table on stdout and the JSON file, both with a description of the machine. */
#include "bench.h"
#include "kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

struct bench_report {
    const bench *b;
    FILE *json;
    int rows;
};

/* Reads the value after "key : " in the first line of a /proc file that has the key. */
static void proc_value(const char *path, const char *key, char *to, size_t cap)
{
    char line[4096];
    to[0] = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(to, cap, "%s", colon + 1 + strspn(colon + 1, " \t"));
        break;
    }
    if (f)
        fclose(f);
}

static void json_text(FILE *f, const char *text)
{
    fputc('"', f);
    for (const char *p = text; *p; ++p) {
        if (*p == '"' || *p == '\\')
            fputc('\\', f);
        if ((unsigned char)*p >= ' ')
            fputc(*p, f);
    }
    fputc('"', f);
}

static void json_number(FILE *f, double v)
{
    if (isfinite(v))
        fprintf(f, "%.6g", v);
    else
        fputs("null", f);
}

/* The processor's flags for vector instructions. */
static void vector_flags(char *to, size_t cap)
{
    static const char *const known[] = { "sse4_2",   "avx",      "avx2",     "fma",  "avx512f",
                                         "avx512dq", "avx512bw", "avx512vl", "asimd" };
    char flags[4096];
    proc_value("/proc/cpuinfo", "flags", flags, sizeof flags);
    to[0] = 0;
    for (size_t i = 0, n = 0; i < sizeof known / sizeof *known; ++i) {
        const char *at = strstr(flags, known[i]);
        size_t len = strlen(known[i]);
        if (!at || (at[len] != ' ' && at[len]))
            continue;
        n += (size_t)snprintf(to + n, cap - n, "%s%s", n ? " " : "", known[i]);
    }
}

static void describe(bench_report *r)
{
    char cpu[256], flags[256], date[32], memory[64], cache[64] = "";
    struct utsname os;
    wf_info info = { .size = sizeof info };
    wf_get_info(r->b->ctx, true, &info);
    proc_value("/proc/cpuinfo", "model name", cpu, sizeof cpu);
    proc_value("/proc/meminfo", "MemTotal", memory, sizeof memory);
    vector_flags(flags, sizeof flags);
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef _SC_LEVEL1_DCACHE_SIZE
    snprintf(cache, sizeof cache, "%ld/%ld/%ld", sysconf(_SC_LEVEL1_DCACHE_SIZE) / 1024,
             sysconf(_SC_LEVEL2_CACHE_SIZE) / 1024, sysconf(_SC_LEVEL3_CACHE_SIZE) / 1024);
#endif
    if (uname(&os) != 0)
        snprintf(os.release, sizeof os.release, "unknown");
    printf("%s, %ld cores, L1/L2/L3 %s KiB, %s; %s %s\n", cpu, cores, cache, flags, os.sysname, os.release);
    printf("weft %s (%s, LLVM %d), C by %s (best effort: %s), %d threads, %s\n", wf_version(), info.isa,
           info.llvm_major, __VERSION__, bench_best_isa(), r->b->threads, date);
    for (int i = 0; i < r->b->peers; ++i)
        printf("%s %s\n", bench_peer_name(r->b->peer[i]), bench_peer_version(r->b->peer[i]));
    if (!r->json)
        return;
    const char *const text[][2] = {
        { "date", date },     { "cpu", cpu },           { "flags", flags },          { "cache_kib", cache },
        { "memory", memory }, { "system", os.release }, { "compiler", __VERSION__ }, { "weft", wf_version() },
        { "isa", info.isa },
    };
    fputs("{\n\"machine\": {", r->json);
    for (size_t i = 0; i < sizeof text / sizeof *text; ++i) {
        fprintf(r->json, "%s\n  \"%s\": ", i ? "," : "", text[i][0]);
        json_text(r->json, text[i][1]);
    }
    fprintf(r->json, ",\n  \"cores\": %ld,\n  \"threads\": %d,\n  \"llvm\": %d,\n  \"quick\": %s", cores, r->b->threads,
            info.llvm_major, r->b->quick ? "true" : "false");
    for (int i = 0; i < r->b->peers; ++i) {
        fprintf(r->json, ",\n  \"%s\": ", bench_peer_name(r->b->peer[i]));
        json_text(r->json, bench_peer_version(r->b->peer[i]));
    }
    fputs("\n},\n\"rows\": [", r->json);
}

bench_report *bench_report_new(const char *json_path, const bench *b)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    bench_report *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->b = b;
    if (json_path && !(r->json = fopen(json_path, "w"))) {
        free(r);
        return NULL;
    }
    describe(r);
    return r;
}

void bench_report_row(bench_report *r, const bench_row *row, const bench_case *c)
{
    printf("\n%s: %s; %s; %d turns", row->name, row->what, row->unit, c->rounds);
    if (row->target)
        printf("; target %s", row->target);
    printf("\n    %-34s %10s %10s   %s\n", "", "median", "min", "weft / this (quartiles)");
    for (int i = 0; i < c->n; ++i) {
        const bench_contender *x = &c->at[i];
        char name[96];
        snprintf(name, sizeof name, "%s%s%s%s", x->who, *x->variant ? " (" : "", x->variant, *x->variant ? ")" : "");
        if (isnan(x->median)) {
            printf("    %-34s %10s\n", name, "failed");
            continue;
        }
        bool counts = bench_fastest(c, x->who) == x;
        printf("  %c %-34s %10.4g %10.4g", counts ? '*' : ' ', name, x->median * row->scale, x->min * row->scale);
        if (strcmp(x->who, "weft") != 0 && isfinite(x->ratio))
            printf("   %.3f (%.3f to %.3f)", x->ratio, x->ratio_low, x->ratio_high);
        putchar('\n');
    }
    fflush(stdout);
    if (!r->json)
        return;
    fprintf(r->json, "%s\n{ \"name\": \"%s\", \"what\": ", r->rows++ ? "," : "", row->name);
    json_text(r->json, row->what);
    fprintf(r->json, ", \"unit\": \"%s\", \"target\": ", row->unit);
    json_text(r->json, row->target ? row->target : "");
    fprintf(r->json, ", \"turns\": %d, \"results\": [", c->rounds);
    for (int i = 0; i < c->n; ++i) {
        const bench_contender *x = &c->at[i];
        fprintf(r->json, "%s\n  { \"who\": ", i ? "," : "");
        json_text(r->json, x->who);
        fputs(", \"variant\": ", r->json);
        json_text(r->json, x->variant);
        const double figure[] = { x->median * row->scale, x->min * row->scale, x->ratio, x->ratio_low, x->ratio_high };
        static const char *const name[] = { "median", "min", "weft_over_this", "ratio_q1", "ratio_q3" };
        for (int k = 0; k < 5; ++k) {
            fprintf(r->json, ", \"%s\": ", name[k]);
            json_number(r->json, figure[k]);
        }
        fputs(" }", r->json);
    }
    fputs(" ] }", r->json);
}

bool bench_report_free(bench_report *r)
{
    bool good = true;
    if (r->json) {
        fputs("\n]\n}\n", r->json);
        good = ferror(r->json) == 0;
        good = fclose(r->json) == 0 && good;
    }
    free(r);
    return good;
}
