// Dictionaries that keep the order of insertion, as CPython's do. The table of a map has its entries in that order, with
// MP_OBJ_SENTINEL as the key of a removed one; an index by hash follows the entries in the same block. Maps with
// is_ordered, which are searched from end to end, stay MicroPython's own.
#include <string.h>

#include "py/mpstate.h"
#include "py/obj.h"
#include "py/runtime.h"

mp_map_elem_t *original_map_lookup(mp_map_t *map, mp_obj_t key, mp_map_lookup_kind_t kind);

struct index { uint32_t fill, slots[]; }; // fill: entries in use or removed; a slot is the number of an entry plus 1, or 0

static struct index *index_of(const mp_map_t *map) { return (struct index *)(map->table + map->alloc); }

static size_t slots_of(size_t alloc)
{
    size_t n = 4;
    while (n < alloc + alloc / 2)
        n *= 2;
    return n;
}

// The size of the block of a map with so many entries.
size_t sp_map_size(size_t alloc) { return alloc * sizeof(mp_map_elem_t) + sizeof(struct index) + slots_of(alloc) * sizeof(uint32_t); }

void mp_map_init(mp_map_t *map, size_t n)
{
    map->alloc = n;
    map->table = n ? (mp_map_elem_t *)m_new0(byte, sp_map_size(n)) : NULL;
    map->used = 0;
    map->all_keys_are_qstrs = 1;
    map->is_fixed = 0;
    map->is_ordered = 0;
}

static size_t hash_of(mp_obj_t key)
{
    size_t h = mp_obj_is_qstr(key) ? qstr_hash(MP_OBJ_QSTR_VALUE(key)) : (size_t)MP_OBJ_SMALL_INT_VALUE(mp_unary_op(MP_UNARY_OP_HASH, key));
    return h ^ h >> 16 ^ h >> 7;
}

static mp_map_elem_t *append(mp_map_t *map, mp_obj_t key, size_t hash)
{
    struct index *index = index_of(map);
    size_t mask = slots_of(map->alloc) - 1, at = hash & mask;
    while (index->slots[at])
        at = (at + 1) & mask;
    mp_map_elem_t *e = &map->table[index->fill];
    index->slots[at] = ++index->fill;
    e->key = key;
    e->value = MP_OBJ_NULL;
    map->used++;
    if (!mp_obj_is_qstr(key))
        map->all_keys_are_qstrs = 0;
    return e;
}

// Moves the entries to a new table, without those that were removed.
static void grow(mp_map_t *map)
{
    mp_map_t old = *map, next;
    mp_map_init(&next, map->used < 4 ? 4 : map->used + map->used / 2 + 1);
    for (size_t i = 0; i < old.alloc; i++)
        if (mp_map_slot_is_filled(&old, i))
            append(&next, old.table[i].key, hash_of(old.table[i].key))->value = old.table[i].value;
    next.all_keys_are_qstrs = old.all_keys_are_qstrs;
    *map = next;
}

mp_map_elem_t *mp_map_lookup(mp_map_t *map, mp_obj_t key, mp_map_lookup_kind_t kind)
{
    if (map->is_ordered)
        return original_map_lookup(map, key, kind);
    bool same = map->all_keys_are_qstrs; // then equal keys are the same
    if (same && !mp_obj_is_qstr(key)) {
        if (mp_obj_is_exact_type(key, &mp_type_str))
            same = false;
        else if (kind != MP_MAP_LOOKUP_ADD_IF_NOT_FOUND) {
            hash_of(key); // raises the error of a key that has none
            return NULL;
        }
    }
    if (!map->alloc && kind != MP_MAP_LOOKUP_ADD_IF_NOT_FOUND)
        return NULL;
    size_t hash = hash_of(key);
    if (map->alloc) {
        struct index *index = index_of(map);
        size_t mask = slots_of(map->alloc) - 1;
        for (size_t at = hash & mask; index->slots[at]; at = (at + 1) & mask) {
            mp_map_elem_t *e = &map->table[index->slots[at] - 1];
            if (e->key == MP_OBJ_SENTINEL || e->key == MP_OBJ_NULL || !(e->key == key || (!same && mp_obj_equal(e->key, key))))
                continue;
            if (kind == MP_MAP_LOOKUP_REMOVE_IF_FOUND) {
                map->used--;
                e->key = MP_OBJ_SENTINEL; // the caller reads the value
            }
            return e;
        }
    }
    if (kind != MP_MAP_LOOKUP_ADD_IF_NOT_FOUND)
        return NULL;
    if (!map->alloc || index_of(map)->fill == map->alloc)
        grow(map);
    return append(map, key, hash);
}
