/* kernel.c - prepared kernels: binding by name, launching, dumps. */
#include "launch/launch.h"
#include "base/floats.h"
#include "ptx/ptx.h"
#include <stdio.h>

static inline bool same_name(const char *a, const char *b)
{
    while (*a && *a == *b)
        ++a, ++b;
    return *a == *b;
}

static const char *name_of(const wf__program *p, uint32_t i)
{
    return i < p->object_n ? p->object[i].array->name : p->param[i - p->object_n].name;
}

bool wf__kernel_sockets(wf_kernel *k)
{
    const wf__program *p = &k->program;
    k->socket = wf__alloc0((p->object_n + p->param_n + 1) * sizeof *k->socket);
    for (uint32_t i = 0; k->socket && i < p->object_n + p->param_n; ++i) {
        wf__socket *s = &k->socket[i];
        const wf_array *a = i < p->object_n ? p->object[i].array : NULL;
        const char *name = name_of(p, i);
        if (name && strlen(name) < sizeof s->name)
            strcpy(s->name, name);
        s->array = name ? NULL : (wf_array *)a;
        s->dtype = (uint8_t)(a ? a->dtype : p->rec.ir.param[i - p->object_n]);
        s->rank = a ? (uint8_t)a->shape.rank : 0;
    }
    return k->socket;
}

/* True if object i, or parameter i - objects, has that name. */
static inline bool is_named(const wf_kernel *k, uint32_t i, const char *name)
{
    const char *own = k->socket[i].name[0] ? k->socket[i].name : name_of(&k->program, i);
    return own && same_name(own, name);
}

/* Returns the object or parameter of that name; the number of all = none. */
static uint32_t find_name(const wf_kernel *k, const char *name)
{
    uint32_t n = k->program.object_n + k->program.param_n, i = 0;
    while (i < n && !is_named(k, i, name))
        ++i;
    return i;
}

/* True if the array fits the object for certain. If not, bind_odd_array decides, and names the reason of a misfit. */
static inline bool fits(const wf_kernel *k, uint32_t object, const wf_array *a)
{
    return a->ctx == k->ctx && a->device == wf__memory_of(k->program.device) && a->dtype == k->socket[object].dtype &&
           a->shape.rank == k->socket[object].rank && !a->read_only &&
           atomic_load_explicit(&((wf_array *)a)->state, memory_order_acquire) == WF_STATE_READY;
}

/* True for a number of wf_arg_kind. */
static bool is_kind(int32_t kind) { return kind >= WF_ARG_ARRAY && kind <= WF_ARG_U64; }

static wf_status bind_odd_array(const wf_kernel *k, uint32_t object, int32_t kind, const wf_array *a,
                                const char *function)
{
    const wf_array *formal = k->program.object[object].array;
    if (!a)
        return wf__error(k->ctx, WF_ERR_ARG,
                         is_kind(kind) ? "%s: '%s' needs an array"
                                       : "%s: the argument '%s' has the kind %d, which no wf_arg_kind is",
                         function, formal->name, (int)kind);
    if (a->ctx != k->ctx)
        return wf__error(k->ctx, WF_ERR_ARG, "%s: '%s' belongs to another context", function, formal->name);
    if (a->distributed ? !wf__array_computed(a, function) : !wf__array_usable(a, function))
        return wf_last_status(k->ctx);
    char here[32], there[32];
    if (a->device != wf__memory_of(k->program.device))
        return wf__error(k->ctx, WF_ERR_DEVICE, "%s: '%s' is in the memory of %s; the kernel runs on %s", function,
                         formal->name, wf__device_name(a->device, there), wf__device_name(k->program.device, here));
    if (a->dtype != formal->dtype || a->shape.rank != formal->shape.rank)
        return wf__error(k->ctx, a->dtype != formal->dtype ? WF_ERR_DTYPE : WF_ERR_SHAPE,
                         "%s: '%s' is %s of rank %d; the kernel wants %s of rank %d", function, formal->name,
                         wf_dtype_name(a->dtype), (int)a->shape.rank, wf_dtype_name(formal->dtype),
                         (int)formal->shape.rank);
    if (a->read_only && wf__program_writes(&k->program, object))
        return wf__error(k->ctx, WF_ERR_ARG, "%s: '%s' is written, but is " WF__READ_ONLY, function, formal->name);
    return WF_OK;
}

