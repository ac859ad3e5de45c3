/* test_graphviz.c - recordings as graphs for Graphviz: for any recording and any names the text follows the grammar of
 * the language, and each edge has both ends. */
#include "on_devices.h"
#include <ctype.h>

/* ---- a reader of the language, as far as needed ---- */
typedef struct reader {
    const char *at;
    char token[4096]; /* a word, a string with its quotes, or a sign */
    char node[400][24], end[2000][24];
    int nodes, ends;
} reader;

static const char *next(reader *r)
{
    size_t n = 0;
    while (isspace((unsigned char)*r->at))
        ++r->at;
    if (*r->at == '"') {
        do {
            assert_true(*r->at && n + 3 < sizeof r->token); /* a string that ends */
            if (*r->at == '\\')
                r->token[n++] = *r->at++;
            r->token[n++] = *r->at++;
        } while (*r->at != '"');
        r->token[n++] = *r->at++;
    } else if (isalnum((unsigned char)*r->at) || *r->at == '_') {
        while (isalnum((unsigned char)*r->at) || *r->at == '_')
            r->token[n++] = *r->at++;
    } else if (*r->at == '-') {
        assert_true(r->at[1] == '>');
        r->token[n++] = *r->at++;
        r->token[n++] = *r->at++;
    } else if (*r->at) {
        r->token[n++] = *r->at++;
    }
    r->token[n] = 0;
    return r->token;
}

static bool is_word(const char *token) { return isalnum((unsigned char)*token) || *token == '_'; }

static void attributes(reader *r) /* after [ */
{
    for (;;) {
        assert_true(is_word(next(r)));
        assert_string_equal(next(r), "=");
        next(r);
        assert_true(is_word(r->token) || *r->token == '"');
        if (!strcmp(next(r), "]"))
            return;
        assert_string_equal(r->token, ",");
    }
}

static void statements(reader *r) /* after { */
{
    while (strcmp(next(r), "}") != 0) {
        char word[24];
        assert_true(is_word(r->token) && strlen(r->token) < sizeof word);
        strcpy(word, r->token);
        next(r);
        if (!strcmp(word, "subgraph")) {
            assert_true(is_word(r->token));
            assert_string_equal(next(r), "{");
            statements(r);
            continue;
        }
        if (!strcmp(r->token, "=")) {
            next(r);
            assert_true(is_word(r->token) || *r->token == '"');
            assert_string_equal(next(r), ";");
            continue;
        }
        if (!strcmp(r->token, "->")) {
            assert_true(r->ends + 2 <= 2000 && is_word(next(r)) && strlen(r->token) < sizeof word);
            strcpy(r->end[r->ends++], word);
            strcpy(r->end[r->ends++], r->token);
            next(r);
        } else {
            assert_true(r->nodes < 400);
            strcpy(r->node[r->nodes++], word);
        }
        if (!strcmp(r->token, "[")) {
            attributes(r);
            next(r);
        }
        assert_string_equal(r->token, ";");
    }
}

/* Consumes the graph. Returns how often its drawing contains `part`. */
static int drawn(wf_graph *g, const char *part)
{
    static char text[1 << 16];
    static reader r;
    size_t len = 0;
    int found = 0;
    wf_kernel *k = wf_compile(g);
    if (!k)
        fail_msg("%s", wf_last_message(ctx));
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_DOT, text, sizeof text, &len));
    assert_true(len < sizeof text);
    wf_kernel_free(k);
    r = (reader){ .at = text };
    assert_string_equal(next(&r), "digraph");
    assert_true(is_word(next(&r)));
    assert_string_equal(next(&r), "{");
    statements(&r);
    assert_string_equal(next(&r), "");
    for (int i = 0; i < r.ends; ++i) {
        int n = 0;
        while (n < r.nodes && strcmp(r.node[n], r.end[i]) != 0)
            ++n;
        if (n == r.nodes)
            fail_msg("%s is at the end of an edge, and no node", r.end[i]);
    }
    for (const char *at = text; (at = strstr(at, part)); ++at)
        ++found;
    return found;
}

