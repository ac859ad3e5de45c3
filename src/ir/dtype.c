/* dtype.c - names and sizes of dtypes. */
#include "ir/ir.h"

const char *wf_dtype_name(wf_dtype dtype)
{
    static const char *const names[] = { "none", "bool", "i8",   "u8",  "i16", "u16", "i32", "u32", "i64",
                                         "u64",  "f16",  "bf16", "f32", "f64", "c32", "c64", "c128" };
    return (unsigned)dtype < WF__COUNT(names) ? names[dtype] : "unknown";
}

size_t wf_dtype_size(wf_dtype dtype)
{
    static const uint8_t sizes[] = { 0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 4, 8, 16 };
    return (unsigned)dtype < WF__COUNT(sizes) ? sizes[dtype] : 0;
}

wf_kind wf_dtype_kind(wf_dtype t)
{
    return t == WF_BOOL                        ? WF_KIND_BOOL
           : wf__is_int(t) && wf__is_signed(t) ? WF_KIND_SIGNED
           : wf__is_int(t)                     ? WF_KIND_UNSIGNED
           : wf__is_float(t)                   ? WF_KIND_FLOAT
           : wf__is_complex(t)                 ? WF_KIND_COMPLEX
                                               : WF_KIND_NONE;
}

wf_dtype wf_dtype_part(wf_dtype t) { return wf__is_complex(t) ? (wf_dtype)wf__part_dtype(t) : t; }

bool wf__computable(wf_dtype t) { return t >= WF_BOOL && t <= WF_C128; }
