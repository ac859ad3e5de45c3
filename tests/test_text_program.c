/* test_text_program.c - operator text with typed locals, blocks and writes by index, beside the same in C.
 *
 * ctest: devices
 */
#include "nested_loops.h"
#include "on_devices.h"

enum { H = 13, W = 21, N = H * W };

static float image[N];

static wf_array *make_image(void)
{
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(H, W));
    for (int i = 0; i < N; i++)
        image[i] = (float)((i * 7919 + 13) % 101) / 16 - 2;
    OK(ctx, wf_upload(a, image, sizeof image));
    return a;
}

static float at(int y, int x) { return y >= 0 && y < H && x >= 0 && x < W ? image[y * W + x] : 0; }
static int limit(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
static float clamped(int y, int x) { return image[limit(y, H) * W + limit(x, W)]; }

/* ---- points of an H x W space, i32 or f32 results, each beside its C ---- */
static double collatz(int y, int x)
{
    int n = y * W + x + 1, count = 0;
    while (n != 1) {
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        count++;
    }
    return count;
}

static double mandelbrot(int y, int x)
{
    float cx = (float)(x - 14) / 7, cy = (float)(y - 6) / 6, u = 0, v = 0;
    int n = 0;
    while (n < 40 && u * u + v * v < 4) {
        float t = u * u - v * v + cx;
        v = 2 * u * v + cy;
        u = t;
        n++;
    }
    return n;
}

static double gauss3(int y, int x)
{
    float s = 0;
    for (int k = -1; k <= 1; k++)
        for (int l = -1; l <= 1; l++)
            s += at(y + k, x + l) * (float)((2 - k * k) * (2 - l * l));
    return (double)(s / 16);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double median(int y, int x)
{
    float v[9];
    for (int i = 0; i < 9; i++)
        v[i] = clamped(y + i / 3 - 1, x + i % 3 - 1);
    qsort(v, 9, sizeof *v, by_value);
    return (double)v[4];
}

static double life(int y, int x)
{
    int n = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx != 0 || dy != 0)
                n += image[(y + dy + H) % H * W + (x + dx + W) % W] > 0;
    return n == 3 || (n == 2 && image[y * W + x] > 0);
}

static double nested(int y, int x) { return nested_loops(y + x, x); }

static double stepped(int y, int x)
{
    float s = 0;
    for (float v = 0.25f; v < (float)x; v *= 2) {
        if (v == 2)
            continue;
        if (v > (float)y)
            break;
        s += v;
    }
    return (double)s;
}

static double changed(int y, int x)
{
    int hi = 8, turns = 0;
    for (int k = 0; k < hi; k++) {
        if (k % 3 == y % 3)
            hi--;
        turns += k;
    }
    for (int k = 10; k >= x % 5; k--) {
        if (k == 6)
            k -= 2;
        turns += 100;
    }
    return turns;
}

static double shadowed(int y, int x)
{
    int s = y, t = 0;
    {
        int s2 = x;
        s += s2;
    }
    for (int k = 2; k >= 0; k--)
        t = t * 10 + k;
    for (int k = 0; k <= 6; k += 3)
        t += k;
    for (int k = y; k > x; --k)
        t++;
    return s * 1000 + t;
}

static double divided(int y, int x)
{
    int n = y - 20, shifted = x + 1;
    n /= 3;
    n -= x;
    n %= 7;
    shifted <<= 3;
    shifted >>= 1;
    shifted |= 1;
    shifted ^= 2;
    return n + 100 * shifted;
}

static double chain(int y, int x)
{
    if (x < 3)
        return y;
    else if (x < 6)
        return -1;
    else if (x == 7 || y == 2)
        return x;
    return at(y, x) > 1 ? 7 : 8;
}

static double gathered(int y, int x)
{
    int i = (y * 5 + x * 3) % W, j = (x * y) % H;
    return (double)(at(j, i) + at(j - 4, i + 1));
}

static const struct {
    const char *text;
    double (*want)(int y, int x);
    wf_dtype dtype;
} programs[] = {
    { "int n = y*nx + x + 1, count = 0;\n"
      "while (n != 1) {\n"
      "    if (n % 2 == 0) n /= 2;\n"
      "    else n = 3*n + 1;\n"
      "    count++;\n"
      "}\n"
      "out = count;",
      collatz, WF_I32 },
    { "float cx = f32(x - 14) / 7, cy = f32(y - 6) / 6, u, v\n"
      "int n\n"
      "while (n < 40 && u*u + v*v < 4) {\n"
      "    t = u*u - v*v + cx; v = 2*u*v + cy; u = t; n++\n"
      "}\n"
      "out = n\n",
      mandelbrot, WF_I32 },
    { "f32 s = 0; for (int k = -1; k <= 1; k++) for (int l = -1; l <= 1; l++) s += a[y+k, x+l] * ((2 - k*k)*(2 - l*l));"
      "out = s/16",
      gauss3, WF_F32 },
    { "f32 p = a[y-1, x-1; clamp], q = a[y-1, x; clamp], r = a[y-1, x+1; clamp], s = a[y, x-1; clamp], t = a\n"
      "f32 u = a[y, x+1; clamp], v = a[y+1, x-1; clamp], w = a[y+1, x; clamp], z = a[y+1, x+1; clamp], h\n"
      "for (int k = 0; k < 9; k++) { # odd and even transposition\n"
      "    if (p > q) { h = p; p = q; q = h; } if (r > s) { h = r; r = s; s = h; }\n"
      "    if (t > u) { h = t; t = u; u = h; } if (v > w) { h = v; v = w; w = h; }\n"
      "    if (q > r) { h = q; q = r; r = h; } if (s > t) { h = s; s = t; t = h; }\n"
      "    if (u > v) { h = u; u = v; v = h; } if (w > z) { h = w; w = z; z = h; }\n"
      "}\n"
      "out = t\n",
      median, WF_F32 },
    { "int n = 0;\n"
      "for (int dy = -1; dy <= 1; dy++)\n"
      "    for (int dx = -1; dx <= 1; dx++)\n"
      "        if (dx != 0 || dy != 0)\n"
      "            n += a[y+dy, x+dx; periodic] > 0;\n"
      "out = i32(n == 3 || n == 2 && a > 0);",
      life, WF_I32 },
    { "int sum = 0;\n"
      "for (int p = 0; p < (y + x) % 9; ++p) {\n"
      "    if (p == 5) continue;\n"
      "    for (int b = 20; b > p; b -= 3) {\n"
      "        if ((p + b + x) % 11 == 0) break;\n"
      "        if (b % 2) continue\n"
      "        sum += p * b + 1;\n"
      "    }\n"
      "    if (sum > 300) { break; }\n"
      "    sum += 1000 * p;\n"
      "}\n"
      "out = sum",
      nested, WF_I32 },
    { "f32 s\nfor (f32 v = 0.25; v < x; v *= 2) { if (v == 2) { continue } if (v > y) { break } s += v } out = s",
      stepped, WF_F32 },
    { "int hi = 8, turns = 0;\n"
      "for (int k = 0; k < hi; k++) { if (k % 3 == y % 3) hi--; turns += k; }\n"
      "for (int k = 10; k >= x % 5; k--) { if (k == 6) k -= 2; turns += 100; }\n"
      "out = turns",
      changed, WF_I32 },
    { "int s = y, t = 0; { int t = x; s += t }\n"
      "for (k = 2; k >= 0; k--) t = t*10 + k\n"
      "for (int k = 0; k <= 6; k += 3) t += k;\n"
      "for (long k = y; k > x; --k) { t++; }\n"
      "out = s*1000 + t",
      shadowed, WF_I32 },
    { "const int third = 3; int n = y - 20, shifted = x + 1;\n"
      "n /= third; n -= x; n %= 7; shifted <<= 3; shifted >>= 1; shifted |= 1; shifted ^= 2\n"
      "out = n + 100*shifted",
      divided, WF_I32 },
    { "out = 8.0f; if (x < 3) out = y; else if (x < 6) out = -1; else if (x == 7 || y == 2) out = x;\n"
      "else\n{\n if (a > 1) out = 7\n }\n",
      chain, WF_F32 },
    { "i64 i = (y*5 + x*3) % nx, j = (x*y) % ny; out = a[j, i]; out += a[j-4, i+1] + 0*a", gathered, WF_F32 },
    { "out[y, x] = a; if (x < 3) { out[y, x] = (float)y } else if (x < 6) { out[y, x] = -1 }\n"
      "else if (x == 7 || y == 2) out[y, x] = x; else { out[y, x] = a > 1 ? 7 : 8 }",
      chain, WF_F32 },
    { "f32 out = 0; for (int k = -1; k <= 1; k++) for (int l = -1; l <= 1; l++) out += a[y+k, x+l]*(2-k*k)*(2-l*l)\n"
      "out /= 16",
      gauss3, WF_F32 },
};

static void expect(const char *text, const wf_array *got, wf_dtype dtype, double (*want)(int y, int x))
{
    wf_array *wide = wf_empty(ctx, WF_F64, wf_array_shape(got));
    double value[N];
    if (wf_array_dtype(got) != dtype)
        fail_msg("%s: is %s", text, wf_dtype_name(wf_array_dtype(got)));
    OK(ctx, wf_text_n(ctx, "wide = got", WF_NAMED(wide, got)));
    OK(ctx, wf_download(wide, value, sizeof value));
    for (int i = 0; i < N; i++)
        if (value[i] != want(i / W, i % W))
            fail_msg("%s: at %d %d: %.9g, expected %.9g", text, i / W, i % W, value[i], want(i / W, i % W));
    wf_release(wide);
}

/* Runs each program in all ways: with a new result, into an array of the caller, as statements in a recording, as a
 * kernel. */
static void test_programs(void **state)
{
    (void)state;
    wf_array *a = make_image(), *size = wf_view_broadcast(a, WF_SHAPE(H, W));
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const char *text = programs[i].text, *want[] = { "out" };
        wf_array *made = NULL;
        wf_clear_error(ctx);
        if (wf_text_create(ctx, text, WF_ARGS(WF_ARG("a", a), WF_ARG("", size)), 0, want, 1, &made) != WF_OK)
            fail_msg("%s: %s", text, wf_last_message(ctx));
        expect(text, made, programs[i].dtype, programs[i].want);

        wf_array *out = wf_full(ctx, programs[i].dtype, WF_SHAPE(H, W), 99);
        if (wf_text(ctx, text, a, out) != WF_OK)
            fail_msg("%s: %s", text, wf_last_message(ctx));
        expect(text, out, programs[i].dtype, programs[i].want);
        wf_release(out);

        out = wf_full(ctx, programs[i].dtype, WF_SHAPE(H, W), 99);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .flags_off = WF_FLAG_LOOP_OPT);
        wf_text_record(g, text, a, out);
        OK(ctx, wf_run(g));
        expect(text, out, programs[i].dtype, programs[i].want);
        wf_release(out);

        out = wf_full(ctx, programs[i].dtype, WF_SHAPE(H, W), 99);
        g = wf_text_begin(ctx, text, WF_NAMED(a, out), NULL);
        wf_text_record(g, text, a, out);
        wf_kernel *k = wf_compile(g);
        assert_non_null(k);
        OK(ctx, wf_launch(k, WF_NO_ARGS));
        expect(text, out, programs[i].dtype, programs[i].want);
        wf_kernel_free(k);
        wf_release(out);
        wf_release(made);
    }
    wf_release(a);
    wf_release(size);
}

