/* test_random_control_flow.c - random programs with control flow (conditions, loops of every kind, break and continue,
 * calls by index, variables, own elements, gathers, accumulations, evaluations in between) beside plain C, which walks
 * the same program point by point and knows neither recordings nor plans. In debug mode, wf_watch also sees the values
 * that assignments store: each point has the same values in the same order.
 *
 * ctest: devices values
 */
#include "on_devices.h"

enum { EXPRS = 4000, STMTS = 600, VARS = 6, COUNTERS = 8, TABLE = 11, BINS = 5, MOST_N = 70, ARMS = 4 };

/* ---- programs ---- */
typedef enum kind { NUMBER, VARIABLE, COUNTER, INPUT, OWN, LOOK_UP, OPERATION } kind;
typedef enum op { ADD, SUB, MUL, MIN, XOR, SHR, LT, NE, MOD, OPS } op;
typedef struct expr {
    kind kind;
    op op;
    int a, b; /* operands; a also which variable, counter or entry */
    int64_t number;
} expr;

typedef enum action { SET, OWN_SET, COUNT, IF, FOR, WHILE, LOOP, SWITCH, BREAK, CONTINUE } action;
typedef struct stmt {
    action action;
    int e, hi, step; /* value, condition, or first of a counter; its end and step */
    int to;          /* variable or counter; of WHILE and LOOP how many turns at most */
    int arm[ARMS];   /* bodies; -1: none */
    int arms, next;  /* next: -1 at the end of a block */
} stmt;

typedef struct program {
    expr e[EXPRS];
    stmt s[STMTS];
    int exprs, stmts, main, depth, loops, counters, budget;
    uint64_t seed;
} program;

static int any(program *p, int n) { return (int)(test_random(&p->seed) % (uint64_t)n); }

static int new_expr(program *p, expr e)
{
    assert_true(p->exprs < EXPRS);
    p->e[p->exprs] = e;
    return p->exprs++;
}

static int number_expr(program *p, int64_t x) { return new_expr(p, (expr){ .kind = NUMBER, .number = x }); }

static int value(program *p, int depth);
static int below(program *p, int64_t n, int depth) /* 0 to n - 1 */
{
    int x = value(p, depth);
    return new_expr(p, (expr){ .kind = OPERATION, .op = MOD, .a = x, .b = number_expr(p, n) });
}

static int value(program *p, int depth)
{
    int r = depth > 0 ? any(p, 12) : any(p, 5);
    if (r == 0)
        return number_expr(p, any(p, 40) - 20);
    if (r == 1 && p->counters)
        return new_expr(p, (expr){ .kind = COUNTER, .a = any(p, p->counters) });
    if (r <= 2)
        return new_expr(p, (expr){ .kind = INPUT });
    if (r == 3)
        return new_expr(p, (expr){ .kind = OWN });
    if (r == 4)
        return new_expr(p, (expr){ .kind = VARIABLE, .a = any(p, VARS) });
    if (r == 5)
        return new_expr(p, (expr){ .kind = LOOK_UP, .a = below(p, TABLE, depth - 1) });
    int a = value(p, depth - 1), b = value(p, depth - 1);
    op o = (op)any(p, MOD);
    if (o == SHR)
        b = below(p, 64, depth - 2);
    return new_expr(p, (expr){ .kind = OPERATION, .op = o, .a = a, .b = b });
}

static int block(program *p, int n);
static int body(program *p, bool loop)
{
    p->depth++, p->loops += loop;
    int b = block(p, 1 + any(p, 3));
    p->depth--, p->loops -= loop;
    return b;
}

static int statement(program *p)
{
    assert_true(p->stmts < STMTS);
    int at = p->stmts++, r = any(p, 16);
    stmt s = { .arm = { -1, -1, -1, -1 }, .next = -1 };
    bool deep = p->depth >= 4 || --p->budget < 0;
    if (r < 4 || (deep && r < 10)) {
        s.action = SET, s.to = any(p, VARS), s.e = value(p, 3);
    } else if (r < 6) {
        s.action = OWN_SET, s.e = value(p, 2);
    } else if (r < 8) {
        s.action = COUNT, s.e = value(p, 1), s.hi = below(p, BINS, 1);
    } else if (r < 10) {
        s.action = IF, s.e = value(p, 2), s.arms = 1 + any(p, 2);
        for (int k = 0; k < s.arms; ++k)
            s.arm[k] = body(p, false);
    } else if (r < 12 && !deep && p->counters < COUNTERS) {
        s.action = FOR, s.step = any(p, 3) + 1, s.to = p->counters;
        s.e = number_expr(p, any(p, 3)), s.hi = any(p, 2) ? number_expr(p, any(p, 5)) : below(p, 6, 1);
        if (any(p, 3) == 0) {
            int t = s.e;
            s.e = s.hi, s.hi = t, s.step = -s.step;
        }
        p->counters++;
        s.arm[0] = body(p, true);
        p->counters--;
    } else if (r < 14 && !deep) {
        s.action = any(p, 2) ? WHILE : LOOP, s.e = value(p, 2), s.to = any(p, 6), s.arm[0] = body(p, true);
    } else if (r < 15 && !deep) {
        s.action = SWITCH, s.e = any(p, 2) ? below(p, ARMS, 1) : value(p, 1), s.arms = 1 + any(p, ARMS);
        for (int k = 0; k < s.arms; ++k)
            s.arm[k] = k && any(p, 3) == 0 ? s.arm[any(p, k)] : body(p, false);
    } else {
        s.action = !p->loops ? SET : any(p, 2) ? BREAK : CONTINUE, s.e = value(p, 2);
    }
    p->s[at] = s;
    return at;
}

