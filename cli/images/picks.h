/* picks.h - places of particles in a micrograph, and STAR files of them. */
#ifndef WEFT_CLI_PICKS_H
#define WEFT_CLI_PICKS_H
#include "images.h"

typedef struct picks {
    double *at; /* [n, 3]: the centre y, x in pixels, from 0, and the correlation or figure of merit */
    int64_t n;
    bool scored; /* the third is known */
    /* the file that they were read from: each place's row of the table; NULL: they were found */
    wf_star *from;
    int table;
    int64_t *row;
} picks;
void free_picks(picks *p);

/* Reads the centres of a micrograph's particles: all rows, or where the file names several micrographs, those of
 * this name's last part. Returns an exit code; the caller calls free_picks. */
int read_picks(wf_context *ctx, const char *path, const char *micrograph, picks *out);
/* Writes a STAR file. Of places that were read, it has all columns of their rows, and the optics groups.
 * `stack` names a file of the particles' images with `box` pixels a side, NULL: there is none;
 * pixel: Angstrom, 0: unknown. Returns an exit code. */
int write_picks(wf_context *ctx, const char *path, const picks *p, const char *micrograph, const char *stack, long box,
                double pixel);
#endif
