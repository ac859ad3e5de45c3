/* words.c - the words of the language that are neither operations nor names of the caller: dtypes, borders and
 * reductions.
 */
#include "text/record.h"

static bool is_word(const char *word, const char *name, size_t len)
{
    return strlen(word) == len && memcmp(word, name, len) == 0;
}

/* ---- dtypes ---- */

static const struct {
    const char *name;
    wf_dtype dtype;
} c_types[] = {
    { "float", WF_F32 }, { "double", WF_F64 }, { "int", WF_I32 }, { "long", WF_I64 }, { "unsigned", WF_U32 }
};

wf_dtype wf__text_dtype_named(const char *name, size_t len)
{
    for (int t = WF_BOOL; wf_dtype_size((wf_dtype)t); t++)
        if (is_word(wf_dtype_name((wf_dtype)t), name, len))
            return (wf_dtype)t;
    for (size_t i = 0; i < WF__COUNT(c_types); i++)
        if (is_word(c_types[i].name, name, len))
            return c_types[i].dtype;
    return WF_NONE;
}

/* ---- borders ---- */

/* Returns NULL for WF_BORDER_NONE and numbers beyond the last. */
static const char *border_name(wf_border border)
{
    switch (border) { /* no default: compilers find a mode that WF__TEXT_BORDER_LIST lacks */
    case WF_BORDER_NONE:
        return NULL;
    case WF_BORDER_VALUE:
        return "zero";
#define X(mode, name) \
    case mode:        \
        return name;
        WF__TEXT_BORDER_LIST(X)
#undef X
    }
    return NULL;
}

wf_border wf__text_border_named(const char *name, size_t len)
{
    const char *known;
    for (int b = WF_BORDER_VALUE; (known = border_name((wf_border)b)) != NULL; b++)
        if (is_word(known, name, len))
            return (wf_border)b;
    return WF_BORDER_NONE;
}

/* ---- reductions ---- */

static const struct {
    const char *name;
    wf__text_fold fold;
} folds[] = { { "sum", WF__FOLD_SUM },       { "prod", WF__FOLD_PROD },    { "mean", WF__FOLD_MEAN },
              { "var", WF__FOLD_VAR },       { "variance", WF__FOLD_VAR }, { "std", WF__FOLD_STD },
              { "stddev", WF__FOLD_STD },    { "any", WF__FOLD_ANY },      { "all", WF__FOLD_ALL },
              { "count", WF__FOLD_COUNT },   { "min", WF__FOLD_MIN },      { "max", WF__FOLD_MAX },
              { "argmin", WF__FOLD_ARGMIN }, { "argmax", WF__FOLD_ARGMAX } };

const char *wf__text_fold_name(size_t i) { return i < WF__COUNT(folds) ? folds[i].name : NULL; }

wf__text_fold wf__text_fold_named(const char *name, size_t len, uint32_t arguments)
{
    for (size_t i = 0; i < WF__COUNT(folds); i++)
        if (is_word(folds[i].name, name, len))
            return folds[i].fold == WF__FOLD_MIN || folds[i].fold == WF__FOLD_MAX
                       ? arguments == 1 ? folds[i].fold : WF__FOLD_NONE
                       : folds[i].fold;
    return WF__FOLD_NONE;
}
