/* views.h - images of particles with their directions, shifts and transfer functions: a list of angles for the images of
 * one stack, or a STAR file that names stacks. */
#ifndef WEFT_CLI_VIEWS_H
#define WEFT_CLI_VIEWS_H
#include "images.h"
#include "weft/star.h"

typedef struct views {
    int64_t n;
    double *matrix;     /* [n, 3, 3]: rotations of wf_insert_slices */
    double *shift;      /* [n, 2]: where the particle lies, y x in pixels from the centre */
    double *ctf;        /* [n, WF_CTF_MEMBERS]; NULL: unknown */
    bool premultiplied; /* the images were multiplied by their transfer functions before */
    double pixel;       /* Angstrom; 0 = unknown */
    int64_t *image;     /* [n]: the number of the image in its file, from 0 */
    const char **file;  /* [n]: its file, as `source` writes it */
    const char *source; /* the list or the STAR file */
    wf_star *star;      /* owns the names of files; NULL: they are the command's */
    /* state of load_views: the file that is open */
    wf_file *open;
    const char *name;
    int64_t images, size; /* images of the file; rows and columns of all images */
} views;

/* An image: how the volume is turned, and where its particle lies. */
typedef struct direction {
    int line;        /* of the list */
    double image;    /* its number in the list, a whole one from 0 */
    double angle[3]; /* degrees */
    double shift[2]; /* y x in pixels from the centre */
} direction;
/* Reads a list: lines "number a b c [y x]". Returns an exit code; the caller frees *out in any case. */
int read_directions(const char *path, direction **out, int64_t *n);
/* Likewise from the columns rlnAngleRot, rlnAngleTilt, rlnAnglePsi and origins of a STAR file, whose angles are of the order
 * relion. pixel: Angstrom, 0 = unknown. */
int read_star_directions(job *j, const char *path, double pixel, direction **out, int64_t *n);

/* Opens the stack and reads the angles of its images: lines "number a b c [y x]", in degrees. `out` gets the facts of
 * the stack without data. Returns an exit code; the caller calls free_views in any case. */
int read_list(job *j, const char *path, wf_euler order, const char *stack, views *v, image *out);
/* Reads a STAR file of RELION's columns and opens the first stack. subset: of rlnRandomSubset; 0: all. As read_list. */
int read_particles(job *j, const char *path, int subset, views *v, image *out);
/* The images [count, h, w] from number `first` on, f32. NULL after a message. */
wf_array *load_views(job *j, views *v, int64_t first, int64_t count);
void free_views(views *v);
#endif
