/* Repeated calls of compiled kernels.

   A CallTable finds the planned call for the layouts of the arrays that it is given, checks what
   layouts cannot tell (alignment, overlap), and calls the machine code. Python floats and booleans
   are passed by address, as arrays without dimensions are. Everything else is left to
   a Python function: calls that the table does not know, calls that it cannot run, all errors.

   The module uses the limited API of Python 3.11 and no header of numpy. The layout and the address
   of an array come from the buffer protocol, its element type from its attribute `dtype`. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Calls with more arguments, or with layouts of more numbers, are left to Python. */
enum { MAX_ARGUMENTS = 16, MAX_NUMBERS = 256, MAX_SIZE = 1 << 16 };

_Static_assert(sizeof(void *) == sizeof(int64_t), "kernels take 64-bit addresses");

typedef struct {
    PyTypeObject *ndarray, *generic;
    PyObject *dtype; /* the attribute's name */
} ModuleState;

/* The layouts of a call's arguments. */
typedef struct {
    Py_ssize_t arguments, length;
    uint64_t hash;
    int64_t numbers[MAX_NUMBERS];
} Layouts;

/* The arguments of a call. The view of an array or a numpy scalar keeps it, `view.obj`, and its
   memory alive. That of another object has an `obj` of NULL, and as `buf` the address of the value
   of a float or boolean, else NULL. */
typedef struct {
    Py_ssize_t held; /* the number of views: of the arguments, then of new outputs */
    Py_buffer views[MAX_ARGUMENTS];
    union { double real; char truth; } values[MAX_ARGUMENTS];
    Layouts layouts;
} Arguments;

typedef struct {
    int64_t first, second, first_bytes, second_bytes;
} Overlap;

/* A planned call. A thread that runs it shares it with the table, which may drop it meanwhile. */
typedef struct {
    Py_ssize_t references; /* changed only with the GIL */
    PyObject *kind;        /* a tuple: the options, then each array's element type, else None */
    PyObject *planned;     /* the tuple that describes the call; it owns what follows */
    void *function;
    PyObject *runner;      /* runs the function on these addresses; None to call it directly */
    PyObject *allocations; /* a tuple of functions, one for each output that is left out */
    PyObject *check;       /* called before the function with the tuple of arguments; or None */
    PyObject *finish;      /* makes the result from the tuple of arguments and outputs; or None */
    const int64_t *sources, *parameters, *results; /* positions among the views; numbers */
    const Overlap *pairs;                          /* of positions among the sources */
    Py_ssize_t source_count, parameter_count, result_count, pair_count;
    Layouts layouts;
} Call;

typedef struct {
    PyObject_HEAD
    ModuleState *module; /* the type keeps the module alive */
    PyObject *miss;
    Call **slots; /* open addressing; at least half of the slots are empty */
    size_t mask;
    Py_ssize_t size, used;
} CallTable;

/* Reading arguments */

/* Get a view of an aligned array or numpy scalar. Returns 0, with no exception, for anything else.
 */
static int
get_view(const ModuleState *module, PyObject *object, Py_buffer *view)
{
    if (Py_TYPE(object) != module->ndarray && !PyObject_TypeCheck(object, module->generic)) {
        return 0;
    }
    if (PyObject_GetBuffer(object, view, PyBUF_STRIDES) < 0) {
        PyErr_Clear(); /* Python reports it */
        return 0;
    }
    /* A power of two that divides the size; numpy's alignment divides it, and 16. */
    uintptr_t power = (uintptr_t)(view->itemsize & -view->itemsize);
    if ((uintptr_t)view->buf % (power < 1 || power > 16 ? 16 : power)) {
        PyBuffer_Release(view);
        return 0;
    }
    return 1;
}

static void
release_arguments(Arguments *given)
{
    while (given->held > 0) {
        PyBuffer_Release(&given->views[--given->held]);
    }
}

