#!/usr/bin/env python3
"""minimax.py - the polynomials of src/ir/math_*.c: coefficients by Remez exchange.

    tools/minimax.py [name ...]        needs mpmath; gmpy2 makes it much faster

Prints, for each table below, the coefficients for f32 and f64 as C hexadecimal floats and the largest weighted error as a
power of two. A polynomial of n terms is fitted to g on a grid of Chebyshev points with the error weighted by w. Then one
coefficient after the other is rounded to the dtype, and the terms after it make good what they can (by least squares).
"""
import sys
from mpmath import mp, mpf

mp.prec = 240


def solve(rows, rhs):
    """Gauss with partial pivoting."""
    n = len(rows)
    a = [rows[i] + [rhs[i]] for i in range(n)]
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(a[i][k]))
        a[k], a[best] = a[best], a[k]
        for i in range(k + 1, n):
            f = a[i][k] / a[k][k]
            if f:
                a[i] = a[i][:k] + [x - f * y for x, y in zip(a[i][k:], a[k][k:])]
    x = [mpf(0)] * n
    for k in reversed(range(n)):
        x[k] = (a[k][n] - sum(a[k][j] * x[j] for j in range(k + 1, n))) / a[k][k]
    return x


def horner(c, x):
    y = mpf(0)
    for v in reversed(c):
        y = y * x + v
    return y


def fit(xs, g, w, n):
    """Minimax of sum(c[k] x^k) to g with weights w on the grid; returns c and the error."""
    m = n + 1
    pts = [min(len(xs) - 1, max(0, int((1 - mp.cos(mp.pi * (2 * i + 1) / (2 * m))) / 2 * len(xs)))) for i in range(m)]
    c, error = [], mpf(0)
    for _ in range(40):
        rows, rhs = [], []
        for s, i in enumerate(pts):
            row, p = [], mpf(1)
            for _k in range(n):
                row.append(p)
                p = p * xs[i]
            rows.append(row + [(-1) ** s / w[i]])
            rhs.append(g[i])
        sol = solve(rows, rhs)
        c, level = sol[:n], abs(sol[n])
        e = [(horner(c, x) - v) * wt for x, v, wt in zip(xs, g, w)]
        # alternating extrema
        ext = []
        for i, v in enumerate(e):
            if v == 0:
                continue
            if ext and (e[ext[-1]] > 0) == (v > 0):
                if abs(v) > abs(e[ext[-1]]):
                    ext[-1] = i
            else:
                ext.append(i)
        while len(ext) > m:
            if len(ext) == m + 1:
                ext.pop(0 if abs(e[ext[0]]) < abs(e[ext[-1]]) else -1)
            else:
                k = min(range(len(ext)), key=lambda j: abs(e[ext[j]]))
                if 0 < k < len(ext) - 1:
                    del ext[k:k + 2]
                else:
                    ext.pop(k)
        error = max(abs(v) for v in e)
        if len(ext) < m:
            break
        pts = ext
        if error < level * (1 + mpf(1) / 200):
            break
    return c, error


def rounded(v, bits):
    if v == 0:
        return v
    m, e = mp.frexp(v)
    return mp.ldexp(mp.nint(mp.ldexp(m, bits)), e - bits)


def hexfloat(v):
    m, e = float(v).hex().split("p")
    return m.rstrip("0").rstrip(".") + "p" + e


