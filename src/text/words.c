/* words.c - the words of the language that are neither operations nor names of the caller: dtypes, borders and
 * reductions.
 */
#include "text/record.h"
#include "weft/xform.h"

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

uint8_t wf__text_interpolation_named(const char *name, size_t len)
{
#define X(mode, known)             \
    if (is_word(known, name, len)) \
        return (uint8_t)mode + 1;
    WF__TEXT_INTERPOLATION_LIST(X)
#undef X
    return 0;
}

/* ---- reductions ---- */

static const struct {
    const char *name;
    uint8_t fold, least, most; /* number of arguments */
} folds[] = {
    { "sum", WF__FOLD_SUM, 1, 1 },
    { "prod", WF__FOLD_PROD, 1, 1 },
    { "mean", WF__FOLD_MEAN, 1, 1 },
    { "var", WF__FOLD_VAR, 1, 2 },
    { "variance", WF__FOLD_VAR, 1, 2 },
    { "std", WF__FOLD_STD, 1, 2 },
    { "stddev", WF__FOLD_STD, 1, 2 },
    { "any", WF__FOLD_ANY, 1, 1 },
    { "all", WF__FOLD_ALL, 1, 1 },
    { "count", WF__FOLD_COUNT, 1, 1 },
    { "min", WF__FOLD_MIN, 1, 1 },
    { "max", WF__FOLD_MAX, 1, 1 },
    { "argmin", WF__FOLD_ARGMIN, 1, 1 },
    { "argmax", WF__FOLD_ARGMAX, 1, 1 },
    { "cumsum", WF__FOLD_CUMSUM, 1, 1 },
    { "cumprod", WF__FOLD_CUMPROD, 1, 1 },
    { "cummin", WF__FOLD_CUMMIN, 1, 1 },
    { "cummax", WF__FOLD_CUMMAX, 1, 1 },
    { "median", WF__FOLD_MEDIAN, 1, 1 },
    { "quantile", WF__FOLD_QUANTILE, 2, 2 },
    { "sort", WF__FOLD_SORT, 1, 1 },
    { "argsort", WF__FOLD_ARGSORT, 1, 1 },
    { "histogram", WF__FOLD_HISTOGRAM, 2, 4 },
    { "grad", WF__FOLD_GRAD, 2, WF__TEXT_ARGUMENTS },
    { "tangent", WF__FOLD_TANGENT, 3, WF__TEXT_ARGUMENTS - 1 },
#define FUNCTION(name, arrays, least, most, axes, keeps, bools) { #name, WF__FOLD_##name, least, most },
#include "text/library.def"
#undef FUNCTION
};

const char *wf__text_fold_name(size_t i) { return i < WF__COUNT(folds) ? folds[i].name : NULL; }

bool wf__text_fold_keeps(wf__text_fold kind)
{
    switch (kind) {
#define FUNCTION(name, arrays, least, most, axes, keeps, bools) \
    case WF__FOLD_##name:                                       \
        return keeps;
#include "text/library.def"
#undef FUNCTION
    default:
        return kind >= WF__FOLD_CUMSUM && kind <= WF__FOLD_ARGSORT;
    }
}

wf__text_fold wf__text_fold_named(const char *name, size_t len, uint32_t arguments)
{
    for (size_t i = 0; i < WF__COUNT(folds); i++)
        if (is_word(folds[i].name, name, len)) {
            bool elementwise = folds[i].fold == WF__FOLD_MIN || folds[i].fold == WF__FOLD_MAX;
            return elementwise && arguments != 1 ? WF__FOLD_NONE : (wf__text_fold)folds[i].fold;
        }
    return WF__FOLD_NONE;
}

bool wf__text_fold_takes(const char *name, size_t len, uint32_t arguments, int *least, int *most)
{
    for (size_t i = 0; i < WF__COUNT(folds); i++)
        if (is_word(folds[i].name, name, len)) {
            *least = folds[i].least;
            *most = folds[i].most;
        }
    return (int)arguments >= *least && (int)arguments <= *most;
}
