/* test_ranks_open.c - how wf_ranks_open_mpi chooses and opens a library, with one that uses no MPI (mpi/fake_mpi.c). Tests
 * over MPI itself are in tests/mpi.
 *
 * ctest: no_kernels
 */
#include <dlfcn.h>
#include "ranks/ranks.h"
#include "weft_test.h"

static const char *const variables[] = { "WEFT_MPI", "WEFT_MPI_TIMEOUT", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK",
                                         "PMI_SIZE", "PMI_RANK",         "SLURM_NTASKS" };
static char lines[4000];

static void keep(const char *text, void *user)
{
    assert_ptr_equal(user, lines);
    size_t n = strlen(lines);
    snprintf(lines + n, sizeof lines - n, "%s\n", text);
}

static int clean(void **state)
{
    (void)state;
    for (size_t i = 0; i < WF__COUNT(variables); i++)
        unsetenv(variables[i]);
    *lines = 0;
    return 0;
}

/* The number in a variable of the library. */
static int number_of(const char *variable)
{
    void *library = dlopen(WEFT_FAKE_MPI, RTLD_LAZY | RTLD_LOCAL);
    int *number = library ? dlsym(library, variable) : NULL;
    assert_non_null(number);
    return *number;
}

static int closed(void) { return number_of("fake_mpi_closed"); }

/* Opens `library`, or what WEFT_MPI names, and fails with a text that has this part. */
static void fails(wf_status expected, const char *part, const char *library, const void *communicator)
{
    wf_ranks_mpi_options o = {
        .size = sizeof o, .library = library, .communicator = communicator, .log = keep, .log_user = lines
    };
    wf_ranks *ranks = (wf_ranks *)lines;
    wf_ranks_error e = { 0 };
    assert_int_equal(wf_ranks_open_mpi(&o, &ranks, &e), expected);
    assert_ptr_equal(ranks, lines); /* untouched */
    assert_int_equal(e.status, expected);
    EXPECT_PART(e.text, part);
    assert_int_equal(wf_ranks_open_mpi(&o, &ranks, NULL), expected);
}

static wf_ranks *opens(const char *library, const void *communicator)
{
    wf_ranks_mpi_options o = {
        .size = sizeof o, .library = library, .communicator = communicator, .log = keep, .log_user = lines
    };
    wf_ranks *ranks = NULL;
    wf_ranks_error e = { 0 };
    if (wf_ranks_open_mpi(&o, &ranks, &e) != WF_OK)
        fail_msg("%s", e.text);
    return ranks;
}

static void opened(void **state)
{
    (void)state;
    int before = closed();
    wf_ranks *ranks = opens(WEFT_FAKE_MPI, NULL);
    assert_string_equal(wf_ranks_library(ranks), "Fake 7.5");
    assert_string_equal(wf_ranks_host(ranks, 0), "somewhere");
    assert_int_equal(wf_ranks_size(ranks), 1);
    assert_true(ranks->timeout == 0);
    EXPECT_PART(lines, "no MPI is in the process\n");
    EXPECT_PART(lines, "no launcher of an MPI has set its variables\n");
    EXPECT_PART(lines, "WEFT_MPI is " WEFT_FAKE_MPI "\n");
    EXPECT_PART(lines, WEFT_FAKE_MPI ": opened\n");
    EXPECT_PART(lines, "MPI_THREAD_FUNNELED is needed, MPI_THREAD_SINGLE granted\n");
    assert_int_equal(closed(), before);
    wf_ranks_free(ranks);
    assert_int_equal(closed(), before + 1);
    setenv("WEFT_MPI", WEFT_FAKE_MPI, 1); /* the environment names it, too; the option goes before */
    wf_ranks_free(opens(NULL, NULL));
    fails(WF_ERR_UNSUPPORTED, "WEFT_MPI is none", "none", NULL);
}

static void not_there(void **state)
{
    (void)state;
    wf_ranks *ranks = NULL;
    wf_ranks_error e;
    wf_ranks_mpi_options o = { .size = 4 };
    assert_int_equal(wf_ranks_open_mpi(&o, &ranks, &e), WF_ERR_ARG);
    EXPECT_PART(e.text, "options.size");
    assert_int_equal(wf_ranks_open_mpi(NULL, NULL, &e), WF_ERR_ARG);
    EXPECT_PART(e.text, "out is NULL");
    fails(WF_ERR_UNSUPPORTED, "no library for MPI was found (/no/such/library.so: ", "/no/such/library.so", NULL);
    EXPECT_PART(lines, "/no/such/library.so: ");
    fails(WF_ERR_UNSUPPORTED, "libm.so.6 is no library of Weft for MPI", "libm.so.6", NULL);
    fails(WF_ERR_BACKEND, WEFT_FAKE_MPI ": the communicator is broken", WEFT_FAKE_MPI, "broken");
    setenv("WEFT_MPI", "none", 1);
    fails(WF_ERR_UNSUPPORTED, "WEFT_MPI is none", NULL, NULL);
}

