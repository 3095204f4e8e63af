#include "base/fault.h"

#ifdef SYMBOLIZER_FAULTS

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fault_point(const char *name) {
    /* The one global of base/: which passing this is. It exists in test builds only. */
    static atomic_int passed;
    const char *wanted = getenv("SYMBOLIZER_FAULT");
    size_t length = strlen(name);
    if (!wanted || strncmp(wanted, name, length) != 0)
        return;
    if (wanted[length] != '\0' && wanted[length] != ':')
        return;
    int nth = wanted[length] == ':' ? atoi(wanted + length + 1) : 1;
    if (atomic_fetch_add(&passed, 1) + 1 != nth)
        return;
    kill(getpid(), SIGKILL);
    /* The signal is delivered before kill returns to user space in this thread or shortly after;
     * nothing may happen past the point in any case. */
    for (;;)
        pause();
}

#else

typedef int fault_points_are_compiled_out;

#endif