/* Read arguments. Returns 0, with no exception, if one is no aligned array, number or None. */
static int
read_arguments(const ModuleState *module, PyObject *const *objects, Py_ssize_t count,
               Arguments *given)
{
    int64_t *number = given->layouts.numbers, *end = number + MAX_NUMBERS;
    for (given->held = 0; given->held < count; given->held++) {
        PyObject *object = objects[given->held];
        Py_buffer *view = &given->views[given->held];
        int overflow = 0;
        if (end - number < 2) {
            return 0;
        }
        if (object == Py_None || PyLong_CheckExact(object)) {
            view->obj = NULL;
            view->buf = NULL;
            *number++ = object == Py_None ? -1 : -2;
            *number++ = object == Py_None ? 0 : PyLong_AsLongLongAndOverflow(object, &overflow);
            if (overflow) {
                return 0;
            }
            continue;
        }
        if (PyFloat_CheckExact(object) || PyBool_Check(object)) {
            int is_truth = PyBool_Check(object);
            view->obj = NULL;
            view->buf = &given->values[given->held];
            if (is_truth) {
                given->values[given->held].truth = object == Py_True;
            }
            else {
                given->values[given->held].real = PyFloat_AsDouble(object);
            }
            *number++ = is_truth ? -3 : -4;
            *number++ = 0;
            continue;
        }
        if (!get_view(module, object, view)) {
            return 0;
        }
        if (end - number < 2 + 2 * (Py_ssize_t)view->ndim) {
            PyBuffer_Release(view);
            return 0;
        }
        *number++ = 2 * view->ndim + view->readonly;
        *number++ = view->itemsize;
        for (int axis = 0; axis < view->ndim; axis++) {
            *number++ = view->shape[axis];
            *number++ = view->strides[axis];
        }
    }
    uint64_t hash = 0;
    for (const int64_t *each = given->layouts.numbers; each < number; each++) {
        hash = (hash ^ (uint64_t)*each) * 0x9E3779B97F4A7C15u; /* 2**64 / golden ratio */
        hash ^= hash >> 32;
    }
    given->layouts.arguments = count;
    given->layouts.length = number - given->layouts.numbers;
    given->layouts.hash = hash;
    return 1;
}

/* Looking up calls */

static void
release_call(Call *call)
{
    if (call != NULL && --call->references == 0) {
        Py_XDECREF(call->kind);
        Py_XDECREF(call->planned);
        PyMem_Free(call);
    }
}

/* Whether options and element types are those of the call; -1 with an exception. */
static int
has_same_kind(const Call *call, const ModuleState *module, PyObject *options,
              const Arguments *given)
{
    int same = PyObject_RichCompareBool(PyTuple_GetItem(call->kind, 0), options, Py_EQ);
    for (Py_ssize_t i = 0; same > 0 && i < call->layouts.arguments; i++) {
        if (given->views[i].obj != NULL) {
            PyObject *dtype = PyObject_GetAttr(given->views[i].obj, module->dtype);
            if (dtype == NULL) {
                return -1;
            }
            same = PyObject_RichCompareBool(PyTuple_GetItem(call->kind, i + 1), dtype, Py_EQ);
            Py_DECREF(dtype);
        }
    }
    return same;
}

/* Find the planned call: 1 with a new reference, 0 if there is none, -1 with an exception. */
static int
find_call(const CallTable *self, PyObject *options, const Arguments *given, Call **found)
{
    const Layouts *wanted = &given->layouts;
    for (size_t i = wanted->hash & self->mask; self->slots[i] != NULL; i = (i + 1) & self->mask) {
        Call *call = self->slots[i];
        if (call->layouts.hash != wanted->hash || call->layouts.length != wanted->length ||
            call->layouts.arguments != wanted->arguments ||
            memcmp(call->layouts.numbers, wanted->numbers, wanted->length * sizeof(int64_t))) {
            continue;
        }
        call->references++; /* the comparison of options may run code that changes the table */
        int same = has_same_kind(call, self->module, options, given);
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

/* Running calls */

/* Call a function of addresses and 64-bit integers, which are passed alike. It may get more than it
   takes: the caller removes arguments from the stack on all 64-bit systems. */
static int32_t
call_function(void *function, const int64_t *n, Py_ssize_t count)
{
#define T4 int64_t, int64_t, int64_t, int64_t
    if (count <= 4) {
        return ((int32_t(*)(T4))function)(n[0], n[1], n[2], n[3]);
    }
    if (count <= 8) {
        return ((int32_t(*)(T4, T4))function)(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]);
    }
    return ((int32_t(*)(T4, T4, T4, T4))function)(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7],
                                                  n[8], n[9], n[10], n[11], n[12], n[13], n[14],
                                                  n[15]);
}

