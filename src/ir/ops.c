/* ops.c - the op table's facts: names, arities, dtype classes, neutral elements. Meanings are in meaning.c, costs in
 * cost.c. */
#include "ir/ir.h"

enum { COMM = WF__COMM, ASSOC = WF__ASSOC, EXPAND = WF__EXPAND, CPLX = WF__CPLX, EXPAND_FLT = WF__EXPAND_FLT };
enum { SAME = false, BOOL = true };

const wf__op_info wf__op_table[WF__OP_COUNT] = {
    [WF__NOP] = { "nop", 0, WF__T_NONE, false, 0, "" },
    [WF__CONST] = { "const", 0, WF__T_NONE, false, 0, "" },
    [WF__PARAM] = { "param", 0, WF__T_NONE, false, 0, "" },
    [WF__INDEX] = { "index", 0, WF__T_NONE, false, 0, "" },
    [WF__EXTENT] = { "extent", 0, WF__T_NONE, false, 0, "" },
    [WF__DIM] = { "dim", 0, WF__T_NONE, false, 0, "" },
    [WF__ARG] = { "arg", 0, WF__T_NONE, false, 0, "" },
    [WF__LOAD] = { "load", 0, WF__T_NONE, false, 0, "" },
    [WF__STORE] = { "store", 0, WF__T_NONE, false, 0, "" },
    [WF__ACCUM] = { "accum", 0, WF__T_NONE, false, 0, "" },
    [WF__ATOMIC] = { "atomic", 0, WF__T_NONE, false, 0, "" },
    [WF__CAS] = { "cas", 0, WF__T_NONE, false, 0, "" },
    [WF__RED] = { "red", 0, WF__T_NONE, false, 0, "" },
    [WF__SETRED] = { "setred", 0, WF__T_NONE, false, 0, "" },
    [WF__COLD] = { "cold", 0, WF__T_NONE, false, 0, "" },
    [WF__LOOP] = { "loop", 0, WF__T_NONE, false, 0, "" },
    [WF__STATE] = { "state", 0, WF__T_NONE, false, 0, "" },
    [WF__NEXT] = { "next", 0, WF__T_NONE, false, 0, "" },
    [WF__END] = { "end", 0, WF__T_NONE, false, 0, "" },
    [WF__REDUCE] = { "reduce", 0, WF__T_NONE, false, 0, "" },
    [WF__IOTA] = { "iota", 0, WF__T_NONE, false, 0, "" },
    [WF__VIEW] = { "view", 0, WF__T_NONE, false, 0, "" },
    [WF__THREAD] = { "thread", 0, WF__T_NONE, false, 0, "" },
    [WF__BARRIER] = { "barrier", 0, WF__T_NONE, false, 0, "" },
    [WF__SCAN] = { "scan", 0, WF__T_NONE, false, 0, "" },
    [WF__CAST] = { "cast", 1, WF__T_ANY, false, CPLX, "converts to the node's dtype" },
    [WF__CHECK] = { "check", 2, WF__T_INT, false, 0, "an index of a local array" },
    [WF__BITCAST] = { "bitcast", 1, WF__T_ANY, false, 0, "the same bits as another dtype" },
#define WF_OP(name, arity, types, result, flags, cost, imeaning, fmeaning, doc) \
    [WF__OP_##name] = { #name, arity, WF__T_##types, result, flags, doc },
#include "ir/ops.def"
#undef WF_OP
};

const char *wf__function_name(unsigned op)
{
    static const char *const names[WF__OP_COUNT] = {
        [WF__LOAD] = "wf_read",     [WF__STORE] = "wf_write",     [WF__ACCUM] = "wf_accumulate",
        [WF__ATOMIC] = "wf_atomic", [WF__CAS] = "wf_cas",         [WF__REDUCE] = "wf_reduce",
        [WF__SCAN] = "wf_scan",     [WF__LOOP] = "a block",       [WF__STATE] = "a variable of a block",
        [WF__CAST] = "wf_cast",     [WF__BITCAST] = "wf_bitcast", [WF__IOTA] = "wf_iota",
        [WF__INDEX] = "wf_index",   [WF__EXTENT] = "wf_extent",   [WF__DIM] = "wf_dim",
        [WF__PARAM] = "wf_param",   [WF__BARRIER] = "wf_barrier", [WF__CHECK] = "wf_read",
        [WF__SETRED] = "wf_set",    [WF__NEXT] = "wf_set",
#define WF_OP(name, ...) [WF__OP_##name] = "wf_" #name,
#include "ir/ops.def"
#undef WF_OP
    };
    return names[op] ? names[op] : wf__op_table[op].name;
}

const char *wf__function_of(const wf__node *n)
{
    static const char *const views[] = { "wf_slice", "wf_permute", "wf_reshape", "wf_broadcast",
                                         "wf_tile",  "wf_repeat",  "wf_gather" };
    if (n->op == WF__VIEW && n->aux < WF__COUNT(views))
        return views[n->aux];
    if (n->op == WF__CHECK && n->aux)
        return "wf_write";
    bool element = (n->op == WF__LOAD || n->op == WF__STORE) && !n->b;
    return !element ? wf__function_name(n->op) : n->op == WF__LOAD ? "wf_in" : "wf_out";
}

int wf__op_named(const char *name, size_t len)
{
    for (int op = WF__BITCAST + 1; op < WF__OP_COUNT; ++op)
        if (strlen(wf__op_table[op].name) == len && !memcmp(wf__op_table[op].name, name, len))
            return op;
    return -1;
}

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

static uint64_t as_bits(unsigned dtype, double value)
{
    uint64_t bits = 0;
    wf__eval_cast(dtype, WF_F64, &bits, &value, 1);
    return bits;
}

bool wf__updates(unsigned join, unsigned dtype)
{
    unsigned op = join <= WF_JOIN_XOR ? wf__join_op((wf_join)join) : 0;
    return wf__is_complex(dtype) ? join == WF_JOIN_ADD : op && wf__types_allow(wf__op_table[op].types, dtype);
}

uint64_t wf__join_neutral(wf_join join, unsigned dtype)
{
    unsigned bits = 8 * wf__size(dtype);
    uint64_t all = dtype == WF_BOOL ? 1 : ~(uint64_t)0 >> (64 - bits), high = (uint64_t)1 << (bits - 1);
    switch (join) {
    case WF_JOIN_ADD:
        return wf__is_float(dtype) ? as_bits(dtype, -0.0) : 0; /* -0 + x is x, also for x = -0 */
    case WF_JOIN_MUL:
        return wf__is_float(dtype) ? as_bits(dtype, 1) : 1;
    case WF_JOIN_MIN:
        return wf__is_float(dtype) ? as_bits(dtype, (double)__builtin_inff()) : wf__is_signed(dtype) ? high - 1 : all;
    case WF_JOIN_MAX:
        return wf__is_float(dtype) ? as_bits(dtype, -(double)__builtin_inff()) : wf__is_signed(dtype) ? high : 0;
    case WF_JOIN_AND:
        return all;
    default:
        return 0;
    }
}
