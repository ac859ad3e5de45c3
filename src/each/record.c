/* record.c - lines of a journal. Each ends with a checksum, so that a reader finds and skips a line that was written in
 * part or damaged. Fields are separated by tabs; names come last and have no control characters.
 */
#include "each/each.h"
#include <stdio.h>

static const char owner_format[] = "weft-each 1\t%016llx\t%016llx\t%llu\t%lld\t";
static const char record_format[] = "done\t%016llx\t%016llx\t%016llx\t%016llx\t%016llx\t%016llx\t%lld\t";

/* Appends a name with control characters replaced, then the checksum of the line that began at byte `from`. */
static void end_line(wf__str *out, size_t from, const char *name)
{
    for (const char *c = name; *c; c++)
        wf__str_addn(out, (unsigned char)*c < 0x20 ? "?" : c, 1);
    if (!out->failed)
        wf__str_addf(out, "\t%016llx\n", (unsigned long long)wf__hash64(out->at + from, out->len - from, 0));
}

void wf__each_owner_line(wf__str *out, const wf__each_owner *owner, const char *host_name)
{
    size_t from = out->len;
    wf__str_addf(out, owner_format, (unsigned long long)owner->nonce, (unsigned long long)owner->host,
                 (unsigned long long)owner->start, (long long)owner->process);
    end_line(out, from, host_name);
}

void wf__each_record_line(wf__str *out, const wf__each_record *r, double seconds, const char *name)
{
    size_t from = out->len;
    wf__str_addf(out, record_format, (unsigned long long)r->id, (unsigned long long)r->task,
                 (unsigned long long)r->settings, (unsigned long long)r->inputs, (unsigned long long)r->version,
                 (unsigned long long)r->outputs, (long long)r->when);
    wf__str_addf(out, "%lld us\t", (long long)(seconds * 1e6));
    end_line(out, from, name);
}

/* Copies the beginning of a line whose checksum is right to `text`. */
static bool take_line(const char *line, size_t n, char *text, size_t cap)
{
    enum { SUM = 17 }; /* the checksum with its tab */
    char sum[SUM + 1];
    if (n <= SUM)
        return false;
    snprintf(sum, sizeof sum, "\t%016llx", (unsigned long long)wf__hash64(line, n - SUM, 0));
    if (memcmp(sum, line + n - SUM, SUM) != 0)
        return false;
    size_t kept = n - SUM < cap - 1 ? n - SUM : cap - 1;
    memcpy(text, line, kept);
    text[kept] = 0;
    return true;
}

bool wf__each_read_owner(const char *line, size_t n, wf__each_owner *out)
{
    char text[WF__EACH_LINE];
    unsigned long long nonce, host, start;
    long long process;
    if (!take_line(line, n, text, sizeof text) ||
        sscanf(text, "weft-each 1\t%16llx\t%16llx\t%llu\t%lld", &nonce, &host, &start, &process) != 4 || nonce == 0)
        return false;
    *out = (wf__each_owner){ .nonce = nonce, .host = host, .start = start, .process = process };
    return true;
}

bool wf__each_read_record(const char *line, size_t n, wf__each_record *out)
{
    char text[WF__EACH_LINE];
    unsigned long long h[6];
    long long when;
    if (!take_line(line, n, text, sizeof text) ||
        sscanf(text, "done\t%16llx\t%16llx\t%16llx\t%16llx\t%16llx\t%16llx\t%lld", &h[0], &h[1], &h[2], &h[3], &h[4],
               &h[5], &when) != 7)
        return false;
    *out = (wf__each_record){ h[0], h[1], h[2], h[3], h[4], h[5], when };
    return true;
}
