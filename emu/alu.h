/* alu.h - the meaning of every lane-by-lane instruction: one C expression each, found by name and type. Arguments and
 * results are zero-extended, as registers hold them. Modifiers are fields of the instruction.
 */
#ifndef WEFT_EMU_ALU_H
#define WEFT_EMU_ALU_H
#include "emu/emu.h"

typedef struct emu_alu {
    const char *name; /* "add", "mul.hi" */
    emu_type type;
    emu_fn fn;
} emu_alu;
emu_fn wfe_find_alu(const char *name, emu_type type); /* NULL = no such instruction for this type */
extern const emu_alu wfe_alu_int[], wfe_alu_float[], wfe_alu_half[];
extern const unsigned wfe_alu_ints, wfe_alu_floats, wfe_alu_halves;

uint64_t wfe_cvt(const emu_inst *in, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
uint64_t wfe_cvt_pack(const emu_inst *in, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
/* A value of type `t` as a register of `bytes` bytes holds it: extended by its sign or zeros. */
uint64_t wfe_extend(emu_type t, uint64_t bits, unsigned bytes);
bool wfe_compare(unsigned cmp, int relation); /* relation: -1 = less, 0 = equal, 1 = greater, 2 = unordered */

#define EMU_FN(name, result)                                                                 \
    static uint64_t name(const emu_inst *in, uint64_t a, uint64_t b, uint64_t c, uint64_t d) \
    {                                                                                        \
        (void)in, (void)a, (void)b, (void)c, (void)d;                                        \
        return result;                                                                       \
    }
#endif
