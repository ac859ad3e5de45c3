/* parse_names.c - scopes: symbols, ranges of registers, labels and references to them. */
#include "emu/parse.h"
#include <ctype.h>
#include <stdlib.h>

static uint32_t bucket_of(emu_slice name)
{
    uint32_t h = 2166136261u;
    for (uint32_t i = 0; i < name.n; i++)
        h = (h ^ (uint8_t)name.at[i]) * 16777619u;
    return (h ^ h >> 15) % EMU_BUCKETS;
}
static bool is_same_name(emu_slice a, emu_slice b) { return a.n == b.n && !memcmp(a.at, b.at, a.n); }

/* 1 + index; 0 = unknown name. */
static uint32_t find_symbol(const emu_parser *p, emu_slice name)
{
    uint32_t i = p->buckets[bucket_of(name)];
    while (i && !is_same_name(p->symbols[i - 1].name, name))
        i = p->symbols[i - 1].next;
    return i;
}

emu_symbol *wfe_declare(emu_parser *p, emu_slice name, emu_symbol_kind kind, emu_type type)
{
    uint32_t known = find_symbol(p, name);
    if (known > p->marks[p->depth]) {
        wfe_fail(p, "'%.*s' is declared twice", (int)name.n, name.at);
        return NULL;
    }
    if (!wf__grow(&p->symbols, &p->cap_symbols, p->n_symbols + 1, sizeof *p->symbols)) {
        wfe_out_of_memory(p);
        return NULL;
    }
    uint32_t bucket = bucket_of(name);
    emu_symbol *s = &p->symbols[p->n_symbols++];
    *s = (emu_symbol){ .name = name, .kind = (uint8_t)kind, .type = type, .bucket = bucket };
    s->next = p->buckets[bucket];
    p->buckets[bucket] = p->n_symbols;
    return s;
}

const emu_symbol *wfe_lookup(emu_parser *p, emu_slice name, uint32_t *row)
{
    uint32_t i = find_symbol(p, name);
    if (i && !(p->symbols[i - 1].kind == EMU_SYM_REG && p->symbols[i - 1].count)) {
        *row = p->symbols[i - 1].first;
        return &p->symbols[i - 1];
    }
    uint32_t digits = 0, number = 0;
    while (digits < name.n && digits < 9 && isdigit((unsigned char)name.at[name.n - 1 - digits]))
        digits++;
    for (uint32_t used = 1; used <= digits && used < name.n;
         used++) { /* %r12 may be register 12 of %r<..> or register 2 of %r1<..> */
        emu_slice prefix = { name.at, name.n - used };
        if (used > 1 && prefix.at[prefix.n] == '0')
            continue;
        i = find_symbol(p, prefix);
        if (!i || p->symbols[i - 1].kind != EMU_SYM_REG || !p->symbols[i - 1].count)
            continue;
        number = 0;
        for (uint32_t k = prefix.n; k < name.n; k++)
            number = number * 10 + (uint32_t)(name.at[k] - '0');
        const emu_symbol *s = &p->symbols[i - 1];
        if (number < s->count) {
            *row = s->first + number * (s->type == EMU_B128 ? 2 : 1);
            return s;
        }
    }
    return NULL;
}

bool wfe_open_scope(emu_parser *p)
{
    if (p->depth + 1 >= EMU_DEPTH)
        return wfe_fail(p, "scopes are nested more than %d deep", EMU_DEPTH);
    p->depth++;
    p->marks[p->depth] = p->n_symbols;
    p->scopes[p->depth] = ++p->next_scope;
    return true;
}

static void resolve_reference(emu_parser *p, emu_fix *x, const emu_label *l)
{
    if (x->table != l->table) {
        p->token_line = x->line;
        wfe_fail(p, "'%.*s' is not a %s", (int)x->name.n, x->name.at, x->table ? "list of targets" : "label");
    } else if (x->target) {
        p->f->targets[x->target - 1] = l->at;
    } else {
        p->f->code[x->inst].target = l->at;
    }
}

/* Resolves references to labels of this scope. The other references pass to the scope around it. */
void wfe_close_scope(emu_parser *p)
{
    uint32_t scope = p->scopes[p->depth], outer = p->depth > 1 ? p->scopes[p->depth - 1] : 0, kept = 0;
    for (uint32_t i = 0; i < p->n_fixes && !p->failed; i++) {
        emu_fix x = p->fixes[i];
        const emu_label *found = NULL;
        for (uint32_t k = 0; x.scope == scope && k < p->n_labels && !found; k++)
            if (p->labels[k].scope == scope && is_same_name(p->labels[k].name, x.name))
                found = &p->labels[k];
        if (found) {
            resolve_reference(p, &x, found);
            continue;
        }
        if (x.scope == scope)
            x.scope = outer;
        if (x.scope == 0) {
            p->token_line = x.line;
            wfe_fail(p, "label '%.*s' is not defined", (int)x.name.n, x.name.at);
        }
        p->fixes[kept++] = x;
    }
    p->n_fixes = kept;
    while (p->n_symbols > p->marks[p->depth]) {
        const emu_symbol *s = &p->symbols[--p->n_symbols];
        p->buckets[s->bucket] = s->next;
    }
    p->depth--;
}

bool wfe_add_label(emu_parser *p, emu_slice name, uint32_t at, bool table)
{
    for (uint32_t i = 0; i < p->n_labels; i++)
        if (p->labels[i].scope == p->scopes[p->depth] && is_same_name(p->labels[i].name, name))
            return wfe_fail(p, "label '%.*s' is defined twice", (int)name.n, name.at);
    if (!wf__grow(&p->labels, &p->cap_labels, p->n_labels + 1, sizeof *p->labels))
        return wfe_out_of_memory(p);
    p->labels[p->n_labels++] = (emu_label){ name, at, p->scopes[p->depth], p->token_line, table };
    return true;
}

bool wfe_add_reference(emu_parser *p, emu_slice name, uint32_t inst, uint32_t target, bool table)
{
    if (!wf__grow(&p->fixes, &p->cap_fixes, p->n_fixes + 1, sizeof *p->fixes))
        return wfe_out_of_memory(p);
    p->fixes[p->n_fixes++] = (emu_fix){ name, p->scopes[p->depth], p->token_line, inst, target, table };
    return true;
}

uint32_t wfe_func_index(const emu_module *m, emu_slice name)
{
    for (uint32_t i = 0; i < m->n_funcs; i++)
        if (wfe_is(name, m->funcs[i]->name))
            return i;
    return m->n_funcs;
}

const char *wfe_copy_name(emu_parser *p, emu_slice name)
{
    emu_module *m = p->m;
    char *copy = wf__alloc(name.n + 1);
    if (!copy || !wf__grow(&m->names, &m->cap_names, m->n_names + 1, sizeof *m->names)) {
        wf__free(copy);
        wfe_out_of_memory(p);
        return NULL;
    }
    memcpy(copy, name.at, name.n);
    copy[name.n] = 0;
    m->names[m->n_names++] = copy;
    return copy;
}
