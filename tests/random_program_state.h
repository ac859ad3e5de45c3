/* random_program_state.h - the state of a program of test_random_programs.c: its recordings and their values, its
 * arrays and the memory behind them, each with the elements that plain C computes; which values and arrays an
 * evaluation leaves as they are; and the steps so far, in words.
 */
#ifndef WEFT_RANDOM_PROGRAM_STATE_H
#define WEFT_RANDOM_PROGRAM_STATE_H
#include "on_devices.h"
#include "plain_arrays.h"

enum { VALUES = 32, MEMORIES = 40, ARRAYS = 16, SOME = 1 << 20 };

typedef struct value {
    wf_val v;
    wf_dtype dtype;
    wf_shape shape;
    int64_t n, *at;
    int id;
    int kept, kept_when; /* memory of the array that holds it, or -1; the time since then */
    int read[MEMORIES];  /* time of the first read of each memory, by it or by its operands; 0 = none */
} value;

typedef struct memory {
    wf_dtype dtype;
    int64_t n, *at;
    void *own;             /* memory that the program has allocated; NULL = memory of the library */
    int written, other[2]; /* times of the last write, and of the last one by anything but recording 0 or 1 */
    int read[MEMORIES];    /* reads by the values that were kept in it or written to it, as in `value` */
    unsigned pending;      /* bit d: effects of recording d on it have not run */
    unsigned touched;      /* bit d: recording d has written it or keeps it */
} memory;

typedef struct array {
    wf_array *a;
    int memory, id;
    int lazy; /* 1 + the recording that keeps it; 0 = it has contents */
    wf_shape shape;
    int64_t start, stride[AXES];
    bool is_view, read_only;
} array;

typedef struct recording {
    wf_graph *g;
    value *v[VALUES];
    int n;
} recording;

static struct program {
    recording at[2];
    int depth, ids, clock, memories, arrays;
    memory memory[MEMORIES];
    array array[ARRAYS];
    value *chosen; /* the next result of any_value, or NULL */
    wf_shape base; /* the shape of many arrays */
    int64_t most;
    int number;
    bool dares;       /* values stay in use although their recording has overwritten an array that they read */
    bool inner_wrote; /* the inner recording has written an array */
    bool refused;     /* a call failed, because a value has become invalid */
    size_t length;
    char text[1 << 16];
} * p;

static uint64_t seed;
static int64_t below(int64_t n) { return n > 0 ? (int64_t)(test_random(&seed) % (uint64_t)n) : 0; }
static bool rarely(int64_t n) { return !below(n); }

/* ---- the steps so far, to explain a mismatch ---- */
static void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    size_t left = sizeof p->text - p->length;
    int n = vsnprintf(p->text + p->length, left, format, list);
    va_end(list);
    p->length += n > 0 && (size_t)n < left ? (size_t)n : 0;
}

static void say_shape(const wf_shape *shape, const char *before, const char *after)
{
    say("%s(", before);
    for (int d = 0; d < shape->rank; ++d)
        say(d ? ", %lld" : "%lld", (long long)shape->dim[d]);
    say(")%s", after);
}

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", p->text);
    fail_msg("program %d on %s: %s. WEFT_RANDOM_PROGRAMS=1,%d", p->number,
             is_on_gpu()                           ? "a GPU"
             : wf_context_device(ctx) == WF_INTERP ? "interp"
                                                   : "cpu",
             what, p->number);
}

/* True if the call succeeded. A call may fail because a value is invalid: wf_eval has stored it, or what it is made of, in
 * an array that has been overwritten since. The inner recording only finds that an array which the outer one keeps has
 * no contents; the outer recording reports the reason when it ends. Any other failure ends the test. */
static bool did(wf_status status)
{
    const char *why = wf_last_message(ctx);
    if (status != WF_OK && (strstr(why, "which wf_eval has changed since") ||
                            (p->depth && strstr(why, "never computed: its recording failed"))))
        p->refused = true;
    else if (status != WF_OK)
        must(false, wf_last_message(ctx));
    wf_clear_error(ctx);
    return status == WF_OK;
}

