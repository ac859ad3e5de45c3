/* parse.c - turns tokens into a tree, by precedence climbing.
 *
 * Precedence and associativity are C's. The power ** is right associative and binds closer than the unary operators, as
 * in Python: -x**2 is -(x**2). Two traps of C are errors here: a < b < c, and = inside an expression.
 */
#include "text/text.h"

enum { MAX_DEPTH = 200 };

/* ---- the tree ---- */

uint32_t wf__text_add_node(wf__text *t, wf__tree node)
{
    if (t->status != WF_OK)
        return 0;
    if (!wf__grow(&t->node, &t->cap, t->n + 1, sizeof *t->node)) {
        wf__text_fail(t, WF_ERR_MEMORY, node.at, "out of memory");
        return 0;
    }
    t->node[t->n] = node;
    return t->n++;
}

/* Appends a list of nodes, and returns the place of its first; 0 after an error. */
static uint32_t add_list(wf__text *t, const uint32_t *item, uint32_t n)
{
    uint32_t first = t->list_n;
    if (t->status != WF_OK)
        return 0;
    if (!wf__grow(&t->list, &t->list_cap, first + n, sizeof *t->list)) {
        wf__text_fail(t, WF_ERR_MEMORY, t->token.at, "out of memory");
        return 0;
    }
    for (uint32_t i = 0; i < n; i++)
        t->list[first + i] = item[i];
    t->list_n = first + n;
    return first;
}

/* ---- errors ---- */

static void describe_token(const wf__text *t, char *buf, size_t cap)
{
    const wf__token *k = &t->token;
    wf__str s = { 0 };
    if (k->kind == WF__TOK_END)
        wf__str_add(&s, t->expression ? "the end of the expression" : "the end of the text");
    else if (k->kind == '\n')
        wf__str_add(&s, "the end of the line");
    else
        wf__str_addf(&s, "'%.*s'", wf__text_shown(k->len), t->src + k->at);
    size_t n = s.len < cap ? s.len : cap - 1;
    memcpy(buf, wf__str_get(&s), n);
    buf[n] = 0;
    wf__str_free(&s);
}

void wf__text_expected(wf__text *t, const char *what)
{
    char found[64];
    if (t->status != WF_OK)
        return;
    describe_token(t, found, sizeof found);
    const wf__token *k = &t->token;
    if (k->kind == '=')
        wf__text_fail(t, WF_ERR_SYNTAX, k->at, "expected %s; '=' begins a value, '==' compares", what);
    else if (k->kind == '/' && (t->before == '/' || t->src[k->at + 1] == '/'))
        wf__text_fail(t, WF_ERR_SYNTAX, k->at,
                      "'//' means nothing here: '#' begins a comment, idiv(a, b) divides integers");
    else
        wf__text_fail(t, WF_ERR_SYNTAX, k->at, "expected %s, not %s", what, found);
}

bool wf__text_take(wf__text *t, int kind, const char *what)
{
    if (t->token.kind != kind) {
        wf__text_expected(t, what);
        return false;
    }
    wf__text_next(t);
    return true;
}

bool wf__text_deeper(wf__text *t)
{
    if (++t->depth <= MAX_DEPTH)
        return t->status == WF_OK;
    wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "nested more than %d deep", (int)MAX_DEPTH);
    return false;
}

/* ---- expressions ---- */

/* The items are collected on the stack first, because nested lists append to t->list meanwhile. */
uint32_t wf__text_list(wf__text *t, int close, uint32_t *count)
{
    uint32_t item[WF__TEXT_ARGUMENTS], n = 0;
    *count = 0;
    while (t->token.kind != close && t->token.kind != ';' && t->status == WF_OK) {
        if (n == WF__TEXT_ARGUMENTS) {
            wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "more than %d arguments", (int)WF__TEXT_ARGUMENTS);
            return 0;
        }
        item[n++] = wf__text_expression(t);
        if (t->token.kind != ',')
            break;
        wf__text_next(t);
    }
    *count = t->status == WF_OK ? n : 0;
    return add_list(t, item, n);
}

/* Parses the border mode that follows the ';' of spline_filter, before its axes. Returns true if no axes follow. */
static bool parse_mode(wf__text *t, wf__tree *node)
{
    const wf__token *k = &t->token;
    const wf_border named = k->kind == WF__TOK_NAME ? wf__text_border_named(t->src + k->at, k->len) : WF_BORDER_NONE;
    if (!named || !wf__text_is(t, node->at, node->len, "spline_filter"))
        return false;
    node->border = (uint8_t)named;
    wf__text_next(t);
    if (k->kind != ',')
        return true;
    wf__text_next(t);
    return false;
}

