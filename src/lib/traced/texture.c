/* texture.c - reads between elements: finds, for each axis, the elements around a position and their weights, then sums
 * over all combinations. All channels share the indices, so that their reads become one.
 */
#include "weft/traced.h"

enum { MOST_AXES = 3, MOST_TAPS = 4, MOST_CHANNELS = 64 };

typedef struct axis {
    wf_val index[MOST_TAPS], weight[MOST_TAPS];
} axis;

typedef struct sampler {
    wf_graph *g;
    const wf_texture *t;
    wf_dtype dtype; /* of the computation */
    int axes, channels, taps;
    axis axis[MOST_AXES];
} sampler;

/* Computes the weights of the cubic B-spline for the elements at -1, 0, 1 and 2 from the element below the position. */
static void cubic_weights(wf_val t, wf_val w[MOST_TAPS])
{
    wf_val s = wf_sub(1, t), t2 = wf_mul(t, t), s2 = wf_mul(s, s);
    w[0] = wf_mul(wf_mul(s2, s), 1.0 / 6);
    w[1] = wf_add(wf_mul(wf_mul(t2, wf_sub(t, 2)), 0.5), 2.0 / 3);
    w[2] = wf_add(wf_mul(wf_mul(s2, wf_sub(s, 2)), 0.5), 2.0 / 3);
    w[3] = wf_mul(wf_mul(t2, t), 1.0 / 6);
}

static void look_around(sampler *s, int d, wf_val position)
{
    axis *a = &s->axis[d];
    wf_val x = wf_cast(position, s->dtype);
    if (!s->t->pixels)
        x = wf_mul(x, wf_cast(wf_dim(s->g, s->t->array, d), s->dtype));
    double half = s->t->filter == WF_FILTER_NEAREST ? (s->t->pixels ? 0.5 : 0) : (s->t->pixels ? 0 : -0.5);
    x = half != 0 ? wf_add(x, half) : x;
    wf_val below = wf_floor(x), t = wf_sub(x, below), at = wf_cast(below, WF_I64);
    if (s->t->filter == WF_FILTER_NEAREST) {
        a->index[0] = at;
        return;
    }
    int first = s->t->filter == WF_FILTER_CUBIC ? -1 : 0;
    for (int k = 0; k < s->taps; ++k)
        a->index[k] = first + k ? wf_add(at, first + k) : at;
    a->weight[0] = wf_sub(1, t);
    a->weight[1] = t;
    if (s->t->filter == WF_FILTER_CUBIC)
        cubic_weights(t, a->weight);
}

/* Adds up the weighted elements over all combinations of taps of the axes from d on. */
static void read_from(const sampler *s, int d, wf_val *index, wf_val *out)
{
    if (d >= s->axes || d >= MOST_AXES) {
        for (int c = 0; c < s->channels; ++c) {
            wf_vals at = { index, (size_t)(s->axes + (s->t->channels > 0)) };
            wf_border wrap = s->t->wrap == WF_BORDER_NONE ? WF_BORDER_CLAMP : s->t->wrap;
            index[s->axes] = wf_const_i64(s->g, WF_I64, c);
            out[c] =
                wf_cast(wf_read_border_n(s->g, s->t->array, wrap, wf_const(s->g, wf_array_dtype(s->t->array), 0), at),
                        s->dtype);
        }
        return;
    }
    wf_val part[MOST_CHANNELS];
    for (int k = 0; k < s->taps; ++k) {
        index[d] = s->axis[d].index[k];
        read_from(s, d + 1, index, part);
        for (int c = 0; c < s->channels; ++c) {
            wf_val x = s->t->filter == WF_FILTER_NEAREST ? part[c] : wf_mul(part[c], s->axis[d].weight[k]);
            out[c] = k ? wf_add(out[c], x) : x;
        }
    }
}

static const char *mistake(const wf_texture *t, wf_vals position)
{
    if (!t || !t->array)
        return "wf_texture_read: no texture, or one without an array";
    wf_shape shape = wf_array_shape(t->array);
    if (position.n < 1 || position.n > MOST_AXES)
        return "wf_texture_read: needs 1 to 3 positions, one for each axis";
    if (t->channels < 0 || t->channels > MOST_CHANNELS)
        return "wf_texture_read: a texture has 0 to 64 channels";
    if (shape.rank != (int32_t)position.n + (t->channels > 0))
        return t->channels ? "wf_texture_read: the array's axes are not those of the positions and one of channels"
                           : "wf_texture_read: the array's axes are not those of the positions";
    if (t->channels > 0 && wf_array_state(t->array) != WF_STATE_FORMAL && shape.dim[shape.rank - 1] < t->channels)
        return "wf_texture_read: the array has fewer channels";
    if ((int)t->filter < 0 || t->filter > WF_FILTER_CUBIC || (int)t->wrap < 0 || t->wrap > WF_BORDER_REFLECT)
        return "wf_texture_read: no such filter or wrap mode";
    if (wf_dtype_kind(wf_array_dtype(t->array)) == WF_KIND_COMPLEX)
        return "wf_texture_read: complex arrays have no textures; read real and imaginary parts";
    return NULL;
}

void wf_texture_read(wf_graph *graph, const wf_texture *texture, wf_vals position, wf_val *out)
{
    const char *wrong = !out                         ? "wf_texture_read: `out` is NULL"
                        : !position.at && position.n ? "wf_texture_read: `position` is NULL"
                                                     : mistake(texture, position);
    int channels = texture && texture->channels > 0 && texture->channels <= MOST_CHANNELS ? texture->channels : 1;
    for (int c = 0; c < channels && out; ++c)
        out[c] = (wf_val){ { 0, graph } };
    if (wrong) {
        wf_fail(graph, WF_ERR_ARG, wrong);
        return;
    }
    sampler s = { .g = graph, .t = texture, .axes = (int)position.n, .channels = channels };
    s.taps = texture->filter == WF_FILTER_NEAREST ? 1 : texture->filter == WF_FILTER_LINEAR ? 2 : 4;
    s.dtype = wf_array_dtype(texture->array) == WF_F64 ? WF_F64 : WF_F32;
    for (int d = 0; d < s.axes; ++d)
        s.dtype = wf_val_dtype(position.at[d]) == WF_F64 ? WF_F64 : s.dtype;
    for (int d = 0; d < s.axes; ++d)
        look_around(&s, d, position.at[d]);
    wf_val index[MOST_AXES + 1];
    read_from(&s, 0, index, out);
}
