/* test_loader.c - the object loader on good, truncated and corrupted objects, and its memory; detection of the target;
 * the search for LLVM.
 *
 * ctest: threads
 */
#include "run/cache/llvm_find.h"
#include "run/memory/loader.h"
#include "run/cache/target.h"
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- a small object, made by hand: wf_kernel calls fma through a stub and adds a constant of another section ---- */
#if defined(__x86_64__)
enum {
    TEXT = 64,
    TEXT_N = 32,
    DATA = 96,
    DATA_N = 8,
    SYMS = 104,
    SYM_N = 4,
    STRS = SYMS + SYM_N * 24,
    STR_N = 24,
    RELS = STRS + STR_N,
    REL_N = 2,
    HEADS = RELS + REL_N * 24,
    HEAD_N = 7,
    TOTAL = HEADS + HEAD_N * 64
};

/* void wf_kernel(call, lo, hi, acc): *(double *)acc = fma(*(double *)call, *(double *)lo, *(double *)hi) + constant */
static const unsigned char code[TEXT_N] = {
    0x51,                               /* push %rcx */
    0xf2, 0x0f, 0x10, 0x07,             /* movsd (%rdi), %xmm0 */
    0xf2, 0x0f, 0x10, 0x0e,             /* movsd (%rsi), %xmm1 */
    0xf2, 0x0f, 0x10, 0x12,             /* movsd (%rdx), %xmm2 */
    0xe8, 0,    0,    0,    0,          /* call fma */
    0x59,                               /* pop %rcx */
    0xf2, 0x0f, 0x58, 0x05, 0, 0, 0, 0, /* addsd constant(%rip), %xmm0 */
    0xf2, 0x0f, 0x11, 0x01,             /* movsd %xmm0, (%rcx) */
    0xc3,                               /* ret */
};

static void make_object(unsigned char *o)
{
    static const char names[STR_N] = "\0wf_kernel\0fma\0data";
    const double constant = 0.5;
    memset(o, 0, TOTAL);
    Elf64_Ehdr h = { .e_type = ET_REL,
                     .e_machine = EM_X86_64,
                     .e_version = 1,
                     .e_shoff = HEADS,
                     .e_ehsize = 64,
                     .e_shentsize = 64,
                     .e_shnum = HEAD_N,
                     .e_shstrndx = 4 };
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_ident[EI_VERSION] = 1;
    const Elf64_Sym sym[SYM_N] = {
        { 0 },
        { .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_size = TEXT_N },
        { .st_name = 11, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE) },
        { .st_name = 15, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), .st_shndx = 2 },
    };
    const Elf64_Rela rel[REL_N] = {
        { .r_offset = 14, .r_info = ELF64_R_INFO(2, R_X86_64_PLT32), .r_addend = -4 },
        { .r_offset = 23, .r_info = ELF64_R_INFO(3, R_X86_64_PC32), .r_addend = -4 },
    };
    const Elf64_Shdr head[HEAD_N] = {
        { 0 },
        { .sh_type = SHT_PROGBITS,
          .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
          .sh_offset = TEXT,
          .sh_size = TEXT_N,
          .sh_addralign = 16 },
        { .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_offset = DATA, .sh_size = DATA_N, .sh_addralign = 8 },
        { .sh_type = SHT_SYMTAB,
          .sh_offset = SYMS,
          .sh_size = SYM_N * 24,
          .sh_link = 4,
          .sh_entsize = 24,
          .sh_addralign = 8 },
        { .sh_type = SHT_STRTAB, .sh_offset = STRS, .sh_size = STR_N, .sh_addralign = 1 },
        { .sh_type = SHT_RELA, .sh_offset = RELS, .sh_size = REL_N * 24, .sh_link = 3, .sh_info = 1, .sh_entsize = 24 },
        { .sh_type = SHT_NOTE },
    };
    memcpy(o, &h, sizeof h);
    memcpy(o + TEXT, code, TEXT_N);
    memcpy(o + DATA, &constant, 8);
    memcpy(o + SYMS, sym, sizeof sym);
    memcpy(o + STRS, names, STR_N);
    memcpy(o + RELS, rel, sizeof rel);
    memcpy(o + HEADS, head, sizeof head);
}

static void test_good_object(void **state)
{
    (void)state;
    unsigned char object[TOTAL];
    make_object(object);
    wf__str error = { 0 };
    wf__code *c = wf__code_load(object, TOTAL, &error);
    if (!c)
        print_error("%s\n", wf__str_get(&error));
    assert_non_null(c);
    double x[3] = { 3, 4, 5 }, r = 0;
    void *args[3] = { &x[0], &x[1], &x[2] };
    wf__code_entry(c)(args[0], args[1], args[2], (uint64_t *)&r);
    assert_true(r == 17.5);
    assert_true(wf__code_size(c) >= TEXT_N + DATA_N);
    wf__code_free(c);
    wf__code_free(NULL);
}

static void put(unsigned char *object, size_t at, const void *value, size_t n) { memcpy(object + at, value, n); }

