/* statement.c - turns tokens into statements: assignments, typed locals, writes by index, and C's blocks. The first
 * statement of a block holds what recording the block needs: where it ends, and the parts of a `for`.
 */
#include "text/text.h"
#include "base/floats.h"

enum { MAX_TEXT = 1 << 24 };

static void parse_statement(wf__text *t);

/* ---- the list ---- */

static uint32_t add_stmt(wf__text *t, wf__stmt s)
{
    if (t->status != WF_OK)
        return 0;
    if (!wf__grow(&t->stmt, &t->stmt_cap, t->stmt_n + 1, sizeof *t->stmt)) {
        wf__text_fail(t, WF_ERR_MEMORY, s.at, "out of memory");
        return 0;
    }
    t->stmt[t->stmt_n] = s;
    return t->stmt_n++;
}

static void needs_space(wf__text *t, uint32_t at)
{
    if (!t->program)
        t->program_at = at;
    t->program = true;
}

static bool token_is(const wf__text *t, const wf__token *k, const char *name)
{
    return k->kind == WF__TOK_NAME && wf__text_is(t, k->at, k->len, name);
}

static bool ends_statement(int kind) { return kind == ';' || kind == '\n' || kind == '}' || kind == WF__TOK_END; }

/* ---- assignments ---- */

/* Takes ++ or --, and sets *op to '+' or '-'. False if the next token is neither. */
static bool take_twice(wf__text *t, int16_t *op)
{
    int c = t->token.kind;
    if ((c != '+' && c != '-') || t->at >= t->len || t->src[t->at] != c)
        return false;
    *op = (int16_t)c;
    wf__text_next(t);
    t->token.kind = ';'; /* as after a complete statement, so that a line end is a token */
    wf__text_next(t);
    return true;
}

static uint32_t add_one(wf__text *t, uint32_t at)
{
    return wf__text_add_node(t, (wf__tree){ .kind = WF__TREE_NUMBER, .at = at, .number = { .value = 1, .bits = 1 } });
}

/* Parses an assignment from its operator on; *s has the name already, and the indices of a write. */
static void parse_assignment(wf__text *t, wf__stmt *s)
{
    wf__token op = t->token;
    s->op_at = op.at;
    if (take_twice(t, &s->op)) {
        s->value = add_one(t, op.at);
    } else if (op.kind == '=' || op.kind == WF__TOK_ASSIGN_OP) {
        s->op = (int16_t)(op.kind == '=' ? 0 : op.op);
        wf__text_next(t);
        s->value = wf__text_expression(t);
    } else {
        wf__text_expected(t, s->kind == WF__STMT_WRITE ? "'=' after the element" : "'=' after the name");
    }
    s->last = t->n;
    add_stmt(t, *s);
}

/* Parses the list between brackets; the next token is the opening one. */
static bool parse_bracketed(wf__text *t, wf__stmt *s, const char *what, const char *no_border)
{
    t->nesting++;
    wf__text_next(t);
    if (t->token.kind == ']')
        wf__text_expected(t, what);
    s->a = wf__text_list(t, ']', &s->n);
    if (t->token.kind == ';')
        wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "%s", no_border);
    t->nesting--;
    return wf__text_take(t, ']', "',' or ']'");
}

static void parse_write(wf__text *t, wf__stmt *s)
{
    needs_space(t, s->at);
    s->kind = WF__STMT_WRITE;
    if (parse_bracketed(t, s, "an index", "a write has no border mode: nothing is written outside"))
        parse_assignment(t, s);
}

/* Parses what follows a type: names, with or without values. `kind` is LOCAL or GLOBAL. */
static void parse_declaration(wf__text *t, wf__stmt_kind kind, wf_dtype dtype, bool constant)
{
    for (;;) {
        wf__stmt s = { .kind = (uint8_t)kind, .dtype = (uint8_t)dtype, .constant = constant, .at = t->token.at };
        s.len = t->token.len;
        s.first = t->n;
        if (kind == WF__STMT_LOCAL)
            needs_space(t, s.at);
        if (++t->locals > WF__TEXT_LOCALS)
            wf__text_fail(t, WF_ERR_UNSUPPORTED, s.at, "more than %d typed locals", (int)WF__TEXT_LOCALS);
        if (!wf__text_take(t, WF__TOK_NAME, "the name of a local after its type"))
            return;
        if (kind == WF__STMT_GLOBAL && t->token.kind != '[')
            wf__text_expected(t, "'[' and the extents of a global array");
        if (t->token.kind == '[' && constant)
            wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "an array is no constant");
        if (t->token.kind == '[' && !parse_bracketed(t, &s, "the number of elements", "an array has no border"))
            return;
        if (t->token.kind == '=') {
            wf__text_next(t);
            s.value = wf__text_expression(t);
        } else if (t->token.kind == '(') {
            wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "a text cannot define functions");
        } else if (constant) {
            wf__text_expected(t, "'=' and the value of a constant");
        }
        s.last = t->n;
        add_stmt(t, s);
        if (t->token.kind != ',' || t->status != WF_OK)
            return;
        wf__text_next(t);
    }
}