def table(name, g, lo, hi, w, n, bits):
    lo, hi = mpf(lo), mpf(hi)
    grid = 24 * n + 40
    xs = [lo + (hi - lo) * (1 - mp.cos(mp.pi * (i + mpf(1) / 2) / grid)) / 2 for i in range(grid)]
    gs, ws = [g(x) for x in xs], [w(x) for x in xs]
    c, ideal = fit(xs, gs, ws, n)
    moment = [sum(w_ * w_ * x**k for x, w_ in zip(xs, ws)) for k in range(2 * n)]
    fixed = []
    for k in range(n):
        r = rounded(c[k], bits)
        fixed.append(r)
        if k + 1 < n:  # least squares: what the later terms can do about the rounding
            later = range(k + 1, n)
            rows = [[moment[i + j] for j in later] for i in later]
            more = solve(rows, [(c[k] - r) * moment[i + k] for i in later])
            c = c[:k + 1] + [v + d for v, d in zip(c[k + 1:], more)]
    error = max(abs(horner(fixed, x) - v) * w_ for x, v, w_ in zip(xs, gs, ws))
    log2 = lambda v: mp.nstr(mp.log(v, 2), 5) if v else "-inf"
    print("%s f%d: n = %d, 2^%s (unrounded 2^%s)" % (name, 64 if bits == 53 else 32, n, log2(error), log2(ideal)))
    print("    { %d, { %s } }," % (n, ", ".join(hexfloat(v) for v in fixed)), flush=True)


def odd(f):
    """(f(x) - x) / x^3 in z = x^2, weighted relative to f"""
    def g(z):
        x = mp.sqrt(z)
        return (f(x) - x) / (x * z)
    def w(z):
        x = mp.sqrt(z)
        return abs(x * z / f(x))
    return g, w


ln2, ln10 = mp.log(2), mp.log(10)
half_root = mp.sqrt(mpf(1) / 2)
l10 = mp.log10(2) / 2
one = lambda z: mpf(1)
TABLES = {}


def add(name, g, lo, hi, w, n32, n64):
    TABLES[name] = (g, lo, hi, w, n32, n64)


def relative(g):
    return lambda x: 1 / abs(g(x))


add("asin", odd(mp.asin)[0], 0, "0.25", odd(mp.asin)[1], 6, 13)
add("atan", odd(mp.atan)[0], 0, 1, odd(mp.atan)[1], 9, 22)
add("asinh", odd(mp.asinh)[0], 0, "0.25", odd(mp.asinh)[1], 5, 11)
add("atanh", odd(mp.atanh)[0], 0, "0.25", odd(mp.atanh)[1], 6, 13)
add("cbrt", lambda f: 1 / mp.cbrt(1 + f), half_root - 1, mp.sqrt(2) - 1, lambda f: mp.cbrt(1 + f), 5, 7)
add("exp10", lambda r: (mpf(10) ** r - 1 - r * ln10) / r**2, -l10 * 1.002, l10 * 1.002, lambda r: r**2 / mpf(10) ** r, 5, 10)
add("log10", lambda f: (mp.log(1 + f) / ln10 - f / ln10) / f**2, half_root - 1, mp.sqrt(2) - 1,
    lambda f: abs(f**2 * ln10 / mp.log(1 + f)), 9, 0)


def log_odd(base):
    """(log((1 + s)/(1 - s))/s - 2) / z in z = s^2, of that base, weighted relative to the logarithm"""
    def g(z):
        s = mp.sqrt(z)
        return (2 * mp.atanh(s) / s - 2) / z / base
    def w(z):
        s = mp.sqrt(z)
        return s * z * base / (2 * mp.atanh(s))
    return g, w


steepest = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2
for name, base in (("log_wide", mpf(1)), ("log2_wide", ln2), ("log10_wide", ln10)):
    add(name, log_odd(base)[0], 0, steepest * mpf("1.0001"), log_odd(base)[1], 0, 7)
h = ln2 / 2 * mpf("1.001")
add("sinh", odd(mp.sinh)[0], 0, h * h, odd(mp.sinh)[1], 3, 5)
add("cosh", lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, 0, h * h, lambda z: z, 3, 6)


def acosh_g(t):
    return (mp.acosh(1 + t)**2 / (2 * t) - 1) / t


add("acosh", acosh_g, 0, "0.5", lambda t: t * t / mp.acosh(1 + t)**2, 5, 11)

# erf x = x + x p(x^2); erfc x = e^(-x^2) q(t) / (1 + 2x), t = (x - K) / (x + K)
add("erf", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 0, 1, lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)), 7, 13)


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def erfc_q(k):
    def g(t):
        x = k * (1 + t) / (1 - t)
        return erfcx(x) * (1 + 2 * x)
    return g


