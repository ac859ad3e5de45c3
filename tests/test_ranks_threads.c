/* test_ranks_threads.c - what ranks learn when one returns, is lost, aborts or has no memory, when all wait for each
 * other and when nothing comes for too long; and a table of functions that the program gives.
 *
 * ctest: threads no_kernels
 */
#include "base/base.h"
#include "ranks_checks.h"
#include "weft_test.h"

enum { SEEDS = 20 }; /* 0: at once */

static wf_status run(int n, rank_check *function, void *user, uint64_t seed, wf_ranks_error *e)
{
    wf_ranks_threads_options o = { .size = sizeof o, .seed = seed };
    return wf_ranks_threads(n, function, user, &o, e);
}

static wf_status receive(wf_ranks *ranks, int from, int tag)
{
    int32_t in;
    wf_request *r;
    wf_status status = wf_ranks_receive(ranks, &in, sizeof in, from, tag, &r);
    if (status)
        return status;
    status = wf_request_wait(&r);
    wf_request_free(r);
    return status;
}

static wf_status send(wf_ranks *ranks, int to, int tag, size_t bytes)
{
    uint8_t out[64] = { 0 };
    wf_request *r;
    wf_status status = wf_ranks_send(ranks, out, bytes, to, tag, &r);
    if (status)
        return status;
    status = wf_request_wait(&r);
    wf_request_free(r);
    return status;
}

/* ---- all wait --------------------------------------------------------------------------------------------------- */

static wf_status circle(wf_ranks *ranks, void *user)
{
    wf_status *of = user;
    int n = wf_ranks_size(ranks), me = wf_ranks_rank(ranks);
    return of[me] = receive(ranks, (me + 1) % n, 30 + me);
}

static void everyone_waits(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        wf_status of[3] = { 0 };
        wf_ranks_error e;
        assert_int_equal(run(3, circle, of, seed, &e), WF_ERR_CONTRACT);
        for (int i = 0; i < 3; i++)
            assert_int_equal(of[i], WF_ERR_CONTRACT);
        EXPECT_PART(e.text, "wf_request_wait on rank");
        EXPECT_PART(e.text, "all ranks wait for each other");
        EXPECT_PART(e.text, "rank 0 waits in wf_request_wait for a message of 4 bytes from rank 1, tag 30");
        EXPECT_PART(e.text, "rank 1 waits in wf_request_wait for a message of 4 bytes from rank 2, tag 31");
        EXPECT_PART(e.text, "rank 2 waits in wf_request_wait for a message of 4 bytes from rank 0, tag 32");
    }
}

/* Both send first. */
static wf_status send_first(wf_ranks *ranks, void *user)
{
    (void)user;
    int other = 1 - wf_ranks_rank(ranks);
    wf_status status = send(ranks, other, 4, 64);
    return status ? status : receive(ranks, other, 4);
}

static void both_send_first(void **state)
{
    (void)state;
    wf_ranks_error e;
    assert_int_equal(run(2, send_first, NULL, 0, &e), WF_ERR_CONTRACT);
    EXPECT_PART(e.text, "for rank 1, which is to receive 64 bytes, tag 4");
    int stopped = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        stopped += run(2, send_first, NULL, seed, &e) == WF_ERR_CONTRACT && strstr(e.text, "all ranks wait");
    assert_in_range(stopped, 1, SEEDS - 1); /* as on a network, where it depends on buffers */
}

/* Ranks come to different functions; one has already returned. */
static wf_status out_of_step(wf_ranks *ranks, void *user)
{
    (void)user;
    int32_t x = 0;
    wf_ranks *part;
    switch (wf_ranks_rank(ranks)) {
    case 0:
        return wf_ranks_barrier(ranks);
    case 1:
        return wf_ranks_broadcast(ranks, &x, sizeof x, 0);
    case 2:
        return receive(ranks, 1, 0);
    default:
        return wf_ranks_split(ranks, 0, 0, &part);
    }
}

static void different_functions(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        wf_ranks_error e;
        assert_int_equal(run(4, out_of_step, NULL, seed, &e), WF_ERR_CONTRACT);
        EXPECT_PART(e.text, "rank 0 waits in wf_ranks_barrier for ");
        EXPECT_PART(e.text, "rank 1 waits in wf_ranks_broadcast for a message of 4 bytes from rank 0;");
        EXPECT_PART(e.text, "rank 3 waits in wf_ranks_all_gather for "); /* the agreement with which a split begins */
    }
}

/* ---- ranks that are gone ---------------------------------------------------------------------------------------- */

