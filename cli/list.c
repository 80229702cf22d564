/* upconv list: the operators, one line each, or the text of their chains.
 * Called by main.c. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <stdlib.h>

#include "json.h"
#include "problem.h"

static const char help[] =
    "Usage: upconv list [--chains] [--json]\n\n"
    "Lists the operators, one a line: its name (slug) and what it computes.\n\n"
    "  --chains  print each operator's chain at its default shape instead\n"
    "  --json    print a JSON array with both, and the FLOP of each\n"
    "  --help    show this\n\n"
    "Example: upconv list --json\n";

/* What is said about one operator. */
typedef struct entry {
    const char *slug;
    char *title, *chain;
    double flops;
} entry;

static bool look_up(size_t index, entry *e) {
    e->slug = uc_operator_slug(index);
    uc_operator_params params;
    uc_chain *chain = NULL;
    uc_status status = uc_operator_defaults(e->slug, &params);
    if (status == UC_OK)
        status = uc_operator_chain(e->slug, UC_F32, &params, &chain);
    if (status != UC_OK) {
        fprintf(stderr, "upconv: %s\n", uc_last_error());
        return false;
    }
    const size_t bytes = uc_chain_text(chain, NULL, 0) + 1;
    if ((e->chain = malloc(bytes)))
        uc_chain_text(chain, e->chain, bytes);
    e->flops = uc_chain_flops(chain);
    uc_chain_destroy(chain);

    const embedded_file *file = problem_find(e->slug);
    problem p;
    if (!e->chain || !file || !problem_parse(file->name, file->text, file->bytes, &p)) {
        free(e->chain);
        return false;
    }
    e->title = p.title;
    p.title = NULL;
    problem_free(&p);
    return true;
}

static void add_json(cJSON *array, const entry *e) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "slug", e->slug);
    cJSON_AddStringToObject(object, "title", e->title);
    cJSON_AddStringToObject(object, "chain", e->chain);
    cJSON_AddNumberToObject(object, "flops", e->flops);
    cJSON_AddItemToArray(array, object);
}

int cli_list(int argc, char **argv) {
    static const struct option options[] = {{"chains", no_argument, NULL, 'c'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    bool chains = false, json = false;
    for (int option; (option = cli_option("list", argc, argv, options)) != -1;)
        switch (option) {
        case 'c':
            chains = true;
            break;
        case 'j':
            json = true;
            break;
        case 'h':
            fputs(help, stdout);
            return EXIT_GOOD;
        default:
            return EXIT_USAGE;
        }
    if (optind < argc)
        return cli_usage("list", "'%s' is one argument too many", argv[optind]);

    cJSON *array = json ? cJSON_CreateArray() : NULL;
    for (size_t i = 0; i < uc_operator_count(); i++) {
        entry e;
        if (!look_up(i, &e)) {
            cJSON_Delete(array);
            return EXIT_USAGE;
        }
        if (json)
            add_json(array, &e);
        else if (chains)
            puts(e.chain);
        else
            printf("%s%-48s%s  %s\n", cli_colour_on(stdout, CLI_BOLD), e.slug,
                   cli_colour_off(stdout), e.title);
        free(e.title);
        free(e.chain);
    }
    return !json || json_print(array) ? EXIT_GOOD : EXIT_USAGE;
}
