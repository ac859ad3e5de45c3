/* picture.h - draws 2-d panels of any dtype as one 8-bit picture. */
#ifndef WEFT_CLI_PICTURE_H
#define WEFT_CLI_PICTURE_H
#include "cli.h"

typedef struct panels {
    wf_context *ctx;
    wf_array **at; /* [h, w], any dtype */
    int n, cap;
    int channels; /* consecutive panels that form one image in colour; 0 = each panel is an image in grey */
} panels;
bool panels_add(panels *p, wf_array *panel); /* owns the reference from now on; false for NULL */
void panels_free(panels *p);

typedef struct contrast {
    enum { CONTRAST_PERCENTILES, CONTRAST_RANGE, CONTRAST_SIGMA } mode;
    double low, high, gamma;
    bool each, invert;
} contrast;

typedef struct layout { /* 0 = chosen by draw() */
    int shrink, enlarge;
    long columns, size;
} layout;

/* A new array: u8 [h, w], or [h, w, c] in colour. NULL: the context has the error. */
wf_array *draw(panels *p, const layout *plan, const contrast *look);
#endif
