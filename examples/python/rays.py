"""A sphere over a plane by ray marching: early return, a helper function, and values that are Python numbers."""
import weft


def distance(px, py, pz):
    sphere = weft.sqrt(px * px + (py - 0.2) * (py - 0.2) + (pz - 3) * (pz - 3)) - 1
    return weft.minimum(sphere, py + 1)


@weft.kernel
def render(y, x, out, scale):
    dx, dy, dz = (x - 320) * scale, (200 - y) * scale, 1.0
    norm = weft.rsqrt(dx * dx + dy * dy + dz * dz)
    dx, dy, dz = dx * norm, dy * norm, dz * norm
    t = 0.0
    for _ in weft.range(100):
        d = distance(dx * t, dy * t, dz * t)
        if d < 1e-3:
            break
        t += d
        if t > 30:
            out[y, x] = 0.1 + 0.2 * dy
            return
    px, py, pz, e = dx * t, dy * t, dz * t, 1e-3
    nx = distance(px + e, py, pz) - distance(px - e, py, pz)
    ny = distance(px, py + e, pz) - distance(px, py - e, pz)
    nz = distance(px, py, pz + e) - distance(px, py, pz - e)
    light = (nx * 0.5 + ny * 0.7 - nz * 0.5) / (2 * e)
    out[y, x] = 0.1 + 0.9 * weft.maximum(light, 0.0) / (1 + 0.02 * t * t)


out = weft.empty((480, 640), weft.f32)
render(out, 1 / 320)
weft.png(out, path="rays.png")
