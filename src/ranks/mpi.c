/* mpi.c - wf_ranks_open_mpi: finds out which MPI the process belongs to, and opens the library that was built for it.
 *
 * libweft links no MPI, and nothing here runs before a program calls wf_ranks_open_mpi. If the launcher belongs to another
 * MPI than the library, each process is a group of one rank. So the number of ranks is compared with the one that the
 * launcher has set in the environment.
 */
#include "ranks/mpi.h"
#include "base/os.h"
#include "ranks/ranks.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct mpi_kind {
    const char *name, *title; /* as in WEFT_MPI; in messages */
    const char *library;      /* built with its mpicc (mpi/CMakeLists.txt) */
    bool global;              /* its plugins use its symbols */
    const char *symbol[2];    /* what is in programs that are linked to it */
    const char *soname[2];    /* its libraries: Debian's names, and others */
    const char *variable[2];  /* what its launcher sets: the number of ranks, the own rank */
} mpi_kind;

static const mpi_kind kinds[] = {
    { .name = "openmpi",
      .title = "Open MPI",
      .library = "libweft_mpi-openmpi.so",
      .global = true,
      .symbol = { "ompi_mpi_comm_world" },
      .soname = { "libmpi.so.40" },
      .variable = { "OMPI_COMM_WORLD_SIZE", "PMIX_RANK" } },
    { .name = "mpich",
      .title = "MPICH",
      .library = "libweft_mpi-mpich.so",
      .symbol = { "MPII_Version_string", "MPIR_Version_string" },
      .soname = { "libmpich.so.12", "libmpi.so.12" },
      .variable = { "PMI_SIZE", "PMI_RANK" } },
};

typedef struct search {
    const wf_ranks_mpi_options *options;
    wf__str tried;    /* why libraries could not be opened */
    const char *path; /* what was opened */
    /* What the environment says before MPI is started, which may change it. */
    const mpi_kind *launcher;
    const char *of_launcher, *of_ranks; /* the variables that name the launcher and the number of ranks */
    int launched;
    void *handle;
} search;

static void note(const search *s, const char *format, ...) WF__PRINTF(2, 3);
static void note(const search *s, const char *format, ...)
{
    char text[1000];
    va_list args;
    if (!s->options->log)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    s->options->log(text, s->options->log_user);
}

/* ---- which MPI -------------------------------------------------------------------------------------------------- */

static const mpi_kind *kind_in_process(const search *s)
{
    void *self = wf__dl_open(NULL, NULL);
    const mpi_kind *found = NULL;
    for (size_t k = 0; k < WF__COUNT(kinds) && !found; k++)
        for (size_t i = 0; i < 2 && !found; i++) {
            const char *symbol = kinds[k].symbol[i], *soname = kinds[k].soname[i];
            if (self && symbol && wf__dl_symbol(self, symbol, NULL))
                note(s, "%s: its symbol %s is in the process", (found = &kinds[k])->title, symbol);
            else if (soname && wf__dl_is_open(soname))
                note(s, "%s: its library %s is in the process", (found = &kinds[k])->title, soname);
        }
    wf__dl_close(self);
    if (!found)
        note(s, "no MPI is in the process");
    return found;
}

static const mpi_kind *kind_of_launcher(const char **variable)
{
    for (size_t k = 0; k < WF__COUNT(kinds); k++)
        for (size_t i = 0; i < 2; i++)
            if (wf__getenv(kinds[k].variable[i])) {
                *variable = kinds[k].variable[i];
                return &kinds[k];
            }
    return NULL;
}

static const mpi_kind *kind_named(const char *name)
{
    for (size_t k = 0; k < WF__COUNT(kinds); k++)
        if (strcmp(kinds[k].name, name) == 0)
            return &kinds[k];
    return NULL;
}

/* Takes the number of ranks from this variable, unless another one has said it. */
static void count_by(search *s, const char *variable)
{
    const char *text = wf__getenv(variable);
    if (s->launched > 1 || !text)
        return;
    s->launched = atoi(text);
    s->of_ranks = variable;
}

/* Sets the number of ranks that a launcher says it has started; 1 = none does. */
static void count_launched(search *s)
{
    bool is_rank = false;
    s->launched = 1;
    for (size_t k = 0; k < WF__COUNT(kinds); k++) {
        count_by(s, kinds[k].variable[0]);
        is_rank = is_rank || wf__getenv(kinds[k].variable[1]);
    }
    if (is_rank) /* Slurm sets SLURM_NTASKS also for a batch job that no launcher of ranks has started */
        count_by(s, "SLURM_NTASKS");
}

