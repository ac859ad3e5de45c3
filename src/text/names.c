/* names.c - the names of operator text: arguments, assigned names, coordinates, sizes and constants. For an unknown
 * name the message suggests the nearest known one.
 */
#include "text/record.h"
#include <math.h>
#include <stdio.h>

enum { MAX_ASSIGNED = 4096 };

/* ---- arguments and assigned names ---- */

const wf_arg *wf__text_arg(const wf__recorder *r, uint32_t at, uint32_t len)
{
    for (size_t i = 0; i < r->args.n; i++)
        if (r->args.at[i].name && wf__text_is(r->text, at, len, r->args.at[i].name))
            return &r->args.at[i];
    return NULL;
}

bool wf__text_args_differ(wf__recorder *r)
{
    for (size_t i = 1; i < r->args.n; i++)
        for (size_t k = 0; k < i; k++) {
            const char *name = r->args.at[i].name;
            if (!name || !r->args.at[k].name || strcmp(name, r->args.at[k].name) != 0)
                continue;
            wf__str s = { 0 };
            wf__str_addf(&s, "operator text: two arguments have the name '%s'", name);
            wf_fail(r->graph, WF_ERR_ARG, wf__str_get(&s));
            wf__str_free(&s);
            r->failed = true;
            return false;
        }
    return true;
}

wf__text_name *wf__text_assigned(const wf__recorder *r, uint32_t at, uint32_t len)
{
    for (uint32_t i = r->visible; i-- > 0;)
        if (wf__text_same(r->text, r->name[i].at, r->name[i].len, at, len))
            return &r->name[i];
    return NULL;
}

wf__text_name *wf__text_new_name(wf__recorder *r, uint32_t at, uint32_t len)
{
    if (r->name_n == MAX_ASSIGNED)
        wf__text_mistake(r, WF_ERR_UNSUPPORTED, at, "more than %d names are assigned", (int)MAX_ASSIGNED);
    else if (!wf__grow(&r->name, &r->name_cap, r->name_n + 1, sizeof *r->name))
        wf__text_mistake(r, WF_ERR_MEMORY, at, "out of memory");
    if (r->failed)
        return NULL;
    r->visible = r->name_n + 1;
    r->name[r->name_n] = (wf__text_name){ .at = at, .len = len, .level = r->level };
    return &r->name[r->name_n++];
}

bool wf__text_hold(wf__recorder *r, wf_array *array, uint32_t at)
{
    bool room = !array || wf__grow(&r->held, &r->held_cap, r->held_n + 1, sizeof *r->held);
    if (!room)
        wf_release(array);
    if (!room && !r->failed)
        wf__text_mistake(r, WF_ERR_MEMORY, at, "out of memory");
    if (room && array)
        r->held[r->held_n++] = array;
    return !r->failed;
}

bool wf__text_note(wf__recorder *r, const wf_array *array, wf__text_source source)
{
    if (r->failed || !array || !r->text->derives)
        return !r->failed;
    if (!wf__grow(&r->source, &r->source_cap, r->source_n + 1, sizeof *r->source)) {
        wf__text_mistake(r, WF_ERR_MEMORY, source.at, "out of memory");
        return false;
    }
    source.array = wf_retain(array);
    r->source[r->source_n++] = source;
    return true;
}

const wf__stmt *wf__text_change(const wf__text *t, uint32_t first, uint32_t end, uint32_t at, uint32_t len)
{
    for (uint32_t i = end; i-- > first;)
        if (wf__stmt_assigns(&t->stmt[i]) && wf__text_same(t, t->stmt[i].at, t->stmt[i].len, at, len))
            return &t->stmt[i];
    return NULL;
}

bool wf__text_changes(const wf__recorder *r, uint32_t at, uint32_t len)
{
    const wf__text *t = r->text;
    if (!r->indexed || t->expression)
        return false;
    uint32_t end = r->level ? t->stmt[r->block[0].stmt].end : r->now;
    return wf__text_change(t, r->first, end, at, len) != NULL;
}

