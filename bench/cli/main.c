/* main.c - weft-bench-cli, the program behind `weft bench`: its command line. The larger comparison, with the best
 * hand-written code and other systems, is weft-bench.
 */
#include "bench_cli.h"
#include <string.h>

enum { MOST_ELEMENTS = 10000000 }; /* of a buffer of scatter */
enum { QUICK, JSON, COUNT, MOST, PYTHON };
static const option options[] = { { "quick", 0, false }, { "json", 0, false },  { "count", 0, true },
                                  { "most", 0, true },   { "python", 0, true }, { NULL, 0, false } };

typedef struct request {
    bool quick, json;
    int kind;         /* ROWS, SCATTER, PACKET */
    long count, most; /* 0 = not given */
    const char *python;
} request;
enum { ROWS, SCATTER, PACKET };

/* Returns an exit code, or -1 = go on. */
static int read_arguments(const command *self, arguments *a, request *r)
{
    for (int o = next_argument(a); o != ARG_END; o = next_argument(a)) {
        if (o == QUICK)
            r->quick = true;
        else if (o == JSON)
            r->json = true;
        else if (o == COUNT && !parse_int(a->value, 1, 2000000000, &r->count))
            return misused(self, "--count %s: not a number of additions", a->value);
        else if (o == MOST && !parse_int(a->value, 1, MOST_ELEMENTS, &r->most))
            return misused(self, "--most %s: 1 to %d elements", a->value, MOST_ELEMENTS);
        else if (o == PYTHON)
            r->python = a->value;
        else if (o == ARG_OPERAND && r->kind == ROWS && strcmp(a->value, "packet") == 0)
            r->kind = PACKET;
        else if (o == ARG_OPERAND && r->kind == ROWS && strcmp(a->value, "scatter") == 0)
            r->kind = SCATTER;
        else if (o == ARG_OPERAND)
            return misused(self, "'%s': no files are needed", a->value);
        else if (o < 0)
            return ended(o);
    }
    if (r->json && r->kind != ROWS)
        return misused(self, "--json: scatter and packet print tables only");
    if (r->most && r->kind != SCATTER)
        return misused(self, "--most is an option of scatter");
    if ((r->count || r->python) && r->kind == ROWS)
        return misused(self, "--%s is an option of scatter and packet", r->count ? "count" : "python");
    return -1;
}

int main(int argc, char **argv)
{
    static const command self = { "bench", summary_bench, help_bench, NULL };
    arguments a = { .command = &self, .options = options, .argc = argc, .argv = argv };
    request r = { .kind = ROWS };
    int result = read_arguments(&self, &a, &r);
    if (result >= 0)
        return result;
    wf_context *all = open_context(&a), *one = NULL;
    if (!all)
        return EXIT_USAGE;
    long usual = r.kind == SCATTER ? 100000000 : 1 << 24, n = r.count ? r.count : r.quick ? 1000000 : usual;
    if (r.kind == SCATTER) {
        result = bench_scatter(all, n, r.most ? r.most : MOST_ELEMENTS, r.python);
    } else if (r.kind == PACKET) {
        result = bench_packet(all, n, r.python);
    } else {
        a.threads = 1;
        one = open_context(&a);
        result = one ? bench_rows(all, one, r.quick, r.json) : EXIT_FAILED;
    }
    wf_context_free(all);
    if (one)
        wf_context_free(one);
    return result;
}
