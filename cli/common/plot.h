/* plot.h - charts of curves, with logarithmic or linear axes, as SVG and as PNG. */
#ifndef WEFT_CLI_PLOT_H
#define WEFT_CLI_PLOT_H
#include "common.h"

enum { PLOT_SERIES = 12, PLOT_POINTS = 4096, PLOT_CHARTS = 6 };
typedef struct chart {
    const char *title;
    double y[PLOT_SERIES][PLOT_POINTS]; /* 0, or with linear axes NaN = no point */
} chart;

typedef struct plot {
    const char *title, *x_title, *y_unit;
    int points, series, charts;
    double x[PLOT_POINTS];
    bool decades;     /* x is 1, 10, 100, ...: labels above 1000 are powers of ten */
    bool linear;      /* both axes */
    double low, high; /* range of a linear y axis; equal = that of the points */
    bool reciprocal;  /* labels of a linear x axis are 1/x */
    const char *name[PLOT_SERIES];
    unsigned colour[PLOT_SERIES]; /* 0xrrggbb */
    bool dashed[PLOT_SERIES];
    chart chart[PLOT_CHARTS];
} plot;

/* Writes the plot to a file, whose suffix is .svg or .png. Returns an exit code, as plot_write. */
int plot_save(wf_context *ctx, const plot *p, const char *path);
/* Writes NAME.svg and NAME.png in the current folder. Returns an exit code; prints a message unless it is EXIT_OK. */
int plot_write(wf_context *ctx, const plot *p, const char *name);
#endif
