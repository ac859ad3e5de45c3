/* test_text_refused.c - programs in operator text that are wrong: the message and the place, for small mistakes,
 * hostile sizes and failing allocations.
 *
 * ctest: devices values
 */
#include "text_memory.h"

static wf_array *make_array(void) { return wf_full(ctx, WF_F32, WF_SHAPE(13, 21), 1.5); }
static wf_array *broadcast(wf_array *a) { return wf_view_broadcast(a, wf_array_shape(a)); }

/* ---- mistakes: the message, the line and column of the caret (from 1 and 0), the status ---- */
static const struct {
    const char *text, *says;
    int line, column;
    wf_status status;
} wrong[] = {
    { "if (a > 0) { out = 1", "this '{' is never closed", 1, 11, WF_ERR_SYNTAX },
    { "out = a }", "this '}' closes nothing", 1, 8, WF_ERR_SYNTAX },
    { "out = 0; break;", "break outside of a loop", 1, 9, WF_ERR_SYNTAX },
    { "if (a > 0) { continue }", "continue outside of a loop", 1, 13, WF_ERR_SYNTAX },
    { "if (a > 0) { f32 t = a }\nout = t", "t belongs to a block that has ended", 2, 6, WF_ERR_SYNTAX },
    { "for (int k = 0; k < 3; k++) {}\nout = k", "k belongs to a block that has ended", 2, 6, WF_ERR_SYNTAX },
    { "if (a > 0) { t = 1 } else { out = t }", "t belongs to a block that has ended", 1, 34, WF_ERR_SYNTAX },
    { "s = a\nif (a > 0) s = 1", "declare it with a type, like: f32 s = ...", 2, 11, WF_ERR_SYNTAX },
    { "int s = 0; f32 s = 1", "s is declared already", 1, 15, WF_ERR_SYNTAX },
    { "int gain = 0; out = a", "gain is an argument already", 1, 4, WF_ERR_SYNTAX },
    { "for (int a = 0; a < 3; a++) out = 1", "a is an argument already", 1, 9, WF_ERR_SYNTAX },
    { "const int r = 3; r += 1; out = r", "r is a constant", 1, 17, WF_ERR_SYNTAX },
    { "const int r; out = r", "'=' and the value of a constant", 1, 11, WF_ERR_SYNTAX },
    { "u8 c = 300; out = c", "300 does not fit u8, the dtype of c; u8(300) converts it", 1, 7, WF_ERR_DTYPE },
    { "int c = 2.5; out = c", "does not fit i32", 1, 8, WF_ERR_DTYPE },
    { "for (int k = 0.5; k < 3; k++) out = a", "does not fit i32", 1, 13, WF_ERR_DTYPE },
    { "f32 c = z; out = c", "the index space has only 2 axes", 1, 8, WF_ERR_SHAPE },
    { "flaot s = 0; out = s", "'flaot' is no type", 1, 0, WF_ERR_SYNTAX },
    { "f32 s[9]; out = s", "s is a local array: say which element, s[...]", 1, 16, WF_ERR_SYNTAX },
    { "f32 s[9]; s = a; out = a", "s is a local array: assign its elements", 1, 10, WF_ERR_SYNTAX },
    { "f32 s[9]; out = s[1, 2]", "s has 1 axis, 2 indices are given", 1, 16, WF_ERR_SHAPE },
    { "f32 s[9]; s[0.5] = 1; out = a", "an index is", 1, 12, WF_ERR_DTYPE },
    { "f32 s[9]; out = s[9]", "wf_read: index 9 is outside the local array 's', whose length is 9", 1, 16,
      WF_ERR_BOUNDS },
    { "f32 s[nx]; out = a", "the length of a local array must be a whole number, known before", 1, 6, WF_ERR_SHAPE },
    { "f32 s[]; out = a", "expected the number of elements", 1, 6, WF_ERR_SYNTAX },
    { "f32 s[2; clamp]; out = a", "an array has no border", 1, 7, WF_ERR_SYNTAX },
    { "f32 s[300]; out = a", "shape (300); a local array has 1 to 256 elements", 1, 4, WF_ERR_SHAPE },
    { "const f32 s[3] = 1; out = a", "an array is no constant", 1, 11, WF_ERR_SYNTAX },
    { "f32 a[3]; out = 1", "a is an argument already", 1, 4, WF_ERR_SYNTAX },
    { "u8 s[3] = 300; out = a", "300 does not fit u8, the dtype of s", 1, 10, WF_ERR_DTYPE },
    { "u8 s[3]; s[1] = 300; out = a", "300 does not fit u8, the dtype of s", 1, 16, WF_ERR_DTYPE },
    { "f32 f(f32 x) { out = a }", "cannot define functions", 1, 5, WF_ERR_SYNTAX },
    { "f32 = 3; int; out = a", "after the name", 1, 12, WF_ERR_SYNTAX },
    { "out[y] = a", "out has 2 axes, 1 index is given", 1, 0, WF_ERR_SHAPE },
    { "out[y, x, 0] = a", "out has 2 axes, 3 indices are given", 1, 0, WF_ERR_SHAPE },
    { "out[y, x*0.5] = a", "an index is an integer", 1, 8, WF_ERR_DTYPE },
    { "out[y, x; clamp] = a", "has no border", 1, 8, WF_ERR_SYNTAX },
    { "out[] = a", "expected an index", 1, 4, WF_ERR_SYNTAX },
    { "out[y, x] a", "expected '=' after the element", 1, 10, WF_ERR_SYNTAX },
    { "f32 s = a; s[y, x] = a", "s is no array", 1, 11, WF_ERR_SYNTAX },
    { "out[y, x] += a", "out has no elements yet", 1, 0, WF_ERR_SYNTAX },
    { "ker[0, 1] /= 2; out = a", "other operators need the point's own element", 1, 10, WF_ERR_UNSUPPORTED },
    { "ker[y, x] <<= 1; out = a", "other operators need the point's own element", 1, 10, WF_ERR_UNSUPPORTED },
    { "ker[2] = a; out = a", "ker has 2 axes, 1 index is given", 1, 0, WF_ERR_SHAPE },
    { "gain[x] = a", "gain is no array", 1, 0, WF_ERR_SYNTAX },
    { "nobody[x] = a", "unknown name 'nobody'", 1, 0, WF_ERR_SYNTAX },
    { "if (a > 0) { out[y, x] = a; out = out[y, x-1] }", "out is computed here", 1, 34, WF_ERR_SYNTAX },
    { "if (a > 0) { f32 t = a; out = sum(t) }", "t changes in this block", 1, 34, WF_ERR_SYNTAX },
    { "if (a > 0); out = 1", "an empty block is {}", 1, 10, WF_ERR_SYNTAX },
    { "if a > 0 { out = 1 }", "'if' is no type", 1, 0, WF_ERR_SYNTAX },
    { "if (a = 0) { out = 1 }", "'==' compares", 1, 6, WF_ERR_SYNTAX },
    { "if (a > 0 { out = 1 }", "expected an operator or ')'", 1, 10, WF_ERR_SYNTAX },
    { "else { out = 1 }", "this else belongs to no if", 1, 0, WF_ERR_SYNTAX },
    { "else out = 1", "this else belongs to no if", 1, 0, WF_ERR_SYNTAX },
    { "do { out = 1 } while (a > 0)", "there is no do", 1, 0, WF_ERR_UNSUPPORTED },
    { "switch (y) { }", "there is no switch", 1, 0, WF_ERR_UNSUPPORTED },
    { "int s = 0; return s", "there is no return", 1, 11, WF_ERR_UNSUPPORTED },
    { "for (int k = 0, l = 0; k < 3; k++) out = a", "one variable", 1, 16, WF_ERR_UNSUPPORTED },
    { "for (out[y, x] = 1; gain < 3; gain++) out = a", "begins with a variable", 1, 5, WF_ERR_UNSUPPORTED },
    { "for (int k = 0; k < 3; k++, out = 1) out = a", "one step", 1, 26, WF_ERR_UNSUPPORTED },
    { "for (int k = 0; k < 3; int j = 0) out = a", "the step of a loop is an assignment", 1, 27, WF_ERR_SYNTAX },
    { "for (int k = 0; k < 3) out = a", "';' after the condition", 1, 21, WF_ERR_SYNTAX },
    { "for (int k = 0; k < 9; j = 1) { if (k == y) break; j = 3 }", "declared before it", 1, 23, WF_ERR_SYNTAX },
    { "int k = 0\nk + 1\nout = a", "expected '=' after the name, not '+'", 2, 2, WF_ERR_SYNTAX },
    { "int k = 0; k++ k--; out = a", "end of the statement", 1, 15, WF_ERR_SYNTAX },
    { "out = ker; int k = 0", "does not broadcast to the index space", 1, 6, WF_ERR_SHAPE },
    { "int k = 0; out = a + ker", "the index space would be (13, 21) and, by this array, (3, 3)", 1, 21, WF_ERR_SHAPE },
};

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *a = make_array(), *ker = wf_full(ctx, WF_F32, WF_SHAPE(3, 3), 1), *size = broadcast(a);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *text = wrong[i].text, *want[] = { "out" };
        wf_array *out = NULL;
        wf_args args = WF_ARGS(WF_ARG("a", a), WF_ARG("ker", ker), WF_ARG("gain", 2.5), WF_ARG("", size));
        if (strstr(wrong[i].says, "would be"))
            args.n--;
        wf_clear_error(ctx);
        wf_status status = wf_text_create(ctx, text, args, 0, want, 1, &out);
        char where[32], *message = strdup(wf_last_message(ctx));
        const char *caret = strrchr(message, '\n');
        snprintf(where, sizeof where, "line %d, column %d:", wrong[i].line, wrong[i].column + 1);
        if (status != wrong[i].status || out || !strstr(message, wrong[i].says) || !strstr(message, where) || !caret ||
            (int)strlen(caret) != wrong[i].column + 4)
            fail_msg("%s\ngives %s: %s", text, wf_status_name(status), message);
        free(message);
    }
    wf_clear_error(ctx);
    wf_graph *g = wf_begin(ctx);
    wf_text_record(g, "f32 s = 0; a = s", a);
    EXPECT(ctx, wf_run(g), WF_ERR_CONTRACT);
    wf_array *out[2] = { wf_like(a), wf_like(ker) };
    EXPECT(ctx, wf_text_n(ctx, "int k = 1; p = k; q = k", WF_ARGS(WF_ARG("p", out[0]), WF_ARG("q", out[1]))),
           WF_ERR_SHAPE);
    EXPECT(ctx, wf_text_n(ctx, "int k = 1; s = k", WF_NO_ARGS), WF_ERR_SHAPE);
    EXPECT(ctx, wf_text_n(ctx, "hist[i64(a)] += 1", WF_ARGS(WF_ARG("hist", out[0]), WF_ARG("a", a))), WF_ERR_SHAPE);
    wf_args none = WF_ARGS(WF_ARG("a", a), WF_ARG("null", (wf_array *)NULL));
    EXPECT(ctx, wf_text_n(ctx, "null[0,0,0,0,0,0,0,0,0,0,0,0,0] = a", none), WF_ERR_ARG);
    EXPECT(ctx, wf_text_n(ctx, "int k = 0; a = null", none), WF_ERR_ARG);
    REFUSED(ctx, wf_text_n(ctx, "a = null[x-1]", none), WF_ERR_ARG, "null: the array is NULL");
    REFUSED(ctx, wf_text_n(ctx, "null = 0.5", none), WF_ERR_ARG, "wf_out: the array is NULL");
    char line[300] = "a = zz + 1", part[120]; /* of a long line, the message shows the part around the mistake */
    while (strlen(line) < 200)
        strcat(line, " + 1");
    snprintf(part, sizeof part, "column 5:\n  %.96s...\n      ^", line);
    REFUSED(ctx, wf_text_n(ctx, line, WF_ARGS(WF_ARG("a", a))), WF_ERR_SYNTAX, part);
    wf_release(out[0]);
    wf_release(out[1]);
    wf_release(a);
    wf_release(ker);
    wf_release(size);
}

