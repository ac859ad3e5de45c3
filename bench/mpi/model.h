/* model.h - how many messages and bytes launches with distributed arrays send: by a model that knows shapes, grids and widths
 * of halos alone, and counted in launches of ranks that are threads. The time of a launch follows from the model. */
#ifndef WEFT_BENCH_MPI_MODEL_H
#define WEFT_BENCH_MPI_MODEL_H
#include "counted.h"
#include <weft/dist.h>

typedef enum model_kind {
    MODEL_STEP_7,       /* the mean of an element and its 6 neighbours in a volume of f32, clamped at borders */
    MODEL_STEP_27,      /* the mean of the cube of 27 elements around each one */
    MODEL_SUM,          /* the sum of a volume of f32 */
    MODEL_HISTOGRAM,    /* of a volume of f32, 256 bins of i64, on each rank */
    MODEL_REDISTRIBUTE, /* wf_array_redistribute of a volume of f32, to model_target */
    MODEL_FFT           /* wf_fft_into of a volume of c64 along all axes; both arrays in slabs */
} model_kind;

typedef enum model_cut {
    MODEL_BLOCKS, /* the grid that wf_dist_make chooses */
    MODEL_ROWS,   /* likewise, but the last axis is not cut */
    MODEL_SLABS   /* the first axis is cut */
} model_cut;

typedef struct model_case {
    const char *name;
    model_kind kind;
    model_cut cut;
} model_case;

/* What is counted. */
extern const model_case model_cases[];
extern const int model_case_count;

/* Sets how the volume is cut for a number of ranks. WF_ERR_ARG: it cannot be. */
wf_status model_dist(const model_case *c, wf_shape shape, int ranks, wf_dist *out);
/* Sets how a volume is cut after MODEL_REDISTRIBUTE: slabs become pencils along the first axis, pencils along the last axis
 * those along the second one. */
wf_status model_target(const wf_dist *from, wf_dist *to);
/* Adds what each rank sends and receives in a launch to of_rank[dist->ranks]. *work: the bytes of memory that the rank with
 * most work reads and writes, messages aside. The shape has 3 axes, without a zero extent. WF_ERR_MEMORY: no memory. */
wf_status model_predict(const model_case *c, const wf_dist *dist, traffic *of_rank, double *work);
/* Sets of_rank[dist->ranks] to what is counted in a launch that repeats earlier ones, after its input has been written. Ranks are
 * threads, whose kernels run on `device`.
 * WF_ERR_CONTRACT: the second and the third launch send different numbers. */
wf_status model_count(const model_case *c, const wf_dist *dist, wf_device device, traffic *of_rank,
                      wf_ranks_error *error);

typedef struct model_machine {
    double alpha;   /* seconds of a message */
    double network; /* bytes in a second, each way, of a rank */
    double memory;  /* bytes in a second of a rank */
} model_machine;
/* The seconds of a launch: the work of the rank that has most, and the messages of the rank that needs longest for them. Packing
 * and unpacking reads and writes each byte once. Nothing overlaps, although a launch may run points while messages are on their
 * way. A negative number: no memory. */
double model_time(const model_case *c, const wf_dist *dist, const model_machine *m);

/* ---- plots: efficiency over the number of ranks ---- */
typedef struct plot_line {
    const char *name;
    const double *value; /* [points] of 1, 2, 4, ... ranks, from 0 to 1; more is drawn as 1 */
} plot_line;
/* Writes a plot as a file of SVG. False: it cannot be written. */
bool plot_write(const char *path, const char *title, const plot_line *lines, int n, int points);
#endif
