"""Newton's iteration for z**3 = 1 in complex numbers: which root each point of the plane comes to, and how soon."""
import weft

ROOTS = (1, -0.5 + 0.8660254037844386j, -0.5 - 0.8660254037844386j)


@weft.kernel
def newton(y, x, /, out, scale):
    z = weft.complex((x - 300) * scale, (y - 300) * scale + 1e-6)
    n = 0
    while n < 40 and abs(z * z * z - 1) > 1e-3:
        z = z - (z * z * z - 1) / (3 * z * z)
        n += 1
    for k, root in enumerate(ROOTS):
        if abs(z - root) < 0.1:
            out[y, x, k] = 255 - 6 * n


out = weft.zeros((600, 600, 3), weft.u8)
newton[600, 600](out, 1 / 200)
weft.png(out, path="newton.png")
