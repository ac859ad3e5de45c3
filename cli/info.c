/* info.c - weft info: what Weft finds on this machine; what the headers of files say. */
#include "cli.h"
#include <weft/ranks.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char help_info[] =
    "  weft info                  this machine: version, devices, vector unit, LLVM, cache\n"
    "  weft info vol.map *.tif    what the headers of files say: shape, type, pixel size and origin; whether the file is\n"
    "                             a volume, a stack or in colour; angles and space group of a crystal; the size of an\n"
    "                             extended header; the levels of an image in OME-Zarr, each with its path\n"
    "  weft info run_data.star    the tables of a STAR file, and their columns\n"
    "  mpirun -n 4 weft info --mpi  the MPI that Weft finds, and where its ranks are; WEFT_MPI names one\n\n"
    "Kernels are compiled by a libLLVM of version 15 to 22; WEFT_LLVM=path or WEFT_LLVM=19 names one. Compiled\n"
    "kernels are kept in WEFT_CACHE, else $XDG_CACHE_HOME/weft, else ~/.cache/weft. WEFT_THREADS sets the number of threads.\n";

enum { OPTION_MPI };
static const option options[] = { [OPTION_MPI] = { "mpi", 0, false }, { NULL, 0, false } };

static void print_gpus(wf_context *ctx)
{
    wf_device_info g = { .size = sizeof g };
    const char *emulator = getenv("WEFT_CUDA_EMU");
    int n = wf_device_count(ctx, WF_GPU(0));
    for (int i = 0; i < n; ++i)
        if (wf_get_device_info(ctx, WF_GPU(i), &g) == WF_OK)
            printf("          cuda:%d (%s, capability %d.%d, %d multiprocessors, %.1f of %.1f GB free, driver %d.%d)\n",
                   i, g.name, g.capability / 10, g.capability % 10, g.processors, (double)g.memory_free / 1e9,
                   (double)g.memory_bytes / 1e9, g.driver / 1000, g.driver % 1000 / 10);
        else
            printf("          cuda:%d cannot be used: %s\n", i, wf_last_message(ctx));
    if (wf_device_count(ctx, WF_GPU_EMU(0)))
        printf("          cuda-emu (an emulated GPU, with checks)\n");
    else if (emulator && *emulator)
        printf("          cuda-emu cannot be used: WEFT_CUDA_EMU is %s\n", emulator);
    else
        printf("          cuda-emu is missing: `make` builds libweft_cuda_emu.so beside the tool; WEFT_CUDA_EMU=path "
               "names it\n");
}

static int machine(wf_context *ctx)
{
    wf_info i = { .size = sizeof i };
    const char *named = getenv("WEFT_LLVM"), *isa = getenv("WEFT_ISA");
    if (wf_get_info(ctx, true, &i) != WF_OK)
        return failed_in(ctx);
    printf("weft      %s\n", wf_version());
    printf("devices   cpu (%s, vectors of %d bits, %d %s), interp\n", i.isa, i.vector_bits, i.threads,
           i.threads == 1 ? "thread" : "threads");
    print_gpus(ctx);
    if (i.llvm_major)
        printf("LLVM      %d, %s\n", i.llvm_major, i.llvm_path);
    else if (*i.llvm_path)
        printf("LLVM      %s: cannot be used; the interpreter computes\n", i.llvm_path);
    else if (!strcmp(i.isa, "none"))
        printf("LLVM      not looked for: there is no code generation for this processor%s; the interpreter computes\n",
               isa && !strcmp(isa, "none") ? " (WEFT_ISA=none)" : "");
    else if (named && *named)
        printf("LLVM      not found (WEFT_LLVM is %s): the interpreter computes\n", named);
    else
        printf("LLVM      not found (15 to 22; WEFT_LLVM=path or a version names one): the interpreter computes\n");
    if (*i.cache_problem)
        printf("cache     %s%s%s; WEFT_CACHE=folder names one\n", i.cache_dir, *i.cache_dir ? ": " : "",
               i.cache_problem);
    else if (*i.cache_dir)
        printf("cache     %s: %llu objects, %.1f MB\n", i.cache_dir, (unsigned long long)i.cache_entries,
               (double)i.cache_bytes / 1e6);
    return EXIT_OK;
}

enum { KIND_CAP = 64 };
/* The meaning of the axes, as ", stack of images"; empty if the format does not say. */
static const char *kind_text(const wf_meta *m, wf_shape shape, char text[static KIND_CAP])
{
    static const char *const channels[] = { [2] = "grey and alpha", [3] = "colour", [4] = "colour and alpha" };
    *text = 0;
    if (m->channels) {
        int64_t n = shape.dim[shape.rank - 1];
        snprintf(text, KIND_CAP, ", %s%s", m->is_stack ? "stack of images: " : "",
                 n >= 2 && n <= 4 ? channels[n] : "channels");
    } else if (m->is_stack && shape.rank >= 3) {
        snprintf(text, KIND_CAP, ", stack of %s", shape.rank == 3 ? "images" : "volumes");
    } else if ((m->format == WF_FORMAT_MRC || m->format == WF_FORMAT_TIFF) && shape.rank == 3) {
        snprintf(text, KIND_CAP, ", volume");
    }
    return text;
}

/* Prints angles and space group, unless the cell is rectangular and without symmetry, as in most files. */
static void print_cell(const wf_meta *m)
{
    double angle[3];
    bool oblique = false;
    for (int i = 0; i < 3; i++) {
        angle[i] = m->angles[i] > 0 ? m->angles[i] : 90;
        oblique = oblique || angle[i] != 90;
    }
    if (!oblique && m->space_group <= 1)
        return;
    printf("  cell    angles %.6g %.6g %.6g", angle[0], angle[1], angle[2]);
    if (m->space_group > 0)
        printf(", space group %d", m->space_group);
    putchar('\n');
}

