/* device.h - devices by name, and their properties.
 * Reference: docs/reference/device.md */
#ifndef WF_DEVICE_H
#define WF_DEVICE_H
#include "weft/error.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The device of a name: "cpu", "interp", "cuda:0" (or "cuda"), "cuda-emu"; 0 for NULL and others. Opens nothing. */
WF_API wf_device wf_device_named(const char *name);
/* Number of devices of a kind: WF_GPU(0) or WF_GPU_EMU(0); 0 where there is no driver or no emulator.
 * WF_CPU and WF_INTERP: 1. Sets no error. */
WF_API int wf_device_count(wf_context *ctx, wf_device kind);
typedef struct wf_device_info {
    size_t size;           /* sizeof(wf_device_info), set by the caller */
    const char *name;      /* borrowed from the context. Of a GPU its model; of the processor its instruction set */
    int32_t processors;    /* multiprocessors; of the processor the cores that this process may use */
    int32_t capability;    /* compute capability of a GPU: 90 is 9.0; else 0 */
    int32_t driver;        /* the CUDA version of its driver: 12040 is 12.4; else 0 */
    uint64_t memory_bytes; /* of the device; of the processor what this process may use */
    uint64_t memory_free;  /* of a GPU, now, as its driver says; else 0 */
    uint64_t memory_kept;  /* by this context for later arrays; not free */
    uint64_t block_memory; /* of a GPU: bytes of scratch that threads of a block can share; else 0 */
} wf_device_info;
/* Fills `info` about a device (0 = the context's default), which is opened.
 * Errors: WF_ERR_DEVICE: there is no such device. */
WF_API wf_status wf_get_device_info(wf_context *ctx, wf_device device, wf_device_info *info);

#ifdef __cplusplus
}
#endif
#endif
