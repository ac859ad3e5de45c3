/* test_plan_golden.c - compares plans with the texts of tests/plan/<rule>.txt, each of which shows one planning rule.
 *
 * A file has, in this order:
 *
 *   # One sentence: the rule.
 *   device cpu                                   or interp, gpu
 *   flags debug -packets                         beside the usual ones; of operator text only
 *   array a f32 (4, 6)                           in C order, in memory of its own; or
 *   array b f32 (4, 5) strides (6, 1) in a at 1  in the memory of another one, from that element on
 *   space (4, 6)                                 of operator text: it is recorded at each point of an index space
 *   text                                         operator text follows
 *   because                                      the reasons that planning gives
 *   plan                                         the plan, as src/plan/print.c writes it
 *
 * What operator text cannot say stands there as IR (src/ir/print.c), a section after the other, each with the arrays of
 * its slots. Before them:
 *
 *   kind space                                   or arrays, elements
 *   space (64, 64)
 *   block (8, 8)
 *   reduce 1                                     axes, or all
 *   initial 0x0                                  bits, of each reduction
 *   custom                                       all reductions are joined by section join; IR has `add` for it
 *   scratch s f32 (1, 16) front 1 zeroed         memory of blocks; `front`: axes that say which block's
 *   expand 1024, columns 2                       wf__recording.expand_bytes, .columns
 *   section call a out                           or init, deinit, post, join; IR follows
 *
 * Arrays have made-up addresses: planning looks at nothing but the way in which they overlap.
 * WEFT_UPDATE_PLANS=1 writes what planning does now into the files, to be looked at as a change of them.
 */
#include "weft_test.h"
#include "launch/launch.h"
#include <dirent.h>

enum { MOST_FILES = 256, MOST_ARRAYS = 16, LEAST_FILES = 150 };

typedef struct subject { /* an array, or scratch */
    char name[32], in[32];
    wf_dtype dtype;
    wf_shape shape;
    int64_t stride[WF_MAX_RANK], at;
    bool strided, zeroed;
    int front; /* of scratch: 1 + axes in front */
    char *base;
    wf_array *array; /* of a text */
} subject;

typedef struct golden {
    const char *file;
    wf_device device;
    bool is_text, custom;
    wf_space space; /* of a text */
    subject of[MOST_ARRAYS];
    uint32_t n;
    wf__recording rec;
    uint64_t initial[16];
    uint32_t initial_n;
    wf_kernel *kernel;
    wf__bind bind[MOST_ARRAYS];
} golden;

/* ---- words ---- */
static char *word(char **at) /* "" at the end */
{
    *at += strspn(*at, " ");
    char *first = *at;
    size_t n = strcspn(first, " ");
    if (*first == '(')
        n = strcspn(first, ")") + 1;
    *at += first[n] ? n + 1 : n;
    first[n] = 0;
    return first;
}

static void bad(const golden *g, const char *what) { fail_msg("%s: no such thing: %s", g->file, what); }

static int64_t number_in(const golden *g, const char *text)
{
    char *end;
    long long n = strtoll(text, &end, 0);
    if (end == text || *end)
        bad(g, text);
    return n;
}

static wf_dtype dtype_in(const golden *g, const char *text)
{
    for (int t = WF_BOOL; t <= WF_C128; ++t)
        if (!strcmp(text, wf_dtype_name((wf_dtype)t)))
            return (wf_dtype)t;
    bad(g, text);
    return WF_NONE;
}

/* "(3, 4)" */
static wf_shape shape_in(const golden *g, const char *text)
{
    wf_shape s = { 0 };
    if (*text != '(')
        bad(g, text);
    for (const char *at = text + 1; *at && *at != ')' && s.rank < WF_MAX_RANK;) {
        char *end;
        s.dim[s.rank++] = strtoll(at, &end, 10);
        at = end + strspn(end, ", ");
    }
    return s;
}

/* ---- the head of a file ---- */
static const char *const kinds[] = { [WF__ARRAYS] = "arrays", [WF__SPACE] = "space", [WF__ELEMENTS] = "elements" };
static const struct {
    const char *name;
    uint32_t flag;
} flag_names[] = { { "fold", WF_FLAG_FOLD },           { "value_numbering", WF_FLAG_VALUE_NUMBERING },
                   { "loop_opt", WF_FLAG_LOOP_OPT },   { "packets", WF_FLAG_PACKETS },
                   { "fast_math", WF_FLAG_FAST_MATH }, { "debug", WF_FLAG_DEBUG },
                   { "call_opt", WF_FLAG_CALL_OPT },   { "dead_code", WF_FLAG_DEAD_CODE } };