K, K_SHORT = mpf("3.75"), mpf(2)
add("erfc", erfc_q(K), -1, (mpf("27.3") - K) / (mpf("27.3") + K), relative(erfc_q(K)), 0, 24)
add("erfc_f32", erfc_q(K_SHORT), -1, (mpf("10.1") - K_SHORT) / (mpf("10.1") + K_SHORT), relative(erfc_q(K_SHORT)), 11, 0)


# erfinv x = x p(w - c), w = -log(1 - x^2) below a limit; beyond, x p(sqrt(w) - c)
def central(c):
    return lambda u: mp.mpf(mp.sqrt(mp.pi) / 2) if u + c == 0 else mp.erfinv(mp.sqrt(-mp.expm1(-(u + c)))) / mp.sqrt(-mp.expm1(-(u + c)))


def tail(c):
    return lambda u: mp.erfinv(mp.sqrt(-mp.expm1(-(u + c) ** 2))) / mp.sqrt(-mp.expm1(-(u + c) ** 2))


add("erfinv_f32", central(mpf("2.5")), "-2.5", "2.5", relative(central(mpf("2.5"))), 11, 0)
add("erfinv", central(mpf("3.125")), "-3.125", "3.125", relative(central(mpf("3.125"))), 0, 25)
add("erfinv_tail_f32", tail(mpf(3)), mp.sqrt(5) - 3, "1.1", relative(tail(mpf(3))), 11, 0)
add("erfinv_tail", tail(mpf("3.25")), "-0.75", "0.75", relative(tail(mpf("3.25"))), 0, 21)
add("erfinv_far", tail(mpf(5)), -1, "1.08", relative(tail(mpf(5))), 0, 20)

# lgamma(2 + u) = u p(u); Stirling's series: lgamma x - (x - 1/2) log x + x - log(2 pi)/2 = p(1/x^2)/x
lgamma2 = lambda u: mp.loggamma(2 + u) / u if abs(u) > mpf("1e-30") else 1 - mp.euler
add("lgamma", lgamma2, "-0.75", "0.25", relative(lgamma2), 0, 20)
add("lgamma_short", lgamma2, "-0.75", "0.25", relative(lgamma2), 0, 11)


