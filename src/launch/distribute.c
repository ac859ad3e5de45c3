/* distribute.c - launches with distributed arrays. All ranks of the group plan the same launch, exchange the elements that
 * the plan reads from other ranks, and run their parts of it.
 *
 * What can fail on one rank alone, such as memory, is agreed on where something is new: a plan, or an exchange. Later
 * launches send their status along with the elements, and in joins. The plan begins to run while elements are on their
 * way, and waits for them where it needs them (wf__arrivals). A rank that has no memory for the plan of a launch which the
 * others know cannot take part in it in any way, and ends the group.
 */
#include "dist/dist.h"
#include "launch/launch.h"
#include <stdlib.h>

typedef struct use {        /* an array of the launch */
    wf__exchange *exchange; /* NULL = none */
    bool made;              /* the exchange is new */
} use;

typedef struct launch {
    wf_context *ctx;
    const wf__request *r;
    wf__dist_group *group;
    wf__group ranks;
    wf_array **array; /* [objects] those of the request, or parts of them that this launch has memory of its own for */
    bool *used;       /* [parameters] the plan depends on the value */
    uint64_t *word;   /* key: layouts, distributions, parameters */
    size_t words;
    uint64_t hash; /* of what must be the same on all ranks; not 0 */
    wf__plan_entry *plan;
    use *object;        /* [objects] */
    bool alone;         /* no rank needs elements of another one */
    bool lacks;         /* this rank has failed before the exchange, and has no memory for elements */
    wf_status exchange; /* of the messages: an error = they have failed */
    wf__arrivals arrivals;
    wf__failure failure;
    bool reported; /* the failure is the context's error already */
} launch;

static const wf__distributed *distributed(const launch *l, uint32_t object)
{
    return l->r->arrays[object]->distributed;
}

/* ---- what is not supported ---- */
static const char *why_not(const launch *l)
{
    const wf__request *r = l->r;
    if (r->stream)
        return "streams do not know distributed arrays";
    if (wf__freezes(l->ctx))
        return "frozen sequences do not know distributed arrays";
    if (wf__tapes(l->ctx))
        return "tapes do not know distributed arrays";
    if (wf__is_gpu(r->program->device))
        return "GPUs do not know distributed arrays";
    for (uint32_t i = 0; i < r->program->object_n; ++i)
        if (distributed(l, i) && distributed(l, i)->group != l->group)
            return "the distributed arrays of a launch must belong to one group of ranks";
    return NULL;
}

/* ---- the key ---- */
static void add_word(launch *l, uint64_t word) { l->word[l->words++] = word; }

static void add_dist(launch *l, const wf_dist *dist)
{
    for (int d = 0; d < dist->shape.rank; ++d) {
        add_word(l, (uint64_t)dist->grid[d]);
        add_word(l, (uint64_t)dist->unit[d]);
    }
}

/* Sets the hash of all that must be the same on all ranks, which strides need not be. Uses the room after the words of the
 * key. */
static void set_hash(launch *l)
{
    const wf__program *p = l->r->program;
    const wf_shape *space = l->r->space;
    size_t end = l->words;
    for (int d = 0; d < space->rank; ++d)
        add_word(l, (uint64_t)space->dim[d]);
    for (uint32_t i = 0; i < p->object_n; ++i) {
        const wf_array *a = l->r->arrays[i];
        add_word(l, (uint64_t)a->dtype | (uint64_t)a->shape.rank << 8 | (uint64_t)(a->distributed != NULL) << 16);
        for (int d = 0; d < a->shape.rank; ++d)
            add_word(l, (uint64_t)a->shape.dim[d]);
        if (a->distributed)
            add_dist(l, &a->distributed->dist);
    }
    for (uint32_t i = 0; i < p->param_n; ++i)
        if (l->used[i])
            add_word(l, l->r->param[i]);
    uint64_t recording = wf__hash64(l->r->recording_key->at, l->r->recording_key->len, 0);
    l->hash = wf__hash64(l->word + end, (l->words - end) * sizeof *l->word, recording);
    l->hash += l->hash == 0;
    l->words = end;
}

