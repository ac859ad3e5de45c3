/* gen_numerics.c - prints the tables of docs/numerics.md: which operation takes which dtypes (from the op table), and
 * what dtypes meet as (asked of the library). gen_numerics FILE: the page with its tables made anew, between the lines
 * "<!-- table: NAME -->" and "<!-- end -->". tools/check_generated compares.
 */
#include "ir/ir.h"
#include "weft/weft.h"
#include <stdio.h>

enum { FIRST = WF_BOOL, LAST = WF_C128 };

static const char *classes(unsigned op)
{
    switch (wf__op_table[op].types) {
    case WF__T_NUM:
        return "integers, floats";
    case WF__T_INT:
        return "integers";
    case WF__T_FLT:
        return "floats";
    case WF__T_BITS:
        return "bool, integers";
    case WF__T_CPLX:
        return "f16, f32, f64";
    default:
        return "bool, integers, floats";
    }
}

static void cell(const char *text) /* | ends a cell, in code too */
{
    for (; *text; ++text) {
        if (*text == '|')
            putchar('\\');
        putchar(*text);
    }
}

static void operations(void)
{
    puts("| operation | dtypes | meaning |\n|---|---|---|");
    for (unsigned op = WF__BITCAST + 1; op < WF__OP_COUNT; ++op) {
        const wf__op_info *info = &wf__op_table[op];
        static const char *const operands[] = { "", "(a)", "(a, b)", "(a, b, c)" };
        printf("| `%s%s` | %s%s | ", info->name, operands[info->arity], classes(op),
               info->flags & WF__CPLX ? ", complex" : "");
        cell(info->doc);
        puts(" |");
    }
}

static void promotion(void)
{
    wf_config config = { .size = sizeof config, .threads = 1, .flags_on = WF_FLAG_NO_DISK_CACHE };
    wf_context *ctx = wf_context_new(&config);
    printf("| |");
    for (int t = FIRST; t <= LAST; ++t)
        printf(" %s |", wf_dtype_name((wf_dtype)t));
    printf("\n|---|");
    for (int t = FIRST; t <= LAST; ++t)
        printf("---|");
    puts("");
    for (int a = FIRST; a <= LAST; ++a) {
        printf("| **%s** |", wf_dtype_name((wf_dtype)a));
        for (int b = FIRST; b <= LAST; ++b) {
            wf_graph *g = wf_begin_with(ctx, NULL);
            wf_val v = wf_eq(wf_const(g, (wf_dtype)a, 1), wf_const(g, (wf_dtype)b, 1));
            bool meet = wf_val_dtype(v) == WF_BOOL;
            v = wf_select(wf_const(g, WF_BOOL, 1), wf_const(g, (wf_dtype)a, 1), wf_const(g, (wf_dtype)b, 1));
            printf(" %s |", meet ? wf_dtype_name(wf_val_dtype(v)) : "-");
            wf_drop(g);
        }
        puts("");
    }
    wf_context_free(ctx);
}

int main(int argc, char **argv)
{
    char line[1024];
    bool inside = false;
    FILE *page = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!page)
        return 1;
    while (fgets(line, sizeof line, page)) {
        if (!strncmp(line, "<!-- end", 8))
            inside = false;
        if (!inside)
            fputs(line, stdout);
        if (strncmp(line, "<!-- table: ", 12))
            continue;
        inside = true;
        if (!strncmp(line + 12, "operations", 10))
            operations();
        else
            promotion();
    }
    fclose(page);
    return 0;
}
