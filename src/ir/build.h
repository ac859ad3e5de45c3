/* build.h - what the files of the builder share. */
#ifndef WEFT_IR_BUILDER_H
#define WEFT_IR_BUILDER_H
#include "ir/ir.h"

/* A simpler equal of the pure operation `n`, whose operands are in canonical order; 0: there is none, append it.
 * Every rule holds bit for bit (NaN payloads aside). May rewrite `n` into another operation to append. */
wf__ref wf__fold(wf__ir *ir, wf__node *n);
/* The operation on operands of which some are literals of some shape: these are the numbers that they are, where the
 * others have the result's shape; of literals alone the result is one. 0: neither, append it (literal.c). */
wf__ref wf__of_literals(wf__ir *ir, unsigned op, unsigned arity, const wf__ref *operand);
#endif
