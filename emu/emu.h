/* emu.h - the types of the PTX emulator: parsed and decoded modules, device memory with its shadow state, launches.
 *
 * The emulator uses src/base alone and knows nothing of Weft. So the PTX manual ("Parallel Thread Execution ISA") is
 * the only judge of the PTX that Weft emits. Comments name the section of the manual that a rule comes from.
 *
 * A register is a row of 32 values, one per lane, of 64 bits each. Constants and special registers are rows too, so
 * that every operand is the index of a row. A value narrower than 64 bits is zero-extended.
 */
#ifndef WEFT_EMU_H
#define WEFT_EMU_H
#include "base/base.h"

enum { EMU_LANES = 32, EMU_MAX_SHARED = 227 * 1024, EMU_MAX_THREADS = 1024, EMU_BARRIERS = 16 };
#define EMU_SHARED_WINDOW 0x0002000000000000u /* generic addresses of shared memory, beyond what a host can map */
#define EMU_LOCAL_WINDOW 0x0003000000000000u
#define EMU_GLOBAL_BASE 0x0001000000000000u /* device memory */
#define EMU_WINDOW_SIZE 0x0000000100000000u

/* ---- types of operands ---- */
typedef enum emu_type {
    EMU_NONE,
    EMU_B8,
    EMU_B16,
    EMU_B32,
    EMU_B64,
    EMU_B128,
    EMU_U8,
    EMU_U16,
    EMU_U32,
    EMU_U64,
    EMU_S8,
    EMU_S16,
    EMU_S32,
    EMU_S64,
    EMU_F16,
    EMU_F16X2,
    EMU_BF16,
    EMU_BF16X2,
    EMU_F32,
    EMU_F64,
    EMU_PRED,
    EMU_TYPES
} emu_type;
unsigned wfe_size(emu_type t); /* bytes; 1 for predicates */
bool wfe_is_signed(emu_type t);
bool wfe_is_float(emu_type t);
const char *wfe_type_name(emu_type t); /* as in PTX, without the dot */

typedef enum emu_round { EMU_RN, EMU_RZ, EMU_RM, EMU_RP } emu_round;
typedef enum emu_space {
    EMU_GENERIC,
    EMU_GLOBAL,
    EMU_SHARED,
    EMU_LOCAL,
    EMU_CONST,
    EMU_PARAM /* parameters of a kernel; those of .func lie in local memory */
} emu_space;

/* ---- decoded code ---- */
typedef enum emu_kind {
    EMU_ALU,  /* d = fn(a, b, c, d) lane by lane */
    EMU_SETP, /* setp and set: one or two results of a comparison */
    EMU_PACK, /* a vector of registers into one */
    EMU_UNPACK,
    EMU_MOVE2, /* mov.b128 */
    EMU_ADDR,  /* d = the address of a variable */
    EMU_CLOCK, /* d = a counter, EMU_CLOCK32 to EMU_TIMER_HI in `what` */
    EMU_LD,
    EMU_ST,
    EMU_ATOM,
    EMU_COPY, /* cp.async */
    EMU_COPY_COMMIT,
    EMU_COPY_WAIT,
    EMU_FENCE,
    EMU_WARP, /* shfl, vote, match, redux, bar.warp.sync, elect: EMU_SHFL_UP to EMU_ELECT in `what` */
    EMU_BAR,
    EMU_ACTIVEMASK,
    EMU_BRA,
    EMU_BRX,
    EMU_CALL,
    EMU_RET,
    EMU_EXIT,
    EMU_TRAP,
    EMU_NOP
} emu_kind;

enum { EMU_SHFL_UP, EMU_SHFL_DOWN, EMU_SHFL_BFLY, EMU_SHFL_IDX, EMU_VOTE_ALL, EMU_VOTE_ANY, EMU_VOTE_UNI };
enum { EMU_VOTE_BALLOT = EMU_VOTE_UNI + 1, EMU_MATCH_ANY, EMU_MATCH_ALL, EMU_REDUX, EMU_WARP_SYNC, EMU_ELECT };
enum { EMU_BAR_SYNC, EMU_BAR_ARRIVE, EMU_BAR_POPC, EMU_BAR_AND, EMU_BAR_OR };
enum { EMU_CMP_EQ, EMU_CMP_NE, EMU_CMP_LT, EMU_CMP_LE, EMU_CMP_GT, EMU_CMP_GE, EMU_CMP_EQU, EMU_CMP_NEU, EMU_CMP_LTU };
enum { EMU_CMP_LEU = EMU_CMP_LTU + 1, EMU_CMP_GTU, EMU_CMP_GEU, EMU_CMP_NUM, EMU_CMP_NAN };
enum { EMU_BOOL_NONE, EMU_BOOL_AND, EMU_BOOL_OR, EMU_BOOL_XOR };
enum { EMU_SCOPE_NONE, EMU_SCOPE_CTA, EMU_SCOPE_GPU, EMU_SCOPE_SYS };
enum { EMU_CLOCK32, EMU_CLOCK_HI, EMU_CLOCK64, EMU_TIMER, EMU_TIMER_LO, EMU_TIMER_HI };

