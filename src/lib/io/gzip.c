/* gzip.c - files that are compressed by gzip as a whole: reads the unpacked bytes of one, and compresses one.
 *
 * Reading unpacks as far as a caller asks, into the caller's memory, and needs no other file. Reading on from where the
 * last read ended is what this is made for; bytes that are left out are unpacked and dropped, and going back begins
 * anew. zlib compares the checksum and the length at the end of each member; a file may have several members, which
 * follow each other, and zeros at its end.
 *
 * The bytes that a header claims are compared with the best ratio of the compression before memory is allocated for
 * them (wfl_gzip_open). What follows these bytes is read to check the checksum, as far as it is short (wfl_gzip_end).
 * So a small file takes neither much memory nor much time. Reference: RFC 1952.
 */
#include "foreign.h"
#include "zlib_api.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* RATIO: the largest of the compression. PIECE: bytes that are read, dropped or written at once. MOST_BEHIND: bytes that
 * may follow those that a caller has read. */
enum {
    RATIO = 1032,
    PIECE = 1 << 16,
    MOST_BEHIND = 1 << 20,
    WITH_GZIP_HEADER = 15 + 16,
    ANY_HEADER = 15 + 32,
    MEMORY = 8
};

static struct wfl_zlib_functions zlib;
static const wfl_foreign_function functions[] = {
#define WFL_FUNCTION(result, name, parameters) { #name, &zlib.name },
#define WFL_CONSTANT(name, value)
#define WFL_MEMBER(type, name)
#include "zlib_api.def"
#undef WFL_FUNCTION
#undef WFL_CONSTANT
#undef WFL_MEMBER
};
static wfl_foreign library = { .soname = { "libz.so.1" },
                               .format = "gzip",
                               .function = functions,
                               .functions = sizeof functions / sizeof *functions };

wf_status wfl_gzip_library(wf_context *ctx, const char *path) { return wfl_foreign_open(&library, ctx, path); }

/* ---- reading ---- */

struct wfl_gzip {
    wf_context *ctx;
    const char *path;
    int fd;
    int64_t next; /* the place in the file of the next bytes to read */
    int64_t out;  /* the number of bytes unpacked */
    z_stream stream;
    bool is_end;      /* all members are unpacked */
    wf_status status; /* of the first failure, which stays */
    int code;         /* its errno; 0: `what` says it */
    const char *what;
    uint8_t in[PIECE], dropped[PIECE];
};

wf_status wfl_gzip_open(wf_context *ctx, const char *path, int fd, wfl_packing packing, int64_t *size, wfl_gzip **gzip)
{
    uint8_t mark[3];
    *gzip = NULL;
    int64_t got = wfl_io_pread(fd, 0, mark, sizeof mark);
    if (got < 0)
        return wfl_io_fail_errno(ctx, path, "read", errno);
    bool marked = got == (int64_t)sizeof mark && memcmp(mark, "\x1f\x8b\x08", sizeof mark) == 0;
    if (packing == WFL_PACKED_NOT || (packing == WFL_PACKED_BY_CONTENT && !marked))
        return WF_OK;
    wf_status status = wfl_gzip_library(ctx, path);
    if (status != WF_OK)
        return status;
    wfl_gzip *g = calloc(1, sizeof *g);
    if (!g || zlib.inflateInit2_(&g->stream, marked ? WITH_GZIP_HEADER : ANY_HEADER, ZLIB_VERSION, sizeof g->stream) !=
                  Z_OK) {
        free(g);
        return wfl_io_fail_memory(ctx, path, (int64_t)sizeof *g);
    }
    g->ctx = ctx;
    g->path = path;
    g->fd = fd;
    if (!wfl_io_mul(*size, RATIO, size))
        *size = INT64_MAX;
    *gzip = g;
    return WF_OK;
}

void wfl_gzip_close(wfl_gzip *gzip)
{
    if (gzip)
        zlib.inflateEnd(&gzip->stream);
    free(gzip);
}

wf_status wfl_gzip_fail(const wfl_gzip *g)
{
    if (g->code)
        return wfl_io_fail_errno(g->ctx, g->path, "read", g->code);
    return wfl_io_fail(g->ctx, g->path, g->status, "gzip: %s, at byte %lld of the file", g->what,
                       (long long)(g->next - g->stream.avail_in));
}

/* Keeps a failure; `code`: an errno, or 0. Returns false. */
static bool note(wfl_gzip *g, wf_status status, int code, const char *what)
{
    g->status = status;
    g->code = code;
    g->what = what;
    return false;
}

/* Reads compressed bytes if none are left. After the end of the file there are none either. */
static bool fill(wfl_gzip *g)
{
    if (g->stream.avail_in)
        return true;
    int64_t got = wfl_io_pread(g->fd, g->next, g->in, sizeof g->in);
    if (got < 0)
        return note(g, WF_ERR_IO, errno, NULL);
    g->stream.next_in = g->in;
    g->stream.avail_in = (unsigned)got;
    g->next += got;
    return true;
}

