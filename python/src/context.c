/* context.c - the context as Python sees it: threads, flags, facts about the machine, devices, and what ran. */
#include <weft/device.h>
#include <weft/history.h>

#include "weft_python.h"

/* ---- threads, flags, information ---- */

static PyObject *get_threads(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return wfpy_context() ? PyLong_FromLong(wf_get_threads(wfpy.context)) : NULL;
}

static PyObject *set_threads(PyObject *self, PyObject *number)
{
    (void)self;
    long n = PyLong_AsLong(number);
    if ((n == -1 && PyErr_Occurred()) || !wfpy_context())
        return NULL;
    if (n < 0 || n > 1024)
        return wfpy_raise_status(WF_ERR_ARG, "weft.set_threads: 0 to 1024 threads");
    wf_set_threads(wfpy.context, (int)n);
    Py_RETURN_NONE;
}

static const wfpy_name flags[] = {
    { "fold", WF_FLAG_FOLD },
    { "value_numbering", WF_FLAG_VALUE_NUMBERING },
    { "no_disk_cache", WF_FLAG_NO_DISK_CACHE },
    { "loop_opt", WF_FLAG_LOOP_OPT },
    { "packets", WF_FLAG_PACKETS },
    { "fast_math", WF_FLAG_FAST_MATH },
    { "debug", WF_FLAG_DEBUG },
    { "trap_nan", WF_FLAG_TRAP_NAN },
    { "history", WF_FLAG_HISTORY },
    { "call_opt", WF_FLAG_CALL_OPT },
    { "dead_code", WF_FLAG_DEAD_CODE },
    { "tiered", WF_FLAG_TIERED },
    { "interpret_first", WF_FLAG_INTERPRET_FIRST },
    { "order_by_shape", WF_FLAG_ORDER_BY_SHAPE },
    { NULL, 0 },
};

/* set_flag(name, on): returns what it was. */
static PyObject *set_flag(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *name;
    int on, flag;
    if (!PyArg_ParseTuple(args, "Op", &name, &on) || !wfpy_context() ||
        !wfpy_find_name("weft.flags", name, flags, &flag))
        return NULL;
    bool was = wf_get_flags(wfpy.context) & (uint32_t)flag;
    wf_set_flags(wfpy.context, on ? (uint32_t)flag : 0, on ? 0 : (uint32_t)flag);
    return PyBool_FromLong(was);
}

static PyObject *info(PyObject *self, PyObject *open_llvm)
{
    (void)self;
    int open = PyObject_IsTrue(open_llvm);
    wf_info i = { .size = sizeof i };
    if (open < 0 || !wfpy_context())
        return NULL;
    if (wf_get_info(wfpy.context, open, &i) != WF_OK)
        return wfpy_raise();
    return Py_BuildValue("{s:s,s:s,s:i,s:i,s:s,s:i,s:s,s:K,s:K,s:K,s:K,s:K,s:K,s:s}", "version", wf_version(), "isa",
                         i.isa, "vector_bits", i.vector_bits, "threads", i.threads, "llvm_path", i.llvm_path,
                         "llvm_major", i.llvm_major, "cache_dir", i.cache_dir, "cache_bytes",
                         (unsigned long long)i.cache_bytes, "cache_entries", (unsigned long long)i.cache_entries,
                         "compiled", (unsigned long long)i.compiled, "memory_hits", (unsigned long long)i.memory_hits,
                         "disk_hits", (unsigned long long)i.disk_hits, "evaluated", (unsigned long long)i.evaluated,
                         "cache_problem", i.cache_problem);
}

/* ---- history and devices ---- */

