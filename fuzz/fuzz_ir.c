/* fuzz_ir.c - takes any bytes as the text form of a recording. It must never crash. An accepted text verifies, can be
 * printed and read back unchanged, and passes lowering.
 */
#include <stdlib.h>
#include "ir/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* True if lowering applies: an index space in which each load and store has an index. */
static bool can_lower(const wf__ir *ir)
{
    if (ir->arrays)
        return false;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = wf__at(ir, r);
        if (n->op == WF__COLD || n->op == WF__ARG || n->op == WF__IOTA)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 20000)
        return 0;
    char *text = malloc(size + 1);
    must(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    wf__ir ir, again, lowered;
    wf__str error = { 0 }, first = { 0 }, second = { 0 };
    if (wf__parse(text, &ir, &error)) {
        wf__print(&ir, &first);
        must(wf__verify(&ir, &error) && wf__parse(wf__str_get(&first), &again, &error));
        wf__print(&again, &second);
        must(!strcmp(wf__str_get(&first), wf__str_get(&second)));
        if (can_lower(&ir)) {
            must(wf__pass_lower(&ir, &lowered));
            must(wf__verify(&lowered, &error));
            wf__ir_free(&lowered);
        }
        wf__ir_free(&again);
    } else
        must(error.len > 0);
    wf__ir_free(&ir);
    wf__str_free(&error);
    wf__str_free(&first);
    wf__str_free(&second);
    free(text);
    return 0;
}
