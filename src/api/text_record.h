/* text_record.h - the recorder of operator text: shared by text.c (walks the tree) and text_names.c (knows names). */
#ifndef WEFT_API_TEXT_RECORD_H
#define WEFT_API_TEXT_RECORD_H
#include "api/text.h"

typedef struct wf__text_name { /* assigned by a statement */
    uint32_t at, len;          /* in the text */
    wf__tval value;
} wf__text_name;

typedef struct wf__recorder {
    wf_graph *graph;
    const wf__text *text;
    wf_args args;
    const char *const *want; /* names whose assignments make new arrays, also where an argument has the name */
    size_t want_n;
    bool indexed; /* an index space: values are lanes */
    bool failed;
    wf__tctx convert;
    wf_shape common; /* of all array arguments, broadcast; array recordings only */
    bool fits;       /* they broadcast together */
    int32_t shaped;  /* number of arguments that have a shape */
    wf__text_name *name;
    uint32_t name_n, name_cap;
    wf__tval *value; /* per node of the tree */
} wf__recorder;

/* The first mistake: message, source line and caret. Returns poison. */
wf__tval wf__text_mistake(wf__recorder *r, wf_status status, uint32_t at, const char *format, ...) WF__PRINTF(4, 5);

void wf__text_common_shape(wf__recorder *r);
const wf_arg *wf__text_arg(const wf__recorder *r, uint32_t at, uint32_t len); /* NULL: none of that name */
wf__text_name *wf__text_assigned(const wf__recorder *r, uint32_t at, uint32_t len);
bool wf__text_wanted(const wf__recorder *r, uint32_t at, uint32_t len);

/* The value of a name: assigned, argument, or built in (pi, x, nx, i0, ...). */
wf__tval wf__text_lookup(wf__recorder *r, const wf__tree *node);
/* Index along the axis that is `from_end` from the last (1) of the common shape or space. */
wf__tval wf__text_own_index(wf__recorder *r, uint32_t at, int from_end);
/* "unknown ...; did you mean ...?". `call`: among functions. */
wf__tval wf__text_unknown(wf__recorder *r, const wf__tree *node, bool call);

/* Functions that are not of the op table: dtypes, and reductions of whole arrays. */
wf_dtype wf__text_dtype_named(const char *name, size_t len); /* WF_NONE: none */
typedef enum wf__text_fold {
    WF__FOLD_NONE,
    WF__FOLD_SUM,
    WF__FOLD_PROD,
    WF__FOLD_MIN,
    WF__FOLD_MAX,
    WF__FOLD_ANY,
    WF__FOLD_ALL,
    WF__FOLD_MEAN,
    WF__FOLD_STD
} wf__text_fold;
wf__text_fold wf__text_fold_named(const char *name, size_t len, uint32_t arguments);
#endif
