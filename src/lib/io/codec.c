/* codec.c - chunks of arrays that zstd or blosc has packed: each is unpacked as a whole, into memory of the length that
 * it must have.
 *
 * The functions are declared here, as their interfaces are stable, so that Weft is built without the libraries' headers.
 * Blosc contains codecs of its own (BloscLZ, LZ4, Zstandard, ...), and checks what it unpacks since 1.16.
 * References: RFC 8878; the documentation of c-blosc.
 */
#include "foreign.h"
#include <errno.h>
#include <stdlib.h>

/* RATIO: more than either packs, which is 2^15 for runs of one byte in zstd. NO_MEMORY: zstd's number of that error. */
enum { RATIO = 1 << 16, NO_MEMORY = 64 };

static struct {
    size_t (*decompress)(void *to, size_t cap, const void *from, size_t bytes);
    size_t (*compress)(void *to, size_t cap, const void *from, size_t bytes, int level);
    size_t (*bound)(size_t bytes);
    unsigned (*is_error)(size_t code);
    int (*error_code)(size_t code);
    const char *(*error_name)(size_t code);
} zstd;
static const wfl_foreign_function zstd_functions[] = {
    { "ZSTD_decompress", &zstd.decompress },   { "ZSTD_compress", &zstd.compress },
    { "ZSTD_compressBound", &zstd.bound },     { "ZSTD_isError", &zstd.is_error },
    { "ZSTD_getErrorCode", &zstd.error_code }, { "ZSTD_getErrorName", &zstd.error_name }
};
static wfl_foreign zstd_library = { .soname = { "libzstd.so.1" },
                                    .format = "zstd",
                                    .function = zstd_functions,
                                    .functions = sizeof zstd_functions / sizeof *zstd_functions };

static struct {
    int (*validate)(const void *from, size_t bytes, size_t *unpacked);
    int (*decompress)(const void *from, void *to, size_t cap, int threads);
} blosc;
static const wfl_foreign_function blosc_functions[] = { { "blosc_cbuffer_validate", &blosc.validate },
                                                        { "blosc_decompress_ctx", &blosc.decompress } };
static wfl_foreign blosc_library = { .soname = { "libblosc.so.1" },
                                     .format = "blosc",
                                     .function = blosc_functions,
                                     .functions = sizeof blosc_functions / sizeof *blosc_functions };

wf_status wfl_codec_library(wf_context *ctx, const char *path, wfl_packing packing)
{
    return wfl_foreign_open(packing == WFL_PACKED_ZSTD ? &zstd_library : &blosc_library, ctx, path);
}

int64_t wfl_codec_most(int64_t bytes)
{
    int64_t most;
    return wfl_io_mul(bytes, RATIO, &most) ? most : INT64_MAX;
}

static wf_status wrong_length(wf_context *ctx, const char *path, size_t got, int64_t size)
{
    return wfl_io_fail(ctx, path, WF_ERR_IO, "the unpacked file has %zu bytes (must be %lld)", got, (long long)size);
}

wf_status wfl_codec_unpack(wf_context *ctx, const char *path, wfl_packing packing, const void *from, size_t bytes,
                           void *to, int64_t size)
{
    size_t got = 0;
    if (packing == WFL_PACKED_ZSTD) {
        got = zstd.decompress(to, (size_t)size, from, bytes);
        if (zstd.is_error(got) && zstd.error_code(got) == NO_MEMORY)
            return wfl_io_fail_memory(ctx, path, size);
        if (zstd.is_error(got))
            return wfl_io_fail(ctx, path, WF_ERR_IO, "zstd: %s", zstd.error_name(got));
        return got == (size_t)size ? WF_OK : wrong_length(ctx, path, got, size);
    }
    if (blosc.validate(from, bytes, &got) != 0)
        return wfl_io_fail(ctx, path, WF_ERR_IO, "blosc: the header is damaged, or is of another length");
    if (got != (size_t)size)
        return wrong_length(ctx, path, got, size);
    int code = blosc.decompress(from, to, (size_t)size, 1);
    return code == (int)size ? WF_OK : wfl_io_fail(ctx, path, WF_ERR_IO, "blosc: damaged data (%d)", code);
}

int wfl_codec_pack(int from, int64_t size, int to)
{
    size_t cap = zstd.bound((size_t)size), written;
    uint8_t *bytes = malloc((size_t)size + cap);
    if (!bytes)
        return ENOMEM;
    int64_t got = wfl_io_pread(from, 0, bytes, (size_t)size);
    int code = got < 0 ? errno : got < size ? EIO : 0;
    size_t packed = code ? 0 : zstd.compress(bytes + size, cap, bytes, (size_t)size, WFL_ZSTD_LEVEL);
    if (!code && zstd.is_error(packed))
        code = ENOMEM; /* the only cause, as there is room */
    if (!code)
        code = wfl_io_pwrite(to, 0, bytes + size, packed, &written);
    free(bytes);
    return code;
}
