/* parse.h - the state that the parts of the PTX reader share: tokens, scopes, the instruction that is being decoded.
 *
 * The files form layers; each calls only those before it: lex.c; parse_names.c; decode_operand.c, parse_var.c;
 * decode_alu.c, decode_memory.c, decode_control.c; decode.c; parse_func.c.
 */
#ifndef WEFT_EMU_PARSE_H
#define WEFT_EMU_PARSE_H
#include "emu/emu.h"

typedef struct emu_slice {
    const char *at;
    uint32_t n;
} emu_slice;
bool wfe_is(emu_slice s, const char *text);

typedef enum emu_token {
    EMU_TOK_END,
    EMU_TOK_WORD, /* names, opcodes with their modifiers, directives with their dot */
    EMU_TOK_INT,
    EMU_TOK_FLOAT, /* `number`: bits of an f64; `bits32`: bits of a 0f literal */
    EMU_TOK_STRING,
    EMU_TOK_PUNCT
} emu_token;

typedef enum emu_symbol_kind { EMU_SYM_REG, EMU_SYM_VAR, EMU_SYM_PARAM, EMU_SYM_FRAME, EMU_SYM_TABLE } emu_symbol_kind;
typedef struct emu_symbol {
    emu_slice name;
    uint8_t kind;
    emu_type type;
    uint32_t first,
        count; /* REG: first row, and count of name<count> (0 = one register); VAR: index; FRAME, PARAM: offset */
    uint32_t bytes;
    uint32_t next; /* 1 + index of the next symbol of its bucket; 0 = none */
    uint32_t bucket;
} emu_symbol;

typedef struct emu_label {
    emu_slice name;
    uint32_t at, scope, line; /* at: instruction, or for a table the index in emu_func.targets */
    bool table;
} emu_label;
typedef struct emu_fix { /* a reference to a label that may come later */
    emu_slice name;
    uint32_t scope, line;
    uint32_t inst;   /* instruction whose target is the label, if `target` is 0 */
    uint32_t target; /* 1 + index in emu_func.targets; 0 = the label belongs to an instruction */
    bool table;
} emu_fix;

enum { EMU_BUCKETS = 1024, EMU_DEPTH = 64, EMU_MAX_OPERANDS = 40, EMU_MAX_MODS = 16, EMU_MAX_VECTOR = 8 };

typedef enum emu_operand_kind { EMU_OP_NAME, EMU_OP_INT, EMU_OP_FLOAT, EMU_OP_VECTOR, EMU_OP_ADDRESS } emu_operand_kind;
typedef struct emu_operand {
    uint8_t kind;
    bool negate; /* !p (the sign of a literal is part of its value) */
    bool has_bits32;
    emu_slice name;   /* name, or base of an address */
    emu_slice second; /* q of p|q */
    uint64_t number;
    uint32_t bits32;
    int64_t offset;
    uint32_t n;     /* number of elements of a vector */
    uint32_t first; /* index of the first one in emu_parser.elements */
} emu_operand;

typedef struct emu_parser {
    emu_module *m;
    const char *at, *end;
    uint32_t line;
    /* the current token */
    emu_token token;
    emu_slice text;
    uint64_t number;
    uint32_t bits32;
    bool has_bits32, failed, no_memory;
    uint32_t token_line;
    /* names */
    emu_symbol *symbols;
    uint32_t n_symbols, cap_symbols;
    uint32_t buckets[EMU_BUCKETS];
    uint32_t marks[EMU_DEPTH], scopes[EMU_DEPTH], depth, next_scope; /* marks: symbols at the start of each scope */
    emu_label *labels;
    uint32_t n_labels, cap_labels;
    emu_fix *fixes;
    uint32_t n_fixes, cap_fixes;
    emu_func *f;
    /* the instruction being read */
    emu_slice opcode, mods[EMU_MAX_MODS];
    uint32_t n_mods, mod;
    emu_operand operands[EMU_MAX_OPERANDS], elements[EMU_MAX_OPERANDS * 4];
    uint32_t n_operands, n_elements;
    uint32_t n_results; /* call: number of operands before the name */
    emu_inst inst;
    uint32_t dst[EMU_MAX_OPERANDS], src[EMU_MAX_OPERANDS * 4];
    uint32_t n_dst, n_src;
} emu_parser;

