/* parse_func.c - parses a module: its directives, and functions with their statements, labels and operands. */
#include "emu/parse.h"
#include <stdlib.h>

/* ---- operands ---- */
static bool read_literal(emu_parser *p, emu_operand *o, bool minus)
{
    o->kind = p->token == EMU_TOK_INT ? EMU_OP_INT : EMU_OP_FLOAT;
    o->number = p->number;
    o->has_bits32 = p->token == EMU_TOK_FLOAT && p->has_bits32;
    o->bits32 = p->bits32;
    if (minus && o->kind == EMU_OP_INT) {
        o->number = 0 - o->number;
    } else if (minus) {
        o->number ^= (uint64_t)1 << 63;
        o->bits32 ^= 0x80000000u;
    }
    wfe_next(p);
    return true;
}

static bool read_offset(emu_parser *p, emu_operand *o)
{
    while (wfe_at(p, "+") || wfe_at(p, "-")) {
        bool minus = wfe_at(p, "-");
        wfe_next(p);
        if (!minus && wfe_accept(p, "-"))
            minus = true;
        if (p->token != EMU_TOK_INT)
            return wfe_fail(p, "an offset was expected, not '%.*s'", (int)p->text.n, p->text.at);
        o->offset = (int64_t)((uint64_t)o->offset + (minus ? 0 - p->number : p->number));
        wfe_next(p);
    }
    return true;
}

static bool read_operand(emu_parser *p, emu_operand *o, bool in_vector);

static bool read_vector(emu_parser *p, emu_operand *o)
{
    o->kind = EMU_OP_VECTOR;
    o->first = p->n_elements;
    do {
        if (o->n == EMU_MAX_VECTOR || p->n_elements == WF__COUNT(p->elements))
            return wfe_fail(p, "a vector of more than %d elements", EMU_MAX_VECTOR);
        p->n_elements++;
        o->n++;
        if (!read_operand(p, &p->elements[o->first + o->n - 1], true))
            return false;
    } while (wfe_accept(p, ","));
    return wfe_expect(p, "}");
}

static bool read_operand(emu_parser *p, emu_operand *o, bool in_vector)
{
    *o = (emu_operand){ 0 };
    if (!in_vector && wfe_accept(p, "{"))
        return read_vector(p, o);
    if (!in_vector && wfe_accept(p, "[")) {
        o->kind = EMU_OP_ADDRESS;
        if (p->token == EMU_TOK_WORD) {
            o->name = p->text;
            wfe_next(p);
        } else if (p->token == EMU_TOK_INT) {
            o->offset = (int64_t)p->number;
            wfe_next(p);
        } else {
            return wfe_fail(p, "an address was expected, not '%.*s'", (int)p->text.n, p->text.at);
        }
        return read_offset(p, o) && wfe_expect(p, "]");
    }
    o->negate = wfe_accept(p, "!");
    bool minus = !o->negate && wfe_accept(p, "-");
    if (p->token == EMU_TOK_INT || p->token == EMU_TOK_FLOAT)
        return !o->negate ? read_literal(p, o, minus) : wfe_fail(p, "'!' before a number");
    if (minus || p->token != EMU_TOK_WORD || p->text.at[0] == '.')
        return wfe_fail(p, "an operand was expected, not '%.*s'", (int)p->text.n, p->text.at);
    o->kind = EMU_OP_NAME;
    o->name = p->text;
    wfe_next(p);
    if (wfe_accept(p, "|")) {
        if (p->token != EMU_TOK_WORD)
            return wfe_fail(p, "a second predicate was expected after '|'");
        o->second = p->text;
        wfe_next(p);
    }
    return read_offset(p, o);
}

static bool read_list(emu_parser *p, const char *end)
{
    if (wfe_accept(p, end))
        return true;
    do {
        if (p->n_operands == EMU_MAX_OPERANDS)
            return wfe_fail(p, "more than %d operands", EMU_MAX_OPERANDS);
        if (!read_operand(p, &p->operands[p->n_operands++], false))
            return false;
    } while (wfe_accept(p, ","));
    return wfe_expect(p, end);
}

/* call{.uni} (results), name, (arguments); */
static bool read_call(emu_parser *p)
{
    if (wfe_accept(p, "(")) {
        if (!read_list(p, ")") || !wfe_expect(p, ","))
            return false;
    }
    p->n_results = p->n_operands;
    if (p->n_operands == EMU_MAX_OPERANDS)
        return wfe_fail(p, "more than %d operands", EMU_MAX_OPERANDS);
    if (!read_operand(p, &p->operands[p->n_operands++], false))
        return false;
    if (wfe_accept(p, ",") && (!wfe_expect(p, "(") || !read_list(p, ")")))
        return false;
    return wfe_expect(p, ";");
}

