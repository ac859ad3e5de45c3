/* loader.c - a linker for one relocatable object: lays the sections out in one piece of memory, applies relocations,
 * and makes stubs for the functions of libc and libm that generated code may call.
 *
 * Every offset, size, index and name in the object is checked before it is used.
 */
#include "run/memory/loader.h"
#include "run/memory/code_memory.h"
#include <elf.h>
#include <math.h>

struct wf__code {
    wf__code_memory memory;
    wf__entry *entry;
};

/* Functions that generated code may call: LLVM uses them for operations without an instruction of the processor. */
typedef void any_function(void);
static const struct external {
    const char *name;
    any_function *address;
} externals[] = {
    { "fma", (any_function *)fma },       { "fmaf", (any_function *)fmaf },       { "memcpy", (any_function *)memcpy },
    { "memset", (any_function *)memset }, { "memmove", (any_function *)memmove }, { "floor", (any_function *)floor },
    { "floorf", (any_function *)floorf }, { "ceil", (any_function *)ceil },       { "ceilf", (any_function *)ceilf },
    { "rint", (any_function *)rint },     { "rintf", (any_function *)rintf },     { "trunc", (any_function *)trunc },
    { "truncf", (any_function *)truncf },
};
enum { STUB = 16 }; /* bytes of a jump and its address, naturally aligned */

typedef struct linker {
    const unsigned char *at; /* the object */
    size_t n;
    wf__str *error;
    Elf64_Ehdr header;
    uint64_t *place;            /* [sections]: offset in the memory; UINT64_MAX = not loaded */
    size_t bytes, align, stubs; /* stubs: offset of the first stub */
    unsigned char *write, *run; /* addresses of the memory for writing and for running */
    const unsigned char *symbols, *names;
    uint64_t symbol_n, names_n;
} linker;

static bool refuse_object(const linker *k, const char *what)
{
    if (k->error)
        wf__str_addf(k->error, "kernel object: %s", what);
    return false;
}

static bool inside(const linker *k, uint64_t offset, uint64_t bytes)
{
    return offset <= k->n && bytes <= k->n - offset;
}

static Elf64_Shdr section(const linker *k, uint64_t i)
{
    Elf64_Shdr s;
    memcpy(&s, k->at + k->header.e_shoff + i * sizeof s, sizeof s);
    return s;
}

static Elf64_Sym symbol(const linker *k, uint64_t i)
{
    Elf64_Sym s;
    memcpy(&s, k->symbols + i * sizeof s, sizeof s);
    return s;
}

/* Returns a zero-terminated name in the string table; NULL = none. */
static const char *name_at(const linker *k, uint32_t offset)
{
    if (offset >= k->names_n || !memchr(k->names + offset, 0, k->names_n - offset))
        return NULL;
    return (const char *)k->names + offset;
}

static bool check_header(linker *k)
{
#if defined(__aarch64__)
    const unsigned machine = EM_AARCH64;
#else
    const unsigned machine = EM_X86_64;
#endif
    if (k->n < sizeof k->header)
        return refuse_object(k, "truncated header");
    memcpy(&k->header, k->at, sizeof k->header);
    const Elf64_Ehdr *h = &k->header;
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_REL)
        return refuse_object(k, "not a relocatable ELF64 file");
    if (h->e_machine != machine)
        return refuse_object(k, "made for another processor");
    if (h->e_shentsize != sizeof(Elf64_Shdr) || !h->e_shnum || !inside(k, h->e_shoff, h->e_shnum * sizeof(Elf64_Shdr)))
        return refuse_object(k, "section table out of range");
    return true;
}

