/* Repeated calls of compiled kernels.

   A CallTable finds the planned call for the layouts of the arrays that it is given, checks that
   they do not overlap, and calls the machine code. Everything else is left to a Python function:
   calls that the table does not know, calls that it cannot run, all errors.

   Classes of callable objects derive from KnownCalls: calls that their table knows run no Python
   code. The method `_called` takes all others.

   The module also has the functions that allocate and free the workspaces of kernels.

   The module uses the limited API of Python 3.11 and the public API of numpy 2.0, so that a build
   runs on all later versions. */

#include "planned_call.h"
#include "workspace.h"

enum { MAX_SIZE = 1 << 16 };

typedef struct {
    PyObject_HEAD
    PyObject *miss;
    Call **slots; /* open addressing; at least half of the slots are empty */
    size_t mask;
    Py_ssize_t size, used;
} CallTable;

/* Find the planned call: 1 with a new reference, 0 if there is none, -1 with an exception. */
static int
find_call(const CallTable *self, PyObject *options, const Arguments *given, Call **found)
{
    size_t i = given->layouts.hash & self->mask;
    for (Call *call; (call = self->slots[i]) != NULL; i = (i + 1) & self->mask) {
        call->references++; /* the comparison of options may run code that changes the table */
        int same = fits(call, options, given);
        if (same > 0) {
            *found = call;
            return 1;
        }
        release_call(call);
        if (same < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
call_miss(const CallTable *self, PyObject *const *objects, Py_ssize_t count)
{
    PyObject *arguments = PyTuple_New(count);
    for (Py_ssize_t i = 0; arguments != NULL && i < count; i++) {
        PyTuple_SetItem(arguments, i, Py_NewRef(objects[i]));
    }
    PyObject *result = arguments == NULL ? NULL : PyObject_CallObject(self->miss, arguments);
    Py_XDECREF(arguments);
    return result;
}

/* Run a call that the table knows: NULL without an exception if it does not. */
static PyObject *
run_known(const CallTable *self, PyObject *options, PyObject *const *objects, Py_ssize_t count)
{
    Arguments given;
    Call *call = NULL;
    PyObject *result = NULL;
    given.held = 0;
    if (count < MAX_ARGUMENTS && read_arguments(objects, count, &given) &&
        find_call(self, options, &given, &call) > 0) {
        result = run_call(call, &given);
    }
    release_arguments(&given);
    release_call(call);
    return result;
}

static PyObject *
table_run(CallTable *self, PyObject *const *objects, Py_ssize_t count)
{
    PyObject *result = NULL;
    if (count >= 1) {
        result = run_known(self, objects[0], objects + 1, count - 1);
    }
    return result == NULL && !PyErr_Occurred() ? call_miss(self, objects, count) : result;
}

static PyObject *
table_clear(CallTable *self, PyObject *unused)
{
    self->used = 0; /* first, because releasing a call may run code that adds calls */
    for (size_t i = 0; self->slots != NULL && i <= self->mask; i++) {
        Call *call = self->slots[i];
        self->slots[i] = NULL;
        release_call(call);
    }
    return Py_NewRef(Py_None);
}

/* Store a call, which the table then owns. */
static void
store_call(CallTable *self, Call *call)
{
    if (self->used >= self->size) {
        Py_DECREF(table_clear(self, NULL));
    }
    if (self->used >= self->size) { /* releasing the calls has added others */
        release_call(call);
        return;
    }
    size_t i = call->layouts.hash & self->mask;
    while (self->slots[i] != NULL) {
        i = (i + 1) & self->mask;
    }
    self->slots[i] = call;
    self->used++;
}

static PyObject *
table_add(CallTable *self, PyObject *args)
{
    PyObject *options, *tuple, *plan, *objects[MAX_ARGUMENTS];
    if (!PyArg_ParseTuple(args, "OO!O", &options, &PyTuple_Type, &tuple, &plan)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_Size(tuple);
    for (Py_ssize_t i = 0; i < count && i < MAX_ARGUMENTS; i++) {
        objects[i] = PyTuple_GetItem(tuple, i);
    }
    Arguments given;
    Call *call = NULL;
    int done = 0;
    given.held = 0;
    if (count < MAX_ARGUMENTS && read_arguments(objects, count, &given)) {
        done = find_call(self, options, &given, &call);
        if (done > 0) {
            release_call(call);
        }
        else if (done == 0 && (done = plan_call(plan, options, &given, &call)) > 0) {
            store_call(self, call);
        }
    }
    release_arguments(&given);
    return done < 0 ? NULL : PyBool_FromLong(done);
}

static PyObject *
table_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    Py_ssize_t size;
    PyObject *miss;
    static char *names[] = {"size", "miss", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "nO", names, &size, &miss)) {
        return NULL;
    }
    if (size < 1 || size > MAX_SIZE) {
        return PyErr_Format(PyExc_ValueError, "size=%zd; expected 1 to %d", size, MAX_SIZE);
    }
    size_t slots = 2;
    while (slots < 2 * (size_t)size) {
        slots *= 2;
    }
    CallTable *self = (CallTable *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self != NULL) {
        self->miss = Py_NewRef(miss);
        self->size = size;
        self->mask = slots - 1;
        self->slots = PyMem_Calloc(slots, sizeof(Call *));
        if (self->slots == NULL) {
            Py_DECREF(self);
            return PyErr_NoMemory();
        }
    }
    return (PyObject *)self;
}

static int
table_gc_traverse(CallTable *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)self));
    Py_VISIT(self->miss);
    for (size_t i = 0; self->slots != NULL && i <= self->mask; i++) {
        if (self->slots[i] != NULL) {
            Py_VISIT(self->slots[i]->kind);
            Py_VISIT(self->slots[i]->planned);
        }
    }
    return 0;
}

