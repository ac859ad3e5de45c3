/* test_tape_random.c - derivatives through random sequences of launches and rules, which read, overwrite and change whole
 * arrays and halves of them, beside forward derivatives in plain C.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include "weft/derivative.h"

enum { ARRAYS = 4, WATCHED = 2, N = 6, HALF = N / 2, STEPS = 9, PROGRAMS = 400 };

/* An array, or the first or the last half of one. */
typedef struct place {
    int array, from, n;
} place;

typedef enum kind { PRODUCT, CHANGE, SHIFTED, ADDED, TWICE, RULE, KINDS } kind;

typedef struct step {
    kind kind;
    place to, a, b; /* of one length. An operator stores into an array that it does not use otherwise. */
} step;

typedef struct program {
    step step[STEPS];
    double start[ARRAYS][N];
} program;

static uint64_t seed;
static int below(int n)
{
    const int k = (int)((test_random_number(&seed) + 0.5) * n);
    return k < n ? k : n - 1;
}

static place any_place(int n) { return (place){ below(ARRAYS), n == HALF && below(2) ? HALF : 0, n }; }

static bool are_equal(place a, place b) { return a.array == b.array && a.from == b.from; }

static program random_program(void)
{
    program p;
    for (int k = 0; k < ARRAYS; ++k)
        for (int i = 0; i < N; ++i)
            p.start[k][i] = test_random_number(&seed);
    for (int k = 0; k < STEPS; ++k) {
        step *s = &p.step[k];
        const int n = below(3) ? N : HALF;
        do {
            *s = (step){ (kind)below(KINDS), any_place(n), any_place(n), any_place(n) };
        } while ((s->kind == SHIFTED || s->kind == ADDED) && (are_equal(s->to, s->a) || are_equal(s->to, s->b)));
    }
    return p;
}

/* ---- plain C ---- */
typedef struct dual { /* a number, and its derivative in one direction */
    double x, d;
} dual;
static dual times(dual a, dual b) { return (dual){ a.x * b.x, a.d * b.x + a.x * b.d }; }
static dual plus(dual a, dual b) { return (dual){ a.x + b.x, a.d + b.d }; }
static dual sine(dual a) { return (dual){ sin(a.x), cos(a.x) * a.d }; }
static dual half(dual a) { return (dual){ a.x / 2, a.d / 2 }; }

static void run_plain(const step *s, dual all[ARRAYS][N])
{
    const int n = s->to.n;
    dual a[N + 1] = { { 0, 0 } }, b[N], *to = &all[s->to.array][s->to.from];
    for (int i = 0; i < n; ++i) {
        a[i] = all[s->a.array][s->a.from + i];
        b[i] = all[s->b.array][s->b.from + i];
    }
    for (int i = 0; i < n; ++i)
        switch (s->kind) {
        case PRODUCT:
            to[i] = times(sine(a[i]), b[i]);
            break;
        case CHANGE:
            to[i] = plus(half(to[i]), a[i]);
            break;
        case SHIFTED:
            to[i] = times(a[i + 1], b[i]);
            break;
        case ADDED:
            to[i] = plus(to[i], half(a[n - 1 - i]));
            break;
        case TWICE:
            to[i] = sine(plus(b[i], are_equal(s->a, s->to) ? b[i] : a[i]));
            break;
        default:
            to[i] = times(a[i], a[i]);
        }
}

/* ---- launches ---- */
static wf_array *array[ARRAYS];
static wf_array *place_of(place p)
{
    return p.n == N ? wf_retain(array[p.array]) : wf_view_slice(array[p.array], 0, p.from, p.from + p.n, 1);
}

static wf_status square(void *user, wf_arrays in, wf_arrays out)
{
    wf_graph *g = wf_begin(user);
    wf_out(g, out.at[0], wf_mul(wf_in(g, in.at[0]), wf_in(g, in.at[0])));
    return wf_run(g);
}

static wf_status square_back(void *user, wf_arrays in, wf_arrays out, wf_arrays upstream, wf_arrays grads)
{
    (void)out;
    wf_graph *g = wf_begin(user);
    wf_val more = wf_mul(wf_mul(wf_in(g, in.at[0]), 2), wf_in(g, upstream.at[0]));
    if (grads.at[0]) /* zeros at first */
        wf_out(g, grads.at[0], wf_add(wf_in(g, grads.at[0]), more));
    return wf_run(g);
}

