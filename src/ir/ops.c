/* ops.c - the table of operations: names, arities and dtype classes, and the operations that joins are. Meanings are in
 * meaning.c. */
#include "ir/ir.h"

enum { COMM = WF__COMM, ASSOC = WF__ASSOC, EXPAND = WF__EXPAND, CPLX = WF__CPLX, EXPAND_FLT = WF__EXPAND_FLT };
enum { SAME = false, BOOL = true };

const wf__op_info wf__op_table[WF__OP_COUNT] = {
#define NO 0, WF__T_NONE, false, 0
#define PURE(arity, types, flags) arity, WF__T_##types, false, flags
#define P(property) | WF__IS_##property
#define NONE
#define F(place, kind) | WF__##kind##_REFERS
#define WF_NODE(NAME, name, function, computes, where, cost, properties, fields, doc) \
    [WF__##NAME] = { #name, function, doc, 0 properties, WF__IN_##where, computes, .refers = 0 fields },
#include "ir/node.def"
#undef WF_NODE
#undef F
#undef NONE
#undef P
#undef PURE
#undef NO
#define WF_OP(name, arity, types, result, flags, cost, imeaning, fmeaning, doc)                                   \
    [WF__OP_##name] = { #name,       "wf_" #name,   doc,           WF__IS_VALUE | WF__IS_NUMBERED | WF__IS_MOVES, \
                        WF__IN_BOTH, arity,         WF__T_##types, result,                                        \
                        flags,       .refers = true },
#include "ir/ops.def"
#undef WF_OP
};

enum {
    BOOL_BIT = 1 << WF_BOOL,
    INT_BITS =
        1 << WF_I8 | 1 << WF_U8 | 1 << WF_I16 | 1 << WF_U16 | 1 << WF_I32 | 1 << WF_U32 | 1 << WF_I64 | 1 << WF_U64,
    FLT_BITS = 1 << WF_F16 | 1 << WF_BF16 | 1 << WF_F32 | 1 << WF_F64
};
const uint32_t wf__types_mask[] = { [WF__T_NONE] = 0,
                                    [WF__T_NUM] = INT_BITS | FLT_BITS,
                                    [WF__T_INT] = INT_BITS,
                                    [WF__T_FLT] = FLT_BITS,
                                    [WF__T_BITS] = BOOL_BIT | INT_BITS,
                                    [WF__T_ANY] = BOOL_BIT | INT_BITS | FLT_BITS,
                                    [WF__T_FIRST_BOOL] = BOOL_BIT | INT_BITS | FLT_BITS,
                                    [WF__T_CPLX] = 0 };

unsigned wf__join_op(wf_join join)
{
    static const uint8_t ops[] = {
        [WF_JOIN_ADD] = WF__OP_add, [WF_JOIN_MUL] = WF__OP_mul, [WF_JOIN_MIN] = WF__OP_min, [WF_JOIN_MAX] = WF__OP_max,
        [WF_JOIN_AND] = WF__OP_and, [WF_JOIN_OR] = WF__OP_or,   [WF_JOIN_XOR] = WF__OP_xor
    };
    return (unsigned)join < WF__COUNT(ops) ? ops[join] : 0;
}

bool wf__updates(unsigned join, unsigned dtype)
{
    unsigned op = join <= WF_JOIN_XOR ? wf__join_op((wf_join)join) : 0;
    return wf__is_complex(dtype) ? join == WF_JOIN_ADD : op && wf__types_allow(wf__op_table[op].types, dtype);
}
