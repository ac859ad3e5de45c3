/* plot.c - lays a plot out as lines and texts, which a canvas draws: one writes SVG, the other fills pixels. */
#include "plot.h"
#include "raster.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 64, TOP = 58, WIDTH = 330, HEIGHT = 260, BETWEEN = 84, LEGEND = 150, ACROSS = 3, GREY = 0xdddddd };

typedef struct canvas { /* one of the two */
    FILE *svg;
    raster *pixels;
} canvas;

static void draw_line(const canvas *c, double x0, double y0, double x1, double y1, unsigned colour, double width,
                      bool dashed)
{
    if (c->pixels)
        raster_line(c->pixels, x0, y0, x1, y1, colour, width, dashed);
    else
        fprintf(c->svg,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#%06x\" stroke-width=\"%g\"%s/>\n", x0,
                y0, x1, y1, colour, width, dashed ? " stroke-dasharray=\"5 3\"" : "");
}

static const char *const anchors[] = { "start", "middle", "end" };
enum { START, MIDDLE, END };

static void draw_text(const canvas *c, double x, double y, int anchor, unsigned colour, const char *text)
{
    if (c->pixels)
        raster_text(c->pixels, x, y, anchor, colour, text);
    else
        fprintf(c->svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"#%06x\">%s</text>\n", x, y,
                anchors[anchor], colour, text);
}

typedef struct frame { /* of one chart: where values are */
    double left, top, x0, x1, y0, y1;
} frame;

static double x_of(const frame *f, double x)
{
    return f->left + WIDTH * (f->x1 > f->x0 ? (log10(x) - f->x0) / (f->x1 - f->x0) : 0);
}

static double y_of(const frame *f, double y) { return f->top + HEIGHT - HEIGHT * (log10(y) - f->y0) / (f->y1 - f->y0); }

/* Whole decades around all values of a chart; at least one. */
static void find_range(const plot *p, const chart *c, frame *f)
{
    double low = INFINITY, high = 0;
    for (int s = 0; s < p->series; s++)
        for (int k = 0; k < p->points; k++)
            if (c->y[s][k] > 0) {
                low = c->y[s][k] < low ? c->y[s][k] : low;
                high = c->y[s][k] > high ? c->y[s][k] : high;
            }
    f->y0 = high > 0 ? floor(log10(low)) : 0;
    f->y1 = high > 0 ? ceil(log10(high)) : 1;
    f->y1 = f->y1 > f->y0 ? f->y1 : f->y0 + 1;
    f->x0 = log10(p->x[0]);
    f->x1 = log10(p->x[p->points - 1]);
}

static void draw_axes(const canvas *to, const plot *p, const chart *c, const frame *f)
{
    char text[64];
    for (double d = f->y0; d <= f->y1; d++) {
        for (int k = 2; k < 10 && d < f->y1; k++)
            draw_line(to, f->left, y_of(f, k * pow(10, d)), f->left + WIDTH, y_of(f, k * pow(10, d)), 0xf2f2f2, 1,
                      false);
        draw_line(to, f->left, y_of(f, pow(10, d)), f->left + WIDTH, y_of(f, pow(10, d)), GREY, 1, false);
        snprintf(text, sizeof text, "%g %s", pow(10, d), p->y_unit);
        draw_text(to, f->left - 6, y_of(f, pow(10, d)) + 4, END, 0, text);
    }
    for (int k = 0; k < p->points; k++) {
        draw_line(to, x_of(f, p->x[k]), f->top, x_of(f, p->x[k]), f->top + HEIGHT, 0xeeeeee, 1, false);
        snprintf(text, sizeof text, p->decades && p->x[k] > 1000 ? "1e%.0f" : "%.0f",
                 p->decades && p->x[k] > 1000 ? log10(p->x[k]) : p->x[k]);
        draw_text(to, x_of(f, p->x[k]), f->top + HEIGHT + 18, MIDDLE, 0, text);
    }
    draw_text(to, f->left + WIDTH / 2.0, f->top + HEIGHT + 38, MIDDLE, 0, p->x_title);
    if (c->title)
        draw_text(to, f->left + WIDTH / 2.0, f->top - 10, MIDDLE, 0, c->title);
}

static void draw_series(const canvas *to, const plot *p, const chart *c, const frame *f)
{
    for (int s = 0; s < p->series; s++) {
        int before = -1;
        for (int k = 0; k < p->points; k++) {
            if (!(c->y[s][k] > 0))
                continue;
            if (before >= 0)
                draw_line(to, x_of(f, p->x[before]), y_of(f, c->y[s][before]), x_of(f, p->x[k]), y_of(f, c->y[s][k]),
                          p->colour[s], 2, p->dashed[s]);
            before = k;
        }
    }
}

static bool is_measured(const plot *p, int s)
{
    for (int c = 0; c < p->charts; c++)
        for (int k = 0; k < p->points; k++)
            if (p->chart[c].y[s][k] > 0)
                return true;
    return false;
}

static int columns_of(const plot *p) { return p->charts < ACROSS ? p->charts : ACROSS; }
static int wide(const plot *p) { return LEFT + columns_of(p) * (WIDTH + BETWEEN) + LEGEND - BETWEEN / 2; }
static int high(const plot *p) { return TOP + (p->charts + ACROSS - 1) / ACROSS * (HEIGHT + BETWEEN); }

static void draw_all(const canvas *to, const plot *p)
{
    draw_text(to, LEFT, 24, START, 0, p->title);
    for (int c = 0; c < p->charts; c++) {
        frame f = { .left = LEFT + c % ACROSS * (WIDTH + BETWEEN), .top = TOP + c / ACROSS * (HEIGHT + BETWEEN) };
        find_range(p, &p->chart[c], &f);
        draw_axes(to, p, &p->chart[c], &f);
        draw_series(to, p, &p->chart[c], &f);
    }
    double left = LEFT + columns_of(p) * (WIDTH + BETWEEN) - BETWEEN + 16;
    for (int s = 0, row = 0; s < p->series; s++)
        if (is_measured(p, s)) {
            double y = TOP + 12 + 18 * row++;
            draw_line(to, left, y - 4, left + 24, y - 4, p->colour[s], 2, p->dashed[s]);
            draw_text(to, left + 30, y, START, p->colour[s], p->name[s]);
        }
}

static int write_svg(const plot *p, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return failed("%s: cannot be written", path);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"monospace\" "
            "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            wide(p), high(p));
    draw_all(&(canvas){ .svg = f }, p);
    fprintf(f, "</svg>\n");
    return fclose(f) == 0 ? EXIT_OK : failed("%s: cannot be written", path);
}

static int write_png(wf_context *ctx, const plot *p, const char *path)
{
    raster r = raster_new(wide(p), high(p));
    draw_all(&(canvas){ .pixels = &r }, p);
    wf_array *a = wf_wrap(ctx, r.pixel, WF_U8, WF_SHAPE(r.height, r.width, 3), NULL, NULL);
    wf_status status = a ? wf_save(a, path, NULL) : wf_last_status(ctx);
    wf_release(a);
    free(r.pixel);
    return status == WF_OK ? EXIT_OK : failed_in(ctx);
}

int plot_write(wf_context *ctx, const plot *p, const char *name)
{
    char *svg = append(NULL, "%s.svg", name), *png = append(NULL, "%s.png", name);
    int one = write_svg(p, svg), other = write_png(ctx, p, png);
    free(svg), free(png);
    return one == EXIT_OK ? other : one;
}
