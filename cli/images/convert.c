/* convert.c - weft convert: a file in another format, type of values or pixel size. */
#include "images.h"

const char help_convert[] =
    "  weft convert image.tif image.mrc\n"
    "  weft convert stack.mrcs stack.npy\n"
    "  weft convert vol.map small.mrc --dtype f16\n"
    "  weft convert movie.mrc movie.tif --dtype u8 --deflate\n"
    "  weft convert image.npy image.mrc --pixel 1.35\n"
    "  weft convert tomogram.mrc tomogram.ome.zarr --zstd --pyramid\n"
    "  weft convert movie.eer movie.tif --group 30 --deflate\n"
    "  weft convert movie.tif movie.mrcs --gain gain.mrc --dtype f16\n\n"
    "Pictures in colour have no place in MRC and OME-Zarr.\n"
    "Values stay as they are, unless --dtype or the format asks for others: rounded, cut to the range.\n\n"
    "  -o FILE                the new file, which may stand as the second name instead\n"
    "  --dtype TYPE           the type of values in the file: u8 i16 u16 f16 f32 ...\n"
    "  --pixel A              the pixel size in Angstrom: 1.2, or 1.2,1.3 (y, x), or 2,1.2,1.2 (z, y, x)\n"
    "  --stack, --volume      what the first of three axes of an MRC or OME file is\n"
    "  --lzw, --deflate       compresses a TIFF file; --deflate also Zarr\n"
    "  --zstd                 compresses Zarr\n" STORED_HELP "\n"
    "Names that end with .ome.tif and .ome.zarr make OME-TIFF and OME-Zarr, which say axes and pixel size.\n" MOVIE_HELP;

enum { OUT, FACT, LZW = FACT + FACT_COUNT, DEFLATE, ZSTD, MOVIE };
static const option options[] = { { "output", 'o', true }, FACT_OPTIONS,  { "lzw", 0, false }, { "deflate", 0, false },
                                  { "zstd", 0, false },    MOVIE_OPTIONS, { NULL, 0, false } };

/* Sets what the command line says of the new file. `compression`: its lzw, deflate and zstd. */
static void set_meta(const facts *f, const wf_meta *compression, wf_meta *meta)
{
    apply_facts(f, meta);
    meta->lzw = compression->lzw;
    meta->deflate = compression->deflate;
    meta->zstd = compression->zstd;
}

/* Writes the images of an open file one by one. */
static wf_status copy_images(wf_context *ctx, wf_file *from, wf_dtype dtype, wf_shape shape, const char *path,
                             const wf_meta *meta)
{
    wf_file *to = wf_file_create(ctx, path, dtype, shape, meta);
    wf_status status = to ? WF_OK : wf_last_status(ctx);
    wf_shape offset = { .rank = shape.rank }, one = shape;
    int64_t n = shape.rank > 2 ? shape.dim[0] : 1;
    if (shape.rank > 2)
        one.dim[0] = 1;
    for (int64_t i = 0; i < n && status == WF_OK; i++) {
        progress_part((double)i / (double)n);
        offset.dim[0] = i;
        wf_array *part = wf_file_read(from, offset, one);
        status = part ? wf_file_write(to, part, offset) : wf_last_status(ctx);
        wf_release(part);
    }
    if (status == WF_OK)
        status = wf_file_finish(to);
    wf_file_free(to);
    return status;
}

/* Converts a movie image by image. */
static wf_status convert_movie(wf_context *ctx, const char *file[2], const wf_movie *how, const facts *f,
                               const wf_meta *compression)
{
    wf_meta meta = { .size = sizeof meta };
    wf_dtype dtype;
    wf_shape shape;
    wf_file *from = wf_movie_open(ctx, file[0], how, &meta, &dtype, &shape);
    if (!from)
        return wf_last_status(ctx);
    set_meta(f, compression, &meta);
    wf_status status = copy_images(ctx, from, dtype, shape, file[1], &meta);
    wf_file_free(from);
    return status;
}

/* True for names of formats whose images may have channels. */
static bool holds_channels(wf_context *ctx, const char *path)
{
    wf_format format = WF_FORMAT_BY_NAME;
    return wf_format_named(ctx, path, &format) != WF_OK || (format != WF_FORMAT_MRC && !has_suffix(path, ".ome.zarr"));
}

/* Converts a file as a whole. */
static wf_status convert(wf_context *ctx, const char *file[2], const facts *f, const wf_meta *compression)
{
    wf_meta meta = { .size = sizeof meta };
    wf_array *array = wf_load(ctx, file[0], &meta);
    if (array && meta.extended_bytes)
        meta.extended_from = file[0];
    set_meta(f, compression, &meta);
    wf_status status = array ? wf_save(array, file[1], &meta) : wf_last_status(ctx);
    if (status == WF_OK)
        warn_of_changes(ctx, array, file[1], &meta);
    wf_release(array);
    return status;
}

int run_convert(const command *self, int argc, char **argv)
{
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv };
    facts f = { .store_as = WF_STORED_DEFAULT };
    wf_meta compression = { .size = sizeof compression };
    const char *file[2], *out = NULL;
    wf_movie how = { .size = 0 };
    int files = 0, o;
    while ((o = next_argument(&a)) != ARG_END) {
        if (o == ARG_OPERAND && files == 2)
            return misused(self, "'%s': two files, from and to", a.value);
        if (o == ARG_OPERAND)
            file[files++] = a.value;
        else if (o == OUT)
            out = a.value;
        else if (o < 0)
            return ended(o);
        else if (o < LZW && take_fact(self, &f, o - FACT, a.value) != EXIT_OK)
            return EXIT_USAGE;
        else if (o >= MOVIE && take_movie(self, &how, o - MOVIE, a.value) != EXIT_OK)
            return EXIT_USAGE;
        compression.lzw = compression.lzw || o == LZW;
        compression.deflate = compression.deflate || o == DEFLATE;
        compression.zstd = compression.zstd || o == ZSTD;
    }
    if (out && files == 2)
        return misused(self, "-o %s: '%s' is the name of the new file already", out, file[1]);
    if (out)
        file[files++] = out;
    if (files < 2)
        return misused(self, "two files are needed, from and to");
    wf_context *ctx = open_context(&a);
    if (!ctx)
        return EXIT_USAGE;
    int result = check_output(&a, ctx, file[1], 0);
    if (result == EXIT_OK)
        result = check_facts(self, ctx, &f, file[1]);
    if (result == EXIT_OK) {
        wf_meta probed = { .size = sizeof probed };
        bool movie = how.size > 0;
        progress_begin("converting");
        wf_shape shape = { .rank = 0 };
        if (!movie && wf_probe(ctx, file[0], &probed, NULL, &shape) == WF_OK)
            movie = probed.format == WF_FORMAT_EER;
        how.size = sizeof how;
        wf_status status = wf_last_status(ctx);
        bool channels = status == WF_OK && probed.channels && !holds_channels(ctx, file[1]);
        if (status == WF_OK && !channels)
            status = movie ? convert_movie(ctx, file, &how, &f, &compression) : convert(ctx, file, &f, &compression);
        result = channels ? refuse_channels(file[0], shape) : status == WF_OK ? EXIT_OK : failed_in(ctx);
        progress_end();
    }
    wf_context_free(ctx);
    return result;
}
