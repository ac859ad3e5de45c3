/* key.c - keys of plans, which hold all that a plan depends on, and differences between two keys.
 *
 * The key of a plan has two parts: the recording (nodes and all, built once per kernel, or per wf_run) and the layouts
 * of the arrays with the way they overlap. Keys are compared in full.
 */
#include "launch/launch.h"

/* The first bytes of a section in a key. */
typedef struct ir_head {
    uint32_t rank, flags, nodes, tuples, slots, reductions, params, shapes;
} ir_head;

static void add_ir(const wf__ir *ir, wf__str *key)
{
    ir_head h = { (uint32_t)ir->rank, ir->flags, ir->n, ir->tuple_n, ir->slot_n, ir->red_n, ir->param_n, ir->shape_n };
    wf__str_reserve(key, sizeof h + ir->n * sizeof *ir->node + ir->slot_n * sizeof *ir->slot);
    wf__str_addn(key, (const char *)&h, sizeof h);
    wf__str_addn(key, (const char *)(ir->node + 1), (size_t)(ir->n - 1) * sizeof *ir->node);
    wf__str_addn(key, (const char *)ir->tuple, ir->tuple_n * sizeof *ir->tuple);
    for (uint32_t s = 0; s < ir->slot_n; ++s) {
        const wf__slot *slot = &ir->slot[s];
        uint32_t words[] = { slot->dtype | (uint32_t)slot->rank << 8 | (uint32_t)slot->element << 16 |
                                 (uint32_t)slot->zeroed << 17 | (uint32_t)slot->scratch << 24,
                             slot->object };
        wf__str_addn(key, (const char *)words, sizeof words);
    }
    for (uint32_t k = 0; k < ir->red_n; ++k) {
        char bytes[2] = { (char)ir->red[k].dtype, (char)ir->red[k].join };
        wf__str_addn(key, bytes, sizeof bytes);
    }
    if (ir->param_n)
        wf__str_addn(key, (const char *)ir->param, ir->param_n);
    for (uint32_t i = 1; i < ir->shape_n; ++i) {
        wf__str_addn(key, (const char *)&ir->shape[i].rank, sizeof ir->shape[i].rank);
        wf__str_addn(key, (const char *)ir->shape[i].dim, (size_t)ir->shape[i].rank * sizeof *ir->shape[i].dim);
    }
    for (uint32_t i = 0; i < ir->label_n && ir->flags & WF_FLAG_DEBUG;
         ++i) { /* findings of debug mode name nodes by their labels */
        wf__str_addn(key, (const char *)&ir->label[i].ref, sizeof ir->label[i].ref);
        wf__str_add(key, ir->label[i].text);
    }
}

/* The first bytes of a key. */
typedef struct head {
    wf__plan_options options;
    uint32_t sections;   /* bit k: section k has nodes */
    uint32_t block_rank; /* rank of the block; its extents follow */
} head;
_Static_assert(sizeof(head) == sizeof(wf__plan_options) + 8, "a key hashes no padding");

void wf__program_key(const wf__program *p, wf__str *key)
{
    const wf__recording *rec = &p->rec;
    head h = { .options = rec->options, .block_rank = (uint32_t)rec->block.rank };
    for (int k = 0; k < WF__SECTIONS; ++k)
        h.sections |= (uint32_t)(rec->section[k].n > 1) << k;
    wf__str_addn(key, (const char *)&h, sizeof h);
    wf__str_addn(key, (const char *)rec->block.dim, (size_t)rec->block.rank * sizeof *rec->block.dim);
    for (int k = 0; k < WF__SECTIONS; ++k)
        if (k == WF_SECTION_CALL || rec->section[k].n > 1)
            add_ir(&rec->section[k], key);
    if (rec->ir.red_n)
        wf__str_addn(key, (const char *)rec->initial, rec->ir.red_n * sizeof *rec->initial);
}

size_t wf__most_layout_words(uint32_t objects)
{
    return 1 + WF_MAX_RANK + objects * (2 + 2 * WF_MAX_RANK + (size_t)objects / 32);
}

