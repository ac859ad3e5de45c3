/* each.c - weft each: one operator text over many files. The library's farm (weft/each.h) says what is to be done and
 * keeps the journal; this file reads the command line, lists the items, and computes one of them. */
#include "each.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_JOBS = 1024, NAMED = 100 };

const char help_each[] =
    "  weft each 'a - median(a)' a='raw/*.mrc' -o clean/{name}.mrc\n"
    "  weft each 'a * g' a=@movies.txt g=gain.mrc -o 'sums/{name}.mrc' --jobs 8\n"
    "  weft each 'd = a - b; m = abs(d) > t' a='odd/*.mrc' b='even/*.mrc' t=3 -o d=diff/{name}.mrc -o m=mask/{name}.png\n"
    "  weft each 'bin(a, 2)' a=@list.txt -o small/{name}.mrc --dry-run\n\n"
    "Computes the text once for each file of a list, as weft calc does. An input is a list if it names a file with a path\n"
    "on each line (a=@list.txt; @-: standard input), or a pattern of file names (a='raw/*.mrc'). Several lists go in step.\n"
    "Other files and numbers are those of all.\n\n"
    "A journal beside the results, the folder .weft-each, notes what each result was made of. What is up to date is\n"
    "skipped; what is missing, or was made by another text, of changed inputs or by another version, is made again. So the\n"
    "same command goes on after an interruption. Several commands on one folder, also of several machines, share the work.\n"
    "A file that fails is reported and skipped; the exit code is then 1.\n\n"
    "  -o FILE, -o NAME=FILE  names of the results: {name} and {ext} are of the file in the first list, without and after\n"
    "                         the point, {dir} is its folder, {number} its place in the list, from 1\n"
    "  -f, --file FILE        the text is in FILE\n"
    "  --jobs N               processes that work at once (default: by cores, memory and number of files)\n"
    "  --threads N            threads of each (default: the cores, shared among the processes)\n"
    "  --dry-run              prints what would be done, and why\n"
    "  --again                computes all files, also those whose results are up to date\n"
    "  --strict               the first file that fails ends the work\n"
    "  --no-wait              leaves files to other commands that work on them, instead of waiting for these\n"
    "  --quiet                neither progress nor, if all went well, a summary\n"
    "  --journal FOLDER       the journal; commands that share work share it\n"
    "  --dtype TYPE, --shape Y,X, --pixel A, --stack, --volume, --pyramid, --coarsest N, --origin Z,Y,X,\n"
    "  --device NAME, --fast-math   as for calc\n";

enum { JOBS = CALC_OPTION_COUNT, DRY_RUN, AGAIN, STRICT, NO_WAIT, QUIET, JOURNAL };
static const option options[] = {
    CALC_OPTIONS,           { "jobs", 'j', true },   { "dry-run", 0, false }, { "again", 0, false },
    { "strict", 0, false }, { "no-wait", 0, false }, { "quiet", 'q', false }, { "journal", 0, true },
    { NULL, 0, false }
};

typedef struct each {
    calc calc; /* the text and what one item is made of */
    arguments arguments;
    list list[MAX_INPUTS];
    bool is_list[MAX_INPUTS + 1]; /* of each input; false for the shape, which is added to them */
    size_t first, count;          /* the first list, and the paths in each */
    const char *pattern[MAX_OUTPUTS];
    wf_each_item *items;
    const char **inputs;
    char **outputs;
    const char *shared[MAX_INPUTS];
    size_t shared_count;
    char *settings;
    wf_each_options options;
    wf_farm *farm;
    crew crew;
    long jobs;
    int cores;
    uint64_t memory; /* bytes that this process may use */
    bool dry_run, quiet;
} each;

/* ---- command line ---- */

/* Returns an exit code, or -1 = go on. */
static int read_arguments(each *e)
{
    calc *c = &e->calc;
    arguments *a = &e->arguments;
    int result;
    a->text_wanted = true;
    for (int o = next_argument(a); o != ARG_END; o = next_argument(a)) {
        switch (o) {
        case JOBS:
            if (!parse_int(a->value, 1, MOST_JOBS, &e->jobs))
                return misused(c->self, "--jobs %s: give a number of processes, 1 to %d", a->value, MOST_JOBS);
            break;
        case DRY_RUN:
            e->dry_run = true;
            break;
        case AGAIN:
            e->options.again = true;
            break;
        case STRICT:
            e->options.strict = true;
            break;
        case NO_WAIT:
            e->options.no_wait = true;
            break;
        case QUIET:
            e->quiet = true;
            break;
        case JOURNAL:
            e->options.journal = a->value;
            break;
        default:
            if ((result = calc_argument(c, a, o)) >= 0)
                return result;
        }
    }
    if ((result = calc_check_text(c)) >= 0)
        return result;
    if (!c->outs)
        return misused(c->self, "no names for the results; give -o 'folder/{name}.mrc'");
    return -1;
}

