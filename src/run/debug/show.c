/* show.c - the list of arrays that wf_watch shows. */
#include "run/debug/show.h"
#include "run/engine_internal.h"

void wf__sight_add(wf__engine *e, wf__sight *sight)
{
    wf__mutex_lock(&e->lock);
    sight->next = e->sights;
    e->sights = sight;
    wf__mutex_unlock(&e->lock);
}

void wf__sight_remove(wf__engine *e, const wf__sight *sight)
{
    wf__mutex_lock(&e->lock);
    for (wf__sight **at = &e->sights; *at; at = &(*at)->next)
        if (*at == sight) {
            *at = sight->next;
            break;
        }
    wf__mutex_unlock(&e->lock);
}

wf__sight *wf__sight_at(wf__engine *e, const char *base)
{
    wf__mutex_lock(&e->lock);
    wf__sight *sight = e->sights;
    while (sight && sight->base != base)
        sight = sight->next;
    wf__mutex_unlock(&e->lock);
    return sight;
}