/* Run the function through the call's runner. Returns its status, -1 with an exception. */
static long
call_runner(const Call *call, const int64_t *addresses)
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < call->source_count; i++) {
        PyObject *address = PyLong_FromLongLong(addresses[i]);
        if (address == NULL || PyList_Append(list, address) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(address);
    }
    if (list == NULL) {
        return -1;
    }
    PyObject *status = PyObject_CallFunctionObjArgs(call->runner, list, NULL);
    Py_DECREF(list);
    long number = status == NULL ? -1 : PyLong_AsLong(status);
    Py_XDECREF(status);
    return number;
}

/* Run a call: 1, 0 if Python has to run it and nothing has been written, -1 with an exception. */
static int
run_call(const Call *call, const Arguments *given)
{
    int64_t numbers[MAX_ARGUMENTS] = {0};
    for (Py_ssize_t i = 0; i < call->source_count; i++) {
        numbers[i] = (int64_t)given->views[call->sources[i]].buf;
    }
    for (Py_ssize_t i = 0; i < call->pair_count; i++) {
        const Overlap *pair = &call->pairs[i];
        int64_t distance = numbers[pair->second] - numbers[pair->first];
        if (-pair->second_bytes < distance && distance < pair->first_bytes) {
            return 0; /* Python decides whether the arrays have an element in common */
        }
    }
    long status;
    if (call->runner != Py_None) {
        status = call_runner(call, numbers);
        return status == -1 && PyErr_Occurred() ? -1 : status == 0;
    }
    memcpy(numbers + call->source_count, call->parameters, call->parameter_count * sizeof(int64_t));
    Py_BEGIN_ALLOW_THREADS
    status = call_function(call->function, numbers, call->source_count + call->parameter_count);
    Py_END_ALLOW_THREADS
    return status == 0;
}

/* Allocate the outputs that the caller left out: 1, 0 for no aligned array, -1 with an exception. */
static int
allocate_outputs(const CallTable *self, const Call *call, Arguments *given)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(call->allocations); i++) {
        PyObject *output = PyObject_CallNoArgs(PyTuple_GetItem(call->allocations, i));
        if (output == NULL) {
            return -1;
        }
        int is_aligned = get_view(self->module, output, &given->views[given->held]);
        Py_DECREF(output);
        if (!is_aligned) {
            return 0;
        }
        given->held++;
    }
    return 1;
}

/* Call a function with the tuple of the arguments and outputs; numbers and None are None in it. */
static PyObject *
call_with_arguments(PyObject *function, const Arguments *given)
{
    PyObject *tuple = PyTuple_New(given->held);
    for (Py_ssize_t i = 0; tuple != NULL && i < given->held; i++) {
        PyObject *object = given->views[i].obj;
        PyTuple_SetItem(tuple, i, Py_NewRef(object == NULL ? Py_None : object));
    }
    PyObject *result =
        tuple == NULL ? NULL : PyObject_CallFunctionObjArgs(function, tuple, NULL);
    Py_XDECREF(tuple);
    return result;
}

/* Check the values of arguments: 1, or -1 with an exception. */
static int
check_values(const Call *call, const Arguments *given)
{
    if (call->check == Py_None) {
        return 1;
    }
    PyObject *result = call_with_arguments(call->check, given);
    Py_XDECREF(result);
    return result == NULL ? -1 : 1;
}

/* The result of a call: None, an array, a tuple of arrays, or what `finish` makes of them. */
static PyObject *
result_of(const Call *call, const Arguments *given)
{
    if (call->finish != Py_None) {
        return call_with_arguments(call->finish, given);
    }
    if (call->result_count == 1) {
        return Py_NewRef(given->views[call->results[0]].obj);
    }
    if (call->result_count == 0) {
        return Py_NewRef(Py_None);
    }
    PyObject *tuple = PyTuple_New(call->result_count);
    for (Py_ssize_t i = 0; tuple != NULL && i < call->result_count; i++) {
        PyTuple_SetItem(tuple, i, Py_NewRef(given->views[call->results[i]].obj));
    }
    return tuple;
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

static PyObject *
table_run(CallTable *self, PyObject *const *objects, Py_ssize_t count)
{
    Arguments given = {.held = 0};
    Call *call = NULL;
    PyObject *result = NULL;
    int done = 0; /* -1 with an exception */
    if (count >= 1 && count <= MAX_ARGUMENTS &&
        read_arguments(self->module, objects + 1, count - 1, &given)) {
        done = find_call(self, objects[0], &given, &call);
    }
    if (done > 0) {
        done = check_values(call, &given);
    }
    if (done > 0) {
        done = allocate_outputs(self, call, &given);
    }
    if (done > 0) {
        done = run_call(call, &given);
    }
    if (done > 0) {
        result = result_of(call, &given);
    }
    release_arguments(&given);
    release_call(call);
    return done == 0 ? call_miss(self, objects, count) : result;
}

/* Adding calls */

/* Whether there is an object at each of these positions, once the outputs are allocated: with an
   address, or an array or numpy scalar. */
static int
are_held(const int64_t *positions, Py_ssize_t count, const Arguments *given, Py_ssize_t passed,
         int is_object)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t at = positions[i];
        if (at < 0 || at >= passed) {
            return 0;
        }
        if (at < given->held && given->views[at].obj == NULL &&
            (is_object || given->views[at].buf == NULL)) {
            return 0;
        }
    }
    return 1;
}

