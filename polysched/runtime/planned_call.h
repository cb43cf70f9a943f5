/* Planned calls of machine code: arguments, their layouts, and a call on such arguments. */

#ifndef POLYSCHED_PLANNED_CALL_H
#define POLYSCHED_PLANNED_CALL_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL polysched_numpy_api
#include <numpy/arrayobject.h>

#include <stdint.h>

/* Calls with more arguments, or with layouts of more numbers, are left to Python. */
enum { MAX_ARGUMENTS = 16, MAX_NUMBERS = 256 };

/* The layouts of a call's arguments, apart from element types that numpy does not number. Integers
   stand with their values, other numbers without. */
typedef struct {
    Py_ssize_t arguments, length;
    uint64_t hash;
    int64_t numbers[MAX_NUMBERS];
} Layouts;

/* The value of a float, a boolean or one of numpy's numbers. */
typedef union {
    double real;
    npy_bool truth;
    npy_clongdouble largest;
} Number;

/* The arguments of a call and then its new outputs. References keep the arrays' memory in place:
   numpy does not resize an array that others refer to. */
typedef struct {
    Py_ssize_t held;
    PyObject *objects[MAX_ARGUMENTS];
    Number values[MAX_ARGUMENTS];
    Layouts layouts;
} Arguments;

typedef struct {
    int64_t first, second, first_bytes, second_bytes;
} Overlap;

/* A thread that runs a call shares it with the table, which may drop it meanwhile. */
typedef struct {
    Py_ssize_t references; /* changed only with the GIL */
    PyObject *kind;        /* a tuple: the options, then each array's element type, else None */
    PyObject *planned;     /* the tuple that describes the call; it owns what follows */
    void *function;
    PyObject *runner;      /* runs the function on these addresses; None to call it directly */
    PyObject *allocations; /* a tuple of functions, one for each output that is left out */
    PyObject *check;       /* called with the tuple of arguments before the function; or None */
    PyObject *finish;      /* makes the result of the tuple of arguments and outputs; or None */
    const int64_t *sources, *parameters, *results; /* positions among the arguments; numbers */
    const Overlap *pairs;                          /* of positions among the sources */
    Py_ssize_t source_count, parameter_count, result_count, pair_count;
    Layouts layouts;
} Call;

int read_arguments(PyObject *const *objects, Py_ssize_t count, Arguments *given);
void release_arguments(Arguments *given);
int plan_call(PyObject *plan, PyObject *options, const Arguments *given, Call **made);
int fits(const Call *call, PyObject *options, const Arguments *given);
PyObject *run_call(const Call *call, Arguments *given);
void release_call(Call *call);

#endif