/* ---- items ---- */

static int read_lists(each *e)
{
    calc *c = &e->calc;
    for (size_t i = 0; i < c->args; i++) {
        if (!c->path[i])
            continue;
        e->is_list[i] = names_paths(c->path[i]);
        if (!e->is_list[i]) {
            e->shared[e->shared_count++] = c->path[i];
            continue;
        }
        char *text = append(NULL, "%s=%s", c->name[i], c->path[i]);
        int result = read_paths(c->self, text, c->path[i], &e->list[i]);
        free(text);
        if (result != EXIT_OK)
            return result;
        if (e->count == 0) {
            e->first = i;
            e->count = e->list[i].count;
        }
        if (e->list[i].count != e->count)
            return failed("%s=%s has %zu paths, %s=%s has %zu: lists that go in step are of one length",
                          c->name[e->first], c->path[e->first], e->count, c->name[i], c->path[i], e->list[i].count);
    }
    return e->count
               ? EXIT_OK
               : misused(c->self, "no input is a list: give NAME=@FILE or NAME='PATTERN'; weft calc computes once");
}

static int make_items(each *e)
{
    calc *c = &e->calc;
    size_t lists = 0;
    for (size_t i = 0; i < c->args; i++)
        lists += e->is_list[i];
    e->items = allocate(e->count, sizeof *e->items);
    e->inputs = allocate(e->count * lists, sizeof *e->inputs);
    e->outputs = allocate(e->count * c->outs, sizeof *e->outputs);
    for (size_t n = 0; n < e->count; n++) {
        const char **input = e->inputs + n * lists;
        char **out = e->outputs + n * c->outs;
        e->items[n] = (wf_each_item){ .name = e->list[e->first].path[n],
                                      .inputs = input,
                                      .input_count = lists,
                                      .outputs = (const char *const *)out,
                                      .output_count = c->outs };
        for (size_t i = 0; i < c->args; i++)
            if (e->is_list[i])
                *input++ = e->list[i].path[n];
        for (size_t k = 0; k < c->outs; k++) {
            out[k] = fill_pattern(c->self, e->pattern[k], e->items[n].name, n + 1);
            wf_format format;
            if (!out[k])
                return EXIT_USAGE;
            if (wf_format_named(c->ctx, out[k], &format) != WF_OK)
                return misused(c->self, "-o %s", wf_last_message(c->ctx));
            int result = n == 0 ? check_facts(c->self, c->ctx, &c->facts, out[k]) : EXIT_OK;
            if (result != EXIT_OK)
                return result;
        }
    }
    return EXIT_OK;
}

/* Describes what results depend on beside the text and the files. */
static void describe_settings(each *e)
{
    const calc *c = &e->calc;
    const facts *f = &c->facts;
    char number[NUMBER_CAP], shape[256];
    for (size_t i = 0; i < c->args; i++) {
        const wf_arg *a = &c->arg[i];
        e->settings = append(e->settings, "%s=", c->name[i]);
        if (c->path[i])
            e->settings = append(e->settings, "%s\n", e->is_list[i] ? "list" : "file");
        else if (a->kind == WF_ARG_NUMBER)
            e->settings = append(e->settings, "%s\n", shortest_text(a->as.num, WF_F64, number));
        else
            e->settings = append(e->settings, "%lld\n", (long long)a->as.i64);
    }
    for (size_t k = 0; k < c->outs; k++)
        e->settings = append(e->settings, "-o %s\n", c->out[k].name);
    e->settings = append(e->settings, "dtype %d pixel %a %a %a stack %d volume %d shape %s fast %d\n", (int)f->store_as,
                         f->spacing[0], f->spacing[1], f->spacing[2], f->stack, f->volume,
                         c->shape.rank ? shape_text(c->shape, shape) : "-", e->arguments.fast_math);
    if (f->pyramid)
        e->settings = append(e->settings, "pyramid %d\n", (int)f->coarsest);
    if (f->origin_axes)
        e->settings =
            append(e->settings, "origin %d %a %a %a\n", f->origin_axes, f->origin[0], f->origin[1], f->origin[2]);
}

/* ---- work ---- */

/* Computes one item; a wf_each_function. */
static wf_status compute_item(wf_context *ctx, const wf_each_item *item, size_t number, void *user)
{
    each *e = user;
    calc *c = &e->calc;
    const char *const *input = item->inputs;
    (void)ctx, (void)number;
    for (size_t i = 0; i < c->args; i++)
        if (e->is_list[i])
            c->path[i] = *input++;
    for (size_t k = 0; k < c->outs; k++)
        c->out[k].path = item->outputs[k];
    wf_status status = calc_load(c);
    if (status == WF_OK)
        status = calc_compute(c);
    if (status == WF_OK)
        status = calc_save(c);
    for (size_t k = 0; k < c->outs; k++) {
        wf_release(c->result[k]);
        c->result[k] = NULL;
    }
    for (size_t i = 0; i < c->args; i++)
        if (e->is_list[i])
            calc_release_input(c, i);
    return status;
}

