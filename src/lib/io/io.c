/* io.c - wf_load, wf_probe, wf_save: finds the format, checks what all formats have in common, and calls the format's
 * function.
 *
 * Reading recognises a file by its content first, because suffixes can be wrong. Only MRC, whose older files carry no
 * mark, may need its suffix. Writing takes the format of the suffix first, so that a file named .png is a PNG file.
 */
#include "io_internal.h"
#include "../floats.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* One row per format; a new format is added here. */
static const wfl_io_format *const formats[] = { &wfl_io_mrc,  &wfl_io_npy, &wfl_io_png,
                                                &wfl_io_tiff, &wfl_io_eer, &wfl_io_zarr };
enum { FORMATS = sizeof formats / sizeof *formats };

/* Returns suffix i; NULL past the last. */
static const char *suffix_of(const wfl_io_format *format, size_t i)
{
    return i < sizeof format->suffixes / sizeof *format->suffixes ? format->suffixes[i] : NULL;
}

/* `write`: only a format that is written. */
static const wfl_io_format *format_by_suffix(const char *path, bool write)
{
    for (int f = 0; f < FORMATS; f++)
        for (size_t i = 0; suffix_of(formats[f], i) && (!write || formats[f]->create); i++)
            if (wfl_io_suffix_is(path, suffix_of(formats[f], i)) && (formats[f]->gzip || !wfl_io_named_gzip(path)))
                return formats[f];
    return NULL;
}

/* ---- the public functions ---- */

void wfl_io_copy_meta(wf_meta *to, size_t to_size, const wf_meta *from, size_t from_size)
{
    memcpy(to, from, to_size < from_size ? to_size : from_size);
    to->size = to_size;
}

wf_status wfl_io_check_arguments(wf_context *ctx, const char *path, const wf_meta *meta)
{
    if (!ctx)
        return WF_ERR_ARG;
    if (!path || !*path)
        return wf_error(ctx, WF_ERR_ARG, "the path of a file is NULL or empty");
    if (meta && meta->size < sizeof meta->size)
        return wfl_io_fail(ctx, path, WF_ERR_ARG, "meta.size is %zu (must be sizeof(wf_meta))", meta->size);
    return WF_OK;
}

enum { LIST = 128 }; /* bytes of a list of all names or suffixes */

/* Adds a word to a list of LIST bytes, if it fits. */
static void add_word(char *list, const char *between, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, LIST - used, "%s%s", used ? between : "", word);
}

/* Lists all suffixes: ".mrc .mrcs ...". */
static const char *list_suffixes(char list[LIST], bool write)
{
    list[0] = 0;
    for (int f = 0; f < FORMATS; f++)
        for (size_t i = 0; suffix_of(formats[f], i) && (!write || formats[f]->create); i++)
            add_word(list, " ", suffix_of(formats[f], i));
    return list;
}

/* Lists all formats: "MRC, NPY, ...". */
static const char *list_formats(char list[LIST])
{
    list[0] = 0;
    for (int f = 0; f < FORMATS; f++)
        add_word(list, ", ", formats[f]->name);
    return list;
}

static wf_status fail_suffix(wf_context *ctx, const char *path)
{
    char known[LIST];
    return wfl_io_fail(ctx, path, WF_ERR_UNSUPPORTED,
                       "the suffix names no format%s (known: %s; .gz after one of MRC or NPY)",
                       format_by_suffix(path, false) ? " that is written" : "", list_suffixes(known, true));
}

