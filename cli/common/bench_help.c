/* bench_help.c - the help of weft bench, which the tool shows even where the program behind the command is missing. */
#include "common.h"

const char summary_bench[] = "how fast it runs here, beside plain C";

const char help_bench[] =
    "  weft bench\n"
    "  weft bench --quick\n"
    "  weft bench --json > here.json\n"
    "  weft bench scatter --count 10000000\n"
    "  weft bench packet\n\n"
    "Weft (a prepared kernel) computes each row with all threads and with one thread; a plain C loop computes the row on\n"
    "one thread, as the compiler of this build translates it. Times are medians; results are compared. The benchmarks\n"
    "are not installed: `make bench` in the source of Weft builds them.\n\n"
    "scatter: random numbers added to buffers of 1 to 10^7 elements at random places, in every mode of accumulation,\n"
    "beside private histograms in C; a table, scatter.svg and scatter.png.\n"
    "packet: records of 1 to 24 f32 read, written and accumulated at scrambled places, with and without WF_FLAG_PACKETS,\n"
    "beside C; a table, packet.svg and packet.png.\n\n"
    "  --quick                smaller arrays\n"
    "  --json                 the rows (not scatter, packet) as one JSON object per line\n"
    "  --threads N            threads of the first column (default: all cores)\n"
    "  --count N              scatter: additions (default: 100000000); packet: elements (default: 16777216)\n"
    "  --most N               scatter: elements of the largest buffer (default: 10000000)\n"
    "  --python FILE          scatter, packet: measures Dr.Jit, too, by this Python, which has the module\n";
