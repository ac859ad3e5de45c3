#include "weft/weft.h"
wf_val f(wf_val x);
wf_val f(wf_val x) /* C's operator on a traced value */ { return x + 1; }
