/* ranks_checks.c - see ranks_checks.h. */
#include "ranks_checks.h"
#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = { 0, 1, 7, 1000, 65535, 65536, 100003 };
enum { SIZES = sizeof sizes / sizeof *sizes, SMALL_SIZES = 4, LARGEST = 100003 };

static uint8_t byte_of(size_t key, size_t i) { return (uint8_t)(key * 131 + i * 7 + (i >> 8) * 3); }

static void fill(uint8_t *at, size_t bytes, size_t key)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = byte_of(key, i);
}

static bool holds(const uint8_t *at, size_t bytes, size_t key)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != byte_of(key, i))
            return false;
    return true;
}

static size_t pair(int from, int to) { return (size_t)from * 100 + (size_t)to; }

/* ---- messages --------------------------------------------------------------------------------------------------- */

/* Every rank sends to every rank, itself included, and waits in one of four ways. */
static wf_status everyone_to_everyone(wf_ranks *ranks, size_t bytes, int way, uint8_t *memory, wf_request **requests)
{
    int n = wf_ranks_size(ranks), me = wf_ranks_rank(ranks);
    size_t count = 2 * (size_t)n;
    for (int i = 0; i < n; i++) {
        uint8_t *in = memory + (size_t)i * bytes, *out = memory + (size_t)(n + i) * bytes;
        fill(out, bytes, pair(me, i));
        if (bytes)
            memset(in, 0, bytes);
        CHECK_OK(wf_ranks_receive(ranks, in, bytes, i, 5, &requests[i]));
        CHECK_OK(wf_ranks_send(ranks, out, bytes, i, 5, &requests[n + i]));
    }
    if (way == 0)
        CHECK_OK(wf_request_wait_all(requests, count));
    for (size_t i = count; way == 1 && i-- > 0;)
        CHECK_OK(wf_request_wait(&requests[i]));
    for (size_t i = 0; way == 2 && i < count; i++) {
        bool done = false;
        while (!done)
            CHECK_OK(wf_request_test(&requests[i], &done));
    }
    for (size_t i = 0; way == 3 && i <= count; i++) {
        size_t index = count + 7;
        CHECK_OK(wf_request_wait_any(requests, count, &index));
        CHECK(i < count ? index < count && !requests[index] : index == count);
    }
    for (size_t i = 0; i < count; i++)
        CHECK(!requests[i]);
    for (int i = 0; i < n; i++)
        CHECK(holds(memory + (size_t)i * bytes, bytes, pair(i, me)));
    return WF_OK;
}

static wf_status check_messages(wf_ranks *ranks, void *user)
{
    (void)user;
    size_t n = (size_t)wf_ranks_size(ranks);
    wf_request **requests = calloc(2 * n, sizeof *requests);
    wf_status status = WF_OK;
    for (int way = 0; way < 4 && !status; way++)
        for (int s = 0; s < (way ? SMALL_SIZES : SIZES) && !status; s++) {
            uint8_t *memory = malloc(2 * n * sizes[s] + 1); /* of this size, so that the sanitizer sees its end */
            status = everyone_to_everyone(ranks, sizes[s], way, memory, requests);
            free(memory);
        }
    free(requests);
    return status;
}

/* Messages with one tag stay in order; others are taken by tag. */
static wf_status check_tags(wf_ranks *ranks, void *user)
{
    enum { EACH = 5, TAGS = 3 };
    static const int tags[TAGS] = { 0, 17, WF_TAG_MAX };
    (void)user;
    int n = wf_ranks_size(ranks), me = wf_ranks_rank(ranks), to = (me + 1) % n, from = (me + n - 1) % n;
    int32_t out[TAGS][EACH], in[TAGS][EACH];
    wf_request *requests[2 * TAGS * EACH];
    size_t count = 0;
    for (int i = 0; i < EACH; i++)
        for (int t = 0; t < TAGS; t++) {
            out[t][i] = me * 1000 + t * 100 + i;
            CHECK_OK(wf_ranks_send(ranks, &out[t][i], 4, to, tags[t], &requests[count++]));
        }
    for (int t = TAGS; t-- > 0;)
        for (int i = 0; i < EACH; i++)
            CHECK_OK(wf_ranks_receive(ranks, &in[t][i], 4, from, tags[t], &requests[count++]));
    CHECK_OK(wf_request_wait_all(requests, count));
    for (int t = 0; t < TAGS; t++)
        for (int i = 0; i < EACH; i++)
            CHECK(in[t][i] == from * 1000 + t * 100 + i);
    return WF_OK;
}

