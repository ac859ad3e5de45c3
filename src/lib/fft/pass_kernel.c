/* pass_kernel.c - the kernel of a pass: how elements come from an array to a line, and back.
 *
 * Where neighbouring lines are neighbours in memory, the first and the last step of a line access the arrays. Where the
 * elements of a line are neighbours (rows), they are copied to scratch and back in chunks, which are transposed in
 * registers. A real line of even length is a complex line of half the length, whose result is untangled.
 */
#include "pass_kernel.h"

typedef struct pass_line {
    wfl_line line;
    const wfl_pass *pass;
    wfl_lengths length;
    wf_val outer, inner, scale;
    wf_array *x, *y;           /* formals: [outer, n, inner], with pass.inner [outer, n * inner], or in chunks
                                * [outer, inner, n / chunk, chunk] */
    wf_array *x_rest, *y_rest; /* elements of rows after the last chunk, [outer, inner, n % chunk]; NULL = none */
    wf_array *twist, *start;
    const wfl_filter *filter; /* NULL = none */
    wf_val first;             /* of the filter */
} pass_line;

static const pass_line *of(wfl_line *line) { return line->user; }

/* The index of element k in columns whose number is part of the code. */
static wf_val column(const pass_line *l, wf_val k) { return wf_add(wf_mul(k, (double)l->pass->inner), l->inner); }

static wfl_pair parts(const pass_line *l, wf_val v)
{
    wf_dtype part = l->line.part;
    if (wf_dtype_kind(wf_val_dtype(v)) != WF_KIND_COMPLEX)
        return (wfl_pair){ wf_cast(v, part), wf_const(l->line.g, part, 0) };
    return (wfl_pair){ wf_cast(wf_real(v), part), wf_cast(wf_imag(v), part) };
}

static wf_val scaled(const pass_line *l, wf_val v) { return l->pass->scaled ? wf_mul(v, l->scale) : v; }
static wf_val complex_of(const pass_line *l, wfl_pair v) { return wf_complex(scaled(l, v.re), scaled(l, v.im)); }

static wfl_pair swapped_if(bool yes, wfl_pair v) { return yes ? wfl_pair_swapped(v) : v; }

/* Element k of the line as it is in x, or as it was copied from there. */
static wfl_pair read_in(const pass_line *l, wf_val k)
{
    if (l->pass->rows_in)
        return wfl_line_get(&l->line, l->line.other, k);
    if (l->pass->pairs_in)
        return (wfl_pair){ parts(l, wf_read(l->line.g, l->x, l->outer, column(l, k), 0)).re,
                           parts(l, wf_read(l->line.g, l->x, l->outer, column(l, k), 1)).re };
    if (l->pass->inner)
        return parts(l, wf_read(l->line.g, l->x, l->outer, column(l, k)));
    return parts(l, wf_read(l->line.g, l->x, l->outer, k, l->inner));
}

static wfl_pair read_complex(wfl_line *line, wf_val k)
{
    return swapped_if(of(line)->pass->inverse, read_in(of(line), k));
}

static wfl_pair read_started(wfl_line *line, wf_val k)
{
    const pass_line *l = of(line);
    wfl_pair v = read_in(l, k);
    return l->start ? wfl_pair_mul(v, parts(l, wf_read(line->g, l->start, k))) : v;
}

/* Two real elements as one complex one. */
static wfl_pair read_two_real(wfl_line *line, wf_val k)
{
    const pass_line *l = of(line);
    if (l->pass->rows_in)
        return wfl_line_get(line, line->other, k);
    wf_val even = wf_mul(k, 2);
    return (wfl_pair){ read_in(l, even).re, read_in(l, wf_add(even, 1)).re };
}

/* Without the imaginary part of element 0, which symmetry makes real. */
static wfl_pair real_at_0(wf_val k, wfl_pair v) { return (wfl_pair){ v.re, wf_select(wf_eq(k, 0), 0, v.im) }; }

/* Sets *sum = a + conj b and *turned = (a - conj b) times the root exp(-2 pi i k / n), or `back` its conjugate. */
static void combine(wfl_pair root, wfl_pair a, wfl_pair b, bool back, wfl_pair *sum, wfl_pair *turned)
{
    wfl_pair difference = { wf_sub(a.re, b.re), wf_add(a.im, b.im) };
    *sum = (wfl_pair){ wf_add(a.re, b.re), wf_sub(a.im, b.im) };
    *turned = wfl_pair_mul(difference, (wfl_pair){ root.re, back ? wf_neg(root.im) : root.im });
}