static void other_launcher(void **state)
{
    (void)state;
    int before = closed();
    setenv("PMI_SIZE", "4", 1);
    fails(WF_ERR_UNSUPPORTED, "the launcher of MPICH has started 4 ranks (PMI_SIZE), but Fake 7.5 (", WEFT_FAKE_MPI,
          NULL);
    EXPECT_PART(lines, "MPICH: its launcher has set PMI_SIZE\n");
    assert_int_equal(closed(), before + 2);
    wf_ranks_free(
        opens(WEFT_FAKE_MPI, "one rank of many")); /* the program's communicator may be as small as it likes */
    setenv("PMI_SIZE", "1", 1);
    wf_ranks_free(opens(WEFT_FAKE_MPI, NULL));
    setenv("SLURM_NTASKS", "3", 1); /* a batch job of three; the program was not started by its launcher */
    unsetenv("PMI_SIZE");
    wf_ranks_free(opens(WEFT_FAKE_MPI, NULL));
    setenv("PMIX_RANK", "2", 1);
    fails(WF_ERR_UNSUPPORTED, "the launcher of Open MPI has started 3 ranks (SLURM_NTASKS)", WEFT_FAKE_MPI, NULL);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    fails(WF_ERR_UNSUPPORTED, "has started 2 ranks (OMPI_COMM_WORLD_SIZE), but Fake 7.5", WEFT_FAKE_MPI, NULL);
}

static void timeouts(void **state)
{
    (void)state;
    int before = closed();
    static const char *const wrong[] = { "x", "-1", "3s", "nan", "1e30" };
    for (size_t i = 0; i < WF__COUNT(wrong); i++) {
        setenv("WEFT_MPI_TIMEOUT", wrong[i], 1);
        fails(WF_ERR_ARG, "WEFT_MPI_TIMEOUT is no number of seconds", WEFT_FAKE_MPI, NULL);
    }
    assert_int_equal(closed(), before + 2 * (int)WF__COUNT(wrong));
    setenv("WEFT_MPI_TIMEOUT", "2.5", 1);
    wf_ranks *ranks = opens(WEFT_FAKE_MPI, NULL);
    assert_true(ranks->timeout == 2.5);
    wf_ranks_free(ranks);
}

static void keep_abort(const char *text, void *user)
{
    assert_int_not_equal(number_of("fake_mpi_aborted"), 7); /* the job has not ended */
    keep(text, user);
}

static void aborts(void **state)
{
    (void)state;
    wf_ranks_mpi_options o = { .size = sizeof o, .library = WEFT_FAKE_MPI, .abort = keep_abort, .abort_user = lines };
    wf_ranks *ranks = NULL, *part = NULL;
    assert_int_equal(wf_ranks_open_mpi(&o, &ranks, NULL), WF_OK);
    assert_int_equal(wf_ranks_split(ranks, 0, 0, &part), WF_OK);
    wf_ranks_abort(part, 6, "the part has no memory");
    assert_int_equal(number_of("fake_mpi_aborted"), 6);
    wf_ranks_abort(ranks, 7, NULL);
    assert_int_equal(number_of("fake_mpi_aborted"), 7);
    assert_string_equal(lines, "the part has no memory\n\n");
    wf_ranks_free(part);
    wf_ranks_free(ranks);
    wf_ranks *silent = opens(WEFT_FAKE_MPI, NULL); /* without the option */
    wf_ranks_abort(silent, 8, "no function gets this text");
    assert_int_equal(number_of("fake_mpi_aborted"), 8);
    wf_ranks_free(silent);
}

static void no_memory(void **state)
{
    (void)state;
    wf_status status = WF_ERR_MEMORY;
    wf_ranks_mpi_options o = { .size = sizeof o, .library = WEFT_FAKE_MPI };
    int before = closed(), failures = 0;
    for (long n = 0; status; n++, failures++) {
        wf_ranks *ranks = NULL;
        wf__alloc_fail_after(n);
        status = wf_ranks_open_mpi(&o, &ranks, NULL);
        wf__alloc_fail_after(-1);
        assert_true(status == WF_OK || status == WF_ERR_MEMORY);
        wf_ranks_free(ranks);
    }
    assert_true(closed() >= before + 1);
#ifdef WEFT_DEBUG_CHECKS
    assert_true(failures > 4);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(opened, clean),         cmocka_unit_test_setup(not_there, clean),
        cmocka_unit_test_setup(other_launcher, clean), cmocka_unit_test_setup(timeouts, clean),
        cmocka_unit_test_setup(aborts, clean),         cmocka_unit_test_setup(no_memory, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
