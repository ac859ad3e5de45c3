/* farm.c - the farm: what is to be done, and the run that claims items, calls the function and notes what it did.
 *
 * The order of steps for one item: take its lock; look whether another process has finished it meanwhile; call the
 * function; note the item in the journal; release the lock. Outputs appear before the note, and the note before the lock
 * goes. So a process that takes the lock next, and finds outputs, reads the note if there is one.
 */
#include "each/each.h"
#include <errno.h>
#include <math.h>

struct wf_farm {
    const wf_each_item *items;
    size_t count;
    wf_each_options options;
    uint64_t task, settings, version, shared; /* hashes */
    struct known {
        uint64_t id, outputs; /* outputs: as last seen */
        wf_each_state state;
    } * known;
    wf__each_journal journal;
    size_t next; /* of a run without options.next */
};

static const char *const state_names[] = { "done",     "new",   "missing", "output", "task",
                                           "settings", "input", "version", "again" };

const char *wf_each_state_name(wf_each_state state)
{
    return (size_t)state < WF__COUNT(state_names) ? state_names[state] : NULL;
}

static uint64_t hash_text(const char *text) { return text ? wf__hash64(text, strlen(text), 0) : 0; }

/* ---- what is to be done ---- */

static wf_each_state compare(const wf_farm *farm, uint64_t id, const wf__each_facts *now)
{
    const wf__each_record *last = NULL;
    if (farm->options.again)
        return WF_EACH_AGAIN;
    for (const wf__each_record *r = NULL; (r = wf__journal_find(&farm->journal, id, r));) {
        if (now->outputs && r->outputs == now->outputs && r->inputs == now->inputs && r->task == farm->task &&
            r->settings == farm->settings && r->version == farm->version)
            return WF_EACH_DONE;
        if (!last || r->when > last->when)
            last = r;
    }
    return !last                              ? WF_EACH_NEW
           : now->outputs == 0                ? WF_EACH_MISSING
           : last->task != farm->task         ? WF_EACH_TASK
           : last->settings != farm->settings ? WF_EACH_SETTINGS
           : last->version != farm->version   ? WF_EACH_VERSION
           : last->inputs != now->inputs      ? WF_EACH_INPUT
                                              : WF_EACH_OUTPUT;
}

/* False = no memory. */
static bool look_at(wf_farm *farm, size_t item)
{
    struct known *k = &farm->known[item];
    wf__each_facts now;
    if (!wf__each_look(&farm->items[item], farm->shared, &now))
        return false;
    k->outputs = now.outputs;
    k->state = compare(farm, k->id, &now);
    return true;
}

/* Appends the folder of the journal. */
static void find_journal(wf__str *out, const wf_each_item *items, const wf_each_options *options)
{
    if (options->journal) {
        wf__str_add(out, options->journal);
        return;
    }
    const char *path = items[0].outputs[0], *slash = strrchr(path, '/');
    wf__str_addn(out, path, slash ? (size_t)(slash - path) + 1 : 0);
    wf__str_add(out, ".weft-each");
}