static inline wf_status bind_array(const wf_kernel *k, uint32_t object, const wf_arg *arg, wf_array **out,
                                   const char *function)
{
    wf_array *a = arg->kind == WF_ARG_ARRAY ? arg->as.array : NULL;
    *out = a;
    return a && fits(k, object, a) ? WF_OK : bind_odd_array(k, object, arg->kind, a, function);
}

/* Binds an integer that a double would round. Only a parameter of 64 bits holds it. */
static wf_status bind_integer(const wf_kernel *k, uint32_t number, wf_dtype dtype, const wf_arg *arg, uint64_t *out,
                              const char *function)
{
    bool negative = arg->kind == WF_ARG_I64 && arg->as.i64 < 0,
         large = arg->kind == WF_ARG_U64 && arg->as.u64 > INT64_MAX;
    if ((dtype != WF_I64 || large) && (dtype != WF_U64 || negative))
        return wf__error(k->ctx, WF_ERR_DTYPE, "%s: %s%llu does not fit parameter '%s' of dtype %s", function,
                         negative ? "-" : "", (unsigned long long)(negative ? 0 - (uint64_t)arg->as.i64 : arg->as.u64),
                         k->program.param[number].name, wf_dtype_name(dtype));
    *out = arg->as.u64;
    return WF_OK;
}

static wf_status bind_param(const wf_kernel *k, uint32_t number, const wf_arg *arg, uint64_t *out, const char *function)
{
    wf_dtype dtype = (wf_dtype)k->socket[k->program.object_n + number].dtype;
    if (!is_kind(arg->kind))
        return wf__error(k->ctx, WF_ERR_ARG, "%s: the argument '%s' has the kind %d, which no wf_arg_kind is", function,
                         arg->name, (int)arg->kind);
    if (arg->kind > WF_ARG_NUMBER && wf_dtype_kind(dtype) != WF_KIND_FLOAT)
        return bind_integer(k, number, dtype, arg, out, function);
    double value = arg->kind == WF_ARG_I64     ? (double)arg->as.i64
                   : arg->kind == WF_ARG_U64   ? (double)arg->as.u64
                   : arg->kind == WF_ARG_VALUE ? arg->as.val.h.num
                                               : arg->as.num;
    if (arg->kind == WF_ARG_ARRAY || (arg->kind == WF_ARG_VALUE && arg->as.val.h.graph))
        return wf__error(k->ctx, WF_ERR_ARG, "%s: parameter '%s' needs a number", function,
                         k->program.param[number].name);
    if (!wf__number_fits(value, dtype))
        return wf__error(k->ctx, WF_ERR_DTYPE, "%s: %.17g does not fit parameter '%s' of dtype %s", function, value,
                         k->program.param[number].name, wf_dtype_name(dtype));
    *out = 0;
    if (arg->kind > WF_ARG_NUMBER) /* rounded once, from all digits */
        wf__eval_cast(dtype, arg->kind == WF_ARG_I64 ? WF_I64 : WF_U64, out, &arg->as, 1);
    else
        wf__eval_cast(dtype, WF_F64, out, &value, 1);
    return WF_OK;
}

/* True if an earlier argument has the name of argument i. */
static bool is_given(const wf_args *args, size_t i)
{
    size_t k = 0;
    while (k < i && !same_name(args->at[k].name, args->at[i].name))
        ++k;
    return k < i;
}

static wf_status bind_all(const wf_kernel *k, wf_args args, wf_array **arrays, uint64_t *param, const char *function)
{
    const wf__program *p = &k->program;
    for (uint32_t i = 0; i < p->object_n; ++i)
        arrays[i] = k->socket[i].array;
    for (uint32_t i = 0; i < p->param_n; ++i)
        param[i] = p->param[i].initial;
    uint32_t n = p->object_n + p->param_n, next = 0;
    uint64_t seen = 0; /* bit i: object or parameter i is given; for the first 64 */
    for (size_t i = 0; i < args.n; ++i) {
        const wf_arg *arg = &args.at[i];
        uint32_t at = next; /* callers often name arguments in the order of declaration */
        if (at >= n || !arg->name || !is_named(k, at, arg->name))
            at = arg->name ? find_name(k, arg->name) : n;
        next = at + 1;
        if (at == n)
            return wf__error(k->ctx, WF_ERR_ARG, "%s: the kernel has no formal or parameter '%s'", function,
                             arg->name ? arg->name : "");
        if (at < 64 ? seen >> at & 1 : is_given(&args, i))
            return wf__error(k->ctx, WF_ERR_ARG, "%s: '%s' is given twice", function, arg->name);
        seen |= at < 64 ? (uint64_t)1 << at : 0;
        wf_status status = at < p->object_n ? bind_array(k, at, arg, &arrays[at], function)
                                            : bind_param(k, at - p->object_n, arg, &param[at - p->object_n], function);
        if (status != WF_OK)
            return status;
    }
    for (uint32_t i = 0; i < p->object_n; ++i)
        if (!arrays[i])
            return wf__error(k->ctx, WF_ERR_ARG, "%s: no array is given for '%s'", function, p->object[i].array->name);
    return WF_OK;
}

