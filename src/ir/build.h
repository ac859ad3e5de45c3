/* build.h - declarations that the files of the builder share. */
#ifndef WEFT_IR_BUILD_H
#define WEFT_IR_BUILD_H
#include "ir/ir.h"

/* Returns a simpler equal of the pure operation `n`, whose operands are in canonical order. 0 = none: the caller
 * appends `n`, which may have become another operation. Every rule holds bit for bit (NaN payloads aside). */
wf__ref wf__fold(wf__ir *ir, wf__node *n);
/* Records an operation with broadcast literals among its operands (literal.c). Plain constants replace the literals
 * if the other operands have the result's shape. If all operands are literals, the result is a literal. 0 = neither:
 * the caller appends the operation. */
wf__ref wf__of_literals(wf__ir *ir, unsigned op, unsigned arity, const wf__ref *operand);
#endif
