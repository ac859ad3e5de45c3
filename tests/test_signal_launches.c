/* test_signal_launches.c - functions of signal.h in frozen sequences, which are replayed with another input, and in
 * streams: the results have the bits of a plain call. Those that read results back are refused in sequences by name.
 *
 * ctest: devices
 */
#include "signal_formulas.h"

enum { H = 16, W = 14 };
static wf_array *kernel, *line, *pattern, *ring, *other;

static wf_array *noise(wf_shape shape, uint64_t seed)
{
    wf_array *a = wf_empty_with(ctx, WF_F32, shape, NULL);
    OK(ctx, wf_array_random_normal(a, (wf_random){ .seed = seed }, 0, 1));
    return a;
}

/* ---- the functions, of an image ---- */
static const wf_axes both = WF_AXES(0, 1);
static const int64_t small[] = { 3, 4 }, large[] = { 9, 11 };
static const double sigma[] = { 1.2, 0.8 };
static wf_array *convolved(wf_array *x) { return wf_convolve(x, kernel, both, WF_BORDER_MIRROR, 0); }
static wf_array *by_lines(wf_array *x) { return wf_convolve_separable(x, WF_ARRAYS(line), both, WF_BORDER_CLAMP, 0); }
static wf_array *smooth(wf_array *x) { return wf_gaussian_filter(x, sigma, both, WF_BORDER_MIRROR, 0); }
static wf_array *slope(wf_array *x)
{
    return wf_gaussian_derivative(x, sigma, (const int[]){ 0, 1 }, both, WF_BORDER_MIRROR, 0);
}
static wf_array *means(wf_array *x) { return wf_uniform_filter(x, large, both, WF_BORDER_PERIODIC, 0); }
static wf_array *median(wf_array *x) { return wf_median_filter(x, small, both, WF_BORDER_REFLECT, 0); }
static wf_array *large_median(wf_array *x) { return wf_median_filter(x, large, both, WF_BORDER_VALUE, 1); }
static wf_array *rank(wf_array *x) { return wf_rank_filter(x, 2, small, both, WF_BORDER_CLAMP, 0); }
static wf_array *opened(wf_array *x) { return wf_morphology_open(x, large, both, WF_BORDER_CLAMP, 0); }
static wf_array *closed(wf_array *x) { return wf_morphology_close(x, small, both, WF_BORDER_CLAMP, 0); }
static wf_array *matched(wf_array *x) { return wf_match_template(x, pattern, NULL, 2); }
static wf_array *map(wf_array *x) { return wf_correlate_map(x, other, 2, WF_CORRELATION_PHASE); }
static wf_array *score(wf_array *x) { return wf_correlate_score(x, other, NULL, WF_ALL_AXES, WF_SCORE_COEFFICIENT); }
static wf_array *then(wf_array *made, wf_array *(*next)(const wf_array *, int)) /* consumes `made` */
{
    wf_array *out = made ? next(made, 2) : NULL;
    wf_release(made);
    return out;
}
static wf_array *peak(wf_array *x) { return then(map(x), wf_correlate_peak); }
static wf_array *power(wf_array *x) { return wf_power_spectrum(x, 6); }

static const wf_spectrum half = { WF_LAYOUT_H, WF_F32, 2, { H, W } };
static wf_val band(wf_graph *g, wf_vals k, void *user)
{
    (void)g;
    (void)user;
    return wf_bandpass(wf_hypot(k.at[0], k.at[1]), 0.05, 0.02, 0.3, 0.1);
}
static wf_array *spectrum_of(const wf_array *x) { return wf_fft_r2c(x, both, WF_FFT_BACKWARD); }
static wf_array *if_ok(wf_array *f, wf_status status)
{
    if (status == WF_OK)
        return f;
    wf_release(f);
    return NULL;
}
static wf_array *filtered(wf_array *x)
{
    wf_array *f = spectrum_of(x);
    return if_ok(f, wf_spectrum_filter(f, f, &half, band, NULL));
}
static wf_array *whitened(wf_array *x)
{
    wf_array *f = spectrum_of(x);
    return if_ok(f, wf_spectrum_whiten(f, f, &half));
}
static wf_array *randomized(wf_array *x)
{
    wf_array *f = spectrum_of(x);
    return if_ok(f, wf_spectrum_randomize(f, f, &half, 0.2, (wf_random){ .seed = 4 }));
}
static wf_array *shells(wf_array *x)
{
    wf_array *f = spectrum_of(x), *out = wf_radial_average(f, &half);
    wf_release(f);
    return out;
}
static wf_array *fsc(wf_array *x)
{
    wf_array *f = spectrum_of(x), *g = spectrum_of(other), *out = wf_fsc(f, g, &half);
    wf_release(f);
    wf_release(g);
    return out;
}