static wfl_pair real_root(const wfl_line *line, wf_val k) { return wfl_line_table(line, wf_add(k, line->at.real)); }

/* Element k of the half-length transform of a real line, from elements k and core - k of its spectrum. */
static wfl_pair tangled(wfl_pair root, wfl_pair a, wfl_pair b)
{
    wfl_pair sum, turned;
    combine(root, a, b, true, &sum, &turned);
    return (wfl_pair){ wf_add(sum.im, turned.re), wf_sub(sum.re, turned.im) }; /* parts swapped */
}

static wfl_pair read_tangled(wfl_line *line, wf_val k)
{
    const pass_line *l = of(line);
    wfl_pair a = real_at_0(k, read_in(l, k)), b = real_at_0(k, read_in(l, wf_sub(l->length.core, k)));
    return tangled(real_root(line, k), a, b);
}

/* Element k of a Hermitian line of odd length, of which elements up to n/2 are there. */
static wfl_pair read_hermitian(wfl_line *line, wf_val k)
{
    const pass_line *l = of(line);
    int32_t n = l->length.core;
    wf_val mirrored = wf_gt(k, n / 2);
    wfl_pair v = real_at_0(k, read_in(l, wf_select(mirrored, wf_sub(n, k), k)));
    return (wfl_pair){ wf_select(mirrored, wf_neg(v.im), v.im), v.re }; /* parts swapped */
}

static wfl_read *reader_of(const pass_line *l)
{
    switch ((wfl_fft_kind)l->pass->kind) {
    case WFL_FFT_R2C:
        return l->length.untangled ? read_two_real : read_complex;
    case WFL_FFT_C2R:
        return l->length.untangled ? read_tangled : read_hermitian;
    case WFL_FFT_CHIRP:
        return read_started;
    default:
        return read_complex;
    }
}

static void write_other(wfl_line *line, wf_val k, wf_val place, wfl_pair v)
{
    (void)place;
    wfl_line_put(line, line->other, k, v);
}

/* Result k times its root, with parts in order. */
static wfl_pair twisted(const pass_line *l, wf_val k, wfl_pair v)
{
    wf_graph *g = l->line.g;
    if (l->twist) {
        wf_val at = wf_add(wf_mul(k, 2 * (double)l->pass->twist), l->inner);
        v = wfl_pair_mul(
            v, (wfl_pair){ wf_read(g, l->twist, at), wf_read(g, l->twist, wf_add(at, (double)l->pass->twist)) });
    }
    return swapped_if(l->pass->inverse, v);
}

/* Writes results of a butterfly to a row. */
static void write_row(wfl_line *line, wf_val k, wf_val place, wfl_pair v)
{
    const pass_line *l = of(line);
    double chunk = wfl_pass_chunk((wf_dtype)l->pass->out);
    (void)place;
    wf_write(line->g, l->y, complex_of(l, twisted(l, k, v)), l->outer, l->inner, wf_idiv(k, chunk), wf_mod(k, chunk));
}

/* Writes results, with parts as the transform leaves them, to an array with neighbouring lines. */
static void write_out(wfl_line *line, wf_val k, wf_val place, wfl_pair v)
{
    const pass_line *l = of(line);
    (void)place;
    v = twisted(l, k, v);
    if (l->pass->pairs_out) {
        wf_write(line->g, l->y, scaled(l, v.im), l->outer, column(l, k), 0);
        wf_write(line->g, l->y, scaled(l, v.re), l->outer, column(l, k), 1);
    } else if (l->pass->inner) {
        wf_write(line->g, l->y, complex_of(l, v), l->outer, column(l, k));
    } else if (l->pass->kind != WFL_FFT_C2R) {
        wf_write(line->g, l->y, complex_of(l, v), l->outer, k, l->inner);
    } else if (l->length.untangled) {
        wf_val even = wf_mul(k, 2);
        wf_write(line->g, l->y, scaled(l, v.re), l->outer, even, l->inner);
        wf_write(line->g, l->y, scaled(l, v.im), l->outer, wf_add(even, 1), l->inner);
    } else {
        wf_write(line->g, l->y, scaled(l, v.re), l->outer, k, l->inner);
    }
}