static void run_launch(const step *s)
{
    const wf_array_rule rule = { sizeof rule, "square", square, square_back, ctx };
    wf_array *to = place_of(s->to), *a = are_equal(s->a, s->to) ? wf_retain(to) : place_of(s->a);
    wf_array *b = are_equal(s->b, s->to) ? wf_retain(to) : are_equal(s->b, s->a) ? wf_retain(a) : place_of(s->b);
    const bool is_operator = s->kind == SHIFTED || s->kind == ADDED;
    wf_graph *g = s->kind == RULE ? NULL : is_operator ? wf_begin(ctx, .shape = WF_SHAPE(s->to.n)) : wf_begin(ctx);
    switch (s->kind) {
    case PRODUCT:
        wf_out(g, to, wf_mul(wf_sin(wf_in(g, a)), wf_in(g, b)));
        break;
    case CHANGE:
        wf_out(g, to, wf_add(wf_div(wf_in(g, to), 2), wf_in(g, a)));
        break;
    case SHIFTED:
        wf_out(g, to, wf_mul(wf_read_or(g, a, 0, wf_add(wf_index(g, 0), 1)), wf_in(g, b)));
        break;
    case ADDED:
        wf_accumulate(g, WF_JOIN_ADD, to, wf_div(wf_in(g, a), 2), wf_sub(s->to.n - 1, wf_index(g, 0)));
        break;
    case TWICE: /* the array itself is read after the first store */
        wf_out(g, to, wf_in(g, b));
        wf_out(g, to, wf_sin(wf_add(wf_in(g, to), wf_in(g, a))));
        break;
    default:
        OK(ctx, wf_custom_arrays(ctx, &rule, WF_ARRAYS(a), WF_ARRAYS(to)));
    }
    if (g)
        OK(ctx, wf_run(g));
    RELEASE(to, a, b);
}

static void differentiate(const program *p, int number)
{
    static const double weight[ARRAYS] = { 1, -0.75, 0.5, 1.25 };
    double want[WATCHED][N];
    for (int k = 0; k < WATCHED; ++k)
        for (int i = 0; i < N; ++i) {
            dual all[ARRAYS][N], loss = { 0, 0 };
            for (int j = 0; j < ARRAYS; ++j)
                for (int m = 0; m < N; ++m)
                    all[j][m] = (dual){ p->start[j][m], j == k && m == i };
            for (int s = 0; s < STEPS; ++s)
                run_plain(&p->step[s], all);
            for (int j = 0; j < ARRAYS; ++j)
                for (int m = 0; m < N; ++m)
                    loss.d += weight[j] * (m + 1) * all[j][m].d;
            want[k][i] = loss.d;
        }
    for (int k = 0; k < ARRAYS; ++k)
        array[k] = line_of(p->start[k], N);
    wf_array *grad[WATCHED] = { wf_like(array[0]), wf_like(array[1]) };
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(array[0], array[1]));
    for (int s = 0; s < STEPS; ++s)
        run_launch(&p->step[s]);
    wf_graph *g = wf_begin(ctx);
    wf_val all = wf_const(g, WF_F64, 0), growing = wf_add(wf_iota(g, WF_SHAPE(N), 0), 1);
    for (int k = 0; k < ARRAYS; ++k)
        all = wf_add(all, wf_mul(wf_mul(wf_in(g, array[k]), weight[k]), growing));
    wf_array *loss = wf_keep(total(all));
    OK(ctx, wf_run(g));
    for (int turn = 0; turn < 2; ++turn) {
        if (wf_tape_grad(tape, loss, WF_ARRAYS(array[0], array[1]), WF_ARRAYS(grad[0], grad[1])) != WF_OK)
            fail_msg("program %d: %s", number, wf_last_message(ctx));
        for (int k = 0; k < WATCHED; ++k) {
            double *got = contents(grad[k]);
            for (int i = 0; i < N; ++i)
                if (!(fabs(got[i] - want[k][i]) <= 1e-12 * (1 + fabs(want[k][i]))))
                    fail_msg("program %d: the derivative by element %d of array %d is %.15g and should be %.15g",
                             number, i, k, got[i], want[k][i]);
            free(got);
        }
    }
    wf_tape_free(tape);
    for (int k = 0; k < ARRAYS; ++k)
        wf_release(array[k]);
    RELEASE(grad[0], grad[1], loss);
}

static void programs(void **state)
{
    (void)state;
    seed = 1;
    for (int k = 0; k < PROGRAMS; ++k) {
        const program p = random_program();
        if (!is_left_out(k, 2, 4))
            differentiate(&p, k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(programs) };
    return RUN_ON_ALL(tests);
}