/* Goes on behind a member: another one, zeros up to the end of the file, or the end. */
static bool end_member(wfl_gzip *g)
{
    bool zeros = false;
    for (;;) {
        if (!fill(g))
            return false;
        if (!g->stream.avail_in) {
            g->is_end = true;
            return true;
        }
        if (*g->stream.next_in)
            break;
        zeros = true;
        g->stream.next_in++;
        g->stream.avail_in--;
    }
    if (zeros || *g->stream.next_in != 0x1f)
        return note(g, WF_ERR_IO, 0, "other bytes follow the compressed data");
    zlib.inflateReset(&g->stream);
    return true;
}

/* Unpacks up to `bytes` bytes; fewer at the end of the data, and 0 sets is_end. -1: a failure. */
static int64_t unpack(wfl_gzip *g, void *to, size_t bytes)
{
    g->stream.next_out = to;
    g->stream.avail_out = (unsigned)bytes;
    while (g->stream.avail_out && !g->is_end) {
        if (!fill(g))
            return -1;
        bool more = g->stream.avail_in > 0;
        int code = zlib.inflate(&g->stream, Z_NO_FLUSH);
        if (code == Z_STREAM_END ? !end_member(g) : false)
            return -1;
        if (code == Z_STREAM_END)
            continue;
        if (code == Z_MEM_ERROR)
            note(g, WF_ERR_MEMORY, ENOMEM, NULL);
        else if (code == Z_BUF_ERROR && !more)
            note(g, WF_ERR_IO, 0, "the file ends inside of the compressed data");
        else if (code != Z_OK && code != Z_BUF_ERROR)
            note(g, WF_ERR_IO, 0, g->stream.msg ? g->stream.msg : "damaged data");
        if (g->status != WF_OK)
            return -1;
    }
    int64_t got = (int64_t)bytes - g->stream.avail_out;
    g->out += got;
    return got;
}

int64_t wfl_gzip_read(wfl_gzip *g, int64_t offset, void *to, size_t bytes)
{
    if (g->status == WF_OK && offset < g->out) {
        zlib.inflateReset(&g->stream);
        g->stream.avail_in = 0;
        g->next = g->out = 0;
        g->is_end = false;
    }
    while (g->status == WF_OK && g->out < offset && !g->is_end) {
        int64_t skip = offset - g->out;
        unpack(g, g->dropped, skip < PIECE ? (size_t)skip : PIECE);
    }
    size_t done = 0;
    while (g->status == WF_OK && done < bytes && !g->is_end) {
        const size_t most = (size_t)1 << 30;
        int64_t got = unpack(g, (char *)to + done, bytes - done < most ? bytes - done : most);
        done += got > 0 ? (size_t)got : 0;
    }
    return g->status == WF_OK ? (int64_t)done : -1;
}

wf_status wfl_gzip_end(wfl_gzip *g)
{
    int64_t behind = 0;
    while (g->status == WF_OK && !g->is_end) {
        int64_t got = unpack(g, g->dropped, PIECE);
        behind += got;
        if (got > 0 && behind > MOST_BEHIND)
            note(g, WF_ERR_IO, 0, "the data goes on for more than 1 MiB behind what the header describes");
    }
    return g->status == WF_OK ? WF_OK : wfl_gzip_fail(g);
}

/* ---- writing ---- */

int wfl_gzip_pack(int from, int64_t size, int to)
{
    z_stream s = { 0 };
    uint8_t *buffer = malloc(2 * (size_t)PIECE), *packed = buffer ? buffer + PIECE : NULL;
    if (!buffer || zlib.deflateInit2_(&s, WFL_GZIP_LEVEL, Z_DEFLATED, WITH_GZIP_HEADER, MEMORY, Z_DEFAULT_STRATEGY,
                                      ZLIB_VERSION, sizeof s) != Z_OK) {
        free(buffer);
        return ENOMEM;
    }
    int64_t read = 0, written = 0;
    int code = 0, state = Z_OK;
    while (!code && state != Z_STREAM_END) {
        if (!s.avail_in) {
            size_t part = size - read < PIECE ? (size_t)(size - read) : PIECE;
            int64_t got = wfl_io_pread(from, read, buffer, part);
            if (got < (int64_t)part) {
                code = got < 0 ? errno : EIO;
                break;
            }
            read += got;
            s.next_in = buffer;
            s.avail_in = (unsigned)got;
        }
        s.next_out = packed;
        s.avail_out = PIECE;
        state = zlib.deflate(&s, read == size ? Z_FINISH : Z_NO_FLUSH);
        size_t n;
        code = wfl_io_pwrite(to, written, packed, PIECE - s.avail_out, &n);
        written += (int64_t)n;
    }
    zlib.deflateEnd(&s);
    free(buffer);
    return code;
}
