/* parts.c - cuts an operator text into parts, each of which is one recording.
 *
 * Statements about whole arrays belong into an array recording, those of a program (typed locals, blocks, writes by
 * index) into an index space. A text may have both. Its outermost statements are units of three kinds:
 *   ARRAY   an assignment without a type whose expression has a function of whole arrays, or whose name is read or
 *           written by index later; a global array
 *   POINTS  a typed local, a block, a write by index, an assignment to a typed local
 *   EITHER  any other assignment
 * A part is a run of units of one kind and of EITHER. A part of points also ends where a unit needs all elements of a
 * name that the part changes. Functions of whole arrays inside of units of points are computed before their part.
 */
#include "text/record.h"
#include "base/floats.h"

enum { MAX_STATEMENTS = 4096, MAX_NODES = 1 << 16 };
typedef enum unit_kind { EITHER, ARRAY, POINTS } unit_kind;

typedef struct unit {
    uint32_t first, end;     /* statements [first, end) */
    uint32_t node, node_end; /* nodes of all of them */
} unit;

typedef struct cutter {
    wf__recorder *r;
    const wf__text *t;
    uint32_t first;                         /* first statement of the part that is being made */
    unit_kind kind;                         /* kind of that part */
    const wf__stmt *typed[WF__TEXT_LOCALS]; /* the declarations of typed locals outside of blocks so far */
    uint32_t typed_n;
    bool *inside; /* [node]: the node is the operand of a function of whole arrays, or the call itself */
} cutter;

/* ---- names ---- */

/* True for an array argument that is no result. */
static bool is_argument(const cutter *c, uint32_t at, uint32_t len)
{
    const wf_arg *arg = wf__text_arg(c->r, at, len);
    return arg && arg->kind == WF_ARG_ARRAY && wf__text_wanted(c->r, at, len) < 0;
}

/* True if the statement is about a typed local that was declared outside of blocks. */
static bool is_typed(const cutter *c, const wf__stmt *s)
{
    for (uint32_t i = 0; i < c->typed_n; i++)
        if (wf__text_same(c->t, c->typed[i]->at, c->typed[i]->len, s->at, s->len))
            return true;
    return false;
}

/* ---- nodes ---- */

static bool is_whole_call(const wf__text *t, const wf__tree *n)
{
    return n->kind == WF__TREE_CALL && wf__text_fold_named(t->src + n->at, n->len, n->n) != WF__FOLD_NONE;
}

static unit unit_at(const wf__text *t, uint32_t i)
{
    unit u = { .first = i, .end = wf__stmt_opens(&t->stmt[i]) > 0 ? t->stmt[i].end + 1 : i + 1, .node = UINT32_MAX };
    while (u.end < t->stmt_n && t->stmt[u.end].joined)
        u.end++;
    for (uint32_t k = u.first; k < u.end; k++) {
        const wf__stmt *s = &t->stmt[k];
        if (s->first == s->last)
            continue;
        u.node = s->first < u.node ? s->first : u.node;
        u.node_end = s->last > u.node_end ? s->last : u.node_end;
    }
    if (u.node > u.node_end)
        u.node = u.node_end;
    return u;
}

/* ---- units ---- */

static bool has_call(const cutter *c, const unit *u)
{
    for (uint32_t k = u->node; k < u->node_end; k++)
        if (c->inside[k])
            return true;
    return false;
}

/* True if the elements of this name must be in an array before a program writes them by index: a name that is neither an
 * argument nor a result. */
static bool is_written(const cutter *c, uint32_t first, const wf__stmt *name)
{
    if (wf__text_arg(c->r, name->at, name->len) || wf__text_wanted(c->r, name->at, name->len) >= 0)
        return false;
    for (uint32_t i = first; i < c->t->stmt_n; i++)
        if (c->t->stmt[i].kind == WF__STMT_WRITE &&
            wf__text_same(c->t, c->t->stmt[i].at, c->t->stmt[i].len, name->at, name->len))
            return true;
    return false;
}

/* True if a later statement reads or writes elements of the name by index. */
static bool is_indexed_later(const cutter *c, const unit *u)
{
    const wf__stmt *s = &c->t->stmt[u->first];
    if (is_argument(c, s->at, s->len))
        return false;
    if (is_written(c, u->end, s))
        return true;
    for (uint32_t k = u->node_end; k < c->t->n; k++)
        if (c->t->node[k].kind == WF__TREE_READ &&
            wf__text_same(c->t, c->t->node[k].at, c->t->node[k].len, s->at, s->len))
            return true;
    return false;
}