/* ---- those that read something back ---- */
static wf_array *peaks(wf_array *x)
{
    wf_array *m = map(x), *out = wf_correlate_peaks(m, 2, &(wf_peak_search){ .count = 3 });
    wf_release(m);
    return out;
}
static wf_array *in_ring(wf_array *x) { return wf_median_footprint(x, ring, both, WF_BORDER_CLAMP, 0); }
static wf_array *grown(wf_array *x) { return wf_morphology(x, WF_MORPH_DILATE, ring, both, WF_BORDER_CLAMP, 0); }
/* The first columns, taken for a power spectrum. */
static wf_array *fitted(wf_array *x)
{
    wf_array *p = wf_view_slice(x, 1, 0, H / 2 + 1, 1);
    wf_ctf_search search = { .voltage = 300, .cs = 2.7, .amplitude = 0.1, .pixel = 1, .low = 20, .high = 2.5 };
    wf_array *out = wf_ctf_fit(p, &search);
    wf_release(p);
    return out;
}

static const struct {
    wf_array *(*call)(wf_array *x);
    const char *name, *refused; /* refused: the function that freezing names; NULL: none */
} functions[] = {
    { convolved, "convolved", NULL },
    { by_lines, "by lines", NULL },
    { smooth, "smooth", NULL },
    { slope, "slope", NULL },
    { means, "means", NULL },
    { median, "median", NULL },
    { large_median, "large median", NULL },
    { rank, "rank", NULL },
    { opened, "opened", NULL },
    { closed, "closed", NULL },
    { matched, "matched", NULL },
    { map, "map", NULL },
    { score, "score", NULL },
    { peak, "peak", NULL },
    { power, "power", "wf_power_spectrum" },
    { filtered, "filtered", NULL },
    { whitened, "whitened", NULL },
    { randomized, "randomized", NULL },
    { shells, "shells", NULL },
    { fsc, "fsc", NULL },
    { peaks, "peaks", "wf_correlate_peaks" },
    { in_ring, "in a ring", "wf_median_footprint" },
    { grown, "grown", "wf_morphology" },
    { fitted, "fitted", "wf_ctf_fit" },
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void begin(void)
{
    const uint8_t in[9] = { 1, 1, 0, 1, 0, 1, 0, 1, 1 };
    kernel = noise(WF_SHAPE(3, 4), 1);
    line = noise(WF_SHAPE(5), 2);
    pattern = noise(WF_SHAPE(3, 3), 3);
    ring = array_of(ctx, WF_U8, WF_SHAPE(3, 3), in);
    other = noise(WF_SHAPE(H, W), 4);
}

static void end(void)
{
    wf_array *all[] = { kernel, line, pattern, ring, other };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
}

static void same_bits(wf_array *a, wf_array *b, const char *name)
{
    if (!a || !b)
        fail_msg("%s: %s", name, wf_last_message(ctx));
    assert_int_equal(wf_array_count(a), wf_array_count(b));
    size_t bytes = (size_t)wf_array_count(a) * wf_dtype_size(wf_array_dtype(a));
    void *x = contents(a), *y = contents(b);
    if (memcmp(x, y, bytes))
        fail_msg("%s has other bits", name);
    free(x);
    free(y);
}

static void test_frozen(void **state)
{
    (void)state;
    begin();
    for (int f = 0; f < FUNCTIONS; ++f) {
        wf_array *a = noise(WF_SHAPE(H, W), 10), *b = noise(WF_SHAPE(H, W), 11), *want = functions[f].call(b);
        if (!want)
            fail_msg("%s: %s", functions[f].name, wf_last_message(ctx));
        OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
        wf_array *got = functions[f].call(a);
        wf_frozen *frozen = wf_freeze_end(ctx);
        if (functions[f].refused) {
            assert_null(frozen);
            REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, functions[f].refused);
        } else {
            if (!frozen)
                fail_msg("%s: %s", functions[f].name, wf_last_message(ctx));
            OK(ctx, wf_frozen_replay(frozen, WF_ARRAYS(b)));
            same_bits(got, want, functions[f].name);
            wf_frozen_free(frozen);
        }
        wf_array *all[] = { a, b, want, got };
        for (int i = 0; i < 4; ++i)
            wf_release(all[i]);
    }
    end();
}

static void test_streams(void **state)
{
    (void)state;
    begin();
    wf_array *a = noise(WF_SHAPE(H, W), 10), *got[FUNCTIONS], *want[FUNCTIONS];
    for (int f = 0; f < FUNCTIONS; ++f)
        if (!(want[f] = functions[f].call(a)))
            fail_msg("%s: %s", functions[f].name, wf_last_message(ctx));
    wf_stream *stream = wf_stream_new(ctx, 0);
    OK(ctx, wf_set_stream(ctx, 0, stream));
    wf_array *later = wf_array_copy(a); /* queued */
    for (int f = 0; f < FUNCTIONS; ++f)
        got[f] = functions[f].call(later);
    OK(ctx, wf_set_stream(ctx, 0, NULL));
    OK(ctx, wf_stream_sync(stream));
    for (int f = 0; f < FUNCTIONS; ++f) {
        same_bits(got[f], want[f], functions[f].name);
        wf_release(got[f]);
        wf_release(want[f]);
    }
    wf_stream_free(stream);
    wf_release(a);
    wf_release(later);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_frozen), cmocka_unit_test(test_streams) };
    return RUN_ON_ALL(tests);
}
