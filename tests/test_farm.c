/* test_farm.c - one function over many files: states of items and their reasons, runs with failures, stops and other
 * processes, mistakes, and lack of memory. The function here copies bytes.
 *
 * ctest: threads no_kernels
 */
#include "memory_fails.h"
#include "test_io_util.h"
#include "each/each.h"
#include <sys/wait.h>

enum { ITEMS = 5 };
static const char *const ins[ITEMS] = { "i0", "i1", "i2", "i3", "i4" };
static const char *const outs[ITEMS] = { "o0", "o1", "o2", "o3", "o4" };
static wf_each_item items[ITEMS];

/* What the function does, and what was reported. */
typedef struct script {
    int calls[ITEMS], events[ITEMS][WF_EACH_BUSY + 1];
    char message[200];
    size_t fails, stops_at; /* number of the item; ITEMS = none */
    wf_status status;       /* of the failure */
    bool silent;            /* it fails without an error in the context; or makes no output, if status is WF_OK */
    bool stopped;
    size_t next; /* of give_item */
} script;

static wf_status copy(wf_context *c, const wf_each_item *item, size_t number, void *user)
{
    script *s = user;
    size_t n;
    s->calls[number]++;
    assert_ptr_equal(item, &items[number]);
    assert_int_equal(wf_last_status(c), WF_OK);
    if (number == s->stops_at)
        s->stopped = true;
    if (number == s->fails)
        return s->silent ? s->status : wf_error(c, s->status, "a made-up failure");
    uint8_t *bytes = read_file(item->inputs[0], &n);
    write_file(item->outputs[0], bytes, n);
    free(bytes);
    return WF_OK;
}

static void hear(void *user, const wf_each_report *r)
{
    script *s = user;
    s->events[r->item][r->event]++;
    if (r->event == WF_EACH_FAILED)
        snprintf(s->message, sizeof s->message, "%s", r->message);
    else
        assert_string_equal(r->message, "");
    if (r->event == WF_EACH_FINISHED)
        assert_int_equal(r->bytes, 3);
}

static bool is_stopped(void *user) { return ((script *)user)->stopped; }

static int new_files(void **state)
{
    (void)state;
    if (system("rm -rf .weft-each o[0-9] i[0-9] other shared") != 0)
        return -1;
    for (int i = 0; i < ITEMS; i++) {
        write_file(ins[i], ins[i], 3);
        items[i] = (wf_each_item){ .inputs = &ins[i], .input_count = 1, .outputs = &outs[i], .output_count = 1 };
    }
    return 0;
}

static wf_each_options options_of(script *s)
{
    *s = (script){ .fails = ITEMS, .stops_at = ITEMS };
    return (wf_each_options){
        .size = sizeof(wf_each_options), .task = "copy", .settings = "s", .report = hear, .stop = is_stopped, .user = s
    };
}

static void expect_summary(const wf_each_summary *s, size_t done, size_t skipped, size_t failed)
{
    assert_int_equal(s->done, done);
    assert_int_equal(s->skipped, skipped);
    assert_int_equal(s->failed, failed);
    assert_int_equal(s->bytes, 3 * done);
}

static void run(const wf_each_options *o, size_t done, size_t skipped)
{
    wf_each_summary sum;
    wf_status status = wf_each(ctx, items, ITEMS, copy, o->user, o, &sum);
    if (status != WF_OK)
        fail_msg("%s", wf_last_message(ctx));
    expect_summary(&sum, done, skipped, 0);
    for (int i = 0; i < ITEMS; i++) {
        size_t n;
        uint8_t *bytes = read_file(outs[i], &n);
        assert_int_equal(n, 3);
        assert_memory_equal(bytes, ins[i], 2);
        free(bytes);
    }
}

static wf_each_state state_of(size_t item, wf_each_options o)
{
    o.read_only = true;
    wf_farm *farm = wf_farm_open(ctx, items, ITEMS, &o);
    assert_non_null(farm);
    wf_each_state state = wf_farm_state(farm, item);
    assert_int_equal(wf_farm_state(farm, ITEMS), WF_EACH_DONE);
    wf_farm_free(farm);
    return state;
}

