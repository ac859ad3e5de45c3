# Makes the tests that ctest runs. CMake finds them by their file names:
#
#   tests/test_<x>.c    A cmocka program, which may use internal headers. The other files of tests/ are helpers and are
#   emu/tests/          linked into each of these programs. A test that includes <mpfr.h> is linked with MPFR. Files
#                       named codegen_* and test_codegen* are left out of builds without LLVM.
#   tests/blas/         Libraries that test_lib_blas and test_linalg_arrays open.
#   tests/mpi/          mpi_<kind>: run.sh starts program.c by mpirun. It is skipped where that MPI is not installed.
#                       mpi_python_<kind>: python.sh starts program.py, with the Python package of the build.
#   tests/cli/<x>.sh    A script that bash runs as cli_<x>, in an empty folder, with the tool in WEFT and this tree in
#                       WEFT_SOURCE. bench/cli/test.sh runs likewise, as cli_bench. The first line of a script may be
#                       "# ctest: LABEL...", as below.
#   fuzz/fuzz_<x>.c     With WEFT_FUZZ a libFuzzer program. Else, with fuzz/replay_main.c, two tests: fuzz_<x> reads
#                       every file of fuzz/corpus/<x>/, fuzz_<x>_random makes inputs. Here the word `devices` below
#                       means two more tests, on the emulated GPU: cuda_fuzz_<x> and cuda_fuzz_<x>_corpus.
#
# The first comment of a test may end with a line " * ctest: WORD WORD...". A word is one of these runs, each of which
# is a test of its own that runs the program once more:
#
#   devices             cuda_<x>, on the emulated GPU; test_<x> then runs on the processor and in the interpreter, in
#                       builds without LLVM in the interpreter only. For files with RUN_ON_ALL of tests/on_devices.h.
#   sm_70, sm_100       cuda_<x>_70, cuda_<x>_100: the emulated GPU is an older or a newer one.
#   driver              cuda_driver_<x>: Weft takes the emulator for a real driver. It then reuses memory and does not
#                       wait for launches, as on a GPU.
#   baseline            baseline_<x>: kernels are small, as users first meet them. Other tests compile every kernel with
#                       full optimisation, except in builds with a sanitizer, where the first tier compiles all kernels.
#
# or this:
#
#   first_tier          Kernels are compiled by the first tier, as in builds with a sanitizer. The test is about what is
#                       recorded or launched, and other tests compare what the second tier computes.
#   two_tiers           The test is about both tiers, also in builds with a sanitizer.
#
# or one of these labels, by which the stages of .ci/run choose tests (ctest -L, -LE):
#
#   threads             Several threads share what the test uses: the thread sanitizer runs it.
#   gpu                 The test is about GPUs; LLVM does not matter to it.
#   codegen             The test goes through all installed LLVM libraries itself.
#   no_kernels          The test runs no kernel of LLVM's, so that one build and one LLVM show everything.
#   long                The test is long, and other tests run the same code; it runs in fewer builds.
#   failures            The test makes allocations or calls of the system fail, or feeds broken input. Such tests are
#                       long, too, but the address sanitizer runs them.
#   values              The test compares many values. The address sanitizer does not see its run on the emulated GPU.
#   no_llvm             The test also runs in a build without the code generator.
#
# Besides, a run on the emulated GPU has the label `emulated`; the two other kinds of runs, `driver` and `baseline`. The
# word `devices` is a label, too.
#
# With WEFT_TESTS_ONLY or WEFT_TESTS_WITHOUT, labels choose which programs are built, too. Programs that replay the inputs
# of fuzz targets have no label, so WEFT_TESTS_ONLY leaves them out.
#
# All tests share one kernel cache inside the build folder, and those of both tiers another one. Each run of ctest empties
# them first, so that no test runs code of an earlier build. The cache of the user stays untouched.

set(source ${CMAKE_CURRENT_SOURCE_DIR})
set(cache ${CMAKE_CURRENT_BINARY_DIR}/test-cache)
set(scratch ${CMAKE_CURRENT_BINARY_DIR}/test-scratch)
set(devices cpu,interp)
if(NOT WEFT_WITH_LLVM) # the interpreter would run the kernels of both devices
    set(devices interp)
