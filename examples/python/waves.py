"""The interference of five sources: one expression over coordinates that broadcast, without intermediate arrays."""
import weft

n = 640
y = weft.asarray(range(n), weft.f32).reshape(n, 1)
x = weft.asarray(range(n), weft.f32)
with weft.lazy():
    total = weft.zeros((n, n))
    for k in range(5):
        r = weft.hypot(y - 320 - 200 * (k - 2) / 2, x - 80 - 30 * (k % 2))
        total = total + weft.sin(r / 6) / weft.sqrt(r + 1)
weft.png(total, path="waves.png")
