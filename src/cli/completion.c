// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

enum { MAX_CHOICE = 32 };

// --- what there is to complete

// The next word that is a value as it stands: "text" and "json" of "text|json", "npy" and so on of
// "[npy][,sigmf]", but nothing of "FILE" or "1-256".
static bool next_choice(const char **values, char out[MAX_CHOICE]) {
    static const char between[] = "|[]:,.";
    while (*values != NULL && **values != '\0') {
        size_t len = strcspn(*values, between);
        bool taken =
            len > 0 && len < MAX_CHOICE && strspn(*values, "abcdefghijklmnopqrstuvwxyz") == len;
        if (taken) {
            memcpy(out, *values, len);
            out[len] = '\0';
        }
        *values += len + (len == 0);
        if (taken) {
            return true;
        }
    }
    return false;
}

static bool has_choices(const char *values) {
    char choice[MAX_CHOICE];
    return next_choice(&values, choice);
}

// Prints all of them, each with something in front of it and nothing before the first one.
static void print_choices(const char *values, const char *between) {
    char choice[MAX_CHOICE];
    for (const char *gap = ""; next_choice(&values, choice); gap = between) {
        printf("%s%s", gap, choice);
    }
}

static bool is(const char *values, const char *what) {
    return values != NULL && strcmp(values, what) == 0;
}

// ROOT and MOUNTPOINT are directories, and a PATH is one of the dataset's.
static bool takes_files(const struct sds_command *command) {
    return command == &sds_cmd_shard || command == &sds_cmd_cp;
}

static const char *dashes(const struct sds_switch *s) {
    return s->name[1] == '\0' ? "-" : "--";
}

static void print_commands(void) {
    for (size_t i = 0; sds_commands[i] != NULL; i++) {
        printf("%s%s", i > 0 ? " " : "", sds_commands[i]->name);
    }
}

// --- bash

// All switches of a command as they are typed, separated by spaces.
static void bash_switches(const struct sds_command *command) {
    printf("%s--help", command->takes_options ? "-o " : "");
    for (size_t i = 0; i < command->switch_count; i++) {
        printf(" %s%s", dashes(&command->switches[i]), command->switches[i].name);
    }
}

// A pattern of the names of all options with such values (NULL: of all flags): "a | b | c".
static void bash_options_with(const char *values) {
    struct sds_option_text option;
    const char *gap = "";
    for (size_t i = 0; sds_option_text(i, &option); i++) {
        if (values == NULL ? option.values == NULL : is(option.values, values)) {
            printf("%s%s", gap, option.name);
            gap = " | ";
        }
    }
}

// The same of switches with (or without) a file as their value.
static void bash_switches_with(bool file) {
    const char *gap = "";
    for (size_t c = 0; sds_commands[c] != NULL; c++) {
        for (size_t i = 0; i < sds_commands[c]->switch_count; i++) {
            const struct sds_switch *s = &sds_commands[c]->switches[i];
            if (s->value != NULL && is(s->value, "FILE") == file) {
                printf("%s%s%s", gap, dashes(s), s->name);
                gap = " | ";
            }
        }
    }
}

static void bash_values(void) {
    struct sds_option_text option;
    printf("    case $name in\n    ");
    bash_options_with("DIRECTORY");
    printf(") kind=-d ;;\n    ");
    bash_options_with("FILE");
    printf(") kind=-f ;;\n    ");
    bash_options_with(NULL);
    printf(") values='yes no' ;;\n");
    for (size_t i = 0; sds_option_text(i, &option); i++) {
        if (has_choices(option.values)) {
            printf("    %s) values='", option.name);
            print_choices(option.values, " ");
            printf("' ;;\n");
        }
    }
    printf("    esac\n");
}

