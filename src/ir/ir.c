/* ir.c - the tables of an IR: its memory, first error, nodes, labels, closed nodes, slots, reductions and lists of refs.
 * Functions of this file append nodes without folding; build.c folds operations before it appends them.
 */
#include "ir/value_numbering.h"
#include <stdio.h>

void wf__ir_init(wf__ir *ir, int rank, uint32_t flags)
{
    *ir = (wf__ir){ 0 };
    wf__ir_reset(ir, rank, flags);
}

void wf__ir_reset(wf__ir *ir, int rank, uint32_t flags)
{
    uint32_t used = ir->n, size = ir->table_size; /* the table keeps about the size that the last recording needed */
    ir->n = ir->tuple_n = ir->slot_n = ir->red_n = ir->param_n = ir->shape_n = ir->tuples = 0;
    ir->loops = ir->closed_n = 0;
    ir->folded = ir->numbered = ir->merged = ir->label_n = ir->whole_n = ir->custom_n = 0;
    ir->hidden = ir->unused = ir->invariant = ir->written_out = ir->in_lockstep = 0;
    ir->joiner = NULL;
    ir->rank = rank;
    ir->kept = 0;
    ir->arrays = ir->kept_lane = ir->derived = false;
    ir->flags = flags;
    ir->status = WF_OK;
    ir->error[0] = 0;
    ir->about = (wf__culprit){ 0 };
    while (size > WF__TABLE_MIN && size / 4 >= used)
        size /= 2;
    if (size)
        wf__table_clear(ir, size);
    if (ir->tuple_table_size)
        memset(ir->tuple_table, 0, ir->tuple_table_size * sizeof *ir->tuple_table);
    if (!wf__grow(&ir->node, &ir->node_cap, 64, sizeof *ir->node) ||
        !wf__grow(&ir->tuple, &ir->tuple_cap, 16, sizeof *ir->tuple) ||
        !wf__grow(&ir->shape, &ir->shape_cap, 4, sizeof *ir->shape)) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "out of memory for a recording");
        return;
    }
    ir->node[0] = (wf__node){ 0 };
    ir->tuple[0] = 0;
    ir->shape[0] = (wf_shape){ 0 };
    ir->n = ir->tuple_n = ir->shape_n = 1;
}

void wf__ir_reserve(wf__ir *ir, uint32_t nodes)
{
    uint32_t size = WF__TABLE_MIN;
    wf__grow(&ir->node, &ir->node_cap, nodes, sizeof *ir->node);
    while (nodes >= wf__table_most(size) && size < (uint32_t)1 << 31)
        size *= 2;
    if (ir->n == 1 && size > ir->table_size)
        wf__table_clear(ir, size);
}

void wf__ir_free(wf__ir *ir)
{
    wf__free(ir->node);
    wf__free(ir->table);
    wf__free(ir->tuple);
    wf__free(ir->tuple_table);
    wf__free(ir->closed);
    wf__free(ir->slot);
    wf__free(ir->red);
    wf__free(ir->param);
    wf__free(ir->shape);
    wf__free(ir->label);
    wf__free(ir->whole);
    wf__free(ir->custom);
    *ir = (wf__ir){ 0 };
}

/* ---- copies ---- */
/* Replaces a table by a copy of its first n elements. false = out of memory, and the pointer is NULL. */
static bool own(void *at, uint32_t n, uint32_t *cap, size_t size)
{
    void *from, *to;
    memcpy(&from, at, sizeof from);
    to = from && n ? wf__alloc(n * size) : NULL;
    memcpy(at, &to, sizeof to);
    *cap = to ? n : 0;
    if (to)
        memcpy(to, from, n * size);
    return to || !from || !n;
}

