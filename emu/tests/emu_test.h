/* emu_test.h - what the tests of the PTX emulator share: the library through dlopen and its driver API alone, kernels
 * from PTX text, and ptxas, which must accept every text that the emulator is asked to run.
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
CUmodule emu_load(const char *text); /* and ptxas, where there is one, accepts it for the text's target */
CUfunction emu_function(CUmodule module, const char *name);
/* The text does not load: both ptxas and the emulator refuse it, the emulator with `part` in its message. */
void emu_refused(const char *text, const char *part);

CUdeviceptr emu_upload(const void *data, size_t bytes);
void emu_download(void *out, CUdeviceptr at, size_t bytes);
/* Launches name of text with up to 8 parameters of 64 bits and gives the status of the synchronisation after. */
CUresult emu_run(const char *text, const char *name, unsigned grid, unsigned block, unsigned dynamic, int n, ...);
/* The last run's report has these parts; prints it where not. Then a new context. */
void emu_found(CUresult got, CUresult want, int n, ...);
#endif
