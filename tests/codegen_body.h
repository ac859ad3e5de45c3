/* codegen_body.h - short names for what bodies of tests are made of. */
#ifndef WEFT_CODEGEN_BODY_H
#define WEFT_CODEGEN_BODY_H
#include "codegen_harness.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static inline void begin_case(test_case *t, const char *name, int rank)
{
    memset(t, 0, sizeof *t);
    t->name = name;
    wf__ir_init(&t->ir, rank, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
}

/* Stores the value at the point's own place. */
static inline void out(test_case *t, uint32_t slot, wf__ref value) { wf__store(&t->ir, slot, test_here(t), value, 0); }

static inline wf__ref in(test_case *t, uint32_t slot)
{
    return wf__load(&t->ir, slot, test_here(t), WF_BORDER_NONE, 0);
}

static inline wf__ref num(test_case *t, int64_t v) { return wf__const_bits(&t->ir, WF_I64, (uint64_t)v); }

static inline wf__ref plus(test_case *t, wf__ref a, int64_t v) { return wf__op2(&t->ir, WF__OP_add, a, num(t, v)); }

/* Marks all memory that is accessed by index as large, so that INTERIOR prefetches it. */
static inline void make_far(test_case *t, bool far)
{
    for (uint32_t s = 0; s < t->ir.slot_n; s++)
        t->ir.slot[s].large_indexed = far && !t->ir.slot[s].element;
}

/* WEFT_TEST is a pattern: tests with other names do not run. */
static inline void test_choose(void)
{
    const char *pattern = getenv("WEFT_TEST");
    if (pattern)
        cmocka_set_test_filter(pattern);
}
#endif
