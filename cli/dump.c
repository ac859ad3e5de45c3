/* dump.c - weft dump: the stages of an expression, from the recording to assembly. */
#include "calc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char help_dump[] =
    "  weft dump 'out = sqrt(gx*gx + gy*gy)' gx=f32[512,512] gy=f32[512,512]\n"
    "  weft dump 'a*b + c' a=f32[4096] b=f32[4096] c=f32[4096] --asm\n"
    "  weft dump 'a[y, x+1] - a[y, x-1]' a=photo.png --kernels --llvm\n\n"
    "Arguments are files, numbers, or arrays declared by dtype and shape. Nothing runs: declared arrays and results have\n"
    "addresses, but use no memory. Put '--' before a text that begins with an option: -o, -f or -h.\n\n"
    "  --trace                the recording (the default)\n"
    "  --passes               the passes that planning runs, each with its decisions; without a text: all passes\n"
    "  --after PASS           the state of planning after that pass\n"
    "  --ad                   all of these of the derivatives of the result with respect to the arrays of floats\n"
    "  --plan                 the finished plan\n"
    "  --kernels              the kernels, after splitting and after lowering\n"
    "  --llvm                 LLVM IR\n"
    "  --asm                  assembly for this machine\n"
    "  --dot                  the recording, for Graphviz: weft dump ... --dot | dot -Tsvg > graph.svg\n"
    "  --ptx                  PTX for NVIDIA GPUs; works without a GPU\n"
    "  --arch sm_80           PTX for this compute capability and later ones (default: sm_70)\n"
    "  -o NAME                the result to dump (default: the last assigned)\n"
    "  -f, --file FILE        the text is in FILE\n"
    "  --shape Y,X            the shape of coordinates and programs, as for weft calc\n"
    "  --threads N, --device cpu|interp, --fast-math\n";

enum { TRACE, PASSES, PLAN, KERNELS, LLVM, ASM, DOT, PTX, KINDS, AFTER = KINDS, OUT, ARCH, TEXT_FILE, SHAPE, AD };
static const option options[] = { { "trace", 0, false },   { "passes", 0, false }, { "plan", 0, false },
                                  { "kernels", 0, false }, { "llvm", 0, false },   { "asm", 0, false },
                                  { "dot", 0, false },     { "ptx", 0, false },    { "after", 0, true },
                                  { "output", 'o', true }, { "arch", 0, true },    { "file", 'f', true },
                                  { "shape", 0, true },    { "ad", 0, false },     { NULL, 0, false } };

typedef struct dump {
    const command *self;
    wf_context *ctx;
    const char *text, *file, *want;
    char *owned_text, *with_ad;
    char last[NAME_CAP];
    char result[MAX_INPUTS][NAME_CAP]; /* names of the results */
    size_t results;
    bool ad;
    const char *spec[MAX_INPUTS]; /* text after the '=' of an argument */
    char name[MAX_INPUTS][NAME_CAP];
    wf_arg arg[MAX_INPUTS + 1];
    size_t args;
    bool show[KINDS];
    const char *after; /* pass of --after, or NULL */
    wf_shape shape;    /* of --shape; rank 0 = not given */
    int arch;          /* compute capability, 80 for sm_80; 0 = default */
} dump;

/* Reads "sm_80" or "80". */
static bool parse_arch(const char *text, int *arch)
{
    char *end;
    const char *digits = strncmp(text, "sm_", 3) == 0 ? text + 3 : text;
    long n = strtol(digits, &end, 10);
    *arch = (int)n;
    return end > digits && !*end && n >= 10 && n < 1000;
}

/* Reads "f32[512,512]". Returns false if the text is no declaration, but a file. Sets *problem to a message or NULL. */
static bool parse_declaration(const char *text, wf_dtype *dtype, wf_shape *shape, const char **problem)
{
    char buf[256];
    const char *open = strchr(text, '[');
    size_t n = strlen(text), name = open ? (size_t)(open - text) : 0;
    if (!open || n >= sizeof buf || text[n - 1] != ']' || !is_name(text, name) ||
        strspn(open + 1, "0123456789, ") != n - name - 2)
        return false;
    memcpy(buf, text, n);
    buf[n - 1] = 0;
    buf[name] = 0;
    *dtype = parse_dtype(buf);
    *problem = *dtype == WF_NONE
                   ? "no such dtype; there are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, c32, c64, "
                     "c128"
               : !parse_shape(buf + name + 1, shape) ? "give extents as f32[512,512]"
                                                     : NULL;
    return true;
}

