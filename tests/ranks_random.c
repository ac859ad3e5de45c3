/* ranks_random.c - see ranks_random.h. */
#include "ranks_random.h"
#include <stdlib.h>
#include <string.h>
#include "base/base.h"

/* ---- making ----------------------------------------------------------------------------------------------------- */

uint64_t random_ranks_draw(uint64_t *random, uint64_t below)
{
    *random = wf__hash64(random, sizeof *random, 17);
    return (*random >> 8) % below;
}

static size_t draw_bytes(uint64_t *random)
{
    static const size_t most[] = { 1, 30, 3000, 100000 };
    return random_ranks_draw(random, most[random_ranks_draw(random, 16) ? random_ranks_draw(random, 3) : 3]);
}

static void make_program(random_ranks *p, uint64_t seed, int n)
{
    uint64_t random = seed * 0x9E3779B97F4A7C15u + 1;
    *p = (random_ranks){ .n = 1 + (int)random_ranks_draw(&random, MOST_RANKS),
                         .steps = 5 + (int)random_ranks_draw(&random, MOST_STEPS - 5) };
    p->n = n ? n : p->n;
    for (int i = 0; i < p->steps; i++) {
        step *s = &p->step[i];
        s->kind = random_ranks_draw(&random, 5) < 3 ? MESSAGE : (step_kind)random_ranks_draw(&random, KINDS);
        s->a = (int)random_ranks_draw(&random, (uint64_t)p->n);
        s->b = (int)random_ranks_draw(&random, s->kind == SPLIT ? 3 : s->kind == MESSAGE ? (uint64_t)p->n : 8);
        s->tag = (int)random_ranks_draw(&random, 3);
        s->bytes = draw_bytes(&random);
        s->prepared = random_ranks_draw(&random, 4) == 0;
    }
}

/* ---- what both sides compute ------------------------------------------------------------------------------------ */

static void fill(uint8_t *at, size_t bytes, uint64_t state, int number)
{
    uint64_t key = state + (uint64_t)number * 1000003;
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)((key >> (i % 8 * 8)) + i * 37);
}

static uint64_t hash(const void *data, size_t bytes) { return wf__hash64(data, bytes, bytes); }

static uint64_t hash_of(size_t bytes, uint64_t state, int number) /* of what fill makes */
{
    uint8_t *at = malloc(bytes + 1);
    fill(at, bytes, state, number);
    uint64_t result = hash(at, bytes);
    free(at);
    return result;
}

static void absorb(uint64_t *state, uint64_t received) { *state = wf__hash64(&received, sizeof received, *state); }

/* Bytes of the piece from one rank to another. */
static size_t piece(const step *s, int from, int to)
{
    return (s->bytes / 8) * (size_t)((from * 3 + to * 5 + s->tag) % 4);
}

static int colour_of(const step *s, int rank) { return rank % (s->b + 1) - 1; }

/* ---- the model -------------------------------------------------------------------------------------------------- */

typedef struct open_request {
    bool receives, done;
    uint64_t received; /* hash of the message */
} open_request;

typedef struct model_rank {
    uint64_t state;
    open_request open[MOST_OPEN];
    int count;
} model_rank;

static void model_done(model_rank *r, int i, uint64_t *sum)
{
    if (r->open[i].done)
        return;
    r->open[i].done = true;
    if (!r->open[i].receives)
        return;
    if (sum)
        *sum += r->open[i].received;
    else
        absorb(&r->state, r->open[i].received);
}

static void model_wait(model_rank *r, const step *s)
{
    uint64_t sum = 0;
    for (int i = 0; i < r->count; i++)
        if (s->kind == WAIT_ALL || s->kind == WAIT_EACH || i == s->b)
            model_done(r, i, s->kind == WAIT_EACH ? &sum : NULL);
    if (s->kind == WAIT_EACH)
        absorb(&r->state, sum);
}

static void model_step(random_ranks *p, model_rank *rank, int number)
{
    const step *s = &p->step[number];
    uint64_t before[MOST_RANKS];
    for (int i = 0; i < p->n; i++)
        before[i] = rank[i].state;
    if (s->kind == MESSAGE) {
        model_rank *to = &rank[s->b], *from = &rank[s->a];
        to->open[to->count++] = (open_request){ .receives = true, .received = hash_of(s->bytes, before[s->a], number) };
        from->open[from->count++] = (open_request){ 0 };
    } else if (s->kind <= WAIT_EACH)
        model_wait(&rank[s->a], s);
    for (int me = 0; me < p->n; me++) {
        uint64_t *state = &rank[me].state;
        if (s->kind == BROADCAST)
            absorb(state, hash_of(s->bytes, before[s->a], number));
        for (int i = 0; s->kind == ALL_GATHER && i < p->n; i++)
            absorb(state, hash_of(piece(s, i, 0), before[i], number));
        for (int i = 0; s->kind == ALL_TO_ALL && i < p->n; i++)
            absorb(state, hash_of(piece(s, i, me), before[i], number + me));
        if (s->kind == AGREE)
            absorb(state, s->tag & 1 ? 1000 + (uint64_t)s->a : 0);
        if (s->kind == COUNTER)
            absorb(state, (uint64_t)(s->tag * p->n * (p->n + 1) / 2));
        for (int i = 0; s->kind == SPLIT && colour_of(s, me) >= 0 && i < p->n; i++)
            if (colour_of(s, i) == colour_of(s, me))
                absorb(state, before[i]);
    }
}