bool wf__ir_copy(const wf__ir *body, wf__ir *copy)
{
    *copy = *body;
    copy->table = copy->tuple_table = NULL;
    copy->table_size = copy->table_cap = copy->table_most = copy->tuple_table_size = copy->tuples = 0;
    copy->label = NULL;
    copy->label_n = copy->label_cap = 0;
    copy->joiner = NULL;
    bool ok = own(&copy->node, copy->n, &copy->node_cap, sizeof *copy->node);
    ok &= own(&copy->tuple, copy->tuple_n, &copy->tuple_cap, sizeof *copy->tuple);
    ok &= own(&copy->closed, 2 * copy->closed_n, &copy->closed_cap, sizeof *copy->closed);
    ok &= own(&copy->slot, copy->slot_n, &copy->slot_cap, sizeof *copy->slot);
    ok &= own(&copy->red, copy->red_n, &copy->red_cap, sizeof *copy->red);
    ok &= own(&copy->param, copy->param_n, &copy->param_cap, sizeof *copy->param);
    ok &= own(&copy->whole, copy->whole_n, &copy->whole_cap, sizeof *copy->whole);
    ok &= own(&copy->custom, copy->custom_n, &copy->custom_cap, sizeof *copy->custom);
    ok &= own(&copy->shape, copy->shape_n, &copy->shape_cap, sizeof *copy->shape);
    wf__ir *joiner = body->joiner && ok ? wf__alloc(sizeof *joiner) : NULL;
    if (joiner) {
        ok = wf__ir_copy(body->joiner, joiner);
        copy->joiner = joiner;
    } else
        ok = ok && !body->joiner;
    if (!ok)
        wf__ir_free_copy(copy);
    return ok;
}

void wf__ir_free_copy(wf__ir *copy)
{
    wf__ir *joiner = (wf__ir *)(uintptr_t)copy->joiner;
    if (joiner)
        wf__ir_free_copy(joiner);
    wf__free(joiner);
    wf__ir_free(copy);
}

/* ---- the first error ---- */
static void fail(wf__ir *ir, const wf__node *n, wf_status status, const char *format, va_list args)
{
    if (ir->status != WF_OK)
        return;
    ir->status = status;
    ir->table_most = 0;
    vsnprintf(ir->error, sizeof ir->error, format, args);
    bool recorded = ir->n && n >= ir->node && n < ir->node + ir->n;
    if (n)
        ir->about = (wf__culprit){ recorded ? (wf__ref)(n - ir->node) : 0, *n };
}

void wf__ir_fail(wf__ir *ir, wf_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(ir, NULL, status, format, args);
    va_end(args);
}

void wf__ir_fail_at(wf__ir *ir, const wf__node *n, wf_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(ir, n, status, format, args);
    va_end(args);
}

static wf__ref no_memory(wf__ir *ir)
{
    wf__ir_fail(ir, WF_ERR_MEMORY, "out of memory for a recording of %u nodes", (unsigned)ir->n);
    return 0;
}

/* ---- nodes ---- */
wf__ref wf__append_words(wf__ir *ir, uint64_t w0, uint64_t w1, uint64_t w2)
{
    if (ir->status != WF_OK)
        return 0;
    wf__key key = { { w0, w1, w2 } };
    uint32_t hash = 0, *entry = NULL;
    if (wf__is_numbered(ir, (uint16_t)w0)) {
        if (ir->n >= ir->table_most && !wf__table_grow(ir))
            return no_memory(ir);
        hash = wf__key_hash(&key);
        wf__ref equal = wf__table_find(ir, ir->node, &key, hash, &entry);
        if (equal) {
            ir->numbered += (uint16_t)w0 == WF__LOAD || wf__op_is_pure((uint16_t)w0);
            return equal;
        }
    }
    if (ir->n == ir->node_cap && !wf__grow(&ir->node, &ir->node_cap, ir->n + 1, sizeof *ir->node))
        return no_memory(ir);
    ir->node[ir->n] = wf__key_node(&key);
    if (entry)
        *entry = wf__table_entry(ir, hash, ir->n);
    return ir->n++;
}

wf__ref wf__append(wf__ir *ir, const wf__node *node)
{
    wf__key k = wf__key_of(node);
    return wf__append_words(ir, k.word[0], k.word[1], k.word[2]);
}