static int
table_gc_clear(CallTable *self)
{
    Py_CLEAR(self->miss);
    Py_DECREF(table_clear(self, NULL));
    return 0;
}

static void
table_dealloc(CallTable *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    PyObject_GC_UnTrack(self);
    table_gc_clear(self);
    PyMem_Free(self->slots);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMethodDef table_methods[] = {
    {"run", (PyCFunction)(void (*)(void))table_run, METH_FASTCALL, NULL},
    {"add", (PyCFunction)table_add, METH_VARARGS, NULL},
    {"clear", (PyCFunction)table_clear, METH_NOARGS, NULL},
    {NULL},
};

static PyType_Slot table_slots[] = {
    {Py_tp_new, table_new},
    {Py_tp_dealloc, table_dealloc},
    {Py_tp_traverse, table_gc_traverse},
    {Py_tp_clear, table_gc_clear},
    {Py_tp_methods, table_methods},
    {0, NULL},
};

static PyType_Spec table_spec = {
    .name = "polysched.runtime._call_table.CallTable",
    .basicsize = sizeof(CallTable),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = table_slots,
};

/* Objects whose calls a table knows */

typedef struct {
    PyObject_HEAD
    CallTable *table;
} KnownCalls;

/* Run a known call: NULL without an exception if it is not known. Truth values are part of the
   code of a function, so calls with them are not known by position. */
static PyObject *
run_by_position(const CallTable *table, PyObject *args)
{
    PyObject *objects[MAX_ARGUMENTS];
    Py_ssize_t count = PyTuple_Size(args);
    if (count >= MAX_ARGUMENTS || table->used == 0) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        objects[i] = PyTuple_GetItem(args, i);
        if (PyBool_Check(objects[i])) {
            return NULL;
        }
    }
    PyObject *options = PyTuple_New(0);
    PyObject *result = options == NULL ? NULL : run_known(table, options, objects, count);
    Py_XDECREF(options);
    return result;
}

static PyObject *
known_call(KnownCalls *self, PyObject *args, PyObject *named)
{
    PyObject *result = NULL;
    if (self->table != NULL && (named == NULL || PyDict_Size(named) == 0)) {
        result = run_by_position(self->table, args);
    }
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    PyObject *called = PyObject_GetAttrString((PyObject *)self, "_called");
    result = called == NULL ? NULL : PyObject_Call(called, args, named);
    Py_XDECREF(called);
    return result;
}

static PyObject *
known_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *run;
    if (!PyArg_ParseTuple(args, "O", &run)) {
        return NULL;
    }
    if (!PyCFunction_Check(run) || PyCFunction_GetFunction(run) != (PyCFunction)(void *)table_run) {
        PyErr_SetString(PyExc_TypeError, "expected the method 'run' of a CallTable");
        return NULL;
    }
    KnownCalls *self = (KnownCalls *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self != NULL) {
        self->table = (CallTable *)Py_NewRef(PyCFunction_GetSelf(run));
    }
    return (PyObject *)self;
}

static int
known_init(KnownCalls *self, PyObject *args, PyObject *named)
{
    return 0;
}

static int
known_gc_traverse(KnownCalls *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)self));
    Py_VISIT((PyObject *)self->table);
    return 0;
}

static int
known_gc_clear(KnownCalls *self)
{
    Py_CLEAR(self->table);
    return 0;
}

static void
known_dealloc(KnownCalls *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    PyObject_GC_UnTrack(self);
    known_gc_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyType_Slot known_slots[] = {
    {Py_tp_new, known_new},
    {Py_tp_init, known_init},
    {Py_tp_dealloc, known_dealloc},
    {Py_tp_traverse, known_gc_traverse},
    {Py_tp_clear, known_gc_clear},
    {Py_tp_call, known_call},
    {0, NULL},
};

static PyType_Spec known_spec = {
    .name = "polysched.runtime._call_table.KnownCalls",
    .basicsize = sizeof(KnownCalls),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = known_slots,
};

/* The addresses of the functions that allocate and free; None if threads cannot keep a block. */
static PyObject *
workspace_functions(PyObject *module, PyObject *unused)
{
    if (!can_keep_workspaces()) {
        return Py_NewRef(Py_None);
    }
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)take_workspace,
                         (unsigned long long)(uintptr_t)give_workspace);
}

static PyMethodDef module_methods[] = {
    {"workspace_functions", workspace_functions, METH_NOARGS, NULL},
    {NULL},
};

static int
module_exec(PyObject *module)
{
    import_array1(-1);
    PyType_Spec *specs[] = {&table_spec, &known_spec};
    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        PyObject *type = PyType_FromModuleAndSpec(module, specs[i], NULL);
        int status = type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
        Py_XDECREF(type);
        if (status < 0) {
            return -1;
        }
    }
    return 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "polysched.runtime._call_table",
    .m_doc = "Repeated calls of compiled kernels.",
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC
PyInit__call_table(void)
{
    return PyModuleDef_Init(&module_definition);
}
