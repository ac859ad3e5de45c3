"""Heat that spreads through a plate with insulated edges: a stencil, run 2000 times between two arrays."""
import weft


@weft.kernel
def step(y, x, old, new, rate):
    here = old[y, x]
    around = old[y - 1, x, "clamp"] + old[y + 1, x, "clamp"] + old[y, x - 1, "clamp"] + old[y, x + 1, "clamp"]
    new[y, x] = here + rate * (around - 4 * here)


old, new = weft.zeros((400, 400)), weft.empty((400, 400))
old[60:90, 60:340] = 1
old[200:380, 180:220] = 1
for _ in range(2000):
    step(old, new, 0.24)
    old, new = new, old
weft.png(old, path="diffusion.png")
