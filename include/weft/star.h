/* star.h - STAR files, the text tables of RELION, as columns of numbers and strings. mmCIF files have this syntax.
 * A file is a list of tables, in order: a `loop_` is a table of rows, names with single values are a table of one row.
 * Columns have their names without '_'; arguments may have it. Text is untrusted: errors name file, line and value.
 * Threads: one at a time for each wf_star; different ones from any thread. Waits: synchronous.
 * Reference: docs/reference/star.md */
#ifndef WF_STAR_H
#define WF_STAR_H
#include "weft/weft.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct wf_star wf_star;

/* Reads a file, also in gzip. Owns: the caller frees it (wf_star_free) before the context.
 * Errors: NULL: WF_ERR_IO: no file, or it breaks the syntax: rows of unequal length, a name without value, ...
 * Cost: the text stays in memory, with 8 bytes for each value. Source: S. R. Hall, J. Chem. Inf. Comput. Sci. 31, 1991.
 * Example: wf_star *s = wf_star_load(ctx, "run_data.star"); */
WF_API wf_star *wf_star_load(wf_context *ctx, const char *path);
/* Returns a file without tables. Owns: as wf_star_load. Errors: NULL without memory. */
WF_API wf_star *wf_star_new(wf_context *ctx);
/* Writes all tables to a file that appears whole or not at all; .gz: in gzip. Comments before blocks are kept.
 * Errors: WF_ERR_IO; WF_ERR_ARG: a table without columns. */
WF_API wf_status wf_star_save(const wf_star *star, const char *path);
WF_API void wf_star_free(wf_star *star); /* NULL: does nothing */

/* Number of tables. */
WF_API int wf_star_tables(const wf_star *star);
/* The name of a table's block, "particles" of data_particles. Owns: the star. NULL: there is no such table. */
WF_API const char *wf_star_name(const wf_star *star, int table);
/* The first table whose block has this name, or -1; no error. Example: int t = wf_star_find(s, "particles"); */
WF_API int wf_star_find(const wf_star *star, const char *name);
/* Number of rows; of names with single values 1. 0: there is no such table. */
WF_API int64_t wf_star_rows(const wf_star *star, int table);
/* True for a loop_, false for names with single values, and if there is no such table. */
WF_API bool wf_star_is_loop(const wf_star *star, int table);
/* Number of columns. 0: there is no such table. */
WF_API int wf_star_columns(const wf_star *star, int table);
/* The name of a column, "rlnCoordinateX". Owns: the star. NULL: there is no such column. */
WF_API const char *wf_star_column(const wf_star *star, int table, int column);
/* True if the table has the column; no error. */
WF_API bool wf_star_has(const wf_star *star, int table, const char *column);

/* The values of a column as strings without quotes, [rows]. Owns: the star, until the column is set or the star freed.
 * Errors: NULL: WF_ERR_ARG: no such table or column. */
WF_API const char *const *wf_star_texts(const wf_star *star, int table, const char *column);
/* The values as a new array, [rows], on the context's default device, which the caller releases.
 * Dtypes: WF_F64 ('.' and '?', unknown, are NaN), WF_I64 (also of numbers such as 3.000).
 * Errors: NULL: WF_ERR_ARG: no such table or column; WF_ERR_IO: a value is no number: the message has its line.
 * Example: wf_array *x = wf_star_values(s, wf_star_find(s, "particles"), "rlnCoordinateX", WF_F64); */
WF_API wf_array *wf_star_values(const wf_star *star, int table, const char *column, wf_dtype dtype);
/* For each row of `table`, the value in `column` of the row of `other` that has the same text in `by`, [rows].
 * Dtypes, Owns: as wf_star_values. Errors: NULL; also WF_ERR_IO: no row of `other` has that text.
 * Example: wf_star_join(s, particles, "rlnOpticsGroup", optics, "rlnImagePixelSize", WF_F64); */
WF_API wf_array *wf_star_join(const wf_star *star, int table, const char *by, int other, const char *column,
                              wf_dtype dtype);

#define WF_STAR_PAIRS (-1) /* rows: names with single values, no loop_ */
/* Adds a table at the end, whose columns are to be set; rows >= 0, or WF_STAR_PAIRS. Returns its number.
 * Errors: -1: WF_ERR_ARG, WF_ERR_MEMORY. */
WF_API int wf_star_add(wf_star *star, const char *name, int64_t rows);
/* Sets a column from an array, [rows], of real numbers or bools. A column that is new becomes the last one.
 * Floats are written with the digits that give the same f64 (other floats: f32) again.
 * Errors: WF_ERR_ARG, WF_ERR_SHAPE, WF_ERR_DTYPE, WF_ERR_MEMORY; the column is as it was. */
WF_API wf_status wf_star_set(wf_star *star, int table, const char *column, const wf_array *values);
/* The same from strings, [rows], which are copied; they are quoted in the file where needed.
 * Errors: also WF_ERR_ARG: a text that no quotes can hold: control characters, a line that begins with ';'. */
WF_API wf_status wf_star_set_texts(wf_star *star, int table, const char *column, const char *const *texts);

#ifdef __cplusplus
}
#endif
#endif
