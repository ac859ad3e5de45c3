// C++17 with operators, by weft.hpp: a convolution, a masked mean, atomic operations, derivatives, a fixed point, loops,
// a prepared kernel, complex numbers.
#include "weft/weft.hpp"
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>
using namespace weft;

constexpr int K = 11, HALO = K / 2, H = 40, W = 57;

static wf_status convolve(wf_context *ctx, const wf_array *img, const wf_array *ker, wf_array *out)
{
    graph g(ctx, wf_array_shape(out));
    val i = g.index(0), j = g.index(1), sum = 0.f;
    for (int y = 0; y < K; ++y)
        for (int x = 0; x < K; ++x)
            sum = sum + g.read_or(img, 0, i + (y - HALO), j + (x - HALO)) * g.read(ker, y, x);
    g.write(out, sum, i, j);
    return g.run();
}

// The mean of sqrt|x| where x > 0.
static wf_status mean_of_positive(wf_context *ctx, const wf_array *array, wf_array *mean)
{
    graph g(ctx, reduce_all);
    val x = g.in(array), positive = x > 0;
    var sum = g.reduced(WF_F64, 0, WF_JOIN_ADD), n = g.reduced(WF_I64, 0, WF_JOIN_ADD);
    sum += select(positive, sqrt(abs(x)), 0);
    n += select(positive, 1, cast(0, WF_I64));
    g.post();
    g.out(mean, sum / cast(n, WF_F64));
    return g.run();
}

// One step of Newton's method for sin x = 0 at every x: counts those that end within a limit of 0, and marks those below 0.
static wf_status find_roots(wf_context *ctx, wf_array *x, const wf_array *limit, wf_array *near, wf_array *below)
{
    graph g(ctx, wf_array_shape(x));
    var at = g.local(WF_F64, g.in(x));
    at -= sin(at) / cos(at);
    at /= 2;
    at *= 2;
    g.out(x, at);
    g.atomic_if(hypot(at, 0.0) < g.read(limit), WF_JOIN_INC, near, 0); // arrays of rank 0 have no index
    g.write_if(signbit(at), below, 1, g.index(0));
    return g.run();
}

static int test_roots(context &ctx)
{
    double points[4] = { 3, 6.5, 0.25, -0.125 }, most = 1;
    std::int64_t count = 0;
    std::uint8_t sign[4] = { 0, 0, 0, 0 };
    array x = ctx.wrap(points, { 4 }), limit = ctx.wrap(&most, {}), near = ctx.wrap(&count, {});
    array below = ctx.wrap(sign, { 4 });
    wf_status status = find_roots(ctx, x, limit, near, below);
    const double start[4] = { 3, 6.5, 0.25, -0.125 };
    int wrong = status != WF_OK || count != 2;
    for (int i = 0; i < 4; ++i) {
        wrong += std::fabs(points[i] - (start[i] - std::tan(start[i]))) > 1e-14;
        wrong += (sign[i] == 1) != (points[i] < 0);
    }
    return wrong;
}

// x^2, whose derivative is twice what it should be.
static wf_rule doubled()
{
    wf_rule rule = {};
    rule.name = "doubled";
    rule.call = [](const wf_rule_site *s) { s->result[0] = wf_mul(s->in[0], s->in[0]); };
    rule.vjp = [](const wf_rule_site *s) {
        s->result[0] = wf_mul(wf_mul(s->in[0], wf_const(s->graph, WF_F64, 4)), s->seed[0]);
    };
    return rule;
}

// Derivatives of the sum of sin(x) y^2 with respect to both, and of sin(x) in the direction y.
static wf_status differentiate(wf_context *ctx, const wf_array *xs, const wf_array *ys, wf_array *result)
{
    graph g(ctx);
    val x = g.in(xs), y = g.in(ys), s = sin(x), loss = sum(s * y * y);
    auto [gx, gy] = grad(loss, x, y);
    val same = grad(loss, x) - gx;           // 0
    val along = vjp(s, y, x) - jvp(s, x, y); // 0: the derivative of each element is its own
    val constant = grad(sum(x * stop(s)), x);
    same = same + grad(sum(custom(doubled(), x)), x) - 4 * x + grad(sum(replace_gradient(x, s)), x) - cos(x); // 0
    bool known = depends(loss, x, y) && !depends(stop(s), x);
    val even = 2 * wf_iota(g, wf_array_shape(xs), 0);
    const wf_shape shape = wf_array_shape(result);
    g.out(result, scatter(gx, shape, even) + scatter(gy + same + along + (known ? 0 : 9) * constant, shape, even + 1));
    return g.run();
}

