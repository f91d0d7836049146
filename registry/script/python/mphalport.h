// MicroPython's ports have this header for their hardware. There is none.
static inline void mp_hal_set_interrupt_char(int c) { (void)c; }
