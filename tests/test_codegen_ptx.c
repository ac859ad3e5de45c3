/* test_codegen_ptx.c - the bodies of tests/codegen_*.c as PTX. Each is generated with 32-bit and with 64-bit index
 * arithmetic and for several architectures. One of these codes is assembled where the assembler is installed.
 * Bodies over a whole space also run on the PTX emulator (or the driver that WEFT_CUDA names) and give the bits of the
 * interpreter.
 *
 * ctest: codegen values
 */
#include "codegen_harness.h"
#include "ptx/ptx.h"
#include "ptxas.h"
#include "run/engine.h"
#include "plan/passes.h"
#include "run/gpu/gpu.h"
#include "weft_test.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static unsigned generated, ran;
static wf__engine *engine;
static wf__gpu *gpu;      /* NULL: none */
static bool driver_named; /* by WEFT_CUDA or WEFT_CUDA_EMU: then bodies must run */

static void emit(const test_case *t)
{
    static const int arch[] = { 70, 80 };
    static unsigned bodies;
    unsigned left = test_choice(bodies++, 3); /* codes before the one that is assembled */
    for (size_t i = 0; i < WF__COUNT(arch); ++i)
        for (int narrow = (int)i; narrow < 2; ++narrow) {
            wf__ptx_code *code = calloc(1, sizeof *code);
            wf__failure failure = { 0 };
            assert_non_null(code);
            wf__ptx_options how = { .arch = arch[i], .narrow = narrow };
            bool ok = wf__ptx_emit(&t->ir, &how, code, &failure);
            if (!ok)
                print_error("%s: %s\n", t->name, wf__str_get(&failure.text));
            assert_true(ok);
            if (left-- == 0)
                ptxas_add(t->name, arch[i], wf__str_get(&code->text));
            wf__ptx_free(code);
            wf__str_free(&failure.text);
            free(code);
            ++generated;
        }
}

/* ---- a plan of one stage, and one that stores the values of its reductions ---- */
static void make_first(const test_case *t, const test_memory *memory, wf__stage *stage, uint64_t *initial)
{
    stage->lowered = t->ir;
    stage->partition.boxes = stage->reduce.parts = 1;
    for (int d = 0; d < t->ir.rank; ++d) {
        stage->extent[d] = t->extent[d];
        stage->partition.box[d] = t->extent[d] ? t->extent[d] : 1;
        stage->empty = stage->empty || !t->extent[d];
    }
    for (uint32_t i = 0; i < t->ir.slot_n; ++i) {
        stage->mem[i].object = i;
        memcpy(stage->mem[i].stride, memory[i].mem.stride, sizeof stage->mem[i].stride);
        memcpy(stage->mem[i].dim, memory[i].mem.dim, sizeof stage->mem[i].dim);
    }
    for (uint32_t k = 0; k < t->ir.red_n; ++k)
        initial[k] = wf__red_start(&t->ir.red[k]);
    stage->reduce.initial = initial;
}

