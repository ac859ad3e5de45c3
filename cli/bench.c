/* bench.c - weft bench: a few rows, quickly, beside loops as one writes them in C. The project's real comparison, with
 * the best hand-written code and other systems, is in bench/ of the source.
 */
#include "scatter.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char help_bench[] =
    "  weft bench\n"
    "  weft bench --quick\n"
    "  weft bench --json > here.json\n"
    "  weft bench scatter --count 10000000\n"
    "  weft bench packet\n\n"
    "Each row is computed by Weft (a prepared kernel) with all threads and with one, and by a plain C loop, on one\n"
    "thread, as the compiler that built this tool translates it. Times are medians; results are compared.\n\n"
    "scatter: random numbers added to buffers of 1 to 10^7 elements at random places, in every mode of accumulation, beside\n"
    "private histograms in C; a table, scatter.svg and scatter.png.\n"
    "packet: records of 1 to 24 f32 read, written and accumulated at scrambled places, with and without WF_FLAG_PACKETS, beside\n"
    "C; a table, packet.svg and packet.png.\n\n"
    "  --quick                smaller arrays\n"
    "  --json                 the rows (not scatter, packet) as one JSON object per line\n"
    "  --threads N            of the first column (default: all cores)\n"
    "  --count N              scatter: additions (default: 100000000); packet: elements (default: 16777216)\n"
    "  --most N               scatter: elements of the largest buffer (default: 10000000)\n"
    "  --python FILE          scatter, packet: a Python that has Dr.Jit, to be measured, too\n";

enum { INPUTS = 3, MIN_RUNS = 3, MAX_RUNS = 1000, MOST_ELEMENTS = 10000000 /* of a buffer */ };
#define MIN_TIME 0.15
#define MAX_TIME 1.0 /* for MIN_RUNS */

/* ---- plain C ---- */
#define NOINLINE __attribute__((noinline))

static NOINLINE void c_triad(const float *restrict a, const float *restrict b, const float *restrict c,
                             float *restrict out, int64_t h, int64_t w)
{
    for (int64_t i = 0; i < h * w; i++)
        out[i] = a[i] * b[i] + c[i];
}

static NOINLINE void c_math(const float *restrict a, const float *restrict b, const float *restrict c,
                            float *restrict out, int64_t h, int64_t w)
{
    (void)c;
    for (int64_t i = 0; i < h * w; i++)
        out[i] = cosf(a[i] * 0.5f + b[i]) + expf(-a[i] * a[i]) * sqrtf(b[i]);
}

static NOINLINE void c_distance(const float *restrict a, const float *restrict b, const float *restrict c,
                                float *restrict out, int64_t h, int64_t w)
{
    double sum = 0;
    (void)c;
    for (int64_t i = 0; i < h * w; i++)
        sum += (double)((a[i] - b[i]) * (a[i] - b[i]));
    out[0] = (float)sum;
}

static NOINLINE void c_gradient(const float *restrict a, const float *restrict b, const float *restrict c,
                                float *restrict out, int64_t h, int64_t w)
{
    (void)b;
    (void)c;
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < w; j++) {
            float right = j + 1 < w ? a[i * w + j + 1] : 0, left = j > 0 ? a[i * w + j - 1] : 0;
            float down = i + 1 < h ? a[(i + 1) * w + j] : 0, up = i > 0 ? a[(i - 1) * w + j] : 0;
            out[i * w + j] = sqrtf((right - left) * (right - left) + (down - up) * (down - up));
        }
}

static NOINLINE void c_mean5(const float *restrict a, const float *restrict b, const float *restrict c,
                             float *restrict out, int64_t h, int64_t w)
{
    (void)b;
    (void)c;
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < w; j++) {
            float sum = 0;
            for (int64_t k = -2; k <= 2; k++)
                for (int64_t l = -2; l <= 2; l++) {
                    int64_t y = i + k < 0    ? 0
                                : i + k >= h ? h - 1
                                             : i + k,
                            x = j + l < 0    ? 0
                                : j + l >= w ? w - 1
                                             : j + l;
                    sum += a[y * w + x];
                }
            out[i * w + j] = sum * 0.04f;
        }
}

/* ---- rows ---- */

typedef struct row {
    const char *name, *text;
    void (*plain)(const float *, const float *, const float *, float *, int64_t, int64_t);
    int64_t h, w, quick_h, quick_w;
    bool scalar;
} row;

