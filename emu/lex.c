/* lex.c - splits PTX text into tokens, and reports errors with the number and the text of the line. */
#include "emu/parse.h"
#include <ctype.h>
#include <stdlib.h>
#include "emu/number.h"

bool wfe_is(emu_slice s, const char *text) { return strlen(text) == s.n && !memcmp(s.at, text, s.n); }

bool wfe_fail(emu_parser *p, const char *format, ...)
{
    if (p->failed)
        return false;
    p->failed = true;
    wf__str *e = &p->m->error;
    wf__str_addf(e, "line %u: ", p->token_line);
    va_list args;
    va_start(args, format);
    wf__str_addv(e, format, args);
    va_end(args);
    const char *line = p->m->text;
    for (uint32_t i = 1; i < p->token_line && line < p->end; line++)
        i += *line == '\n';
    while (line < p->end && (*line == ' ' || *line == '\t'))
        line++;
    size_t n = 0;
    while (line + n < p->end && line[n] != '\n' && line[n] != '\r' && n < 200)
        n++;
    wf__str_add(e, "\n    ");
    wf__str_addn(e, line, n);
    wf__str_add(e, "\n");
    return false;
}

bool wfe_out_of_memory(emu_parser *p)
{
    p->failed = p->no_memory = true;
    return false;
}

static void skip_space(emu_parser *p)
{
    while (p->at < p->end) {
        const char *s = p->at;
        if (*s == '\n') {
            p->line++;
            p->at++;
        } else if (isspace((unsigned char)*s)) {
            p->at++;
        } else if (*s == '/' && s + 1 < p->end && s[1] == '/') {
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        } else if (*s == '/' && s + 1 < p->end && s[1] == '*') {
            p->at += 2;
            while (p->at < p->end && !(p->at[0] == '*' && p->at + 1 < p->end && p->at[1] == '/')) {
                p->line += *p->at == '\n';
                p->at++;
            }
            p->at = p->at + 2 <= p->end ? p->at + 2 : p->end;
        } else {
            return;
        }
    }
}

static bool word_char(int c) { return isalnum(c) || c == '_' || c == '$' || c == '%'; }

static void read_word(emu_parser *p)
{
    const char *start = p->at;
    bool directive = *start == '.';
    p->at++;
    while (p->at < p->end) {
        int c = (unsigned char)*p->at;
        if (word_char(c) || (c == '.' && !directive && p->at + 1 < p->end && word_char((unsigned char)p->at[1])))
            p->at++;
        else if (c == ':' && p->at + 1 < p->end && p->at[1] == ':')
            p->at += 2;
        else
            break;
    }
    p->token = EMU_TOK_WORD;
    p->text = (emu_slice){ start, (uint32_t)(p->at - start) };
}

