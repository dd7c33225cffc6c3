// SPDX-License-Identifier: Apache-2.0
//
// Completion for shells, made of the tables of commands and options (scripts/tables). Each prints
// the file for one shell on stdout.
#ifndef SDSFS_CLI_COMPLETION_H
#define SDSFS_CLI_COMPLETION_H

void sds_complete_bash(void);
void sds_complete_zsh(void);
void sds_complete_fish(void);

#endif
