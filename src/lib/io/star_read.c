/* star_read.c - reads the text of STAR files.
 *
 * The text is one buffer, in which each value is ended by a 0 where its separator was. Syntax: words between blanks,
 * words in quotes (a quote ends where a blank follows), texts between lines that begin with ';', comments from a word
 * that begins with '#' to the end of the line. Words that begin with '_' are names, data_NAME begins a block, loop_ a
 * list of names and then rows.
 *
 * A line holds whole rows of a loop, or a part of one row. So a row with a value too few or too many is an error at its
 * line, though the syntax alone would only move all values that follow. Values may begin with data_ or '_', as names of
 * files do: after the first value of a row, and where further values follow on the line of a data_ word. A data_ or loop_
 * word with a line of its own is no value, so that a short row does not take in the block that follows.
 */
#include "star.h"
#include <stdlib.h>
#include <string.h>

typedef enum kind { END, VALUE, NAME, DATA, LOOP } kind;

typedef struct token {
    kind kind;
    char *text; /* of names without '_', of blocks without "data_" */
    int64_t line;
} token;

typedef struct scanner {
    wf_star *s;
    char *at, *end;          /* *end is 0 */
    int64_t line, word_line; /* of `at`; where the last word ended */
    bool line_begins;        /* `at` is the first place of a line */
    char *comment;           /* the first of the comments since the last word; NULL: none */
    char *comment_end;
} scanner;

static wf_status bad_line(const scanner *r, int64_t line, const char *what, const char *text)
{
    return wfl_io_fail(r->s->ctx, r->s->path, WF_ERR_IO, "line %lld: %s%.100s", (long long)line, what, text);
}

/* Moves over a character. */
static void step(scanner *r)
{
    r->line_begins = *r->at == '\n';
    r->line += r->line_begins;
    r->at++;
}

/* Goes to the next word, or the end, and keeps the place of comments that are lines of their own. */
static void skip_blanks(scanner *r)
{
    r->comment = NULL;
    while (r->at < r->end) {
        if (*r->at == '#') {
            if (r->line_begins && !r->comment)
                r->comment = r->at;
            while (r->at < r->end && *r->at != '\n')
                step(r);
            if (r->comment)
                r->comment_end = r->at;
        } else if (wfl_star_is_blank(*r->at)) {
            step(r);
        } else {
            return;
        }
    }
}

/* Reads a text between lines that begin with ';'. */
static wf_status read_lines(scanner *r, token *t)
{
    int64_t first = r->line;
    step(r);
    t->text = r->at;
    while (r->at < r->end && !(r->line_begins && *r->at == ';'))
        step(r);
    if (r->at == r->end)
        return bad_line(r, first, "a text that begins with ';' does not end", "");
    r->at[-1] = 0;
    if (r->at - t->text > 1 && r->at[-2] == '\r')
        r->at[-2] = 0;
    r->word_line = r->line;
    step(r);
    return WF_OK;
}

/* Ends a word at the current place, which is a blank or the end. */
static void end_word(scanner *r)
{
    char *at = r->at;
    r->word_line = r->line;
    if (at < r->end)
        step(r);
    *at = 0;
}

static wf_status read_quoted(scanner *r, token *t)
{
    char quote = *r->at++;
    t->text = r->at;
    while (r->at < r->end && *r->at != '\n' &&
           !(*r->at == quote && (r->at + 1 == r->end || wfl_star_is_blank(r->at[1]))))
        r->at++;
    if (r->at == r->end || *r->at == '\n')
        return bad_line(r, r->line, quote == '"' ? "the quote \" does not end: " : "the quote ' does not end: ",
                        (*r->at = 0, t->text));
    *r->at++ = 0;
    r->line_begins = false;
    r->word_line = r->line;
    if (r->at < r->end)
        step(r);
    return WF_OK;
}

/* True if no words follow on the line. */
static bool line_ends(const char **at)
{
    while (**at == ' ' || **at == '\t')
        ++*at;
    return !**at || **at == '\n' || **at == '\r' || **at == '#';
}

/* True if words follow on the line, the first of which is a value. */
static bool values_follow(const char *at) { return !line_ends(&at) && *at != '_' && !wfl_star_begins(at, "loop_"); }

/* Reads the next word. `in_row`: words that are names or begin blocks elsewhere are values, but for data_ and loop_ words
 * with a line of their own; `may_row`: those that begin blocks are, if values follow on their line. */