static void run_model(random_ranks *p)
{
    model_rank *rank = calloc(MOST_RANKS, sizeof *rank);
    for (int i = 0; i < p->n; i++)
        rank[i].state = (uint64_t)i;
    for (int i = 0; i < p->steps; i++)
        model_step(p, rank, i);
    const step all = { .kind = WAIT_ALL };
    for (int i = 0; i < p->n; i++) {
        model_wait(&rank[i], &all);
        p->state[i] = rank[i].state;
    }
    free(rank);
}

void random_ranks_make(random_ranks *program, uint64_t seed, int n)
{
    make_program(program, seed, n);
    run_model(program);
}

/* ---- a rank ----------------------------------------------------------------------------------------------------- */

typedef struct open_message {
    wf_request *request;
    uint8_t *data;
    size_t bytes;
    bool receives, done;
} open_message;

typedef struct runner {
    const random_ranks *program;
    wf_ranks *ranks;
    uint64_t state;
    open_message open[MOST_OPEN];
    int count;
} runner;

#define TRY(call)               \
    do {                        \
        wf_status tried = call; \
        if (tried)              \
            return tried;       \
    } while (0)

static wf_status begin(runner *r, const step *s, int number, bool receives)
{
    open_message *m = &r->open[r->count++];
    *m = (open_message){ .data = malloc(s->bytes + 1), .bytes = s->bytes, .receives = receives };
    if (!receives)
        fill(m->data, m->bytes, r->state, number);
    if (s->prepared) {
        if (receives)
            TRY(wf_ranks_prepare_receive(r->ranks, m->data, m->bytes, s->a, s->tag, &m->request));
        else
            TRY(wf_ranks_prepare_send(r->ranks, m->data, m->bytes, s->b, s->tag, &m->request));
        return wf_request_start(&m->request, 1);
    }
    return receives ? wf_ranks_receive(r->ranks, m->data, m->bytes, s->a, s->tag, &m->request)
                    : wf_ranks_send(r->ranks, m->data, m->bytes, s->b, s->tag, &m->request);
}

static void done(runner *r, int i, uint64_t *sum)
{
    open_message *m = &r->open[i];
    if (m->done)
        return;
    m->done = true;
    wf_request_free(m->request);
    m->request = NULL;
    if (m->receives && sum)
        *sum += hash(m->data, m->bytes);
    else if (m->receives)
        absorb(&r->state, hash(m->data, m->bytes));
}

static wf_status wait_step(runner *r, const step *s)
{
    wf_request *requests[MOST_OPEN];
    wf_status status = WF_OK;
    uint64_t sum = 0;
    bool found = false;
    for (int i = 0; i < r->count; i++)
        requests[i] = r->open[i].request;
    size_t n = (size_t)r->count, index;
    if (s->kind == WAIT_ALL)
        status = wf_request_wait_all(requests, n);
    else if (s->kind == WAIT_EACH)
        do {
            status = wf_request_wait_any(requests, n, &index);
            if (!status && index < n)
                r->open[index].request = requests[index], done(r, (int)index, &sum);
            if (!status && index < n)
                requests[index] = NULL;
        } while (!status && index < n);
    else if (s->b < r->count && s->kind == WAIT_ONE)
        status = wf_request_wait(&requests[s->b]);
    else if (s->b < r->count)
        while (!status && !found)
            status = wf_request_test(&requests[s->b], &found);
    for (int i = 0; i < r->count; i++)
        if (!r->open[i].done)
            r->open[i].request = requests[i];
    for (int i = 0; i < r->count && !status; i++)
        if (s->kind == WAIT_ALL || i == s->b || s->kind == WAIT_EACH)
            done(r, i, s->kind == WAIT_EACH ? &sum : NULL);
    if (!status && s->kind == WAIT_EACH)
        absorb(&r->state, sum);
    return status;
}

/* Lists the pieces one after the other; returns the bytes of all. */
static size_t list_pieces(const runner *r, const step *s, int from, int to, size_t *bytes, size_t *offset)
{
    size_t at = 0;
    for (int i = 0; i < r->program->n; i++) {
        bytes[i] = piece(s, from < 0 ? i : from, to < 0 ? i : to);
        offset[i] = at;
        at += bytes[i];
    }
    return at;
}

