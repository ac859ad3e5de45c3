/* convert.c - weft convert: a file in another format, type of values or pixel size. */
#include "../cli.h"

const char help_convert[] =
    "  weft convert image.tif image.mrc\n"
    "  weft convert stack.mrcs stack.npy\n"
    "  weft convert vol.map small.mrc --dtype f16\n"
    "  weft convert movie.mrc movie.tif --dtype u8 --deflate\n"
    "  weft convert image.npy image.mrc --pixel 1.35\n\n"
    "Values stay as they are, unless --dtype or the format asks for others: rounded, cut to the range.\n\n"
    "  --dtype TYPE           the type of values in the file: u8 i16 u16 f16 f32 ...\n"
    "  --pixel A              the pixel size in Angstrom: 1.2, or 1.2,1.3 (y, x), or 2,1.2,1.2 (z, y, x)\n"
    "  --stack, --volume      what the first of three axes of an MRC file is\n"
    "  --lzw, --deflate       compresses a TIFF file\n";

enum { FACT, LZW = FACT_COUNT, DEFLATE };
static const option options[] = { FACT_OPTIONS, { "lzw", 0, false }, { "deflate", 0, false }, { NULL, 0, false } };

int run_convert(const command *self, int argc, char **argv)
{
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv };
    facts f = { .store_as = WF_STORED_DEFAULT };
    wf_meta meta = { .size = sizeof meta };
    const char *file[2] = { NULL, NULL };
    bool lzw = false, deflate = false;
    int files = 0, o;
    while ((o = next_argument(&a)) != ARG_END) {
        if (o == ARG_OPERAND && files == 2)
            return misused(self, "'%s': two files, from and to", a.value);
        if (o == ARG_OPERAND)
            file[files++] = a.value;
        else if (o < 0)
            return ended(o);
        else if (o < LZW && take_fact(self, &f, o - FACT, a.value) != EXIT_OK)
            return EXIT_USAGE;
        lzw = lzw || o == LZW;
        deflate = deflate || o == DEFLATE;
    }
    if (files < 2)
        return misused(self, "two files are needed, from and to");
    wf_context *ctx = open_context(&a);
    if (!ctx)
        return EXIT_USAGE;
    int result = check_output(&a, ctx, file[1], 0);
    if (result == EXIT_OK)
        result = check_facts(self, ctx, &f, file[1]);
    if (result == EXIT_OK) {
        progress_begin("converting");
        wf_array *array = wf_load(ctx, file[0], &meta);
        if (array && meta.extended_bytes)
            meta.extended_from = file[0];
        apply_facts(&f, &meta);
        meta.lzw = lzw;
        meta.deflate = deflate;
        result = array && wf_save(array, file[1], &meta) == WF_OK ? EXIT_OK : failed_in(ctx);
        wf_release(array);
        progress_end();
    }
    wf_context_free(ctx);
    return result;
}