static void make_second(const test_case *t, wf__stage *stage)
{
    wf__ir *ir = &stage->lowered;
    wf__ir_init(ir, 1, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    for (uint32_t i = 0; i < t->ir.param_n; ++i)
        wf__param(ir, t->ir.param[i]);
    wf__ref index = wf__index(ir, 0);
    uint32_t here = wf__tuple(ir, &index, 1);
    for (uint32_t k = 0; k < t->ir.red_n; ++k) {
        uint32_t slot = wf__slot_new(ir, t->ir.red[k].dtype, 1, true, t->ir.slot_n + k);
        wf__store(ir, slot, here, wf__param(ir, t->ir.red[k].dtype), 0);
        ir->slot[slot].step[0] = WF__STEP_UNIT;
        stage->mem[k] = (wf__mem_layout){ .object = t->ir.slot_n + k, .stride = { 1 }, .dim = { 1 } };
    }
    assert_int_equal(ir->status, WF_OK);
    stage->extent[0] = stage->partition.box[0] = stage->partition.boxes = stage->reduce.parts = 1;
}

static void check(bool ok, const test_case *t, const wf__failure *f)
{
    if (!ok)
        print_error("%s: %s\n", t->name, wf__str_get(&f->text));
    assert_true(ok);
}

static bool run(const test_case *t, const test_memory *memory, uint64_t *acc)
{
    wf__stage stage[2] = { 0 };
    wf__mem_layout mem[2][MOST_ARRAYS];
    uint64_t initial[MOST_ARRAYS];
    char *base[2 * MOST_ARRAYS], *at[2 * MOST_ARRAYS];
    wf__failure f = { 0 };
    uint32_t slots = t->ir.slot_n, reds = t->ir.red_n;
    emit(t);
    bool whole = gpu != NULL;
    for (int d = 0; d < t->ir.rank; ++d)
        whole = whole && t->lo[d] == 0 && t->hi[d] == t->extent[d];
    if (!whole)
        return false;
    memset(mem, 0, sizeof mem);
    stage[0].mem = mem[0];
    stage[1].mem = mem[1];
    make_first(t, memory, &stage[0], initial);
    make_second(t, &stage[1]);
    for (uint32_t i = 0; i < slots + reds; ++i) {
        size_t bytes = i < slots ? memory[i].bytes : 8;
        at[i] = wf__gpu_alloc(gpu, bytes, &(wf__gpu_use){ 0 }, &f);
        check(at[i] && wf__gpu_upload(gpu, at[i], &(wf__gpu_use){ 0 },
                                      i < slots ? memory[i].at : (unsigned char *)&acc[i - slots], bytes, &f),
              t, &f);
        base[i] = i < slots ? at[i] + (memory[i].mem.base - (char *)memory[i].at) : at[i];
    }
    wf__plan plan = { .stage = stage, .stage_n = reds ? 2 : 1, .objects = slots + reds, .target = WF__GPU };
    plan.params = t->ir.param_n;
    plan.most_reds = reds;
    assert_true(wf__pass_schedule(&(wf__planning){ .plan = &plan }));
    check(wf__gpu_run((wf__gpu_on){ .gpu = gpu }, &plan, t->name, base, t->param, &(wf__limits){ 0 }, NULL, &f), t, &f);
    for (uint32_t i = 0; i < slots + reds; ++i) {
        acc[i < slots ? 0 : i - slots] = i < slots ? acc[0] : 0;
        check(wf__gpu_download(gpu, i < slots ? (void *)memory[i].at : &acc[i - slots], at[i], &(wf__gpu_use){ 0 },
                               i < slots ? memory[i].bytes : wf__size(t->ir.red[i - slots].dtype), &f),
              t, &f);
        wf__gpu_free(gpu, at[i], i < slots ? memory[i].bytes : 8, (wf__gpu_use){ 0 });
    }
    for (int s = 0; s < 2; ++s)
        if (atomic_load(&stage[s].code))
            wf__gpu_free_stage_code(engine, atomic_load(&stage[s].code));
    wf__ir_free(&stage[1].lowered);
    wf__free(plan.step);
    wf__str_free(&f.text);
    ++ran;
    return true;
}

static void test_assembled(void **state)
{
    (void)state;
    assert_true(generated > 100);
    ptxas_check_all();
}

static void test_ran(void **state)
{
    (void)state;
    if (!driver_named)
        skip();
    assert_non_null(gpu);
    print_message("%u bodies ran\n", ran);
    assert_true(ran > 100);
}

static void open_gpu(void)
{
    bool own = getenv("WEFT_CUDA"), emulator = getenv("WEFT_CUDA_EMU");
    wf__failure f = { 0 };
    driver_named = own || emulator;
    engine = wf__engine_new(&(wf__engine_config){ .threads = 1 });
    if (engine && driver_named)
        gpu = wf__engine_gpu(engine, 0, !own, &f);
    if (!gpu)
        print_message("nothing runs: %s\n",
                      f.text.len ? wf__str_get(&f.text) : "neither WEFT_CUDA nor WEFT_CUDA_EMU names a driver");
    wf__str_free(&f.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_assembled), cmocka_unit_test(test_ran) };
    test_instead = run;
    open_gpu();
    int failed = codegen_operations() + codegen_bodies() + codegen_borders() + codegen_loops();
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    ptxas_forget();
    wf__engine_free(engine);
    return failed;
}