wf_farm *wf_farm_open(wf_context *ctx, const wf_each_item *items, size_t count, const wf_each_options *options)
{
    if ((count && !items) || (options && options->size != sizeof *options)) {
        wf_error(ctx, WF_ERR_ARG, "wf_farm_open: no items, or options.size is not sizeof(wf_each_options)");
        return NULL;
    }
    wf_farm *farm = wf__alloc0(sizeof *farm);
    if (!farm) {
        wf_error(ctx, WF_ERR_MEMORY, NULL);
        return NULL;
    }
    farm->items = items;
    farm->count = count;
    farm->options = options ? *options : (wf_each_options){ .size = sizeof *options };
    farm->journal = (wf__each_journal){ .dir = -1, .own = -1 };
    const wf_each_options *o = &farm->options;
    double patience = o->patience > 0 ? o->patience : 300;
    wf__str folder = { 0 };
    size_t bytes;
    wf_status status = wf__each_check(ctx, items, count, o->shared, o->shared_count);
    if (status == WF_OK && count) {
        find_journal(&folder, items, o);
        farm->known = wf__mul_size(count, sizeof *farm->known, &bytes) ? wf__alloc0(bytes) : NULL;
        status = folder.failed || !farm->known
                     ? wf_error(ctx, WF_ERR_MEMORY, NULL)
                     : wf__journal_open(ctx, folder.at, patience, !o->read_only, &farm->journal);
    }
    wf__str_free(&folder);
    if (status == WF_OK)
        status = wf__journal_read(&farm->journal, ctx);
    if (status == WF_OK && count && !o->read_only && wf__journal_merge(&farm->journal, ctx) != WF_OK)
        wf_clear_error(ctx); /* the journals stay as they are */
    farm->task = hash_text(o->task);
    farm->settings = hash_text(o->settings);
    farm->version = hash_text(wf_version());
    if (status == WF_OK && !wf__each_shared(o->shared, o->shared_count, &farm->shared))
        status = wf_error(ctx, WF_ERR_MEMORY, NULL);
    for (size_t i = 0; i < count && status == WF_OK; i++)
        if (!wf__each_id(&items[i], &farm->known[i].id) || !look_at(farm, i))
            status = wf_error(ctx, WF_ERR_MEMORY, NULL);
    if (status != WF_OK) {
        wf_farm_free(farm);
        return NULL;
    }
    return farm;
}

wf_each_state wf_farm_state(const wf_farm *farm, size_t item)
{
    return farm && item < farm->count ? farm->known[item].state : WF_EACH_DONE;
}

void wf_farm_free(wf_farm *farm)
{
    if (!farm)
        return;
    wf__journal_close(&farm->journal);
    wf__free(farm->known);
    wf__free(farm);
}

/* ---- a run ---- */

/* A thread that renews the locks of this process until `stop` is set. */
typedef struct renewal {
    const wf__each_journal *journal;
    wf__thread thread;
    wf__mutex mutex;
    wf__cond cond;
    bool running, stop;
} renewal;

static void *renew(void *user)
{
    renewal *r = user;
    enum { TIMES = 10 }; /* renewals in the time after which a lock is void */
    wf__mutex_lock(&r->mutex);
    while (!r->stop) {
        wf__cond_wait_for(&r->cond, &r->mutex, r->journal->patience / TIMES);
        if (!r->stop)
            wf__touch_fd(r->journal->own);
    }
    wf__mutex_unlock(&r->mutex);
    return NULL;
}

/* Without memory for a thread, only the lines that this process appends renew its locks. */
static void begin_renewal(renewal *r, const wf__each_journal *journal)
{
    *r = (renewal){ .journal = journal };
    if (!wf__mutex_init(&r->mutex))
        return;
    if (wf__cond_init(&r->cond)) {
        r->running = wf__thread_start(&r->thread, renew, r);
        if (r->running)
            return;
        wf__cond_free(&r->cond);
    }
    wf__mutex_free(&r->mutex);
}

static void end_renewal(renewal *r)
{
    if (!r->running)
        return;
    wf__mutex_lock(&r->mutex);
    r->stop = true;
    wf__cond_signal(&r->cond);
    wf__mutex_unlock(&r->mutex);
    wf__thread_join(r->thread);
    wf__cond_free(&r->cond);
    wf__mutex_free(&r->mutex);
}

typedef struct run {
    wf_farm *farm;
    wf_context *ctx;
    wf_each_function function;
    void *user;
    wf_each_summary sum;
    wf_status first; /* failure */
    wf__str message; /* of the first failure */
    bool over;       /* ends the run */
    size_t *later;   /* items that other processes hold */
    uint32_t later_count, later_cap;
} run;

typedef enum outcome { SETTLED, HELD } outcome;

static void report(run *r, const wf_each_report *what)
{
    if (r->farm->options.report)
        r->farm->options.report(r->farm->options.user, what);
}

