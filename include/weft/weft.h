/* weft.h - the public C API of Weft.
 *
 * Four nouns:  wf_context  everything hangs from it
 *              wf_array    n-d data: dtype, shape, strides over reference-counted memory
 *              wf_graph    a recording in progress; owns every temporary; used by one thread
 *              wf_kernel   a finished recording; immutable; launched any number of times from any thread
 * Two values:  wf_val      a number, or a node of a graph (immutable)
 *              wf_var      a mutable variable of a graph; usable wherever a wf_val or a C number is
 *
 * One pattern: g = wf_begin(ctx, ...); ...record...; status = wf_run(g);
 *   Recording never fails visibly: the first mistake poisons the graph (its message names the operation, shapes
 *   and dtypes), the rest is ignored, and wf_run reports it. Nothing runs from a poisoned, dropped or forgotten
 *   graph. NULL graphs and arrays are accepted everywhere and poison, so one check, at wf_run, is enough.
 *
 * Verbs: new/free unique, retain/release shared, get borrowed; "consumes" ends the caller's ownership even on error.
 * C macros named like functions only convert operands, count arguments or fill options; the symbols are real
 * functions for other languages. C++17: include weft.hpp for operators.
 * Each part can be included alone; ready-made functions of arrays (functions.h), files (io.h) and functions of values
 * (traced.h) are included beside this header.
 */
#ifndef WF_WEFT_H
#define WF_WEFT_H
#include "weft/types.h"    /* dtypes, devices, shapes, joins, handles and values */
#include "weft/error.h"    /* status codes, the last error */
#include "weft/context.h"  /* contexts, flags */
#include "weft/device.h"   /* devices by name, what they offer */
#include "weft/array.h"    /* arrays: memory, views, copies, contents */
#include "weft/record.h"   /* recordings, elements, access by index */
#include "weft/value.h"    /* constants, parameters, elements of other values */
#include "weft/ops.h"      /* every operation; generated from the op table */
#include "weft/reduce.h"   /* reduced variables, sections, reductions, scans */
#include "weft/block.h"    /* blocks, their memory and threads */
#include "weft/control.h"  /* variables, local arrays, conditions, loops, calls */
#include "weft/kernel.h"   /* prepared kernels, frozen sequences */
#include "weft/stream.h"   /* queues of launches, events */
#include "weft/history.h"  /* what ran */
#include "weft/text.h"     /* operators as text */
#include "weft/operator.h" /* operators as hooks, and those that cannot be traced */
#endif
