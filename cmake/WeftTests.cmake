# Tests, found by name:
#   tests/test_<x>.c    one cmocka program; may use internal headers; linked with the static library and with every
#                       other tests/*.c, which are helpers. Tests that include <mpfr.h> are linked with MPFR;
#                       files named codegen_* and test_codegen* are left out of builds without LLVM. A long one says
#                       " * ctest runs: a b" in its first comment: it runs as two tests, each with that argument.
#   tests/blas/         libraries that test_lib_blas opens
#   tests/cli/<x>.sh    run by bash in an empty folder, with WEFT=path of the tool and WEFT_SOURCE=this tree
#   bench/cli/test.sh   so, too, as cli_bench
#   fuzz/fuzz_<x>.c     under WEFT_FUZZ a libFuzzer program; otherwise, with fuzz/replay_main.c as its main, a test of
#                       every file of fuzz/corpus/<x>/ and one of random inputs; one that asks for WEFT_FUZZ_DEVICE runs
#                       once more on the emulated GPU, as cuda_fuzz_<x> and cuda_fuzz_<x>_corpus. Other fuzz/*.c are helpers
# All share one kernel cache on disk inside the build folder. It is emptied at the start of each run, so that no test
# ever runs code of an earlier build, and nothing is left in the user's own cache.

set(source ${CMAKE_CURRENT_SOURCE_DIR})
set(cache ${CMAKE_CURRENT_BINARY_DIR}/test-cache)
set(scratch ${CMAKE_CURRENT_BINARY_DIR}/test-scratch)

add_test(NAME fresh_cache COMMAND ${CMAKE_COMMAND} -E rm -rf ${cache})
set_tests_properties(fresh_cache PROPERTIES FIXTURES_SETUP cache)

# weft_test(name command...): runs in its own empty folder.
function(weft_test name)
    file(MAKE_DIRECTORY ${scratch}/${name})
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${scratch}/${name})
    set(environment WEFT_CACHE=${cache} WEFT_SOURCE=${source} WEFT_CUDA_EMU=$<TARGET_FILE:weft_cuda_emu>
                    WEFT_TIERED=0)
    if(TARGET weft)
        list(APPEND environment WEFT=$<TARGET_FILE:weft>)
    endif()
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED cache TIMEOUT 1500 ENVIRONMENT "${environment}")
endfunction()

# weft_internal(target): a program of ours that may look inside the library.
function(weft_internal target)
    weft_flags(${target})
    target_include_directories(${target} PRIVATE ${source}/src ${source} ${XXHASH_INCLUDE_DIR})
    target_link_libraries(${target} PRIVATE weft_static m)
endfunction()