/* Element k of the spectrum of a real line, from elements k and core - k of the half-length transform. */
static wfl_pair untangled(wfl_pair root, wfl_pair a, wfl_pair b)
{
    wfl_pair sum, turned;
    combine(root, a, b, false, &sum, &turned);
    return (wfl_pair){ wf_mul(wf_add(sum.re, turned.im), 0.5), wf_mul(wf_sub(sum.im, turned.re), 0.5) };
}

/* Element k of the result, from line.other, as y has it. `odd`: whether k is odd, where that matters. */
static wf_val result(const pass_line *l, wf_val k, bool odd)
{
    if (l->pass->kind == WFL_FFT_R2C && l->length.untangled)
        return complex_of(l, untangled(real_root(&l->line, k), wfl_line_get(&l->line, l->line.other, k),
                                       wfl_line_get(&l->line, l->line.other, wf_sub(l->length.core, k))));
    if (l->pass->kind == WFL_FFT_C2R && l->length.untangled) {
        wfl_pair v = wfl_line_get(&l->line, l->line.other, wf_idiv(odd ? wf_sub(k, 1) : k, 2));
        return scaled(l, odd ? v.re : v.im); /* parts are swapped */
    }
    wfl_pair v = swapped_if(l->pass->inverse, wfl_line_get(&l->line, l->line.other, k));
    return l->pass->kind == WFL_FFT_C2R ? scaled(l, v.re) : complex_of(l, v);
}

/* Copies `n` elements, from `first` on, of a row of x to scratch. at[2]: indices before the last one. */
static void copy_in(const pass_line *l, const wf_array *from, wf_vals at, wf_val first, int32_t n)
{
    bool two = l->pass->kind == WFL_FFT_R2C && l->length.untangled;
    wf_val index[4] = { at.at[0], at.at[1], at.n > 2 ? at.at[2] : WF_V(0) };
    wfl_pair v[WFL_MOST_CHUNK];
    for (int32_t c = 0; c < n; ++c) {
        index[at.n] = WF_V(c);
        v[c] = parts(l, wf_read_n(l->line.g, from, (wf_vals){ index, at.n + 1 }));
    }
    for (int32_t c = 0; c < n; c += two ? 2 : 1) {
        wf_val k = two ? wf_idiv(wf_add(first, c), 2) : wf_add(first, c);
        wfl_line_put(&l->line, l->line.other, k, two ? (wfl_pair){ v[c].re, v[c + 1].re } : v[c]);
    }
}

static void copy_rows_in(const pass_line *l)
{
    wf_graph *g = l->line.g;
    int32_t chunk = wfl_pass_chunk((wf_dtype)l->pass->in), n = wfl_pass_elements_in(l->pass), chunks = n / chunk;
    if (chunks) {
        wf_val b;
        WF_FOR (g, b, 0, chunks, 1) {
            copy_in(l, l->x, WF_VALS(l->outer, l->inner, b), wf_mul(b, chunk), chunk);
        }
        WF_END(g);
    }
    if (l->x_rest)
        copy_in(l, l->x_rest, WF_VALS(l->outer, l->inner), WF_V(chunks * chunk), n - chunks * chunk);
}

static void copy_rows_out(const pass_line *l)
{
    wf_graph *g = l->line.g;
    int32_t chunk = wfl_pass_chunk((wf_dtype)l->pass->out), n = wfl_pass_elements_out(l->pass), chunks = n / chunk;
    if (chunks) {
        wf_val b;
        WF_FOR (g, b, 0, chunks, 1) {
            for (int32_t c = 0; c < chunk; ++c)
                wf_write(g, l->y, result(l, wf_add(wf_mul(b, chunk), c), c % 2), l->outer, l->inner, b, c);
        }
        WF_END(g);
    }
    for (int32_t c = 0; l->y_rest && c < n - chunks * chunk; ++c)
        wf_write(g, l->y_rest, result(l, WF_V(chunks * chunk + c), c % 2), l->outer, l->inner, c);
}

/* Writes the spectra of real lines that are neighbours. */
static void copy_spectra_out(const pass_line *l)
{
    wf_graph *g = l->line.g;
    wf_val k;
    WF_FOR (g, k, 0, wfl_pass_elements_out(l->pass), 1) {
        wf_write(g, l->y, result(l, k, false), l->outer, k, l->inner);
    }
    WF_END(g);
}

