/* measure.c - contenders in turns, then medians. */
#include "gpu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURN 8e-3     /* seconds that a turn takes, about */
#define SLOW 12       /* times slower than another one of the same name: one turn is enough */
enum { CALLS = 500 }; /* of a turn at most: the driver queues about a thousand */

double gpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool gpu_fail(gpu_case *c, const char *why)
{
    if (!c->error[0])
        snprintf(c->error, sizeof c->error, "%s", why);
    return false;
}

bool gpu_ok(gpu_case *c, wf_status status)
{
    if (status != WF_OK) {
        gpu_fail(c, wf_last_message(c->b->ctx));
        wf_clear_error(c->b->ctx);
    }
    return status == WF_OK;
}

static gpu_contender *add(gpu_case *c, const char *who, const char *how)
{
    if (c->n == GPU_CONTENDERS)
        abort();
    gpu_contender *x = &c->at[c->n++];
    x->who = who;
    x->how = how;
    return x;
}

static void add_launches(gpu_case *c, const char *who, const char *how, wf_kernel *kernel, wf_args args)
{
    gpu_contender *x = add(c, who, how);
    if (!kernel)
        gpu_ok(c, wf_last_status(c->b->ctx) ? wf_last_status(c->b->ctx) : WF_ERR_ARG);
    x->kernel = kernel;
    x->args = args.n;
    for (size_t i = 0; i < args.n && i < GPU_ARGS; ++i)
        x->arg[i] = args.at[i];
}

void gpu_launches(gpu_case *c, const char *how, wf_kernel *kernel, wf_args args)
{
    add_launches(c, "weft", how, kernel, args);
}
void gpu_aside(gpu_case *c, const char *how, wf_kernel *kernel, wf_args args)
{
    add_launches(c, "aside", how, kernel, args);
}
void gpu_calls(gpu_case *c, const char *how, bool (*call)(gpu_case *c)) { add(c, "weft", how)->call = call; }
void gpu_figures(gpu_case *c, const char *how, double (*figure)(gpu_case *c)) { add(c, "weft", how)->figure = figure; }

void gpu_by_hand(gpu_case *c, const char *row, hand_args args)
{
    for (const hand_way *way = c->b->hand ? c->b->hand->way : NULL; way && way->row; ++way)
        if (!strcmp(way->row, row)) {
            gpu_contender *x = add(c, "hand", way->how);
            x->way = way;
            x->to = args;
        }
}

void gpu_by_driver(gpu_case *c, hand_args args)
{
    if (c->b->driver)
        add(c, "driver", "cuMemcpyDtoDAsync")->to = args;
}

static bool once(gpu_case *c, const gpu_contender *x)
{
    if (x->kernel)
        return gpu_ok(c, wf_launch_with(x->kernel, (wf_args){ x->arg, x->args }, NULL));
    if (x->call)
        return x->call(c);
    if (!x->way)
        return gpu_driver_copy(c->b->driver, x->to.out[0], x->to.in[0], 4 * x->to.n) ||
               gpu_fail(c, "the driver does not copy");
    int code = x->way->call(&x->to);
    return code == 0 || (code != HAND_CANNOT && gpu_fail(c, c->b->hand->error(code)));
}

static bool wait(gpu_case *c, const gpu_contender *x)
{
    if (x->kernel || x->call)
        return gpu_ok(c, wf_sync(c->b->ctx));
    if (!x->way)
        return gpu_driver_wait(c->b->driver) || gpu_fail(c, "the driver does not wait");
    int code = c->b->hand->wait();
    return code == 0 || gpu_fail(c, c->b->hand->error(code));
}

/* Seconds of one of so many calls; NaN: failed. */
static double turn(gpu_case *c, const gpu_contender *x, int64_t calls)
{
    if (x->figure)
        return x->figure(c);
    double start = gpu_now();
    for (int64_t k = 0; k < calls; ++k)
        if (!once(c, x) || (c->waits && !wait(c, x)))
            return NAN;
    return wait(c, x) ? (gpu_now() - start) / (double)calls : NAN;
}

/* What is there before a checked call: no result of another contender. */
static bool spoil(gpu_case *c)
{
    wf_release(c->made);
    c->made = NULL;
    if (!c->result)
        return true;
    double value = c->has_before ? c->before : wf_array_dtype(c->result) == WF_F32 ? NAN : 77;
    return gpu_ok(c, wf_array_fill(c->result, value)) && gpu_ok(c, wf_sync(c->b->ctx));
}