static wf_status check_prepared(wf_ranks *ranks, void *user)
{
    enum { TURNS = 20 };
    (void)user;
    int n = wf_ranks_size(ranks), me = wf_ranks_rank(ranks), to = (me + 1) % n, from = (me + n - 1) % n;
    uint8_t out[3000], in[3000];
    wf_request *both[2];
    CHECK_OK(wf_ranks_prepare_send(ranks, out, sizeof out, to, 1, &both[0]));
    CHECK_OK(wf_ranks_prepare_receive(ranks, in, sizeof in, from, 1, &both[1]));
    CHECK_OK(wf_request_wait_all(both, 2)); /* not started: there is nothing to wait for */
    for (size_t turn = 0; turn < TURNS; turn++) {
        fill(out, sizeof out, (size_t)me + 10 * turn);
        CHECK_OK(wf_request_start(both, 2));
        CHECK(wf_request_start(both, 1) == WF_ERR_ARG); /* it is on its way */
        CHECK_OK(wf_request_wait_all(both, 2));
        CHECK(both[0] && both[1]);
        CHECK(holds(in, sizeof in, (size_t)from + 10 * turn));
    }
    wf_request_free(both[0]);
    wf_request_free(both[1]);
    return WF_OK;
}

/* ---- all ranks -------------------------------------------------------------------------------------------------- */

static wf_status check_counter(wf_ranks *ranks, void *user)
{
    enum { EACH = 20 };
    (void)user;
    int n = wf_ranks_size(ranks);
    int64_t before, mine[EACH];
    wf_counter *counter, *second;
    CHECK_OK(wf_counter_new(ranks, &counter));
    CHECK_OK(wf_counter_new(ranks, &second));
    for (int i = 0; i < EACH; i++)
        CHECK_OK(wf_counter_add(counter, 3, &mine[i]));
    CHECK_OK(wf_ranks_barrier(ranks));
    CHECK_OK(wf_counter_add(counter, 0, &before));
    CHECK(before == 3 * EACH * n); /* every rank had come to the barrier */
    CHECK_OK(wf_counter_add(second, -5000000000, &before));
    CHECK(before <= 0 && before % 5000000000 == 0);
    size_t total = (size_t)n * EACH;
    int64_t *all = malloc(total * sizeof *all);
    bool *seen = calloc(total, sizeof *seen), once = true;
    wf_status status = wf_ranks_all_gather(ranks, mine, all, (wf_pieces){ .each = sizeof mine });
    for (size_t i = 0; i < total && once && !status; i++) {
        once = all[i] >= 0 && all[i] % 3 == 0 && (size_t)all[i] / 3 < total && !seen[all[i] / 3];
        if (once)
            seen[all[i] / 3] = true;
    }
    free(all);
    free(seen);
    CHECK(!status && once);
    wf_counter_free(second);
    wf_counter_free(counter);
    return WF_OK;
}

static wf_status check_broadcast(wf_ranks *ranks, void *user)
{
    (void)user;
    uint8_t *data = malloc(LARGEST);
    for (int root = 0; root < wf_ranks_size(ranks); root++)
        for (int s = 0; s < SIZES; s++) {
            size_t key = (size_t)root * 10 + (size_t)s;
            memset(data, 0, LARGEST);
            if (root == wf_ranks_rank(ranks))
                fill(data, sizes[s], key);
            CHECK_OK(wf_ranks_broadcast(ranks, data, sizes[s], root));
            CHECK(holds(data, sizes[s], key));
            for (size_t i = sizes[s]; i < LARGEST; i++)
                CHECK(!data[i]);
        }
    free(data);
    return WF_OK;
}

/* Lists of pieces of many sizes, one of them empty, in the reverse order and with gaps. Returns the bytes of all. */
static size_t make_pieces(size_t *bytes, size_t *offset, int n, int from, int to, size_t scale)
{
    size_t at = 3;
    for (int i = n; i-- > 0;) {
        int a = from < 0 ? i : from, b = to < 0 ? i : to;
        bytes[i] = scale * (size_t)((a * 5 + b * 3) % 7);
        offset[i] = at;
        at += bytes[i] + 2;
    }
    return at;
}