static void bash_list(void) {
    struct sds_option_text option;
    printf("# The list behind -o. Sets COMPREPLY to whole words.\n"
           "_sdsfs_options() {\n"
           "    local item=${1##*,} kind='' values=''\n"
           "    local front=${1%%\"$item\"} name=${item%%%%=*}\n"
           "    compopt -o nospace\n"
           "    if [[ $item != *=* ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -P \"$front\" -W '");
    for (size_t i = 0; sds_option_text(i, &option); i++) {
        printf("%s%s ", option.name, option.values != NULL ? "=" : "");
    }
    printf("ro' -- \"$item\")\n"
           "        return\n"
           "    fi\n");
    bash_values();
    printf("    [[ -z $kind ]] || compopt -o filenames\n"
           "    mapfile -t COMPREPLY < <(compgen $kind -P \"$front$name=\" -W \"$values\" "
           "-- \"${item#*=}\")\n"
           "}\n");
}

static void bash_arguments(void) {
    printf("    local switches='' kind=-d\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; sds_commands[i] != NULL; i++) {
        printf("    %s) switches='", sds_commands[i]->name);
        bash_switches(sds_commands[i]);
        printf("'%s ;;\n", takes_files(sds_commands[i]) ? " kind=-f" : "");
    }
    printf("    esac\n"
           "    case $before in\n    ");
    bash_switches_with(true);
    printf(") kind=-f ;;\n    ");
    bash_switches_with(false);
    printf(") return ;;\n"
           "    esac\n"
           "    if [[ $word == -* ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$switches\" -- \"$word\")\n"
           "    else\n"
           "        compopt -o filenames\n"
           "        mapfile -t COMPREPLY < <(compgen $kind -- \"$word\")\n"
           "    fi\n");
}

void sds_complete_bash(void) {
    printf("# Completion of sdsfs for bash. Made by scripts/tables.\n");
    bash_list();
    printf("_sdsfs() {\n"
           "    # Bash takes \"=\" and \":\" for the ends of words: what was typed is put together "
           "again, and what is\n"
           "    # answered is only what stands behind the last of them.\n"
           "    local i=$COMP_CWORD last=${COMP_WORDS[COMP_CWORD]}\n"
           "    local word=$last\n"
           "    while ((i > 1)) && [[ ${COMP_WORDS[i]} == [=:]* || ${COMP_WORDS[i-1]} == *[=:] ]]; "
           "do\n"
           "        ((i--))\n"
           "        word=${COMP_WORDS[i]}$word\n"
           "    done\n"
           "    local before=${COMP_WORDS[i-1]} kept=${word%%\"$last\"}\n"
           "    [[ $last != [=:]* ]] || kept=$word\n"
           "    COMPREPLY=()\n"
           "    if ((i == 1)); then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    print_commands();
    printf(" --help --version' -- \"$word\")\n"
           "    elif [[ $before == -o ]]; then\n"
           "        _sdsfs_options \"$word\"\n"
           "    else\n"
           "        _sdsfs_arguments\n"
           "    fi\n"
           "    COMPREPLY=(\"${COMPREPLY[@]#\"$kept\"}\")\n"
           "}\n"
           "_sdsfs_arguments() {\n");
    bash_arguments();
    printf("}\n"
           "complete -F _sdsfs sdsfs\n");
}

// --- zsh

// A text inside single quotes and brackets, as zsh's _arguments wants it.
static void print_quoted(const char *text, const char *escaped) {
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            printf("'\\''");
        } else {
            printf("%s%c", strchr(escaped, *text) != NULL ? "\\" : "", *text);
        }
    }
}

static void zsh_command(const struct sds_command *command) {
    printf("    %s)\n        _arguments '--help[tell more]'", command->name);
    if (command->takes_options) {
        printf(" '*-o[options]:option:_sdsfs_options'");
    }
    for (size_t i = 0; i < command->switch_count; i++) {
        const struct sds_switch *s = &command->switches[i];
        printf(" \\\n            '%s%s[", dashes(s), s->name);
        print_quoted(s->help, "[]:\\");
        printf("]%s%s", s->value != NULL ? ":" : "", s->value != NULL ? s->value : "");
        printf("%s'", is(s->value, "FILE") ? ":_files" : s->value != NULL ? ": " : "");
    }
    printf(" \\\n            '*:%s'\n        ;;\n",
           takes_files(command) ? "file:_files" : "directory:_files -/");
}

