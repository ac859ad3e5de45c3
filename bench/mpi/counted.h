/* counted.h - a group of ranks that counts the messages and bytes of each rank. It is a transport of its own, which gives
 * all messages to another group. */
#ifndef WEFT_BENCH_MPI_COUNTED_H
#define WEFT_BENCH_MPI_COUNTED_H
#include <stdbool.h>
#include <weft/ranks.h>

/* What a rank sends and receives. A message without bytes counts, too. */
typedef struct traffic {
    int64_t messages_out, bytes_out, messages_in, bytes_in;
} traffic;

static inline traffic traffic_less(const traffic *a, const traffic *b)
{
    return (traffic){ a->messages_out - b->messages_out, a->bytes_out - b->bytes_out, a->messages_in - b->messages_in,
                      a->bytes_in - b->bytes_in };
}
/* True if a rank has sent and received what is expected; else prints both numbers. */
bool traffic_same(const char *what, int rank, const traffic *got, const traffic *want);

/* Collective: makes a group of the same ranks, whose messages are added to *count. Collective functions of this group consist
 * of messages.
 * Owns: the caller frees the group, before the other one; *count must stay as long. */
wf_status counted_new(wf_ranks *ranks, traffic *count, wf_ranks **out, wf_ranks_error *error);
#endif
