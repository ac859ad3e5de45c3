/* test_codegen_bodies.c - addressing, borders, tiles, loops and reductions: code by LLVM gives the bits of the
 * interpreter, on every instruction set of this machine.
 *
 * ctest: codegen
 */
#include "codegen_harness.h"

int main(void)
{
    int failed = codegen_bodies() + codegen_borders() + codegen_loops();
    test_close_llvm();
    return failed;
}
