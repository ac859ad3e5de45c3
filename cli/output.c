/* output.c - whether a result can be written to a path, before the work begins, and what options say of it. */
#include "cli.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The absolute path after all links, also of a file that does not exist yet. NULL if its folder does not exist. The
 * caller frees it. */
static char *whole_path(const char *path)
{
    enum { LINKS = 40 };
    char *at = append(NULL, "%s", path), *whole = NULL, target[PATH_MAX];
    for (int i = 0; i < LINKS; i++) {
        const char *slash = strrchr(at, '/'), *name = slash ? slash + 1 : at;
        char *folder = slash ? append(NULL, "%.*s/", (int)(slash - at), at) : append(NULL, "."),
             *real = realpath(folder, NULL);
        free(folder);
        free(whole);
        whole = real ? append(NULL, "%s/%s", real, name) : NULL;
        ssize_t n = whole ? readlink(whole, target, sizeof target - 1) : -1;
        if (n > 0) {
            target[n] = 0;
            free(at);
            at = *target == '/' ? append(NULL, "%s", target) : append(NULL, "%s/%s", real, target);
        }
        free(real);
        if (n <= 0)
            break;
    }
    free(at);
    return whole;
}

bool same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0)
        return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    char *whole_a = whole_path(a), *whole_b = whole_path(b);
    bool same = strcmp(a, b) == 0 || (whole_a && whole_b && strcmp(whole_a, whole_b) == 0);
    free(whole_a);
    free(whole_b);
    return same;
}

/* The reason why wf_save would fail at this path, as far as file attributes tell; else NULL. Shortens the path. */
static const char *unwritable(char *whole)
{
    struct stat info;
    bool there = stat(whole, &info) == 0;
    if (there && S_ISDIR(info.st_mode))
        return "this is a folder";
    if (there && !S_ISREG(info.st_mode))
        return "this is not a regular file";
    if (there && access(whole, W_OK) != 0)
        return "the file may not be written";
    strrchr(whole, '/')[1] = 0; /* wf_save makes a new file in the folder, then renames it */
    return access(whole, W_OK | X_OK) != 0 ? "the folder may not be written" : NULL;
}

int check_output(const arguments *a, wf_context *ctx, const char *path, wf_format only)
{
    wf_format format = WF_FORMAT_BY_NAME;
    if (strcmp(path, "-") == 0)
        return misused(a->command, "-o -: results go to files, not to standard output");
    wf_status status = wf_format_named(ctx, path, &format);
    if (only && format != only)
        return misused(a->command, "-o %s: the picture is a PNG; give a name that ends in .png", path);
    if (status != WF_OK)
        return misused(a->command, "-o %s", wf_last_message(ctx));
    char *whole = whole_path(path);
    if (!whole)
        return failed("-o %s: the folder does not exist, or cannot be entered", path);
    const char *problem = unwritable(whole);
    free(whole);
    return problem ? failed("-o %s: %s", path, problem) : EXIT_OK;
}

/* Returns the number of elements for which the text gives true. 0: none, or it cannot be computed. */
static int64_t count_where(wf_context *ctx, const char *text, const wf_array *array)
{
    const char *want[] = { "changed" };
    wf_array *count = NULL;
    int64_t n = 0;
    if (wf_text_create(ctx, text, WF_ARGS(WF_ARG("a", array)), 0, want, 1, &count) != WF_OK ||
        wf_download(count, &n, sizeof n) != WF_OK)
        wf_clear_error(ctx);
    wf_release(count);
    return n;
}

