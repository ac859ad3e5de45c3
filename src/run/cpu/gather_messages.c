/* gather_messages.c - see gather_messages.h. */
#include "run/cpu/gather_messages.h"
#include "run/engine_internal.h"

enum { PART = 1 << 8 }; /* words that a thread answers at once */

bool wf__asking_begin(wf__asking *a)
{
    const size_t ranks = (size_t)a->others->ranks, asks = ranks * (size_t)a->arrays;
    a->memory = wf__alloc(4 * ranks * sizeof *a->memory);
    a->mine = (wf__asks){ .of = wf__alloc0(asks * sizeof *a->mine.of) };
    a->theirs = (wf__asks){ .of = wf__alloc0(asks * sizeof *a->theirs.of) };
    if (!a->memory || !a->mine.of || !a->theirs.of)
        return false;
    a->mine.piece_bytes = a->memory;
    a->mine.piece_offset = a->memory + ranks;
    a->theirs.piece_bytes = a->memory + 2 * ranks;
    a->theirs.piece_offset = a->memory + 3 * ranks;
    return true;
}

static bool lay(const wf__asking *a, wf__asks *asks)
{
    for (int k = 0; k < a->others->ranks * a->arrays; ++k) {
        asks->words += (size_t)asks->of[k].words;
        asks->bytes += (size_t)asks->of[k].n * a->array[k % a->arrays].size;
    }
    asks->word = wf__mem_alloc(a->run->engine->memory, (asks->words + 1) * sizeof *asks->word);
    asks->element = wf__mem_alloc(a->run->engine->memory, asks->bytes + 1);
    return asks->word && asks->element;
}

static void free_asks(const wf__asking *a, wf__asks *asks)
{
    wf__mem_free(a->run->engine->memory, asks->word, (asks->words + 1) * sizeof *asks->word);
    wf__mem_free(a->run->engine->memory, asks->element, asks->bytes + 1);
    wf__free(asks->of);
}

void wf__asking_end(wf__asking *a)
{
    wf__free(a->part);
    free_asks(a, &a->mine);
    free_asks(a, &a->theirs);
    wf__free(a->memory);
}

bool wf__asking_lay(wf__asking *a) { return lay(a, &a->mine); }

bool wf__asking_tell(wf__asking *a, wf__failure *f)
{
    const size_t each = (size_t)a->arrays * sizeof *a->mine.of;
    const wf__parcels out = { .at = a->mine.of, .each = each }, in = { .at = a->theirs.of, .each = each };
    return a->others->all_to_all(a->others->user, &out, &in, f);
}

/* ---- answers ---- */
struct wf__ask_part { /* of an ask of another rank */
    const wf__asked_array *array;
    const uint64_t *word;
    int64_t words, first;
    bool is_list;
    char *to;
};

static void answer(void *user, int64_t first, int64_t end, int worker)
{
    const struct wf__ask_part *parts = user;
    WF__UNUSED(worker);
    for (int64_t i = first; i < end; ++i) {
        const struct wf__ask_part *p = &parts[i];
        if (p->is_list)
            wf__asked_copy(p->array, p->word, p->words, p->to);
        else
            wf__asked_copy_set(p->array, p->first, p->word, p->words, p->to);
    }
}

/* Returns the number of elements that a part of an ask is for. */
static int64_t count(const struct wf__ask_part *p)
{
    int64_t n = p->is_list ? p->words : 0;
    for (int64_t k = 0; k < p->words && !p->is_list; ++k)
        n += wf__bits_set(p->word[k]);
    return n;
}

/* Cuts the asks of the others into parts. parts: NULL = counts them. Returns their number. */
static int64_t cut(const wf__asking *a, struct wf__ask_part *parts)
{
    const uint64_t *word = a->theirs.word;
    char *to = a->theirs.element;
    int64_t n = 0;
    for (int k = 0; k < a->others->ranks * a->arrays; ++k) {
        const wf__ask *ask = &a->theirs.of[k];
        const wf__asked_array *array = &a->array[k % a->arrays];
        for (int64_t at = 0; at < ask->words; at += PART, ++n) {
            struct wf__ask_part p = { .array = array,
                                      .word = word + at,
                                      .words = wf__least(ask->words - at, PART),
                                      .first = ask->first + 64 * at,
                                      .is_list = ask->words == ask->n,
                                      .to = to };
            if (!parts)
                continue;
            parts[n] = p;
            to += (size_t)count(&p) * array->size;
        }
        word += ask->words;
    }
    return n;
}

bool wf__asking_lay_others(wf__asking *a)
{
    a->parts = cut(a, NULL);
    a->part = wf__alloc((size_t)(a->parts + 1) * sizeof *a->part);
    return a->part && lay(a, &a->theirs);
}

/* ---- exchange ---- */
/* Sets how many bytes of words, or of elements, go to or come from each rank. */
static void lay_pieces(const wf__asking *a, const wf__asks *asks, bool elements)
{
    size_t offset = 0;
    for (int r = 0; r < a->others->ranks; ++r) {
        asks->piece_offset[r] = offset;
        for (int k = 0; k < a->arrays; ++k) {
            const wf__ask *ask = &asks->of[r * a->arrays + k];
            offset += elements ? (size_t)ask->n * a->array[k].size : (size_t)ask->words * sizeof *asks->word;
        }
        asks->piece_bytes[r] = offset - asks->piece_offset[r];
    }
}

static wf__parcels pieces_of(const wf__asking *a, const wf__asks *asks, bool elements)
{
    lay_pieces(a, asks, elements);
    return (wf__parcels){ .at = elements ? (void *)asks->element : (void *)asks->word,
                          .bytes = asks->piece_bytes,
                          .offset = asks->piece_offset };
}

bool wf__asking_exchange(wf__asking *a, wf__failure *f)
{
    const wf__others *others = a->others;
    wf__parcels mine = pieces_of(a, &a->mine, false), theirs = pieces_of(a, &a->theirs, false);
    if (!others->all_to_all(others->user, &mine, &theirs, f))
        return false;
    cut(a, a->part);
    if (a->parts)
        wf__pool_run_several(a->run->engine->pool, a->threads, a->parts, &(wf__several){ .least = 1, .most = 16 },
                             answer, a->part);
    if (wf__pool_is_cancelled())
        answer(a->part, 0, a->parts, 0);
    mine = pieces_of(a, &a->mine, true);
    theirs = pieces_of(a, &a->theirs, true);
    return others->all_to_all(others->user, &theirs, &mine, f);
}
