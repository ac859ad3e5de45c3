/* ome_xml.c - writes and reads the description of the pages of an OME-TIFF file, which is the ImageDescription of the
 * first page.
 *
 * Reference: OME-TIFF and the OME data model of 2016-06, docs.openmicroscopy.org/ome-model. Five axes order the planes:
 * x, y, then z, channels and time, as DimensionOrder says. A stack of images has its first axis as time. Only elements and
 * attributes are found in the text, with no regard to namespaces; a text that is no XML has none.
 */
#include "ome_xml.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "http://www.openmicroscopy.org/Schemas/OME/2016-06"
enum { AXES = 3, WORD = 64 };
static const char blank[] = " \t\r\n";

static const struct {
    wf_stored stored;
    const char *name;
} types[] = { { WF_STORED_I8, "int8" },    { WF_STORED_U8, "uint8" },  { WF_STORED_I16, "int16" },
              { WF_STORED_U16, "uint16" }, { WF_STORED_I32, "int32" }, { WF_STORED_U32, "uint32" },
              { WF_STORED_F32, "float" },  { WF_STORED_F64, "double" } };

/* ---- writing ---- */

void wfl_ome_xml_write(const wfl_ome_pixels *p, char text[OME_XML])
{
    const char *type = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].stored == p->stored)
            type = types[i].name;
    n += (size_t)snprintf(text + n, OME_XML - n,
                          "<?xml version=\"1.0\" encoding=\"UTF-8\"?><OME xmlns=\"" SCHEMA
                          "\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:schemaLocation=\"" SCHEMA
                          " " SCHEMA "/ome.xsd\" Creator=\"Weft %s\"><Image ID=\"Image:0\">",
                          wf_version());
    n += (size_t)snprintf(text + n, OME_XML - n,
                          "<Pixels ID=\"Pixels:0\" DimensionOrder=\"XYCZT\" Type=\"%s\" SizeX=\"%lld\" SizeY=\"%lld\" "
                          "SizeZ=\"%lld\" SizeC=\"%d\" SizeT=\"%lld\"",
                          type, (long long)p->width, (long long)p->height, (long long)p->depth, p->samples,
                          (long long)p->count);
    for (int d = 0; d < 3; d++) {
        char size[IO_REAL];
        if (!(p->spacing[d] > 0))
            continue;
        wfl_io_print_real(p->spacing[d] / 10, 15, 15, size);
        n += (size_t)snprintf(text + n, OME_XML - n, " PhysicalSize%c=\"%s\" PhysicalSize%cUnit=\"nm\"", "ZYX"[d], size,
                              "ZYX"[d]);
    }
    snprintf(text + n, OME_XML - n,
             "><Channel ID=\"Channel:0:0\" SamplesPerPixel=\"%d\"/><TiffData IFD=\"0\" PlaneCount=\"%lld\"/></Pixels>"
             "</Image></OME>",
             p->samples, (long long)(p->depth * p->count));
}

/* ---- reading ---- */

/* Finds the next element of this name, with any prefix. Returns the place after its name; NULL: there is none. */
static const char *find_element(const char *at, const char *name)
{
    while (at && (at = strchr(at, '<'))) {
        if (strncmp(at, "<!--", 4) == 0) {
            at = strstr(at + 4, "-->");
            continue;
        }
        size_t n = strcspn(++at, " \t\r\n/>");
        const char *colon = memchr(at, ':', n), *local = colon ? colon + 1 : at, *end = at + n;
        if ((size_t)(end - local) == strlen(name) && memcmp(local, name, strlen(name)) == 0)
            return end;
        at = end;
    }
    return NULL;
}

/* Appends a character by its number, in UTF-8. Returns the bytes; 0: they do not fit, or the number is above 2047, as no
 * unit has one but the sign of Angstrom, which becomes the letter. */
static size_t put_character(unsigned long number, char *out, size_t room)
{
    number = number == 0x212b ? 0xc5 : number;
    if (number < 1 || number > 0x7ff || room < 2)
        return 0;
    if (number < 0x80) {
        *out = (char)number;
        return 1;
    }
    out[0] = (char)(0xc0 | number >> 6);
    out[1] = (char)(0x80 | (number & 0x3f));
    return 2;
}

/* Copies a value with its references to characters by numbers resolved. False: it does not fit. */
static bool copy_value(const char *from, const char *end, char out[WORD])
{
    size_t n = 0;
    while (from < end) {
        size_t put = 1;
        const char *stop = strncmp(from, "&#", 2) == 0 ? memchr(from, ';', (size_t)(end - from)) : NULL;
        if (n + 3 > WORD)
            return false;
        if (stop) {
            bool hex = from[2] == 'x';
            put = put_character(strtoul(from + 2 + hex, NULL, hex ? 16 : 10), out + n, WORD - 1 - n);
            if (!put)
                return false;
            from = stop;
        } else {
            out[n] = *from;
        }
        n += put;
        from++;
    }
    out[n] = 0;
    return true;
}