endif()
set(tiered 0)
if(WEFT_SANITIZE) # sanitizers do not see the code of kernels, so its optimisation is time lost
    set(tiered first)
endif()
# Optimised code that other tests have compiled would take the place of baseline code, hence a cache of their own.
set(both_tiers WEFT_TIERED=1 WEFT_CACHE=${cache}/tiers)
set(label_words threads gpu codegen no_kernels long failures values no_llvm)
set(run_words devices sm_70 sm_100 driver baseline first_tier two_tiers)

add_test(NAME fresh_cache COMMAND ${CMAKE_COMMAND} -E rm -rf ${cache})
set_tests_properties(fresh_cache PROPERTIES FIXTURES_SETUP cache)

# weft_test(name command...): a test that runs in an empty folder of its own.
function(weft_test name)
    file(MAKE_DIRECTORY ${scratch}/${name})
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${scratch}/${name})
    set(environment WEFT_CACHE=${cache} WEFT_CACHE_BYTES=2000000000 WEFT_SOURCE=${source}
                    WEFT_CUDA_EMU=$<TARGET_FILE:weft_cuda_emu> WEFT_TIERED=${tiered})
    if(TARGET weft)
        list(APPEND environment WEFT=$<TARGET_FILE:weft>)
    endif()
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED cache TIMEOUT 1500 ENVIRONMENT "${environment}")
endfunction()

# weft_label(label test...): adds the label to the tests.
function(weft_label label)
    set_property(TEST ${ARGN} APPEND PROPERTY LABELS ${label})
endfunction()

# weft_test_words(out file): sets `out` to the words of the line " * ctest: " or "# ctest: " in the file, and refuses
# unknown ones. CMake runs again when the file changes.
function(weft_test_words out file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} words REGEX "^( \\*|#) ctest: " LIMIT_COUNT 1)
    string(REGEX REPLACE "^( \\*|#) ctest: " "" words "${words}")
    separate_arguments(words)
    foreach(word ${words})
        if(NOT word IN_LIST label_words AND NOT word IN_LIST run_words)
            message(FATAL_ERROR "${file}: `${word}` after `ctest:` is none of ${label_words};${run_words}")
        endif()
    endforeach()
    set(${out} ${words} PARENT_SCOPE)
endfunction()

# weft_is_chosen(out words): whether a program or script with these words is tested.
function(weft_is_chosen out words)
    set(chosen ON)
    if(WEFT_TESTS_ONLY AND NOT WEFT_TESTS_ONLY IN_LIST words)
        set(chosen OFF)
    endif()
    foreach(label ${WEFT_TESTS_WITHOUT})
        if(label IN_LIST words)
            set(chosen OFF)
        endif()
    endforeach()
    set(${out} ${chosen} PARENT_SCOPE)
endfunction()

# weft_test_run(test label variable=value...): runs the program ${name} once more in another environment. The test has
# the label and those of the program's file.
macro(weft_test_run test label)
    weft_test(${test} ${name})
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT ${ARGN})
    weft_label(${label} ${test})
    foreach(of_file ${words})
        if(of_file IN_LIST label_words)
            weft_label(${of_file} ${test})
        endif()
    endforeach()
endmacro()

# Programs that replace functions of libc for the library and for no other one. With sanitizers they link the static
# library; tools/mutate, which changes the shared one, runs them with that.
set(weft_replace_libc test_after_failure test_each test_io_distributed_zarr test_io_durable test_io_gzip test_io_killed
                      test_io_memory_fails test_io_zarr_codecs test_system_fails)

