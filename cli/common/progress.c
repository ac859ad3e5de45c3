/* progress.c - the clock, and a line on the terminal for work that takes longer than a second. */
#include "common.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The one progress line of the process. */
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running, stop;
    const char *what;
    double start;
    atomic_int permille; /* -1 = unknown */
} line = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

static void *show(void *unused)
{
    bool shown = false;
    (void)unused;
    pthread_mutex_lock(&line.lock);
    while (!line.stop) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&line.wake, &line.lock, &until);
        double elapsed = seconds() - line.start;
        int permille = atomic_load(&line.permille);
        if (line.stop || elapsed < 1)
            continue;
        if (permille >= 0)
            fprintf(stderr, "\r%s: %d %%, %.0f s ", line.what, permille / 10, elapsed);
        else
            fprintf(stderr, "\r%s: %.0f s ", line.what, elapsed);
        fflush(stderr);
        shown = true;
    }
    if (shown)
        fputs("\r\033[K", stderr);
    pthread_mutex_unlock(&line.lock);
    return NULL;
}

void progress_begin(const char *what)
{
    progress_end();
    if (!isatty(STDERR_FILENO))
        return;
    line.what = what;
    line.start = seconds();
    line.stop = false;
    atomic_store(&line.permille, -1);
    line.running = pthread_create(&line.thread, NULL, show, NULL) == 0;
}

void progress_part(double fraction) { atomic_store(&line.permille, (int)(fraction * 1000)); }

void progress_end(void)
{
    if (!line.running)
        return;
    pthread_mutex_lock(&line.lock);
    line.stop = true;
    pthread_cond_signal(&line.wake);
    pthread_mutex_unlock(&line.lock);
    pthread_join(line.thread, NULL);
    line.running = false;
}
