#include "weft/weft.h"
void f(wf_graph *g, wf_val c);
void f(wf_graph *g, wf_val c) /* C's break in a traced loop */
{
    WF_WHILE (g, c) {
        break;
    }
    WF_END(g);
}