static bool find_symbols(linker *k)
{
    for (unsigned i = 0; i < k->header.e_shnum; i++) {
        Elf64_Shdr s = section(k, i);
        if (s.sh_type != SHT_SYMTAB)
            continue;
        if (k->symbols || s.sh_entsize != sizeof(Elf64_Sym) || !inside(k, s.sh_offset, s.sh_size) ||
            s.sh_link >= k->header.e_shnum)
            return refuse_object(k, "symbol table out of range");
        Elf64_Shdr names = section(k, s.sh_link);
        if (names.sh_type != SHT_STRTAB || !inside(k, names.sh_offset, names.sh_size))
            return refuse_object(k, "string table out of range");
        k->symbols = k->at + s.sh_offset;
        k->symbol_n = s.sh_size / sizeof(Elf64_Sym);
        k->names = k->at + names.sh_offset;
        k->names_n = names.sh_size;
    }
    return k->symbols ? true : refuse_object(k, "no symbol table");
}

/* Gives a place to every allocated section, and to a stub for each external function. */
static bool lay_out(linker *k)
{
    size_t top = 0;
    for (unsigned i = 0; i < k->header.e_shnum; i++) {
        Elf64_Shdr s = section(k, i);
        k->place[i] = UINT64_MAX;
        if (!(s.sh_flags & SHF_ALLOC) || !s.sh_size)
            continue;
        if (s.sh_type != SHT_PROGBITS && s.sh_type != SHT_NOTE && s.sh_type != SHT_X86_64_UNWIND)
            return refuse_object(k, "section of an unexpected type");
        if (s.sh_flags & (SHF_WRITE | SHF_TLS))
            return refuse_object(k, "writable section");
        uint64_t align = s.sh_addralign ? s.sh_addralign : 1;
        if (align > 4096 || (align & (align - 1)) || !inside(k, s.sh_offset, s.sh_size))
            return refuse_object(k, "section out of range");
        top = (top + align - 1) & ~(size_t)(align - 1);
        k->align = align > k->align ? align : k->align;
        k->place[i] = top;
        if (!wf__add_size(top, s.sh_size, &top) || top > (size_t)1 << 30)
            return refuse_object(k, "too large");
    }
    k->stubs = (top + STUB - 1) & ~(size_t)(STUB - 1);
    k->bytes = k->stubs + STUB * WF__COUNT(externals);
    return true;
}

static void write_stub(unsigned char *at, any_function *target)
{
#if defined(__aarch64__)
    static const uint32_t jump[2] = { 0x58000050, 0xd61f0200 }; /* ldr x16, [pc, #8]; br x16 */
    memcpy(at, jump, sizeof jump);
#else
    static const unsigned char jump[8] = { 0xff, 0x25, 2, 0, 0, 0, 0x90, 0x90 }; /* jmp *2(%rip); nop; nop */
    memcpy(at, jump, sizeof jump);
#endif
    memcpy(at + 8, &target, sizeof target);
}

static void copy_sections(linker *k)
{
    for (unsigned i = 0; i < k->header.e_shnum; i++) {
        if (k->place[i] == UINT64_MAX)
            continue;
        Elf64_Shdr s = section(k, i);
        memcpy(k->write + k->place[i], k->at + s.sh_offset, s.sh_size);
    }
    for (size_t i = 0; i < WF__COUNT(externals); i++)
        write_stub(k->write + k->stubs + i * STUB, externals[i].address);
}

/* Sets the address of symbol i. *stub: the symbol is external, and the address is that of its stub. */
static bool resolve_symbol(const linker *k, uint64_t i, uint64_t *address, bool *stub)
{
    if (i >= k->symbol_n)
        return refuse_object(k, "symbol number out of range");
    Elf64_Sym s = symbol(k, i);
    *stub = s.st_shndx == SHN_UNDEF;
    if (*stub) {
        const char *name = name_at(k, s.st_name);
        for (size_t e = 0; name && e < WF__COUNT(externals); e++)
            if (!strcmp(name, externals[e].name)) {
                *address = (uint64_t)(uintptr_t)(k->run + k->stubs + e * STUB);
                return true;
            }
        if (k->error)
            wf__str_addf(k->error, "kernel object: needs the unknown function '%.64s'", name ? name : "?");
        return false;
    }
    if (s.st_shndx >= k->header.e_shnum || k->place[s.st_shndx] == UINT64_MAX)
        return refuse_object(k, "symbol in a section that is not loaded");
    if (s.st_value > section(k, s.st_shndx).sh_size)
        return refuse_object(k, "symbol out of its section");
    *address = (uint64_t)(uintptr_t)k->run + k->place[s.st_shndx] + s.st_value;
    return true;
}

