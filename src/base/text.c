/* text.c - building text. */
#include "base/base.h"
#include <stdio.h>

char *wf__strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = wf__alloc(n);
    return copy ? memcpy(copy, s, n) : NULL;
}

bool wf__str_reserve(wf__str *s, size_t more)
{
    size_t need;
    if (s->failed || !wf__add_size(s->len, more, &need) || !wf__add_size(need, 1, &need)) {
        s->failed = true;
        return false;
    }
    if (need <= s->cap)
        return true;
    size_t cap = s->cap ? s->cap * 2 : 128;
    if (cap < need)
        cap = need;
    char *grown = wf__realloc(s->at, cap);
    if (!grown) {
        s->failed = true;
        return false;
    }
    s->at = grown;
    s->cap = cap;
    return true;
}

void wf__str_addn(wf__str *s, const char *text, size_t n)
{
    if (!wf__str_reserve(s, n))
        return;
    memcpy(s->at + s->len, text, n);
    s->len += n;
    s->at[s->len] = 0;
}

void wf__str_add(wf__str *s, const char *text) { wf__str_addn(s, text, strlen(text)); }

void wf__str_addv(wf__str *s, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && wf__str_reserve(s, (size_t)n)) {
        vsnprintf(s->at + s->len, (size_t)n + 1, format, again);
        s->len += (size_t)n;
    }
    va_end(again);
}

void wf__str_addf(wf__str *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    wf__str_addv(s, format, args);
    va_end(args);
}

void wf__str_free(wf__str *s)
{
    wf__free(s->at);
    *s = (wf__str){ 0 };
}

const char *wf__str_get(const wf__str *s) { return s->at ? s->at : ""; }