/* Code that adds `constant` to its product. */
static wf__code *adding(double constant)
{
    unsigned char object[TOTAL];
    make_object(object);
    put(object, DATA, &constant, sizeof constant);
    return wf__code_load(object, TOTAL, NULL);
}

static bool adds(const wf__code *c, double constant)
{
    double x[3] = { 3, 4, 5 }, r = 0;
    void *args[3] = { &x[0], &x[1], &x[2] };
    wf__code_entry(c)(args[0], args[1], args[2], (uint64_t *)&r);
    return r == 17 + constant;
}

/* Returns how many mappings of this process hold code that is written through another address. */
static int arena_mappings(void)
{
    char line[512];
    int n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        assert_null(strstr(line, " rwx"));
        n += strstr(line, "weft code") != NULL;
    }
    fclose(f);
    return n;
}

/* More pieces of code than an arena has room for, all in use at once. The memory of an arena is freed with its last
 * piece. */
static void test_many(void **state)
{
    (void)state;
    enum { N = 2000 };
    static wf__code *c[N];
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < N; ++i)
            assert_non_null(c[i] = adding(i));
        int most = arena_mappings();
        for (int i = 0; i < N; ++i)
            assert_true(adds(c[i], i));
        for (int i = round; i < N; i += 2)
            wf__code_free(c[i]);
        for (int i = 1 - round; i < N; i += 2)
            assert_true(adds(c[i], i));
        for (int i = 1 - round; i < N; i += 2)
            wf__code_free(c[i]);
        assert_true(most == 0 || (most > 2 && arena_mappings() <= 2));
    }
    for (int i = 0; i < 100 * N; ++i)
        wf__code_free(adding(i));
    assert_true(arena_mappings() <= 2);
}

/* Bytes of memory that arenas hold. */
static long arena_bytes(void)
{
    char line[512];
    long kib = 0;
    bool ours = false, writable = false;
    FILE *f = fopen("/proc/self/smaps", "r");
    if (!f) /* not every system has it */
        return 0;
    while (fgets(line, sizeof line, f)) {
        long rss;
        if (strstr(line, "weft code")) {
            ours = true;
            writable = strstr(line, " rw") != NULL;
        } else if (ours && sscanf(line, "Rss: %ld kB", &rss) == 1) {
            kib += writable ? rss : 0;
            ours = false;
        }
    }
    fclose(f);
    return kib * 1024;
}

/* A piece of code that stays while many neighbours are freed holds a page or two, not an arena. */
static void test_few_stay(void **state)
{
    (void)state;
    enum { STAY = 60, GO = 300 };
    static wf__code *stays[STAY], *goes[GO];
    for (int i = 0; i < STAY; ++i) {
        stays[i] = adding(i);
        for (int k = 0; k < GO; ++k)
            goes[k] = adding(k);
        for (int k = 0; k < GO; ++k)
            wf__code_free(goes[k]);
    }
    assert_true(arena_bytes() <= (2 * STAY + 32) * 4096);
    for (int i = 0; i < STAY; ++i) {
        assert_true(adds(stays[i], i));
        wf__code_free(stays[i]);
    }
    assert_true(arena_bytes() <= 32 * 4096);
}

