/* star.c - weft star: the tables of a STAR file, or columns of one of them. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

const char help_star[] =
    "  weft star run_data.star                                        what tables and columns there are\n"
    "  weft star run_data.star --table particles                      all values of a table\n"
    "  weft star run_data.star --columns rlnCoordinateY,rlnCoordinateX > picks.txt\n"
    "  weft star run_data.star --columns rlnDefocusU -o defocus.npy\n\n"
    "Prints a line for each row, its values separated by tabs; line ends and tabs in a value become spaces.\n\n"
    "  --table NAME           particles of data_particles (default: the longest table that has the columns)\n"
    "  --columns NAME,NAME    the columns, in this order (default: all)\n"
    "  --rows N               the first N rows\n"
    "  -o FILE                the columns as an array of rows and columns, f64: NPY\n";

enum { OUT, TABLE, COLUMNS, ROWS };
static const option options[] = {
    { "output", 'o', true }, { "table", 0, true }, { "columns", 0, true }, { "rows", 0, true }, { NULL, 0, false }
};
enum { MOST_COLUMNS = 4096 };

typedef struct request {
    const command *self;
    wf_context *ctx;
    wf_star *star;
    const char *path, *table, *out;
    char *columns;
    long rows;
    const char *name[MOST_COLUMNS];
    int names;
} request;

static const char *const plural[] = { "", "s" };

void print_star(const wf_star *star, const char *path)
{
    int n = wf_star_tables(star);
    printf("%s: STAR, %d table%s\n", path, n, plural[n != 1]);
    for (int t = 0; t < n; t++) {
        int columns = wf_star_columns(star, t);
        long long rows = (long long)wf_star_rows(star, t);
        printf("  data_%s: ", wf_star_name(star, t));
        if (wf_star_is_loop(star, t))
            printf("%lld row%s, ", rows, plural[rows != 1]);
        printf("%d %s%s:", columns, wf_star_is_loop(star, t) ? "column" : "value", plural[columns != 1]);
        for (int c = 0; c < columns; c++)
            printf(" %s", wf_star_column(star, t, c));
        putchar('\n');
    }
}

/* True if the table has all columns that were asked for. */
static bool has_all(const request *r, int table)
{
    for (int i = 0; i < r->names; i++)
        if (!wf_star_has(r->star, table, r->name[i]))
            return false;
    return true;
}

/* Says which table has the columns, if it is not the one that was asked for. */
static void refuse_columns(const request *r)
{
    int other = -1;
    for (int t = 0; t < wf_star_tables(r->star) && r->table; t++)
        if (has_all(r, t))
            other = t;
    if (!r->table)
        failed("%s: no table has the columns %s", r->path, r->columns);
    else if (other >= 0)
        failed("%s: data_%s does not have the columns %s, which data_%s has", r->path, r->table, r->columns,
               wf_star_name(r->star, other));
    else
        failed("%s: data_%s does not have the columns %s", r->path, r->table, r->columns);
}

/* The table that was asked for, or -1 after a message. */
static int choose(const request *r)
{
    int best = -1;
    for (int t = 0; t < wf_star_tables(r->star); t++) {
        bool named = !r->table || strcmp(wf_star_name(r->star, t), r->table) == 0;
        if (named && has_all(r, t) && (best < 0 || wf_star_rows(r->star, t) > wf_star_rows(r->star, best)))
            best = t;
    }
    if (best >= 0)
        return best;
    if (r->table && wf_star_find(r->star, r->table) < 0)
        failed("%s: there is no table data_%s", r->path, r->table);
    else
        refuse_columns(r);
    return -1;
}

/* Prints a value and what follows it. Its own line ends and tabs, which would end rows and columns, become spaces. */
static void print_value(const char *text, char after)
{
    for (; *text; text++)
        putchar(*text == '\n' || *text == '\r' || *text == '\t' ? ' ' : *text);
    putchar(after);
}

