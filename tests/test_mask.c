/* test_mask.c - wf_mask_apply: each shape beside plain C, in all numbers of axes, turned, inverted, off center; values
 * outside; batches; mistakes.
 *
 * ctest: devices
 */
#include "plain_interpolation.h"

/* Returns the mask at a position about the center. */
static double plain_mask(const wf_mask *m, int axes, const double *from)
{
    double at[3], distance = 0, sum = 0, slope = 0, most = -1e30;
    for (int d = 0; d < axes; ++d) {
        at[d] = m->rotation ? 0 : from[d];
        for (int e = 0; e < axes && m->rotation; ++e)
            at[d] += m->rotation[d * axes + e] * from[e];
        sum += at[d] * at[d];
    }
    switch (m->shape) {
    case WF_MASK_SPHERE:
        distance = sqrt(sum) - m->length[0];
        break;
    case WF_MASK_ELLIPSOID: /* to first order */
        sum = 0;
        for (int d = 0; d < axes; ++d) {
            sum += pow(at[d] / m->length[d], 2);
            slope += pow(at[d] / (m->length[d] * m->length[d]), 2);
        }
        distance = slope > 0 ? sqrt(sum) * (sqrt(sum) - 1) / sqrt(slope) : -1e30;
        break;
    default:
        sum = 0;
        for (int d = 0; d < (m->shape == WF_MASK_BOX ? axes : 2); ++d) {
            double q = fabs(at[d]) - m->length[d];
            if (m->shape == WF_MASK_CYLINDER)
                q = d ? sqrt(at[1] * at[1] + (axes > 2 ? at[2] * at[2] : 0)) - m->length[0]
                      : fabs(at[0]) - m->length[1];
            sum += q > 0 ? q * q : 0;
            most = fmax(most, q);
        }
        distance = sqrt(sum) + fmin(most, 0);
    }
    double part = distance <= 0 ? 1 : distance >= m->edge ? 0 : 0.5 * (1 + cos(M_PI * distance / m->edge));
    return m->invert ? 1 - part : part;
}

static void test_shapes(void **state)
{
    (void)state;
    double turn[3][9] = { { 1 } };
    double c = cos(0.5), s = sin(0.5);
    memcpy(turn[1], (double[]){ c, s, -s, c }, 4 * sizeof c);
    memcpy(turn[2], (double[]){ c, 0, s, 0, 1, 0, -s, 0, c }, 9 * sizeof c);
    for (int axes = 1; axes <= 3; ++axes)
        for (int shape = WF_MASK_SPHERE; shape <= WF_MASK_CYLINDER; ++shape)
            for (int n = 1; n <= 9; ++n) {
                if ((shape == WF_MASK_CYLINDER && axes == 1) || (is_on_gpu() && (n + shape) % 4 != 1))
                    continue;
                wf_mask m = { .shape = (wf_mask_shape)shape,
                              .axes = axes,
                              .length = { 2.25, 1.5, 3 },
                              .edge = n % 3 ? 2.5 : 0,
                              .center = { 3.3, 1.2, 2.1 },
                              .rotation = n % 2 ? NULL : turn[axes - 1],
                              .centered = n % 4 == 2,
                              .invert = n % 5 == 1 };
                int64_t dim[3] = { n, 10 - n, n % 4 + 3 }, all = 2;
                wf_shape full = { .rank = axes + 1, .dim = { 2 } };
                for (int d = 0; d < axes; ++d)
                    all *= full.dim[d + 1] = dim[d];
                double *expected = malloc((size_t)all * sizeof *expected), *x = random_numbers(all, (uint64_t)n);
                double *inside = malloc((size_t)all * sizeof *inside), *mixed = malloc((size_t)all * sizeof *mixed);
                double beyond[2] = { 0.5, -2 };
                for (int64_t i = 0; i < all; ++i) {
                    int64_t rest = i;
                    double from[3];
                    for (int d = axes; d-- > 0; rest /= dim[d])
                        from[d] = (double)(rest % dim[d]) - (m.centered ? m.center[d] : (double)(dim[d] / 2));
                    expected[i] = plain_mask(&m, axes, from);
                    inside[i] = expected[i] * x[i];
                    mixed[i] = beyond[rest] + expected[i] * (x[i] - beyond[rest]);
                }
                wf_shape few = { .rank = axes + 1, .dim = { 2, 1, 1, 1 } };
                wf_array *y = wf_empty_with(ctx, WF_F64, full, NULL), *a = numbers_as(WF_C64, full, x);
                wf_array *one = numbers_as(WF_F32, few, beyond), *b = numbers_as(WF_F64, full, x);
                OK(ctx, wf_mask_apply(y, NULL, &m, NULL));
                check_near(y, expected, 1e-13, "mask", 100 * axes + 10 * shape + n);
                OK(ctx, wf_mask_apply(a, a, &m, NULL));
                check_near(a, inside, 2e-6, "complex, in place", 100 * axes + 10 * shape + n);
                OK(ctx, wf_mask_apply(y, b, &m, one));
                check_near(y, mixed, 1e-13, "with values outside", 100 * axes + 10 * shape + n);
                wf_array *spent[] = { y, a, b, one };
                for (int k = 0; k < 4; ++k)
                    wf_release(spent[k]);
                free(expected);
                free(inside);
                free(mixed);
                free(x);
            }
}