/* ---- values ---- */
static recording *now(void) { return &p->at[p->depth]; }
static wf_graph *graph(void) { return now()->g; }

static void forget(recording *r, int i)
{
    free(r->v[i]->at);
    free(r->v[i]);
    memmove(&r->v[i], &r->v[i + 1], (size_t)(--r->n - i) * sizeof *r->v);
}

/* Returns a value of the current recording, mostly one of the last three. */
static value *any_value(void)
{
    recording *r = now();
    value *chosen = p->chosen;
    p->chosen = NULL;
    return chosen ? chosen : r->v[rarely(3) ? below(r->n) : r->n - 1 - below(r->n > 3 ? 3 : r->n)];
}

/* Returns NULL if it has too many elements. The value belongs to no recording until it is added. */
static value *new_value(wf_dtype dtype, wf_shape shape)
{
    if (count(&shape) > p->most || shape.rank > AXES)
        return NULL;
    value *v = calloc(1, sizeof *v);
    assert_non_null(v);
    *v = (value){ .dtype = dtype, .shape = shape, .n = count(&shape), .kept = -1 };
    v->at = calloc((size_t)v->n + 1, sizeof *v->at);
    assert_non_null(v->at);
    return v;
}

/* Keeps the earlier of the two times of each memory. */
static void merge(int to[MEMORIES], const int read[MEMORIES])
{
    for (int m = 0; m < MEMORIES; ++m)
        if (read[m] && (!to[m] || read[m] < to[m]))
            to[m] = read[m];
}

/* Returns the value as a condition of wf_select. */
static wf_val condition(const value *v) { return v->dtype == WF_BOOL ? v->v : wf_ne(v->v, 0); }

/* Adds the value, made of a, b and c (NULL = none), to the current recording. Large elements become small, so that sums
 * of them are exact. */
static void add_value(value *v, const value *a, const value *b, const value *c)
{
    recording *r = now();
    bool large = false;
    for (int64_t k = 0; k < v->n; ++k)
        large = large || v->at[k] > SOME || v->at[k] < -SOME;
    if (large) {
        v->v = wf_floor_mod(v->v, 1009);
        for (int64_t k = 0; k < v->n; ++k)
            v->at[k] = floor_mod(v->at[k], 1009);
    }
    const value *of[] = { a, b, c };
    for (int i = 0; i < 3; ++i)
        if (of[i])
            merge(v->read, of[i]->read);
    v->id = ++p->ids;
    say("%s; /* v%d: %s", large ? " floor_mod 1009" : "", v->id, wf_dtype_name(v->dtype));
    say_shape(&v->shape, " ", " */\n");
    if (wf_val_dtype(v->v) != v->dtype && wf_val_dtype(v->v) != WF_NONE)
        must(false, "another dtype than expected");
    if (r->n == VALUES)
        forget(r, (int)below(VALUES / 2));
    r->v[r->n++] = v;
}

/* ---- shapes ---- */
static wf_shape shape_of_most(int64_t n)
{
    wf_shape shape = { .rank = (int)below(AXES) };
    for (int d = shape.rank - 1; d >= 0; --d) {
        int64_t limit = rarely(3) || !d ? n : n < 8 ? n : 8;
        shape.dim[d] = rarely(200) ? 0 : 1 + below(limit);
        n = shape.dim[d] ? n / shape.dim[d] : n;
    }
    return shape;
}

/* Returns the base, a shape that broadcasts to it, or any other shape. */
static wf_shape some_shape(void)
{
    if (rarely(4))
        return shape_of_most(p->most);
    wf_shape shape = p->base;
    int drop = rarely(3) ? (int)below(shape.rank + 1) : 0;
    shape.rank -= drop;
    for (int d = 0; d < shape.rank; ++d)
        shape.dim[d] = rarely(5) ? 1 : shape.dim[d + drop];
    return shape;
}

/* Returns a shape of n elements. */
static wf_shape shape_of(int64_t n)
{
    wf_shape shape = { 0 };
    while (n && shape.rank < AXES - 1 && below(3)) {
        int64_t f = 1 + below(8);
        if (n % f == 0) {
            shape.dim[shape.rank++] = f;
            n /= f;
        }
    }
    shape.dim[shape.rank++] = n;
    return shape;
}

