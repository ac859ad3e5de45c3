/* llvm.c - the code generator behind its table: opens LLVM, emits a kernel, hands out objects and text.
 *
 * Every compilation has its own context and target machine, so any number of threads compile at once. Only the
 * targets are registered once per process. LLVM must neither print nor end the process: a handler takes its
 * diagnostics, and its fatal errors jump back to the compilation, which fails.
 */
#include "base/code_log.h"
#include "base/os.h"
#include "codegen/phases.h"
#include "ir/pass/pass.h"
#include <setjmp.h>

struct wf__codegen {
    wf__llvm_api api;
};

/* State of the process, since LLVM libraries stay loaded. Unused target machines are kept: making one costs as much as
 * compiling a small kernel. */
typedef struct idle { /* an unused machine, and the options it was made for */
    LLVMTargetMachineRef machine;
    const wf__target *target;
    bool baseline;
    LLVMTargetMachineRef (*made_by)(LLVMTargetRef, const char *, const char *, const char *, int, int, int);
} idle;
enum { MOST_IDLE = 16 };
static struct {
    wf__mutex lock;
    idle idle[MOST_IDLE];
    int idle_n;
} shared = { .lock = WF__MUTEX_INIT };

typedef struct fatal_guard { /* where a fatal error of LLVM in this thread jumps to */
    jmp_buf back;
    char text[240];
} fatal_guard;
static _Thread_local fatal_guard *current_guard;

static void on_fatal(const char *reason)
{
    fatal_guard *to = current_guard;
    if (!to)
        return; /* not in a compilation of ours: LLVM proceeds as usual */
    size_t n = strlen(reason);
    n = n < sizeof to->text - 1 ? n : sizeof to->text - 1;
    memcpy(to->text, reason, n);
    to->text[n] = 0;
    longjmp(to->back, 1);
}

/* Registers the targets of this library. Fails if this machine's own target is missing. */
static bool register_targets(const wf__llvm_api *api, wf__str *error)
{
    void (*const x86[])(void) = { api->InitializeX86TargetInfo, api->InitializeX86Target, api->InitializeX86TargetMC,
                                  api->InitializeX86AsmPrinter };
    void (*const arm[])(void) = { api->InitializeAArch64TargetInfo, api->InitializeAArch64Target,
                                  api->InitializeAArch64TargetMC, api->InitializeAArch64AsmPrinter };
    bool has_x86 = true, has_arm = true;
    for (size_t i = 0; i < WF__COUNT(x86); i++) {
        has_x86 &= x86[i] != NULL;
        has_arm &= arm[i] != NULL;
    }
#if defined(__aarch64__)
    bool own = has_arm;
#else
    bool own = has_x86;
#endif
    if (!own) {
        wf__str_add(error, "this LLVM library cannot make code for this processor");
        return false;
    }
    wf__mutex_lock(&shared.lock);
    for (size_t i = 0; i < WF__COUNT(x86); i++) {
        if (has_x86)
            x86[i]();
        if (has_arm)
            arm[i]();
    }
    api->InstallFatalErrorHandler(on_fatal);
    wf__mutex_unlock(&shared.lock);
    return true;
}

static bool open_library(wf__codegen **out, const char *path, wf__str *error)
{
    wf__codegen *cg = wf__alloc0(sizeof *cg);
    if (!cg) {
        wf__str_add(error, "out of memory");
        return false;
    }
    if (!wf__llvm_api_open(&cg->api, path, error) || !register_targets(&cg->api, error)) {
        wf__free(cg);
        return false;
    }
    *out = cg;
    return true;
}

static int get_major(const wf__codegen *cg) { return cg->api.major; }

static void close_library(wf__codegen *cg) { wf__free(cg); }

static LLVMTargetMachineRef take_machine(const wf__llvm_api *api, const wf__code_options *how)
{
    LLVMTargetMachineRef machine = NULL;
    wf__mutex_lock(&shared.lock);
    for (int i = shared.idle_n - 1; i >= 0 && !machine; i--)
        if (shared.idle[i].target == how->target && shared.idle[i].baseline == how->baseline &&
            shared.idle[i].made_by == api->CreateTargetMachine) {
            machine = shared.idle[i].machine;
            shared.idle[i] = shared.idle[--shared.idle_n];
        }
    wf__mutex_unlock(&shared.lock);
    return machine;
}

