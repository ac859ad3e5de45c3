#include "weft/weft.h"
void f(wf_graph *g, wf_val c);
void f(wf_graph *g, wf_val c) /* C's else after a traced condition */
{
    WF_IF (g, c) {
        wf_break(g);
    } else {
        wf_break(g);
    }
    WF_END(g);
}
