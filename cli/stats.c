/* stats.c - weft stats: what is in a file, as numbers. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char help_stats[] =
    "  weft stats micrograph.mrc\n"
    "  weft stats *.mrc\n"
    "  weft stats --json vol.npy\n\n"
    "Shape, dtype, minimum, maximum, mean and standard deviation, from one pass over each file. Values that are not\n"
    "finite are left out and counted. Of complex values: of their absolute values.\n\n"
    "  --json                 one JSON object per line, with all digits\n"
    "  --device cpu|interp    where to compute\n"
    "  --threads N            0: all cores (the default)\n";

enum { JSON };
static const option options[] = { { "json", 0, false }, { NULL, 0, false } };

static void print_json_string(const char *s)
{
    putchar('"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if ((unsigned char)*s < ' ')
            printf("\\u%04x", (unsigned)*s);
        else
            putchar(*s);
    }
    putchar('"');
}

static void print_json_number(const char *name, double v)
{
    if (v - v != 0)
        printf(",\"%s\":null", name);
    else
        printf(",\"%s\":%.17g", name, v);
}

static void print_json(const char *path, wf_shape shape, wf_dtype dtype, const statistics *s)
{
    printf("{\"file\":");
    print_json_string(path);
    printf(",\"shape\":[");
    for (int d = 0; d < shape.rank; d++)
        printf("%s%lld", d ? "," : "", (long long)shape.dim[d]);
    printf("],\"dtype\":\"%s\"", wf_dtype_name(dtype));
    print_json_number("min", s->min);
    print_json_number("max", s->max);
    print_json_number("mean", s->mean);
    print_json_number("std", s->std);
    printf(",\"not_finite\":%lld}\n", (long long)(s->count - s->finite));
}

static int one_file(wf_context *ctx, const char *path, bool json)
{
    char buf[256];
    statistics s;
    progress_begin(path);
    wf_array *a = wf_load(ctx, path, NULL);
    bool ok = a && compute_statistics(ctx, a, &s);
    progress_end();
    if (!ok) {
        wf_release(a);
        int result = failed_in(ctx);
        wf_clear(ctx);
        return result;
    }
    wf_shape shape = wf_array_shape(a);
    wf_dtype dtype = wf_array_dtype(a);
    wf_release(a);
    if (json) {
        print_json(path, shape, dtype, &s);
        return EXIT_OK;
    }
    printf("%s: %s, %s\n  min %.7g  max %.7g  mean %.7g  std %.7g\n", path, shape_text(shape, buf),
           wf_dtype_name(dtype), s.min, s.max, s.mean, s.std);
    if (s.finite != s.count)
        printf("  %lld of %lld values are not finite\n", (long long)(s.count - s.finite), (long long)s.count);
    return EXIT_OK;
}

int run_stats(const command *self, int argc, char **argv)
{
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv };
    const char **files = allocate((size_t)argc, sizeof *files);
    size_t n = 0;
    bool json = false;
    int o, result = EXIT_OK;
    while ((o = next_argument(&a)) != ARG_END) {
        if (o == ARG_OPERAND)
            files[n++] = a.value;
        else if (o == JSON)
            json = true;
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
    for (size_t i = 0; i < n && ctx; i++) /* a bad file does not hide the others */
        if (one_file(ctx, files[i], json) != EXIT_OK)
            result = EXIT_FAILED;
    if (ctx)
        wf_context_free(ctx);
    free((void *)files);
    return result;
}