static int block(program *p, int n)
{
    int first = -1, last = -1;
    for (int k = 0; k < n; ++k) {
        int s = statement(p);
        if (last >= 0)
            p->s[last].next = s;
        else
            first = s;
        last = s;
    }
    return first;
}

/* ---- what assignments stored ---- */
typedef struct tape { /* of one assignment: of each point, all values so far */
    uint64_t hash[MOST_N];
    int64_t n;
} tape;

static void add_to(tape *t, int64_t point, int64_t x)
{
    t->hash[point] = (t->hash[point] + (uint64_t)x + 1) * 0x9e3779b97f4a7c15u;
}

static wf_status note(void *user, const wf_seen *seen)
{
    tape *t = user;
    int64_t x[MOST_N], many = wf_array_count(seen->value);
    bool on[MOST_N];
    OK(ctx, wf_download(seen->value, x, (size_t)many * sizeof *x));
    OK(ctx, wf_download(seen->lanes, on, (size_t)many));
    for (int64_t i = 0; i < t->n; ++i)
        if (on[many == 1 ? 0 : i])
            add_to(t, i, x[many == 1 ? 0 : i]);
    return WF_OK;
}

/* ---- the model: one point after the other ---- */
typedef struct machine {
    const program *p;
    const int64_t *table;
    tape *stored; /* [STMTS] */
    int64_t point;
    int64_t var[VARS], counter[COUNTERS], input, *own, *bins;
} machine;

static int64_t eval(const machine *m, int at)
{
    const expr *e = &m->p->e[at];
    switch (e->kind) {
    case NUMBER:
        return e->number;
    case VARIABLE:
        return m->var[e->a];
    case COUNTER:
        return m->counter[e->a];
    case INPUT:
        return m->input;
    case OWN:
        return *m->own;
    case LOOK_UP:
        return m->table[eval(m, e->a)];
    default:
        break;
    }
    int64_t a = eval(m, e->a), b = eval(m, e->b);
    switch (e->op) {
    case ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case MIN:
        return a < b ? a : b;
    case XOR:
        return a ^ b;
    case SHR:
        return a >> b;
    case LT:
        return a < b;
    case NE:
        return a != b;
    default:
        return (a % b + b) % b;
    }
}

typedef enum leave { ON, LEFT, AGAIN } leave;

static leave walk(machine *m, int at)
{
    for (; at >= 0; at = m->p->s[at].next) {
        const stmt *s = &m->p->s[at];
        leave how = ON;
        switch (s->action) {
        case SET:
            m->var[s->to] = eval(m, s->e);
            add_to(&m->stored[at], m->point, m->var[s->to]);
            break;
        case OWN_SET:
            *m->own = eval(m, s->e);
            break;
        case COUNT:
            m->bins[eval(m, s->hi)] += eval(m, s->e) & 0xff;
            break;
        case IF: {
            int arm = eval(m, s->e) ? s->arm[0] : s->arm[1];
            how = arm >= 0 ? walk(m, arm) : ON;
            break;
        }
        case FOR: {
            int64_t k = eval(m, s->e), hi = eval(m, s->hi);
            for (; s->step > 0 ? k < hi : k > hi; k += s->step) {
                m->counter[s->to] = k;
                if (walk(m, s->arm[0]) == LEFT)
                    break;
            }
            break;
        }
        case WHILE:
            for (int k = 0; k < s->to && eval(m, s->e); ++k)
                if (walk(m, s->arm[0]) == LEFT)
                    break;
            break;
        case LOOP:
            for (int k = 0; k < s->to; ++k) {
                leave turn = walk(m, s->arm[0]);
                if (turn == LEFT || (turn == ON && eval(m, s->e)))
                    break;
            }
            break;
        case SWITCH: {
            int64_t k = eval(m, s->e);
            how = k >= 0 && k < s->arms ? walk(m, s->arm[k]) : ON;
            break;
        }
        default:
            how = !eval(m, s->e) ? ON : s->action == BREAK ? LEFT : AGAIN;
        }
        if (how != ON)
            return how;
    }
    return ON;
}

