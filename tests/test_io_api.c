/* test_io_api.c - the functions, types and constants that Weft declares of libpng, libtiff and zlib are those of the
 * libraries' own headers. The test of a header that is not installed is skipped.
 *
 * ctest: no_kernels
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#if __has_include(<png.h>)
#include <png.h>
#endif
#if __has_include(<tiffio.h>)
#include <tiffio.h>
#endif
#if __has_include(<zlib.h>)
#include <zlib.h>
#endif

/* clang-format off */
#define IS_POINTER_TO(pointer, type) _Generic((pointer), type: true, default: false)
/* clang-format on */

static void test_png(void **state)
{
    (void)state;
#ifdef PNG_LIBPNG_VER_STRING
#define WFL_FUNCTION(result, name, parameters) assert_true(IS_POINTER_TO(&png_##name, result(*) parameters));
#define WFL_CONSTANT(name, value) assert_int_equal(name, value);
#include "lib/io/png_api.def"
#undef WFL_FUNCTION
#undef WFL_CONSTANT
    assert_int_equal(PNG_LIBPNG_VER_SONUM, 16);
#else
    skip();
#endif
}

static void test_tiff(void **state)
{
    (void)state;
#ifdef TIFFLIB_VERSION
#define WFL_FUNCTION(result, name, parameters) assert_true(IS_POINTER_TO(&TIFF##name, result(*) parameters));
#define WFL_CONSTANT(name, value) assert_int_equal(name, value);
#include "lib/io/tiff_api.def"
#undef WFL_FUNCTION
#undef WFL_CONSTANT
#else
    skip();
#endif
}

static void test_zlib(void **state)
{
    (void)state;
#ifdef ZLIB_VERSION
    typedef alloc_func zlib_allocate;
    typedef free_func zlib_free;
#define WFL_FUNCTION(result, name, parameters) assert_true(IS_POINTER_TO(&name, result(*) parameters));
#define WFL_CONSTANT(name, value) assert_int_equal(name, value);
#define WFL_MEMBER(type, name) assert_true(IS_POINTER_TO(&((z_stream *)NULL)->name, type *));
#include "lib/io/zlib_api.def"
#undef WFL_FUNCTION
#undef WFL_CONSTANT
#undef WFL_MEMBER
    struct declared {
#define WFL_FUNCTION(result, name, parameters)
#define WFL_CONSTANT(name, value)
#define WFL_MEMBER(type, name) type name;
#include "lib/io/zlib_api.def"
#undef WFL_MEMBER
    };
#define WFL_MEMBER(type, name) assert_int_equal(offsetof(struct declared, name), offsetof(z_stream, name));
#include "lib/io/zlib_api.def"
    assert_int_equal(sizeof(struct declared), sizeof(z_stream));
    assert_int_equal(*ZLIB_VERSION, '1');
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_png), cmocka_unit_test(test_tiff),
                                        cmocka_unit_test(test_zlib) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