/* True for `weft dump --passes` alone, which lists the names of all passes. */
static bool lists_passes(const dump *d)
{
    int shown = 0;
    for (int i = 0; i < KINDS; i++)
        shown += d->show[i];
    return !d->text && !d->file && !d->after && shown == 1 && d->show[PASSES];
}

static int add_input(dump *d, const char *text)
{
    const char *rest = take_argument(d->self, text, "name=file, name=number or name=f32[512,512]",
                                     d->text ? d->text : d->file, d->name, d->args);
    if (!rest)
        return EXIT_USAGE;
    d->spec[d->args++] = rest;
    return EXIT_OK;
}

static int read_arguments(dump *d, arguments *a)
{
    a->text_wanted = true;
    for (int o = next_argument(a); o != ARG_END; o = next_argument(a)) {
        if (o == OUT)
            d->want = a->value;
        else if (o == AFTER)
            d->after = a->value;
        else if (o == TEXT_FILE) {
            d->file = a->value;
            a->text_wanted = false;
        } else if (o == SHAPE) {
            if (!parse_shape(a->value, &d->shape))
                return misused(d->self, "--shape %s: give extents as 512,512", a->value);
        } else if (o == ARCH) {
            if (!parse_arch(a->value, &d->arch))
                return misused(d->self, "'%s': an architecture is sm_70, sm_80, sm_90, ...", a->value);
        } else if (o == AD)
            d->ad = true;
        else if (o >= 0)
            d->show[o] = true;
        else if (o != ARG_OPERAND)
            return ended(o);
        else if (!d->text && !d->file) {
            d->text = a->value;
            a->text_wanted = false;
        } else if (add_input(d, a->value) != EXIT_OK)
            return EXIT_USAGE;
    }
    if (d->text && d->file)
        return misused(d->self, "-f %s: there is a text already, '%s'", d->file, d->text);
    return d->text || d->file || lists_passes(d) ? -1 : misused(d->self, "no text");
}

static int make_inputs(dump *d)
{
    for (size_t i = 0; i < d->args; i++) {
        wf_dtype dtype;
        wf_shape shape;
        const char *problem = NULL;
        number_kind kind = number_argument(d->name[i], d->spec[i], &d->arg[i]);
        if (kind == NUMBER)
            continue;
        bool declared = parse_declaration(d->spec[i], &dtype, &shape, &problem);
        if (kind == NUMBER_TOO_LARGE)
            problem = "the number is too large; infinity is inf";
        if (problem)
            return misused(d->self, "'%s=%s': %s", d->name[i], d->spec[i], problem);
        wf_array *a = declared ? wf_empty(d->ctx, dtype, shape) : wf_load(d->ctx, d->spec[i], NULL);
        if (!a)
            return failed_in(d->ctx);
        d->arg[i] = WF_ARG(d->name[i], a);
    }
    if (!d->shape.rank)
        return EXIT_OK;
    d->arg[d->args] = shape_argument(d->ctx, d->shape);
    return d->arg[d->args++].as.array ? EXIT_OK : failed_in(d->ctx);
}

/* With --ad, appends the derivatives of the result to the text; they are the results. Exit code. */
static int add_derivatives(dump *d)
{
    if (!ends_with_name(d->ctx, d->text))
        return misused(d->self, "the text ends with an expression: give the result a name, L = ...");
    char *names = NULL, *call = append(NULL, "grad(%s", d->want);
    for (size_t i = 0; i < d->args; i++)
        if (has_derivative(&d->arg[i])) {
            snprintf(d->result[d->results], NAME_CAP, "dump__d%zu", d->results);
            names = append(names, "%s%s", d->results ? ", " : "", d->result[d->results]);
            call = append(call, ", %s", d->name[i]);
            d->results++;
        }
    if (d->results)
        d->text = d->with_ad = append(append(append(NULL, "%s\n", d->text), "%s = ", names), "%s; 1)", call);
    free(names);
    free(call);
    return d->results ? EXIT_OK : misused(d->self, "no argument is an array of floats or complex numbers");
}

static int name_result(dump *d)
{
    bool reads = wf_text_target(d->ctx, d->text, WF_LAST_TARGET, d->last, sizeof d->last);
    if (!reads)
        memcpy(d->last, "out", 4);
    if (!d->want)
        d->want = d->last;
    if (d->ad && reads) /* else preparing has the message */
        return add_derivatives(d);
    snprintf(d->result[d->results++], NAME_CAP, "%s", d->want);
    return EXIT_OK;
}

