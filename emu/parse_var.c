/* parse_var.c - parses declarations: registers, variables with initial values, parameters. */
#include "emu/number.h"
#include "emu/parse.h"

static bool read_type(emu_parser *p, emu_type *out)
{
    if (p->token != EMU_TOK_WORD || p->text.at[0] != '.')
        return wfe_fail(p, "a type was expected, not '%.*s'", (int)p->text.n, p->text.at);
    *out = wfe_type_of((emu_slice){ p->text.at + 1, p->text.n - 1 });
    if (*out == EMU_NONE)
        return wfe_fail(p, "unknown type '%.*s'", (int)p->text.n, p->text.at);
    wfe_next(p);
    return true;
}

static bool read_count(emu_parser *p, uint64_t most, uint64_t *out)
{
    if (p->token != EMU_TOK_INT)
        return wfe_fail(p, "a number was expected, not '%.*s'", (int)p->text.n, p->text.at);
    if (p->number > most)
        return wfe_fail(p, "%llu is too large here", (unsigned long long)p->number);
    *out = p->number;
    wfe_next(p);
    return true;
}

static bool read_align(emu_parser *p, uint32_t *align)
{
    uint64_t n = 0;
    if (!wfe_accept(p, ".align"))
        return true;
    if (!read_count(p, 128, &n))
        return false;
    if (n == 0 || (n & (n - 1)))
        return wfe_fail(p, "an alignment of %llu is not a power of two", (unsigned long long)n);
    *align = (uint32_t)n;
    return true;
}

static bool read_name(emu_parser *p, emu_slice *name)
{
    if (p->token != EMU_TOK_WORD || p->text.at[0] == '.')
        return wfe_fail(p, "a name was expected, not '%.*s'", (int)p->text.n, p->text.at);
    *name = p->text;
    for (uint32_t i = 0; i < name->n; i++)
        if (name->at[i] == '.' || name->at[i] == ':')
            return wfe_fail(p, "'%.*s' cannot be a name", (int)name->n, name->at);
    wfe_next(p);
    return true;
}

bool wfe_parse_registers(emu_parser *p)
{
    emu_type type;
    if (wfe_at(p, ".v2") || wfe_at(p, ".v4"))
        return wfe_fail(p, "vector registers are not supported by the emulator");
    if (!read_type(p, &type))
        return false;
    do {
        emu_slice name;
        uint64_t count = 0;
        if (!read_name(p, &name))
            return false;
        if (wfe_accept(p, "<")) {
            if (!read_count(p, 1000000, &count) || !wfe_expect(p, ">"))
                return false;
            if (count == 0)
                continue;
        }
        emu_symbol *s = wfe_declare(p, name, EMU_SYM_REG, type);
        if (!s)
            return false;
        s->first = p->f->n_regs;
        s->count = (uint32_t)count;
        p->f->n_regs += (count ? (uint32_t)count : 1) * (type == EMU_B128 ? 2 : 1);
        if (p->f->n_regs > 4000000)
            return wfe_fail(p, "more than 4000000 registers");
    } while (wfe_accept(p, ","));
    return wfe_expect(p, ";");
}

/* [n][m]... after a name. *open: an extent is empty, as in name[]. */
static bool read_extents(emu_parser *p, uint64_t *elements, bool *open)
{
    *elements = 1;
    *open = false;
    while (wfe_accept(p, "[")) {
        uint64_t n = 0;
        if (wfe_accept(p, "]")) {
            *open = true;
            continue;
        }
        if (!read_count(p, (uint64_t)1 << 32, &n) || !wfe_expect(p, "]"))
            return false;
        if (n != 0 && *elements > ((uint64_t)1 << 32) / n)
            return wfe_fail(p, "a variable of more than 4 GiB");
        *elements *= n;
    }
    return true;
}

static bool store_element(emu_parser *p, emu_var *v, uint64_t at, bool minus)
{
    unsigned bytes = wfe_size(v->type);
    uint64_t bits = p->number;
    if (at + bytes > v->size)
        return wfe_fail(p, "'%s' has more initial values than elements", v->name);
    if (p->token == EMU_TOK_FLOAT) {
        if (v->type == EMU_F32 || (v->type == EMU_B32 && p->has_bits32))
            bits = p->has_bits32 ? p->bits32 : wfe_from_double(EMU_F32, emu_f64(p->number), EMU_RN);
        else if (v->type == EMU_F16 || v->type == EMU_BF16)
            bits = wfe_from_double(v->type, emu_f64(p->number), EMU_RN);
        else if (v->type != EMU_F64)
            return wfe_fail(p, "a float value for a variable of type .%s", wfe_type_name(v->type));
        if (minus)
            bits ^= (uint64_t)1 << (8 * bytes - 1);
    } else {
        if (wfe_is_float(v->type))
            return wfe_fail(p, "an integer value for a variable of type .%s", wfe_type_name(v->type));
        bits = minus ? 0 - bits : bits;
    }
    memcpy(v->image + at, &bits, bytes < 8 ? bytes : 8);
    wfe_next(p);
    return true;
}

