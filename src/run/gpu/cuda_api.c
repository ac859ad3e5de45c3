/* cuda_api.c - see cuda_api.h. */
#include "run/gpu/cuda_api.h"

void wf__cuda_explain(const wf__cuda *cuda, const char *what, int result, wf__str *error)
{
    const char *name = NULL, *text = NULL;
    cuda->GetErrorName(result, &name);
    cuda->GetErrorString(result, &text);
    wf__str_addf(error, "%s: %s (%s)", what, text ? text : "unknown error", name ? name : "?");
    char report[768];
    size_t n = cuda->report && cuda->report(report, sizeof report) ? strlen(report) : 0;
    while (n && report[n - 1] == '\n')
        --n;
    if (n) {
        wf__str_add(error, ": ");
        wf__str_addn(error, report, n);
    }
}

/* Copies the addresses bytewise, since dlsym returns a pointer to data. */
static bool find_functions(wf__cuda *c, wf__str *error)
{
    void *at;
#define X(name, symbol, arguments)                 \
    at = wf__dl_symbol(c->handle, #symbol, error); \
    if (!at)                                       \
        return false;                              \
    memcpy(&c->name, &at, sizeof at);
#include "run/gpu/cuda_api.def"
#undef X
    at = wf__dl_symbol(c->handle, "weftEmuLastReport", NULL);
    memcpy(&c->report, &at, sizeof at);
    at = wf__dl_symbol(c->handle, "weftEmuName", NULL);
    memcpy(&c->name, &at, sizeof at);
    return true;
}

/* Appends the reasons of a failure to `why`. */
static void *open_nvidia(wf__str *why)
{
    void *handle = wf__dl_open("libcuda.so.1", why);
    if (handle)
        return handle;
    wf__str_add(why, "; ");
    return wf__dl_open("/usr/lib/wsl/lib/libcuda.so.1", why);
}

bool wf__cuda_open(wf__cuda *out, bool emulated, wf__str *error)
{
    const char *given = wf__getenv(emulated ? "WEFT_CUDA_EMU" : "WEFT_CUDA");
    const char *what = emulated ? "PTX emulator" : "NVIDIA driver";
    wf__cuda c = { 0 };
    wf__str why = { 0 };
    bool ok = false;
    c.handle = given      ? wf__dl_open(given, &why)
               : emulated ? wf__dl_open_own("libweft_cuda_emu.so", false, &why)
                          : open_nvidia(&why);
    if (!c.handle && why.failed)
        error->failed = true;
    else if (!c.handle)
        wf__str_addf(error, "no %s was found (%s%s)", what, given ? (emulated ? "WEFT_CUDA_EMU: " : "WEFT_CUDA: ") : "",
                     wf__str_get(&why));
    else if (!find_functions(&c, &why))
        wf__str_addf(error, "the %s is too old (%s)", what, wf__str_get(&why));
    else {
        int result = c.Init(0);
        ok = result == 0;
        if (!ok) {
            wf__str_addf(error, "the %s", what);
            wf__cuda_explain(&c, " does not start", result, error);
        }
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
