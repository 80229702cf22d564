/* upconv run: an operator or a chain on the user's own NumPy files.
 * Called by main.c. */
#define _GNU_SOURCE
#include "cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "element.h"
#include "engine.h"
#include "json.h"
#include "machine.h"
#include "run_files.h"
#include "shape.h"
#include "signature.h"
#include "target.h"
#include "ticker.h"
#include "timer.h"

static const char help[] =
    "Usage: upconv run SLUG|CHAIN --input FILE.npy --kernel FILE.npy ... --output FILE.npy\n\n"
    "Runs an operator, or a chain, on NumPy files (little-endian, C order; f2, f4 or f8, or bf16\n"
    "as u2). The output has the input's element type. It is written beside its place and moved\n"
    "there when it is whole, so it may also be one of the inputs. Files are mapped, not read:\n"
    "one that somebody shortens meanwhile ends the run with an error.\n\n"
    "  --input FILE     the input; its shape gives the batch, the channels and the sizes\n"
    "  --kernel FILE    the kernel; its shape gives the output channels and the kernel sizes\n"
    "  --NAME FILE      every other tensor of the operator or chain, by its name: conv_bias,\n"
    "                   add_bias, scale; with one value per channel as (C,), (C, 1, 1), ...\n"
    "  -o, --output FILE  the output\n\n"
    "Of an operator, with the specification's names (hyphens will do), each with the value of the\n"
    "default shape where it is not given ('upconv show SLUG' has them):\n\n"
    "  --stride N       or --stride D,H,W, or --stride_d N and so on\n"
    "  --padding N      the same\n"
    "  --output_padding N\n"
    "                   the same\n"
    "  --pool_kernel N, --clamp_min X, --clamp_max X, --sum_weight X, --scaling_factor X\n"
    "                   what the operator has of these\n\n"
    "A chain has all of that in its text ('upconv list --chains' for examples).\n\n"
    "  --dtype TYPE     f32, f64, f16 or bf16: what the files have to hold; bf16 has to be said\n"
    "  --reference      compute with the oracle, in plain float64 loops: slow\n" ENGINE_HELP
    "  --json           print one JSON object\n"
    "  --help           show this\n\n"
    "Example: upconv run conv-transpose3d-max-max-sum --input x.npy --kernel w.npy \\\n"
    "             --conv_bias b.npy --stride 2 --padding 2 --output y.npy\n";

enum { FLAG_OUTPUT = 1, FLAG_REFERENCE, FLAG_JSON, FLAG_HELP };

static const struct option fixed[] = {{"output", required_argument, NULL, FLAG_OUTPUT},
                                      {"reference", no_argument, NULL, FLAG_REFERENCE},
                                      ENGINE_OPTIONS,
                                      {"json", no_argument, NULL, FLAG_JSON},
                                      {"help", no_argument, NULL, FLAG_HELP}};
#define FIXED (sizeof fixed / sizeof *fixed)

/* The options of this call besides the fixed ones: tensors, parameters, and what only other
 * operators have. */
enum { TENSOR_OPTION = 2000, PARAMETER_OPTION = 3000, FOREIGN_OPTION = 4000 };
#define MOST_PARAMETERS 40
#define MOST_OPTIONS (FIXED + 1 + MOST_OPERANDS + 2 * MOST_PARAMETERS + 1)

typedef struct job {
    engine with;
    const char *slug;   /* NULL: a chain */
    const signature *s; /* of the operator */
    uc_operator_params params;
    bool given[MOST_PARAMETERS]; /* by s->parameters */
    const char *parameter[MOST_PARAMETERS];
    size_t parameter_count;
    uc_chain *chain;
    run_files files;
    const void *operands[MOST_OPERANDS];
    const char *output;
    bool reference, json, help;
    double seconds;
} job;

/* ---- The command line ------------------------------------------------------------------ */

/* What the options mean depends on the operator, so it is looked for first: the first word that is
 * neither an option nor an option's value. */
static const char *find_word(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!strcmp(word, "--"))
            return argv[i + 1];
        if (word[0] != '-' || !word[1])
            return word;
        if (word[1] != '-' || strchr(word, '=')) {
            i += !strcmp(word, "-o");
            continue;
        }
        bool flag = false;
        for (size_t o = 0; o < FIXED; o++)
            flag = flag || (fixed[o].has_arg == no_argument &&
                            !strncmp(word + 2, fixed[o].name, strlen(word + 2)));
        i += !flag;
    }
    return NULL;
}