static wf_status check_all_gather(wf_ranks *ranks, void *user)
{
    (void)user;
    int n = wf_ranks_size(ranks), me = wf_ranks_rank(ranks);
    size_t *bytes = malloc(2 * (size_t)n * sizeof *bytes), *offset = bytes + n;
    for (int s = 0; s < SIZES; s++) {
        size_t each = sizes[s];
        uint8_t *mine = malloc(each + 1), *all = calloc(1, (size_t)n * each + 1);
        fill(mine, each, (size_t)me);
        CHECK_OK(wf_ranks_all_gather(ranks, mine, all, (wf_pieces){ .each = each }));
        for (int i = 0; i < n; i++)
            CHECK(holds(all + (size_t)i * each, each, (size_t)i));
        free(mine);
        free(all);
    }
    for (size_t scale = 1; scale < 100000; scale *= 40) {
        size_t room = make_pieces(bytes, offset, n, -1, 0, scale);
        uint8_t *all = calloc(1, room);
        fill(all + offset[me], bytes[me], (size_t)me); /* in its place */
        CHECK_OK(wf_ranks_all_gather(ranks, all + offset[me], all, (wf_pieces){ .bytes = bytes, .offset = offset }));
        for (int i = 0; i < n; i++)
            CHECK(holds(all + offset[i], bytes[i], (size_t)i) && !all[offset[i] - 1] && !all[offset[i] + bytes[i]]);
        free(all);
    }
    free(bytes);
    return WF_OK;
}

static wf_status check_all_to_all(wf_ranks *ranks, void *user)
{
    (void)user;
    int n = wf_ranks_size(ranks), me = wf_ranks_rank(ranks);
    size_t *list = malloc(4 * (size_t)n * sizeof *list), *lengths[2] = { list, list + n };
    size_t *offsets[2] = { list + 2 * n, list + 3 * n };
    for (int s = 0; s < SIZES; s++) {
        size_t each = sizes[s], bytes = (size_t)n * each + 1;
        uint8_t *out = malloc(bytes), *in = calloc(1, bytes);
        for (int i = 0; i < n; i++)
            fill(out + (size_t)i * each, each, pair(me, i));
        CHECK_OK(wf_ranks_all_to_all(ranks, out, (wf_pieces){ .each = each }, in, (wf_pieces){ .each = each }));
        for (int i = 0; i < n; i++)
            CHECK(holds(in + (size_t)i * each, each, pair(i, me)));
        free(out);
        free(in);
    }
    for (size_t scale = 1; scale < 100000; scale *= 40) {
        size_t out_room = make_pieces(lengths[0], offsets[0], n, me, -1, scale);
        size_t in_room = make_pieces(lengths[1], offsets[1], n, -1, me, scale);
        uint8_t *out = calloc(1, out_room), *in = calloc(1, in_room);
        for (int i = 0; i < n; i++)
            fill(out + offsets[0][i], lengths[0][i], pair(me, i));
        CHECK_OK(wf_ranks_all_to_all(ranks, out, (wf_pieces){ .bytes = lengths[0], .offset = offsets[0] }, in,
                                     (wf_pieces){ .bytes = lengths[1], .offset = offsets[1] }));
        for (int i = 0; i < n; i++)
            CHECK(holds(in + offsets[1][i], lengths[1][i], pair(i, me)) && !in[offsets[1][i] - 1] &&
                  !in[offsets[1][i] + lengths[1][i]]);
        free(out);
        free(in);
    }
    free(list);
    return WF_OK;
}

static wf_status check_agreement(wf_ranks *ranks, void *user)
{
    (void)user;
    int n = wf_ranks_size(ranks), me = wf_ranks_rank(ranks);
    wf_ranks_error e;
    CHECK(wf_ranks_agree(ranks, WF_OK, "unused", &e) == WF_OK && e.status == WF_OK && e.rank == -1 && !*e.text);
    for (int first = 0; first < n; first++) {
        char text[40];
        snprintf(text, sizeof text, "no file %d", me);
        wf_status mine = me < first ? WF_OK : me == first ? WF_ERR_IO : WF_ERR_SHAPE;
        CHECK(wf_ranks_agree(ranks, mine, text, &e) == WF_ERR_IO);
        snprintf(text, sizeof text, "no file %d", first);
        CHECK(e.status == WF_ERR_IO && e.rank == first && !strcmp(e.text, text));
        CHECK(!strcmp(wf_ranks_message(ranks), text));
    }
    return WF_OK;
}

/* ---- groups of groups ------------------------------------------------------------------------------------------- */

