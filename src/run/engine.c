/* engine.c - code of bodies, from memory, else from disk, else compiled. The compiler library opens when both caches
 * miss. Without a compiler everything is interpreted, and the log says so once.
 */
#include "run/engine.h"
#include "base/os.h"
#include "run/engine_internal.h"
#include "run/cache/llvm_find.h"
#include "run/cache/once.h"
#include "run/memory/loader.h"
#include "run/later.h"
#include <limits.h>
#include <stdio.h>
#ifdef WEFT_HAVE_CODE_ID
#include <weft_code_id.h> /* generated: a hash of the sources that decide which code is generated */
#else
#define WEFT_CODE_ID "unknown"
#endif

/* The default bound on code that no plan uses. */
#define IDLE_CODE_BYTES ((size_t)32 << 20)

/* ---- life ---- */
static void free_executable(void *value)
{
    wf__executable *x = value;
    wf__code_free(x->code);
    wf__free(x);
}

wf__engine *wf__engine_new(const wf__engine_config *config)
{
    wf__engine *e = wf__alloc0(sizeof *e);
    if (!e)
        return NULL;
    e->log = config->log;
    e->log_user = config->log_user;
    e->codegen_ops = config->codegen;
    e->first_tier = config->first_tier;
    e->target = wf__target_host(&e->processor);
    e->use_disk = true;
    e->pool = wf__pool_new(config->threads);
    e->memory = wf__mem_new(0);
    e->disk = wf__disk_open(config->cache_dir, config->cache_bytes);
    e->code = wf__map_new(IDLE_CODE_BYTES, free_executable);
    e->has_lock = wf__mutex_init(&e->lock);
    e->has_later_progress = wf__progress_init(&e->later_progress, false);
    bool bounded =
        e->memory && (!config->memory_bytes || wf__mem_bound(e->memory, config->memory_bytes, config->scratch_dir));
    if (!e->pool || !bounded || !e->disk || !e->code || !e->has_lock || !e->has_later_progress) {
        wf__engine_free(e);
        return NULL;
    }
    wf__pool_set_observer(e->pool, &config->observer);
    wf__later_guard(); /* often in the main thread, which another thread's work outlives */
    return e;
}

void wf__engine_free(wf__engine *e)
{
    if (!e)
        return;
    atomic_store(&e->closing, true);
    wf__queue_free(e->later);
    if (e->close_gpus)
        e->close_gpus(e);
    wf__pool_free(e->pool);
    wf__map_free(e->code);
    wf__disk_close(e->disk);
    wf__mem_free_all(e->memory);
    if (e->codegen)
        e->codegen_ops->free(e->codegen);
    wf__free(e->llvm_path);
    if (e->has_later_progress)
        wf__progress_free(&e->later_progress);
    if (e->has_lock)
        wf__mutex_free(&e->lock);
    wf__free(e);
}

wf__pool *wf__engine_pool(wf__engine *e) { return e->pool; }
wf__mem_cache *wf__engine_memory(wf__engine *e) { return e->memory; }
wf__disk *wf__engine_disk(wf__engine *e) { return e->disk; }
void wf__engine_use_disk(wf__engine *e, bool use) { e->use_disk = use; }
const wf__target *wf__engine_target(const wf__engine *e) { return e->target; }

/* Waits for the compilations beside the program. One of them may be the caller, by the program's log. */
static void wait_for_later(wf__engine *e)
{
    wf__mutex_lock(&e->lock);
    wf__queue *q = e->later;
    wf__mutex_unlock(&e->lock);
    if (q && !wf__queue_is_this(q))
        wf__queue_wait(q);
}

wf__engine_counts wf__engine_count(wf__engine *e)
{
    wait_for_later(e);
    return (wf__engine_counts){ .compiled = atomic_load(&e->compiled),
                                .memory_hits = atomic_load(&e->memory_hits),
                                .disk_hits = atomic_load(&e->disk_hits),
                                .evaluated = atomic_load(&e->evaluated) };
}