bool wf__text_has_name(const wf__text *t, uint32_t first, uint32_t end, const wf__text_name *name, bool reads)
{
    for (uint32_t i = first; i < end; i++) {
        const wf__stmt *s = &t->stmt[i];
        bool found = wf__text_same(t, s->at, s->len, name->at, name->len);
        for (uint32_t k = s->first; k < s->last && !found; k++) {
            const wf__tree *n = &t->node[k];
            found = (n->kind == WF__TREE_NAME || (reads && n->kind == WF__TREE_READ)) &&
                    wf__text_same(t, n->at, n->len, name->at, name->len);
        }
        if (found)
            return true;
    }
    return false;
}

int wf__text_wanted(const wf__recorder *r, uint32_t at, uint32_t len)
{
    for (size_t i = 0; i < r->want_n; i++)
        if (wf__text_is(r->text, at, len, r->want[i]))
            return (int)i;
    return -1;
}

/* ---- built-in names ---- */

typedef enum builtin_kind { CONSTANT, INDEX, SIZE } builtin_kind;
typedef struct builtin {
    const char *name;
    builtin_kind kind;
    bool real;
    int axis; /* from the end, 1 is the last */
    double value;
} builtin;

static const builtin builtins[] = {
    { "pi", CONSTANT, true, 0, 3.14159265358979323846 },
    { "inf", CONSTANT, true, 0, INFINITY },
    { "nan", CONSTANT, true, 0, NAN },
    { "true", CONSTANT, false, 0, 1 },
    { "false", CONSTANT, false, 0, 0 },
    { "x", INDEX, false, 1, 0 },
    { "y", INDEX, false, 2, 0 },
    { "z", INDEX, false, 3, 0 },
    { "nx", SIZE, false, 1, 0 },
    { "ny", SIZE, false, 2, 0 },
    { "nz", SIZE, false, 3, 0 },
};

bool wf__text_coordinate(const wf__text *t, uint32_t at, uint32_t len)
{
    for (size_t i = 0; i < WF__COUNT(builtins); i++)
        if (builtins[i].kind == INDEX && wf__text_is(t, at, len, builtins[i].name))
            return true;
    return len == 2 && t->src[at] == 'i' && t->src[at + 1] >= '0' && t->src[at + 1] < '0' + WF_MAX_RANK;
}

static wf__tval fail_axis(wf__recorder *r, uint32_t at)
{
    if (!r->shaped)
        return wf__text_mistake(r, WF_ERR_SYNTAX, at,
                                "coordinates and sizes need an array argument, which gives the shape (or `weft calc "
                                "--shape`)");
    return wf__text_mistake(r, WF_ERR_SHAPE, at, "the index space has only %d %s", (int)r->common.rank,
                            r->common.rank == 1 ? "axis" : "axes");
}

static wf__tval check_axis(wf__recorder *r, uint32_t at, int from_end)
{
    if (!r->fits)
        return wf__text_mistake(
            r, WF_ERR_SHAPE, at,
            "the shapes of the array arguments do not broadcast, so nothing gives the shape of the coordinates: "
            "give it by an argument named \"\" (weft calc: --shape)");
    if (from_end < 1 || from_end > r->common.rank)
        return fail_axis(r, at);
    for (int d = 0; d < r->common.rank; d++)
        if (r->common.dim[d] < 0)
            return wf__text_mistake(r, WF_ERR_UNSUPPORTED, at,
                                    "coordinates and sizes are unknown for formal arrays, whose extents are open");
    return wf__tval_number(0, false);
}

/* True in an index space of at least `axes` axes. One with fewer is a mistake of the text. */
static bool axis_in_space(wf__recorder *r, uint32_t at, int axes)
{
    int rank = r->space.rank;
    if (r->indexed && axes > rank)
        wf__text_mistake(r, WF_ERR_SHAPE, at, "the index space has only %d %s", rank, rank == 1 ? "axis" : "axes");
    return r->indexed && axes <= rank;
}