typedef wf_status bound_fn(const wf_kernel *k, wf_array *const *arrays, const uint64_t *param, void *user);

/* Calls `then` with everything bound. */
static wf_status with_bindings(const wf_kernel *k, wf_args args, const char *function, bound_fn *then, void *user)
{
    wf__bound b;
    wf__floats floats = wf__floats_begin(); /* for the conversion of parameters, too */
    wf_status status = wf__bound_begin(&b, &k->program)
                           ? bind_all(k, args, b.arrays, b.param, function)
                           : wf__error(k->ctx, WF_ERR_MEMORY, "out of memory for a launch");
    if (status == WF_OK)
        status = then(k, b.arrays, b.param, user);
    wf__bound_end(&b);
    wf__floats_end(floats);
    return status;
}

typedef struct launching {      /* arguments of a launch besides the bindings */
    const wf_launch_opts *opts; /* NULL = none */
    const wf_shape *space;
} launching;

static bool limit(wf__limits *limits, const wf_launch_opts *opts)
{
    limits->threads = opts->threads ? opts->threads : limits->threads;
    limits->serial_below = opts->serial_below ? opts->serial_below : limits->serial_below;
    limits->block_threads = opts->block_threads ? opts->block_threads : limits->block_threads;
    return limits->threads >= 0 && limits->serial_below >= 0 && wf__is_block_threads(limits->block_threads);
}

static wf_status launch(const wf_kernel *k, wf_array *const *arrays, const uint64_t *param, void *user)
{
    const launching *l = user;
    const wf_launch_opts *o = l->opts;
    bool plain = !o || !(o->stream || o->threads || o->serial_below || o->block_threads);
    if (plain && !k->program.limits.serial_below && wf__launch_again((wf_kernel *)k, arrays, param, l->space))
        return WF_OK;
    wf__request r = { .program = &k->program,
                      .recording_key = &k->recording_key,
                      .arrays = arrays,
                      .param = param,
                      .space = l->space,
                      .kernel = (wf_kernel *)k, /* a launch changes its memos, `last` and `noted` */
                      .kept = k->kept,
                      .kept_n = k->kept_n,
                      .stream = o ? o->stream : NULL,
                      .limits = k->program.limits };
    if (!plain && !limit(&r.limits, o))
        return wf__error(
            k->ctx, WF_ERR_ARG,
            "wf_launch: threads and serial_below must not be negative, block_threads a power of two from 32 "
            "to 256, or 0");
    const char *misfit = r.stream ? wf__stream_misfit(r.stream, k->ctx, k->program.device) : NULL;
    if (misfit)
        return wf__error(k->ctx, WF_ERR_DEVICE, "wf_launch: %s", misfit);
    return wf__submit(k->ctx, &r);
}

/* Fails with the reason why the shape does not fit, and with the recorded shape. */
static wf_status refuse_shape(const wf_kernel *k, const wf_shape *shape, const char *why)
{
    const wf__recording *rec = &k->program.rec;
    char given[192], recorded[192], of[256] = "";
    wf__bad_shape_text(shape, given, sizeof given);
    wf__bad_shape_text(&rec->space, recorded, sizeof recorded);
    if (rec->options.kind == WF__SPACE)
        snprintf(of, sizeof of, "; the space, recorded as %s, has rank %d", recorded, (int)rec->space.rank);
    return wf__error(k->ctx, WF_ERR_SHAPE, "wf_launch: the shape %s %s%s", given, why, of);
}

