/* target.c - the table of targets, and detection of the processor's. */
#include "run/cache/target.h"
#include "base/os.h"
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* x86-64-v2, v3 and v4 are fixed sets of features: code of one machine runs on every machine of the same set. */
#define WF__TRIPLE_X86 "x86_64-unknown-linux-gnu"
static const wf__target targets[] = {
    { WF__ISA_AVX512, 512, "avx512", "x86-64-v4", "", WF__TRIPLE_X86 },
    { WF__ISA_AVX2, 256, "avx2", "x86-64-v3", "", WF__TRIPLE_X86 },
    { WF__ISA_SSE42, 128, "sse4.2", "x86-64-v2", "", WF__TRIPLE_X86 },
    { WF__ISA_NEON, 128, "neon", "generic", "+neon", "aarch64-unknown-linux-gnu" },
    { WF__ISA_NONE, 0, "none", "", "", "" },
};

const wf__target *wf__target_named(const char *name)
{
    for (size_t i = 0; i < WF__COUNT(targets); i++)
        if (!strcmp(targets[i].name, name))
            return &targets[i];
    return NULL;
}

#if defined(__x86_64__)
/* A query takes microseconds in a virtual machine, so that each leaf is queried once. */
typedef struct cpuid {
    unsigned a, b, c, d;
} cpuid;

static cpuid query_cpuid(unsigned leaf)
{
    cpuid r;
    __cpuid_count(leaf, 0, r.a, r.b, r.c, r.d);
    return r;
}

/* Returns the registers that the operating system saves for each thread (XCR0); 0 = no XSAVE. */
static unsigned saved_state(unsigned features)
{
    if (!(features & bit_OSXSAVE))
        return 0;
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has(unsigned word, unsigned bits) { return (word & bits) == bits; }

/* basic, more: leaves 1 and 7. All processors of 64 bits have leaf 0x80000001. */
static wf__isa isa_of(cpuid basic, cpuid more)
{
    enum { F16C = 1 << 29, LZCNT = 1 << 5 };
    unsigned saved = saved_state(basic.c);
    if (!has(basic.c, bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT | bit_CMPXCHG16B))
        return WF__ISA_NONE;
    bool v3 = has(basic.c, bit_AVX | bit_FMA | bit_MOVBE | F16C) && has(more.b, bit_AVX2 | bit_BMI | bit_BMI2) &&
              has(query_cpuid(0x80000001u).c, LZCNT) && has(saved, 0x6);
    if (!v3)
        return WF__ISA_SSE42;
    bool v4 = has(more.b, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL) && has(saved, 0xe6);
    return v4 ? WF__ISA_AVX512 : WF__ISA_AVX2;
}

/* AMD's processors prefetch best if rows are read one after the other, Intel's if three rows are read together. AMD's
 * have four vector units. Those of Zen 4 (family 25) and before take vectors of 512 bits in two halves. Intel's
 * have three units, two of which are for vectors of 512 bits. Sources of the units: AMD's optimization guides 57647
 * (Zen 4) and 58455 (Zen 5), Intel's optimization reference manual 248966. */
static wf__processor processor_of(cpuid maker, cpuid basic, bool wide)
{
    bool amd = maker.b == signature_AMD_ebx && maker.c == signature_AMD_ecx && maker.d == signature_AMD_edx;
    unsigned family = (basic.a >> 8 & 15) + (basic.a >> 20 & 255);
    return amd ? (wf__processor){ .rows_ahead = 1, .vector_units = wide && family < 26 ? 2 : 4 }
               : (wf__processor){ .rows_ahead = 3, .vector_units = wide ? 2 : 3 };
}
#endif

const wf__target *wf__target_host(wf__processor *processor)
{
    wf__isa isa = WF__ISA_NONE;
#if defined(__x86_64__)
    cpuid maker = query_cpuid(0), basic = query_cpuid(1), more = maker.a >= 7 ? query_cpuid(7) : (cpuid){ 0 };
    isa = isa_of(basic, more);
#elif defined(__aarch64__)
    isa = WF__ISA_NEON;
#endif
    const char *name = wf__getenv("WEFT_ISA");
    const wf__target *wanted = name ? wf__target_named(name) : NULL;
    bool fits = wanted && (wanted->isa == WF__ISA_NONE ||
                           (wanted->isa >= isa && (wanted->isa == WF__ISA_NEON) == (isa == WF__ISA_NEON)));
    const wf__target *target = fits ? wanted : &targets[isa];
    if (processor) {
#if defined(__x86_64__)
        *processor = processor_of(maker, basic, target->isa == WF__ISA_AVX512);
#else
        *processor = (wf__processor){ .rows_ahead = 3, .vector_units = 2 };
#endif
    }
    return target;
}