static bool is_stopped(const run *r)
{
    return r->over || (r->farm->options.stop && r->farm->options.stop(r->farm->options.user));
}

static void skip(run *r, size_t item)
{
    r->sum.skipped++;
    report(r, &(wf_each_report){ .item = item, .event = WF_EACH_SKIPPED, .message = "" });
}

/* The item has failed, with the error of the context, which is cleared. A cancelled item does not count as failed. */
static void fail(run *r, size_t item, wf_status status, double seconds)
{
    wf__str text = { 0 };
    wf__str_add(&text, wf_last_message(r->ctx));
    if (text.len == 0)
        wf__str_add(&text, wf_status_name(status));
    wf_clear_error(r->ctx);
    if (r->first == WF_OK) {
        r->first = status;
        wf__str_addf(&r->message, "%s: %s", wf__each_name(&r->farm->items[item]), wf__str_get(&text));
    }
    if (status == WF_ERR_CANCELLED) {
        r->over = true;
    } else {
        r->sum.failed++;
        r->over = r->over || status == WF_ERR_SYNTAX || r->farm->options.strict;
        report(r, &(wf_each_report){ .item = item,
                                     .event = WF_EACH_FAILED,
                                     .status = status,
                                     .message = wf__str_get(&text),
                                     .seconds = seconds });
    }
    wf__str_free(&text);
}

/* True if another process has made the outputs since this process last looked. Reads the journal if the outputs have
 * changed since. If this process holds the item, reads it whenever there are outputs: they may have been there at the
 * last look, and their note may be new. */
static bool is_done_meanwhile(run *r, size_t item, bool holds)
{
    wf_farm *farm = r->farm;
    uint64_t outputs = wf__each_look_outputs(&farm->items[item]);
    if (outputs == 0 || farm->options.again || (!holds && outputs == farm->known[item].outputs))
        return false;
    if (wf__journal_read(&farm->journal, r->ctx) != WF_OK || !look_at(farm, item)) {
        wf_clear_error(r->ctx); /* the item is done once more */
        return false;
    }
    return farm->known[item].state == WF_EACH_DONE;
}

/* Calls the function and notes the item, which this process holds. */
static void work(run *r, size_t item)
{
    wf_farm *farm = r->farm;
    const wf_each_item *it = &farm->items[item];
    wf__each_facts before;
    bool known = wf__each_look(it, farm->shared, &before);
    wf_clear_error(r->ctx);
    report(r, &(wf_each_report){ .item = item, .event = WF_EACH_STARTED, .bytes = before.bytes, .message = "" });
    double begin = wf__now();
    wf_status status = known ? r->function(r->ctx, it, item, r->user) : wf_error(r->ctx, WF_ERR_MEMORY, NULL);
    double seconds = wf__now() - begin;
    uint64_t outputs = status == WF_OK ? wf__each_look_outputs(it) : 0;
    if (status == WF_OK && !outputs)
        status = wf_error(r->ctx, WF_ERR_IO, "the function has made no output, or not all");
    if (status == WF_OK) {
        wf__each_record record = { farm->known[item].id, farm->task, farm->settings,  before.inputs,
                                   farm->version,        outputs,    wf__wall_clock() };
        status = wf__journal_note(&farm->journal, r->ctx, &record, seconds, it->outputs[0]);
    }
    if (status != WF_OK) {
        fail(r, item, status, seconds);
        return;
    }
    farm->known[item].outputs = outputs;
    farm->known[item].state = WF_EACH_DONE;
    r->sum.done++;
    r->sum.bytes += before.bytes;
    report(r, &(wf_each_report){
                  .item = item, .event = WF_EACH_FINISHED, .bytes = before.bytes, .seconds = seconds, .message = "" });
}

