// The module _re: regular expressions in the syntax of CPython, matched by backtracking. re.py has all that needs no speed.
// A program is an array of numbers; jumps are relative, so that code can be moved and copied. Positions are in bytes.
#include <string.h>
#include <wctype.h>

#include "py/cstack.h"
#include "py/objstr.h"
#include "py/runtime.h"

extern int sp_importing;
void sp_step(void);

enum { IGNORECASE = 2, MULTILINE = 8, DOTALL = 16, VERBOSE = 64, ASCII = 256 };

// Instructions with their operands. Those up to CLASS match one character.
enum op {
    CHAR,       // character
    FOLD,       // character in lower case
    ANY,        // all but a line end
    ALL,
    CLASS,      // flags, number of ranges, first and last of each; a first of -1 is a category
    SPLIT,      // first way, second way
    JUMP,       // way
    SAVE,       // slot
    UNLESS,     // slot, way if nothing was matched since
    BEGIN, LINE_BEGIN, LAST, LINE_LAST, FINISH,
    EDGE,       // 1 between characters that are both inside or outside of a word, ASCII
    SAME,       // group, flags
    REPEAT,     // least, most, greedy, size of the instruction that follows
    LOOK,       // negative, characters behind or -1, size of the code that follows
    END,
};
enum { NEGATIVE = 1, FOLDED = 2, NARROW = 4 }; // flags of a class

#define HEAD 3 // groups, slots, flags
#define MOST INT32_MAX
#define MAX_CODE (1 << 16)

// Reading.

struct parser {
    const byte *start, *p, *end;
    bool wide; // a str, not bytes
    int flags, groups, slots;
    int32_t *code;
    size_t size, room;
    mp_obj_t names;
    bool closed[100]; // groups that back references may name
};

static NORETURN void wrong(struct parser *r, const char *text)
{
    mp_obj_t args[] = {mp_obj_new_str(text, strlen(text)), mp_obj_new_int(r->wide ? utf8_charlen(r->start, r->p - r->start) : r->p - r->start)};
    nlr_raise(mp_obj_new_exception_args(&mp_type_ValueError, 2, args));
}

static int32_t *insert(struct parser *r, size_t at, size_t n)
{
    if (r->size + n > MAX_CODE)
        wrong(r, "the expression is too large");
    if (r->size + n > r->room) {
        size_t room = 2 * (r->size + n);
        r->code = m_renew(int32_t, r->code, r->room, room);
        r->room = room;
    }
    memmove(r->code + at + n, r->code + at, (r->size - at) * sizeof *r->code);
    r->size += n;
    return r->code + at;
}

static void emit(struct parser *r, int32_t v) { *insert(r, r->size, 1) = v; }
static void emit2(struct parser *r, int32_t a, int32_t b) { emit(r, a), emit(r, b); }