static int print_rows(const request *r, int table, int64_t rows)
{
    const char *const *text[MOST_COLUMNS];
    for (int c = 0; c < r->names; c++) {
        text[c] = wf_star_texts(r->star, table, r->name[c]);
        if (!text[c])
            return failed_in(r->ctx);
    }
    for (int64_t i = 0; i < rows; i++)
        for (int c = 0; c < r->names; c++)
            print_value(text[c][i], c + 1 < r->names ? '\t' : '\n');
    return EXIT_OK;
}

static int save_rows(const request *r, int table, int64_t rows)
{
    wf_array *all = wf_empty(r->ctx, WF_F64, WF_SHAPE(rows, r->names), .device = WF_CPU);
    void *to, *from;
    bool ok = all && wf_map(all, &to, NULL) == WF_OK;
    for (int c = 0; c < r->names && ok; c++) {
        wf_array *column = wf_star_values(r->star, table, r->name[c], WF_F64);
        ok = column && wf_map(column, &from, NULL) == WF_OK;
        for (int64_t i = 0; i < rows && ok; i++)
            ((double *)to)[i * r->names + c] = ((const double *)from)[i];
        wf_release(column);
    }
    ok = ok && wf_save(all, r->out, NULL) == WF_OK;
    wf_release(all);
    return ok ? EXIT_OK : failed_in(r->ctx);
}

static int show(request *r)
{
    r->star = wf_star_load(r->ctx, r->path);
    if (!r->star)
        return failed_in(r->ctx);
    if (!r->table && !r->columns && !r->rows && !r->out) {
        print_star(r->star, r->path);
        return EXIT_OK;
    }
    int table = choose(r);
    if (table < 0)
        return EXIT_FAILED;
    for (int c = 0; !r->columns && c < wf_star_columns(r->star, table); c++)
        r->name[r->names++] = wf_star_column(r->star, table, c);
    int64_t rows = wf_star_rows(r->star, table);
    if (r->rows && r->rows < rows)
        rows = r->rows;
    return r->out ? save_rows(r, table, rows) : print_rows(r, table, rows);
}

/* Takes the names between the commas apart. */
static int read_columns(request *r)
{
    for (char *at = r->columns; at; r->names++) {
        char *comma = strchr(at, ',');
        size_t length = comma ? (size_t)(comma - at) : strlen(at);
        if (!length || r->names == MOST_COLUMNS)
            return misused(r->self, "--columns %s: give names separated by commas", r->columns);
        r->name[r->names] = append(NULL, "%.*s", (int)length, at);
        at = comma ? comma + 1 : NULL;
    }
    return EXIT_OK;
}

int run_star(const command *self, int argc, char **argv)
{
    arguments a = { .command = self, .options = options, .argc = argc, .argv = argv, .host_only = true };
    request *r = allocate(1, sizeof *r);
    r->self = self;
    int result = EXIT_OK, o, given = 0;
    while (result == EXIT_OK && (o = next_argument(&a)) != ARG_END) {
        if (o == ARG_OPERAND && r->path)
            result = misused(self, "'%s': one file at a time", a.value);
        else if (o == ARG_OPERAND)
            r->path = a.value;
        else if (o < 0) {
            free(r);
            return ended(o);
        } else if (o == TABLE)
            r->table = strncmp(a.value, "data_", 5) == 0 ? a.value + 5 : a.value;
        else if (o == COLUMNS)
            r->columns = (char *)a.value;
        else if (o == OUT)
            r->out = a.value;
        else if (!parse_int(a.value, 1, 1L << 62, &r->rows))
            result = misused(self, "--rows %s: give a number of rows", a.value);
    }
    if (result == EXIT_OK && !r->path)
        result = misused(self, "no file");
    if (result == EXIT_OK && r->columns)
        result = read_columns(r);
    given = r->names;
    r->ctx = result == EXIT_OK ? open_context(&a) : NULL;
    if (result == EXIT_OK && !r->ctx)
        result = EXIT_USAGE;
    if (result == EXIT_OK && r->out)
        result = check_output(&a, r->ctx, r->out, 0);
    if (result == EXIT_OK)
        result = show(r);
    for (int i = 0; i < given; i++)
        free((void *)r->name[i]);
    wf_star_free(r->star);
    if (r->ctx)
        wf_context_free(r->ctx);
    free(r);
    return result;
}
