/* builder.h - what the files of the builder share. */
#ifndef WEFT_IR_BUILDER_H
#define WEFT_IR_BUILDER_H
#include "ir/ir.h"

/* A simpler equal of the pure operation `n`, whose operands are in canonical order; 0: there is none, append it.
 * Every rule holds bit for bit (NaN payloads aside). May rewrite `n` into another operation to append. */
wf__ref wf__fold(wf__ir *ir, wf__node *n);
#endif
