/* stats.c - weft stats: shape, dtype, extremes and moments of files. */
#include "cli.h"
#include "weft/functions.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char help_stats[] =
    "  weft stats micrograph.mrc\n"
    "  weft stats *.mrc\n"
    "  weft stats --json vol.npy\n\n"
    "Prints shape, dtype, minimum, maximum, mean and standard deviation of each file. NaN and infinities are left out,\n"
    "and their number is printed. The statistics of complex values are those of their absolute values.\n\n"
    "  --median               the median and the quartiles, too; they are nan if a value is NaN\n"
    "  --json                 one JSON object for each file, on one line, with all digits\n"
    "  --device NAME          where to compute: cpu, interp, cuda:0, cuda-emu\n"
    "  --threads N            0: all cores (the default)\n";

enum { JSON, MEDIAN };
static const option options[] = { { "json", 0, false }, { "median", 0, false }, { NULL, 0, false } };

typedef struct report {
    bool json, median;
    double quartile[3];
    char low[NUMBER_CAP], high[NUMBER_CAP]; /* exact extremes of i64 and u64; empty for other dtypes */
} report;

/* Returns the bytes of the UTF-8 character at `s`; 0 = the bytes are not UTF-8. */
static int utf8_length(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    int n = u[0] < 0x80 ? 1 : u[0] < 0xC2 ? 0 : u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : u[0] < 0xF5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((u[i] & 0xC0) != 0x80)
            return 0;
    bool too_long = (u[0] == 0xE0 && u[1] < 0xA0) || (u[0] == 0xF0 && u[1] < 0x90);
    bool no_character = (u[0] == 0xED && u[1] > 0x9F) || (u[0] == 0xF4 && u[1] > 0x8F);
    return too_long || no_character ? 0 : n;
}

/* Prints a string of JSON, which is UTF-8. A byte that is no UTF-8 is printed as \udc80 to \udcff, which Python reads as
 * this byte of a file name. */
static void print_json_string(const char *s)
{
    putchar('"');
    while (*s) {
        int n = utf8_length(s);
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if ((unsigned char)*s < ' ')
            printf("\\u%04x", (unsigned)*s);
        else if (n == 0)
            printf("\\udc%02x", (unsigned)(unsigned char)*s);
        else
            fwrite(s, 1, (size_t)n, stdout);
        s += n ? n : 1;
    }
    putchar('"');
}

static void print_json_number(const char *name, double v)
{
    char buf[NUMBER_CAP];
    printf(",\"%s\":%s", name, v - v != 0 ? "null" : shortest_text(v, WF_F64, buf));
}

static void print_json(const char *path, wf_shape shape, wf_dtype dtype, const statistics *s, const report *r)
{
    printf("{\"file\":");
    print_json_string(path);
    printf(",\"shape\":[");
    for (int d = 0; d < shape.rank; d++)
        printf("%s%lld", d ? "," : "", (long long)shape.dim[d]);
    printf("],\"dtype\":\"%s\"", wf_dtype_name(dtype));
    if (*r->low) {
        printf(",\"min\":%s,\"max\":%s", r->low, r->high);
    } else {
        print_json_number("min", s->min);
        print_json_number("max", s->max);
    }
    print_json_number("mean", s->mean);
    print_json_number("std", s->std);
    static const char *const names[] = { "quartile1", "median", "quartile3" };
    for (int k = 0; k < 3 && r->median; k++)
        print_json_number(names[k], r->quartile[k]);
    printf(",\"not_finite\":%lld}\n", (long long)(s->count - s->finite));
}

static bool find_quartiles(wf_context *ctx, const wf_array *a, double *out)
{
    static const double q[] = { 0.25, 0.5, 0.75 };
    const char *want[] = { "v" };
    wf_array *size = wf_dtype_kind(wf_array_dtype(a)) == WF_KIND_COMPLEX ? magnitude(ctx, a) : wf_retain(a),
             *wide = NULL;
    wf_array *found = size ? wf_array_quantiles(size, q, 3, WF_ALL_AXES | WF_DROP_AXES) : NULL;
    bool ok = found && wf_text_create(ctx, "v = f64(a)", WF_ARGS(WF_ARG("a", found)), 0, want, 1, &wide) == WF_OK &&
              wf_download(wide, out, 3 * sizeof *out) == WF_OK;
    wf_release(size);
    wf_release(found);
    wf_release(wide);
    return ok;
}

static int one_file(wf_context *ctx, const char *path, report *r)
{
    char buf[256], line[STATISTICS_CAP];
    statistics s;
    progress_begin(path);
    wf_array *a = wf_load(ctx, path, NULL);
    bool ok = a && compute_statistics(ctx, a, &s) && (!r->median || find_quartiles(ctx, a, r->quartile));
    *r->low = 0;
    if (ok && s.count && (wf_array_dtype(a) == WF_I64 || wf_array_dtype(a) == WF_U64))
        ok = whole_extremes(ctx, a, r->low, r->high);
    progress_end();
    if (!ok) {
        wf_release(a);
        int result = failed_in(ctx);
        wf_clear_error(ctx);
        return result;
    }
    wf_shape shape = wf_array_shape(a);
    wf_dtype dtype = wf_array_dtype(a);
    wf_release(a);
    if (r->json) {
        print_json(path, shape, dtype, &s, r);
        return EXIT_OK;
    }
    printf("%s: %s, %s\n  %s\n", path, shape_text(shape, buf), wf_dtype_name(dtype), statistics_text(&s, "  ", line));
    if (r->median) {
        char q[3][NUMBER_CAP];
        for (int k = 0; k < 3; k++)
            real_text(r->quartile[k], 7, q[k]);
        printf("  median %s  quartiles %s %s\n", q[1], q[0], q[2]);
    }
    if (s.finite != s.count)
        printf("  %lld of %lld values are not finite\n", (long long)(s.count - s.finite), (long long)s.count);
    return EXIT_OK;
}

int run_stats(const command *self, int argc, char **argv)
{
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv };
    const char **files = allocate((size_t)argc, sizeof *files);
    size_t n = 0;
    report r = { 0 };
    int o, result = EXIT_OK;
    while ((o = next_argument(&a)) != ARG_END) {
        if (o == ARG_OPERAND)
            files[n++] = a.value;
        else if (o == JSON)
            r.json = true;
        else if (o == MEDIAN)
            r.median = true;
        else {
            free((void *)files);
            return ended(o);
        }
    }
    wf_context *ctx = NULL;
    if (n == 0)
        result = misused(self, "no file");
    else if (!(ctx = open_context(&a)))
        result = EXIT_USAGE;
    for (size_t i = 0; i < n && ctx; i++) /* continues after a bad file */
        if (one_file(ctx, files[i], &r) != EXIT_OK)
            result = EXIT_FAILED;
    if (ctx)
        wf_context_free(ctx);
    free((void *)files);
    return result;
}
