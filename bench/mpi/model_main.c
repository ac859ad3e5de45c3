/* model_main.c - weft-bench-ranks: messages and bytes of launches by the model and counted, and from the model the times of up to
 * 1024 ranks (docs/scaling.md).
 *
 *   weft-bench-ranks [OPTION VALUE]...
 *
 *   --alpha US        time of a message in microseconds (1.5)
 *   --network GB      bytes in a second that a rank sends, and as many that it receives, in GB (12)
 *   --memory GB       bytes in a second that the memory of a rank moves, in GB (150)
 *   --most RANKS      the largest number of ranks to count with (64)
 *   --plots FOLDER    writes scaling-weak.svg and scaling-strong.svg there
 *
 * The exit status is 1 if a count differs from the model. */
#include "model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/macros.h>

enum { SIDE = 128, WEAK = 256, STRONG = 1024, POINTS = 11 };

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- counts ----------------------------------------------------------------------------------------------------- */

static traffic most_of(const traffic *of_rank, int n)
{
    traffic m = { 0 };
    for (int r = 0; r < n; r++) {
        m.messages_out = larger(m.messages_out, of_rank[r].messages_out);
        m.messages_in = larger(m.messages_in, of_rank[r].messages_in);
        m.bytes_out = larger(m.bytes_out, of_rank[r].bytes_out);
        m.bytes_in = larger(m.bytes_in, of_rank[r].bytes_in);
    }
    return m;
}

/* Prints a row of the table. Returns whether all counts are those of the model. */
static bool compare(const model_case *c, int ranks)
{
    wf_dist dist;
    wf_ranks_error e = { .text = "no memory" };
    double work;
    bool same = false;
    traffic *model = calloc(2 * (size_t)ranks, sizeof *model), *counted = model ? model + ranks : NULL;
    if (model && model_dist(c, WF_SHAPE(SIDE, SIDE, SIDE), ranks, &dist) == WF_OK &&
        model_predict(c, &dist, model, &work) == WF_OK && model_count(c, &dist, WF_CPU, counted, &e) == WF_OK) {
        const traffic a = most_of(model, ranks), b = most_of(counted, ranks);
        same = !memcmp(model, counted, (size_t)ranks * sizeof *model);
        printf("| %s | %d x %d x %d | %lld, %lld | %lld, %lld | %lld, %lld | %lld, %lld | %s |\n", c->name,
               (int)dist.grid[0], (int)dist.grid[1], (int)dist.grid[2], (long long)a.messages_out,
               (long long)a.messages_in, (long long)b.messages_out, (long long)b.messages_in, (long long)a.bytes_out,
               (long long)a.bytes_in, (long long)b.bytes_out, (long long)b.bytes_in, same ? "yes" : "no");
    } else
        printf("| %s, %d ranks | | | | | | failed: %s |\n", c->name, ranks, e.text);
    fflush(stdout);
    free(model);
    return same;
}

static bool compare_all(int most)
{
    static const int ranks[] = { 2, 8, 27, 64 };
    bool same = true;
    printf(
        "A launch, %d^3 elements: what the rank with most sends, receives. In the last column all ranks are compared.\n\n"
        "| launch | grid | messages, model | messages, counted | bytes, model | bytes, counted | equal on all ranks |\n"
        "|---|---|---|---|---|---|---|\n",
        SIDE);
    for (int i = 0; i < model_case_count; i++)
        for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++)
            if (ranks[k] <= most && !compare(&model_cases[i], ranks[k]))
                same = false;
    return same;
}

/* ---- curves ----------------------------------------------------------------------------------------------------- */

static const model_case curves[] = {
    { "step of the 7-point stencil, blocks", MODEL_STEP_7, MODEL_BLOCKS },
    { "sum, slabs", MODEL_SUM, MODEL_SLABS },
    { "sum, blocks of whole rows", MODEL_SUM, MODEL_ROWS },
    { "sum, blocks", MODEL_SUM, MODEL_BLOCKS },
    { "Fourier transform, slabs", MODEL_FFT, MODEL_SLABS },
};
enum { CURVES = sizeof curves / sizeof *curves };

/* The volume for 2^k ranks: of a fixed size, or with WEAK^3 elements a rank. */
static wf_shape volume_of(int k, bool is_weak)
{
    wf_shape shape = WF_SHAPE(STRONG, STRONG, STRONG);
    for (int d = 0; d < 3 && is_weak; d++)
        shape.dim[d] = (int64_t)WEAK << (k + 2 - d) / 3;
    return shape;
}

