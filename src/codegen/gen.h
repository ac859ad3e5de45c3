/* gen.h - the state of one compilation: LLVM's builder with the types, constants and small idioms that all parts use.
 *
 * A value of width 1 is a scalar; a value of width w > 1 is a vector of w lanes. Bools are i1 in registers and bytes 0
 * or 1 in memory. In both, f16 and bf16 are 16-bit integers, and complex numbers are integers of their size. Valid IR
 * never fails. A node without code sets `failed` and a message; emission continues with arbitrary values until the
 * driver tests `failed`.
 */
#ifndef WEFT_GEN_H
#define WEFT_GEN_H
#include "codegen/llvm_api.h"
#include "plan/kernel.h"

typedef LLVMValueRef val;
typedef LLVMBasicBlockRef bb; /* basic block */

typedef struct wf__intrinsic { /* declared in the module, unless f is NULL */
    char name[48];             /* "" = too long to be kept */
    LLVMTypeRef types[2];
    val f;
} wf__intrinsic;

typedef struct wf__gen {
    const wf__llvm_api *L;
    const wf__code_options *options;
    wf__isa isa;
    int width;      /* lanes of a vector */
    bool by_column; /* the vectors of a tile are computed one after the other (wf__tile) */
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, ptr, nothing;
    val function; /* the function that is being emitted */
    /* functions and metadata made on demand; NULL = not made yet */
    val cold[WF__COLD_COUNT][2];               /* rare paths, by width: scalar, vector */
    val edge[WF_C128 + 1][WF__BORDERS];        /* loads at the ends of rows, by dtype and border mode */
    val updater[WF_C128 + 1][WF_JOIN_XOR + 1]; /* atomic joins that processors lack, by dtype and join */
    val wrap;                                  /* periodic indices far outside */
    val nontemporal, likely;                   /* metadata */
    wf__intrinsic intrinsic[8];                /* the latest intrinsics */
    unsigned intrinsic_n;
    wf__str *error;
    bool failed;
} wf__gen;

void wf__gen_fail(wf__gen *g, const char *format, ...) WF__PRINTF(2, 3); /* the first message is kept */

/* ---- types and constants ---- */
LLVMTypeRef wf__gen_type(wf__gen *g, unsigned dtype, int w);         /* in registers */
LLVMTypeRef wf__gen_memory_type(wf__gen *g, unsigned dtype, int w);  /* in memory */
LLVMTypeRef wf__gen_wide(wf__gen *g, LLVMTypeRef scalar, int w);     /* a vector type; for w = 1 the type itself */
val wf__gen_const(wf__gen *g, unsigned dtype, int w, uint64_t bits); /* all lanes */
val wf__gen_real(wf__gen *g, unsigned dtype, int w, double value);
val wf__gen_int(wf__gen *g, LLVMTypeRef scalar, int w, uint64_t value);
val wf__gen_iota(wf__gen *g, LLVMTypeRef scalar, int w, int64_t first, int64_t step);
val wf__gen_splat(wf__gen *g, val scalar, int w);
/* Lanes s .. 2s - 1 of a vector of 2s, or the first s; s = 1: a scalar. */
val wf__gen_half(wf__gen *g, val v, int s, bool upper);

/* ---- calls ---- */
val wf__gen_call(wf__gen *g, const char *intrinsic, LLVMTypeRef const *overloads, unsigned n_overloads, val *args,
                 unsigned n);