void wf__engine_log(wf__engine *e, int level, const char *text)
{
    if (e->log)
        e->log(level, text, e->log_user);
}

void wf__engine_keep(wf__engine *e, const wf__str *key, const void *object, size_t bytes)
{
    if (!e->use_disk || wf__disk_store(e->disk, key->at, key->len, object, bytes) || !*wf__disk_problem(e->disk) ||
        atomic_exchange(&e->warned_disk, true))
        return;
    wf__str text = { 0 };
    wf__str_addf(&text, "compiled kernels are not kept for the next run: %s%s%s; WEFT_CACHE=folder names one",
                 wf__disk_dir(e->disk), *wf__disk_dir(e->disk) ? ": " : "", wf__disk_problem(e->disk));
    wf__engine_log(e, 1, wf__str_get(&text));
    wf__str_free(&text);
}

/* ---- the compiler library ---- */
/* Under the lock. */
static void find_llvm(wf__engine *e)
{
    if (e->searched)
        return;
    e->searched = true;
    wf__llvm_list list = { 0 };
    if (e->codegen_ops && e->target->isa != WF__ISA_NONE && wf__llvm_find(&list, 1) && list.n) {
        const wf__llvm_library *first = &list.at[0];
        e->llvm_path = wf__strdup(first->path);
        const uint64_t identity[] = { first->size, (uint64_t)first->mtime_ns };
        e->llvm_identity = wf__hash64(identity, sizeof identity, wf__hash64(first->path, strlen(first->path), 0));
    }
    wf__llvm_list_free(&list);
}

/* True if WEFT_ISA is `none`: no code is generated on any processor. */
static bool isa_is_none(void)
{
    const char *name = wf__getenv("WEFT_ISA");
    return name && !strcmp(name, "none");
}

/* Under the lock. NULL = no compiler. */
static wf__codegen *open_llvm(wf__engine *e)
{
    find_llvm(e);
    if (e->codegen || e->open_failed)
        return e->codegen;
    char text[PATH_MAX + 64];
    wf__str error = { 0 };
    if (!e->llvm_path)
        wf__str_add(&error, !e->codegen_ops                                   ? "this build has no code generator"
                            : e->target->isa == WF__ISA_NONE && isa_is_none() ? "WEFT_ISA is none"
                            : e->target->isa == WF__ISA_NONE ? "there is no code generation for this processor"
                                                             : wf__llvm_missing(text, sizeof text));
    else if (!e->codegen_ops->open(&e->codegen, e->llvm_path, &error))
        e->codegen = NULL;
    if (!e->codegen) {
        e->open_failed = true;
        wf__str_addf(&error, "; computing with the interpreter, which is slower");
        wf__engine_log(e, 1, wf__str_get(&error));
    }
    wf__str_free(&error);
    return e->codegen;
}

const char *wf__engine_llvm_path(wf__engine *e)
{
    wf__mutex_lock(&e->lock);
    find_llvm(e);
    wf__mutex_unlock(&e->lock);
    return e->llvm_path ? e->llvm_path : "";
}

int wf__engine_llvm_major(wf__engine *e, bool open)
{
    wf__mutex_lock(&e->lock);
    wf__codegen *c = open ? open_llvm(e) : e->codegen;
    wf__mutex_unlock(&e->lock);
    return c ? e->codegen_ops->major(c) : 0;
}

/* ---- keys, which hold everything that code depends on ---- */
static void add(wf__str *key, const void *p, size_t n) { wf__str_addn(key, p, n); }