/* 11 x 11, with a kernel that is read by index only: the image alone gives the shape. */
static void test_convolution(void **state)
{
    enum { K = 11, R = K / 2 };
    (void)state;
    float window[K * K], got[N];
    wf_array *a = make_image(), *ker = wf_empty(ctx, WF_F32, WF_SHAPE(K, K)), *out = NULL;
    for (int i = 0; i < K * K; i++)
        window[i] = (float)(i * 31 % 17) / 16;
    OK(ctx, wf_upload(ker, window, sizeof window));
    const char *want[] = { "out" };
    static const char *const texts[] = {
        "f32 s = 0;\n"
        "for (int k = -5; k <= 5; k++)\n"
        "    for (int l = -5; l <= 5; l++)\n"
        "        s += a[y+k, x+l; clamp] * ker[k+5, l+5];\n"
        "out = s;",
        "f32 s = 0; i64 r = radius;\n"
        "for (i64 k = -r; k <= r; k++) {\n"
        "    i64 row = y + k\n"
        "    for (i64 l = -r; l <= r; l++) { s = s + a[row, x+l; clamp] * ker[k+r, l+r] }\n"
        "}\n"
        "out = s",
    };
    for (int i = 0; i < 2; i++) {
        wf_args args = WF_ARGS(WF_ARG("a", a), WF_ARG("ker", ker), WF_ARG("radius", R));
        OK(ctx, wf_text_create(ctx, texts[i], args, 0, want, 1, &out));
        OK(ctx, wf_download(out, got, sizeof got));
        for (int p = 0; p < N; p++) {
            float s = 0;
            for (int k = -R; k <= R; k++)
                for (int l = -R; l <= R; l++)
                    s += clamped(p / W + k, p % W + l) * window[(k + R) * K + l + R];
            assert_true(got[p] == s);
        }
        wf_release(out);
    }
    wf_release(a);
    wf_release(ker);
}

