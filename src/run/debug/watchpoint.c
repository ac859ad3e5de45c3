/* watchpoint.c - the list of arrays that wf_watch shows. */
#include "run/debug/watchpoint.h"
#include "run/engine_internal.h"

void wf__watchpoint_add(wf__engine *e, wf__watchpoint *watchpoint)
{
    wf__mutex_lock(&e->lock);
    watchpoint->next = e->watchpoints;
    e->watchpoints = watchpoint;
    wf__mutex_unlock(&e->lock);
}

void wf__watchpoint_remove(wf__engine *e, const wf__watchpoint *watchpoint)
{
    wf__mutex_lock(&e->lock);
    for (wf__watchpoint **at = &e->watchpoints; *at; at = &(*at)->next)
        if (*at == watchpoint) {
            *at = watchpoint->next;
            break;
        }
    wf__mutex_unlock(&e->lock);
}

wf__watchpoint *wf__watchpoint_at(wf__engine *e, const char *base)
{
    wf__mutex_lock(&e->lock);
    wf__watchpoint *watchpoint = e->watchpoints;
    while (watchpoint && watchpoint->base != base)
        watchpoint = watchpoint->next;
    wf__mutex_unlock(&e->lock);
    return watchpoint;
}
