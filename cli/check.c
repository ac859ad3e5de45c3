/* check.c - weft check: the derivative of a text beside differences, by wf_check_gradient. */
#include "calc.h"
#include "weft/optimize.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char help_check[] =
    "  weft check 'L = sum((sin(a) - t)**2)' a=a.npy t=t.npy\n"
    "  weft check 'd = a[y, x+1] - a; L = sum(sqrt(d*d + 1e-6)); M = mean(a)' a=photo.npy -o L\n\n"
    "Compares the derivative of the text's last result, a real value of one element, with respect to each array of floats\n"
    "or complex numbers with differences of that result. The arrays are converted to f64 or c128 before. Prints for each\n"
    "array the derivative and the difference along random directions, and of the worst among some elements. The exit code\n"
    "is 1 if a derivative differs by more than the tolerance and the error of the differences, which has their rounding.\n"
    "An array of integers has no derivative: weft convert makes it one of floats.\n\n"
    "  -o NAME                the result whose derivative is checked (default: the last assigned)\n"
    "  --tolerance T          relative, of the derivative along a direction (default: 1e-6)\n"
    "  --step H               of differences, relative to the mean absolute value of the array (default: 1e-4)\n"
    "  --seed N               of the random directions (default: 1)\n"
    "  -f, --file FILE        the text is in FILE\n"
    "  --threads N, --device cpu|interp\n";

enum { OUT, TOLERANCE, STEP, SEED, TEXT_FILE };
static const option options[] = { { "output", 'o', true }, { "tolerance", 0, true }, { "step", 0, true },
                                  { "seed", 0, true },     { "file", 'f', true },    { NULL, 0, false } };