# weft_internal(target): a target of ours that may look inside the library; a program links it besides. Tests spend
# their time in the library and in LLVM, so their own code is compiled with less optimisation than the library, which
# halves the time to build them. Undefined behaviour is looked for in the library alone, for the same reason.
function(weft_internal target)
    weft_flags(${target})
    if(WEFT_SANITIZE AND NOT WEFT_FUZZ)
        set(level -O0)
        if(WEFT_SANITIZE MATCHES thread) # it watches each local variable of code that is not optimised
            set(level -O1)
        endif()
        target_compile_options(${target} PRIVATE ${level} -fno-sanitize=undefined)
    elseif(CMAKE_BUILD_TYPE STREQUAL Release)
        target_compile_options(${target} PRIVATE -O1)
    endif()
    target_include_directories(${target} PRIVATE ${source}/include ${source}/src ${source} ${XXHASH_INCLUDE_DIR})
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL EXECUTABLE)
        set(library ${weft_internal_library})
        if(WEFT_SANITIZE AND target IN_LIST weft_replace_libc)
            set(library weft_static)
        endif()
        target_link_libraries(${target} PRIVATE ${library} m)
    endif()
endfunction()

# weft_test_module(name file programs macro): a library that these test programs find at the path in the macro.
function(weft_test_module name file programs macro)
    add_library(${name} MODULE ${source}/${file})
    target_include_directories(${name} PRIVATE ${source}/include ${source}/src)
    foreach(program ${programs})
        if(TARGET ${program})
            add_dependencies(${program} ${name})
            target_compile_definitions(${program} PRIVATE ${macro}="$<TARGET_FILE:${name}>")
        endif()
    endforeach()
endfunction()