static void add_body_key(const wf__ir *ir, wf__str *key)
{
    uint32_t head[] = { (uint32_t)ir->rank | (uint32_t)ir->kept << 8 | (uint32_t)ir->kept_lane << 16,
                        ir->n,
                        ir->slot_n,
                        ir->red_n,
                        ir->param_n,
                        ir->tuple_n };
    wf__str_reserve(key, sizeof head + ir->n * sizeof *ir->node + ir->slot_n * sizeof *ir->slot);
    add(key, head, sizeof head);
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        uint32_t words[] = {
            n->op | (uint32_t)n->dtype << 16 | (uint32_t)n->aux << 24, n->a, n->b, n->c, n->d, n->when
        };
        add(key, words, sizeof words);
    }
    add(key, ir->tuple, ir->tuple_n * sizeof *ir->tuple);
    for (uint32_t s = 0; s < ir->slot_n; ++s) {
        const wf__slot *slot = &ir->slot[s];
        uint8_t bytes[5 + WF_MAX_RANK + sizeof slot->stride] = {
            slot->dtype, slot->rank,
            (uint8_t)(slot->read | slot->written << 1 | slot->may_alias << 2 | slot->large_indexed << 3 |
                      slot->prefetch_rows << 4),
            (uint8_t)(slot->element | slot->spread << 1), slot->record
        };
        memcpy(bytes + 5, slot->step, WF_MAX_RANK);
        memcpy(bytes + 5 + WF_MAX_RANK, slot->stride, sizeof slot->stride);
        add(key, bytes, sizeof bytes);
    }
    for (uint32_t k = 0; k < ir->red_n; ++k) {
        uint8_t bytes[] = { ir->red[k].dtype, ir->red[k].join, ir->red[k].instances };
        add(key, bytes, sizeof bytes);
    }
    for (uint32_t k = 0; k < ir->red_n && ir->joiner; ++k)
        add(key, &ir->red[k].start, sizeof ir->red[k].start);
    if (ir->param_n)
        add(key, ir->param, ir->param_n);
    if (ir->joiner)
        add_body_key(ir->joiner, key);
}

enum { HEAD_BYTES = 3 * sizeof(uint32_t) };
/* Writes the key of code. Returns the offset of the body's part. */
static size_t write_code_key(wf__engine *e, const wf__ir *body, const wf__code_options *how, wf__str *key)
{
    uint32_t head[HEAD_BYTES / sizeof(uint32_t)] = {
        how->nontemporal | (uint32_t)how->long_rows << 1 | (uint32_t)how->single_thread << 2 |
            (uint32_t)how->columns << 3 | (uint32_t)how->rows_at_once << 8 | (uint32_t)how->baseline << 16 |
            (uint32_t)how->row_points << 17 | (uint32_t)how->vector_units << 25,
        (uint32_t)e->target->isa, (uint32_t)e->target->vector_bits
    };
    const char *words[] = {
        "weft", wf_version(), WEFT_CODE_ID, e->target->triple, e->target->cpu, e->target->features
    };
    for (size_t i = 0; i < WF__COUNT(words); ++i) {
        wf__str_add(key, words[i]);
        wf__str_addn(key, i + 1 < WF__COUNT(words) ? " " : "|", 1);
    }
    add(key, head, sizeof head);
    add(key, &e->llvm_identity, sizeof e->llvm_identity);
    size_t prefix = key->len;
    add_body_key(body, key);
    return prefix;
}

/* ---- code ---- */
static wf__executable *load_object(const void *object, size_t bytes, const wf__code_options *how, wf__str *error)
{
    wf__executable *x = wf__alloc0(sizeof *x);
    wf__code *code = x ? wf__code_load(object, bytes, error) : NULL;
    if (!code) {
        wf__free(x);
        return NULL;
    }
    x->code = code;
    x->entry = wf__code_entry(code);
    x->baseline = how->baseline;
    return x;
}

static wf__executable *load_from_disk(wf__engine *e, const wf__code_options *how, const wf__str *key)
{
    wf__bytes object = { 0 };
    wf__str ignored = { 0 };
    wf__executable *x = NULL;
    if (e->use_disk && wf__disk_load(e->disk, key->at, key->len, &object))
        x = load_object(object.at, object.n, how, &ignored);
    if (x)
        atomic_fetch_add(&e->disk_hits, 1);
    wf__free(object.at);
    wf__str_free(&ignored);
    return x;
}