/* An operand is the index of a row; its top two bits name the table of rows. */
#define EMU_ROW_REG 0x00000000u
#define EMU_ROW_CONST 0x40000000u
#define EMU_ROW_SPECIAL 0x80000000u
#define EMU_ROW_NONE 0xffffffffu

typedef struct emu_inst emu_inst;
typedef uint64_t (*emu_fn)(const emu_inst *in, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

struct emu_inst {
    emu_fn fn;
    uint8_t kind, what, type, type2;
    uint8_t rnd, cmp, join, space; /* join: boolean operation of setp and set */
    bool ftz, sat, relu, nan, negate_a, xorsign;
    bool frame;  /* the address is relative to the function's frame in local memory */
    bool symbol; /* loading the module adds the address of variable `callee` to the offset */
    bool narrow; /* 32-bit address arithmetic */
    bool strong; /* volatile, relaxed, acquire or release: two strong accesses do not race */
    bool release, acquire, aligned, uniform, has_count, satfinite;
    uint8_t scope, vector, bytes; /* vector, bytes: elements of a memory access, and bytes of each */
    uint8_t nd, ns;               /* numbers of destinations and sources */
    uint8_t dst_bytes;            /* width of the destination register */
    uint8_t irnd;                 /* 1 + emu_round of a rounding of a float to an integer; 0 = none */
    bool negate;                  /* the guard is @!p */
    uint8_t lut;
    uint32_t guard; /* row of the predicate; EMU_ROW_NONE = unconditional */
    uint32_t ops;   /* index in emu_func.ops of the first operand: destinations, then sources */
    uint32_t target, callee;
    int64_t offset; /* constant part of an address */
    uint32_t line;
};

typedef struct emu_func emu_func;
typedef struct emu_var {
    const char *name;
    emu_type type;
    uint8_t space;
    bool is_extern, is_reg; /* is_reg: a parameter of .func in a register */
    uint32_t align, row;    /* row: the register of such a parameter */
    uint64_t size, at;      /* at: offset in its space */
    uint64_t address;       /* address of a .global or .const variable of a loaded module */
    uint64_t elements;
    uint8_t *image;
    uint32_t line;
    uint64_t *fixes; /* addresses in the image, in threes: offset in the image, index of the variable, summand */
    uint32_t n_fixes, cap_fixes;
    const emu_func *owner; /* function of a shared variable; NULL = module scope */
} emu_var;

/* The most bytes of a module's variables in global and constant memory: a mistyped extent is an error at once. */
enum { EMU_MAX_IMAGE = 1 << 28 };

/* Shared memory has three segments: variables of the function, variables of the module, dynamic memory. EMU_GAP bytes
 * between variables (red zones) belong to none. */
enum { EMU_SEGMENT_BITS = 20, EMU_SEGMENTS = 3, EMU_MAX_STATIC = 48 * 1024, EMU_GAP = 16 };

struct emu_func {
    const char *name;
    bool entry, has_body;
    emu_var *params;
    emu_var *results;
    uint32_t n_params, cap_params, n_results, cap_results;
    uint32_t param_bytes;
    emu_inst *code;
    uint32_t n_code, cap_code;
    uint32_t *ops;
    uint32_t n_ops, cap_ops;
    uint32_t *targets; /* lists of brx.idx: each a count, then indices of instructions */
    uint32_t n_targets, cap_targets;
    uint32_t n_regs;                    /* rows of registers */
    uint32_t local_bytes, shared_bytes; /* shared_bytes: with the red zones */
    uint32_t static_bytes;              /* shared memory without the red zones */
    uint32_t max_threads, req[3];
    uint32_t line;
    bool calls;
};

typedef struct emu_module {
    char *text; /* the PTX, which reports quote */
    char **names;
    uint32_t n_names, cap_names;
    uint32_t version, target; /* 803 for PTX 8.3, 90 for sm_90 */
    emu_var *vars;            /* variables in global, constant and shared memory, also those of functions */
    uint32_t n_vars, cap_vars;
    emu_func **funcs;
    uint32_t n_funcs, cap_funcs;
    uint64_t *consts; /* rows of constants */
    uint32_t n_consts, cap_consts;
    uint32_t shared_bytes; /* shared memory of module scope, with the red zones */
    uint32_t static_bytes; /* the same without the red zones */
    uint64_t image_bytes;  /* bytes of all variables in global and constant memory */
    wf__str error;
} emu_module;

/* Parses and decodes. NULL = out of memory. Otherwise `error` is empty or "line N: ...". */
emu_module *wfe_parse(const char *text, size_t n);
void wfe_module_free(emu_module *m);

/* ---- special registers: rows of a warp; triples in the order x y z ---- */
enum {
    EMU_SR_TID,
    EMU_SR_NTID = 3,
    EMU_SR_CTAID = 6,
    EMU_SR_NCTAID = 9,
    EMU_SR_LANEID = 12,
    EMU_SR_WARPID,
    EMU_SR_NWARPID,
    EMU_SR_MASK_EQ,
    EMU_SR_MASK_LE,
    EMU_SR_MASK_LT,
    EMU_SR_MASK_GE,
    EMU_SR_MASK_GT,
    EMU_SR_SMID,
    EMU_SR_NSMID,
    EMU_SR_GRIDID,
    EMU_SR_DYNAMIC,
    EMU_SR_TOTAL,
    EMU_SR_COUNT
};

/* ---- memory ---- */
typedef struct emu_page emu_page; /* shadow of EMU_PAGE bytes for the search for races */
typedef struct emu_span emu_span; /* order.h */
enum { EMU_PAGE = 1024 };

enum { EMU_TOUCH_READ, EMU_TOUCH_WRITE, EMU_TOUCH_ATOMIC, EMU_TOUCHES };
typedef enum emu_memory_kind { EMU_MEM_DEVICE, EMU_MEM_PINNED, EMU_MEM_MANAGED, EMU_MEM_MODULE } emu_memory_kind;
typedef struct emu_memory {
    uint64_t base, size;
    uint8_t *at;       /* contents; NULL = freed */
    uint64_t *written; /* a bit per byte; NULL = all bytes are written */
    emu_page **pages;  /* NULL = no launch has looked for races here */
    /* Order of operations: uses by earlier operations, and the bytes that the current operation uses, a bit per
     * byte. */
    emu_span *spans;                         /* sorted by address */
    uint32_t n_spans, cap_spans, many_spans; /* many_spans: number of spans from which old uses are dropped */
    uint64_t *touched[EMU_TOUCHES];          /* NULL = no byte */
    uint64_t touched_from, touched_to;       /* bounds of the touched bytes */
    bool is_touched;
    bool pooled; /* allocated in stream order */
    uint64_t serial;
    const char *name; /* name of a module's variable; NULL = no variable */
    uint8_t kind;
    int device;
    bool constant, registered; /* registered: host memory that the program owns */
    void *owner;               /* module or context */
} emu_memory;

typedef struct emu_heap {
    emu_memory **list; /* live and freed allocations, sorted by base */
    uint32_t n, cap;
    uint64_t next, serial; /* address and number of the next allocation */
    uint32_t freed;        /* number of freed allocations in the list */
} emu_heap;

/* `host`: host memory that devices reach at its own address; NULL = new device memory. Returns NULL if out of
 * memory. */
emu_memory *wfe_heap_add(emu_heap *h, uint64_t bytes, emu_memory_kind kind, int device, void *host);
void wfe_heap_drop(emu_heap *h, emu_memory *m); /* frees the contents; reports still know the allocation */
/* The allocation, live or freed, that begins at or next below the address; NULL = none. */
emu_memory *wfe_heap_find(const emu_heap *h, uint64_t address);
void wfe_heap_free(emu_heap *h);
void wfe_set_bits(uint64_t *bits, uint64_t at, uint64_t n);
void wfe_mark_written(emu_memory *m, uint64_t at, uint64_t bytes);
typedef struct emu_touched { /* memory that an operation uses */
    emu_memory **list;
    uint32_t n, cap;
    bool failed; /* out of memory: the list is incomplete */
} emu_touched;
void wfe_touch(emu_touched *touched, emu_memory *m, uint64_t at, uint64_t bytes, unsigned touch);
void wfe_forget_spans(emu_memory *m);
/* Writes what lies at the address, for reports. */
void wfe_describe(const emu_heap *h, uint64_t address, uint64_t bytes, wf__str *out);

/* ---- a launch ---- */
enum { EMU_FIND_RACES = 1, EMU_FIND_UNINIT = 2, EMU_FIND_REGISTERS = 4, EMU_FIND_ORDER = 8, EMU_FIND_ALL = 15 };
typedef enum emu_fault {
    EMU_FAULT_NONE,
    EMU_FAULT_ADDRESS,
    EMU_FAULT_MISALIGNED,
    EMU_FAULT_SPACE, /* an address of another state space */
    EMU_FAULT_TRAP,
    EMU_FAULT_DEADLOCK,
    EMU_FAULT_FINDING, /* a race, a read of unwritten memory, a divergent barrier */
    EMU_FAULT_STACK,
    EMU_FAULT_TIMEOUT,
    EMU_FAULT_MEMORY /* the host ran out of memory */
} emu_fault;

typedef struct emu_launch {
    const emu_module *module;
    const emu_func *func;
    emu_heap *heap;
    int device;
    uint32_t peers; /* bit mask of devices whose memory is accessible besides `device` */
    uint32_t grid[3], block[3];
    uint32_t dynamic_bytes;
    const uint8_t *params;
    uint32_t find;
    uint64_t limit; /* most instructions of warps; 0 = no limit */
    bool cooperative;
    uint64_t id;
    emu_touched *touched;  /* out: memory that the launch uses; NULL = not wanted */
    wf__str *report;       /* out: full text of the fault */
    uint64_t instructions; /* out: instructions of lanes */
} emu_launch;
emu_fault wfe_run(emu_launch *l);
#endif
