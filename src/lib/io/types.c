/* types.c - the types that files store values as, and which of them an array is saved as. */
#include "io_internal.h"

#define X(stored_, name_, bytes_, parts_, dtype_) { WF_STORED_##stored_, name_, bytes_, parts_, dtype_ },
static const wfl_io_type types[] = { IO_TYPES(X) };
#undef X

const wfl_io_type *wfl_io_type_of(wf_stored stored)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].stored == stored)
            return &types[i];
    return NULL;
}

wf_dtype wfl_io_loaded_as(const wfl_io_type *type)
{
    return type->stored == WF_STORED_C64 ? WF_C64 : type->stored == WF_STORED_C128 ? WF_C128 : type->dtype;
}

const wfl_io_type *wfl_io_type_native(wf_dtype dtype)
{
    if (wf_dtype_kind(dtype) == WF_KIND_COMPLEX)
        return wfl_io_type_of(dtype == WF_C128 ? WF_STORED_C128 : WF_STORED_C64);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype && types[i].bytes == wf_dtype_size(dtype))
            return &types[i];
    return NULL;
}

wf_status wfl_io_choose_type(const wfl_io_source *source, const wf_meta *meta, const char *format, uint32_t allowed,
                             uint32_t defaults, wf_stored fallback, const char *advice, const wfl_io_type **type,
                             int *rank)
{
    const wfl_io_type *chosen;
    bool is_complex = wf_dtype_kind(source->array_dtype) == WF_KIND_COMPLEX;
    if (meta->store_as != WF_STORED_DEFAULT) {
        chosen = wfl_io_type_of(meta->store_as);
        if (!chosen)
            return wfl_io_fail(source->ctx, source->path, WF_ERR_ARG, "meta.store_as is %d, which is no stored type",
                               (int)meta->store_as);
        if (!(allowed & 1u << chosen->stored))
            return wfl_io_fail(source->ctx, source->path, WF_ERR_UNSUPPORTED, "%s cannot store %s%s", format,
                               chosen->name, advice);
    } else {
        chosen = wfl_io_type_native(source->array_dtype);
        if (!chosen || !(defaults & 1u << chosen->stored))
            chosen = wfl_io_type_of(!is_complex ? fallback : allowed & IO_BIT(C64) ? WF_STORED_C64 : WF_STORED_DEFAULT);
        if (!chosen)
            return wfl_io_fail(source->ctx, source->path, WF_ERR_DTYPE, "%s cannot store %s%s", format,
                               wf_dtype_name(source->array_dtype), advice);
    }
    if (is_complex && chosen->parts == 1)
        return wfl_io_fail(source->ctx, source->path, WF_ERR_DTYPE,
                           "%s values cannot be stored as %s: save their abs, real or imag",
                           wf_dtype_name(source->array_dtype), chosen->name);
    int axes = source->shape.rank;
    if (chosen->parts == 2 && (axes < 1 || source->shape.dim[axes - 1] != 2))
        return wfl_io_fail(source->ctx, source->path, WF_ERR_SHAPE,
                           "to store %s the array needs a last axis of extent 2 (real, imaginary)", chosen->name);
    *type = chosen;
    *rank = chosen->parts == 2 ? axes - 1 : axes;
    return WF_OK;
}