wf__numbering wf__stop_numbering(wf__ir *ir)
{
    const wf__numbering saved = { ir->flags, ir->table_most };
    ir->flags &= ~(uint32_t)WF_FLAG_VALUE_NUMBERING;
    ir->table_most = 0;
    return saved;
}

void wf__resume_numbering(wf__ir *ir, wf__numbering saved)
{
    ir->flags = saved.flags;
    ir->table_most = saved.table_most;
}

void wf__renumber(wf__ir *ir)
{
    if (ir->flags & WF_FLAG_VALUE_NUMBERING && ir->status == WF_OK)
        wf__table_grow(ir); /* if out of memory, the next node reports the error */
}

const char *wf__label_of(const wf__ir *ir, wf__ref r)
{
    for (uint32_t i = ir->label_n; i-- > 0;)
        if (ir->label[i].ref == r)
            return ir->label[i].text;
    return NULL;
}

void wf__set_label(wf__ir *ir, wf__ref r, const char *text)
{
    wf__label label = { .ref = r }; /* the text may be that of another label, which wf__grow moves */
    if (ir->status != WF_OK || !r || !text)
        return;
    snprintf(label.text, sizeof label.text, "%s", text);
    if (!wf__grow(&ir->label, &ir->label_cap, ir->label_n + 1, sizeof *ir->label)) {
        no_memory(ir);
        return;
    }
    ir->label[ir->label_n++] = label;
}

void wf__copy_label(const wf__ir *in, wf__ref from, wf__ir *out, wf__ref to)
{
    if (in->label_n && out->flags & WF_FLAG_DEBUG && to)
        wf__set_label(out, to, wf__label_of(in, from));
}

/* ---- functions of complex numbers ---- */
/* Returns the number of entries for nodes before r. */
static uint32_t wholes_before(const wf__ir *ir, wf__ref r)
{
    uint32_t low = 0, high = ir->whole_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ir->whole[middle].node < r)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const wf__whole *wf__whole_of(const wf__ir *ir, wf__ref r)
{
    uint32_t at = ir->whole_n ? wholes_before(ir, r) : 0;
    if (at >= ir->whole_n || ir->whole[at].node != r)
        return NULL;
    /* wf_eval replaces nodes by reads of what it has computed, and removes others. */
    bool stays = ir->node[r].op != WF__LOAD;
    for (unsigned k = 0; k < 4; ++k) {
        wf__ref part = ir->whole[at].part[k / 2][k % 2];
        stays = stays && (!part || ir->node[part].op != WF__NOP);
    }
    return stays ? &ir->whole[at] : NULL;
}

void wf__set_whole(wf__ir *ir, const wf__whole *whole)
{
    const wf__whole new = *whole;
    if (ir->status != WF_OK || !new.node || ir->node[new.node].op == WF__CONST || wf__whole_of(ir, new.node))
        return;
    for (unsigned k = 0; k < 4; ++k)
        if (new.part[k / 2][k % 2] >= new.node)
            return;
    if (!wf__grow(&ir->whole, &ir->whole_cap, ir->whole_n + 1, sizeof *ir->whole)) {
        no_memory(ir);
        return;
    }
    uint32_t at = wholes_before(ir, new.node);
    memmove(&ir->whole[at + 1], &ir->whole[at], (ir->whole_n - at) * sizeof *ir->whole);
    ir->whole[at] = new;
    ++ir->whole_n;
}

void wf__copy_whole(const wf__ir *in, wf__ref from, const wf__ref *map, wf__ir *out, wf__ref to)
{
    const wf__whole *whole = in->whole_n && to ? wf__whole_of(in, from) : NULL;
    if (!whole)
        return;
    wf__whole copy = *whole;
    copy.node = to;
    for (unsigned k = 0; k < 4; ++k) {
        wf__ref *part = &copy.part[k / 2][k % 2];
        if (*part && !map[*part])
            return;
        *part = *part ? map[*part] : 0;
    }
    wf__set_whole(out, &copy);
}