/* Returns a value that broadcasts to the shape, or NULL. */
static value *fitting(const wf_shape *shape)
{
    for (int tries = 0; tries < 8; ++tries) {
        value *v = any_value();
        if (fits(&v->shape, shape))
            return v;
    }
    return NULL;
}

/* ---- arrays ---- */
static int new_memory(wf_dtype dtype, int64_t n)
{
    if (p->memories == MEMORIES)
        return -1;
    memory *m = &p->memory[p->memories];
    *m = (memory){ .dtype = dtype, .n = n, .at = calloc((size_t)n + 1, sizeof *m->at) };
    assert_non_null(m->at);
    return p->memories++;
}

static array *add_array(wf_array *a, int of, wf_shape shape)
{
    array *to = &p->array[p->arrays++];
    *to = (array){ .a = a, .memory = of, .id = ++p->ids, .shape = shape };
    for (int d = shape.rank - 1, weight = 1; d >= 0; weight *= (int)shape.dim[d--])
        to->stride[d] = weight;
    return to;
}

static memory *memory_of(const array *a) { return &p->memory[a->memory]; }
static int64_t *element(const array *a, int64_t k)
{
    int64_t index[AXES], at = a->start;
    indices(&a->shape, k, index);
    for (int d = 0; d < a->shape.rank; ++d)
        at += index[d] * a->stride[d];
    return &memory_of(a)->at[at];
}

static bool is_seen(int m)
{
    for (int i = 0; i < p->arrays; ++i)
        if (p->array[i].memory == m)
            return true;
    return false;
}

static void constant(void)
{
    value *v = new_value(WF_I64, some_shape());
    if (!v)
        v = new_value(WF_I64, (wf_shape){ 0 });
    int axis = v->shape.rank ? (int)below(v->shape.rank) : -1;
    say("v = %s %d", axis < 0 ? "wf_const" : "wf_iota of axis", axis);
    v->v = axis < 0 ? wf_const(graph(), WF_I64, 3) : wf_iota(graph(), v->shape, axis);
    for (int64_t k = 0; k < v->n; ++k) {
        int64_t index[AXES];
        indices(&v->shape, k, index);
        v->at[k] = axis < 0 ? 3 : index[axis];
    }
    add_value(v, NULL, NULL, NULL);
}

/* Called after an evaluation of recording d. Values stay that an array holds, or whose operands were not overwritten. */
static void evaluated(int d)
{
    recording *r = &p->at[d];
    for (int i = 0; i < p->arrays; ++i)
        if (p->array[i].lazy == d + 1)
            p->array[i].lazy = 0;
    for (int m = 0; m < p->memories; ++m)
        p->memory[m].pending &= ~(1u << d);
    for (int i = r->n - 1; i >= 0; --i) {
        value *v = r->v[i];
        bool old = false; /* with `dares`, writes by the recording itself do not count */
        for (int m = 0; m < p->memories; ++m)
            old = old || (v->read[m] && (p->dares ? p->memory[m].other[d] : p->memory[m].written) > v->read[m]);
        if (v->kept >= 0 && p->memory[v->kept].written <= v->kept_when && is_seen(v->kept)) {
            memset(v->read, 0, sizeof v->read);
            v->read[v->kept] = ++p->clock;
        } else if (old)
            forget(r, i);
    }
    if (!r->n && r->g) { /* any_value needs a value */
        int depth = p->depth;
        p->depth = d;
        constant();
        p->depth = depth;
    }
}

static void evaluate(int d)
{
    say("wf_eval(g%d);\n", d);
    if (did(wf_eval(p->at[d].g)))
        evaluated(d);
}

