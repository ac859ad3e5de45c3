/* calc_mapped.c - files as the memory of arrays, for weft calc --memory. Files that cannot be mapped are loaded and
 * saved. */
#include "calc.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Handles SIGBUS, which the system sends for a page of a mapped file that it cannot read or write. */
static void report_lost_page(int signal)
{
    static const char text[] =
        "weft: a page of a mapped file was lost: the disk failed, or another program made the file "
        "shorter\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    (void)signal;
    _exit(EXIT_FAILED);
}

void watch_mapped_pages(void)
{
    struct sigaction a = { .sa_handler = report_lost_page };
    sigemptyset(&a.sa_mask);
    sigaction(SIGBUS, &a, NULL);
}

/* Maps an open file. Returns NULL if the file is of a kind that cannot be mapped, and, with *failed set, after an error. */
static wf_array *map_file(wf_context *ctx, wf_file *file, bool *failed)
{
    wf_array *array = file ? wf_file_map(file) : NULL;
    *failed = !array && wf_last_status(ctx) != WF_ERR_UNSUPPORTED;
    if (!array && !*failed)
        wf_clear_error(ctx);
    return array;
}

wf_array *map_input(wf_context *ctx, const char *path, wf_meta *meta)
{
    bool failed;
    wf_file *file = wf_file_open(ctx, path, meta, NULL, NULL);
    wf_array *array = map_file(ctx, file, &failed);
    wf_file_free(file);
    return array || failed ? array : wf_load(ctx, path, meta);
}

/* Returns an array with the dtype and shape of the result `name` of the text, without computing anything. Returns NULL if
 * they are known only after computing, as after a sort, or if the text is wrong. */
static wf_array *like_result(wf_context *ctx, const char *text, wf_args args, const char *name)
{
    wf_array *like = NULL;
    wf_kernel *kernel = NULL;
    for (size_t part = 0; !like && (!part || kernel); part++) {
        kernel = wf_text_compile_part(ctx, text, args, 0, &name, 1, part, &like);
        wf_kernel_free(kernel);
    }
    wf_clear_error(ctx); /* what is wrong is reported when the text runs */
    return like;
}

/* True if the text assigns to an array of this name that it is given. It makes a global array itself. */
static bool takes_result(wf_context *ctx, const char *text, wf_args args, const char *name, wf_array *like)
{
    wf_arg *all = malloc((args.n + 1) * sizeof *all);
    bool takes = all != NULL;
    if (all) {
        memcpy(all, args.at, args.n * sizeof *all);
        all[args.n] = WF_ARG(name, like);
    }
    wf_kernel *kernel = NULL;
    for (size_t part = 0; takes && (!part || kernel); part++) {
        kernel = wf_text_compile_part(ctx, text, (wf_args){ all, args.n + 1 }, 0, NULL, 0, part, NULL);
        takes = wf_last_status(ctx) == WF_OK;
        wf_kernel_free(kernel);
    }
    wf_clear_error(ctx);
    free(all);
    return takes;
}

wf_status map_result(wf_context *ctx, const char *text, wf_args args, const char *name, const char *path,
                     const wf_meta *meta, mapped_result *out)
{
    bool failed;
    wf_array *like = like_result(ctx, text, args, name);
    if (!like)
        return WF_OK;
    wf_dtype dtype = wf_array_dtype(like);
    wf_shape shape = wf_array_shape(like);
    const bool takes = takes_result(ctx, text, args, name, like);
    wf_release(like);
    if (!takes)
        return WF_OK;
    out->file = wf_file_create(ctx, path, dtype, shape, meta);
    out->array = map_file(ctx, out->file, &failed);
    if (out->array)
        return WF_OK;
    wf_file_free(out->file);
    out->file = NULL;
    return failed ? wf_last_status(ctx) : WF_OK;
}
