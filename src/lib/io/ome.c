/* ome.c - finds the levels of an image in the metadata of a group of Zarr, and the sizes of their samples.
 *
 * Reference: OME-NGFF, versions 0.4 (in .zattrs) and 0.5 (in zarr.json), ngff.openmicroscopy.org. Older versions list
 * levels, but no sizes.
 */
#include "ome.h"
#include "json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME = 64, WORDS = 2 };

/* A transformation of an axis: place = scale * index + offset. */
typedef struct axis_scale {
    double scale, offset;
} axis_scale;

/* Reads a file of a folder as a new string; *text stays NULL if there is none that can be read. */
static wf_status read_file(wf_context *ctx, const char *folder, const char *name, char **text)
{
    size_t n = strlen(folder) + strlen(name) + 1;
    char *path = malloc(n);
    struct stat info;
    if (!path)
        return wfl_io_fail_memory(ctx, folder, (int64_t)n);
    snprintf(path, n, "%s%s", folder, name);
    wf_status status = WF_OK;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 && info.st_size <= ZARR_METADATA)
        status = wfl_io_read_text(ctx, path, ZARR_METADATA, text);
    free(path);
    return status;
}

/* Finds the level in a list of images by its path. Returns the image, and its list entry in *dataset; NULL: there is none. */
static const char *find_by_path(const char *images, const char *level, const char **dataset)
{
    char path[OME_PATH];
    for (const char *image = wfl_json_first(images); image; image = wfl_json_next(image))
        for (const char *at = wfl_json_first(wfl_json_member(image, "datasets")); at; at = wfl_json_next(at))
            if (wfl_json_text(wfl_json_member(at, "path"), path, OME_PATH) && *path && strcmp(path, level) == 0) {
                *dataset = at;
                return image;
            }
    return NULL;
}

/* Finds a level of the first image that has levels; likewise. *dataset is NULL if the image has fewer. */
static const char *find_by_number(const char *images, int number, const char **dataset)
{
    const char *image = wfl_json_first(images);
    while (image && !wfl_json_first(wfl_json_member(image, "datasets")))
        image = wfl_json_next(image);
    *dataset = wfl_json_first(wfl_json_member(image, "datasets"));
    for (int k = 0; k < number && *dataset; k++)
        *dataset = wfl_json_next(*dataset);
    return image;
}

/* A path that leads out of the group is none of a level. */
static bool is_inside(const char *path)
{
    if (*path == '/')
        return false;
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
            return false;
    return true;
}

static bool read_real(const char *at, double *out)
{
    return at && wfl_io_real(at, strspn(at, "0123456789+-.eE"), out) && isfinite(*out);
}

/* Applies scales and translations, in their order, to `rank` axes. False: a transformation of another kind. */
static bool transform(const char *list, int rank, axis_scale *axis)
{
    static const char *const kinds[WORDS] = { "scale", "translation" };
    for (const char *at = wfl_json_first(list); at; at = wfl_json_next(at)) {
        char type[NAME] = "";
        int kind = 0, d = 0;
        double value;
        wfl_json_text(wfl_json_member(at, "type"), type, sizeof type);
        if (strcmp(type, "identity") == 0)
            continue;
        while (kind < WORDS && strcmp(type, kinds[kind]) != 0)
            kind++;
        if (kind == WORDS)
            return false;
        const char *part = wfl_json_first(wfl_json_member(at, kinds[kind]));
        for (; part && d < rank; part = wfl_json_next(part), d++) {
            if (!read_real(part, &value))
                return false;
            axis[d].scale *= kind ? 1 : value;
            axis[d].offset = kind ? axis[d].offset + value : axis[d].offset * value;
        }
        if (part || d != rank)
            return false;
    }
    return true;
}

/* Returns the Angstroms of a unit of length; 0: it is none. */
static double angstroms(const char *unit)
{
    static const struct {
        const char *name;
        double angstroms;
    } units[] = { { "angstrom", 1 },     { "picometer", 0.01 }, { "nanometer", 10 }, { "micrometer", 1e4 },
                  { "millimeter", 1e7 }, { "centimeter", 1e8 }, { "meter", 1e10 } };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].angstroms;
    return 0;
}

/* Sets what the axes and the transformations of a level say. */
static void take_level(const char *image, const char *dataset, wfl_ome_level *out)
{
    const char *axes = wfl_json_member(image, "axes");
    axis_scale axis[WF_MAX_RANK];
    int rank = 0;
    for (const char *at = wfl_json_first(axes); at; at = wfl_json_next(at), rank++) {
        if (rank == WF_MAX_RANK)
            return;
        axis[rank] = (axis_scale){ 1, 0 };
    }
    out->rank = rank;
    bool good = transform(wfl_json_member(dataset, "coordinateTransformations"), rank, axis) &&
                transform(wfl_json_member(image, "coordinateTransformations"), rank, axis);
    int d = 0;
    for (const char *at = wfl_json_first(axes); at; at = wfl_json_next(at), d++) {
        char name[NAME] = "", type[NAME] = "", unit[NAME] = "";
        if (*at == '"') /* version 0.3 */
            wfl_json_text(at, name, sizeof name);
        wfl_json_text(wfl_json_member(at, "name"), name, sizeof name);
        wfl_json_text(wfl_json_member(at, "type"), type, sizeof type);
        wfl_json_text(wfl_json_member(at, "unit"), unit, sizeof unit);
        bool in_space = strlen(name) == 1 && *name >= 'x' && *name <= 'z';
        if (d == 0)
            out->is_stack = !in_space && strcmp(type, "space") != 0;
        double size = angstroms(unit), spacing = axis[d].scale * size, origin = axis[d].offset * size;
        if (good && in_space && spacing > 0 && isfinite(spacing) && isfinite(origin)) {
            out->spacing['z' - *name] = spacing;
            out->origin['z' - *name] = origin;
        }
    }
}

/* Sets what the list of images says of a level. */
static void find_level(const char *images, const char *level, int number, wfl_ome_level *out)
{
    const char *dataset = NULL;
    const char *image = level ? find_by_path(images, level, &dataset) : find_by_number(images, number, &dataset);
    for (const char *at = wfl_json_first(wfl_json_member(image, "datasets")); at; at = wfl_json_next(at))
        out->levels++;
    if (!dataset)
        return;
    if (!wfl_json_text(wfl_json_member(dataset, "path"), out->path, OME_PATH) || !*out->path)
        out->problem = "has no path of 1 to 127 characters";
    else if (!is_inside(out->path))
        out->problem = "has a path that leads out of the group";
    else
        take_level(image, dataset, out);
    if (out->problem)
        *out->path = 0;
}

wf_status wfl_ome_find(wf_context *ctx, const char *folder, const char *level, int number, wfl_ome_level *out)
{
    static const char *const files[] = { "/zarr.json", "/.zattrs" };
    wf_status status = WF_OK;
    *out = (wfl_ome_level){ 0 };
    for (int i = 0; i < 2 && status == WF_OK && !out->levels; i++) {
        char *text = NULL;
        status = read_file(ctx, folder, files[i], &text);
        if (text && !wfl_json_check(text)) {
            const char *attributes = i == 0 ? wfl_json_member(text, "attributes") : text;
            const char *ome = wfl_json_member(attributes, "ome");
            find_level(wfl_json_member(ome ? ome : attributes, "multiscales"), level, number, out);
        }
        free(text);
    }
    return status;
}