static int test_derivatives(context &ctx)
{
    double px[4] = { 0.5, -1, 2, 0.25 }, py[4] = { 1, 2, -3, 4 }, got[8];
    array x = ctx.wrap(px, { 4 }), y = ctx.wrap(py, { 4 }), out = ctx.wrap(got, { 8 });
    int wrong = differentiate(ctx, x, y, out) != WF_OK;
    for (int i = 0; i < 4; ++i) {
        wrong += std::fabs(got[2 * i] - std::cos(px[i]) * py[i] * py[i]) > 1e-12;
        wrong += std::fabs(got[2 * i + 1] - 2 * std::sin(px[i]) * py[i]) > 1e-12;
    }
    if (wrong)
        std::fprintf(stderr, "derivatives: %s\n", wf_last_message(ctx));
    return wrong;
}

// Kepler's equation, E = M + e sin E, and its solution's derivatives 1 / (1 - e cos E) and sin E / (1 - e cos E).
static int test_optimize(context &ctx)
{
    wf_iteration kepler = {};
    kepler.size = sizeof kepler;
    kepler.step = [](const wf_rule_site *s) { s->result[0] = val(s->in[1]) + val(s->in[2]) * sin(val(s->in[0])); };
    kepler.tolerance = 1e-15;
    double pm[2] = { 0.5, -2 }, pe[2] = { 0.3, 0.6 }, got[2], by_m[2], by_e[2];
    array m = ctx.wrap(pm, { 2 }), e = ctx.wrap(pe, { 2 });
    graph g(ctx);
    val mean = g.in(m), eccentricity = g.in(e), anomaly = fixed_point(kepler, mean, mean, eccentricity);
    auto [gm, ge] = grad(sum(anomaly), mean, eccentricity);
    g.out(ctx.wrap(got, { 2 }), anomaly);
    g.out(ctx.wrap(by_m, { 2 }), gm);
    g.out(ctx.wrap(by_e, { 2 }), ge);
    int wrong = g.run() != WF_OK;
    for (int i = 0; i < 2; ++i) {
        double slope = 1 - pe[i] * std::cos(got[i]);
        wrong += std::fabs(got[i] - pe[i] * std::sin(got[i]) - pm[i]) > 1e-13;
        wrong += std::fabs(by_m[i] - 1 / slope) > 1e-10 || std::fabs(by_e[i] - std::sin(got[i]) / slope) > 1e-10;
    }
    wf_loss *right = [](wf_graph *, const wf_val *p, void *) -> wf_val { return sum(sin(val(p[0])) * p[1]); };
    wf_loss *bad = [](wf_graph *, const wf_val *p, void *) -> wf_val {
        return sum(val(p[1]) * custom(doubled(), val(p[0])));
    };
    wrong += check_gradient(ctx, { m, e }, right).differs;
    wrong += !check_gradient(ctx, { m, e }, bad).differs;
    if (wrong)
        std::fprintf(stderr, "optimize: %s\n", wf_last_message(ctx));
    return wrong;
}

// The steps that 3 n + 1 takes to 1, by a prepared kernel, and those of them that are odd; 0 and 0 for n = 0.
static int test_control(context &ctx)
{
    const std::int64_t numbers[6] = { 0, 1, 2, 7, 27, 97 }, want[6] = { 0, 0, 1, 16, 111, 118 };
    const std::int64_t want_odd[6] = { 0, 0, 0, 5, 41, 43 };
    std::int64_t steps[6], odd_steps[6];
    graph g(ctx, shape({ 6 }), WF_HERE);
    wf_array *n = g.formal("n", WF_I64, 1), *out = g.formal("steps", WF_I64, 1), *odd = g.formal("odd", WF_I64, 1);
    val i = g.index(0), first = g.read(n, i), most = g.param("most", WF_I64, 0);
    var x = g.local(WF_I64, first), count = g.local(WF_I64, 0), odds = g.local(WF_I64, 0);
    g.if_(!(first == 0), [&] {
        g.while_([&] { return (x != 1) & (count < most); },
                 [&] {
                     g.if_else(
                         x % 2 == 0, [&] { x = idiv(x, 2); },
                         [&] {
                             x = x * 3 + 1;
                             odds += 1;
                         });
                     count += 1;
                 });
    });
    g.write(out, count, i);
    g.write(odd, odds, i);
    const kernel k(g.compile());
    array from = ctx.wrap(numbers, { 6 }), to = ctx.wrap(steps, { 6 }), to_odd = ctx.wrap(odd_steps, { 6 });
    int wrong = k.launch({ arg("n", from), arg("steps", to), arg("odd", to_odd), arg("most", 1000) }) != WF_OK;
    for (int j = 0; j < 6; ++j)
        wrong += steps[j] != want[j] || odd_steps[j] != want_odd[j];
    wrong += k.launch({ arg("n", to), arg("steps", from), arg("odd", to_odd), arg("most", 1000) }) == WF_OK;
    wf_clear_error(ctx); // the memory of `from` is constant
    wrong += g.run() != WF_ERR_CONTRACT || g.compile() || !std::strstr(wf_last_message(ctx), "has ended");
    wf_clear_error(ctx);
    return wrong;
}

