/* pass_shape.c - what follows from the description of a pass alone: its lengths, and the scratch of a line. */
#include "pass_kernel.h"

enum { CHUNK_BYTES = 64 };

bool wfl_pass_is_tangled(const wfl_pass *pass)
{
    return pass->kind == WFL_FFT_UNTANGLE || pass->kind == WFL_FFT_TANGLE;
}

wfl_lengths wfl_lengths_of(const wfl_pass *pass)
{
    wfl_lengths l = { .untangled = (pass->kind == WFL_FFT_R2C || pass->kind == WFL_FFT_C2R) && pass->n % 2 == 0 };
    bool chirp = pass->kind == WFL_FFT_CHIRP;
    if (wfl_pass_is_tangled(pass))
        l.untangled = true;
    l.core = l.steps = l.results = (int32_t)(l.untangled ? pass->n / 2 : pass->n);
    if (wfl_pass_is_tangled(pass))
        return l;
    if (!chirp && wfl_fft_radices(l.core, &l.radices))
        return l;
    l.results = chirp ? (int32_t)pass->results : l.core;
    l.chirp = chirp ? pass->chirp : (wfl_chirp){ .turn = l.core };
    l.chirps = l.core > l.results ? l.core : l.results;
    l.steps = (int32_t)wfl_fft_convolution(l.core + l.results - 1);
    wfl_fft_radices(l.steps, &l.radices);
    return l;
}

int32_t wfl_pass_chunk(wf_dtype dtype)
{
    int32_t n = CHUNK_BYTES / (int32_t)wf_dtype_size(dtype);
    return n < WFL_MOST_CHUNK ? n : WFL_MOST_CHUNK;
}

bool wfl_pass_is_direct(const wfl_pass *pass)
{
    return pass->kind == WFL_FFT_C2C && !pass->rows_in && pass->rows_out && !pass->in_place && pass->n > 1 &&
           pass->n <= WFL_FFT_UNROLLED && pass->n % wfl_pass_chunk((wf_dtype)pass->out) == 0;
}

bool wfl_pass_needs_other(const wfl_pass *pass)
{
    return pass->rows_in || (pass->rows_out && !wfl_pass_is_direct(pass)) || pass->kind == WFL_FFT_R2C;
}

int32_t wfl_pass_elements_in(const wfl_pass *p) { return (int32_t)(p->kind == WFL_FFT_C2R ? p->n / 2 + 1 : p->n); }
int32_t wfl_pass_elements_out(const wfl_pass *p)
{
    return (int32_t)(p->kind == WFL_FFT_CHIRP ? p->results : p->kind == WFL_FFT_R2C ? p->n / 2 + 1 : p->n);
}

int32_t wfl_other_room(const wfl_lengths *l) { return (l->core > l->results ? l->core : l->results) + 1; }

int32_t wfl_largest_looped(const wfl_radices *radices)
{
    int32_t most = 0;
    for (int i = 0; i < radices->n; ++i)
        if (radices->at[i] > WFL_FFT_UNROLLED && radices->at[i] > most)
            most = radices->at[i];
    return most;
}
