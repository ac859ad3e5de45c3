"""Conway's game of life on a torus: 200 generations of a million cells, the last ones as a fading trail."""
import weft


@weft.kernel
def generation(y, x, old, new, trail):
    n = 0
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dy or dx:  # a plain `if`: both are numbers of Python
                n = n + old[y + dy, x + dx, "periodic"]
    alive = (n == 3) | ((n == 2) & (old[y, x] == 1))
    new[y, x] = alive
    trail[y, x] = weft.where(alive, 1.0, trail[y, x] * 0.95)


shape = (1024, 1024)
old = (weft.random.Generator(1).uniform(shape) < 0.3).astype(weft.i32)
new, trail = weft.empty(shape, weft.i32), weft.zeros(shape)
for _ in range(200):
    generation(old, new, trail)
    old, new = new, old
weft.png(trail[:512, :512], path="life.png")