static wf_status launch_over(const wf_kernel *k, wf_args args, const wf_launch_opts *opts)
{
    wf_shape space = k->program.rec.space;
    int64_t count;
    if (k->program.rec.options.kind != WF__SPACE)
        return refuse_shape(k, &opts->shape, "is given, but the recording has no index space");
    if (opts->shape.rank != space.rank)
        return refuse_shape(k, &opts->shape, "has another rank");
    if (!wf__shape_count(&opts->shape, &count))
        return refuse_shape(k, &opts->shape, "has a negative extent or too many points");
    memcpy(space.dim, opts->shape.dim, (size_t)space.rank * sizeof *space.dim);
    return with_bindings(k, args, "wf_launch", launch, &(launching){ opts, &space });
}

wf_status wf_launch_with(const wf_kernel *k, wf_args args, const wf_launch_opts *opts)
{
    wf_launch_opts whole;
    if (!k)
        return WF_ERR_ARG;
    if (opts && opts->size < sizeof *opts) { /* a caller of an older version */
        whole = (wf_launch_opts){ .size = sizeof whole };
        if (!wf__take_options(&whole, sizeof whole, opts))
            return wf__error(k->ctx, WF_ERR_ARG, "wf_launch: " WF__WRONG_SIZE);
        opts = &whole;
    }
    if (!wf__is_given(k->ctx, args.at, args.n, "wf_launch"))
        return WF_ERR_ARG;
    if (opts && opts->shape.rank)
        return launch_over(k, args, opts);
    return with_bindings(k, args, "wf_launch", launch, &(launching){ opts, &k->program.rec.space });
}

void wf_kernel_free(wf_kernel *k)
{
    if (!k)
        return;
    for (uint32_t i = 0; i < k->kept_n; ++i)
        wf_release(k->kept[i]);
    wf__free(k->kept);
    wf__free(k->socket);
    for (int i = 0; i < WF__MEMOS; ++i)
        wf__memo_free(k->ctx, &k->memo[i]);
    wf__plan_release(k->ctx, k->last);
    wf__program_free(&k->program);
    wf__str_free(&k->recording_key);
    wf__mutex_free(&k->lock);
    wf_context *ctx = k->ctx;
    wf__free(k);
    wf__context_release(ctx);
}

/* ---- dumps ---- */
typedef struct dump_request {
    wf_dump what;
    wf__str out;
} dump_request;

static void dump_trace(const wf_kernel *k, wf__str *out)
{
    wf__print(&k->program.rec.ir, out);
    const wf__ir *once[] = { &k->program.rec.init, &k->program.rec.deinit };
    for (int i = 0; i < 2; ++i)
        if (once[i]->n > 1) {
            wf__str_addf(out, "\n# section %s\n", i ? "WF_SECTION_DEINIT" : "WF_SECTION_INIT");
            wf__print(once[i], out);
        }
    if (k->program.rec.join.n > 1) {
        wf__str_add(out, "\n# section WF_SECTION_JOIN\n");
        wf__print(&k->program.rec.join, out);
    }
    if (k->program.rec.post.n > 1) {
        wf__str_add(out, "\n# after the reductions\n");
        wf__print(&k->program.rec.post, out);
    }
}

static void dot_section(const wf_kernel *k, const wf__ir *ir, const char *id, const char *title, wf__str *out)
{
    const char **name = wf__alloc0((ir->slot_n + 1) * sizeof *name);
    out->failed = out->failed || !name;
    for (uint32_t s = 0; name && s < ir->slot_n; ++s)
        name[s] = k->program.object[ir->slot[s].object].array->name;
    if (*title)
        wf__str_addf(out, "subgraph cluster_%s {\n  label=\"%s\";\n", id, title);
    wf__print_dot(ir, name, id, out);
    wf__str_add(out, *title ? "}\n" : "");
    wf__free(name);
}

static void dump_dot(const wf_kernel *k, wf__str *out)
{
    const wf__recording *rec = &k->program.rec;
    const struct {
        const wf__ir *ir;
        const char *id, *title;
    } more[] = { { &rec->init, "i", "WF_SECTION_INIT" },
                 { &rec->deinit, "d", "WF_SECTION_DEINIT" },
                 { &rec->join, "j", "WF_SECTION_JOIN" },
                 { &rec->post, "p", "WF_SECTION_POST" } };
    wf__str_add(out, "digraph weft {\n  node [shape=box, fontname=\"monospace\"];\n");
    dot_section(k, &rec->ir, "", "", out);
    for (size_t i = 0; i < WF__COUNT(more); ++i)
        if (more[i].ir->n > 1)
            dot_section(k, more[i].ir, more[i].id, more[i].title, out);
    wf__str_add(out, "}\n");
}

