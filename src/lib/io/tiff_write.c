/* tiff_write.c - saves arrays as TIFF files of one page or several, in strips. The file is a BigTIFF where offsets may
 * need more than 32 bits.
 */
#include "tiff.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct pages {
    int64_t count;
    uint32_t height, width;
    uint16_t samples;
    const wfl_io_type *type;
} pages;

static wf_status shape_to_pages(const wfl_io_source *source, const wf_meta *meta, pages *p)
{
    const wf_shape *s = &source->shape;
    int64_t last = s->rank ? s->dim[s->rank - 1] : 0;
    bool channels = s->rank >= 3 && last >= 2 && last <= 4 && (s->rank == 4 || !meta->is_stack);
    if (s->rank < 2 || s->rank > 4 || (s->rank == 4 && !channels))
        return wfl_io_fail(source->ctx, source->path, WF_ERR_SHAPE,
                           "TIFF holds pages, [h,w], [n,h,w] or [n,h,w,c] with c from 2 to 4; this array has rank %d%s",
                           s->rank, s->rank == 4 ? " and another last extent" : "");
    int h = s->rank - 2 - channels;
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d] < 1 || s->dim[d] > INT32_MAX)
            return wfl_io_fail(source->ctx, source->path, WF_ERR_SHAPE, "extent %lld of axis %d (TIFF holds 1..2^31-1)",
                               (long long)s->dim[d], d);
    p->count = h > 0 ? s->dim[0] : 1;
    p->height = (uint32_t)s->dim[h];
    p->width = (uint32_t)s->dim[h + 1];
    p->samples = (uint16_t)(channels ? last : 1);
    if ((int64_t)p->width > IO_MAX_ROW / (p->samples * (int64_t)p->type->bytes))
        return wfl_io_fail(source->ctx, source->path, WF_ERR_UNSUPPORTED, "rows of %u pixels are too long for TIFF",
                           p->width);
    return WF_OK;
}

