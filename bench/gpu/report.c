/* report.c - prints a line for each row, and writes a JSON line for each contender, of which table.py makes tables. */
#include "gpu.h"
#include <string.h>

static const gpu_contender *fastest(const gpu_case *c, const char *who)
{
    const gpu_contender *best = NULL;
    for (int i = 0; i < c->n; ++i)
        if (c->at[i].calls && !strcmp(c->at[i].who, who) && (!best || c->at[i].median < best->median))
            best = &c->at[i];
    return best;
}

static void to_json(const gpu_case *c, const gpu_contender *x)
{
    static const char *const goals[] = { "", "copy", "hand", "seconds" };
    fprintf(c->b->json,
            "{\"row\":\"%s\",\"what\":\"%s\",\"goal\":\"%s\",\"limit\":%g,\"bytes\":%.0f,\"copy\":%.6g,\"who\":\"%s\","
            "\"how\":\"%s\",\"median\":%.9g,\"least\":%.9g,\"turns\":%d}\n",
            c->row->name, c->row->what, goals[c->row->goal], c->row->limit, c->bytes, c->b->copy, x->who, x->how,
            x->median, x->least, x->rounds);
}

void gpu_report(gpu_case *c)
{
    const gpu_contender *weft = fastest(c, "weft"), *hand = fastest(c, "hand"), *driver = fastest(c, "driver");
    for (int i = 0; c->b->json && i < c->n; ++i)
        if (c->at[i].calls)
            to_json(c, &c->at[i]);
    printf("%-20s", c->row->name);
    if (weft)
        printf(" %12.2f us", 1e6 * weft->median);
    if (weft && c->bytes > 0 && c->b->copy > 0)
        printf(" %5.1f %% of the copy", 100 * c->bytes / weft->median / c->b->copy);
    if (weft && hand)
        printf("  %.2f of %s", weft->median / hand->median, hand->how);
    if (!weft && driver)
        printf(" %12.2f us", 1e6 * driver->median);
    printf("\n");
    fflush(stdout);
    if (c->b->json)
        fflush(c->b->json);
}