void wf__engine_limit_code(wf__engine *e, size_t idle_bytes) { wf__map_limit(e->code, idle_bytes); }
size_t wf__engine_count_code(wf__engine *e) { return wf__map_count(e->code); }

bool wf__engine_tile(const wf__engine *e, const wf__ir *body, const wf__code_options *how, int *rows, int *columns,
                     int *lanes)
{
    wf__code_options options = *how;
    options.target = e->target;
    return e->codegen_ops && e->codegen_ops->tile(body, &options, rows, columns, lanes);
}

/* ---- why the disk had no code ---- */
/* Returns the difference of two keys of the same body, by the order of write_code_key. `old` ends before the body's
 * part. */
static const char *describe_difference(const wf__str *old, const char *now)
{
    static const char *const what[] = { "",
                                        "another version of the library",
                                        "another build of the library",
                                        "another kind of machine",
                                        "another processor",
                                        "other processor features" };
    const char *a = old->at, *b = now;
    size_t part = 0;
    for (; *a == *b && *a != '|'; ++a, ++b)
        part += *a == ' ';
    if (*a != *b)
        return what[part < WF__COUNT(what) ? part : WF__COUNT(what) - 1];
    return memcmp(a + 1, b + 1, HEAD_BYTES) != 0 ? "other options" : "another LLVM library";
}

static void explain_miss(wf__engine *e, const wf__str *key, size_t prefix, wf__note *note)
{
    const char *why = NULL;
    wf__str old = { 0 };
    if (!e->use_disk)
        return;
    if (*wf__disk_problem(e->disk))
        why = "the object cache on disk cannot be used";
    else if (wf__disk_damaged(e->disk, key->at, key->len))
        why = "the object in the cache on disk was damaged";
    else if (wf__disk_kin(e->disk, key->at, key->len, prefix, &old) && old.len == prefix)
        why = describe_difference(&old, key->at);
    if (why)
        snprintf(note->why, sizeof note->why, old.len ? "the object on disk is for %s" : "%s", why);
    wf__str_free(&old);
}

typedef struct request { /* a request for the code of a body with these options */
    const wf__ir *body;
    const wf__code_options *how;
    wf__str key;
    size_t prefix; /* bytes of the key before the body's part */
    wf__hash128 hash;
} request;

static bool make_request(wf__engine *e, const wf__ir *body, const wf__code_options *how, request *out)
{
    *out = (request){ .body = body, .how = how };
    out->prefix = write_code_key(e, body, how, &out->key);
    if (!out->key.failed)
        out->hash = wf__hash_128(out->key.at, out->key.len);
    return !out->key.failed;
}

/* Gives x to the map. Returns the map's code: x, or the code that another thread has put there. */
static wf__held *keep_code(wf__engine *e, const request *s, wf__executable *x)
{
    wf__held *code = wf__map_put(e->code, s->hash, s->key.at, s->key.len, x, sizeof *x + wf__code_size(x->code));
    if (!code || wf__held_value(code) != x)
        free_executable(x);
    return code;
}

static wf__held *find_code(wf__engine *e, const request *s, wf__note *note)
{
    wf__held *code = wf__map_get(e->code, s->hash, s->key.at, s->key.len);
    note->hash = s->hash.lo;
    note->code = WF_CODE_MEMORY;
    if (code) {
        atomic_fetch_add(&e->memory_hits, 1);
        return code;
    }
    wf__executable *x = load_from_disk(e, s->how, &s->key);
    note->code = WF_CODE_DISK;
    return x ? keep_code(e, s, x) : NULL;
}

static wf__executable *compile(wf__engine *e, wf__codegen *codegen, const request *s, wf__str *object, wf__str *error)
{
    wf__code_options options = *s->how;
    options.target = e->target;
    return e->codegen_ops->compile(codegen, s->body, &options, WF__OBJECT, object, error)
               ? load_object(object->at, object->len, s->how, error)
               : NULL;
}

