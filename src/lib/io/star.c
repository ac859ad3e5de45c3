/* star.c - the tables of STAR files: what there is, and new tables. */
#include "star.h"
#include <stdlib.h>
#include <string.h>

typedef struct wfl_star_string {
    struct wfl_star_string *next;
    char text[];
} wfl_star_string;

enum { MOST_TABLES = 1 << 29 };

/* ---- memory ---- */

const char *wfl_star_keep(wf_star *s, const char *text, size_t length)
{
    wfl_star_string *string = malloc(sizeof *string + length + 1);
    if (!string) {
        wfl_io_fail_memory(s->ctx, s->path, (int64_t)length);
        return NULL;
    }
    memcpy(string->text, text, length);
    string->text[length] = 0;
    string->next = s->strings;
    s->strings = string;
    return string->text;
}

wfl_star_table *wfl_star_add_table(wf_star *s, const char *name, bool is_loop)
{
    if (s->tables == MOST_TABLES) {
        wfl_io_fail(s->ctx, s->path, WF_ERR_UNSUPPORTED, "more than %d tables", MOST_TABLES);
        return NULL;
    }
    int cap = s->tables < s->tables_cap ? s->tables_cap : 2 * s->tables + 4;
    if (cap > s->tables_cap && wfl_io_resize(s->ctx, s->path, &s->table, cap, sizeof *s->table) != WF_OK)
        return NULL;
    s->tables_cap = cap;
    wfl_star_table *t = &s->table[s->tables++];
    *t = (wfl_star_table){ .name = name, .is_loop = is_loop };
    return t;
}

wfl_star_column *wfl_star_add_column(wf_star *s, wfl_star_table *t, const char *name)
{
    if (t->columns == STAR_COLUMNS) {
        wfl_io_fail(s->ctx, s->path, WF_ERR_UNSUPPORTED, "table %.100s has more than %d columns", t->name,
                    STAR_COLUMNS);
        return NULL;
    }
    int cap = t->columns < t->columns_cap ? t->columns_cap : 2 * t->columns + 8;
    if (cap > t->columns_cap && wfl_io_resize(s->ctx, s->path, &t->column, cap, sizeof *t->column) != WF_OK)
        return NULL;
    t->columns_cap = cap;
    wfl_star_column *c = &t->column[t->columns];
    *c = (wfl_star_column){ .name = name };
    if (t->rows_cap && wfl_io_resize(s->ctx, s->path, &c->value, t->rows_cap, sizeof *c->value) != WF_OK)
        return NULL;
    t->columns++;
    return c;
}

wf_status wfl_star_grow(wf_star *s, wfl_star_table *t)
{
    if (t->rows < t->rows_cap)
        return WF_OK;
    int64_t cap = 2 * t->rows_cap + 4;
    wf_status status = wfl_io_resize(s->ctx, s->path, &t->line, cap, sizeof *t->line);
    for (int c = 0; c < t->columns && status == WF_OK; c++)
        status = wfl_io_resize(s->ctx, s->path, &t->column[c].value, cap, sizeof *t->column->value);
    if (status == WF_OK)
        t->rows_cap = cap;
    return status;
}

void wf_star_free(wf_star *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->tables; i++) {
        wfl_star_table *t = &s->table[i];
        for (int c = 0; c < t->columns; c++) {
            free(t->column[c].value);
            free(t->column[c].owned);
        }
        free(t->column);
        free(t->line);
    }
    free(s->table);
    while (s->strings) {
        wfl_star_string *next = s->strings->next;
        free(s->strings);
        s->strings = next;
    }
    free(s->text);
    free(s->path);
    free(s);
}

wf_star *wfl_star_new(wf_context *ctx, const char *path)
{
    char *copy;
    wf_star *s = wfl_io_new_object(ctx, path, sizeof *s, &copy);
    if (s) {
        s->ctx = ctx;
        s->path = copy;
    }
    return s;
}

wf_star *wf_star_new(wf_context *ctx) { return ctx ? wfl_star_new(ctx, "new STAR file") : NULL; }

/* ---- what there is ---- */

