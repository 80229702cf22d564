/* upconv plan: what would run for an operator or a chain, and why.
 * Called by main.c. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "json.h"
#include "target.h"
#include "tensor.h"

static const char help[] =
    "Usage: upconv plan SLUG|CHAIN [OPTION...]\n\n"
    "Tells what would run, and why: the algorithm, the kernels, passes and tiles, the workspace,\n"
    "and for each alternative that was rejected the reason. Operators have their default shape.\n\n"
    "  --shape TEXT     another shape: \"1x8x5x6x7 out_channels=16 kernel=3 stride=2x2x1\"; what "
    "is\n"
    "                   not named keeps its default\n"
    "  --batch N        another batch size\n"
    "  --dtype TYPE     f32, f64, f16 or bf16 (default f32, or what the chain says)\n" ENGINE_HELP
    "  --json           print one JSON object\n"
    "  --help           show this\n\n"
    "Example: upconv plan conv-transpose3d-max-max-sum --batch 1\n"
    "         upconv plan \"f32 1x8x16x16, conv_transpose 4 kernel 4 stride 2 padding 1, gelu\"\n";

/* The text that uc_plan_print() gives; the caller frees it. */
static char *printed(const uc_plan *plan) {
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    if (!file)
        return NULL;
    uc_plan_print(plan, file);
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

/* Its lines are "name: value": the names become keys. Those that come once and belong to the whole
 * plan are strings; passes, each with its tile, slab and cost, and rejections are arrays. */
static void add_line(cJSON *object, const char *name, const char *value) {
    cJSON *passes = cJSON_GetObjectItem(object, "passes");
    cJSON *pass = cJSON_GetArrayItem(passes, cJSON_GetArraySize(passes) - 1);
    if (!strcmp(name, "rejected")) {
        cJSON_AddItemToArray(cJSON_GetObjectItem(object, "rejected"), cJSON_CreateString(value));
    } else if (!strncmp(name, "pass ", 5)) {
        pass = cJSON_CreateObject();
        cJSON_AddStringToObject(pass, "pass", value);
        cJSON_AddItemToArray(passes, pass);
    } else if (pass && (!strcmp(name, "tile") || !strcmp(name, "slab") || !strcmp(name, "cost"))) {
        cJSON_AddStringToObject(pass, name, value);
    } else if (!cJSON_GetObjectItem(object, name)) {
        cJSON_AddStringToObject(object, name, value);
    }
}

static int print_json(const target *t, const uc_plan *plan, char *text) {
    cJSON *object = json_opening("plan", false);
    if (t->slug)
        cJSON_AddStringToObject(object, "operator", t->slug);
    else
        cJSON_AddNullToObject(object, "operator");
    cJSON_AddStringToObject(object, "dtype", uc_dtype_name(uc_chain_dtype(t->chain)));
    cJSON_AddNumberToObject(object, "flops", uc_chain_flops(t->chain));
    cJSON_AddNumberToObject(object, "workspace_bytes", (double)uc_plan_workspace_bytes(plan));
    cJSON_AddStringToObject(object, "text", text);
    cJSON_AddArrayToObject(object, "passes");
    cJSON_AddArrayToObject(object, "rejected");
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = 0;
        add_line(object, line, colon + 1 + strspn(colon + 1, " "));
    }
    return json_print(object) ? EXIT_GOOD : EXIT_USAGE;
}

static int show(const target *t, const engine *with, bool json) {
    void *operands[MOST_OPERANDS] = {NULL};
    uc_plan *plan = NULL;
    char *text = NULL;
    /* A plan looks at the weights (are they finite?), so there have to be some. */
    uc_status status = random_operands(t->chain, operands) ? UC_OK : UC_NO_MEMORY;
    if (status == UC_OK)
        status = uc_plan_create(t->chain, (const void *const *)operands, &with->options, &plan);
    if (status == UC_OK && !(text = printed(plan)))
        status = UC_NO_MEMORY;
    int code = EXIT_GOOD;
    if (status != UC_OK)
        code = target_failed("plan", t->slug ? t->slug : "the chain", status);
    else if (json)
        code = print_json(t, plan, text);
    else
        fputs(text, stdout);
    free(text);
    uc_plan_destroy(plan);
    for (size_t i = 0; i < MOST_OPERANDS; i++)
        free(operands[i]);
    return code;
}

int cli_plan(int argc, char **argv) {
    static const struct option options[] = {{"shape", required_argument, NULL, 's'},
                                            {"batch", required_argument, NULL, 'b'},
                                            ENGINE_OPTIONS,
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    engine with = ENGINE_INIT;
    const char *shape = NULL;
    size_t batch = 0;
    bool json = false, has_batch = false;
    for (int option; (option = cli_option("plan", argc, argv, options)) != -1;)
        switch (option) {
        case 's':
            shape = optarg;
            break;
        case 'b':
            has_batch = true;
            if (!cli_size("plan", "--batch", optarg, &batch))
                return EXIT_USAGE;
            break;
        case 'j':
            json = true;
            break;
        case 'h':
            fputs(help, stdout);
            return EXIT_GOOD;
        default:
            if (!engine_option("plan", option, optarg, &with))
                return EXIT_USAGE;
        }
    if (optind == argc)
        return cli_usage("plan", "which operator, or chain? 'upconv list' names the operators");
    if (optind + 1 < argc)
        return cli_usage("plan",
                         "'%s' is one argument too many (a chain is one argument, in "
                         "quotes)",
                         argv[optind + 1]);
    target t;
    if (!target_open("plan", argv[optind], shape, has_batch ? &batch : NULL, &with, &t))
        return EXIT_USAGE;
    const int code = show(&t, &with, json);
    target_close(&t);
    return code;
}
