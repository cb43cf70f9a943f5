/* Planned calls of machine code: read the arguments' layouts, plan a call, run it. */

#define NO_IMPORT_ARRAY
#include "planned_call.h"

#include <limits.h>
#include <string.h>

_Static_assert(sizeof(void *) == sizeof(int64_t), "kernels take 64-bit addresses");
_Static_assert(sizeof(npy_intp) == sizeof(int64_t), "layouts are 64-bit integers");

/* The sign bit, set in results of numpy.broadcast_arrays: numpy warns when they are written. */
enum { WARN_ON_WRITE = INT_MIN };

/* The flags that a plan depends on. */
enum {
    FLAGS = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE | WARN_ON_WRITE,
};

/* Read a number that is passed by address. Return its kind, which is negative; 0 for others. */
static int64_t
read_number(PyObject *object, Number *value)
{
    if (PyFloat_CheckExact(object)) {
        value->real = PyFloat_AsDouble(object);
        return -3;
    }
    if (PyBool_Check(object)) {
        value->truth = object == Py_True;
        return -4;
    }
    if (!PyArray_IsScalar(object, Number) && !PyArray_IsScalar(object, Bool)) {
        return 0;
    }
    PyArray_Descr *dtype = PyArray_DescrFromScalar(object);
    int type = dtype == NULL ? NPY_NOTYPE : dtype->type_num;
    Py_XDECREF(dtype);
    if (!PyTypeNum_ISNUMBER(type) && !PyTypeNum_ISBOOL(type)) {
        PyErr_Clear();
        return 0;
    }
    PyArray_ScalarAsCtype(object, value);
    return -5 - type;
}

/* Read arguments. Return 0, with no exception, if one is no array, number or None. */
int
read_arguments(PyObject *const *objects, Py_ssize_t count, Arguments *given)
{
    int64_t *number = given->layouts.numbers, *end = number + MAX_NUMBERS;
    for (given->held = 0; given->held < count; given->held++) {
        PyObject *object = objects[given->held];
        if (PyArray_CheckExact(object)) {
            PyArrayObject *array = (PyArrayObject *)object;
            int axes = PyArray_NDIM(array);
            if (end - number < 3 + 2 * axes) {
                return 0;
            }
            *number++ = axes;
            *number++ = PyArray_TYPE(array);
            *number++ = PyArray_FLAGS(array) & FLAGS;
            for (int axis = 0; axis < axes; axis++) {
                *number++ = PyArray_DIM(array, axis);
                *number++ = PyArray_STRIDE(array, axis);
            }
        }
        else if (end - number >= 2 && (object == Py_None || PyLong_CheckExact(object))) {
            int overflow = 0;
            *number++ = object == Py_None ? -1 : -2;
            *number++ = object == Py_None ? 0 : PyLong_AsLongLongAndOverflow(object, &overflow);
            if (overflow) {
                return 0;
            }
        }
        else if (end - number < 1 ||
                 (*number++ = read_number(object, &given->values[given->held])) == 0) {
            return 0;
        }
        given->objects[given->held] = Py_NewRef(object);
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

void
release_arguments(Arguments *given)
{
    while (given->held > 0) {
        Py_DECREF(given->objects[--given->held]);
    }
}

/* Whether a call is for such options and arguments; -1 with an exception. */
int
fits(const Call *call, PyObject *options, const Arguments *given)
{
    const Layouts *own = &call->layouts, *other = &given->layouts;
    if (own->hash != other->hash || own->length != other->length ||
        own->arguments != other->arguments ||
        memcmp(own->numbers, other->numbers, own->length * sizeof(int64_t))) {
        return 0;
    }
    int same = PyObject_RichCompareBool(PyTuple_GetItem(call->kind, 0), options, Py_EQ);
    for (Py_ssize_t i = 0; same > 0 && i < own->arguments; i++) {
        PyObject *dtype = PyTuple_GetItem(call->kind, i + 1);
        if (dtype != Py_None) {
            PyObject *found = (PyObject *)PyArray_DESCR((PyArrayObject *)given->objects[i]);
            same = dtype == found ? 1 : PyObject_RichCompareBool(dtype, found, Py_EQ);
        }
    }
    return same;
}

/* Planning */

/* Whether these are positions of arguments or outputs. */
static int
are_passed(const int64_t *positions, Py_ssize_t count, Py_ssize_t passed)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (positions[i] < 0 || positions[i] >= passed) {
            return 0;
        }
    }
    return 1;
}

/* Whether the arguments at these positions have addresses; outputs, which come later, have. */
static int
have_addresses(const int64_t *positions, Py_ssize_t count, const Arguments *given)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (positions[i] < given->held) {
            PyObject *object = given->objects[positions[i]];
            if (object == Py_None || PyLong_CheckExact(object)) {
                return 0;
            }
        }
    }
    return 1;
}

static int
is_runnable(const Call *call, const Arguments *given, unsigned long long written)
{
    Py_ssize_t passed = given->held + PyTuple_Size(call->allocations), count = call->source_count;
    if (passed > MAX_ARGUMENTS || count + call->parameter_count > MAX_ARGUMENTS ||
        !are_passed(call->sources, count, passed) ||
        !are_passed(call->results, call->result_count, passed) ||
        !have_addresses(call->sources, count, given)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < call->pair_count; i++) {
        const Overlap *pair = &call->pairs[i];
        if (pair->first < 0 || pair->first >= count || pair->second < 0 || pair->second >= count) {
            return 0;
        }
    }
    for (Py_ssize_t i = 0; i < given->held; i++) {
        if (written >> i & 1 && PyArray_Check(given->objects[i]) &&
            PyArray_CHKFLAGS((PyArrayObject *)given->objects[i], WARN_ON_WRITE)) {
            return 0; /* numpy gives its warning when Python asks for the address */
        }
    }
    return 1;
}

