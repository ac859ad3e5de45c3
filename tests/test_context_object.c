/* test_context_object.c - objects that libraries keep with a context: made once for each key, released with the context.
 *
 * ctest: threads
 */
#include "weft_test.h"

static int made, released;
static const char one = 1, other = 2, never = 3; /* their addresses are keys */

static void *make(wf_context *ctx)
{
    ++made;
    return wf_array_arange(ctx, WF_F32, 3, 0, 1); /* an object that keeps the context alive */
}

static void *fail_to_make(wf_context *ctx)
{
    (void)ctx;
    ++made;
    return NULL;
}

static void release(void *object)
{
    ++released;
    wf_release(object);
}

static void test_objects(void **state)
{
    (void)state;
    made = released = 0;
    wf_context *ctx = test_context(0, 1);
    void *first = wf_context_object(ctx, &one, make, release), *second = wf_context_object(ctx, &other, make, release);
    assert_true(first && second && first != second);
    assert_ptr_equal(wf_context_object(ctx, &one, make, release), first);
    assert_int_equal(made, 2);
    assert_null(wf_context_object(ctx, &never, fail_to_make, release));
    assert_null(wf_context_object(ctx, &never, fail_to_make, release)); /* tried again */
    assert_int_equal(made, 4);
    assert_null(wf_context_object(NULL, &one, make, release));
    assert_null(wf_context_object(ctx, &never, NULL, release));
    wf_array *array = wf_array_arange(ctx, WF_F32, 3, 0, 1);
    assert_int_equal(released, 0);
    wf_context_free(ctx);
    assert_int_equal(released, 2);
    assert_null(wf_context_object(wf_array_context(array), &one, make, release)); /* only the array is left */
    assert_int_equal(made, 4);
    wf_release(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_objects) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
