/* star.h - STAR files in memory: star.c has the tables, star_read.c makes them of text, star_write.c writes them,
 * star_values.c turns columns into arrays and back. */
#ifndef WEFT_IO_STAR_H
#define WEFT_IO_STAR_H
#include "io_internal.h"
#include "weft/star.h"

typedef struct wfl_star_column {
    const char *name;   /* without '_' */
    const char **value; /* [rows_cap] */
    char *owned;        /* memory of the values; NULL: they lie in the file's text */
} wfl_star_column;

typedef struct wfl_star_table {
    const char *name;
    bool is_loop;
    bool goes_on; /* the table belongs to the block of the one before */
    int columns, columns_cap;
    int64_t rows, rows_cap;
    wfl_star_column *column;
    int64_t *line;       /* of each row in the file, [rows_cap]; NULL: the table was made by wf_star_add */
    const char *comment; /* the lines of comments before its block, each with its '#', NULL: none */
} wfl_star_table;

struct wf_star {
    wf_context *ctx;
    char *path; /* for messages */
    char *text; /* the file; its values end with 0 */
    int tables, tables_cap;
    wfl_star_table *table;
    struct wfl_star_string *strings; /* what else the tables point to */
};

enum { STAR_COLUMNS = 4096 }; /* the most that a table has */

/* Returns a file without tables, whose messages name `path`. NULL: the context has the error. */
wf_star *wfl_star_new(wf_context *ctx, const char *path);
/* Adds an empty table. NULL: the context has the error. */
wfl_star_table *wfl_star_add_table(wf_star *s, const char *name, bool is_loop);
/* Adds a column, whose values are not set; `name` must stay. NULL: the context has the error. */
wfl_star_column *wfl_star_add_column(wf_star *s, wfl_star_table *t, const char *name);
/* Allocates memory for one more row. */
wf_status wfl_star_grow(wf_star *s, wfl_star_table *t);
/* Returns a copy of a string that lives as long as the star. NULL: the context has the error. */
const char *wfl_star_keep(wf_star *s, const char *text, size_t length);
/* Returns a column by its name without '_'; NULL: there is none, and no error. */
wfl_star_column *wfl_star_exact_column(const wfl_star_table *t, const char *name);
/* The same of a name with or without '_'. */
wfl_star_column *wfl_star_find_column(const wfl_star_table *t, const char *name);
/* Returns the column; NULL: the context has an error that names the public function. */
wfl_star_column *wfl_star_column_of(const wf_star *s, int table, const char *name, const char *function);
static inline bool wfl_star_is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
/* True if `text` begins with `word`, in any case of letters; `word` is lower case. */
static inline bool wfl_star_begins(const char *text, const char *word)
{
    for (; *word; text++, word++)
        if (*text != *word && !(*text >= 'A' && *text <= 'Z' && *text + 32 == *word))
            return false;
    return true;
}
#endif