/* lex.c */
void wfe_next(emu_parser *p);
bool wfe_fail(emu_parser *p, const char *format, ...) WF__PRINTF(2, 3); /* false */
bool wfe_at(emu_parser *p, const char *punct_or_word);
bool wfe_accept(emu_parser *p, const char *punct_or_word);
bool wfe_expect(emu_parser *p, const char *punct_or_word);
bool wfe_out_of_memory(emu_parser *p); /* false */
emu_type wfe_type_of(emu_slice name);  /* name without the dot; EMU_NONE = not a type */

/* parse_names.c */
emu_symbol *wfe_declare(emu_parser *p, emu_slice name, emu_symbol_kind kind, emu_type type);
/* *row is the row of a register, also of one of a range. NULL = unknown name. */
const emu_symbol *wfe_lookup(emu_parser *p, emu_slice name, uint32_t *row);
bool wfe_open_scope(emu_parser *p);
void wfe_close_scope(emu_parser *p);
uint32_t wfe_func_index(const emu_module *m, emu_slice name); /* n_funcs = unknown name */
const char *wfe_copy_name(emu_parser *p, emu_slice name);
bool wfe_add_label(emu_parser *p, emu_slice name, uint32_t at, bool table);
bool wfe_add_reference(emu_parser *p, emu_slice name, uint32_t inst, uint32_t target, bool table);

/* parse_var.c */
bool wfe_parse_variable(emu_parser *p, emu_space space, bool is_extern);
bool wfe_parse_registers(emu_parser *p);
bool wfe_parse_parameter(emu_parser *p, bool entry, emu_var *out);

/* parse_func.c */
bool wfe_parse_function(emu_parser *p, bool entry);

/* decode.c: decodes the modifiers and operands of p and appends the instruction to p->f->code. */
bool wfe_decode(emu_parser *p, uint32_t guard, bool negate);

/* decode_operand.c. Decoders take modifiers in the order of the manual's grammar: each call looks at the next one. */
bool wfe_bad_modifier(emu_parser *p); /* reports the current or missing modifier; false */
bool wfe_take(emu_parser *p, const char *mod);
int wfe_take_of(emu_parser *p, const char *const *names); /* index, or -1 = none of them; names end with NULL */
emu_type wfe_take_type(emu_parser *p);
bool wfe_need_type(emu_parser *p, emu_type *out, uint32_t allowed); /* allowed: a bit per type */
bool wfe_need_sm(emu_parser *p, uint32_t sm);
bool wfe_need_operands(emu_parser *p, uint32_t least, uint32_t most);
bool wfe_src(emu_parser *p, uint32_t i, emu_type type);
bool wfe_src_of(emu_parser *p, const emu_operand *o, emu_type type, bool wide);
bool wfe_dst(emu_parser *p, uint32_t i, emu_type type);
bool wfe_dst_of(emu_parser *p, const emu_operand *o, emu_type type, bool wide);
bool wfe_address(emu_parser *p, uint32_t i);         /* base to the sources, offset and space to the instruction */
uint32_t wfe_constant(emu_parser *p, uint64_t bits); /* a row; EMU_ROW_NONE = out of memory */
bool wfe_push_src(emu_parser *p, uint32_t row);
void wfe_take_scope(emu_parser *p);
#define EMU_BIT(type) ((uint32_t)1 << (type))

typedef struct emu_decoder {
    const char *name;
    bool (*decode)(emu_parser *p);
} emu_decoder;
extern const emu_decoder wfe_decode_alu[], wfe_decode_memory[], wfe_decode_control[];
#endif
