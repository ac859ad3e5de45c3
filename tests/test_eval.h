/* test_eval.h - one operation on bits, by definition: wf__eval, or, for operations that are expanded (EXPAND, f16 and
 * bf16), the expansion, node by node. */
#ifndef WEFT_TEST_EVAL_H
#define WEFT_TEST_EVAL_H
#include "ir/ir.h"

static inline uint64_t test_eval(unsigned op, unsigned t, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t out = 0;
    unsigned to = wf__op_table[op].to_bool ? WF_BOOL : t;
    if (!wf__expands(op, t, to)) {
        wf__eval(op, t, &out, &a, &b, &c, 1);
        return out;
    }
    wf__ir ir;
    wf__ir_init(&ir, 0, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    const wf__ref x[3] = { wf__const_bits(&ir, t, a), wf__const_bits(&ir, t, b), wf__const_bits(&ir, t, c) };
    wf__ref r = wf__expand(&ir, op, to, x);
    assert_true(r && wf__at(&ir, r)->op == WF__CONST);
    out = wf__bits(wf__at(&ir, r));
    wf__ir_free(&ir);
    return out;
}
#endif
