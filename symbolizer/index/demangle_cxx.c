#include <libiberty/demangle.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/index/demangle_internal.h"

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

/* Visits of nodes. Few nodes print nothing, so that names whose output fits stay below. */
#define NODES_MAX 262144
/* libiberty prints no deeper than this either. */
#define DEPTH_MAX 1024
/* libiberty puts 16 bytes for each template times each forwarding reference on the stack. */
#define SAVED_TEMPLATES_MAX 65536

/* The template whose arguments its parameters stand for, and those around it. */
struct scope {
    const struct scope *outer;
    const struct demangle_component *template;
};

/*
 * A walk that visits what printing would visit: shared parts as often as they occur, and behind a
 * template parameter the argument that it stands for, in the scope around.
 */
struct weighing {
    const struct scope *scope;
    const struct demangle_component *template; /* the last one entered */
    unsigned depth;
    uint32_t nodes;
    uint32_t templates;
    uint32_t forwarding_references;
    bool failed;
};

static void weigh(struct weighing *weighing, const struct demangle_component *node);

static void charge(struct weighing *weighing) {
    if (++weighing->nodes > NODES_MAX)
        weighing->failed = true;
}

static void weigh_in_scope(struct weighing *weighing, const struct scope *scope,
                           const struct demangle_component *node) {
    const struct scope *before = weighing->scope;
    weighing->scope = scope;
    weigh(weighing, node);
    weighing->scope = before;
}

static void weigh_pair(struct weighing *weighing, const struct demangle_component *node) {
    weigh(weighing, node->u.s_binary.left);
    weigh(weighing, node->u.s_binary.right);
}

/* The innermost scope's argument of that number; NULL when there is none. */
static const struct demangle_component *argument(struct weighing *weighing, long number) {
    if (!weighing->scope)
        return NULL;
    const struct demangle_component *list = weighing->scope->template->u.s_binary.right;
    for (; list && list->type == DEMANGLE_COMPONENT_TEMPLATE_ARGLIST && !weighing->failed;
         list = list->u.s_binary.right) {
        if (number-- <= 0)
            return list->u.s_binary.left;
        charge(weighing);
    }
    return NULL;
}

static void weigh_parameter(struct weighing *weighing, const struct demangle_component *node) {
    const struct demangle_component *value = argument(weighing, node->u.s_number.number);
    if (value)
        weigh_in_scope(weighing, weighing->scope->outer, value);
}

static bool is_method_qualifier(const struct demangle_component *node) {
    switch (node->type) {
    case DEMANGLE_COMPONENT_RESTRICT_THIS:
    case DEMANGLE_COMPONENT_VOLATILE_THIS:
    case DEMANGLE_COMPONENT_CONST_THIS:
    case DEMANGLE_COMPONENT_REFERENCE_THIS:
    case DEMANGLE_COMPONENT_RVALUE_REFERENCE_THIS:
    case DEMANGLE_COMPONENT_TRANSACTION_SAFE:
    case DEMANGLE_COMPONENT_NOEXCEPT:
    case DEMANGLE_COMPONENT_THROW_SPEC:
        return true;
    default:
        return false;
    }
}

static const struct demangle_component *unqualified(const struct demangle_component *name) {
    /* A chain of left links in a tree of bounded size, which the caller has walked. */
    while (name && is_method_qualifier(name))
        name = name->u.s_binary.left;
    return name;
}

/* A function and its type: the arguments of its template serve the type too. */
static void weigh_typed_name(struct weighing *weighing, const struct demangle_component *node) {
    weigh(weighing, node->u.s_binary.left);
    if (weighing->failed)
        return;
    const struct demangle_component *name = unqualified(node->u.s_binary.left);
    if (name && name->type == DEMANGLE_COMPONENT_LOCAL_NAME) {
        name = name->u.s_binary.right;
        if (name && name->type == DEMANGLE_COMPONENT_DEFAULT_ARG)
            name = name->u.s_unary_num.sub;
        name = unqualified(name);
    }
    struct scope scope = {.outer = weighing->scope, .template = name};
    bool is_template = name && name->type == DEMANGLE_COMPONENT_TEMPLATE;
    weigh_in_scope(weighing, is_template ? &scope : weighing->scope, node->u.s_binary.right);
}