/* Parses a statement that begins with two names: the first must be a type or `const`. */
static void parse_typed(wf__text *t, wf__token type)
{
    bool constant = token_is(t, &type, "const"), global = token_is(t, &type, "global");
    if (global && t->blocks)
        wf__text_fail(t, WF_ERR_SYNTAX, type.at, "a global array is declared outside of blocks");
    if (constant || global) {
        type = t->token;
        wf__text_next(t);
    }
    wf_dtype dtype = wf__text_dtype_named(t->src + type.at, type.len);
    int len = wf__text_shown(type.len);
    if (dtype != WF_NONE)
        parse_declaration(t, global ? WF__STMT_GLOBAL : WF__STMT_LOCAL, dtype, constant);
    else if (global)
        wf__text_fail(t, WF_ERR_SYNTAX, type.at, "expected a type after global, not '%.*s': global f32 h[256]", len,
                      t->src + type.at);
    else if (token_is(t, &type, "else"))
        wf__text_fail(t, WF_ERR_SYNTAX, type.at, "this else belongs to no if");
    else
        wf__text_fail(t, WF_ERR_SYNTAX, type.at,
                      "expected name = value; '%.*s' is no type either (f32 f64 i32 u8 ..., float double int)", len,
                      t->src + type.at);
}

/* Parses `, b = grad(L, x, y)` after the first of several names. Each name gets a statement. */
static void parse_several(wf__text *t, wf__stmt s)
{
    wf__token name[WF__TEXT_ARGUMENTS];
    uint32_t n = 0;
    if (t->blocks || t->nesting)
        wf__text_fail(t, WF_ERR_SYNTAX, s.at, "several names are assigned outside of blocks");
    while (t->token.kind == ',' && t->status == WF_OK) {
        wf__text_next(t);
        if (n + 1 == WF__COUNT(name))
            wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "more than %d names", (int)WF__TEXT_ARGUMENTS);
        else
            name[n++] = t->token;
        wf__text_take(t, WF__TOK_NAME, "a name");
    }
    s.op_at = t->token.at;
    if (!wf__text_take(t, '=', "'=' after the names"))
        return;
    uint32_t call = s.value = wf__text_expression(t);
    const wf__tree node = t->node[call];
    bool grad = node.kind == WF__TREE_CALL && wf__text_is(t, node.at, node.len, "grad");
    if (t->status == WF_OK && (!grad || node.n != n + 2 + node.seeded))
        wf__text_fail(t, WF_ERR_SYNTAX, grad ? node.at : s.op_at,
                      "%u names take the derivatives with respect to as many: a, b = grad(L, x, y)", n + 1);
    for (uint32_t i = 0; i < n; i++)
        wf__text_add_node(t, (wf__tree){ .kind = WF__TREE_PICK, .at = node.at, .len = node.len, .a = call });
    s.last = t->n;
    add_stmt(t, s);
    for (uint32_t i = 0; i < n; i++)
        add_stmt(t, (wf__stmt){ .kind = WF__STMT_ASSIGN,
                                .joined = true,
                                .at = name[i].at,
                                .len = name[i].len,
                                .op_at = s.op_at,
                                .first = t->n,
                                .last = t->n,
                                .value = call + 1 + i });
}

/* Parses an assignment or declaration whose first name has been taken. */
static void parse_simple_from(wf__text *t, wf__token name)
{
    wf__stmt s = { .kind = WF__STMT_ASSIGN, .at = name.at, .len = name.len, .first = t->n };
    if (t->token.kind == WF__TOK_NAME)
        parse_typed(t, name);
    else if (t->token.kind == '[')
        parse_write(t, &s);
    else if (t->token.kind == ',')
        parse_several(t, s);
    else
        parse_assignment(t, &s);
}