/* Writes what the plan depends on besides the recording. */
static void write_words(launch *l)
{
    const wf__program *p = l->r->program;
    l->words = wf__write_layouts(l->array, p->object_n, l->r->space, l->word) / sizeof *l->word;
    add_word(l, (uint64_t)l->ranks.rank);
    for (uint32_t i = 0; i < p->object_n; ++i) {
        add_word(l, distributed(l, i) != NULL);
        if (distributed(l, i))
            add_dist(l, &distributed(l, i)->dist);
    }
    for (uint32_t i = 0; i < p->param_n; ++i)
        if (l->used[i])
            add_word(l, l->r->param[i]);
}

static bool write_key(launch *l)
{
    const wf__program *p = l->r->program;
    size_t most = wf__most_layout_words(p->object_n) + 2 + (size_t)p->object_n * (3 + 6 * WF_MAX_RANK) +
                  2 * p->param_n + WF_MAX_RANK;
    l->used = wf__alloc((p->param_n + 1) * sizeof *l->used);
    l->word = wf__alloc(most * sizeof *l->word);
    l->object = wf__alloc0((p->object_n + 1) * sizeof *l->object);
    l->array = wf__alloc((p->object_n + 1) * sizeof(wf_array *));
    for (uint32_t i = 0; l->array && i < p->object_n; ++i)
        l->array[i] = l->r->arrays[i];
    if (!l->used || !l->word || !l->object || !l->array || !wf__index_params(&p->rec, l->used))
        return wf__out_of_memory(&l->failure, "a launch of distributed arrays");
    write_words(l);
    set_hash(l);
    return true;
}

/* ---- planning ---- */
/* Makes an error that the context has been told the failure. */
static void take_error(launch *l, wf_status status)
{
    if (l->failure.status != WF_OK)
        return;
    l->failure.status = status;
    l->reported = true;
    wf__str_add(&l->failure.text, wf_last_message(l->ctx));
}

/* Finds or makes the plan. */
static bool find_plan(launch *l)
{
    const wf__request *r = l->r;
    const wf__piece layouts = { l->word, l->words * sizeof *l->word };
    wf_status status = WF_OK;
    bool made;
    l->plan =
        wf__plan_look_up(l->ctx, r->program, r->recording_key, &layouts, l->array, r->space, &l->ranks, &made, &status);
    if (!l->plan)
        take_error(l, status);
    return l->plan != NULL;
}

static wf__needs *needs_of(const launch *l, uint32_t object) { return l->plan->plan.held[object].read; }

/* True if this launch has memory of its own for what this rank reads of the array. */
static bool is_apart(const launch *l, uint32_t object) { return l->plan->plan.held[object].apart; }

/* Returns a part of the array for what this rank reads of it, one for all objects that are the same array and have the same
 * exchange. NULL = a failure, which is noted. */
static wf_array *new_part(launch *l, uint32_t object)
{
    const wf__box need = wf__needs_hull(needs_of(l, object), l->ranks.rank);
    for (uint32_t j = 0; j < object; ++j)
        if (l->r->arrays[j] == l->r->arrays[object] && l->array[j] != l->r->arrays[j] &&
            wf__needs_equal(needs_of(l, j), needs_of(l, object)))
            return (wf_array *)wf_retain(l->array[j]);
    wf_array *part = wf__distributed_part(l->r->arrays[object], &need);
    if (!part)
        take_error(l, WF_ERR_MEMORY);
    return part;
}

/* Gives the arrays memory for what the plan touches. Returns true if there is another memory now, so that the plan has other
 * strides than the array. */
