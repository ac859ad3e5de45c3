/* history.c - the kernels that ran, as a table. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>

static const char *code_text(wf_code_from from)
{
    static const char *const text[] = { "interp", "ready", "memory", "disk", "compiled", "library" };
    return from <= WF_CODE_LIBRARY ? text[from] : "?";
}

static const char *mode_text(const wf_kernel_info *k, char buf[static 96])
{
    const char *sums = k->mode == WF_MODE_DIRECT        ? " direct"
                       : k->mode == WF_MODE_LOCAL       ? " local"
                       : k->mode == WF_MODE_EXPAND      ? " expand"
                       : k->mode == WF_MODE_NO_CONFLICT ? " alone"
                                                        : "";
    char tile[32] = "", copies[24] = "";
    if (k->lanes && !k->columns)
        snprintf(tile, sizeof tile, "1 x %d", k->lanes);
    else if (k->lanes)
        snprintf(tile, sizeof tile, "%d x %d*%d", k->rows, k->columns, k->lanes);
    if (k->copies)
        snprintf(copies, sizeof copies, " (%d copies)", k->copies);
    snprintf(buf, 96, "%s%s%s%s%s%s", tile, sums, copies, k->nontemporal ? " past cache" : "",
             k->baseline ? " baseline" : "", k->fused ? " fused" : "");
    return buf;
}

void print_history(wf_context *ctx, FILE *out)
{
    size_t n = wf_history(ctx, NULL, 0);
    wf_kernel_info *info = allocate(n, sizeof *info);
    info->size = sizeof *info;
    n = wf_history(ctx, info, n ? n : 1);
    if (n)
        fprintf(
            out,
            "launch  kernel  hash              ops folded  equal   dead  nodes       points  plan  code      threads"
            "  record ms  plan ms  compile ms    run ms  rows x columns*lanes, modes; label\n");
    for (size_t i = 0; i < n; i++) {
        const wf_kernel_info *k = &info[i];
        char modes[96];
        fprintf(
            out,
            "%6llu %3d of %-2d %016llx %6u %6u %6u %6u %6u %12lld  %-4s  %-8s %8d %10.3f %8.3f %11.3f %9.3f  %s%s%s\n",
            (unsigned long long)k->launch, k->stage + 1, k->stages, (unsigned long long)k->hash, k->ops, k->folded,
            k->numbered, k->dead, k->nodes, (long long)k->points, k->plan_hit ? "hit" : "new", code_text(k->code),
            k->threads, 1e3 * k->record_s, 1e3 * k->plan_s, 1e3 * k->compile_s, 1e3 * k->run_s, mode_text(k, modes),
            k->name[0] ? "; " : "", k->name);
        if (k->hidden || k->unused || k->invariant || k->written_out)
            fprintf(out, "        %u assignments hidden; loops: %u variables unused, %u unchanged, %u written out\n",
                    k->hidden, k->unused, k->invariant, k->written_out);
        if (k->why[0])
            fprintf(out, "        why: %s\n", k->why);
    }
    free(info);
}