static bool split_opcode(emu_parser *p, emu_slice word)
{
    uint32_t start = 0, n = 0;
    p->n_mods = p->mod = 0;
    for (uint32_t i = 0; i <= word.n; i++) {
        if (i < word.n && word.at[i] != '.')
            continue;
        emu_slice part = { word.at + start, i - start };
        start = i + 1;
        if (n++ == 0)
            p->opcode = part;
        else if (p->n_mods == EMU_MAX_MODS)
            return wfe_fail(p, "more than %d modifiers", EMU_MAX_MODS);
        else
            p->mods[p->n_mods++] = part;
    }
    return true;
}

/* ---- statements ---- */
static bool read_instruction(emu_parser *p)
{
    uint32_t guard = EMU_ROW_NONE, line = p->token_line;
    bool negate = false;
    if (wfe_accept(p, "@")) {
        negate = wfe_accept(p, "!");
        const emu_symbol *s = p->token == EMU_TOK_WORD ? wfe_lookup(p, p->text, &guard) : NULL;
        if (!s || s->kind != EMU_SYM_REG || s->type != EMU_PRED)
            return wfe_fail(p, "'%.*s' is not a predicate", (int)p->text.n, p->text.at);
        wfe_next(p);
    }
    if (p->token != EMU_TOK_WORD || p->text.at[0] == '.')
        return wfe_fail(p, "an instruction was expected, not '%.*s'", (int)p->text.n, p->text.at);
    if (!split_opcode(p, p->text))
        return false;
    p->inst = (emu_inst){ .guard = EMU_ROW_NONE, .line = line };
    p->n_operands = p->n_elements = p->n_results = p->n_dst = p->n_src = 0;
    wfe_next(p);
    bool call = wfe_is(p->opcode, "call");
    if (call ? !read_call(p) : !read_list(p, ";"))
        return false;
    uint32_t after = p->token_line;
    p->token_line = line; /* errors of decoding name the line of the instruction */
    if (!wfe_decode(p, guard, negate))
        return false;
    p->token_line = after;
    return true;
}

static bool skip_to_semicolon(emu_parser *p)
{
    while (!p->failed && p->token != EMU_TOK_END && !wfe_at(p, ";"))
        wfe_next(p);
    return wfe_expect(p, ";");
}

/* .loc and .file end with their line. */
static bool skip_line(emu_parser *p)
{
    uint32_t line = p->token_line;
    while (!p->failed && p->token != EMU_TOK_END && p->token_line == line)
        wfe_next(p);
    return !p->failed;
}

/* name: .branchtargets A, B; */
static bool read_targets(emu_parser *p, emu_slice name)
{
    emu_func *f = p->f;
    uint32_t at = f->n_targets, count = 0;
    if (!wfe_add_label(p, name, at, true) || !wf__grow(&f->targets, &f->cap_targets, at + 1, sizeof *f->targets))
        return p->failed ? false : wfe_out_of_memory(p);
    f->n_targets++;
    do {
        if (p->token != EMU_TOK_WORD)
            return wfe_fail(p, "a label was expected, not '%.*s'", (int)p->text.n, p->text.at);
        if (!wf__grow(&f->targets, &f->cap_targets, f->n_targets + 1, sizeof *f->targets))
            return wfe_out_of_memory(p);
        f->targets[f->n_targets] = 0;
        if (!wfe_add_reference(p, p->text, 0, 1 + f->n_targets++, false))
            return false;
        count++;
        wfe_next(p);
    } while (wfe_accept(p, ","));
    f->targets[at] = count;
    return wfe_expect(p, ";");
}

static bool read_directive(emu_parser *p)
{
    if (wfe_accept(p, ".reg"))
        return wfe_parse_registers(p);
    if (wfe_accept(p, ".shared"))
        return wfe_parse_variable(p, EMU_SHARED, false);
    if (wfe_accept(p, ".local"))
        return wfe_parse_variable(p, EMU_LOCAL, false);
    if (wfe_accept(p, ".param"))
        return wfe_parse_variable(p, EMU_PARAM, false);
    if (wfe_accept(p, ".global"))
        return wfe_parse_variable(p, EMU_GLOBAL, false);
    if (wfe_accept(p, ".const"))
        return wfe_parse_variable(p, EMU_CONST, false);
    if (wfe_at(p, ".loc") || wfe_at(p, ".file"))
        return skip_line(p);
    if (wfe_accept(p, ".pragma"))
        return skip_to_semicolon(p);
    return wfe_fail(p, "unknown directive '%.*s'", (int)p->text.n, p->text.at);
}

