/* model_launches.c - counts what launches send. Ranks are threads, each with a context of its own. */
#include "model.h"
#include <stdio.h>
#include <stdlib.h>
#include <weft/distributed.h>
#include <weft/fft.h>
#include <weft/weft.h>

enum { LAUNCHES = 3, BINS = 256 };

typedef struct result {
    traffic of_launch[LAUNCHES];
    char text[200]; /* of a failure */
} result;

typedef struct job {
    const model_case *c;
    const wf_dist *dist;
    wf_device device;
    result *of_rank;
} job;

typedef struct bench {
    const job *j;
    wf_context *ctx;
    wf_ranks *ranks; /* counts */
    wf_array *in, *out;
    wf_kernel *fill, *run; /* run: NULL if the launch is a function of the library */
} bench;

/* ---- recordings ------------------------------------------------------------------------------------------------- */

static wf_kernel *record_fill(const bench *b)
{
    wf_graph *g = wf_begin(b->ctx, .shape = b->j->dist->shape);
    wf_array *a = wf_formal(g, "a", wf_array_dtype(b->in), 3);
    wf_val i = wf_add(wf_index(g, 0), wf_add(wf_mul(wf_index(g, 1), 2), wf_mul(wf_index(g, 2), 3)));
    wf_out(g, a, wf_cast(wf_mod(i, BINS), wf_array_dtype(b->in)));
    return wf_compile(g);
}

static wf_kernel *record_step(const bench *b, int points)
{
    wf_graph *g = wf_begin(b->ctx, .shape = b->j->dist->shape);
    wf_array *a = wf_formal(g, "a", WF_F32, 3), *out = wf_formal(g, "out", WF_F32, 3);
    wf_val z = wf_index(g, 0), y = wf_index(g, 1), x = wf_index(g, 2), sum = wf_in(g, a);
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                const int away = abs(i) + abs(j) + abs(k);
                if (away == 0 || (points == 7 && away > 1))
                    continue;
                sum = wf_add(sum, wf_read_border(g, a, WF_BORDER_CLAMP, 0, wf_add(z, k), wf_add(y, j), wf_add(x, i)));
            }
    wf_out(g, out, wf_mul(sum, 1.0f / (float)points));
    return wf_compile(g);
}

static wf_kernel *record_sum(const bench *b)
{
    wf_graph *g = wf_begin(b->ctx);
    wf_array *a = wf_formal(g, "a", WF_F32, 3), *out = wf_formal(g, "out", WF_F32, 3);
    wf_out(g, out, wf_sum(wf_in(g, a), WF_ALL_AXES));
    return wf_compile(g);
}

/* Each launch adds to the counts that the array has. */
static wf_kernel *record_histogram(const bench *b)
{
    wf_graph *g = wf_begin(b->ctx, .shape = b->j->dist->shape);
    wf_array *a = wf_formal(g, "a", WF_F32, 3), *out = wf_formal(g, "out", WF_I64, 1);
    wf_accumulate(g, WF_JOIN_ADD, out, 1, wf_cast(wf_in(g, a), WF_I32));
    return wf_compile(g);
}

/* ---- a rank ----------------------------------------------------------------------------------------------------- */

static wf_array *distributed(const bench *b, wf_dtype dtype, const wf_dist *dist)
{
    return wf_empty_distributed(b->ctx, dtype, b->ranks, dist);
}

