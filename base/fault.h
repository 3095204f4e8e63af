/*
 * Named places where a test build dies on request. In a normal build FAULT_POINT is nothing.
 *
 * With -DSYMBOLIZER_FAULTS (make FAULTS=1), the process kills itself with SIGKILL at the n-th
 * passing of a point when the environment says SYMBOLIZER_FAULT="<point>" or "<point>:<n>".
 * The names are listed in docs/ARCHITECTURE.md beside the step that each follows.
 */
#pragma once

#ifdef SYMBOLIZER_FAULTS
void fault_point(const char *name);
#define FAULT_POINT(name) fault_point(name)
#else
#define FAULT_POINT(name) ((void)0)
#endif