/* --conv-bias is --conv_bias. */
static void underline(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (!strncmp(argv[i], "--", 2))
            for (char *c = argv[i] + 2; *c && *c != '='; c++)
                *c = *c == '-' ? '_' : *c;
}

/* Parameters that may be given for all dimensions at once. (kernel is a file here.) */
static const char *const groups[] = {"stride", "padding", "output_padding"};
#define GROUPS (sizeof groups / sizeof *groups)

static bool open_word(const char *word, job *j) {
    j->files.all[j->files.count++].name = "input";
    if (is_chain_text(word)) {
        const uc_status status = uc_chain_parse(word, &j->chain);
        if (status != UC_OK)
            target_failed("run", "the chain", status);
        for (size_t i = 0; status == UC_OK && i < uc_chain_operand_count(j->chain); i++)
            j->files.all[j->files.count++].name = uc_chain_operand(j->chain, i).name;
        return status == UC_OK;
    }
    if (!cli_slug("run", word, &j->slug) || !(j->s = signature_find(j->slug)) ||
        uc_operator_defaults(j->slug, &j->params) != UC_OK)
        return false;
    const parameter *found[SHAPE_MOST_DIMS];
    for (size_t i = 0; i < GROUPS; i++)
        if (shape_parameters(j->s, groups[i], found))
            j->parameter[j->parameter_count++] = groups[i];
    for (size_t i = 0; i < j->s->count; i++) {
        const parameter *p = &j->s->parameters[i];
        if (p->kind == PARAMETER_SIZE || p->kind == PARAMETER_REAL)
            j->parameter[j->parameter_count++] = p->name;
        else if (p->kind == PARAMETER_INPUT && strcmp(p->name, "input"))
            j->files.all[j->files.count++].name = p->name;
    }
    return true;
}

/* The table for cli_option(). A chain's operand may have any name, even one that is taken. */
static bool make_options(const job *j, struct option options[MOST_OPTIONS]) {
    size_t count = FIXED;
    memcpy(options, fixed, sizeof fixed);
    for (size_t i = 0; i < j->files.count; i++) {
        for (size_t o = 0; o < count; o++)
            if (!strcmp(options[o].name, j->files.all[i].name)) {
                cli_usage("run", "the chain's operand '%s' has the name of an option: rename it",
                          options[o].name);
                return false;
            }
        options[count++] =
            (struct option){j->files.all[i].name, required_argument, NULL, TENSOR_OPTION + (int)i};
    }
    for (size_t i = 0; i < j->parameter_count; i++)
        options[count++] =
            (struct option){j->parameter[i], required_argument, NULL, PARAMETER_OPTION + (int)i};
    options[count] = (struct option){NULL, 0, NULL, 0};
    return true;
}

/* Adds what the other operators have: it is known, though not here. Their values are
 * FOREIGN_OPTION and on, by their places in the table. */
static void add_foreign_option(struct option options[MOST_OPTIONS], const char *name) {
    size_t count = 0;
    for (; options[count].name; count++)
        if (!strcmp(options[count].name, name))
            return;
    if (count + 1 == MOST_OPTIONS)
        return;
    options[count] = (struct option){name, required_argument, NULL, FOREIGN_OPTION + (int)count};
    options[count + 1] = (struct option){NULL, 0, NULL, 0};
}

static void add_foreign_options(struct option options[MOST_OPTIONS]) {
    for (size_t i = 0; i < GROUPS; i++)
        add_foreign_option(options, groups[i]);
    for (size_t op = 0; op < uc_operator_count(); op++) {
        const signature *s = signature_find(uc_operator_slug(op));
        for (size_t i = 0; s && i < s->count; i++)
            add_foreign_option(options, s->parameters[i].name);
    }
}

static bool take_parameter(job *j, const char *name, const char *value) {
    const parameter *found[SHAPE_MOST_DIMS];
    const size_t count = shape_parameters(j->s, name, found);
    for (size_t i = 0; i < count; i++)
        j->given[found[i] - j->s->parameters] = true;
    return shape_set("run", j->s, name, value, &j->params);
}

