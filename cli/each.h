/* each.h - weft each: lists of files and names of results (each_items.c), worker processes (each_workers.c), and the
 * command itself (each.c). */
#ifndef WEFT_CLI_EACH_H
#define WEFT_CLI_EACH_H
#include "calc.h"
#include "weft/each.h"

/* ---- each_items.c ---- */
typedef struct list {
    char **path;
    size_t count;
    char *text; /* memory of all paths; NULL: each path has its own */
} list;
/* True if the value of an argument is a list: "@FILE", or a pattern of file names. */
bool names_paths(const char *value);
/* Reads the lines of a file, or expands a pattern. `text` is the argument. Returns an exit code. */
int read_paths(const command *self, const char *text, const char *value, list *out);
void free_paths(list *l);
/* Fills in {name}, {ext}, {dir} and {number} of a pattern for a file, which is the `number`th, from 1. The caller frees
 * the path. NULL after a message. */
char *fill_pattern(const command *self, const char *pattern, const char *path, size_t number);

/* ---- each_workers.c ---- */
typedef enum mark { MARK_OPEN, MARK_DONE, MARK_SKIPPED, MARK_FAILED, MARK_BUSY } mark;

/* What the processes of the command do together. */
typedef struct crew {
    const wf_each_item *items;
    const size_t *open; /* the items to be done, in their order */
    size_t opens;       /* at least 1 */
    int jobs;
    bool quiet, strict;
    /* The work of one process: opens a context and runs the farm. Returns an exit code. */
    int (*work)(void *user);
    void *user;
    /* results */
    mark *mark; /* of each item in `open` */
    uint64_t bytes;
    double seconds;
    bool broken;     /* a process could not work at all; there was a message */
    int signal;      /* that ended the run; 0 = none */
    int idle_deaths; /* workers that died without an item */
} crew;
int run_crew(crew *c); /* returns an exit code */
/* A number above 0 with three digits at least, without an exponent. */
const char *three_digits(double v, char buf[static NUMBER_CAP]);

/* For the processes: functions of wf_each_options, whose user is the crew. */
bool crew_next(void *user, size_t *item);
void crew_report(void *user, const wf_each_report *report);
bool crew_stop(void *user);
bool crew_poll(void *user); /* for arguments.poll */
int crew_number(void);      /* of this process, from 0 */
#endif
