/* fuzz_cache.c - takes any bytes as a file of the object cache. A load must return the object that the checksum
 * confirms, or nothing.
 *
 * The first byte chooses whether the checksum is corrected first, so that the code after this check is reached.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/os.h"
#include "run/cache/disk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char key[] = "key";
static wf__disk *disk;
static int dir;
static char name[64], folder[] = "/tmp/weft-fuzz-cache-XXXXXX";

static void leave(void)
{
    wf__disk_clear(disk);
    wf__disk_close(disk);
    wf__fd_close(dir);
    rmdir(folder);
}

static void enter(void)
{
    if (!mkdtemp(folder) || !(disk = wf__disk_open(folder, 0)) || (dir = wf__dir_open(folder)) < 0)
        abort();
    wf__hash128 h = wf__hash_128(key, sizeof key);
    snprintf(name, sizeof name, "%016llx%016llx.weft", (unsigned long long)h.hi, (unsigned long long)h.lo);
    atexit(leave);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!disk)
        enter();
    if (size < 1 || size > 100000)
        return 0;
    bool right = *data++ & 1;
    wf__hash128 sum = wf__hash_128(data, --size);
    wf__piece pieces[] = { { data, size }, { &sum, right ? sizeof sum : 0 } };
    if (!wf__publish(dir, name, pieces, 2, 0600, false))
        abort();
    wf__bytes object;
    if (wf__disk_load(disk, key, sizeof key, &object)) {
        if (object.n == 0 || object.n > size)
            abort();
        volatile unsigned char last = object.at[object.n - 1];
        (void)last;
        wf__free(object.at);
    }
    return 0;
}