static bool read_named(emu_parser *p)
{
    const char *at = p->at;
    while (at < p->end && (*at == ' ' || *at == '\t'))
        at++;
    if (at >= p->end || *at != ':')
        return read_instruction(p);
    emu_slice name = p->text;
    wfe_next(p);
    wfe_next(p);
    if (wfe_accept(p, ".branchtargets"))
        return read_targets(p, name);
    if (wfe_at(p, ".callprototype") || wfe_at(p, ".calltargets"))
        return wfe_fail(p, "indirect calls are not supported by the emulator");
    return wfe_add_label(p, name, p->f->n_code, false);
}

static bool read_body(emu_parser *p)
{
    uint32_t base = p->depth;
    if (!wfe_open_scope(p))
        return false;
    while (!p->failed && p->depth > base) {
        if (p->token == EMU_TOK_END)
            return wfe_fail(p, "the body of '%s' has no end", p->f->name);
        if (wfe_accept(p, "{"))
            wfe_open_scope(p);
        else if (wfe_at(p, "}")) {
            wfe_close_scope(p);
            wfe_next(p);
        } else if (wfe_accept(p, ";"))
            continue;
        else if (p->token == EMU_TOK_WORD && p->text.at[0] == '.')
            read_directive(p);
        else if (p->token == EMU_TOK_WORD)
            read_named(p);
        else
            read_instruction(p);
    }
    return !p->failed;
}

static bool read_numbers(emu_parser *p, uint32_t *out, int most)
{
    for (int i = 0; i < most; i++)
        out[i] = 1;
    for (int i = 0; i < most; i++) {
        if (p->token != EMU_TOK_INT || p->number > INT32_MAX)
            return wfe_fail(p, "a number was expected, not '%.*s'", (int)p->text.n, p->text.at);
        out[i] = (uint32_t)p->number;
        wfe_next(p);
        if (!wfe_accept(p, ","))
            break;
    }
    return true;
}

static bool read_tuning(emu_parser *p)
{
    emu_func *f = p->f;
    uint32_t n[3];
    while (!p->failed && p->token == EMU_TOK_WORD && p->text.at[0] == '.') {
        if (wfe_accept(p, ".maxntid")) {
            if (!read_numbers(p, n, 3))
                return false;
            uint64_t all = (uint64_t)n[0] * n[1];
            f->max_threads =
                all * n[2] > EMU_MAX_THREADS || all > EMU_MAX_THREADS ? EMU_MAX_THREADS : (uint32_t)(all * n[2]);
        } else if (wfe_accept(p, ".reqntid")) {
            if (!read_numbers(p, f->req, 3))
                return false;
        } else if (wfe_accept(p, ".minnctapersm") || wfe_accept(p, ".maxnctapersm") || wfe_accept(p, ".maxnreg")) {
            if (!read_numbers(p, n, 1))
                return false;
        } else if (wfe_accept(p, ".noreturn")) {
            continue;
        } else if (wfe_accept(p, ".pragma")) {
            if (!skip_to_semicolon(p))
                return false;
        } else {
            return wfe_fail(p, "the emulator does not know the directive '%.*s'", (int)p->text.n, p->text.at);
        }
    }
    return !p->failed;
}

static bool read_params(emu_parser *p, bool entry, emu_var **list, uint32_t *n, uint32_t *cap)
{
    if (wfe_accept(p, ")"))
        return true;
    do {
        emu_var v;
        if (!wfe_parse_parameter(p, entry, &v))
            return false;
        if (!wf__grow(list, cap, *n + 1, sizeof **list))
            return wfe_out_of_memory(p);
        (*list)[(*n)++] = v;
    } while (wfe_accept(p, ","));
    return wfe_expect(p, ")");
}

static void drop_func(emu_func *f)
{
    if (!f)
        return;
    wf__free(f->params);
    wf__free(f->results);
    wf__free(f->code);
    wf__free(f->ops);
    wf__free(f->targets);
    wf__free(f);
}