void warn_of_changes(wf_context *ctx, const wf_array *array, const char *path, const wf_meta *meta)
{
    wf_dtype of = wf_array_dtype(array), in = of;
    const char *from = wf_dtype_name(of);
    char text[160];
    if (meta->store_as != WF_STORED_DEFAULT || wf_probe(ctx, path, NULL, &in, NULL) != WF_OK || in != WF_F32 ||
        of == in) {
        wf_clear_error(ctx);
        return;
    }
    bool integers = wf_dtype_kind(of) == WF_KIND_SIGNED || wf_dtype_kind(of) == WF_KIND_UNSIGNED;
    if (integers) /* casts saturate, so the largest integer would come back from the power of 2 above */
        snprintf(text, sizeof text, "changed = i64(count(%s(f32(a)) != a || f32(a) >= 2.0**%d))", from,
                 8 * (int)wf_dtype_size(of) - (wf_dtype_kind(of) == WF_KIND_SIGNED));
    else
        snprintf(text, sizeof text, "changed = i64(count(isinf(f32(a)) && !isinf(a)))");
    int64_t n = wf_dtype_size(of) > 2 && wf_dtype_kind(of) != WF_KIND_COMPLEX ? count_where(ctx, text, array) : 0;
    if (n > 0 && integers)
        (void)failed(
            "warning: %s: %lld of the integers (%s) have other values as f32, the type of the file; .npy and .tif "
            "hold them",
            path, (long long)n, from);
    else if (n > 0)
        (void)failed(
            "warning: %s: %lld of the numbers (%s) are beyond the range of f32, the type of the file; .npy and "
            ".tif hold them",
            path, (long long)n, from);
}

/* ---- facts ---- */
/* The message for --dtype `text`; returns EXIT_USAGE. */
static int no_such_stored(const command *c, const char *text)
{
    char *names = NULL;
    for (int s = WF_STORED_DEFAULT + 1; wf_stored_name((wf_stored)s); s++)
        names = append(names, "%s%s", names ? " " : "", wf_stored_name((wf_stored)s));
    misused(c, "--dtype %s: no such type in files; there are %s", text, names);
    free(names);
    return EXIT_USAGE;
}

int take_fact(const command *self, facts *f, int fact, const char *text)
{
    long n = 0;
    switch (fact) {
    case FACT_DTYPE:
        f->store_as = parse_stored(text);
        return f->store_as == WF_STORED_DEFAULT ? no_such_stored(self, text) : EXIT_OK;
    case FACT_PIXEL:
        if (!parse_spacing(text, f->spacing))
            return misused(self, "--pixel %s: give Angstrom above 0, as 1.2 or 1.2,1.2 or 2,1.2,1.2", text);
        return EXIT_OK;
    case FACT_STACK:
        f->stack = true;
        break;
    case FACT_COARSEST:
        if (!parse_int(text, 1, INT32_MAX, &n))
            return misused(self, "--coarsest %s: give a number of samples, as 256", text);
        f->coarsest = (int32_t)n;
        f->pyramid = true;
        return EXIT_OK;
    case FACT_PYRAMID:
        f->pyramid = true;
        return EXIT_OK;
    case FACT_ORIGIN: {
        double at[3];
        f->origin_axes = parse_list(text, at, 3);
        if (f->origin_axes < 2)
            return misused(self, "--origin %s: give Angstrom along z,y,x or y,x", text);
        memcpy(f->origin + 3 - f->origin_axes, at, (size_t)f->origin_axes * sizeof *at);
        return EXIT_OK;
    }
    default:
        f->volume = true;
        break;
    }
    return f->stack && f->volume ? misused(self, "--stack or --volume, not both") : EXIT_OK;
}

