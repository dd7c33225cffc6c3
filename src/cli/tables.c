// SPDX-License-Identifier: Apache-2.0
#include "cli/tables.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

enum { MAX_LINE = 1024 };

// --- the man page

// A sentence of a help text: with a capital and a full stop.
static void man_sentence(const char *help) {
    printf("%c%s.\n", toupper((unsigned char)help[0]), help + 1);
}

static void man_options(void) {
    struct sds_option_text option;
    for (size_t i = 0; sds_option_text(i, &option); i++) {
        printf(".It Cm %s", option.name);
        if (option.values != NULL) {
            printf("= Ns Ar %s", option.values);
        }
        printf("\n");
        man_sentence(option.help);
        if (option.more != NULL) {
            printf("%s\n", option.more);
        }
    }
}

static void man_switches(const char *name) {
    for (size_t c = 0; sds_commands[c] != NULL; c++) {
        const struct sds_command *command = sds_commands[c];
        for (size_t i = 0; strcmp(command->name, name) == 0 && i < command->switch_count; i++) {
            const struct sds_switch *s = &command->switches[i];
            printf(".It %s%s", s->name[1] != '\0' ? "Fl Fl " : "Fl ", s->name);
            if (s->value != NULL) {
                printf(" Ar %s", s->value);
            }
            printf("\n");
            man_sentence(s->help);
        }
    }
}

// What a line begins, when it does: the name of the part.
static bool begins(const char *line, char *name) {
    return sscanf(line, ".\\\" begin %63[a-z ]", name) == 1;
}

static void man(void) {
    char line[MAX_LINE], name[64];
    bool inside = false;
    while (fgets(line, sizeof line, stdin) != NULL) {
        inside = inside && strncmp(line, ".\\\" end", 7) != 0;
        if (inside) {
            continue;
        }
        fputs(line, stdout);
        inside = begins(line, name);
        if (inside && strcmp(name, "options") == 0) {
            man_options();
        } else if (inside && strncmp(name, "switches of ", 12) == 0) {
            man_switches(name + 12);
        }
    }
}

// --- completion

// All switches of a command as they are typed, separated by spaces.
static void print_switches(const struct sds_command *command) {
    printf("%s--help", command->takes_options ? "-o " : "");
    for (size_t i = 0; i < command->switch_count; i++) {
        const char *name = command->switches[i].name;
        printf(" %s%s", name[1] == '\0' ? "-" : "--", name);
    }
}

static void print_options(const char *before) {
    struct sds_option_text option;
    for (size_t i = 0; sds_option_text(i, &option); i++) {
        printf("%s%s%s", i > 0 ? before : "", option.name, option.values != NULL ? "=" : "");
    }
}

static void print_commands(void) {
    for (size_t i = 0; sds_commands[i] != NULL; i++) {
        printf("%s%s", i > 0 ? " " : "", sds_commands[i]->name);
    }
}

static void bash(void) {
    printf("# Completion of sdsfs for bash. Made by scripts/tables.\n"
           "_sdsfs() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local switches='' options='");
    print_options(" ");
    printf("'\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    print_commands();
    printf(" --help --version' -- \"$word\")\n"
           "        return\n"
           "    fi\n"
           "    if [ \"$before\" = -o ]; then\n"
           "        compopt -o nospace\n"
           "        local done=${word%%\"${word##*,}\"}\n"
           "        mapfile -t COMPREPLY < <(compgen -P \"$done\" -W \"$options\" -- "
           "\"${word##*,}\")\n"
           "        return\n"
           "    fi\n"
           "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; sds_commands[i] != NULL; i++) {
        printf("    %s) switches='", sds_commands[i]->name);
        print_switches(sds_commands[i]);
        printf("' ;;\n");
    }
    printf("    esac\n"
           "    if [[ $word == -* ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$switches\" -- \"$word\")\n"
           "    else\n"
           "        compopt -o filenames\n"
           "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
           "    fi\n"
           "}\n"
           "complete -F _sdsfs sdsfs\n");
}

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
        printf(" \\\n            '%s%s[", s->name[1] == '\0' ? "-" : "--", s->name);
        print_quoted(s->help, "[]:\\");
        printf("]%s%s", s->value != NULL ? ":" : "", s->value != NULL ? s->value : "");
        printf("%s'", s->value != NULL && strcmp(s->value, "FILE") == 0 ? ":_files" : "");
    }
    printf(" \\\n            '*:file:_files'\n        ;;\n");
}

static void zsh(void) {
    printf("#compdef sdsfs\n# Completion of sdsfs for zsh. Made by scripts/tables.\n"
           "_sdsfs_options() {\n    _values -s , option");
    struct sds_option_text option;
    for (size_t i = 0; sds_option_text(i, &option); i++) {
        printf(" \\\n        '%s[", option.name);
        print_quoted(option.help, "[]:\\");
        printf("]%s'", option.values != NULL ? ":value:" : "");
    }
    printf("\n}\n_sdsfs() {\n    if (( CURRENT == 2 )); then\n        _values command");
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

static void fish_command(const struct sds_command *command) {
    printf("complete -c sdsfs -n __fish_use_subcommand -f -a %s -d '", command->name);
    print_quoted(command->summary, "\\");
    printf("'\n");
    const char *seen = "__fish_seen_subcommand_from";
    if (command->takes_options) {
        printf("complete -c sdsfs -n '%s %s' -s o -x -a '(__sdsfs_options)'\n", seen,
               command->name);
    }
    for (size_t i = 0; i < command->switch_count; i++) {
        const struct sds_switch *s = &command->switches[i];
        printf("complete -c sdsfs -n '%s %s' -%c %s%s -d '", seen, command->name,
               s->name[1] == '\0' ? 's' : 'l', s->name, s->value != NULL ? " -r" : "");
        for (const char *p = s->help; *p != '\0'; p++) {
            printf("%s%c", *p == '\'' || *p == '\\' ? "\\" : "", *p);
        }
        printf("'\n");
    }
}

static void fish(void) {
    printf("# Completion of sdsfs for fish. Made by scripts/tables.\n"
           "function __sdsfs_options\n"
           "    set -l before (string match -r '.*,' -- (commandline -ct))\n"
           "    printf '%%s\\n' $before{");
    print_options(",");
    printf("}\nend\n");
    for (size_t i = 0; sds_commands[i] != NULL; i++) {
        fish_command(sds_commands[i]);
    }
}

enum sds_exit sds_tables(const char *what) {
    static const struct {
        const char *name;
        void (*print)(void);
    } kinds[] = {{"man", man}, {"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, what) == 0) {
            kinds[i].print();
            return sds_stdout_failed() ? SDS_EXIT_STORAGE : SDS_EXIT_DONE;
        }
    }
    return SDS_EXIT_USAGE;
}
