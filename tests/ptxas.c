/* ptxas.c - see ptxas.h. Many kernels become one module, because starting the assembler takes longer than assembling
 * most kernels. */
#include "ptxas.h"
#include "base/base.h"
#include "weft_test.h"
#include <unistd.h>

enum { MOST = 4096, MOST_ARCH = 16 };
static struct {
    int arch;
    unsigned n;
    uint64_t hash[MOST];
    wf__str text;
    char header[128];
} module[MOST_ARCH];

static const char *assemblers(void)
{
    const char *given = getenv("WEFT_PTXAS");
    return given && *given ? given : "ptxas:/usr/local/cuda/bin/ptxas";
}

/* Runs a command, whose output goes to `said`. Returns its exit status. */
static int run(const char *command, wf__str *said)
{
    char line[1024];
    FILE *f = popen(command, "r");
    if (!f)
        return -1;
    while (fgets(line, sizeof line, f))
        wf__str_add(said, line);
    return pclose(f);
}

static int assemble(const char *program, int as, const char *text, wf__str *said)
{
    char source[] = "/tmp/weft-ptx-XXXXXX", command[1024];
    int fd = mkstemp(source);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    snprintf(command, sizeof command, "'%s' -O0 -arch=sm_%d -o /dev/null '%s' 2>&1", program, as, source);
    int status = run(command, said);
    unlink(source);
    return status;
}

/* Returns an assembler for the architecture, or NULL. It is searched for once. */
static const char *find(int as)
{
    static struct {
        int as;
        char program[1024];
    } known[MOST_ARCH];
    char list[4096], empty[128];
    int k = 0;
    while (k < MOST_ARCH && known[k].as && known[k].as != as)
        ++k;
    assert_true(k < MOST_ARCH);
    if (known[k].as)
        return *known[k].program ? known[k].program : NULL;
    known[k].as = as;
    snprintf(list, sizeof list, "%s", assemblers());
    snprintf(empty, sizeof empty, ".version %s\n.target sm_%d\n.address_size 64\n", as < 100 ? "7.8" : "8.7", as);
    for (char *p = strtok(list, ":"); p; p = strtok(NULL, ":")) {
        wf__str said = { 0 };
        bool ok = assemble(p, as, empty, &said) == 0;
        wf__str_free(&said);
        if (ok) {
            snprintf(known[k].program, sizeof known[k].program, "%s", p);
            return known[k].program;
        }
    }
    return NULL;
}

bool ptxas_found(void)
{
    static bool said;
    bool found = find(80) != NULL;
    if (!found && !said)
        print_message("no ptxas (%s): PTX is not assembled\n", assemblers());
    said = true;
    return found;
}

int ptxas_accepts(const char *text, int as, char *said, size_t size)
{
    const char *program = ptxas_found() ? find(as) : NULL;
    if (!program)
        return -1;
    wf__str words = { 0 };
    int status = assemble(program, as, text, &words);
    snprintf(said, size, "%s", wf__str_get(&words));
    wf__str_free(&words);
    return status == 0;
}

void ptxas_add(const char *name, int arch, const char *text)
{
    int m = 0;
    while (m < MOST_ARCH && module[m].arch && module[m].arch != arch)
        ++m;
    assert_true(m < MOST_ARCH);
    module[m].arch = arch;
    uint64_t hash = wf__hash64(text, strlen(text), 0);
    for (unsigned i = 0; i < module[m].n; ++i)
        if (module[m].hash[i] == hash)
            return;
    assert_true(module[m].n < MOST);
    const char *entry = strstr(text, ".visible .entry weft_kernel("), *body = entry ? strchr(entry, '(') : NULL;
    assert_non_null(body);
    if (!module[m].n || (strstr(text, ".extern") && !strstr(module[m].header, ".extern"))) /* one for all of them */
        snprintf(module[m].header, sizeof module[m].header, "%.*s", (int)(entry - text), text);
    module[m].hash[module[m].n] = hash;
    wf__str_addf(&module[m].text, "// %s\n.visible .entry weft_%u", name, module[m].n++);
    wf__str_add(&module[m].text, body);
}

wf_kernel *ptxas_compile(wf_context *ctx, wf_graph *g, const char *name, const int *arch, const char *part,
                         unsigned *stages)
{
    enum { CAP = 1 << 20 };
    wf_kernel *k = wf_compile(g);
    if (!k)
        print_error("%s: %s\n", name, wf_last_message(ctx));
    assert_non_null(k);
    char *text = malloc(CAP);
    assert_non_null(text);
    for (; *arch; ++arch) {
        size_t len = 0;
        OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_PTX_FOR(*arch), text, CAP, &len));
        assert_true(len < CAP);
        if (part && !strstr(text, part)) {
            print_error("%s: no %s in\n%s\n", name, part, text);
            fail();
        }
        for (char *at = text, *next; at; at = next) { /* stages begin with a comment */
            next = strstr(at + 1, "// stage");
            if (next)
                next[-1] = 0;
            ptxas_add(name, *arch, strchr(at, '\n') + 1);
            if (stages)
                ++*stages;
        }
    }
    free(text);
    return k;
}

static void show(const wf__str *text, const wf__str *said)
{
    print_error("%.3000s\n", wf__str_get(said));
    const char *at = strstr(wf__str_get(said), "line ");
    int line = at ? atoi(at + 5) : 0, n = 1;
    for (const char *p = wf__str_get(text); line && *p; ++p) {
        if (n > line - 20 && n < line + 3)
            print_error("%c", *p);
        n += *p == '\n';
    }
}

void ptxas_check(int arch, int as)
{
    const char *program = find(as);
    int m = 0;
    while (m < MOST_ARCH && module[m].arch != arch)
        ++m;
    if (m == MOST_ARCH)
        return;
    if (!program) {
        print_message("no ptxas for sm_%d\n", as);
        return;
    }
    wf__str text = { 0 }, said = { 0 };
    char target[32];
    wf__str_add(&text, module[m].header);
    snprintf(target, sizeof target, "sm_%d", as);
    char *own = text.at ? strstr(text.at, "sm_") : NULL;
    assert_non_null(own);
    assert_int_equal(strspn(own + 3, "0123456789"), strlen(target + 3));
    memcpy(own, target, strlen(target));
    char *version = strstr(text.at, ".version ");
    assert_non_null(version);
    memcpy(version + 9, as >= 100 ? "8.7" : as >= 90 ? "7.8" : arch >= 80 ? "7.0" : "6.4", 3);
    wf__str_addn(&text, wf__str_get(&module[m].text), module[m].text.len);
    int status = assemble(program, as, wf__str_get(&text), &said);
    if (status)
        show(&text, &said);
    else
        print_message("%u kernels of sm_%d assembled for sm_%d\n", module[m].n, arch, as);
    wf__str_free(&text);
    wf__str_free(&said);
    assert_int_equal(status, 0);
}

void ptxas_check_all(void)
{
    if (!ptxas_found())
        skip();
    ptxas_check(70, 70);
    ptxas_check(70, 75);
    ptxas_check(80, 80);
    ptxas_check(80, 90);
}

void ptxas_forget(void)
{
    for (int m = 0; m < MOST_ARCH; ++m) {
        wf__str_free(&module[m].text);
        module[m].arch = 0;
        module[m].n = 0;
    }
}
