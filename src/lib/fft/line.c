/* line.c - the transform of one line, as steps of butterflies in the block's scratch.
 *
 * Forward, a step of radix r cuts each piece of length m into r pieces: element j + q m / r of a piece becomes element j
 * of piece q, times a root. So steps work in place, and the last one leaves frequency k where the digits of k, in the
 * mixed base of the radices, are reversed: at `place`. Backward the steps are done in the opposite order, from places to
 * natural order. Indices are sums of loop counters times constants, which cost nothing.
 */
#include "fft_internal.h"

wfl_pair wfl_line_table(const wfl_line *line, wf_val index)
{
    wf_val at = wf_mul(index, 2);
    return (wfl_pair){ wf_read(line->g, line->table, at), wf_read(line->g, line->table, wf_add(at, 1)) };
}

wfl_pair wfl_line_get(const wfl_line *line, const wf_array *scratch, wf_val k)
{
    return (wfl_pair){ wf_read(line->g, scratch, k, 0, line->lane), wf_read(line->g, scratch, k, 1, line->lane) };
}

void wfl_line_put(const wfl_line *line, wf_array *scratch, wf_val k, wfl_pair v)
{
    wf_write(line->g, scratch, v.re, k, 0, line->lane);
    wf_write(line->g, scratch, v.im, k, 1, line->lane);
}

/* ---- one step ---- */
typedef struct step {
    wfl_line *line;
    int32_t length;    /* of the whole transform */
    int32_t done;      /* pieces */
    int32_t distance;  /* of the elements of a butterfly: the length of a piece after this step */
    int radix, number; /* number: of the step */
    wf_val start;      /* place of the butterfly's first element */
    wf_val j;          /* its number within the piece; the number 0 where pieces have one element afterwards */
    wf_val k;          /* last step: the frequency of the first result */
    wfl_read *read;    /* of the first step forward; NULL = the scratch */
    wfl_write *write;  /* of the last step; NULL = the scratch */
    bool backward;
} step;

/* Element q of the butterfly; q is an i64 or a number. */
static wf_val place_of(const step *s, wf_val q) { return wf_add(s->start, wf_mul(q, s->distance)); }

static wfl_pair times_root(const step *s, wf_val q, wfl_pair v)
{
    if (s->distance == 1)
        return v;
    wf_val index = wf_add(wf_mul(wf_mul(s->j, s->done), q), s->line->at.root);
    return wfl_pair_mul(v, wfl_line_table(s->line, index));
}

/* first: q is the number 0, which needs no root. */
static wfl_pair get(const step *s, wf_val q, bool first)
{
    wf_val place = place_of(s, q);
    wfl_pair v = s->read ? s->read(s->line, place) : wfl_line_get(s->line, s->line->work, place);
    return s->backward && !first ? times_root(s, q, v) : v;
}

static void put(const step *s, wf_val q, bool first, wfl_pair v)
{
    wf_val place = place_of(s, q);
    if (s->write)
        s->write(s->line, s->backward ? place : wf_add(s->k, wf_mul(q, s->length / s->radix)), place, v);
    else
        wfl_line_put(s->line, s->line->work, place, s->backward || first ? v : times_root(s, q, v));
}

static void written_out(const step *s)
{
    wfl_pair v[WFL_FFT_UNROLLED];
    for (int q = 0; q < s->radix; ++q)
        v[q] = get(s, WF_V(q), !q);
    wfl_butterfly(s->line->g, s->line->part, v, s->radix);
    for (int q = 0; q < s->radix; ++q)
        put(s, WF_V(q), !q, v[q]);
}

/* Results k to k + n - 1 of a looped radix, and their mirror images. Element 0 of line->looped is the first one of the
 * butterfly; then come the sums and the differences of elements j and p - j. */
static void looped_results(const step *s, wf_val k, int n)
{
    enum { MOST = 4 };
    wfl_line *line = s->line;
    wf_graph *g = line->g;
    int half = (s->radix - 1) / 2;
    wf_var even_re[MOST], even_im[MOST], odd_re[MOST], odd_im[MOST];
    wfl_pair first = wfl_line_get(line, line->looped, WF_V(0));
    for (int i = 0; i < n; ++i) {
        even_re[i] = wf_local(g, line->part, first.re);
        even_im[i] = wf_local(g, line->part, first.im);
        odd_re[i] = wf_local(g, line->part, 0);
        odd_im[i] = wf_local(g, line->part, 0);
    }
    wf_val j;
    WF_FOR (g, j, 0, half, 1) {
        wfl_pair sum = wfl_line_get(line, line->looped, wf_add(j, 1)),
                 difference = wfl_line_get(line, line->looped, wf_add(j, 1 + half));
        for (int i = 0; i < n; ++i) {
            wf_val row = wf_mul(wf_add(k, i - 1), half);
            wfl_pair w = wfl_line_table(line, wf_add(wf_add(row, j), line->at.looped[s->number]));
            wf_set(even_re[i], wf_fma(sum.re, w.re, even_re[i]));
            wf_set(even_im[i], wf_fma(sum.im, w.re, even_im[i]));
            wf_set(odd_re[i], wf_fma(difference.re, w.im, odd_re[i]));
            wf_set(odd_im[i], wf_fma(difference.im, w.im, odd_im[i]));
        }
    }
    WF_END(g);
    for (int i = 0; i < n; ++i) {
        wf_val at = wf_add(k, i);
        put(s, at, false, (wfl_pair){ wf_add(even_re[i], odd_im[i]), wf_sub(even_im[i], odd_re[i]) });
        put(s, wf_sub(s->radix, at), false, (wfl_pair){ wf_sub(even_re[i], odd_im[i]), wf_add(even_im[i], odd_re[i]) });
    }
}

