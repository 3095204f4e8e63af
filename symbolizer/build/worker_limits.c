#include "symbolizer/build/worker_limits.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#ifdef __has_feature
#define HAS_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#else
#define HAS_SANITIZER 0
#endif

static enum err lower(int resource, const char *name, rlim_t value, struct error *error) {
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return error_set_errno(error, ERR_INTERNAL, errno, "cannot read %s", name);
    if (limit.rlim_max > value)
        limit.rlim_max = value;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    if (setrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return error_set_errno(error, ERR_INTERNAL, errno, "cannot lower %s", name);
    return ERR_OK;
}

static enum err restrict_process(struct error *error) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_set_errno(error, ERR_INTERNAL, errno, "cannot forbid new privileges");
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return error_set_errno(error, ERR_INTERNAL, errno, "cannot forbid dumps");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return error_set_errno(error, ERR_INTERNAL, errno, "cannot ask to die with the parent");
    return ERR_OK;
}

enum err worker_limits_apply(uint64_t memory_max, struct error *error) {
    signal(SIGXFSZ, SIG_IGN);
    if (HAS_SANITIZER)
        return ERR_OK;
    enum err err = lower(RLIMIT_CORE, "RLIMIT_CORE", 0, error);
    /* Descriptors that are open stay open. A path in the input (.gnu_debugaltlink, a .dwo name)
     * that a library would follow leads nowhere. */
    if (err == ERR_OK)
        err = lower(RLIMIT_NOFILE, "RLIMIT_NOFILE", 0, error);
    if (err == ERR_OK && memory_max > 0)
        err = lower(RLIMIT_DATA, "RLIMIT_DATA", memory_max, error);
    return err ? err : restrict_process(error);
}