static wf_status next_token(scanner *r, bool in_row, bool may_row, token *t)
{
    skip_blanks(r);
    *t = (token){ .kind = VALUE, .text = r->at, .line = r->line };
    if (r->at == r->end) {
        t->kind = END;
        return WF_OK;
    }
    if (*r->at == ';' && r->line_begins)
        return read_lines(r, t);
    if (*r->at == '"' || *r->at == '\'')
        return read_quoted(r, t);
    char *word = r->at;
    const bool first = r->line > r->word_line;
    while (r->at < r->end && !wfl_star_is_blank(*r->at))
        r->at++;
    r->line_begins = false;
    const char *after = r->at;
    const bool loop = wfl_star_begins(word, "loop_") && r->at - word == 5;
    const bool alone = first && (loop || wfl_star_begins(word, "data_")) && line_ends(&after);
    bool in_values = (in_row && !alone) || (may_row && *word != '_' && values_follow(r->at));
    end_word(r);
    if (in_values)
        return WF_OK;
    if (*word == '_') {
        t->kind = NAME;
        t->text = word + 1;
        return word[1] ? WF_OK : bad_line(r, t->line, "a name is empty: ", word);
    }
    if (wfl_star_begins(word, "data_")) {
        t->kind = DATA;
        t->text = word + 5;
    } else if (loop) {
        t->kind = LOOP;
    } else if (wfl_star_begins(word, "save_") || (wfl_star_begins(word, "global_") && !word[7]) ||
               (wfl_star_begins(word, "stop_") && !word[5])) {
        return wfl_io_fail(r->s->ctx, r->s->path, WF_ERR_UNSUPPORTED, "line %lld: %.100s is not read",
                           (long long)t->line, word);
    }
    return WF_OK;
}

static wf_status add_column(scanner *r, wfl_star_table *t, const token *name)
{
    if (wfl_star_exact_column(t, name->text))
        return bad_line(r, name->line, "a name that the table has already: _", name->text);
    return wfl_star_add_column(r->s, t, name->text) ? WF_OK : wf_last_status(r->s->ctx);
}

static wf_status bad_row(const scanner *r, const wfl_star_table *t, int64_t line, int64_t values)
{
    return wfl_io_fail(r->s->ctx, r->s->path, WF_ERR_IO,
                       "line %lld: %lld values in a row of table data_%.100s, which has %d columns", (long long)line,
                       (long long)values, t->name, t->columns);
}

/* Reads the rows of a loop; *t is its first value, and becomes what follows. */
static wf_status read_rows(scanner *r, wfl_star_table *table, token *t)
{
    int column = 0;
    int64_t line = 0, on_line = 0;                /* the line of the last value; values on it */
    int64_t row_line = 0, on_row_line = 0;        /* the line where the row begins; its values on that */
    bool line_begins_row = false, inside = false; /* inside: the row begins within its line */
    wf_status status = WF_OK;
    for (; t->kind == VALUE && status == WF_OK; status = next_token(r, column > 0, table->columns > 1, t)) {
        bool first = t->line != line;
        if (column > 0 && first && inside)
            return bad_row(r, table, row_line, on_line);
        if (column == 0 && !first && !line_begins_row)
            return bad_row(r, table, row_line, on_row_line);
        if (first) {
            line_begins_row = column == 0;
            on_line = 0;
        }
        if (column == 0) {
            status = wfl_star_grow(r->s, table);
            if (status != WF_OK)
                return status;
            inside = !first;
            row_line = t->line;
            on_row_line = 0;
            table->line[table->rows] = t->line;
        }
        on_line++;
        on_row_line += t->line == row_line;
        line = t->line;
        table->column[column].value[table->rows] = t->text;
        column = column + 1 < table->columns ? column + 1 : 0;
        table->rows += column == 0;
    }
    if (status == WF_OK && column > 0)
        return bad_row(r, table, row_line, inside ? on_line : column);
    return status;
}

static wf_status read_loop(scanner *r, wfl_star_table *table, token *t)
{
    int64_t line = t->line;
    wf_status status = next_token(r, false, false, t);
    while (status == WF_OK && t->kind == NAME) {
        status = add_column(r, table, t);
        if (status == WF_OK)
            status = next_token(r, false, true, t);
    }
    if (status == WF_OK && !table->columns)
        return bad_line(r, line, "loop_ has no names", "");
    return status == WF_OK ? read_rows(r, table, t) : status;
}

