// SPDX-License-Identifier: Apache-2.0
#include "cli/tables.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/completion.h"
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

enum sds_exit sds_tables(const char *what) {
    static const struct {
        const char *name;
        void (*print)(void);
    } kinds[] = {{"man", man},
                 {"bash", sds_complete_bash},
                 {"zsh", sds_complete_zsh},
                 {"fish", sds_complete_fish}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, what) == 0) {
            kinds[i].print();
            return sds_stdout_failed() ? SDS_EXIT_STORAGE : SDS_EXIT_DONE;
        }
    }
    return SDS_EXIT_USAGE;
}
