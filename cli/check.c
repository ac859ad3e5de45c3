/* check.c - weft check: the derivative g of a text beside differences, in f64. For random directions u of each array, g . u
 * is compared with central differences of the loss with steps h and h/2, and with the forward derivative. Some elements of
 * g are compared with differences along one element. */
#include "calc.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char help_check[] =
    "  weft check 'L = sum((sin(a) - t)**2)' a=a.npy t=t.npy\n"
    "  weft check 'd = a[y, x+1] - a; L = sum(sqrt(d*d + 1e-6)); M = mean(a)' a=photo.png -o L\n\n"
    "Compares the derivative of the text's last result, a real value of one element, with respect to each array of floats\n"
    "or complex numbers with differences of that result. The arrays are converted to f64 or c128 before. Prints for each\n"
    "array the derivative and the difference along random directions, and of the worst among some elements. The exit code\n"
    "is 1 if a derivative differs by more than the tolerance and the error of the differences.\n\n"
    "  -o NAME                the result whose derivative is checked (default: the last assigned)\n"
    "  --tolerance T          relative, of the derivative along a direction (default: 1e-6)\n"
    "  --step H               of differences, relative to the mean absolute value of the array (default: 1e-4)\n"
    "  --seed N               of the random directions (default: 1)\n"
    "  -f, --file FILE        the text is in FILE\n"
    "  --threads N, --device cpu|interp\n";

enum { OUT, TOLERANCE, STEP, SEED, TEXT_FILE };
static const option options[] = { { "output", 'o', true }, { "tolerance", 0, true }, { "step", 0, true },
                                  { "seed", 0, true },     { "file", 'f', true },    { NULL, 0, false } };
enum { DIRECTIONS = 2, ELEMENTS = 16 };

typedef struct check {
    const command *self;
    wf_context *ctx;
    const char *text, *file, *want;
    char *owned_text;
    char last[NAME_CAP];
    const char *spec[MAX_INPUTS];
    char name[MAX_INPUTS][NAME_CAP];
    wf_arg arg[MAX_INPUTS + 1]; /* the last one is a direction */
    size_t args;
    double tolerance, step;
    int64_t seed;
    bool differs;
} check;

static int add_input(check *c, const char *text)
{
    const char *rest =
        take_argument(c->self, text, "name=file or name=number", c->text ? c->text : c->file, c->name, c->args);
    if (!rest)
        return EXIT_USAGE;
    c->spec[c->args++] = rest;
    return EXIT_OK;
}

static int read_arguments(check *c, arguments *a)
{
    a->text_wanted = true;
    for (int o = next_argument(a); o != ARG_END; o = next_argument(a)) {
        if (o == OUT)
            c->want = a->value;
        else if (o == TEXT_FILE) {
            c->file = a->value;
            a->text_wanted = false;
        } else if (o == TOLERANCE || o == STEP) {
            double *to = o == STEP ? &c->step : &c->tolerance;
            if (!parse_real(a->value, to) || *to <= 0)
                return misused(c->self, "--%s %s: give a number above 0", options[o].name, a->value);
        } else if (o == SEED) {
            if (!parse_count(a->value, &c->seed))
                return misused(c->self, "--seed %s: give a whole number above 0", a->value);
        } else if (o != ARG_OPERAND)
            return ended(o);
        else if (!c->text && !c->file) {
            c->text = a->value;
            a->text_wanted = false;
        } else if (add_input(c, a->value) != EXIT_OK)
            return EXIT_USAGE;
    }
    if (c->text && c->file)
        return misused(c->self, "-f %s: there is a text already, '%s'", c->file, c->text);
    return c->text || c->file ? -1 : misused(c->self, "no text");
}

static bool has_derivative(const wf_arg *arg)
{
    wf_kind kind = arg->kind == WF_ARG_ARRAY ? wf_dtype_kind(wf_array_dtype(arg->as.array)) : WF_KIND_BOOL;
    return kind == WF_KIND_FLOAT || kind == WF_KIND_COMPLEX;
}