/* The members of `part` are the ranks of `ranks` in this order. */
static wf_status check_members(wf_ranks *ranks, wf_ranks *part, const int *member, int n)
{
    int32_t mine = wf_ranks_rank(ranks), got[64];
    CHECK(part && wf_ranks_size(part) == n);
    CHECK_OK(wf_ranks_all_gather(part, &mine, got, (wf_pieces){ .each = sizeof mine }));
    for (int i = 0; i < n; i++) {
        CHECK(got[i] == member[i]);
        CHECK(!strcmp(wf_ranks_host(part, i), wf_ranks_host(ranks, member[i])));
    }
    CHECK(got[wf_ranks_rank(part)] == mine);
    CHECK(!strcmp(wf_ranks_library(part), wf_ranks_library(ranks)));
    return WF_OK;
}

static wf_status check_split(wf_ranks *ranks, void *user)
{
    (void)user;
    int n = wf_ranks_size(ranks), me = wf_ranks_rank(ranks), member[64], count = 0;
    wf_ranks *part = NULL, *none = ranks, *again = NULL, *half = NULL;
    CHECK_OK(wf_ranks_split(ranks, me % 2, -me, &part)); /* odd and even ranks, backwards */
    for (int i = n; i-- > 0;)
        if (i % 2 == me % 2)
            member[count++] = i;
    CHECK_OK(check_members(ranks, part, member, count));
    CHECK_OK(wf_ranks_split(ranks, me == 0 ? -1 : 7, 0, &none)); /* all but the first */
    count = 0;
    for (int i = 1; i < n; i++)
        member[count++] = i;
    if (me == 0)
        CHECK(!none);
    else
        CHECK_OK(check_members(ranks, none, member, count));
    CHECK_OK(wf_ranks_split(ranks, 0, 0, &again)); /* the same ranks: messages of both groups stay apart */
    int32_t out[2] = { 10 + me, 20 + me }, in[2] = { 0 };
    wf_request *requests[4];
    CHECK_OK(wf_ranks_send(ranks, &out[0], 4, (me + 1) % n, 3, &requests[0]));
    CHECK_OK(wf_ranks_send(again, &out[1], 4, (me + 1) % n, 3, &requests[1]));
    CHECK_OK(wf_ranks_receive(again, &in[1], 4, (me + n - 1) % n, 3, &requests[2]));
    CHECK_OK(wf_request_wait(&requests[2]));
    CHECK_OK(wf_ranks_receive(ranks, &in[0], 4, (me + n - 1) % n, 3, &requests[3]));
    CHECK_OK(wf_request_wait(&requests[3]));
    CHECK_OK(wf_request_wait(&requests[0]));
    CHECK_OK(wf_request_wait(&requests[1]));
    CHECK(in[0] == 10 + (me + n - 1) % n && in[1] == 20 + (me + n - 1) % n);
    int in_part = wf_ranks_rank(part), of_part = wf_ranks_size(part), base = n - 1 - (n - 1 - me) % 2;
    CHECK_OK(wf_ranks_split(part, in_part * 2 < of_part, 0, &half)); /* halves of the parts */
    count = 0;
    for (int i = 0; i < of_part; i++)
        if ((i * 2 < of_part) == (in_part * 2 < of_part))
            member[count++] = base - 2 * i;
    CHECK_OK(check_members(ranks, half, member, count));
    wf_ranks_free(half);
    wf_ranks_free(again);
    wf_ranks_free(none);
    wf_ranks_free(part);
    return WF_OK;
}

/* ---- mistakes --------------------------------------------------------------------------------------------------- */

static bool says(const wf_ranks *ranks, const char *text)
{
    char where[40];
    snprintf(where, sizeof where, " on rank %d of %d: ", wf_ranks_rank(ranks), wf_ranks_size(ranks));
    return strstr(wf_ranks_message(ranks), text) && strstr(wf_ranks_message(ranks), where);
}