static void parse_simple(wf__text *t)
{
    int16_t op = 0;
    wf__token name = t->token;
    if ((name.kind == '+' || name.kind == '-') && take_twice(t, &op)) { /* ++k */
        wf__stmt s = { .kind = WF__STMT_ASSIGN, .op = op, .at = t->token.at, .len = t->token.len, .first = t->n };
        s.op_at = name.at;
        if (wf__text_take(t, WF__TOK_NAME, "a name")) {
            s.value = add_one(t, s.op_at);
            s.last = t->n;
            add_stmt(t, s);
        }
        return;
    }
    if (name.kind != WF__TOK_NAME) {
        wf__text_expected(t, "a statement like: name = value");
        return;
    }
    wf__text_next(t);
    parse_simple_from(t, name);
}

/* ---- blocks ---- */

static void skip_line_ends(wf__text *t)
{
    while (t->token.kind == '\n')
        wf__text_next(t);
}

/* Parses the statements of a '{' ... '}'; the next token is the '{'. */
static void parse_braces(wf__text *t)
{
    uint32_t open = t->token.at;
    t->blocks++;
    wf__text_next(t);
    while (t->token.kind != '}' && t->status == WF_OK) {
        if (t->token.kind == WF__TOK_END)
            wf__text_fail(t, WF_ERR_SYNTAX, open, "this '{' is never closed");
        else if (t->token.kind == ';' || t->token.kind == '\n')
            wf__text_next(t);
        else
            parse_statement(t);
    }
    t->blocks--;
    if (t->status == WF_OK)
        wf__text_next(t);
}

/* Parses the body of an if, an else or a loop. */
static void parse_body(wf__text *t)
{
    skip_line_ends(t);
    if (t->token.kind == '{')
        parse_braces(t);
    else if (t->token.kind == ';')
        wf__text_fail(t, WF_ERR_SYNTAX, t->token.at, "this ';' would be the whole block; an empty block is {}");
    else {
        t->blocks++;
        parse_statement(t);
        t->blocks--;
    }
}

static void end_block(wf__text *t, uint32_t begin)
{
    uint32_t last = add_stmt(t, (wf__stmt){ .kind = WF__STMT_END, .at = t->token.at, .first = t->n, .last = t->n });
    if (t->status == WF_OK)
        t->stmt[begin].end = last;
}

/* Parses the "(condition)" of an if or while, and adds the statement. */
static uint32_t parse_condition(wf__text *t, wf__stmt s)
{
    t->nesting++;
    wf__text_next(t);
    s.first = t->n;
    s.value = wf__text_expression(t);
    s.last = t->n;
    t->nesting--;
    wf__text_take(t, ')', "an operator or ')'");
    return add_stmt(t, s);
}

static void parse_if(wf__text *t, wf__stmt s)
{
    s.kind = WF__STMT_IF;
    uint32_t begin = parse_condition(t, s);
    parse_body(t);
    while ((t->token.kind == ';' || t->token.kind == '\n') && t->status == WF_OK)
        wf__text_next(t);
    if (token_is(t, &t->token, "else")) {
        add_stmt(t, (wf__stmt){ .kind = WF__STMT_ELSE, .at = t->token.at, .len = 4, .first = t->n, .last = t->n });
        wf__text_next(t);
        parse_body(t);
    }
    end_block(t, begin);
}

static void parse_while(wf__text *t, wf__stmt s)
{
    s.kind = WF__STMT_WHILE;
    uint32_t begin = parse_condition(t, s);
    t->loops++;
    parse_body(t);
    t->loops--;
    end_block(t, begin);
}

