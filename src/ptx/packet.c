/* packet.c - packets: loads, stores and sums that differ in a constant last index alone, parts of one record
 * (plan/kernel/records.c), become one access of up to 16 bytes, or 32 where the GPU has such accesses. The launch says
 * whether the records of an array are aligned for that. If not, the same code moves the parts one by one.
 *
 * Packets move accesses: loads to the first of their nodes, stores and sums to the last. So a packet must not extend
 * over a conflicting access to the same memory, over a barrier, or over the begin or end of a loop.
 */
#include "ptx/gen.h"

enum { MOST_OPEN = 16, MOST_PARTS = 32, WIDEST = 8, BYTES = 16, MORE_BYTES = 32 };

typedef struct wf__ptx_packet {
    wf__ref part[WIDEST]; /* node of each place; 0 = no node */
    int held;             /* number of places, a power of two */
    wf__ref at;           /* node at which the packet is emitted */
} packet;

/* ---- which accesses form packets ---- */
typedef struct record { /* accesses to parts of one record */
    wf__ref part[MOST_PARTS];
    uint32_t n;
} record;

static int64_t part_number(const wf__ir *ir, wf__ref r)
{
    const wf__node *n = wf__at(ir, r), *last = wf__at(ir, wf__tuple_at(ir, n->b)[wf__tuple_len(ir, n->b) - 1]);
    return last->op == WF__CONST ? (int64_t)wf__bits(last) : -1;
}

/* True for an atomic sum of f32 of which the GPU does several by one instruction. */
static bool is_sum(const gen *g, const wf__node *n)
{
    return n->op == WF__ACCUM && g->options->arch >= 90 && g->options->ptx >= 81 && n->dtype == WF_F32 &&
           wf__node_join(n) == WF_JOIN_ADD && wf__node_mode(n) == WF__MODE_DIRECT;
}

static bool is_part(const gen *g, wf__ref r)
{
    const wf__ir *ir = g->ir;
    const wf__node *n = wf__at(ir, r);
    if (n->op != WF__LOAD && n->op != WF__STORE && !is_sum(g, n))
        return false;
    const wf__slot *slot = &ir->slot[n->a];
    if (!slot->record || slot->shared || wf__is_complex(n->dtype))
        return false;
    int64_t part = part_number(ir, r);
    return part >= 0 && part < slot->record;
}

static bool belongs_to(const wf__ir *ir, const record *rec, wf__ref r)
{
    const wf__node *n = wf__at(ir, r), *first = wf__at(ir, rec->part[0]);
    bool load = n->op == WF__LOAD;
    if (rec->n == MOST_PARTS || n->op != first->op || n->a != first->a || (!load && n->d != first->d) ||
        (n->op != WF__STORE && n->aux != first->aux) ||
        (load && (n->when != first->when || (n->c && n->c != first->c && wf__at(ir, n->c)->op != WF__CONST))))
        return false;
    for (uint32_t k = 0; k + 1 < wf__tuple_len(ir, n->b); ++k)
        if (wf__tuple_at(ir, n->b)[k] != wf__tuple_at(ir, first->b)[k])
            return false;
    for (uint32_t i = 0; i < rec->n; ++i)
        if (part_number(ir, rec->part[i]) == part_number(ir, r))
            return false;
    return true;
}

static wf__ref find_part(const wf__ir *ir, const record *rec, int64_t place)
{
    for (uint32_t i = 0; i < rec->n; ++i)
        if (part_number(ir, rec->part[i]) == place)
            return rec->part[i];
    return 0;
}

static bool add_packet(gen *g, const record *rec, int64_t begin, int held)
{
    packet p = { .held = held };
    bool load = wf__at(g->ir, rec->part[0])->op == WF__LOAD;
    int wanted = 0;
    for (int i = 0; i < held; ++i) {
        wf__ref r = p.part[i] = find_part(g->ir, rec, begin + i);
        if (!r)
            continue;
        wanted++;
        p.at = !p.at || (load ? r < p.at : r > p.at) ? r : p.at;
    }
    bool beyond = begin + held > g->ir->slot[wf__at(g->ir, rec->part[0])->a].record;
    if (wanted < (load && !beyond ? held / 2 + 1 : held))
        return false;
    packet *more = wf__realloc(g->packets, (g->packets_n + 1) * sizeof *more);
    if (!more) {
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
        return false;
    }
    g->packets = more;
    g->packets[g->packets_n++] = p;
    for (int i = 0; i < held; ++i)
        if (p.part[i])
            g->packet_of[p.part[i]] = g->packets_n;
    return true;
}

