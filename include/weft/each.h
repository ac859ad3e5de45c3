/* each.h - one function over many files: a farm of work with restart, shared by processes and machines.
 * A journal beside the results says what is up to date and skipped. Lock files give each item to one process.
 * Threads: a wf_farm is used by one thread at a time. Waits: synchronous. The library handles no signals.
 * Reference: docs/reference/each.md */
#ifndef WF_EACH_H
#define WF_EACH_H
#include "weft/weft.h"
#ifdef __cplusplus
extern "C" {
#endif

/* What one call of the function does. Owns: all of it is borrowed until the farm is freed. */
typedef struct wf_each_item {
    const char *name;           /* for messages; NULL: the first input, else the first output */
    const char *const *inputs;  /* files; another size or time of one makes the results stale */
    const char *const *outputs; /* files that the function makes, at least one */
    size_t input_count, output_count;
} wf_each_item;

/* Why an item is to be done, or not. */
typedef enum wf_each_state {
    WF_EACH_DONE,     /* the outputs are up to date */
    WF_EACH_NEW,      /* the journal has no line for the outputs */
    WF_EACH_MISSING,  /* an output is missing */
    WF_EACH_OUTPUT,   /* an output was changed since */
    WF_EACH_TASK,     /* another task made the outputs */
    WF_EACH_SETTINGS, /* other settings made them */
    WF_EACH_INPUT,    /* they were made of other inputs */
    WF_EACH_VERSION,  /* another version of Weft made them */
    WF_EACH_AGAIN     /* options.again */
} wf_each_state;

typedef enum wf_each_event {
    WF_EACH_STARTED,  /* this process does the item now */
    WF_EACH_FINISHED, /* its outputs are there and noted in the journal */
    WF_EACH_SKIPPED,  /* its outputs are up to date; perhaps another process made them meanwhile */
    WF_EACH_FAILED,   /* status and message say why */
    WF_EACH_BUSY      /* another process does it, and options.no_wait is set */
} wf_each_event;

typedef struct wf_each_report {
    size_t item;
    wf_each_event event;
    wf_status status;    /* WF_EACH_FAILED */
    const char *message; /* WF_EACH_FAILED; valid during the call. Else "" */
    uint64_t bytes;      /* of the item's inputs */
    double seconds;      /* WF_EACH_FINISHED, WF_EACH_FAILED: that the function took */
} wf_each_report;

/* A zeroed struct with `size` set is right. Owns: borrowed until the farm is freed. */
typedef struct wf_each_options {
    size_t size;               /* sizeof(wf_each_options), set by the caller */
    const char *journal;       /* folder of journal and locks; NULL: ".weft-each" beside the first output */
    const char *task;          /* what the function does, such as its text: another one makes results stale */
    const char *settings;      /* its settings, likewise */
    const char *const *shared; /* input files of all items */
    size_t shared_count;
    bool again;      /* nothing is up to date */
    bool strict;     /* the first item that fails ends the run */
    bool no_wait;    /* items that other processes do are left to them */
    bool read_only;  /* for wf_farm_state alone: writes nothing; the farm cannot run */
    double patience; /* seconds after which the lock of a silent process of another machine is void; 0: 300 */
    /* Gives the run its items: sets *item to one that no other run of this farm gets; false: none is left. NULL: all
     * items in order. Processes that share a counter share the work without meeting at locks. */
    bool (*next)(void *user, size_t *item);
    void (*report)(void *user, const wf_each_report *report); /* NULL: no calls */
    bool (*stop)(void *user); /* called between items and in waits; true ends the run: WF_ERR_CANCELLED */
    void *user;               /* of these three */
} wf_each_options;

typedef struct wf_each_summary {
    size_t done, skipped, failed, busy; /* items, by their last event; busy: left to other processes */
    uint64_t bytes;                     /* inputs of the items done */
    double seconds;                     /* that the run took */
} wf_each_summary;

/* Makes the outputs of one item from its inputs. Errors: the item fails, with the status and the context's message;
 * WF_ERR_SYNTAX and WF_ERR_CANCELLED end the run. Files should appear whole and durable (wf_meta). */
typedef wf_status (*wf_each_function)(wf_context *ctx, const wf_each_item *item, size_t number, void *user);

typedef struct wf_farm wf_farm;
/* Compares items with the journal, whose folder it creates. `options` may be NULL.
 * Errors: NULL: WF_ERR_ARG: an output is that of two items, or an input; WF_ERR_IO: the journal.
 * Owns: the caller frees it; the context may be freed before.
 * Example: wf_farm *farm = wf_farm_open(ctx, items, count, &options); */
WF_API wf_farm *wf_farm_open(wf_context *ctx, const wf_each_item *items, size_t count, const wf_each_options *options);
/* Why an item is to be done, by the farm's last look at its files; WF_EACH_DONE past the last item. */
WF_API wf_each_state wf_farm_state(const wf_farm *farm, size_t item);
/* Calls the function for the items that are not done and that no other process does. `summary` may be NULL.
 * Errors: that of the first item that failed, after all others were done; WF_ERR_CANCELLED, WF_ERR_IO: the journal.
 * Processes: children of fork may run the farm of their parent, each in a context of its own. */
WF_API wf_status wf_farm_run(wf_farm *farm, wf_context *ctx, wf_each_function function, void *user,
                             wf_each_summary *summary);
/* Frees a farm; NULL is a no-op. */
WF_API void wf_farm_free(wf_farm *farm);

/* Opens a farm, runs and frees it.
 * Example: wf_status status = wf_each(ctx, items, count, clean, &gain, NULL, NULL); */
WF_API wf_status wf_each(wf_context *ctx, const wf_each_item *items, size_t count, wf_each_function function,
                         void *user, const wf_each_options *options, wf_each_summary *summary);
/* A name such as "missing"; NULL past the last state. Threads: from any thread. */
WF_API const char *wf_each_state_name(wf_each_state state);

#ifdef __cplusplus
}
#endif
#endif