static void read_flags(golden *g, char *at)
{
    for (char *w = word(&at); *w; w = word(&at)) {
        bool off = *w == '-';
        size_t i = 0;
        while (i < WF__COUNT(flag_names) && strcmp(w + off, flag_names[i].name))
            ++i;
        if (i == WF__COUNT(flag_names))
            bad(g, w);
        *(off ? &g->space.flags_off : &g->space.flags_on) |= flag_names[i].flag;
    }
}

static subject *find_subject(golden *g, const char *name)
{
    for (uint32_t i = 0; i < g->n; ++i)
        if (!strcmp(g->of[i].name, name))
            return &g->of[i];
    bad(g, name);
    return NULL;
}

static void read_array(golden *g, char *at, bool scratch)
{
    assert_true(g->n < MOST_ARRAYS);
    subject *s = &g->of[g->n];
    snprintf(s->name, sizeof s->name, "%s", word(&at));
    s->dtype = dtype_in(g, word(&at));
    s->shape = shape_in(g, word(&at));
    s->front = scratch;
    wf__c_order(&s->shape, s->stride);
    s->base = (char *)(uintptr_t)((uint64_t)(g->n + 1) << 40);
    for (char *w = word(&at); *w; w = word(&at))
        if (!strcmp(w, "strides")) {
            wf_shape strides = shape_in(g, word(&at));
            memcpy(s->stride, strides.dim, sizeof s->stride);
        } else if (!strcmp(w, "in")) {
            s->base = find_subject(g, word(&at))->base;
        } else if (!strcmp(w, "at")) {
            s->base += number_in(g, word(&at)) * (int64_t)wf_dtype_size(s->dtype);
        } else if (!strcmp(w, "front")) {
            s->front = 1 + (int)number_in(g, word(&at));
        } else if (!strcmp(w, "zeroed")) {
            s->zeroed = true;
        } else
            bad(g, w);
    ++g->n;
}

static wf_axes read_axes(const golden *g, char *at)
{
    wf_axes axes = 0;
    for (char *w = word(&at); *w; w = word(&at))
        axes |= !strcmp(w, "all") ? WF_ALL_AXES : 1u << number_in(g, w);
    return axes;
}

static void read_line(golden *g, char *line)
{
    char *at = line, *w = word(&at);
    if (!*w || *w == '#')
        return;
    if (!strcmp(w, "device")) {
        w = word(&at);
        g->device = !strcmp(w, "gpu") ? WF_GPU(0) : wf_device_named(w);
        if (!g->device)
            bad(g, w);
    } else if (!strcmp(w, "flags"))
        read_flags(g, at);
    else if (!strcmp(w, "array") || !strcmp(w, "scratch"))
        read_array(g, at, *w == 's');
    else if (!strcmp(w, "kind")) {
        w = word(&at);
        while (g->rec.options.kind < WF__ELEMENTS && strcmp(w, kinds[g->rec.options.kind]))
            ++g->rec.options.kind;
        if (strcmp(w, kinds[g->rec.options.kind]))
            bad(g, w);
    } else if (!strcmp(w, "space"))
        g->rec.space = g->space.shape = shape_in(g, word(&at));
    else if (!strcmp(w, "block"))
        g->rec.block = shape_in(g, word(&at));
    else if (!strcmp(w, "reduce"))
        g->rec.options.reduce = read_axes(g, at);
    else if (!strcmp(w, "expand"))
        g->rec.options.expand_bytes = (uint64_t)number_in(g, word(&at));
    else if (!strcmp(w, "columns"))
        g->rec.options.columns = (uint8_t)number_in(g, word(&at));
    else if (!strcmp(w, "custom"))
        g->custom = true;
    else if (!strcmp(w, "initial"))
        for (w = word(&at); *w; w = word(&at))
            g->initial[g->initial_n++] = strtoull(w, NULL, 0);
    else
        bad(g, w);
}

/* ---- recordings ---- */
static void read_section(golden *g, char *head, const char *text)
{
    char *name = word(&head);
    wf__ir *of = !strcmp(name, "call")     ? &g->rec.ir
                 : !strcmp(name, "init")   ? &g->rec.init
                 : !strcmp(name, "deinit") ? &g->rec.deinit
                 : !strcmp(name, "post")   ? &g->rec.post
                 : !strcmp(name, "join")   ? &g->rec.join
                                           : NULL;
    wf__str error = { 0 };
    if (!of)
        bad(g, name);
    if (!wf__parse(text, of, &error))
        fail_msg("%s: section %s: %s", g->file, name, wf__str_get(&error));
    wf__str_free(&error);
    for (uint32_t s = 0; s < of->slot_n; ++s) {
        const subject *array = find_subject(g, word(&head));
        of->slot[s].object = (uint32_t)(array - g->of);
        of->slot[s].scratch = (uint8_t)array->front;
        of->slot[s].zeroed = array->zeroed;
    }
}