/* The type of a conversion operator refers to the template that it stands in. */
static void weigh_conversion(struct weighing *weighing, const struct demangle_component *node) {
    struct scope scope = {.outer = weighing->scope, .template = weighing->template};
    weigh_in_scope(weighing, weighing->template ? &scope : weighing->scope, node->u.s_binary.left);
    weigh(weighing, node->u.s_binary.right);
}

static void weigh_template(struct weighing *weighing, const struct demangle_component *node) {
    const struct demangle_component *before = weighing->template;
    weighing->templates++;
    weighing->template = node;
    weigh_pair(weighing, node);
    weighing->template = before;
}

static void weigh_reference(struct weighing *weighing, const struct demangle_component *node) {
    const struct demangle_component *target = node->u.s_binary.left;
    if (target && target->type == DEMANGLE_COMPONENT_TEMPLATE_PARAM)
        weighing->forwarding_references++;
    weigh_pair(weighing, node);
}

static void weigh_parts(struct weighing *weighing, const struct demangle_component *node) {
    switch (node->type) {
    /* Leaves: their union holds no subtrees. */
    case DEMANGLE_COMPONENT_NAME:
    case DEMANGLE_COMPONENT_FUNCTION_PARAM:
    case DEMANGLE_COMPONENT_SUB_STD:
    case DEMANGLE_COMPONENT_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_OPERATOR:
    case DEMANGLE_COMPONENT_CHARACTER:
    case DEMANGLE_COMPONENT_NUMBER:
    case DEMANGLE_COMPONENT_UNNAMED_TYPE:
        return;
    case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
        weigh_parameter(weighing, node);
        return;
    case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
        weigh(weighing, node->u.s_extended_operator.name);
        return;
    case DEMANGLE_COMPONENT_FIXED_TYPE:
        weigh(weighing, node->u.s_fixed.length);
        return;
    case DEMANGLE_COMPONENT_CTOR:
        weigh(weighing, node->u.s_ctor.name);
        return;
    case DEMANGLE_COMPONENT_DTOR:
        weigh(weighing, node->u.s_dtor.name);
        return;
    case DEMANGLE_COMPONENT_LAMBDA:
    case DEMANGLE_COMPONENT_DEFAULT_ARG:
        weigh(weighing, node->u.s_unary_num.sub);
        return;
    case DEMANGLE_COMPONENT_TYPED_NAME:
        weigh_typed_name(weighing, node);
        return;
    case DEMANGLE_COMPONENT_TEMPLATE:
        weigh_template(weighing, node);
        return;
    case DEMANGLE_COMPONENT_CONVERSION:
        weigh_conversion(weighing, node);
        return;
    case DEMANGLE_COMPONENT_REFERENCE:
    case DEMANGLE_COMPONENT_RVALUE_REFERENCE:
        weigh_reference(weighing, node);
        return;
    default:
        weigh_pair(weighing, node);
    }
}

static void weigh(struct weighing *weighing, const struct demangle_component *node) {
    if (!node || weighing->failed)
        return;
    charge(weighing);
    if (++weighing->depth > DEPTH_MAX)
        weighing->failed = true;
    if (!weighing->failed)
        weigh_parts(weighing, node);
    weighing->depth--;
}

static bool is_affordable(const struct demangle_component *tree) {
    struct weighing weighing = {0};
    weigh(&weighing, tree);
    return !weighing.failed &&
           (uint64_t)weighing.templates * weighing.forwarding_references <= SAVED_TEMPLATES_MAX;
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

/*
 * libiberty (2.40) does not initialise all of its parser's state when it is asked for components
 * instead of text: what becomes of names with "sr" in expressions depended on what the stack held.
 * With zeroes it parses them; so zeroes are what its frame will find.
 */
#define FRAME_SIZE 4096

/* AddressSanitizer would lay guards around the array, where libiberty's state is to lie. */
static __attribute__((noinline, no_sanitize("address"))) void clear_stack_below(void) {
    char frame[FRAME_SIZE];
    explicit_bzero(frame, sizeof(frame));
}

/* base/cleanup.h and libiberty.h both define ARRAY_SIZE, so the memory is freed by hand. */
bool cxx_print(const char *name, struct demangle_output *output) {
    void *components = NULL;
    clear_stack_below();
    struct demangle_component *tree = cplus_demangle_v3_components(name, OPTIONS, &components);
    bool printed = tree && is_affordable(tree) && print_tree(tree, output);
    free(components);
    return printed;
}