/* Returns the overlap. Copies that still share memory count as apart, since the launch does not write to them. */
static wf__overlap overlap_of(const wf_array *a, const wf_array *b, bool sharing)
{
    return sharing && a->group != b->group ? WF__APART : wf__array_overlap(a, b);
}

size_t wf__write_layouts(wf_array *const *arrays, uint32_t n, const wf_shape *space, uint64_t *word)
{
    uint64_t *w = word;
    bool sharing = n > 1 && wf__sharing(arrays[0]->ctx);
    if (sharing)
        wf__mutex_lock(&arrays[0]->ctx->share_lock);
    *w++ = (uint64_t)space->rank;
    for (int d = 0; d < space->rank; ++d)
        *w++ = (uint64_t)space->dim[d];
    for (uint32_t i = 0; i < n; ++i) {
        const wf_array *a = arrays[i];
        *w++ = a->dtype | (uint64_t)a->shape.rank << 8;
        for (int d = 0; d < a->shape.rank; ++d) {
            *w++ = (uint64_t)a->shape.dim[d];
            *w++ = (uint64_t)a->stride[d];
        }
        uint64_t overlaps = 0;
        for (uint32_t j = 0; j < i; ++j) {
            overlaps |= (uint64_t)overlap_of(a, arrays[j], sharing) << 2 * (j & 31);
            if ((j & 31) == 31 || j + 1 == i) {
                *w++ = overlaps;
                overlaps = 0;
            }
        }
    }
    if (sharing)
        wf__mutex_unlock(&arrays[0]->ctx->share_lock);
    return (size_t)(w - word) * sizeof *w;
}

/* ---- why another plan ---- */
/* Separates a reason from the one before it, and returns the text. */
static wf__str *reason(wf__str *out)
{
    if (out->len)
        wf__str_add(out, "; ");
    return out;
}

static void add_name(const wf__program *p, uint32_t object, wf__str *out)
{
    const char *name = p->object[object].array->name;
    if (name)
        wf__str_addf(out, "'%s'", name);
    else
        wf__str_addf(out, "array %u", (unsigned)object);
}

/* Appends every `step`-th word from `at` on, as a shape. */
static void add_words(const uint64_t *at, uint64_t rank, int step, wf__str *out)
{
    for (uint64_t d = 0; d < rank; ++d)
        wf__str_addf(out, "%s%lld", d ? ", " : "(", (long long)at[d * (uint64_t)step]);
    wf__str_add(out, rank ? ")" : "()");
}

static void was(const uint64_t *now, const uint64_t *old, uint64_t rank, int step, wf__str *out)
{
    add_words(now, rank, step, out);
    wf__str_add(out, ", was ");
    add_words(old, rank, step, out);
}

static bool differ(const uint64_t *a, const uint64_t *b, uint64_t rank, int step)
{
    for (uint64_t d = 0; d < rank; ++d)
        if (a[d * (uint64_t)step] != b[d * (uint64_t)step])
            return true;
    return false;
}

/* Appends the differences between the layouts of two launches of equally many arrays (wf__write_layouts). */
static void compare_layouts(const wf__program *p, const uint64_t *now, const uint64_t *old, wf__str *out)
{
    if (now[0] != old[0] || differ(now + 1, old + 1, now[0], 1)) {
        wf__str_add(reason(out), "the index space is ");
        add_words(now + 1, now[0], 1, out);
        wf__str_add(out, ", was ");
        add_words(old + 1, old[0], 1, out);
    }
    now += 1 + now[0];
    old += 1 + old[0];
    for (uint32_t i = 0; i < p->object_n; ++i) {
        uint64_t dtype = *now & 255, old_dtype = *old & 255, rank = *now++ >> 8, old_rank = *old++ >> 8;
        bool shapes = rank != old_rank || differ(now, old, rank, 2);
        if (dtype != old_dtype || shapes || differ(now + 1, old + 1, rank, 2))
            add_name(p, i, reason(out));
        if (dtype != old_dtype)
            wf__str_addf(out, " is %s, was %s", wf_dtype_name((wf_dtype)dtype), wf_dtype_name((wf_dtype)old_dtype));
        else if (rank != old_rank)
            wf__str_addf(out, " has %u axes, had %u", (unsigned)rank, (unsigned)old_rank);
        else if (shapes) {
            wf__str_add(out, " is ");
            was(now, old, rank, 2, out);
        } else if (differ(now + 1, old + 1, rank, 2)) {
            wf__str_add(out, " has strides ");
            was(now + 1, old + 1, rank, 2, out);
        }
        now += 2 * rank;
        old += 2 * old_rank;
        for (uint32_t j = 0; j < i; ++j) {
            unsigned meets = (unsigned)(now[j / 32] >> 2 * (j & 31) & 3);
            if (meets == (old[j / 32] >> 2 * (j & 31) & 3))
                continue;
            add_name(p, j, reason(out));
            wf__str_add(out, " and ");
            add_name(p, i, out);
            wf__str_add(out, meets == WF__APART  ? " do not overlap now"
                             : meets == WF__SAME ? " are the same memory now"
                                                 : " overlap now, shifted");
        }
        now += (i + 31) / 32;
        old += (i + 31) / 32;
    }
}