/* An address as an initial value: name, name+number, generic(name). */
static bool store_address(emu_parser *p, emu_var *v, uint64_t at)
{
    bool generic = wfe_accept(p, "generic");
    emu_slice name;
    uint32_t row;
    uint64_t add = 0;
    if ((generic && !wfe_expect(p, "(")) || !read_name(p, &name) || (generic && !wfe_expect(p, ")")))
        return false;
    const emu_symbol *s = wfe_lookup(p, name, &row);
    if (!s || s->kind != EMU_SYM_VAR || p->m->vars[s->first].space == EMU_SHARED)
        return wfe_fail(p, "'%.*s' is not a global variable", (int)name.n, name.at);
    if (wfe_size(v->type) != 8 || at + 8 > v->size)
        return wfe_fail(p, "an address needs an element of 64 bits");
    if (wfe_accept(p, "+") && !read_count(p, UINT32_MAX, &add))
        return false;
    if (!wf__grow(&v->fixes, &v->cap_fixes, 3 * (v->n_fixes + 1), sizeof *v->fixes))
        return wfe_out_of_memory(p);
    uint64_t *fix = &v->fixes[3 * v->n_fixes++];
    fix[0] = at, fix[1] = s->first, fix[2] = add;
    return true;
}

static bool read_values(emu_parser *p, emu_var *v)
{
    uint64_t at = 0;
    unsigned depth = 0, bytes = wfe_size(v->type);
    do {
        while (wfe_accept(p, "{"))
            depth++;
        bool minus = wfe_accept(p, "-");
        if (p->token == EMU_TOK_INT || p->token == EMU_TOK_FLOAT ? !store_element(p, v, at, minus)
                                                                 : !store_address(p, v, at))
            return false;
        at += bytes;
        while (depth > 0 && wfe_accept(p, "}"))
            depth--;
    } while (depth > 0 && wfe_accept(p, ","));
    return depth == 0 || wfe_expect(p, "}");
}

static uint32_t round_up(uint64_t n, uint32_t align) { return (uint32_t)((n + align - 1) & ~(uint64_t)(align - 1)); }

static bool place_shared(emu_parser *p, emu_var *v, bool open)
{
    uint32_t *used = p->f ? &p->f->shared_bytes : &p->m->shared_bytes;
    uint32_t *real = p->f ? &p->f->static_bytes : &p->m->static_bytes;
    v->owner = p->f;
    if (open || v->is_extern) {
        v->at = (uint64_t)2 << EMU_SEGMENT_BITS;
        v->size = 0;
        return true;
    }
    *real = round_up(*real, v->align);
    *used = round_up(*used, v->align);
    if (v->size > EMU_MAX_STATIC || *real + v->size > EMU_MAX_STATIC)
        return wfe_fail(p, "more than %d bytes of static shared memory", EMU_MAX_STATIC);
    v->at = (p->f ? 0 : (uint64_t)1 << EMU_SEGMENT_BITS) + *used;
    *real += (uint32_t)v->size;
    *used += (uint32_t)v->size + EMU_GAP;
    return true;
}

/* Places a variable in the frame of a function. */
static bool place_frame(emu_parser *p, emu_slice name, const emu_var *v)
{
    emu_symbol *s = wfe_declare(p, name, EMU_SYM_FRAME, v->type);
    if (!s)
        return false;
    uint64_t at = round_up(p->f->local_bytes, v->align);
    if (at + v->size > (1u << 19))
        return wfe_fail(p, "more than 512 KiB of local memory");
    s->first = (uint32_t)at;
    s->bytes = (uint32_t)v->size;
    p->f->local_bytes = (uint32_t)(at + v->size);
    return true;
}

