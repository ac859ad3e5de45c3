/* library.hpp - the C++17 layer over the libraries' headers, as weft.hpp over weft.h: functions of values whose operands
 * may be numbers, responses and hooks as callables, and results of several arrays with owners. All functions of arrays
 * are used as they are: weft::array smooth(wf_gaussian_filter(img, sigma, axes, WF_BORDER_MIRROR, 0)). */
#ifndef WF_LIBRARY_HPP
#define WF_LIBRARY_HPP
#include "weft/fft.h"
#include "weft/functions.h"
#include "weft/linalg.h"
#include "weft/project.h"
#include "weft/signal.h"
#include "weft/traced.h"
#include "weft/weft.hpp"
#include "weft/xform.h"

namespace weft {
/* Values for a wf_vals, such as a position: interpolate(g, img, how, vals(y + 0.5, x)). It lives as long as the call. */
template <std::size_t N>
struct val_list {
    wf_val at[N];
    operator wf_vals() const { return wf_vals{ at, N }; }
};
template <class... T>
inline val_list<sizeof...(T)> vals(const T &...v)
{
    return { { val(v).v... } };
}

/* ---- signal.h ---- */
#define WEFT_UNARY(name) \
    inline val name(const val &a) { return wf_##name(a.v); }
#define WEFT_BINARY(name) \
    inline val name(const val &a, const val &b) { return wf_##name(a.v, b.v); }
#define WEFT_TERNARY(name) \
    inline val name(const val &a, const val &b, const val &c) { return wf_##name(a.v, b.v, c.v); }
WEFT_TERNARY(lowpass)
WEFT_TERNARY(highpass)
inline val bandpass(const val &r, const val &low, const val &low_width, const val &high, const val &high_width)
{
    return wf_bandpass(r.v, low.v, low_width.v, high.v, high_width.v);
}
WEFT_BINARY(gaussian)
WEFT_TERNARY(butterworth)
WEFT_BINARY(bfactor)
WEFT_BINARY(critical_dose)
WEFT_TERNARY(dose_weight)
WEFT_UNARY(fsc_weight)
WEFT_UNARY(fsc_snr)
WEFT_BINARY(fsc_unmasked)
WEFT_BINARY(wiener)
WEFT_BINARY(soft_edge)
WEFT_UNARY(hann)
WEFT_UNARY(hamming)
WEFT_UNARY(blackman)
WEFT_UNARY(cosine)
WEFT_BINARY(kaiser)
WEFT_BINARY(tukey)
WEFT_UNARY(electron_wavelength)
WEFT_TERNARY(ewald_height)
#undef WEFT_UNARY
#undef WEFT_BINARY
#undef WEFT_TERNARY
inline val freq(wf_graph *g, const wf_spectrum &s, int axis, const val &index) { return wf_freq(g, &s, axis, index.v); }
inline val freq_norm(wf_graph *g, const wf_spectrum &s, wf_vals index) { return wf_freq_norm(g, &s, index); }
inline val hermitian_weight(wf_graph *g, const wf_spectrum &s, wf_vals index)
{
    return wf_hermitian_weight(g, &s, index);
}
inline val phase_shift(wf_graph *g, wf_vals shift, wf_vals k) { return wf_phase_shift(g, shift, k); }
inline val zernike(int n, int m, const val &y, const val &x) { return wf_zernike(n, m, y.v, x.v); }

/* The members of wf_ctf, which may be numbers: ctf c; c.voltage = 300; c.defocus = 1.5; val v = c.value(gy, gx); */
struct ctf {
    val voltage = 0, cs = 0, amplitude = 0, defocus = 0, astigmatism = 0, angle = 0, phase_shift = 0, bfactor = 0,
        scale = 0, aberration = 0;
    operator wf_ctf() const
    {
        return wf_ctf{ voltage.v, cs.v,          amplitude.v, defocus.v, astigmatism.v,
                       angle.v,   phase_shift.v, bfactor.v,   scale.v,   aberration.v };
    }
    val phase(const val &gy, const val &gx) const { return with(wf_ctf_phase, gy, gx); }
    val value(const val &gy, const val &gx) const { return with(wf_ctf_value, gy, gx); }
    val sideband(const val &gy, const val &gx) const { return with(wf_ctf_sideband, gy, gx); }
    val beam_tilt(const val &tilt_y, const val &tilt_x, const val &gy, const val &gx) const
    {
        const wf_ctf c = *this;
        return wf_ctf_beam_tilt(&c, tilt_y.v, tilt_x.v, gy.v, gx.v);
    }
    val spatial_envelope(const val &semi_angle, const val &gy, const val &gx) const
    {
        const wf_ctf c = *this;
        return wf_ctf_spatial_envelope(&c, semi_angle.v, gy.v, gx.v);
    }
    val temporal_envelope(const val &spread, const val &gy, const val &gx) const
    {
        const wf_ctf c = *this;
        return wf_ctf_temporal_envelope(&c, spread.v, gy.v, gx.v);
    }

  private:
    val with(wf_val (*f)(const wf_ctf *, wf_val, wf_val), const val &gy, const val &gx) const
    {
        const wf_ctf c = *this;
        return f(&c, gy.v, gx.v);
    }
};

/* wf_spectrum_filter, wf_image_filter and wf_fft_filter with a callable, which is called once, to record: it returns the
 * factor at the frequencies k.at[0], k.at[1], ...; or gets the wf_site of an element. x may be NULL in spectrum_filter. */
template <class F>
inline wf_status spectrum_filter(wf_array *out, const wf_array *x, const wf_spectrum &s, F response)
{
    return wf_spectrum_filter(
        out, x, &s, [](wf_graph *g, wf_vals k, void *f) -> wf_val { return val((*static_cast<F *>(f))(g, k)).v; },
        &response);
}
template <class F>
inline wf_status image_filter(wf_array *out, const wf_array *x, int rank, F response)
{
    return wf_image_filter(
        out, x, rank, [](wf_graph *g, wf_vals k, void *f) -> wf_val { return val((*static_cast<F *>(f))(g, k)).v; },
        &response);
}
template <class F>
inline wf_status fft_filter(wf_array *out, const wf_array *x, wf_axes axes, F filter)
{
    return wf_fft_filter(
        out, x, axes, [](const wf_site *site) { (*static_cast<F *>(site->user))(*site); }, &filter);
}

/* ---- xform.h ---- */
inline val interpolate(wf_graph *g, const wf_array *a, const wf_interp &how, wf_vals position)
{
    return wf_interpolate(g, a, &how, position);
}
inline void splat(wf_graph *g, wf_array *a, const wf_interp &how, const val &value, wf_vals position)
{
    wf_splat(g, a, &how, value.v, position);
}
inline val spectrum_read(wf_graph *g, const wf_array *a, const wf_spectrum &s, const wf_interp &how, wf_vals at)
{
    return wf_spectrum_read(g, a, &s, &how, at);
}
inline void spectrum_splat(wf_graph *g, wf_array *a, wf_array *weights, const wf_spectrum &s, const wf_interp &how,
                           const val &value, const val &weight, wf_vals at)
{
    wf_spectrum_splat(g, a, weights, &s, &how, value.v, weight.v, at);
}
/* A matrix by rows, for the functions that take wf_val *: m.at. */
template <int N>
struct matrix {
    wf_val at[N * N];
    val operator()(int row, int column) const { return at[row * N + column]; }
};
inline matrix<3> euler_matrix(wf_graph *g, wf_euler order, const val &first, const val &second, const val &third)
{
    matrix<3> m;
    wf_euler_matrix(g, order, first.v, second.v, third.v, m.at);
    return m;
}
inline matrix<2> stretch_matrix(wf_graph *g, const val &major, const val &minor, const val &angle)
{
    matrix<2> m;
    wf_stretch_matrix(g, major.v, minor.v, angle.v, m.at);
    return m;
}
inline val sdf_sphere(wf_graph *g, wf_vals position, const val &radius) { return wf_sdf_sphere(g, position, radius.v); }
inline val sdf_ellipsoid(wf_graph *g, wf_vals position, wf_vals radii) { return wf_sdf_ellipsoid(g, position, radii); }
inline val sdf_box(wf_graph *g, wf_vals position, wf_vals half) { return wf_sdf_box(g, position, half); }
inline val sdf_cylinder(wf_graph *g, wf_vals position, const val &radius, const val &half)
{
    return wf_sdf_cylinder(g, position, radius.v, half.v);
}

/* ---- linalg.h ---- */
/* Results of several arrays; they are NULL unless status is WF_OK. */
struct eigen {
    wf_status status;
    array values, vectors;
};
inline eigen eigh(const wf_array *a)
{
    wf_array *values = nullptr, *vectors = nullptr;
    const wf_status status = wf_eigh(a, &values, &vectors);
    return { status, array(values), array(vectors) };
}
struct singular {
    wf_status status;
    array u, s, vh;
};
inline singular svd(const wf_array *a)
{
    wf_array *u = nullptr, *s = nullptr, *vh = nullptr;
    const wf_status status = wf_svd(a, &u, &s, &vh);
    return { status, array(u), array(s), array(vh) };
}
struct determinants {
    wf_status status;
    array sign, log;
};
inline determinants slogdet(const wf_array *a)
{
    wf_array *sign = nullptr, *log = nullptr;
    const wf_status status = wf_slogdet(a, &sign, &log);
    return { status, array(sign), array(log) };
}
struct orthogonal {
    wf_status status;
    array q, r;
};
inline orthogonal qr(const wf_array *a, bool complete = false)
{
    wf_array *q = nullptr, *r = nullptr;
    const wf_status status = wf_qr(a, complete, &q, &r);
    return { status, array(q), array(r) };
}
} // namespace weft
#endif
