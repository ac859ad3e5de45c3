/* raster.h - lines and small texts in pixels, for plots. Coordinates are those of the drawing; each is SCALE pixels. */
#ifndef BENCH_CLI_RASTER_H
#define BENCH_CLI_RASTER_H
#include "common/common.h"

enum { RASTER_SCALE = 2 };
typedef struct raster {
    int width, height;    /* pixels */
    unsigned char *pixel; /* [height][width][3], from allocate */
} raster;

raster raster_new(int width, int height); /* white */
void raster_line(raster *r, double x0, double y0, double x1, double y1, unsigned colour, double width, bool dashed);
/* ASCII, 5 x 7 dots a letter; y: of the base line; anchor: x is its start, middle (1) or end (2). */
void raster_text(raster *r, double x, double y, int anchor, unsigned colour, const char *text);
#endif