wf__tval wf__text_own_index(wf__recorder *r, uint32_t at, int from_end)
{
    if (axis_in_space(r, at, from_end))
        return wf__tval_node(wf_index(r->graph, -from_end));
    if (r->failed)
        return wf__text_poison(r);
    wf__tval ok = check_axis(r, at, from_end);
    if (!wf__tval_is_number(ok))
        return ok;
    return wf__tval_node(wf_iota(r->graph, r->common, r->common.rank - from_end));
}

static wf__tval extent_value(wf__recorder *r, uint32_t at, int from_end)
{
    if (axis_in_space(r, at, from_end))
        return wf__tval_node(wf_extent(r->graph, -from_end));
    if (r->failed)
        return wf__text_poison(r);
    wf__tval ok = check_axis(r, at, from_end);
    if (!wf__tval_is_number(ok))
        return ok;
    return wf__tval_number((double)r->common.dim[r->common.rank - from_end], false);
}

static wf__tval builtin_value(wf__recorder *r, const wf__tree *node, bool *found)
{
    const wf__text *t = r->text;
    *found = true;
    for (size_t i = 0; i < WF__COUNT(builtins); i++) {
        const builtin *b = &builtins[i];
        if (!wf__text_is(t, node->at, node->len, b->name))
            continue;
        if (b->kind == CONSTANT)
            return wf__tval_number(b->value, b->real);
        return b->kind == INDEX ? wf__text_own_index(r, node->at, b->axis) : extent_value(r, node->at, b->axis);
    }
    char first = t->src[node->at], digit = node->len == 2 ? t->src[node->at + 1] : 'x';
    if ((first == 'i' || first == 'n') && digit >= '0' &&
        digit < '0' + WF_MAX_RANK) { /* i0, n1: the axis by its number */
        int axis = digit - '0';
        if (axis_in_space(r, node->at, axis + 1))
            return wf__tval_node(first == 'i' ? wf_index(r->graph, axis) : wf_extent(r->graph, axis));
        if (r->failed)
            return wf__text_poison(r);
        if (axis >= r->common.rank)
            return fail_axis(r, node->at);
        return first == 'i' ? wf__text_own_index(r, node->at, r->common.rank - axis)
                            : extent_value(r, node->at, r->common.rank - axis);
    }
    *found = false;
    return wf__tval_number(0, false);
}

wf__tval wf__text_element(wf__recorder *r, uint32_t at, uint32_t length, const wf_array *array)
{
    wf_shape shape = array ? wf_array_shape(array) : WF_SCALAR;
    const wf_shape *space = &r->space;
    bool fits = shape.rank <= space->rank;
    for (int k = 1; k <= shape.rank && fits; k++) {
        int64_t n = shape.dim[shape.rank - k];
        fits = n == 1 || n < 0 || n == space->dim[space->rank - k];
    }
    if (!r->spaced || fits)
        return wf__tval_node(wf_in(r->graph, array));
    char have[160], want[160];
    wf_shape_text(&shape, have, sizeof have);
    wf_shape_text(space, want, sizeof want);
    int len = wf__text_shown(length);
    return wf__text_mistake(
        r, WF_ERR_SHAPE, at,
        "%.*s has shape %s and does not broadcast to the index space %s; read it by index: %.*s[...]", len,
        r->text->src + at, have, want, len, r->text->src + at);
}

wf__tval wf__text_gone(wf__recorder *r, uint32_t at, uint32_t len)
{
    return wf__text_mistake(
        r, WF_ERR_SYNTAX, at,
        "%.*s is a local array of one point, which ends where a statement needs all points: declare "
        "it after that statement, or as global",
        wf__text_shown(len), r->text->src + at);
}

