#include "weft/weft.h"
wf_val f(wf_val x, wf_array *a);
wf_val f(wf_val x, wf_array *a) /* an array where a value belongs */ { return wf_add(x, a); }