/* Loads the inputs; floats become f64 or c128. */
static int make_inputs(check *c)
{
    for (size_t i = 0; i < c->args; i++) {
        number_kind kind = number_argument(c->name[i], c->spec[i], &c->arg[i]);
        if (kind == NUMBER)
            continue;
        if (kind == NUMBER_TOO_LARGE)
            return misused(c->self, "'%s=%s': the number is too large; infinity is inf", c->name[i], c->spec[i]);
        wf_array *a = wf_load(c->ctx, c->spec[i], NULL), *wide = NULL;
        if (!a)
            return failed_in(c->ctx);
        c->arg[i] = WF_ARG(c->name[i], a);
        if (!has_derivative(&c->arg[i]))
            continue;
        bool complex = wf_dtype_kind(wf_array_dtype(a)) == WF_KIND_COMPLEX;
        const char *out[] = { "out" };
        wf_status status =
            wf_text_create(c->ctx, complex ? "out = c128(a)" : "out = f64(a)", WF_NAMED(a), 0, out, 1, &wide);
        wf_release(a);
        c->arg[i].kind = WF_ARG_NUMBER;
        if (status != WF_OK)
            return failed_in(c->ctx);
        c->arg[i] = WF_ARG(c->name[i], wide);
    }
    return EXIT_OK;
}

/* ---- computing ---- */

/* Sets *out to the result of the text, followed by `more`, of that name; `args` arguments are given. Exit code. */
static int compute(check *c, const char *more, const char *name, size_t args, wf_array **out)
{
    char *text = append(append(NULL, "%s", c->text), "\n%s", more);
    const char *want[] = { name };
    wf_status status = wf_text_create(c->ctx, text, (wf_args){ c->arg, args }, 0, want, 1, out);
    free(text);
    return status == WF_OK ? EXIT_OK : failed_in(c->ctx);
}

/* Sets out[n] to the values of the array, which is released. Exit code. */
static int take(check *c, wf_array *a, double *out, size_t n)
{
    wf_status status = wf_download(a, out, n * sizeof *out);
    wf_release(a);
    return status == WF_OK ? EXIT_OK : failed_in(c->ctx);
}

static int loss_at(check *c, double *loss)
{
    wf_array *out;
    char *more = append(NULL, "check__loss = f64(%s)", c->want);
    int result = compute(c, more, "check__loss", c->args, &out);
    free(more);
    return result == EXIT_OK ? take(c, out, loss, 1) : result;
}

typedef struct side { /* one array that is checked */
    size_t which, n;  /* n: real numbers in it */
    double *at, *moved, *u, *g;
    double h;
} side;

/* Sets *slope to the central difference of the loss along s->u. Exit code. */
static int difference(check *c, side *s, double h, double *slope)
{
    double loss[2];
    wf_array *a = c->arg[s->which].as.array;
    int result = EXIT_OK;
    for (int k = 0; k < 2 && result == EXIT_OK; k++) {
        for (size_t i = 0; i < s->n; i++)
            s->moved[i] = s->at[i] + (k ? h : -h) * s->u[i];
        result = wf_upload(a, s->moved, s->n * sizeof *s->moved) == WF_OK ? loss_at(c, &loss[k]) : failed_in(c->ctx);
    }
    if (result == EXIT_OK && wf_upload(a, s->at, s->n * sizeof *s->at) != WF_OK)
        result = failed_in(c->ctx);
    *slope = (loss[1] - loss[0]) / (2 * h);
    return result;
}

/* Compares g . u with differences. Sets both, and *beyond to how far they differ beyond what is allowed: 0 and less, they
 * agree. Exit code. */
