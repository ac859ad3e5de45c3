/* lex.c - turns characters into tokens, and draws the picture of an error: the source line with a caret under the
 * place.
 */
#include "text/text.h"
#include <locale.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_LITERAL = 300, PICTURE_WIDTH = 96 };

void wf__text_fail(wf__text *t, wf_status status, uint32_t at, const char *format, ...)
{
    if (t->status != WF_OK)
        return;
    wf__str s = { 0 };
    va_list args;
    va_start(args, format);
    wf__str_addv(&s, format, args);
    va_end(args);
    size_t n = s.len < sizeof t->error ? s.len : sizeof t->error - 1;
    memcpy(t->error, wf__str_get(&s), n);
    t->error[n] = 0;
    wf__str_free(&s);
    t->status = status;
    t->error_at = at;
}

void wf__text_caret(const wf__text *t, uint32_t at, wf__str *out)
{
    uint32_t line = 1, column = 1, begin = 0, end;
    if (at > t->len)
        at = t->own ? t->bare_at : t->len;
    for (uint32_t i = 0; i < at; i++)
        if (t->src[i] == '\n') {
            line++;
            begin = i + 1;
        }
    for (uint32_t i = begin; i < at; i++) /* a UTF-8 character is one column */
        column += ((unsigned char)t->src[i] & 0xC0) != 0x80;
    for (end = at; end < t->len && t->src[end] != '\n';)
        end++;
    if (end > at && end < t->len && t->src[end - 1] == '\r')
        end--;
    bool cut_left = at - begin > PICTURE_WIDTH * 3 / 4;
    if (cut_left)
        begin = at - PICTURE_WIDTH / 2;
    while (cut_left && begin < at && ((unsigned char)t->src[begin] & 0xC0) == 0x80)
        begin++; /* the cut must not fall inside a UTF-8 character */
    bool cut_right = end - begin > PICTURE_WIDTH;
    if (cut_right)
        end = begin + PICTURE_WIDTH;
    while (cut_right && end > at && ((unsigned char)t->src[end] & 0xC0) == 0x80)
        end--;
    wf__str_addf(out, "\nline %u, column %u:\n  %s", line, column, cut_left ? "..." : "");
    for (uint32_t i = begin; i < end; i++) {
        char c = t->src[i];
        if ((unsigned char)c < ' ' && c != '\t')
            c = '?';
        wf__str_addn(out, &c, 1);
    }
    wf__str_addf(out, "%s\n  %s", cut_right ? "..." : "", cut_left ? "   " : "");
    for (uint32_t i = begin; i < at; i++) /* tabs stay tabs */
        if (t->src[i] == '\t')
            wf__str_add(out, "\t");
        else if (((unsigned char)t->src[i] & 0xC0) != 0x80)
            wf__str_add(out, " ");
    wf__str_add(out, "^");
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static int peek(const wf__text *t, uint32_t ahead)
{
    return t->len - t->at > ahead ? (unsigned char)t->src[t->at + ahead] : 0;
}

/* 0x1F, 0b101: up to 64 bits. */
static void scan_radix(wf__text *t, int base)
{
    wf__token *k = &t->token;
    uint64_t value = 0;
    bool overflow = false;
    uint32_t digits = 0;
    for (t->at += 2;; t->at++, digits++) {
        int c = peek(t, 0), d = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c - 'A' + 10;
        if (!(is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) || d >= base)
            break;
        overflow |= value > (UINT64_MAX - (uint64_t)d) / (uint64_t)base;
        value = value * (uint64_t)base + (uint64_t)d;
    }
    if (digits == 0)
        wf__text_fail(t, WF_ERR_SYNTAX, t->at, "expected a digit of base %d", base);
    if (overflow)
        wf__text_fail(t, WF_ERR_SYNTAX, k->at, "the number has more than 64 bits");
    k->number.bits = value;
    k->number.big = value >= 1ull << 53;
    k->number.value = (double)value;
}

/* Reads digits with a decimal point, as strtod does in the C locale; the program's locale may have another point. */
static double to_double(const char *digits, size_t n)
{
    char buf[MAX_LITERAL + 8];
    const char *point = localeconv()->decimal_point;
    size_t out = 0;
    if (strlen(point) > 4)
        point = ".";
    for (size_t i = 0; i < n; i++) {
        if (digits[i] != '.') {
            buf[out++] = digits[i];
            continue;
        }
        memcpy(buf + out, point, strlen(point));
        out += strlen(point);
    }
    buf[out] = 0;
    return strtod(buf, NULL);
}

static void scan_decimal(wf__text *t)
{
    wf__token *k = &t->token;
    wf__literal *n = &k->number;
    uint64_t value = 0;
    bool overflow = false;
    for (; is_digit(peek(t, 0)); t->at++) {
        uint64_t d = (uint64_t)(peek(t, 0) - '0');
        overflow |= value > (UINT64_MAX - d) / 10;
        value = value * 10 + d;
    }
    if (peek(t, 0) == '.') {
        n->real = true;
        for (t->at++; is_digit(peek(t, 0));)
            t->at++;
    }
    int sign = peek(t, 1) == '+' || peek(t, 1) == '-';
    if ((peek(t, 0) == 'e' || peek(t, 0) == 'E') && is_digit(peek(t, sign ? 2 : 1))) {
        n->real = true;
        for (t->at += sign ? 2 : 1; is_digit(peek(t, 0));)
            t->at++;
    }
    uint32_t len = t->at - k->at;
    if (len > MAX_LITERAL) {
        wf__text_fail(t, WF_ERR_SYNTAX, k->at, "a number of more than %d digits", MAX_LITERAL);
        return;
    }
    n->value = to_double(t->src + k->at, len);
    if (!n->real && overflow)
        wf__text_fail(t, WF_ERR_SYNTAX, k->at, "the integer has more than 64 bits: write it with a point");
    if (n->real && isinf(n->value))
        wf__text_fail(t, WF_ERR_SYNTAX, k->at, "the number is too large; infinity is inf");
    n->bits = value;
    n->big = !n->real && value >= 1ull << 53;
    if ((peek(t, 0) == 'f' || peek(t, 0) == 'F') && n->real && !is_letter(peek(t, 1)) && !is_digit(peek(t, 1)))
        t->at++; /* 1.5f, as in C */
}

static void scan_number(wf__text *t)
{
    int x = peek(t, 1) | 0x20;
    if (peek(t, 0) == '0' && (x == 'x' || x == 'b'))
        scan_radix(t, x == 'x' ? 16 : 2);
    else
        scan_decimal(t);
    if (is_letter(peek(t, 0)) || is_digit(peek(t, 0)))
        wf__text_fail(t, WF_ERR_SYNTAX, t->at, "unexpected '%c' right after a number", peek(t, 0));
    t->token.kind = t->status == WF_OK ? WF__TOK_NUMBER : WF__TOK_BAD;
    t->token.len = t->at - t->token.at;
}

/* Sets kind and length of an operator of two or three characters; false if there is none. `c`, `next` and `after` are
 * the characters. */
static bool scan_longer(wf__token *k, int c, int next, int after)
{
    static const struct {
        char text[3];
        int kind;
    } pairs[] = { { "||", WF__TOK_OROR }, { "&&", WF__TOK_ANDAND }, { "==", WF__TOK_EQ },
                  { "!=", WF__TOK_NE },   { "<=", WF__TOK_LE },     { ">=", WF__TOK_GE },
                  { "<<", WF__TOK_SHL },  { ">>", WF__TOK_SHR },    { "**", WF__TOK_POW } };
    for (size_t i = 0; i < WF__COUNT(pairs); i++)
        if (pairs[i].text[0] == c && pairs[i].text[1] == next) {
            bool assigns = (pairs[i].kind == WF__TOK_SHL || pairs[i].kind == WF__TOK_SHR) && after == '=';
            k->kind = assigns ? WF__TOK_ASSIGN_OP : pairs[i].kind;
            k->op = pairs[i].kind;
            k->len = assigns ? 3 : 2;
            return true;
        }
    if (next == '=' && after != '=' && strchr("+-*/%&|^", c)) {
        k->kind = WF__TOK_ASSIGN_OP;
        k->op = c;
        k->len = 2;
        return true;
    }
    return false;
}

/* True if an expression must follow a token of this kind, so that a line may end after it. */
static bool line_goes_on(int kind)
{
    switch (kind) {
    case WF__TOK_END:
    case WF__TOK_NUMBER:
    case WF__TOK_NAME:
    case ')':
    case ']':
    case ';':
    case '\n':
        return false;
    default:
        return true;
    }
}

/* True if the next line that is not empty begins with an operator that needs a value before it, so that the line
 * continues a statement. The signs count as such operators; ++k and --k are statements. */
static bool next_line_goes_on(const wf__text *t)
{
    uint32_t i = t->at;
    for (bool comment = false; i < t->len; i++) {
        int c = t->src[i];
        comment = c == '#' || (comment && c != '\n');
        if (!comment && c != ' ' && c != '\t' && c != '\r' && c != '\n')
            break;
    }
    int c = i < t->len ? t->src[i] : 0, next = i + 1 < t->len ? t->src[i + 1] : 0;
    bool step = (c == '+' || c == '-') && next == c;
    return c && !step && (strchr("+-*/%&|^<>?:", c) || ((c == '!' || c == '=') && next == '='));
}

static void skip_blanks(wf__text *t)
{
    int before = t->before;
    bool value = before == WF__TOK_NUMBER || before == WF__TOK_NAME || before == ')' || before == ']';
    bool lines = t->expression || t->nesting > 0 || line_goes_on(before) || (value && next_line_goes_on(t));
    for (;;) {
        int c = peek(t, 0);
        if (c == '#') {
            while (t->at < t->len && t->src[t->at] != '\n')
                t->at++;
        } else if ((c == ' ' || c == '\t' || c == '\r' || (c == '\n' && lines)) && t->at < t->len) {
            t->at++;
        } else {
            return;
        }
    }
}

/* Characters that editors and web pages put in place of those of a text. */
static const struct {
    const char *utf8, *means;
} look_alikes[] = {
    { "\xE2\x88\x92", "'\xE2\x88\x92' (a minus of Unicode); write -" },
    { "\xE2\x80\x93", "'\xE2\x80\x93' (a dash); write -" },
    { "\xE2\x80\x94", "'\xE2\x80\x94' (a dash); write -" },
    { "\xC3\x97", "'\xC3\x97'; a product is a * b" },
    { "\xC2\xB7", "'\xC2\xB7'; a product is a * b" },
    { "\xC3\xB7", "'\xC3\xB7'; a quotient is a / b" },
    { "\xE2\x89\xA4", "'\xE2\x89\xA4'; write <=" },
    { "\xE2\x89\xA5", "'\xE2\x89\xA5'; write >=" },
    { "\xE2\x89\xA0", "'\xE2\x89\xA0'; write !=" },
    { "\xC2\xA0", "no-break space; write a space" },
    { "\xE2\x80\xAF", "no-break space; write a space" },
    { "\xEF\xBB\xBF", "byte order mark, which is invisible; delete it" },
    { "\xE2\x80\x8B", "space of width 0, which is invisible; delete it" },
};

/* The error of a character that no token begins with: as itself, or a byte that is no character as a number. */
static void fail_at_character(wf__text *t)
{
    const char *at = t->src + t->at;
    unsigned first = (unsigned char)*at;
    uint32_t n = first >= 0xF0 && first < 0xF8 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0, i = 1;
    for (size_t k = 0; k < WF__COUNT(look_alikes); ++k) {
        size_t len = strlen(look_alikes[k].utf8);
        if (len <= t->len - t->at && memcmp(at, look_alikes[k].utf8, len) == 0) {
            wf__text_fail(t, WF_ERR_SYNTAX, t->at, "unexpected %s", look_alikes[k].means);
            return;
        }
    }
    while (i < n && i < t->len - t->at && ((unsigned char)at[i] & 0xC0) == 0x80)
        i++;
    if (n && i == n && first < 0xF8)
        wf__text_fail(t, WF_ERR_SYNTAX, t->at, "unexpected '%.*s'", (int)n, at);
    else
        wf__text_fail(t, WF_ERR_SYNTAX, t->at, "unexpected character 0x%02x", first);
}

void wf__text_next(wf__text *t)
{
    wf__token *k = &t->token;
    t->before = k->kind;
    skip_blanks(t);
    *k = (wf__token){ .kind = WF__TOK_BAD, .at = t->at };
    if (t->status != WF_OK)
        return;
    if (t->at == t->len) {
        k->kind = WF__TOK_END;
        return;
    }
    int c = peek(t, 0);
    if (is_digit(c) || (c == '.' && is_digit(peek(t, 1)))) {
        scan_number(t);
    } else if (is_letter(c)) {
        while (is_letter(peek(t, 0)) || is_digit(peek(t, 0)))
            t->at++;
        k->kind = WF__TOK_NAME;
        k->len = t->at - k->at;
    } else if (scan_longer(k, c, peek(t, 1), peek(t, 2))) {
        t->at += k->len;
    } else if (strchr("+-*/%&|^~!<>?:()[]{},;=\n", c) && c) {
        t->at++;
        k->kind = c;
        k->len = 1;
    } else if (c > ' ' && c < 127) {
        wf__text_fail(t, WF_ERR_SYNTAX, t->at, "unexpected '%c'", c);
    } else {
        fail_at_character(t);
    }
}