static int
is_runnable(const Call *call, const Arguments *given, unsigned long long written)
{
    Py_ssize_t passed = given->held + PyTuple_Size(call->allocations), count = call->source_count;
    if (passed > MAX_ARGUMENTS || count + call->parameter_count > MAX_ARGUMENTS ||
        !are_held(call->sources, count, given, passed, 0) ||
        !are_held(call->results, call->result_count, given, passed, 1)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < call->pair_count; i++) {
        const Overlap *pair = &call->pairs[i];
        if (pair->first < 0 || pair->first >= count || pair->second < 0 || pair->second >= count) {
            return 0;
        }
    }
    for (Py_ssize_t i = 0; i < given->held; i++) {
        if (written >> i & 1 && given->views[i].readonly) {
            return 0; /* so numpy reports writable arrays that give a warning when written */
        }
    }
    return 1;
}

/* Describe a planned call by `planned`: 1, 0 if the table cannot run it, -1 with an exception. */
static int
fill_call(Call *call, const ModuleState *module, PyObject *options, const Arguments *given)
{
    unsigned long long address, written;
    PyObject *owner;
    if (!PyTuple_Check(call->planned)) {
        PyErr_SetString(PyExc_TypeError, "expected a function that returns a PlannedCall");
        return -1;
    }
    const char *sources, *parameters, *results, *pairs; /* the bytes of 64-bit integers */
    if (!PyArg_ParseTuple(call->planned, "KOOy#y#y#y#KO!OO", &address, &owner, &call->runner,
                          &sources, &call->source_count, &parameters, &call->parameter_count,
                          &results, &call->result_count, &pairs, &call->pair_count, &written,
                          &PyTuple_Type, &call->allocations, &call->check, &call->finish) ||
        (call->kind = PyTuple_New(given->held + 1)) == NULL) {
        return -1;
    }
    call->function = (void *)(uintptr_t)address;
    call->sources = (const int64_t *)sources;
    call->parameters = (const int64_t *)parameters;
    call->results = (const int64_t *)results;
    call->pairs = (const Overlap *)pairs;
    call->source_count /= sizeof(int64_t);
    call->parameter_count /= sizeof(int64_t);
    call->result_count /= sizeof(int64_t);
    call->pair_count /= sizeof(Overlap);
    call->layouts = given->layouts;
    PyTuple_SetItem(call->kind, 0, Py_NewRef(options));
    for (Py_ssize_t i = 0; i < given->held; i++) {
        PyObject *array = given->views[i].obj;
        PyObject *dtype = array ? PyObject_GetAttr(array, module->dtype) : Py_NewRef(Py_None);
        if (dtype == NULL) {
            return -1;
        }
        PyTuple_SetItem(call->kind, i + 1, dtype);
    }
    return is_runnable(call, given, written);
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
    Arguments given = {.held = 0};
    Call *call = NULL;
    int done = 0;
    if (count < MAX_ARGUMENTS && read_arguments(self->module, objects, count, &given)) {
        done = find_call(self, options, &given, &call);
        if (done == 0 && (call = PyMem_Calloc(1, sizeof(Call))) == NULL) {
            PyErr_NoMemory();
            done = -1;
        }
        else if (done == 0) {
            call->references = 1;
            call->planned = PyObject_CallNoArgs(plan);
            done = call->planned ? fill_call(call, self->module, options, &given) : -1;
            if (done > 0 && self->used >= self->size) {
                Py_DECREF(table_clear(self, NULL));
            }
            if (done > 0 && self->used < self->size) {
                size_t i = given.layouts.hash & self->mask;
                while (self->slots[i] != NULL) {
                    i = (i + 1) & self->mask;
                }
                self->slots[i] = call;
                self->used++;
                call = NULL;
            }
        }
    }
    release_call(call);
    release_arguments(&given);
    return done < 0 ? NULL : PyBool_FromLong(done);
}

