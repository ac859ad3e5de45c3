#include "weft/weft.h"
int f(wf_val x);
int f(wf_val x) /* a traced condition in C's if */
{
    if (wf_lt(x, 0))
        return 1;
    return 0;
}
