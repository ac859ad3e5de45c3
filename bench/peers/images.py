"""The rows of bench/rows_image.c in SciPy, scikit-image and OpenCV, each with all threads where it has threads."""
import numpy as np

ANGLE, SIGMA, TEMPLATE, KERNEL, TAPS = 0.1, 400, 64, 31, 1001


def image(side):
    return np.random.default_rng(side).random((side, side), dtype=np.float32)


def weights(side):
    y, x = np.fft.fftfreq(side, 1 / side).astype(np.float32)[:, None], np.arange(side // 2 + 1, dtype=np.float32)[None]
    return np.exp(-0.5 / SIGMA ** 2 * (y * y + x * x), dtype=np.float32)


def turning(side):
    """From positions (y, x) of the result to those of the image."""
    m, c, s = side / 2, np.cos(ANGLE), np.sin(ANGLE)
    return np.array([[c, -s, m - c * m + s * m], [s, c, m - s * m - c * m]])


def mean_of(x, i, j):
    """The rotated image's element, by linear interpolation."""
    y, u = turning(x.shape[0]) @ [i, j, 1]
    p, q = int(y), int(u)
    return (np.array([1 - (y - p), y - p]) @ x[p:p + 2, q:q + 2].astype(np.float64) @ [1 - (u - q), u - q])


def score_of(x, t, i, j):
    return np.corrcoef(x[i:i + TEMPLATE, j:j + TEMPLATE].ravel(), t.ravel())[0, 1]


def near(found, expected, most):
    assert abs(float(found) - expected) <= most, f"{found}, not {expected}"


def filtered(transform):
    x, g = image(4096), weights(4096)
    return lambda: transform(x, g)


def rotated(function, most=2e-3):
    x = image(4096)
    out = function(x, turning(4096))
    near(out()[1023, 3072], mean_of(x, 1023, 3072), most)
    return out


def median(function):
    x = image(2048)
    out = function(x)
    near(out()[511, 1536], float(np.median(x[509:514, 1534:1539])), 0)
    return out


def binned(function):
    x = image(4096)
    out = function(x)
    near(out()[1023, 1024], float(x[2046:2048, 2048:2050].mean(dtype=np.float64)), 1e-6)
    return out


def matched(function):
    x = image(2048)
    t = x[TEMPLATE:2 * TEMPLATE, :TEMPLATE].copy()
    out = function(x, t)
    near(out()[511, 1536], score_of(x, t, 511, 1536), 1e-4)
    return out


def convolved(function):
    x = image(2048)
    k, h = x[:KERNEL, :KERNEL].copy(), KERNEL // 2
    out = function(x, k)
    near(out()[511, 1536], float((x[511 - h:512 + h, 1536 - h:1537 + h].astype(np.float64) * k[::-1, ::-1]).sum()), 1e-3)
    return out


def convolved_line(function):
    x = image(2048).ravel()
    k, h, i = x[:TAPS].copy(), TAPS // 2, 511 * 2048 + 1536
    out = function(x, k)
    near(out()[i], float(x[i - h:i + h + 1].astype(np.float64) @ k[::-1]), 1e-2)
    return out


def scipy_rows(threads):
    import scipy.fft
    import scipy.ndimage
    import scipy.signal

    def fft(x, g):
        return scipy.fft.irfft2(scipy.fft.rfft2(x, workers=threads) * g, s=x.shape, workers=threads)

    def by_fft(x, k):
        padded = np.pad(x, KERNEL // 2, mode="symmetric")
        return scipy.signal.fftconvolve(padded, k, mode="valid")

    def in_pieces(x, k):
        padded = np.pad(x, TAPS // 2, mode="symmetric")
        return scipy.signal.oaconvolve(padded, k, mode="valid")

    return {"filter_4096": lambda: filtered(fft),
            "convolve_line": lambda: convolved_line(lambda x, k: lambda: in_pieces(x, k)),
            "rotate_4096": lambda: rotated(lambda x, m: lambda: scipy.ndimage.affine_transform(x, m[:, :2], m[:, 2], order=1)),
            "median_2048": lambda: median(lambda x: lambda: scipy.ndimage.median_filter(x, 5, mode="nearest")),
            "convolve_2048": lambda: convolved(lambda x, k: lambda: by_fft(x, k))}


def skimage_rows(threads):
    import skimage.feature
    import skimage.filters
    import skimage.transform

    def turn(x, m):
        inverse = np.array([[m[1, 1], m[1, 0], m[1, 2]], [m[0, 1], m[0, 0], m[0, 2]], [0, 0, 1]])  # of (x, y, 1)
        return lambda: skimage.transform.warp(x, inverse, order=1)

    square = np.ones((5, 5), dtype=bool)
    return {"rotate_4096": lambda: rotated(turn),
            "median_2048": lambda: median(lambda x: lambda: skimage.filters.median(x, square)),
            "bin_4096": lambda: binned(lambda x: lambda: skimage.transform.downscale_local_mean(x, (2, 2))),
            "match_2048": lambda: matched(lambda x, t: lambda: skimage.feature.match_template(x, t))}


def cv2_rows(threads):
    import cv2
    cv2.setNumThreads(threads)

    def turn(x, m):
        inverse = np.array([[m[1, 1], m[1, 0], m[1, 2]], [m[0, 1], m[0, 0], m[0, 2]]])
        how = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return lambda: cv2.warpAffine(x, inverse, x.shape[::-1], flags=how)

    def whole(x, k):
        k = k[::-1, ::-1].copy()
        return lambda: cv2.filter2D(x, -1, k, borderType=cv2.BORDER_REFLECT)

    return {"rotate_4096": lambda: rotated(turn, 4e-2),  # positions are rounded to 1/32
            "median_2048": lambda: median(lambda x: lambda: cv2.medianBlur(x, 5)),
            "bin_4096": lambda: binned(lambda x: lambda: cv2.resize(x, (2048, 2048), interpolation=cv2.INTER_AREA)),
            "match_2048": lambda: matched(lambda x, t: lambda: cv2.matchTemplate(x, t, cv2.TM_CCOEFF_NORMED)),
            "convolve_2048": lambda: convolved(whole)}


def rows(name, threads):
    """Rows as peer.py has them: a function that prepares and returns (call, finish)."""
    made = {"scipy": scipy_rows, "skimage": skimage_rows, "cv2": cv2_rows}[name](threads)
    return {row: lambda make=make: (make(), lambda: None) for row, make in made.items()}
