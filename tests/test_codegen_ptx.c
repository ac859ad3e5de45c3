/* test_codegen_ptx.c - the bodies of codegen_cases.c as PTX: each is generated, with index arithmetic in 32 and in 64 bits,
 * and assembled for several architectures, where the assembler is installed. */
#include "codegen_harness.h"
#include "ptx/ptx.h"
#include "ptxas.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static unsigned generated;

static void emit(const test_case *t)
{
    static const int arch[] = { 70, 80 };
    for (size_t i = 0; i < WF__COUNT(arch); ++i)
        for (int narrow = (int)i; narrow < 2; ++narrow) {
            wf__ptx_code *code = calloc(1, sizeof *code);
            wf__str error = { 0 };
            assert_non_null(code);
            wf__ptx_options how = { .arch = arch[i], .narrow = narrow };
            wf_status status = wf__ptx_emit(&t->ir, &how, code, &error);
            if (status != WF_OK)
                print_error("%s: %s\n", t->name, wf__str_get(&error));
            assert_int_equal(status, WF_OK);
            ptxas_add(t->name, arch[i], wf__str_get(&code->text));
            wf__ptx_free(code);
            wf__str_free(&error);
            free(code);
            ++generated;
        }
}

static void test_assembled(void **state)
{
    (void)state;
    assert_true(generated > 100);
    if (!ptxas_found())
        skip();
    ptxas_check(70, 70);
    ptxas_check(70, 75);
    ptxas_check(80, 80);
    ptxas_check(80, 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_assembled) };
    test_instead = emit;
    int failed = codegen_cases(NULL);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    ptxas_forget();
    return failed;
}