/* One checked call, then the number of calls that fill a turn. */
static bool prepare(gpu_case *c, gpu_contender *x)
{
    if (!c->figures && (!spoil(c) || isnan(turn(c, x, 1)) || !gpu_right(c)))
        return false;
    double start = gpu_now(), took = turn(c, x, 1);
    x->calls = 1;
    x->cost = gpu_now() - start;
    for (int k = 0; k < 3 && !x->figure && took < TURN / 2 && !isnan(took);
         ++k) { /* the first ones are slow: in steps */
        double calls = TURN / took;
        x->calls = calls < 1 ? 1 : calls > CALLS ? CALLS : (int64_t)calls;
        took = turn(c, x, x->calls);
        x->cost = took * (double)x->calls;
    }
    x->median = x->least = took; /* until there are turns */
    return !isnan(took);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void evaluate(gpu_contender *x)
{
    double sorted[GPU_ROUNDS];
    memcpy(sorted, x->seconds, (size_t)x->rounds * sizeof *sorted);
    qsort(sorted, (size_t)x->rounds, sizeof *sorted, by_value);
    x->median = (sorted[x->rounds / 2] + sorted[(x->rounds - 1) / 2]) / 2;
    x->least = sorted[0];
}

static bool is_slow(const gpu_case *c, const gpu_contender *x)
{
    for (int i = 0; i < c->n; ++i)
        if (c->at[i].calls && !strcmp(c->at[i].who, x->who) && x->median > SLOW * c->at[i].median)
            return true;
    return false;
}

static void take_turns(gpu_case *c)
{
    double cost = 0;
    bool slow[GPU_CONTENDERS];
    for (int i = 0; i < c->n; ++i) {
        gpu_contender *x = &c->at[i];
        slow[i] = x->calls && is_slow(c, x);
        cost += x->calls && !slow[i] ? x->cost : 0;
    }
    double turns = c->b->budget / (cost > 1e-6 ? cost : 1e-6);
    int rounds = turns < 3 ? 3 : turns > GPU_ROUNDS ? GPU_ROUNDS : (int)turns;
    for (int r = 0; r < rounds; ++r)
        for (int k = 0; k < c->n; ++k) {
            int i = r % 2 ? c->n - 1 - k : k;
            gpu_contender *x = &c->at[i];
            if (!x->calls || (slow[i] && r))
                continue;
            double took = turn(c, x, x->calls);
            if (isnan(took))
                x->calls = 0; /* and c->error says why */
            else
                x->seconds[x->rounds++] = took;
        }
    for (int i = 0; i < c->n; ++i)
        if (c->at[i].calls && c->at[i].rounds)
            evaluate(&c->at[i]);
}

static void end(gpu_case *c)
{
    wf_clear_error(c->b->ctx);
    c->b->lost = wf_sync(c->b->ctx) != WF_OK;
    wf_frozen_free(c->frozen);
    wf_stream_free(c->stream);
    wf_release(c->made);
    for (int i = 0; i < c->n; ++i)
        wf_kernel_free(c->at[i].kernel);
    while (c->kept_n)
        wf_release(c->kept[--c->kept_n]);
    free(c->data);
    wf_clear_error(c->b->ctx);
}

static void say(gpu_case *c, const gpu_contender *x)
{
    if (!c->error[0])
        return;
    const char *who = x ? x->who : "the row", *how = x ? x->how : "";
    fprintf(stderr, "weft-bench-gpu: %s: %s%s%s: %s\n", c->row->name, who, *how ? ", " : "", how, c->error);
    if (c->b->json) {
        for (char *at = c->error; *at; ++at) /* as JSON has it */
            *at = *at == '"' ? '\'' : *at == '\\' || (unsigned char)*at < ' ' ? ' ' : *at;
        fprintf(c->b->json, "{\"row\":\"%s\",\"who\":\"%s\",\"how\":\"%s\",\"error\":\"%s\"}\n", c->row->name, who, how,
                c->error);
        fflush(c->b->json);
    }
    c->b->failed = true;
    c->error[0] = 0;
}

void gpu_run_row(gpu_bench *b, const gpu_row *row)
{
    gpu_case c = { .b = b, .row = row, .tolerance = 1e-5 };
    row->setup(&c);
    if (c.error[0])
        say(&c, NULL);
    else if (c.n) {
        for (int i = 0; i < c.n; ++i)
            if (!prepare(&c, &c.at[i])) {
                c.at[i].calls = 0;
                say(&c, &c.at[i]);
            }
        take_turns(&c);
        say(&c, NULL);
        for (int i = 0; i < c.n; ++i)
            if (c.at[i].calls && !strcmp(c.at[i].who, "driver") && c.bytes / c.at[i].median > b->copy)
                b->copy = c.bytes / c.at[i].median;
        gpu_report(&c);
    }
    end(&c);
}