/* Fill a call from what the function `plan` returns: 1, 0 if it cannot be run, -1 with an exception. */
static int
fill_call(Call *call, PyObject *plan, PyObject *options, const Arguments *given)
{
    unsigned long long address, written;
    PyObject *owner;
    if ((call->planned = PyObject_CallNoArgs(plan)) == NULL) {
        return -1;
    }
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
        PyObject *object = given->objects[i];
        PyObject *dtype =
            PyArray_Check(object) ? (PyObject *)PyArray_DESCR((PyArrayObject *)object) : Py_None;
        PyTuple_SetItem(call->kind, i + 1, Py_NewRef(dtype));
    }
    return is_runnable(call, given, written);
}

/* Plan a call on such arguments: 1 with a new reference, 0 if it cannot be run, -1 with an exception. */
int
plan_call(PyObject *plan, PyObject *options, const Arguments *given, Call **made)
{
    Call *call = PyMem_Calloc(1, sizeof(Call));
    if (call == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    call->references = 1;
    int done = fill_call(call, plan, options, given);
    if (done > 0) {
        *made = call;
    }
    else {
        release_call(call);
    }
    return done;
}

void
release_call(Call *call)
{
    if (call != NULL && --call->references == 0) {
        Py_XDECREF(call->kind);
        Py_XDECREF(call->planned);
        PyMem_Free(call);
    }
}

/* Running */

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

/* Run the function through the call's runner. Return its status, -1 with an exception. */
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

/* Allocate the outputs that the caller left out: 1, 0 for no aligned array, -1 with an exception. */
static int
allocate_outputs(const Call *call, Arguments *given)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(call->allocations); i++) {
        PyObject *output = PyObject_CallNoArgs(PyTuple_GetItem(call->allocations, i));
        if (output == NULL) {
            return -1;
        }
        given->objects[given->held++] = output;
        if (!PyArray_Check(output) || !PyArray_ISALIGNED((PyArrayObject *)output)) {
            return 0;
        }
    }
    return 1;
}

/* Call a function with the tuple of the arguments and the outputs that have been allocated. */
static PyObject *
call_with_objects(PyObject *function, const Arguments *given)
{
    PyObject *tuple = PyTuple_New(given->held);
    for (Py_ssize_t i = 0; tuple != NULL && i < given->held; i++) {
        PyTuple_SetItem(tuple, i, Py_NewRef(given->objects[i]));
    }
    PyObject *result = tuple == NULL ? NULL : PyObject_CallFunctionObjArgs(function, tuple, NULL);
    Py_XDECREF(tuple);
    return result;
}

/* Check the values of the arguments: 1, or -1 with an exception. */
static int
check_values(const Call *call, const Arguments *given)
{
    if (call->check == Py_None) {
        return 1;
    }
    PyObject *result = call_with_objects(call->check, given);
    Py_XDECREF(result);
    return result == NULL ? -1 : 1;
}

static PyObject *
result_of(const Call *call, const Arguments *given)
{
    if (call->finish != Py_None) {
        return call_with_objects(call->finish, given);
    }
    if (call->result_count == 1) {
        return Py_NewRef(given->objects[call->results[0]]);
    }
    if (call->result_count == 0) {
        return Py_NewRef(Py_None);
    }
    PyObject *tuple = PyTuple_New(call->result_count);
    for (Py_ssize_t i = 0; tuple != NULL && i < call->result_count; i++) {
        PyTuple_SetItem(tuple, i, Py_NewRef(given->objects[call->results[i]]));
    }
    return tuple;
}

/* Run a call and return its result. Return NULL with no exception if Python has to run the call; no
   argument has been written then. */
PyObject *
run_call(const Call *call, Arguments *given)
{
    if (check_values(call, given) < 0 || allocate_outputs(call, given) <= 0) {
        return NULL;
    }
    int64_t numbers[MAX_ARGUMENTS] = {0};
    for (Py_ssize_t i = 0; i < call->source_count; i++) {
        int64_t at = call->sources[i];
        PyObject *object = given->objects[at];
        numbers[i] = PyArray_Check(object) ? (int64_t)PyArray_DATA((PyArrayObject *)object)
                                           : (int64_t)&given->values[at];
    }
    for (Py_ssize_t i = 0; i < call->pair_count; i++) {
        const Overlap *pair = &call->pairs[i];
        int64_t distance = numbers[pair->second] - numbers[pair->first];
        if (-pair->second_bytes < distance && distance < pair->first_bytes) {
            return NULL; /* Python decides whether the arrays have an element in common */
        }
    }
    long status;
    if (call->runner != Py_None) {
        status = call_runner(call, numbers);
    }
    else {
        memcpy(numbers + call->source_count, call->parameters,
               call->parameter_count * sizeof(int64_t));
        Py_BEGIN_ALLOW_THREADS
        status = call_function(call->function, numbers, call->source_count + call->parameter_count);
        Py_END_ALLOW_THREADS
    }
    return status == 0 ? result_of(call, given) : NULL;
}