static void print_table(double (*seconds)[POINTS], double (*efficiency)[POINTS])
{
    printf("| ranks |");
    for (int i = 0; i < CURVES; i++)
        printf(" %s |", curves[i].name);
    printf("\n|---|");
    for (int i = 0; i < CURVES; i++)
        printf("---|");
    printf("\n");
    for (int k = 0; k < POINTS; k++) {
        printf("| %d |", 1 << k);
        for (int i = 0; i < CURVES; i++)
            printf(" %.3g ms (%.0f %%) |", seconds[i][k] * 1e3, 100 * efficiency[i][k]);
        printf("\n");
    }
}

/* Prints from which number of ranks on the efficiency is below a half; of a fixed volume also which numbers are faster than one
 * rank, and which is fastest. */
static void print_ends(double (*seconds)[POINTS], double (*efficiency)[POINTS], bool is_weak)
{
    printf("\n");
    for (int i = 0; i < CURVES; i++) {
        int half = 0, best = 0, slower = 0;
        while (half < POINTS && efficiency[i][half] >= 0.5)
            half++;
        for (int k = 1; k < POINTS; k++)
            best = seconds[i][k] < seconds[i][best] ? k : best;
        while (slower + 1 < POINTS && seconds[i][slower + 1] >= seconds[i][0])
            slower++;
        printf("- %s: ", curves[i].name);
        if (half < POINTS)
            printf("less than half of the efficiency from %d ranks on", 1 << half);
        else
            printf("more than half of the efficiency up to %d ranks", 1 << (POINTS - 1));
        if (!is_weak && slower)
            printf("; up to %d ranks slower than one", 1 << slower);
        if (!is_weak)
            printf("; the shortest time with %d", 1 << best);
        printf("\n");
    }
}

static bool show(bool is_weak, const model_machine *m, const char *folder)
{
    static double seconds[CURVES][POINTS], efficiency[CURVES][POINTS];
    plot_line line[CURVES];
    char path[4096], title[100];
    for (int i = 0; i < CURVES; i++) {
        for (int k = 0; k < POINTS; k++) {
            wf_dist dist;
            if (model_dist(&curves[i], volume_of(k, is_weak), 1 << k, &dist) != WF_OK ||
                (seconds[i][k] = model_time(&curves[i], &dist, m)) < 0) {
                fprintf(stderr, "no memory for the model of %d ranks\n", 1 << k);
                return false;
            }
            efficiency[i][k] = seconds[i][0] / seconds[i][k] / (is_weak ? 1 : 1 << k);
        }
        line[i] = (plot_line){ curves[i].name, efficiency[i] };
    }
    snprintf(title, sizeof title, is_weak ? "Weak scaling: %d^3 elements a rank" : "Strong scaling: %d^3 elements",
             is_weak ? WEAK : STRONG);
    printf("\n%s, by the model: time of a launch (efficiency)\n\n", title);
    print_table(seconds, efficiency);
    print_ends(seconds, efficiency, is_weak);
    if (!folder)
        return true;
    snprintf(path, sizeof path, "%s/scaling-%s.svg", folder, is_weak ? "weak" : "strong");
    if (!plot_write(path, title, line, CURVES, POINTS)) {
        fprintf(stderr, "%s cannot be written\n", path);
        return false;
    }
    return true;
}

/* ---- options ---------------------------------------------------------------------------------------------------- */

/* Reads a positive number. Returns 0 if there is none. */
static double number(const char *text)
{
    char *end;
    const double x = strtod(text, &end);
    return end != text && !*end && x > 0 && x < 1e9 ? x : 0;
}

int main(int argc, char **argv)
{
    double alpha = 1.5, network = 12, memory = 150, most = 64;
    const char *plots = NULL;
    for (int i = 1; i < argc; i += 2) {
        const char *value = argv[i + 1]; /* NULL after the last argument */
        double *to = !strcmp(argv[i], "--alpha")     ? &alpha
                     : !strcmp(argv[i], "--network") ? &network
                     : !strcmp(argv[i], "--memory")  ? &memory
                     : !strcmp(argv[i], "--most")    ? &most
                                                     : NULL;
        if (value && !strcmp(argv[i], "--plots"))
            plots = value;
        else if (!to || !value || (*to = number(value)) == 0) {
            fprintf(stderr, "usage: weft-bench-ranks [--alpha US] [--network GB/S] [--memory GB/S] [--most RANKS] "
                            "[--plots FOLDER]\n");
            return 2;
        }
    }
    const model_machine m = { alpha * 1e-6, network * 1e9, memory * 1e9 };
    const bool same = compare_all((int)most);
    printf("\n%g us a message, %g GB/s of network and %g GB/s of memory for each rank.\n", alpha, network, memory);
    return show(true, &m, plots) && show(false, &m, plots) && same ? 0 : 1;
}
