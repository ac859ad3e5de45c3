/* code_log.c - see code_log.h. A line is one write, so that lines of several writers do not mix. */
#include "base/code_log.h"
#include "base/os.h"
#include <stdio.h>

#ifdef WEFT_DEBUG_CHECKS
void wf__log_code(const char *kind, const void *code, size_t bytes)
{
    const char *path = wf__getenv("WEFT_CODE_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    wf__hash128 hash = wf__hash_128(code, bytes);
    fprintf(file, "%s %016llx%016llx %zu\n", kind, (unsigned long long)hash.hi, (unsigned long long)hash.lo, bytes);
    fclose(file);
}
#endif