static void return_machine(const wf__llvm_api *api, const wf__code_options *how, LLVMTargetMachineRef machine)
{
    wf__mutex_lock(&shared.lock);
    bool room = shared.idle_n < MOST_IDLE;
    if (room)
        shared.idle[shared.idle_n++] = (idle){ machine, how->target, how->baseline, api->CreateTargetMachine };
    wf__mutex_unlock(&shared.lock);
    if (!room)
        api->DisposeTargetMachine(machine);
}

/* ---- one compilation ---- */
typedef struct compilation {
    wf__gen gen;
    LLVMTargetMachineRef machine;
    wf__str diagnostics;
} compilation;

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    compilation *c = user;
    if (c->gen.L->GetDiagInfoSeverity(info) != LLVMDSError)
        return;
    char *text = c->gen.L->GetDiagInfoDescription(info);
    wf__str_addf(&c->diagnostics, "%s%s", c->diagnostics.len ? "; " : "", text ? text : "?");
    c->gen.L->DisposeMessage(text);
}

static void make_types(wf__gen *g)
{
    const wf__llvm_api *L = g->L;
    g->i1 = L->IntTypeInContext(g->context, 1);
    g->i8 = L->IntTypeInContext(g->context, 8);
    g->i16 = L->IntTypeInContext(g->context, 16);
    g->i32 = L->IntTypeInContext(g->context, 32);
    g->i64 = L->IntTypeInContext(g->context, 64);
    g->f16 = L->HalfTypeInContext(g->context);
    g->f32 = L->FloatTypeInContext(g->context);
    g->f64 = L->DoubleTypeInContext(g->context);
    g->ptr = L->PointerTypeInContext(g->context, 0);
    g->nothing = L->VoidTypeInContext(g->context);
}

static bool make_machine(compilation *c, wf__str *error)
{
    const wf__code_options *how = c->gen.options;
    const wf__target *target = how->target;
    const wf__llvm_api *L = c->gen.L;
    LLVMTargetRef t = NULL;
    char *text = NULL;
    c->machine = take_machine(L, how);
    if (c->machine)
        return true;
    if (L->GetTargetFromTriple(target->triple, &t, &text)) {
        wf__str_addf(error, "LLVM: %s", text ? text : "unknown target");
        L->DisposeMessage(text);
        return false;
    }
    c->machine = L->CreateTargetMachine(t, target->triple, target->cpu, target->features,
                                        how->baseline ? LLVMCodeGenLevelNone : LLVMCodeGenLevelLess, LLVMRelocPIC,
                                        LLVMCodeModelSmall);
    if (!c->machine)
        wf__str_addf(error, "LLVM: no machine %s", target->cpu);
    return c->machine != NULL;
}

static bool open_compilation(compilation *c, wf__str *error)
{
    wf__gen *g = &c->gen;
    const wf__llvm_api *L = g->L;
    g->context = L->ContextCreate();
    L->ContextSetDiagnosticHandler(g->context, on_diagnostic, c);
    L->ContextSetDiscardValueNames(g->context, 1);
    g->module = L->ModuleCreateWithNameInContext("weft", g->context);
    g->b = L->CreateBuilderInContext(g->context);
    make_types(g);
    if (!make_machine(c, error))
        return false;
    L->SetTarget(g->module, g->options->target->triple);
    LLVMTargetDataRef layout = L->CreateTargetDataLayout(c->machine);
    L->SetModuleDataLayout(g->module, layout);
    L->DisposeTargetData(layout);
    return true;
}

static void close_compilation(compilation *c)
{
    const wf__llvm_api *L = c->gen.L;
    if (c->gen.b)
        L->DisposeBuilder(c->gen.b);
    if (c->gen.module)
        L->DisposeModule(c->gen.module);
    if (c->machine)
        return_machine(L, c->gen.options, c->machine);
    if (c->gen.context)
        L->ContextDispose(c->gen.context);
    wf__str_free(&c->diagnostics);
}

static bool choose_shape(wf__gen *g, const wf__ir *body, int *rows, int *columns)
{
    wf__vary *vary = wf__alloc(body->n * sizeof *vary);
    uint8_t *live = wf__alloc0(body->n);
    bool ok = vary && live;
    if (ok) {
        for (uint32_t i = 1; i < body->n; i++)
            live[i] = wf__op_is_effect(body->node[i].op);
        wf__mark_live(body, live);
        wf__analyse(body, vary);
        g->width = wf__choose_width(body, vary, live, g->options->target);
        wf__choose_tile(g, body, vary, live, rows, columns);
    } else {
        wf__gen_fail(g, "code generator: out of memory");
    }
    wf__free(vary);
    wf__free(live);
    return ok;
}

