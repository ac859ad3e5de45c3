# weft_flags(target): sets language, warnings, visibility, numerics and sanitizers of a target of Weft.
# weft_glob(out FOLDERS f... RECURSE f...): sets `out` to the C files of the folders; a missing folder has none.

function(weft_flags target)
    set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
    if(NOT WEFT_TESTS_SHARED)
        set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden)
    endif()
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Werror=switch)
    # Constant folding, the interpreter and generated code agree to the bit, so the compiler must not fuse a*b + c.
    target_compile_options(${target} PRIVATE -ffp-contract=off)
    # C11 without GNU extensions, with the POSIX and Linux interfaces of libc visible.
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    if(WEFT_WITH_LLVM)
        target_compile_definitions(${target} PRIVATE WEFT_WITH_LLVM=1)
    endif()
    if(WEFT_DEBUG_CHECKS)
        target_compile_definitions(${target} PRIVATE WEFT_DEBUG_CHECKS=1)
    endif()
    if(WEFT_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    weft_sanitize(${target})
endfunction()

# weft_sanitize(target): sets the sanitizers alone, for targets without the warnings of Weft (examples). Link options
# are PUBLIC, because users of a library with a sanitizer link its run time.
function(weft_sanitize target)
    set(checks ${WEFT_SANITIZE})
    if(WEFT_FUZZ)
        string(JOIN "," checks ${checks} fuzzer-no-link)
    endif()
    if(checks)
        target_compile_options(${target} PRIVATE -fsanitize=${checks} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=undefined)
        target_link_options(${target} PRIVATE -fsanitize=${checks})
    endif()
endfunction()

function(weft_glob out)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "FOLDERS;RECURSE")
    set(files "")
    foreach(folder ${ARG_FOLDERS})
        file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.c)
        list(APPEND files ${found})
    endforeach()
    foreach(folder ${ARG_RECURSE})
        file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.c)
        list(APPEND files ${found})
    endforeach()
    set(${out} ${files} PARENT_SCOPE)
endfunction()