wf__tval wf__text_lookup(wf__recorder *r, const wf__tree *node)
{
    const wf__text_name *assigned = wf__text_assigned(r, node->at, node->len);
    if (assigned && assigned->array) {
        int len = wf__text_shown(node->len);
        const char *name = r->text->src + node->at;
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s is a local array: say which element, %.*s[...]", len,
                                name, len, name);
    }
    if (assigned && assigned->gone)
        return wf__text_gone(r, node->at, node->len);
    if (assigned && assigned->stored)
        return wf__text_element(r, node->at, node->len, assigned->whole);
    if (assigned && assigned->dtype != WF_NONE && !assigned->constant)
        return wf__tval_node(wf_get(assigned->value.v.h));
    if (assigned)
        return assigned->value;
    int w = r->made ? wf__text_wanted(r, node->at, node->len) : -1;
    if (w >= 0 && r->made[w])
        return wf__text_element(r, node->at, node->len, r->made[w]);
    const wf_arg *arg = wf__text_arg(r, node->at, node->len);
    if (arg && arg->kind == WF_ARG_NUMBER)
        return wf__tval_number(arg->as.num, false);
    if (arg && (arg->kind < WF_ARG_ARRAY || arg->kind > WF_ARG_U64))
        return wf__text_mistake(r, WF_ERR_ARG, node->at, "the argument '%s' has the kind %d, which no wf_arg_kind is",
                                arg->name, (int)arg->kind);
    if (arg && arg->kind > WF_ARG_NUMBER) /* its bits are those of as.i64 for both */
        return wf__tval_node(wf_const_i64(r->graph, arg->kind == WF_ARG_I64 ? WF_I64 : WF_U64, arg->as.i64));
    if (arg && arg->kind == WF_ARG_ARRAY)
        return wf__text_element(r, node->at, node->len, arg->as.array);
    if (arg && wf__text_is_variable(arg->as.val))
        return wf__tval_node(wf_get(arg->as.val.h));
    if (arg)
        return wf__tval_node(arg->as.val);
    bool found;
    wf__tval value = builtin_value(r, node, &found);
    return found ? value : wf__text_unknown(r, node, false);
}

wf_array *wf__text_keep(wf__recorder *r, wf_val value)
{
    if (!r->prepares)
        return wf_keep(value);
    wf_array *array = wf_empty(wf_graph_context(r->graph), wf_val_dtype(value), wf_val_shape(value),
                               .device = wf_graph_device(r->graph));
    if (array)
        wf_out(r->graph, array, value);
    return array;
}

void wf__text_label(const wf__recorder *r, const wf__text_name *name)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", wf__text_shown(name->len), r->text->src + name->at);
    wf_label_array(r->graph, name->whole, text);
}

/* ---- elements that are written and read ---- */

uint32_t wf__text_first_node(const wf__text *t, uint32_t node)
{
    for (;;) {
        const wf__tree *n = &t->node[node];
        switch ((wf__tree_kind)n->kind) {
        case WF__TREE_CALL:
        case WF__TREE_READ:
            if (n->n == 0)
                return node;
            node = t->list[n->a];
            break;
        case WF__TREE_UNARY:
        case WF__TREE_BINARY:
        case WF__TREE_SELECT:
        case WF__TREE_PICK:
            node = n->a;
            break;
        default:
            return node;
        }
    }
}