static unit_kind kind_of(const cutter *c, const unit *u)
{
    const wf__stmt *s = &c->t->stmt[u->first];
    if (s->kind == WF__STMT_GLOBAL)
        return ARRAY;
    if (s->kind != WF__STMT_ASSIGN || is_typed(c, s))
        return POINTS;
    return has_call(c, u) || is_indexed_later(c, u) ? ARRAY : EITHER;
}

/* True if the node, of unit `u` of this kind, needs all elements that the unit `before` gives its name. */
static bool needs_elements(const cutter *c, const unit *u, unit_kind kind, uint32_t node, const unit *before)
{
    const wf__tree *n = &c->t->node[node];
    if (n->kind != WF__TREE_NAME && n->kind != WF__TREE_READ)
        return false;
    const wf__stmt *change = wf__text_change(c->t, before->first, before->end, n->at, n->len);
    if (!change)
        return false;
    for (uint32_t i = u->first; i < u->end; i++)
        if (c->t->stmt[i].kind == WF__STMT_LOCAL &&
            wf__text_same(c->t, c->t->stmt[i].at, c->t->stmt[i].len, n->at, n->len))
            return false; /* another variable, of this block */
    if (kind == ARRAY || c->inside[node])
        return true;
    bool single = before->end == before->first + 1;
    if (n->kind == WF__TREE_READ)
        return !(change->kind == WF__STMT_LOCAL && change->n) &&
               !(change->kind == WF__STMT_WRITE && is_typed(c, change)) &&
               !(single && is_argument(c, n->at, n->len) &&
                 wf__text_place_of(c->r, change, n) == WF__TEXT_SAME_ELEMENT);
    return change->kind == WF__STMT_WRITE && !wf__text_arg(c->r, n->at, n->len) && !is_typed(c, change);
}

/* Returns the end of the last unit of the part whose elements the unit needs; 0: it needs none. */
static uint32_t needed_end(const cutter *c, const unit *u, unit_kind kind)
{
    uint32_t end = 0;
    for (uint32_t i = c->first; i < u->first;) {
        unit before = unit_at(c->t, i);
        bool needed = false;
        for (uint32_t k = u->node; k < u->node_end && !needed; k++)
            needed = needs_elements(c, u, kind, k, &before);
        end = needed ? before.end : end;
        i = before.end;
    }
    return end;
}

/* ---- parts ---- */

static void add_part(wf__recorder *r, uint32_t first, uint32_t end, bool points)
{
    if (r->failed)
        return;
    if (!wf__grow(&r->part, &r->part_cap, r->part_n + 1, sizeof *r->part)) {
        wf__text_mistake(r, WF_ERR_MEMORY, 0, "out of memory");
        return;
    }
    r->part[r->part_n++] = (wf__text_part){ first, end, points };
}

static void close_part(cutter *c, uint32_t end)
{
    add_part(c->r, c->first, end, c->kind == POINTS);
    c->first = end;
    c->kind = EITHER;
}

static void find_parts(cutter *c)
{
    uint32_t last_array = 0;
    for (uint32_t i = 0; i < c->t->stmt_n && !c->r->failed;) {
        unit u = unit_at(c->t, i);
        unit_kind kind = kind_of(c, &u);
        uint32_t cut = 0;
        if (c->kind == POINTS && kind == ARRAY)
            cut = u.first;
        else if (c->kind == ARRAY && kind == POINTS)
            cut = last_array; /* later units of EITHER go with the points */
        else if (c->kind == POINTS || kind == POINTS)
            cut = needed_end(c, &u, kind);
        if (cut) {
            close_part(c, cut);
            i = cut;
            continue;
        }
        if (kind != EITHER)
            c->kind = kind;
        if (kind == ARRAY)
            last_array = u.end;
        const wf__stmt *s = &c->t->stmt[u.first];
        if (s->kind == WF__STMT_LOCAL && !is_typed(c, s) && c->typed_n < WF__TEXT_LOCALS)
            c->typed[c->typed_n++] = s;
        i = u.end;
    }
    close_part(c, c->t->stmt_n);
}

/* True if the text has functions of whole arrays, or reads names by index that it changes. */
static bool is_mixed(const cutter *c)
{
    const wf__text *t = c->t;
    uint64_t work = 0, most = 100000000; /* a longer search is not worth it: the text has one part */
    if (!t->program)
        return false;
    for (uint32_t i = 0; i < t->stmt_n && work < most; i++) {
        const wf__stmt *s = &t->stmt[i];
        if (s->kind == WF__STMT_GLOBAL)
            return true;
        if (s->kind != WF__STMT_WRITE || wf__text_arg(c->r, s->at, s->len) || wf__text_wanted(c->r, s->at, s->len) >= 0)
            continue;
        work += i;
        const wf__stmt *change = wf__text_change(t, 0, i, s->at, s->len);
        if (change && change->kind == WF__STMT_ASSIGN)
            return true;
    }
    for (uint32_t k = 1; k < t->n && work < most; k++) {
        const wf__tree *n = &t->node[k];
        if (is_whole_call(t, n))
            return true;
        if (n->kind != WF__TREE_READ)
            continue;
        work += t->stmt_n;
        for (uint32_t i = 0; i < t->stmt_n; i++) {
            const wf__stmt *s = &t->stmt[i];
            if (!wf__stmt_assigns(s) || !wf__text_same(t, s->at, s->len, n->at, n->len))
                continue;
            if (s->kind == WF__STMT_LOCAL && s->n)
                break; /* a local array, whose elements belong to one point */
            if (s->last <= k)
                return true;
        }
    }
    return false;
}

