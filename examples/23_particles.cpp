// C++17 with the libraries, by library.hpp: an image of discs is multiplied by a contrast transfer function, whose phases
// are then flipped back, and template matching finds the discs. Then values between pixels, a filter, and principal axes.
#include "weft/library.hpp"
#include <cmath>
#include <cstdio>
using namespace weft;

constexpr int N = 96, BOX = 25, RADIUS = 7;
constexpr int centers[3][2] = { { 30, 24 }, { 60, 70 }, { 75, 28 } };

// Discs with soft edges.
static wf_status draw(wf_context *ctx, wf_array *out)
{
    graph g(ctx, wf_array_shape(out));
    val sum = 0, y = cast(g.index(0), WF_F32), x = cast(g.index(1), WF_F32);
    for (auto &c : centers)
        sum = sum + soft_edge(sdf_sphere(g, vals(y - c[0], x - c[1]), RADIUS), 2);
    g.out(out, sum);
    return g.run();
}

static wf_status draw_template(wf_context *ctx, wf_array *out)
{
    graph g(ctx, wf_array_shape(out));
    val y = cast(g.index(0), WF_F32), x = cast(g.index(1), WF_F32);
    g.out(out, soft_edge(sdf_sphere(g, vals(y - BOX / 2, x - BOX / 2), RADIUS), 2));
    return g.run();
}

// The spectrum of an image of a microscope, and the same with phases flipped back.
static wf_status image_and_mend(wf_array *f)
{
    ctf microscope;
    microscope.voltage = 300;
    microscope.cs = 2.7;
    microscope.amplitude = 0.1;
    microscope.defocus = 0.4;
    const double pixel = 2;
    const wf_spectrum half{ WF_LAYOUT_H, WF_F32, 2, { N, N } };
    wf_status status = spectrum_filter(f, f, half, [&](wf_graph *, wf_vals k) {
        return microscope.value(val(k.at[0]) / pixel, val(k.at[1]) / pixel);
    });
    if (status != WF_OK)
        return status;
    return spectrum_filter(f, f, half, [&](wf_graph *, wf_vals k) {
        val y = k.at[0], x = k.at[1], value = microscope.value(y / pixel, x / pixel);
        return select(value < 0, -1, 1) * lowpass(hypot(y, x), 0.3, 0.05);
    });
}

// Elements halfway between neighbours.
static wf_status between(wf_context *ctx, const wf_array *img, wf_array *out)
{
    graph g(ctx, wf_array_shape(out));
    wf_interp linear{};
    linear.interpolation = WF_INTERPOLATE_LINEAR;
    val y = cast(g.index(0), WF_F32), x = cast(g.index(1), WF_F32);
    g.out(out, interpolate(g, img, linear, vals(y, x + 0.5)));
    return g.run();
}

int main()
{
    context ctx;
    array img = ctx.empty(WF_F32, { N, N }), part = ctx.empty(WF_F32, { BOX, BOX }), half = ctx.empty(WF_F32, { N, N });
    int wrong = draw(ctx, img) != WF_OK || draw_template(ctx, part) != WF_OK;

    array f(wf_fft_r2c(img, WF_ALL_AXES, WF_FFT_BACKWARD));
    wrong += image_and_mend(f) != WF_OK;
    array mended(wf_fft_c2r(f, N, WF_ALL_AXES, WF_FFT_BACKWARD)), scores(wf_match_template(mended, part, nullptr, 2));
    wf_peak_search search{};
    search.count = 3;
    search.min_distance = 10;
    search.places = true;
    array peaks(wf_correlate_peaks(scores, 2, &search));
    double found[3][3] = {};
    wrong += wf_download(peaks, found, sizeof found) != WF_OK;
    for (auto &c : centers) {
        double nearest = N;
        for (auto &p : found)
            nearest = std::fmin(nearest, std::hypot(p[0] + BOX / 2 - c[0], p[1] + BOX / 2 - c[1]));
        std::printf("disc at %d, %d: the nearest peak is %.2f pixels away\n", c[0], c[1], nearest);
        wrong += !(nearest < 0.7);
    }

    static float before[N][N], after[N][N];
    wrong += wf_download(img, before, sizeof before) != WF_OK || between(ctx, img, half) != WF_OK;
    wrong += wf_download(half, after, sizeof after) != WF_OK;
    for (int x = 0; x + 1 < N; ++x)
        wrong += std::fabs(after[30][x] - (before[30][x] + before[30][x + 1]) / 2) > 1e-6f;

    wrong += fft_filter(half, img, WF_ALL_AXES,
                        [](const wf_site &s) { wf_set(s.out[0], val(wf_get(s.in[0])) * 0.5); }) != WF_OK;
    wrong += wf_download(half, after, sizeof after) != WF_OK;
    for (int x = 0; x < N; ++x)
        wrong += std::fabs(after[60][x] - before[60][x] / 2) > 1e-5f;

    double covariance[4] = { 2, 1, 1, 2 }, values[2] = {};
    array matrix = ctx.wrap(covariance, { 2, 2 });
    eigen axes = eigh(matrix);
    wrong += axes.status != WF_OK || wf_download(axes.values, values, sizeof values) != WF_OK;
    wrong += std::fabs(values[0] - 1) > 1e-12 || std::fabs(values[1] - 3) > 1e-12;
    if (wrong)
        std::printf("%d things are wrong; %s\n", wrong, wf_last_message(ctx));
    return wrong != 0;
}