/* ---- rules of derivatives ---- */
uint32_t wf__custom_rule(wf__ir *ir, const wf__custom *rule)
{
    const wf__custom new = *rule; /* it may be one of the table, which moves */
    for (uint32_t k = 0; k < ir->custom_n; ++k) {
        const wf__custom *c = &ir->custom[k];
        if (c->jvp == new.jvp && c->vjp == new.vjp && c->user == new.user && c->outs == new.outs &&
            !strcmp(c->name, new.name))
            return k + 1;
    }
    if (ir->status != WF_OK || !wf__grow(&ir->custom, &ir->custom_cap, ir->custom_n + 1, sizeof *ir->custom)) {
        no_memory(ir);
        return 0;
    }
    ir->custom[ir->custom_n++] = new;
    return ir->custom_n;
}

wf__ref wf__derived(wf__ir *ir, wf__ref value, uint32_t tuple, uint32_t rule, uint32_t output)
{
    if (ir->status != WF_OK || !value)
        return 0;
    wf__node n = { .op = WF__DERIVED, .dtype = (uint8_t)wf__dtype(ir, value) };
    n.a = value;
    n.b = tuple;
    n.c = rule;
    n.d = output;
    n.shape = wf__shape_of(ir, value);
    ir->derived = true;
    return wf__append(ir, &n);
}

/* ---- leaves ---- */
wf__ref wf__const_bits(wf__ir *ir, unsigned dtype, uint64_t bits) { return wf__append_const(ir, dtype, bits); }

wf__ref wf__param(wf__ir *ir, unsigned dtype)
{
    if (ir->status != WF_OK)
        return 0;
    if (!wf__grow(&ir->param, &ir->param_cap, ir->param_n + 1, sizeof *ir->param)) {
        no_memory(ir);
        return 0;
    }
    ir->param[ir->param_n] = (uint8_t)dtype;
    return wf__param_at(ir, ir->param_n++);
}

wf__ref wf__param_at(wf__ir *ir, uint32_t number)
{
    wf__node n = { .op = WF__PARAM, .dtype = ir->param[number], .a = number };
    return wf__append(ir, &n);
}

static wf__ref leaf(wf__ir *ir, wf__op op, unsigned dtype, uint32_t a, uint32_t b)
{
    wf__node n = { .op = (uint16_t)op, .dtype = (uint8_t)dtype, .a = a, .b = b };
    return wf__append(ir, &n);
}

wf__ref wf__index(wf__ir *ir, int axis) { return leaf(ir, WF__INDEX, WF_I64, (uint32_t)axis, 0); }
wf__ref wf__extent(wf__ir *ir, int axis) { return leaf(ir, WF__EXTENT, WF_I64, (uint32_t)axis, 0); }
wf__ref wf__thread_of(wf__ir *ir, int axis, bool count)
{
    wf__node n = { .op = WF__THREAD, .dtype = WF_I64, .aux = count, .a = (uint32_t)axis };
    return wf__append(ir, &n);
}
wf__ref wf__dim(wf__ir *ir, uint32_t slot, int axis) { return leaf(ir, WF__DIM, WF_I64, slot, (uint32_t)axis); }
wf__ref wf__arg(wf__ir *ir, uint32_t number, unsigned dtype) { return leaf(ir, WF__ARG, dtype, number, 0); }

wf__ref wf__red(wf__ir *ir, uint32_t red, uint32_t instance)
{
    return leaf(ir, WF__RED, ir->red[red].dtype, red, instance);
}

void wf__setred(wf__ir *ir, uint32_t red, uint32_t instance, wf__ref value)
{
    wf__node n = { .op = WF__SETRED, .dtype = ir->red[red].dtype, .a = red, .b = instance, .c = value };
    wf__append(ir, &n);
}

/* ---- closed nodes ---- */
void wf__close_range(wf__ir *ir, wf__ref first, wf__ref end)
{
    while (ir->closed_n && ir->closed[2 * ir->closed_n - 2] > first)
        --ir->closed_n; /* bodies of inner loops */
    if (!wf__grow(&ir->closed, &ir->closed_cap, 2 * ir->closed_n + 2, sizeof *ir->closed)) {
        no_memory(ir);
        return;
    }
    ir->closed[2 * ir->closed_n] = first;
    ir->closed[2 * ir->closed_n + 1] = end;
    ++ir->closed_n;
}

