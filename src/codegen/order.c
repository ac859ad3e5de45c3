/* order.c - the order in which FAST's innermost loop is emitted. */
#include "codegen/body.h"

void wf__order(wf__inst *in, int registers)
{
    WF__UNUSED(in);
    WF__UNUSED(registers);
}