static bool hold(launch *l)
{
    bool moved = false;
    for (uint32_t i = 0; i < l->r->program->object_n; ++i) {
        wf_array *a = l->r->arrays[i], *part;
        wf_status status;
        uint64_t id = a->id;
        if (!a->distributed)
            continue;
        wf__box box = a->distributed->block;
        if (!is_apart(l, i))
            box = wf__box_hull(&box, &l->plan->plan.held[i].touched, a->shape.rank);
        if (!wf__distributed_hold(a, &box, &status))
            take_error(l, status);
        part = is_apart(l, i) ? new_part(l, i) : NULL;
        l->array[i] = part ? part : a;
        moved = moved || part || a->id != id;
    }
    return moved;
}

enum { LOGGED_BYTES = 1 << 20 };

/* Writes to the log that this rank fetches all elements along an axis that ranks share, if that takes LOGGED_BYTES. */
static void log_whole_axes(const launch *l, uint32_t object)
{
    const wf__needs *needs = needs_of(l, object);
    const wf__box need = wf__needs_hull(needs, l->ranks.rank);
    const wf__program *p = l->r->program;
    const wf_array *a = l->r->arrays[object];
    const wf__distributed *d = a->distributed;
    char called[WF__CALLED];
    const wf__box own = wf__box_meet(&need, &d->block, a->shape.rank);
    const size_t all = wf__box_elements(&need, a->shape.rank), fetched = all - wf__box_elements(&own, a->shape.rank);
    size_t needed = 0;
    for (uint32_t i = 0; i < needs->of_rank[l->ranks.rank].count; ++i)
        needed += wf__box_elements(&needs->box[needs->of_rank[l->ranks.rank].first + i], a->shape.rank);
    if (needed < all || fetched * wf_dtype_size(a->dtype) < LOGGED_BYTES)
        return;
    for (int k = 0; k < a->shape.rank && l->ctx->log; ++k) {
        bool has = d->block.hi[k] - d->block.lo[k] == a->shape.dim[k];
        if (has || need.lo[k] > 0 || need.hi[k] < a->shape.dim[k] || wf__box_is_empty(&need, a->shape.rank))
            continue;
        wf__str text = { 0 };
        wf__str_addf(&text, "%s: rank %d fetches all elements along axis %d, which %d ranks share",
                     wf__array_called(p, p->object[object].array, a, called), l->ranks.rank, k, (int)d->dist.grid[k]);
        l->ctx->log(1, wf__str_get(&text), l->ctx->log_user);
        wf__str_free(&text);
    }
}

/* Finds or makes the plan, the memory and the exchanges. Returns true if an exchange is new. */
static bool prepare(launch *l)
{
    const wf__request *r = l->r;
    bool is_new = false;
    l->alone = true;
    if (!find_plan(l))
        return false;
    if (hold(l)) {
        wf__plan_release(l->ctx, l->plan);
        write_words(l);
        if (!find_plan(l))
            return false;
    }
    for (uint32_t i = 0; i < r->program->object_n; ++i) {
        if (!distributed(l, i))
            continue;
        l->object[i].exchange = wf__exchange_for(r->arrays[i], needs_of(l, i), &l->object[i].made);
        if (l->object[i].made)
            log_whole_axes(l, i);
        is_new = is_new || l->object[i].made;
        l->alone = l->alone && !l->object[i].exchange && !l->object[i].made;
        if (l->object[i].made && !l->object[i].exchange && l->failure.status == WF_OK)
            wf__out_of_memory(&l->failure, "messages to other ranks");
    }
    return is_new;
}

/* All ranks go on, or none; then what is new is not there on any of them. exchanges: number of exchanges before. */
static void agree(launch *l, uint32_t exchanges)
{
    wf_status mine = l->failure.status;
    wf__dist_agree(l->group, l->hash, mine, wf__str_get(&l->failure.text), &l->failure);
    for (uint32_t i = 0; l->failure.status != WF_OK && l->object && i < l->r->program->object_n; ++i)
        if (l->object[i].made && l->object[i].exchange)
            wf__exchange_drop(l->r->arrays[i], l->object[i].exchange);
    if (l->failure.status != WF_OK)
        l->group->exchanges = exchanges;
}

