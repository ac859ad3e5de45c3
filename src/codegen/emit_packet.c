/* emit_packet.c - emits a packet (find_packets.c): one vector load or store per lane and piece of a record, and a
 * transposition in registers between pieces of records and vectors of lanes. A piece has at most PIECE bytes.
 */
#include "codegen/emit.h"
#include "codegen/update.h"
enum { PIECE = 32 /* most bytes of a piece of a record */, ROW_PIECE = 16 /* of rows of a tile */ };

/* ---- pieces ---- */
typedef struct packet_state { /* a packet while it is emitted */
    wf__instance *in;
    wf__gen *g;
    wf__packet p;                 /* its parts in ascending order */
    int64_t part[WF__MOST_PARTS]; /* their constant indices */
    unsigned dtype, size;
    val pointer[WF__LANES]; /* of part[0], in every lane */
} packet_state;

static packet_state begin_packet(wf__instance *in, const wf__packet *p)
{
    packet_state m = { .in = in, .g = in->g, .p = *p, .dtype = wf__at(in->ir, p->part[0])->dtype };
    m.size = wf__size(m.dtype);
    for (uint32_t i = 0; i < p->n; i++) {
        wf__ref r = p->part[i];
        int64_t part = wf__packet_part(in->ir, wf__at(in->ir, r));
        uint32_t k = i;
        for (; k > 0 && m.part[k - 1] > part; k--) {
            m.part[k] = m.part[k - 1];
            m.p.part[k] = m.p.part[k - 1];
        }
        m.part[k] = part;
        m.p.part[k] = r;
    }
    return m;
}

typedef struct piece { /* neighbouring elements of a record that one access loads or stores */
    uint32_t first, n; /* the parts of the packet among them */
    int held;          /* elements: a power of two */
    bool masked;       /* the access must mask the other elements */
} piece;

static bool is_wanted(const packet_state *m, const piece *c, int k)
{
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        if (m->part[i] == m->part[c->first] + k)
            return true;
    return false;
}

/* False for rows of a tile, whose lines stay in the nearest cache. */
static bool is_record(const packet_state *m) { return m->in->ir->slot[wf__at(m->in->ir, m->p.part[0])->a].record > 0; }

/* The piece that begins with part `first`. spare: other elements below this one may be accessed too; -1 = none. */
static piece choose_piece(const packet_state *m, uint32_t first, int64_t spare, bool masks)
{
    int bytes = m->g->options->target->vector_bits / 8, most_bytes = is_record(m) ? PIECE : ROW_PIECE;
    int held_most = (bytes < most_bytes ? bytes : most_bytes) / (int)m->size;
    int most = held_most < m->g->width ? held_most : m->g->width;
    int64_t begin = m->part[first];
    piece c = { .first = first, .n = 1, .held = 1 };
    for (int held = 2; held <= most; held *= 2) {
        uint32_t n = 1;
        bool all = true;
        while (first + n < m->p.n && m->part[first + n] < begin + held) {
            all = all && m->part[first + n] == begin + n;
            n++;
        }
        bool whole = all && n == (uint32_t)held, free = begin + held <= spare;
        if (n > c.n && (whole || free || masks))
            c = (piece){ first, n, held, !whole && !free };
    }
    return c;
}

static val piece_mask(const packet_state *m, const piece *c)
{
    val lane[PIECE];
    for (int k = 0; k < c->held; k++)
        lane[k] = wf__gen_int(m->g, m->g->i1, 1, is_wanted(m, c, k));
    return m->g->L->ConstVector(lane, (unsigned)c->held);
}

static val piece_pointer(const packet_state *m, const piece *c, int l)
{
    int64_t bytes = (m->part[c->first] - m->part[0]) * m->size;
    return bytes ? g_gep(m->g, m->g->i8, m->pointer[l], g_i64(m->g, bytes)) : m->pointer[l];
}

static val load_piece(const packet_state *m, const piece *c, val p)
{
    wf__gen *g = m->g;
    LLVMTypeRef type = wf__gen_memory_type(g, m->dtype, c->held);
    if (c->masked)
        return wf__load_masked(g, type, p, wf__align(m->dtype), piece_mask(m, c), g->L->ConstNull(type));
    val v = g_load(g, type, p);
    g->L->SetAlignment(v, wf__align(m->dtype));
    return v;
}

static void store_piece(const packet_state *m, const piece *c, val p, val v)
{
    wf__gen *g = m->g;
    if (c->masked)
        wf__store_masked(g, v, p, wf__align(m->dtype), piece_mask(m, c));
    else
        g->L->SetAlignment(g->L->BuildStore(g->b, v, p), wf__align(m->dtype));
}

/* ---- transposition ---- A register has groups of `held` elements. Before, group q of vector k is the piece of lane
 * q * held + k. Afterwards, element e of group q of vector k is element k of lane q * held + e. The same network does
 * both directions: log2(held) times, it interleaves vectors k and k + held/2, the low and the high halves of groups. */
