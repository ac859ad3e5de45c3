/* fuzz_io_load.c - takes any bytes as an image file. wf_load and wf_probe must agree, and give an array or an error
 * that names the file. A loaded array can be saved, and is the same when loaded again; so is a box of the file. What
 * wf_save makes of it in another format, with the meta data of the file, can be loaded, too.
 *
 * The content decides the format, so the files of the corpus are plain files. Bytes without a known mark are taken as
 * MRC, which depends on the suffix, and once more under another suffix. A PNG file that is refused is tried again with
 * right checksums, without which libpng looks at nothing else.
 */
#include "fuzz_files.h"
#include "weft/io.h"

enum { NAMES = 5 };
static const char *const suffixes[NAMES] = { "mrc", "mrcs", "npy", "png", "tif" };
static char names[NAMES][96], copies[NAMES][96];

static void leave(void)
{
    for (int i = 0; i < NAMES; i++) {
        unlink(names[i]);
        unlink(copies[i]);
    }
    leave_folder();
}

static void enter(void)
{
    enter_folder("io", leave);
    for (int i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "%s/f.%s", folder, suffixes[i]);
        snprintf(copies[i], sizeof copies[i], "%s/copy.%s", folder, suffixes[i]);
    }
}

/* Saves and loads the array as NPY, which holds every dtype and shape, and compares. */
static void check_copy(const wf_array *array)
{
    const char *copy = copies[2];
    wf_dtype dtype = wf_array_dtype(array);
    wf_shape shape = wf_array_shape(array);
    require(wf_save(array, copy, NULL) == WF_OK, "cannot be saved");
    wf_array *again = wf_load(ctx, copy, NULL);
    require(again != NULL, "cannot be loaded again");
    wf_shape other = wf_array_shape(again);
    require(wf_array_dtype(again) == dtype && memcmp(&other, &shape, sizeof shape) == 0, "another dtype or shape");
    void *a, *b;
    require(wf_map(array, &a, NULL) == WF_OK && wf_map(again, &b, NULL) == WF_OK, "no memory");
    size_t bytes = (size_t)wf_array_count(array) * wf_dtype_size(dtype);
    require(bytes == 0 || memcmp(a, b, bytes) == 0, "other values");
    wf_release(again);
}

/* Saves the array in the format of `name` with the meta data, which that format may refuse. What was saved is read. */
static void check_saved(const wf_array *array, const wf_meta *meta, const char *name)
{
    wf_dtype dtype;
    wf_shape shape, saved = wf_array_shape(array);
    int64_t count = 1;
    if (wf_save(array, name, meta) == WF_OK) {
        wf_array *again = wf_load(ctx, name, NULL);
        require(again && wf_probe(ctx, name, NULL, &dtype, &shape) == WF_OK, "a saved file cannot be loaded");
        for (int d = 0; d < shape.rank; d++)
            count *= shape.dim[d];
        require(count == wf_array_count(again) && (count == wf_array_count(array) || saved.rank > 0),
                "a saved file holds another number of values");
        wf_release(again);
    }
    wf_clear_error(ctx);
}

/* Compares a box of the file, which `choice` selects, with the whole. */
static void check_box(const wf_array *array, const char *name, uint32_t choice)
{
    wf_shape whole = wf_array_shape(array), first = { .rank = whole.rank }, box = { .rank = whole.rank };
    for (int d = 0; d < whole.rank; d++) {
        if (whole.dim[d] == 0)
            return;
        box.dim[d] = 1 + (int64_t)(choice % (uint32_t)whole.dim[d]);
        choice = choice * 1664525u + 1013904223u;
        first.dim[d] = (int64_t)(choice >> 8) % (whole.dim[d] - box.dim[d] + 1);
        choice = choice * 1664525u + 1013904223u;
    }
    wf_array *part = wf_load_region(ctx, name, first, box, NULL);
    require(part != NULL, "a box cannot be loaded");
    void *a, *b;
    require(wf_map(array, &a, NULL) == WF_OK && wf_map(part, &b, NULL) == WF_OK, "no memory");
    size_t size = wf_dtype_size(wf_array_dtype(array));
    for (int64_t i = 0; i < wf_array_count(part); i++) {
        int64_t place = 0, step = 1, rest = i;
        for (int d = whole.rank - 1; d >= 0; d--) {
            place += (first.dim[d] + rest % box.dim[d]) * step;
            rest /= box.dim[d];
            step *= whole.dim[d];
        }
        require(memcmp((char *)a + (size_t)place * size, (char *)b + (size_t)i * size, size) == 0,
                "a box has other values");
    }
    wf_release(part);
}

