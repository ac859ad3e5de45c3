/* eer.h - EER files, movies of Falcon cameras: eer_directory.c finds the frames, eer.c decodes them.
 *
 * An EER file is a TIFF, mostly a BigTIFF, whose pages are frames of compression 65000 to 65002: a string of bits that
 * lists the electrons in the order of the pixels. A code has `skip` bits, the number of pixels without an electron
 * before the next one, and then `across` and `down` bits, which say where in its pixel the electron fell. A skip of all
 * ones stands for that number of pixels without an electron after them; only in compression 65000 do bits of a place
 * follow it, which have no meaning.
 */
#ifndef WEFT_IO_EER_H
#define WEFT_IO_EER_H
#include "io_internal.h"

typedef struct wfl_eer_strip {
    int64_t offset, bytes;
} wfl_eer_strip;

/* How frames are stored, in which all agree. */
typedef struct wfl_eer_code {
    int64_t width, height; /* of the detector */
    int skip, across, down;
    bool padded; /* a skip of all ones is followed by bits that mean nothing */
} wfl_eer_code;

typedef struct wfl_eer_file {
    wfl_eer_code code;
    int64_t frames, frames_cap, strips, strips_cap;
    int64_t *first;       /* of each frame: its first strip, [frames + 1] */
    wfl_eer_strip *strip; /* their bits follow each other */
    double pixel;         /* Angstrom; 0: the file does not say it */
    int64_t group;        /* frames of an image */
    int factor;           /* pixels of an image along a pixel of the detector */
    uint8_t *bits;        /* of a frame */
    int64_t bits_cap;
} wfl_eer_file;

enum {
    EER_FIRST = 65000, /* the first and the last number of EER's compressions */
    EER_LAST = 65002,
    EER_PADDING = 8 /* bytes of 0 after the bits of a frame in memory: the decoder loads eight bytes at a time */
};

/* True if the first page of a TIFF file is a frame of an EER file. */
bool wfl_eer_is(wfl_io_reader *reader);
/* Reads all directories. Memory that they need belongs to `file`, also after an error. */
wf_status wfl_eer_directories(wfl_io_reader *reader, wfl_eer_file *file);
#endif
