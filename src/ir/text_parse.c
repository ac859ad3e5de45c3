/* text_parse.c - reads the text form of a recording (print.c describes it). Strict: anything unexpected is an error that
 * names the line; the result is verified, so hostile text cannot make an ir that breaks an invariant. */
#include "ir/ir.h"
#include <ctype.h>
#include <stdlib.h>

extern const char *const wf__join_names[],
    *const wf__border_names[], *const wf__step_names[], *const wf__mode_names[], *const wf__view_names[];

typedef struct reader {
    const char *p;
    unsigned line;
    wf__ir *ir;
    wf__str *error;
    bool ok;
} reader;

static void fail(reader *r, const char *what)
{
    if (r->ok)
        wf__str_addf(r->error, "line %u: expected %s", r->line, what);
    r->ok = false;
}

static void blank(reader *r)
{
    while (*r->p == ' ')
        ++r->p;
    if (*r->p == '#')
        while (*r->p && *r->p != '\n')
            ++r->p;
}

static bool end_of_line(reader *r)
{
    blank(r);
    return *r->p == '\n' || !*r->p;
}

static bool word(reader *r, const char *want) /* consumes it if it is next */
{
    blank(r);
    size_t n = strlen(want);
    if (strncmp(r->p, want, n) || isalnum((unsigned char)r->p[n]) || r->p[n] == '_')
        return false;
    r->p += n;
    return true;
}

static bool sign(reader *r, char c)
{
    blank(r);
    if (*r->p != c)
        return false;
    ++r->p;
    return true;
}

static uint64_t number(reader *r)
{
    blank(r);
    if (!isdigit((unsigned char)*r->p)) {
        fail(r, "a number");
        return 0;
    }
    char *end;
    unsigned long long v = strtoull(r->p, &end, 0);
    r->p = end;
    return v;
}

static uint32_t number32(reader *r)
{
    uint64_t v = number(r);
    if (v > UINT32_MAX)
        fail(r, "a number below 2^32");
    return (uint32_t)v;
}

static wf__ref ref(reader *r)
{
    if (!sign(r, '%')) {
        fail(r, "%id");
        return 0;
    }
    wf__ref v = number32(r);
    if (v == 0 || v >= r->ir->n) {
        fail(r, "the id of an earlier node");
        return 0;
    }
    return v;
}

static uint32_t slot(reader *r)
{
    if (!sign(r, 's')) {
        fail(r, "a slot");
        return 0;
    }
    uint32_t s = number32(r);
    if (s >= r->ir->slot_n) {
        fail(r, "a declared slot");
        return 0;
    }
    return s;
}

static unsigned dtype(reader *r)
{
    for (unsigned t = WF_BOOL; t <= WF_C128; ++t)
        if (wf__computable((wf_dtype)t) && word(r, wf_dtype_name((wf_dtype)t)))
            return t;
    fail(r, "a dtype");
    return WF_F32;
}

static unsigned named(reader *r, const char *const *names, unsigned n, const char *what)
{
    for (unsigned i = 0; i < n; ++i)
        if (word(r, names[i]))
            return i;
    fail(r, what);
    return 0;
}

static uint32_t tuple(reader *r)
{
    wf__ref refs[WF_MAX_RANK];
    uint32_t n = 0;
    if (!sign(r, '['))
        return 0;
    while (r->ok && !sign(r, ']')) {
        if (n == WF_MAX_RANK) {
            fail(r, "at most 8 indices");
            return 0;
        }
        refs[n++] = ref(r);
    }
    return r->ok ? wf__tuple(r->ir, refs, n) : 0;
}

static uint32_t shape(reader *r)
{
    wf_shape s = { 0 };
    if (!sign(r, '('))
        return 0;
    while (r->ok && !sign(r, ')')) {
        if (s.rank == WF_MAX_RANK) {
            fail(r, "at most 8 extents");
            return 0;
        }
        s.dim[s.rank++] = sign(r, '?') ? -1 : (int64_t)(number(r) & INT64_MAX);
        sign(r, ',');
    }
    return wf__shape_id(r->ir, &s);
}