static wfl_star_table *table_of(const wf_star *s, int table)
{
    return s && table >= 0 && table < s->tables ? &s->table[table] : NULL;
}

int wf_star_tables(const wf_star *star) { return star ? star->tables : 0; }

const char *wf_star_name(const wf_star *star, int table)
{
    const wfl_star_table *t = table_of(star, table);
    return t ? t->name : NULL;
}

int wf_star_find(const wf_star *star, const char *name)
{
    for (int i = 0; star && name && i < star->tables; i++)
        if (strcmp(star->table[i].name, name) == 0)
            return i;
    return -1;
}

int64_t wf_star_rows(const wf_star *star, int table)
{
    const wfl_star_table *t = table_of(star, table);
    return t ? t->rows : 0;
}

bool wf_star_is_loop(const wf_star *star, int table)
{
    const wfl_star_table *t = table_of(star, table);
    return t && t->is_loop;
}

int wf_star_columns(const wf_star *star, int table)
{
    const wfl_star_table *t = table_of(star, table);
    return t ? t->columns : 0;
}

const char *wf_star_column(const wf_star *star, int table, int column)
{
    const wfl_star_table *t = table_of(star, table);
    return t && column >= 0 && column < t->columns ? t->column[column].name : NULL;
}

wfl_star_column *wfl_star_exact_column(const wfl_star_table *t, const char *name)
{
    for (int c = 0; c < t->columns; c++)
        if (strcmp(t->column[c].name, name) == 0)
            return &t->column[c];
    return NULL;
}

wfl_star_column *wfl_star_find_column(const wfl_star_table *t, const char *name)
{
    wfl_star_column *c = wfl_star_exact_column(t, name);
    return c || *name != '_' ? c : wfl_star_exact_column(t, name + 1);
}

bool wf_star_has(const wf_star *star, int table, const char *column)
{
    const wfl_star_table *t = table_of(star, table);
    return t && column && wfl_star_find_column(t, column);
}

wfl_star_column *wfl_star_column_of(const wf_star *s, int table, const char *name, const char *function)
{
    const wfl_star_table *t = table_of(s, table);
    if (!s)
        return NULL;
    if (!t)
        wfl_io_fail(s->ctx, s->path, WF_ERR_ARG, "%s: table is %d (the file has %d)", function, table, s->tables);
    else if (!name || !*name)
        wfl_io_fail(s->ctx, s->path, WF_ERR_ARG, "%s: the name of the column is NULL or empty", function);
    wfl_star_column *c = t && name && *name ? wfl_star_find_column(t, name) : NULL;
    if (t && name && *name && !c)
        wfl_io_fail(s->ctx, s->path, WF_ERR_ARG, "%s: table %.100s has no column %.200s", function, t->name, name);
    return c;
}

const char *const *wf_star_texts(const wf_star *star, int table, const char *column)
{
    static const char *const none[1] = { NULL };
    const wfl_star_column *c = wfl_star_column_of(star, table, column, "wf_star_texts");
    return !c ? NULL : c->value ? c->value : none;
}

/* ---- new tables ---- */

int wf_star_add(wf_star *star, const char *name, int64_t rows)
{
    if (!star)
        return -1;
    bool good = name != NULL;
    for (const char *c = name; good && *c; c++)
        good = (unsigned char)*c > ' ' && *c != 127;
    if (!good || rows < WF_STAR_PAIRS) {
        if (!good)
            wfl_io_fail(star->ctx, star->path, WF_ERR_ARG,
                        "wf_star_add: the name is %.100s (must be without spaces and control characters)",
                        name ? name : "NULL");
        else
            wfl_io_fail(star->ctx, star->path, WF_ERR_ARG, "wf_star_add: rows is %lld (must not be negative)",
                        (long long)rows);
        return -1;
    }
    const char *copy = wfl_star_keep(star, name, strlen(name));
    wfl_star_table *t = copy ? wfl_star_add_table(star, copy, rows != WF_STAR_PAIRS) : NULL;
    if (!t)
        return -1;
    t->rows = t->rows_cap = rows == WF_STAR_PAIRS ? 1 : rows;
    return star->tables - 1;
}