static const row rows[] = {
    { "triad, in cache", "out = a*b + c", c_triad, 1, 1 << 16, 1, 1 << 14, false },
    { "triad, in memory", "out = a*b + c", c_triad, 4096, 4096, 512, 512, false },
    { "math chain", "out = cos(a*0.5 + b) + exp(-a*a) * sqrt(b)", c_math, 2048, 2048, 256, 256, false },
    { "squared distance", "out = sum((a - b)**2)", c_distance, 4096, 4096, 512, 512, true },
    { "gradient", "out = sqrt((a[y,x+1] - a[y,x-1])**2 + (a[y+1,x] - a[y-1,x])**2)", c_gradient, 4096, 4096, 512, 512,
      false },
    { "5 x 5 mean, clamped", NULL, c_mean5, 4096, 4096, 512, 512, false },
};

static char *mean5_text(void)
{
    char *text = append(NULL, "out = 0.04 * (");
    for (int k = -2; k <= 2; k++)
        for (int l = -2; l <= 2; l++)
            text = append(text, "%sa[y%+d, x%+d; clamp]", k == -2 && l == -2 ? "" : " + ", k, l);
    return append(text, ")");
}

typedef struct timing {
    double all, one, plain, compile, error; /* seconds; largest relative difference */
    int threads;
} timing;

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median time of one call. */
static double measure(bool (*work)(void *), void *data)
{
    double t[MAX_RUNS], begin = seconds();
    int n = 0;
    if (!work(data))
        return NAN;
    for (double spent = 0; n == 0 || (n < MAX_RUNS && spent < (n < MIN_RUNS ? MAX_TIME : MIN_TIME));
         spent = seconds() - begin) {
        double start = seconds();
        if (!work(data))
            return NAN;
        t[n++] = seconds() - start;
    }
    qsort(t, (size_t)n, sizeof *t, by_time);
    return t[n / 2];
}

static bool launch(void *kernel) { return wf_launch((const wf_kernel *)kernel, WF_NO_ARGS) == WF_OK; }

typedef struct plain_call {
    const row *row;
    float *in[INPUTS], *out;
    int64_t h, w;
} plain_call;

static bool call_plain(void *data)
{
    const plain_call *p = data;
    p->row->plain(p->in[0], p->in[1], p->in[2], p->out, p->h, p->w);
    return true;
}

static double largest_difference(const float *a, const float *b, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]), scale = fabs((double)b[i]) > 1 ? fabs((double)b[i]) : 1;
        if (!(d / scale <= worst))
            worst = d / scale;
    }
    return worst;
}

/* The kernel of a row on the memory of `p`. */
static wf_kernel *prepare(wf_context *ctx, const plain_call *p, const char *text, float *out)
{
    static const char *const names[] = { "a", "b", "c" };
    wf_arg arg[INPUTS + 1];
    wf_shape shape = WF_SHAPE(p->h, p->w);
    for (int i = 0; i < INPUTS; i++)
        arg[i] = WF_ARG(names[i], wf_wrap(ctx, p->in[i], WF_F32, shape, NULL, NULL));
    arg[INPUTS] = WF_ARG("out", wf_wrap(ctx, out, WF_F32, p->row->scalar ? WF_SHAPE(1, 1) : shape, NULL, NULL));
    wf_graph *g = wf_begin(ctx, .name = p->row->name);
    wf_text_record_n(g, text, (wf_args){ arg, INPUTS + 1 });
    wf_kernel *k = wf_compile(g);
    for (int i = 0; i <= INPUTS; i++)
        wf_release(arg[i].as.array);
    return k;
}

static bool run_row(wf_context *all, wf_context *one, const row *r, bool quick, timing *out)
{
    char *made = r->text ? NULL : mean5_text();
    const char *text = r->text ? r->text : made;
    plain_call p = { .row = r, .h = quick ? r->quick_h : r->h, .w = quick ? r->quick_w : r->w };
    int64_t n = p.h * p.w;
    for (int i = 0; i < INPUTS; i++) {
        p.in[i] = allocate((size_t)n, sizeof(float));
        for (int64_t j = 0; j < n; j++)
            p.in[i][j] = (float)((j * (2 * i + 7)) % 1009) / 1009;
    }
    p.out = allocate((size_t)n, sizeof(float));
    float *weft = allocate((size_t)n, sizeof(float));
    double start = seconds();
    wf_kernel *k = prepare(all, &p, text, weft);
    bool ok = k && launch(k);
    out->compile = seconds() - start;
    out->threads = wf_get_threads(all);
    if (ok)
        out->all = measure(launch, k);
    wf_kernel_free(k);
    k = ok ? prepare(one, &p, text, weft) : NULL;
    if (ok && k)
        out->one = measure(launch, k);
    ok = ok && k;
    wf_kernel_free(k);
    if (ok)
        out->plain = measure(call_plain, &p);
    if (ok)
        out->error = largest_difference(weft, p.out, r->scalar ? 1 : n);
    for (int i = 0; i < INPUTS; i++)
        free(p.in[i]);
    free(p.out);
    free(weft);
    free(made);
    return ok;
}