static wf_status pieces_step(runner *r, const step *s, int number)
{
    size_t out_bytes[MOST_RANKS], out_offset[MOST_RANKS], bytes[MOST_RANKS], offset[MOST_RANKS];
    int n = r->program->n, me = wf_ranks_rank(r->ranks);
    bool gather = s->kind == ALL_GATHER;
    size_t out_total = list_pieces(r, s, me, gather ? 0 : -1, out_bytes, out_offset);
    size_t total = list_pieces(r, s, -1, gather ? 0 : me, bytes, offset);
    uint8_t *out = malloc(out_total + 1), *in = malloc(total + 1);
    wf_pieces in_pieces = { .bytes = bytes, .offset = offset };
    for (int i = 0; i < n; i++)
        fill(out + out_offset[i], out_bytes[i], r->state, number + (gather ? 0 : i));
    wf_status status = gather
                           ? wf_ranks_all_gather(r->ranks, out, in, in_pieces)
                           : wf_ranks_all_to_all(r->ranks, out, (wf_pieces){ .bytes = out_bytes, .offset = out_offset },
                                                 in, in_pieces);
    for (int i = 0; i < n && !status; i++)
        absorb(&r->state, hash(in + offset[i], bytes[i]));
    free(out);
    free(in);
    return status;
}

static wf_status broadcast_step(runner *r, const step *s, int number)
{
    uint8_t *data = malloc(s->bytes + 1);
    fill(data, s->bytes, r->state, number);
    wf_status status = wf_ranks_broadcast(r->ranks, data, s->bytes, s->a);
    absorb(&r->state, hash(data, s->bytes));
    free(data);
    return status;
}

static wf_status agree_step(runner *r, const step *s)
{
    bool fails = s->tag & 1;
    wf_ranks_error e;
    int me = wf_ranks_rank(r->ranks);
    wf_status status = wf_ranks_agree(r->ranks, fails && me >= s->a ? WF_ERR_SYNTAX : WF_OK, "x", &e);
    if (status != (fails ? WF_ERR_SYNTAX : WF_OK))
        return status ? status : WF_ERR_BOUNDS;
    absorb(&r->state, fails ? 1000 + (uint64_t)e.rank : 0);
    return WF_OK;
}

static wf_status counter_step(runner *r, const step *s)
{
    wf_counter *counter;
    int64_t before;
    TRY(wf_counter_new(r->ranks, &counter));
    wf_status status = wf_counter_add(counter, s->tag * (wf_ranks_rank(r->ranks) + 1), &before);
    if (!status)
        status = wf_ranks_barrier(r->ranks);
    if (!status)
        status = wf_counter_add(counter, 0, &before);
    wf_counter_free(counter);
    absorb(&r->state, (uint64_t)before);
    return status;
}

static wf_status split_step(runner *r, const step *s)
{
    wf_ranks *part;
    uint64_t all[MOST_RANKS], mine = r->state;
    TRY(wf_ranks_split(r->ranks, colour_of(s, wf_ranks_rank(r->ranks)), 0, &part));
    if (!part)
        return WF_OK;
    wf_status status = wf_ranks_all_gather(part, &mine, all, (wf_pieces){ .each = sizeof mine });
    for (int i = 0; i < wf_ranks_size(part) && !status; i++)
        absorb(&r->state, all[i]);
    wf_ranks_free(part);
    return status;
}

static wf_status run_step(runner *r, int number)
{
    const step *s = &r->program->step[number];
    int me = wf_ranks_rank(r->ranks);
    switch (s->kind) {
    case MESSAGE:
        if (s->b == me)
            TRY(begin(r, s, number, true));
        return s->a == me ? begin(r, s, number, false) : WF_OK;
    case WAIT_ALL:
    case WAIT_ONE:
    case TEST_ONE:
    case WAIT_EACH:
        return s->a == me ? wait_step(r, s) : WF_OK;
    case BARRIER:
        return wf_ranks_barrier(r->ranks);
    case BROADCAST:
        return broadcast_step(r, s, number);
    case ALL_GATHER:
    case ALL_TO_ALL:
        return pieces_step(r, s, number);
    case AGREE:
        return agree_step(r, s);
    case COUNTER:
        return counter_step(r, s);
    case SPLIT:
        return split_step(r, s);
    case KINDS:
        break;
    }
    return WF_ERR_ARG;
}

wf_status random_ranks_run(wf_ranks *ranks, void *user)
{
    const random_ranks *p = user;
    runner *r = calloc(1, sizeof *r);
    int me = wf_ranks_rank(ranks);
    r->program = p;
    r->ranks = ranks;
    r->state = (uint64_t)me;
    wf_status status = WF_OK;
    for (int i = 0; i < p->steps && !status; i++)
        status = run_step(r, i);
    if (!status)
        status = wait_step(r, &(step){ .kind = WAIT_ALL });
    if (!status && r->state != p->state[me])
        status = WF_ERR_BOUNDS;
    for (int i = 0; i < r->count; i++) {
        wf_request_free(r->open[i].request);
        free(r->open[i].data);
    }
    free(r);
    return status;
}