static bool take_option(job *j, int option, const char *value, const struct option *options) {
    switch (option) {
    case FLAG_OUTPUT:
        j->output = value;
        return true;
    case FLAG_REFERENCE:
        return j->reference = true;
    case FLAG_JSON:
        return j->json = true;
    case 'h':
    case FLAG_HELP:
        return j->help = true;
    default:
        if (option < TENSOR_OPTION)
            return engine_option("run", option, value, &j->with);
        if (option >= FOREIGN_OPTION) {
            if (j->slug)
                cli_usage("run", "%s has no --%s; 'upconv show %s' lists its parameters", j->slug,
                          options[option - FOREIGN_OPTION].name, j->slug);
            else
                cli_usage("run",
                          "the chain has no --%s: it is all in its text, but for its tensors",
                          options[option - FOREIGN_OPTION].name);
            return false;
        }
        if ((size_t)(option - TENSOR_OPTION) < j->files.count) {
            j->files.all[option - TENSOR_OPTION].path = value;
            return true;
        }
        return take_parameter(j, j->parameter[option - PARAMETER_OPTION], value);
    }
}

static bool read_command_line(int argc, char **argv, job *j) {
    struct option options[MOST_OPTIONS];
    const char *word = find_word(argc, argv);
    for (int i = 1; i < argc; i++)
        j->help = j->help || !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h");
    if (j->help)
        return true;
    underline(argc, argv);
    if (word && !open_word(word, j))
        return false;
    if (!make_options(j, options))
        return false;
    add_foreign_options(options);
    for (int option; (option = cli_option("run", argc, argv, options)) != -1;)
        if (option == CLI_BAD_OPTION || (word && !take_option(j, option, optarg, options)))
            return false;
    if (!word) {
        cli_usage("run", "which operator, or chain? 'upconv list' names the operators");
        return false;
    }
    if (optind + 1 < argc) {
        cli_usage("run", "'%s' is one argument too many (a chain is one argument, in quotes)",
                  argv[optind + (argv[optind] == word)]);
        return false;
    }
    if (!j->output) {
        cli_usage("run", "where to? Say --output FILE.npy");
        return false;
    }
    return true;
}

/* ---- The work -------------------------------------------------------------------------- */

static bool prepare(job *j) {
    uc_dtype dtype;
    if (!files_open(&j->files))
        return false;
    if (j->s) {
        if (!files_params(&j->files, j->s, j->given, &j->params) ||
            !files_dtype(&j->files, &j->with, &dtype))
            return false;
        const uc_status status = uc_operator_chain(j->slug, dtype, &j->params, &j->chain);
        if (status != UC_OK) {
            target_failed("run", j->slug, status);
            return false;
        }
    } else if (j->with.has_dtype && j->with.dtype != uc_chain_dtype(j->chain)) {
        cli_usage("run", "the chain says %s, and --dtype says %s",
                  uc_dtype_name(uc_chain_dtype(j->chain)), uc_dtype_name(j->with.dtype));
        return false;
    }
    return files_operands(&j->files, j->chain, j->operands);
}

/* A guess for people who wait: half of the peak is what most shapes reach. */
static double expected_seconds(const job *j) {
    machine m = {0};
    if (!isatty(STDERR_FILENO))
        return 0; /* nobody to tell */
    machine_peaks(&m, engine_threads(&j->with));
    const double peak = uc_chain_dtype(j->chain) == UC_F64 ? m.gflops_f64 : m.gflops_f32;
    return peak > 0 ? uc_chain_flops(j->chain) / (0.5e9 * peak) : 0;
}

static uc_status execute(job *j, void *output) {
    uc_plan *plan = NULL;
    void *workspace = NULL;
    const char *what = j->slug ? j->slug : "the chain";
    uc_status status = uc_plan_create(j->chain, j->operands, &j->with.options, &plan);
    if (status == UC_OK && !(workspace = malloc(uc_plan_workspace_bytes(plan) + 1)))
        status = UC_NO_MEMORY;
    if (status == UC_OK) {
        ticker_start(what, expected_seconds(j));
        const double start = now();
        status = uc_plan_execute(plan, j->files.all[0].file.data, output, workspace);
        j->seconds = now() - start;
        ticker_stop();
    }
    free(workspace);
    uc_plan_destroy(plan);
    return status;
}