/* ---- the same, recorded ---- */
typedef struct recorder {
    wf_graph *g;
    program *p;
    wf_array *in, *own, *table, *bins;
    wf_val input, counter[COUNTERS];
    wf_var var[VARS];
    bool arrays;
    int evaluations; /* one evaluation in this many statements; 0 = none */
    tape *seen;      /* [STMTS]; NULL = wf_watch is not used */
} recorder;

typedef struct arm {
    recorder *r;
    int at;
} arm;

static wf_val record_value(recorder *r, int at)
{
    const expr *e = &r->p->e[at];
    switch (e->kind) {
    case NUMBER:
        return wf_const_i64(r->g, WF_I64, e->number);
    case VARIABLE:
        return wf_get(r->var[e->a]);
    case COUNTER:
        return r->counter[e->a];
    case INPUT:
        return r->input;
    case OWN:
        return wf_in(r->g, r->own);
    case LOOK_UP:
        return wf_read(r->g, r->table, record_value(r, e->a));
    default:
        break;
    }
    wf_val a = record_value(r, e->a), b = record_value(r, e->b);
    wf_val (*const functions[])(wf_val, wf_val) = { wf_add, wf_sub, wf_mul, wf_min,      wf_xor,
                                                    wf_shr, wf_lt,  wf_ne,  wf_floor_mod };
    return wf_cast(functions[e->op](a, b), WF_I64);
}

static void record(recorder *r, int at, bool top);
static void call_arm(const wf_site *site)
{
    const arm *a = site->user;
    record(a->r, a->at, false);
}

static void record_statement(recorder *r, const stmt *s)
{
    wf_graph *g = r->g;
    wf_val all = wf_xor(r->input, r->input); /* 0 for every point: what has an effect is done for each */
    wf_val e = record_value(r, s->e), hi = s->action == FOR || s->action == COUNT ? record_value(r, s->hi) : e;
    switch (s->action) {
    case SET:
        wf_set(r->var[s->to], e);
        if (r->seen)
            wf_watch(g, NULL, r->var[s->to], note, &r->seen[s - r->p->s]);
        break;
    case OWN_SET:
        wf_out(g, r->own, wf_add(e, all));
        break;
    case COUNT:
        wf_accumulate(g, WF_JOIN_ADD, r->bins, wf_add(wf_and(e, 0xff), all), hi);
        break;
    case IF:
        WF_IF (g, e) {
            record(r, s->arm[0], false);
        }
        if (s->arm[1] >= 0) {
            WF_ELSE(g) { record(r, s->arm[1], false); }
        }
        WF_END(g);
        break;
    case FOR:
        WF_FOR (g, r->counter[s->to], e, hi, s->step) {
            record(r, s->arm[0], false);
        }
        WF_END(g);
        break;
    case WHILE: {
        wf_var turns = wf_local(g, WF_I32, 0);
        WF_WHILE (g, wf_and(wf_lt(turns, s->to), wf_ne(record_value(r, s->e), 0))) {
            wf_inc(turns, 1);
            record(r, s->arm[0], false);
        }
        WF_END(g);
        break;
    }
    case LOOP: {
        wf_var turns = wf_local(g, WF_I32, 0);
        WF_LOOP(g)
        {
            WF_IF (g, wf_ge(turns, s->to)) {
                wf_break(g);
            }
            WF_END(g);
            wf_inc(turns, 1);
            record(r, s->arm[0], false);
            WF_IF (g, record_value(r, s->e)) {
                wf_break(g);
            }
            WF_END(g);
        }
        WF_END(g);
        break;
    }
    case SWITCH: {
        arm arms[ARMS];
        wf_function table[ARMS];
        for (int k = 0; k < s->arms; ++k) {
            arms[k] = (arm){ r, s->arm[k] };
            table[k] = (wf_function){ call_arm, &arms[k] };
        }
        wf_switch(g, e, ((wf_functions){ table, (size_t)s->arms }), WF_NO_VALS, WF_NO_VARS);
        break;
    }
    default:
        WF_IF (g, e) {
            if (s->action == BREAK)
                wf_break(g);
            else
                wf_continue(g);
        }
        WF_END(g);
    }
}

static void record(recorder *r, int at, bool top)
{
    for (; at >= 0; at = r->p->s[at].next) {
        record_statement(r, &r->p->s[at]);
        if (top && r->evaluations && any(r->p, r->evaluations) == 0)
            wf_eval(r->g);
    }
}

