/* tiff_write.c - saves arrays as TIFF files of one page or several, in strips. The file is a BigTIFF where offsets may
 * need more than 32 bits. A file whose name says OME-TIFF describes its pages in OME-XML.
 */
#include "tiff.h"
#include "ome_xml.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pages {
    int64_t count, depth; /* depth: of them are the sections of a volume; 1: they are images */
    uint32_t height, width;
    uint16_t samples;
    const wfl_io_type *type;
} pages;

static wf_status shape_to_pages(const wfl_io_source *source, const wf_meta *meta, pages *p)
{
    const wf_shape *s = &source->shape;
    int64_t last = s->rank ? s->dim[s->rank - 1] : 0;
    bool channels = s->rank >= 3 && last >= 2 && last <= 4 && (s->rank == 4 || !meta->is_stack);
    bool ome = wfl_is_ome_tiff(source->path), volumes = ome && s->rank == 4 && !channels;
    if (s->rank < 2 || s->rank > 4 || (s->rank == 4 && !channels && !ome))
        return wfl_io_fail(
            source->ctx, source->path, WF_ERR_SHAPE,
            "TIFF holds pages, [h,w], [n,h,w] or [n,h,w,c] with c from 2 to 4%s; this array has rank %d%s",
            ome ? ", OME-TIFF also [n,d,h,w]" : "", s->rank, s->rank == 4 ? " and another last extent" : "");
    int h = s->rank - 2 - channels;
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d] < 1 || s->dim[d] > INT32_MAX)
            return wfl_io_fail(source->ctx, source->path, WF_ERR_SHAPE, "extent %lld of axis %d (TIFF holds 1..2^31-1)",
                               (long long)s->dim[d], d);
    p->count = h > 0 ? s->dim[0] * (volumes ? s->dim[1] : 1) : 1;
    p->depth = volumes ? s->dim[1] : meta->is_stack ? 1 : p->count;
    p->height = (uint32_t)s->dim[h];
    p->width = (uint32_t)s->dim[h + 1];
    p->samples = (uint16_t)(channels ? last : 1);
    if ((int64_t)p->width > IO_MAX_ROW / (p->samples * (int64_t)p->type->bytes))
        return wfl_io_fail(source->ctx, source->path, WF_ERR_UNSUPPORTED, "rows of %u pixels are too long for TIFF",
                           p->width);
    return WF_OK;
}

/* `description`: of all pages; NULL: none */
static void set_page_fields(TIFF *tif, const pages *p, const wf_meta *meta, int64_t number, uint32_t strip_rows,
                            const char *description)
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
    if (description && number == 0)
        wfl_tiff.SetField(tif, TIFFTAG_IMAGEDESCRIPTION, description);
    char software[64];
    snprintf(software, sizeof software, "Weft %s", wf_version());
    wfl_tiff.SetField(tif, TIFFTAG_SOFTWARE, software);
}

/* True if an offset may need more than 32 bits. Data that does not compress grows by up to a half with LZW. */
static bool needs_bigtiff(const pages *p, const wf_meta *meta, int64_t strip_rows)
{
    double page_bytes = (double)p->height * p->width * p->samples * (double)p->type->bytes;
    double directory = 1024 + 16.0 * ((double)p->height / (double)strip_rows + 1);
    return (double)p->count * (page_bytes * (meta->lzw || meta->deflate ? 1.5 : 1.0) + directory) > 4.0e9;
}

typedef struct tiff_output {
    wfl_tiff_job job;
    pages p;
    int64_t next; /* the page that is written next */
    uint32_t strip_rows;
    void *strip;
    char description[OME_XML]; /* "": none */
} tiff_output;

