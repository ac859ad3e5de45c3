/* test_front_end.c - what a front end, such as operator text, asks of values, dtypes and recordings.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include <math.h>

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        wf_dtype dtype, part;
        wf_kind kind;
    } all[] = { { WF_NONE, WF_NONE, WF_KIND_NONE },
                { WF_BOOL, WF_BOOL, WF_KIND_BOOL },
                { WF_I8, WF_I8, WF_KIND_SIGNED },
                { WF_U8, WF_U8, WF_KIND_UNSIGNED },
                { WF_I64, WF_I64, WF_KIND_SIGNED },
                { WF_U64, WF_U64, WF_KIND_UNSIGNED },
                { WF_F16, WF_F16, WF_KIND_FLOAT },
                { WF_BF16, WF_BF16, WF_KIND_FLOAT },
                { WF_F64, WF_F64, WF_KIND_FLOAT },
                { WF_C32, WF_F16, WF_KIND_COMPLEX },
                { WF_C64, WF_F32, WF_KIND_COMPLEX },
                { WF_C128, WF_F64, WF_KIND_COMPLEX },
                { (wf_dtype)99, (wf_dtype)99, WF_KIND_NONE } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(wf_dtype_kind(all[i].dtype), all[i].kind);
        assert_int_equal(wf_dtype_part(all[i].dtype), all[i].part);
    }
    assert_true(wf_dtype_size(WF_C128) == 16 && !wf_dtype_size(WF_NONE) && !wf_dtype_size((wf_dtype)(WF_C128 + 1)));
    assert_true(wf_number_fits(0.5, WF_F16) && wf_number_fits(1e30, WF_C64) && wf_number_fits(-128, WF_I8));
    assert_true(wf_number_fits(1, WF_BOOL) && wf_number_fits(0x1p53 - 1, WF_U64));
    assert_false(wf_number_fits(0.5, WF_I32) || wf_number_fits(128, WF_I8) || wf_number_fits(-1, WF_U8));
    assert_false(wf_number_fits(2, WF_BOOL) || wf_number_fits(0x1p53, WF_U64) || wf_number_fits((double)NAN, WF_I64));
    assert_false(wf_number_fits(0, WF_NONE) || wf_number_fits(0, (wf_dtype)99));
}

static void test_shape_text(void **state)
{
    (void)state;
    char text[16], cut[5];
    wf_shape shape = WF_SHAPE(3, -1, 40);
    wf_shape_text(&shape, text, sizeof text);
    assert_string_equal(text, "(3, ?, 40)");
    wf_shape_text(&shape, cut, sizeof cut);
    assert_string_equal(cut, "(3, ");
    wf_shape_text(&WF_SCALAR, text, sizeof text);
    assert_string_equal(text, "()");
    wf_shape_text(NULL, text, sizeof text);
    assert_string_equal(text, "()");
    char long_text[64];
    shape = (wf_shape){ .rank = WF_MAX_RANK + 1 };
    wf_shape_text(&shape, long_text, sizeof long_text);
    assert_string_equal(long_text, "(0, 0, 0, 0, 0, 0, 0, 0)");
    wf_shape_text(&shape, NULL, 0);
}

static void test_values(void **state)
{
    (void)state;
    double re = 7, im = 7;
    assert_true(wf_val_number(WF_V(2.5), &re, &im));
    assert_true(re == 2.5 && im == 0);
    assert_true(wf_val_number(wf_complex(1, -2), &re, &im));
    assert_true(re == 1 && im == -2);
    assert_true(wf_val_number(WF_V(2), NULL, NULL));
    wf_graph *g = wf_begin(ctx);
    wf_val c = wf_const(g, WF_F32, 3), p = wf_param(g, "p", WF_F32, 3), poison = { { 0, g } };
    assert_false(wf_val_number(c, &re, &im) || wf_val_number(poison, &re, &im));
    assert_true(re == 1 && im == -2);
    assert_true(wf_val_is_constant(c) && wf_val_is_constant(wf_add(c, 1)) && wf_val_is_constant(WF_V(1)));
    assert_false(wf_val_is_constant(p) || wf_val_is_constant(wf_add(c, p)) || wf_val_is_constant(poison));
    wf_drop(g);
}

static void test_sincos(void **state)
{
    (void)state;
    double sine = 1, cosine = 0;
    wf_val s, c;
    wf_sincos(0, &s, NULL);
    wf_sincos(0, NULL, &c);
    assert_true(wf_val_number(s, &sine, NULL) && wf_val_number(c, &cosine, NULL) && sine == 0 && cosine == 1);
}

static void test_recordings(void **state)
{
    (void)state;
    wf_shape shape = WF_SHAPE(9);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3, 5), 1);
    wf_graph *g = wf_begin(ctx);
    assert_int_equal(wf_graph_device(g), 0);
    wf_in(g, a);
    assert_int_equal(wf_graph_device(g), wf_context_device(ctx)); /* the device of `a`, or the interpreter */
    assert_false(wf_graph_space(g, &shape) || wf_graph_indexed(g));
    assert_true(shape.dim[0] == 9);
    wf_drop(g);
    g = wf_begin(ctx, .shape = WF_SHAPE(3, 5), .device = wf_array_device(a));
    assert_int_equal(wf_graph_device(g), wf_array_device(a));
    assert_true(wf_graph_space(g, &shape) && wf_graph_space(g, NULL) && wf_graph_indexed(g));
    assert_true(shape.rank == 2 && shape.dim[0] == 3 && shape.dim[1] == 5);
    wf_drop(g);
    g = wf_begin(ctx, .elements = true);
    assert_true(!wf_graph_space(g, &shape) && wf_graph_indexed(g));
    wf_drop(g);
    assert_int_equal(wf_graph_device(NULL), 0);
    assert_false(wf_graph_space(NULL, &shape) || wf_graph_indexed(NULL));
    wf_release(a);
}

