/* arrivals.c - a plan in flight waits for elements of other ranks, where its steps need them. */
#include "run/cpu/steps.h"

bool wf__arrive(const wf__run *r)
{
    wf__arrivals *a = r->others ? r->others->arrivals : NULL;
    if (!a || !a->pending)
        return true;
    a->pending = false;
    return a->wait(a->user, r->failure);
}

bool wf__runs_before_arrival(const wf__run *r, const wf__stage *stage)
{
    return r->others && r->others->arrivals && r->others->arrivals->pending &&
           !wf__box_is_empty(&stage->division.interior, stage->lowered.rank);
}