/* Parses what follows the ';' of a reduction: the numbers of axes. */
static void parse_axes(wf__text *t, wf__tree *node)
{
    bool first = true;
    do {
        wf__text_next(t);
        if (first && parse_mode(t, node))
            return;
        first = false;
        bool back = t->token.kind == '-';
        if (back)
            wf__text_next(t);
        const wf__literal *k = &t->token.number;
        if (t->token.kind != WF__TOK_NUMBER) {
            wf__text_expected(t, "the number of an axis");
            return;
        }
        if (k->real || k->big || k->value > WF_MAX_RANK - !back || (back && k->value < 1)) {
            wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "axes are numbered 0 to %d, or -1 to -%d from the last one",
                          WF_MAX_RANK - 1, WF_MAX_RANK);
            return;
        }
        uint32_t *named = back ? &node->c : &node->b, bit = 1u << ((int)k->value - back);
        if (*named & bit) {
            wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "each axis can be named once");
            return;
        }
        *named |= bit;
        wf__text_next(t);
    } while (t->token.kind == ',');
}

/* Parses what follows the ';' of grad: the seed, which becomes the last argument, in a list of its own. */
static void parse_seed(wf__text *t, wf__tree *node)
{
    uint32_t item[WF__TEXT_ARGUMENTS + 1], n = node->n;
    wf__text_next(t);
    item[n] = wf__text_expression(t);
    if (n == WF__TEXT_ARGUMENTS)
        wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "more than %d arguments", (int)WF__TEXT_ARGUMENTS);
    if (t->token.kind == ',')
        wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "a seed is one value: that of the first argument of grad");
    for (uint32_t i = 0; i < n; i++)
        item[i] = t->list[node->a + i];
    node->a = add_list(t, item, n + 1);
    node->n = n + 1;
    node->seeded = true;
}

static uint32_t parse_call(wf__text *t, wf__tree node)
{
    bool grad = wf__text_is(t, node.at, node.len, "grad");
    node.kind = WF__TREE_CALL;
    t->derives |= grad || wf__text_is(t, node.at, node.len, "tangent");
    t->nesting++;
    wf__text_next(t);
    node.a = wf__text_list(t, ')', &node.n);
    if (t->token.kind == ';' && grad)
        parse_seed(t, &node);
    else if (t->token.kind == ';')
        parse_axes(t, &node);
    t->nesting--;
    if (!wf__text_take(t, ')', "',' or ')'"))
        return 0;
    return wf__text_add_node(t, node);
}

/* Parses what follows the ';' of a read: the name of an interpolation, then the name of a border mode, or the value
 * outside. */
static void parse_border(wf__text *t, wf__tree *node)
{
    const wf__token *k = &t->token;
    node->between = k->kind == WF__TOK_NAME ? wf__text_interpolation_named(t->src + k->at, k->len) : 0;
    if (node->between) {
        wf__text_next(t);
        if (k->kind != ',')
            return;
        wf__text_next(t);
    }
    wf_border named = k->kind == WF__TOK_NAME ? wf__text_border_named(t->src + k->at, k->len) : WF_BORDER_NONE;
    if (named) {
        node->border = (uint8_t)named;
        wf__text_next(t);
        return;
    }
    if (k->kind == ']')
        wf__text_expected(t, WF__TEXT_BORDERS " or the value outside");
    else
        node->b = wf__text_expression(t);
}

static uint32_t parse_read(wf__text *t, wf__tree node)
{
    node.kind = WF__TREE_READ;
    node.border = WF_BORDER_VALUE;
    t->nesting++;
    wf__text_next(t);
    if (t->token.kind == ']')
        wf__text_expected(t, "an index");
    node.a = wf__text_list(t, ']', &node.n);
    if (t->token.kind == ';') {
        wf__text_next(t);
        parse_border(t, &node);
    }
    t->nesting--;
    if (!wf__text_take(t, ']', "',', ';' or ']'"))
        return 0;
    return wf__text_add_node(t, node);
}

static uint32_t parse_primary(wf__text *t)
{
    wf__token k = t->token;
    wf__tree node = { .at = k.at, .len = k.len };
    uint32_t inner;
    switch (k.kind) {
    case WF__TOK_NUMBER:
        node.kind = WF__TREE_NUMBER;
        node.number = k.number;
        wf__text_next(t);
        return wf__text_add_node(t, node);
    case WF__TOK_NAME:
        wf__text_next(t);
        if (t->token.kind == '(')
            return parse_call(t, node);
        if (t->token.kind == '[')
            return parse_read(t, node);
        node.kind = WF__TREE_NAME;
        return wf__text_add_node(t, node);
    case '(':
        t->nesting++;
        wf__text_next(t);
        inner = wf__text_expression(t);
        t->nesting--;
        if (!wf__text_take(t, ')', "an operator or ')'"))
            return 0;
        t->node[inner].enclosed = true;
        return inner;
    default:
        wf__text_expected(t, "a value");
        return 0;
    }
}