/* The whole text of a dump; with `after`, of the plan after that pass. NULL: the context has the error. */
static char *text_of(const wf_kernel *k, wf_dump what, const char *after)
{
    size_t len = 0;
    char *text = NULL;
    for (int filled = 0; filled < 2; filled++) { /* the first call returns the length */
        size_t cap = text ? len + 1 : 0;
        wf_status status = after ? wf_kernel_dump_after(k, WF_NO_ARGS, after, text, cap, &len)
                                 : wf_kernel_dump(k, WF_NO_ARGS, what, text, cap, &len);
        if (status != WF_OK) {
            free(text);
            return NULL;
        }
        if (!text)
            text = allocate(len + 1, 1);
    }
    return text;
}

static int print_text(const dump *d, const wf_kernel *k, wf_dump what, const char *after, const char *title)
{
    char *text = text_of(k, what, after);
    if (!text)
        return failed_in(d->ctx);
    if (title)
        printf("---- %s ----\n", title);
    printf("%s%s", text, *text && text[strlen(text) - 1] != '\n' ? "\n" : "");
    free(text);
    return EXIT_OK;
}

static int print_all(dump *d, const wf_kernel *k)
{
    static const wf_dump what[] = {
        [TRACE] = WF_DUMP_TRACE, [PASSES] = WF_DUMP_PASSES, [PLAN] = WF_DUMP_PLAN, [KERNELS] = WF_DUMP_KERNELS,
        [LLVM] = WF_DUMP_LLVM,   [ASM] = WF_DUMP_ASM,       [DOT] = WF_DUMP_DOT,   [PTX] = WF_DUMP_PTX
    };
    int shown = d->after != NULL, result = EXIT_OK;
    for (int i = TRACE; i < KINDS; i++)
        shown += d->show[i];
    if (shown == 0)
        d->show[TRACE] = true;
    for (int i = TRACE; i < KINDS && result == EXIT_OK; i++) {
        wf_dump kind = i == PTX && d->arch ? WF_DUMP_PTX_FOR(d->arch) : what[i];
        if (d->show[i])
            result = print_text(d, k, kind, NULL, shown > 1 ? options[i].name : NULL);
    }
    if (d->after && result == EXIT_OK)
        result = print_text(d, k, WF_DUMP_PLAN, d->after, shown > 1 ? d->after : NULL);
    return result;
}

/* Prepares recording number `part` of the text. NULL: there are fewer, or the context has the error. */
static wf_kernel *prepare(dump *d, size_t part)
{
    wf_array *out[MAX_INPUTS] = { NULL };
    const char *want[MAX_INPUTS];
    for (size_t i = 0; i < d->results; i++)
        want[i] = d->result[i];
    wf_kernel *k = wf_text_compile_part(d->ctx, d->text, (wf_args){ d->arg, d->args }, 0, want, d->results, part, out);
    for (size_t i = 0; i < d->results; i++)
        wf_release(out[i]); /* k keeps it */
    return k;
}

/* Dumps the recordings of the text, each under its number if there are several. */
static int show(dump *d)
{
    wf_kernel *k = prepare(d, 0), *next = NULL;
    int result = k ? EXIT_OK : failed_in(d->ctx);
    for (size_t part = 0; k && result == EXIT_OK; part++) {
        next = prepare(d, part + 1);
        if (next || part)
            printf("%s==== recording %zu ====\n", part ? "\n" : "", part + 1);
        result = !next && wf_last_status(d->ctx) != WF_OK ? failed_in(d->ctx) : print_all(d, k);
        wf_kernel_free(k);
        k = next;
    }
    wf_kernel_free(k);
    return result;
}

int run_dump(const command *self, int argc, char **argv)
{
    dump *d = allocate(1, sizeof *d);
    d->self = self;
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv };
    int result = read_arguments(d, &a);
    if (result < 0 && lists_passes(d)) {
        for (size_t i = 0; wf_pass_name(i); i++)
            printf("%s\n", wf_pass_name(i));
        result = EXIT_OK;
    } else if (result < 0) {
        a.host_only = true;
        d->ctx = open_context(&a);
        result = d->ctx ? EXIT_OK : EXIT_USAGE;
        if (result == EXIT_OK && d->file)
            result = read_text(d->file, &d->owned_text, &d->text);
        if (result == EXIT_OK)
            result = make_inputs(d);
        if (result == EXIT_OK)
            result = name_result(d);
        if (result == EXIT_OK)
            result = show(d);
    }
    for (size_t i = 0; i < d->args; i++)
        if (d->arg[i].kind == WF_ARG_ARRAY)
            wf_release(d->arg[i].as.array);
    if (d->ctx)
        wf_context_free(d->ctx);
    free(d->owned_text);
    free(d->with_ad);
    free(d);
    return result;
}
