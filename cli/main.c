/* main.c - the table of commands, and help. Each command is one file; common/ holds what all commands need. */
#include "cli.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int run_help(const command *self, int argc, char **argv);

static const char help_help[] = "weft help          the commands\n"
                                "weft help calc     one command, by example\n";

static const command commands[] = {
    { "calc", "compute on files: 'out = sqrt(gx*gx + gy*gy)'", help_calc, run_calc },
    { "each", "calc on many files at once, with restart", help_each, run_each },
    { "stats", "shape, dtype, min, max, mean and standard deviation of files", help_stats, run_stats },
    { "view", "an image, stack or volume as a PNG", help_view, run_view },
    { "filter", "low-, high- and band-pass, Gaussian, B factor of images and volumes", help_filter, run_filter },
    { "ctf", "contrast transfer functions: found in images, corrected, drawn", help_ctf, run_ctf },
    { "bin", "fewer or more pixels: means of blocks, or by Fourier cropping", help_bin, run_bin },
    { "transform", "rotate, shift, scale, crop and pad images and volumes", help_transform, run_transform },
    { "symmetrize", "the average over a point group or a helix", help_symmetrize, run_symmetrize },
    { "mask", "what is inside a ball, box or cylinder with a soft edge", help_mask, run_mask },
    { "radial", "power spectra and values averaged over shells, as a table or plot", help_radial, run_radial },
    { "fsc", "Fourier shell correlation of two volumes or images", help_fsc, run_fsc },
    { "correlate", "the shift of one image against another", help_correlate, run_correlate },
    { "align", "the frames of a movie moved onto each other and added", help_align, run_align },
    { "pick", "particles found by templates, and cut out", help_pick, run_pick },
    { "average", "particles turned and moved onto references, and averaged", help_average, run_average },
    { "project", "images of a volume from given or evenly spread directions", help_project, run_project },
    { "reconstruct", "a volume from images whose directions are known", help_reconstruct, run_reconstruct },
    { "convert", "another format, type of values or pixel size", help_convert, run_convert },
    { "star", "tables of STAR files: what they hold, columns as text or arrays", help_star, run_star },
    { "sample", "make a realistic micrograph or particle stack to work on", help_sample, run_sample },
    { "info", "this machine as Weft sees it; headers of files", help_info, run_info },
    { "dump", "what an expression becomes: trace, passes, LLVM IR, assembly", help_dump, run_dump },
    { "check", "the derivative of a text beside differences", help_check, run_check },
    { "bench", summary_bench, help_bench, run_bench },
    { "help", "help on a command", help_help, run_help },
    { NULL, NULL, NULL, NULL },
};

static const command *find(const char *name)
{
    for (const command *c = commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static void overview(FILE *to)
{
    fprintf(to, "weft %s - computes on images and volumes: traced, fused, compiled to vector code\n\n", wf_version());
    for (const command *c = commands; c->name; c++)
        fprintf(to, "  weft %-10s %s\n", c->name, c->summary);
    fprintf(to, "\nTo begin:\n"
                "  weft sample -o micrograph.mrc\n"
                "  weft view micrograph.mrc -o micrograph.png\n"
                "  weft calc 'out = img - mean(img)' img=micrograph.mrc -o flat.mrc\n"
                "  weft filter micrograph.mrc --lowpass 20 -o smooth.mrc\n"
                "  weft help calc\n\n"
                "Files: MRC, NPY, TIFF, PNG, Zarr, by suffix; EER and STAR are read, too.\n"
                "Exit codes: 0 done, 1 failed, 2 wrong command line.\n");
}

static int unknown(const char *name)
{
    fprintf(stderr, "weft: no command '%s'; there are:", name);
    for (const command *c = commands; c->name; c++)
        fprintf(stderr, " %s", c->name);
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static bool is_help(const char *text) { return strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0; }

static int run_help(const command *self, int argc, char **argv)
{
    if (argc > 2)
        return misused(self, "help on one command at a time");
    bool on_help = argc == 2 && is_help(argv[1]);
    const command *c = argc == 2 && !on_help ? find(argv[1]) : NULL;
    if (argc == 2 && !on_help && !c)
        return unknown(argv[1]);
    if (c)
        print_help(c);
    else
        overview(stdout);
    return EXIT_OK;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        overview(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_IGN); /* writing beyond the limit of the process is then an error with a message */
#endif
    if (strcmp(name, "--version") == 0) {
        printf("weft %s\n", wf_version());
        return EXIT_OK;
    }
    if (is_help(name))
        name = "help";
    const command *c = find(name);
    if (!c)
        return unknown(name);
    int result = c->run(c, argc - 1, argv + 1);
    if (fflush(stdout) != 0 && result == EXIT_OK)
        return failed("standard output: cannot write");
    return result;
}