/* Nested loops with known bounds leave no loop to the backend. */
static void test_written_out(void **state)
{
    static char text[1 << 17];
    (void)state;
    size_t len;
    wf_array *a = make_image(), *out = wf_like(a);
    const char *program =
        "f32 s; for (int k = -2; k <= 2; k++) for (long l = 2; l > -3; l--) s += a[y+k, x+l]; out = s";
    wf_graph *g = wf_text_begin(ctx, program, WF_NAMED(a, out), NULL);
    wf_text_record(g, program, a, out);
    wf_kernel *k = wf_compile(g);
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_KERNELS, text, sizeof text, &len));
    const char *lowered = strstr(text, "# after layout and lowering");
    assert_non_null(lowered);
    assert_non_null(strstr(text, "loop bool"));
    assert_null(strstr(lowered, "loop bool"));
    wf_kernel_free(k);
    wf_release(a);
    wf_release(out);
}

/* Writes outside the array are dropped; elements of a new array that no point writes are 0. */
static void test_writes(void **state)
{
    (void)state;
    wf_array *a = make_image(), *out = NULL, *line = wf_full(ctx, WF_I32, WF_SHAPE(5), -7);
    float got[N];
    int32_t five[5];
    const char *want[] = { "out" };
    OK(ctx, wf_text_create(ctx, "out[y-2, x+3] = a*2", WF_NAMED(a), 0, want, 1, &out));
    OK(ctx, wf_download(out, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_true(got[i] == (i / W + 2 < H && i % W >= 3 ? 2 * at(i / W + 2, i % W - 3) : 0));
    wf_release(out);
    OK(ctx, wf_text_create(ctx, "if (a > 0) out = a", WF_NAMED(a), 0, want, 1, &out));
    OK(ctx, wf_download(out, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_true(got[i] == (image[i] > 0 ? image[i] : 0));
    wf_release(out);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(40));
    wf_text_record(g, "line[x*2 - 10] = i32(x); line[u64(x) + 1000] = 1; line[1] = 9", line);
    OK(ctx, wf_run(g));
    OK(ctx, wf_download(line, five, sizeof five));
    assert_true(five[0] == 5 && five[1] == 9 && five[2] == 6 && five[3] == -7 && five[4] == 7);
    OK(ctx, wf_text(ctx, "line[x] -= 2; line += 1; line = line * 2", line));
    OK(ctx, wf_download(line, five, sizeof five));
    assert_true(five[0] == 8 && five[1] == 16 && five[3] == -16);
    const char *whole[] = { "line" }; /* a copy of the argument, with its shape */
    OK(ctx,
       wf_text_create(ctx, "if (x == 3 && y == 2) line[x] = a > -9 ? 5 : 0", WF_NAMED(line, a), 0, whole, 1, &out));
    OK(ctx, wf_download(out, five, sizeof five));
    assert_true(five[0] == 8 && five[1] == 16 && five[3] == 5);
    OK(ctx, wf_download(line, five, sizeof five));
    assert_true(five[3] == -16);
    wf_release(out);
    wf_release(a);
    wf_release(line);
}

/* Elements that points share: every point counts. */
static void test_accumulation(void **state)
{
    (void)state;
    enum { BINS = 7 };
    int32_t bins[BINS], zero[BINS] = { 0 };
    float lines[W], none[W] = { 0 };
    wf_array *a = make_image(), *hist = wf_empty(ctx, WF_I32, WF_SHAPE(BINS)),
             *out = wf_empty(ctx, WF_F32, WF_SHAPE(W));
    OK(ctx, wf_upload(hist, zero, sizeof zero));
    OK(ctx, wf_upload(out, none, sizeof none));
    OK(ctx,
       wf_text(ctx, "i64 k = floor(a) + 2; hist[k]++; if (x > 3) for (int j = 0; j < 2; j++) hist[k] -= j; out[x] += a",
               a, hist, out));
    OK(ctx, wf_download(hist, bins, sizeof bins));
    OK(ctx, wf_download(out, lines, sizeof lines));
    for (int i = 0; i < N; i++) {
        int k = (int)floorf(image[i]) + 2;
        if (k >= 0 && k < BINS)
            zero[k] += i % W > 3 ? 0 : 1;
        none[i % W] += image[i];
    }
    assert_memory_equal(bins, zero, sizeof zero);
    for (int x = 0; x < W; x++)
        assert_true(lines[x] == none[x]); /* sixteenths: exact in any order */
    const char *want[] = { "hist" };
    wf_array *made = NULL;
    OK(ctx, wf_text_create(ctx, "hist[i64(a > 0)] |= 64", WF_NAMED(a, hist), 0, want, 1, &made));
    OK(ctx, wf_download(made, bins, sizeof bins));
    for (int k = 0; k < BINS; k++)
        assert_true(bins[k] == (k < 2 ? zero[k] | 64 : zero[k]));
    wf_release(made);
    wf_release(a);
    wf_release(hist);
    wf_release(out);
}

/* The subtracted value is converted to the dtype of the array before it is negated, because -v is correct only in
 * that dtype. */
static void test_subtraction(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_I8, WF_U8, WF_U16, WF_I32, WF_U32, WF_U64, WF_F32, WF_F64 };
    static const struct {
        const char *text;
        double total; /* over the points x = 0 ... W - 1, of what is subtracted */
    } cases[] = { { "to[0*x]--", W },
                  { "to[0*x] -= 2", 2 * W },
                  { "to[0*x] -= u8(3)", 3 * W },
                  { "to[0*x] -= u32(x) & 1", W / 2 },
                  { "to[0*x] -= x > 0", W - 1 },
                  { "to[0*x] -= f32(2)", 2 * W } };
    double got;
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            wf_array *to = wf_full(ctx, dtypes[t], WF_SHAPE(1), 100), *wide = wf_empty(ctx, WF_F64, WF_SHAPE(1));
            wf_array *size = wf_full(ctx, WF_U8, WF_SHAPE(W), 0);
            OK(ctx, wf_text_n(ctx, cases[i].text, WF_ARGS(WF_ARG("to", to), WF_ARG("", size))));
            OK(ctx, wf_text(ctx, "wide = to", wide, to));
            OK(ctx, wf_download(wide, &got, sizeof got));
            if (got != 100 - cases[i].total)
                fail_msg("%s of %s: %g", cases[i].text, wf_dtype_name(dtypes[t]), got);
            wf_release(to);
            wf_release(wide);
            wf_release(size);
        }
    wf_array *to = wf_full(ctx, WF_U8, WF_SHAPE(W), 0);
    wf_clear_error(ctx);
    assert_int_equal(wf_text(ctx, "to[x] = -1", to), WF_ERR_DTYPE);
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DTYPE, "-1 does not fit u8, the dtype of to; u8(-1) converts it");
    assert_int_equal(wf_text(ctx, "to[idiv(x, 2)] -= 300", to), WF_ERR_DTYPE);
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DTYPE, "300 does not fit u8, the dtype of to; u8(300) converts it");
    wf_release(to);
}