static bool accept(struct parser *r, char c)
{
    if (r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

// Returns the place of an ASCII character in a text, or NULL.
static const char *letter(const char *all, int c) { return c > 0 && c < 128 ? strchr(all, c) : NULL; }

static int character(const byte **p, bool wide)
{
    if (!wide)
        return *(*p)++;
    unichar c = utf8_get_char(*p);
    *p = utf8_next_char(*p);
    return c;
}

static int digit(int c, int base)
{
    int v = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99;
    return v < base ? v : -1;
}

static int number(struct parser *r, int base, int least, int most)
{
    int v = 0, n = 0;
    for (; n < most && r->p < r->end && digit(*r->p, base) >= 0; n++)
        v = v > MOST / base - 1 ? MOST : v * base + digit(*r->p++, base);
    if (n < least)
        wrong(r, "incomplete escape");
    return v;
}

// Reads the rest of an escape that is a character, whose first letter is c.
static int escaped(struct parser *r, int c)
{
    static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
    const char *known = letter(from, c);
    if (known)
        return to[known - from];
    if (c == 'x')
        return number(r, 16, 2, 2);
    if (r->wide && c == 'u')
        return number(r, 16, 4, 4);
    if (r->wide && c == 'U')
        return number(r, 16, 8, 8);
    if (c >= '0' && c <= '7') {
        r->p--;
        return number(r, 8, 1, 3);
    }
    if ((c | 32) >= 'a' && (c | 32) <= 'z')
        wrong(r, "bad escape");
    return c;
}

static bool is_category(int c) { return letter("dDwWsS", c); }
static int class_flags(struct parser *r) { return (r->flags & IGNORECASE ? FOLDED : 0) | (r->flags & ASCII || !r->wide ? NARROW : 0); }

// Reads an element of a class: a character, or -1 with a category in last.
static int element(struct parser *r, int *last)
{
    if (r->p == r->end)
        wrong(r, "unterminated character set");
    int c = character(&r->p, r->wide);
    if (c != '\\')
        return *last = c;
    if (r->p == r->end)
        wrong(r, "bad escape (end of pattern)");
    c = character(&r->p, r->wide);
    if (is_category(c))
        return *last = c, -1;
    return *last = escaped(r, c);
}

static void class(struct parser *r)
{
    size_t at = r->size;
    emit2(r, CLASS, class_flags(r) | (accept(r, '^') ? NEGATIVE : 0));
    emit(r, 0);
    for (bool first = true; first || !accept(r, ']'); first = false) {
        int last, c = element(r, &last);
        if (r->p + 1 < r->end && *r->p == '-' && r->p[1] != ']') {
            int end;
            r->p++;
            if (c < 0 || element(r, &end) < 0 || end < c)
                wrong(r, "bad character range");
            last = end;
        }
        emit2(r, c, last);
        r->code[at + 2]++;
    }
}

static void category(struct parser *r, int c)
{
    emit2(r, CLASS, class_flags(r));
    emit(r, 1);
    emit2(r, -1, c);
}

static void literal(struct parser *r, int c)
{
    int lower = r->wide || c < 128 ? (int)towlower(c) : c;
    if (r->flags & IGNORECASE && (lower != c || (int)towupper(c) != c))
        emit2(r, FOLD, lower);
    else
        emit2(r, CHAR, c);
}

static int alternatives(struct parser *r);

static mp_obj_t name(struct parser *r, char end)
{
    const byte *begin = r->p;
    while (r->p < r->end && *r->p != end)
        r->p++;
    if (r->p == begin || r->p == r->end)
        wrong(r, "missing group name");
    return mp_obj_new_str((const char *)begin, r->p++ - begin);
}

static int same(struct parser *r, int group)
{
    if (group >= r->groups || (group < 100 && !r->closed[group]))
        wrong(r, group < r->groups ? "cannot refer to an open group" : "invalid group reference");
    emit2(r, SAME, group);
    emit(r, class_flags(r));
    return -1;
}

static void closing(struct parser *r)
{
    if (!accept(r, ')'))
        wrong(r, "missing ), unterminated subpattern");
}

static int group(struct parser *r, mp_obj_t named)
{
    int n = r->groups++, before = r->flags;
    if (named != MP_OBJ_NULL) {
        if (mp_map_lookup(mp_obj_dict_get_map(r->names), named, MP_MAP_LOOKUP))
            wrong(r, "redefinition of a group name");
        mp_obj_dict_store(r->names, named, mp_obj_new_int(n));
    }
    emit2(r, SAVE, 2 * n);
    int width = alternatives(r);
    emit2(r, SAVE, 2 * n + 1);
    closing(r);
    if (n < 100)
        r->closed[n] = true;
    r->flags = before;
    return width;
}

static int look(struct parser *r, bool behind)
{
    size_t at = r->size;
    emit2(r, LOOK, accept(r, '!'));
    if (!r->code[at + 1] && !accept(r, '='))
        wrong(r, "unknown extension");
    emit2(r, -1, 0);
    int width = alternatives(r);
    closing(r);
    emit(r, END);
    if (behind && width < 0)
        wrong(r, "look-behind requires fixed-width pattern");
    r->code[at + 2] = behind ? width : -1;
    r->code[at + 3] = r->size - at - 4;
    return 0;
}

// Reads (?flags), which hold to the end of the group around them, and (?flags:…).
static int with_flags(struct parser *r)
{
    static const char letters[] = "imsxaLu";
    static const int values[] = {IGNORECASE, MULTILINE, DOTALL, VERBOSE, ASCII, 0, 0};
    int before = r->flags;
    bool off = false;
    while (r->p < r->end && *r->p != ')' && *r->p != ':') {
        int c = *r->p++;
        const char *known = letter(letters, c);
        if (c == '-' && !off)
            off = true;
        else if (!known)
            wrong(r, "unknown extension");
        else if (off)
            r->flags &= ~values[known - letters];
        else
            r->flags |= values[known - letters];
    }
    if (accept(r, ')'))
        return 0;
    if (!accept(r, ':'))
        wrong(r, "missing -, : or )");
    int width = alternatives(r);
    closing(r);
    r->flags = before;
    return width;
}

// Reads what follows "(?".
static int extension(struct parser *r)
{
    if (accept(r, ':')) {
        int before = r->flags, width = alternatives(r);
        closing(r);
        r->flags = before;
        return width;
    }
    if (accept(r, 'P')) {
        if (accept(r, '<'))
            return group(r, name(r, '>'));
        if (!accept(r, '='))
            wrong(r, "unknown extension");
        mp_obj_t key = name(r, ')');
        mp_map_elem_t *found = mp_map_lookup(mp_obj_dict_get_map(r->names), key, MP_MAP_LOOKUP);
        if (!found)
            wrong(r, "unknown group name");
        return same(r, mp_obj_get_int(found->value));
    }
    if (accept(r, '#')) {
        while (r->p < r->end && *r->p != ')')
            r->p++;
        closing(r);
        return 0;
    }
    if (accept(r, '<'))
        return look(r, true);
    if (r->p < r->end && (*r->p == '=' || *r->p == '!'))
        return look(r, false);
    return with_flags(r);
}

static int escape(struct parser *r)
{
    if (r->p == r->end)
        wrong(r, "bad escape (end of pattern)");
    int c = character(&r->p, r->wide);
    if (is_category(c)) {
        category(r, c);
        return 1;
    }
    switch (c) {
    case 'A': emit(r, BEGIN); return 0;
    case 'Z': emit(r, FINISH); return 0;
    case 'b': case 'B':
        emit2(r, EDGE, c == 'B');
        emit(r, !!(class_flags(r) & NARROW));
        return 0;
    }
    bool octal = r->end - r->p >= 2 && digit(c, 8) >= 0 && digit(r->p[0], 8) >= 0 && digit(r->p[1], 8) >= 0;
    if (c >= '1' && c <= '9' && !octal) {
        r->p--;
        return same(r, number(r, 10, 1, 2));
    }
    literal(r, escaped(r, c));
    return 1;
}

// Reads one atom and returns its width in characters, or -1 if that is not fixed.
static int atom(struct parser *r)
{
    int c = character(&r->p, r->wide);
    switch (c) {
    case '.': emit(r, r->flags & DOTALL ? ALL : ANY); return 1;
    case '^': emit(r, r->flags & MULTILINE ? LINE_BEGIN : BEGIN); return 0;
    case '$': emit(r, r->flags & MULTILINE ? LINE_LAST : LAST); return 0;
    case '[': class(r); return 1;
    case '\\': return escape(r);
    case '(': return accept(r, '?') ? extension(r) : group(r, MP_OBJ_NULL);
    case '*': case '+': case '?':
        r->p--;
        wrong(r, "nothing to repeat");
    }
    literal(r, c);
    return 1;
}

// Reads a quantifier; false if there is none.
static bool quantifier(struct parser *r, int *least, int *most)
{
    const byte *before = r->p;
    *least = 0, *most = MOST;
    if (accept(r, '*'))
        return true;
    if (accept(r, '+'))
        return *least = 1;
    if (accept(r, '?'))
        return *most = 1;
    if (!accept(r, '{'))
        return false;
    const byte *digits = r->p;
    *least = number(r, 10, 0, 10);
    bool some = r->p > digits;
    if (accept(r, ',')) {
        digits = r->p;
        *most = number(r, 10, 0, 10);
        if (r->p == digits)
            *most = MOST;
        some = true;
    } else {
        *most = *least;
    }
    if (!some || !accept(r, '}')) {
        r->p = before;
        return false;
    }
    if (*most < *least)
        wrong(r, "min repeat greater than max repeat");
    return true;
}

static size_t single(const int32_t *code, size_t size)
{
    size_t own = code[0] <= FOLD ? 2 : code[0] <= ALL ? 1 : code[0] == CLASS ? 3 + 2 * code[2] : 0;
    return own == size ? own : 0;
}

// Writes a SPLIT at a place: into the code that follows, or past size numbers of it.
static void split(struct parser *r, size_t at, size_t size, bool greedy)
{
    int32_t *code = r->code + at;
    code[0] = SPLIT;
    code[greedy ? 1 : 2] = 3;
    code[greedy ? 2 : 1] = 3 + size;
}

// Repeats the code from a place on.
static void repeat(struct parser *r, size_t at, int least, int most, bool greedy)
{
    size_t size = r->size - at;
    if (!size)
        return;
    if (single(r->code + at, size)) {
        int32_t head[] = {REPEAT, least, most, greedy, size};
        memcpy(insert(r, at, 5), head, sizeof head);
        return;
    }
    if ((size_t)least > MAX_CODE / size || (most != MOST && (size_t)most > MAX_CODE / size))
        wrong(r, "the expression is too large");
    int32_t *body = m_new(int32_t, size);
    memcpy(body, r->code + at, size * sizeof *body);
    r->size = at;
    for (int i = 0; i < least; i++)
        memcpy(insert(r, r->size, size), body, size * sizeof *body);
    if (most == MOST) {
        int slot = -1 - r->slots++; // behind those of the groups, whose number is not known yet
        size_t loop = r->size;
        insert(r, loop, 3);
        split(r, loop, size + 7, greedy);
        emit2(r, SAVE, slot);
        memcpy(insert(r, r->size, size), body, size * sizeof *body);
        emit2(r, UNLESS, slot);
        emit(r, 5);
        emit2(r, JUMP, (int)loop - (int)r->size);
        return;
    }
    for (int left = most - least; left > 0; left--) {
        size_t here = r->size;
        insert(r, here, 3);
        split(r, here, left * (size + 3) - 3, greedy);
        memcpy(insert(r, r->size, size), body, size * sizeof *body);
    }
}

static void skip_verbose(struct parser *r)
{
    while (r->flags & VERBOSE && r->p < r->end && letter(" \t\n\r\f\v#", *r->p))
        if (*r->p++ == '#')
            while (r->p < r->end && *r->p++ != '\n')
                ;
}

static int sequence(struct parser *r)
{
    int all = 0, least, most;
    for (skip_verbose(r); r->p < r->end && *r->p != '|' && *r->p != ')'; skip_verbose(r)) {
        size_t at = r->size;
        int width = atom(r);
        skip_verbose(r);
        if (quantifier(r, &least, &most)) {
            bool greedy = !accept(r, '?');
            repeat(r, at, least, most, greedy);
            const byte *here = r->p;
            int a, b;
            if (quantifier(r, &a, &b)) {
                r->p = here;
                wrong(r, "multiple repeat");
            }
            width = least == most && width >= 0 ? width * least : -1;
        }
        all = all < 0 || width < 0 ? -1 : all + width;
    }
    return all;
}

static int alternatives(struct parser *r)
{
    mp_cstack_check();
    size_t at = r->size;
    int width = sequence(r);
    if (!accept(r, '|'))
        return width;
    insert(r, at, 3);
    split(r, at, r->size - at - 1, true);
    size_t jump = r->size;
    emit2(r, JUMP, 0);
    int other = alternatives(r);
    r->code[jump + 1] = r->size - jump;
    return width == other ? width : -1;
}

static size_t length(const int32_t *code)
{
    static const byte lengths[] = {[CHAR] = 2, [FOLD] = 2, [ANY] = 1, [ALL] = 1, [CLASS] = 3, [SPLIT] = 3, [JUMP] = 2, [SAVE] = 2, [UNLESS] = 3, [BEGIN] = 1,
        [LINE_BEGIN] = 1, [LAST] = 1, [LINE_LAST] = 1, [FINISH] = 1, [EDGE] = 3, [SAME] = 3, [REPEAT] = 5, [LOOK] = 4, [END] = 1};
    return lengths[code[0]] + (code[0] == CLASS ? 2 * code[2] : 0);
}

// compile(pattern, flags): (program, number of groups, names, flags)
static mp_obj_t re_compile(mp_obj_t pattern, mp_obj_t flags)
{
    size_t n;
    const byte *p = (const byte *)mp_obj_str_get_data(pattern, &n);
    struct parser r = {p, p, p + n, mp_obj_is_str(pattern), mp_obj_get_int(flags), 1, 0, NULL, 0, 0, mp_obj_new_dict(0), {0}};
    insert(&r, 0, HEAD);
    emit2(&r, SAVE, 0);
    alternatives(&r);
    if (r.p < r.end)
        wrong(&r, "unbalanced parenthesis");
    emit2(&r, SAVE, 1);
    emit(&r, END);
    for (size_t at = HEAD; at < r.size; at += length(r.code + at))
        if ((r.code[at] == SAVE || r.code[at] == UNLESS) && r.code[at + 1] < 0)
            r.code[at + 1] = 2 * r.groups - 1 - r.code[at + 1];
    r.code[0] = r.groups, r.code[1] = 2 * r.groups + r.slots, r.code[2] = r.wide;
    mp_obj_t made[] = {mp_obj_new_bytes((const byte *)r.code, r.size * sizeof *r.code), mp_obj_new_int(r.groups - 1), r.names, mp_obj_new_int(r.flags)};
    return mp_obj_new_tuple(4, made);
}
static MP_DEFINE_CONST_FUN_OBJ_2(re_compile_obj, re_compile);

// Matching.

enum kind { UNDO, BRANCH, GREEDY, LAZY };

// A choice to come back to. UNDO: a is a slot and b its value. BRANCH: a is code, b a position. GREEDY: a is the code after a
// repetition, b and c its least and its present end. LAZY: a is the repetition, b its end, c how often it may go on.
struct choice { int32_t kind, a, b, c; };

struct match {
    const int32_t *code;
    const byte *text;
    int32_t end;
    int32_t stuck; // an empty match here is none; or -1
    bool wide, full;
    int32_t *slots;
    struct choice *choices;
    size_t top, room;
};

static void push(struct match *m, enum kind kind, int32_t a, int32_t b, int32_t c)
{
    if (m->top == m->room) {
        m->choices = m_renew(struct choice, m->choices, m->room, 2 * m->room);
        m->room *= 2;
    }
    m->choices[m->top++] = (struct choice){kind, a, b, c};
}

static int fold(const struct match *m, int c) { return m->wide || c < 128 ? (int)towlower(c) : c; }

static bool is_word(int c, bool narrow)
{
    if (c < 128)
        return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    return !narrow && iswalnum(c);
}

static bool in_category(int c, int category, bool narrow)
{
    switch (category | 32) {
    case 'd': return (c >= '0' && c <= '9') == (category == 'd');
    case 'w': return is_word(c, narrow) == (category == 'w');
    }
    bool space = (c >= 9 && c <= 13) || c == ' ' || (!narrow && ((c >= 28 && c <= 31) || c == 0x85 || c == 0xa0 || (c > 128 && iswspace(c))));
    return space == (category == 's');
}

static bool in_ranges(const int32_t *code, int c)
{
    for (int i = 0; i < code[2]; i++) {
        int32_t first = code[3 + 2 * i], last = code[4 + 2 * i];
        if (first < 0 ? in_category(c, last, code[1] & NARROW) : c >= first && c <= last)
            return true;
    }
    return false;
}

static bool in_class(const struct match *m, const int32_t *code, int c)
{
    bool in = in_ranges(code, c);
    if (!in && code[1] & FOLDED && (m->wide || c < 128))
        in = in_ranges(code, towlower(c)) || in_ranges(code, towupper(c));
    return in != !!(code[1] & NEGATIVE);
}

// Returns the position after one character that an instruction matches, or -1.
static int32_t one(const struct match *m, const int32_t *code, int32_t at)
{
    if (at >= m->end)
        return -1;
    const byte *p = m->text + at;
    int c = character(&p, m->wide);
    bool fits = false;
    switch (code[0]) {
    case CHAR: fits = c == code[1]; break;
    case FOLD: fits = fold(m, c) == code[1]; break;
    case ANY: fits = c != '\n'; break;
    case ALL: fits = true; break;
    case CLASS: fits = in_class(m, code, c); break;
    }
    return fits ? p - m->text : -1;
}

static int32_t before(const struct match *m, int32_t at)
{
    at--;
    while (m->wide && at > 0 && (m->text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

static bool word_at(const struct match *m, int32_t at, bool narrow)
{
    if (at < 0 || at >= m->end)
        return false;
    const byte *p = m->text + at;
    return is_word(character(&p, m->wide), narrow);
}

// Reports whether an assertion holds at a position.
static bool holds(const struct match *m, const int32_t *code, int32_t at)
{
    switch (code[0]) {
    case BEGIN: return at == 0;
    case LINE_BEGIN: return at == 0 || m->text[at - 1] == '\n';
    case LAST: return at == m->end || (at == m->end - 1 && m->text[at] == '\n');
    case LINE_LAST: return at == m->end || m->text[at] == '\n';
    case FINISH: return at == m->end;
    }
    return (word_at(m, at ? before(m, at) : -1, code[2]) == word_at(m, at, code[2])) == code[1];
}

// Returns the position after a repetition of the text of a group, or -1.
static int32_t again(const struct match *m, const int32_t *code, int32_t at)
{
    int32_t from = m->slots[2 * code[1]], to = m->slots[2 * code[1] + 1];
    if (from < 0 || to < 0)
        return -1;
    const byte *a = m->text + from, *b = m->text + at;
    while (a < m->text + to) {
        if (b >= m->text + m->end)
            return -1;
        int x = character(&a, m->wide), y = character(&b, m->wide);
        if (x != y && !(code[2] & FOLDED && fold(m, x) == fold(m, y)))
            return -1;
    }
    return b - m->text;
}

static void save(struct match *m, int32_t slot, int32_t at)
{
    push(m, UNDO, slot, m->slots[slot], 0);
    m->slots[slot] = at;
}

static int32_t run(struct match *m, const int32_t *code, int32_t at, bool outer);

// Reports whether what a LOOK wants is there. Groups that it matched stay, and nothing else of it.
static bool looks(struct match *m, const int32_t *code, int32_t at)
{
    mp_cstack_check();
    size_t base = m->top, kept = base;
    int32_t from = at;
    for (int i = 0; i < code[2]; i++) {
        if (from == 0)
            return code[1];
        from = before(m, from);
    }
    bool found = run(m, code + 4, from, false) >= 0;
    if (found && code[1])
        while (m->top > base) {
            struct choice *c = &m->choices[--m->top];
            if (c->kind == UNDO)
                m->slots[c->a] = c->b;
        }
    for (size_t i = base; i < m->top; i++)
        if (m->choices[i].kind == UNDO)
            m->choices[kept++] = m->choices[i];
    m->top = kept;
    return found != code[1];
}

// Matches a repetition of one character for the first time, and returns its end or -1.
static int32_t repetition(struct match *m, const int32_t *code, int32_t at)
{
    int32_t n = 0, least = at, next;
    int32_t wanted = code[3] ? code[2] : code[1];
    while (n < wanted && (next = one(m, code + 5, at)) >= 0) {
        at = next;
        if (++n == code[1])
            least = at;
    }
    if (n < code[1])
        return -1;
    if (code[3] && n > code[1])
        push(m, GREEDY, code + 5 + code[4] - m->code, least, at);
    if (!code[3] && code[2] > n)
        push(m, LAZY, code - m->code, at, code[2] == MOST ? MOST : code[2] - n);
    return at;
}

// Goes back to the latest choice above base and returns the code to go on with, or NULL.
static const int32_t *retreat(struct match *m, size_t base, int32_t *at)
{
    if (sp_importing)
        sp_step();
    while (m->top > base) {
        struct choice *c = &m->choices[m->top - 1];
        int32_t next;
        switch (c->kind) {
        case UNDO:
            m->slots[c->a] = c->b;
            break;
        case BRANCH:
            *at = c->b;
            m->top--;
            return m->code + c->a;
        case GREEDY:
            *at = c->c = before(m, c->c);
            if (c->c <= c->b)
                m->top--;
            return m->code + c->a;
        case LAZY:
            next = c->c ? one(m, m->code + c->a + 5, c->b) : -1;
            if (next < 0)
                break;
            *at = c->b = next;
            c->c -= c->c != MOST;
            return m->code + c->a + 5 + m->code[c->a + 4];
        }
        m->top--;
    }
    return NULL;
}

// Runs code from a position, and returns the end of the match or -1. The code of a LOOK is not the outer one.
static int32_t run(struct match *m, const int32_t *code, int32_t at, bool outer)
{
    size_t base = m->top;
    while (code) {
        bool ok = true;
        int32_t next;
        switch (code[0]) {
        case SPLIT:
            push(m, BRANCH, code + code[2] - m->code, at, 0);
            code += code[1];
            continue;
        case JUMP:
            code += code[1];
            continue;
        case SAVE:
            save(m, code[1], at);
            break;
        case UNLESS:
            if (m->slots[code[1]] == at) {
                code += code[2];
                continue;
            }
            break;
        case SAME: case REPEAT: case CHAR: case FOLD: case ANY: case ALL: case CLASS:
            next = code[0] == SAME ? again(m, code, at) : code[0] == REPEAT ? repetition(m, code, at) : one(m, code, at);
            if ((ok = next >= 0))
                at = next;
            break;
        case LOOK:
            ok = looks(m, code, at);
            break;
        case END:
            if (!outer || ((!m->full || at == m->end) && at != m->stuck))
                return at;
            ok = false;
            break;
        default:
            ok = holds(m, code, at);
        }
        code = !ok ? retreat(m, base, &at) : code + length(code) + (code[0] == REPEAT ? code[4] : code[0] == LOOK ? code[3] : 0);
    }
    return -1;
}

// run(program, text, from, to, mode): the positions of all groups, or None. mode is 0 to search, 1 at the start, 2 for all of it,
// 3 to search, but for nothing that is empty at the start.
static mp_obj_t re_run(size_t n_args, const mp_obj_t *args)
{
    mp_buffer_info_t program, text;
    mp_get_buffer_raise(args[0], &program, MP_BUFFER_READ);
    mp_get_buffer_raise(args[1], &text, MP_BUFFER_READ);
    const int32_t *code = program.buf;
    int32_t at = mp_obj_get_int(args[2]), end = mp_obj_get_int(args[3]), mode = mp_obj_get_int(args[4]), count = code[1];
    if (at < 0 || end > (int32_t)text.len || !!code[2] != mp_obj_is_str(args[1]))
        mp_raise_TypeError(MP_ERROR_TEXT("cannot use a string pattern on bytes, or a bytes pattern on a string"));
    struct match m = {code, text.buf, end, mode == 3 ? at : -1, code[2], mode == 2, m_new(int32_t, count), m_new(struct choice, 64), 0, 64};
    mp_obj_t found = mp_const_none;
    for (const int32_t *start = code + HEAD; at <= end; at++) {
        if (mode % 3 == 0 && start[2] == CHAR && start[3] < 128) { // the code begins with SAVE 0
            const byte *first = memchr(m.text + at, start[3], end - at);
            if (!first)
                break;
            at = first - m.text;
        }
        m.top = 0;
        memset(m.slots, -1, count * sizeof *m.slots);
        if (run(&m, start, at, true) >= 0) {
            mp_obj_tuple_t *spans = MP_OBJ_TO_PTR(mp_obj_new_tuple(2 * code[0], NULL));
            for (int i = 0; i < 2 * code[0]; i++)
                spans->items[i] = MP_OBJ_NEW_SMALL_INT(m.slots[i]);
            found = MP_OBJ_FROM_PTR(spans);
            break;
        }
        if (mode % 3)
            break;
        while (m.wide && at + 1 < end && (m.text[at + 1] & 0xc0) == 0x80)
            at++;
    }
    m_del(struct choice, m.choices, m.room);
    m_del(int32_t, m.slots, count);
    return found;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(re_run_obj, 5, 5, re_run);

// Positions in bytes, and in characters.

// part(text, from, to): the part of a text between two positions
static mp_obj_t re_part(mp_obj_t text, mp_obj_t from, mp_obj_t to)
{
    size_t n;
    const char *s = mp_obj_str_get_data(text, &n);
    mp_int_t a = mp_obj_get_int(from), b = mp_obj_get_int(to);
    if (a < 0 || a > b || b > (mp_int_t)n)
        mp_raise_ValueError(NULL);
    return mp_obj_new_str_of_type(mp_obj_get_type(text), (const byte *)s + a, b - a);
}
static MP_DEFINE_CONST_FUN_OBJ_3(re_part_obj, re_part);

// index(text, position): the number of characters before a position
static mp_obj_t re_index(mp_obj_t text, mp_obj_t position)
{
    size_t n;
    const byte *s = (const byte *)mp_obj_str_get_data(text, &n);
    mp_int_t at = mp_obj_get_int(position);
    return mp_obj_is_str(text) && at > 0 && at <= (mp_int_t)n ? mp_obj_new_int(utf8_charlen(s, at)) : position;
}
static MP_DEFINE_CONST_FUN_OBJ_2(re_index_obj, re_index);

// position(text, index): the position of a character, at most that of the end
static mp_obj_t re_position(mp_obj_t text, mp_obj_t index)
{
    size_t n;
    const byte *s = (const byte *)mp_obj_str_get_data(text, &n), *p = s;
    mp_int_t i = mp_obj_get_int(index);
    for (; i > 0 && p < s + n; i--)
        p = mp_obj_is_str(text) ? utf8_next_char(p) : p + 1;
    return mp_obj_new_int(p - s);
}
static MP_DEFINE_CONST_FUN_OBJ_2(re_position_obj, re_position);

static const mp_rom_map_elem_t re_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR__re)},
    {MP_ROM_QSTR(MP_QSTR_compile), MP_ROM_PTR(&re_compile_obj)},
    {MP_ROM_QSTR(MP_QSTR_run), MP_ROM_PTR(&re_run_obj)},
    {MP_ROM_QSTR(MP_QSTR_part), MP_ROM_PTR(&re_part_obj)},
    {MP_ROM_QSTR(MP_QSTR_index), MP_ROM_PTR(&re_index_obj)},
    {MP_ROM_QSTR(MP_QSTR_position), MP_ROM_PTR(&re_position_obj)},
};
static MP_DEFINE_CONST_DICT(re_dict, re_table);
const mp_obj_module_t sp_re_module = {.base = {&mp_type_module}, .globals = (mp_obj_dict_t *)&re_dict};
MP_REGISTER_MODULE(MP_QSTR__re, sp_re_module);