bool wf__text_cut(wf__recorder *r)
{
    const wf__text *t = r->text;
    cutter c = { .r = r, .t = t };
    if (!is_mixed(&c)) {
        add_part(r, 0, t->stmt_n, t->program);
        return !r->failed;
    }
    if (t->stmt_n > MAX_STATEMENTS || t->n > MAX_NODES)
        wf__text_mistake(r, WF_ERR_UNSUPPORTED, t->program_at,
                         "a text that has both statements about whole arrays and a program is too long: more than %d "
                         "statements or %d operations",
                         (int)MAX_STATEMENTS, (int)MAX_NODES);
    c.inside = r->failed ? NULL : wf__alloc0(t->n);
    if (!c.inside && !r->failed)
        wf__text_mistake(r, WF_ERR_MEMORY, 0, "out of memory");
    for (uint32_t k = t->n; k-- > 1 && !r->failed;)
        for (uint32_t i = is_whole_call(t, &t->node[k]) && !c.inside[k] ? wf__text_first_node(t, k) : k + 1; i <= k;
             i++)
            c.inside[i] = true;
    if (!r->failed)
        find_parts(&c);
    if (r->part_n > 1 && r->part[r->part_n - 1].points && r->want_n)
        add_part(r, t->stmt_n, t->stmt_n, false); /* no statements: the arrays of the results alone */
    wf__free(c.inside);
    return !r->failed;
}

/* ---- functions of whole arrays in a part of points ---- */

/* True if a node of [first, last] has a name that the unit itself changes: r has the message. */
static bool depends_on_unit(wf__recorder *r, const unit *u, uint32_t first, uint32_t last)
{
    const wf__text *t = r->text;
    for (uint32_t k = first; k <= last; k++) {
        const wf__tree *n = &t->node[k];
        bool names = n->kind == WF__TREE_NAME || n->kind == WF__TREE_READ;
        if (!names || u->end == u->first + 1 || !wf__text_change(t, u->first, u->end, n->at, n->len))
            continue;
        wf__text_mistake(r, WF_ERR_SYNTAX, n->at,
                         "%.*s changes in this block, but functions of whole arrays in a block are computed before it",
                         wf__text_shown(n->len), t->src + n->at);
        return true;
    }
    return false;
}

static void compute_call(wf__recorder *r, const unit *u, uint32_t node)
{
    const wf__tree *n = &r->text->node[node];
    uint32_t first = wf__text_first_node(r->text, node);
    if (depends_on_unit(r, u, first, node))
        return;
    r->now = u->first;
    wf__text_evaluate(r, &(wf__stmt){ .first = first, .last = node + 1 });
    wf_array *array = r->failed ? NULL : wf__text_keep(r, r->value[node].v);
    wf__text_check(r, n->at);
    if (array && wf__grow(&r->ready, &r->ready_cap, r->ready_n + 1, sizeof *r->ready)) {
        r->ready[r->ready_n++] = (wf__text_ready){ first, node, array };
        return;
    }
    wf_release(array);
    if (!r->failed)
        wf__text_mistake(r, WF_ERR_MEMORY, n->at, "out of memory");
}

bool wf__text_has_calls(const wf__recorder *r)
{
    const wf__text *t = r->text;
    for (uint32_t i = r->first; i < r->end; i++)
        for (uint32_t k = t->stmt[i].first; k < t->stmt[i].last; k++)
            if (is_whole_call(t, &t->node[k]))
                return true;
    return false;
}

void wf__text_compute_calls(wf__recorder *r)
{
    const wf__text *t = r->text;
    wf__floats floats = wf__floats_begin(); /* for numbers that are computed here */
    for (uint32_t i = r->first; i < r->end && !r->failed;) {
        unit u = unit_at(t, i);
        for (uint32_t k = u.node_end; k-- > u.node && !r->failed;)
            if (is_whole_call(t, &t->node[k])) {
                compute_call(r, &u, k);
                k = wf__text_first_node(t, k);
            }
        i = u.end;
    }
    wf__floats_end(floats);
}