static void parse_for(wf__text *t, wf__stmt s)
{
    s.kind = WF__STMT_FOR;
    uint32_t begin = add_stmt(t, s);
    t->nesting++;
    wf__text_next(t);
    if (t->token.kind != ';')
        parse_simple(t);
    if (t->status == WF_OK && t->stmt_n > begin + 2)
        wf__text_fail(t, WF_ERR_UNSUPPORTED, t->stmt[begin + 2].at, "a for begins with one variable");
    if (t->status == WF_OK && t->stmt_n > begin + 1 && t->stmt[begin + 1].kind == WF__STMT_WRITE)
        wf__text_fail(t, WF_ERR_UNSUPPORTED, t->stmt[begin + 1].at, "a for begins with a variable");
    wf__text_take(t, ';', "';' after the beginning of the loop");
    s.first = t->n;
    if (t->token.kind != ';' && t->status == WF_OK)
        s.value = wf__text_expression(t);
    s.last = t->n;
    wf__text_take(t, ';', "an operator or ';' after the condition");
    s.step = t->stmt_n;
    if (t->token.kind != ')' && t->status == WF_OK)
        parse_simple(t);
    if (t->status == WF_OK && t->stmt_n > s.step && t->stmt[s.step].kind != WF__STMT_ASSIGN)
        wf__text_fail(t, WF_ERR_SYNTAX, t->stmt[s.step].at, "the step of a loop is an assignment, like k++");
    if (t->token.kind == ',')
        wf__text_fail(t, WF_ERR_UNSUPPORTED, t->token.at, "a loop has one step");
    t->nesting--;
    wf__text_take(t, ')', "an operator or ')'");
    s.body = t->stmt_n;
    if (t->status == WF_OK)
        t->stmt[begin] = s;
    t->loops++;
    parse_body(t);
    t->loops--;
    end_block(t, begin);
}

static void parse_leave(wf__text *t, wf__stmt s)
{
    if (t->loops == 0)
        wf__text_fail(t, WF_ERR_SYNTAX, s.at, "%.*s outside of a loop", (int)s.len, t->src + s.at);
    s.kind = wf__text_is(t, s.at, s.len, "break") ? WF__STMT_BREAK : WF__STMT_CONTINUE;
    s.first = s.last = t->n;
    add_stmt(t, s);
}

/* Parses a statement whose keyword or first name has been taken. True if the next statement needs no ';' before it. */
static bool parse_named(wf__text *t, wf__token name)
{
    wf__stmt s = { .at = name.at, .len = name.len };
    bool bracket = t->token.kind == '(';
    if (bracket && (token_is(t, &name, "if") || token_is(t, &name, "while") || token_is(t, &name, "for"))) {
        needs_space(t, name.at);
        if (token_is(t, &name, "if"))
            parse_if(t, s);
        else if (token_is(t, &name, "while"))
            parse_while(t, s);
        else
            parse_for(t, s);
        return true;
    }
    if (ends_statement(t->token.kind) && (token_is(t, &name, "break") || token_is(t, &name, "continue")))
        parse_leave(t, s);
    else if (t->token.kind == '{' && token_is(t, &name, "else"))
        parse_typed(t, name);
    else if (t->token.kind == '{' && token_is(t, &name, "do"))
        wf__text_fail(t, WF_ERR_UNSUPPORTED, name.at, "there is no do; say while (true) {... if (done) break; }");
    else if (bracket && token_is(t, &name, "switch"))
        wf__text_fail(t, WF_ERR_UNSUPPORTED, name.at, "there is no switch; say if ... else if ...");
    else if (token_is(t, &name, "return") && t->token.kind != '=')
        wf__text_fail(t, WF_ERR_UNSUPPORTED, name.at, "there is no return; the result is what is assigned");
    else
        parse_simple_from(t, name);
    return false;
}

static void parse_statement(wf__text *t)
{
    bool closed = false;
    wf__token name = t->token;
    if (!wf__text_deeper(t))
        return;
    if (name.kind == '{') {
        needs_space(t, name.at);
        wf__stmt s = { .kind = WF__STMT_SCOPE, .at = name.at, .first = t->n, .last = t->n };
        uint32_t begin = add_stmt(t, s);
        parse_braces(t);
        end_block(t, begin);
        closed = true;
    } else if (name.kind == '}') {
        wf__text_fail(t, WF_ERR_SYNTAX, name.at, "this '}' closes nothing");
    } else if (name.kind == WF__TOK_NAME) {
        wf__text_next(t);
        closed = parse_named(t, name);
    } else {
        parse_simple(t);
    }
    if (!closed && !ends_statement(t->token.kind))
        wf__text_expected(t, "an operator or the end of the statement");
    t->depth--;
}

/* ---- a last expression ---- */

/* Restores the parser's state, and keeps memory that has grown since. */
static void restore_parser(wf__text *t, const wf__text *to)
{
    wf__text now = *t;
    *t = *to;
    t->node = now.node, t->cap = now.cap;
    t->list = now.list, t->list_cap = now.list_cap;
    t->stmt = now.stmt, t->stmt_cap = now.stmt_cap;
}

