/* model_counts.c - the messages and bytes of a launch, from shape, grid and width of halo. The ways of sending are those of
 * src/ranks/collective.c and src/dist, and the boxes of reductions those of src/plan/kernel/partition.c, which all ranks and all
 * grids share. The model computes them by itself: that counts agree shows that both are understood. */
#include "model.h"
#include <stdlib.h>

enum {
    AXES = 3,
    HEADER = 16,            /* bytes before the elements of a message of an exchange: the sender's status */
    STATUS = 8,             /* bytes of a rank's status before ranks join */
    AGREED = 4,             /* likewise, in wf_ranks_agree */
    MESSAGE_COST = 1 << 13, /* bytes of an all-gather that are packed in the time of a message */
    PART = 1 << 16,         /* bytes of an accumulated array that ranks exchange at once */
    BINS = 256,
    LANES = 32,    /* the shares of ranks in an accumulation begin at multiples of this along the last axis */
    BOX = 1 << 14, /* points of a box of a reduction, of whole rows; src/ir/thresholds.def: BOX_CHAIN */
    ROW_STEP = 8,  /* boxes of several rows have a multiple of so many */
    RESULT = 8,    /* bytes of a partial result that ranks exchange */
    NOBODY = -1
};

typedef struct box {
    int64_t lo[AXES], hi[AXES];
} box;

typedef struct ranks_model {
    const wf_dist *dist;
    int n;
    int64_t size;      /* bytes of an element */
    traffic *of_rank;  /* [n] */
    box *block, *need; /* [n] */
    int64_t *bytes;    /* [n] pieces of an all-gather */
} ranks_model;

/* ---- boxes ------------------------------------------------------------------------------------------------------ */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

static int64_t elements(const box *b)
{
    int64_t n = 1;
    for (int d = 0; d < AXES; d++)
        n *= most(b->hi[d] - b->lo[d], 0);
    return n;
}

static box meet(const box *a, const box *b)
{
    box out;
    for (int d = 0; d < AXES; d++) {
        out.lo[d] = most(a->lo[d], b->lo[d]);
        out.hi[d] = least(a->hi[d], b->hi[d]);
    }
    return out;
}