/* Adds a function to the module, or replaces an earlier declaration by it. */
static bool file_function(emu_parser *p, emu_func *f)
{
    emu_module *m = p->m;
    uint32_t known = wfe_func_index(m, (emu_slice){ f->name, (uint32_t)strlen(f->name) });
    if (known < m->n_funcs) {
        emu_func *old = m->funcs[known];
        if (old->has_body || old->entry != f->entry || old->n_params != f->n_params || old->n_results != f->n_results)
            return wfe_fail(p, "'%s' is declared twice, or differently before", f->name);
        m->funcs[known] = f;
        drop_func(old);
        return true;
    }
    if (!wf__grow(&m->funcs, &m->cap_funcs, m->n_funcs + 1, sizeof(emu_func *)))
        return wfe_out_of_memory(p);
    m->funcs[m->n_funcs++] = f;
    return true;
}

bool wfe_parse_function(emu_parser *p, bool entry)
{
    emu_func *f = wf__alloc0(sizeof *f);
    if (!f)
        return wfe_out_of_memory(p);
    bool filed = false;
    p->f = f;
    p->n_labels = p->n_fixes = 0;
    f->entry = entry;
    f->line = p->token_line;
    f->max_threads = EMU_MAX_THREADS;
    if (!wfe_open_scope(p))
        goto done;
    if (!entry && wfe_accept(p, "(") && !read_params(p, false, &f->results, &f->n_results, &f->cap_results))
        goto done;
    if (p->token != EMU_TOK_WORD || p->text.at[0] == '.') {
        wfe_fail(p, "the name of a function was expected, not '%.*s'", (int)p->text.n, p->text.at);
        goto done;
    }
    f->name = wfe_copy_name(p, p->text);
    if (!f->name)
        goto done;
    wfe_next(p);
    if (wfe_accept(p, "(") && !read_params(p, entry, &f->params, &f->n_params, &f->cap_params))
        goto done;
    if (!read_tuning(p))
        goto done;
    filed = file_function(p, f);
    if (!filed)
        goto done;
    if (!wfe_accept(p, ";")) {
        f->has_body = true;
        if (!wfe_expect(p, "{") || !read_body(p))
            goto done;
        p->opcode = (emu_slice){ entry ? "exit" : "ret", entry ? 4 : 3 }; /* implied at the end of the body */
        p->n_mods = p->mod = p->n_operands = p->n_dst = p->n_src = 0;
        p->inst = (emu_inst){ .guard = EMU_ROW_NONE, .line = p->token_line };
        wfe_decode(p, EMU_ROW_NONE, false);
    }
    wfe_close_scope(p);
done:
    if (!filed)
        drop_func(f);
    p->f = NULL;
    return !p->failed;
}

/* ---- the module ---- */
static bool read_version(emu_parser *p)
{
    /* "8.3" is a float token, so the version is read from its text */
    unsigned major = 0, minor = 0, digits = 0;
    const char *s = p->text.at, *end = s + p->text.n;
    for (; s < end && *s >= '0' && *s <= '9' && major < 1000; s++)
        major = major * 10 + (unsigned)(*s - '0');
    if (s < end && *s == '.')
        for (s++; s < end && *s >= '0' && *s <= '9' && minor < 1000; s++, digits++)
            minor = minor * 10 + (unsigned)(*s - '0');
    if (p->token != EMU_TOK_FLOAT || !digits || s != end)
        return wfe_fail(p, "a version like 8.0 was expected, not '%.*s'", (int)p->text.n, p->text.at);
    p->m->version = major * 100 + minor;
    wfe_next(p);
    return true;
}

static bool read_target(emu_parser *p)
{
    do {
        if (p->token != EMU_TOK_WORD)
            return wfe_fail(p, "a target was expected, not '%.*s'", (int)p->text.n, p->text.at);
        if (p->text.n > 3 && !memcmp(p->text.at, "sm_", 3))
            p->m->target = (uint32_t)strtoul(p->text.at + 3, NULL, 10);
        else if (!wfe_is(p->text, "debug") && !wfe_is(p->text, "texmode_unified") &&
                 !wfe_is(p->text, "texmode_independent"))
            return wfe_fail(p, "unknown target '%.*s'", (int)p->text.n, p->text.at);
        wfe_next(p);
    } while (wfe_accept(p, ","));
    if (p->m->target < 70)
        return wfe_fail(p, "the target must be sm_70 or later");
    return true;
}

/* Skips a section of debug information. */
static bool read_section(emu_parser *p)
{
    unsigned depth = 0;
    wfe_next(p);
    while (!p->failed && p->token != EMU_TOK_END) {
        if (wfe_at(p, "{"))
            depth++;
        bool closes = wfe_at(p, "}");
        wfe_next(p);
        if (closes && --depth == 0)
            return true;
        if (depth > 1000)
            break;
    }
    return wfe_fail(p, "a section has no end");
}