static void print_row(const row *r, const timing *x, bool json)
{
    if (json)
        printf(
            "{\"name\":\"%s\",\"threads\":%d,\"weft_ms\":%.6g,\"weft_1_thread_ms\":%.6g,\"plain_c_1_thread_ms\":%.6g,"
            "\"first_call_ms\":%.6g,\"difference\":%.3g}\n",
            r->name, x->threads, 1e3 * x->all, 1e3 * x->one, 1e3 * x->plain, 1e3 * x->compile, x->error);
    else
        printf("%-20s %10.4f %10.4f %10.4f %9.2fx %10.2fx %11.2f\n", r->name, 1e3 * x->all, 1e3 * x->one,
               1e3 * x->plain, x->plain / x->one, x->plain / x->all, 1e3 * x->compile);
    fflush(stdout);
}

static int run_rows(wf_context *all, wf_context *one, bool quick, bool json)
{
    int status = EXIT_OK;
    if (!json)
        printf("%-20s %10s %10s %10s %10s %11s %11s\n%-20s %7d thr %10s %10s %10s %11s %11s\n", "milliseconds", "Weft",
               "Weft", "plain C", "faster", "faster", "first call", "", wf_get_threads(all), "1 thread", "1 thread",
               "1 thread", "all threads", "(compiles)");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        timing x = { .all = 0 };
        progress_begin(rows[i].name);
        if (!run_row(all, one, &rows[i], quick, &x))
            return failed_in(*wf_last_message(all) ? all : one);
        progress_end();
        print_row(&rows[i], &x, json);
        if (!(x.error < 1e-4))
            status = failed("%s: Weft and plain C differ by %g", rows[i].name, x.error);
    }
    return status;
}

enum { QUICK, JSON, COUNT, MOST, PYTHON };
static const option options[] = { { "quick", 0, false }, { "json", 0, false },  { "count", 0, true },
                                  { "most", 0, true },   { "python", 0, true }, { NULL, 0, false } };

typedef struct request {
    bool quick, json;
    int kind;         /* ROWS, SCATTER, PACKET */
    long count, most; /* 0: not given */
    const char *python;
} request;
enum { ROWS, SCATTER, PACKET };

/* Returns a status to end with, or -1 to go on. */
static int read_arguments(const command *self, arguments *a, request *r)
{
    for (int o = next_argument(a); o != ARG_END; o = next_argument(a)) {
        if (o == QUICK)
            r->quick = true;
        else if (o == JSON)
            r->json = true;
        else if (o == COUNT && !parse_int(a->value, 1, 2000000000, &r->count))
            return misused(self, "--count %s: not a number of additions", a->value);
        else if (o == MOST && !parse_int(a->value, 1, MOST_ELEMENTS, &r->most))
            return misused(self, "--most %s: 1 to %d elements", a->value, MOST_ELEMENTS);
        else if (o == PYTHON)
            r->python = a->value;
        else if (o == ARG_OPERAND && r->kind == ROWS && strcmp(a->value, "packet") == 0)
            r->kind = PACKET;
        else if (o == ARG_OPERAND && r->kind == ROWS && strcmp(a->value, "scatter") == 0)
            r->kind = SCATTER;
        else if (o == ARG_OPERAND)
            return misused(self, "'%s': no files are needed", a->value);
        else if (o < 0)
            return ended(o);
    }
    if (r->json && r->kind != ROWS)
        return misused(self, "--json: scatter and packet print tables only");
    if (r->most && r->kind != SCATTER)
        return misused(self, "--most is an option of scatter");
    if ((r->count || r->python) && r->kind == ROWS)
        return misused(self, "--%s is an option of scatter and packet", r->count ? "count" : "python");
    return -1;
}

int run_bench(const command *self, int argc, char **argv)
{
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv };
    request r = { .kind = ROWS };
    int result = read_arguments(self, &a, &r);
    if (result >= 0)
        return result;
    wf_context *all = open_context(&a), *one = NULL;
    if (!all)
        return EXIT_USAGE;
    long usual = r.kind == SCATTER ? 100000000 : 1 << 24, n = r.count ? r.count : r.quick ? 1000000 : usual;
    if (r.kind == SCATTER) {
        result = bench_scatter(all, n, r.most ? r.most : MOST_ELEMENTS, r.python);
    } else if (r.kind == PACKET) {
        result = bench_packet(all, n, r.python);
    } else {
        a.threads = 1;
        one = open_context(&a);
        result = one ? run_rows(all, one, r.quick, r.json) : EXIT_FAILED;
    }
    wf_context_free(all);
    if (one)
        wf_context_free(one);
    return result;
}
