/* test_codegen.c - code by LLVM against the interpreter, bit for bit, on every instruction set of this machine. With an
 * argument, one part of it.
 *
 * ctest runs: operations others
 */
#include "codegen_harness.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

int main(int argc, char **argv)
{
    const char *only = getenv("WEFT_TEST"); /* a pattern, to run some */
    if (only)
        cmocka_set_test_filter(only);
    int failed = codegen_cases(argc < 2 ? NULL : argv[1]);
    test_close_llvm();
    return failed;
}
