// The C library of WASI has no setjmp. The compiler lowers calls of these names: see unwind.c.
#ifndef SALLYPORT_SETJMP_H
#define SALLYPORT_SETJMP_H
typedef unsigned long jmp_buf[2];
int setjmp(jmp_buf) __attribute__((returns_twice));
_Noreturn void longjmp(jmp_buf, int);
#endif