static void declare_slot(reader *r)
{
    number(r);
    unsigned t = dtype(r);
    uint32_t rank = number32(r);
    if (rank > WF_MAX_RANK)
        fail(r, "a rank of at most 8");
    bool element = word(r, "element");
    if (!r->ok)
        return;
    uint32_t s = wf__slot_new(r->ir, t, (int)rank, element, 0);
    if (r->ir->status != WF_OK)
        return;
    r->ir->slot[s].meets = word(r, "meets");
    uint32_t spread = word(r, "spread") ? number32(r) : 0;
    if (spread > WF__MOST_SPREAD || (spread & (spread - 1)))
        fail(r, "a power of two up to 32");
    else
        r->ir->slot[s].spread = (uint8_t)spread;
    uint32_t record = word(r, "record") ? number32(r) : 0;
    if (record > UINT8_MAX || (record && !rank))
        fail(r, "a record of at most 255 elements");
    else
        r->ir->slot[s].record = (uint8_t)record;
    r->ir->slot[s].shared = word(r, "shared") ? number32(r) : 0;
    if (word(r, "steps"))
        for (uint32_t k = 0; k < rank; ++k)
            r->ir->slot[s].step[k] = (uint8_t)named(r, wf__step_names, WF__STEP_BACK + 1, "a step");
}

static void declare_red(reader *r)
{
    number(r);
    unsigned t = dtype(r), join = named(r, wf__join_names, 8, "a join");
    uint32_t instances = number32(r);
    if (instances == 0 || instances > 32)
        fail(r, "1 to 32 instances");
    if (!r->ok)
        return;
    uint32_t k = wf__red_new(r->ir, t, (wf_join)join);
    if (r->ir->status == WF_OK)
        r->ir->red[k].instances = (uint8_t)instances;
}

static unsigned op_word(reader *r)
{
    blank(r);
    for (unsigned op = WF__CONST; op < WF__OP_COUNT; ++op)
        if (word(r, wf__op_table[op].name))
            return op;
    fail(r, "an operation");
    return WF__NOP;
}

static void fields(reader *r, wf__node *n)
{
    switch (n->op) {
    case WF__CONST: {
        uint64_t bits = number(r);
        n->a = (uint32_t)bits;
        n->b = (uint32_t)(bits >> 32);
        break;
    }
    case WF__PARAM:
    case WF__INDEX:
    case WF__EXTENT:
    case WF__ARG:
    case WF__IOTA:
        n->a = number32(r);
        break;
    case WF__THREAD:
        n->a = number32(r), n->aux = (uint8_t)number(r);
        break;
    case WF__BARRIER:
        n->aux = (uint8_t)number(r);
        break;
    case WF__DIM:
        n->a = slot(r), n->b = number32(r);
        break;
    case WF__RED:
        n->a = number32(r), n->b = number32(r);
        break;
    case WF__SETRED:
        n->a = number32(r), n->b = number32(r), n->c = ref(r);
        break;
    case WF__REDUCE:
        n->b = named(r, wf__join_names, 8, "a join"), n->a = ref(r);
        n->c = word(r, "axes") ? number32(r) : 0;
        break;
    case WF__SCAN:
        n->b = named(r, wf__join_names, 8, "a join"), n->a = ref(r);
        n->c = word(r, "axis") ? number32(r) : 0;
        n->aux = word(r, "exclusive") ? WF__EXCLUSIVE : 0;
        n->aux |= word(r, "reversed") ? WF__REVERSED : 0;
        break;
    case WF__VIEW:
        n->aux = (uint8_t)named(r, wf__view_names, WF__VIEW_GATHER + 1, "a kind of view");
        n->a = ref(r), n->b = tuple(r);
        n->c = word(r, "other") ? ref(r) : 0;
        break;
    case WF__LOAD:
        n->a = slot(r), n->b = tuple(r);
        n->aux = word(r, "border") ? (uint8_t)named(r, wf__border_names, WF__BORDERS, "a border mode") : 0;
        n->c = word(r, "other") ? ref(r) : 0;
        n->d = word(r, "epoch") ? number32(r) : 0;
        if ((!r->ir->arrays || wf__when_is_c(r->ir, n)) && word(r, "if"))
            *(r->ir->arrays ? &n->c : &n->when) = ref(r);
        if (r->ok) {
            r->ir->slot[n->a].read = true;
            r->ir->slot[n->a].epoch = n->d;
        }
        break;
    case WF__STORE:
        n->a = slot(r), n->b = tuple(r), n->c = ref(r);
        n->d = word(r, "if") ? ref(r) : 0;
        if (r->ok) {
            r->ir->slot[n->a].written = true;
            n->aux = ++r->ir->slot[n->a].epoch < WF__EPOCH_LATE ? (uint8_t)r->ir->slot[n->a].epoch : WF__EPOCH_LATE;
        }
        break;
    case WF__LOOP:
        n->aux = word(r, "once");
        ++r->ir->loops;
        break;
    case WF__STATE:
        n->a = ref(r), n->b = ref(r);
        n->aux = word(r, "guard");
        break;
    case WF__NEXT:
        n->a = ref(r), n->b = ref(r);
        break;
    case WF__END:
        n->a = ref(r);
        break;
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        n->a = slot(r), n->b = tuple(r);
        if (n->op != WF__CAS)
            n->aux = (uint8_t)named(r, wf__join_names, WF_JOIN_EXCH + 1, "a join");
        if (n->op == WF__ACCUM)
            n->aux |= (uint8_t)(named(r, wf__mode_names, WF__MODE_ALONE + 1, "a mode") << 4);
        if (n->op == WF__CAS && !word(r, "swap"))
            fail(r, "swap");
        n->c = n->op == WF__CAS ? tuple(r) : ref(r);
        n->d = word(r, "if") ? ref(r) : 0;
        if (r->ok)
            r->ir->slot[n->a].read = r->ir->slot[n->a].written = true, ++r->ir->slot[n->a].epoch;
        break;
    case WF__CHECK:
        n->a = ref(r), n->b = ref(r), n->c = number32(r), n->d = number32(r);
        n->aux = word(r, "write");
        break;
    case WF__COLD:
        n->a = ref(r), n->b = ref(r), n->c = number32(r), n->d = tuple(r);
        break;
    default: {
        uint32_t *const refs[3] = { &n->a, &n->b, &n->c };
        for (unsigned i = 0; i < wf__op_table[n->op].arity; ++i)
            *refs[i] = ref(r);
    }
    }
}

