/* star_write.c - writes STAR files as RELION does: a block, its names with their numbers, rows in columns. */
#include "star.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Collects text for the writer. */
typedef struct pen {
    wfl_io_writer writer;
    char *buffer; /* IO_CHUNK bytes */
    size_t used;
} pen;

static void flush(pen *p)
{
    wfl_io_write(&p->writer, p->buffer, p->used);
    p->used = 0;
}

static void put(pen *p, const char *text, size_t length)
{
    for (size_t done = 0; done < length;) {
        size_t part = length - done < IO_CHUNK - p->used ? length - done : IO_CHUNK - p->used;
        memcpy(p->buffer + p->used, text + done, part);
        p->used += part;
        done += part;
        if (p->used == IO_CHUNK)
            flush(p);
    }
}

static void put_text(pen *p, const char *text) { put(p, text, strlen(text)); }

static void put_blanks(pen *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(p, " ", 1);
}

/* True if the text has this quote before a blank, where it would end. */
static bool ends_quote(const char *text, char quote)
{
    for (const char *c = text; *c; c++)
        if (*c == quote && (!c[1] || wfl_star_is_blank(c[1])))
            return true;
    return false;
}

/* How a value is written. PLAIN and the quotes; LINES: between lines that begin with ';'. */
enum { PLAIN = 0, LINES = ';' };
static char quote_of(const char *text)
{
    bool plain = *text && !strchr("_#$'\"[];", *text) && !wfl_star_begins(text, "data_") &&
                 !wfl_star_begins(text, "loop_") && !wfl_star_begins(text, "save_") &&
                 !wfl_star_begins(text, "stop_") && !wfl_star_begins(text, "global_");
    bool line_ends = false;
    for (const char *c = text; *c; c++) {
        plain = plain && !wfl_star_is_blank(*c);
        line_ends = line_ends || *c == '\n' || *c == '\r';
    }
    if (plain)
        return PLAIN;
    return line_ends ? LINES : !ends_quote(text, '"') ? '"' : !ends_quote(text, '\'') ? '\'' : LINES;
}

static size_t width_of(const char *text)
{
    char quote = quote_of(text);
    return quote == LINES ? 0 : strlen(text) + (quote == PLAIN ? 0 : 2);
}

/* Writes a value, right-aligned. */
static void put_value(pen *p, const char *text, size_t width)
{
    char quote = quote_of(text);
    if (quote == LINES) {
        size_t size = strlen(text);
        put_text(p, "\n;");
        put_text(p, text);
        /* of a '\r' before the last '\n', readers take both as the end of the line */
        put_text(p, size && text[size - 1] == '\r' ? "\r\n;\n" : "\n;\n");
        return;
    }
    size_t length = width_of(text);
    put_blanks(p, width > length ? width - length : 0);
    put(p, &quote, quote != PLAIN);
    put_text(p, text);
    put(p, &quote, quote != PLAIN);
}

static void put_pairs(pen *p, const wfl_star_table *t)
{
    size_t longest = 0;
    for (int c = 0; c < t->columns; c++)
        longest = strlen(t->column[c].name) > longest ? strlen(t->column[c].name) : longest;
    for (int c = 0; c < t->columns; c++) {
        put_text(p, "_");
        put_text(p, t->column[c].name);
        put_blanks(p, longest - strlen(t->column[c].name) + 1);
        put_value(p, t->column[c].value[0], 0);
        put_text(p, "\n");
    }
}

static void put_loop(pen *p, const wfl_star_table *t, size_t *width)
{
    put_text(p, "loop_\n");
    for (int c = 0; c < t->columns; c++) {
        char number[32];
        snprintf(number, sizeof number, " #%d\n", c + 1);
        put_text(p, "_");
        put_text(p, t->column[c].name);
        put_text(p, number);
        width[c] = 0;
        for (int64_t i = 0; i < t->rows; i++) {
            size_t w = width_of(t->column[c].value[i]);
            width[c] = w > width[c] ? w : width[c];
        }
    }
    for (int64_t i = 0; i < t->rows; i++) {
        for (int c = 0; c < t->columns; c++) {
            put_text(p, c ? " " : "");
            put_value(p, t->column[c].value[i], width[c]);
        }
        put_text(p, "\n");
    }
}

static void put_table(pen *p, const wfl_star_table *t, size_t *width)
{
    put_text(p, "\n");
    if (!t->goes_on) {
        if (t->comment) {
            put_text(p, t->comment);
            put_text(p, "\n\n");
        }
        put_text(p, "data_");
        put_text(p, t->name);
        put_text(p, "\n\n");
    }
    if (t->is_loop)
        put_loop(p, t, width);
    else
        put_pairs(p, t);
}

wf_status wf_star_save(const wf_star *star, const char *path)
{
    if (!star)
        return WF_ERR_ARG;
    wf_status status = wfl_io_check_arguments(star->ctx, path, NULL);
    if (status == WF_OK && !star->tables)
        status = wfl_io_fail(star->ctx, path, WF_ERR_ARG, "wf_star_save: there is no table");
    for (int i = 0; i < star->tables && status == WF_OK; i++)
        if (star->table[i].is_loop && !star->table[i].columns)
            status = wfl_io_fail(star->ctx, path, WF_ERR_ARG, "wf_star_save: table data_%.100s has no columns",
                                 star->table[i].name);
    if (status != WF_OK)
        return status;
    wf_freeze_refuse(star->ctx, "wf_star_save", "a replay would not write the file again");
    const wf_meta meta = { .size = sizeof meta };
    pen p = { .buffer = malloc(IO_CHUNK) };
    size_t *width = calloc(STAR_COLUMNS, sizeof *width);
    if (!p.buffer || !width)
        status = wfl_io_fail_memory(star->ctx, path, (int64_t)IO_CHUNK);
    if (status == WF_OK)
        status = wfl_io_create(star->ctx, path, &meta, &p.writer);
    if (status == WF_OK && width) {
        for (int i = 0; i < star->tables; i++)
            put_table(&p, &star->table[i], width);
        put_text(&p, "\n");
        flush(&p);
        status = wfl_io_finish(&p.writer, WF_OK);
    }
    free(p.buffer);
    free(width);
    return status;
}
