/* scratch_files.c - see scratch_files.h. Blocks are few and large, so a list is searched for them. */
#include "run/memory/scratch_files.h"
#include "base/os.h"
#include <errno.h>

typedef struct file_block {
    struct file_block *next;
    void *at;
    size_t bytes;
} file_block;

struct wf__scratch {
    wf__mutex lock;
    char *folder;
    file_block *blocks; /* under the lock, as what follows */
    int error;          /* errno of the latest allocation; 0 = success */
};

wf__scratch *wf__scratch_new(const char *folder)
{
    const char *chosen = folder ? folder : wf__getenv("TMPDIR");
    wf__scratch *s = wf__alloc0(sizeof *s);
    if (s && (s->folder = wf__strdup(chosen ? chosen : "/var/tmp")) && wf__mutex_init(&s->lock))
        return s;
    if (s)
        wf__free(s->folder);
    wf__free(s);
    return NULL;
}

void wf__scratch_free_all(wf__scratch *s)
{
    if (!s)
        return;
    WF__ASSERT(!s->blocks);
    wf__mutex_free(&s->lock);
    wf__free(s->folder);
    wf__free(s);
}

void *wf__scratch_alloc(wf__scratch *s, size_t bytes)
{
    file_block *b = wf__alloc0(sizeof *b);
    errno = ENOMEM;
    void *at = b ? wf__pages_in_file(s->folder, bytes) : NULL;
    const int error = errno;
    wf__mutex_lock(&s->lock);
    s->error = at ? 0 : error;
    if (at) {
        *b = (file_block){ s->blocks, at, bytes };
        s->blocks = b;
    }
    wf__mutex_unlock(&s->lock);
    if (!at)
        wf__free(b);
    return at;
}

bool wf__scratch_free(wf__scratch *s, void *p)
{
    wf__mutex_lock(&s->lock);
    file_block **at = &s->blocks;
    while (*at && (*at)->at != p)
        at = &(*at)->next;
    file_block *b = *at;
    if (b)
        *at = b->next;
    wf__mutex_unlock(&s->lock);
    if (b)
        wf__pages_free(p, b->bytes);
    wf__free(b);
    return b != NULL;
}

void wf__scratch_reason(wf__scratch *s, wf__str *out)
{
    char text[128];
    wf__mutex_lock(&s->lock);
    if (s->error)
        wf__str_addf(out, "; no file in %s: %s", s->folder, wf__errno_text(s->error, text, sizeof text));
    wf__mutex_unlock(&s->lock);
}
