/* test_text_derivatives.c - derivatives in operator text, beside closed forms.
 *
 * ctest: devices
 */
#include "on_devices.h"

static wf_array *evaluated(const char *text, wf_array *a, wf_array *b)
{
    wf_array *out = wf_full(ctx, WF_F64, WF_SHAPE(4), 9);
    OK(ctx, wf_text_n(ctx, text, WF_ARGS(WF_ARG("a", a), WF_ARG("b", b), WF_ARG("out", out))));
    return out;
}

static void values(void **state)
{
    (void)state;
    const double x[4] = { 0.5, -1, 2, 0.25 }, y[4] = { 1, 2, 3, 4 };
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(4), x), *b = array_of(ctx, WF_F64, WF_SHAPE(4), y);
    static const char *const texts[] = { "L = sum((sin(a) - b)**2); out = grad(L, a)",
                                         "out = grad(a**3, a, b)",
                                         "out = tangent(grad(a**3, a, 1), a, b)",
                                         "m = mean(a); out = grad(sum((a - m)**2), a)",
                                         "out = grad(sum(a * stop(a)), a)",
                                         "s = a * a; out = grad(sum(s * b), s)",
                                         "out = grad(sum(a > 0 ? a * b : 0), a)",
                                         "out = grad(sum(floor(a)), a)" };
    double mean = (x[0] + x[1] + x[2] + x[3]) / 4;
    for (int k = 0; k < 8; ++k) {
        wf_array *out = evaluated(texts[k], a, b);
        double *got = contents(out);
        for (int i = 0; i < 4; ++i) {
            const double want[8] = { 2 * (sin(x[i]) - y[i]) * cos(x[i]),
                                     3 * x[i] * x[i] * y[i],
                                     6 * x[i] * y[i],
                                     2 * (x[i] - mean),
                                     x[i],
                                     y[i],
                                     x[i] > 0 ? y[i] : 0,
                                     0 };
            if (!(fabs(got[i] - want[k]) <= 1e-12 * (1 + fabs(want[k]))))
                fail_msg("%s: element %d is %.17g, should be %.17g", texts[k], i, got[i], want[k]);
        }
        free(got);
        wf_release(out);
    }
    wf_release(a);
    wf_release(b);
}

static void refused(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F64, WF_SHAPE(4), 1), *b = wf_full(ctx, WF_I32, WF_SHAPE(4), 1), *out = wf_like(a);
    static const struct {
        const char *text, *message;
        wf_status status;
    } rows[] = { { "out = grad(a, a)", "the loss has shape (4)", WF_ERR_SHAPE },
                 { "out = grad(sum(b), b)", "only floats", WF_ERR_DTYPE },
                 { "out = grad(sum(a), 2)", "with respect to a number", WF_ERR_SYNTAX },
                 { "out = grad(sum(a))", "takes 2 to 3 arguments", WF_ERR_SYNTAX },
                 { "out = grad(sum(a), a; 0)", "takes no axes", WF_ERR_SYNTAX },
                 { "s = sort(a); out = grad(sum(s), a)", "sees only what is computed with it", WF_ERR_UNSUPPORTED } };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        REFUSED(ctx, wf_text_n(ctx, rows[k].text, WF_ARGS(WF_ARG("a", a), WF_ARG("b", b), WF_ARG("out", out))),
                rows[k].status, rows[k].message);
    wf_release(a);
    wf_release(b);
    wf_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(values), cmocka_unit_test(refused) };
    return RUN_ON_ALL(tests);
}
