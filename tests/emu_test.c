/* emu_test.c - see emu_test.h. */
#include "emu_test.h"
#include <dlfcn.h>
#include <sys/wait.h>
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

static const char *ptxas_path(void)
{
    static const char *const places[] = { "/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas", "/opt/cuda/bin/ptxas" };
    static char found[256];
    static bool looked;
    if (looked)
        return *found ? found : NULL;
    looked = true;
    const char *set = getenv("WEFT_PTXAS");
    if (set)
        snprintf(found, sizeof found, "%s", set);
    for (size_t i = 0; !*found && i < sizeof places / sizeof *places; i++)
        if (access(places[i], X_OK) == 0)
            snprintf(found, sizeof found, "%s", places[i]);
    if (!*found)
        print_message("ptxas was not found: that it accepts these texts is not checked\n");
    return *found ? found : NULL;
}

int emu_ptxas(const char *text, const char *arch, char *log, size_t size)
{
    const char *ptxas = ptxas_path();
    char name[] = "/tmp/weft-ptx-XXXXXX", command[512];
    if (!ptxas)
        return -1;
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    snprintf(command, sizeof command, "'%s' -O0 -arch=%s -o /dev/null %s 2>&1", ptxas, arch, name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t n = 0;
    char rest[512], *at = log ? log : rest;
    size_t room = log ? size : sizeof rest;
    for (size_t got; (got = fread(at + n, 1, room - 1 - n, pipe)) > 0;)
        n += got;
    at[n] = 0;
    while (fread(rest, 1, sizeof rest - 1, pipe) > 0)
        ;
    int status = pclose(pipe);
    unlink(name);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void target_of(const char *text, char *out, size_t size)
{
    const char *at = strstr(text, ".target ");
    assert_non_null(at);
    at += 8;
    size_t n = strcspn(at, " ,\n");
    snprintf(out, size, "%.*s", (int)n, at);
}

CUmodule emu_load(const char *text)
{
    char arch[16], log[4096];
    target_of(text, arch, sizeof arch);
    CUmodule module;
    CUresult status = cu.cuModuleLoadData(&module, text);
    if (status != CUDA_SUCCESS)
        fail_msg("not loaded: %s", report());
    if (emu_ptxas(text, arch, log, sizeof log) == 0)
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
    char arch[16], log[4096];
    CUmodule module;
    target_of(text, arch, sizeof arch);
    cu.weftEmuClearReport();
    CUresult status = cu.cuModuleLoadData(&module, text);
    if (status == CUDA_SUCCESS)
        fail_msg("loaded, though it should not: %s", text);
    if (!strstr(report(), part))
        fail_msg("\"%s\" is not in: %s", part, report());
    if (emu_ptxas(text, arch, log, sizeof log) == 1)
        fail_msg("ptxas accepts what the emulator refuses: %s", text);
}

CUdeviceptr emu_upload(const void *data, size_t bytes)
{
    CUdeviceptr at;
    CU(cu.cuMemAlloc_v2(&at, bytes));
    if (data)
        CU(cu.cuMemcpyHtoD_v2(at, data, bytes));
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