/* Says what a file is that begins like this, if it is of a common format that is not read; NULL: unknown. */
static const char *foreign_content(const uint8_t *head, size_t bytes)
{
    static const struct {
        const char *mark;
        size_t bytes;
        const char *what;
    } known[] = {
        { "BZh", 3, "compressed by bzip2: unpack it first" },
        { "\xfd"
          "7zXZ",
          5, "compressed by xz: unpack it first" },
        { "\x28\xb5\x2f\xfd", 4, "compressed by zstd: unpack it first" },
        { "PK\3\4", 4, "a ZIP archive, as .npz is one: unpack it first" },
        { "\x89HDF\r\n\x1a\n", 8, "HDF5: convert it first" },
        { "\xff\xd8\xff", 3, "JPEG: convert it first" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes >= known[i].bytes && memcmp(head, known[i].mark, known[i].bytes) == 0)
            return known[i].what;
    return NULL;
}

static wf_status recognise(wfl_io_reader *reader, const wfl_io_format **format)
{
    uint8_t head[IO_HEAD_BYTES];
    size_t bytes = 0;
    wf_status status = wfl_io_read_most(reader, 0, head, IO_HEAD_BYTES, &bytes);
    if (status != WF_OK)
        return status;
    const wfl_io_format *named = format_by_suffix(reader->path, false);
    const wfl_io_format *found = named && named->match(head, bytes) ? named : NULL;
    for (int f = 0; f < FORMATS && !found; f++)
        if (formats[f]->match(head, bytes))
            found = formats[f];
    char known[LIST];
    const char *foreign = found ? NULL : foreign_content(head, bytes);
    if (foreign)
        return wfl_io_fail(reader->ctx, reader->path, WF_ERR_UNSUPPORTED, "the file is %s (%s are read)", foreign,
                           list_formats(known));
    if (!found)
        found = named;
    if (!found) {
        return wfl_io_fail(reader->ctx, reader->path, WF_ERR_UNSUPPORTED,
                           "neither the content nor the suffix is of a known format (%s)", list_suffixes(known, false));
    }
    if (reader->gzip && !found->gzip)
        return wfl_io_fail(reader->ctx, reader->path, WF_ERR_UNSUPPORTED,
                           "the file is %s compressed by gzip: unpack it first (MRC and NPY files are read in gzip)",
                           found->name);
    *format = found;
    return WF_OK;
}

/* Opens a file, which `in` describes. */
static wf_status open_input(wf_context *ctx, const char *path, wfl_io_input *in)
{
    struct stat info;
    wf_status status = WF_OK;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        in->reader = (wfl_io_reader){ .ctx = ctx, .path = path, .fd = -1 };
        in->format = &wfl_io_zarr;
    } else {
        status = wfl_io_open(ctx, path, &in->reader);
        if (status != WF_OK)
            return status;
        status = recognise(&in->reader, &in->format);
        if (status == WF_OK && in->level)
            status = wfl_io_fail(ctx, path, WF_ERR_ARG, "level %d of a file of %s, which has no levels", in->level,
                                 in->format->name);
    }
    if (status == WF_OK)
        status = in->format->open(in);
    if (status == WF_OK)
        in->image.meta.format = in->format->format;
    else
        wfl_io_input_close(in);
    return status;
}

wf_status wfl_io_input_open(wf_context *ctx, const char *path, const wf_movie *movie, wfl_io_input *in)
{
    *in = (wfl_io_input){ .image = { .meta = { .size = sizeof in->image.meta } } };
    in->group = movie ? movie->group : 0;
    in->factor = movie ? movie->factor : 0;
    return open_input(ctx, path, in);
}

wf_status wfl_io_input_open_level(wf_context *ctx, const char *path, int level, wfl_io_input *in)
{
    *in = (wfl_io_input){ .level = level, .image = { .meta = { .size = sizeof in->image.meta } } };
    return open_input(ctx, path, in);
}

void wfl_io_input_close(wfl_io_input *in)
{
    if (in->format && in->format->close)
        in->format->close(in);
    wfl_io_close(&in->reader);
}

wf_status wfl_io_input_fill(wfl_io_input *in, const wf_shape *first, const wf_shape *count, void *to)
{
    int64_t n = 1;
    for (int d = 0; d < count->rank; d++)
        n *= count->dim[d];
    if (in->format->read)
        return n ? in->format->read(in, first, count, to) : WF_OK;
    wfl_io_layout layout = in->layout;
    wfl_io_layout_box(&layout, first, count);
    return wfl_io_read_samples(&in->reader, &layout, to);
}

wf_array *wfl_io_input_read(wfl_io_input *in, const wf_shape *first, const wf_shape *count)
{
    void *data;
    wf_array *array = wfl_io_new_array(in->reader.ctx, in->reader.path, in->image.dtype, *count, &data);
    return array ? wfl_io_filled(array, wfl_io_input_fill(in, first, count, data)) : NULL;
}

wf_array *wfl_io_filled(wf_array *array, wf_status status)
{
    wf_context *ctx = wf_array_context(array);
    if (status == WF_OK && wf_context_device(ctx) < WF_GPU(0))
        return array;
    wf_array *there = status == WF_OK ? wf_copy_to(array, wf_context_device(ctx)) : NULL;
    wf_release(array);
    return there;
}

static WFL_APART wf_array *load(wf_context *ctx, const char *path, wf_meta *meta)
{
    wfl_io_input in;
    if (wfl_io_check_arguments(ctx, path, meta) != WF_OK || wfl_io_input_open(ctx, path, NULL, &in) != WF_OK)
        return NULL;
    const wf_shape zero = { .rank = in.image.shape.rank };
    wf_array *array = wfl_io_input_read(&in, &zero, &in.image.shape);
    if (array && wfl_io_read_end(&in.reader) != WF_OK) {
        wf_release(array);
        array = NULL;
    }
    wfl_io_input_close(&in);
    if (array && meta)
        wfl_io_copy_meta(meta, meta->size, &in.image.meta, sizeof in.image.meta);
    return array;
}

wf_array *wf_load(wf_context *ctx, const char *path, wf_meta *meta)
{
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_array *array = load(ctx, path, meta);
    wfl_floats_end(&floats);
    return array;
}

