/* arguments.c - reads a command line: options of the command, options of all commands, operands. */
#include "common.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return len > 0;
}

bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n > m && strcasecmp(text + n - m, suffix) == 0;
}

static const option shared_options[] = {
    { "device", 0, true }, { "threads", 0, true }, { "fast-math", 0, false }, { "help", 'h', false }, { NULL, 0, false }
};

static int match(const option *options, const char *text, size_t len, bool letter)
{
    for (int i = 0; options[i].name; i++) {
        bool same = letter ? options[i].letter == *text
                           : strlen(options[i].name) == len && strncmp(options[i].name, text, len) == 0;
        if (same)
            return i;
    }
    return -1;
}

static int bad(const arguments *a, const char *what, const char *text)
{
    misused(a->command, "%s: %s", text, what);
    return ARG_BAD;
}

/* Sets a->value for option `o`: `attached`, the text after '=' or the letter, or else the next argument. */
static bool take_value(arguments *a, const option *o, const char *text, const char *attached)
{
    a->value = attached;
    if (!o->takes_value) {
        if (attached)
            bad(a, "takes no value", text);
        return !attached;
    }
    if (!attached && a->at == a->argc) {
        bad(a, "needs a value", text);
        return false;
    }
    if (!attached)
        a->value = a->argv[a->at++];
    return true;
}

static int shared_option(arguments *a, int i)
{
    long n;
    switch (i) {
    case 0:
        a->device = a->value;
        break;
    case 1:
        if (!parse_int(a->value, 0, MOST_CLI_THREADS, &n)) {
            misused(a->command, "--threads %s: give a number from 0 (all cores) to %d", a->value, MOST_CLI_THREADS);
            return ARG_BAD;
        }
        a->threads = (int)n;
        break;
    case 2:
        a->fast_math = true;
        break;
    default:
        print_help(a->command);
        return ARG_HELP;
    }
    return next_argument(a);
}

/* Finds the option that `text`, which begins with '-', names: *own among those of the command, or else *shared among
 * those of all commands. Both are -1 if there is none. */
static void find_option(const arguments *a, const char *text, int *own, int *shared)
{
    bool letter = text[1] != '-';
    const char *name = text + (letter ? 1 : 2);
    size_t len = strcspn(name, "=");
    *own = match(a->options, name, len, letter);
    *shared = *own < 0 ? match(shared_options, name, len, letter) : -1;
}

static bool is_option(const arguments *a, const char *text)
{
    int own = -1, shared = -1;
    if (text[0] == '-' && text[1])
        find_option(a, text, &own, &shared);
    return own >= 0 || shared >= 0;
}

int next_argument(arguments *a)
{
    if (a->at == 0)
        a->at = 1;
    if (a->at >= a->argc)
        return ARG_END;
    const char *text = a->argv[a->at++];
    a->value = text;
    a->has_text = a->has_text || a->text_wanted;
    if (a->operands_only && a->has_text && !a->text_wanted && is_option(a, text)) {
        misused(a->command, "'%s': options stand before '--'", text); /* the other operands are name=... */
        return ARG_BAD;
    }
    if (a->operands_only || text[0] != '-' || text[1] == 0)
        return ARG_OPERAND;
    if (strcmp(text, "--") == 0) {
        a->operands_only = true;
        return next_argument(a);
    }
    bool letter = text[1] != '-';
    const char *name = text + (letter ? 1 : 2), *equals = letter ? NULL : strchr(name, '=');
    const char *attached = equals ? equals + 1 : letter && name[1] ? name + 1 + (name[1] == '=') : NULL;
    int own, shared;
    find_option(a, text, &own, &shared);
    const option *o = own >= 0 ? &a->options[own] : shared >= 0 ? &shared_options[shared] : NULL;
    if (a->text_wanted && letter && (!o || (attached && !o->takes_value)))
        return ARG_OPERAND; /* "-a * 2" */
    if (a->text_wanted && !o && !is_name(name, 1))
        return ARG_OPERAND; /* "--(a)" */
    if (!o)
        return bad(a,
                   a->text_wanted ? "no such option (a text that begins like this comes after --)" : "no such option",
                   text);
    if (!take_value(a, o, text, attached))
        return ARG_BAD;
    return own >= 0 ? own : shared_option(a, shared);
}

bool parse_int(const char *text, long low, long high, long *out)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end || errno == ERANGE || n < low || n > high)
        return false;
    *out = n;
    return true;
}