static const char *const hostile[] = { "", "\"", "\\", "a\\\"b\\", "{x|y} <b>", "]; -> [", "two\nlines", "\t%s" };
enum { HOSTILE = sizeof hostile / sizeof *hostile };

static void test_any_names(void **state)
{
    (void)state;
    for (int k = 0; k < HOSTILE; ++k) {
        wf_graph *g = wf_begin(ctx, .name = hostile[k]);
        wf_array *in = wf_formal(g, k ? hostile[k] : "in", WF_F32, 1), *out = wf_formal(g, "out", WF_F32, 1);
        wf_val x = wf_label(wf_in(g, in), hostile[k]);
        wf_out(g, out, wf_mul(x, wf_param(g, k > 1 ? hostile[k - 1] : "p", WF_F32, 1)));
        assert_int_equal(drawn(g, "cylinder"), 2);
    }
}

static void one(const wf_site *s) { wf_inc(s->out[0], 1); }
static void two(const wf_site *s) { wf_set(s->out[0], wf_sqrt(wf_add(s->out[0], s->in[0]))); }

static void test_array_graphs(void **state)
{
    (void)state;
    for (int off = 0; off < 2; ++off) {
        wf_graph *g = wf_begin(ctx, .flags_off = off ? WF_FLAG_FOLD | WF_FLAG_LOOP_OPT | WF_FLAG_DEAD_CODE : 0);
        wf_array *in = wf_formal(g, "in", WF_F64, 2), *bins = wf_formal(g, "bins", WF_I32, 1),
                 *out = wf_formal(g, "out", WF_F64, 2);
        wf_val v = wf_in(g, in), i = wf_cast(v, WF_I32), k;
        wf_var s = wf_local(g, WF_F64, wf_scan(WF_JOIN_ADD, v, 1, true, false));
        WF_FOR (g, k, 0, i, 2) {
            WF_IF (g, wf_gt(s, 3)) {
                wf_accumulate(g, WF_JOIN_ADD, bins, i, 0);
                wf_break(g);
            }
            WF_ELSE(g) { wf_switch(g, i, WF_FUNCTIONS({ one, NULL }, { two, NULL }), WF_VALS(v), WF_VARS(s)); }
            WF_END(g);
        }
        WF_END(g);
        wf_val was = wf_atomic_if(g, wf_eq(i, 7), WF_JOIN_MAX, bins, i, 1), swapped = wf_cas(g, bins, was, i, 2);
        wf_val all = wf_add(wf_sum(wf_reverse(s, 0), WF_AXES(1)), wf_cast(wf_add(was, swapped), WF_F64));
        wf_out(g, out, wf_add(all, wf_real(wf_mul(wf_complex(1, v), wf_complex(v, 2)))));
        assert_true(drawn(g, "hexagon") > 4);
    }
}

static void test_sections(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6, 8), .reduce = WF_AXES(1));
    wf_array *in = wf_formal(g, "in", WF_F32, 2), *out = wf_formal(g, "out", WF_F32, 1);
    wf_var sum = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD), most = wf_reduced(g, WF_F32, 0, WF_JOIN_CUSTOM);
    wf_section(g, WF_SECTION_INIT);
    wf_array *table = wf_scratch(g, WF_F32, WF_SHAPE(8), true);
    wf_write(g, table, 3, 2);
    wf_section(g, WF_SECTION_CALL);
    wf_inc(sum, wf_mul(wf_in(g, in), wf_read(g, table, wf_index(g, 1))));
    wf_set(most, wf_max(most, wf_in(g, in)));
    wf_section(g, WF_SECTION_JOIN);
    wf_set(most, wf_max(most, wf_other(most)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out, wf_add(sum, most));
    assert_true(drawn(g, "bold") >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_names),
        cmocka_unit_test(test_array_graphs),
        cmocka_unit_test(test_sections),
    };
    return RUN_ON_CPU(tests);
}
