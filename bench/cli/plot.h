/* plot.h - charts of times over a size, logarithmic both ways, drawn once and written as SVG and as PNG. */
#ifndef BENCH_CLI_PLOT_H
#define BENCH_CLI_PLOT_H
#include "common/common.h"

enum { PLOT_SERIES = 12, PLOT_POINTS = 16, PLOT_CHARTS = 6 };
typedef struct chart {
    const char *title;
    double y[PLOT_SERIES][PLOT_POINTS]; /* 0: nothing there */
} chart;

typedef struct plot {
    const char *title, *x_title, *y_unit; /* "ms" */
    int points, series, charts;
    double x[PLOT_POINTS];
    bool decades; /* x is 1, 10, 100, ...: powers of ten are written */
    const char *name[PLOT_SERIES];
    unsigned colour[PLOT_SERIES]; /* 0xrrggbb */
    bool dashed[PLOT_SERIES];
    chart chart[PLOT_CHARTS];
} plot;

/* NAME.svg and NAME.png in the current folder. Returns an exit code, after a message where it is not EXIT_OK. */
int plot_write(wf_context *ctx, const plot *p, const char *name);
#endif