static bool read_top(emu_parser *p)
{
    bool is_extern = false;
    if (wfe_accept(p, ".version"))
        return read_version(p);
    if (wfe_accept(p, ".target"))
        return read_target(p);
    if (wfe_accept(p, ".address_size")) {
        if (p->token != EMU_TOK_INT || p->number != 64)
            return wfe_fail(p, "only addresses of 64 bits are supported");
        wfe_next(p);
        return true;
    }
    if (wfe_at(p, ".file") || wfe_at(p, ".loc"))
        return skip_line(p);
    if (wfe_at(p, ".section"))
        return read_section(p);
    if (wfe_accept(p, ".pragma"))
        return skip_to_semicolon(p);
    while (wfe_at(p, ".visible") || wfe_at(p, ".weak") || wfe_at(p, ".common") || wfe_at(p, ".extern")) {
        is_extern |= wfe_at(p, ".extern");
        wfe_next(p);
    }
    if (!p->m->version || !p->m->target)
        return wfe_fail(p, ".version and .target must come first");
    if (wfe_accept(p, ".entry"))
        return wfe_parse_function(p, true);
    if (wfe_accept(p, ".func"))
        return wfe_parse_function(p, false);
    if (wfe_accept(p, ".global"))
        return wfe_parse_variable(p, EMU_GLOBAL, is_extern);
    if (wfe_accept(p, ".const"))
        return wfe_parse_variable(p, EMU_CONST, is_extern);
    if (wfe_accept(p, ".shared"))
        return wfe_parse_variable(p, EMU_SHARED, is_extern);
    return wfe_fail(p, "the emulator does not know the directive '%.*s'", (int)p->text.n, p->text.at);
}

/* Checks that everything that code uses is defined. */
static void check_whole(emu_parser *p)
{
    const emu_module *m = p->m;
    for (uint32_t i = 0; i < m->n_funcs && !p->failed; i++) {
        const emu_func *f = m->funcs[i];
        if (f->entry && !f->has_body)
            wfe_fail(p, "kernel '%s' has no body", f->name);
        for (uint32_t k = 0; k < f->n_code && !p->failed; k++) {
            const emu_inst *in = &f->code[k];
            p->token_line = in->line;
            if (in->kind == EMU_CALL && !m->funcs[in->callee]->has_body)
                wfe_fail(p, "'%s' is called, but has no body", m->funcs[in->callee]->name);
            if (in->symbol && m->vars[in->callee].is_extern)
                wfe_fail(p, "'%s' is used, but not defined", m->vars[in->callee].name);
        }
    }
}

emu_module *wfe_parse(const char *text, size_t n)
{
    emu_module *m = wf__alloc0(sizeof *m);
    emu_parser *p = m ? wf__alloc0(sizeof *p) : NULL;
    if (!p || !(m->text = wf__alloc(n + 1)))
        goto none;
    memcpy(m->text, text, n);
    m->text[n] = 0;
    size_t length = strnlen(m->text, n);
    p->m = m;
    p->at = m->text;
    p->end = m->text + length;
    p->line = 1;
    wfe_next(p);
    while (!p->failed && p->token != EMU_TOK_END)
        read_top(p);
    if (!p->failed && (!m->version || !m->target)) {
        wfe_fail(p, "a module needs .version and .target");
    }
    check_whole(p);
    if (p->no_memory || m->error.failed)
        goto none;
    wf__free(p->symbols);
    wf__free(p->labels);
    wf__free(p->fixes);
    wf__free(p);
    return m;
none:
    if (p) {
        wf__free(p->symbols);
        wf__free(p->labels);
        wf__free(p->fixes);
        wf__free(p);
    }
    wfe_module_free(m);
    return NULL;
}

void wfe_module_free(emu_module *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n_funcs; i++)
        drop_func(m->funcs[i]);
    for (uint32_t i = 0; i < m->n_vars; i++) {
        wf__free(m->vars[i].image);
        wf__free(m->vars[i].fixes);
    }
    for (uint32_t i = 0; i < m->n_names; i++)
        wf__free(m->names[i]);
    wf__free(m->funcs);
    wf__free(m->vars);
    wf__free(m->names);
    wf__free(m->consts);
    wf__free(m->text);
    wf__str_free(&m->error);
    wf__free(m);
}