static void set_blocks(const wf_dist *dist, box *block)
{
    for (int r = 0; r < dist->ranks; r++)
        wf_dist_range(dist, r, block[r].lo, block[r].hi);
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static void add_message(ranks_model *m, int from, int to, int64_t bytes)
{
    m->of_rank[from].messages_out++;
    m->of_rank[from].bytes_out += bytes;
    m->of_rank[to].messages_in++;
    m->of_rank[to].bytes_in += bytes;
}

/* An all-gather of m->bytes. Rounds: a rank has the pieces of `have` ranks from itself on, and gives them to the rank so far
 * before it. If packing all bytes for them takes longer than the messages that they save, each piece goes around a ring. */
static void add_gather(ranks_model *m)
{
    int64_t total = 0, saved = m->n - 1;
    for (int r = 0; r < m->n; r++)
        total += m->bytes[r];
    for (int have = 1; have < m->n; have *= 2)
        saved--;
    if (!total)
        return;
    if (total >= saved * MESSAGE_COST) {
        for (int r = 0; r < m->n; r++)
            for (int k = 0; k < m->n - 1; k++)
                add_message(m, r, (r + 1) % m->n, m->bytes[(r + m->n - k) % m->n]);
        return;
    }
    for (int have = 1; have < m->n; have *= 2)
        for (int r = 0; r < m->n; r++) {
            int64_t sum = 0;
            for (int k = 0; k < have && k < m->n - have; k++)
                sum += m->bytes[(r + k) % m->n];
            add_message(m, r, (r + m->n - have) % m->n, sum);
        }
}

/* All ranks learn a few bytes of each. */
static void add_agreement(ranks_model *m, int64_t each)
{
    for (int r = 0; r < m->n; r++)
        m->bytes[r] = each;
    add_gather(m);
}

/* Whether the places of two ranks differ along one axis alone. */
static bool share_face(const wf_dist *dist, int a, int b)
{
    int32_t p[WF_MAX_RANK], q[WF_MAX_RANK];
    int differ = 0;
    wf_dist_place(dist, a, p);
    wf_dist_place(dist, b, q);
    for (int d = 0; d < AXES; d++)
        differ += p[d] != q[d];
    return differ == 1;
}

/* Each rank gets what it needs of the blocks of others, from each in one message. faces_alone: a block and its faces are needed,
 * not all of the box. */
static void add_exchange(ranks_model *m, bool faces_alone)
{
    for (int to = 0; to < m->n; to++)
        for (int from = 0; from < m->n; from++) {
            const box part = meet(&m->need[to], &m->block[from]);
            if (from != to && elements(&part) && (!faces_alone || share_face(m->dist, from, to)))
                add_message(m, from, to, HEADER + elements(&part) * m->size);
        }
}

/* A message goes from each rank to each other one that gets something of its block. */
static wf_status add_redistribution(ranks_model *m, const wf_dist *from, const wf_dist *to)
{
    box *both = malloc(2 * (size_t)m->n * sizeof *both), *there = both + m->n;
    if (!both)
        return WF_ERR_MEMORY;
    set_blocks(from, both);
    set_blocks(to, there);
    for (int r = 0; r < m->n; r++)
        for (int s = 0; s < m->n; s++) {
            const box part = meet(&both[r], &there[s]);
            if (r != s && elements(&part))
                add_message(m, r, s, elements(&part) * m->size);
        }
    free(both);
    add_agreement(m, AGREED);
    return WF_OK;
}

/* ---- what ranks need -------------------------------------------------------------------------------------------- */

/* The box around a block that has all elements that a stencil reads. What the stencil of 7 points reads of it are the block and
 * its 6 faces. */
static void need_halo(ranks_model *m)
{
    for (int r = 0; r < m->n; r++) {
        m->need[r] = m->block[r];
        for (int d = 0; d < AXES && elements(&m->block[r]); d++) {
            m->need[r].lo[d] = most(m->block[r].lo[d] - 1, 0);
            m->need[r].hi[d] = least(m->block[r].hi[d] + 1, m->dist->shape.dim[d]);
        }
    }
}

/* The points of a rank where shares begin at multiples of a unit: those whose unit begins in its block. */
static void need_share(ranks_model *m, const int64_t *unit)
{
    for (int r = 0; r < m->n; r++)
        for (int d = 0; d < AXES; d++) {
            m->need[r].lo[d] = least(up(m->block[r].lo[d], unit[d]), m->dist->shape.dim[d]);
            m->need[r].hi[d] = least(up(m->block[r].hi[d], unit[d]), m->dist->shape.dim[d]);
        }
}

static int64_t largest(const ranks_model *m, const box *b)
{
    int64_t n = 0;
    for (int r = 0; r < m->n; r++)
        n = most(n, elements(&b[r]));
    return n;
}

/* ---- reductions ------------------------------------------------------------------------------------------------- */

/* The extents of a box of a reduction of all axes: whole rows first. */
static void reduction_box(const wf_dist *dist, int64_t *size)
{
    int64_t left = BOX;
    for (int d = AXES - 1; d >= 0; d--) {
        size[d] = least(up(most(left, 1), d == AXES - 2 ? ROW_STEP : 1), dist->shape.dim[d]);
        left /= dist->shape.dim[d];
    }
}

/* Sets the rank of each box, numbered in C order. Returns their number; 0: no memory. */
static int64_t own_boxes(const ranks_model *m, const int64_t *size, int32_t **owner)
{
    int64_t all[AXES], n = 1;
    for (int d = 0; d < AXES; d++)
        n *= all[d] = (m->dist->shape.dim[d] + size[d] - 1) / size[d];
    if (!(*owner = malloc((size_t)n * sizeof **owner)))
        return 0;
    for (int r = 0; r < m->n; r++) {
        const box *s = &m->need[r];
        for (int64_t z = s->lo[0]; z < s->hi[0] && elements(s); z += size[0])
            for (int64_t y = s->lo[1]; y < s->hi[1]; y += size[1])
                for (int64_t x = s->lo[2]; x < s->hi[2]; x += size[2])
                    (*owner)[(z / size[0] * all[1] + y / size[1]) * all[2] + x / size[2]] = r;
    }
    return n;
}

/* Results of boxes are joined as a binary tree. Returns the rank that has all boxes lo .. hi - 1; NOBODY: none has, and the
 * largest subtrees that one rank has are added to what that rank gives to all others. */
static int32_t add_roots(ranks_model *m, const int32_t *owner, int64_t lo, int64_t hi)
{
    if (hi - lo < 2)
        return owner[lo];
    const int64_t middle = lo + (hi - lo) / 2;
    const int32_t left = add_roots(m, owner, lo, middle), right = add_roots(m, owner, middle, hi);
    if (left == right)
        return left;
    if (left != NOBODY)
        m->bytes[left] += RESULT;
    if (right != NOBODY)
        m->bytes[right] += RESULT;
    return NOBODY;
}

static wf_status predict_sum(ranks_model *m)
{
    int64_t size[AXES];
    int32_t *owner;
    reduction_box(m->dist, size);
    need_share(m, size);
    const int64_t boxes = own_boxes(m, size, &owner);
    if (!boxes)
        return WF_ERR_MEMORY;
    add_exchange(m, false);
    add_agreement(m, STATUS);
    for (int r = 0; r < m->n; r++)
        m->bytes[r] = 0;
    const int32_t all = add_roots(m, owner, 0, boxes);
    if (all != NOBODY)
        m->bytes[all] = RESULT;
    add_gather(m);
    free(owner);
    return WF_OK;
}

/* ---- accumulation ----------------------------------------------------------------------------------------------- */

static void predict_histogram(ranks_model *m)
{
    const int64_t unit[AXES] = { 1, 1, LANES }, bytes = BINS * 8;
    need_share(m, unit);
    add_exchange(m, false);
    add_agreement(m, STATUS);
    for (int64_t at = 0; at < bytes; at += PART)
        add_agreement(m, least(bytes - at, PART));
}

/* ---- Fourier transforms ----------------------------------------------------------------------------------------- */

/* Sets the grid without a cut along the first axis that the library chooses: the largest block is smallest, then most
 * elements stay on their ranks, then most ranks are along the second axis. */
static void choose_pencils(const ranks_model *m, wf_dist *out)
{
    int64_t best = -1, best_stays = 0;
    for (int32_t g = m->n; g > 0; g--) {
        wf_dist d = *m->dist;
        int64_t stays = 0;
        if (m->n % g)
            continue;
        d.grid[0] = 1;
        d.grid[1] = g;
        d.grid[2] = m->n / g;
        const int64_t block =
            d.shape.dim[0] * (up(d.shape.dim[1], g) / g) * (up(d.shape.dim[2], d.grid[2]) / d.grid[2]);
        set_blocks(&d, m->need);
        for (int r = 0; r < m->n; r++) {
            const box both = meet(&m->block[r], &m->need[r]);
            stays += elements(&both);
        }
        if (best < 0 || block < best || (block == best && stays > best_stays)) {
            best = block;
            best_stays = stays;
            *out = d;
        }
    }
}

/* Slabs have whole lines along two axes; for the first one the array goes to pencils and back. Ranks agree after each step that
 * may fail on one of them: making an array and transforming blocks, twice each, less the array that is reused. */
static wf_status predict_fft(ranks_model *m)
{
    wf_dist pencils = *m->dist;
    choose_pencils(m, &pencils);
    for (int i = 0; i < 4; i++)
        add_agreement(m, AGREED);
    wf_status status = add_redistribution(m, m->dist, &pencils);
    return status == WF_OK ? add_redistribution(m, &pencils, m->dist) : status;
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

const model_case model_cases[] = {
    { "step of the 7-point stencil, blocks", MODEL_STEP_7, MODEL_BLOCKS },
    { "step of the 27-point stencil, blocks", MODEL_STEP_27, MODEL_BLOCKS },
    { "sum, slabs", MODEL_SUM, MODEL_SLABS },
    { "sum, blocks of whole rows", MODEL_SUM, MODEL_ROWS },
    { "sum, blocks", MODEL_SUM, MODEL_BLOCKS },
    { "histogram of 256 bins, blocks", MODEL_HISTOGRAM, MODEL_BLOCKS },
    { "redistribution, slabs to pencils", MODEL_REDISTRIBUTE, MODEL_SLABS },
    { "redistribution, pencils to pencils", MODEL_REDISTRIBUTE, MODEL_ROWS },
    { "Fourier transform, slabs", MODEL_FFT, MODEL_SLABS },
};
const int model_case_count = sizeof model_cases / sizeof *model_cases;

wf_status model_dist(const model_case *c, wf_shape shape, int ranks, wf_dist *out)
{
    wf_dist_options o = { .size = sizeof o };
    if (c->cut == MODEL_ROWS)
        o.grid[2] = 1;
    if (c->cut == MODEL_SLABS)
        o.grid[0] = ranks;
    return wf_dist_make(&shape, ranks, &o, out);
}

wf_status model_target(const wf_dist *from, wf_dist *to)
{
    wf_dist_options o = { .size = sizeof o, .grid = { 1 } };
    if (from->grid[1] > 1) {
        o.grid[0] = from->grid[0];
        o.grid[1] = 1;
    }
    return wf_dist_make(&from->shape, from->ranks, &o, to);
}

static wf_status predict(const model_case *c, ranks_model *m, double *work)
{
    const double block = (double)largest(m, m->block);
    wf_status status = WF_OK;
    wf_dist to;
    switch (c->kind) {
    case MODEL_STEP_7:
    case MODEL_STEP_27:
        need_halo(m);
        add_exchange(m, c->kind == MODEL_STEP_7);
        *work = 8 * block;
        break;
    case MODEL_SUM:
        status = predict_sum(m);
        *work = 4 * (double)largest(m, m->need);
        break;
    case MODEL_HISTOGRAM:
        predict_histogram(m);
        *work = 4 * (double)largest(m, m->need);
        break;
    case MODEL_REDISTRIBUTE:
        status = model_target(m->dist, &to);
        if (status == WF_OK)
            status = add_redistribution(m, m->dist, &to);
        *work = 0; /* but for the messages, only a copy of what stays */
        break;
    case MODEL_FFT:
        status = m->n > 1 ? predict_fft(m) : WF_OK;
        *work = 3 * 16 * block; /* a pass along each axis */
        break;
    }
    return status;
}

wf_status model_predict(const model_case *c, const wf_dist *dist, traffic *of_rank, double *work)
{
    const size_t n = (size_t)dist->ranks;
    ranks_model m = { .dist = dist, .n = dist->ranks, .size = c->kind == MODEL_FFT ? 8 : 4, .of_rank = of_rank };
    m.block = malloc(2 * n * sizeof *m.block);
    m.bytes = malloc(n * sizeof *m.bytes);
    wf_status status = WF_ERR_MEMORY;
    if (m.block && m.bytes) {
        m.need = m.block + n;
        set_blocks(dist, m.block);
        status = predict(c, &m, work);
    }
    free(m.block);
    free(m.bytes);
    return status;
}

double model_time(const model_case *c, const wf_dist *dist, const model_machine *m)
{
    double work = 0, longest = 0;
    traffic *of_rank = calloc((size_t)dist->ranks, sizeof *of_rank);
    wf_status status = of_rank ? model_predict(c, dist, of_rank, &work) : WF_ERR_MEMORY;
    for (int r = 0; r < dist->ranks && status == WF_OK; r++) {
        const traffic *t = &of_rank[r];
        const double messages = (double)most(t->messages_out, t->messages_in);
        const double bytes = (double)most(t->bytes_out, t->bytes_in), copied = 2 * (double)(t->bytes_out + t->bytes_in);
        const double time = messages * m->alpha + bytes / m->network + copied / m->memory;
        longest = time > longest ? time : longest;
    }
    free(of_rank);
    return status == WF_OK ? work / m->memory + longest : -1;
}
