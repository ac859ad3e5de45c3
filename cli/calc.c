/* calc.c - weft calc: operator text on files. */
#include "calc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRINTED = 16 };

const char help_calc[] =
    "  weft calc 'out = sqrt(gx*gx + gy*gy)' gx=a.mrc gy=b.mrc -o out.mrc\n"
    "  weft calc 'img * gain - dark' img=raw.tif dark=dark.tif gain=1.7 -o clean.mrc\n"
    "  weft calc 'n = (a - mean(a)) / std(a); m = n > 3' a=vol.mrc -o n=n.mrc -o m=mask.mrc\n"
    "  weft calc 'e = a[y, x+1; clamp] - a[y, x-1; clamp]' a=photo.png -o edges.npy\n"
    "  weft calc 'n = (a - mean(a))/std(a); out = (n[y, x-1] + 2*n + n[y, x+1])/4' a=photo.png -o smooth.npy\n"
    "  weft calc 'hypot = sqrt((x-nx/2)**2 + (y-ny/2)**2)' --shape 512,512 -o cone.npy\n"
    "  weft calc 'out = (a[2*y, 2*x] + a[2*y+1, 2*x] + a[2*y, 2*x+1] + a[2*y+1, 2*x+1])/4' --shape 20,25 a=m.mrc -o b.mrc\n"
    "  weft calc 'f32 s = 0; for (int k = -4; k <= 4; k++) s += a[y, x+k]; out = s/9' a=photo.png -o blurred.npy\n"
    "  weft calc 'rotate(bandpass(a, 0.02, 0.3, 0.01), pi/6)' a=m.mrc -o view.mrc\n"
    "  weft calc 'max(a) - min(a)' a=vol.mrc            prints the number\n"
    "  mpirun -n 4 weft calc 'out = (a - mean(a)) / std(a)' a=vol.mrc -o out.mrc\n\n"
    "The text is statements 'name = expression', separated by ';' or new lines. The last may be an expression.\n"
    "A line that begins with an operator continues the line before it.\n"
    "The text may begin with '-'. Put '--' before a text that begins with an option: -o, -f or -h.\n"
    "Arguments name files (name=file: MRC, NPY, TIFF, PNG, EER, Zarr) and numbers (name=2.5, nan, -inf). Arrays\n"
    "broadcast, as in NumPy.\n\n"
    "  operators     ?: || && | ^ & == != < <= > >= << >> + - * / % ** ! ~   as in C; ** is the power\n"
    "  coordinates   x y z (last, second-last, third-last axis), sizes nx ny nz; i0 i1 ..., n0 n1 ... by number\n"
    "  neighbours    a[y-1, x] of an input or a computed name; outside is zero; a[y-1, x; clamp], or mirror, reflect,\n"
    "                periodic, or a value; between elements: a[y + 0.5, x; linear], or cubic, lanczos8, ...\n"
    "  functions     sqrt exp log sin cos tan atan2 tanh pow abs min max clamp floor round select ...\n"
    "  whole arrays  sum prod mean var std min max argmin argmax any all count; along axes: mean(a; 0, -1)\n"
    "                median(a), quantile(a, 0.99), histogram(a, 64); along one axis: cumsum(a; -1) sort argsort ...\n"
    "                fft(a) ifft rfft irfft dct; lowpass(a, 0.2, 0.02) bandpass(a, 0.02, 0.3) whiten ctf phase_flip;\n"
    "                gaussian_filter(a, 2) median_filter(a, 3) convolve(a, k) erode dilate; rotate(a, pi/6)\n"
    "                shift(a, 1.5, -2) scale bin(a, 2); correlate(a, b) match_template fsc radial_power ...\n"
    "  derivatives   g = grad(L, a); ga, gb = grad(L, a, b); grad(u, a; seed); tangent(u, a, da); stop(u): a constant;\n"
    "                replace_gradient(u, of): u with the derivative of `of`\n"
    "  conversions   f32(a) i16(a) u8(a) bool(a) ...;   constants: pi inf nan true false\n"
    "  programs      as in C, at every point: f32 s = 0; int n; s += a; n++; if (c) {...} else {...};\n"
    "                while (c) {...}; for (int k = 0; k < 5; k++) {...}; break; continue; out[y, x] = s;\n"
    "                global i32 h[256]; h[i64(a)]++   one array for all points\n"
    "                docs/text.md describes all of it\n\n"
    "  -o FILE, -o NAME=FILE  stores the last result, or the result of that name. The suffix selects MRC, NPY,\n"
    "                         TIFF, PNG or Zarr. Pixel size, labels and the like are those of the first input; so is\n"
    "                         the extended header of an MRC file, if the result has its shape. The pixel size is\n"
    "                         doubled along axes that read the input as a[2*y, 2*x] does, and k times as large after\n"
    "                         bin(a, k).\n"
    "                         Without -o the last result is printed. Results of up to 16 values are printed value by\n"
    "                         value: integers with all digits, other numbers with the fewest digits that read back\n"
    "                         as the same value. Of larger results dtype, shape and statistics are printed.\n"
    "  -f, --file FILE        the text is in FILE\n"
    "  --dtype TYPE           the type of values in the file: u8 i16 u16 f16 f32 ...; rounded, cut to the range\n"
    "  --shape Y,X            the shape of coordinates and programs; inputs of other shapes are read by index.\n"
    "                         Without it, the shape follows from the inputs\n"
    "  --chunk N              computes N images of a stack at a time, as if there were no others, so that stacks may be\n"
    "                         larger than memory. Sums over whole arrays, z and nz are those of the N images\n"
    "  --memory 2G            arrays that would take more memory are on the disk: MRC and NPY files are read and written\n"
    "                         in place, other arrays lie in files in $TMPDIR, else in /var/tmp\n"
    "  --pixel A              the pixel size of results in Angstrom: 1.2, or 1.2,1.3 (y, x), or 2,1.2,1.2 (z, y, x)\n"
    "  --stack, --volume      what the first of three axes of a result is, if the first input does not say it\n" STORED_HELP
    "  --device NAME          where to compute: cpu, interp, cuda:0 (an NVIDIA GPU), cuda-emu (emulated, with checks)\n"
    "  --threads N            0: all cores (the default)\n"
    "  --fast-math            fused multiply-add, division by constants as multiplication; NaN and inf may be lost\n"
    "  --alone                under mpirun: each process computes all by itself. Without it they compute together: inputs\n"
    "                         are divided along their first axis, and the files are those that one process writes\n"
    "  --time                 prints the time of each step\n"
    "  --history              prints the times and a table of the kernels that ran: operations recorded, folded,\n"
    "                         found equal and dead; the source of plan and code; times; how each ran; why one was\n"
    "                         compiled again\n";

