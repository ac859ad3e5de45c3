/* replay_main.c - runs a fuzz target without libFuzzer. Each file named on the command line, and each file of a folder
 * named there, goes through LLVMFuzzerTestOneInput once. So the corpora are ordinary tests with any compiler.
 *
 *   fuzz_<x> file-or-folder ...
 *   fuzz_<x> --random count [first seed]     inputs made from seeds instead; no libFuzzer needed
 */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char current[4200]; /* the input that is running */

static void name_input(int sig)
{
    static const char before[] = "input: ";
    if (write(2, before, sizeof before - 1) < 0 || write(2, current, strlen(current)) < 0 || write(2, "\n", 1) < 0)
        _exit(2);
    signal(sig, SIG_DFL);
    raise(sig);
}

static int replay_file(const char *path)
{
    snprintf(current, sizeof current, "%s", path);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    uint8_t *data = NULL;
    size_t size = 0, got = 1;
    while (got > 0) {
        uint8_t *more = realloc(data, size + 65536);
        if (!more)
            break;
        data = more;
        got = fread(data + size, 1, 65536, file);
        size += got;
    }
    int failed = got > 0 || ferror(file);
    fclose(file);
    if (failed) {
        fprintf(stderr, "%s: cannot be read\n", path);
    } else {
        uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees reads beyond the end */
        if (exact) {
            memcpy(exact, data, size);
            LLVMFuzzerTestOneInput(exact, size);
        }
        failed = !exact;
        free(exact);
    }
    free(data);
    return failed ? -1 : 1;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Runs a file, or all files of a folder. Returns their number, or -1. */
static int replay(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(info.st_mode))
        return replay_file(path);
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, by_name), total = 0;
    for (int i = 0; i < n; i++) {
        char name[4096];
        int length = snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && total >= 0) {
            int ran = length > 0 && (size_t)length < sizeof name ? replay(name) : -1;
            total = ran < 0 ? -1 : total + ran;
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return n < 0 ? -1 : total;
}

static uint64_t next(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static int run_seeds(uint64_t count, uint64_t first)
{
    uint8_t data[512];
    for (uint64_t seed = first; seed < first + count; ++seed) {
        uint64_t state = seed;
        size_t size = 8 + next(&state) % (sizeof data - 8);
        for (size_t i = 0; i < size; ++i)
            data[i] = (uint8_t)(next(&state) >> 24);
        snprintf(current, sizeof current, "--random 1 %llu", (unsigned long long)seed);
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("%llu inputs\n", (unsigned long long)count);
    return 0;
}

int main(int argc, char **argv)
{
    int total = 0;
    signal(SIGABRT, name_input);
    signal(SIGSEGV, name_input);
    if (argc > 2 && !strcmp(argv[1], "--random"))
        return run_seeds(strtoull(argv[2], NULL, 0), argc > 3 ? strtoull(argv[3], NULL, 0) : 1);
    for (int i = 1; i < argc && total >= 0; i++) {
        int ran = replay(argv[i]);
        total = ran < 0 ? -1 : total + ran;
    }
    if (total > 0)
        printf("%d inputs\n", total);
    else
        fprintf(stderr, "replay: %s\n", total < 0 ? "failed" : "no inputs");
    return total > 0 ? 0 : 1;
}
