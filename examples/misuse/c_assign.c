#include "weft/weft.h"
void f(wf_var a, wf_val x);
void f(wf_var a, wf_val x) /* C's assignment to a variable */ { a = x; }
