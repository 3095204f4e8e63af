/* cmocka with what its header needs before it, in the order it needs it. */
#pragma once

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