static void bind_subjects(golden *g)
{
    for (uint32_t i = 0; i < g->n; ++i) {
        const subject *s = &g->of[i];
        wf_array a = { .shape = s->shape, .dtype = s->dtype, .base = s->base };
        memcpy(a.stride, s->stride, sizeof a.stride);
        if (s->front)
            a.base = NULL;
        else
            wf__array_span(&a);
        wf__array_bind(&a, &g->bind[i]);
        g->bind[i].name = s->name;
        g->bind[i].number = s->front ? 0 : i + 1;
    }
}

static void record_text(golden *g, wf_context *ctx, const char *text)
{
    wf_arg arg[MOST_ARRAYS];
    for (uint32_t i = 0; i < g->n; ++i) {
        subject *s = &g->of[i];
        s->array = wf_wrap_with(ctx, s->base, s->dtype, s->shape,
                                &(wf_place){ .size = sizeof(wf_place), .strides = s->stride }, NULL, NULL);
        arg[i] = WF_ARG(s->name, s->array);
    }
    const wf_args args = { arg, g->n };
    g->space.size = sizeof g->space;
    wf_graph *graph = g->space.shape.rank ? wf_begin_with(ctx, &g->space) : wf_text_begin(ctx, text, args, &g->space);
    wf_text_record_n(graph, text, args);
    g->kernel = wf_compile(graph);
    if (!g->kernel)
        fail_msg("%s: %s", g->file, wf_last_message(ctx));
    const wf__program *p = &g->kernel->program;
    wf__recording own = p->rec;
    own.options.expand_bytes = g->rec.options.expand_bytes;
    own.options.columns = g->rec.options.columns;
    g->rec = own;
    for (uint32_t i = 0; i < p->object_n; ++i) {
        wf__array_bind(p->object[i].array, &g->bind[i]);
        g->bind[i].number = i + 1;
        for (uint32_t k = 0; k < g->n; ++k)
            if (g->of[k].array == p->object[i].array)
                g->bind[i].name = g->of[k].name;
    }
}

static void record_sections(golden *g)
{
    wf__ir *section[] = { &g->rec.ir, &g->rec.init, &g->rec.deinit, &g->rec.post, &g->rec.join };
    g->rec.options.objects = g->n;
    g->rec.initial = g->initial;
    assert_int_equal(g->rec.ir.red_n, g->initial_n);
    for (size_t i = 0; i < WF__COUNT(section); ++i)
        for (uint32_t k = 0; k < section[i]->red_n; ++k) {
            section[i]->red[k].start = g->initial[k];
            section[i]->red[k].join = g->custom ? WF_JOIN_CUSTOM : section[i]->red[k].join;
        }
    bind_subjects(g);
}

static void free_golden(golden *g)
{
    wf__ir *section[] = { &g->rec.ir, &g->rec.init, &g->rec.deinit, &g->rec.post, &g->rec.join };
    for (size_t i = 0; i < WF__COUNT(section) && !g->is_text; ++i)
        wf__ir_free(section[i]);
    for (uint32_t i = 0; i < g->n; ++i)
        wf_release(g->of[i].array);
    wf_kernel_free(g->kernel);
}

/* Reads the file's text up to its reasons, and writes a line's end where each part of it ends. */
static void read_golden(golden *g, wf_context *ctx, char *text)
{
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        g->is_text = !strcmp(line, "text");
        if (g->is_text) {
            record_text(g, ctx, next);
            return;
        }
        if (strncmp(line, "section ", 8)) {
            read_line(g, line);
            continue;
        }
        char *end = next ? strstr(next, "\nsection ") : NULL;
        if (end)
            end[1] = 0;
        read_section(g, line + 8, next);
        if (end)
            end[1] = 's';
        next = end ? end + 1 : NULL;
    }
    record_sections(g);
}

/* ---- planning ---- */
static void add_plan(golden *g, wf__str *why, wf__str *out)
{
    wf__plan plan;
    g->rec.why = why;
    bool ok = wf__plan_make(&plan, &g->rec, g->bind);
    g->rec.why = NULL;
    if (ok)
        wf__plan_print(&plan, g->bind, out);
    else
        wf__str_addf(out, "%s: %s\n", wf_status_name(plan.status), plan.error);
    wf__plan_free(&plan, NULL, NULL);
}

static void plan_golden(const char *file, wf_context *ctx, char *head, wf__str *out)
{
    golden *g = calloc(1, sizeof *g);
    wf__str why = { 0 }, with = { 0 }, without = { 0 };
    assert_non_null(g);
    g->file = file;
    read_golden(g, ctx, head);
    wf__set_target(&g->rec, g->device);
    add_plan(g, &why, &with);
    add_plan(g, NULL, &without);
    if (strcmp(wf__str_get(&with), wf__str_get(&without)))
        fail_msg("%s: the plan depends on whether its reasons are asked for", file);
    wf__str_addf(out, "because\n%splan\n%s", wf__str_get(&why), wf__str_get(&with));
    assert_false(why.failed || with.failed || without.failed || out->failed);
    wf__str_free(&why);
    wf__str_free(&with);
    wf__str_free(&without);
    free_golden(g);
    free(g);
}