/* The oracle, one item at a time: that takes less memory, and there is progress to show. */
static uc_status execute_reference(job *j, void *output) {
    const uc_dtype dtype = uc_chain_dtype(j->chain);
    const uc_shape in = uc_chain_input(j->chain), out = uc_chain_output(j->chain);
    const size_t items = in.dim[0], one = 1;
    uc_chain *item = NULL;
    uc_status status = chain_changed(j->chain, &one, NULL, &item);
    if (status != UC_OK || !items) {
        uc_chain_destroy(item);
        return status;
    }
    const size_t in_bytes = elems_of(&in) / items * uc_dtype_bytes(dtype);
    const size_t out_elems = elems_of(&out) / items;
    double *values = malloc(out_elems * sizeof *values);
    if (!values)
        status = UC_NO_MEMORY;
    const double start = now();
    for (size_t i = 0; i < items && status == UC_OK; i++) {
        cli_progress_step("the oracle", j->slug ? j->slug : "the chain", i, items);
        status = uc_chain_reference(item, (const char *)j->files.all[0].file.data + i * in_bytes,
                                    j->operands, values);
        for (size_t k = 0; k < out_elems && status == UC_OK; k++)
            element_set(dtype, output, i * out_elems + k, values[k]);
    }
    j->seconds = now() - start;
    cli_progress(NULL);
    free(values);
    uc_chain_destroy(item);
    return status;
}

static bool report(const job *j) {
    const uc_shape out = uc_chain_output(j->chain);
    const char *dtype = uc_dtype_name(uc_chain_dtype(j->chain));
    char *text = chain_text(j->chain), shape[160];
    npy_shape_text(out.dim, out.ndim, shape, sizeof shape);
    bool good = text != NULL;
    if (good && j->json) {
        cJSON *object = json_opening("run", true), *sizes;
        if (j->slug)
            cJSON_AddStringToObject(object, "operator", j->slug);
        else
            cJSON_AddNullToObject(object, "operator");
        cJSON_AddStringToObject(object, "chain", text);
        cJSON_AddStringToObject(object, "dtype", dtype);
        cJSON_AddStringToObject(object, "output", j->output);
        sizes = cJSON_AddArrayToObject(object, "shape");
        for (size_t i = 0; i < out.ndim; i++)
            cJSON_AddItemToArray(sizes, cJSON_CreateNumber((double)out.dim[i]));
        cJSON_AddBoolToObject(object, "reference", j->reference);
        cJSON_AddNumberToObject(object, "milliseconds", j->seconds * 1e3);
        good = json_print(object);
    } else if (good) {
        printf("%s\n%s: %s %s, %s%.3f ms\n", text, j->output, dtype, shape,
               j->reference ? "the oracle, " : "", j->seconds * 1e3);
    }
    free(text);
    return good;
}

/* A mapped file that somebody shortens can't be read to its end; the system says so by a signal. */
static const char *volatile partial;

static void on_bus_error(int number) {
    static const char words[] = "upconv: a file has become shorter while it was read\n";
    (void)number;
    if (write(STDERR_FILENO, words, sizeof words - 1) && partial)
        unlink(partial);
    _exit(EXIT_USAGE);
}

static int work(job *j) {
    signal(SIGBUS, on_bus_error);
    if (!prepare(j))
        return EXIT_USAGE;
    npy_output out;
    const uc_shape shape = uc_chain_output(j->chain);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow so large is an error, not the end */
    if (!npy_create(&out, j->output, uc_chain_dtype(j->chain), &shape))
        return cli_usage("run", "%s (output): %s", j->output, out.why);
    partial = out.place.partial;
    const uc_status status = j->reference ? execute_reference(j, out.data) : execute(j, out.data);
    signal(SIGBUS, SIG_DFL);
    int code = EXIT_GOOD;
    if (status != UC_OK)
        code = target_failed("run", j->slug ? j->slug : "the chain", status);
    else if (!npy_commit(&out))
        code = cli_usage("run", "%s (output): %s", j->output, out.why);
    else if (!report(j))
        code = EXIT_USAGE;
    npy_discard(&out);
    return code;
}

int cli_run(int argc, char **argv) {
    static job j; /* it holds many files' headers */
    j.with = (engine)ENGINE_INIT;
    int code = EXIT_USAGE;
    if (read_command_line(argc, argv, &j)) {
        if (j.help) {
            fputs(help, stdout);
            code = EXIT_GOOD;
        } else {
            code = work(&j);
        }
    }
    files_close(&j.files);
    uc_chain_destroy(j.chain);
    return code;
}
