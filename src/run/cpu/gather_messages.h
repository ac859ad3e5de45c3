/* gather_messages.h - what ranks tell each other for the gathers of a step (gather_messages.c). Each rank tells the others how
 * much it asks for, of all arrays together; then the numbers of the elements, and it gets the elements in return. The numbers
 * of a rank's elements of an array are a bitmap of the block, or a list where that takes less memory. */
#ifndef WEFT_CPU_GATHER_MESSAGES_H
#define WEFT_CPU_GATHER_MESSAGES_H
#include "run/cpu/gather_array.h"
#include "run/cpu/steps.h"

typedef struct wf__ask { /* for elements of one array, of one rank; goes to that rank as it is */
    int64_t n;           /* elements */
    int64_t words; /* 64-bit words that name them: a list if there are n of them, else a bitmap, which has fewer */
    int64_t first; /* number of the first bit of the bitmap */
} wf__ask;

typedef struct wf__asks { /* of this rank to all ranks, or of all ranks to this one */
    wf__ask *of;          /* [ranks][arrays] */
    uint64_t *word;       /* [words] of all asks, in their order */
    char *element;        /* [bytes] likewise */
    size_t words, bytes;
    size_t *piece_bytes, *piece_offset; /* [ranks] of the piece of a rank in a message */
} wf__asks;

typedef struct wf__asking { /* the messages of a step */
    const wf__run *run;
    const wf__others *others;
    const wf__asked_array *array; /* [arrays] */
    int arrays, threads;
    wf__asks mine, theirs;
    struct wf__ask_part *part; /* [parts] of the others' asks, each of which a thread answers at once */
    int64_t parts;
    size_t *memory; /* of piece_bytes and piece_offset */
} wf__asking;

/* Returns the number of bits that are set. Inline, where compilers call a function for processors without an instruction. */
static inline int64_t wf__bits_set(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    return (int64_t)(((x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * UINT64_C(0x0101010101010101) >> 56);
}

/* Makes room for an ask of each array to each rank, all of them empty. False = out of memory. */
bool wf__asking_begin(wf__asking *a);
void wf__asking_end(wf__asking *a);
static inline wf__ask *wf__ask_of(const wf__asking *a, const wf__asks *asks, int rank, int array)
{
    return &asks->of[rank * a->arrays + array];
}
/* Makes room for the words and elements of this rank's asks, once all are known. False = out of memory. */
bool wf__asking_lay(wf__asking *a);
/* Collective: all ranks learn what the others ask of them. Returns false, with the failure set, if they cannot. */
bool wf__asking_tell(wf__asking *a, wf__failure *f);
/* Makes room for the words and elements of the others' asks. False = out of memory. */
bool wf__asking_lay_others(wf__asking *a);
/* Collective: all ranks send the words of their asks, and get the elements. What other ranks wait for is complete also if this
 * one is cancelled. */
bool wf__asking_exchange(wf__asking *a, wf__failure *f);
#endif