static val interleave_vectors(wf__gen *g, val a, val b, int lanes, int held, bool high)
{
    val lane[WF__LANES];
    for (int e = 0; e < lanes; e++) {
        int start = e / held * held, within = e % held;
        lane[e] = g_i32(g, start + within / 2 + (high ? held / 2 : 0) + (within % 2 ? lanes : 0));
    }
    return g->L->BuildShuffleVector(g->b, a, b, g->L->ConstVector(lane, (unsigned)lanes), "");
}

static void transpose_vectors(wf__gen *g, val *v, int lanes, int held)
{
    val w[PIECE];
    WF__ASSERT(held >= 2);
    for (int s = 1; s < held; s *= 2) {
        for (int k = 0; k < held / 2; k++) {
            w[2 * k] = interleave_vectors(g, v[k], v[k + held / 2], lanes, held, false);
            w[2 * k + 1] = interleave_vectors(g, v[k], v[k + held / 2], lanes, held, true);
        }
        memcpy(v, w, (size_t)held * sizeof *v);
    }
}

/* Joins n vectors of `each` elements to one vector. n: a power of two. */
static val concatenate_vectors(wf__gen *g, val *v, int n, int each)
{
    val lane[WF__LANES];
    WF__ASSERT(n > 0);
    for (; n > 1; n /= 2, each *= 2) {
        for (int e = 0; e < 2 * each; e++)
            lane[e] = g_i32(g, e);
        for (int k = 0; k < n / 2; k++)
            v[k] = g->L->BuildShuffleVector(g->b, v[2 * k], v[2 * k + 1], g->L->ConstVector(lane, (unsigned)(2 * each)),
                                            "");
    }
    return v[0];
}

static val take_elements(wf__gen *g, val v, int from, int n, int of)
{
    val lane[WF__LANES];
    if (n == of)
        return v;
    for (int e = 0; e < n; e++)
        lane[e] = g_i32(g, from + e);
    return g->L->BuildShuffleVector(g->b, v, g->L->GetPoison(g->L->TypeOf(v)), g->L->ConstVector(lane, (unsigned)n),
                                    "");
}

/* The lanes that are transposed together: those of one register. */
static int lanes_together(const packet_state *m, int held)
{
    int lanes = m->g->options->target->vector_bits / 8 / (int)m->size;
    lanes = lanes > held ? lanes : held;
    lanes = lanes < m->g->width ? lanes : m->g->width;
    WF__ASSERT(lanes % held == 0 && m->g->width % lanes == 0); /* all are powers of two */
    return lanes;
}

/* From pieces, one per lane, to vectors of all lanes: out[k] has element k of each piece. */
static void to_lanes(const packet_state *m, int held, const val *piece_of, val *out)
{
    wf__gen *g = m->g;
    int w = g->width, lanes = lanes_together(m, held), parts = w / lanes;
    val vector[PIECE][WF__LANES];
    for (int part = 0; part < parts; part++) {
        val v[PIECE];
        for (int k = 0; k < held; k++) {
            val row[WF__LANES];
            for (int q = 0; q < lanes / held; q++)
                row[q] = piece_of[part * lanes + q * held + k];
            v[k] = concatenate_vectors(g, row, lanes / held, held);
        }
        transpose_vectors(g, v, lanes, held);
        for (int k = 0; k < held; k++)
            vector[k][part] = v[k];
    }
    for (int k = 0; k < held; k++)
        out[k] = concatenate_vectors(g, vector[k], parts, lanes);
}

/* From vectors of all lanes to pieces. in[k]: NULL = any value. */
static void to_pieces(const packet_state *m, int held, const val *in, val *piece_of)
{
    wf__gen *g = m->g;
    int w = g->width, lanes = lanes_together(m, held);
    for (int from = 0; from < w; from += lanes) {
        val v[PIECE];
        for (int k = 0; k < held; k++)
            v[k] = in[k] ? take_elements(g, in[k], from, lanes, w)
                         : g->L->GetPoison(wf__gen_memory_type(g, m->dtype, lanes));
        transpose_vectors(g, v, lanes, held);
        for (int k = 0; k < held; k++)
            for (int q = 0; q < lanes / held; q++)
                piece_of[from + q * held + k] = take_elements(g, v[k], q * held, held, lanes);
    }
}

/* The values of the elements of a piece, as in memory; NULL for elements that are no parts. */
static void values_of_piece(const packet_state *m, const piece *c, const val *value, val out[PIECE])
{
    for (int k = 0; k < c->held; k++)
        out[k] = NULL;
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        out[m->part[i] - m->part[c->first]] = value[i];
}

/* ---- loads and stores ---- */
/* The address of another part. */
static wf__address address_of_part(const packet_state *m, const wf__address *at, uint32_t part)
{
    wf__address r = *at;
    r.base = g_gep(m->g, m->g->i8, at->base, g_i64(m->g, (m->part[part] - m->part[0]) * m->size));
    return r;
}