typedef struct gone {
    int way;
    wf_status of[3];
    char text[3][1000];
} gone;

static wf_status with_returned(wf_ranks *ranks, void *user)
{
    gone *g = user;
    int me = wf_ranks_rank(ranks);
    wf_status status = WF_OK;
    int32_t out = 5, in = 0;
    wf_request *r[2] = { NULL, NULL };
    if (me == 1 && g->way == 2) { /* what it has sent arrives, the rest does not */
        status = wf_ranks_send(ranks, &out, sizeof out, 0, 8, &r[0]);
        if (!status)
            status = wf_request_wait(&r[0]);
        return status;
    }
    if (me == 1)
        return g->way ? WF_ERR_IO : WF_OK;
    if (g->way == 2 && me == 0) {
        wf_ranks_receive(ranks, &out, sizeof out, 1, 9, &r[0]);
        wf_ranks_receive(ranks, &in, sizeof in, 1, 8, &r[1]);
        size_t index = 7;
        status = wf_request_wait_any(r, 2, &index);
        if (status || index != 1 || in != 5)
            status = WF_ERR_BOUNDS;
        else
            status = wf_request_wait_any(r, 2, &index);
        wf_request_free(r[0]);
    } else
        status = me == 0 ? receive(ranks, 1, 6) : send(ranks, 1, 7, 40);
    snprintf(g->text[me], sizeof g->text[me], "%s", wf_ranks_message(ranks));
    return g->of[me] = status;
}

static void returned(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int way = 0; way < 3; way++) {
            gone g = { .way = way };
            wf_ranks_error e;
            wf_status status = run(3, with_returned, &g, seed, &e);
            assert_int_equal(status, way == 1 ? WF_ERR_IO : WF_ERR_BACKEND);
            assert_int_equal(e.status, status);
            if (way == 1) {
                assert_int_equal(e.rank, 1);
                assert_string_equal(e.text, "the function of the rank failed");
            }
            assert_int_equal(g.of[0], WF_ERR_BACKEND);
            EXPECT_PART(g.text[0], way == 2 ? "a message of 4 bytes from rank 1, tag 9, but that rank has returned"
                                            : "a message of 4 bytes from rank 1, tag 6, but that rank has returned");
            if (seed == 0 || g.of[2]) { /* with a seed, a send may be done at once */
                assert_int_equal(g.of[2], WF_ERR_BACKEND);
                EXPECT_PART(g.text[2],
                            "wf_request_wait on rank 2 of 3: waiting for rank 1, which is to receive 40 bytes");
            }
        }
}

/* Rank 1 returns while a message to or from it is on its way: with the memory of one that has returned nothing is done. */
static wf_status leave_open(wf_ranks *ranks, void *user)
{
    int me = wf_ranks_rank(ranks), *way = user;
    int32_t *data = malloc(sizeof *data);
    wf_request *r;
    wf_status status = WF_OK;
    *data = 1;
    if (me == 1) {
        status = *way ? wf_ranks_send(ranks, data, sizeof *data, 0, 0, &r)
                      : wf_ranks_receive(ranks, data, sizeof *data, 0, 0, &r);
        if (!status)
            wf_request_free(r);
        free(data);
        return status;
    }
    free(data);
    status = *way ? receive(ranks, 1, 0) : send(ranks, 1, 0, 4);
    return status == WF_ERR_BACKEND ? WF_OK : status; /* it may have come in time */
}

static void returned_in_between(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++)
        for (int way = 0; way < 2; way++)
            assert_int_equal(run(2, leave_open, &way, seed, NULL), WF_OK);
}

static wf_status barriers(wf_ranks *ranks, void *user)
{
    wf_status *of = user, status = WF_OK;
    for (int i = 0; i < 10 && !status; i++)
        status = wf_ranks_barrier(ranks);
    int me = wf_ranks_rank(ranks);
    of[me] = status;
    if (me == 2 && strstr(wf_ranks_message(ranks), "rank 2 is lost"))
        of[me] = wf_ranks_barrier(ranks) == WF_ERR_BACKEND ? WF_ERR_DEVICE : WF_OK; /* it stays lost */
    return status;
}

