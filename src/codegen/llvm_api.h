/* llvm_api.h - LLVM's C API as a table of functions, found in a library that is opened at run time. The build needs no
 * LLVM headers: llvm_api.def has the prototypes, and the enumerators in use are below.
 */
#ifndef WEFT_LLVM_API_H
#define WEFT_LLVM_API_H
#include "base/base.h"

typedef int LLVMBool;
typedef struct wf__llvm_opaque_context *LLVMContextRef;
typedef struct wf__llvm_opaque_module *LLVMModuleRef;
typedef struct wf__llvm_opaque_type *LLVMTypeRef;
typedef struct wf__llvm_opaque_value *LLVMValueRef;
typedef struct wf__llvm_opaque_block *LLVMBasicBlockRef;
typedef struct wf__llvm_opaque_builder *LLVMBuilderRef;
typedef struct wf__llvm_opaque_attribute *LLVMAttributeRef;
typedef struct wf__llvm_opaque_metadata *LLVMMetadataRef;
typedef struct wf__llvm_opaque_diagnostic *LLVMDiagnosticInfoRef;
typedef struct wf__llvm_opaque_target *LLVMTargetRef;
typedef struct wf__llvm_opaque_machine *LLVMTargetMachineRef;
typedef struct wf__llvm_opaque_layout *LLVMTargetDataRef;
typedef struct wf__llvm_opaque_buffer *LLVMMemoryBufferRef;

enum { LLVMInternalLinkage = 8 };
enum { LLVMFastCallConv = 8 };
enum { LLVMAttributeFunctionIndex = -1 };
enum { LLVMReturnStatusAction = 2 };
enum { LLVMDSError = 0 };
enum { LLVMAssemblyFile = 0, LLVMObjectFile = 1 };
enum { LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault };
enum { LLVMRelocPIC = 2 };
enum { LLVMCodeModelSmall = 3 };
enum { LLVMInlineAsmDialectATT = 0 };
enum { LLVMAtomicOrderingMonotonic = 2 };
enum {
    LLVMAtomicRMWBinOpXchg = 0,
    LLVMAtomicRMWBinOpAdd = 1,
    LLVMAtomicRMWBinOpAnd = 3,
    LLVMAtomicRMWBinOpOr = 5,
    LLVMAtomicRMWBinOpXor = 6
};
enum {
    LLVMIntEQ = 32,
    LLVMIntNE,
    LLVMIntUGT,
    LLVMIntUGE,
    LLVMIntULT,
    LLVMIntULE,
    LLVMIntSGT,
    LLVMIntSGE,
    LLVMIntSLT,
    LLVMIntSLE
};
enum {
    LLVMRealOEQ = 1,
    LLVMRealOGT,
    LLVMRealOGE,
    LLVMRealOLT,
    LLVMRealOLE,
    LLVMRealONE,
    LLVMRealORD,
    LLVMRealUNO,
    LLVMRealUEQ,
    LLVMRealUGT,
    LLVMRealUGE,
    LLVMRealULT,
    LLVMRealULE,
    LLVMRealUNE
};

typedef struct wf__llvm_api {
    int major;
#define WF_LLVM(result, name, parameters) result(*name) parameters;
#define WF_LLVM_OPTIONAL WF_LLVM
#include "codegen/llvm_api.def"
#undef WF_LLVM
#undef WF_LLVM_OPTIONAL
} wf__llvm_api;

/* Opens the library and fills the table. The library stays open for the life of the process: LLVM cannot be
 * unloaded safely. Returns false on failure; `error` then names the library and the reason. */
bool wf__llvm_api_open(wf__llvm_api *out, const char *path, wf__str *error);
#endif