/* Makes packets of a record, the widest first, each at a multiple of its width. */
static void close_record(gen *g, const record *rec)
{
    const wf__node *n = rec->n > 1 ? wf__at(g->ir, rec->part[0]) : NULL;
    int size = n ? (int)wf__size(n->dtype) : 0, end = n ? g->ir->slot[n->a].record : 0;
    bool wide = n && n->op != WF__ACCUM && g->options->ptx >= 88 && g->options->arch >= 100 && size >= 4;
    for (int held = WIDEST; n && held > 1; held /= 2) {
        if (held * size > (wide ? MORE_BYTES : BYTES) || (held == WIDEST && size != 4))
            continue;
        for (int64_t begin = 0; begin < end; begin += held) {
            bool taken = false;
            for (int i = 0; i < held; ++i) {
                wf__ref r = find_part(g->ir, rec, begin + i);
                taken = taken || (r && g->packet_of[r]);
            }
            if (!taken)
                add_packet(g, rec, begin, held);
        }
    }
}

static void close_all(gen *g, record *open, uint32_t *n)
{
    for (uint32_t i = 0; i < *n; ++i)
        close_record(g, &open[i]);
    *n = 0;
}

/* Closes the records whose accesses cannot move across node r, an access. */
static void close_conflicting(gen *g, record *open, uint32_t *n, wf__ref r)
{
    const wf__ir *ir = g->ir;
    const wf__node *m = wf__at(ir, r);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *n; ++i) {
        const wf__node *first = wf__at(ir, open[i].part[0]);
        bool same = m->a == first->a || (ir->slot[m->a].may_alias && ir->slot[first->a].may_alias);
        bool reads = m->op == WF__LOAD && first->op == WF__LOAD;
        if (same && !reads && !belongs_to(ir, &open[i], r))
            close_record(g, &open[i]);
        else
            open[kept++] = open[i];
    }
    *n = kept;
}

void wf__ptx_find_packets(gen *g)
{
    const wf__ir *ir = g->ir;
    bool any = false;
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        any = any || (ir->slot[s].record && !ir->slot[s].shared);
    if (!any)
        return;
    record *open = wf__alloc(MOST_OPEN * sizeof *open);
    g->packet_of = wf__alloc0(ir->n * sizeof *g->packet_of);
    if (!open || !g->packet_of)
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
    uint32_t n = 0;
    for (wf__ref r = 1; r < ir->n && wf__ptx_is_sound(g); ++r) {
        const wf__node *m = wf__at(ir, r);
        bool touches = wf__op_is_access(m->op);
        if (m->op == WF__BARRIER || (wf__is_loop_op(m->op) && m->op != WF__STATE && m->op != WF__NEXT))
            close_all(g, open, &n);
        if (touches)
            close_conflicting(g, open, &n, r);
        if (!touches || !is_part(g, r))
            continue;
        uint32_t i = 0;
        while (i < n && !belongs_to(ir, &open[i], r))
            ++i;
        if (i == n && n == MOST_OPEN)
            close_all(g, open, &n), i = 0;
        if (i == n)
            open[n++] = (record){ .n = 0 };
        open[i].part[open[i].n++] = r;
    }
    if (wf__ptx_is_sound(g))
        close_all(g, open, &n);
    wf__free(open);
}

/* ---- one access ---- */
static const char *vector_name(int held) { return held == 2 ? "v2" : held == 4 ? "v4" : "v8"; }

/* "{%r1, %r2}" */
static val list_registers(gen *g, const val *v, int held)
{
    wf__str *text = &g->list;
    text->len = 0;
    wf__str_add(text, "{");
    for (int i = 0; i < held; ++i)
        wf__str_addf(text, "%s%%%c%u", i ? ", " : "",
                     v[i].kind == V_H   ? 'h'
                     : v[i].kind == V_D ? 'd'
                                        : 'r',
                     v[i].number);
    wf__str_add(text, "}");
    return v_text(wf__str_get(text));
}

/* Branches to `single` if the records of the slot are not aligned. */
static void branch_unless_aligned(gen *g, const packet *p, uint32_t slot, val single)
{
    val flag = wf__ptx_field_value(g, WF__PTX_RECORD, slot, p->held, true), on = wf__ptx_reg(g, V_P);
    EMIT(g, "setp.eq.s32 $0, $1, 0", on, flag);
    EMIT(g, "@$0 bra $1", on, single);
}

static val part_address(gen *g, val address, int64_t bytes)
{
    if (!bytes)
        return address;
    val r = wf__ptx_reg(g, V_D);
    EMIT(g, "add.s64 $0, $1, $2", r, address, v_int(bytes));
    return r;
}