static void lost(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (uint32_t after = 1; after < 40; after += 7) {
            wf_status of[4] = { 0 };
            wf_ranks_threads_options o = { .size = sizeof o, .seed = seed, .lost_rank = 2, .lost_after = after };
            wf_ranks_error e;
            assert_int_equal(wf_ranks_threads(4, barriers, of, &o, &e), WF_ERR_BACKEND);
            EXPECT_PART(e.text, "wf_ranks_barrier on rank ");
            if (!strstr(e.text, "rank 2 has gone before its message was done"))
                EXPECT_PART(e.text, " is lost");
            for (int i = 0; i < 4; i++)
                assert_int_equal(of[i], i == 2 ? WF_ERR_DEVICE : WF_ERR_BACKEND);
        }
}

static wf_status aborting(wf_ranks *ranks, void *user)
{
    wf_status *of = user;
    int me = wf_ranks_rank(ranks);
    if (me == 1)
        wf_ranks_abort(ranks, 3, "no more disk");
    return of[me] = wf_ranks_barrier(ranks);
}

static void aborted(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        wf_status of[3] = { WF_ERR_BACKEND, WF_OK, WF_ERR_BACKEND }; /* it may come before they have begun */
        wf_ranks_error e;
        assert_int_equal(run(3, aborting, of, seed, &e), WF_ERR_BACKEND);
        EXPECT_PART(e.text, "rank 1 has aborted with code 3: no more disk");
        for (int i = 0; i < 3; i++)
            assert_int_equal(of[i], WF_ERR_BACKEND);
    }
}

/* ---- too long --------------------------------------------------------------------------------------------------- */

static wf_status too_long(wf_ranks *ranks, void *user)
{
    (void)user;
    int32_t in;
    wf_request *r;
    wf_ranks *part;
    bool asked = false;
    CHECK_OK(wf_ranks_set_timeout(ranks, 1.5));
    CHECK_OK(wf_ranks_split(ranks, 0, 0, &part)); /* inherits it */
    CHECK_OK(wf_ranks_set_timeout(ranks, 100));
    CHECK_OK(wf_ranks_barrier(ranks));
    if (wf_ranks_rank(ranks) == 0) {
        CHECK_OK(wf_ranks_receive(part, &in, sizeof in, 1, 12, &r));
        CHECK(wf_request_wait(&r) == WF_ERR_BACKEND && r);
        CHECK(strstr(wf_ranks_message(part), "wf_request_wait on rank 0 of 2: nothing came for 1.5 s of waiting for a "
                                             "message of 4 bytes from rank 1, tag 12 ("));
        CHECK(*wf_ranks_host(part, 1) && strstr(wf_ranks_message(part), wf_ranks_host(part, 1)));
        wf_request_free(r);
        CHECK_OK(wf_ranks_send(ranks, &in, sizeof in, 1, 0, &r)); /* the rank that it waited for goes on */
        CHECK_OK(wf_request_wait(&r));
    } else {
        CHECK_OK(wf_ranks_receive(ranks, &in, sizeof in, 0, 0, &r));
        while (!asked)
            CHECK_OK(wf_request_test(&r, &asked));
    }
    wf_ranks_free(part);
    return WF_OK;
}

static void timeouts(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++)
        assert_int_equal(run(2, too_long, NULL, seed, NULL), WF_OK);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static wf_status without_memory(wf_ranks *ranks, void *user)
{
    long *n = wf_ranks_rank(ranks) == 1 ? user : NULL;
    wf_ranks *part = NULL;
    wf_counter *counter = NULL;
    uint8_t *all = calloc(3, 30000);
    if (n)
        wf__alloc_fail_after(*n);
    wf_status status = wf_ranks_split(ranks, 0, 0, &part);
    if (!status)
        status = wf_ranks_all_gather(part, all + 100 * wf_ranks_rank(part), all, (wf_pieces){ .each = 100 });
    if (!status)
        status = wf_ranks_broadcast(part, all, 90000, 0);
    if (!status)
        status = wf_counter_new(part, &counter);
    if (n)
        wf__alloc_fail_after(-1);
    wf_counter_free(counter);
    wf_ranks_free(part);
    free(all);
    return status;
}

static void no_memory(void **state)
{
    (void)state;
    wf_status status;
    int failures = 0;
    for (long n = 0; n < 60; n++) {
        wf_ranks_error e;
        status = run(3, without_memory, &n, (uint64_t)n % 3, &e);
        failures += status != WF_OK;
        if (status && status != WF_ERR_MEMORY && status != WF_ERR_BACKEND)
            fail_msg("allocation %ld: %s: %s", n, wf_status_name(status), e.text);
    }
    assert_int_equal(status, WF_OK); /* there are fewer */
#ifdef WEFT_DEBUG_CHECKS
    assert_true(failures > 8);
    for (long n = 0; n < 6; n++) { /* of the thread that starts the ranks */
        wf__alloc_fail_after(n);
        status = run(3, barriers, (wf_status[3]){ 0 }, 0, NULL);
        wf__alloc_fail_after(-1);
        assert_int_equal(status, n < 5 ? WF_ERR_MEMORY : WF_OK);
    }
#else
    assert_int_equal(failures, 0);
#endif
}

