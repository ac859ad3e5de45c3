/* bench.c - weft bench: runs the program of bench/cli, which a build has beside the tool and an installation lacks. */
#include "cli.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* The path of the tool up to its last '/'; false if the system does not tell. */
static bool find_folder(char folder[static PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[n > 0 ? n : 0] = 0;
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = 0;
    return slash != NULL;
}

int run_bench(const command *self, int argc, char **argv)
{
    char folder[PATH_MAX];
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(self);
            return EXIT_OK;
        }
    if (!find_folder(folder))
        return failed("bench: the folder of this tool is unknown: /proc/self/exe cannot be read");
    char *program = append(NULL, "%sbench/weft-bench-cli", folder);
    execv(program, argv);
    if (errno != ENOENT && errno != ENOTDIR)
        return failed("bench: %s: %s", program, strerror(errno));
    return failed("bench: there is no %s. The benchmarks are not installed: `make bench` in the source of Weft builds "
                  "them, then `build/weft bench` runs them",
                  program);
}
