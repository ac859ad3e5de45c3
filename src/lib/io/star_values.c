/* star_values.c - columns of STAR files as arrays, and arrays as columns. The program's locale does not matter. */
#include "star.h"
#include "../floats.h"
#include "weft/functions.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

/* Reads a number: decimal digits, or nan or inf in any case of letters, with a sign or without. */
static bool parse_real(const char *text, double *out)
{
    const char *word = text + (*text == '-' || *text == '+');
    bool named = wfl_star_begins(word, "nan") || wfl_star_begins(word, "inf");
    return (named || !text[strspn(text, "0123456789+-.eE")]) && wfl_io_real(text, strlen(text), out);
}

/* Reads an integer; a fraction must be 0. */
static bool parse_integer(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    uint64_t value = 0, most = (uint64_t)INT64_MAX + negative;
    const char *c = text + (negative || *text == '+'), *first = c;
    for (; *c >= '0' && *c <= '9'; c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        if (value > (most - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    if (c == first)
        return false;
    if (*c == '.')
        for (c++; *c == '0'; c++)
            continue;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return !*c;
}

static bool is_unknown(const char *text) { return (*text == '?' || *text == '.') && !text[1]; }

static bool parse(const char *text, wf_dtype dtype, void *to, int64_t i)
{
    if (dtype == WF_I64)
        return parse_integer(text, (int64_t *)to + i);
    if (is_unknown(text)) {
        ((double *)to)[i] = NAN;
        return true;
    }
    return parse_real(text, (double *)to + i);
}

/* ---- columns to arrays ---- */

/* A new array, [rows], in the processor's memory. */
static wf_array *new_array(const wf_star *s, const char *function, wf_dtype dtype, int64_t rows, void **data)
{
    if (dtype != WF_F64 && dtype != WF_I64) {
        wfl_io_fail(s->ctx, s->path, WF_ERR_DTYPE, "%s: dtype is %s (must be f64 or i64)", function,
                    wf_dtype_name(dtype));
        return NULL;
    }
    return wfl_io_new_array(s->ctx, s->path, dtype, WF_SHAPE(rows), data);
}

/* Sets the error "line 7: NAME of table data_T is 'TEXT'" followed by `why`. Rows of tables that wf_star_add made have
 * no line and are named by their number. */
static wf_status bad_value(const wf_star *s, const wfl_star_table *t, int64_t row, const char *column, const char *why)
{
    return wfl_io_fail(s->ctx, s->path, WF_ERR_IO, "%s %lld: %.100s of table data_%.100s is '%.100s'%s",
                       t->line ? "line" : "row", (long long)(t->line ? t->line[row] : row), column, t->name,
                       wfl_star_find_column(t, column)->value[row], why);
}

static const char *must_be(wf_dtype dtype) { return dtype == WF_I64 ? " (must be an integer)" : " (must be a number)"; }

static WFL_APART wf_array *values(const wf_star *s, int table, const char *column, wf_dtype dtype)
{
    const wfl_star_column *c = wfl_star_column_of(s, table, column, "wf_star_values");
    if (!c)
        return NULL;
    const wfl_star_table *t = &s->table[table];
    void *data;
    wf_array *array = new_array(s, "wf_star_values", dtype, t->rows, &data);
    wf_status status = WF_OK;
    for (int64_t i = 0; array && i < t->rows && status == WF_OK; i++)
        if (!parse(c->value[i], dtype, data, i))
            status = bad_value(s, t, i, column, must_be(dtype));
    return array ? wfl_io_filled(array, status) : NULL;
}

wf_array *wf_star_values(const wf_star *star, int table, const char *column, wf_dtype dtype)
{
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_array *array = values(star, table, column, dtype);
    wfl_floats_end(&floats);
    return array;
}

/* A row of the other table of a join, by its key. */
typedef struct keyed {
    const char *key;
    int64_t row;
} keyed;

static int compare_keys(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

/* The first row with this key; -1: none. */
static int64_t find_key(const keyed *sorted, int64_t n, const char *key)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (strcmp(sorted[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && strcmp(sorted[low].key, key) == 0 ? sorted[low].row : -1;
}

static wf_status no_partner(const wf_star *s, const wfl_star_table *t, int64_t row, const char *by,
                            const wfl_star_table *other)
{
    char why[160];
    snprintf(why, sizeof why, ", which no row of data_%.100s has", other->name);
    return bad_value(s, t, row, by, why);
}

static WFL_APART wf_array *join(const wf_star *s, int table, const char *by, int other, const char *column,
                                wf_dtype dtype)
{
    const wfl_star_column *key = wfl_star_column_of(s, table, by, "wf_star_join");
    const wfl_star_column *other_key = key ? wfl_star_column_of(s, other, by, "wf_star_join") : NULL;
    const wfl_star_column *from = other_key ? wfl_star_column_of(s, other, column, "wf_star_join") : NULL;
    if (!from)
        return NULL;
    const wfl_star_table *t = &s->table[table], *u = &s->table[other];
    void *data;
    keyed *sorted = NULL;
    wf_array *array = new_array(s, "wf_star_join", dtype, t->rows, &data);
    if (!array)
        return NULL;
    wf_status status = wfl_io_resize(s->ctx, s->path, &sorted, u->rows + 1, sizeof *sorted);
    for (int64_t i = 0; status == WF_OK && i < u->rows; i++)
        sorted[i] = (keyed){ other_key->value[i], i };
    if (status == WF_OK)
        qsort(sorted, (size_t)u->rows, sizeof *sorted, compare_keys);
    for (int64_t i = 0, last = -1; i < t->rows && status == WF_OK; i++) {
        if (last < 0 || strcmp(other_key->value[last], key->value[i]) != 0)
            last = find_key(sorted, u->rows, key->value[i]);
        if (last < 0)
            status = no_partner(s, t, i, by, u);
        else if (!parse(from->value[last], dtype, data, i))
            status = bad_value(s, u, last, column, must_be(dtype));
    }
    free(sorted);
    return wfl_io_filled(array, status);
}

wf_array *wf_star_join(const wf_star *star, int table, const char *by, int other, const char *column, wf_dtype dtype)
{
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_array *array = join(star, table, by, other, column, dtype);
    wfl_floats_end(&floats);
    return array;
}

/* ---- arrays and strings to columns ---- */

static void print_value(wf_dtype dtype, const void *data, int64_t i, char buf[static IO_REAL])
{
    if (dtype == WF_I64)
        snprintf(buf, IO_REAL, "%lld", (long long)((const int64_t *)data)[i]);
    else if (dtype == WF_U64)
        snprintf(buf, IO_REAL, "%llu", (unsigned long long)((const uint64_t *)data)[i]);
    else if (dtype == WF_F64)
        wfl_io_print_real(((const double *)data)[i], 15, 17, buf);
    else
        wfl_io_print_real((double)((const float *)data)[i], 6, 9, buf);
}

/* Text that grows. */
typedef struct texts {
    char *text;
    size_t used, cap;
} texts;

static wf_status add_text(const wf_star *s, texts *all, const char *text)
{
    size_t length = strlen(text) + 1;
    if (all->cap - all->used < length) {
        size_t cap = 2 * (all->cap + length);
        wf_status status = wfl_io_resize(s->ctx, s->path, &all->text, (int64_t)cap, 1);
        if (status != WF_OK)
            return status;
        all->cap = cap;
    }
    memcpy(all->text + all->used, text, length);
    all->used += length;
    return WF_OK;
}

/* Gives the column the strings, which it takes. */
static wf_status set_column(wf_star *s, int table, const char *column, texts *all)
{
    wfl_star_table *t = &s->table[table];
    wfl_star_column *c = wfl_star_find_column(t, column);
    if (!c) {
        column += *column == '_';
        const char *name = wfl_star_keep(s, column, strlen(column));
        c = name ? wfl_star_add_column(s, t, name) : NULL;
        if (!c)
            return wf_last_status(s->ctx);
    }
    const char *at = all->text;
    for (int64_t i = 0; at && i < t->rows; i++) {
        c->value[i] = at;
        at += strlen(at) + 1;
    }
    free(c->owned);
    c->owned = all->text;
    all->text = NULL;
    return WF_OK;
}

/* Fails unless there is such a table and a column may have this name. */
static wf_status check_target(const wf_star *s, int table, const char *column, const char *function)
{
    if (table < 0 || table >= s->tables)
        return wfl_io_fail(s->ctx, s->path, WF_ERR_ARG, "%s: table is %d (the file has %d)", function, table,
                           s->tables);
    const char *name = column ? column + (*column == '_') : "";
    bool good = *name != 0;
    for (const char *c = name; *c; c++)
        good = good && (unsigned char)*c > ' ' && *c != 127;
    return good ? WF_OK
                : wfl_io_fail(s->ctx, s->path, WF_ERR_ARG,
                              "%s: the name of the column is '%.100s' (must not be empty, and without spaces)",
                              function, column ? column : "");
}

/* A copy of the values in the processor's memory and as one of four dtypes; NULL: an error. */
static wf_array *plain(const wf_array *values)
{
    wf_dtype dtype = wf_array_dtype(values);
    wf_kind kind = wf_dtype_kind(dtype);
    wf_dtype as = kind == WF_KIND_FLOAT ? (dtype == WF_F64 ? WF_F64 : WF_F32) : dtype == WF_U64 ? WF_U64 : WF_I64;
    wf_array *cast = wf_array_cast(values, as), *here = cast ? wfl_io_on_processor(cast) : NULL;
    wf_release(cast);
    return here;
}

static WFL_APART wf_status set(wf_star *s, int table, const char *column, const wf_array *values)
{
    wf_status status = check_target(s, table, column, "wf_star_set");
    if (status != WF_OK)
        return status;
    if (!values || wf_array_context(values) != s->ctx)
        return wfl_io_fail(s->ctx, s->path, WF_ERR_ARG, "wf_star_set: the array is %s",
                           values ? "of another context" : "NULL");
    const wfl_star_table *t = &s->table[table];
    wf_shape shape = wf_array_shape(values);
    if (shape.rank != 1 || shape.dim[0] != t->rows)
        return wfl_io_fail(s->ctx, s->path, WF_ERR_SHAPE,
                           "wf_star_set: column %.100s: an array of %d axes and %lld elements (must be one axis of "
                           "%lld, the rows of table data_%.100s)",
                           column, (int)shape.rank, (long long)wf_array_count(values), (long long)t->rows, t->name);
    if (wf_dtype_kind(wf_array_dtype(values)) == WF_KIND_COMPLEX)
        return wfl_io_fail(s->ctx, s->path, WF_ERR_DTYPE, "wf_star_set: column %.100s: the values are complex", column);
    wf_freeze_refuse(s->ctx, "wf_star_set", "a replay would not set the column again");
    wf_array *array = plain(values);
    void *data = NULL;
    int64_t stride[WF_MAX_RANK] = { 0 };
    texts all = { 0 };
    status = array ? wf_map(array, &data, stride) : wf_last_status(s->ctx);
    for (int64_t i = 0; i < t->rows && status == WF_OK; i++) {
        char buf[IO_REAL];
        print_value(wf_array_dtype(array), data, i * stride[0], buf);
        status = add_text(s, &all, buf);
    }
    if (status == WF_OK)
        status = set_column(s, table, column, &all);
    free(all.text);
    wf_release(array);
    return status;
}

wf_status wf_star_set(wf_star *star, int table, const char *column, const wf_array *values)
{
    if (!star)
        return WF_ERR_ARG;
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_status status = set(star, table, column, values);
    wfl_floats_end(&floats);
    return status;
}

/* True if a file can hold the text. */
static bool can_be_written(const char *text)
{
    for (const char *c = text; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\t' && *c != '\n') || *c == 127 || (*c == '\n' && c[1] == ';'))
            return false;
    return true;
}

wf_status wf_star_set_texts(wf_star *star, int table, const char *column, const char *const *list)
{
    if (!star)
        return WF_ERR_ARG;
    wf_status status = check_target(star, table, column, "wf_star_set_texts");
    if (status == WF_OK && !list)
        status = wfl_io_fail(star->ctx, star->path, WF_ERR_ARG, "wf_star_set_texts: texts is NULL");
    int64_t rows = status == WF_OK ? star->table[table].rows : 0;
    texts all = { 0 };
    for (int64_t i = 0; list && i < rows && status == WF_OK; i++) {
        if (!list[i] || !can_be_written(list[i]))
            status =
                wfl_io_fail(star->ctx, star->path, WF_ERR_ARG, "wf_star_set_texts: text %lld of column %.100s is %s",
                            (long long)i, column,
                            list[i] ? "none that a file can hold: it has control characters, or a line that begins "
                                      "with ';'"
                                    : "NULL");
        else
            status = add_text(star, &all, list[i]);
    }
    if (status == WF_OK)
        status = set_column(star, table, column, &all);
    free(all.text);
    return status;
}