static void refused(void **state)
{
    (void)state;
    wf_ranks_error e;
    wf_ranks_threads_options o = { .size = 1 };
    assert_int_equal(wf_ranks_threads(0, barriers, NULL, NULL, &e), WF_ERR_ARG);
    EXPECT_PART(e.text, "from 1 to 1024");
    assert_int_equal(wf_ranks_threads(2000, barriers, NULL, NULL, NULL), WF_ERR_ARG);
    assert_int_equal(wf_ranks_threads(2, NULL, NULL, NULL, &e), WF_ERR_ARG);
    EXPECT_PART(e.text, "function is NULL");
    assert_int_equal(wf_ranks_threads(2, barriers, NULL, &o, &e), WF_ERR_ARG);
    EXPECT_PART(e.text, "size");
}

/* ---- a table of the program's ----------------------------------------------------------------------------------- */

/* One rank: a message is done when its other side is there. */
typedef struct alone {
    wf_request *open[8];
    int n, barriers, closed, dropped;
    int64_t counter;
} alone;

static wf_status alone_start(void *group, wf_request *request, wf_ranks_error *error)
{
    (void)error;
    alone *a = group;
    bool *done = (bool *)(request + 1);
    *done = false;
    for (int i = 0; i < a->n; i++) {
        wf_request *o = a->open[i];
        if (o->sends == request->sends || o->tag != request->tag)
            continue;
        wf_request *from = o->sends ? o : request, *to = o->sends ? request : o;
        if (from->bytes)
            memcpy(to->data, from->data, from->bytes);
        *done = *(bool *)(o + 1) = true;
        a->open[i] = a->open[--a->n];
        return WF_OK;
    }
    a->open[a->n++] = request;
    return WF_OK;
}

static wf_status alone_wait(void *group, wf_request *const *requests, size_t n, wf_ranks_how how, const char *doing,
                            size_t *index, wf_ranks_error *error)
{
    (void)group;
    *index = n;
    for (size_t i = 0; i < n; i++) {
        if (!requests[i]->active || !*(const bool *)(requests[i] + 1)) {
            if (how != WF_RANKS_ALL || !requests[i]->active)
                continue;
            snprintf(error->text, sizeof error->text, "%s would never end", doing);
            return WF_ERR_DEVICE;
        }
        requests[i]->active = false;
        *index = i;
        if (how != WF_RANKS_ALL)
            break;
    }
    return WF_OK;
}

static void alone_drop(void *group, wf_request *request)
{
    alone *a = group;
    a->dropped++;
    for (int i = 0; i < a->n; i++)
        if (a->open[i] == request)
            a->open[i] = a->open[--a->n];
}

static wf_status alone_split(void *group, const wf_ranks_parts *parts, wf_ranks_group *out, wf_ranks_error *error)
{
    (void)error;
    if (parts->n != 1 || parts->member[0] != 0 || parts->rank != 0)
        return WF_ERR_BOUNDS;
    *out = (wf_ranks_group){ .size = sizeof *out, .group = group, .ranks = 1 };
    return WF_OK;
}

static wf_status alone_new(void *group, uint32_t number, void **counter, wf_ranks_error *error)
{
    (void)error;
    ((alone *)group)->counter = number * 100;
    *counter = &((alone *)group)->counter;
    return WF_OK;
}

static wf_status alone_add(void *group, void *counter, int64_t more, int64_t *before, wf_ranks_error *error)
{
    (void)group, (void)error;
    *before = *(int64_t *)counter;
    *(int64_t *)counter += more;
    return WF_OK;
}

static void alone_free(void *group, void *counter) { (void)group, (void)counter; }
static void alone_abort(void *group, int code, const char *text) { (void)text, ((alone *)group)->barriers = code; }
static void alone_close(void *group) { ((alone *)group)->closed++; }

static wf_status alone_barrier(void *group, wf_ranks_error *error)
{
    snprintf(error->text, sizeof error->text, "the second is one too many");
    return ++((alone *)group)->barriers > 1 ? WF_ERR_DEVICE : WF_OK;
}