bool wf__gen_has(wf__gen *g, const char *intrinsic);         /* true if this LLVM has it */
val wf__gen_call1(wf__gen *g, const char *intrinsic, val a); /* overloaded on the type of a */
val wf__gen_call2(wf__gen *g, const char *intrinsic, val a, val b);
/* A new function with the common attributes. An internal one uses the fast calling convention. */
val wf__gen_function(wf__gen *g, const char *name, LLVMTypeRef result, LLVMTypeRef *params, unsigned n, bool internal);
bb wf__gen_bb(wf__gen *g, const char *name);
void wf__gen_at(wf__gen *g, bb b);             /* emit at its end, before its terminator if it has one */
val wf__gen_mask(wf__gen *g, val bits);        /* vector of bools from the bits of an integer */
val wf__lanes_below(wf__gen *g, val n);        /* vector of bools: true in the lanes below lane n (i64) */
val wf__gen_any(wf__gen *g, val mask, int w);  /* i1: true if any lane is set */
val wf__gen_opaque_zero(wf__gen *g);           /* i64: a 0 that LLVM cannot see through */
void wf__gen_unlikely(wf__gen *g, val branch); /* the first target of a conditional branch is rare */

/* ---- operations: emit_op.c, emit_op_float.c, emit_cast.c ---- */
/* dtype: of the operands; for select, of the last one. known[i]: bits of a constant operand; NULL = not constant.
 * `known` may be NULL. */
val wf__gen_op(wf__gen *g, unsigned op, unsigned dtype, int w, const val x[3], const uint64_t *const known[3]);
val wf__gen_float_op(wf__gen *g, unsigned op, unsigned dtype, int w, const val x[3], const uint64_t *const known[3]);
val wf__gen_cast(wf__gen *g, unsigned to, unsigned from, int w, val a);
/* A pure node, CAST and BITCAST included, from the values of its operands. */
val wf__gen_pure(wf__gen *g, const wf__ir *ir, const wf__node *n, int w, const val x[3]);
/* All nodes of an IR with pure nodes only. arg: values of ARG nodes. value: receives those of all nodes. */
void wf__gen_pure_nodes(wf__gen *g, const wf__ir *ir, const val *arg, int w, val *value);

/* ---- the builder, shortened ---- */
static inline val g_add(wf__gen *g, val a, val b) { return g->L->BuildAdd(g->b, a, b, ""); }
static inline val g_sub(wf__gen *g, val a, val b) { return g->L->BuildSub(g->b, a, b, ""); }
static inline val g_mul(wf__gen *g, val a, val b) { return g->L->BuildMul(g->b, a, b, ""); }
static inline val g_and(wf__gen *g, val a, val b) { return g->L->BuildAnd(g->b, a, b, ""); }
static inline val g_or(wf__gen *g, val a, val b) { return g->L->BuildOr(g->b, a, b, ""); }
static inline val g_xor(wf__gen *g, val a, val b) { return g->L->BuildXor(g->b, a, b, ""); }
static inline val g_icmp(wf__gen *g, int p, val a, val b) { return g->L->BuildICmp(g->b, p, a, b, ""); }
static inline val g_fcmp(wf__gen *g, int p, val a, val b) { return g->L->BuildFCmp(g->b, p, a, b, ""); }
static inline val g_select(wf__gen *g, val c, val a, val b) { return g->L->BuildSelect(g->b, c, a, b, ""); }
/* Signed. a: NULL = the result is b. */
static inline val g_smaller(wf__gen *g, val a, val b) { return a ? g_select(g, g_icmp(g, LLVMIntSLT, a, b), a, b) : b; }
static inline val g_larger(wf__gen *g, val a, val b) { return a ? g_select(g, g_icmp(g, LLVMIntSGT, a, b), a, b) : b; }
static inline val g_load(wf__gen *g, LLVMTypeRef t, val p) { return g->L->BuildLoad2(g->b, t, p, ""); }
static inline val g_gep(wf__gen *g, LLVMTypeRef t, val p, val i) { return g->L->BuildGEP2(g->b, t, p, &i, 1, ""); }
static inline val g_i64(wf__gen *g, int64_t v) { return g->L->ConstInt(g->i64, (unsigned long long)v, 0); }
static inline val g_i32(wf__gen *g, int64_t v) { return g->L->ConstInt(g->i32, (unsigned long long)v, 0); }
static inline val g_bits(wf__gen *g, val v, LLVMTypeRef t) { return g->L->BuildBitCast(g->b, v, t, ""); }
#endif
