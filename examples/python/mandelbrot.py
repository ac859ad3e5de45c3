"""The Mandelbrot set: a loop with a length of its own at every point."""
import weft


@weft.kernel
def mandelbrot(y, x, out, scale, most):
    cr, ci = x * scale - 2.25, y * scale - 1.25
    zr = zi = 0.0
    n = 0
    while n < most and zr * zr + zi * zi <= 4:
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        n += 1
    out[y, x] = n


out = weft.empty((600, 720), weft.i32)
mandelbrot(out, 2.5 / 600, 200)
weft.png(weft.sqrt(out), path="mandelbrot.png")