static void own_table(void **state)
{
    (void)state;
    alone a = { 0 };
    wf_ranks_ops ops = { .size = sizeof ops,
                         .request_bytes = sizeof(bool),
                         .start = alone_start,
                         .wait = alone_wait,
                         .drop = alone_drop,
                         .split = alone_split,
                         .counter_new = alone_new,
                         .counter_add = alone_add,
                         .counter_free = alone_free,
                         .abort = alone_abort,
                         .close = alone_close,
                         .barrier = alone_barrier };
    wf_ranks_group group = { .size = sizeof group, .group = &a, .ranks = 1, .library = "alone 1.0", .host = "here" };
    wf_ranks *ranks = NULL;
    wf_ranks_error e;
    for (const named_check *c = rank_checks; c->name; c++) {
        if (!strcmp(c->name, "tags") || !strcmp(c->name, "counter") || !strcmp(c->name, "split"))
            continue; /* this transport is too simple for these */
        assert_int_equal(wf_ranks_new(&ops, &group, &ranks, &e), WF_OK);
        assert_int_equal(c->check(ranks, NULL), WF_OK);
        wf_ranks_free(ranks);
    }
    a = (alone){ 0 };
    assert_int_equal(wf_ranks_new(&ops, &group, &ranks, &e), WF_OK);
    assert_string_equal(wf_ranks_library(ranks), "alone 1.0");
    assert_string_equal(wf_ranks_host(ranks, 0), "here");
    assert_string_equal(wf_ranks_message(ranks), "");
    assert_int_equal(wf_ranks_barrier(ranks), WF_OK);
    assert_int_equal(a.barriers, 1);
    assert_int_equal(wf_ranks_set_timeout(ranks, 5), WF_OK); /* then the transport's barrier is not used */
    assert_int_equal(wf_ranks_barrier(ranks), WF_OK);
    assert_int_equal(wf_ranks_set_timeout(ranks, 0), WF_OK);
    wf_request *r;
    uint8_t byte = 0;
    assert_int_equal(wf_ranks_receive(ranks, &byte, 1, 0, 1, &r), WF_OK);
    assert_int_equal(wf_request_wait(&r), WF_ERR_DEVICE);
    assert_string_equal(wf_ranks_message(ranks), "wf_request_wait on rank 0 of 1: wf_request_wait would never end");
    assert_int_equal(a.n, 1);
    wf_request_free(r);
    assert_int_equal(a.n, 0);
    assert_int_equal(a.dropped, 1);
    wf_ranks *part;
    wf_counter *counter;
    int64_t before;
    assert_int_equal(wf_ranks_split(ranks, 2, 1, &part), WF_OK);
    assert_int_equal(wf_counter_new(ranks, &counter), WF_OK); /* number 1, after the group */
    assert_int_equal(wf_counter_add(counter, 7, &before), WF_OK);
    assert_int_equal(before, 100);
    wf_counter_free(counter);
    wf_ranks_free(part);
    assert_int_equal(wf_ranks_barrier(ranks), WF_ERR_DEVICE);
    assert_string_equal(wf_ranks_message(ranks), "wf_ranks_barrier on rank 0 of 1: the second is one too many");
    assert_int_equal(wf_ranks_barrier(ranks), WF_ERR_BACKEND); /* after a failure there is no other one */
    assert_string_equal(
        wf_ranks_message(ranks),
        "wf_ranks_barrier on rank 0 of 1: not after an earlier failure (wf_ranks_barrier on rank 0 of 1: the "
        "second is one too many)");
    assert_int_equal(a.barriers, 2);
    wf_ranks_abort(ranks, 44, NULL);
    assert_int_equal(a.barriers, 44);
    wf_ranks_free(ranks);
    assert_int_equal(a.closed, 2);
    ranks = NULL;
    group.ranks = 0;
    assert_int_equal(wf_ranks_new(&ops, &group, &ranks, &e), WF_ERR_ARG);
    group.ranks = 1;
    ops.wait = NULL;
    assert_int_equal(wf_ranks_new(&ops, &group, &ranks, &e), WF_ERR_ARG);
    ops.wait = alone_wait;
    ops.size--;
    assert_int_equal(wf_ranks_new(&ops, &group, &ranks, &e), WF_ERR_ARG);
    assert_null(ranks);
    assert_int_equal(a.closed, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_waits),
        cmocka_unit_test(both_send_first),
        cmocka_unit_test(different_functions),
        cmocka_unit_test(returned),
        cmocka_unit_test(returned_in_between),
        cmocka_unit_test(lost),
        cmocka_unit_test(aborted),
        cmocka_unit_test(timeouts),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(refused),
        cmocka_unit_test(own_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