/* Hostile sizes: an error, and soon. */
static void test_extremes(void **state)
{
    enum { DEEP = 50000 };
    static const char *const pieces[][2] = { { "if (a > 0) ", "" },
                                             { "{", "}" },
                                             { "while (a > 0) {", "}" },
                                             { "for (;;) ", "" },
                                             { "if (a > 0) b = 1 else ", "" },
                                             { "int k = 0;", "" },
                                             { "{int k = 0}", "" },
                                             { "if (a > 0) {}", "" },
                                             { "for (int k = 0; k < ", "" },
                                             { "(int)", "" } };
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 1), *out = NULL;
    const char *want[] = { "out" };
    char *text = malloc(DEEP * 32);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (int closed = 0; closed < 2; closed++) {
            char *end = text;
            for (int k = 0; k < DEEP; k++)
                end += sprintf(end, "%s", pieces[i][0]);
            end += sprintf(end, "out = 1");
            for (int k = 0; k < DEEP && closed; k++)
                end += sprintf(end, "%s", pieces[i][1]);
            assert_int_not_equal(wf_text_create(ctx, text, WF_NAMED(a), 0, want, 1, &out), WF_OK);
            wf_clear_error(ctx);
        }
    /* the step of a loop at each continue */
    char *end = text + sprintf(text, "int s = 0; for (int k = 0; k < 9 + s; k += 0");
    for (int k = 0; k < 5000; k++)
        end += sprintf(end, "+k");
    end += sprintf(end, ") {");
    for (int k = 0; k < 3000; k++)
        end += sprintf(end, "if (a > k) continue;");
    sprintf(end, "s = 1 } out = s");
    assert_int_equal(wf_text_create(ctx, text, WF_NAMED(a), 0, want, 1, &out), WF_ERR_UNSUPPORTED);
    wf_clear_error(ctx);
    free(text);
    wf_release(a);
}