static void test_places(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx);
    assert_int_equal(wf_graph_status(g), WF_OK);
    wf_append_error_place(g, "nothing has failed yet");
    wf_fail(g, WF_ERR_SHAPE, "odd");
    assert_int_equal(wf_graph_status(g), WF_ERR_SHAPE);
    wf_append_error_place(g, " at line 3");
    char longer[1000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    wf_append_error_place(g, longer);
    assert_int_equal(wf_run(g), WF_ERR_SHAPE);
    assert_int_equal(strncmp(wf_last_message(ctx), "odd at line 3xxx", 16), 0);
    assert_int_equal(wf_graph_status(NULL), WF_ERR_ARG);
    wf_append_error_place(NULL, "");
    wf_clear_error(ctx);
    g = wf_begin(ctx);
    wf_fail(g, WF_ERR_SHAPE, "odd");
    wf_append_error_place(g, NULL);
    assert_int_equal(wf_run(g), WF_ERR_SHAPE);
    assert_int_equal(strncmp(wf_last_message(ctx), "odd", 3), 0);
    wf_clear_error(ctx);
}

/* The list of operations has their numbers of operands and their dtypes, shown by two of them. The list is generated
 * from the op table. */
static void test_list(void **state)
{
    (void)state;
    static const struct {
        const char *name, *operands, *result;
        int arity, complex;
    } list[] = {
#define F(name, arity, operands, result, complex) { #name, #operands, #result, arity, complex },
        WF_OPERATIONS(F)
#undef F
    };
    size_t n = sizeof list / sizeof *list, seen = 0;
    assert_true(n > 90);
    for (size_t i = 0; i < n; i++) {
        bool is_sqrt = strcmp(list[i].name, "sqrt") == 0, is_lt = strcmp(list[i].name, "lt") == 0;
        if (is_sqrt)
            assert_true(list[i].arity == 1 && list[i].complex == 1 && strcmp(list[i].operands, "FLT") == 0);
        if (is_lt)
            assert_true(list[i].arity == 2 && list[i].complex == 0 && strcmp(list[i].result, "BOOL") == 0);
        seen += is_sqrt || is_lt;
    }
    assert_int_equal(seen, 2);
}

