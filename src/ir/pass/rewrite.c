/* rewrite.c - the driver of passes that record an IR once more.
 *
 * A pass is a visitor: the driver calls it for the nodes of `in` in program order, and it records each one in `out` in
 * its new form. The builder folds and numbers what it records, so a pass uncovers more than it does itself.
 */
#include "ir/pass/pass.h"

static wf__ref visit_node(wf__rewriter *w, wf__ref r)
{
    return w->visit ? w->visit(w, r) : wf__copy_node(w->in, r, w->map, w->out);
}

void wf__rewrite_range(wf__rewriter *w, wf__ref first, wf__ref end)
{
    for (wf__ref r = first; r < end && w->out->status == WF_OK; r = w->next) {
        w->next = r + 1;
        if (!w->live || w->live[r]) {
            wf__ref image = visit_node(w, r);
            w->map[r] = image;
        }
    }
}

bool wf__rewrite_nodes(wf__rewriter *w)
{
    wf__ref *own = w->map ? NULL : wf__alloc0(w->in->n * sizeof *own);
    if (!w->map)
        w->map = own;
    if (w->map)
        wf__rewrite_range(w, 1, w->in->n);
    else
        wf__ir_fail(w->out, WF_ERR_MEMORY, "out of memory while rewriting a recording");
    if (own)
        w->map = NULL;
    wf__free(own);
    return w->out->status == WF_OK;
}

bool wf__rewrite(wf__rewriter *w) { return wf__copy_tables(w->in, w->out) && wf__rewrite_nodes(w); }
