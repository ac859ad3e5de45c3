/* calc_inputs.c - operator text from files; names of arguments, and arguments that are no files. */
#include "calc.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t name_before_equals(const char *text)
{
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : 0;
    return len < NAME_CAP && is_name(text, len) ? len : 0;
}

bool take_name(const command *self, const char *text, size_t len, char (*name)[NAME_CAP], size_t n)
{
    memcpy(name[n], text, len);
    name[n][len] = 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(name[i], name[n]) == 0) {
            misused(self, "'%s' is given twice", name[n]);
            return false;
        }
    return true;
}

const char *take_argument(const command *self, const char *text, const char *forms, const char *of,
                          char (*name)[NAME_CAP], size_t n)
{
    size_t len = name_before_equals(text);
    if (len == 0 || text[len + 1] == 0)
        misused(self, "'%s': arguments are %s; the text is '%s'", text, forms, of);
    else if (n == MAX_INPUTS)
        misused(self, "more than %d arguments", MAX_INPUTS);
    else if (take_name(self, text, len, name, n))
        return text + len + 1;
    return NULL;
}

number_kind number_argument(const char *name, const char *text, wf_arg *out)
{
    double value;
    number_kind kind = parse_number(text, &value);
    const char *digits = text + (*text == '-' || *text == '+');
    int base = digits[0] == '0' && (digits[1] | 0x20) == 'x' ? 16 : 10;
    char *end;
    errno = 0;
    unsigned long long whole = strtoull(digits, &end, base);
    bool negative = *text == '-';
    if (kind != NUMBER)
        return kind;
    *out = WF_ARG(name, value);
    if (*digits < '0' || *digits > '9' || *end || errno == ERANGE || (negative && whole > (uint64_t)INT64_MAX + 1))
        return kind; /* no integer, or one of more than 64 bits */
    *out = negative ? WF_ARG(name, whole > INT64_MAX ? INT64_MIN : -(int64_t)whole) : WF_ARG(name, whole);
    if (!negative && whole <= INT64_MAX)
        *out = WF_ARG(name, (int64_t)whole);
    return kind;
}

wf_arg shape_argument(wf_context *ctx, wf_shape shape)
{
    wf_array *one = wf_full(ctx, WF_U8, WF_SHAPE(1), 0), *all = wf_view_broadcast(one, shape);
    wf_release(one);
    return WF_ARG("", all);
}

bool has_derivative(const wf_arg *arg)
{
    wf_kind kind = arg->kind == WF_ARG_ARRAY ? wf_dtype_kind(wf_array_dtype(arg->as.array)) : WF_KIND_BOOL;
    return kind == WF_KIND_FLOAT || kind == WF_KIND_COMPLEX;
}

bool ends_with_name(wf_context *ctx, const char *text)
{
    char name[NAME_CAP], *longer = append(NULL, "%s\nnext__x = 0", text);
    bool named = !wf_text_target(ctx, text, WF_LAST_TARGET, name, sizeof name) ||
                 wf_text_target(ctx, longer, WF_LAST_TARGET, name, sizeof name);
    free(longer);
    return named;
}
