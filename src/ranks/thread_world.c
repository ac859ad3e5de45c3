/* thread_world.c - what the threads share: letters, turns, and who is blocked. See threads.h. */
#include "ranks/threads.h"
#include <stdio.h>

uint64_t wf__world_random(world *w) /* SplitMix64 */
{
    uint64_t z = w->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void wf__world_wake(world *w, int rank)
{
    thread_rank *r = &w->rank[rank];
    if (!r->blocked)
        return;
    r->blocked = false;
    w->blocked--;
    wf__cond_signal(&r->wake);
}

void wf__world_wake_all(world *w)
{
    for (int i = 0; i < w->n; i++)
        wf__world_wake(w, i);
}

void wf__world_end(world *w, wf_status status, const char *text)
{
    if (!w->ended) {
        w->ended = status;
        snprintf(w->text, sizeof w->text, "%s", text);
    }
    wf__world_wake_all(w);
}

/* ---- letters ---------------------------------------------------------------------------------------------------- */

static void unlink_letter(letter **list, const letter *l)
{
    while (*list && *list != l)
        list = &(*list)->next;
    if (*list)
        *list = l->next;
}

static void append(letter **list, letter *l)
{
    while (*list)
        list = &(*list)->next;
    l->next = NULL;
    *list = l;
}

static letter *oldest_that_fits(letter *list, const letter *l)
{
    while (list && !(list->group == l->group && list->from == l->from && list->tag == l->tag))
        list = list->next;
    return list;
}

/* A send whose request is gone is a copy, which is freed here. */
static void finish_send(world *w, letter *send)
{
    send->state = LETTER_DONE;
    if (send->request)
        wf__world_wake(w, send->from);
    else
        wf__free(send);
}

static void finish_receive(world *w, letter *receive, wf_status status, size_t sent)
{
    receive->state = LETTER_DONE;
    receive->status = status;
    receive->sent = sent;
    wf__world_wake(w, receive->to);
}

static void deliver(world *w, letter *send)
{
    letter *receive = send->other;
    bool fits = send->bytes == receive->bytes;
    if (fits && send->bytes)
        memcpy(receive->request->data, send->data, send->bytes);
    finish_receive(w, receive, fits ? WF_OK : WF_ERR_CONTRACT, send->bytes);
    finish_send(w, send);
}

void wf__world_post(world *w, letter *l)
{
    bool sends = !l->request || l->request->sends;
    thread_rank *to = &w->rank[l->to];
    letter *other = oldest_that_fits(sends ? to->receives : to->sends, l);
    l->state = LETTER_QUEUED;
    if (!other) {
        append(sends ? &to->sends : &to->receives, l);
        return;
    }
    unlink_letter(sends ? &to->receives : &to->sends, other);
    l->other = other;
    other->other = l;
    l->state = other->state = LETTER_MATCHED;
    letter *send = sends ? l : other;
    if (!w->turns) {
        deliver(w, send);
        return;
    }
    unsigned bits = (unsigned)(wf__world_random(w) % 7);
    send->when = w->clock + (wf__world_random(w) & ((1u << bits) - 1));
    append(&w->on_the_way, send);
}

void wf__world_forget(world *w, letter *l, bool deliver_it)
{
    bool sends = !l->request || l->request->sends;
    if (l->state == LETTER_QUEUED)
        unlink_letter(sends ? &w->rank[l->to].sends : &w->rank[l->to].receives, l);
    else if (l->state == LETTER_MATCHED) {
        letter *send = sends ? l : l->other;
        unlink_letter(&w->on_the_way, send);
        if (deliver_it)
            deliver(w, send);
        else if (sends)
            finish_receive(w, l->other, WF_ERR_BACKEND, 0);
        else
            finish_send(w, send);
    }
    l->state = LETTER_IDLE;
}

static void forget_unmatched(letter **list, int from)
{
    while (*list) {
        letter *l = *list;
        if (l->request && (from < 0 || l->from == from)) {
            *list = l->next;
            l->state = LETTER_IDLE;
        } else
            list = &l->next;
    }
}

void wf__world_leave(world *w, int me, const char *gone)
{
    w->rank[me].gone = gone;
    for (int i = 0; i < w->n; i++)
        forget_unmatched(&w->rank[i].sends, me);
    forget_unmatched(&w->rank[me].receives, -1);
    for (letter *l = w->on_the_way, *next; l; l = next) {
        next = l->next;
        if (l->request && l->from == me)
            wf__world_forget(w, l, false);
        else if (l->to == me)
            wf__world_forget(w, l->other, false);
    }
    wf__world_wake_all(w);
}

/* ---- turns ------------------------------------------------------------------------------------------------------ */

/* Delivers what is due. Returns whether something is still on its way, and when the first of it comes. */
static bool deliver_due(world *w, uint64_t *first)
{
    bool more = false;
    for (letter *l = w->on_the_way, *next; l; l = next) {
        next = l->next;
        if (l->when <= w->clock) {
            unlink_letter(&w->on_the_way, l);
            deliver(w, l);
        } else if (!more || l->when < *first) {
            more = true;
            *first = l->when;
        }
    }
    return more;
}

static void describe_waits(const thread_rank *r, wf__str *text)
{
    enum { NAMED = 2 };
    size_t active = 0;
    for (size_t i = 0; i < r->n; i++) {
        const letter *l = letter_of(r->requests[i]);
        if (!r->requests[i]->active || l->state == LETTER_DONE || active++ >= NAMED)
            continue;
        wf_request named = *r->requests[i];
        named.peer = named.sends ? l->to : l->from;
        wf__str_add(text, active > 1 ? " and " : " for ");
        wf__ranks_describe(text, &named);
    }
    if (active > NAMED)
        wf__str_addf(text, " and %zu more", active - NAMED);
}

/* All ranks are blocked: their calls fail with a text that says for whom each of them waits. */
static void end_deadlock(world *w)
{
    wf__str text = { 0 };
    wf__str_add(&text, "all ranks wait for each other");
    for (int i = 0; i < w->n; i++) {
        const thread_rank *r = &w->rank[i];
        wf__str_addf(&text, "; rank %d ", i);
        if (r->gone)
            wf__str_add(&text, r->gone);
        else {
            wf__str_addf(&text, "waits in %s", r->doing);
            describe_waits(r, &text);
        }
    }
    wf__world_end(w, WF_ERR_CONTRACT, wf__str_get(&text));
    wf__str_free(&text);
}

void wf__world_pass_turn(world *w)
{
    while (w->live > 0) {
        uint64_t first = 0;
        w->clock++;
        bool on_the_way = deliver_due(w, &first);
        if (w->live > w->blocked) {
            int skip = (int)(wf__world_random(w) % (unsigned)(w->live - w->blocked)), i = 0;
            for (;; i++)
                if (w->rank[i].running && !w->rank[i].blocked && skip-- == 0)
                    break;
            w->turn = i;
            wf__cond_signal(&w->rank[i].wake);
            return;
        }
        if (on_the_way)
            w->clock = first - 1;
        else
            end_deadlock(w);
    }
}

void wf__world_wait_turn(world *w, int me)
{
    while (w->turns && w->turn != me)
        wf__cond_wait(&w->rank[me].wake, &w->lock);
}

void wf__world_block(world *w, int me, wf_request *const *requests, size_t n, const char *doing)
{
    thread_rank *r = &w->rank[me];
    r->doing = doing;
    r->requests = requests;
    r->n = n;
    r->blocked = true;
    w->blocked++;
    if (w->turns)
        wf__world_pass_turn(w);
    else if (w->blocked == w->live)
        end_deadlock(w);
    while (r->blocked)
        wf__cond_wait(&r->wake, &w->lock);
    wf__world_wait_turn(w, me);
}

wf_status wf__world_enter(world *w, int me, wf_ranks_error *error)
{
    thread_rank *r = &w->rank[me];
    if (w->turns) {
        wf__world_pass_turn(w);
        wf__world_wait_turn(w, me);
    }
    if (r->begun && ++r->calls == w->lost_after && me == w->lost_rank)
        wf__world_leave(w, me, "is lost");
    if (r->gone)
        return wf__ranks_error_set(error, WF_ERR_BACKEND, "rank %d %s", me, r->gone);
    return w->ended ? wf__ranks_error_set(error, w->ended, "%s", w->text) : WF_OK;
}
