/* note.h - how one stage ran once, for the history of a context (src/launch/history.c). */
#ifndef WEFT_NOTE_H
#define WEFT_NOTE_H
#include "weft/weft.h"

typedef struct wf__note {
    bool explain; /* input: set `why`, although that takes time */
    bool ran;     /* false = the stage has no points, or memory ran out before it */
    wf_code_from code;
    uint64_t hash; /* hash of the code's key */
    double compile_s, run_s;
    int threads, copies; /* copies: private copies of arrays that are accumulated into; 0 = none */
    int rows, columns, lanes;
    bool nontemporal, single_thread, baseline, fused;
    char why[200]; /* reason of a compilation; "" = unknown */
} wf__note;
#endif