typedef struct patch {
    unsigned char *at; /* the bytes to change */
    uint64_t room;     /* bytes up to the end of the section */
    uint64_t address;  /* address of these bytes when the code runs */
    uint64_t value;    /* symbol + addend */
    uint64_t slot;     /* address of the stub's jump address, for an external symbol; else 0 */
    unsigned type;
} patch;

static bool put32(const linker *k, const patch *p, uint64_t value)
{
    if (p->room < 4)
        return refuse_object(k, "relocation out of its section");
    if ((int64_t)value != (int32_t)value)
        return refuse_object(k, "relocation does not reach");
    uint32_t v = (uint32_t)value;
    memcpy(p->at, &v, 4);
    return true;
}

static bool put64(const linker *k, const patch *p, uint64_t value)
{
    if (p->room < 8)
        return refuse_object(k, "relocation out of its section");
    memcpy(p->at, &value, 8);
    return true;
}

#if defined(__aarch64__)
/* Replaces `bits` bits of an instruction, starting at bit `shift`. */
static bool put_field(const linker *k, const patch *p, uint64_t value, unsigned shift, unsigned bits)
{
    if (p->room < 4)
        return refuse_object(k, "relocation out of its section");
    uint32_t word, mask = ((1u << bits) - 1) << shift;
    memcpy(&word, p->at, 4);
    word = (word & ~mask) | (((uint32_t)value << shift) & mask);
    memcpy(p->at, &word, 4);
    return true;
}

static bool apply_patch(const linker *k, const patch *p)
{
    switch (p->type) {
    case R_AARCH64_NONE:
        return true;
    case R_AARCH64_ABS64:
        return put64(k, p, p->value);
    case R_AARCH64_PREL64:
        return put64(k, p, p->value - p->address);
    case R_AARCH64_PREL32:
        return put32(k, p, p->value - p->address);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        return put_field(k, p, (p->value - p->address) >> 2, 0, 26);
    case R_AARCH64_ADR_PREL_PG_HI21: {
        uint64_t pages = ((p->value & ~(uint64_t)4095) - (p->address & ~(uint64_t)4095)) >> 12;
        return put_field(k, p, pages & 3, 29, 2) && put_field(k, p, pages >> 2, 5, 19);
    }
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
        return put_field(k, p, p->value & 4095, 10, 12);
    case R_AARCH64_LDST16_ABS_LO12_NC:
        return put_field(k, p, (p->value & 4095) >> 1, 10, 12);
    case R_AARCH64_LDST32_ABS_LO12_NC:
        return put_field(k, p, (p->value & 4095) >> 2, 10, 12);
    case R_AARCH64_LDST64_ABS_LO12_NC:
        return put_field(k, p, (p->value & 4095) >> 3, 10, 12);
    case R_AARCH64_LDST128_ABS_LO12_NC:
        return put_field(k, p, (p->value & 4095) >> 4, 10, 12);
    default:
        return refuse_object(k, "unknown relocation");
    }
}
#else
static bool apply_patch(const linker *k, const patch *p)
{
    switch (p->type) {
    case R_X86_64_NONE:
        return true;
    case R_X86_64_64:
        return put64(k, p, p->value);
    case R_X86_64_PC64:
        return put64(k, p, p->value - p->address);
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        return put32(k, p, p->value - p->address);
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        return p->slot ? put32(k, p, p->slot - p->address) : refuse_object(k, "relocation through an unknown table");
    default:
        return refuse_object(k, "unknown relocation");
    }
}
#endif