/* Appends the kernels of a stage as PTX for GPUs of this compute capability (0 = the oldest). */
static wf_status dump_ptx(const wf_kernel *k, const wf__plan *plan, const wf__stage *stage, int arch, wf__str *out)
{
    wf__failure f = { 0 };
    wf__str join = { 0 };
    arch = arch ? arch : WF__PTX_OLDEST;
    bool ok =
        wf__gpu_stage_ptx(plan, stage, arch, false, out, &f) && wf__gpu_stage_ptx(plan, stage, arch, true, &join, &f);
    if (ok && join.len)
        wf__str_addf(out, "\n// stage %u of %u: what joins its parts\n%s", (unsigned)(stage - plan->stage) + 1,
                     (unsigned)plan->stage_n, wf__str_get(&join));
    out->failed = out->failed || join.failed;
    wf__str_free(&join);
    if (!ok)
        wf__error(k->ctx, f.status, "wf_kernel_dump: %s", wf__str_get(&f.text));
    wf__str_free(&f.text);
    return f.status;
}

/* Returns the plan of the kernel for a GPU, on any device. */
static wf__plan_entry *gpu_plan(const wf_kernel *k, wf_array *const *arrays, wf_status *status)
{
    wf__program p = k->program;
    wf__str key = { 0 };
    p.rec.options.target = WF__GPU;
    p.rec.options.gpu = 1;
    wf__program_key(&p, &key);
    if (key.failed)
        *status = wf__error(k->ctx, WF_ERR_MEMORY, "out of memory for a dump");
    wf__plan_entry *e = key.failed ? NULL : wf__plan_for(k->ctx, &p, &key, arrays, status);
    wf__str_free(&key);
    return e;
}

static void add_heading(const wf__plan *plan, uint32_t s, bool ptx, wf__str *out)
{
    const wf__stage *stage = &plan->stage[s];
    const wf__plan_step *step = wf__step_of(plan, s);
    wf__str_addf(out, "%s%s stage %u of %u: ", s ? "\n" : "", ptx && !stage->scan.on ? "//" : "#", (unsigned)s + 1,
                 (unsigned)plan->stage_n);
    if (stage->scan.on) {
        wf__str_addf(out, "a scan along axis %u%s\n", (unsigned)stage->scan.axis,
                     step->producer != WF__NO_STAGE   ? ", part by part with the stage before"
                     : step->consumer != WF__NO_STAGE ? ", part by part with the stage behind"
                                                      : "");
        return;
    }
    wf__str_add(out, "loops");
    for (int d = 0; d < stage->lowered.rank; ++d)
        wf__str_addf(out, " %lld", (long long)stage->extent[d]);
    wf__str_add(out, ptx && step->consumer == s           ? " (done by the kernel before)\n"
                     : wf__is_little_point(stage) && !ptx ? " (one point: interpreted at first)\n"
                                                          : "\n");
}

static wf_status dump_stages(const wf_kernel *k, wf_array *const *arrays, const uint64_t *param, void *user)
{
    dump_request *request = user;
    const wf__program *p = &k->program;
    WF__UNUSED(param);
    wf_status status = WF_OK;
    bool ptx = (request->what & 255) == WF_DUMP_PTX;
    wf__plan_entry *e =
        ptx ? gpu_plan(k, arrays, &status) : wf__plan_for(k->ctx, p, &k->recording_key, arrays, &status);
    wf__str error = { 0 };
    for (uint32_t s = 0; e && status == WF_OK && s < e->plan.stage_n; ++s) {
        const wf__stage *stage = &e->plan.stage[s];
        add_heading(&e->plan, s, ptx, &request->out);
        if (stage->scan.on)
            continue;
        if (request->what == WF_DUMP_KERNELS) {
            wf__str_add(&request->out, "# after splitting\n");
            wf__print(&stage->recorded, &request->out);
            wf__str_add(&request->out, "# after layout and lowering\n");
            wf__print(&stage->lowered, &request->out);
        } else if (ptx)
            status = dump_ptx(k, &e->plan, stage, (int)request->what >> 8, &request->out);
        else if (!wf__is_little_point(stage) &&
                 !wf__engine_text(k->ctx->engine, &stage->lowered,
                                  &(wf__code_options){ .long_rows = stage->promises.long_rows,
                                                       .row_points = stage->promises.row_points },
                                  request->what == WF_DUMP_ASM, &request->out, &error))
            status = wf__error(k->ctx, WF_ERR_BACKEND, "wf_kernel_dump: %s", wf__str_get(&error));
    }
    wf__str_free(&error);
    wf__plan_release(k->ctx, e);
    return status;
}