def stirling(z):
    x = 1 / mp.sqrt(z)
    with mp.extraprec(80):
        return +((mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x)


add("stirling", stirling, "1e-9", mpf(1) / 64, one, 0, 8)
add("stirling_short", stirling, "1e-9", mpf(1) / 64, one, 0, 3)

# digamma(1.625 + u) = (u - r) p(u), where r + 1.625 is the positive zero; trigamma(1.5 + u) = p(u). Beyond, with
# z = 1/x^2, digamma x = log x - 1/(2x) - z p(z) and trigamma x = 1/x + 1/(2x^2) + z/x p(z)
digamma_zero = mp.findroot(mp.digamma, mpf("1.4616")) - mpf("1.625")
digamma_factor = lambda u: mp.digamma(mpf("1.625") + u) / (u - digamma_zero)
trigamma_near = lambda u: mp.psi(1, mpf("1.5") + u)


def digamma_rest(z):
    x = 1 / mp.sqrt(z)
    with mp.extraprec(100):
        return +((mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / z)


def trigamma_rest(z):
    x = 1 / mp.sqrt(z)
    with mp.extraprec(100):
        return +((mp.psi(1, x) - 1 / x - 1 / (2 * x * x)) * x / z)


digamma_weight = lambda z: z / mp.digamma(1 / mp.sqrt(z))
trigamma_weight = lambda z: z * mp.sqrt(z) / mp.psi(1, 1 / mp.sqrt(z))
add("digamma", digamma_factor, "-0.625", "0.625", relative(digamma_factor), 0, 25)
add("digamma_short", digamma_factor, "-0.625", "0.625", relative(digamma_factor), 0, 14)
add("digamma_large", digamma_rest, "1e-9", 1 / mpf("2.25") ** 2, digamma_weight, 0, 16)
add("digamma_large_short", digamma_rest, "1e-9", 1 / mpf("2.25") ** 2, digamma_weight, 0, 6)
add("trigamma", trigamma_near, "-0.5", "0.5", relative(trigamma_near), 0, 24)
add("trigamma_short", trigamma_near, "-0.5", "0.5", relative(trigamma_near), 0, 14)
add("trigamma_large", trigamma_rest, "1e-9", "0.25", trigamma_weight, 0, 18)
add("trigamma_large_short", trigamma_rest, "1e-9", "0.25", trigamma_weight, 0, 7)

# Bessel functions. Small: in x^2 - c. Large: with a = x - pi/4 (j0) or x - 3 pi/4 (j1), sqrt(2 / (pi x)) (p cos a - q/x sin a)
B = mpf(8)


def bessel_small(f, c):
    return lambda u: f(mp.sqrt(u + c))


def bessel_pq(n, which):
    def g(s):
        x = 1 / mp.sqrt(s)
        a = x - mp.pi / 4 * (1 + 2 * n)
        j, y, c, d = mp.besselj(n, x), mp.bessely(n, x), mp.cos(a), mp.sin(a)
        r = mp.sqrt(mp.pi * x / 2)
        return r * (j * c + y * d) if which == "p" else r * (y * c - j * d) * x
    return g


j0 = lambda x: mp.besselj(0, x)
j1x = lambda x: mp.besselj(1, x) / x if x else mpf(1) / 2
C = B * B / 2
for name, f, n in (("j0", bessel_small(j0, C), 0), ("j1", bessel_small(j1x, C), 1)):
    near, x0 = (j0, 1) if n == 0 else (j1x, mpf(1) / 2)
    add(name + "_near", (lambda f_, x0_: lambda z: (f_(mp.sqrt(z)) - x0_) / z)(near, x0), "1e-9", "6.25", lambda z: z, 0, 10)
    add(name + "_low", (lambda n_: lambda v: mp.besselj(n_, mpf("3.875") + v))(n), "-1.375", "1.375", one, 0, 17)
    add(name + "_high", (lambda n_: lambda v: mp.besselj(n_, mpf("6.625") + v))(n), "-1.375", "1.375", one, 0, 17)
    add(name + "_short", f, -C, C, one, 0, 12)
    for which in "pq":
        add(name + "_" + which, bessel_pq(n, which), "1e-6", 1 / (B * B), one, 0, 12)
        add(name + "_" + which + "_short", bessel_pq(n, which), "1e-6", 1 / (B * B), one, 0, 5)

# i0 x = 1 + z p(z), z = x^2/4, up to 8; beyond, e^x / sqrt(x) p(1/x - 1/16)
i0_small = lambda z: (mp.besseli(0, 2 * mp.sqrt(z)) - 1) / z
i0_large = lambda s: mp.besseli(0, 1 / s) * mp.exp(-1 / s) / mp.sqrt(s)
add("i0", i0_small, "1e-12", 16, lambda z: z / mp.besseli(0, 2 * mp.sqrt(z)), 9, 16)
shifted = lambda u: i0_large(u + mpf(1) / 16)
add("i0_large", shifted, mpf("1e-4") - mpf(1) / 16, mpf(1) / 16, relative(shifted), 7, 24)

# i1 x = x/2 (1 + z p(z)), and alike
i1_ratio = lambda z: mp.besseli(1, 2 * mp.sqrt(z)) / mp.sqrt(z)
i1_large = lambda s: mp.besseli(1, 1 / s) * mp.exp(-1 / s) / mp.sqrt(s)
add("i1", lambda z: (i1_ratio(z) - 1) / z, "1e-12", 16, lambda z: z / i1_ratio(z), 9, 16)
shifted1 = lambda u: i1_large(u + mpf(1) / 16)
add("i1_large", shifted1, mpf("1e-4") - mpf(1) / 16, mpf(1) / 16, relative(shifted1), 7, 24)

if __name__ == "__main__":
    names = sys.argv[1:] or list(TABLES)
    for name in names:
        g, lo, hi, w, n32, n64 = TABLES[name]
        for n, bits in ((n32, 24), (n64, 53)):
            if n:
                table(name, g, lo, hi, w, n, bits)