/* ---- filters ---- */
typedef struct filter_call {
    wf_hook *hook;
    wf_site site;
} filter_call;

static void call_filter(const wf_site *site)
{
    const filter_call *c = site->user;
    c->hook(&c->site);
}

wf_val wfl_filter_call(wf_graph *g, const wfl_filter *filter, wf_val outer, wf_val k, wf_val inner, wf_val v)
{
    wf_val index[WF_MAX_RANK];
    const wf_shape *s = &filter->shape;
    for (int d = filter->axis - 1; d >= 0; --d) {
        index[d] = d ? wf_mod(outer, (double)s->dim[d]) : outer;
        outer = wf_idiv(outer, (double)s->dim[d]);
    }
    index[filter->axis] = k;
    for (int d = s->rank - 1; d > filter->axis; --d) {
        index[d] = d > filter->axis + 1 ? wf_mod(inner, (double)s->dim[d]) : inner;
        inner = wf_idiv(inner, (double)s->dim[d]);
    }
    for (int d = 0; d < s->rank; ++d)
        index[d] = filter->origin ? wf_add(index[d], wf_read(g, filter->origin, d)) : wf_cast(index[d], WF_I64);
    wf_var in = wf_local(g, wf_val_dtype(v), v), out = wf_local(g, wf_val_dtype(v), v);
    filter_call c = { filter->hook,
                      { .graph = g,
                        .user = filter->user,
                        .index = index,
                        .in = &in,
                        .out = &out,
                        .rank = s->rank,
                        .n_in = 1,
                        .n_out = 1 } };
    wf_call_(g, "wf_fft_filter", (wf_function){ call_filter, &c }, WF_NO_VALS, WF_NO_VARS);
    return wf_get(out);
}

static void write_filtered(wfl_line *line, wf_val k, wf_val place, wfl_pair v)
{
    const pass_line *l = of(line);
    wf_val outer = wf_add(l->outer, l->first);
    wf_val filtered = wfl_filter_call(line->g, l->filter, outer, k, l->inner, wf_complex(v.re, v.im));
    wfl_pair result = parts(l, wf_cast(filtered, line->part == WF_F64 ? WF_C128 : WF_C64));
    wfl_line_put(line, line->work, place, wfl_pair_swapped(result));
}

static void write_back(wfl_line *line, wf_val k, wf_val place, wfl_pair v)
{
    (void)place;
    const pass_line *l = of(line);
    wf_write(line->g, l->y, complex_of(l, wfl_pair_swapped(v)), l->outer, k, l->inner);
}

static void record_line(pass_line *l)
{
    if (l->filter) {
        wfl_line_forward(&l->line, &l->length.radices, read_complex, write_filtered);
        wfl_line_backward(&l->line, &l->length.radices, write_back);
        return;
    }
    wfl_line *line = &l->line;
    if (wfl_pass_is_direct(l->pass)) {
        wfl_line_forward(line, &l->length.radices, reader_of(l), write_row);
        return;
    }
    bool through_other = l->pass->rows_out || l->pass->kind == WFL_FFT_R2C;
    wfl_write *write = through_other ? write_other : write_out;
    if (l->pass->rows_in)
        copy_rows_in(l);
    if (l->length.chirps)
        wfl_line_bluestein(line, l->length.core, l->length.results, &l->length.radices, reader_of(l), write);
    else
        wfl_line_forward(line, &l->length.radices, reader_of(l), write);
    if (l->pass->kind == WFL_FFT_R2C && l->length.untangled)
        wfl_line_put(line, line->other, WF_V(l->length.core), wfl_line_get(line, line->other, WF_V(0)));
    if (l->pass->rows_out)
        copy_rows_out(l);
    else if (through_other)
        copy_spectra_out(l);
}

static void formal_rows(wf_graph *g, const wfl_pass *pass, bool rows, bool pairs, wf_dtype dtype, int64_t n,
                        const char *name, const char *rest_name, wf_array **whole, wf_array **rest)
{
    int64_t chunk = wfl_pass_chunk(dtype);
    int rank = rows ? 4 : pass->inner && !pairs ? 2 : 3;
    *rest = rows && n % chunk ? wf_formal(g, rest_name, dtype, 3) : NULL;
    *whole = !rows || n >= chunk ? wf_formal(g, name, dtype, rank) : NULL;
}

