/* stage.c - see stage.h. */
#include "run/stage.h"
#include "run/thread/pool.h"

void wf__set_out_of_memory(wf__failure *f, const char *what)
{
    f->status = WF_ERR_MEMORY;
    wf__str_addf(&f->text, "out of memory for %s", what);
}

bool wf__is_cancelled(wf__failure *f)
{
    if (wf__pool_is_cancelled() && f->status == WF_OK) {
        f->status = WF_ERR_CANCELLED;
        wf__str_addf(&f->text, "the program has cancelled the work");
    }
    return wf__pool_is_cancelled();
}

void wf__stage_mem(const wf__stage *stage, char *const *base, wf__mem *mem)
{
    for (uint32_t s = 0; s < stage->lowered.slot_n; ++s) {
        const wf__mem_layout *layout = &stage->mem[s];
        mem[s].base = base[layout->object];
        if (layout->offset && !stage->empty)
            mem[s].base += layout->offset * (int64_t)wf__size(stage->lowered.slot[s].dtype);
        for (int d = 0; d < stage->lowered.slot[s].rank; ++d) {
            mem[s].stride[d] = layout->stride[d];
            mem[s].dim[d] = layout->dim[d];
        }
    }
}

size_t wf__temp_bytes(const wf__temp *t)
{
    size_t bytes = wf__size(t->dtype);
    for (int d = 0; d < t->shape.rank; ++d)
        if (!wf__mul_size(bytes, (size_t)(t->in_part ? t->held.hi[d] - t->held.lo[d] : t->shape.dim[d]), &bytes))
            return SIZE_MAX;
    return bytes;
}
