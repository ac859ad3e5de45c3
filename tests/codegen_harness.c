/* codegen_harness.c - see codegen_harness.h. */
#include "codegen_harness.h"
#include "base/os.h"
#include "run/cache/llvm_find.h"
#include "run/memory/loader.h"
#include "run/cache/target.h"
#include "weft_test.h"
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* ---- libraries and targets ---- */
static struct {
    wf__codegen *cg;
    int major;
} library[16];
static int library_n;
static const char *const targets[] = { "avx512", "avx2", "sse4.2", "neon" };
typedef enum code_kind { SHORT_ROWS, BASELINE, LONG_ROWS, KINDS } code_kind;
static_assert(WF__COUNT(library) * WF__COUNT(targets) * KINDS <= MOST_CODES, "room for the code of every variant");

bool (*test_instead)(const test_case *t, const test_memory *memory, uint64_t *acc);

void test_need_llvm(void)
{
    if (library_n || test_instead)
        return;
    wf__llvm_list list;
    assert_true(wf__llvm_find(&list, UINT32_MAX));
    for (uint32_t i = 0; i < list.n && library_n < 16; i++) {
        wf__str error = { 0 };
        if (wf__llvm.open(&library[library_n].cg, list.at[i].path, &error)) {
            library[library_n].major = wf__llvm.major(library[library_n].cg);
            print_message("LLVM %d: %s\n", library[library_n].major, list.at[i].path);
            library_n++;
        } else {
            print_message("not usable: %s\n", wf__str_get(&error));
        }
        wf__str_free(&error);
    }
    wf__llvm_list_free(&list);
    if (!library_n) {
        print_message("no LLVM library: nothing to test\n");
        skip();
    }
}

void test_close_llvm(void)
{
    while (library_n)
        wf__llvm.free(library[--library_n].cg);
}

/* ---- building ---- */
uint32_t test_slot(test_case *t, unsigned dtype, int rank, const int64_t *dim, bool element)
{
    uint32_t s = wf__slot_new(&t->ir, dtype, rank, element, t->ir.slot_n);
    assert_true(s < MOST_ARRAYS);
    test_array *a = &t->array[s];
    a->dtype = dtype;
    a->rank = rank;
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        a->dim[d] = dim[d];
        a->stride[d] = stride;
        stride *= dim[d];
        t->ir.slot[s].step[d] = d == rank - 1 ? WF__STEP_UNIT : WF__STEP_ANY;
    }
    return s;
}

uint32_t test_tuple(test_case *t, wf__ref a, wf__ref b, wf__ref c)
{
    wf__ref refs[3] = { a, b, c };
    return wf__tuple(&t->ir, refs, c ? 3 : b ? 2 : 1);
}

uint32_t test_here(test_case *t)
{
    wf__ref refs[WF_MAX_RANK];
    for (int d = 0; d < t->ir.rank; d++)
        refs[d] = wf__index(&t->ir, d);
    return wf__tuple(&t->ir, refs, (uint32_t)t->ir.rank);
}

void test_space(test_case *t, int rank, int64_t a, int64_t b, int64_t c)
{
    const int64_t extent[3] = { a, b, c };
    for (int d = 0; d < rank; d++) {
        t->extent[d] = t->hi[d] = extent[d];
        t->lo[d] = 0;
    }
}

void test_end(test_case *t)
{
    wf__ir_free(&t->ir);
    for (int i = 0; i < MOST_CODES; i++)
        wf__code_free(t->code[i]);
}

/* ---- memory ---- */
typedef struct memory { /* [canary] [array], then an inaccessible page */
    unsigned char *at, *canary;
    size_t bytes, canary_bytes;
} memory;

static size_t array_bytes(const test_array *a)
{
    int64_t last = 0;
    for (int d = 0; d < a->rank; d++) {
        if (!a->dim[d])
            return 0;
        last += (a->dim[d] - 1) * a->stride[d];
    }
    return (size_t)(last + 1) * wf__size(a->dtype);
}