wf_status wfl_tiff_create(wfl_io_output *out)
{
    const wfl_io_source *what = &out->what;
    tiff_output *t = out->state = calloc(1, sizeof *t);
    if (!t)
        return wfl_io_fail_memory(what->ctx, what->path, (int64_t)sizeof *t);
    pages *p = &t->p;
    int rank;
    bool ome = wfl_is_ome_tiff(what->path);
    uint32_t held = IO_BIT(I8) | IO_BIT(U8) | IO_BIT(I16) | IO_BIT(U16) | IO_BIT(I32) | IO_BIT(U32) | IO_BIT(I64) |
                    IO_BIT(U64) | IO_BIT(F16) | IO_BIT(F32) | IO_BIT(F64);
    wf_stored otherwise = what->dtype == WF_BF16 || what->dtype == WF_F16 ? WF_STORED_F32
                          : what->dtype == WF_BOOL                        ? WF_STORED_U8
                                                                          : WF_STORED_DEFAULT;
    wf_status status = ome ? wfl_io_choose_type(what, &out->meta, "OME-TIFF", OME_XML_TYPES, OME_XML_TYPES, otherwise,
                                                " (it stores i8 to u32, f32, f64)", &p->type, &rank)
                           : wfl_io_choose_type(what, &out->meta, "TIFF", held, held, otherwise,
                                                " (it stores i8 to u64, f16, f32, f64)", &p->type, &rank);
    if (status == WF_OK)
        status = shape_to_pages(what, &out->meta, p);
    if (status != WF_OK)
        return status;

    int64_t row_bytes = (int64_t)p->width * p->samples * (int64_t)p->type->bytes;
    int64_t strip_rows = (int64_t)(IO_CHUNK / 4) / row_bytes;
    strip_rows = strip_rows < 1 ? 1 : strip_rows > p->height ? p->height : strip_rows;
    t->strip_rows = (uint32_t)strip_rows;
    t->strip = malloc((size_t)(strip_rows * row_bytes));
    if (!t->strip)
        return wfl_io_fail_memory(what->ctx, what->path, strip_rows * row_bytes);
    status = wfl_io_output_create(out);
    if (status != WF_OK)
        return status;
    if (ome) {
        wfl_ome_pixels described = { .width = p->width,
                                     .height = p->height,
                                     .depth = p->depth,
                                     .count = p->count / p->depth,
                                     .samples = p->samples,
                                     .stored = p->type->stored };
        memcpy(described.spacing, out->meta.spacing, sizeof described.spacing);
        wfl_ome_xml_write(&described, t->description);
    }
    t->job = (wfl_tiff_job){ .writer = &out->writer, .ctx = what->ctx, .path = what->path };
    return wfl_tiff_open(&t->job, needs_bigtiff(p, &out->meta, strip_rows) ? "w8" : "w", 0);
}

static bool write_page(tiff_output *t, const wf_meta *meta, const wfl_io_source *source, int64_t n)
{
    const pages *p = &t->p;
    int64_t row = (int64_t)p->width * p->samples;
    set_page_fields(t->job.tif, p, meta, t->next, t->strip_rows, *t->description ? t->description : NULL);
    for (uint32_t y = 0, strip = 0; y < p->height; y += t->strip_rows, strip++) {
        uint32_t rows = p->height - y < t->strip_rows ? p->height - y : t->strip_rows;
        tmsize_t bytes = (tmsize_t)(rows * row * (int64_t)p->type->bytes);
        wfl_io_gather(source, (n * p->height + y) * row, rows * row, p->type, t->strip);
        if (wfl_tiff.WriteEncodedStrip(t->job.tif, strip, t->strip, bytes) < 0)
            return false;
    }
    t->next++;
    return wfl_tiff.WriteDirectory(t->job.tif) != 0;
}

wf_status wfl_tiff_write(wfl_io_output *out, const wfl_io_source *source, const wf_shape *first)
{
    tiff_output *t = out->state;
    const wf_shape *box = &source->shape, *whole = &out->what.shape;
    bool several = t->p.count > 1;
    int64_t each = several ? t->p.count / whole->dim[0] : 1; /* of an element of the first axis */
    int64_t begin = several ? first->dim[0] * each : t->next, count = several ? box->dim[0] * each : 1;
    for (int d = several; d < whole->rank; d++)
        if (box->dim[d] != whole->dim[d])
            return wfl_io_fail(out->what.ctx, out->what.path, WF_ERR_UNSUPPORTED,
                               "axis %d: %lld of %lld elements: TIFF files are written in whole pages", d,
                               (long long)box->dim[d], (long long)whole->dim[d]);
    if (begin != t->next || begin + count > t->p.count)
        return wfl_io_fail(out->what.ctx, out->what.path, WF_ERR_UNSUPPORTED,
                           "page %lld is written after %lld pages: those of TIFF files are written once, in order",
                           (long long)begin, (long long)t->next);
    for (int64_t n = 0; n < count; n++)
        if (!write_page(t, &out->meta, source, n))
            return wfl_tiff_fail(&t->job, "cannot write");
    return WF_OK;
}

wf_status wfl_tiff_finish(wfl_io_output *out, wf_status status)
{
    tiff_output *t = out->state;
    if (!t)
        return status;
    if (status == WF_OK && !out->writer.code && t->next < t->p.count)
        status = wfl_io_fail(out->what.ctx, out->what.path, WF_ERR_ARG, "%lld of %lld pages were written",
                             (long long)t->next, (long long)t->p.count);
    wfl_tiff_close(&t->job);
    free(t->strip);
    free(t);
    return status;
}