/* A number beyond all values of a recording, such as that of a value of an earlier one, is refused. */
static void test_values_beyond(void **state)
{
    (void)state;
    for (int by = 1; by < 3; ++by) {
        wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 1);
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_sin(wf_in(g, a));
        x.h.num += by;
        wf_out(g, a, x);
        REFUSED(ctx, wf_run(g), WF_ERR_ARG, "a value of a recording that has ended is used");
        wf_release(a);
    }
}

/* A value or variable of an ended recording is refused by later ones, whichever function ended it, though the context
 * uses the memory of a recording again. */
static void test_values_of_ended_recordings(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 1);
    for (int way = 0; way < 12; ++way) {
        wf_graph *g = wf_begin(ctx);
        const wf_val value = wf_sin(wf_in(g, a));
        const wf_var var = wf_local(g, WF_F32, value);
        wf_kernel *k = NULL;
        wf_out(g, a, 1);
        if (way % 3 == 0)
            assert_int_equal(wf_run(g), WF_OK);
        else if (way % 3 == 1)
            assert_non_null(k = wf_compile(g));
        else
            wf_drop(g);
        wf_graph *h = wf_begin(ctx);
        assert_ptr_equal(h, g); /* else the address would tell */
        const wf_var own = wf_local(h, WF_F32, wf_sqrt(wf_add(wf_in(h, a), 2)));
        if (way / 3 == 0)
            wf_out(h, a, wf_mul(wf_in(h, a), value));
        else if (way / 3 == 1)
            wf_out(h, a, var);
        else if (way / 3 == 2)
            wf_set(var, 3);
        else
            wf_inc(var, 3);
        wf_out(h, a, own);
        REFUSED(ctx, wf_run(h), WF_ERR_ARG,
                way / 3 ? "a variable of a recording that has ended is used"
                        : "wf_mul: a value of a recording that has ended is used");
        wf_kernel_free(k);
    }
    EXPECT_F32(a, 1, 1, 1);
    wf_release(a);
}

/* A recording can be consumed once. A later function says so, and leaves the next recording alone. */
static void test_ended_recordings(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 1);
    for (int way = 0; way < 8; ++way) {
        wf_graph *g = wf_begin(ctx);
        wf_kernel *k = NULL;
        wf_out(g, a, 2);
        if (way / 4)
            assert_non_null(k = wf_compile(g));
        else
            assert_int_equal(wf_run(g), WF_OK);
        wf_out(g, a, 77); /* an ended recording records nothing */
        if (way % 4 == 0) {
            REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_run: the recording has ended");
        } else if (way % 4 == 1) {
            REFUSED(ctx, wf_eval(g), WF_ERR_CONTRACT, "wf_eval: the recording has ended");
        } else if (way % 4 == 2) {
            assert_null(wf_compile(g));
            REFUSED(ctx, wf_last_status(ctx), WF_ERR_CONTRACT, "wf_compile: the recording has ended");
        } else {
            wf_drop(g);
            REFUSED(ctx, wf_last_status(ctx), WF_ERR_CONTRACT, "wf_drop: the recording has ended");
        }
        wf_kernel_free(k);
        wf_graph *h = wf_begin(ctx), *other = wf_begin(ctx);
        assert_ptr_not_equal(h, other);
        wf_out(h, a, 5);
        wf_drop(other);
        assert_int_equal(wf_run(h), WF_OK);
        EXPECT_F32(a, 5, 5, 5);
    }
    wf_release(a);
}