/* ---- command line ---- */

enum { CHUNK = CALC_OPTION_COUNT, MEMORY, TIME, HISTORY, ALONE };
static const option options[] = { CALC_OPTIONS,         { "chunk", 0, true },    { "memory", 0, true },
                                  { "time", 0, false }, { "history", 0, false }, { "alone", 0, false },
                                  { NULL, 0, false } };

/* Returns an exit code, or -1 = go on. */
static int read_arguments(calc *c, arguments *a)
{
    int result;
    a->text_wanted = true;
    for (int o = next_argument(a); o != ARG_END; o = next_argument(a)) {
        switch (o) {
        case CHUNK:
            if (!parse_count(a->value, &c->chunk))
                return misused(c->self, "--chunk %s: give a number of images, as 8", a->value);
            break;
        case MEMORY:
            if (!parse_bytes(a->value, &c->memory))
                return misused(c->self, "--memory %s: give bytes, as 2G, 500M or 1e9", a->value);
            a->memory_bytes = (uint64_t)c->memory;
            a->host_only = true;
            break;
        case HISTORY:
            a->history = c->history = c->time = true;
            break;
        case TIME:
            c->time = true;
            break;
        case ALONE: /* ranks_begin has seen it */
            break;
        default:
            if ((result = calc_argument(c, a, o)) >= 0)
                return result;
        }
    }
    if ((result = calc_check_text(c)) >= 0)
        return result;
    const facts *f = &c->facts;
    if (f->store_as && !c->outs)
        return misused(c->self, "--dtype says how a file stores values; -o names one");
    if ((f->stack || f->volume || f->spacing[0] > 0 || f->pyramid || f->origin_axes) && !c->outs)
        return misused(c->self, "--pixel, --origin, --stack, --volume and --pyramid are for files; -o names one");
    if (c->chunk && c->shape.rank)
        return misused(c->self, "--chunk or --shape, not both");
    if (c->chunk && !c->outs)
        return misused(c->self, "--chunk writes stacks; -o names one");
    if (c->chunk && c->memory)
        return misused(c->self, "--chunk or --memory, not both");
    if (c->ranks && (c->chunk || c->memory))
        return misused(c->self, "--chunk and --memory are for one process");
    return -1;
}

/* ---- work ---- */

static int print_few(calc *c, const wf_array *a)
{
    wf_array *all = wf_array_collect(a);
    bool printed = all && print_values(c->ctx, all);
    wf_release(all);
    return printed ? EXIT_OK : failed_in(c->ctx);
}