static int tables(wf_context *ctx, const char *path)
{
    wf_star *star = wf_star_load(ctx, path);
    if (star)
        print_star(star, path);
    else
        failed_in(ctx);
    wf_star_free(star);
    wf_clear_error(ctx);
    return star ? EXIT_OK : EXIT_FAILED;
}

static void print_place(const char *what, const double at[3])
{
    printf("%s %.6g %.6g %.6g A (z y x)", what, at[0], at[1], at[2]);
}

static bool is_zero(const double at[3]) { return at[0] == 0 && at[1] == 0 && at[2] == 0; }

/* Prints the levels of an image of OME-Zarr: how to name each, shape and spacing. */
static int print_levels(wf_context *ctx, const char *path, int levels)
{
    int result = EXIT_OK;
    const size_t n = strlen(path);
    for (int32_t k = 0; k < levels; k++) {
        char buf[256];
        wf_meta m = { .size = sizeof m };
        wf_shape shape;
        if (wf_probe_level(ctx, path, k, &m, NULL, &shape) != WF_OK) {
            result = failed_in(ctx);
            wf_clear_error(ctx);
            continue;
        }
        printf("  level %d  %s%s%s: %s", k, path, path[n - 1] == '/' ? "" : "/", m.level, shape_text(shape, buf));
        if (!is_zero(m.spacing))
            print_place(", spacing", m.spacing);
        putchar('\n');
    }
    return result;
}

static int header(wf_context *ctx, const char *path)
{
    if (has_suffix(path, ".star") || has_suffix(path, ".star.gz"))
        return tables(ctx, path);
    char buf[256], kind[KIND_CAP];
    wf_meta m = { .size = sizeof m };
    wf_dtype dtype;
    wf_shape shape;
    if (wf_probe(ctx, path, &m, &dtype, &shape) != WF_OK) {
        failed_in(ctx);
        wf_clear_error(ctx);
        return EXIT_FAILED;
    }
    printf("%s: %s, %s %s", path, wf_format_name(m.format), shape_text(shape, buf), wf_dtype_name(dtype));
    if (strcmp(wf_stored_name(m.stored), wf_dtype_name(dtype)) != 0)
        printf(" (stored as %s)", wf_stored_name(m.stored));
    printf("%s\n", kind_text(&m, shape, kind));
    if (!is_zero(m.spacing)) {
        print_place("  spacing", m.spacing);
        putchar('\n');
    }
    if (!is_zero(m.origin)) {
        print_place("  origin ", m.origin);
        putchar('\n');
    }
    print_cell(&m);
    if (m.extended_bytes)
        printf("  extended header of %d bytes%s%s\n", (int)m.extended_bytes, *m.extended_type ? ": " : "",
               m.extended_type);
    return m.levels > 1 ? print_levels(ctx, path, m.levels) : EXIT_OK;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

enum { MOST_NOTES = 16, NOTE_BYTES = 400 };
typedef struct notes {
    int n;
    char text[MOST_NOTES][NOTE_BYTES];
} notes;

static void keep_note(const char *text, void *user)
{
    notes *kept = user;
    if (kept->n < MOST_NOTES)
        snprintf(kept->text[kept->n++], NOTE_BYTES, "%s", text);
}

/* Prints a line for each run of consecutive ranks on the same machine. */
static void print_hosts(const wf_ranks *ranks)
{
    int n = wf_ranks_size(ranks);
    for (int first = 0, end; first < n; first = end) {
        const char *host = wf_ranks_host(ranks, first);
        for (end = first + 1; end < n && !strcmp(wf_ranks_host(ranks, end), host);)
            ++end;
        if (end - first == 1)
            printf("ranks     %d: %s\n", first, host);
        else
            printf("ranks     %d to %d: %s\n", first, end - 1, host);
    }
}

/* Rank 0 prints for all. */
static int mpi(void)
{
    notes found = { 0 };
    wf_ranks_error error;
    wf_ranks *ranks = NULL;
    wf_ranks_mpi_options o = { .size = sizeof o, .log = keep_note, .log_user = &found };
    wf_status status = wf_ranks_open_mpi(&o, &ranks, &error);
    if (status)
        fprintf(stderr, "weft: %s\n", error.text);
    if (!status && wf_ranks_rank(ranks) == 0) {
        int n = wf_ranks_size(ranks);
        printf("MPI       %s, %d %s\n", wf_ranks_library(ranks), n, n == 1 ? "rank" : "ranks");
        print_hosts(ranks);
        for (int i = 0; i < found.n; i++)
            printf("search    %s\n", found.text[i]);
    }
    wf_ranks_free(ranks);
    return status ? EXIT_FAILED : EXIT_OK;
}

int run_info(const command *self, int argc, char **argv)
{
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv }, again;
    int files = 0, result = EXIT_OK;
    bool of_mpi = false;
    again = a;
    for (int o = next_argument(&a); o != ARG_END; o = next_argument(&a)) {
        if (o == OPTION_MPI)
            of_mpi = true;
        else if (o != ARG_OPERAND)
            return ended(o);
        else
            files++;
    }
    if (of_mpi && files) {
        fprintf(stderr, "weft: info --mpi takes no files\n");
        return EXIT_USAGE;
    }
    if (of_mpi)
        return mpi();
    wf_context *ctx = open_context(&a);
    if (!ctx)
        return EXIT_USAGE;
    if (files == 0)
        result = machine(ctx);
    while (files > 0 && next_argument(&again) != ARG_END)
        if (header(ctx, again.value) != EXIT_OK)
            result = EXIT_FAILED;
    wf_context_free(ctx);
    return result;
}