/* Makes the failure the context's error. */
static wf_status report(launch *l)
{
    if (l->failure.status != WF_OK && !l->reported)
        wf__program_error(l->ctx, l->r->program, l->failure.status, wf__str_get(&l->failure.text), WF_SECTION_CALL,
                          NULL);
    return l->failure.status;
}

/* ---- running ---- */
static bool is_part(const launch *l, uint32_t object) { return l->array[object] != l->r->arrays[object]; }

/* Leaves out the exchanges that are not needed. */
static void choose_exchanges(launch *l)
{
    for (uint32_t i = 0; i < l->r->program->object_n; ++i) {
        wf_array *a = l->r->arrays[i];
        if (l->object[i].exchange && !is_apart(l, i) && wf__exchange_is_fresh(a, l->object[i].exchange)) {
            l->object[i].exchange = NULL;
            if (a->distributed->lacks && l->failure.status == WF_OK) {
                char called[WF__CALLED];
                const wf__program *p = l->r->program;
                l->failure.status = WF_ERR_MEMORY;
                wf__str_addf(&l->failure.text,
                             "a launch that failed has left this rank without other ranks' elements of %s",
                             wf__array_called(p, p->object[i].array, a, called));
            }
        }
        for (uint32_t j = 0; j < i; ++j)
            if (l->object[i].exchange && l->object[i].exchange == l->object[j].exchange)
                l->object[i].exchange = NULL;
    }
}

/* Begins the exchanges of all arrays, which tell this rank's status. */
static wf_status begin_exchanges(launch *l)
{
    const bool fails = l->failure.status != WF_OK;
    wf_status status = WF_OK;
    for (uint32_t i = 0; i < l->r->program->object_n; ++i) {
        wf_array *a = l->r->arrays[i];
        if (!l->object[i].exchange || status != WF_OK)
            continue;
        status = wf__exchange_begin(a, l->object[i].exchange, l->failure.status);
        if (is_apart(l, i))
            continue;
        a->distributed->fresh =
            l->object[i].exchange; /* also if a rank fails: all ranks must decide alike what is fresh */
        a->distributed->lacks = fails;
    }
    for (uint32_t i = 0; i < l->r->program->object_n && !fails; ++i) /* while messages are on their way */
        if (is_part(l, i))
            wf__distributed_copy_own(l->r->arrays[i], l->array[i]);
    return status;
}

/* ---- while messages are on their way, and after it ---- */
static void poll(void *user)
{
    launch *l = user;
    for (uint32_t i = 0; i < l->r->program->object_n; ++i)
        if (l->object[i].exchange && wf__exchange_poll(l->object[i].exchange))
            return;
}

/* Waits for the elements of all arrays. A rank that has failed before has no memory for them. */
static bool arrive(void *user, wf__failure *failure)
{
    launch *l = user;
    wf_status status = l->exchange;
    for (uint32_t i = 0; i < l->r->program->object_n; ++i) {
        int failed = -1;
        if (l->object[i].exchange && status == WF_OK)
            status = wf__exchange_end(l->object[i].exchange, l->lacks ? NULL : l->array[i], &failed);
        if (status != WF_OK && failure->status == WF_OK) {
            failure->status = status;
            if (failed >= 0)
                wf__str_addf(&failure->text, "rank %d could not send its elements (%s)", failed,
                             wf_status_name(status));
            else
                wf__str_add(&failure->text, wf_ranks_message(l->group->ranks));
        }
        if (failed >= 0 && !is_apart(l, i))
            l->r->arrays[i]->distributed->lacks = true;
        status = failed >= 0 ? WF_OK : status; /* messages of other arrays are still on their way */
    }
    return failure->status == WF_OK;
}

