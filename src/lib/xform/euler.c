/* euler.c - rotation matrices of Euler angles and matrices that stretch, as values. */
#include "xform_internal.h"

/* Sets m to the right-handed rotation about an axis, for positions (z, y, x). axis: 0 = x, 1 = y, 2 = z. */
static void about(int axis, wf_val angle, wf_val m[3][3])
{
    wf_val c = wf_cos(angle), s = wf_sin(angle), zero = { { 0, NULL } }, one = { { 1, NULL } };
    for (int i = 0; i < 9; ++i)
        m[i / 3][i % 3] = i % 4 ? zero : one;
    /* The plane's coordinates p and q, where positive angles turn p towards q. */
    static const uint8_t plane[3][2] = { { 1, 0 }, { 0, 2 }, { 2, 1 } };
    int p = plane[axis][0], q = plane[axis][1];
    m[p][p] = m[q][q] = c;
    m[q][p] = s;
    m[p][q] = wf_neg(s);
}

/* Sets out to a b. Entries that are the numbers 0 and 1 cost nothing. */
static void multiply(wf_val a[3][3], wf_val b[3][3], wf_val out[3][3])
{
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            wf_val sum = { { 0, NULL } };
            bool empty = true;
            for (int k = 0; k < 3; ++k) {
                double x, y;
                bool left = wf_val_number(a[i][k], &x, NULL), right = wf_val_number(b[k][j], &y, NULL);
                if ((left && x == 0) || (right && y == 0))
                    continue;
                wf_val term = left && x == 1 ? b[k][j] : right && y == 1 ? a[i][k] : wf_mul(a[i][k], b[k][j]);
                sum = empty ? term : wf_add(sum, term);
                empty = false;
            }
            out[i][j] = sum;
        }
}

#undef wf_euler_matrix
void wf_euler_matrix(wf_graph *graph, wf_euler order, wf_val first, wf_val second, wf_val third, wf_val m[9])
{
    static const uint8_t axes[12][3] = { { 0, 1, 0 }, { 0, 2, 0 }, { 1, 0, 1 }, { 1, 2, 1 }, { 2, 0, 2 }, { 2, 1, 2 },
                                         { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    int which = (int)order & ~WF_EULER_EXTRINSIC;
    bool extrinsic = ((int)order & WF_EULER_EXTRINSIC) != 0, inverse = false;
    if (which >= WF_EULER_RELION && which <= WF_EULER_IMOD && !extrinsic) {
        inverse = which != WF_EULER_IMOD;
        extrinsic = which == WF_EULER_DYNAMO;
        which = which == WF_EULER_RELION ? WF_EULER_ZYZ : which == WF_EULER_IMOD ? WF_EULER_XYZ : WF_EULER_ZXZ;
    }
    if (!m || which < 0 || which > WF_EULER_ZYX) {
        for (int i = 0; i < 9 && m; ++i)
            m[i] = (wf_val){ { 0, graph } };
        wfl_xform_fail(graph, WF_ERR_ARG, m ? "wf_euler_matrix: there is no order %d" : "wf_euler_matrix: `m` is NULL",
                       (int)order);
        return;
    }
    wf_val angle[3] = { first, second, third }, r[3][3][3], two[3][3], all[3][3];
    for (int k = 0; k < 3; ++k)
        about(axes[which][k], angle[k], r[k]);
    multiply(extrinsic ? r[2] : r[0], r[1], two);
    multiply(two, extrinsic ? r[0] : r[2], all);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            m[3 * i + j] = inverse ? all[j][i] : all[i][j];
}

#undef wf_stretch_matrix
void wf_stretch_matrix(wf_graph *graph, wf_val major, wf_val minor, wf_val angle, wf_val m[4])
{
    if (!m) {
        wfl_xform_fail(graph, WF_ERR_ARG, "wf_stretch_matrix: `m` is NULL");
        return;
    }
    wf_val more = wf_sub(major, minor), c = wf_cos(angle), s = wf_sin(angle);
    m[0] = wf_add(minor, wf_mul(more, wf_mul(s, s)));
    m[1] = m[2] = wf_mul(more, wf_mul(s, c));
    m[3] = wf_add(minor, wf_mul(more, wf_mul(c, c)));
}
