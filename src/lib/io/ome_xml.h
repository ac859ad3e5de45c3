/* ome_xml.h - OME-XML, the description of the pages of an OME-TIFF file. */
#ifndef WEFT_IO_OME_XML_H
#define WEFT_IO_OME_XML_H
#include "io_internal.h"

/* What a file says of its pages: `count` images or volumes, one after the other, of `depth` sections each. */
typedef struct wfl_ome_pixels {
    int64_t width, height, depth, count;
    int samples; /* of a pixel */
    wf_stored stored;
    double spacing[3]; /* Angstrom along z, y, x; 0: unknown */
} wfl_ome_pixels;

enum { OME_XML = 1536 }; /* the most bytes that are written */

/* The types that OME-XML has a name for, as bits. */
#define OME_XML_TYPES \
    (IO_BIT(I8) | IO_BIT(U8) | IO_BIT(I16) | IO_BIT(U16) | IO_BIT(I32) | IO_BIT(U32) | IO_BIT(F32) | IO_BIT(F64))

/* Writes the description in ASCII. */
void wfl_ome_xml_write(const wfl_ome_pixels *pixels, char text[OME_XML]);
/* Sets depth, count and spacing by the description of the first page of a file whose pixels have `samples` samples. Depth
 * is 1 unless the sections of a volume follow each other. False: the text is no OME-XML; nothing is set. What is missing
 * or not understood is no error. */
bool wfl_ome_xml_read(const char *text, int samples, wfl_ome_pixels *pixels);
#endif
