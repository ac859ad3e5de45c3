/* llvm_api.c - finds the functions of llvm_api.def in an opened library. */
#include "codegen/llvm_api.h"
#include "base/os.h"

static bool find_function(void *library, const char *path, const char *name, bool optional, void *function,
                          wf__str *error)
{
    void *symbol = wf__dl_symbol(library, name, NULL);
    if (!symbol && !optional) {
        wf__str_addf(error, "%s: has no function %s (LLVM 15 to 22 do)", path, name);
        return false;
    }
    memcpy(function, &symbol, sizeof symbol);
    return true;
}

bool wf__llvm_api_open(wf__llvm_api *out, const char *path, wf__str *error)
{
    wf__llvm_api api = { 0 };
    void *library = wf__dl_open(path, error);
    if (!library)
        return false;
#define WF_LLVM(result, name, parameters) &&find_function(library, path, "LLVM" #name, false, &api.name, error)
#define WF_LLVM_OPTIONAL(result, name, parameters) &&find_function(library, path, "LLVM" #name, true, &api.name, error)
    bool ok = true
#include "codegen/llvm_api.def"
        ;
#undef WF_LLVM
#undef WF_LLVM_OPTIONAL
    if (!ok)
        return false;
    unsigned major = 15, minor = 0, patch = 0; /* LLVM 15, the first with all these functions, has no GetVersion */
    if (api.GetVersion)
        api.GetVersion(&major, &minor, &patch);
    api.major = (int)major;
    *out = api;
    return true;
}
