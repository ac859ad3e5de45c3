/* program.c - what a finished recording needs to be launched: its arrays, parameters and sections. */
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
    wf__ir_free(&p->rec.ir);
    wf__ir_free(&p->rec.post);
    wf__ir_free(&p->rec.join);
    wf__ir_free(&p->rec.init);
    wf__ir_free(&p->rec.deinit);
    wf__free(p->rec.initial);
    wf__free(p->object);
    wf__free(p->param);
    *p = (wf__program){ 0 };
}

bool wf__program_writes(const wf__program *p, uint32_t object)
{
    const wf__ir *section[] = { &p->rec.ir, &p->rec.init, &p->rec.deinit, &p->rec.post };
    for (size_t i = 0; i < WF__COUNT(section); ++i)
        for (uint32_t s = 0; s < section[i]->slot_n; ++s)
            if (section[i]->slot[s].object == object && section[i]->slot[s].written)
                return true;
    return false;
}