/* The work of one process. */
static int work(void *user)
{
    each *e = user;
    calc *c = &e->calc;
    e->arguments.poll = crew_poll;
    e->arguments.silent = crew_number() > 0; /* all would print the same warnings */
    c->ctx = open_context(&e->arguments);
    if (!c->ctx)
        return EXIT_FAILED;
    wf_each_summary sum = { 0 };
    wf_status status = calc_add_shape(c) ? wf_farm_run(e->farm, c->ctx, compute_item, e, &sum) : wf_last_status(c->ctx);
    bool broken = status != WF_OK && status != WF_ERR_CANCELLED && sum.failed == 0;
    if (broken)
        failed_in(c->ctx);
    calc_release(c);
    wf_context_free(c->ctx);
    return broken ? EXIT_FAILED : EXIT_OK;
}

/* As many processes as there are cores and items, and as half of the memory has room for. */
static int choose_jobs(const each *e, const size_t *open, size_t opens)
{
    enum { TIMES = 12, BASE = 64 << 20 }; /* the memory of an item beside its files, and of a process */
    double largest = 0;
    if (e->jobs)
        return (size_t)e->jobs < opens ? (int)e->jobs : (int)opens;
    for (size_t k = 0; k < opens; k++) {
        double bytes = 0;
        struct stat info;
        for (size_t i = 0; i < e->items[open[k]].input_count; i++)
            if (stat(e->items[open[k]].inputs[i], &info) == 0)
                bytes += (double)info.st_size;
        largest = bytes > largest ? bytes : largest;
    }
    double room = (double)e->memory / 2 / (TIMES * largest + BASE);
    int jobs = e->arguments.device && strncmp(e->arguments.device, "cuda", 4) == 0 ? 1 : e->cores;
    if (room < jobs)
        jobs = room < 1 ? 1 : (int)room;
    return (size_t)jobs < opens ? jobs : (int)opens;
}

static void print_plan(const each *e)
{
    size_t open = 0;
    static const char *const why[] = { [WF_EACH_NEW] = "new",
                                       [WF_EACH_MISSING] = "missing",
                                       [WF_EACH_OUTPUT] = "changed: output",
                                       [WF_EACH_TASK] = "stale: text",
                                       [WF_EACH_SETTINGS] = "stale: options",
                                       [WF_EACH_INPUT] = "stale: input",
                                       [WF_EACH_VERSION] = "stale: version",
                                       [WF_EACH_AGAIN] = "again" };
    for (size_t n = 0; n < e->count; n++) {
        wf_each_state state = wf_farm_state(e->farm, n);
        if (state == WF_EACH_DONE)
            continue;
        open++;
        printf("%-15s %s ->", why[state], e->items[n].name);
        for (size_t k = 0; k < e->items[n].output_count; k++)
            printf(" %s", e->items[n].outputs[k]);
        printf("\n");
    }
    printf("%zu to do, %zu up to date\n", open, e->count - open);
}

static int print_summary(const each *e)
{
    const crew *c = &e->crew;
    size_t by[MARK_BUSY + 1] = { 0 }, named = 0;
    for (size_t k = 0; k < c->opens; k++)
        by[c->mark[k]]++;
    size_t skipped = e->count - c->opens + by[MARK_SKIPPED];
    bool well = by[MARK_FAILED] + by[MARK_OPEN] + by[MARK_BUSY] == 0 && !c->broken;
    if (!e->quiet || !well) {
        char text[3][NUMBER_CAP];
        double s = c->seconds > 0 ? c->seconds : 1;
        fprintf(stderr, "weft each: %zu done, %zu skipped, %zu failed", by[MARK_DONE], skipped, by[MARK_FAILED]);
        if (by[MARK_BUSY])
            fprintf(stderr, ", %zu left to other commands", by[MARK_BUSY]);
        if (by[MARK_OPEN])
            fprintf(stderr, ", %zu not done", by[MARK_OPEN]);
        if (by[MARK_DONE])
            fprintf(stderr, " in %s s (%s files/s, %s MB/s of inputs)", three_digits(s, text[0]),
                    three_digits((double)by[MARK_DONE] / s, text[1]),
                    three_digits(1e-6 * (double)c->bytes / s, text[2]));
        fprintf(stderr, "\n");
    }
    for (size_t k = 0; k < c->opens; k++)
        if (c->mark[k] == MARK_FAILED && named++ < NAMED)
            fprintf(stderr, "  failed: %s\n", e->items[c->open[k]].name);
    if (named > NAMED)
        fprintf(stderr, "  and %zu more\n", named - NAMED);
    return by[MARK_FAILED] + by[MARK_OPEN] || c->broken ? EXIT_FAILED : EXIT_OK;
}