/* True unless the buffer is NULL and said to have room; else false, with an error. */
static bool has_room(const wf_kernel *k, const char *buf, size_t cap, const char *function)
{
    if (!buf && cap)
        wf__error(k->ctx, WF_ERR_ARG, "%s: buf is NULL, and cap is %zu", function, cap);
    return buf || !cap;
}

/* Copies the text out, unless there was a failure. */
static wf_status give_text(const wf_kernel *k, wf_status status, wf__str *text, char *buf, size_t cap, size_t *len)
{
    if (status == WF_OK && text->failed)
        status = wf__error(k->ctx, WF_ERR_MEMORY, "out of memory for a dump");
    if (status == WF_OK && cap) {
        size_t n = text->len < cap ? text->len : cap - 1;
        memcpy(buf, wf__str_get(text), n);
        buf[n] = 0;
    }
    if (status == WF_OK && len)
        *len = text->len;
    wf__str_free(text);
    return status;
}

static wf_status dump_passes(const wf_kernel *k, wf_array *const *arrays, const uint64_t *param, void *user)
{
    WF__UNUSED(param);
    return wf__plan_log(k->ctx, &k->program, arrays, user);
}

wf_status wf_kernel_dump(const wf_kernel *k, wf_args args, wf_dump what, char *buf, size_t cap, size_t *len)
{
    if (!k)
        return WF_ERR_ARG;
    dump_request request = { .what = what };
    wf_status status = WF_OK;
    if (!wf__is_given(k->ctx, args.at, args.n, "wf_kernel_dump") || !has_room(k, buf, cap, "wf_kernel_dump"))
        return WF_ERR_ARG;
    bool known = what >= WF_DUMP_TRACE && what < WF_DUMP_INT32 && (what <= WF_DUMP_PLAN || (what & 255) == WF_DUMP_PTX);
    if (!known)
        return wf__error(k->ctx, WF_ERR_ARG, "wf_kernel_dump: there is no dump %d", (int)what);
    wf__pass_log log = { .after = what == WF_DUMP_PLAN ? WF__FINISHED : NULL, .out = &request.out };
    if (what == WF_DUMP_TRACE)
        dump_trace(k, &request.out);
    else if (what == WF_DUMP_DOT)
        dump_dot(k, &request.out);
    else if (what == WF_DUMP_PASSES || what == WF_DUMP_PLAN)
        status = with_bindings(k, args, "wf_kernel_dump", dump_passes, &log);
    else
        status = with_bindings(k, args, "wf_kernel_dump", dump_stages, &request);
    return give_text(k, status, &request.out, buf, cap, len);
}

const char *wf_pass_name(size_t i) { return wf__pass_name(i); }

wf_status wf_kernel_dump_after(const wf_kernel *k, wf_args args, const char *pass, char *buf, size_t cap, size_t *len)
{
    if (!k)
        return WF_ERR_ARG;
    if (!wf__is_given(k->ctx, args.at, args.n, "wf_kernel_dump_after") ||
        !has_room(k, buf, cap, "wf_kernel_dump_after"))
        return WF_ERR_ARG;
    wf__str out = { 0 };
    wf__pass_log log = { .after = pass ? pass : "", .out = &out };
    size_t i = 0;
    while (wf_pass_name(i) && strcmp(wf_pass_name(i), log.after) != 0)
        ++i;
    if (!wf_pass_name(i))
        return wf__error(k->ctx, WF_ERR_ARG, "wf_kernel_dump_after: there is no pass '%s'", log.after);
    wf_status status = with_bindings(k, args, "wf_kernel_dump_after", dump_passes, &log);
    if (status == WF_OK && !out.len && !out.failed)
        status = wf__error(k->ctx, WF_ERR_ARG,
                           "wf_kernel_dump_after: pass '%s' does not apply to this recording on its device", pass);
    return give_text(k, status, &out, buf, cap, len);
}
