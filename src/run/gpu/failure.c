/* failure.c - results of driver calls as failures. */
#include "run/gpu/internal.h"

/* True for errors of kernels after which every later call in the driver's context fails. */
static bool ends_context(int result)
{
    static const short ends[] = { 214, 700, 702, 710, 714, 715, 716, 717, 718, 719 };
    bool is = false;
    for (size_t i = 0; i < WF__COUNT(ends); ++i)
        is = is || result == ends[i];
    return is;
}

/* Appends the labels of the launches since the last wait, since a failure of a kernel appears at a later call. */
static void name_recent(const wf__gpu *gpu, wf__str *out)
{
    unsigned n = gpu->recent_n, first = n > WF__GPU_RECENT ? n - WF__GPU_RECENT : 0;
    for (unsigned i = first; i < n; ++i)
        wf__str_addf(out, "%s'%s'",
                     i > first ? ", "
                     : first   ? " (in a launch up to "
                               : " (in ",
                     gpu->recent[i % WF__GPU_RECENT]);
    if (n)
        wf__str_add(out, ")");
}

bool wf__gpu_ok(wf__gpu *gpu, const char *what, int result, wf__failure *f)
{
    if (!result)
        return true;
    f->status = result == WF__CUDA_OUT_OF_MEMORY ? WF_ERR_MEMORY : WF_ERR_BACKEND;
    wf__str_addf(&f->text, "%s: %s", gpu->name, gpu->lost ? "lost by an earlier failure: " : "");
    wf__cuda_explain(gpu->cuda, what, result, &f->text);
    if (!gpu->lost && ends_context(result)) {
        name_recent(gpu, &f->text);
        gpu->lost = true;
    }
    return false;
}
