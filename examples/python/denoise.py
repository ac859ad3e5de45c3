"""Total-variation denoising: descent along the derivative of a loss that is a stencil, which is a stencil again."""
import weft

n = 256
row, column = weft.asarray(range(n), weft.f32).reshape(n, 1), weft.asarray(range(n), weft.f32)
clean = weft.text(
    "((y - 128)**2 + (x - 100)**2 < 60**2) + 0.5*(abs(y - 150) < 40)*(abs(x - 190) < 30)", y=row, x=column
)
noisy = weft.text("c + 0.35*sin(91*x*x + 57*y*x + 13*y*y)", c=clean, x=column, y=row)

LOSS = """
dy = u[y + 1, x; clamp] - u
dx = u[y, x + 1; clamp] - u
L = 0.5*sum((u - noisy)**2) + 0.5*sum(sqrt(dy*dy + dx*dx + 0.001))
g = grad(L, u)
"""
u = noisy.copy()
for _ in range(200):
    (slope,) = weft.text(LOSS, ("g",), u=u, noisy=noisy)
    u -= 0.1 * slope
print(f"mean error {abs(noisy - clean).numpy().mean():.3f} -> {abs(u - clean).numpy().mean():.3f}")
picture = weft.empty((n, 2 * n), weft.f32)
picture[:, :n], picture[:, n:] = noisy, u
weft.png(picture, path="denoise.png")
