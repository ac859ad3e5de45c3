/* gen_ops.c - prints include/weft/ops.h from the op table: gen_ops > include/weft/ops.h */
#include <stdio.h>
#include <string.h>

typedef struct row {
    const char *name;
    int arity;
    const char *types, *result, *flags, *doc;
} row;
static const row rows[] = {
#define WF_OP(name, arity, types, result, flags, cost, imeaning, fmeaning, doc) \
    { #name, arity, #types, #result, #flags, doc },
#include "ir/ops.def"
#undef WF_OP
};
enum { N = sizeof rows / sizeof *rows };

static const char *const head[] = {
    "/* ops.h - GENERATED from src/ir/ops.def by tools/gen_ops.c; do not edit. Every operation is a real function.",
    " * Dtypes: C's usual conversions; a number takes the dtype of the operand beside it and must fit it. Integers of one",
    " * width, signed with unsigned, do not mix. A number beside a number is computed in double: wf_div(1, 3) is a third.",
    " * Errors: WF_ERR_DTYPE, also for wf_div of integers (use wf_idiv or cast) and for functions of floats of an integer.",
    " * Cost: one append to the recording. Reference: docs/reference/ops.md */",
    "",
    "#ifndef WF_OPS_H",
    "#define WF_OPS_H",
    "#include \"weft/macros.h\"",
    "#if defined(__GNUC__)",
    "#pragma GCC system_header /* the conversions below elide braces on purpose */",
    "#endif",
    "#ifdef __cplusplus",
    "extern \"C\" {",
    "#endif",
};

static const char *const list[] = {
    "/* The functions above as a list, for front ends: F(name, number of operands, operands, result, complex).",
    " *   operands  NUM (integers and floats), INT, FLT, BITS (bools and integers), ANY, FIRST_BOOL (wf_select: a bool, then",
    " *             two of one dtype), or CPLX (makes complex numbers or takes them apart)",
    " *   result    SAME (the operands' dtype, or the last one's) or BOOL",
    " *   complex   1: complex operands are allowed; 0: they are not */",
    "#define WF_OPERATIONS(F) \\",
};

static const char *const middle[] = {
    "/* Converts to dtype. Float to integer truncates and saturates, NaN gives 0; integers wrap; to bool: != 0. */",
    "WF_API wf_val wf_cast(wf_val a, wf_dtype dtype);",
    "/* The sine and cosine of a, in radians. With WF_FLAG_VALUE_NUMBERING they share nearly all work unless a is large. */",
    "WF_API void wf_sincos(wf_val a, wf_val *sine, wf_val *cosine);",
    "/* The same bits as a dtype of the same size. */",
    "WF_API wf_val wf_bitcast(wf_val a, wf_dtype dtype);",
    "#ifdef __cplusplus",
    "}",
    "#else",
};

static const char *const tail[] = {
    "#define wf_cast(a, dtype) wf_cast(WF_V(a), dtype)",
    "#define wf_sincos(a, sine, cosine) wf_sincos(WF_V(a), sine, cosine)",
    "#define wf_bitcast(a, dtype) wf_bitcast(WF_V(a), dtype)",
    "#endif",
    "#endif",
};

static void lines(const char *const *at, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        puts(at[i]);
}

int main(void)
{
    static const char *const letters[] = { "a", "b", "c" };
    lines(head, sizeof head / sizeof *head);
    for (int i = 0; i < N; ++i) {
        printf("/* %s. %s */\nWF_API wf_val wf_%s(", rows[i].doc,
               !strcmp(rows[i].types, "FLT")    ? "Floats."
               : !strcmp(rows[i].types, "INT")  ? "Integers."
               : !strcmp(rows[i].types, "BITS") ? "Bools and integers."
               : !strcmp(rows[i].types, "NUM")  ? "Numbers."
                                                : "Any dtype.",
               rows[i].name);
        for (int k = 0; k < rows[i].arity; ++k)
            printf("%swf_val %s", k ? ", " : "", letters[k]);
        puts(");");
    }
    lines(list, sizeof list / sizeof *list);
    for (int i = 0; i < N; ++i)
        printf("    F(%s, %d, %s, %s, %d)%s\n", rows[i].name, rows[i].arity, rows[i].types, rows[i].result,
               strstr(rows[i].flags, "CPLX") != NULL, i + 1 < N ? " \\" : "");
    lines(middle, sizeof middle / sizeof *middle);
    for (int i = 0; i < N; ++i) {
        printf("#define wf_%s(", rows[i].name);
        for (int k = 0; k < rows[i].arity; ++k)
            printf("%s%s", k ? ", " : "", letters[k]);
        printf(") wf_%s(", rows[i].name);
        for (int k = 0; k < rows[i].arity; ++k)
            printf("%sWF_V(%s)", k ? ", " : "", letters[k]);
        puts(")");
    }
    lines(tail, sizeof tail / sizeof *tail);
    return 0;
}