/* ---- files ---- */
static char folder[512];

static void path_of(const char *file, char *out, size_t cap) { snprintf(out, cap, "%s/%s", folder, file); }

static char *read_file(const char *file)
{
    char path[1024];
    path_of(file, path, sizeof path);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    wf__str text = { 0 };
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        wf__str_addn(&text, part, n);
    fclose(f);
    assert_true(text.len && !text.failed);
    return text.at;
}

static void write_file(const char *file, const char *head, const char *tail)
{
    char path[1024];
    path_of(file, path, sizeof path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fprintf(f, "%s%s", head, tail);
    assert_int_equal(fclose(f), 0);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static uint32_t list_files(char *file[MOST_FILES])
{
    uint32_t n = 0;
    DIR *d = opendir(folder);
    if (!d)
        fail_msg("no folder %s; run this in the tree, or set WEFT_SOURCE", folder);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t len = strlen(e->d_name);
        if (len < 5 || strcmp(e->d_name + len - 4, ".txt"))
            continue;
        assert_true(n < MOST_FILES);
        file[n++] = wf__strdup(e->d_name);
    }
    closedir(d);
    qsort(file, n, sizeof *file, by_name);
    return n;
}

/* The end of the line that `at` is in. */
static size_t line_length(const char *at) { return strcspn(at, "\n"); }

/* Prints the first line that differs and the two lines after it. `line`: the line of the file where `want` begins. */
static void show_difference(const char *file, const char *want, const char *got, unsigned line)
{
    enum { SHOWN = 3 };
    const char *stage = "";
    size_t n;
    while ((n = line_length(want)) == line_length(got) && !strncmp(want, got, n) && want[n]) {
        if (!strncmp(want, "stage ", 6))
            stage = want;
        want += n + 1;
        got += n + 1;
        ++line;
    }
    print_error("%s:%u: the plan is another one%s%.*s\n", file, line, *stage ? ", in " : "", (int)line_length(stage),
                stage);
    for (int side = 0; side < 2; ++side) {
        const char *at = side ? got : want;
        for (int k = 0; k < SHOWN && *at; ++k) {
            n = line_length(at);
            print_error("  %s %.*s\n", side ? "got     " : "expected", (int)n, at);
            at += at[n] ? n + 1 : n;
        }
    }
}

static unsigned lines_in(const char *text)
{
    unsigned n = 1;
    for (; *text; ++text)
        n += *text == '\n';
    return n;
}

/* True if the plan is the one of the file. */
static bool check_file(wf_context *ctx, const char *file, bool update)
{
    char *text = read_file(file), *tail = strstr(text, "\nbecause\n"), *head;
    wf__str got = { 0 };
    if (*text != '#')
        fail_msg("%s: begins with '# ' and the rule that it shows", file);
    if (!tail && !update)
        fail_msg("%s: has no plan yet: WEFT_UPDATE_PLANS=1", file);
    char *want = wf__strdup(tail ? tail + 1 : "");
    if (tail)
        tail[1] = 0;
    head = wf__strdup(text);
    plan_golden(file, ctx, text, &got);
    bool same = !strcmp(want, wf__str_get(&got));
    if (!same && update)
        write_file(file, head, wf__str_get(&got));
    else if (!same)
        show_difference(file, want, wf__str_get(&got), lines_in(head));
    wf__str_free(&got);
    wf__free(want);
    wf__free(head);
    wf__free(text);
    return same || update;
}

static void plans_are_as_written(void **state)
{
    char *file[MOST_FILES];
    const char *source = getenv("WEFT_SOURCE");
    bool update = getenv("WEFT_UPDATE_PLANS") != NULL;
    uint32_t bad_files = 0;
    (void)state;
    snprintf(folder, sizeof folder, "%s/tests/plan", source ? source : ".");
    wf_context *ctx = test_context(WF_CPU, 1);
    uint32_t n = list_files(file);
    for (uint32_t i = 0; i < n; ++i) {
        bad_files += !check_file(ctx, file[i], update);
        wf__free(file[i]);
    }
    wf_context_free(ctx);
    assert_true(update || n >= LEAST_FILES);
    if (bad_files)
        fail_msg("%u of %u plans are others; if they should be: WEFT_UPDATE_PLANS=1, and look at the difference",
                 (unsigned)bad_files, (unsigned)n);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(plans_are_as_written) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
