/* fuzz_star.c - takes any bytes as a STAR file: wf_star_load gives tables or an error that names the file. Columns
 * become arrays or errors. What wf_star_save makes of the tables reads back as the same tables.
 */
#include "fuzz_files.h"
#include "weft/star.h"

static char path[96], copy[96];

static void leave(void)
{
    unlink(path);
    unlink(copy);
    leave_folder();
}

static void enter(void)
{
    enter_folder("star", leave);
    snprintf(path, sizeof path, "%s/f.star", folder);
    snprintf(copy, sizeof copy, "%s/copy.star", folder);
}

static void read_columns(const wf_star *s, int table)
{
    for (int c = 0; c < wf_star_columns(s, table); c++) {
        const char *name = wf_star_column(s, table, c);
        wf_array *real = wf_star_values(s, table, name, WF_F64), *whole;
        require(real || wf_last_status(ctx) != WF_OK, "no values and no error");
        wf_clear_error(ctx);
        whole = wf_star_values(s, table, name, WF_I64);
        require(!whole || real, "integers that are no numbers");
        wf_clear_error(ctx);
        wf_release(real);
        wf_release(whole);
        wf_release(wf_star_join(s, table, name, 0, name, WF_F64));
        wf_clear_error(ctx);
    }
}

static void compare(const wf_star *a, const wf_star *b)
{
    require(wf_star_tables(a) == wf_star_tables(b), "another number of tables");
    for (int t = 0; t < wf_star_tables(a); t++) {
        require(strcmp(wf_star_name(a, t), wf_star_name(b, t)) == 0, "another name of a table");
        require(wf_star_rows(a, t) == wf_star_rows(b, t) && wf_star_columns(a, t) == wf_star_columns(b, t) &&
                    wf_star_is_loop(a, t) == wf_star_is_loop(b, t),
                "another size of a table");
        for (int c = 0; c < wf_star_columns(a, t); c++) {
            const char *name = wf_star_column(a, t, c);
            require(strcmp(name, wf_star_column(b, t, c)) == 0, "another name of a column");
            const char *const *x = wf_star_texts(a, t, name), *const *y = wf_star_texts(b, t, name);
            for (int64_t i = 0; i < wf_star_rows(a, t); i++)
                require(strcmp(x[i], y[i]) == 0, "another value");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!ctx)
        enter();
    if (size > MOST)
        return 0;
    write_bytes(path, data, size);
    wf_star *s = wf_star_load(ctx, path), *again;
    if (!s)
        require(wf_last_status(ctx) != WF_OK && strstr(wf_last_message(ctx), path), "an error without status or file");
    wf_clear_error(ctx);
    for (int t = 0; t < wf_star_tables(s); t++)
        read_columns(s, t);
    if (s) {
        require(wf_star_save(s, copy) == WF_OK, "cannot be saved");
        again = wf_star_load(ctx, copy);
        require(again != NULL, "a saved file cannot be read");
        compare(s, again);
        wf_star_free(again);
    }
    wf_star_free(s);
    return 0;
}