static bool place_variable(emu_parser *p, emu_slice name, emu_var *v, bool open)
{
    emu_module *m = p->m;
    if (v->space == EMU_LOCAL || v->space == EMU_PARAM) {
        if (!p->f || open)
            return wfe_fail(p, "'%s' needs an extent and a function around it", v->name);
        return place_frame(p, name, v);
    }
    if (v->space == EMU_SHARED && !place_shared(p, v, open))
        return false;
    if (open && v->space != EMU_SHARED && !v->is_extern)
        return wfe_fail(p, "'%s' needs an extent", v->name);
    emu_symbol *s = wfe_declare(p, name, EMU_SYM_VAR, v->type);
    if (!s)
        return false;
    if (!wf__grow(&m->vars, &m->cap_vars, m->n_vars + 1, sizeof *m->vars))
        return wfe_out_of_memory(p);
    s->first = m->n_vars;
    m->vars[m->n_vars++] = *v;
    if (v->space == EMU_SHARED || v->is_extern)
        return true;
    m->image_bytes += v->size;
    if (m->image_bytes > EMU_MAX_IMAGE)
        return wfe_fail(p, "more than %d MiB of variables in a module", EMU_MAX_IMAGE >> 20);
    emu_var *kept = &m->vars[m->n_vars - 1];
    kept->image = wf__alloc0(kept->size ? (size_t)kept->size : 1);
    if (!kept->image)
        return wfe_out_of_memory(p);
    return !wfe_accept(p, "=") || read_values(p, kept);
}

bool wfe_parse_variable(emu_parser *p, emu_space space, bool is_extern)
{
    emu_var v = { .space = (uint8_t)space, .is_extern = is_extern, .line = p->token_line };
    if (wfe_accept(p, ".attribute")) {
        if (!wfe_expect(p, "(") || !wfe_expect(p, ".managed") || !wfe_expect(p, ")"))
            return false;
    }
    uint64_t width = 1;
    if (!read_align(p, &v.align))
        return false;
    if (wfe_at(p, ".v2") || wfe_at(p, ".v4")) {
        width = (uint64_t)(p->text.at[2] - '0');
        wfe_next(p);
    }
    if (!read_type(p, &v.type))
        return false;
    if (v.type == EMU_PRED)
        return wfe_fail(p, "predicates have no address");
    if (!v.align)
        v.align = wfe_size(v.type) * (uint32_t)width;
    do {
        emu_slice name;
        bool open;
        if (!read_name(p, &name) || !read_extents(p, &v.elements, &open))
            return false;
        v.size = v.elements * width * wfe_size(v.type);
        v.name = wfe_copy_name(p, name);
        if (open && wfe_at(p, "="))
            return wfe_fail(p, "'%s' needs an extent beside its initial values", v.name);
        if (!v.name || !place_variable(p, name, &v, open))
            return false;
    } while (wfe_accept(p, ","));
    return wfe_expect(p, ";");
}

bool wfe_parse_parameter(emu_parser *p, bool entry, emu_var *out)
{
    emu_func *f = p->f;
    emu_slice name;
    bool open;
    *out = (emu_var){ .space = EMU_PARAM, .is_reg = wfe_at(p, ".reg"), .line = p->token_line };
    if (!wfe_accept(p, ".param") && (entry || !wfe_accept(p, ".reg")))
        return wfe_fail(p, "a parameter was expected, not '%.*s'", (int)p->text.n, p->text.at);
    if (!read_align(p, &out->align) || !read_type(p, &out->type))
        return false;
    if (wfe_accept(p, ".ptr")) {
        uint32_t pointee = 0;
        if (wfe_at(p, ".global") || wfe_at(p, ".shared") || wfe_at(p, ".const") || wfe_at(p, ".local"))
            wfe_next(p);
        if (!read_align(p, &pointee))
            return false;
    }
    if (!read_name(p, &name) || !read_extents(p, &out->elements, &open))
        return false;
    out->name = wfe_copy_name(p, name);
    if (!out->name)
        return false;
    if (open)
        return wfe_fail(p, "parameter '%s' needs an extent", out->name);
    out->size = out->elements * wfe_size(out->type);
    if (!out->align)
        out->align = wfe_size(out->type);
    if (out->is_reg) {
        emu_symbol *s = wfe_declare(p, name, EMU_SYM_REG, out->type);
        if (!s)
            return false;
        out->row = s->first = f->n_regs;
        f->n_regs += out->type == EMU_B128 ? 2 : 1;
        return true;
    }
    if (out->type == EMU_PRED)
        return wfe_fail(p, "predicates have no address");
    if (!entry) {
        if (!place_frame(p, name, out))
            return false;
        out->at = p->symbols[p->n_symbols - 1].first;
        return true;
    }
    emu_symbol *s = wfe_declare(p, name, EMU_SYM_PARAM, out->type);
    if (!s)
        return false;
    uint64_t at = round_up(f->param_bytes, out->align);
    if (at + out->size > 32764)
        return wfe_fail(p, "more than 32764 bytes of parameters");
    out->at = s->first = (uint32_t)at;
    s->bytes = (uint32_t)out->size;
    f->param_bytes = (uint32_t)(at + out->size);
    return true;
}