static void node(reader *r)
{
    if (sign(r, '%')) {
        if (number32(r) != r->ir->n)
            fail(r, "the next id");
        if (!sign(r, '='))
            fail(r, "=");
    }
    wf__node n = { .op = (uint16_t)op_word(r) };
    n.dtype = (uint8_t)dtype(r);
    n.shape = shape(r);
    fields(r, &n);
    if (r->ok)
        wf__append(r->ir, &n);
}

static void line(reader *r)
{
    if (word(r, "slot"))
        declare_slot(r);
    else if (word(r, "param")) {
        number(r);
        unsigned t = dtype(r);
        if (r->ok && wf__grow(&r->ir->param, &r->ir->param_cap, r->ir->param_n + 1, 1))
            r->ir->param[r->ir->param_n++] = (uint8_t)t;
    } else if (word(r, "red")) {
        const char *declaration = r->p;
        blank(r);
        if (isdigit((unsigned char)*r->p))
            declare_red(r);
        else
            r->p = declaration, fail(r, "a declaration");
    } else
        node(r);
    if (r->ok && !end_of_line(r))
        fail(r, "the end of the line");
}

bool wf__parse(const char *text, wf__ir *out, wf__str *error)
{
    reader r = { .p = text, .line = 1, .ir = out, .error = error, .ok = true };
    wf__ir_init(out, 0, 0); /* no folding or numbering: nodes stay as they are written */
    out->arrays = word(&r, "arrays");
    if (!out->arrays) {
        if (!word(&r, "rank"))
            fail(&r, "'rank' or 'arrays'");
        uint32_t rank = number32(&r);
        if (rank > WF_MAX_RANK)
            fail(&r, "a rank of at most 8");
        else
            out->rank = (int32_t)rank;
    }
    uint32_t flags = word(&r, "flags") ? number32(&r) : 0;
    if (word(&r, "keeps")) {
        uint32_t kept = number32(&r);
        out->kept = (uint8_t)(kept < WF_MAX_RANK ? kept : WF_MAX_RANK);
        out->kept_lane = word(&r, "lane");
    }
    while (r.ok && out->status == WF_OK) {
        if (!end_of_line(&r)) {
            line(&r);
            continue;
        }
        if (!*r.p)
            break;
        ++r.p;
        ++r.line;
    }
    if (out->status != WF_OK)
        fail(&r, out->error);
    out->flags = flags & WF__IR_FLAGS;
    return r.ok && wf__verify(out, error);
}