static int along(check *c, side *s, double *derivative, double *numeric, double *beyond)
{
    double coarse, fine, sum = 0, size = 0;
    int result = difference(c, s, s->h, &coarse);
    if (result == EXIT_OK)
        result = difference(c, s, s->h / 2, &fine);
    if (result != EXIT_OK)
        return result;
    for (size_t i = 0; i < s->n; i++) {
        sum += s->g[i] * s->u[i];
        size += fabs(s->g[i] * s->u[i]);
    }
    *derivative = sum;
    *numeric = (4 * fine - coarse) / 3;
    *beyond = fabs(sum - *numeric) - c->tolerance * (size + fabs(*numeric)) - 2 * fabs(fine - coarse);
    if (!(*beyond <= 0))
        c->differs = true;
    return EXIT_OK;
}

/* ---- checks ---- */

/* Compares g . u with the forward derivative along u, which must agree but for rounding. Exit code. */
static int forward(check *c, side *s, double derivative)
{
    wf_array *a = c->arg[s->which].as.array, *u = wf_like(a), *out = NULL;
    double size = 0, tangent = 0;
    char *more = append(NULL, "check__t = f64(tangent(%s, %s, check__u))", c->want, c->name[s->which]);
    int result = u && wf_upload(u, s->u, s->n * sizeof *s->u) == WF_OK ? EXIT_OK : failed_in(c->ctx);
    c->arg[c->args] = WF_ARG("check__u", u);
    if (result == EXIT_OK)
        result = compute(c, more, "check__t", c->args + 1, &out);
    free(more);
    wf_release(u);
    if (result == EXIT_OK)
        result = take(c, out, &tangent, 1);
    if (result != EXIT_OK)
        return result;
    for (size_t i = 0; i < s->n; i++)
        size += fabs(s->g[i] * s->u[i]);
    bool differs = !(fabs(tangent - derivative) <= 1e-10 * (size + fabs(derivative)));
    c->differs |= differs;
    printf("  forward derivative       %.10g%s\n", tangent, differs ? "   differs" : "");
    return EXIT_OK;
}

static int check_directions(check *c, side *s, random_state *random)
{
    int result = EXIT_OK;
    for (int k = 0; k < DIRECTIONS && result == EXIT_OK; k++) {
        double derivative, numeric, beyond;
        for (size_t i = 0; i < s->n; i++)
            s->u[i] = random_normal(random);
        result = along(c, s, &derivative, &numeric, &beyond);
        if (result != EXIT_OK)
            break;
        printf("  along direction %d        %.10g   difference %.10g%s\n", k + 1, derivative, numeric,
               beyond <= 0 ? "" : "   differs");
        result = forward(c, s, derivative);
    }
    return result;
}

/* Compares elements one by one, some if there are many, and prints the one that is furthest beyond what is allowed. */
static int check_elements(check *c, side *s)
{
    size_t step = s->n > ELEMENTS ? s->n / ELEMENTS : 1, worst = 0;
    double most = -INFINITY, shown[2] = { 0, 0 };
    memset(s->u, 0, s->n * sizeof *s->u);
    for (size_t i = step / 2; i < s->n; i += step) {
        double derivative, numeric, beyond;
        s->u[i] = 1;
        int result = along(c, s, &derivative, &numeric, &beyond);
        s->u[i] = 0;
        if (result != EXIT_OK)
            return result;
        if (!(beyond <= most) && !isnan(most)) {
            worst = i;
            most = beyond;
            shown[0] = derivative;
            shown[1] = numeric;
        }
    }
    printf("  worst element %-10zu %.10g   difference %.10g%s\n", worst, shown[0], shown[1],
           most <= 0 ? "" : "   differs");
    return EXIT_OK;
}

