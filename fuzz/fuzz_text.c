/* fuzz_text.c - takes any bytes as operator text, records it and computes it on small arrays. It must never crash. Each
 * statement of a valid text has a name, and each error has a message with a place. A loop may never end, so a text with
 * a loop is planned but not run.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "weft/weft.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static wf_context *ctx;
static wf_array *a, *m, *out;

static void leave(void)
{
    wf_release(a);
    wf_release(m);
    wf_release(out);
    wf_context_free(ctx);
}

static void enter(void)
{
    static float values[15];
    static uint8_t bytes[5] = { 0, 1, 128, 254, 255 };
    ctx = wf_context_new(&(wf_config){
        .size = sizeof(wf_config), .device = WF_INTERP, .threads = 1, .flags_on = WF_FLAG_NO_DISK_CACHE });
    a = wf_empty(ctx, WF_F32, WF_SHAPE(3, 5));
    m = wf_empty(ctx, WF_U8, WF_SHAPE(5));
    out = wf_full(ctx, WF_I32, WF_SHAPE(3, 5), 7);
    for (int i = 0; i < 15; i++)
        values[i] = (float)i - 7.5f;
    if (wf_upload(a, values, sizeof values) != WF_OK || wf_upload(m, bytes, sizeof bytes) != WF_OK)
        abort();
    atexit(leave);
}

static bool loops(const char *text) { return strstr(text, "while") || strstr(text, "for"); }

/* True if the text may make large arrays: it has a number of more than four digits beside words that make arrays. */
static bool is_large(const char *text)
{
    int digits = 0, most = 0;
    for (const char *c = text; *c; c++) {
        digits = strchr("0123456789abcdefABCDEFx", *c) ? digits + 1 : 0;
        most = digits > most ? digits : most;
    }
    return (strstr(text, "global") || strstr(text, "histogram")) && (most > 4 || strpbrk(text, "*<eE"));
}

/* Records the text in the recording that it needs, and plans that. */
static void as_recording(const char *text, const wf_space *options)
{
    static char passes[1 << 16];
    wf_args args = WF_ARGS(WF_ARG("a", a), WF_ARG("m", m), WF_ARG("g", 2.5), WF_ARG("k", 3), WF_ARG("out", out));
    wf_graph *graph = wf_text_begin(ctx, text, args, options);
    size_t len;
    wf_text_record_n(graph, text, args);
    wf_kernel *kernel = wf_compile(graph);
    if (!kernel && !*wf_last_message(ctx))
        abort();
    if (kernel && wf_kernel_dump(kernel, WF_NO_ARGS, WF_DUMP_KERNELS, passes, sizeof passes, &len) != WF_OK &&
        !*wf_last_message(ctx))
        abort();
    wf_kernel_free(kernel);
    wf_clear_error(ctx);
}

static void as_statements(const char *text)
{
    char name[16];
    const char *want[] = { name };
    wf_array *made = NULL;
    size_t n = 0;
    while (wf_text_target(ctx, text, n, name, sizeof name))
        n++;
    if (n > 0 && strlen(name) == sizeof name - 1)
        return; /* the name may be cut */
    wf_args args = WF_ARGS(WF_ARG("a", a), WF_ARG("m", m), WF_ARG("g", 2.5), WF_ARG("k", 3));
    for (int axis = -4; axis < 0 && n > 0; axis++) {
        int of = 0;
        double step = 0;
        if (wf_text_step(ctx, text, args, name, "a", axis, &of, &step) && (of > -1 || of < -4 || !(step > 0)))
            abort();
    }
    if (loops(text) || is_large(text))
        return;
    wf_status status = wf_text_create(ctx, text, args, 0, want, n > 0, &made);
    if (n == 0 && status == WF_OK && !strpbrk(text, "{(")) /* an empty block is fine */
        abort();
    if ((status == WF_OK) != (made != NULL) && n > 0)
        abort();
    if (status != WF_OK && !*wf_last_message(ctx))
        abort();
    wf_release(made);
    wf_clear_error(ctx);
}

static void as_expression(const char *text)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(3, 5));
    wf_array *result = wf_like(a);
    wf_out(g, result, wf_expr(g, text, WF_ARGS(WF_ARG("a", a), WF_ARG("m", m), WF_ARG("g", 2.5))));
    if (wf_run(g) != WF_OK && !*wf_last_message(ctx))
        abort();
    wf_release(result);
    wf_clear_error(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 4096 };
    if (!ctx)
        enter();
    if (size > MOST)
        return 0;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    as_statements(text);
    as_recording(text, NULL);
    as_recording(text, &(wf_space){ .size = sizeof(wf_space), .shape = WF_SHAPE(4, 3, 5) });
    as_expression(text);
    free(text);
    return 0;
}