/* Each point is an element of the result. x and y: [lines, elements]. */
static wf_kernel *compile_tangled(wf_context *ctx, const wfl_pass *pass, const char *function)
{
    wf_dtype part = (wf_dtype)pass->part;
    double core = (double)(pass->n / 2);
    wf_graph *g = wf_begin_with(
        ctx,
        &(wf_space){ .size = sizeof(wf_space), .name = function, .shape = WF_SHAPE(1, 1), .device = pass->device });
    wf_array *y = wf_formal(g, "y", (wf_dtype)pass->out, 2), *x = wf_formal(g, "x", (wf_dtype)pass->in, 2);
    wf_array *table = wf_formal(g, "table", part, 2);
    pass_line l = { .pass = pass, .line = { .g = g, .part = part } };
    wf_val line = wf_index(g, 0), k = wf_index(g, 1), other = wf_sub(core, k);
    wfl_pair root = { wf_read(g, table, k, 0), wf_read(g, table, k, 1) };
    bool back = pass->kind == WFL_FFT_TANGLE;
    wf_border border = back ? WF_BORDER_NONE : WF_BORDER_PERIODIC; /* element `core` is element 0 */
    wfl_pair a = parts(&l, wf_read_border(g, x, border, 0, line, k));
    wfl_pair b = parts(&l, wf_read_border(g, x, border, 0, line, other));
    wfl_pair v = back ? tangled(root, real_at_0(k, a), real_at_0(k, b)) : untangled(root, a, b);
    wf_write(g, y, wf_complex(v.re, v.im), line, k);
    return wf_compile(g);
}

wf_kernel *wfl_pass_compile(wf_context *ctx, const wfl_pass *pass, int32_t lanes, const wfl_table *at,
                            const wfl_filter *filter, const char *function)
{
    if (wfl_pass_is_tangled(pass))
        return compile_tangled(ctx, pass, function);
    pass_line l = { .pass = pass, .length = wfl_lengths_of(pass), .filter = filter };
    int32_t looped = wfl_largest_looped(&l.length.radices);
    bool works = l.length.radices.n > 1 || l.length.chirps || filter,
         scratch = works || looped || wfl_pass_needs_other(pass);
    wf_graph *g = wf_begin_with(ctx, &(wf_space){ .size = sizeof(wf_space),
                                                  .name = function,
                                                  .shape = WF_SHAPE(1, lanes),
                                                  .block = scratch ? WF_SHAPE(1, lanes) : (wf_shape){ .rank = 0 },
                                                  .device = pass->device });
    wf_dtype part = (wf_dtype)pass->part;
    l.line = (wfl_line){ .g = g, .part = part, .at = *at, .user = &l };
    l.outer = wf_index(g, 0);
    l.inner = wf_index(g, 1);
    bool one = pass->inner == lanes; /* block along this axis */
    l.line.lane = scratch && !one ? wf_sub(l.inner, wf_mul(wf_block_id(g, 1), lanes)) : l.inner;
    formal_rows(g, pass, pass->rows_out, pass->pairs_out, (wf_dtype)pass->out, wfl_pass_elements_out(pass), "y",
                "y_rest", &l.y, &l.y_rest);
    if (pass->in_place) {
        l.x = l.y;
        l.x_rest = l.y_rest;
    } else {
        formal_rows(g, pass, pass->rows_in, pass->pairs_in, (wf_dtype)pass->in, wfl_pass_elements_in(pass), "x",
                    "x_rest", &l.x, &l.x_rest);
    }
    if (at->pairs)
        l.line.table = wf_formal(g, "table", part, 1);
    if (pass->twist)
        l.twist = wf_formal(g, "twist", part, 1);
    if (pass->started)
        l.start = wf_formal(g, "start", part == WF_F64 ? WF_C128 : WF_C64, 1);
    if (pass->scaled)
        l.scale = wf_param(g, "fft scale", part, 1);
    if (filter)
        l.first = wf_param(g, "fft first", WF_I64, 0);
    if (works)
        l.line.work = wf_scratch(g, part, WF_SHAPE(l.length.steps, 2, lanes), false);
    if (wfl_pass_needs_other(pass))
        l.line.other = wf_scratch(g, part, WF_SHAPE(wfl_other_room(&l.length), 2, lanes), false);
    if (looped)
        l.line.looped = wf_scratch(g, part, WF_SHAPE(looped, 2, lanes), false);
    record_line(&l);
    return wf_compile(g);
}