/* After a fork, parent and child do not overwrite the code of each other. */
static void test_fork(void **state)
{
    (void)state;
    int ready[2], loaded[2], status;
    char byte = 0;
    assert_int_equal(pipe(ready) | pipe(loaded), 0);
    wf__code *before = adding(1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        wf__code *own = adding(2);
        bool ok = own && write(ready[1], &byte, 1) == 1 && read(loaded[0], &byte, 1) == 1;
        ok = ok && adds(own, 2) && adds(before, 1);
        wf__code_free(before);
        wf__code_free(own);
        _exit(!ok);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    wf__code *after = adding(3);
    assert_int_equal(write(loaded[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(adds(before, 1) && adds(after, 3));
    wf__code_free(before);
    wf__code_free(after);
    for (int i = 0; i < 2; ++i) {
        close(ready[i]);
        close(loaded[i]);
    }
}

/* Code that a parent frees stays in memory as long as its child may run it. */
static void test_freed_after_fork(void **state)
{
    (void)state;
    enum { N = 1000 };
    static wf__code *c[N];
    int freed[2], status;
    char byte = 0;
    assert_int_equal(pipe(freed), 0);
    for (int i = 0; i < N; ++i)
        assert_non_null(c[i] = adding(i));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool ok = read(freed[0], &byte, 1) == 1;
        for (int i = 0; i < N; ++i)
            ok = ok && adds(c[i], i);
        _exit(!ok);
    }
    for (int i = 0; i < N; ++i)
        if (i % 100)
            wf__code_free(c[i]);
    assert_int_equal(write(freed[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (int i = 0; i < N; i += 100)
        wf__code_free(c[i]);
    close(freed[0]);
    close(freed[1]);
}

/* A process that may not make files, not even in memory. */
static void test_file_limit(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        wf__code *c = setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 }) ? NULL : adding(4);
        bool ok = c && adds(c, 4);
        wf__code_free(c);
        _exit(!ok);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_truncated(void **state)
{
    (void)state;
    unsigned char object[TOTAL];
    make_object(object);
    for (size_t n = 0; n < TOTAL; n++) {
        unsigned char *exact = malloc(n ? n : 1); /* sanitizers see reads beyond it */
        assert_non_null(exact);
        memcpy(exact, object, n);
        wf__str error = { 0 };
        assert_null(wf__code_load(exact, n, &error));
        assert_true(error.len > 0);
        wf__str_free(&error);
        free(exact);
    }
}

/* Any byte outside the code itself may be anything: it loads or it fails, but never crashes. */
static void test_corrupted(void **state)
{
    (void)state;
    unsigned char object[TOTAL];
    uint64_t r = 88172645463325252u;
    for (int round = 0; round < 100000; round++) {
        make_object(object);
        for (int k = 0; k <= round % 3; k++) {
            r ^= r << 13;
            r ^= r >> 7;
            r ^= r << 17;
            object[r % TOTAL] = (r >> 32) % 3 ? (unsigned char)(r >> 40) : (unsigned char)((r >> 32) % 2 ? 0xff : 0x80);
        }
        wf__str error = { 0 };
        wf__code *c = wf__code_load(object, TOTAL, &error);
        assert_true(c || error.len);
        wf__code_free(c);
        wf__str_free(&error);
    }
}

static void refuse(const unsigned char *object, const char *why)
{
    wf__str error = { 0 };
    assert_null(wf__code_load(object, TOTAL, &error));
    if (!strstr(wf__str_get(&error), why))
        print_error("%s, expected: %s\n", wf__str_get(&error), why);
    assert_non_null(strstr(wf__str_get(&error), why));
    wf__str_free(&error);
}

static void test_refusals(void **state)
{
    (void)state;
    unsigned char object[TOTAL];
    const uint16_t machine = EM_AARCH64;
    make_object(object);
    put(object, offsetof(Elf64_Ehdr, e_machine), &machine, 2);
    refuse(object, "another processor");
    make_object(object);
    put(object, STRS + 11, "fmb", 3);
    refuse(object, "unknown function 'fmb'");
    make_object(object);
    put(object, STRS + 1, "x", 1);
    refuse(object, "no function wf_kernel");
    make_object(object);
    const uint64_t writable = SHF_ALLOC | SHF_WRITE;
    put(object, HEADS + 2 * 64 + offsetof(Elf64_Shdr, sh_flags), &writable, 8);
    refuse(object, "writable");
    make_object(object);
    const uint64_t info = ELF64_R_INFO(3, R_X86_64_TPOFF64);
    put(object, RELS + offsetof(Elf64_Rela, r_info), &info, 8);
    refuse(object, "unknown relocation");
    make_object(object);
    const uint64_t beyond = TEXT_N - 2;
    put(object, RELS + offsetof(Elf64_Rela, r_offset), &beyond, 8);
    refuse(object, "out of its section");
}
#endif

static void test_targets(void **state)
{
    (void)state;
    const wf__target *host = wf__target_host(NULL);
    assert_non_null(host);
    assert_ptr_equal(wf__target_named(host->name), host);
    assert_null(wf__target_named("z80"));
    setenv("WEFT_ISA", "none", 1);
    assert_int_equal(wf__target_host(NULL)->isa, WF__ISA_NONE);
    setenv("WEFT_ISA", "z80", 1);
    assert_ptr_equal(wf__target_host(NULL), host);
    if (host->isa < WF__ISA_SSE42) {
        setenv("WEFT_ISA", "sse4.2", 1);
        assert_int_equal(wf__target_host(NULL)->isa, WF__ISA_SSE42);
    }
    unsetenv("WEFT_ISA");
}

static void test_find(void **state)
{
    (void)state;
    wf__llvm_list list;
    assert_true(wf__llvm_find(&list, 16));
    for (uint32_t i = 0; i < list.n; i++) {
        assert_true(list.at[i].size > 0);
        assert_true(list.at[i].major >= WF__LLVM_MIN && list.at[i].major <= WF__LLVM_MAX);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(list.at[k].path, list.at[i].path);
    }
    if (list.n) { /* by its version */
        char version[16];
        int major = list.at[0].major;
        wf__llvm_list_free(&list);
        snprintf(version, sizeof version, "%d", major);
        setenv("WEFT_LLVM", version, 1);
        assert_true(wf__llvm_find(&list, 16));
        assert_true(list.n > 0);
        for (uint32_t i = 0; i < list.n; i++)
            assert_int_equal(list.at[i].major, major);
    }
    wf__llvm_list_free(&list);
    setenv("WEFT_LLVM", "none", 1);
    assert_true(wf__llvm_find(&list, 16));
    assert_int_equal(list.n, 0);
    setenv("WEFT_LLVM", "/nowhere/libLLVM-19.so", 1);
    assert_true(wf__llvm_find(&list, 16));
    assert_int_equal(list.n, 0);
    wf__llvm_list_free(&list);
    unsetenv("WEFT_LLVM");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(test_good_object),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_few_stay),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_freed_after_fork),
        cmocka_unit_test(test_file_limit),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_corrupted),
        cmocka_unit_test(test_refusals),
#endif
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
