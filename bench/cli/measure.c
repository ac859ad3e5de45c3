/* measure.c - memory, times, threads and Python, for scatter.c and packet.c. */
#include "measure.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void *block_of(blocks *b, size_t n, size_t size)
{
    wf_array *a = wf_full(b->ctx, WF_U8, WF_SHAPE((int64_t)((n ? n : 1) * size)), 0);
    void *at;
    if (!a || wf_map(a, &at, NULL) != WF_OK)
        exit(failed_in(b->ctx));
    b->array = realloc(b->array, (size_t)(b->n + 1) * sizeof(wf_array *));
    if (!b->array)
        exit(failed("out of memory"));
    b->array[b->n++] = a;
    return at;
}

void free_blocks(blocks *b)
{
    while (b->n > 0)
        wf_release(b->array[--b->n]);
    free(b->array);
    b->array = NULL;
}

double least_time(bool (*work)(void *), void *data)
{
    enum { RUNS = 5 };
    double best = 0, spent = 0;
    if (!work(data))
        return -1;
    for (int i = 0; i < RUNS && (i < 2 || spent < 2); i++) {
        double start = seconds();
        if (!work(data))
            return -1;
        double t = seconds() - start;
        spent += t;
        best = i == 0 || t < best ? t : best;
    }
    return best > 0 ? best : 1e-9;
}

void run_parts(void *(*work)(void *), void *parts, size_t size, int n)
{
    pthread_t thread[MOST_THREADS];
    bool started[MOST_THREADS] = { false };
    for (int t = 1; t < n; t++)
        started[t] = pthread_create(&thread[t], NULL, work, (char *)parts + (size_t)t * size) == 0;
    for (int t = 0; t < n; t++)
        if (!started[t])
            work((char *)parts + (size_t)t * size);
    for (int t = 1; t < n; t++)
        if (started[t])
            pthread_join(thread[t], NULL);
}

FILE *run_python(const char *python, const char *operands)
{
    char *line = append(NULL, "'%s' '%s/sweeps.py' %s 2>/dev/null", python, WEFT_BENCH_PEERS, operands);
    FILE *from = strchr(python, '\'') ? NULL : popen(line, "r"); /* the shell would end the path there */
    free(line);
    return from;
}
