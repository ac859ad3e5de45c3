/* One function over many files, with restart: a series of images is cleaned. A second run does only what is missing or
 * whose input has changed. Several processes may run such a program at once and share the work. */
#include <stdio.h>
#include <stdlib.h>
#include <weft/each.h>
#include <weft/io.h>

enum { FILES = 6, SIDE = 64, PATH = 64 };

/* Makes a result from an input: what the farm calls for each item that is to be done. */
static wf_status clean(wf_context *ctx, const wf_each_item *item, size_t number, void *user)
{
    const double background = *(double *)user;
    wf_meta meta = { .size = sizeof meta };
    wf_array *image = wf_load(ctx, item->inputs[0], &meta), *out = wf_like(image);
    wf_text(ctx, "out = image - mean(image) - background", image, out, background);
    meta.durable = true; /* on the disk before the journal says that it is done */
    wf_save(out, item->outputs[0], &meta);
    wf_release(image);
    wf_release(out);
    (void)number;
    return wf_last_status(ctx);
}

static void show(void *user, const wf_each_report *report)
{
    const wf_each_item *items = user;
    if (report->event == WF_EACH_FINISHED)
        printf("  %s\n", items[report->item].outputs[0]);
    if (report->event == WF_EACH_FAILED)
        printf("  %s failed: %s\n", items[report->item].inputs[0], report->message);
}

int main(void)
{
    wf_context *ctx = wf_context_new(NULL);
    static char raw[FILES][PATH], cleaned[FILES][PATH];
    static const char *inputs[FILES], *outputs[FILES];
    wf_each_item items[FILES];
    for (int i = 0; i < FILES; i++) {
        snprintf(raw[i], PATH, "series-%d.mrc", i);
        snprintf(cleaned[i], PATH, "clean-%d.mrc", i);
        inputs[i] = raw[i], outputs[i] = cleaned[i];
        items[i] = (wf_each_item){ .inputs = &inputs[i], .input_count = 1, .outputs = &outputs[i], .output_count = 1 };
        remove(cleaned[i]);
        wf_array *image = wf_full(ctx, WF_F32, WF_SHAPE(SIDE, SIDE), i);
        wf_save(image, raw[i], NULL);
        wf_release(image);
    }

    double background = 0.5;
    wf_each_options options = {
        .size = sizeof options, .task = "minus mean and background", .settings = "0.5", .report = show, .user = items
    };
    const char *const runs[] = { "all:", "nothing is left:", "the one that is missing:" };
    const size_t expected[] = { FILES, 0, 1 };
    int wrong = 0;
    for (int run = 0; run < 3; run++) {
        wf_each_summary sum = { 0 };
        if (run == 2)
            remove(cleaned[3]);
        printf("%s\n", runs[run]);
        wrong += wf_each(ctx, items, FILES, clean, &background, &options, &sum) != WF_OK || sum.done != expected[run];
    }
    if (wf_last_status(ctx) != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    wf_context_free(ctx);
    return wrong != 0;
}