/* ---- both ---- */
static bool equal(wf_array *a, const int64_t *want, int64_t n)
{
    int64_t *x = contents(a), count = wf_array_count(a);
    bool same = true;
    for (int64_t i = 0; i < n; ++i)
        same = same && x[count == 1 ? 0 : i] == want[i];
    free(x);
    wf_release(a);
    return same;
}

static void check(uint64_t seed)
{
    static const int64_t sizes[] = { 1, 7, 16, 33, MOST_N };
    static const uint32_t off[] = { 0, WF_FLAG_FOLD, WF_FLAG_LOOP_OPT, WF_FLAG_DEAD_CODE | WF_FLAG_CALL_OPT,
                                    WF_FLAG_VALUE_NUMBERING };
    static program p;
    static int64_t table[TABLE], input[MOST_N], own[MOST_N], result[VARS][MOST_N];
    static tape seen[STMTS], stored[STMTS];
    int64_t bins[BINS] = { 0 };
    p = (program){ .seed = seed, .budget = 14 };
    int64_t n = sizes[any(&p, 5)];
    p.main = block(&p, 3 + any(&p, 4));
    for (int k = 0; k < TABLE; ++k)
        table[k] = any(&p, 100) - 50;
    for (int64_t i = 0; i < n; ++i)
        input[i] = any(&p, 50) - 10, own[i] = any(&p, 9);
    recorder r = { .p = &p, .arrays = any(&p, 2) };
    r.in = array_of(ctx, WF_I64, WF_SHAPE(n), input), r.own = array_of(ctx, WF_I64, WF_SHAPE(n), own);
    r.table = array_of(ctx, WF_I64, WF_SHAPE(TABLE), table), r.bins = array_of(ctx, WF_I64, WF_SHAPE(BINS), bins);
    uint32_t less = off[any(&p, 5)], more = any(&p, 4) == 0 ? WF_FLAG_DEBUG : 0;
    r.seen = more && !is_on_gpu() ? seen : NULL;
    for (int k = 0; k < STMTS; ++k)
        seen[k] = stored[k] = (tape){ .n = n };
    r.g = r.arrays ? wf_begin(ctx, .flags_on = more, .flags_off = less)
                   : wf_begin(ctx, .shape = WF_SHAPE(n), .flags_on = more, .flags_off = less);
    r.evaluations = r.arrays && any(&p, 3) == 0 ? 3 : 0;
    r.input = wf_in(r.g, r.in);
    for (int k = 0; k < VARS; ++k)
        r.var[k] = wf_local(r.g, WF_I64, k % 2 ? r.input : wf_const_i64(r.g, WF_I64, k));
    record(&r, p.main, true);
    wf_array *kept[VARS] = { NULL };
    for (int k = 0; k < VARS; ++k) {
        if (any(&p, 3) == 0) /* unused */
            continue;
        if (r.arrays)
            kept[k] = wf_keep(r.var[k]);
        else
            wf_out(r.g, kept[k] = wf_empty(ctx, WF_I64, WF_SHAPE(n)), r.var[k]);
    }
    wf_status status = wf_run(r.g);
    bool stale = status == WF_ERR_CONTRACT && r.evaluations && strstr(wf_last_message(ctx), "wf_eval has changed");
    if (status != WF_OK && !stale)
        fail_msg("seed %llu: %s", (unsigned long long)seed, wf_last_message(ctx));
    wf_clear_error(ctx);
    for (int64_t i = 0; i < n; ++i) {
        machine m = { &p, table, .stored = stored, .point = i, .input = input[i], .own = &own[i], .bins = bins };
        for (int k = 0; k < VARS; ++k)
            m.var[k] = k % 2 ? input[i] : k;
        walk(&m, p.main);
        for (int k = 0; k < VARS; ++k)
            result[k][i] = m.var[k];
    }
    for (int k = 0; k < VARS; ++k)
        if (kept[k] && stale)
            wf_release(kept[k]);
        else if (kept[k] && !equal(kept[k], result[k], n))
            fail_msg("seed %llu: variable %d", (unsigned long long)seed, k);
    if (stale)
        wf_release(r.own), wf_release(r.bins);
    else if (!equal(r.own, own, n) || !equal(r.bins, bins, BINS))
        fail_msg("seed %llu: an effect", (unsigned long long)seed);
    if (r.seen && !stale && memcmp(seen, stored, sizeof seen) != 0)
        fail_msg("seed %llu: what was watched", (unsigned long long)seed);
    wf_release(r.in), wf_release(r.table);
}

static void test_programs(void **state)
{
    (void)state;
    int programs = wf_context_device(ctx) == WF_INTERP ? 4000 : is_on_gpu() ? 150 : 100;
    for (int k = 0; k < programs; k += TEST_EVERY)
        check((uint64_t)k + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),
    };
    return RUN_ON_ALL(tests);
}
