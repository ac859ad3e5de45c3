/* error.h - status codes, and the last error of a thread.
 * Reference: docs/reference/error.md */
#ifndef WF_ERROR_H
#define WF_ERROR_H
#include "weft/types.h"
#ifdef __cplusplus
extern "C" {
#endif

/* X(name, code, text): the codes are stable. */
#define WF_STATUS_MAP(X)                           \
    X(ARG, 1, "invalid argument")                  \
    X(SHAPE, 2, "shapes do not fit")               \
    X(DTYPE, 3, "dtypes do not fit")               \
    X(DEVICE, 4, "wrong or no device")             \
    X(MEMORY, 5, "out of memory")                  \
    X(CONTRACT, 6, "operator breaks a contract")   \
    X(BOUNDS, 7, "index out of bounds")            \
    X(BACKEND, 8, "compiler or driver failed")     \
    X(IO, 9, "file error")                         \
    X(UNSUPPORTED, 10, "not supported")            \
    X(SYNTAX, 11, "syntax error in operator text") \
    X(CANCELLED, 12, "cancelled")
typedef enum wf_status {
    WF_OK = 0,
#define X(name, code, text) WF_ERR_##name = code,
    WF_STATUS_MAP(X)
#undef X
        WF_STATUS_INT32 = 0x7fffffff
} wf_status;

/* A name such as "WF_ERR_SHAPE"; "WF_ERR_UNKNOWN" for a number that is no status. Never NULL. */
WF_API const char *wf_status_name(wf_status status);
/* The calling thread's first error since its last wf_clear_error on this context; "" if none.
 * NULL (a context that could not be made): "out of memory".
 * Owns: borrowed until the thread's next wf_clear_error, or the end of the context. */
WF_API const char *wf_last_message(const wf_context *ctx);
/* The status that belongs to wf_last_message; WF_ERR_MEMORY for NULL. */
WF_API wf_status wf_last_status(const wf_context *ctx);
/* Forgets the calling thread's error; NULL is a no-op. */
WF_API void wf_clear_error(wf_context *ctx);
/* Sets the calling thread's error if it has none yet, and returns `status`; for libraries on top of Weft.
 * `text` is copied; NULL or "": the text of WF_STATUS_MAP. WF_OK and a NULL context set nothing. */
WF_API wf_status wf_error(wf_context *ctx, wf_status status, const char *text);

#ifdef __cplusplus
}
#endif
#endif
