/* emu_test.c - implements emu_test.h. */
#include "emu/tests/emu_test.h"
#include "tests/ptxas.h"
#include <dlfcn.h>
#include <unistd.h>

emu_api cu;
static CUmodule last;

static void *symbol(const char *name)
{
    void *p = dlsym(cu.handle, name);
    if (!p)
        fail_msg("%s is not exported", name);
    return p;
}

int emu_open(void **state)
{
    (void)state;
    const char *path = getenv("WEFT_CUDA_EMU");
    cu.handle = dlopen(path ? path : "./libweft_cuda_emu.so", RTLD_NOW | RTLD_LOCAL);
    if (!cu.handle) {
        print_error("%s\n", dlerror());
        return -1;
    }
#define WEFT_CUDA_FUNCTION(name, arguments) *(void **)&cu.name = symbol(#name);
#include "emu/cuda_functions.def"
#undef WEFT_CUDA_FUNCTION
    *(void **)&cu.weftEmuLastReport = symbol("weftEmuLastReport");
    *(void **)&cu.weftEmuClearReport = symbol("weftEmuClearReport");
    *(void **)&cu.weftEmuName = symbol("weftEmuName");
    *(void **)&cu.weftEmuInstructions = symbol("weftEmuInstructions");
    CU(cu.cuInit(0));
    CUcontext c;
    CU(cu.cuDevicePrimaryCtxRetain(&c, 0));
    CU(cu.cuCtxSetCurrent(c));
    return 0;
}
int emu_close(void **state)
{
    (void)state;
    cu.cuDevicePrimaryCtxRelease_v2(0);
    dlclose(cu.handle);
    return 0;
}
void emu_reset(void)
{
    CUcontext c;
    CU(cu.cuDevicePrimaryCtxRelease_v2(0));
    CU(cu.cuDevicePrimaryCtxRetain(&c, 0));
    CU(cu.cuCtxSetCurrent(c));
    last = NULL;
}

static const char *report(void)
{
    static char text[8192];
    cu.weftEmuLastReport(text, sizeof text);
    return text;
}

void emu_status(CUresult got, CUresult want, const char *file, int line)
{
    if (got == want)
        return;
    const char *name = "?";
    cu.cuGetErrorName(got, &name);
    print_error("status %d (%s) instead of %d\n%s\n", (int)got, name, (int)want, report());
    _fail(file, line);
}

static int target_of(const char *text)
{
    const char *at = strstr(text, ".target sm_");
    assert_non_null(at);
    return atoi(at + 11);
}

CUmodule emu_load(const char *text)
{
    char log[4096];
    CUmodule module;
    CUresult status = cu.cuModuleLoadData(&module, text);
    if (status != CUDA_SUCCESS)
        fail_msg("not loaded: %s", report());
    if (ptxas_accepts(text, target_of(text), log, sizeof log) == 0)
        fail_msg("ptxas does not accept what the emulator accepts: %s", log);
    return module;
}
CUfunction emu_function(CUmodule module, const char *name)
{
    CUfunction f;
    CU(cu.cuModuleGetFunction(&f, module, name));
    return f;
}
void emu_refused(const char *text, const char *part)
{
    char log[4096];
    CUmodule module;
    cu.weftEmuClearReport();
    CUresult status = cu.cuModuleLoadData(&module, text);
    if (status == CUDA_SUCCESS)
        fail_msg("loaded, though it should not: %s", text);
    if (!strstr(report(), part))
        fail_msg("\"%s\" is not in: %s", part, report());
    if (ptxas_accepts(text, target_of(text), log, sizeof log) == 1)
        fail_msg("ptxas accepts what the emulator refuses: %s", text);
}

CUdeviceptr emu_upload(const void *data, size_t bytes)
{
    CUdeviceptr at;
    CU(cu.cuMemAlloc_v2(&at, bytes));
    if (data) {
        CU(cu.cuMemcpyHtoD_v2(at, data, bytes));
        CU(cu.cuStreamSynchronize(NULL)); /* the copy returns before the bytes have arrived */
    }
    return at;
}
void emu_download(void *out, CUdeviceptr at, size_t bytes) { CU(cu.cuMemcpyDtoH_v2(out, at, bytes)); }

CUresult emu_run(const char *text, const char *name, unsigned grid, unsigned block, unsigned dynamic, int n, ...)
{
    uint64_t values[8];
    void *params[8];
    va_list args;
    va_start(args, n);
    for (int i = 0; i < n; i++) {
        values[i] = va_arg(args, uint64_t);
        params[i] = &values[i];
    }
    va_end(args);
    if (last)
        CU(cu.cuModuleUnload(last));
    last = NULL;
    last = emu_load(text);
    cu.weftEmuClearReport();
    CUresult status = cu.cuLaunchKernel(emu_function(last, name), grid, 1, 1, block, 1, 1, dynamic, NULL, params, NULL);
    return status != CUDA_SUCCESS ? status : cu.cuCtxSynchronize();
}

void emu_found(CUresult got, CUresult want, int n, ...)
{
    va_list args;
    va_start(args, n);
    bool good = got == want;
    for (int i = 0; i < n; i++) {
        const char *part = va_arg(args, const char *);
        if (!strstr(report(), part)) {
            print_error("\"%s\" is not in the report\n", part);
            good = false;
        }
    }
    va_end(args);
    emu_reset();
    if (!good)
        fail_msg("status %d, wanted %d; report: %s", (int)got, (int)want, report());
}