static bool relocate_section(const linker *k, const Elf64_Shdr *rel)
{
    if (rel->sh_info >= k->header.e_shnum || k->place[rel->sh_info] == UINT64_MAX)
        return true; /* relocations of a section that is not loaded */
    if (rel->sh_type == SHT_REL)
        return refuse_object(k, "relocations without addends");
    if (rel->sh_entsize != sizeof(Elf64_Rela) || !inside(k, rel->sh_offset, rel->sh_size))
        return refuse_object(k, "relocations out of range");
    Elf64_Shdr target = section(k, rel->sh_info);
    for (uint64_t i = 0; i < rel->sh_size / sizeof(Elf64_Rela); i++) {
        Elf64_Rela r;
        memcpy(&r, k->at + rel->sh_offset + i * sizeof r, sizeof r);
        uint64_t address;
        bool stub;
        if (r.r_offset >= target.sh_size)
            return refuse_object(k, "relocation out of its section");
        if (!resolve_symbol(k, ELF64_R_SYM(r.r_info), &address, &stub))
            return false;
        uint64_t place = k->place[rel->sh_info] + r.r_offset;
        patch p = { .at = k->write + place,
                    .room = target.sh_size - r.r_offset,
                    .address = (uint64_t)(uintptr_t)k->run + place,
                    .value = address + (uint64_t)r.r_addend,
                    .type = (unsigned)ELF64_R_TYPE(r.r_info),
                    .slot = stub ? address + 8 + (uint64_t)r.r_addend : 0 };
        if (!apply_patch(k, &p))
            return false;
    }
    return true;
}

static bool relocate(const linker *k)
{
    for (unsigned i = 0; i < k->header.e_shnum; i++) {
        Elf64_Shdr s = section(k, i);
        if ((s.sh_type == SHT_RELA || s.sh_type == SHT_REL) && !relocate_section(k, &s))
            return false;
    }
    return true;
}

static bool find_entry(const linker *k, wf__entry **entry)
{
    for (uint64_t i = 0; i < k->symbol_n; i++) {
        Elf64_Sym s = symbol(k, i);
        const char *name = name_at(k, s.st_name);
        if (!name || strcmp(name, "wf_kernel") != 0 || s.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s.st_info) != STT_FUNC)
            continue;
        uint64_t address;
        bool stub;
        if (!resolve_symbol(k, i, &address, &stub))
            return false;
        Elf64_Shdr home = section(k, s.st_shndx);
        if (!(home.sh_flags & SHF_EXECINSTR) || s.st_value >= home.sh_size)
            return refuse_object(k, "wf_kernel is not code");
        void *at = (void *)(uintptr_t)address;
        memcpy(entry, &at, sizeof at);
        return true;
    }
    return refuse_object(k, "no function wf_kernel");
}

static bool link_object(linker *k, wf__code *code)
{
    k->place = wf__alloc(sizeof *k->place * k->header.e_shnum);
    if (!k->place)
        return refuse_object(k, "out of memory");
    if (!lay_out(k))
        return false;
    if (!wf__code_memory_new(&code->memory, k->bytes, k->align))
        return refuse_object(k, "no memory for code");
    k->write = code->memory.write;
    k->run = code->memory.run;
    copy_sections(k);
    if (!relocate(k) || !find_entry(k, &code->entry))
        return false;
    if (!wf__code_memory_finish(&code->memory))
        return refuse_object(k, "the system does not let memory become executable");
    return true;
}

wf__code *wf__code_load(const void *object, size_t n, wf__str *error)
{
    linker k = { .at = object, .n = n, .error = error };
    wf__code *code = wf__alloc0(sizeof *code);
    if (!code) {
        refuse_object(&k, "out of memory");
        return NULL;
    }
    bool ok = check_header(&k) && find_symbols(&k) && link_object(&k, code);
    wf__free(k.place);
    if (ok)
        return code;
    wf__code_free(code);
    return NULL;
}

wf__entry *wf__code_entry(const wf__code *code) { return code->entry; }

size_t wf__code_size(const wf__code *code) { return code->memory.bytes; }

void wf__code_free(wf__code *code)
{
    if (!code)
        return;
    wf__code_memory_free(&code->memory);
    wf__free(code);
}
