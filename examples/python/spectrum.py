"""The power spectrum of an image, and the image with its fine waves taken out: functions of the libraries in a text."""
import weft

n = 384
y, x = weft.asarray(range(n), weft.f32).reshape(n, 1), weft.asarray(range(n), weft.f32)
image = weft.text(
    "exp(-((y - 190)**2 + (x - 190)**2)/9000)*(1 + 0.4*sin(x/3 + y/7) + 0.4*sin(1.9*y - 0.6*x))", y=y, x=x
)
smooth = weft.text("bandpass(image, 0, 0.12, 0.01)", image=image)
picture = weft.empty((n, 2 * n), weft.f32)
picture[:, :n], picture[:, n:] = image, smooth
weft.png(picture, path="spectrum.png")
