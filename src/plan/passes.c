/* passes.c - the list of all passes of planning, in their order, for each kind of recording and target.
 *
 * A recording is first cut into stages, one index space each: array graphs by the passes of src/plan/split, index
 * spaces by those of src/plan/space. Then each stage becomes a kernel, by the passes of src/plan/scan and
 * src/plan/kernel. All of them run for one stage before the next, because the layout of a stage decides the layouts
 * of temporaries that later stages read. Finally, stages become steps.
 *
 * In debug builds the IR is verified after each pass.
 */
#include "plan/passes.h"
#include <string.h>

enum {
    ARRAYS = 1,      /* array graphs */
    SPACES = 2,      /* index spaces, and those of elements */
    COMPILED = 4,    /* code for a processor */
    INTERPRETED = 8, /* the interpreter, and debug mode on a processor */
    GPU = 16,
    DEBUG = 32, /* in debug mode only */
    RANKS = 64, /* with distributed arrays only */
    GRAPHS = ARRAYS | SPACES,
    PROCESSOR = COMPILED | INTERPRETED,
    TARGETS = PROCESSOR | GPU
};

typedef struct wf__pass {
    const char *name;
    unsigned on;                                /* kinds of recordings and targets, DEBUG, RANKS */
    bool (*plan)(wf__planning *p);              /* a pass over the plan, or */
    bool (*stage)(wf__planning *p, uint32_t s); /* over stage s */
} wf__pass;

/* clang-format off */
static const wf__pass passes[] = {
    /* name              on                     function                          afterwards */
    { "shapes",          ARRAYS | TARGETS,      .plan = wf__pass_shapes },        /* every node has its extents */
    { "dead-effects",    ARRAYS | TARGETS,      .plan = wf__pass_dead_effects },  /* no live effect is hidden by a later one */
    { "stored-views",    ARRAYS | TARGETS,      .plan = wf__pass_stored_views },  /* values that views or passes over rows would compute too often are marked */
    { "split",           ARRAYS | TARGETS,      .plan = wf__pass_split },         /* stages: no VIEW, REDUCE, SCAN, IOTA is left */
    { "space",           SPACES | TARGETS,      .plan = wf__pass_space },         /* the space and its reduced axes are known */
    { "loop-axes",       SPACES | COMPILED,     .plan = wf__pass_loop_axes },     /* independent turns of a section are points */
    { "thread-blocks",   SPACES | GPU,          .plan = wf__pass_thread_blocks }, /* blocks have threads; scratch has a place */
    { "block-boxes",     SPACES | PROCESSOR,    .plan = wf__pass_block_boxes },   /* blocks are boxes; scratch has a place */
    { "sections",        SPACES | TARGETS,      .plan = wf__pass_sections },      /* stages; no point reads what another writes */
    { "ordinary-arrays", GRAPHS | TARGETS | RANKS, .stage = wf__pass_ordinary_arrays }, /* a stage stores ordinary arrays alone, or none, or `regions` refuses it */
    { "accumulations",   GRAPHS | PROCESSOR,    .stage = wf__pass_accumulations }, /* with distributed arrays, points join values with elements of their rank, or a stage sends them; a stage joins sums in large arrays in the order of points */
    { "gathers",         GRAPHS | TARGETS | RANKS, .stage = wf__pass_gathers },   /* elements at indices without bounds are got by a stage */
    { "scans",           GRAPHS | TARGETS,      .stage = wf__pass_scans },        /* GPU: scans have bodies */
    { "inner-axes",      GRAPHS | TARGETS,      .stage = wf__pass_inner_axes },   /* short inner runs are reduced first */
    { "images",          GRAPHS | TARGETS | RANKS, .stage = wf__pass_images },    /* loads across periodic ends of divided axes read images */
    { "cuts",            GRAPHS | TARGETS | RANKS, .stage = wf__pass_cuts },      /* axes that ranks divide are known */
    { "layout",          GRAPHS | TARGETS,      .stage = wf__pass_layout },       /* loop axes; every index is explicit */
    { "records",         GRAPHS | TARGETS,      .stage = wf__pass_records },      /* arrays of records are known */
    { "accumulate",      GRAPHS | TARGETS,      .stage = wf__pass_accumulate },   /* every ACCUM has its mode */
    { "expand",          GRAPHS | TARGETS,      .stage = wf__pass_expand },       /* only what backends know (kernel.h) */
    { "lockstep",        GRAPHS | COMPILED,     .stage = wf__pass_counters },     /* common counters of loops are scalars */
    { "partition",       GRAPHS | TARGETS,      .stage = wf__pass_partition },    /* boxes, work */
    { "regions",         GRAPHS | TARGETS | RANKS, .plan = wf__pass_regions },    /* each rank's points and elements are known */
    { "schedule",        GRAPHS | TARGETS,      .plan = wf__pass_schedule },      /* steps: stages that run together */
    { "open-extents",    ARRAYS | TARGETS,      .stage = wf__pass_open_extents }, /* large extents are numbers of the launch */
    { "number-arrays",   GRAPHS | TARGETS | DEBUG, .stage = wf__pass_number_arrays }, /* findings can name arrays */
};
/* clang-format on */

const char *wf__pass_name(size_t i) { return i < WF__COUNT(passes) ? passes[i].name : NULL; }

/* The latest body of a stage. */
static const wf__ir *ir_of(const wf__stage *stage) { return stage->lowered.node ? &stage->lowered : &stage->recorded; }

