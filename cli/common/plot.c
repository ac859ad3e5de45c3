/* plot.c - lays out a plot as lines and texts, and draws them on a canvas, which is an SVG file or pixels. */
#include "plot.h"
#include "raster.h"
#include "weft/io.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEFT = 64, TOP = 58, WIDTH = 330, HEIGHT = 260, BETWEEN = 84, LEGEND = 150, ACROSS = 3, GREY = 0xdddddd };

typedef struct canvas {
    FILE *svg;      /* used if there are no pixels */
    raster *pixels; /* or NULL */
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

typedef struct frame {
    double left, top;      /* of the chart in the drawing */
    double x0, x1, y0, y1; /* range of the axes; of logarithmic ones, as decadic logarithms */
    bool linear;
} frame;

static bool is_point(const plot *p, double y) { return p->linear ? isfinite(y) : y > 0; }
static double on_axis(const frame *f, double v) { return f->linear ? v : log10(v); }

static double x_of(const frame *f, double x)
{
    return f->left + WIDTH * (f->x1 > f->x0 ? (on_axis(f, x) - f->x0) / (f->x1 - f->x0) : 0);
}

static double y_of(const frame *f, double y)
{
    double at = fmin(fmax(on_axis(f, y), f->y0), f->y1);
    return f->top + HEIGHT - HEIGHT * (at - f->y0) / (f->y1 - f->y0);
}

/* Sets the range of the axes. A logarithmic y axis covers whole decades, at least one. */
static void find_range(const plot *p, const chart *c, frame *f)
{
    double low = INFINITY, high = -INFINITY;
    for (int s = 0; s < p->series; s++)
        for (int k = 0; k < p->points; k++)
            if (is_point(p, c->y[s][k])) {
                low = c->y[s][k] < low ? c->y[s][k] : low;
                high = c->y[s][k] > high ? c->y[s][k] : high;
            }
    bool any = high >= low;
    f->linear = p->linear;
    f->x0 = on_axis(f, p->x[0]);
    f->x1 = on_axis(f, p->x[p->points - 1]);
    if (p->linear) {
        f->y0 = p->high > p->low ? p->low : any ? low : 0;
        f->y1 = p->high > p->low ? p->high : any ? high : 1;
    } else {
        f->y0 = any ? floor(log10(low)) : 0;
        f->y1 = any ? ceil(log10(high)) : 1;
    }
    f->y1 = f->y1 > f->y0 ? f->y1 : f->y0 + 1;
}

/* The distance of about five marks over a range: 1, 2 or 5 times a power of ten. */
static double mark_distance(double range)
{
    double step = pow(10, floor(log10(range / 5))), times = range / 5 / step;
    return step * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

static void draw_mark_y(const canvas *to, const plot *p, const frame *f, double y)
{
    char text[64];
    draw_line(to, f->left, y_of(f, y), f->left + WIDTH, y_of(f, y), GREY, 1, false);
    snprintf(text, sizeof text, "%.6g%s%s", y, *p->y_unit ? " " : "", p->y_unit);
    draw_text(to, f->left - 6, y_of(f, y) + 4, END, 0, text);
}

static void draw_mark_x(const canvas *to, const frame *f, double x, const char *text)
{
    draw_line(to, x_of(f, x), f->top, x_of(f, x), f->top + HEIGHT, 0xeeeeee, 1, false);
    draw_text(to, x_of(f, x), f->top + HEIGHT + 18, MIDDLE, 0, text);
}

static void draw_linear_marks(const canvas *to, const plot *p, const frame *f)
{
    char text[64];
    double step = mark_distance(f->y1 - f->y0);
    for (double k = ceil(f->y0 / step - 1e-9); k * step <= f->y1 + 1e-9 * step; k++)
        draw_mark_y(to, p, f, k * step + 0.0);
    step = f->x1 > f->x0 ? mark_distance(f->x1 - f->x0) : 1;
    for (double k = ceil(f->x0 / step - 1e-9); k * step <= f->x1 + 1e-9 * step; k++) {
        if (p->reciprocal && k == 0)
            snprintf(text, sizeof text, "inf");
        else
            snprintf(text, sizeof text, "%.3g", p->reciprocal ? 1 / (k * step) : k * step);
        draw_mark_x(to, f, k * step, text);
    }
}

static void draw_decades(const canvas *to, const plot *p, const frame *f)
{
    char text[64];
    for (double d = f->y0; d <= f->y1; d++) {
        for (int k = 2; k < 10 && d < f->y1; k++)
            draw_line(to, f->left, y_of(f, k * pow(10, d)), f->left + WIDTH, y_of(f, k * pow(10, d)), 0xf2f2f2, 1,
                      false);
        draw_mark_y(to, p, f, pow(10, d));
    }
    for (int k = 0; k < p->points; k++) {
        snprintf(text, sizeof text, p->decades && p->x[k] > 1000 ? "1e%.0f" : "%.0f",
                 p->decades && p->x[k] > 1000 ? log10(p->x[k]) : p->x[k]);
        draw_mark_x(to, f, p->x[k], text);
    }
}

static void draw_axes(const canvas *to, const plot *p, const chart *c, const frame *f)
{
    if (p->linear)
        draw_linear_marks(to, p, f);
    else
        draw_decades(to, p, f);
    draw_text(to, f->left + WIDTH / 2.0, f->top + HEIGHT + 38, MIDDLE, 0, p->x_title);
    if (c->title)
        draw_text(to, f->left + WIDTH / 2.0, f->top - 10, MIDDLE, 0, c->title);
}

static void draw_series(const canvas *to, const plot *p, const chart *c, const frame *f)
{
    for (int s = 0; s < p->series; s++) {
        int before = -1;
        for (int k = 0; k < p->points; k++) {
            if (!is_point(p, c->y[s][k]))
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
            if (is_point(p, p->chart[c].y[s][k]))
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
    char *temporary = append(NULL, "%s.%ld.tmp", path, (long)getpid());
    FILE *f = fopen(temporary, "w");
    if (!f) {
        free(temporary);
        return failed("%s: cannot be written", path);
    }
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"monospace\" "
            "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            wide(p), high(p));
    draw_all(&(canvas){ .svg = f }, p);
    fprintf(f, "</svg>\n");
    bool whole = !ferror(f);
    whole = fclose(f) == 0 && whole && rename(temporary, path) == 0;
    if (!whole)
        remove(temporary);
    free(temporary);
    return whole ? EXIT_OK : failed("%s: cannot be written", path);
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

int plot_save(wf_context *ctx, const plot *p, const char *path)
{
    return has_suffix(path, ".svg") ? write_svg(p, path) : write_png(ctx, p, path);
}

int plot_write(wf_context *ctx, const plot *p, const char *name)
{
    char *svg = append(NULL, "%s.svg", name), *png = append(NULL, "%s.png", name);
    int one = plot_save(ctx, p, svg), other = plot_save(ctx, p, png);
    free(svg), free(png);
    return one == EXIT_OK ? other : one;
}