static int print_result(calc *c, const wf_array *a)
{
    char shape[256], line[STATISTICS_CAP];
    statistics s;
    if (wf_array_count(a) == 0) {
        printf("%s of %s: no values\n", wf_dtype_name(wf_array_dtype(a)), shape_text(wf_array_shape(a), shape));
        return EXIT_OK;
    }
    if (wf_array_count(a) <= PRINTED)
        return print_few(c, a);
    if (!compute_statistics(c->ctx, a, &s))
        return failed_in(c->ctx);
    printf("%s of %s: %s\n", wf_dtype_name(wf_array_dtype(a)), shape_text(wf_array_shape(a), shape),
           statistics_text(&s, " ", line));
    return EXIT_OK;
}

static int save_or_print(calc *c)
{
    if (!c->out[0].path)
        return print_result(c, c->result[0]);
    return calc_save(c) == WF_OK ? EXIT_OK : failed_in(c->ctx);
}

/* ---- a stack in chunks ---- */

typedef struct chunks {
    wf_file *in[MAX_INPUTS]; /* inputs that are cut along their first axis */
    wf_shape shape[MAX_INPUTS];
    wf_file *out[MAX_OUTPUTS];
    int64_t length; /* images of the stacks */
    double times[3];
} chunks;

/* Opens the inputs of the highest rank, which are the stacks, and loads the others. */
static int open_inputs(calc *c, chunks *s)
{
    int rank = 0;
    bool first = true;
    for (size_t i = 0; i < c->args; i++) {
        if (!c->path[i])
            continue;
        wf_meta meta = { .size = sizeof meta };
        if (wf_probe(c->ctx, c->path[i], &meta, NULL, &s->shape[i]) != WF_OK)
            return failed_in(c->ctx);
        if (s->shape[i].rank > rank)
            rank = s->shape[i].rank;
        if (first)
            calc_keep_facts(c, c->path[i], &meta);
        first = false;
    }
    if (rank < 3)
        return failed("--chunk: no input is a stack of images");
    for (size_t i = 0; i < c->args; i++) {
        if (!c->path[i])
            continue;
        int64_t n = s->shape[i].rank == rank ? s->shape[i].dim[0] : 1;
        if (n > 1 && s->length > 1 && n != s->length)
            return failed("--chunk: %s has %lld images, another stack has %lld", c->path[i], (long long)n,
                          (long long)s->length);
        if (n > 1) {
            s->length = n;
            s->in[i] = wf_file_open(c->ctx, c->path[i], NULL, NULL, NULL);
        } else {
            wf_array *array = wf_load(c->ctx, c->path[i], NULL);
            if (array)
                c->arg[i] = WF_ARG(c->name[i], array);
        }
        if (wf_last_status(c->ctx) != WF_OK)
            return failed_in(c->ctx);
    }
    return s->length > 1 ? EXIT_OK : failed("--chunk: no input is a stack of more than one image");
}

static int read_chunk(calc *c, chunks *s, int64_t at, int64_t n)
{
    for (size_t i = 0; i < c->args; i++) {
        if (!s->in[i])
            continue;
        wf_shape offset = { .rank = s->shape[i].rank, .dim = { at } }, box = s->shape[i];
        box.dim[0] = n;
        calc_release_input(c, i);
        wf_array *array = wf_file_read(s->in[i], offset, box);
        if (!array)
            return failed_in(c->ctx);
        c->arg[i] = WF_ARG(c->name[i], array);
    }
    return EXIT_OK;
}

static int write_chunk(calc *c, chunks *s, int64_t at, int64_t n)
{
    for (size_t k = 0; k < c->outs; k++) {
        char text[256];
        wf_shape shape = wf_array_shape(c->result[k]), offset = { .rank = shape.rank, .dim = { at } };
        if (shape.rank < 1 || shape.dim[0] != n)
            return failed("--chunk: %s of %lld images is %s: the first axis of a result must be that of the stacks",
                          c->out[k].name, (long long)n, shape.rank ? shape_text(shape, text) : "one value");
        if (!s->out[k]) {
            wf_meta meta = calc_result_meta(c, k);
            shape.dim[0] = s->length;
            s->out[k] = wf_file_create(c->ctx, c->out[k].path, wf_array_dtype(c->result[k]), shape, &meta);
            if (!s->out[k])
                return failed_in(c->ctx);
        }
        wf_status status = wf_file_write(s->out[k], c->result[k], offset);
        wf_release(c->result[k]);
        c->result[k] = NULL;
        if (status != WF_OK)
            return failed_in(c->ctx);
    }
    return EXIT_OK;
}