/* Runs in all builds: LLVM may crash on invalid IR, and a library must not. A body that fails here is interpreted. */
static bool verify_module(compilation *c, wf__str *error)
{
    char *text = NULL;
    bool broken = c->gen.L->VerifyModule(c->gen.module, LLVMReturnStatusAction, &text);
    if (broken)
        wf__str_addf(error, "code generator: invalid LLVM IR: %s", text ? text : "?");
    c->gen.L->DisposeMessage(text);
    return !broken;
}

static bool emit_buffer(compilation *c, int type, LLVMMemoryBufferRef *out, wf__str *error)
{
    char *text = NULL;
    bool failed = c->gen.L->TargetMachineEmitToMemoryBuffer(c->machine, c->gen.module, type, &text, out);
    if (failed || c->diagnostics.len)
        wf__str_addf(error, "LLVM: %s", c->diagnostics.len ? wf__str_get(&c->diagnostics) : text ? text : "no code");
    if (failed)
        c->gen.L->DisposeMessage(text);
    else if (c->diagnostics.len)
        c->gen.L->DisposeMemoryBuffer(*out);
    return !failed && !c->diagnostics.len;
}

static bool produce_code(compilation *c, const wf__ir *body, wf__product what, wf__str *out, wf__str *error)
{
    int rows, columns;
    if (!choose_shape(&c->gen, body, &rows, &columns) || !open_compilation(c, error) ||
        !wf__emit_kernel(&c->gen, body, rows, columns))
        return false;
    const wf__llvm_api *L = c->gen.L;
    if (what == WF__LLVM_IR) {
        char *ir = L->PrintModuleToString(c->gen.module);
        wf__str_add(out, ir);
        L->DisposeMessage(ir);
    }
    if (!verify_module(c, error))
        return false;
    if (what == WF__LLVM_IR)
        return true;
    LLVMMemoryBufferRef buffer = NULL;
    if (!emit_buffer(c, what == WF__OBJECT ? LLVMObjectFile : LLVMAssemblyFile, &buffer, error))
        return false;
    const char *at = L->GetBufferStart(buffer);
    size_t n = L->GetBufferSize(buffer);
    wf__str_addn(out, at, n);
    bool ok = what != WF__OBJECT || !out->failed;
    if (!ok)
        wf__str_add(error, "code generator: out of memory");
    else if (what == WF__OBJECT)
        wf__log_code("object", at, n);
    L->DisposeMemoryBuffer(buffer);
    return ok;
}

static bool compile(wf__codegen *cg, const wf__ir *body, const wf__code_options *options, wf__product what,
                    wf__str *out, wf__str *error)
{
    if (options->target->isa == WF__ISA_NONE) {
        wf__str_add(error, "code generator: no instruction set to make code for");
        return false;
    }
    if (body->rank < 1 || body->rank > WF_MAX_RANK) {
        wf__str_addf(error, "code generator: %d loop axes", (int)body->rank);
        return false;
    }
    compilation *c = wf__alloc0(sizeof *c);
    if (!c) {
        wf__str_add(error, "code generator: out of memory");
        return false;
    }
    c->gen = (wf__gen){ .L = &cg->api, .options = options, .isa = options->target->isa, .error = error };
    fatal_guard here, *outer = current_guard;
    current_guard = &here;
    volatile bool ok = false;
    if (setjmp(here.back)) {
        wf__str_addf(error, "LLVM: %s", here.text); /* the compilation may be in any state, so its memory is lost */
    } else {
        ok = produce_code(c, body, what, out, error);
        close_compilation(c);
    }
    current_guard = outer;
    wf__free(c);
    return ok;
}

static bool get_tile(const wf__ir *body, const wf__code_options *options, int *rows, int *columns, int *lanes)
{
    wf__str error = { 0 };
    wf__gen g = { .options = options, .isa = options->target->isa, .error = &error };
    bool ok = options->target->isa != WF__ISA_NONE && choose_shape(&g, body, rows, columns);
    *lanes = g.width;
    wf__str_free(&error);
    return ok;
}

const wf__codegen_ops wf__llvm = { open_library, get_major, compile, close_library, get_tile };