/* Two results; an argument that has the name of one stays; the size of the space by coordinates of several ranks. */
static void test_results(void **state)
{
    (void)state;
    wf_array *a = make_image(), *row = wf_full(ctx, WF_F64, WF_SHAPE(W), 0.5), *made[2];
    float got[N];
    double wide[N];
    const char *want[] = { "a", "m" };
    OK(ctx, wf_text_create(ctx, "f64 m = row; { a = a + 1; m += a } a *= 2", WF_NAMED(a, row), 0, want, 2, made));
    OK(ctx, wf_download(a, got, sizeof got));
    assert_true(memcmp(got, image, sizeof got) == 0);
    OK(ctx, wf_download(made[0], got, sizeof got));
    OK(ctx, wf_download(made[1], wide, sizeof wide));
    for (int i = 0; i < N; i++)
        assert_true(got[i] == (image[i] + 1) * 2 && wide[i] == 0.5 + (double)(image[i] + 1));
    wf_release(made[0]);
    wf_release(made[1]);
    wf_release(a);
    wf_release(row);
}

/* Reductions of the caller's recording. */
static void test_reduced(void **state)
{
    (void)state;
    wf_array *a = make_image(), *out = wf_empty(ctx, WF_F64, WF_SHAPE(1));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .reduce = WF_ALL_AXES);
    wf_var sum = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    wf_text_record(g, "if (a > 0) { for (int k = 0; k < x; k++) { if (k == 3) continue; sum += a*k } }", a, sum);
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out, sum);
    OK(ctx, wf_run(g));
    double got, expected = 0;
    OK(ctx, wf_download(out, &got, sizeof got));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < i % W && image[i] > 0; k++)
            expected += k == 3 ? 0 : (double)image[i] * k;
    assert_true(fabs(got - expected) < 1e-9 * expected);
    wf_release(a);
    wf_release(out);
}

static void test_targets(void **state)
{
    (void)state;
    const char *text =
        "int s = 0; for (int k = 0; k < 3; k++) { int t = k; t *= 2; s += t; out[y, x] = s; k--; }"
        "for (n = 3; n > 0; n--) { n -= 1 } for (s = 1; s < 3; s++) { s = 7 } k = s; { int k = s; k = 9 } k = s";
    static const char *const names[] = { "s", "s", "out", "s", "k", "k" };
    char buf[16];
    for (size_t i = 0; i < 6; i++) {
        assert_true(wf_text_target(ctx, text, i, buf, sizeof buf));
        assert_string_equal(buf, names[i]);
    }
    assert_false(wf_text_target(ctx, text, 6, buf, sizeof buf));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs), cmocka_unit_test(test_convolution),  cmocka_unit_test(test_written_out),
        cmocka_unit_test(test_writes),   cmocka_unit_test(test_results),      cmocka_unit_test(test_reduced),
        cmocka_unit_test(test_targets),  cmocka_unit_test(test_accumulation), cmocka_unit_test(test_subtraction),
    };
    return RUN_ON_ALL(tests);
}
