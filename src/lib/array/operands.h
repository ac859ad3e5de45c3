/* operands.h - what each rank needs of the operands of a function for its block of a distributed result, as ordinary arrays. */
#ifndef WEFT_ARRAY_OPERANDS_H
#define WEFT_ARRAY_OPERANDS_H
#include "array_internal.h"
#include "weft/distributed.h"

typedef struct wfl_operand {
    wf_array *owner, *block; /* a distributed array and its block; NULL = the operand is an ordinary one */
    int part;                /* the axis of the block that was inserted; -1 = none */
    bool began;              /* the view of the block */
    wf_array *view;          /* of the elements, with the operand's last axes; NULL = this rank has failed */
} wfl_operand;

/* False, with an error: x belongs to another group than c, or is on a tape, or c is not distributed. */
bool wfl_operand_fits(const char *function, const wf_array *x, const wf_array *c);
/* Collective: gets what the ranks need of x for blocks of `dist`, over the ranks of c, and all of axis k. Axes are counted from
 * the last one; along those of another extent than in `dist`, all ranks need the same element. False: an error, the same on
 * all ranks. */
bool wfl_operand_fetch(wfl_operand *o, const char *function, const wf_array *x, const wf_array *c, const wf_dist *dist,
                       int k);
/* Begins the view of this rank's part. The memory of an array does not grow while there is one, so all is fetched before. */
void wfl_operand_begin(wfl_operand *o);
bool wfl_operand_end(wfl_operand *o);
#endif
