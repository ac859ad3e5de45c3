/* raster.h - lines and small texts in pixels, for plots. One unit of the drawing is RASTER_SCALE pixels. */
#ifndef WEFT_CLI_RASTER_H
#define WEFT_CLI_RASTER_H
#include "common.h"

enum { RASTER_SCALE = 2 };
typedef struct raster {
    int width, height;    /* pixels */
    unsigned char *pixel; /* [height][width][3]; the user of the raster frees it */
} raster;

raster raster_new(int width, int height); /* white */
void raster_line(raster *r, double x0, double y0, double x1, double y1, unsigned colour, double width, bool dashed);
/* Draws ASCII letters of 5 x 7 dots. y is the base line; x is the start (anchor 0), middle (1) or end (2) of the text. */
void raster_text(raster *r, double x, double y, int anchor, unsigned colour, const char *text);
#endif