/* Makes the arrays and kernels. What fails is the context's error. */
static void begin(bench *b)
{
    const wf_dist *dist = b->j->dist;
    wf_dist to;
    const wf_dtype dtype = b->j->c->kind == MODEL_FFT ? WF_C64 : WF_F32;
    b->in = distributed(b, dtype, dist);
    b->fill = record_fill(b);
    switch (b->j->c->kind) {
    case MODEL_STEP_7:
    case MODEL_STEP_27:
        b->out = distributed(b, dtype, dist);
        b->run = record_step(b, b->j->c->kind == MODEL_STEP_27 ? 27 : 7);
        break;
    case MODEL_SUM:
        b->out = wf_full(b->ctx, WF_F32, WF_SHAPE(1, 1, 1), 0);
        b->run = record_sum(b);
        break;
    case MODEL_HISTOGRAM:
        b->out = wf_full(b->ctx, WF_I64, WF_SHAPE(BINS), 0);
        b->run = record_histogram(b);
        break;
    case MODEL_REDISTRIBUTE:
        if (model_target(dist, &to) == WF_OK)
            b->out = distributed(b, dtype, &to);
        break;
    case MODEL_FFT:
        b->out = distributed(b, dtype, dist);
        break;
    }
}

static wf_status launch(const bench *b)
{
    if (b->run)
        return wf_launch(b->run, WF_ARGS(WF_ARG("a", b->in), WF_ARG("out", b->out)));
    return b->j->c->kind == MODEL_FFT ? wf_fft_into(b->out, b->in, WF_ALL_AXES, false, WF_FFT_BACKWARD)
                                      : wf_array_redistribute(b->out, b->in);
}

static wf_status on_rank(wf_ranks *ranks, void *user)
{
    const job *j = user;
    result *mine = &j->of_rank[wf_ranks_rank(ranks)];
    traffic count = { 0 };
    wf_ranks_error error;
    bench b = { .j = j };
    wf_status status = counted_new(ranks, &count, &b.ranks, &error);
    if (status != WF_OK) {
        snprintf(mine->text, sizeof mine->text, "%.180s", error.text);
        return status;
    }
    b.ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = j->device });
    status = b.ctx ? WF_OK : WF_ERR_MEMORY;
    if (b.ctx) {
        begin(&b);
        status = wf_last_status(b.ctx);
    }
    for (int k = 0; k < LAUNCHES && status == WF_OK; k++) {
        status = wf_launch(b.fill, WF_ARGS(WF_ARG("a", b.in)));
        const traffic before = count;
        if (status == WF_OK)
            status = launch(&b);
        mine->of_launch[k] = traffic_less(&count, &before);
    }
    if (status != WF_OK)
        snprintf(mine->text, sizeof mine->text, "%.180s", b.ctx ? wf_last_message(b.ctx) : "no memory for a context");
    wf_kernel_free(b.fill);
    wf_kernel_free(b.run);
    wf_release(b.in);
    wf_release(b.out);
    wf_context_free(b.ctx);
    wf_ranks_free(b.ranks);
    return status;
}

static wf_status fail(wf_ranks_error *error, wf_status status, int rank, const char *text)
{
    *error = (wf_ranks_error){ .status = status, .rank = rank };
    snprintf(error->text, sizeof error->text, "%s", text);
    return status;
}

wf_status model_count(const model_case *c, const wf_dist *dist, wf_device device, traffic *of_rank,
                      wf_ranks_error *error)
{
    job j = { .c = c, .dist = dist, .device = device, .of_rank = calloc((size_t)dist->ranks, sizeof(result)) };
    if (!j.of_rank)
        return fail(error, WF_ERR_MEMORY, -1, "no memory");
    wf_status status = wf_ranks_threads(dist->ranks, on_rank, &j, NULL, error);
    for (int r = 0; r < dist->ranks && status == WF_OK; r++) {
        const traffic *t = &j.of_rank[r].of_launch[1], *again = &j.of_rank[r].of_launch[2];
        if (t->messages_out != again->messages_out || t->bytes_out != again->bytes_out ||
            t->messages_in != again->messages_in || t->bytes_in != again->bytes_in)
            status = fail(error, WF_ERR_CONTRACT, r, "the second and the third launch send different numbers");
        of_rank[r] = *t;
    }
    if (status != WF_OK && error->rank >= 0 && j.of_rank[error->rank].text[0])
        fail(error, status, error->rank, j.of_rank[error->rank].text);
    free(j.of_rank);
    return status;
}
