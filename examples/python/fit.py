"""A peak fitted to noisy data by gradient descent: the text of the loss gives its derivatives, too."""
import weft

n = 96
PEAK = "exp(-((y - cy)**2 + (x - cx)**2) / (2*w**2))"
TRUTH = {"cy": 41.3, "cx": 57.8, "w": 9.5}
y, x = weft.asarray(range(n), weft.f64).reshape(n, 1), weft.asarray(range(n), weft.f64)
data = weft.text(PEAK + " + 0.2*sin(37*x + 11*y)*cos(17*y - 5*x)", y=y, x=x, **TRUTH)

guess = {"cy": 35.0, "cx": 50.0, "w": 14.0}
before = weft.text(PEAK, y=y, x=x, **guess)
for _ in range(300):
    arrays = {name: weft.asarray(value) for name, value in guess.items()}
    loss = f"L = sum(({PEAK} - data)**2); gy, gx, gw = grad(L, cy, cx, w)"
    slopes = weft.text(loss, ("gy", "gx", "gw"), y=y, x=x, data=data, **arrays)
    for name, slope in zip(guess, slopes):
        guess[name] -= 0.1 * slope.item()
print({name: round(value, 1) for name, value in guess.items()}, "of", TRUTH)

after = weft.text(PEAK, y=y, x=x, **guess)
picture = weft.empty((n, 3 * n), weft.f64)
for k, part in enumerate((data, before, after)):
    picture[:, k * n:(k + 1) * n] = part
weft.png(picture, path="fit.png")
