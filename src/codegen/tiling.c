/* tiling.c - how many lanes a vector has, and how many points a step of the inner loop does at once. */
#include "codegen/body.h"

int wf__choose_width(const wf__ir *body, const wf__vary *vary, const uint8_t *live, const wf__target *target)
{
    unsigned most = 0;
    bool word = false;
    for (uint32_t i = 1; i < body->n; i++) {
        const wf__node *n = &body->node[i];
        if (!live[i] || vary[i].kind != WF__VARYING || n->dtype == WF_BOOL)
            continue;
        unsigned size = wf__size(n->dtype);
        most = size > most ? size : most;
        word |= size < 8;
    }
    if (most == 8 && word)
        most = 4; /* 64-bit values take two registers or more */
    if (!most)
        most = 4;
    int w = target->vector_bits / (8 * (int)most);
    return w > WF__LANES ? WF__LANES : w;
}

void wf__choose_tile(wf__gen *g, const wf__ir *body, int *rows, int *columns)
{
    *rows = g->options->rows > 0 ? g->options->rows : 1;
    *columns = g->options->columns > 0 ? g->options->columns : 2;
    if (body->red_n) {
        int instances = WF__LANES / g->width;
        *rows = 1;
        *columns = (*columns + instances - 1) / instances * instances;
    }
    if (body->rank < 2)
        *rows = 1;
}