static wf_status read_pairs(scanner *r, wfl_star_table *table, token *t)
{
    wf_status status = WF_OK;
    while (status == WF_OK && t->kind == NAME) {
        token name = *t;
        status = add_column(r, table, &name);
        if (status == WF_OK)
            status = next_token(r, false, false, t);
        if (status == WF_OK && t->kind != VALUE)
            return bad_line(r, name.line, "no value follows the name _", name.text);
        if (status == WF_OK && !table->rows_cap)
            status = wfl_star_grow(r->s, table);
        if (status != WF_OK)
            return status;
        table->rows = 1;
        if (table->columns == 1)
            table->line[0] = name.line;
        table->column[table->columns - 1].value[0] = t->text;
        status = next_token(r, false, false, t);
    }
    return status;
}

/* Reads a block; *t is its data_ word, and becomes that of the next block, or the end. */
static wf_status read_block(scanner *r, token *t)
{
    const char *name = t->text, *comment = NULL;
    if (r->comment) {
        comment = wfl_star_keep(r->s, r->comment, (size_t)(r->comment_end - r->comment));
        if (!comment)
            return wf_last_status(r->s->ctx);
    }
    wf_status status = next_token(r, false, false, t);
    bool goes_on = false;
    do {
        if (status == WF_OK && t->kind == VALUE)
            return bad_line(r, t->line, "a value without a name: ", t->text);
        wfl_star_table *table = status == WF_OK ? wfl_star_add_table(r->s, name, t->kind == LOOP) : NULL;
        if (!table)
            return wf_last_status(r->s->ctx);
        table->goes_on = goes_on;
        table->comment = goes_on ? NULL : comment;
        goes_on = true;
        status = t->kind == LOOP ? read_loop(r, table, t) : read_pairs(r, table, t);
    } while (status == WF_OK && (t->kind == LOOP || t->kind == NAME || t->kind == VALUE));
    return status;
}

/* Reads the whole file to s->text, and sets *size. */
static wf_status read_text(wf_star *s, size_t *size)
{
    wfl_io_reader reader;
    wf_status status = wfl_io_open(s->ctx, s->path, &reader);
    if (status != WF_OK)
        return status;
    size_t have = 0, cap = reader.gzip ? IO_CHUNK : (size_t)reader.size, got;
    do {
        /* a byte more shows the end of the file, another one ends the text */
        status = wfl_io_resize(s->ctx, s->path, &s->text, (int64_t)cap + 2, 1);
        if (status == WF_OK)
            status = wfl_io_read_most(&reader, (int64_t)have, s->text + have, cap + 1 - have, &got);
        if (status != WF_OK)
            break;
        have += got;
        if (have <= cap)
            break;
        cap = 2 * cap;
    } while (true);
    if (status == WF_OK)
        status = wfl_io_read_end(&reader);
    wfl_io_close(&reader);
    if (status == WF_OK)
        s->text[have] = 0;
    *size = have;
    return status;
}

/* Fails at the first byte that no text has. */
static wf_status check_text(const wf_star *s, size_t size)
{
    int64_t line = 1;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)s->text[i];
        line += c == '\n';
        if ((c < ' ' && !wfl_star_is_blank((char)c)) || c == 127)
            return wfl_io_fail(s->ctx, s->path, WF_ERR_IO, "line %lld: byte %d, which text does not have",
                               (long long)line, c);
    }
    return WF_OK;
}

static wf_status read_tables(wf_star *s)
{
    size_t size = 0;
    wf_status status = read_text(s, &size);
    if (status == WF_OK)
        status = check_text(s, size);
    if (status != WF_OK)
        return status;
    scanner r = { .s = s, .at = s->text, .end = s->text + size, .line = 1, .line_begins = true };
    if (size >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0)
        r.at += 3; /* the mark of UTF-8 */
    token t;
    status = next_token(&r, false, false, &t);
    if (status == WF_OK && t.kind == END)
        return wfl_io_fail(s->ctx, s->path, WF_ERR_IO, "the file has no data_ block");
    if (status == WF_OK && t.kind != DATA)
        status = bad_line(&r, t.line, "a STAR file begins with data_, not with ",
                          t.kind == LOOP ? "loop_" : t.text - (t.kind == NAME));
    while (status == WF_OK && t.kind == DATA)
        status = read_block(&r, &t);
    return status;
}

wf_star *wf_star_load(wf_context *ctx, const char *path)
{
    if (wfl_io_check_arguments(ctx, path, NULL) != WF_OK)
        return NULL;
    wf_star *s = wfl_star_new(ctx, path);
    if (!s || read_tables(s) == WF_OK)
        return s;
    wf_star_free(s);
    return NULL;
}