static WFL_APART wf_status probe(wf_context *ctx, const char *path, wf_meta *meta, wf_dtype *dtype, wf_shape *shape)
{
    wfl_io_input in;
    wf_status status = wfl_io_check_arguments(ctx, path, meta);
    if (status == WF_OK)
        status = wfl_io_input_open(ctx, path, NULL, &in);
    if (status != WF_OK)
        return status;
    wfl_io_input_close(&in);
    if (meta)
        wfl_io_copy_meta(meta, meta->size, &in.image.meta, sizeof in.image.meta);
    if (dtype)
        *dtype = in.image.dtype;
    if (shape)
        *shape = in.image.shape;
    return WF_OK;
}

wf_status wf_probe(wf_context *ctx, const char *path, wf_meta *meta, wf_dtype *dtype, wf_shape *shape)
{
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_status status = probe(ctx, path, meta, dtype, shape);
    wfl_floats_end(&floats);
    return status;
}

static wf_status check_meta(wf_context *ctx, const char *path, const wf_meta *meta)
{
    for (int axis = 0; axis < 3; axis++) {
        if (!(meta->spacing[axis] >= 0) || isinf(meta->spacing[axis]))
            return wfl_io_fail(ctx, path, WF_ERR_ARG, "meta.spacing[%d] is %g (must be finite and not negative)", axis,
                               meta->spacing[axis]);
        if (!isfinite(meta->origin[axis]))
            return wfl_io_fail(ctx, path, WF_ERR_ARG, "meta.origin[%d] is %g (must be finite)", axis,
                               meta->origin[axis]);
        if (!(meta->angles[axis] >= 0 && meta->angles[axis] < 180))
            return wfl_io_fail(ctx, path, WF_ERR_ARG, "meta.angles[%d] is %g (must be 0 or between 0 and 180)", axis,
                               meta->angles[axis]);
        if (meta->cell[axis] < 0)
            return wfl_io_fail(ctx, path, WF_ERR_ARG, "meta.cell[%d] is %d (must not be negative)", axis,
                               meta->cell[axis]);
    }
    if (meta->coarsest < 0)
        return wfl_io_fail(ctx, path, WF_ERR_ARG, "meta.coarsest is %d (must not be negative)", meta->coarsest);
    if (meta->space_group < 0 || meta->space_group > 230)
        return wfl_io_fail(ctx, path, WF_ERR_ARG, "meta.space_group is %d (must be 0..230)", meta->space_group);
    return WF_OK;
}

wf_status wfl_io_check_saving(wf_context *ctx, const char *path, const wf_meta *given, wf_meta *meta,
                              const wfl_io_format **format)
{
    wf_status status = wfl_io_check_arguments(ctx, path, given);
    if (status != WF_OK)
        return status;
    *meta = (wf_meta){ .size = sizeof *meta };
    if (given)
        wfl_io_copy_meta(meta, sizeof *meta, given, given->size);
    status = check_meta(ctx, path, meta);
    if (status != WF_OK)
        return status;
    *format = format_by_suffix(path, true);
    for (int f = 0; f < FORMATS && !*format; f++)
        if (formats[f]->format == meta->format && formats[f]->create)
            *format = formats[f];
    return *format ? WF_OK : fail_suffix(ctx, path);
}

static WFL_APART wf_status save(const wf_array *array, const char *path, const wf_meta *given)
{
    wf_context *ctx = wf_array_context(array);
    const wfl_io_format *format;
    wf_meta meta;
    wf_status status = wfl_io_check_saving(ctx, path, given, &meta, &format);
    if (status != WF_OK)
        return status;
    wf_freeze_refuse(ctx, "wf_save", "a replay would not write the file again");
    wfl_io_source source;
    wfl_io_output out;
    wf_array *here = wfl_io_on_processor(array);
    status = here ? wfl_io_source_open(here, path, &source) : wf_last_status(ctx);
    if (status == WF_OK)
        status = wfl_io_output_open(&source, format, &meta, NULL, &out);
    if (status == WF_OK) {
        const wf_shape zero = { .rank = source.shape.rank };
        status = wfl_io_output_close(&out, wfl_io_output_write(&out, &source, &zero));
    }
    wf_release(here);
    return status;
}

wf_status wf_save(const wf_array *array, const char *path, const wf_meta *meta)
{
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_status status = save(array, path, meta);
    wfl_floats_end(&floats);
    return status;
}

wf_status wf_format_named(wf_context *ctx, const char *path, wf_format *format)
{
    wf_status status = wfl_io_check_arguments(ctx, path, NULL);
    const wfl_io_format *named = status == WF_OK ? format_by_suffix(path, true) : NULL;
    if (status != WF_OK || !named)
        return status != WF_OK ? status : fail_suffix(ctx, path);
    if (!format)
        return wf_error(ctx, WF_ERR_ARG, "wf_format_named: format is NULL");
    *format = named->format;
    return WF_OK;
}

const char *wf_format_name(wf_format format)
{
    for (int f = 0; f < FORMATS; f++)
        if (formats[f]->format == format)
            return formats[f]->name;
    return NULL;
}

const char *wf_stored_name(wf_stored stored)
{
    const wfl_io_type *type = wfl_io_type_of(stored);
    return type ? type->name : NULL;
}