static void set_page_fields(TIFF *tif, const pages *p, const wf_meta *meta, int64_t number, uint32_t strip_rows)
{
    wf_kind kind = wf_dtype_kind(p->type->dtype);
    wfl_tiff.SetField(tif, TIFFTAG_IMAGEWIDTH, p->width);
    wfl_tiff.SetField(tif, TIFFTAG_IMAGELENGTH, p->height);
    wfl_tiff.SetField(tif, TIFFTAG_BITSPERSAMPLE, (int)(8 * p->type->bytes));
    wfl_tiff.SetField(tif, TIFFTAG_SAMPLESPERPIXEL, (int)p->samples);
    wfl_tiff.SetField(tif, TIFFTAG_SAMPLEFORMAT,
                      kind == WF_KIND_FLOAT    ? SAMPLEFORMAT_IEEEFP
                      : kind == WF_KIND_SIGNED ? SAMPLEFORMAT_INT
                                               : SAMPLEFORMAT_UINT);
    wfl_tiff.SetField(tif, TIFFTAG_PHOTOMETRIC, p->samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    wfl_tiff.SetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    wfl_tiff.SetField(tif, TIFFTAG_ROWSPERSTRIP, strip_rows);
    if (p->samples == 2 || p->samples == 4) {
        uint16_t extra = EXTRASAMPLE_UNASSALPHA;
        wfl_tiff.SetField(tif, TIFFTAG_EXTRASAMPLES, 1, &extra);
    }
    wfl_tiff.SetField(tif, TIFFTAG_COMPRESSION,
                      meta->deflate ? COMPRESSION_ADOBE_DEFLATE
                      : meta->lzw   ? COMPRESSION_LZW
                                    : COMPRESSION_NONE);
    /* Differences of neighbours compress better. Few other programs could undo them for floats. */
    if ((meta->deflate || meta->lzw) && kind != WF_KIND_FLOAT)
        wfl_tiff.SetField(tif, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
    if (p->count > 1) {
        wfl_tiff.SetField(tif, TIFFTAG_SUBFILETYPE, FILETYPE_PAGE);
        if (p->count <= UINT16_MAX)
            wfl_tiff.SetField(tif, TIFFTAG_PAGENUMBER, (int)number, (int)p->count);
    }
    if (meta->spacing[1] > 0 && meta->spacing[2] > 0) {
        wfl_tiff.SetField(tif, TIFFTAG_RESOLUTIONUNIT, RESUNIT_CENTIMETER);
        wfl_tiff.SetField(tif, TIFFTAG_XRESOLUTION, 1e8 / meta->spacing[2]);
        wfl_tiff.SetField(tif, TIFFTAG_YRESOLUTION, 1e8 / meta->spacing[1]);
    }
    char software[64];
    snprintf(software, sizeof software, "Weft %s", wf_version());
    wfl_tiff.SetField(tif, TIFFTAG_SOFTWARE, software);
}

static wf_status write_pages(wfl_tiff_job *j, const wfl_io_source *source, const pages *p, const wf_meta *meta,
                             void *buffer, uint32_t strip_rows)
{
    int64_t row = (int64_t)p->width * p->samples;
    for (int64_t n = 0; n < p->count; n++) {
        set_page_fields(j->tif, p, meta, n, strip_rows);
        for (uint32_t y = 0, strip = 0; y < p->height; y += strip_rows, strip++) {
            uint32_t rows = p->height - y < strip_rows ? p->height - y : strip_rows;
            wfl_io_gather(source, (n * p->height + y) * row, rows * row, p->type, buffer);
            if (wfl_tiff.WriteEncodedStrip(j->tif, strip, buffer, (tmsize_t)(rows * row * (int64_t)p->type->bytes)) < 0)
                return WF_ERR_IO;
        }
        if (!wfl_tiff.WriteDirectory(j->tif))
            return WF_ERR_IO;
    }
    return WF_OK;
}

/* True if an offset may need more than 32 bits. Data that does not compress grows by up to a half with LZW. */
static bool needs_bigtiff(const pages *p, const wf_meta *meta, int64_t strip_rows)
{
    double page_bytes = (double)p->height * p->width * p->samples * (double)p->type->bytes;
    double directory = 1024 + 16.0 * ((double)p->height / (double)strip_rows + 1);
    return (double)p->count * (page_bytes * (meta->lzw || meta->deflate ? 1.5 : 1.0) + directory) > 4.0e9;
}

wf_status wfl_tiff_save(const wfl_io_source *source, const wf_meta *meta)
{
    pages p = { 0 };
    int rank;
    uint32_t held = IO_BIT(I8) | IO_BIT(U8) | IO_BIT(I16) | IO_BIT(U16) | IO_BIT(I32) | IO_BIT(U32) | IO_BIT(I64) |
                    IO_BIT(U64) | IO_BIT(F16) | IO_BIT(F32) | IO_BIT(F64);
    wf_status status =
        wfl_io_choose_type(source, meta, "TIFF", held, held, source->dtype == WF_BF16 ? WF_STORED_F32 : WF_STORED_U8,
                           " (it stores i8 to u64, f16, f32, f64)", &p.type, &rank);
    if (status == WF_OK)
        status = shape_to_pages(source, meta, &p);
    if (status != WF_OK)
        return status;

    int64_t row_bytes = (int64_t)p.width * p.samples * (int64_t)p.type->bytes;
    int64_t strip_rows = (int64_t)(IO_CHUNK / 4) / row_bytes;
    strip_rows = strip_rows < 1 ? 1 : strip_rows > p.height ? p.height : strip_rows;
    void *buffer = malloc((size_t)(strip_rows * row_bytes));
    if (!buffer)
        return wfl_io_fail_memory(source->ctx, source->path, strip_rows * row_bytes);
    wfl_io_writer writer;
    status = wfl_io_create(source->ctx, source->path, meta, &writer);
    if (status == WF_OK) {
        wfl_tiff_job j = { .writer = &writer, .ctx = source->ctx, .path = source->path };
        status = wfl_tiff_open(&j, needs_bigtiff(&p, meta, strip_rows) ? "w8" : "w", 0);
        if (status == WF_OK)
            status = write_pages(&j, source, &p, meta, buffer, (uint32_t)strip_rows);
        if (status != WF_OK)
            wfl_tiff_fail(&j, "cannot write");
        wfl_tiff_close(&j);
        status = wfl_io_finish(&writer, status);
    }
    free(buffer);
    return status;
}