if(WEFT_TESTS)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
    pkg_check_modules(MPFR IMPORTED_TARGET mpfr)

    if(MPFR_FOUND AND EXISTS ${source}/tools/ulp.c) # measures the functions' errors: docs/accuracy.md
        add_executable(ulp EXCLUDE_FROM_ALL ${source}/tools/ulp.c ${source}/tools/ulp_many.c)
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
        add_executable(${name} ${file})
        weft_internal(${name})
        if(helpers)
            target_link_libraries(${name} PRIVATE weft_test_helpers)
        endif()
        add_dependencies(${name} weft_cuda_emu) # opened by path, in the tests of the emulator and of devices
        target_link_libraries(${name} PRIVATE PkgConfig::CMOCKA)
        if(needs_mpfr)
            target_link_libraries(${name} PRIVATE PkgConfig::MPFR)
        endif()
        file(STRINGS ${file} parts REGEX "^ \\* ctest runs: " LIMIT_COUNT 1)
        string(REGEX REPLACE "^ \\* ctest runs: " "" parts "${parts}")
        separate_arguments(parts)
        foreach(part ${parts})
            weft_test(${name}_${part} ${name} ${part})
        endforeach()
        if(NOT parts)
            weft_test(${name} ${name})
        endif()
        file(STRINGS ${file} on_all REGEX "RUN_ON_ALL\\(" LIMIT_COUNT 1) # the emulated GPU is a test of its own: cuda_<x>
        if(on_all)
            string(REPLACE test_ cuda_ on_gpu ${name})
            weft_test(${on_gpu} ${name})
            set_property(TEST ${on_gpu} APPEND PROPERTY ENVIRONMENT WEFT_TEST_DEVICES=cuda-emu)
            set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT WEFT_TEST_DEVICES=cpu,interp)
        endif()
    endforeach()

    # Small kernels as users first meet them; above, all of them are compiled for good.
    foreach(name control control_arrays ewise far half iwise local packets records strides turns vectors views)
        weft_test(baseline_${name} test_${name})
        set_property(TEST baseline_${name} APPEND PROPERTY ENVIRONMENT WEFT_TEST_DEVICES=cpu WEFT_TIERED=1)
    endforeach()

    # The emulator in the driver's place, so that memory is used again and launches are not waited for, as on a GPU.
    foreach(name copy eval freeze host kernel lazy_writes lib_devices lib_devices_reduce lib_product programs
            programs_steps reduce streams)
        weft_test(cuda_driver_${name} test_${name})
        set_property(TEST cuda_driver_${name} APPEND PROPERTY ENVIRONMENT WEFT_TEST_DEVICES=cuda:0
                     WEFT_CUDA=$<TARGET_FILE:weft_cuda_emu>)
    endforeach()

    weft_test(cuda_meet_70 test_meet) # without redux.sync
    set_property(TEST cuda_meet_70 APPEND PROPERTY ENVIRONMENT WEFT_TEST_DEVICES=cuda-emu WEFT_EMU_SM=70)
    weft_test(cuda_records_70 test_records) # without sums of several at once
    set_property(TEST cuda_records_70 APPEND PROPERTY ENVIRONMENT WEFT_TEST_DEVICES=cuda-emu WEFT_EMU_SM=70)
    weft_test(cuda_records_100 test_records) # with accesses of 32 bytes
    set_property(TEST cuda_records_100 APPEND PROPERTY ENVIRONMENT WEFT_TEST_DEVICES=cuda-emu WEFT_EMU_SM=100)

    # A BLAS, and a library that is none, for test_lib_blas to name.
    add_library(fake_blas MODULE ${source}/tests/blas/fake_blas.c)
    add_library(no_blas MODULE ${source}/tests/blas/no_blas.c)
    add_dependencies(test_lib_blas fake_blas no_blas)
    target_compile_definitions(test_lib_blas PRIVATE WEFT_FAKE_BLAS="$<TARGET_FILE:fake_blas>"
                                                     WEFT_NO_BLAS="$<TARGET_FILE:no_blas>")

    if(TARGET weft)
        file(GLOB scripts CONFIGURE_DEPENDS ${source}/tests/cli/*.sh)
        foreach(script ${scripts})
            get_filename_component(name ${script} NAME_WE)
            weft_test(cli_${name} bash ${script})
        endforeach()
    endif()

    # What the source itself must keep.
    add_test(NAME layers COMMAND ${source}/tools/check_layers ${source} ${CMAKE_BINARY_DIR})
    add_test(NAME layers_selftest COMMAND ${source}/tools/check_layers --selftest)
    if(NOT WEFT_SANITIZE)
        add_test(NAME exported_symbols COMMAND ${source}/tools/check_symbols $<TARGET_FILE:weft_shared>)
    endif()
    if(TARGET gen_ops)
        set_target_properties(gen_ops PROPERTIES EXCLUDE_FROM_ALL OFF)
        set_target_properties(gen_numerics PROPERTIES EXCLUDE_FROM_ALL OFF)
        add_test(NAME generated_header
            COMMAND ${source}/tools/check_generated $<TARGET_FILE:gen_ops> $<TARGET_FILE:gen_numerics>)
    endif()
endif()

weft_glob(fuzz_files FOLDERS fuzz)
set(fuzzers ${fuzz_files})
list(FILTER fuzzers INCLUDE REGEX "/fuzz_[^/]*\\.c$")
list(FILTER fuzz_files EXCLUDE REGEX "/(fuzz_[^/]*|replay_main)\\.c$")
if(fuzz_files)
    add_library(weft_fuzz_helpers STATIC ${fuzz_files})
    weft_internal(weft_fuzz_helpers)
endif()
foreach(file ${fuzzers})
    get_filename_component(name ${file} NAME_WE)
    string(REPLACE fuzz_ "" short ${name})
    if(WEFT_FUZZ)
        add_executable(${name} ${file})
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
        add_executable(${name} ${file} fuzz/replay_main.c)
        if(EXISTS ${source}/fuzz/corpus/${short})
            weft_test(${name} ${name} ${source}/fuzz/corpus/${short})
        endif()
        weft_test(${name}_random ${name} --random 50)
        file(STRINGS ${file} on_gpu REGEX "getenv\\(\"WEFT_FUZZ_DEVICE\"\\)" LIMIT_COUNT 1)
        if(on_gpu)
            add_dependencies(${name} weft_cuda_emu)
            weft_test(cuda_${name} ${name} --random 100)
            weft_test(cuda_${name}_corpus ${name} ${source}/fuzz/corpus/${short})
            set_property(TEST cuda_${name} cuda_${name}_corpus APPEND PROPERTY ENVIRONMENT WEFT_FUZZ_DEVICE=cuda-emu)
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
