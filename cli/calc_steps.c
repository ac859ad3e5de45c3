/* calc_steps.c - a text with its inputs and results, step by step, for calc and each. */
#include "calc.h"
#include <stdio.h>
#include <string.h>

/* ---- the command line ---- */

static bool calc_input(calc *c, const char *text)
{
    size_t len = name_before_equals(text);
    if (len == 0) {
        misused(c->self, "'%s': inputs are name=file or name=number%s; the text is '%s'", text,
                strchr(text, '=') ? "; a name is letters, digits and _" : "", c->text ? c->text : c->file);
        return false;
    }
    if (c->args == MAX_INPUTS) {
        misused(c->self, "more than %d inputs", MAX_INPUTS);
        return false;
    }
    if (!take_name(c->self, text, len, c->name, c->args))
        return false;
    if (text[len + 1] == 0) {
        misused(c->self, "'%s': a file or a number follows '='", text);
        return false;
    }
    number_kind kind = number_argument(c->name[c->args], text + len + 1, &c->arg[c->args]);
    if (kind == NUMBER_TOO_LARGE) {
        misused(c->self, "'%s': the number is too large; infinity is inf", text);
        return false;
    }
    if (kind == NUMBER_NONE && strcmp(text + len, "=-") == 0) {
        misused(c->self, "'%s': files are read by their names, not from standard input", text);
        return false;
    }
    if (kind == NUMBER_NONE)
        c->path[c->args] = text + len + 1;
    c->args++;
    return true;
}

static bool calc_output(calc *c, const char *text)
{
    if (c->outs == MAX_OUTPUTS) {
        misused(c->self, "more than %d outputs", MAX_OUTPUTS);
        return false;
    }
    output *o = &c->out[c->outs++];
    size_t len = name_before_equals(text);
    memcpy(o->name, text, len);
    o->name[len] = 0;
    o->path = len ? text + len + 1 : text;
    if (!*o->path) {
        misused(c->self, "-o '%s': no file", text);
        return false;
    }
    for (size_t i = 0; i + 1 < c->outs; i++)
        if (same_file(c->out[i].path, o->path)) {
            misused(c->self, "-o %s: the file of -o %s%s%s, too", text, c->out[i].name, *c->out[i].name ? "=" : "",
                    c->out[i].path);
            return false;
        }
    return true;
}

int calc_argument(calc *c, arguments *a, int argument)
{
    switch (argument) {
    case CALC_OUT:
        return calc_output(c, a->value) ? -1 : EXIT_USAGE;
    case CALC_FILE:
        c->file = a->value;
        a->text_wanted = false;
        return -1;
    case CALC_FACT + FACT_DTYPE:
    case CALC_FACT + FACT_PIXEL:
    case CALC_FACT + FACT_STACK:
    case CALC_FACT + FACT_VOLUME:
    case CALC_FACT + FACT_PYRAMID:
    case CALC_FACT + FACT_COARSEST:
    case CALC_FACT + FACT_ORIGIN:
        return take_fact(c->self, &c->facts, argument - CALC_FACT, a->value) == EXIT_OK ? -1 : EXIT_USAGE;
    case CALC_SHAPE:
        return parse_shape(a->value, &c->shape) ? -1
                                                : misused(c->self, "--shape %s: give extents as 512,512", a->value);
    case ARG_OPERAND:
        if (!c->text && !c->file)
            c->text = a->value;
        else if (!calc_input(c, a->value))
            return EXIT_USAGE;
        a->text_wanted = false;
        return -1;
    default:
        return ended(argument);
    }
}

int calc_check_text(const calc *c)
{
    if (!c->text && !c->file)
        return misused(c->self, "no text to compute");
    if (c->text && c->file)
        return misused(c->self, "-f %s: there is a text already, '%s'", c->file, c->text);
    return -1;
}

int calc_name_results(calc *c)
{
    char last[NAME_CAP] = "";
    if (!wf_text_target(c->ctx, c->text, WF_LAST_TARGET, last, sizeof last))
        *last = 0;
    if (c->outs == 0)
        c->outs = 1; /* printed */
    for (size_t k = 0; k < c->outs; k++) {
        if (!c->out[k].name[0] && strlen(last) == NAME_CAP - 1) /* wf_text_target may have cut the name */
            return misused(c->self, "the name %.20s... is too long: %d characters at most", last, NAME_CAP - 2);
        if (!c->out[k].name[0])
            snprintf(c->out[k].name, NAME_CAP, "%s", *last ? last : "out");
        if (*last &&
            !wf_text_assigns(c->ctx, c->text, c->out[k].name)) /* false without an error: the syntax errors follow */
            return misused(c->self, "-o %s=%s: the text assigns no '%s'", c->out[k].name, c->out[k].path,
                           c->out[k].name);
    }
    return EXIT_OK;
}

bool calc_add_shape(calc *c)
{
    if (c->shape.rank) {
        c->arg[c->args] = shape_argument(c->ctx, c->shape);
        if (!c->arg[c->args].as.array)
            return false;
        c->args++;
    }
    return true;
}

/* ---- steps ---- */

void calc_keep_facts(calc *c, const char *path, const wf_meta *meta)
{
    c->meta = *meta;
    if (meta->extended_bytes)
        c->meta.extended_from = path;
}