bool wf__in_closed(const wf__ir *ir, wf__ref r)
{
    uint32_t lo = 0, hi = ir->closed_n; /* the ranges before lo begin at r or before */
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (ir->closed[2 * middle] <= r)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo && r <= ir->closed[2 * lo - 1];
}

/* ---- slots and reductions ---- */
uint32_t wf__slot_new(wf__ir *ir, unsigned dtype, int rank, bool element, uint32_t object)
{
    if (ir->status != WF_OK)
        return 0;
    if (!wf__grow(&ir->slot, &ir->slot_cap, ir->slot_n + 1, sizeof *ir->slot)) {
        no_memory(ir);
        return 0;
    }
    ir->slot[ir->slot_n] =
        (wf__slot){ .dtype = (uint8_t)dtype, .rank = (uint8_t)rank, .element = element, .object = object };
    return ir->slot_n++;
}

uint32_t wf__red_new(wf__ir *ir, unsigned dtype, wf_join join)
{
    if (ir->status != WF_OK)
        return 0;
    if (!wf__grow(&ir->red, &ir->red_cap, ir->red_n + 1, sizeof *ir->red)) {
        no_memory(ir);
        return 0;
    }
    ir->red[ir->red_n] = (wf__reduction){ .dtype = (uint8_t)dtype, .join = (uint8_t)join, .instances = 1 };
    return ir->red_n++;
}

/* ---- lists of refs, each once ---- */
/* Returns the entry of the table for a list: that of an equal list, or an empty one (0). */
static uint32_t *tuple_place(wf__ir *ir, const uint32_t *refs, uint32_t n)
{
    uint32_t mask = ir->tuple_table_size - 1, i = (uint32_t)wf__hash64(refs, n * sizeof *refs, n) & mask;
    for (;; i = (i + 1) & mask) {
        const uint32_t *known = ir->tuple + ir->tuple_table[i];
        if (!ir->tuple_table[i] || (*known == n && !memcmp(known + 1, refs, n * sizeof *refs)))
            return &ir->tuple_table[i];
    }
}

/* As tuple_place, after making room for one more list. NULL if out of memory. */
static uint32_t *find_tuple(wf__ir *ir, const wf__ref *refs, uint32_t n)
{
    if (ir->tuple_table_size <= 2 * ir->tuples) {
        uint32_t size = ir->tuple_table_size ? 2 * ir->tuple_table_size : 16;
        uint32_t *table = size ? wf__alloc0(size * sizeof *table) : NULL;
        if (!table)
            return NULL;
        wf__free(ir->tuple_table);
        ir->tuple_table = table;
        ir->tuple_table_size = size;
        for (uint32_t t = 1; t < ir->tuple_n; t += ir->tuple[t] + 1)
            *tuple_place(ir, ir->tuple + t + 1, ir->tuple[t]) = t;
    }
    return tuple_place(ir, refs, n);
}

uint32_t wf__tuple(wf__ir *ir, const wf__ref *refs, uint32_t n)
{
    if (ir->status != WF_OK || n == 0)
        return 0;
    for (uint32_t i = 0; i < n; ++i)
        if (!refs[i]) {
            wf__ir_fail(ir, WF_ERR_ARG, "an index is missing");
            return 0;
        }
    uint32_t *place = find_tuple(ir, refs, n);
    if (!place) {
        no_memory(ir);
        return 0;
    }
    if (*place)
        return *place;
    if (!wf__grow(&ir->tuple, &ir->tuple_cap, ir->tuple_n + n + 1, sizeof *ir->tuple)) {
        no_memory(ir);
        return 0;
    }
    uint32_t t = ir->tuple_n;
    ir->tuple[t] = n;
    memcpy(ir->tuple + t + 1, refs, n * sizeof *refs);
    ir->tuple_n += n + 1;
    ++ir->tuples;
    *place = t;
    return t;
}