/* The address of the packet's first place, from that of the part at which it is emitted: its indices are known here. */
static val packet_address(gen *g, const packet *p, val *ok)
{
    const wf__node *n = wf__at(g->ir, p->at);
    int place = 0;
    while (p->part[place] != p->at)
        ++place;
    return part_address(g, wf__ptx_address(g, n, ok), -(int64_t)place * (int64_t)wf__size(n->dtype));
}

static void load_packet(gen *g, const packet *p)
{
    const wf__node *n = wf__at(g->ir, p->at);
    unsigned t = n->dtype, size = wf__size(t);
    val ok, begin = packet_address(g, p, &ok), v[WIDEST], none = { 0 };
    for (int i = 0; i < p->held; ++i) { /* values outside that are emitted only further on */
        wf__ref other = p->part[i] ? wf__at(g->ir, p->part[i])->c : 0;
        if (other && wf__at(g->ir, other)->op == WF__CONST && !g->node[other].in_head)
            wf__ptx_set_leaf(g, other);
    }
    for (int i = 0; i < p->held; ++i)
        v[i] = p->part[i]     ? wf__ptx_load_begin(g, p->part[i], ok).re
               : t == WF_BOOL ? wf__ptx_reg(g, V_R)
                              : wf__ptx_new(g, t);
    val single = wf__ptx_new_label(g), done = wf__ptx_new_label(g);
    const char *space = wf__ptx_read_space(g->ir, &g->ir->slot[n->a]);
    branch_unless_aligned(g, p, n->a, single);
    EMIT(g, ok.kind == V_NONE ? "ld.$2.$3.$4 $0, [$1]" : "@$5 ld.$2.$3.$4 $0, [$1]", list_registers(g, v, p->held),
         begin, v_text(space), v_text(vector_name(p->held)), wf__ptx_memory_type(t), ok);
    EMIT(g, "bra $0", done);
    wf__ptx_place_label(g, single);
    for (int i = 0; i < p->held; ++i)
        if (p->part[i])
            wf__ptx_load_element(g, t, part_address(g, begin, i * (int64_t)size), space, ok, v[i], none);
    wf__ptx_place_label(g, done);
    for (int i = 0; i < p->held; ++i)
        if (p->part[i])
            wf__ptx_load_end(g, p->part[i], (wf__ptx_pair){ v[i], none });
}

static void store_packet(gen *g, const packet *p)
{
    const wf__node *n = wf__at(g->ir, p->at);
    unsigned t = n->dtype, size = wf__size(t);
    bool sum = n->op == WF__ACCUM;
    val ok, address = packet_address(g, p, &ok), v[WIDEST];
    for (int i = 0; i < p->held; ++i)
        v[i] = wf__ptx_stored(g, t, wf__ptx_use(g, wf__at(g->ir, p->part[i])->c));
    val single = wf__ptx_new_label(g), done = wf__ptx_new_label(g);
    branch_unless_aligned(g, p, n->a, single);
    const char *text =
        sum ? (ok.kind == V_NONE ? "red.global.add.$2.f32 [$1], $0" : "@$4 red.global.add.$2.f32 [$1], $0")
            : (ok.kind == V_NONE ? "st.global.$2.$3 [$1], $0" : "@$4 st.global.$2.$3 [$1], $0");
    EMIT(g, text, list_registers(g, v, p->held), address, v_text(vector_name(p->held)), wf__ptx_memory_type(t), ok);
    EMIT(g, "bra $0", done);
    wf__ptx_place_label(g, single);
    for (int i = 0; i < p->held; ++i) {
        val to = part_address(g, address, i * (int64_t)size);
        if (sum)
            EMIT(g, ok.kind == V_NONE ? "red.global.add.f32 [$1], $0" : "@$2 red.global.add.f32 [$1], $0", v[i], to,
                 ok);
        else
            EMIT(g, ok.kind == V_NONE ? "st.global.$2 [$1], $0" : "@$3 st.global.$2 [$1], $0", v[i], to,
                 wf__ptx_memory_type(t), ok);
    }
    wf__ptx_place_label(g, done);
    if (sum)
        g->code->version = g->code->version > 81 ? g->code->version : 81;
}

bool wf__ptx_emit_packet(gen *g, wf__ref r)
{
    if (!g->packet_of || g->inner || !g->packet_of[r])
        return false;
    const packet *p = &g->packets[g->packet_of[r] - 1];
    if (r != p->at)
        return true;
    if (wf__at(g->ir, r)->op == WF__LOAD)
        load_packet(g, p);
    else
        store_packet(g, p);
    if (p->held * (int)wf__size(wf__at(g->ir, r)->dtype) > BYTES)
        g->code->version = 88;
    return true;
}