/* Splits an index that is a coordinate, or a coordinate plus or minus a number. *from_end: 1 = the last axis. */
static bool split_index(const wf__recorder *r, uint32_t node, int *from_end, double *shift)
{
    const wf__text *t = r->text;
    const wf__tree *n = &t->node[node], *name = n;
    *shift = 0;
    if (n->kind == WF__TREE_BINARY && (n->op == '+' || n->op == '-')) {
        const wf__tree *a = &t->node[n->a], *b = &t->node[n->b];
        bool turned = n->op == '+' && a->kind == WF__TREE_NUMBER;
        const wf__tree *number = turned ? a : b;
        name = turned ? b : a;
        if (number->kind != WF__TREE_NUMBER)
            return false;
        *shift = n->op == '-' ? -number->number.value : number->number.value;
    }
    *from_end = 0;
    for (int i = 0; i < 3 && name->kind == WF__TREE_NAME; i++)
        if (wf__text_is(t, name->at, name->len, (const char *const[]){ "x", "y", "z" }[i]))
            *from_end = i + 1;
    return *from_end && !wf__text_arg(r, name->at, name->len) && !wf__text_assigned(r, name->at, name->len);
}

/* True if both subtrees have the same nodes. */
static bool is_same_tree(const wf__text *t, uint32_t a, uint32_t b)
{
    uint32_t first_a = wf__text_first_node(t, a), first_b = wf__text_first_node(t, b);
    bool same = a - first_a == b - first_b;
    for (uint32_t i = 0; i <= a - first_a && same; i++) {
        const wf__tree *m = &t->node[first_a + i], *n = &t->node[first_b + i];
        bool named = m->kind == WF__TREE_NAME || m->kind == WF__TREE_CALL || m->kind == WF__TREE_READ;
        same = m->kind == n->kind && m->op == n->op && m->n == n->n && m->border == n->border &&
               m->between == n->between && m->number.bits == n->number.bits && m->number.value == n->number.value &&
               (!named || wf__text_same(t, m->at, m->len, n->at, n->len));
    }
    return same;
}

wf__text_place wf__text_place_of(const wf__recorder *r, const wf__stmt *write, const wf__tree *read)
{
    const wf__text *t = r->text;
    bool by_index = write->kind == WF__STMT_WRITE;
    if (read->between) /* it reads neighbours, too */
        return WF__TEXT_OTHER_ELEMENT;
    wf__text_place place = by_index && write->n != read->n ? WF__TEXT_ANY_ELEMENT : WF__TEXT_SAME_ELEMENT;
    for (uint32_t k = 0; k < read->n && !(by_index && write->n != read->n); k++) {
        uint32_t index = t->list[read->a + k], other = by_index ? t->list[write->a + k] : 0;
        int axis, own = (int)(read->n - k);
        double shift, stored = 0;
        bool known = split_index(r, index, &axis, &shift) && (!by_index || split_index(r, other, &own, &stored));
        if (known && axis == own && shift != stored)
            return WF__TEXT_OTHER_ELEMENT;
        if (known ? axis != own : !by_index || !is_same_tree(t, index, other))
            place = WF__TEXT_ANY_ELEMENT;
    }
    return place;
}

/* ---- the nearest name ---- */

enum { NAME_MAX_LEN = 31 };
typedef struct nearest {
    const char *name; /* the unknown one */
    size_t len;
    char best[NAME_MAX_LEN + 1];
    int distance;
} nearest;

static int smaller(int a, int b) { return a < b ? a : b; }

