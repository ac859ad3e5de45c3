/* weft.h - the public C API of Weft (C++: weft.hpp): wf_context, wf_array, wf_graph (a recording), wf_kernel, wf_val, wf_var.
 * One pattern: g = wf_begin(ctx, ...); ...record...; status = wf_run(g);
 * Errors: the first mistake poisons the graph; wf_run reports it. NULL graphs and arrays poison.
 * Owns: new/free unique, retain/release shared, get borrowed; "consumes" ends ownership even on error.
 * Beside it (.h): functions, fft, project, io, star, optimize: arrays; traced, signal, xform, linalg: values; ranks, dist(ributed)
 * Reference: docs/reference/weft.md */
#ifndef WF_WEFT_H
#define WF_WEFT_H
#include "weft/types.h"      /* dtypes, devices, shapes, joins, handles and values */
#include "weft/error.h"      /* status codes, the last error */
#include "weft/context.h"    /* contexts, flags */
#include "weft/device.h"     /* devices by name, their properties */
#include "weft/array.h"      /* arrays: memory, views, copies, contents */
#include "weft/record.h"     /* recordings, elements, access by index */
#include "weft/value.h"      /* constants, parameters, elements of other values */
#include "weft/ops.h"        /* every operation; generated from the op table */
#include "weft/derivative.h" /* derivatives of values */
#include "weft/reduce.h"     /* reduced variables, sections, reductions, scans */
#include "weft/block.h"      /* blocks, their memory and threads */
#include "weft/control.h"    /* variables, local arrays, conditions, loops, calls */
#include "weft/kernel.h"     /* prepared kernels, frozen sequences */
#include "weft/stream.h"     /* queues of launches, events */
#include "weft/history.h"    /* kernels that ran */
#include "weft/text.h"       /* operators as text */
#include "weft/operator.h"   /* operators as hooks, and those that cannot be traced */
#endif
