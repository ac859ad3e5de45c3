/* graph_record.h - for fuzz_graph.c: makes a recording from bytes, step by step. */
#ifndef WEFT_GRAPH_RECORD_H
#define WEFT_GRAPH_RECORD_H
#include "graph_eval.h"

static void add_step(recorder *r)
{
    switch (take(r, 28)) {
    case 0:
    case 1:
    case 2:
    case 3:
        add_element(r);
        break;
    case 4:
        add_constant(r);
        break;
    case 5:
        add_position(r);
        break;
    case 6:
    case 7:
        add_read(r);
        break;
    case 8:
        add_cast(r);
        break;
    case 9:
        add_variable(r);
        break;
    case 10:
        add_reduce(r);
        break;
    case 11:
        if (!r->blocks)
            keep(r);
        break;
    case 12:
    case 13:
        add_store(r);
        break;
    case 14:
        add_block(r);
        break;
    case 15:
        if (r->loops)
            add_leave(r);
        else
            add_variable(r);
        break;
    case 18:
        add_switch(r);
        break;
    case 16:
    case 17:
        add_accumulate(r);
        break;
    case 19:
    case 20:
        add_view(r);
        break;
    case 21:
        add_scan(r);
        break;
    case 22:
        add_local(r);
        break;
    case 23:
    case 24:
        if (r->atomics)
            add_atomic(r);
        else
            add_operation(r);
        break;
    default:
        add_operation(r);
    }
}

static void add_steps(recorder *r, unsigned steps)
{
    for (unsigned i = 0; i < steps && r->n + 4 < MOST_VALUES; ++i) {
        if (!r->blocks)
            r->reads = 0;
        add_step(r);
        if (in_turns(r))
            take_turn(r);
    }
}

/* Adds any value and another one, with as many axes as possible. */
static void add_sum(recorder *r, int i)
{
    wf_shape shape = r->pool[i].shape;
    wf_dtype t = r->pool[i].dtype;
    wf_val with = operand(r, t, false, &shape), v = use(r, i);
    emit(r, t == WF_BOOL ? wf_xor(v, with) : wf_add(v, with), shape);
}

/* Records a scan of the last value, and a value that uses only the scan, or the scan among others. */
static void add_fed_scan(recorder *r)
{
    if (r->set.kind != KIND_ARRAYS || in_whole_block(r) || r->n + 4 > MOST_VALUES)
        return;
    add_sum(r, pick(r));
    int fed = r->n - 1, rank = r->pool[fed].shape.rank;
    wf_join join = (wf_join)(WF_JOIN_ADD + take(r, 7));
    if (!is_scanned(r, fed, join))
        return;
    scan_of(r, fed, join, (int)take(r, (unsigned)rank));
    int scan = r->n - 1;
    if (take(r, 3))
        add_sum(r, scan);
    if (take(r, 3))
        keep_value(r, r->n - 1);
    else
        add_store(r);
    if (!take(r, 3))
        keep_value(r, scan);
}

static void record(recorder *r)
{
    add_constant(r);
    add_steps(r, 2 + take(r, take(r, 8) ? 8 : 40));
    add_store(r);
    keep(r);
    if (take(r, 3) == 1)
        add_fed_scan(r);
    if (r->set.kind >= KIND_SPACE_REDUCE)
        reduce_all(r);
}
#endif