static void zsh_values(const char *values) {
    if (is(values, "DIRECTORY")) {
        printf(":directory:_files -/");
    } else if (is(values, "FILE")) {
        printf(":file:_files");
    } else if (has_choices(values)) {
        printf(":value:(");
        print_choices(values, " ");
        printf(")");
    } else if (values != NULL) {
        printf(":%s: ", values);
    }
}

void sds_complete_zsh(void) {
    printf("#compdef sdsfs\n# Completion of sdsfs for zsh. Made by scripts/tables.\n"
           "_sdsfs_options() {\n    _values -s , option");
    struct sds_option_text option;
    for (size_t i = 0; sds_option_text(i, &option); i++) {
        printf(" \\\n        '%s[", option.name);
        print_quoted(option.help, "[]:\\");
        printf("]");
        zsh_values(option.values);
        printf("'");
    }
    printf(" \\\n        'ro[nothing is published through the mount]'"
           "\n}\n_sdsfs() {\n    if (( CURRENT == 2 )); then\n        _values command");
    for (size_t i = 0; sds_commands[i] != NULL; i++) {
        printf(" \\\n            '%s[", sds_commands[i]->name);
        print_quoted(sds_commands[i]->summary, "[]:\\");
        printf("]'");
    }
    printf(
        "\n        return\n    fi\n    shift words\n    (( CURRENT-- ))\n    case $words[1] in\n");
    for (size_t i = 0; sds_commands[i] != NULL; i++) {
        zsh_command(sds_commands[i]);
    }
    printf("    esac\n}\n_sdsfs \"$@\"\n");
}

// --- fish

// Inside single quotes.
static void fish_text(const char *text) {
    for (; *text != '\0'; text++) {
        printf("%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
    }
}

static void fish_command(const struct sds_command *command) {
    const char *seen = "__fish_seen_subcommand_from";
    printf("complete -c sdsfs -n __fish_use_subcommand -f -a %s -d '", command->name);
    fish_text(command->summary);
    printf("'\n");
    if (!takes_files(command)) {
        printf("complete -c sdsfs -n '%s %s' -f -a '(__fish_complete_directories (commandline "
               "-ct))'\n",
               seen, command->name);
    }
    if (command->takes_options) {
        printf("complete -c sdsfs -n '%s %s' -s o -x -a '(__sdsfs_options)'\n", seen,
               command->name);
    }
    for (size_t i = 0; i < command->switch_count; i++) {
        const struct sds_switch *s = &command->switches[i];
        printf("complete -c sdsfs -n '%s %s' -%c %s%s -d '", seen, command->name,
               s->name[1] == '\0' ? 's' : 'l', s->name,
               s->value == NULL       ? ""
               : is(s->value, "FILE") ? " -rF"
                                      : " -x");
        fish_text(s->help);
        printf("'\n");
    }
}

void sds_complete_fish(void) {
    struct sds_option_text option;
    printf("# Completion of sdsfs for fish. Made by scripts/tables.\n"
           "function __sdsfs_options\n"
           "    set -l before (string match -r '.*,' -- (commandline -ct); or echo '')\n"
           "    printf '%%s\\n' $before{");
    for (size_t i = 0; sds_option_text(i, &option); i++) {
        const char *values = option.values;
        char choice[MAX_CHOICE];
        printf("%s%s,", option.name, values != NULL ? "=" : "");
        while (next_choice(&values, choice)) {
            printf("%s=%s,", option.name, choice);
        }
    }
    printf("ro}\nend\n");
    for (size_t i = 0; sds_commands[i] != NULL; i++) {
        fish_command(sds_commands[i]);
    }
}