/* Loads the file and checks what it gives. `choice` selects the further checks of this input. */
static bool load(const char *name, uint32_t choice)
{
    wf_meta meta = { .size = sizeof meta }, probed = meta;
    wf_dtype dtype = WF_NONE;
    wf_shape shape = { 0 };
    wf_array *array = wf_load(ctx, name, &meta);
    if (!array)
        require(wf_last_status(ctx) != WF_OK && strstr(wf_last_message(ctx), name), "an error without status or file");
    wf_clear_error(ctx);
    wf_status status = wf_probe(ctx, name, &probed, &dtype, &shape);
    wf_clear_error(ctx);
    if (array) {
        wf_shape loaded = wf_array_shape(array);
        require(status == WF_OK && dtype == wf_array_dtype(array), "wf_probe disagrees about the dtype");
        require(memcmp(&shape, &loaded, sizeof shape) == 0, "wf_probe disagrees about the shape");
        require(memcmp(&meta, &probed, sizeof meta) == 0, "wf_probe disagrees about the meta data");
        if (wf_array_count(array) < MOST) {
            check_copy(array);
            check_box(array, name, choice);
            if (choice & 1)
                meta.store_as = (wf_stored)(choice / 2 % 16); /* the formats refuse some, and unknown ones */
            if (choice & 32)
                meta.extended_from = name;
            check_saved(array, &meta, copies[choice / 64 % NAMES]);
        }
    }
    wf_release(array);
    return array != NULL;
}

static bool load_bytes(const uint8_t *data, size_t size, const char *name, uint32_t choice)
{
    write_bytes(name, data, size);
    return load(name, choice);
}

/* ---- PNG: checksums ---- */

static bool is_png(const uint8_t *data, size_t size) { return size > 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0; }

/* Returns the CRC-32 of PNG chunks. */
static uint32_t crc(const uint8_t *data, size_t size)
{
    uint32_t sum = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        sum ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return ~sum;
}

/* Sets the checksum of each whole chunk. True if one was wrong. */
static bool mend_checksums(uint8_t *data, size_t size)
{
    bool changed = false;
    for (size_t at = 8; size - at >= 12;) {
        size_t bytes = (size_t)data[at] << 24 | (size_t)data[at + 1] << 16 | (size_t)data[at + 2] << 8 | data[at + 3];
        if (bytes > size - at - 12)
            break;
        uint32_t sum = crc(data + at + 4, bytes + 4);
        uint8_t *to = data + at + 8 + bytes,
                right[4] = { (uint8_t)(sum >> 24), (uint8_t)(sum >> 16), (uint8_t)(sum >> 8), (uint8_t)sum };
        changed = changed || memcmp(to, right, 4) != 0;
        memcpy(to, right, 4);
        at += bytes + 12;
    }
    return changed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!ctx)
        enter();
    if (size > MOST)
        return 0;
    uint32_t choice = crc(data, size < 64 ? size : 64) >> 8;
    int first = (int)(size % 2), other = 2 + (int)(size / 2 % (NAMES - 2));
    bool loaded = load_bytes(data, size, names[first], choice);
    if (!loaded && is_png(data, size)) {
        uint8_t *mended = malloc(size);
        if (!mended)
            abort();
        memcpy(mended, data, size);
        if (mend_checksums(mended, size))
            load_bytes(mended, size, names[first], choice);
        free(mended);
    } else if (!loaded && choice % 8 == 0) {
        load_bytes(data, size, names[other], choice);
    }
    return 0;
}