static PyObject *kernel_facts(const wf_kernel_info *k)
{
    static const char *const codes[] = { "none", "ready", "memory", "disk", "compiled", "library" };
    return Py_BuildValue(
        "{s:s,s:s,s:K,s:K,s:i,s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:I,s:N,s:N,s:N,s:N,s:N,s:s,s:i,s:i,s:i,s:i,s:i,s:L,s:d,s:d,s:d,"
        "s:d}",
        "name", k->name, "why", k->why, "launch", (unsigned long long)k->launch, "hash", (unsigned long long)k->hash,
        "device", (int)k->device, "stage", (int)k->stage, "stages", (int)k->stages, "merged", k->merged, "ops", k->ops,
        "folded", k->folded, "numbered", k->numbered, "dead", k->dead, "nodes", k->nodes, "plan_hit",
        PyBool_FromLong(k->plan_hit), "nontemporal", PyBool_FromLong(k->nontemporal), "single_thread",
        PyBool_FromLong(k->single_thread), "baseline", PyBool_FromLong(k->baseline), "fused", PyBool_FromLong(k->fused),
        "code", (size_t)k->code < sizeof codes / sizeof *codes ? codes[k->code] : "", "threads", (int)k->threads,
        "rows", (int)k->rows, "columns", (int)k->columns, "lanes", (int)k->lanes, "copies", (int)k->copies, "points",
        (long long)k->points, "record_s", k->record_s, "plan_s", k->plan_s, "compile_s", k->compile_s, "run_s",
        k->run_s);
}

static PyObject *history(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    const size_t cap = wfpy_context() ? wf_history(wfpy.context, NULL, 0) : 0;
    wf_kernel_info *info = PyMem_Calloc(cap + 1, sizeof *info);
    if (!info)
        return PyErr_NoMemory();
    info[0].size = sizeof *info;
    size_t n = wfpy.context ? wf_history(wfpy.context, info, cap) : 0;
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; ++i) {
        PyObject *facts = kernel_facts(&info[i]);
        if (!facts || PyList_SetItem(list, (Py_ssize_t)i, facts) < 0)
            Py_CLEAR(list);
    }
    PyMem_Free(info);
    return list;
}

static PyObject *device_count(PyObject *self, PyObject *name)
{
    wf_device device;
    (void)self;
    if (!wfpy_device(name, &device) || !wfpy_context())
        return NULL;
    return PyLong_FromLong(wf_device_count(wfpy.context, device ? device : WF_CPU));
}
static PyObject *device_info(PyObject *self, PyObject *name)
{
    wf_device device;
    wf_device_info i = { .size = sizeof i };
    (void)self;
    if (!wfpy_device(name, &device) || !wfpy_context())
        return NULL;
    if (wf_get_device_info(wfpy.context, device, &i) != WF_OK)
        return wfpy_raise();
    return Py_BuildValue("{s:s,s:i,s:i,s:i,s:K,s:K,s:K,s:K}", "name", i.name, "processors", (int)i.processors,
                         "capability", (int)i.capability, "driver", (int)i.driver, "memory_bytes",
                         (unsigned long long)i.memory_bytes, "memory_free", (unsigned long long)i.memory_free,
                         "memory_kept", (unsigned long long)i.memory_kept, "block_memory",
                         (unsigned long long)i.block_memory);
}

static PyMethodDef functions[] = {
    { "get_threads", get_threads, METH_NOARGS,
      "get_threads()\n--\n\nThe number of threads that work, the calling one included." },
    { "set_threads", set_threads, METH_O,
      "set_threads(n)\n--\n\nSets the number of threads; 0: all cores. Results do not depend on it." },
    { "_set_flag", set_flag, METH_VARARGS,
      "_set_flag(name, on)\n--\n\nSets a flag of the context and returns what it was." },
    { "_info", info, METH_O, NULL },
    { "_history", history, METH_NOARGS, "A list of dicts, one for each kernel that ran." },
    { "device_count", device_count, METH_O,
      "device_count(name, /)\n--\n\nThe number of devices of a kind: 'cuda', 'cuda-emu', 'cpu'." },
    { "device_info", device_info, METH_O,
      "device_info(name, /)\n--\n\nA dict about a device: name, processors, memory_bytes and others." },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_context(PyObject *module) { return PyModule_AddFunctions(module, functions); }
