// Stars in literals, as in [*a, b] and {**a, "b": 1}: a part of the compiler. The container is made of the items before the
// first star, and its own methods add the rest.
static bool sp_is(mp_parse_node_t pn, int kind) { return MP_PARSE_NODE_IS_STRUCT_KIND(pn, kind); }

static bool sp_is_starred(mp_parse_node_t pn) { return sp_is(pn, PN_star_expr) || sp_is(pn, PN_arglist_dbl_star); }

static bool sp_any_starred(size_t n, const mp_parse_node_t *nodes)
{
    for (size_t i = 0; i < n; i++)
        if (sp_is_starred(nodes[i]))
            return true;
    return false;
}

// Calls a method of the container on the stack with an item, or with what stands after its star.
static void sp_add(compiler_t *comp, qstr method, mp_parse_node_t item)
{
    EMIT(dup_top);
    EMIT_ARG(load_method, method, false);
    compile_node(comp, sp_is_starred(item) ? ((mp_parse_node_struct_t *)item)->nodes[0] : item);
    EMIT_ARG(call_method, 1, 0, 0);
    EMIT(pop_top);
}

static void sp_list(compiler_t *comp, size_t n, const mp_parse_node_t *nodes)
{
    size_t plain = 0;
    while (plain < n && !sp_is_starred(nodes[plain]))
        compile_node(comp, nodes[plain++]);
    EMIT_ARG(build, plain, MP_EMIT_BUILD_LIST);
    for (size_t i = plain; i < n; i++)
        sp_add(comp, sp_is_starred(nodes[i]) ? MP_QSTR_extend : MP_QSTR_append, nodes[i]);
}

static void sp_tuple(compiler_t *comp, size_t n, const mp_parse_node_t *nodes)
{
    EMIT_ARG(load_const_obj, MP_OBJ_FROM_PTR(&mp_type_tuple));
    sp_list(comp, n, nodes);
    EMIT_ARG(call_function, 1, 0, 0);
}

static void sp_add_to_braces(compiler_t *comp, bool dict, mp_parse_node_t item)
{
    bool pair = sp_is(item, PN_dictorsetmaker_item);
    if (dict != (pair || sp_is(item, PN_arglist_dbl_star))) {
        compile_syntax_error(comp, item, MP_ERROR_TEXT("invalid syntax"));
    } else if (pair) {
        compile_node(comp, item);
        EMIT(store_map);
    } else {
        sp_add(comp, sp_is_starred(item) ? MP_QSTR_update : MP_QSTR_add, item);
    }
}

// Compiles braces if there is a star in them.
static bool sp_braces(compiler_t *comp, mp_parse_node_t first)
{
    size_t n = 0;
    mp_parse_node_t *rest = NULL;
    if (sp_is(first, PN_dictorsetmaker)) {
        mp_parse_node_struct_t *maker = (mp_parse_node_struct_t *)first;
        first = maker->nodes[0];
        if (sp_is(maker->nodes[1], PN_dictorsetmaker_list))
            n = mp_parse_node_extract_list(&((mp_parse_node_struct_t *)maker->nodes[1])->nodes[0], PN_dictorsetmaker_list2, &rest);
        else if (sp_is_starred(first)) {
            compile_syntax_error(comp, first, MP_ERROR_TEXT("iterable unpacking cannot be used in comprehension"));
            return true;
        }
    }
    if (!sp_is_starred(first) && !sp_any_starred(n, rest))
        return false;
    bool dict = sp_is(first, PN_dictorsetmaker_item) || sp_is(first, PN_arglist_dbl_star);
    EMIT_ARG(build, 0, dict ? MP_EMIT_BUILD_MAP : MP_EMIT_BUILD_SET);
    sp_add_to_braces(comp, dict, first);
    for (size_t i = 0; i < n; i++)
        sp_add_to_braces(comp, dict, rest[i]);
    return true;
}