static void name_it_out(wf__text *t, wf__stmt *s)
{
    t->own = wf__alloc((size_t)t->len + 5);
    if (!t->own) {
        wf__text_fail(t, WF_ERR_MEMORY, s->op_at, "out of memory");
        return;
    }
    memcpy(t->own, t->src, t->len);
    memcpy(t->own + t->len, "\0out", 5);
    t->src = t->own;
    t->bare_at = s->op_at;
    s->at = t->len + 1;
    s->len = 3;
    add_stmt(t, *s);
}

/* After a failed statement, tries to read an expression up to the end of the text: it is assigned to `out`. If that
 * fails too, the error at the later place is reported. The statement's error wins where an unknown type is the mistake,
 * and where other statements follow. */
static void parse_last_expression(wf__text *t, const wf__text *begin)
{
    wf__text failed = *t;
    static const char *const keywords[] = {
        "break", "continue", "return", "if", "else", "while", "for", "do", "switch"
    };
    bool keyword = failed.stmt_n != begin->stmt_n; /* a part of a statement was complete */
    for (size_t i = 0; i < WF__COUNT(keywords); i++)
        keyword = keyword || token_is(t, &begin->token, keywords[i]);
    if (failed.status == WF_ERR_MEMORY || keyword)
        return;
    restore_parser(t, begin);
    wf__stmt s = { .kind = WF__STMT_ASSIGN, .bare = true, .op_at = t->token.at, .first = t->n };
    s.value = wf__text_expression(t);
    s.last = t->n;
    wf__token behind = t->token;
    while (t->status == WF_OK && (t->token.kind == ';' || t->token.kind == '\n'))
        wf__text_next(t);
    if (t->status == WF_OK && t->token.kind == WF__TOK_END) {
        name_it_out(t, &s);
        return;
    }
    bool no_type = begin->token.kind == WF__TOK_NAME && failed.error_at == begin->token.at;
    bool statement = behind.kind == ';' || behind.kind == '\n' || behind.kind == '='; /* it was meant as a statement */
    if (!no_type && !statement && behind.at > failed.error_at)
        wf__text_expected(t, "an operator or the end of the text");
    if (t->status == WF_OK || t->error_at <= failed.error_at) {
        t->status = failed.status;
        t->error_at = failed.error_at;
        memcpy(t->error, failed.error, sizeof t->error);
    }
}

/* ---- the whole ---- */

static bool parse(wf__text *t, const char *src, bool expression)
{
    *t = (wf__text){ .src = src, .expression = expression };
    size_t len = strlen(src);
    t->len = len > MAX_TEXT ? 0 : (uint32_t)len;
    if (len > MAX_TEXT)
        wf__text_fail(t, WF_ERR_SYNTAX, 0, "the text is longer than %d bytes", (int)MAX_TEXT);
    wf__text_add_node(t, (wf__tree){ .kind = WF__TREE_NONE });
    wf__text_next(t);
    if (expression) {
        wf__stmt s = { .kind = WF__STMT_ASSIGN, .first = t->n };
        s.value = wf__text_expression(t);
        s.last = t->n;
        if (t->token.kind != WF__TOK_END)
            wf__text_expected(t, "an operator or the end of the expression");
        add_stmt(t, s);
    }
    while (!expression && t->token.kind != WF__TOK_END && t->status == WF_OK) {
        if (t->token.kind == ';' || t->token.kind == '\n')
            wf__text_next(t);
        else {
            const wf__text begin = *t;
            parse_statement(t);
            if (t->status != WF_OK)
                parse_last_expression(t, &begin);
        }
    }
    if (!expression && t->stmt_n == 0)
        wf__text_expected(t, "a statement like: name = value");
    return t->status == WF_OK;
}

bool wf__text_parse(wf__text *t, const char *src, bool expression)
{
    wf__all_floats floats = wf__all_floats_begin(); /* for strtod */
    bool ok = parse(t, src, expression);
    wf__all_floats_end(floats);
    return ok;
}

void wf__text_free(wf__text *t)
{
    wf__free(t->node);
    wf__free(t->list);
    wf__free(t->stmt);
    wf__free(t->own);
    *t = (wf__text){ 0 };
}