static void test_mistakes(void **state)
{
    (void)state;
    double zeros[16] = { 0 };
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(4, 4), zeros), *line = numbers_as(WF_F32, WF_SHAPE(4), zeros);
    wf_array *c = numbers_as(WF_C64, WF_SHAPE(4, 4), zeros), *three = numbers_as(WF_F32, WF_SHAPE(3), zeros);
    const struct {
        wf_mask mask;
        const char *text;
    } masks[] = {
        { { .shape = (wf_mask_shape)4 }, "wf_mask_apply: there is no shape 4" },
        { { .length = { 1 }, .axes = 3 }, "wf_mask_apply: the mask has 3 axes; 1 to 3 of the array's 2 are possible" },
        { { .shape = WF_MASK_CYLINDER, .axes = 1 }, "wf_mask_apply: the mask has 1 axes; 2 to 3 of the array's 2" },
        { { .length = { -1 } }, "wf_mask_apply: mask.length[0] is -1; it must be at least 0" },
        { { .length = { NAN } }, "wf_mask_apply: mask.length[0] is nan; it must be at least 0" },
        { { .shape = WF_MASK_ELLIPSOID, .length = { 1, 0 } },
          "wf_mask_apply: mask.length[1] is 0; it must be above 0" },
        { { .length = { 1 }, .edge = -2 }, "wf_mask_apply: mask.edge is -2; it may not be negative" },
    };
    for (size_t i = 0; i < sizeof masks / sizeof *masks; ++i)
        REFUSED(ctx, wf_mask_apply(a, a, &masks[i].mask, NULL), WF_ERR_ARG, masks[i].text);
    wf_mask m = { .length = { 1 } };
    REFUSED(ctx, wf_mask_apply(NULL, a, &m, NULL), WF_ERR_ARG, "wf_mask_apply: `out` is NULL");
    REFUSED(ctx, wf_mask_apply(a, a, NULL, NULL), WF_ERR_ARG, "wf_mask_apply: `mask` is NULL");
    REFUSED(ctx, wf_mask_apply(a, line, &m, NULL), WF_ERR_SHAPE, "wf_mask_apply: `x` is (4), but `out` is (4, 4)");
    REFUSED(ctx, wf_mask_apply(a, c, &m, NULL), WF_ERR_DTYPE, "wf_mask_apply");
    REFUSED(ctx, wf_mask_apply(a, a, &m, three), WF_ERR_SHAPE, "wf_mask_apply");
    wf_array *none = wf_view_slice(a, 0, 2, 2, 1);
    OK(ctx, wf_mask_apply(none, none, &m, NULL));
    wf_array *spent[] = { a, line, c, three, none };
    for (int i = 0; i < 5; ++i)
        wf_release(spent[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_shapes), cmocka_unit_test(test_mistakes) };
    return RUN_ON_ALL(tests);
}