/* An odd prime radix by loops, as odd_prime in butterfly.c. */
static void looped(const step *s)
{
    enum { AT_ONCE = 3 };
    wfl_line *line = s->line;
    wf_graph *g = line->g;
    int half = (s->radix - 1) / 2, left = half % AT_ONCE;
    wfl_pair first = get(s, WF_V(0), true);
    wf_var re = wf_local(g, line->part, first.re), im = wf_local(g, line->part, first.im);
    wfl_line_put(line, line->looped, WF_V(0), first);
    wf_val j, k;
    WF_FOR (g, j, 1, half + 1, 1) {
        wfl_pair a = get(s, j, false), b = get(s, wf_sub(s->radix, j), false), sum = wfl_pair_add(a, b);
        wf_inc(re, sum.re);
        wf_inc(im, sum.im);
        wfl_line_put(line, line->looped, j, sum);
        wfl_line_put(line, line->looped, wf_add(j, half), wfl_pair_sub(a, b));
    }
    WF_END(g);
    put(s, WF_V(0), true, (wfl_pair){ wf_get(re), wf_get(im) });
    if (half >= AT_ONCE) {
        WF_FOR (g, k, 1, half - left + 1, AT_ONCE) {
            looped_results(s, k, AT_ONCE);
        }
        WF_END(g);
    }
    if (left)
        looped_results(s, WF_V(half - left + 1), left);
}

/* Records the loops around the butterflies of a step. */
static void record_step(step *s, const wfl_radices *radices)
{
    wf_graph *g = s->line->g;
    int32_t piece = s->distance * s->radix, weight = 1, extent = s->length;
    int nest = 0;
    s->start = s->j = s->k = WF_V(0);
    bool by_digits = s->write && !s->backward;
    for (int d = 0; d < s->number && by_digits; ++d) { /* digits, so that k and place are sums of counters */
        wf_val digit;
        extent /= radices->at[d];
        WF_FOR (g, digit, 0, radices->at[d], 1) {
        }
        ++nest;
        s->start = wf_add(s->start, wf_mul(digit, extent));
        s->k = wf_add(s->k, wf_mul(digit, weight));
        weight *= radices->at[d];
    }
    if (!by_digits && s->done > 1) {
        wf_val b;
        WF_FOR (g, b, 0, s->done, 1) {
        }
        ++nest;
        s->start = wf_mul(b, piece);
    }
    if (s->distance > 1) {
        WF_FOR (g, s->j, 0, s->distance, 1) {
        }
        ++nest;
        s->start = wf_add(s->start, s->j);
    }
    if (s->radix <= WFL_FFT_UNROLLED)
        written_out(s);
    else
        looped(s);
    while (nest--)
        WF_END(g);
}

/* Step i of a transform, from and to the scratch. */
static step step_of(wfl_line *line, const wfl_radices *radices, int i)
{
    step s = { .line = line, .length = 1, .done = 1, .distance = 1, .radix = radices->at[i], .number = i };
    for (int k = 0; k < radices->n; ++k) {
        s.length *= radices->at[k];
        s.done *= k < i ? radices->at[k] : 1;
        s.distance *= k > i ? radices->at[k] : 1;
    }
    return s;
}

void wfl_line_forward(wfl_line *line, const wfl_radices *radices, wfl_read *read, wfl_write *write)
{
    for (int i = 0; i < radices->n; ++i) {
        step s = step_of(line, radices, i);
        s.read = i ? NULL : read;
        s.write = i + 1 < radices->n ? NULL : write;
        record_step(&s, radices);
    }
    if (!radices->n)
        write(line, WF_V(0), WF_V(0), read(line, WF_V(0)));
}

void wfl_line_backward(wfl_line *line, const wfl_radices *radices, wfl_write *write)
{
    for (int i = radices->n - 1; i >= 0; --i) {
        step s = step_of(line, radices, i);
        s.backward = true;
        s.write = i ? NULL : write;
        record_step(&s, radices);
    }
    if (!radices->n && write)
        write(line, WF_V(0), WF_V(0), wfl_line_get(line, line->work, WF_V(0)));
}

/* ---- Bluestein's algorithm ---- */
static wfl_pair read_work(wfl_line *line, wf_val k) { return wfl_line_get(line, line->work, k); }

static void write_filtered(wfl_line *line, wf_val k, wf_val place, wfl_pair v)
{
    (void)k;
    wfl_pair f = wfl_line_table(line, wf_add(place, line->at.filter));
    wfl_line_put(line, line->work, place, wfl_pair_swapped(wfl_pair_mul(v, f)));
}

void wfl_line_bluestein(wfl_line *line, int32_t n, int32_t results, const wfl_radices *radices, wfl_read *read,
                        wfl_write *write)
{
    wf_graph *g = line->g;
    wf_val k;
    int32_t m = 1;
    for (int i = 0; i < radices->n; ++i)
        m *= radices->at[i];
    WF_FOR (g, k, 0, n, 1) {
        wfl_pair chirp = wfl_line_table(line, wf_add(k, line->at.chirp));
        wfl_line_put(line, line->work, k, wfl_pair_mul(read(line, k), chirp));
    }
    WF_END(g);
    WF_FOR (g, k, n, m, 1) {
        wf_val zero = wf_const(g, line->part, 0);
        wfl_line_put(line, line->work, k, (wfl_pair){ zero, zero });
    }
    WF_END(g);
    wfl_line_forward(line, radices, read_work, write_filtered);
    wfl_line_backward(line, radices, NULL);
    WF_FOR (g, k, 0, results, 1) {
        wfl_pair chirp = wfl_line_table(line, wf_add(k, line->at.chirp));
        write(line, k, k, wfl_pair_mul(wfl_pair_swapped(read_work(line, k)), chirp));
    }
    WF_END(g);
}
