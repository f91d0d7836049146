// Names of unwind.c.
#ifndef SALLYPORT_UNWIND_H
#define SALLYPORT_UNWIND_H

// The stack pointer, as an address that lies below every frame in use.
void *sp_stack_pointer(void);

#endif