typedef struct check {
    const command *self;
    wf_context *ctx;
    const char *text, *file, *want;
    char *owned_text;
    char last[NAME_CAP];
    char *named; /* `text`, where the command line has one expression without a name; else NULL */
    const char *spec[MAX_INPUTS];
    char name[MAX_INPUTS][NAME_CAP];
    wf_arg arg[MAX_INPUTS + 1]; /* the last one is a direction */
    size_t args;
    double tolerance, step;
    int64_t seed;
    bool which[MAX_INPUTS]; /* arguments that are checked */
    /* what has been printed */
    size_t printed; /* 1 + the number of the array, among those that are checked */
    int directions;
    bool differs, pairs;
    wf_gradient_finding worst; /* of the array's elements; size 0 = none */
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

static int make_inputs(check *c)
{
    for (size_t i = 0; i < c->args; i++) {
        number_kind kind = number_argument(c->name[i], c->spec[i], &c->arg[i]);
        if (kind == NUMBER)
            continue;
        if (kind == NUMBER_TOO_LARGE)
            return misused(c->self, "'%s=%s': the number is too large; infinity is inf", c->name[i], c->spec[i]);
        wf_array *a = wf_load(c->ctx, c->spec[i], NULL);
        if (!a)
            return failed_in(c->ctx);
        c->arg[i] = WF_ARG(c->name[i], a);
    }
    return EXIT_OK;
}

/* Returns the result of the text, followed by `more`, of that name; `args` arguments are given. NULL: the context has the
 * error. */
static wf_array *compute(check *c, const char *more, const char *name, size_t args)
{
    wf_array *out = NULL;
    char *text = append(append(NULL, "%s", c->text), "\n%s", more);
    const char *want[] = { name };
    wf_text_create(c->ctx, text, (wf_args){ c->arg, args }, 0, want, 1, &out);
    free(text);
    return out;
}

/* Sets *number to the value of an array of one element, which is released. */
static wf_status take(check *c, wf_array *a, double *number)
{
    wf_status status = a ? wf_download(a, number, sizeof *number) : wf_last_status(c->ctx);
    wf_release(a);
    return status;
}

/* ---- the text as functions of wf_check_gradient: of the arrays among its arguments that have derivatives ---- */
static void bind(check *c, wf_arrays params)
{
    for (size_t i = 0, k = 0; i < c->args; i++)
        if (c->which[i])
            c->arg[i].as.array = params.at[k++];
}

static wf_status text_loss(void *user, wf_arrays params, double *loss)
{
    check *c = user;
    bind(c, params);
    char *more = append(NULL, "check__loss = f64(%s)", c->want);
    wf_array *out = compute(c, more, "check__loss", c->args);
    free(more);
    return take(c, out, loss);
}

static wf_status text_gradient(void *user, wf_arrays params, wf_arrays grads)
{
    check *c = user;
    wf_status status = WF_OK;
    bind(c, params);
    for (size_t i = 0, k = 0; i < c->args && status == WF_OK; i++) {
        if (!c->which[i])
            continue;
        char *more = append(NULL, "check__g = grad(%s, %s)", c->want, c->name[i]);
        wf_array *out = wf_array_count(grads.at[k]) ? compute(c, more, "check__g", c->args) : wf_retain(grads.at[k]);
        free(more);
        status = out ? wf_array_assign(grads.at[k++], out) : wf_last_status(c->ctx);
        wf_release(out);
    }
    return status;
}

static wf_status text_tangent(void *user, wf_arrays params, size_t which, const wf_array *direction, double *slope)
{
    check *c = user;
    size_t i = 0;
    bind(c, params);
    while (!c->which[i] || which--)
        i++;
    wf_array *u = wf_copy(direction);
    c->arg[c->args] = WF_ARG("check__u", u);
    char *more = append(NULL, "check__t = f64(tangent(%s, %s, check__u))", c->want, c->name[i]);
    wf_array *out = u ? compute(c, more, "check__t", c->args + 1) : NULL;
    free(more);
    wf_release(u);
    return take(c, out, slope);
}

/* ---- what is printed ---- */
static void print_worst(check *c)
{
    const wf_gradient_finding *f = &c->worst;
    if (f->size)
        printf("  worst element %-10" PRId64 " %.10g   difference %.10g%s\n",
               f->element * (c->pairs ? 2 : 1) + f->imaginary, f->gradient, f->difference,
               f->differs ? "   differs" : "");
    c->worst.size = 0;
}

/* Prints the name of the array before its first finding. */
static void print_array(check *c, const wf_gradient_finding *f)
{
    char shape[256];
    size_t i = 0;
    for (size_t k = f->array; !c->which[i] || k--;)
        i++;
    const wf_array *a = c->arg[i].as.array;
    c->pairs = wf_dtype_kind(wf_array_dtype(a)) == WF_KIND_COMPLEX;
    printf("%s, %s of %s\n", c->name[i], c->pairs ? "c128" : "f64", shape_text(wf_array_shape(a), shape));
    c->directions = 0;
}

static void print_finding(void *user, const wf_gradient_finding *f)
{
    check *c = user;
    if (!c->printed || f->array + 1 != c->printed) {
        print_worst(c);
        print_array(c, f);
    }
    c->printed = f->array + 1;
    c->differs |= f->differs;
    if (f->element >= 0) {
        if (!c->worst.size || !(f->beyond <= c->worst.beyond))
            c->worst = *f;
        return;
    }
    printf("  along direction %d        %.10g   difference %.10g%s\n", ++c->directions, f->gradient, f->difference,
           f->differs ? "   differs" : "");
    printf("  forward derivative       %.10g\n", f->forward);
}

static int check_arrays(check *c)
{
    static const wf_gradient_functions functions = { text_loss, text_gradient, text_tangent };
    wf_array *list[MAX_INPUTS];
    size_t n = 0;
    for (size_t i = 0; i < c->args; i++)
        if ((c->which[i] = has_derivative(&c->arg[i])))
            list[n++] = c->arg[i].as.array;
    if (!n)
        return misused(c->self, "no argument is an array of floats or complex numbers");
    wf_array *own[MAX_INPUTS];
    memcpy(own, list, sizeof own);
    wf_status status =
        wf_check_gradient(c->ctx, ((wf_arrays){ list, n }), NULL, c, NULL, .tolerance = c->tolerance, .step = c->step,
                          .seed = c->seed, .functions = &functions, .each = print_finding, .user = c);
    bind(c, (wf_arrays){ own, n }); /* which the caller releases */
    if (status != WF_OK)
        return failed_in(c->ctx);
    print_worst(c);
    return EXIT_OK;
}

static int check_all(check *c)
{
    if (!wf_text_target(c->ctx, c->text, WF_LAST_TARGET, c->last, sizeof c->last)) {
        wf_array *out = NULL;
        const char *want[] = { "out" };
        wf_text_create(c->ctx, c->text, (wf_args){ c->arg, c->args }, 0, want, 1, &out); /* has the message */
        wf_release(out);
        return failed_in(c->ctx);
    }
    if (!c->want)
        c->want = c->last;
    if (!ends_with_name(c->ctx, c->text) && !strpbrk(c->text, ";\n{#")) {
        c->named = append(NULL, "%s = %s", c->last, c->text); /* one expression */
        c->text = c->named;
    }
    if (!ends_with_name(c->ctx, c->text))
        return misused(c->self, "the text ends with an expression: give the result a name, L = ...");
    int result = check_arrays(c);
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
    free(c->named);
    free(c->owned_text);
    free(c);
    return result;
}