static outcome attempt(run *r, size_t item)
{
    wf_farm *farm = r->farm;
    wf__each_lock lock;
    if (item >= farm->count)
        return SETTLED;
    if (farm->known[item].state == WF_EACH_DONE || is_done_meanwhile(r, item, false)) {
        skip(r, item);
        return SETTLED;
    }
    wf__each_claim claim = wf__lock_take(&farm->journal, farm->known[item].id, &lock);
    if (claim == WF__EACH_TAKEN)
        return HELD;
    if (claim == WF__EACH_ERROR) {
        int error = errno;
        fail(r, item, wf__journal_fail(&farm->journal, r->ctx, "lock an item", error), 0);
        r->over = r->over || error != ELOOP; /* many processes died over this one item */
        return SETTLED;
    }
    if (is_done_meanwhile(r, item, true))
        skip(r, item);
    else
        work(r, item);
    wf__lock_release(&farm->journal, &lock);
    return SETTLED;
}

static bool next_item(run *r, size_t *item)
{
    const wf_each_options *o = &r->farm->options;
    if (o->next)
        return o->next(o->user, item);
    *item = r->farm->next;
    return r->farm->next < r->farm->count && ++r->farm->next;
}

/* Tries the items that other processes hold again, until they are done or their process has died. */
static void do_later(run *r)
{
    double wait = 0.02;
    const double most = 1;
    while (r->later_count && !is_stopped(r)) {
        uint32_t left = 0, before = r->later_count;
        for (uint32_t i = 0; i < before; i++)
            if (is_stopped(r) || attempt(r, r->later[i]) == HELD)
                r->later[left++] = r->later[i];
        r->later_count = left;
        if (r->farm->options.no_wait)
            break;
        if (left && left == before) {
            wf__sleep(wait);
            wait = fmin(1.5 * wait, most);
        }
    }
    r->sum.busy = r->later_count;
    for (uint32_t i = 0; i < r->later_count; i++)
        report(r, &(wf_each_report){ .item = r->later[i], .event = WF_EACH_BUSY, .message = "" });
}

static wf_status run_all(run *r)
{
    size_t item;
    while (!is_stopped(r) && next_item(r, &item))
        if (attempt(r, item) == HELD) {
            if (!wf__grow(&r->later, &r->later_cap, r->later_count + 1, sizeof *r->later))
                return wf_error(r->ctx, WF_ERR_MEMORY, NULL);
            r->later[r->later_count++] = item;
        }
    do_later(r);
    if (r->first != WF_OK)
        return wf_error(r->ctx, r->first, wf__str_get(&r->message));
    return is_stopped(r) ? wf_error(r->ctx, WF_ERR_CANCELLED, NULL) : WF_OK;
}

wf_status wf_farm_run(wf_farm *farm, wf_context *ctx, wf_each_function function, void *user, wf_each_summary *summary)
{
    if (!farm || !function || farm->options.read_only)
        return wf_error(ctx, WF_ERR_ARG, "wf_farm_run: no farm, no function, or the farm was opened with read_only");
    run r = { .farm = farm, .ctx = ctx, .function = function, .user = user };
    double begin = wf__now();
    wf_status status = farm->count ? wf__journal_begin(&farm->journal, ctx) : WF_OK;
    if (status == WF_OK && farm->count) {
        renewal renewed;
        begin_renewal(&renewed, &farm->journal);
        wf__lock_clean(&farm->journal);
        status = run_all(&r);
        end_renewal(&renewed);
    }
    wf__journal_end(&farm->journal);
    farm->next = 0;
    wf__free(r.later);
    wf__str_free(&r.message);
    r.sum.seconds = wf__now() - begin;
    if (summary)
        *summary = r.sum;
    return status;
}

wf_status wf_each(wf_context *ctx, const wf_each_item *items, size_t count, wf_each_function function, void *user,
                  const wf_each_options *options, wf_each_summary *summary)
{
    wf_farm *farm = wf_farm_open(ctx, items, count, options);
    wf_status status = farm ? wf_farm_run(farm, ctx, function, user, summary) : wf_last_status(ctx);
    wf_farm_free(farm);
    return status;
}