int check_facts(const command *self, wf_context *ctx, const facts *f, const char *path)
{
    wf_format format = WF_FORMAT_BY_NAME;
    if (wf_format_named(ctx, path, &format) != WF_OK)
        return failed_in(ctx);
    static const char *const stack_suffixes[] = { ".mrcs", ".st", ".ali", ".mrcs.gz", ".st.gz", ".ali.gz" };
    const char *of_stacks = NULL;
    for (size_t i = 0; i < sizeof stack_suffixes / sizeof *stack_suffixes; i++)
        if (has_suffix(path, stack_suffixes[i]))
            of_stacks = stack_suffixes[i];
    bool ome = has_suffix(path, ".ome.tif") || has_suffix(path, ".ome.tiff") || has_suffix(path, ".ome.zarr");
    if (f->spacing[0] > 0 && format != WF_FORMAT_MRC && format != WF_FORMAT_TIFF && !ome)
        return misused(self, "--pixel: %s has no place for a pixel size; MRC, TIFF and .ome.zarr have", path);
    if (f->origin_axes && format != WF_FORMAT_MRC && !has_suffix(path, ".ome.zarr"))
        return misused(self, "--origin: %s has no place for an origin; MRC and .ome.zarr have", path);
    if ((f->stack || f->volume) && format != WF_FORMAT_MRC && !ome)
        return misused(self, "--%s: only MRC and OME files say that, and %s is none", f->stack ? "stack" : "volume",
                       path);
    if (f->pyramid && !has_suffix(path, ".ome.zarr"))
        return misused(self, "--%s: only .ome.zarr has levels, and %s is another file",
                       f->coarsest ? "coarsest" : "pyramid", path);
    if (f->volume && of_stacks)
        return misused(self, "--volume: the suffix %s is that of a stack", of_stacks);
    return EXIT_OK;
}

void set_spacing(wf_meta *meta, const double spacing[3])
{
    bool follows = true;
    for (int d = 0; d < 3; d++)
        follows = follows && meta->origin[d] == meta->start[d] * meta->spacing[d];
    for (int d = 0; d < 3; d++) {
        meta->spacing[d] = spacing[d];
        if (follows)
            meta->origin[d] = meta->start[d] * spacing[d];
    }
}

void apply_origin(const facts *f, wf_meta *meta)
{
    for (int d = 3 - f->origin_axes; d < 3; d++)
        meta->origin[d] = f->origin[d];
    if (f->origin_axes)
        memset(meta->start, 0, sizeof meta->start);
}

void apply_facts(const facts *f, wf_meta *meta)
{
    meta->size = sizeof *meta;
    meta->store_as = f->store_as;
    meta->is_stack = (meta->is_stack || f->stack) && !f->volume;
    meta->pyramid = f->pyramid;
    meta->coarsest = f->coarsest;
    if (f->spacing[0] > 0)
        set_spacing(meta, f->spacing);
    apply_origin(f, meta);
}

/* ---- movies ---- */
int take_movie(const command *self, wf_movie *m, int which, const char *text)
{
    long n = 0;
    m->size = sizeof *m;
    switch (which) {
    case MOVIE_GAIN:
        m->gain = text;
        return EXIT_OK;
    case MOVIE_DIVIDE:
        m->divide = true;
        return EXIT_OK;
    case MOVIE_GAIN_ROTATION:
        if (!parse_int(text, 0, 3, &n))
            return misused(self, "--gain-rot %s: give a number of quarter turns, 0 to 3", text);
        m->gain_rotation = (int32_t)n;
        return EXIT_OK;
    case MOVIE_GAIN_FLIP:
        if (!parse_int(text, 0, 2, &n))
            return misused(self, "--gain-flip %s: give 0, 1 (upside down) or 2 (left to right)", text);
        m->gain_flip = (int32_t)n;
        return EXIT_OK;
    case MOVIE_GROUP:
        if (!parse_int(text, 1, 1L << 31, &n))
            return misused(self, "--group %s: give a number of frames", text);
        m->group = n;
        return EXIT_OK;
    default:
        if (!parse_int(text, 1, 256, &n) || (n & (n - 1)))
            return misused(self, "--upsample %s: give 1, 2, 4, ...", text);
        m->factor = (int32_t)n;
        return EXIT_OK;
    }
}

/* ---- axes ---- */
int image_rank(wf_shape shape, bool stack) { return shape.rank <= 2 || (shape.rank == 3 && stack) ? 2 : 3; }