/* Begins to exchange the elements of all arrays, and tells this rank's status. */
static void begin(launch *l)
{
    choose_exchanges(l);
    l->lacks = l->failure.status != WF_OK;
    l->exchange = begin_exchanges(l);
    l->arrivals = (wf__arrivals){ .poll = poll, .wait = arrive, .user = l };
    for (uint32_t i = 0; i < l->r->program->object_n; ++i)
        l->arrivals.pending = l->arrivals.pending || l->object[i].exchange;
    if (l->exchange != WF_OK) {
        l->arrivals.pending = false;
        arrive(l, &l->failure);
    }
}

static void run(launch *l)
{
    const wf__request *r = l->r;
    const wf__program *p = r->program;
    const wf__others others = { .rank = l->ranks.rank,
                                .ranks = l->ranks.ranks,
                                .agree = wf__dist_agree_on,
                                .gather = wf__dist_gather,
                                .all_to_all = wf__dist_all_to_all,
                                .send = wf__dist_send,
                                .receive = wf__dist_receive,
                                .user = l->group,
                                .arrivals = &l->arrivals };
    char **base = wf__alloc((p->object_n + 1) * sizeof *base);
    for (uint32_t i = 0; base && i < p->object_n; ++i)
        base[i] = l->array[i]->base;
    if (!base && l->failure.status == WF_OK)
        wf__out_of_memory(&l->failure, "a launch");
    wf__cpu_run(l->ctx->engine, &l->plan->plan, base, r->param, &r->limits, &others, p->device == WF_INTERP, NULL,
                &l->failure);
    wf__free(base);
    for (uint32_t i = 0; i < p->object_n; ++i)
        if (distributed(l, i) && wf__program_writes(p, i))
            r->arrays[i]->distributed->fresh = NULL;
}

/* Notes the plan for launches of the kernel with the same arrays, unless it depends on parameters. */
static void remember(const launch *l)
{
    bool depends = !l->alone || l->failure.status != WF_OK;
    for (uint32_t i = 0; !depends && i < l->r->program->param_n; ++i)
        depends = l->used[i];
    if (!depends)
        wf__memo_fill(l->r->kernel, l->r->arrays, l->r->space, l->plan);
}

static void done(launch *l)
{
    wf__plan_release(l->ctx, l->plan);
    for (uint32_t i = 0; l->array && i < l->r->program->object_n; ++i)
        if (is_part(l, i))
            wf_release(l->array[i]);
    wf__free(l->array);
    wf__free(l->used);
    wf__free(l->word);
    wf__free(l->object);
    wf__str_free(&l->failure.text);
    wf__str_free(&l->failure.warning);
}

wf_status wf__request_distributed(wf_context *ctx, const wf__request *r)
{
    launch l = { .ctx = ctx, .r = r };
    for (uint32_t i = 0; i < r->program->object_n && !l.group; ++i)
        l.group = r->arrays[i]->distributed ? r->arrays[i]->distributed->group : NULL;
    l.ranks = (wf__group){ wf_ranks_rank(l.group->ranks), wf_ranks_size(l.group->ranks), r->param };
    const char *why = why_not(&l);
    if (why)
        return wf__error(ctx, WF_ERR_UNSUPPORTED, "%s: %s", r->program->name ? r->program->name : "wf_run", why);
    const uint32_t exchanges = l.group->exchanges;
    const bool known = write_key(&l) && wf__dist_agreed(l.group, l.hash);
    const bool is_new = l.failure.status == WF_OK && prepare(&l);
    const bool told = l.hash && (!known || is_new); /* all ranks agree */
    if (told)
        agree(&l, exchanges);
    if (l.failure.status == WF_OK || (known && !told && l.plan)) {
        begin(&l);
        run(&l);
        remember(&l);
    } else if (!told)
        wf_ranks_abort(l.group->ranks, EXIT_FAILURE, wf__str_get(&l.failure.text));
    wf_status status = report(&l);
    done(&l);
    return status;
}