static void begin(void)
{
    static const uint32_t flags[] = { WF_FLAG_FOLD,     WF_FLAG_VALUE_NUMBERING, WF_FLAG_LOOP_OPT, WF_FLAG_PACKETS,
                                      WF_FLAG_CALL_OPT, WF_FLAG_DEAD_CODE,       WF_FLAG_TIERED };
    uint32_t flags_off = 0, flags_on = rarely(40) && p->most < 1000 ? WF_FLAG_DEBUG : 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags && rarely(3); ++i)
        flags_off |= rarely(3) ? flags[i] : 0;
    flags_on |= rarely(4) ? WF_FLAG_ORDER_BY_SHAPE : 0;
    int64_t serial_below = rarely(2) ? 0 : 1;
    int columns = rarely(4) ? 1 << below(4) : 0;
    say("g%d = wf_begin(ctx, .flags_off = %u, .flags_on = %u, .serial_below = %d, .columns = %d);\n", p->depth,
        flags_off, flags_on, (int)serial_below, columns);
    now()->g =
        wf_begin(ctx, .flags_off = flags_off, .flags_on = flags_on, .serial_below = serial_below, .columns = columns);
    constant();
}

/* Runs the current recording, and forgets its values. */
static void end(void)
{
    int d = p->depth;
    say("wf_run(g%d);\n", d);
    wf_graph *g = graph();
    now()->g = NULL;
    if (did(wf_run(g)))
        evaluated(d);
    while (now()->n)
        forget(now(), 0);
    for (int m = 0; m < p->memories; ++m)
        p->memory[m].touched &= ~(1u << d);
}

static void end_and_begin(void)
{
    end();
    begin();
}

/* Runs pending writes to the array. Called before anything but the innermost recording reads it. */
static void run_writes_to(const array *a)
{
    for (int d = 0; d <= p->depth; ++d)
        if (memory_of(a)->pending >> d & 1)
            evaluate(d);
}
/* Called after a step that evaluates the recording which keeps the array. */
static void note_evaluation(const array *a)
{
    if (a->lazy)
        evaluated(a->lazy - 1);
}

static array *any_array(void) { return p->arrays ? &p->array[below(p->arrays)] : NULL; }
/* Returns an array for the recording to read, or NULL. */
static array *to_read(void)
{
    array *a = any_array();
    if (a && p->depth && memory_of(a)->pending & 1)
        evaluate(0);
    return p->refused ? NULL : a;
}
/* Returns an array for the recording to write, or NULL. The inner recording writes no array of the outer one, whose effects
 * run first. */
static array *to_write(void)
{
    array *a = any_array();
    if (!a || a->read_only || (p->depth && (memory_of(a)->touched & 1)))
        return NULL;
    if (p->depth)
        evaluate(0);
    return p->refused ? NULL : a;
}
/* True if the contents of the array are not computed yet. */
static bool is_pending(const array *a) { return a->lazy == p->depth + 1 || memory_of(a)->pending >> p->depth & 1; }

/* Called after the current recording has written a value, under a condition and at an index (each may be NULL), to the
 * array. */
static void written(const array *a, const value *v, const value *condition, const value *index)
{
    memory *m = memory_of(a);
    const value *of[] = { v, condition, index };
    if (!is_pending(a))
        memset(m->read, 0, sizeof m->read);
    for (int i = 0; i < 3; ++i)
        if (of[i])
            merge(m->read, of[i]->read);
    m->written = m->other[!p->depth] = ++p->clock;
    m->pending |= 1u << p->depth;
    m->touched |= 1u << p->depth;
    p->inner_wrote = p->depth > 0;
}

static void check(const array *a)
{
    int64_t n = count(&a->shape);
    void *got = malloc((size_t)n * wf_dtype_size(memory_of(a)->dtype) + 1);
    assert_non_null(got);
    say("check a%d;\n", a->id);
    if (did(wf_download(a->a, got, (size_t)n * wf_dtype_size(memory_of(a)->dtype))))
        for (int64_t k = 0; k < n; ++k)
            if (!is_element(memory_of(a)->dtype, got, k, *element(a, k))) {
                say("a%d element %lld: %g, not %lld\n", a->id, (long long)k, number_of(memory_of(a)->dtype, got, k),
                    (long long)*element(a, k));
                must(false, "another element than in plain C");
            }
    free(got);
}
#endif