if(WEFT_TESTS)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
    pkg_check_modules(MPFR IMPORTED_TARGET mpfr)

    if(MPFR_FOUND AND EXISTS ${source}/tools/ulp.c) # measures the errors of functions: docs/accuracy.md
        add_executable(ulp ${source}/tools/ulp.c ${source}/tools/ulp_exact.c ${source}/tools/ulp_many.c)
        set(fast "-O3;-fno-math-errno;-fno-trapping-math;-ffp-contract=fast")
        if(CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
            list(APPEND fast -march=native -mprefer-vector-width=512) # then glibc's vector functions are called
        endif()
        set_source_files_properties(${source}/tools/ulp_many.c PROPERTIES COMPILE_OPTIONS "${fast}")
        weft_flags(ulp)
        target_include_directories(ulp PRIVATE ${source}/tests)
        target_link_libraries(ulp PRIVATE weft_static PkgConfig::MPFR Threads::Threads m)
        set_target_properties(ulp PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    endif()

    weft_glob(helpers FOLDERS tests emu/tests)
    if(NOT WEFT_WITH_LLVM)
        list(FILTER helpers EXCLUDE REGEX "/(test_)?codegen[^/]*\\.c$")
    endif()
    set(programs ${helpers})
    list(FILTER programs INCLUDE REGEX "/test_[^/]*\\.c$")
    list(FILTER helpers EXCLUDE REGEX "/test_[^/]*\\.c$")
    if(helpers)
        add_library(weft_test_helpers STATIC ${helpers})
        weft_internal(weft_test_helpers)
        target_link_libraries(weft_test_helpers PRIVATE PkgConfig::CMOCKA)
    endif()
    foreach(file ${programs})
        get_filename_component(name ${file} NAME_WE)
        file(STRINGS ${file} needs_mpfr REGEX "^#include <mpfr.h>" LIMIT_COUNT 1)
        if(needs_mpfr AND NOT MPFR_FOUND)
            message(STATUS "${name} is left out: MPFR was not found")
            continue()
        endif()
        weft_test_words(words ${file})
        weft_is_chosen(chosen "${words}")
        if(NOT chosen)
            continue()
        endif()
        add_executable(${name} ${file})
        if(helpers)
            target_link_libraries(${name} PRIVATE weft_test_helpers)
        endif()
        weft_internal(${name})
        add_dependencies(${name} weft_cuda_emu) # tests open it by its path
        target_link_libraries(${name} PRIVATE PkgConfig::CMOCKA)
        if(needs_mpfr)
            target_link_libraries(${name} PRIVATE PkgConfig::MPFR)
        endif()
        file(STRINGS ${file} on_all REGEX "RUN_ON_ALL\\(" LIMIT_COUNT 1)
        if(on_all AND NOT "devices" IN_LIST words)
            message(FATAL_ERROR "${file} has RUN_ON_ALL, but no line ` * ctest: devices` in its first comment")
        endif()
        weft_test(${name} ${name})
        string(REPLACE test_ "" short ${name})
        foreach(word ${words})
            if(word STREQUAL devices)
                set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT WEFT_TEST_DEVICES=${devices})
                weft_label(devices ${name})
                weft_test_run(cuda_${short} emulated WEFT_TEST_DEVICES=cuda-emu)
            elseif(word MATCHES "^sm_([0-9]+)$")
                weft_test_run(cuda_${short}_${CMAKE_MATCH_1} emulated WEFT_TEST_DEVICES=cuda-emu
                              WEFT_EMU_SM=${CMAKE_MATCH_1})
            elseif(word STREQUAL driver)
                weft_test_run(cuda_driver_${short} driver WEFT_TEST_DEVICES=cuda:0
                              WEFT_CUDA=$<TARGET_FILE:weft_cuda_emu>)
            elseif(word STREQUAL baseline)
                if(NOT WEFT_SANITIZE)
                    weft_test_run(baseline_${short} baseline WEFT_TEST_DEVICES=cpu ${both_tiers})
                endif()
            elseif(word STREQUAL first_tier)
                set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT WEFT_TIERED=first)
            elseif(word STREQUAL two_tiers)
                set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${both_tiers})
            else()
                weft_label(${word} ${name})
            endif()
        endforeach()
    endforeach()

    # A BLAS, and a library that is none, for tests to name.
    weft_test_module(fake_blas tests/blas/fake_blas.c test_lib_blas WEFT_FAKE_BLAS)
    weft_test_module(no_blas tests/blas/no_blas.c "test_lib_blas;test_linalg_arrays" WEFT_NO_BLAS)

    # A library for MPI without an MPI, for a test to name.
    weft_test_module(fake_mpi tests/mpi/fake_mpi.c test_ranks_open WEFT_FAKE_MPI)

    # Counts and a model of messages that ranks send, which a program of bench/mpi shares.
    if(TARGET test_ranks_model)
        target_sources(test_ranks_model PRIVATE ${source}/bench/mpi/counted.c ${source}/bench/mpi/model_counts.c
                                                ${source}/bench/mpi/model_launches.c)
    endif()
    foreach(name IN ITEMS test_ranks_neighbours test_ranks_gathers test_ranks_accumulations)
        if(TARGET ${name})
            target_sources(${name} PRIVATE ${source}/bench/mpi/counted.c)
        endif()
    endforeach()

    # Ranks over MPI.
    if(TARGET weft AND TARGET weft_mpi)
        add_executable(mpi_program ${source}/tests/mpi/program.c)
        target_link_libraries(mpi_program PRIVATE weft_test_helpers PkgConfig::CMOCKA)
        weft_internal(mpi_program)
        foreach(kind openmpi mpich)
            weft_test(mpi_${kind} bash ${source}/tests/mpi/run.sh ${kind} ${CMAKE_BINARY_DIR} "${WEFT_MPICC_${kind}}")
            set_tests_properties(mpi_${kind} PROPERTIES SKIP_RETURN_CODE 77 PROCESSORS 4)
            weft_label(no_kernels mpi_${kind})
            weft_test(mpi_python_${kind} bash ${source}/tests/mpi/python.sh ${kind} ${CMAKE_BINARY_DIR}
                      "${WEFT_MPICC_${kind}}")
            set_tests_properties(mpi_python_${kind} PROPERTIES SKIP_RETURN_CODE 77 PROCESSORS 4)
            weft_label(long mpi_python_${kind})
            set_property(TEST mpi_${kind} mpi_python_${kind} APPEND PROPERTY ENVIRONMENT WEFT_TIERED=first)
        endforeach()
    endif()

    # src/lib/io allocates by the C library: the test's own functions make these allocations fail, too.
    foreach(name IN ITEMS test_io_memory_fails test_io_distributed_zarr)
        if(TARGET ${name})
            target_link_options(${name} PRIVATE LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc)
        endif()
    endforeach()

    if(TARGET weft)
        file(GLOB scripts CONFIGURE_DEPENDS ${source}/tests/cli/*.sh)
        foreach(script ${scripts})
            get_filename_component(name ${script} NAME_WE)
            weft_test_words(words ${script})
            weft_is_chosen(chosen "${words}")
            if(NOT chosen)
                continue()
            endif()
            weft_test(cli_${name} bash ${script})
            foreach(word ${words})
                weft_label(${word} cli_${name})
            endforeach()
        endforeach()
    endif()

    # What the source itself must keep.
    add_test(NAME layers COMMAND ${source}/tools/check_layers ${source} ${CMAKE_BINARY_DIR})
    add_test(NAME layers_selftest COMMAND ${source}/tools/check_layers --selftest)
    add_test(NAME circles COMMAND ${source}/tools/check_circles ${CMAKE_BINARY_DIR} ${source})
    add_test(NAME circles_selftest COMMAND ${source}/tools/check_circles --selftest)
    weft_label(no_kernels layers layers_selftest circles circles_selftest)
    find_program(WEFT_PYTHON3 python3)
    if(WEFT_PYTHON3)
        add_test(NAME argument_order COMMAND ${WEFT_PYTHON3} ${source}/tools/check_order)
        weft_label(no_kernels argument_order)
    endif()
    if(NOT WEFT_SANITIZE)
        add_test(NAME exported_symbols COMMAND ${source}/tools/check_symbols $<TARGET_FILE:weft_shared>)
        weft_label(no_kernels exported_symbols)
    endif()
    if(TARGET gen_ops)
        set_target_properties(gen_ops PROPERTIES EXCLUDE_FROM_ALL OFF)
        set_target_properties(gen_numerics PROPERTIES EXCLUDE_FROM_ALL OFF)
        add_test(NAME generated_header
            COMMAND ${source}/tools/check_generated $<TARGET_FILE:gen_ops> $<TARGET_FILE:gen_numerics>)
        weft_label(no_kernels generated_header)
    endif()
endif()

weft_glob(fuzz_files FOLDERS fuzz)
set(random_inputs 50)
if(WEFT_SANITIZE) # libFuzzer programs have the sanitizers and run more inputs
    set(random_inputs 15)
endif()
set(fuzzers ${fuzz_files})
list(FILTER fuzzers INCLUDE REGEX "/fuzz_[^/]*\\.c$")
list(FILTER fuzz_files EXCLUDE REGEX "/(fuzz_[^/]*|replay_main)\\.c$")
if(fuzz_files)
    add_library(weft_fuzz_helpers STATIC ${fuzz_files})
    weft_internal(weft_fuzz_helpers)
endif()
if(WEFT_TESTS_ONLY)
    set(fuzzers)
endif()
if(WEFT_FUZZ)
    add_custom_target(fuzz_programs)
endif()
foreach(file ${fuzzers})
    get_filename_component(name ${file} NAME_WE)
    string(REPLACE fuzz_ "" short ${name})
    if(WEFT_FUZZ)
        add_executable(${name} ${file})
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzz_programs ${name})
    else()
        add_executable(${name} ${file} fuzz/replay_main.c)
        if(EXISTS ${source}/fuzz/corpus/${short})
            weft_test(${name} ${name} ${source}/fuzz/corpus/${short})
        endif()
        weft_test(${name}_random ${name} --random ${random_inputs})
        weft_test_words(words ${file})
        if("devices" IN_LIST words)
            add_dependencies(${name} weft_cuda_emu)
            weft_test(cuda_${name} ${name} --random 100)
            weft_test(cuda_${name}_corpus ${name} ${source}/fuzz/corpus/${short})
            set_property(TEST cuda_${name} cuda_${name}_corpus APPEND PROPERTY ENVIRONMENT WEFT_FUZZ_DEVICE=cuda-emu)
            weft_label(emulated cuda_${name} cuda_${name}_corpus)
        endif()
    endif()
    if(fuzz_files)
        target_link_libraries(${name} PRIVATE weft_fuzz_helpers)
    endif()
    file(STRINGS ${file} needs_emu REGEX "^#include \"emu/" LIMIT_COUNT 1)
    if(needs_emu)
        target_sources(${name} PRIVATE $<TARGET_OBJECTS:weft_emu_objects>)
    endif()
    weft_internal(${name})
endforeach()
