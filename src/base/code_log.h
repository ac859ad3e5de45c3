/* code_log.h - hashes of all code that a program generates, for tools/code_hashes: a change that should only move or
 * rename things leaves them as they are.
 */
#ifndef WEFT_BASE_CODE_LOG_H
#define WEFT_BASE_CODE_LOG_H
#include "base/base.h"

/* Appends the line "kind hash size" to the file that the environment variable WEFT_CODE_LOG names. In builds without
 * WEFT_DEBUG_CHECKS, or without the variable, does nothing. From any thread and process at once. */
#ifdef WEFT_DEBUG_CHECKS
void wf__log_code(const char *kind, const void *code, size_t bytes);
#else
static inline void wf__log_code(const char *kind, const void *code, size_t bytes)
{
    WF__UNUSED(kind);
    WF__UNUSED(code);
    WF__UNUSED(bytes);
}
#endif
#endif
