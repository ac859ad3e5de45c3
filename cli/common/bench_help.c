/* bench_help.c - the help of weft bench, which the tool shows even where the program behind the command is missing. */
#include "common.h"

const char summary_bench[] = "how fast it runs here, beside plain C";

const char help_bench[] =
    "  weft bench\n"
    "  weft bench --quick\n"
    "  weft bench --json > here.json\n"
    "  weft bench scatter --count 10000000\n"
    "  weft bench packet\n\n"
    "Each row is a computation. A prepared kernel of Weft does it with all threads and with one thread, and a plain C loop,\n"
    "as the compiler of this build translates it, with one thread. Times are medians; results are compared. The\n"
    "benchmarks are not installed: `make bench` in the source of Weft builds them.\n\n"
    "scatter: adds random numbers to buffers of 1 to 10^7 elements at random places, in every mode of accumulation, beside\n"
    "private histograms in C. Makes a table, scatter.svg and scatter.png.\n"
    "packet: reads, writes and accumulates records of 1 to 24 f32 at random places, with and without WF_FLAG_PACKETS,\n"
    "beside C. Makes a table, packet.svg and packet.png.\n\n"
    "  --quick                smaller arrays\n"
    "  --json                 the rows as JSON, one object on a line (not scatter and packet)\n"
    "  --threads N            threads of the first column (default: all cores)\n"
    "  --count N              scatter: additions (default: 100000000); packet: elements (default: 16777216)\n"
    "  --most N               scatter: elements of the largest buffer (default: 10000000)\n"
    "  --python FILE          scatter, packet: measures Dr.Jit, too; FILE is a Python that has the module drjit\n";
