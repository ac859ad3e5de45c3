/* text_parse.c - reads the text form of a recording (text_print.c describes it). Unexpected text is
 * an error that names the line. The result is verified, so hostile text cannot make an ir that breaks an invariant. */
#include "ir/ir.h"
#include <ctype.h>
#include <stdlib.h>

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
    r->ir->slot[s].may_alias = word(r, "may-alias");
    uint32_t spread = word(r, "private") ? number32(r) : 0;
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
            r->ir->slot[s].step[k] = (uint8_t)named(r, wf__step_names, WF__STEPS, "a step");
    if (word(r, "strides"))
        for (uint32_t k = 0; k < rank; ++k)
            r->ir->slot[s].stride[k] = (int32_t)number32(r);
}

static void declare_red(reader *r)
{
    number(r);
    unsigned t = dtype(r), join = named(r, wf__join_names, WF_JOIN_XOR + 1, "a join");
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

/* Reads a number that fits the field. A larger number is an error. */
static uint32_t number_at(reader *r, unsigned at)
{
    uint32_t x = number32(r);
    if (at == WF__AT_aux && x > UINT8_MAX)
        fail(r, "a number below 256");
    return x;
}

static uint32_t field(reader *r, const wf__node *n, wf__field f)
{
    const wf__field_info *kind = &wf__field_table[f.kind];
    unsigned names;
    const char *const *name = wf__field_names(f.kind, &names);
    switch ((wf__form)kind->form) {
    case WF__FORM_REF:
    case WF__FORM_LINK:
        return ref(r);
    case WF__FORM_OPTIONAL:
        return wf__has_field(r->ir, n, f.at) && word(r, kind->word) ? ref(r) : 0;
    case WF__FORM_LIST:
        if (*kind->word && !word(r, kind->word))
            fail(r, kind->word);
        return tuple(r);
    case WF__FORM_SLOT:
        return slot(r);
    case WF__FORM_NUMBER:
        return !*kind->word || word(r, kind->word) ? number_at(r, f.at) : 0;
    case WF__FORM_NAME:
        return !*kind->word || word(r, kind->word) ? named(r, name, names, kind->doc) : 0;
    case WF__FORM_FLAG:
        return n->aux | (word(r, kind->word) ? kind->number : 0u);
    case WF__FORM_BITS:
    case WF__FORM_HIDDEN:
        break;
    }
    return wf__field_of(r->ir, n, f.at);
}

/* Updates the fields of the recording that the builder keeps besides the nodes. */
static void note(reader *r, wf__node *n)
{
    r->ir->loops += n->op == WF__LOOP;
    if (!r->ok || !wf__op_is_access(n->op))
        return;
    wf__slot *s = &r->ir->slot[n->a];
    if (n->op == WF__LOAD) {
        s->read = true;
        s->epoch = n->d;
        return;
    }
    s->written = true;
    s->read |= wf__op_is_update(n->op);
    ++s->epoch;
    if (n->op == WF__STORE)
        n->aux = s->epoch < WF__EPOCH_LATE ? (uint8_t)s->epoch : WF__EPOCH_LATE;
}

static void fields(reader *r, wf__node *n)
{
    for (const wf__field *f = wf__fields_of(n->op); f->at; ++f)
        if (f->kind == WF__BITS_FIELD) {
            uint64_t bits = number(r);
            n->a = (uint32_t)bits;
            n->b = (uint32_t)(bits >> 32);
        } else
            wf__set_field(r->ir, n, f->at, field(r, n, *f));
    note(r, n);
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
    r->ir->derived = r->ir->derived || n.op == WF__DERIVED;
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
