"""Clifford's attractor: 262144 points, each followed for 60 steps and counted in the pixel in which it lies."""
import weft


@weft.kernel
def follow(i, /, out, a, b, c, d):
    u = i * 2.3999632297286533  # a point for each start, without random numbers
    x, y = weft.sin(u) * 1.5, weft.cos(u * 1.6180339887) * 1.5
    for n in range(60):
        x, y = weft.sin(a * y) + c * weft.cos(a * x), weft.sin(b * x) + d * weft.cos(b * y)
        if n > 10:
            out.add((weft.i64((y + 2.2) * 145), weft.i64((x + 2.2) * 145)), 1)


out = weft.zeros((640, 640), weft.i32)
follow[1 << 18](out, -1.4, 1.6, 1.0, 0.7)
weft.png(weft.log1p(weft.f32(out)), path="attractor.png")