/* Finds an attribute of the element whose name ends at `at`. A value that does not fit becomes "". False: there is no such
 * attribute. */
static bool attribute(const char *at, const char *name, char out[WORD])
{
    for (;;) {
        at += strspn(at, blank);
        const char *key = at;
        size_t n = strcspn(at, " \t\r\n=/>\"'<");
        at += n;
        at += strspn(at, blank);
        if (n == 0 || *at != '=')
            return false;
        at++;
        at += strspn(at, blank);
        if (*at != '"' && *at != '\'')
            return false;
        /* Values have no "<", so the search ends with the element, and reading many elements takes linear time. */
        const char *end = at + 1 + strcspn(at + 1, *at == '"' ? "\"<" : "'<");
        if (*end != *at)
            return false;
        if (n == strlen(name) && memcmp(key, name, n) == 0) {
            if (!copy_value(at + 1, end, out))
                *out = 0;
            return true;
        }
        at = end + 1;
    }
}

/* Reads an attribute that is a whole number. An attribute that is missing or none gives `otherwise`. */
static int64_t number(const char *element, const char *name, int64_t otherwise)
{
    char text[WORD];
    double value;
    if (!attribute(element, name, text) || strspn(text, "0123456789") != strlen(text) ||
        !wfl_io_real(text, strlen(text), &value) || value > INT32_MAX)
        return otherwise;
    return (int64_t)value;
}

/* Returns the Angstroms of a unit of length; 0: it is none. */
static double angstroms(const char *unit)
{
    static const struct {
        const char *name;
        double angstroms;
    } units[] = { { "nm", 10 },   { "\xc2\xb5m", 1e4 }, { "\xce\xbcm", 1e4 }, { "um", 1e4 },         { "\xc3\x85", 1 },
                  { "pm", 0.01 }, { "mm", 1e7 },        { "cm", 1e8 },        { "\xe2\x84\xab", 1 }, { "m", 1e10 } };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].angstroms;
    return 0;
}

static void read_spacing(const char *pixels, wfl_ome_pixels *p)
{
    for (int d = 0; d < 3; d++) {
        char name[] = "PhysicalSize?Unit", text[WORD], unit[WORD];
        double value;
        name[12] = "ZYX"[d];
        if (!attribute(pixels, name, unit))
            strcpy(unit, "um"); /* what the schema says without a unit */
        name[13] = 0;
        p->spacing[d] = 0;
        if (attribute(pixels, name, text) && wfl_io_real(text, strlen(text), &value))
            value *= angstroms(unit);
        else
            value = 0;
        if (value > 0 && isfinite(value))
            p->spacing[d] = value;
    }
}

/* An axis of the planes, fastest first. */
typedef struct plane_axis {
    char name;
    int64_t extent;
} plane_axis;

/* Reads the extents of the axes of planes, in their order. False: they are not understood. */
static bool read_axes(const char *pixels, int samples, plane_axis axis[AXES])
{
    char order[WORD], name[] = "Size?";
    if (!attribute(pixels, "DimensionOrder", order) || strlen(order) != 5 || strncmp(order, "XY", 2) != 0)
        return false;
    for (int d = 0; d < AXES; d++) {
        char letter = order[2 + d];
        if (!strchr("ZCT", letter) || strchr(order + 3 + d, letter))
            return false;
        name[4] = letter;
        int64_t extent = number(pixels, name, 0);
        if (extent < 1 || (letter == 'C' && extent % samples))
            return false;
        axis[d] = (plane_axis){ letter, letter == 'C' ? extent / samples : extent };
    }
    return true;
}

/* True if page k of the file is plane k of the axes, as far as the file places its pages. */
static bool in_order(const char *pixels, const plane_axis axis[AXES])
{
    const char *end = find_element(pixels, "Pixels"); /* of another image */
    for (const char *at = find_element(pixels, "TiffData"); at && (!end || at < end);
         at = find_element(at, "TiffData")) {
        char name[] = "First?";
        double plane = 0, step = 1;
        for (int d = 0; d < AXES; d++) {
            name[5] = axis[d].name;
            plane += (double)number(at, name, 0) * step;
            step *= (double)axis[d].extent;
        }
        if (plane != (double)number(at, "IFD", 0))
            return false;
    }
    return true;
}

bool wfl_ome_xml_read(const char *text, int samples, wfl_ome_pixels *p)
{
    plane_axis axis[AXES];
    const char *pixels = find_element(find_element(text, "OME"), "Pixels");
    if (!pixels)
        return false;
    read_spacing(pixels, p);
    p->depth = p->count = 1;
    if (!read_axes(pixels, samples, axis) || !in_order(pixels, axis))
        return true;
    bool first = true;
    for (int d = 0; d < AXES; d++) {
        bool sections = first && axis[d].name == 'Z';
        first = first && axis[d].extent == 1;
        if (!wfl_io_mul(sections ? p->depth : p->count, axis[d].extent, sections ? &p->depth : &p->count)) {
            p->depth = p->count = 1;
            return true;
        }
    }
    return true;
}