int wf_ranks_launched(void)
{
    search s = { .launched = 1 };
    count_launched(&s);
    return s.launched > 1 ? s.launched : 1;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static bool open_kind(search *s, const mpi_kind *kind)
{
    wf__str why = { 0 };
    s->handle = wf__dl_open_own(kind->library, kind->global, &why);
    if (s->handle) {
        s->path = kind->library;
        note(s, "%s: opened", kind->library);
    } else {
        note(s, "%s: %s", kind->library, wf__str_get(&why));
        wf__str_addf(&s->tried, "%s%s: %s", s->tried.len ? "; " : "", kind->library, wf__str_get(&why));
    }
    wf__str_free(&why);
    return s->handle != NULL;
}

static bool open_path(search *s, const char *path)
{
    s->handle = wf__dl_open_global(path, &s->tried);
    s->path = path;
    note(s, "%s: %s", path, s->handle ? "opened" : wf__str_get(&s->tried));
    return s->handle != NULL;
}

/* Decides, and opens the library. */
static wf_status find(search *s, wf_ranks_error *error)
{
    const char *named = s->options->library ? s->options->library : wf__getenv("WEFT_MPI");
    const mpi_kind *in_process = kind_in_process(s);
    s->launcher = kind_of_launcher(&s->of_launcher);
    count_launched(s);
    if (s->launcher)
        note(s, "%s: its launcher has set %s", s->launcher->title, s->of_launcher);
    else
        note(s, "no launcher of an MPI has set its variables");
    if (named)
        note(s, "WEFT_MPI is %s", named);
    if (named && strcmp(named, "none") == 0)
        return wf__ranks_error_set(error, WF_ERR_UNSUPPORTED, "WEFT_MPI is none");
    const mpi_kind *kind = in_process ? in_process : named ? kind_named(named) : s->launcher;
    bool opened = false;
    if (kind)
        opened = open_kind(s, kind);
    else if (named)
        opened = open_path(s, named);
    for (size_t k = 0; k < WF__COUNT(kinds) && !opened && !kind && !named; k++)
        opened = open_kind(s, &kinds[k]);
    if (opened)
        return WF_OK;
    return wf__ranks_error_set(error, WF_ERR_UNSUPPORTED,
                               "no library for %s was found (%s); builds of Weft make one for "
                               "each mpicc, and WEFT_MPI names one",
                               kind ? kind->title : "MPI", wf__str_get(&s->tried));
}

/* Fails if the launcher has started more ranks than the library sees. */
static wf_status check_launcher(const search *s, const wf__mpi_opened *opened, wf_ranks_error *error)
{
    const mpi_kind *launcher = s->launcher;
    if (s->options->communicator || opened->group.ranks > 1 || s->launched <= 1)
        return WF_OK;
    return wf__ranks_error_set(error, WF_ERR_UNSUPPORTED,
                               "the launcher of %s has started %d ranks (%s), but %s (%s) sees 1: "
                               "start the program by the mpirun of that library, or choose another by WEFT_MPI%s%s",
                               launcher ? launcher->title : "another MPI", s->launched, s->of_ranks,
                               opened->group.library, s->path, launcher ? "=" : "", launcher ? launcher->name : "");
}

/* All ranks take the longest timeout of all: the variable may be set for some of them only. */
static wf_status take_timeout(wf_ranks *ranks, wf_ranks_error *error)
{
    const char *text = wf__getenv("WEFT_MPI_TIMEOUT");
    char *end = NULL;
    double seconds = text ? strtod(text, &end) : 0;
    bool wrong = text && (*end || !(seconds >= 0 && seconds < 1e9));
    wf_status status =
        wf_ranks_agree(ranks, wrong ? WF_ERR_ARG : WF_OK, "WEFT_MPI_TIMEOUT is no number of seconds", error);
    double *all = status ? NULL : wf__alloc((size_t)ranks->size * sizeof *all);
    if (!status)
        status = wf_ranks_agree(ranks, all ? WF_OK : WF_ERR_MEMORY, "no memory", error);
    if (!status) {
        status = wf_ranks_all_gather(ranks, &seconds, all, (wf_pieces){ .each = sizeof *all });
        if (status && error)
            *error = ranks->error;
    }
    for (int i = 0; i < ranks->size && !status; i++)
        ranks->timeout = all[i] > ranks->timeout ? all[i] : ranks->timeout;
    wf__free(all);
    return status;
}

static wf_status open_group(search *s, wf_ranks **out, wf_ranks_error *error)
{
    wf__mpi_opened opened = { .size = sizeof opened };
    wf__mpi_open_function *open;
    wf_ranks_error why = { .rank = -1 };
    wf_ranks *ranks = NULL;
    void *at = wf__dl_symbol(s->handle, WF__MPI_OPEN, NULL);
    memcpy(&open, &at, sizeof at); /* dlsym returns a pointer to data */
    if (!open) {
        wf__dl_close(s->handle);
        return wf__ranks_error_set(error, WF_ERR_UNSUPPORTED, "%s is no library of Weft for MPI", s->path);
    }
    /* From here on the library stays open: MPI cannot be unloaded once it has started. */
    wf_status status = open(s->options->communicator, &opened, &why);
    if (status)
        return wf__ranks_error_set(error, status, "%s: %s", s->path, why.text);
    note(s, "%s: MPI_THREAD_FUNNELED is needed, %s granted", opened.group.library, opened.threads);
    status = check_launcher(s, &opened, error);
    if (!status)
        status = wf_ranks_new(opened.ops, &opened.group, &ranks, error);
    if (status) {
        opened.ops->close(opened.group.group);
        return status;
    }
    ranks->abort = s->options->abort;
    ranks->abort_user = s->options->abort_user;
    status = take_timeout(ranks, error);
    if (status)
        wf_ranks_free(ranks);
    else
        *out = ranks;
    return status;
}

wf_status wf_ranks_open_mpi(const wf_ranks_mpi_options *options, wf_ranks **out, wf_ranks_error *error)
{
    wf_ranks_mpi_options none = { .size = sizeof none };
    search s = { .options = options ? options : &none };
    if (s.options->size != sizeof none || !out)
        return wf__ranks_error_set(error, WF_ERR_ARG, "wf_ranks_open_mpi: %s",
                                   out ? "options.size is not that of this version" : "out is NULL");
    wf_status status = find(&s, error);
    if (!status)
        status = open_group(&s, out, error);
    wf__str_free(&s.tried);
    return status;
}
