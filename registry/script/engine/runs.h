// Runs of plain characters, for the loops of QuickJS that else take one character at a time (quickjs.patch): eight bytes of
// a text are tested at once.
#include <stdint.h>
#include <string.h>

#define ONES 0x0101010101010101ull
#define HIGHS 0x8080808080808080ull

// The high bits of the bytes of a word that end a run in JSON: control characters, '"' and '\\'. A borrow can set bits
// only above the first one. A byte above 0x7f has its own high bit set, and ends the run only if ascii is asked for.
static inline uint64_t ends_run(uint64_t w, int ascii)
{
    uint64_t quote = w ^ ONES * '"', slash = w ^ ONES * '\\';
    uint64_t found = ((w - ONES * ' ') & ~w) | ((quote - ONES) & ~quote) | ((slash - ONES) & ~slash);
    return (ascii ? found | w : found) & HIGHS;
}

// The length of the run at the begin of a text of 8-bit characters.
static inline int plain_run(const uint8_t *p, int size, int ascii)
{
    int i = 0;
    uint64_t w, found;
    for (; i + 8 <= size; i += 8) {
        memcpy(&w, p + i, 8);
        if ((found = ends_run(w, ascii)))
            return i + __builtin_ctzll(found) / 8;
    }
    while (i < size && p[i] >= ' ' && p[i] != '"' && p[i] != '\\' && !(ascii && p[i] >= 0x80))
        i++;
    return i;
}

// The same of 16-bit characters, which a surrogate ends too.
static inline int plain_run16(const uint16_t *p, int size)
{
    int i = 0;
    while (i < size && p[i] >= ' ' && p[i] != '"' && p[i] != '\\' && p[i] >> 11 != 0xd800 >> 11)
        i++;
    return i;
}

// The number of bytes above 0x7f.
static inline int high_bytes(const void *text, int size)
{
    const uint8_t *p = text;
    int i = 0, count = 0;
    uint64_t w;
    for (; i + 8 <= size; i += 8) {
        memcpy(&w, p + i, 8);
        if (w & HIGHS)
            count += __builtin_popcountll(w & HIGHS);
    }
    for (; i < size; i++)
        count += p[i] >> 7;
    return count;
}
