/* program.c - finished recordings, with all that a launch needs: arrays, parameters and sections. */
#include "record/record.h"

void wf__program_clear(wf__program *p)
{
    for (uint32_t i = 0; i < p->object_n; ++i) {
        if (p->object[i].array->name)
            p->object[i].array->graph = NULL;
        wf_release(p->object[i].array);
    }
    for (uint32_t i = 0; i < p->param_n; ++i)
        wf__free(p->param[i].name);
    wf__free(p->name);
    p->object_n = p->param_n = 0;
    p->name = NULL;
}

void wf__program_free(wf__program *p)
{
    wf__program_clear(p);
    for (int k = 0; k < WF__SECTIONS; ++k)
        wf__ir_free(&p->rec.section[k]);
    wf__free(p->rec.initial);
    wf__free(p->object);
    wf__free(p->param);
    *p = (wf__program){ 0 };
}

bool wf__program_writes(const wf__program *p, uint32_t object)
{
    for (int k = 0; k < WF__SECTIONS; ++k)
        for (uint32_t s = 0; s < p->rec.section[k].slot_n; ++s)
            if (p->rec.section[k].slot[s].object == object && p->rec.section[k].slot[s].written)
                return true;
    return false;
}