static int run_items(each *e)
{
    size_t *open = allocate(e->count, sizeof *open), opens = 0;
    for (size_t n = 0; n < e->count; n++)
        if (wf_farm_state(e->farm, n) != WF_EACH_DONE)
            open[opens++] = n;
    crew *c = &e->crew;
    *c = (crew){ .items = e->items,
                 .open = open,
                 .opens = opens,
                 .jobs = choose_jobs(e, open, opens),
                 .quiet = e->quiet,
                 .strict = e->options.strict,
                 .work = work,
                 .user = e,
                 .mark = allocate(opens ? opens : 1, sizeof(mark)) };
    if (!e->arguments.threads && c->jobs)
        e->arguments.threads = e->cores / c->jobs > 1 ? e->cores / c->jobs : 1;
    int result = opens ? run_crew(c) : EXIT_OK;
    if (result == EXIT_OK)
        result = print_summary(e);
    int signal = c->signal;
    free(c->mark);
    free(open);
    if (signal) { /* ends as the signal would have ended it */
        fflush(NULL);
        sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
        raise(signal);
    }
    return result;
}

/* Opens the farm, and checks that the results to be made can be written. Returns an exit code. */
static int open_farm(each *e)
{
    calc *c = &e->calc;
    describe_settings(e);
    e->options.size = sizeof e->options;
    e->options.task = c->text;
    e->options.settings = e->settings;
    e->options.shared = e->shared;
    e->options.shared_count = e->shared_count;
    e->options.read_only = e->dry_run;
    e->options.next = crew_next;
    e->options.report = crew_report;
    e->options.stop = crew_stop;
    e->options.user = &e->crew;
    e->farm = wf_farm_open(c->ctx, e->items, e->count, &e->options);
    if (!e->farm) {
        bool disk = wf_last_status(c->ctx) == WF_ERR_IO && !e->options.journal;
        int result = disk ? check_output(&e->arguments, c->ctx, e->items[0].outputs[0], 0) : EXIT_OK;
        return result != EXIT_OK ? result : failed_in(c->ctx); /* the folder of the journal is that of the result */
    }
    for (size_t n = 0; n < e->count; n++)
        for (size_t k = 0; k < c->outs && wf_farm_state(e->farm, n) != WF_EACH_DONE; k++) {
            int result = check_output(&e->arguments, c->ctx, e->items[n].outputs[k], 0);
            if (result != EXIT_OK)
                return result;
        }
    return EXIT_OK;
}

/* Does what needs a context in this process. It is freed before the workers begin. Returns an exit code. */
static int prepare(each *e)
{
    calc *c = &e->calc;
    c->ctx = open_context(&e->arguments);
    if (!c->ctx)
        return EXIT_USAGE;
    int result = c->file ? read_text(c->file, &c->owned_text, &c->text) : EXIT_OK;
    if (result == EXIT_OK)
        result = calc_name_results(c);
    for (size_t k = 0; k < c->outs; k++)
        e->pattern[k] = c->out[k].path;
    if (result == EXIT_OK)
        result = read_lists(e);
    if (result == EXIT_OK)
        result = make_items(e);
    if (result == EXIT_OK)
        result = open_farm(e);
    wf_device_info machine = { .size = sizeof machine };
    if (result == EXIT_OK && wf_get_device_info(c->ctx, WF_CPU, &machine) != WF_OK)
        result = failed_in(c->ctx);
    e->memory = machine.memory_bytes;
    e->cores = wf_get_threads(c->ctx);
    wf_context_free(c->ctx);
    c->ctx = NULL;
    return result;
}

int run_each(const command *self, int argc, char **argv)
{
    each *e = allocate(1, sizeof *e);
    e->calc.self = self;
    e->calc.durable = true;
    e->arguments = (arguments){ .command = self, .options = options, .argc = argc, .argv = argv };
    int result = read_arguments(e);
    if (result < 0)
        result = prepare(e);
    if (result == EXIT_OK && e->dry_run)
        print_plan(e);
    else if (result == EXIT_OK && e->farm)
        result = run_items(e);
    wf_farm_free(e->farm);
    for (size_t i = 0; i < MAX_INPUTS; i++)
        free_paths(&e->list[i]);
    for (size_t i = 0; e->outputs && i < e->count * e->calc.outs; i++)
        free(e->outputs[i]);
    free(e->outputs);
    free(e->inputs);
    free(e->items);
    free(e->settings);
    free(e->calc.owned_text);
    free(e);
    return result;
}