static int check_array(check *c, size_t which, random_state *random)
{
    const wf_array *a = c->arg[which].as.array;
    bool complex = wf_dtype_kind(wf_array_dtype(a)) == WF_KIND_COMPLEX;
    side s = { .which = which, .n = (size_t)wf_array_count(a) * (complex ? 2 : 1) };
    double mean = 0;
    wf_array *g = NULL;
    char shape[256], *more = append(NULL, "check__g = grad(%s, %s)", c->want, c->name[which]);
    if (s.n == 0) {
        free(more);
        return EXIT_OK;
    }
    s.at = allocate(4 * s.n, sizeof *s.at);
    s.moved = s.at + s.n;
    s.u = s.moved + s.n;
    s.g = s.u + s.n;
    int result = wf_download(a, s.at, s.n * sizeof *s.at) == WF_OK ? EXIT_OK : failed_in(c->ctx);
    if (result == EXIT_OK)
        result = compute(c, more, "check__g", c->args, &g);
    if (result == EXIT_OK)
        result = take(c, g, s.g, s.n);
    for (size_t i = 0; i < s.n; i++)
        mean += fabs(s.at[i]) / (double)s.n;
    s.h = c->step * (mean > 0 && isfinite(mean) ? mean : 1);
    if (result == EXIT_OK)
        printf("%s, %s of %s\n", c->name[which], complex ? "c128" : "f64", shape_text(wf_array_shape(a), shape));
    if (result == EXIT_OK)
        result = check_directions(c, &s, random);
    if (result == EXIT_OK)
        result = check_elements(c, &s);
    free(more);
    free(s.at);
    return result;
}

static int check_all(check *c)
{
    size_t arrays = 0;
    int result = EXIT_OK;
    random_state random = { .has_spare = false };
    random_seed(&random, (uint64_t)c->seed);
    if (!wf_text_target(c->ctx, c->text, WF_LAST_TARGET, c->last, sizeof c->last)) {
        wf_array *out = NULL;
        const char *want[] = { "out" };
        wf_text_create(c->ctx, c->text, (wf_args){ c->arg, c->args }, 0, want, 1, &out); /* has the message */
        wf_release(out);
        return failed_in(c->ctx);
    }
    if (!c->want)
        c->want = c->last;
    char *longer = append(NULL, "%s\ncheck__x = 0", c->text), name[NAME_CAP];
    bool named = !wf_text_target(c->ctx, c->text, WF_LAST_TARGET, name, sizeof name) ||
                 wf_text_target(c->ctx, longer, WF_LAST_TARGET, name, sizeof name);
    free(longer);
    if (!named)
        return misused(c->self, "the text ends with an expression: give the result a name, L = ...");
    for (size_t i = 0; i < c->args && result == EXIT_OK; i++)
        if (has_derivative(&c->arg[i])) {
            result = check_array(c, i, &random);
            arrays++;
        }
    if (result == EXIT_OK && !arrays)
        return misused(c->self, "no argument is an array of floats or complex numbers");
    if (result == EXIT_OK)
        printf("%s\n", c->differs ? "the derivative differs" : "the derivative agrees");
    return result == EXIT_OK && c->differs ? EXIT_FAILED : result;
}

int run_check(const command *self, int argc, char **argv)
{
    check *c = allocate(1, sizeof *c);
    c->self = self;
    c->tolerance = 1e-6;
    c->step = 1e-4;
    c->seed = 1;
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv };
    int result = read_arguments(c, &a);
    if (result < 0) {
        c->ctx = open_context(&a);
        result = c->ctx ? EXIT_OK : EXIT_USAGE;
        if (result == EXIT_OK && c->file)
            result = read_text(c->file, &c->owned_text, &c->text);
        if (result == EXIT_OK)
            result = make_inputs(c);
        if (result == EXIT_OK)
            result = check_all(c);
    }
    for (size_t i = 0; i < c->args; i++)
        if (c->arg[i].kind == WF_ARG_ARRAY)
            wf_release(c->arg[i].as.array);
    if (c->ctx)
        wf_context_free(c->ctx);
    free(c->owned_text);
    free(c);
    return result;
}