/* Brackets, calls and signs count as one level each, as the message says. */
static void test_depth(void **state)
{
    enum { MOST = 200 };
    static const char *const pieces[][2] = { { "(", ")" }, { "sqrt(", ")" }, { "-", "" }, { "max(1, ", ")" } };
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 1);
    char *text = malloc(MOST * 16);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (int more = 0; more < 2; more++) {
            int levels = MOST - 2 + more; /* beside those of the statement and its expression */
            char *end = text + sprintf(text, "a = ");
            for (int k = 0; k < levels; k++)
                end += sprintf(end, "%s", pieces[i][0]);
            end += sprintf(end, "a");
            for (int k = 0; k < levels; k++)
                end += sprintf(end, "%s", pieces[i][1]);
            if (more)
                REFUSED(ctx, wf_text(ctx, text, a), WF_ERR_SYNTAX, "nested more than 200 deep");
            else
                OK(ctx, wf_text(ctx, text, a));
        }
    free(text);
    wf_release(a);
}

static void test_no_memory(void **state)
{
    (void)state;
    wf_array *a = make_array();
    make_out_without_memory(
        "f32 s = 0; for (int k = 0; k < 3 + x % 2; k++) { if (a > k) continue; i64 i = x + k; s += a[y, i] }\n"
        "for (f32 v = 0; v < 2; v += 1) { s += v; out[y, x] = s }",
        WF_NAMED(a), 3000);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_no_memory),
    };
    return RUN_ON_ALL(tests);
}