/* True for a cast, as in (f32)x: brackets around a type, and an operand after them. */
static bool is_cast(const wf__text *t, uint32_t node)
{
    const wf__tree *n = &t->node[node];
    if (n->kind != WF__TREE_NAME || !n->enclosed || wf__text_dtype_named(t->src + n->at, n->len) == WF_NONE)
        return false;
    int k = t->token.kind;
    return k == WF__TOK_NAME || k == WF__TOK_NUMBER || k == '(' || k == '-' || k == '+' || k == '!' || k == '~';
}

static uint32_t parse_unary(wf__text *t);

/* Parses the operand of a sign, of a cast or of **, which is one level deeper. */
static uint32_t parse_operand(wf__text *t)
{
    uint32_t result = wf__text_deeper(t) ? parse_unary(t) : 0;
    t->depth--;
    return result;
}

static uint32_t parse_cast(wf__text *t, uint32_t type)
{
    wf__tree node = { .kind = WF__TREE_CALL, .at = t->node[type].at, .len = t->node[type].len, .n = 1 };
    uint32_t of = parse_operand(t);
    node.a = add_list(t, &of, 1);
    if (t->status != WF_OK)
        return 0;
    t->node[type].kind = WF__TREE_NONE;
    return wf__text_add_node(t, node);
}

static uint32_t parse_unary(wf__text *t)
{
    uint32_t result = 0;
    wf__tree node = { .kind = WF__TREE_UNARY, .op = (int16_t)t->token.kind, .at = t->token.at, .len = 1 };
    switch (t->token.kind) {
    case '-':
    case '!':
    case '~':
        wf__text_next(t);
        node.a = parse_operand(t);
        result = wf__text_add_node(t, node);
        break;
    case '+':
        wf__text_next(t);
        result = parse_operand(t);
        break;
    default:
        result = parse_primary(t);
        if (t->status == WF_OK && is_cast(t, result)) {
            result = parse_cast(t, result);
            break;
        }
        if (t->token.kind == '[')
            wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "only an array by its name can be indexed");
        if (t->token.kind == '(')
            wf__text_expected(t, "an operator");
        if (t->token.kind != WF__TOK_POW)
            break;
        node = (wf__tree){ .kind = WF__TREE_BINARY, .op = WF__TOK_POW, .at = t->token.at, .len = 2, .a = result };
        wf__text_next(t);
        node.b = parse_operand(t); /* right associative; the exponent may have a sign */
        result = wf__text_add_node(t, node);
    }
    return result;
}

static int precedence(int op)
{
    switch (op) {
    case WF__TOK_OROR:
        return 1;
    case WF__TOK_ANDAND:
        return 2;
    case '|':
        return 3;
    case '^':
        return 4;
    case '&':
        return 5;
    case WF__TOK_EQ:
    case WF__TOK_NE:
        return 6;
    case '<':
    case '>':
    case WF__TOK_LE:
    case WF__TOK_GE:
        return 7;
    case WF__TOK_SHL:
    case WF__TOK_SHR:
        return 8;
    case '+':
    case '-':
        return 9;
    case '*':
    case '/':
    case '%':
        return 10;
    default:
        return 0;
    }
}

static bool is_comparison(int op) { return precedence(op) == 6 || precedence(op) == 7; }

static uint32_t parse_binary(wf__text *t, int least)
{
    uint32_t left = parse_unary(t);
    for (int p = precedence(t->token.kind); p >= least && t->status == WF_OK; p = precedence(t->token.kind)) {
        wf__tree node = {
            .kind = WF__TREE_BINARY, .op = (int16_t)t->token.kind, .at = t->token.at, .len = t->token.len
        };
        const wf__tree *before = &t->node[left];
        if (is_comparison(node.op) && before->kind == WF__TREE_BINARY && precedence(before->op) == p &&
            !before->enclosed)
            wf__text_fail(t, WF_ERR_SYNTAX, node.at, "comparisons do not chain: write a < b && b < c, or use brackets");
        wf__text_next(t);
        node.a = left;
        node.b = parse_binary(t, p + 1);
        left = wf__text_add_node(t, node);
    }
    return left;
}

uint32_t wf__text_expression(wf__text *t)
{
    if (!wf__text_deeper(t))
        return 0;
    uint32_t result = parse_binary(t, 1);
    if (t->token.kind == '?') {
        wf__tree node = { .kind = WF__TREE_SELECT, .at = t->token.at, .len = 1, .a = result };
        wf__text_next(t);
        node.b = wf__text_expression(t);
        if (wf__text_take(t, ':', "an operator or ':'")) {
            node.c = wf__text_expression(t);
            result = wf__text_add_node(t, node);
        }
    }
    t->depth--;
    return result;
}