/* In debug builds, verifies the IR of stage s. On failure the plan's error names the pass. */
static bool verified(wf__plan *plan, uint32_t s, const char *pass)
{
#ifdef WEFT_DEBUG_CHECKS
    wf__str error = { 0 };
    bool ok = s >= plan->stage_n || plan->stage[s].scan.on || wf__verify(ir_of(&plan->stage[s]), &error);
    if (!ok)
        wf__plan_fail(plan, error.failed ? WF_ERR_MEMORY : WF_ERR_BACKEND, "after %s: %s", pass, wf__str_get(&error));
    wf__str_free(&error);
    return ok;
#else
    (void)ir_of;
    WF__UNUSED(plan);
    WF__UNUSED(s);
    WF__UNUSED(pass);
    return true;
#endif
}

static bool applies(const wf__pass *pass, const wf__recording *rec)
{
    unsigned kind = rec->options.kind == WF__ARRAYS ? ARRAYS : SPACES;
    static const unsigned target[] = { [WF__INTERPRETER] = INTERPRETED, [WF__PROCESSOR] = COMPILED, [WF__GPU] = GPU };
    return pass->on & kind && pass->on & target[rec->options.target] &&
           (!(pass->on & DEBUG) || rec->ir.flags & WF_FLAG_DEBUG) && (!(pass->on & RANKS) || rec->group);
}

/* ---- the log ---- */
/* Appends the reasons from `from` on, each a line that begins with `indent`. */
static void add_reasons(const wf__planning *p, size_t from, const char *indent, wf__str *out)
{
    const char *why = p->rec->why ? wf__str_get(p->rec->why) + from : "";
    while (*why) {
        size_t n = strcspn(why, "\n");
        wf__str_add(out, indent);
        wf__str_addn(out, why, n);
        wf__str_add(out, "\n");
        why += n + (why[n] == '\n');
    }
}

static size_t reasons(const wf__planning *p) { return p->rec->why ? p->rec->why->len : 0; }

/* Writes the log of a pass over stages first to end - 1. from: the beginning of the pass's reasons. */
static void log_pass(const wf__planning *p, const wf__pass *pass, uint32_t first, uint32_t end, size_t from)
{
    const wf__pass_log *log = p->rec->log;
    if (!log || p->plan->status != WF_OK)
        return;
    if (!log->after) {
        if (pass->plan || reasons(p) > from)
            wf__str_addf(log->out, "%s\n", pass->name);
        add_reasons(p, from, "    ", log->out);
    } else if (!strcmp(log->after, pass->name)) {
        add_reasons(p, from, "# ", log->out);
        if (!p->plan->stage_n && p->split)
            wf__split_print(p, log->out);
        else if (!p->plan->stage_n)
            wf__space_print(p, log->out);
        if (pass->plan)
            wf__plan_print_steps(p->plan, log->out);
        for (uint32_t s = first; s < end; ++s)
            wf__plan_print_stage(p->plan, p->bind, s, log->out);
    }
}

/* Runs the passes from `first` to before `end`: all of one stage, then all of the next stage. */
static bool run_on_stages(wf__planning *p, const wf__pass *first, const wf__pass *end)
{
    bool ok = wf__planning_bind(p);
    for (uint32_t s = 0; ok && s < p->plan->stage_n; ++s)
        for (const wf__pass *pass = first; ok && pass < end; ++pass) {
            size_t from = reasons(p);
            if (!applies(pass, p->rec))
                continue;
            ok = pass->stage(p, s) && p->plan->status == WF_OK && wf__planning_bind(p) &&
                 verified(p->plan, s, pass->name);
            log_pass(p, pass, s, s + 1, from);
        }
    return ok;
}

static bool run_on_plan(wf__planning *p, const wf__pass *pass)
{
    size_t from = reasons(p);
    if (!applies(pass, p->rec))
        return true;
    bool ok = pass->plan(p) && p->plan->status == WF_OK;
    for (uint32_t s = 0; ok && s < p->plan->stage_n; ++s)
        ok = verified(p->plan, s, pass->name);
    log_pass(p, pass, 0, p->plan->stage_n, from);
    return ok;
}

static bool run(wf__planning *p)
{
    bool ok = true;
    const wf__pass *const end = passes + WF__COUNT(passes);
    for (const wf__pass *pass = passes, *next; ok && pass < end; pass = next) {
        next = pass + 1;
        while (pass->stage && next < end && next->stage)
            ++next;
        ok = pass->stage ? run_on_stages(p, pass, next) : run_on_plan(p, pass);
    }
    return ok;
}

static bool make(wf__plan *plan, const wf__recording *recording, const wf__bind *bind)
{
    *plan = (wf__plan){
        .objects = recording->options.objects,
        .params = recording->ir.param_n,
        .target = (wf__target_kind)recording->options.target,
        .recorded = recording,
        .why = recording->why,
    };
    wf__planning p = { .plan = plan, .rec = recording, .bind = bind };
    bool ok = run(&p);
    wf__split_end(&p);
    wf__space_end(&p);
    wf__free(p.all);
    plan->recorded = NULL;
    plan->why = NULL;
    return ok;
}

bool wf__plan_make(wf__plan *plan, const wf__recording *recording, const wf__bind *bind)
{
    wf__recording plain;
    if (!wf__has_derived(recording))
        return make(plan, recording, bind);
    bool ok = wf__without_derived(recording, &plain);
    if (ok)
        ok = make(plan, &plain, bind);
    else {
        *plan = (wf__plan){ 0 };
        wf__plan_no_memory(plan);
    }
    wf__without_derived_free(recording, &plain);
    return ok;
}