static const char *op_name(const wf__node *n)
{
    static const char *const structural[] = {
        [WF__CONST] = "a literal",     [WF__PARAM] = "a parameter", [WF__LOAD] = "a read",
        [WF__STORE] = "an assignment", [WF__LOOP] = "a loop",       [WF__REDUCE] = "a reduction"
    };
    const char *name = wf__op_table[n->op].name;
    if (n->op < WF__COUNT(structural) && structural[n->op])
        name = structural[n->op];
    return n->op == WF__CAST ? "a cast" : name ? name : "something else";
}

/* Describes the first difference between the nodes of two recordings. With `strict`, returns false if an operation
 * or its operands differ, since the recordings then have nothing in common. A dtype is mentioned only if no
 * difference has been found before. */
static bool compare_nodes(const unsigned char *now, const unsigned char *old, uint32_t n, bool strict, wf__str *out)
{
    uint32_t literals = 0;
    for (uint32_t i = 0; i < n; ++i) {
        wf__node a, b;
        memcpy(&a, now + i * sizeof a, sizeof a);
        memcpy(&b, old + i * sizeof b, sizeof b);
        if (!memcmp(&a, &b, sizeof a) || (a.op == b.op && a.dtype == b.dtype && a.op != WF__CONST && !strict &&
                                          a.a == b.a && a.b == b.b && a.c == b.c))
            continue;
        if (a.op != b.op) {
            if (!strict)
                wf__str_addf(reason(out), "operation %u is %s, was %s", (unsigned)i + 1, op_name(&a), op_name(&b));
            return !strict;
        }
        if (a.dtype != b.dtype) {
            if (!out->len)
                wf__str_addf(out, "%s is %s, was %s", op_name(&a), wf_dtype_name((wf_dtype)a.dtype),
                             wf_dtype_name((wf_dtype)b.dtype));
            return true;
        }
        if (a.op != WF__CONST) {
            if (!strict)
                wf__str_addf(reason(out), "operation %u (%s) has other operands", (unsigned)i + 1, op_name(&a));
            return !strict;
        }
        if (literals++)
            continue;
        wf__str_add(reason(out), "the literal ");
        wf__number_text(&a, out);
        wf__str_addf(out, " (%s) was ", wf_dtype_name((wf_dtype)a.dtype));
        wf__number_text(&b, out);
    }
    if (literals > 1)
        wf__str_addf(out, ", and %u more", (unsigned)literals - 1);
    if (literals)
        wf__str_add(out, ": wf_param would not make another kernel");
    return true;
}