static void set_time(const char *path, long seconds)
{
    const struct timespec t[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void test_states(void **state)
{
    (void)state;
    script s;
    wf_each_options o = options_of(&s), other = o;
    assert_int_equal(state_of(0, o), WF_EACH_NEW);
    assert_int_equal(access(".weft-each", F_OK), -1); /* looking makes nothing */
    run(&o, ITEMS, 0);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(s.calls[i], 1);
        assert_int_equal(s.events[i][WF_EACH_STARTED], 1);
        assert_int_equal(s.events[i][WF_EACH_FINISHED], 1);
    }
    run(&o, 0, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(s.events[i][WF_EACH_SKIPPED], 1);
    assert_int_equal(state_of(0, o), WF_EACH_DONE);
    other.task = "copies";
    assert_int_equal(state_of(0, other), WF_EACH_TASK);
    other = o, other.settings = NULL;
    assert_int_equal(state_of(0, other), WF_EACH_SETTINGS);
    other = o, other.again = true;
    assert_int_equal(state_of(0, other), WF_EACH_AGAIN);
    write_file("shared", "x", 1);
    const char *const shared = "shared";
    other = o, other.shared = &shared, other.shared_count = 1;
    assert_int_equal(state_of(0, other), WF_EACH_INPUT);
    set_time("i1", 1000000);
    assert_int_equal(state_of(1, o), WF_EACH_INPUT);
    write_file("i2", "longer", 6);
    assert_int_equal(state_of(2, o), WF_EACH_INPUT);
    remove("i3");
    assert_int_equal(state_of(3, o), WF_EACH_INPUT);
    write_file("i3", ins[3], 3);
    set_time("o4", 1000000);
    assert_int_equal(state_of(4, o), WF_EACH_OUTPUT);
    remove("o4");
    assert_int_equal(state_of(4, o), WF_EACH_MISSING);
    write_file("i2", ins[2], 3);
    run(&o, 4, 1);
    /* the results of one task, then of another one, then of the first again */
    other = o, other.task = "copies";
    run(&other, ITEMS, 0);
    assert_int_equal(state_of(0, o), WF_EACH_TASK);
    run(&o, ITEMS, 0);
    run(&o, 0, ITEMS);
    for (wf_each_state k = WF_EACH_DONE; k <= WF_EACH_AGAIN; k++)
        assert_true(strlen(wf_each_state_name(k)) > 2);
    assert_string_equal(wf_each_state_name(WF_EACH_MISSING), "missing");
    assert_null(wf_each_state_name(WF_EACH_AGAIN + 1));
}

/* A journal that another version of Weft has written. */
static void test_version(void **state)
{
    (void)state;
    script s;
    wf_each_options o = options_of(&s);
    o.journal = "other";
    run(&o, ITEMS, 0);
    assert_int_equal(system("mv other/*.journal j0"), 0);
    size_t n;
    char *text = (char *)read_file("j0", &n), *end;
    wf__str changed = { 0 };
    int lines = 0;
    for (char *line = text; (end = memchr(line, '\n', n - (size_t)(line - text))); line = end + 1) {
        wf__each_record r;
        if (!wf__each_read_record(line, (size_t)(end - line), &r))
            continue;
        r.version ^= 1;
        wf__each_record_line(&changed, &r, 1, "x");
        lines++;
    }
    assert_int_equal(lines, ITEMS);
    write_file("other/0.journal", changed.at, changed.len);
    wf__str_free(&changed);
    free(text);
    assert_int_equal(state_of(0, o), WF_EACH_VERSION);
    run(&o, ITEMS, 0);
    assert_int_equal(system("rm -r other j0"), 0);
}

static void test_failures(void **state)
{
    (void)state;
    script s;
    wf_each_summary sum;
    wf_each_options o = options_of(&s);
    s.fails = 1;
    s.status = WF_ERR_SHAPE;
    assert_int_equal(wf_each(ctx, items, ITEMS, copy, &s, &o, &sum), WF_ERR_SHAPE);
    assert_string_equal(wf_last_message(ctx), "i1: a made-up failure");
    wf_clear_error(ctx);
    expect_summary(&sum, ITEMS - 1, 0, 1);
    assert_int_equal(s.events[1][WF_EACH_FAILED], 1);
    assert_string_equal(s.message, "a made-up failure");
    /* it is tried again; without a message the status is one */
    o = options_of(&s);
    s.fails = 1, s.status = WF_ERR_DTYPE, s.silent = true;
    assert_int_equal(wf_each(ctx, items, ITEMS, copy, &s, &o, &sum), WF_ERR_DTYPE);
    assert_string_equal(s.message, "WF_ERR_DTYPE");
    wf_clear_error(ctx);
    expect_summary(&sum, 0, ITEMS - 1, 1);
    /* a function that makes no output */
    o = options_of(&s);
    s.fails = 1, s.status = WF_OK, s.silent = true;
    assert_int_equal(wf_each(ctx, items, ITEMS, copy, &s, &o, &sum), WF_ERR_IO);
    assert_non_null(strstr(s.message, "no output"));
    wf_clear_error(ctx);
    /* the first failure ends the run: if that is wanted, if all items share it, if it was cancelled */
    static const wf_status statuses[] = { WF_ERR_SHAPE, WF_ERR_SYNTAX, WF_ERR_CANCELLED };
    for (int k = 0; k < 3; k++) {
        o = options_of(&s);
        o.again = true;
        o.strict = k == 0;
        s.fails = 2, s.status = statuses[k];
        assert_int_equal(wf_each(ctx, items, ITEMS, copy, &s, &o, &sum), statuses[k]);
        wf_clear_error(ctx);
        expect_summary(&sum, 2, 0, k < 2);
        assert_int_equal(s.calls[3], 0);
        assert_int_equal(s.events[2][WF_EACH_FAILED], k < 2);
    }
    o = options_of(&s);
    s.stops_at = 2;
    o.again = true;
    assert_int_equal(wf_each(ctx, items, ITEMS, copy, &s, &o, &sum), WF_ERR_CANCELLED);
    wf_clear_error(ctx);
    expect_summary(&sum, 3, 0, 0);
    assert_int_equal(system("! ls .weft-each | grep -q lock"), 0);
}

static void refuse(const wf_each_options *o, const char *message)
{
    assert_null(wf_farm_open(ctx, items, ITEMS, o));
    assert_int_equal(wf_last_status(ctx), WF_ERR_ARG);
    if (!strstr(wf_last_message(ctx), message))
        fail_msg("'%s' instead of '%s'", wf_last_message(ctx), message);
    wf_clear_error(ctx);
}

static void test_mistakes(void **state)
{
    (void)state;
    script s;
    wf_each_options o = options_of(&s), wrong = o;
    items[3].outputs = &outs[1];
    refuse(&o, "o1 is the output of two items: i1 and i3");
    items[3].outputs = (const char *const[]){ "./o1" };
    refuse(&o, "is the output of two items");
    items[3].outputs = &ins[0];
    refuse(&o, "i0, the output of i3, is an input: i0");
    assert_int_equal(symlink("i2", "o3"), 0);
    items[3].outputs = &outs[3];
    refuse(&o, "o3, the output of i3, is an input: i2");
    remove("o3");
    const char *const shared = "o4";
    wrong.shared = &shared, wrong.shared_count = 1;
    refuse(&wrong, "o4, the output of i4, is an input: o4");
    items[3].output_count = 0;
    refuse(&o, "an item without outputs");
    items[3].output_count = 1;
    wrong = o, wrong.size = 1;
    refuse(&wrong, "options.size");
    assert_null(wf_farm_open(ctx, NULL, 1, &o));
    wf_clear_error(ctx);
    assert_int_equal(wf_farm_run(NULL, ctx, copy, &s, NULL), WF_ERR_ARG);
    wf_clear_error(ctx);
    wrong = o, wrong.read_only = true;
    wf_farm *farm = wf_farm_open(ctx, items, ITEMS, &wrong);
    assert_int_equal(wf_farm_run(farm, ctx, copy, &s, NULL), WF_ERR_ARG);
    wf_clear_error(ctx);
    wf_farm_free(farm);
    wf_farm_free(NULL);
    assert_int_equal(wf_farm_state(NULL, 0), WF_EACH_DONE);
    wrong = o, wrong.journal = "no/such/folder";
    assert_null(wf_farm_open(ctx, items, ITEMS, &wrong));
    assert_int_equal(wf_last_status(ctx), WF_ERR_IO);
    assert_non_null(strstr(wf_last_message(ctx), "no/such/folder: cannot open the folder of the journal: "));
    wf_clear_error(ctx);
    assert_int_equal(wf_each(ctx, items, 0, copy, &s, &o, NULL), WF_OK);
    assert_int_equal(wf_each(ctx, items, ITEMS, copy, &s, NULL, NULL), WF_OK); /* options are not needed */
}

/* The program gives the run its items, in its own order. */
static bool give_item(void *user, size_t *item)
{
    script *s = user;
    if (s->next == 2)
        return false;
    *item = s->next++ ? 0 : 4;
    return true;
}

static void test_other_order(void **state)
{
    (void)state;
    script s;
    wf_each_options o = options_of(&s);
    wf_each_summary sum;
    o.next = give_item;
    o.journal = "other";
    assert_int_equal(wf_each(ctx, items, ITEMS, copy, &s, &o, &sum), WF_OK);
    expect_summary(&sum, 2, 0, 0);
    assert_int_equal(s.calls[4] + s.calls[0], 2);
    assert_int_equal(access("o1", F_OK), -1);
    assert_int_equal(access("other", F_OK), 0);
    assert_int_equal(system("rm -r other"), 0);
}

/* ---- beside other processes ---- */
static int to_child[2], from_child[2];

static bool output_first; /* the child waits when item 2 has its output, which it has not noted yet */

/* Tells the parent that item 2 has begun, and waits for it. */
static wf_status wait_in_the_middle(wf_context *c, const wf_each_item *item, size_t number, void *user)
{
    char byte = 'x';
    if (output_first)
        copy(c, item, number, user);
    if (number == 2 && (write(from_child[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1 || byte == 'd'))
        _exit(1);
    return output_first ? WF_OK : copy(c, item, number, user);
}

/* Begins a child that does all items and stops within item 2. */
static pid_t begin_child(void)
{
    char byte;
    assert_int_equal(pipe(to_child) | pipe(from_child), 0);
    pid_t child = fork();
    if (child == 0) {
        script s;
        wf_each_options o = options_of(&s);
        o.no_wait = true; /* for the parent, which waits for this process */
        _exit(wf_each(ctx, items, ITEMS, wait_in_the_middle, &s, &o, NULL) != WF_OK);
    }
    assert_int_equal(read(from_child[0], &byte, 1), 1);
    return child;
}

static void end_child(pid_t child, char how)
{
    int status;
    assert_int_equal(write(to_child[1], &how, 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), how == 'd');
    close(to_child[0]), close(to_child[1]), close(from_child[0]), close(from_child[1]);
}

/* The function of the parent: when all other items are done, the child goes on, or dies within item 2. */
static pid_t the_child;
static char the_end;
static wf_status end_it_last(wf_context *c, const wf_each_item *item, size_t number, void *user)
{
    if (number == 4)
        end_child(the_child, the_end);
    return copy(c, item, number, user);
}

static void test_beside_another(void **state)
{
    (void)state;
    script s;
    wf_each_summary sum;
    wf_each_options o = options_of(&s);
    /* items 0 and 1 were done before, item 2 is in work, 3 and 4 are left */
    the_child = begin_child();
    o.no_wait = true;
    assert_int_equal(wf_each(ctx, items, ITEMS, copy, &s, &o, &sum), WF_OK);
    assert_int_equal(sum.busy, 1);
    expect_summary(&sum, 2, 2, 0);
    assert_int_equal(s.events[2][WF_EACH_BUSY], 1);
    assert_int_equal(s.calls[2], 0);
    end_child(the_child, 'g'); /* it skips 3 and 4, which were done meanwhile */
    o = options_of(&s);
    run(&o, 0, ITEMS);
    /* waits for the item: the other process does it, or dies and leaves it */
    for (int dies = 0; dies < 2; dies++) {
        new_files(NULL);
        o = options_of(&s);
        the_child = begin_child();
        the_end = dies ? 'd' : 'g';
        assert_int_equal(wf_each(ctx, items, ITEMS, end_it_last, &s, &o, &sum), WF_OK);
        expect_summary(&sum, dies ? 3 : 2, dies ? 2 : 3, 0);
        assert_int_equal(s.calls[2], dies);
        assert_int_equal(s.events[2][dies ? WF_EACH_FINISHED : WF_EACH_SKIPPED], 1);
        assert_int_equal(system("! ls .weft-each | grep -q lock"), 0);
    }
}

/* The farm is opened between the output of item 2 and its note. */
static void test_output_before_note(void **state)
{
    (void)state;
    script s;
    wf_each_summary sum;
    wf_each_options o = options_of(&s);
    output_first = true;
    the_child = begin_child();
    output_first = false;
    wf_farm *farm = wf_farm_open(ctx, items, ITEMS, &o);
    assert_int_equal(wf_farm_state(farm, 1), WF_EACH_DONE);
    assert_int_equal(wf_farm_state(farm, 2), WF_EACH_NEW);
    end_child(the_child, 'g');
    assert_int_equal(wf_farm_run(farm, ctx, copy, &s, &sum), WF_OK);
    expect_summary(&sum, 0, ITEMS, 0);
    wf_farm_free(farm);
}

/* Children that share the farm of their parent do each item once. */
static void test_children(void **state)
{
    (void)state;
    script s;
    wf_each_options o = options_of(&s);
    wf_farm *farm = wf_farm_open(ctx, items, ITEMS, &o);
    assert_non_null(farm);
    pid_t child[4];
    for (int k = 0; k < 4; k++) {
        child[k] = fork();
        if (child[k] == 0) {
            wf_each_summary sum;
            bool well = wf_farm_run(farm, ctx, copy, &s, &sum) == WF_OK && sum.done + sum.skipped == ITEMS;
            _exit(well ? (int)sum.done : 100);
        }
    }
    int done = 0;
    for (int k = 0; k < 4; k++) {
        int status;
        assert_int_equal(waitpid(child[k], &status, 0), child[k]);
        done += WEXITSTATUS(status);
    }
    assert_int_equal(done, ITEMS);
    wf_farm_free(farm);
    run(&o, 0, ITEMS);
}

/* Each allocation fails once: an error that says so, or the right result; the next run does what is left. */
static void test_memory_fails(void **state)
{
    (void)state;
    script s;
    long failed = 0;
    bool more = true;
    for (long n = 0; more; n++) {
        new_files(NULL);
        wf_each_options o = options_of(&s);
        const char *const shared = "i0";
        o.shared = &shared, o.shared_count = 1;
        wf__alloc_fail_after(n);
        wf_status status = wf_each(ctx, items, ITEMS, copy, &s, &o, NULL);
        more = failure_happened();
        wf__alloc_fail_after(-1);
        assert_true(status == WF_OK || status == WF_ERR_MEMORY);
        failed += status != WF_OK;
        wf_clear_error(ctx);
        size_t left = 0;
        o.read_only = true;
        wf_farm *farm = wf_farm_open(ctx, items, ITEMS, &o);
        for (size_t i = 0; i < ITEMS; i++)
            left += wf_farm_state(farm, i) != WF_EACH_DONE;
        wf_farm_free(farm);
        o.read_only = false;
        run(&o, left, ITEMS - left);
#ifndef WEFT_DEBUG_CHECKS
        return; /* only debug builds can make allocations fail */
#endif
    }
    assert_true(failed > 10);
}

static int leave(void **state)
{
    return system("rm -rf .weft-each o[0-9] i[0-9] other shared") == 0 ? leave_folder(state) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_states, new_files),
        cmocka_unit_test_setup(test_version, new_files),
        cmocka_unit_test_setup(test_failures, new_files),
        cmocka_unit_test_setup(test_mistakes, new_files),
        cmocka_unit_test_setup(test_other_order, new_files),
        cmocka_unit_test_setup(test_beside_another, new_files),
        cmocka_unit_test_setup(test_output_before_note, new_files),
        cmocka_unit_test_setup(test_children, new_files),
        cmocka_unit_test_setup(test_memory_fails, new_files),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave);
}
