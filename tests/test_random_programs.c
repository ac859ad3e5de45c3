/* test_random_programs.c - random programs of whole arrays beside plain C: operations, views, reductions, scans and
 * gathers of values; arrays that are assigned, scattered and accumulated into, through views and in memory of the
 * program; copies, released arrays, evaluations in between, a second recording inside the first.
 *
 * All devices share the planner, so comparing devices would not find its errors. Each value and each memory carries
 * the elements that plain C computes. WEFT_RANDOM_PROGRAMS=COUNT,FIRST runs COUNT programs from number FIRST on; of a
 * single program the steps are printed.
 *
 * ctest: devices
 */
#include "random_program_arrays.h"

typedef bool step(void);
static bool in_place(void);
enum { VALUE_STEPS = 10 }; /* the first ones make values of values */
static const struct {
    step *run;
    int weight;
} steps[] = {
    { one_operand, 5 }, { two_operands, 9 }, { sliced, 5 },    { permuted, 3 },      { reshaped, 4 },
    { rearranged, 5 },  { reduced, 5 },      { scanned, 7 },   { block_reduced, 3 }, { gathered, 5 },
    { read_array, 9 },  { assigned, 6 },     { scattered, 5 }, { accumulated, 5 },   { exchanged, 2 },
    { kept, 5 },        { compressed, 1 },   { new_array, 3 }, { viewed, 4 },        { copied, 2 },
    { released, 2 },    { uploaded, 1 },     { looked_at, 1 }, { largest, 1 },       { evaluated_now, 2 },
    { in_place, 5 },    { began_again, 1 },
};
enum { STEPS = sizeof steps / sizeof *steps };

/* Assigns a value computed from an array to the same array, or to another view of its memory. */
static bool in_place(void)
{
    array *a = to_write();
    const array *from = any_array();
    if (!a)
        return false;
    from = from->memory == a->memory ? from : a;
    value *v = fits(&from->shape, &a->shape) ? new_value(memory_of(a)->dtype, from->shape) : NULL;
    if (!v)
        return false;
    say("v = wf_in of a%d", from->id);
    v->v = wf_in(graph(), from->a);
    for (int64_t k = 0; k < v->n; ++k)
        v->at[k] = *element(from, k);
    add_read(v, from, NULL);
    for (int tries = 0; tries < 12 && !rarely(4); ++tries) {
        p->chosen = v;
        size_t length = p->length;
        if (!steps[below(VALUE_STEPS)].run() && p->length > length)
            say(": not\n");
        p->chosen = NULL;
        value *made = now()->v[now()->n - 1];
        v = fits(&made->shape, &a->shape) ? made : v;
    }
    return assign(a, v);
}

static void some_steps(int n)
{
    int all = 0;
    for (int i = 0; i < STEPS; ++i)
        all += steps[i].weight;
    for (int k = 0; k < n && !p->refused; ++k) {
        int64_t at = below(all);
        int i = 0;
        while ((at -= steps[i].weight) >= 0)
            ++i;
        size_t length = p->length;
        if (!steps[i].run() && !p->refused && p->length > length && p->text[p->length - 1] != '\n')
            say(": not\n");
        if (!p->depth && rarely(30) && !p->refused) { /* a recording inside the first one */
            p->depth = 1;
            p->inner_wrote = false;
            begin();
            some_steps(2 + (int)below(5));
            end();
            p->depth = 0;
            if (p->inner_wrote) /* values of the outer recording that read what was overwritten are out of use */
                evaluated(0);
        }
    }
}

static void one(int number)
{
    seed = (uint64_t)number * 0x9E3779B97F4A7C15u + 77;
    memset(p, 0, offsetof(struct program, text));
    p->number = number;
    p->text[0] = 0;
    p->most = rarely(300) ? 200000 : rarely(15) ? 4000 : 200;
    p->dares = rarely(5);
    p->base = shape_of_most(p->most);
    if (wf_context_device(ctx) == WF_CPU)
        wf_set_threads(ctx, 1 + (int)below(3));
    begin();
    for (int i = 0; i < 3; ++i)
        new_array();
    some_steps(4 + (int)below(rarely(10) ? 80 : 24));
    for (int i = 0; i < 3 && !p->refused; ++i)
        kept();
    end();
    for (int i = 0; i < p->arrays && !p->refused; ++i)
        check(&p->array[i]);
    while (p->arrays)
        drop_array(0);
    for (int m = 0; m < p->memories; ++m) {
        for (int64_t k = 0; p->memory[m].own && k < p->memory[m].n && !p->refused; ++k)
            if (!is_element(p->memory[m].dtype, p->memory[m].own, k, p->memory[m].at[k]))
                must(false, "another element in the program's memory");
        free(p->memory[m].own);
        free(p->memory[m].at);
    }
}

static void test_programs(void **state)
{
    (void)state;
    const char *asked = getenv("WEFT_RANDOM_PROGRAMS"), *comma = asked ? strchr(asked, ',') : NULL;
    int programs = asked ? atoi(asked) : wf_context_device(ctx) == WF_INTERP ? 1500 : (int)sized(100, 60);
    int first = comma ? atoi(comma + 1) : 0, refused = 0;
    p = calloc(1, sizeof *p);
    assert_non_null(p);
    for (int i = 0; i < programs; ++i) {
        one(first + i);
        refused += p->refused;
        if (asked && programs == 1)
            fprintf(stderr, "%s", p->text);
    }
    if (asked)
        fprintf(stderr, "%d programs, %d of them with values out of use\n", programs, refused);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };
    return RUN_ON_ALL(tests);
}