static bool read_hex_float(emu_parser *p, unsigned digits)
{
    uint64_t bits = 0;
    if (p->end - p->at < 2 + (int)digits)
        return wfe_fail(p, "a float literal of %u hexadecimal digits is cut short", digits);
    for (unsigned i = 0; i < digits; i++) {
        int c = tolower((unsigned char)p->at[2 + i]);
        if (!isxdigit(c))
            return wfe_fail(p, "a float literal needs %u hexadecimal digits", digits);
        bits = bits << 4 | (uint64_t)(isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    p->at += 2 + digits;
    p->token = EMU_TOK_FLOAT;
    p->has_bits32 = digits == 8;
    p->bits32 = (uint32_t)bits;
    p->number = digits == 8 ? emu_bits64((double)emu_f32(bits)) : bits;
    return true;
}

static bool read_decimal_float(emu_parser *p)
{
    char copy[64];
    size_t n = 0;
    while (p->at + n < p->end && n < sizeof copy - 1) {
        char c = p->at[n];
        bool sign = (c == '+' || c == '-') && n > 0 && (p->at[n - 1] == 'e' || p->at[n - 1] == 'E');
        if (!isdigit((unsigned char)c) && c != '.' && c != 'e' && c != 'E' && !sign)
            break;
        copy[n++] = c;
    }
    copy[n] = 0;
    char *stop;
    double x = strtod(copy, &stop);
    if (*stop || n == sizeof copy - 1)
        return wfe_fail(p, "not a number: %s", copy);
    p->at += n;
    p->token = EMU_TOK_FLOAT;
    p->number = emu_bits64(x);
    return true;
}

static bool read_number(emu_parser *p)
{
    const char *s = p->at;
    int second = s + 1 < p->end ? tolower((unsigned char)s[1]) : 0;
    p->has_bits32 = false;
    if (*s == '0' && second == 'f')
        return read_hex_float(p, 8);
    if (*s == '0' && second == 'd')
        return read_hex_float(p, 16);
    unsigned base = *s != '0' ? 10 : second == 'x' ? 16 : second == 'b' ? 2 : isdigit(second) ? 8 : 10;
    const char *at = s + (base == 16 || base == 2 ? 2 : base == 8 ? 1 : 0), *first = at;
    uint64_t x = 0;
    for (; at < p->end && isxdigit((unsigned char)*at); at++) {
        int c = tolower((unsigned char)*at);
        unsigned digit = isdigit(c) ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
        if (digit >= base)
            break;
        if (x > (UINT64_MAX - digit) / base)
            return wfe_fail(p, "an integer literal has more than 64 bits");
        x = x * base + digit;
    }
    if (base == 10 || base == 8) {
        const char *q = at;
        while (q < p->end && isdigit((unsigned char)*q))
            q++;
        if (q < p->end && (*q == '.' || *q == 'e' || *q == 'E'))
            return read_decimal_float(p);
    }
    if (at == first)
        return wfe_fail(p, "not a number");
    if (at < p->end && *at == 'U')
        at++;
    if (at < p->end && word_char((unsigned char)*at))
        return wfe_fail(p, "an integer literal has a digit outside its base");
    p->at = at;
    p->token = EMU_TOK_INT;
    p->number = x;
    return true;
}

void wfe_next(emu_parser *p)
{
    skip_space(p);
    p->token_line = p->failed ? p->token_line : p->line;
    p->text = (emu_slice){ p->at, 0 };
    p->token = EMU_TOK_END;
    if (p->at >= p->end || p->failed)
        return;
    int c = (unsigned char)*p->at;
    if (isdigit(c)) {
        const char *start = p->at;
        read_number(p);
        p->text = (emu_slice){ start, (uint32_t)(p->at - start) };
    } else if (word_char(c) || (c == '.' && p->at + 1 < p->end && word_char((unsigned char)p->at[1]))) {
        read_word(p);
    } else if (c == '"') {
        const char *start = ++p->at;
        while (p->at < p->end && *p->at != '"' && *p->at != '\n')
            p->at++;
        p->text = (emu_slice){ start, (uint32_t)(p->at - start) };
        p->token = EMU_TOK_STRING;
        if (p->at >= p->end || *p->at != '"')
            wfe_fail(p, "a string has no end");
        else
            p->at++;
    } else {
        p->token = EMU_TOK_PUNCT;
        p->text.n = 1;
        p->at++;
    }
    if (p->failed)
        p->token = EMU_TOK_END;
}

bool wfe_at(emu_parser *p, const char *text)
{
    return (p->token == EMU_TOK_WORD || p->token == EMU_TOK_PUNCT) && wfe_is(p->text, text);
}
bool wfe_accept(emu_parser *p, const char *text)
{
    if (!wfe_at(p, text))
        return false;
    wfe_next(p);
    return true;
}
bool wfe_expect(emu_parser *p, const char *text)
{
    if (wfe_accept(p, text))
        return true;
    if (p->token == EMU_TOK_END)
        return wfe_fail(p, "'%s' was expected before the end of the text", text);
    return wfe_fail(p, "'%s' was expected, not '%.*s'", text, (int)p->text.n, p->text.at);
}

emu_type wfe_type_of(emu_slice name)
{
    for (int t = 1; t < EMU_TYPES; t++)
        if (wfe_is(name, wfe_type_name((emu_type)t)))
            return (emu_type)t;
    return EMU_NONE;
}
