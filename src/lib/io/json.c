/* json.c - reads JSON in place: a check of the whole text, and then steps from value to value. */
#include "json.h"
#include <string.h>

enum { MOST_DEPTH = 64 };

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
        at++;
    return at;
}

/* Where a walk over a value stops; `bad`: the place of an error. */
typedef struct walk {
    const char *bad;
    int depth;
} walk;

static const char *fail(walk *w, const char *at)
{
    if (!w->bad)
        w->bad = at;
    return at;
}

static bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

static const char *skip_string(walk *w, const char *at)
{
    if (*at != '"')
        return fail(w, at);
    for (at++; *at != '"'; at++) {
        if ((unsigned char)*at < ' ') /* also the end of the text */
            return fail(w, at);
        if (*at != '\\')
            continue;
        at++;
        if (*at == 'u') {
            for (int i = 0; i < 4; i++)
                if (!is_hex(*++at))
                    return fail(w, at);
        } else if (!*at || !strchr("\"\\/bfnrt", *at)) {
            return fail(w, at);
        }
    }
    return at + 1;
}

static const char *skip_digits(walk *w, const char *at)
{
    if (*at < '0' || *at > '9')
        return fail(w, at);
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

static const char *skip_number(walk *w, const char *at)
{
    at += *at == '-';
    at = *at == '0' ? at + 1 : skip_digits(w, at);
    if (*at == '.')
        at = skip_digits(w, at + 1);
    if (!w->bad && (*at == 'e' || *at == 'E')) {
        at++;
        at = skip_digits(w, at + (*at == '+' || *at == '-'));
    }
    return at;
}

static const char *skip_value(walk *w, const char *at);

/* Skips an object or an array. */
static const char *skip_list(walk *w, const char *at)
{
    const char end = *at == '{' ? '}' : ']';
    if (++w->depth > MOST_DEPTH)
        return fail(w, at);
    at = skip_blanks(at + 1);
    for (bool more = *at != end; more && !w->bad;) {
        if (end == '}') {
            at = skip_blanks(skip_string(w, at));
            if (w->bad || *at != ':')
                return fail(w, at);
            at = skip_blanks(at + 1);
        }
        at = skip_blanks(skip_value(w, at));
        more = !w->bad && *at == ',';
        if (more)
            at = skip_blanks(at + 1);
    }
    w->depth--;
    return w->bad || *at != end ? fail(w, at) : at + 1;
}

static const char *skip_value(walk *w, const char *at)
{
    static const char *const words[] = { "true", "false", "null" };
    if (*at == '{' || *at == '[')
        return skip_list(w, at);
    if (*at == '"')
        return skip_string(w, at);
    for (int i = 0; i < 3; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    return skip_number(w, at);
}

const char *wfl_json_check(const char *text)
{
    walk w = { 0 };
    const char *end = skip_blanks(skip_value(&w, skip_blanks(text)));
    return w.bad ? w.bad : *end ? end : NULL;
}

/* The place after a value and the blanks that follow it. */
static const char *after(const char *value)
{
    walk w = { 0 };
    return skip_blanks(skip_value(&w, value));
}

const char *wfl_json_member(const char *value, const char *name)
{
    size_t n = strlen(name);
    if (!value || *(value = skip_blanks(value)) != '{')
        return NULL;
    for (const char *at = skip_blanks(value + 1); *at == '"';) {
        const char *key = at + 1, *colon = after(at), *member = skip_blanks(colon + 1);
        if (strncmp(key, name, n) == 0 && key[n] == '"')
            return member;
        at = after(member);
        at = *at == ',' ? skip_blanks(at + 1) : at;
    }
    return NULL;
}

const char *wfl_json_first(const char *value)
{
    if (!value || *(value = skip_blanks(value)) != '[')
        return NULL;
    value = skip_blanks(value + 1);
    return *value == ']' ? NULL : value;
}

const char *wfl_json_next(const char *element)
{
    const char *at = after(element);
    return *at == ',' ? skip_blanks(at + 1) : NULL;
}

static int hex_value(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

bool wfl_json_text(const char *value, char *out, size_t cap)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char text[128];
    size_t n = 0;
    if (!value || *value != '"')
        return false;
    for (const char *at = value + 1; *at != '"'; at++) {
        int c = *at;
        if (c == '\\' && *++at == 'u') {
            c = 0;
            for (int i = 0; i < 4; i++)
                c = 16 * c + hex_value(*++at);
            if (c < ' ' || c > '~')
                return false;
        } else if (at[-1] == '\\' && c == '\\') {
            c = to[strchr(from, *at) - from];
        }
        if (n + 1 >= cap || n + 1 >= sizeof text)
            return false;
        text[n++] = (char)c;
    }
    memcpy(out, text, n);
    out[n] = 0;
    return true;
}

bool wfl_json_integer(const char *value, int64_t *out)
{
    int64_t number = 0;
    const char *at = value;
    if (!at || *at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (number > ((INT64_C(1) << 62) - 9) / 10)
            return false;
        number = 10 * number + (*at - '0');
    }
    if (*at == '.' || *at == 'e' || *at == 'E')
        return false;
    *out = number;
    return true;
}

bool wfl_json_is_null(const char *value) { return value && strncmp(value, "null", 4) == 0; }
