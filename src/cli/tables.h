// SPDX-License-Identifier: Apache-2.0
//
// What else is made of the tables of commands, switches and options: parts of the man page, and
// completion for shells. For scripts/tables; --help does not tell of it.
#ifndef SDSFS_CLI_TABLES_H
#define SDSFS_CLI_TABLES_H

#include "cli/command.h"

// "man": copies a man page from standard input, with what stands between ".\\" begin NAME" and
// ".\\" end" made anew; NAME is "options" or "switches of COMMAND". "bash", "zsh", "fish":
// completion.
enum sds_exit sds_tables(const char *what);

#endif