static wf__held *make_code(wf__engine *e, const request *s, wf__note *note, wf__str *error)
{
    note->hash = s->hash.lo;
    note->code = WF_CODE_NONE;
    if (note->explain)
        explain_miss(e, &s->key, s->prefix, note);
    wf__mutex_lock(&e->lock);
    wf__codegen *codegen = open_llvm(e);
    wf__mutex_unlock(&e->lock);
    if (!codegen)
        return NULL;
    wf__str object = { 0 };
    wf__once *once = wf__once_begin(&s->key);
    const wf__str *made = wf__once_made(once);
    wf__executable *x = made ? load_object(made->at, made->len, s->how, error) : NULL;
    if (x) {
        note->code = WF_CODE_MEMORY;
        atomic_fetch_add(&e->memory_hits, 1);
    } else if (!made && (x = compile(e, codegen, s, &object, error))) {
        note->code = WF_CODE_COMPILED;
        atomic_fetch_add(&e->compiled, 1);
        wf__engine_keep(e, &s->key, object.at, object.len);
    } else
        wf__str_free(&object);
    wf__once_end(once, &object);
    wf__str_free(&object);
    return x ? keep_code(e, s, x) : NULL;
}

bool wf__engine_may_compile(wf__engine *e)
{
    wf__mutex_lock(&e->lock);
    bool may = e->codegen_ops && e->target->isa != WF__ISA_NONE && !e->open_failed;
    wf__mutex_unlock(&e->lock);
    return may;
}

/* Returns the code of a body. Compiles only if `error` is not NULL. */
static wf__held *get_code(wf__engine *e, const wf__ir *body, const wf__code_options *how,
                          const wf__code_options *instead, wf__note *note, wf__str *error)
{
    wf__mutex_lock(&e->lock);
    find_llvm(e);
    wf__mutex_unlock(&e->lock);
    wf__note unseen = { 0 };
    request wanted, other = { 0 };
    note = note ? note : &unseen;
    wf__held *code = NULL;
    if (make_request(e, body, how, &wanted)) {
        code = find_code(e, &wanted, note);
        if (!code && instead && make_request(e, body, instead, &other))
            code = find_code(e, &other, note);
        if (!code && error)
            code = make_code(e, &wanted, note, error);
    }
    wf__str_free(&other.key);
    wf__str_free(&wanted.key);
    return code;
}

wf__held *wf__engine_get_code(wf__engine *e, const wf__ir *body, const wf__code_options *how,
                              const wf__code_options *instead, wf__note *note, wf__str *error)
{
    if (e->codegen_ops && e->target->isa != WF__ISA_NONE)
        return get_code(e, body, how, instead, note, error);
    wf__mutex_lock(&e->lock);
    open_llvm(e); /* logs the reason, once */
    wf__mutex_unlock(&e->lock);
    return NULL;
}

wf__held *wf__engine_find_code(wf__engine *e, const wf__ir *body, const wf__code_options *how,
                               const wf__code_options *instead, wf__note *note)
{
    bool none = !e->use_disk && !wf__map_count(e->code);
    return none ? NULL : get_code(e, body, how, instead, note, NULL);
}

bool wf__engine_text(wf__engine *e, const wf__ir *body, const wf__code_options *how, bool assembly, wf__str *out,
                     wf__str *error)
{
    wf__mutex_lock(&e->lock);
    wf__codegen *codegen = open_llvm(e);
    wf__mutex_unlock(&e->lock);
    if (!codegen) {
        wf__str_add(error,
                    "there is no code generator here (no LLVM library could be opened); the interpreter is used");
        return false;
    }
    wf__code_options options = *how;
    options.target = e->target;
    return e->codegen_ops->compile(codegen, body, &options, assembly ? WF__ASSEMBLY : WF__LLVM_IR, out, error);
}
