/* note.h - what became of one stage in one run: for the history of a context (src/launch/history.c). */
#ifndef WEFT_NOTE_H
#define WEFT_NOTE_H
#include "weft/weft.h"

typedef struct wf__note {
    bool explain; /* in: also where finding out takes a while */
    bool ran;     /* else it has no points, or memory ran out before */
    wf_code_from code;
    uint64_t hash; /* of the code's key */
    double compile_s, run_s;
    int threads, copies; /* copies: of arrays that are accumulated into; 0: none */
    int rows, columns, lanes;
    bool nontemporal, single_thread, baseline, fused;
    char why[200]; /* of a compilation; "" */
} wf__note;
#endif