wf_status calc_load(calc *c)
{
    bool first = true;
    double largest = 0;
    if (c->ranks && ranks_largest(c, &largest) != WF_OK)
        return wf_last_status(c->ctx);
    for (size_t i = 0; i < c->args; i++) {
        bool is_first = first && c->path[i];
        first = first && !is_first;
        if (!c->path[i] || c->arg[i].kind == WF_ARG_ARRAY)
            continue;
        wf_meta meta = { .size = sizeof meta };
        bool maps = c->memory && !wf_text_assigns(c->ctx, c->text, c->name[i]); /* else the text changes the array */
        wf_array *array = maps       ? map_input(c->ctx, c->path[i], &meta)
                          : c->ranks ? ranks_load(c, c->path[i], largest, &meta)
                                     : wf_load(c->ctx, c->path[i], &meta);
        if (!array)
            return wf_last_status(c->ctx);
        c->arg[i] = WF_ARG(c->name[i], array);
        if (is_first)
            calc_keep_facts(c, c->path[i], &meta);
    }
    return WF_OK;
}

wf_meta calc_result_meta(const calc *c, size_t i)
{
    wf_meta meta = c->meta;
    size_t first = 0;
    while (first < c->args && !c->path[first])
        first++;
    for (int axis = -3; axis < 0 && first < c->args; axis++) {
        int of;
        double step;
        bool found = wf_text_step(c->ctx, c->text, (wf_args){ c->arg, c->args }, c->out[i].name, c->name[first], axis,
                                  &of, &step);
        if (found && of >= -3)
            meta.spacing[3 + axis] = step * c->meta.spacing[3 + of];
    }
    apply_facts(&c->facts, &meta);
    meta.durable = c->durable;
    return meta;
}

static bool is_input(const calc *c, const char *name)
{
    for (size_t i = 0; i < c->args; i++)
        if (c->arg[i].name && strcmp(c->arg[i].name, name) == 0)
            return true;
    return false;
}

/* Begins the files of results that can be the memory of arrays, which the text then assigns. */
static wf_status map_results(calc *c)
{
    const size_t args = c->args;
    wf_status status = WF_OK;
    for (size_t i = 0; i < c->outs && status == WF_OK; i++) {
        if (!c->out[i].path || c->facts.store_as || is_input(c, c->out[i].name) ||
            !wf_text_assigns(c->ctx, c->text, c->out[i].name))
            continue;
        wf_meta meta = calc_result_meta(c, i);
        status = map_result(c->ctx, c->text, (wf_args){ c->arg, args }, c->out[i].name, c->out[i].path, &meta,
                            &c->mapped[i]);
        if (c->mapped[i].array)
            c->arg[c->args++] = WF_ARG(c->out[i].name, wf_retain(c->mapped[i].array));
    }
    return status;
}

wf_status calc_compute(calc *c)
{
    const char *want[MAX_OUTPUTS];
    wf_array *result[MAX_OUTPUTS] = { NULL };
    size_t n = 0;
    wf_status status = c->memory ? map_results(c) : WF_OK;
    for (size_t i = 0; i < c->outs; i++)
        if (!c->mapped[i].file)
            want[n++] = c->out[i].name;
    const wf_args args = { c->arg, c->args };
    if (status == WF_OK)
        status = n ? wf_text_create(c->ctx, c->text, args, 0, want, n, result) : wf_text_n(c->ctx, c->text, args);
    for (size_t i = 0, k = 0; i < c->outs; i++)
        if (!c->mapped[i].file)
            c->result[i] = result[k++];
    return status;
}

static void release_inputs(calc *c)
{
    for (size_t i = 0; i < c->args; i++)
        calc_release_input(c, i);
    for (size_t i = 0; i < c->outs; i++) {
        wf_release(c->mapped[i].array);
        c->mapped[i].array = NULL;
    }
}

wf_status calc_save(calc *c)
{
    wf_status status = WF_OK;
    for (size_t i = 0; i < c->outs && status == WF_OK; i++) {
        wf_meta meta = calc_result_meta(c, i);
        if (!c->mapped[i].file)
            status = c->ranks ? ranks_save(c, c->result[i], c->out[i].path, &meta)
                              : wf_save(c->result[i], c->out[i].path, &meta);
        if (!c->mapped[i].file && !c->ranks && status == WF_OK)
            warn_of_changes(c->ctx, c->result[i], c->out[i].path, &meta);
    }
    if (c->memory)
        release_inputs(c);
    for (size_t i = 0; i < c->outs && status == WF_OK; i++)
        if (c->mapped[i].file)
            status = wf_file_finish(c->mapped[i].file);
    return status;
}

void calc_release_input(calc *c, size_t i)
{
    if (c->arg[i].kind == WF_ARG_ARRAY)
        wf_release(c->arg[i].as.array);
    c->arg[i] = (wf_arg){ 0 };
}

void calc_release(calc *c)
{
    for (size_t i = 0; i < c->outs; i++) {
        wf_release(c->result[i]);
        c->result[i] = NULL;
    }
    release_inputs(c);
    for (size_t i = 0; i < c->outs; i++) {
        wf_file_free(c->mapped[i].file);
        c->mapped[i].file = NULL;
    }
}
