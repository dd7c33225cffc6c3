// SPDX-License-Identifier: Apache-2.0
//
// cmocka with what it wants included first.
#ifndef SDSFS_TESTS_UNIT_H
#define SDSFS_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#endif
