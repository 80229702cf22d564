/* upconv list: the operators by name, or as the text of their chains.
 * Called by main.c. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <getopt.h>

static const char help[] = "Usage: upconv list [--chains]\n\n"
                           "Lists the operators, one slug a line.\n\n"
                           "  --chains   print each operator's chain at its default shape instead\n"
                           "  --help     show this\n\n"
                           "Example: upconv list --chains\n";

int cli_list(int argc, char **argv) {
    static const struct option options[] = {
        {"chains", no_argument, NULL, 'c'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool chains = false;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_GOOD;
        }
        if (option != 'c')
            return cli_usage("list", "unknown option '%s'", argv[optind - 1]);
        chains = true;
    }
    if (optind < argc)
        return cli_usage("list", "'%s' is one argument too many", argv[optind]);

    for (size_t i = 0; i < uc_operator_count(); i++) {
        if (!chains) {
            puts(uc_operator_slug(i));
            continue;
        }
        uc_operator_params params;
        uc_chain *chain = NULL;
        uc_status status = uc_operator_defaults(uc_operator_slug(i), &params);
        if (status == UC_OK)
            status = uc_operator_chain(uc_operator_slug(i), UC_F32, &params, &chain);
        if (status != UC_OK) {
            fprintf(stderr, "upconv: %s\n", uc_last_error());
            return EXIT_USAGE;
        }
        char text[1024];
        uc_chain_text(chain, text, sizeof text);
        puts(text);
        uc_chain_destroy(chain);
    }
    return EXIT_GOOD;
}