/* Does the steps for each chunk, and adds up their times. */
static int run_chunks(calc *c, double times[4])
{
    chunks *s = allocate(1, sizeof *s);
    int result = open_inputs(c, s);
    for (int64_t at = 0; at < s->length && result == EXIT_OK; at += c->chunk) {
        int64_t n = s->length - at < c->chunk ? s->length - at : c->chunk;
        double t[4] = { seconds(), 0, 0, 0 };
        result = read_chunk(c, s, at, n);
        t[1] = seconds();
        if (result == EXIT_OK)
            result = calc_compute(c) == WF_OK ? EXIT_OK : failed_in(c->ctx);
        t[2] = seconds();
        if (result == EXIT_OK)
            result = write_chunk(c, s, at, n);
        t[3] = seconds();
        for (int k = 0; k < 3; k++)
            s->times[k] += t[k + 1] - t[k];
    }
    double begin = seconds();
    for (size_t k = 0; k < c->outs; k++) {
        if (result == EXIT_OK && wf_file_finish(s->out[k]) != WF_OK)
            result = failed_in(c->ctx);
        wf_file_free(s->out[k]);
    }
    s->times[2] += seconds() - begin;
    for (int k = 0; k < 3; k++)
        times[k + 1] = times[k] + s->times[k];
    for (size_t i = 0; i < c->args; i++)
        wf_file_free(s->in[i]);
    free(s);
    return result;
}

static void print_times(const calc *c, const double t[4])
{
    wf_info info = { .size = sizeof info };
    fprintf(stderr, "load    %10.3f ms\ncompute %10.3f ms", 1e3 * (t[1] - t[0]), 1e3 * (t[2] - t[1]));
    if (wf_get_info(c->ctx, false, &info) == WF_OK)
        fprintf(stderr, "   %d threads; kernels: %llu compiled, %llu from disk, %llu runs", info.threads,
                (unsigned long long)info.compiled, (unsigned long long)info.disk_hits,
                (unsigned long long)info.evaluated);
    fprintf(stderr, "\nsave    %10.3f ms\n", 1e3 * (t[3] - t[2]));
}

static int run_steps(calc *c)
{
    double t[4] = { seconds(), 0, 0, 0 };
    int result;
    progress_begin(c->chunk ? "computing" : "reading");
    if (c->chunk) {
        result = run_chunks(c, t);
    } else {
        result = ranks_agree(c, calc_load(c) == WF_OK ? EXIT_OK : failed_in(c->ctx));
        t[1] = seconds();
        progress_begin("computing");
        if (result == EXIT_OK)
            result = ranks_agree(c, calc_compute(c) == WF_OK ? EXIT_OK : failed_in(c->ctx));
        t[2] = seconds();
        progress_begin("writing");
        if (result == EXIT_OK)
            result = ranks_agree(c, save_or_print(c));
        t[3] = seconds();
    }
    progress_end();
    if (c->time && result == EXIT_OK)
        print_times(c, t);
    if (c->history && result == EXIT_OK)
        print_history(c->ctx, stderr);
    return result;
}

/* What comes after the command line. Returns an exit code. */
static int run_text(calc *c, const arguments *a)
{
    int result = EXIT_OK;
    c->ctx = open_context(a);
    if (!c->ctx)
        return ranks_agree(c, EXIT_USAGE);
    for (size_t i = 0; i < c->outs && result == EXIT_OK; i++) {
        result = check_output(a, c->ctx, c->out[i].path, 0);
        if (result == EXIT_OK)
            result = check_facts(c->self, c->ctx, &c->facts, c->out[i].path);
    }
    if (result == EXIT_OK && c->file)
        result = read_text(c->file, &c->owned_text, &c->text);
    if (result == EXIT_OK)
        result = calc_name_results(c);
    if (result == EXIT_OK && !calc_add_shape(c))
        result = failed_in(c->ctx);
    if (c->memory)
        watch_mapped_pages();
    result = ranks_agree(c, result);
    return result == EXIT_OK ? run_steps(c) : result;
}

int run_calc(const command *self, int argc, char **argv)
{
    calc *c = allocate(1, sizeof *c);
    c->self = self;
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv, .order_by_shape = true };
    int result = ranks_begin(c, argc, argv);
    a.host_only = c->ranks != NULL;
    a.silent = wf_ranks_rank(c->ranks) > 0;
    if (result < 0)
        result = read_arguments(c, &a);
    if (result < 0)
        result = run_text(c, &a);
    calc_release(c);
    if (c->ctx)
        wf_context_free(c->ctx);
    ranks_end(c);
    free(c->owned_text);
    free(c);
    return result;
}
