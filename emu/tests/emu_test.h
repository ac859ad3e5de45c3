/* emu_test.h - helpers of the tests of the PTX emulator. Tests open the library by dlopen and use its driver API alone.
 * ptxas, where it is installed, must accept every PTX text that the emulator runs.
 */
#ifndef WEFT_EMU_TEST_H
#define WEFT_EMU_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emu/cuda_api.h"

typedef struct emu_api {
    void *handle;
#define WEFT_CUDA_FUNCTION(name, arguments) CUresult(*name) arguments;
#include "emu/cuda_functions.def"
#undef WEFT_CUDA_FUNCTION
    size_t (*weftEmuLastReport)(char *, size_t);
    void (*weftEmuClearReport)(void);
    void (*weftEmuName)(const char *);
    uint64_t (*weftEmuInstructions)(void);
} emu_api;
extern emu_api cu;

int emu_open(void **state);  /* group setup: opens the library, device 0, its primary context */
int emu_close(void **state); /* group teardown */
void emu_reset(void);        /* a new context, after a fault */

void emu_status(CUresult got, CUresult want, const char *file, int line);
#define CU(call) emu_status(call, CUDA_SUCCESS, __FILE__, __LINE__)
#define CU_IS(call, want) emu_status(call, want, __FILE__, __LINE__)

#define PTX_HEAD(sm) ".version 8.0\n.target sm_" #sm "\n.address_size 64\n"
CUmodule emu_load(const char *text); /* ptxas must accept the text for its target, too */
CUfunction emu_function(CUmodule module, const char *name);
/* ptxas and the emulator must both refuse the text, the emulator with `part` in its message. */
void emu_refused(const char *text, const char *part);

CUdeviceptr emu_upload(const void *data, size_t bytes);
void emu_download(void *out, CUdeviceptr at, size_t bytes);
/* Launches kernel `name` of the text with up to 8 parameters of 64 bits. Returns the status of the synchronisation
 * after it. */
CUresult emu_run(const char *text, const char *name, unsigned grid, unsigned block, unsigned dynamic, int n, ...);
/* Checks the status and that the last report has these parts; then makes a new context. */
void emu_found(CUresult got, CUresult want, int n, ...);
#endif
