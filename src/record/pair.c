/* pair.c - complex numbers made of two C numbers. They belong to no recording and are weakly typed, as numbers are. */
#include "record/record.h"
#include <math.h>

_Static_assert(sizeof(void *) == sizeof(double), "the imaginary part of a number stands where an address would");

static wf_val make_pair(double re, double im)
{
    uint64_t bits;
    if (isnan(im))
        im = (double)NAN;
    memcpy(&bits, &im, sizeof bits);
    if (isnan(im))
        bits &= UINT64_MAX >> 1;
    return (wf_val){ { re, (wf_graph *)(uintptr_t)~bits } };
}

double wf__pair_imag(wf_val v)
{
    uint64_t bits = ~(uint64_t)(uintptr_t)v.h.graph;
    double im;
    memcpy(&im, &bits, sizeof im);
    return im;
}

wf__ref wf__pair_as(wf_graph *g, wf_val v, unsigned dtype, const char *function)
{
    wf__ir *ir = wf__graph_ir(g);
    unsigned part = wf__part_dtype(dtype);
    if (!part) {
        wf__poison(g, WF_ERR_DTYPE, "%s: the complex number %.17g%+.17gi does not fit %s", function, v.h.num,
                   wf__pair_imag(v), wf_dtype_name((wf_dtype)dtype));
        return 0;
    }
    wf__ref real = wf__const_f64(ir, part, v.h.num);
    return wf__complex(ir, real, wf__const_f64(ir, part, wf__pair_imag(v)));
}

static bool constant(const wf__ir *ir, wf__ref r, double *out)
{
    uint64_t bits = r && ir->node[r].op == WF__CONST ? wf__bits(&ir->node[r]) : 0;
    if (!r || ir->node[r].op != WF__CONST)
        return false;
    wf__eval_cast(WF_F64, ir->node[r].dtype, out, &bits, 1);
    return true;
}

wf_val wf__on_pairs(unsigned op, const wf_val *v)
{
    const wf__op_info *info = &wf__op_table[op];
    bool choice = info->types == WF__T_FIRST_BOOL;
    wf_val result = { { (double)NAN, NULL } };
    wf__ref x[3] = { 0 };
    wf__ir ir;
    if (choice)
        return wf__is_pair(v[0]) ? result : v[0].h.num != 0 ? v[1] : v[2];
    wf__ir_init(&ir, 0, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    for (unsigned i = 0; i < info->arity; ++i) {
        x[i] = wf__const_f64(&ir, WF_F64, v[i].h.num);
        if (wf__is_pair(v[i]))
            x[i] = wf__complex(&ir, x[i], wf__const_f64(&ir, WF_F64, wf__pair_imag(v[i])));
    }
    wf__ref r = info->arity == 1   ? wf__op1(&ir, op, x[0])
                : info->arity == 2 ? wf__op2(&ir, op, x[0], x[1])
                                   : wf__op3(&ir, op, x[0], x[1], x[2]);
    double re = 0, im = 0;
    if (r && wf__is_complex(wf__dtype(&ir, r))) {
        if (constant(&ir, wf__real(&ir, r), &re) && constant(&ir, wf__imag(&ir, r), &im))
            result = make_pair(re, im);
    } else if (constant(&ir, r, &re)) {
        result.h.num = re;
    }
    wf__ir_free(&ir);
    return result;
}