void wf__emit_packet_load(wf__instance *in, const wf__packet *packet)
{
    wf__gen *g = in->g;
    packet_state m = begin_packet(in, packet);
    const wf__node *n = wf__at(in->ir, m.p.part[0]);
    val mapped[WF_MAX_RANK], piece_of[WF__LANES], out[PIECE];
    bool wide[WF_MAX_RANK] = { false };
    wf__guard guard = { 0 };
    bool bordered = n->aux != WF_BORDER_NONE;
    if (bordered)
        wf__guard_indices(in, n, &guard, mapped, wide);
    val mask = wf__load_mask(in, n, &guard), dummy = mask ? wf__get_dummy(in->kernel) : NULL;
    wf__address at = wf__make_address(in, n->a, n->b, bordered ? mapped : NULL, wide);
    bool ready = false;
    for (uint32_t i = 0; i < m.p.n;) {
        piece c = choose_piece(&m, i, in->ir->slot[n->a].record, wf__has_masked(g, m.dtype));
        if (c.held > 1) {
            if (!ready)
                wf__active_pointers(in, m.dtype, &at, mask, m.pointer);
            ready = true;
            for (int l = 0; l < g->width; l++)
                piece_of[l] = load_piece(&m, &c, piece_pointer(&m, &c, l));
            to_lanes(&m, c.held, piece_of, out);
        }
        for (; i < c.first + c.n; i++) {
            wf__ref r = m.p.part[i];
            val other = mask ? wf__load_outside(in, wf__at(in->ir, r)) : NULL, v;
            wf__address own = address_of_part(&m, &at, i);
            v = c.held > 1 ? out[m.part[i] - m.part[c.first]] : wf__load_vector(g, m.dtype, &own, mask, other, dummy);
            if (mask && c.held > 1)
                v = g_select(g, mask, v, other);
            in->vector[r] = wf__from_memory(g, m.dtype, g->width, v);
        }
    }
}

void wf__emit_packet_store(wf__instance *in, const wf__packet *packet)
{
    wf__gen *g = in->g;
    packet_state m = begin_packet(in, packet);
    const wf__node *n = wf__at(in->ir, m.p.part[0]);
    val value[WF__MOST_PARTS], piece_of[WF__LANES], v[PIECE], mask = wf__effect_mask(in, n->d);
    for (uint32_t i = 0; i < m.p.n; i++)
        value[i] = wf__to_memory(g, m.dtype, g->width, wf__get_vector(in, wf__at(in->ir, m.p.part[i])->c));
    wf__address at = wf__make_address(in, n->a, n->b, NULL, NULL);
    bool ready = false;
    for (uint32_t i = 0; i < m.p.n;) {
        piece c = choose_piece(&m, i, -1, wf__has_masked(g, m.dtype));
        if (c.held == 1) {
            wf__address own = address_of_part(&m, &at, i);
            wf__store_vector(in, m.dtype, &own, mask, value[i]);
        } else {
            if (!ready)
                wf__active_pointers(in, m.dtype, &at, mask, m.pointer);
            ready = true;
            values_of_piece(&m, &c, value, v);
            to_pieces(&m, c.held, v, piece_of);
            for (int l = 0; l < g->width; l++)
                store_piece(&m, &c, piece_pointer(&m, &c, l), piece_of[l]);
        }
        i += c.n;
    }
}

/* ---- accumulation into memory that only this thread updates, lane by lane ---- */
static void find_update_pointers(packet_state *m, wf__update_op *u)
{
    wf__instance *in = m->in;
    wf__gen *g = m->g;
    if (!in->ir->slot[u->n->a].spread) {
        u->at = wf__make_address(in, u->n->a, u->n->b, NULL, NULL);
        wf__active_pointers(in, m->dtype, &u->at, u->mask, m->pointer);
        return;
    }
    val base, offset = wf__private_offsets(u, &base);
    if (u->mask)
        offset = g_select(g, u->mask, offset, wf__gen_int(g, g->i32, g->width, 0));
    for (int l = 0; l < g->width; l++)
        m->pointer[l] = wf__private_lane(u, base, offset, l);
}

void wf__emit_packet_update(wf__instance *in, const wf__packet *packet)
{
    wf__gen *g = in->g;
    packet_state m = begin_packet(in, packet);
    wf__update_op u = wf__describe_update(in, m.p.part[0]);
    val value[WF__MOST_PARTS], piece_of[WF__LANES], v[PIECE];
    for (uint32_t i = 0; i < m.p.n; i++) {
        val x = wf__get_vector(in, wf__at(in->ir, m.p.part[i])->c);
        value[i] = wf__to_memory(g, m.dtype, g->width, wf__select_neutral(&u, u.mask, x));
    }
    bool ready = false;
    for (uint32_t i = 0; i < m.p.n;) {
        piece c = choose_piece(&m, i, -1, false);
        if (c.held == 1) {
            wf__emit_update(in, m.p.part[i]);
        } else {
            if (!ready)
                find_update_pointers(&m, &u);
            ready = true;
            values_of_piece(&m, &c, value, v);
            to_pieces(&m, c.held, v, piece_of);
            for (int l = 0; l < g->width; l++) {
                val p = piece_pointer(&m, &c, l), x = wf__from_memory(g, m.dtype, c.held, piece_of[l]);
                store_piece(&m, &c, p, wf__join_values(g, u.join, m.dtype, c.held, load_piece(&m, &c, p), x));
            }
        }
        i += c.n;
    }
}