static wf_status check_refused(wf_ranks *ranks, void *user)
{
    (void)user;
    int n = wf_ranks_size(ranks);
    uint8_t byte = 0;
    wf_request *r = NULL;
    bool done = false;
    size_t index = 0;
    CHECK(wf_ranks_send(ranks, &byte, 1, n, 0, &r) == WF_ERR_ARG && says(ranks, "wf_ranks_send"));
    CHECK(wf_ranks_send(ranks, &byte, 1, -1, 0, &r) == WF_ERR_ARG && says(ranks, "there is no rank -1"));
    CHECK(wf_ranks_receive(ranks, &byte, 1, 0, -1, &r) == WF_ERR_ARG && says(ranks, "the tag is -1"));
    CHECK(wf_ranks_receive(ranks, &byte, 1, 0, WF_TAG_MAX + 1, &r) == WF_ERR_ARG && says(ranks, "wf_ranks_receive"));
    CHECK(wf_ranks_receive(ranks, NULL, 1, 0, 0, &r) == WF_ERR_ARG && says(ranks, "data is NULL"));
    CHECK(wf_ranks_prepare_send(ranks, &byte, 1, 0, 0, NULL) == WF_ERR_ARG && says(ranks, "wf_ranks_prepare_send"));
    CHECK(wf_ranks_prepare_receive(ranks, &byte, 1, n, 0, &r) == WF_ERR_ARG && !r);
    CHECK(wf_ranks_broadcast(ranks, &byte, 1, n) == WF_ERR_ARG && says(ranks, "wf_ranks_broadcast"));
    CHECK(wf_ranks_broadcast(ranks, NULL, 1, 0) == WF_ERR_ARG);
    CHECK(wf_ranks_all_gather(ranks, NULL, &byte, (wf_pieces){ .each = 1 }) == WF_ERR_ARG);
    CHECK(wf_ranks_all_gather(ranks, &byte, &byte, (wf_pieces){ .each = SIZE_MAX }) == (n > 1 ? WF_ERR_ARG : WF_OK));
    CHECK(wf_ranks_all_gather(ranks, &byte, &byte, (wf_pieces){ .bytes = &index }) == WF_ERR_ARG);
    CHECK(wf_ranks_all_to_all(ranks, NULL, (wf_pieces){ .each = 1 }, &byte, (wf_pieces){ .each = 1 }) == WF_ERR_ARG);
    CHECK(wf_ranks_all_to_all(ranks, &byte, (wf_pieces){ .each = 1 }, &byte, (wf_pieces){ .each = 0 }) == WF_ERR_ARG);
    CHECK(wf_ranks_split(ranks, 0, 0, NULL) == WF_ERR_ARG && wf_counter_new(ranks, NULL) == WF_ERR_ARG);
    CHECK(wf_ranks_set_timeout(ranks, -1) == WF_ERR_ARG && says(ranks, "-1 is no number of seconds"));
    CHECK(wf_ranks_barrier(NULL) == WF_ERR_ARG && wf_ranks_agree(NULL, WF_OK, "", NULL) == WF_ERR_ARG);
    CHECK(wf_request_wait(NULL) == WF_ERR_ARG && wf_request_test(NULL, &done) == WF_ERR_ARG);
    CHECK(wf_request_wait_any(&r, 1, NULL) == WF_ERR_ARG && wf_request_start(&r, 1) == WF_ERR_ARG);
    CHECK(wf_request_test(&r, &done) == WF_OK && done); /* NULL is done */
    CHECK(wf_ranks_rank(NULL) == -1 && wf_ranks_size(NULL) == 0 && !*wf_ranks_host(ranks, n) &&
          !*wf_ranks_host(NULL, 0));
    wf_request_free(NULL);
    wf_counter_free(NULL);
    wf_ranks_free(NULL);
    return WF_OK;
}

/* The receiver of a message of another size learns it; the sender is done. */
static wf_status check_sizes_differ(wf_ranks *ranks, void *user)
{
    (void)user;
    int n = wf_ranks_size(ranks), me = wf_ranks_rank(ranks);
    uint8_t out[20] = { 0 }, in[20];
    if (n == 1)
        return WF_OK;
    for (size_t bytes = 8; bytes <= 16; bytes += 8) { /* too long, too short */
        wf_request *r = NULL;
        if (me == 0) {
            CHECK_OK(wf_ranks_send(ranks, out, 12, 1, 9, &r));
            CHECK_OK(wf_request_wait(&r));
        } else if (me == 1) {
            CHECK_OK(wf_ranks_receive(ranks, in, bytes, 0, 9, &r));
            CHECK(wf_request_wait(&r) == WF_ERR_CONTRACT);
            CHECK(says(ranks, "wf_request_wait"));
            CHECK(bytes == 16 ? says(ranks, " has 12 bytes, not 16")
                              : says(ranks, " has 12 bytes, not 8") || says(ranks, " has more than 8 bytes"));
        }
        CHECK_OK(wf_ranks_barrier(ranks)); /* the group is of use as before */
    }
    return WF_OK;
}

const named_check rank_checks[] = {
    { "messages", check_messages },
    { "tags", check_tags },
    { "prepared", check_prepared },
    { "counter", check_counter },
    { "broadcast", check_broadcast },
    { "all_gather", check_all_gather },
    { "all_to_all", check_all_to_all },
    { "agreement", check_agreement },
    { "split", check_split },
    { "refused", check_refused },
    { "sizes_differ", check_sizes_differ },
    { NULL, NULL },
};
