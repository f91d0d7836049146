// setjmp and longjmp without exception handling in WebAssembly. Three parts work together:
//
//   - clang -enable-emscripten-sjlj: in a function that calls setjmp, each call that may jump goes through invoke_…, and
//     is followed by a test of __THREW__ and a switch to the place of the setjmp.
//   - emscripten_longjmp, below, sets sp_unwinding and returns.
//   - the command unwind makes each other call that may jump be followed by "if sp_unwinding, return". So all frames up
//     to the nearest invoke_… return, which restores the stack pointer and clears the flag.
#include <stdint.h>
#include <stdlib.h>

#include "unwind.h"

uintptr_t __THREW__;
int __threwValue;
// The command unwind knows the address by the export.
__attribute__((export_name("sp_unwinding_at"))) int *sp_unwinding_at(void);
int sp_unwinding;
int *sp_unwinding_at(void) { return &sp_unwinding; }

static int temp;
void setTempRet0(int v) { temp = v; }
int getTempRet0(void) { return temp; }

struct entry { uintptr_t id; uint32_t label; };

static uintptr_t last_id;

// Called at a setjmp: remembers that env belongs to this call of the function, at this label. A label that is reached
// again replaces its entry, as its buffer is in use no more.
struct entry *saveSetjmp(uintptr_t *env, uint32_t label, struct entry *table, uint32_t size)
{
    uint32_t i = 0;
    while (i < size && table[i].id && table[i].label != label)
        i++;
    if (i + 1 >= size) {
        size *= 2;
        table = realloc(table, (size + 1) * sizeof *table);
        if (!table)
            abort();
    }
    if (!table[i].id)
        table[i + 1].id = 0;
    *env = ++last_id;
    table[i].id = last_id;
    table[i].label = label;
    setTempRet0(size);
    return table;
}

// Returns the label of a setjmp of this call of the function, 0 for one of another.
uint32_t testSetjmp(uintptr_t id, struct entry *table, uint32_t size)
{
    for (uint32_t i = 0; i < size && table[i].id; i++)
        if (table[i].id == id)
            return table[i].label;
    return 0;
}

void emscripten_longjmp(uintptr_t env, int value)
{
    __THREW__ = env;
    __threwValue = value ? value : 1;
    sp_unwinding = 1;
}

__asm__(".globaltype __stack_pointer, i32\n");

void *sp_stack_pointer(void)
{
    void *p;
    __asm__ volatile("global.get __stack_pointer\nlocal.set %0" : "=r"(p));
    return p;
}

static void set_stack_pointer(void *p) { __asm__ volatile("local.get %0\nglobal.set __stack_pointer" : : "r"(p)); }

// The calls of a function by its pointer, for each signature: v is no result, i an i32.
#define LAND(sp)              \
    if (sp_unwinding) {       \
        sp_unwinding = 0;     \
        set_stack_pointer(sp); \
    }
#define CALL(name, params, types, args)                \
    void invoke_v##name params                         \
    {                                                  \
        void *sp = sp_stack_pointer();                 \
        ((void (*) types)f)args;                       \
        LAND(sp)                                       \
    }                                                  \
    int invoke_i##name params                          \
    {                                                  \
        void *sp = sp_stack_pointer();                 \
        int result = ((int (*) types)f)args;           \
        LAND(sp)                                       \
        return result;                                 \
    }

CALL(, (void *f), (void), ())
CALL(i, (void *f, int a), (int), (a))
CALL(ii, (void *f, int a, int b), (int, int), (a, b))
CALL(iii, (void *f, int a, int b, int c), (int, int, int), (a, b, c))
CALL(iiii, (void *f, int a, int b, int c, int d), (int, int, int, int), (a, b, c, d))
CALL(iiiii, (void *f, int a, int b, int c, int d, int e), (int, int, int, int, int), (a, b, c, d, e))