// Sums of powers of complex numbers, by a loop that is recorded once, and by one of C++, which is recorded turn by turn.
static int test_sums(context &ctx)
{
    const std::complex<double> z[2] = { { 0.5, 0.25 }, { -1, 0.5 } };
    std::complex<double> got[2][2];
    graph g(ctx, shape({ 2 }));
    val i = g.index(0), x = g.read(ctx.wrap(z, { 2 }), i), power = x, sum = x;
    var looped = g.local(WF_C128, x), turn = g.local(WF_C128, x);
    for (int n = 2; n <= 5; ++n) {
        power *= x;
        sum += power;
    }
    g.for_(2, 6, [&](const val &) {
        turn *= x;
        looped += turn;
    });
    array out = ctx.wrap(&got[0][0], { 2, 2 });
    g.write(out, sum, i, 0);
    g.write(out, looped, i, 1);
    int wrong = g.run() != WF_OK;
    for (int j = 0; j < 2; ++j) {
        const std::complex<double> want = z[j] * (1.0 + z[j] * (1.0 + z[j] * (1.0 + z[j] * (1.0 + z[j]))));
        wrong += std::abs(got[j][0] - want) > 1e-14 || std::abs(got[j][1] - want) > 1e-14;
    }
    if (wrong)
        std::fprintf(stderr, "sums: %s\n", wf_last_message(ctx));
    return wrong;
}

int main()
{
    std::vector<float> image(H * W), window(K * K), result(H * W);
    for (std::size_t k = 0; k < image.size(); ++k)
        image[k] = float(k * 7919 % 1000) / 1000 - 0.25f;
    for (std::size_t k = 0; k < window.size(); ++k)
        window[k] = float(k * 31 % 17) / 17;

    context ctx;
    array img = ctx.wrap(image.data(), { H, W }), ker = ctx.wrap(window.data(), { K, K });
    // With a GPU, the mean is in memory that the GPU and the processor share.
    wf_memory memory = ctx.device_count() > 0 ? WF_MEMORY_PINNED : WF_MEMORY_DEVICE;
    array out = ctx.wrap(result.data(), { H, W }), mean = ctx.empty(WF_F64, { 1 }, WF_CPU, memory);
    wf_device_info here = ctx.device_info(WF_CPU);
    stream background(ctx);
    wf_status status = WF_OK;
    {
        stream_scope here(ctx, background); // recordings of this block are queued in the stream
        status = convolve(ctx, img, ker, out);
        if (status == WF_OK)
            status = mean_of_positive(ctx, img, mean);
    }
    event done(background);
    if (status == WF_OK)
        status = done.sync();
    if (status == WF_OK)
        status = background.sync(); // reports the first error
    double got = 0;
    if (status == WF_OK)
        status = wf_download(mean, &got, sizeof got);
    if (status != WF_OK)
        std::fprintf(stderr, "%s\n", wf_last_message(ctx));

    int wrong = status != WF_OK || !here.name || here.processors < 1, n = 0;
    double want = 0;
    for (int i = 0; i < H; ++i)
        for (int j = 0; j < W; ++j) {
            double sum = 0;
            for (int y = 0; y < K; ++y)
                for (int x = 0; x < K; ++x) {
                    int iy = i + y - HALO, ix = j + x - HALO;
                    if (iy < 0 || iy >= H || ix < 0 || ix >= W)
                        continue;
                    sum += double(image[std::size_t(iy * W + ix)]) * double(window[std::size_t(y * K + x)]);
                }
            std::size_t k = std::size_t(i * W + j);
            wrong += std::fabs(sum - double(result[k])) > 1e-4;
            if (image[k] > 0)
                want += std::sqrt(double(image[k])), ++n;
        }
    wrong += std::fabs(got - want / n) > 1e-6;
    wrong += test_roots(ctx);
    wrong += test_derivatives(ctx);
    wrong += test_optimize(ctx);
    wrong += test_control(ctx);
    wrong += test_sums(ctx);
    std::printf("usage on %s, %d cores: %d wrong of %d, mean %.6f (%.6f)\n", here.name ? here.name : "?",
                int(here.processors), wrong, H * W, got, want / n);
    return wrong != 0;
}
