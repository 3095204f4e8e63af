#include <libiberty/demangle.h>
#include <stdint.h>
#include <stdlib.h>

#include "symbolizer/index/demangle_internal.h"

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

/* Nodes of the tree with shared parts counted as often as they occur. Few nodes print nothing, so
 * that names whose output fits stay below. */
#define NODES_MAX 262144
/* libiberty prints no deeper than this either. */
#define DEPTH_MAX 1024
/* libiberty puts 16 bytes for each template times each forwarding reference on the stack. */
#define SAVED_TEMPLATES_MAX 65536

struct tree_cost {
    uint32_t nodes;
    uint32_t templates;
    uint32_t forwarding_references;
};

static bool add_cost(const struct demangle_component *node, unsigned depth, struct tree_cost *cost);

static bool add_cost_of_pair(const struct demangle_component *node, unsigned depth,
                             struct tree_cost *cost) {
    return add_cost(node->u.s_binary.left, depth + 1, cost) &&
           add_cost(node->u.s_binary.right, depth + 1, cost);
}

static bool is_forwarding(const struct demangle_component *node) {
    const struct demangle_component *target = node->u.s_binary.left;
    return target && target->type == DEMANGLE_COMPONENT_TEMPLATE_PARAM;
}

static bool add_cost(const struct demangle_component *node, unsigned depth,
                     struct tree_cost *cost) {
    if (!node)
        return true;
    if (depth > DEPTH_MAX || ++cost->nodes > NODES_MAX)
        return false;
    switch (node->type) {
    /* Leaves: their union holds no subtrees. */
    case DEMANGLE_COMPONENT_NAME:
    case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
    case DEMANGLE_COMPONENT_FUNCTION_PARAM:
    case DEMANGLE_COMPONENT_SUB_STD:
    case DEMANGLE_COMPONENT_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_OPERATOR:
    case DEMANGLE_COMPONENT_CHARACTER:
    case DEMANGLE_COMPONENT_NUMBER:
    case DEMANGLE_COMPONENT_UNNAMED_TYPE:
        return true;
    case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
        return add_cost(node->u.s_extended_operator.name, depth + 1, cost);
    case DEMANGLE_COMPONENT_FIXED_TYPE:
        return add_cost(node->u.s_fixed.length, depth + 1, cost);
    case DEMANGLE_COMPONENT_CTOR:
        return add_cost(node->u.s_ctor.name, depth + 1, cost);
    case DEMANGLE_COMPONENT_DTOR:
        return add_cost(node->u.s_dtor.name, depth + 1, cost);
    case DEMANGLE_COMPONENT_LAMBDA:
    case DEMANGLE_COMPONENT_DEFAULT_ARG:
        return add_cost(node->u.s_unary_num.sub, depth + 1, cost);
    case DEMANGLE_COMPONENT_TEMPLATE:
        cost->templates++;
        return add_cost_of_pair(node, depth, cost);
    case DEMANGLE_COMPONENT_REFERENCE:
    case DEMANGLE_COMPONENT_RVALUE_REFERENCE:
        cost->forwarding_references += is_forwarding(node);
        return add_cost_of_pair(node, depth, cost);
    default:
        return add_cost_of_pair(node, depth, cost);
    }
}

static bool is_affordable(const struct demangle_component *tree) {
    struct tree_cost cost = {0};
    return add_cost(tree, 0, &cost) &&
           (uint64_t)cost.templates * cost.forwarding_references <= SAVED_TEMPLATES_MAX;
}

/* Only libiberty's own frames, which hold nothing to be freed, lie between here and cxx_print. */
static void add_or_escape(const char *data, size_t size, void *context) {
    struct demangle_output *output = context;
    demangle_output_add(output, data, size);
    if (output->full)
        longjmp(output->escape, 1);
}

static bool print_tree(struct demangle_component *tree, struct demangle_output *output) {
    if (setjmp(output->escape) != 0)
        return false;
    return cplus_demangle_print_callback(OPTIONS, tree, add_or_escape, output) != 0;
}

/* base/cleanup.h and libiberty.h both define ARRAY_SIZE, so the memory is freed by hand. */
bool cxx_print(const char *name, struct demangle_output *output) {
    void *components = NULL;
    struct demangle_component *tree = cplus_demangle_v3_components(name, OPTIONS, &components);
    bool printed = tree && is_affordable(tree) && print_tree(tree, output);
    free(components);
    return printed;
}
