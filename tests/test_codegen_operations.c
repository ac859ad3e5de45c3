/* test_codegen_operations.c - every operation on every dtype: code by LLVM gives the bits of the interpreter, on every
 * instruction set of this machine.
 *
 * ctest: codegen values
 */
#include "codegen_harness.h"

int main(void)
{
    int failed = codegen_operations();
    test_close_llvm();
    return failed;
}
