#include "policy/policy.h"

enum exposure policy_decide(const struct policy_request *request) {
    return request->context->roles & ROLE_RESOLVE ? EXPOSURE_FULL : EXPOSURE_DENY;
}