/* Returns the number of edits (insert, drop, change, swap neighbours) that lead from a to b. */
static int edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    int row[3][NAME_MAX_LEN + 1];
    for (size_t j = 0; j <= m; j++)
        row[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = smaller(smaller(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = smaller(now[j], before[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

static void consider_name(nearest *best, const char *name, size_t len)
{
    if (len == 0 || len > NAME_MAX_LEN || best->len > NAME_MAX_LEN)
        return;
    int d = edit_distance(best->name, best->len, name, len);
    if (d >= best->distance)
        return;
    best->distance = d;
    memcpy(best->best, name, len);
    best->best[len] = 0;
}

static void consider_values(const wf__recorder *r, nearest *best)
{
    for (uint32_t i = 0; i < r->name_n; i++)
        consider_name(best, r->text->src + r->name[i].at, r->name[i].len);
    for (size_t i = 0; i < r->args.n; i++)
        if (r->args.at[i].name)
            consider_name(best, r->args.at[i].name, strlen(r->args.at[i].name));
    for (size_t i = 0; i < WF__COUNT(builtins); i++)
        consider_name(best, builtins[i].name, strlen(builtins[i].name));
}

static void consider_functions(nearest *best)
{
    const char *name;
    for (int f = 0; (name = wf__tval_function_name(f)) != NULL; f++)
        consider_name(best, name, strlen(name));
    for (size_t i = 0; (name = wf__text_fold_name(i)) != NULL; i++)
        consider_name(best, name, strlen(name));
    consider_name(best, "stop", 4);
    consider_name(best, "replace_gradient", 16);
    for (int t = WF_BOOL; wf_dtype_size((wf_dtype)t); t++)
        consider_name(best, wf_dtype_name((wf_dtype)t), strlen(wf_dtype_name((wf_dtype)t)));
}

/* True if an earlier statement gave the name a value: then its block has ended. */
static bool was_forgotten(const wf__recorder *r, const wf__tree *node)
{
    const wf__text *t = r->text;
    for (uint32_t i = 0; i < r->now && t->program; i++) {
        const wf__stmt *s = &t->stmt[i];
        if ((s->kind == WF__STMT_ASSIGN || s->kind == WF__STMT_LOCAL) &&
            wf__text_same(t, s->at, s->len, node->at, node->len))
            return true;
    }
    return false;
}

/* True if the name stands alone between ';' and ']', where a border mode or the value outside belongs. */
static bool is_border(const wf__text *t, const wf__tree *node)
{
    const char *before = t->src + node->at, *after = before + node->len;
    while (before > t->src && before[-1] == ' ')
        before--;
    while (*after == ' ')
        after++;
    return before > t->src && before[-1] == ';' && *after == ']';
}

wf__tval wf__text_unknown(wf__recorder *r, const wf__tree *node, bool call)
{
    const char *name = r->text->src + node->at;
    int len = wf__text_shown(node->len);
    bool is_value = wf__text_arg(r, node->at, node->len) || wf__text_assigned(r, node->at, node->len);
    bool is_function = wf__tval_function(name, node->len) >= 0 || wf__text_dtype_named(name, node->len) != WF_NONE ||
                       wf__text_fold_named(name, node->len, 1) != WF__FOLD_NONE;
    if (call && is_value)
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "%.*s is no function; neighbours are in square brackets: %.*s[...]", len, name, len,
                                name);
    if (!call && wf__text_border_named(name, node->len))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "%.*s is no value; a border mode follows a semicolon: a[y, x-1; %.*s]", len, name, len,
                                name);
    if (!call && wf__text_interpolation_named(name, node->len))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "%.*s is no value; an interpolation follows a semicolon: a[y + 0.5, x; %.*s]", len,
                                name, len, name);
    if (!call && is_function)
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s is a function: write %.*s(...)", len, name, len,
                                name);
    if (!call && was_forgotten(r, node))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "%.*s belongs to a block that has ended: declare it before the block", len, name);
    if (call && wf__text_is(r->text, node->at, node->len, "percentile"))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "unknown function 'percentile': write quantile(a, q) with q from 0 to 1");
    if (call && wf__text_is(r->text, node->at, node->len, "where"))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "unknown function 'where': write select(condition, a, b)");
    nearest best = { .name = name,
                     .len = node->len,
                     .distance = node->len < 2   ? 1
                                 : node->len < 6 ? 2
                                 : node->len < 9 ? 3
                                                 : 4 };
    if (call)
        consider_functions(&best);
    else
        consider_values(r, &best);
    if (!call && is_border(r->text, node))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "unknown name '%.*s'; outside is " WF__TEXT_BORDERS " or a value", len, name);
    return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "unknown %s '%.*s'%s%s%s", call ? "function" : "name", len,
                            name, best.best[0] ? "; did you mean '" : "", best.best, best.best[0] ? "'?" : "");
}