/* A struct of options whose size was not set is refused; NULL stays allowed. */
static void test_sizes_not_set(void **state)
{
    (void)state;
    float data[3] = { 0 };
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 1);
    wf_graph *g = wf_begin_with(ctx, &(wf_space){ .shape = WF_SHAPE(3) });
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_begin: the size of a struct is wrong; set .size");
    assert_null(wf_empty_with(ctx, WF_F32, WF_SHAPE(3), &(wf_place){ .device = WF_CPU }));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_empty: the size of a struct is wrong; set .size");
    assert_null(wf_wrap_with(ctx, data, WF_F32, WF_SHAPE(3), &(wf_place){ .device = WF_CPU }, NULL, NULL));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_wrap: the size of a struct is wrong; set .size");
    g = wf_begin(ctx);
    wf_out(g, a, 2);
    wf_kernel *k = wf_compile(g);
    REFUSED(ctx, wf_launch_with(k, WF_NO_ARGS, &(wf_launch_opts){ .threads = 1 }), WF_ERR_ARG,
            "wf_launch: the size of a struct is wrong; set .size");
    assert_int_equal(wf_launch_with(k, WF_NO_ARGS, NULL), WF_OK);
    wf_kernel_free(k);
    REFUSED(ctx, wf_get_info(ctx, false, &(wf_info){ .threads = 0 }), WF_ERR_ARG, "wf_get_info: the size of");
    REFUSED(ctx, wf_get_device_info(ctx, WF_CPU, &(wf_device_info){ .processors = 0 }), WF_ERR_ARG,
            "wf_get_device_info: the size of");
    wf_context *other = wf_context_new(&(wf_config){ .threads = 1 });
    REFUSED(other, wf_last_status(other), WF_ERR_ARG, "wf_context_new: the size of a struct is wrong; set .size");
    wf_context_free(other);
    wf_release(a);
}

/* An argument of a kind that is none is refused by name. */
static void test_kinds_of_arguments(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 1);
    for (int kind = -1; kind < 8; kind += kind ? 7 : 1) { /* -1, 0, 7 */
        wf_graph *g = wf_begin(ctx);
        wf_array *f = wf_formal(g, "f", WF_F32, 1);
        wf_out(g, f, wf_param(g, "gain", WF_F32, 2));
        wf_kernel *k = wf_compile(g);
        const wf_arg odd = { .name = "gain", .kind = kind, .as.num = 3 };
        REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("f", a), odd)), WF_ERR_ARG, "the argument 'gain' has the kind");
        const wf_arg array = { .name = "f", .kind = kind, .as.array = a };
        REFUSED(ctx, wf_launch(k, WF_ARGS(array)), WF_ERR_ARG, "the argument 'f' has the kind");
        wf_kernel_free(k);
        REFUSED(ctx, wf_text_n(ctx, "a = a * gain", WF_ARGS(WF_ARG("a", a), odd)), WF_ERR_ARG,
                "the argument 'gain' has the kind");
    }
    EXPECT_F32(a, 1, 1, 1);
    wf_release(a);
}

/* Masks of recordings have no WF_DROP_AXES. */
static void test_drop_axes(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3, 2), 1);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_sum(wf_in(g, a), WF_AXES(1) | WF_DROP_AXES));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_reduce: WF_DROP_AXES is for array functions");
    g = wf_begin(ctx, .shape = WF_SHAPE(3, 2), .reduce = WF_AXES(1) | WF_DROP_AXES);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "has WF_DROP_AXES, which is for array functions");
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_shape_text),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_recordings),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_sincos),
        cmocka_unit_test(test_values_beyond),
        cmocka_unit_test(test_values_of_ended_recordings),
        cmocka_unit_test(test_ended_recordings),
        cmocka_unit_test(test_sizes_not_set),
        cmocka_unit_test(test_kinds_of_arguments),
        cmocka_unit_test(test_drop_axes),
    };
    return RUN_ON_ALL(tests);
}