/* Workspaces of kernels

   A kernel allocates its workspace at the start of a call and frees it at the end. The system takes
   back the pages of large blocks, and the next call pays for a page fault for every 4 KiB. So each
   thread keeps one block. */

enum { KEPT_MOST = 64 << 20 };

typedef struct {
    void *memory;
    size_t alignment, size;
    int is_used;
} Workspace;

static pthread_key_t workspace_key;
static int has_workspace_key;

static void
drop_workspace(void *workspace)
{
    free(((Workspace *)workspace)->memory);
    free(workspace);
}

/* As aligned_alloc; the memory is the thread's block if that is free. */
static void *
take_workspace(size_t alignment, size_t size)
{
    Workspace *kept = pthread_getspecific(workspace_key);
    if (kept == NULL && (kept = calloc(1, sizeof(Workspace))) != NULL &&
        pthread_setspecific(workspace_key, kept)) {
        free(kept);
        kept = NULL;
    }
    if (kept == NULL || kept->is_used || size > KEPT_MOST) {
        return aligned_alloc(alignment, size);
    }
    if (kept->size < size || kept->alignment < alignment) {
        free(kept->memory);
        kept->memory = aligned_alloc(alignment, size);
        kept->alignment = alignment;
        kept->size = kept->memory == NULL ? 0 : size;
    }
    kept->is_used = kept->memory != NULL;
    return kept->memory;
}

/* As free, for memory of take_workspace. */
static void
give_workspace(void *memory)
{
    Workspace *kept = pthread_getspecific(workspace_key);
    if (kept != NULL && memory != NULL && memory == kept->memory) {
        kept->is_used = 0;
        return;
    }
    free(memory);
}

/* The addresses of both functions; None if threads cannot keep a block. */
static PyObject *
workspace_functions(PyObject *module, PyObject *unused)
{
    if (!has_workspace_key) {
        return Py_NewRef(Py_None);
    }
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)take_workspace,
                         (unsigned long long)(uintptr_t)give_workspace);
}

/* The type and the module */

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
        self->module = PyType_GetModuleState(type);
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
    .name = "polysched.runtime._fastcall.CallTable",
    .basicsize = sizeof(CallTable),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = table_slots,
};

static int
module_exec(PyObject *module)
{
    ModuleState *state = PyModule_GetState(module);
    if (!has_workspace_key) {
        has_workspace_key = pthread_key_create(&workspace_key, drop_workspace) == 0;
    }
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy == NULL) {
        return -1;
    }
    state->ndarray = (PyTypeObject *)PyObject_GetAttrString(numpy, "ndarray");
    state->generic = (PyTypeObject *)PyObject_GetAttrString(numpy, "generic");
    Py_DECREF(numpy);
    state->dtype = PyUnicode_InternFromString("dtype");
    PyObject *type = PyType_FromModuleAndSpec(module, &table_spec, NULL);
    if (state->ndarray == NULL || state->generic == NULL || state->dtype == NULL || type == NULL) {
        Py_XDECREF(type);
        return -1;
    }
    int status = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return status;
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    ModuleState *state = PyModule_GetState(module);
    Py_VISIT(state->ndarray);
    Py_VISIT(state->generic);
    return 0;
}

static int
module_clear(PyObject *module)
{
    ModuleState *state = PyModule_GetState(module);
    Py_CLEAR(state->ndarray);
    Py_CLEAR(state->generic);
    Py_CLEAR(state->dtype);
    return 0;
}

static void
module_free(void *module)
{
    module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static PyMethodDef module_methods[] = {
    {"workspace_functions", workspace_functions, METH_NOARGS, NULL},
    {NULL},
};

static PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "polysched.runtime._fastcall",
    .m_doc = "Repeated calls of compiled kernels.",
    .m_size = sizeof(ModuleState),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC
PyInit__fastcall(void)
{
    return PyModuleDef_Init(&module_definition);
}