static void compare_flags(uint32_t now, uint32_t old, wf__str *out)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } flags[] = { { WF_FLAG_FOLD, "WF_FLAG_FOLD" },
                  { WF_FLAG_VALUE_NUMBERING, "WF_FLAG_VALUE_NUMBERING" },
                  { WF_FLAG_LOOP_OPT, "WF_FLAG_LOOP_OPT" },
                  { WF_FLAG_PACKETS, "WF_FLAG_PACKETS" },
                  { WF_FLAG_CALL_OPT, "WF_FLAG_CALL_OPT" },
                  { WF__KEEP_DEAD, "WF_FLAG_DEAD_CODE" },
                  { WF_FLAG_FAST_MATH, "WF_FLAG_FAST_MATH" },
                  { WF_FLAG_DEBUG, "WF_FLAG_DEBUG" },
                  { WF_FLAG_TRAP_NAN, "WF_FLAG_TRAP_NAN" },
                  { WF_FLAG_TIERED, "WF_FLAG_TIERED" },
                  { WF_FLAG_INTERPRET_FIRST, "WF_FLAG_INTERPRET_FIRST" },
                  { WF_FLAG_ORDER_BY_SHAPE, "WF_FLAG_ORDER_BY_SHAPE" } };
    uint32_t left = now ^ old;
    now ^= WF__KEEP_DEAD; /* the only one of these bits that is set while its flag is off */
    for (size_t i = 0; i < WF__COUNT(flags); ++i)
        if (left & flags[i].flag) {
            wf__str_addf(reason(out), "%s is %s now", flags[i].name, now & flags[i].flag ? "on" : "off");
            left &= ~flags[i].flag;
        }
    if (left)
        wf__str_add(reason(out), "other flags");
}

typedef struct opening { /* the beginning of a recording's key, as wf__program_key writes it */
    head head;
    ir_head ir;
    const unsigned char *node;
    size_t left; /* bytes from `node` on */
} opening;

static bool open_key(const unsigned char *key, size_t len, opening *out)
{
    size_t block = 0;
    if (len >= sizeof out->head) {
        memcpy(&out->head, key, sizeof out->head);
        block = out->head.block_rank * sizeof(int64_t);
    }
    if (len < sizeof out->head + block + sizeof out->ir)
        return false;
    memcpy(&out->ir, key + sizeof out->head + block, sizeof out->ir);
    out->node = key + sizeof out->head + block + sizeof out->ir;
    out->left = len - sizeof out->head - block - sizeof out->ir;
    return true;
}

bool wf__why_another(const wf__plan_entry *old, const wf__program *p, const wf__str *recording,
                     const wf__piece *layouts, wf__str *out)
{
    const bool strict = !p->name;
    opening now, old_one;
    if (!open_key((const unsigned char *)recording->at, recording->len, &now) ||
        !open_key(old->key, old->recording_len, &old_one))
        return false;
    const wf__plan_options *a = &now.head.options, *b = &old_one.head.options;
    if (a->kind != b->kind || a->target != b->target || a->gpu != b->gpu || a->emulated != b->emulated) {
        wf__str_add(reason(out), a->kind != b->kind ? "another kind of recording" : "it runs on another device");
        return !strict;
    }
    uint32_t n = now.ir.nodes, old_n = old_one.ir.nodes, least = n < old_n ? n : old_n;
    if (now.ir.flags != old_one.ir.flags)
        compare_flags(now.ir.flags, old_one.ir.flags, out);
    if (a->expand_bytes != b->expand_bytes)
        wf__str_add(reason(out), "wf_set_expand_bytes allows another size of private copies");
    if (a->columns != b->columns)
        wf__str_addf(reason(out), ".columns is %u, was %u", (unsigned)a->columns, (unsigned)b->columns);
    bool alike = n == old_n || !strict, same_objects = a->objects == b->objects;
    if (alike && same_objects) {
        size_t bytes = old->key_len - old->recording_len;
        uint64_t *words = wf__alloc(bytes + 1);
        if (!words)
            return false;
        memcpy(words, old->key + old->recording_len, bytes); /* aligned */
        compare_layouts(p, layouts->at, words, out);
        wf__free(words);
    } else if (alike)
        wf__str_addf(reason(out), "it names %u arrays, not %u", (unsigned)a->objects, (unsigned)b->objects);
    bool shapes = out->len > 0; /* nodes of other shapes are a consequence */
    if (alike && now.left >= (n - 1) * sizeof(wf__node))
        alike = compare_nodes(now.node, old_one.node, least - 1, strict && !shapes, out);
    if (alike && !out->len)
        wf__str_add(out, n == old_n ? "a section, shape or reduction differs" : "it has more or fewer operations");
    return alike;
}
