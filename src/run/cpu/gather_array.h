/* gather_array.h - an array whose elements ranks ask each other for, or send each other values for: which rank has an element,
 * and where it lies (gather_array.c). Elements are named in two ways: by position, in C order of the whole array, and by number,
 * in C order of the block of the rank that has them. Messages have numbers. */
#ifndef WEFT_CPU_GATHER_ARRAY_H
#define WEFT_CPU_GATHER_ARRAY_H
#include "plan/plan.h"

typedef struct wf__asked_axis { /* of the array; a whole axis is part of the axis before it where memory allows */
    int64_t dim, stride;
    int64_t lo, hi; /* of the block of this rank */
    int64_t *begin; /* [places + 1] first index of each block; NULL = the axis is whole */
    int64_t places;
    int weight;
    double per_each; /* places for each index, roughly */
} wf__asked_axis;

typedef struct wf__asked_array {
    uint32_t object;
    char *base;  /* address of element [0, ..., 0] */
    size_t size; /* bytes of an element */
    wf__asked_axis axis[WF_MAX_RANK];
    int axes;
    uint64_t elements;
    bool gives;     /* this rank gives the elements of its block; else another rank that has them, too */
    int64_t *begin; /* memory of all `begin` */
} wf__asked_array;

/* Describes the array of a gather as this rank has it. False = out of memory. */
bool wf__asked_begin(wf__asked_array *a, const wf__gathered *how, int rank, char *base, size_t size);
void wf__asked_end(wf__asked_array *a);
/* Returns the number of elements in the block of a rank. */
int64_t wf__asked_block(const wf__asked_array *a, int rank);
/* Copies the elements of this rank's block that have the numbers at[0 .. n - 1] to `to`, one after the other. */
void wf__asked_copy(const wf__asked_array *a, const uint64_t *at, int64_t n, char *to);
/* Likewise those for the bits that are set in n words, of which the first one's first bit stands for number `first`. */
void wf__asked_copy_set(const wf__asked_array *a, int64_t first, const uint64_t *bits, int64_t n, char *to);

typedef struct wf__asked_row { /* elements of the block that are adjacent along the last axis */
    int64_t begin, end;        /* numbers */
    int64_t offset;            /* of number 0, if it were in the row */
    int64_t stride;
} wf__asked_row;
/* Finds the row of an element of this rank's block. */
void wf__asked_find_row(const wf__asked_array *a, int64_t number, wf__asked_row *out);

static inline const char *wf__asked_element(const wf__asked_array *a, int64_t offset)
{
    return (const char *)((uintptr_t)a->base + (uintptr_t)offset * a->size);
}

/* Returns the address of an element of this rank's block. The row is that of the element before, { 0 } for the first one. */
static inline const char *wf__asked_of_row(const wf__asked_array *a, wf__asked_row *r, int64_t number)
{
    if (number < r->begin || number >= r->end)
        wf__asked_find_row(a, number, r);
    return wf__asked_element(a, r->offset + number * r->stride);
}

/* True if this rank gives the element at a position; sets its offset. */
static inline bool wf__asked_is_own(const wf__asked_array *a, int64_t at, int64_t *offset)
{
    bool own = a->gives;
    *offset = 0;
    for (int d = a->axes - 1; d > 0; --d) {
        const wf__asked_axis *x = &a->axis[d];
        const int64_t i = at % x->dim;
        at /= x->dim;
        *offset += i * x->stride;
        own = own && i >= x->lo && i < x->hi;
    }
    *offset += at * a->axis->stride;
    return own && at >= a->axis->lo && at < a->axis->hi;
}

static inline int64_t wf__asked_place(const wf__asked_axis *x, int64_t i)
{
    int64_t place = wf__least((int64_t)((double)i * x->per_each), x->places - 1);
    while (i < x->begin[place])
        --place;
    while (i >= x->begin[place + 1])
        ++place;
    return place;
}

/* Returns the rank that gives the element at a position, and sets the number of the element. */
static inline int wf__asked_owner(const wf__asked_array *a, int64_t at, int64_t *number)
{
    int owner = 0;
    int64_t block = 1; /* elements of the block along the axes so far */
    *number = 0;
    for (int d = a->axes - 1; d >= 0; --d) {
        const wf__asked_axis *x = &a->axis[d];
        const int64_t i = d ? at % x->dim : at;
        at = d ? at / x->dim : 0;
        if (!x->begin) {
            *number += i * block;
            block *= x->dim;
            continue;
        }
        const int64_t place = wf__asked_place(x, i);
        owner += (int)place * x->weight;
        *number += (i - x->begin[place]) * block;
        block *= x->begin[place + 1] - x->begin[place];
    }
    return owner;
}

/* Copies an element. */
static inline void wf__asked_move(char *to, const char *from, size_t size)
{
    switch (size) {
    case 1:
        memcpy(to, from, 1);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    default:
        memcpy(to, from, size);
    }
}
#endif