static memory memory_new(const test_array *a)
{
    const size_t page = wf__page_size();
    memory m = { .bytes = array_bytes(a) };
    size_t body = (m.bytes + 64 + page - 1) / page * page;
    m.canary = wf__fenced_alloc(body, false);
    assert_non_null(m.canary);
    m.at = m.canary + body - m.bytes;
    if (a->aligned)
        m.at = (unsigned char *)((uintptr_t)m.at & ~(uintptr_t)63);
    m.canary_bytes = body;
    return m;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static const double special[] = { 0.0,
                                  -0.0,
                                  1.0,
                                  -1.0,
                                  0.5,
                                  -0.5,
                                  1.5,
                                  2.5,
                                  -2.5,
                                  1e30,
                                  -1e30,
                                  127.5,
                                  -128.5,
                                  255.9,
                                  32767.5,
                                  65535.5,
                                  -32769,
                                  2147483647.0,
                                  0x1p31,
                                  -0x1p31,
                                  0x1p32,
                                  4294967295.,
                                  0x1p63,
                                  -0x1p63,
                                  0x1p64,
                                  1e300,
                                  -1e300,
                                  1e-40,
                                  5e-324,
                                  3.0,
                                  7.0,
                                  0x1p24,
                                  0x1.fffffep30,
                                  0x1p53,
                                  1e-310,
                                  2147483520.0,
                                  __builtin_inf(),
                                  -__builtin_inf(),
                                  __builtin_nan(""),
                                  9223372036854774784.0,
                                  0.49999999999999994 };

static uint64_t random_bits(const test_array *a, uint64_t *state)
{
    uint64_t r = next_random(state), bits = 0;
    unsigned t = a->dtype;
    if (a->indices) {
        double v = (double)(int64_t)(r % (uint64_t)a->index_limit);
        wf__eval_cast(t, WF_F64, &bits, &v, 1);
        return bits;
    }
    if (t == WF_BOOL)
        return r >> 63;
    double v = (double)(int64_t)(next_random(state) % 2001) / 16 - 62;
    if (wf__is_float(t)) {
        if (r % 3 == 0)
            v = special[(r >> 8) % WF__COUNT(special)];
        wf__eval_cast(t, WF_F64, &bits, &v, 1);
        return bits;
    }
    static const uint64_t ints[] = { 0,
                                     1,
                                     2,
                                     UINT64_MAX,
                                     UINT64_MAX - 1,
                                     0x80,
                                     0x7f,
                                     0x8000,
                                     0x7fff,
                                     0x80000000u,
                                     0x7fffffff,
                                     (uint64_t)1 << 63,
                                     INT64_MAX,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     7,
                                     8,
                                     15,
                                     16,
                                     0xfffffffeu };
    return r % 3 == 0 ? ints[(r >> 8) % WF__COUNT(ints)] : r % 3 == 1 ? next_random(state) : (uint64_t)(int64_t)v;
}

static void fill(const test_array *a, const memory *m, uint64_t seed)
{
    memset(m->canary, 0xa5, m->canary_bytes);
    test_array parts = *a;
    if (wf__is_complex(a->dtype)) {
        parts.dtype = wf__part_dtype(a->dtype);
        a = &parts;
    }
    size_t size = wf__size(a->dtype);
    for (size_t i = 0; i + size <= m->bytes; i += size) {
        uint64_t bits = random_bits(a, &seed);
        memcpy(m->at + i, &bits, size);
    }
}

static wf__mem describe(const test_array *a, const memory *m)
{
    wf__mem r = { .base = (char *)m->at };
    for (int d = 0; d < a->rank; d++) {
        r.dim[d] = a->dim[d];
        r.stride[d] = a->stride[d];
        if (a->reversed && a->dim[d]) {
            r.base += (a->dim[d] - 1) * a->stride[d] * (int64_t)wf__size(a->dtype);
            r.stride[d] = -a->stride[d];
        }
    }
    return r;
}

static bool is_nan(unsigned dtype, const unsigned char *p)
{
    if (wf__is_half(dtype)) {
        uint16_t h;
        memcpy(&h, p, sizeof h);
        return (h & 0x7fff) > (dtype == WF_F16 ? 0x7c00 : 0x7f80);
    }
    if (dtype == WF_F32) {
        float v;
        memcpy(&v, p, sizeof v);
        return v != v;
    }
    double v;
    memcpy(&v, p, sizeof v);
    return dtype == WF_F64 && v != v;
}

static bool same_bits(unsigned dtype, const unsigned char *a, const unsigned char *b)
{
    return !memcmp(a, b, wf__size(dtype)) || (wf__is_float(dtype) && is_nan(dtype, a) && is_nan(dtype, b));
}

/* ---- comparing ---- */
typedef struct sides {
    memory got[MOST_ARRAYS], want[MOST_ARRAYS];
    wf__mem got_mem[MOST_ARRAYS], want_mem[MOST_ARRAYS];
    uint64_t got_acc[64], want_acc[64];
} sides;

static void say(const test_case *t, int major, const wf__target *target, const char *what)
{
    print_error("%s, LLVM %d, %s (rows %d, columns %d): %s\n", t->name, major, target->name, t->options.rows,
                t->options.columns, what);
}

static void show_ir(const test_case *t)
{
    wf__str text = { 0 };
    wf__print(&t->ir, &text);
    if (text.len < 6000)
        print_error("%s\n", wf__str_get(&text));
    wf__str_free(&text);
}

static void compare_arrays(const test_case *t, const sides *s, int major, const wf__target *target)
{
    for (uint32_t i = 0; i < t->ir.slot_n; i++) {
        const memory *g = &s->got[i], *w = &s->want[i];
        unsigned dtype = t->ir.slot[i].dtype;
        if (wf__is_complex(dtype))
            dtype = wf__part_dtype(dtype);
        size_t size = wf__size(dtype);
        for (size_t k = 0; k + size <= g->bytes; k += size) {
            if (same_bits(dtype, g->at + k, w->at + k))
                continue;
            uint64_t a = 0, b = 0;
            memcpy(&a, g->at + k, size);
            memcpy(&b, w->at + k, size);
            char text[160];
            snprintf(text, sizeof text, "slot %u element %zu: %#llx, interpreter %#llx", i, k / size,
                     (unsigned long long)a, (unsigned long long)b);
            say(t, major, target, text);
            show_ir(t);
            fail();
        }
        for (unsigned char *p = g->canary; p < g->canary + g->canary_bytes; p++)
            if ((p < g->at || p >= g->at + g->bytes) && *p != 0xa5) {
                say(t, major, target, "a neighbour was written");
                fail();
            }
    }
    for (uint32_t i = 0; i < t->ir.red_n; i++)
        if (!same_bits(t->ir.red[i].dtype, (const unsigned char *)&s->got_acc[i],
                       (const unsigned char *)&s->want_acc[i])) {
            char text[160];
            snprintf(text, sizeof text, "reduction %u: %#llx, interpreter %#llx", i, (unsigned long long)s->got_acc[i],
                     (unsigned long long)s->want_acc[i]);
            say(t, major, target, text);
            show_ir(t);
            fail();
        }
}

static bool has_long_rows(const test_case *t)
{
    for (int d = 0; d < t->ir.rank; d++)
        if (t->hi[d] <= t->lo[d])
            return false;
    if (t->extent[t->ir.rank - 1] > WF__LONGEST_ROW || t->hi[t->ir.rank - 1] > WF__LONGEST_ROW)
        return false;
    return t->hi[t->ir.rank - 1] - t->lo[t->ir.rank - 1] >= WF__LONG_ROW;
}

static void run_wanted(const test_case *t, sides *s)
{
    wf__str error = { 0 };
    wf__interp *interp = wf__interp_new(&t->ir, &error);
    if (!interp)
        print_error("%s\n", wf__str_get(&error));
    assert_non_null(interp);
    void *scratch = aligned_alloc(64, (wf__interp_scratch(interp) + 63) / 64 * 64);
    assert_non_null(scratch);
    wf__call call = { .mem = s->want_mem, .param = t->param, .extent = t->extent };
    wf__interp_run(interp, scratch, &call, t->lo, t->hi, s->want_acc);
    free(scratch);
    wf__interp_free(interp);
}

static wf__code *compiled(const test_case *t, int lib, const wf__target *target, code_kind kind)
{
    wf__str error = { 0 };
    wf__str object = { 0 };
    wf__code_options options = t->options;
    options.target = target;
    options.long_rows = kind == LONG_ROWS;
    options.baseline = kind == BASELINE;
    bool ok = wf__llvm.compile(library[lib].cg, &t->ir, &options, WF__OBJECT, &object, &error);
    wf__code *code = ok ? wf__code_load(object.at, object.len, &error) : NULL;
    if (!code) {
        say(t, library[lib].major, target, wf__str_get(&error));
        show_ir(t);
    }
    assert_non_null(code);
    wf__str_free(&object);
    wf__str_free(&error);
    return code;
}

static void run_code(test_case *t, sides *s, int lib, size_t named, const wf__target *target, code_kind kind)
{
    wf__code **code = &t->code[((size_t)lib * WF__COUNT(targets) + named) * KINDS + kind];
    if (!*code)
        *code = compiled(t, lib, target, kind);
    for (uint32_t i = 0; i < t->ir.slot_n; i++)
        fill(&t->array[i], &s->got[i], i + 1);
    wf__call call = { .mem = s->got_mem, .param = t->param, .extent = t->extent };
    wf__code_entry (*code)(&call, t->lo, t->hi, s->got_acc);
    compare_arrays(t, s, library[lib].major, target);
}

/* Runs the code of one library. The first library compiles for every target. The others, baseline code, and all under
 * sanitizers, which do not see generated code, take one target for each case. */
static void run_compiled(test_case *t, sides *s, int lib)
{
    static unsigned runs;
    const wf__isa host = wf__target_host(NULL)->isa;
    size_t here[WF__COUNT(targets)], n = 0;
    for (size_t i = 0; i < WF__COUNT(targets); i++) {
        const wf__isa isa = wf__target_named(targets[i])->isa;
        if (isa >= host && (isa == WF__ISA_NEON) == (host == WF__ISA_NEON))
            here[n++] = i;
    }
    const size_t chosen = test_choice(runs++, (unsigned)n);
    for (size_t i = 0; i < n; i++)
        for (int kind = SHORT_ROWS; kind < LONG_ROWS + has_long_rows(t); kind++) {
            if (i != chosen && (lib > 0 || kind == BASELINE || TEST_EVERY > 1))
                continue;
            if (kind != BASELINE || TEST_EVERY == 1)
                run_code(t, s, lib, here[i], wf__target_named(targets[here[i]]), (code_kind)kind);
        }
}

static void run_instead(const test_case *t, sides *s)
{
    static const wf__target other = { .name = "another backend" };
    test_memory arrays[MOST_ARRAYS];
    for (uint32_t i = 0; i < t->ir.slot_n; i++) {
        fill(&t->array[i], &s->got[i], i + 1);
        arrays[i] = (test_memory){ .at = s->got[i].at, .bytes = s->got[i].bytes, .mem = s->got_mem[i] };
    }
    if (test_instead(t, arrays, s->got_acc))
        compare_arrays(t, s, 0, &other);
}

void test_compare(test_case *t, bool everywhere)
{
    wf__str error = { 0 };
    if (!wf__verify(&t->ir, &error))
        print_error("%s: %s\n", t->name, wf__str_get(&error));
    assert_int_equal(error.len, 0);
    sides *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (uint32_t i = 0; i < t->ir.slot_n; i++) {
        s->got[i] = memory_new(&t->array[i]);
        s->want[i] = memory_new(&t->array[i]);
        s->got_mem[i] = describe(&t->array[i], &s->got[i]);
        s->want_mem[i] = describe(&t->array[i], &s->want[i]);
        fill(&t->array[i], &s->want[i], i + 1);
    }
    run_wanted(t, s);
    if (test_instead)
        run_instead(t, s);
    for (int l = 0; !test_instead && l < (everywhere ? library_n : 1); l++)
        run_compiled(t, s, l);
    for (uint32_t i = 0; i < t->ir.slot_n; i++) {
        wf__fenced_free(s->got[i].canary, s->got[i].canary_bytes);
        wf__fenced_free(s->want[i].canary, s->want[i].canary_bytes);
    }
    free(s);
}
