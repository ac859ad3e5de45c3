/* cuda_api.c - see cuda_api.h. */
#include "run/cuda_api.h"

void wf__cuda_explain(const wf__cuda *cuda, const char *what, int result, wf__str *error)
{
    const char *name = NULL, *text = NULL;
    cuda->GetErrorName(result, &name);
    cuda->GetErrorString(result, &text);
    wf__str_addf(error, "%s: %s (%s)", what, text ? text : "unknown error", name ? name : "?");
    char report[768];
    if (cuda->report && cuda->report(report, sizeof report))
        wf__str_addf(error, ": %s", report);
}

/* A function is stored as an address of data, which dlsym's result is. */
static bool find_all(wf__cuda *c, wf__str *error)
{
    void *at;
#define X(name, symbol, arguments)                 \
    at = wf__dl_symbol(c->handle, #symbol, error); \
    if (!at)                                       \
        return false;                              \
    memcpy(&c->name, &at, sizeof at);
#include "run/cuda_api.def"
#undef X
    at = wf__dl_symbol(c->handle, "weftEmuLastReport", NULL);
    memcpy(&c->report, &at, sizeof at);
    return true;
}

bool wf__cuda_open(wf__cuda *out, wf__str *error)
{
    const char *given = wf__getenv("WEFT_CUDA");
    wf__cuda c = { 0 };
    wf__str why = { 0 };
    bool ok = false;
    c.handle = wf__dl_open(given ? given : "libcuda.so.1", &why);
    if (!c.handle)
        wf__str_addf(error, "no NVIDIA driver was found (%s)", wf__str_get(&why));
    else if (!find_all(&c, &why))
        wf__str_addf(error, "the NVIDIA driver is too old (%s)", wf__str_get(&why));
    else {
        int result = c.Init(0);
        ok = result == 0;
        if (!ok)
            wf__cuda_explain(&c, "the NVIDIA driver does not start", result, error);
    }
    wf__str_free(&why);
    if (ok)
        *out = c;
    else if (c.handle)
        wf__dl_close(c.handle);
    return ok;
}

void wf__cuda_close(wf__cuda *cuda)
{
    if (cuda->handle)
        wf__dl_close(cuda->handle);
    cuda->handle = NULL;
}
