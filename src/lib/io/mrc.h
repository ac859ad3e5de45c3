/* mrc.h - the header of an MRC file, for reading and writing.
 *
 * A file is a header of 1024 bytes, an extended header of NSYMBT bytes (only copied), and the sections. Column, row and
 * section are the file's axes; MAPC, MAPR and MAPS say which of x, y, z each of them is.
 * References: Cheng et al. 2015, J. Struct. Biol. 192, 146 (MRC2014); ccpem.ac.uk/mrc_format/mrc2014.php;
 * bio3d.colorado.edu/imod/doc/mrc_format.txt.
 */
#ifndef WEFT_IO_MRC_H
#define WEFT_IO_MRC_H
#include "io_internal.h"

enum { HEADER_BYTES = 1024, LABEL_BYTES = 80, IMOD_STAMP = 1146047817 };
enum { IMOD_SIGNED = 1, IMOD_STANDARD_ORIGIN = 4, IMOD_HALF_BYTES = 16 };
/* Offsets of fields. */
enum {
    AT_NX = 0,
    AT_NY = 4,
    AT_NZ = 8,
    AT_MODE = 12,
    AT_NSTART = 16,
    AT_M = 28,
    AT_CELLA = 40,
    AT_CELLB = 52,
    AT_MAPC = 64,
    AT_MAPR = 68,
    AT_MAPS = 72,
    AT_DMIN = 76,
    AT_DMAX = 80,
    AT_DMEAN = 84,
    AT_ISPG = 88,
    AT_NSYMBT = 92,
    AT_EXTTYP = 104,
    AT_NVERSION = 108,
    AT_NINT = 128, /* with NREAL: two i16 that describe the sections of an extended header */
    AT_IMOD_STAMP = 152,
    AT_IMOD_FLAGS = 156,
    AT_ORIGIN = 196,
    AT_MAP = 208,
    AT_MACHST = 212,
    AT_RMS = 216,
    AT_NLABL = 220,
    AT_LABEL = 224
};

/* Modes that are read and written. U8 is mode 0 with an IMOD stamp. */
static const struct {
    wf_stored stored;
    int32_t mode;
} mrc_modes[] = { { WF_STORED_I8, 0 },  { WF_STORED_U8, 0 },  { WF_STORED_I16, 1 },  { WF_STORED_F32, 2 },
                  { WF_STORED_C64, 4 }, { WF_STORED_U16, 6 }, { WF_STORED_F16, 12 }, { WF_STORED_U4, 101 } };
enum { MODES = sizeof mrc_modes / sizeof *mrc_modes };

typedef struct wfl_mrc_header {
    uint8_t bytes[HEADER_BYTES];
    bool swap;
    int32_t n[3], m[3], start[3]; /* n, start: of column, row, section; m: of x, y, z */
    int axis[3];                  /* of column, row, section: 0 x, 1 y, 2 z */
    int32_t mode, volumes;        /* volumes > 0: a stack of so many volumes */
    bool stack;                   /* the sections are images */
    int64_t data_at;
    const wfl_io_type *type;
} wfl_mrc_header;

bool wfl_mrc_suffix_is_stack(const char *path);
/* Returns the field at an offset of the header. */
int32_t wfl_mrc_i32(const wfl_mrc_header *h, size_t at);
double wfl_mrc_f32(const wfl_mrc_header *h, size_t at); /* 0 for NaN and infinities, which damaged headers hold */
/* Reads and checks the header. */
wf_status wfl_mrc_read_header(wfl_io_reader *r, wfl_mrc_header *h);

wf_status wfl_mrc_open(wfl_io_input *in);
wf_status wfl_mrc_create(wfl_io_output *out);
wf_status wfl_mrc_finish(wfl_io_output *out, wf_status status);
wf_status wfl_mrc_grow(wfl_io_input *in, int64_t count, const wfl_io_stats *stats, uint8_t *head, size_t *bytes);
#endif
