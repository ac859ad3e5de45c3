/* model_plot.c - a plot of efficiency over the number of ranks, as a file of SVG. */
#include "model.h"
#include <stdio.h>

enum { WIDTH = 800, HEIGHT = 420, LEFT = 60, RIGHT = 290, TOP = 40, BOTTOM = 50, ROW = 22 };

static const char *const colours[] = { "#0b5fa5", "#c2410c", "#15803d", "#7e22ce", "#525252" };
enum { COLOURS = sizeof colours / sizeof *colours };

static double x_of(int point, int points)
{
    return LEFT + (double)(WIDTH - LEFT - RIGHT) * point / (points > 1 ? points - 1 : 1);
}

static double y_of(double value)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value > 1 ? 1 : value < 0 ? 0 : value);
}

static void write_axes(FILE *f, int points)
{
    for (int tenth = 0; tenth <= 10; tenth += 2) {
        const double y = y_of(tenth / 10.0);
        fprintf(f, "<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' stroke='#ddd'/>\n", LEFT, y, WIDTH - RIGHT, y);
        fprintf(f, "<text x='%d' y='%.1f' text-anchor='end'>%d %%</text>\n", LEFT - 8, y + 4, 10 * tenth);
    }
    for (int k = 0; k < points; k++) {
        const double x = x_of(k, points);
        fprintf(f, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#888'/>\n", x, HEIGHT - BOTTOM, x,
                HEIGHT - BOTTOM + 4);
        fprintf(f, "<text x='%.1f' y='%d' text-anchor='middle'>%d</text>\n", x, HEIGHT - BOTTOM + 18, 1 << k);
    }
    fprintf(f, "<text x='%d' y='%d' text-anchor='middle'>ranks</text>\n", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10);
}

static void write_line(FILE *f, const plot_line *l, int number, int points)
{
    const char *colour = colours[number % COLOURS];
    const int x = WIDTH - RIGHT + 16, y = TOP + 10 + number * ROW;
    fprintf(f, "<polyline fill='none' stroke='%s' stroke-width='2' points='", colour);
    for (int k = 0; k < points; k++)
        fprintf(f, "%s%.1f,%.1f", k ? " " : "", x_of(k, points), y_of(l->value[k]));
    fprintf(f, "'/>\n<line x1='%d' y1='%d' x2='%d' y2='%d' stroke='%s' stroke-width='2'/>\n", x, y, x + 28, y, colour);
    fprintf(f, "<text x='%d' y='%d'>%s</text>\n", x + 34, y + 4, l->name);
}

bool plot_write(const char *path, const char *title, const plot_line *lines, int n, int points)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    fprintf(f,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='12'>\n"
            "<rect width='%d' height='%d' fill='white'/>\n"
            "<text x='%d' y='22' font-size='15'>%s</text>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, title);
    write_axes(f, points);
    for (int i = 0; i < n; i++)
        write_line(f, &lines[i], i, points);
    fprintf(f, "</svg>\n");
    const bool ok = !ferror(f);
    return fclose(f) == 0 && ok;
}
