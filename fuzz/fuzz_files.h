/* fuzz_files.h - what the fuzz targets of files share: a context on the interpreter, a folder that is in memory if the
 * system has one there, and checks that print the context's message. */
#ifndef WEFT_FUZZ_FILES_H
#define WEFT_FUZZ_FILES_H
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "weft/weft.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 65536 }; /* bytes of an input */
static wf_context *ctx;
static char folder[64];

/* Makes the context and the folder. `leave` is called at the end: it removes what is in the folder, and then calls
 * leave_folder. */
static inline void enter_folder(const char *target, void (*leave)(void))
{
    snprintf(folder, sizeof folder, "%s/weft-fuzz-%s-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             target);
    ctx = wf_context_new(&(wf_config){
        .size = sizeof(wf_config), .device = WF_INTERP, .threads = 1, .flags_on = WF_FLAG_NO_DISK_CACHE });
    if (!ctx || !mkdtemp(folder))
        abort();
    atexit(leave);
}

static inline void leave_folder(void)
{
    rmdir(folder);
    wf_context_free(ctx);
}

static inline void write_bytes(const char *path, const uint8_t *data, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, data, size) != (ssize_t)size || close(file) != 0)
        abort();
}

static inline void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s; message: %s\n", what, wf_last_message(ctx));
    abort();
}
#endif
