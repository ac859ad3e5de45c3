# Tests, found by name:
#   tests/test_<x>.c    one cmocka program; may use internal headers; linked with the static library and with every
#                       other tests/*.c, which are helpers. Tests that include <mpfr.h> are linked with MPFR.
#   tests/cli/<x>.sh    run by bash in an empty folder, with WEFT=path of the tool and WEFT_SOURCE=this tree
#   fuzz/fuzz_<x>.c     under WEFT_FUZZ a libFuzzer program; otherwise, with fuzz/replay_main.c as its main, a test that
#                       runs every file of fuzz/corpus/<x>/
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
    set(environment WEFT_CACHE=${cache} WEFT_SOURCE=${source})
    if(TARGET weft)
        list(APPEND environment WEFT=$<TARGET_FILE:weft>)
    endif()
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED cache TIMEOUT 600 ENVIRONMENT "${environment}")
endfunction()

# weft_internal(target): a program of ours that may look inside the library.
function(weft_internal target)
    weft_flags(${target})
    target_include_directories(${target} PRIVATE ${source}/src ${XXHASH_INCLUDE_DIR})
    target_link_libraries(${target} PRIVATE weft_static m)
endfunction()

if(WEFT_TESTS)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
    pkg_check_modules(MPFR IMPORTED_TARGET mpfr)

    weft_glob(helpers FOLDERS tests)
    set(programs ${helpers})
    list(FILTER programs INCLUDE REGEX "/test_[^/]*\\.c$")
    list(FILTER helpers EXCLUDE REGEX "/test_[^/]*\\.c$")
    if(helpers)
        add_library(weft_test_helpers OBJECT ${helpers})
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
        target_link_libraries(${name} PRIVATE PkgConfig::CMOCKA)
        if(needs_mpfr)
            target_link_libraries(${name} PRIVATE PkgConfig::MPFR)
        endif()
        if(helpers)
            target_sources(${name} PRIVATE $<TARGET_OBJECTS:weft_test_helpers>)
        endif()
        weft_test(${name} ${name})
    endforeach()

    if(TARGET weft)
        file(GLOB scripts CONFIGURE_DEPENDS ${source}/tests/cli/*.sh)
        foreach(script ${scripts})
            get_filename_component(name ${script} NAME_WE)
            weft_test(cli_${name} bash ${script})
        endforeach()
    endif()

    # What the source itself must keep.
    add_test(NAME layers COMMAND ${source}/tools/check_layers)
    add_test(NAME layers_selftest COMMAND ${source}/tools/check_layers --selftest)
    if(NOT WEFT_SANITIZE)
        add_test(NAME exported_symbols COMMAND ${source}/tools/check_symbols $<TARGET_FILE:weft_shared>)
    endif()
    if(TARGET gen_ops)
        set_target_properties(gen_ops PROPERTIES EXCLUDE_FROM_ALL OFF)
        add_test(NAME generated_header COMMAND ${source}/tools/check_generated $<TARGET_FILE:gen_ops>)
    endif()
endif()

weft_glob(fuzzers FOLDERS fuzz)
list(FILTER fuzzers INCLUDE REGEX "/fuzz_[^/]*\\.c$")
foreach(file ${fuzzers})
    get_filename_component(name ${file} NAME_WE)
    string(REPLACE fuzz_ "" short ${name})
    file(MAKE_DIRECTORY ${scratch}/${name})
    if(WEFT_FUZZ)
        add_executable(${name} ${file})
        weft_internal(${name})
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    elseif(EXISTS ${source}/fuzz/replay_main.c)
        add_executable(${name} ${file} ${source}/fuzz/replay_main.c)
        weft_internal(${name})
        weft_test(${name} ${name} ${source}/fuzz/corpus/${short})
    endif()
endforeach()
