/* plot.h - charts of times over a size, with logarithmic axes, as SVG and as PNG. */
#ifndef BENCH_CLI_PLOT_H
#define BENCH_CLI_PLOT_H
#include "common/common.h"

enum { PLOT_SERIES = 12, PLOT_POINTS = 16, PLOT_CHARTS = 6 };
typedef struct chart {
    const char *title;
    double y[PLOT_SERIES][PLOT_POINTS]; /* 0 = no point */
} chart;

typedef struct plot {
    const char *title, *x_title, *y_unit;
    int points, series, charts;
    double x[PLOT_POINTS];
    bool decades; /* x is 1, 10, 100, ...: labels above 1000 are powers of ten */
    const char *name[PLOT_SERIES];
    unsigned colour[PLOT_SERIES]; /* 0xrrggbb */
    bool dashed[PLOT_SERIES];
    chart chart[PLOT_CHARTS];
} plot;

/* Writes NAME.svg and NAME.png in the current folder. Returns an exit code; prints a message unless it is EXIT_OK. */
int plot_write(wf_context *ctx, const plot *p, const char *name);
#endif
