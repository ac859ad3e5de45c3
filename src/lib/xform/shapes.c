/* shapes.c - signed distances from surfaces around the origin. */
#include "xform_internal.h"

static wf_val poison(wf_graph *g) { return (wf_val){ { 0, g } }; }

static bool coordinates_fit(wf_graph *g, size_t n, size_t least, size_t other, const char *function)
{
    if (n < least || n > WFL_MOST_POSITIONS)
        wfl_xform_fail(g, WF_ERR_ARG, "%s: a position of %zu coordinates; %zu to 3 are possible", function, n, least);
    else if (other != n)
        wfl_xform_fail(g, WF_ERR_ARG, "%s: %zu lengths for a position of %zu coordinates", function, other, n);
    else
        return true;
    return false;
}

/* Returns |x|. Its derivative at 0 is 0, as that of wf_hypot, where that of wf_sqrt is infinite. */
static wf_val norm(const wf_val *x, size_t n)
{
    wf_val sum = wf_mul(x[0], x[0]);
    for (size_t d = 1; d < n; ++d)
        sum = wf_add(sum, wf_mul(x[d], x[d]));
    return wf_select(wf_eq(sum, 0), 0, wf_sqrt(sum));
}

/* Returns the distance from a corner, edge or side where `q` are the signed distances beyond each side. */
static wf_val beyond(const wf_val *q, size_t n)
{
    wf_val out[WFL_MOST_POSITIONS], inside = q[0];
    for (size_t d = 0; d < n; ++d) {
        out[d] = wf_max(q[d], 0);
        inside = d ? wf_max(inside, q[d]) : inside;
    }
    /* On a side, where the norm has the derivative 0, the distance inside has that of both sides. */
    return wf_add(norm(out, n), wf_select(wf_gt(inside, 0), 0, inside));
}

#undef wf_sdf_sphere
wf_val wf_sdf_sphere(wf_graph *graph, wf_vals position, wf_val radius)
{
    if (!wfl_is_list(graph, position, "wf_sdf_sphere") ||
        !coordinates_fit(graph, position.n, 1, position.n, "wf_sdf_sphere"))
        return poison(graph);
    return wf_sub(norm(position.at, position.n), radius);
}

wf_val wf_sdf_ellipsoid(wf_graph *graph, wf_vals position, wf_vals radii)
{
    if (!wfl_is_list(graph, position, "wf_sdf_ellipsoid") || !wfl_is_list(graph, radii, "wf_sdf_ellipsoid") ||
        !coordinates_fit(graph, position.n, 1, radii.n, "wf_sdf_ellipsoid"))
        return poison(graph);
    /* f = |x / r| is 1 on the surface; f - 1 over the length of f's gradient, |x / r^2| / f, is the distance. */
    wf_val scaled[WFL_MOST_POSITIONS], twice[WFL_MOST_POSITIONS], least = radii.at[0];
    for (size_t d = 0; d < position.n; ++d) {
        scaled[d] = wf_div(position.at[d], radii.at[d]);
        twice[d] = wf_div(scaled[d], radii.at[d]);
        least = d ? wf_min(least, radii.at[d]) : least;
    }
    wf_val f = norm(scaled, position.n), slope = norm(twice, position.n);
    wf_val near = wf_div(wf_mul(f, wf_sub(f, 1)), slope);
    return wf_select(wf_gt(slope, 0), near, wf_neg(least)); /* the centre */
}

wf_val wf_sdf_box(wf_graph *graph, wf_vals position, wf_vals half)
{
    if (!wfl_is_list(graph, position, "wf_sdf_box") || !wfl_is_list(graph, half, "wf_sdf_box") ||
        !coordinates_fit(graph, position.n, 1, half.n, "wf_sdf_box"))
        return poison(graph);
    wf_val q[WFL_MOST_POSITIONS];
    for (size_t d = 0; d < position.n; ++d)
        q[d] = wf_sub(wf_abs(position.at[d]), half.at[d]);
    return beyond(q, position.n);
}

#undef wf_sdf_cylinder
wf_val wf_sdf_cylinder(wf_graph *graph, wf_vals position, wf_val radius, wf_val half)
{
    if (!wfl_is_list(graph, position, "wf_sdf_cylinder") ||
        !coordinates_fit(graph, position.n, 2, position.n, "wf_sdf_cylinder"))
        return poison(graph);
    wf_val q[2] = { wf_sub(wf_abs(position.at[0]), half), wf_sub(norm(position.at + 1, position.n - 1), radius) };
    return beyond(q, 2);
}
