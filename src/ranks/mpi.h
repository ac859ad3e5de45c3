/* mpi.h - between libweft, which links no MPI, and the libraries libweft_mpi-*, which do (mpi/weft_mpi.c). Each of these
 * is built with the mpicc of one MPI and exports one function.
 */
#ifndef WEFT_RANKS_MPI_H
#define WEFT_RANKS_MPI_H
#include "weft/ranks.h"

typedef struct wf__mpi_opened {
    size_t size; /* sizeof(wf__mpi_opened), set by the caller */
    const wf_ranks_ops *ops;
    wf_ranks_group group;
    char threads[32]; /* the thread level of MPI that was granted */
} wf__mpi_opened;

/* Starts MPI unless the program has, and makes a group of the ranks of a communicator, which is duplicated. Collective.
 * communicator: the address of an MPI_Comm; NULL = MPI_COMM_WORLD. */
typedef wf_status wf__mpi_open_function(const void *communicator, wf__mpi_opened *out, wf_ranks_error *error);
#define WF__MPI_OPEN "weft_mpi_open"
#endif
