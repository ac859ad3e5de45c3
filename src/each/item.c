/* item.c - items: their names, the hashes that say whether results are up to date, and mistakes in a list of them. */
#include "each/each.h"
#include <errno.h>
#include <stdlib.h>

/* Appends the absolute path of a file, which need not exist, with the links of its folder resolved. Appends `path` itself
 * if the folder does not exist. False = no memory. */
static bool whole_path(wf__str *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    wf__str folder = { 0 };
    if (slash)
        wf__str_addn(&folder, path, (size_t)(slash - path) + 1);
    errno = 0;
    char *real = folder.failed ? NULL : wf__real_path(slash ? folder.at : ".");
    bool known = !folder.failed && (real || errno != ENOMEM);
    wf__str_free(&folder);
    if (real)
        wf__str_addf(out, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
    else
        wf__str_add(out, path);
    wf__free(real);
    return known && !out->failed;
}

/* Sets *hash to that of the whole path, continued from its value. False = no memory. */
static bool hash_path(const char *path, uint64_t *hash)
{
    wf__str whole = { 0 };
    bool known = whole_path(&whole, path);
    if (known)
        *hash = wf__hash64(whole.at, whole.len + 1, *hash);
    wf__str_free(&whole);
    return known;
}

bool wf__each_id(const wf_each_item *item, uint64_t *id)
{
    *id = 0;
    return hash_path(item->outputs[0], id);
}

const char *wf__each_name(const wf_each_item *item)
{
    return item->name ? item->name : item->input_count ? item->inputs[0] : item->outputs[0];
}

/* Continues *hash by the path, size and time of a file. False = no memory. */
static bool hash_input(const char *path, uint64_t *hash, uint64_t *bytes)
{
    wf__file_info info;
    uint64_t facts[2] = { UINT64_MAX, 0 };
    if (!hash_path(path, hash))
        return false;
    if (wf__path_info(WF__CWD, path, &info)) {
        facts[0] = info.size;
        facts[1] = (uint64_t)info.mtime;
        *bytes += info.size;
    }
    *hash = wf__hash64(facts, sizeof facts, *hash);
    return true;
}

bool wf__each_shared(const char *const *paths, size_t count, uint64_t *hash)
{
    uint64_t bytes = 0;
    bool known = true;
    *hash = 0;
    for (size_t i = 0; i < count && known; i++)
        known = hash_input(paths[i], hash, &bytes);
    return known;
}

uint64_t wf__each_look_outputs(const wf_each_item *item)
{
    uint64_t hash = 1;
    for (size_t i = 0; i < item->output_count; i++) {
        wf__file_info info;
        if (!wf__path_info(WF__CWD, item->outputs[i], &info))
            return 0;
        uint64_t facts[2] = { info.size, (uint64_t)info.mtime };
        hash = wf__hash64(facts, sizeof facts, hash);
    }
    return hash ? hash : 1;
}

bool wf__each_look(const wf_each_item *item, uint64_t shared, wf__each_facts *out)
{
    bool known = true;
    *out = (wf__each_facts){ .inputs = shared, .outputs = wf__each_look_outputs(item) };
    for (size_t i = 0; i < item->input_count && known; i++)
        known = hash_input(item->inputs[i], &out->inputs, &out->bytes);
    return known;
}

/* ---- mistakes ---- */

/* A file of an item: once under its path, and once more by its number, if it exists. */
typedef struct place {
    uint64_t key[2];
    size_t item;
    const char *path;
    bool output;
} place;

static int by_key(const void *a, const void *b)
{
    const place *x = a, *y = b;
    for (int k = 0; k < 2; k++)
        if (x->key[k] != y->key[k])
            return x->key[k] < y->key[k] ? -1 : 1;
    if (x->output != y->output)
        return x->output ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

/* Adds the places of a file at at[*n]. False = no memory. */
static bool add_places(place *at, size_t *n, size_t item, const char *path, bool output)
{
    wf__file_info info;
    wf__str whole = { 0 };
    bool known = whole_path(&whole, path);
    if (known) {
        wf__hash128 hash = wf__hash_128(whole.at, whole.len);
        at[(*n)++] = (place){ { hash.lo, hash.hi }, item, path, output };
        if (wf__path_info(WF__CWD, path, &info))
            at[(*n)++] = (place){ { info.device, info.number }, item, path, output };
    }
    wf__str_free(&whole);
    return known;
}

static wf_status refuse(wf_context *ctx, const char *format, const char *a, const char *b, const char *c)
{
    wf__str text = { 0 };
    wf__str_addf(&text, format, a, b, c);
    wf_status status = text.failed ? wf_error(ctx, WF_ERR_MEMORY, NULL) : wf_error(ctx, WF_ERR_ARG, text.at);
    wf__str_free(&text);
    return status;
}

wf_status wf__each_check(wf_context *ctx, const wf_each_item *items, size_t count, const char *const *shared,
                         size_t shared_count)
{
    size_t files = shared_count, places = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].output_count == 0)
            return wf_error(ctx, WF_ERR_ARG, "wf_farm_open: an item without outputs");
        files += items[i].input_count + items[i].output_count;
    }
    size_t bytes;
    place *at = wf__mul_size(files ? files : 1, 2 * sizeof *at, &bytes) ? wf__alloc(bytes) : NULL;
    if (!at)
        return wf_error(ctx, WF_ERR_MEMORY, NULL);
    bool known = true;
    for (size_t i = 0; i < shared_count && known; i++)
        known = add_places(at, &places, count, shared[i], false);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < items[i].output_count && known; k++)
            known = add_places(at, &places, i, items[i].outputs[k], true);
        for (size_t k = 0; k < items[i].input_count && known; k++)
            known = add_places(at, &places, i, items[i].inputs[k], false);
    }
    wf_status status = known ? WF_OK : wf_error(ctx, WF_ERR_MEMORY, NULL);
    qsort(at, places, sizeof *at, by_key);
    /* The clash of the first item is reported. The order of places, that of keys, follows names of folders and numbers of files. */
    const place *first = NULL;
    for (size_t i = 0; i + 1 < places && known; i++) {
        const place *a = &at[i], *b = &at[i + 1];
        if (a->key[0] == b->key[0] && a->key[1] == b->key[1] && a->output && (!first || a->item < first->item))
            first = a;
    }
    if (first) {
        const place *other = first + 1;
        const char *name = wf__each_name(&items[first->item]);
        status = other->output ? refuse(ctx, "%s is the output of two items: %s and %s", first->path, name,
                                        wf__each_name(&items[other->item]))
                               : refuse(ctx, "%s, the output of %s, is an input: %s", first->path, name, other->path);
    }
    wf__free(at);
    return status;
}
