/* upconv show: an operator's problem page, its C prototype, or its problem file.
 * Called by main.c. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "page.h"
#include "problem.h"
#include "signature.h"

static const char help[] =
    "Usage: upconv show SLUG|FILE.md [--signature | --problem] [--dtype TYPE] [--json]\n\n"
    "Shows a problem: what is computed, the parameter list in C, the default shape and its FLOP.\n"
    "FILE.md is a problem file of your own ('-' reads standard input); it is checked first.\n\n"
    "  --signature   print the C prototype of 'solution' instead\n"
    "  --problem     print the problem file instead\n"
    "  --dtype TYPE  the element type: f32 (default), f64, f16, bf16\n"
    "  --json        print everything as one JSON object\n"
    "  --help        show this\n\n"
    "Example: upconv show conv-transpose3d-max-max-sum --signature\n";

typedef struct settings {
    bool signature, problem, json;
    uc_dtype dtype;
} settings;

/* A problem with its operator at the default shape. */
typedef struct subject {
    problem p;
    const signature *call;
    uc_operator_params params;
    uc_chain *chain;
    uc_dtype dtype;
} subject;

static double bytes_of(const uc_shape *shape, uc_dtype dtype) {
    double bytes = (double)uc_dtype_bytes(dtype);
    for (size_t i = 0; i < shape->ndim; i++)
        bytes *= (double)shape->dim[i];
    return bytes;
}

static void shape_text(const uc_shape *shape, char *text, size_t bytes) {
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < shape->ndim && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%zu", i ? "x" : "", shape->dim[i]);
}

/* The shape of a pointer parameter: the input's, the output's, or that of the chain's operand. */
static uc_shape shape_of(const subject *s, const parameter *p) {
    if (p->kind == PARAMETER_OUTPUT)
        return uc_chain_output(s->chain);
    for (size_t i = 0; i < uc_chain_operand_count(s->chain); i++) {
        const uc_operand operand = uc_chain_operand(s->chain, i);
        if (!strcmp(operand.name, p->name))
            return operand.shape;
    }
    return uc_chain_input(s->chain);
}

static void c_type(const subject *s, const parameter *p, char *text, size_t bytes) {
    const char *element = signature_element(s->dtype);
    snprintf(text, bytes, "%s%s%s", p->kind == PARAMETER_INPUT ? "const " : "",
             p->kind == PARAMETER_SIZE   ? "size_t"
             : p->kind == PARAMETER_REAL ? "double"
                                         : element,
             p->kind == PARAMETER_INPUT || p->kind == PARAMETER_OUTPUT ? " *" : "");
}

/* What a parameter is at the default shape: a shape, or a number. */
static void default_text(subject *s, const parameter *p, char *text, size_t bytes) {
    if (p->kind == PARAMETER_SIZE) {
        snprintf(text, bytes, "%zu", *parameter_size(&s->params, p));
    } else if (p->kind == PARAMETER_REAL) {
        snprintf(text, bytes, "%g", *parameter_real(&s->params, p));
    } else {
        const uc_shape shape = shape_of(s, p);
        shape_text(&shape, text, bytes);
    }
}

static char *chain_text(const uc_chain *chain) {
    const size_t bytes = uc_chain_text(chain, NULL, 0) + 1;
    char *text = malloc(bytes);
    if (text)
        uc_chain_text(chain, text, bytes);
    return text;
}

/* A prototype that compiles as it stands. */
static void put_prototype(FILE *stream, const subject *s) {
    fputs("#include <stddef.h>\n", stream);
    if (uc_dtype_bytes(s->dtype) == 2)
        fputs("#include <stdint.h>\n", stream);
    fputc('\n', stream);
    signature_print(stream, s->call, "solution", signature_element(s->dtype));
    fputs(";\n", stream);
}

/* "hard, by its author; one tag, another tag" */
static char *about_text(const problem *p) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return NULL;
    fprintf(memory, "%s, by %s", p->difficulty, p->author);
    for (size_t i = 0; i < p->tag_count; i++)
        fprintf(memory, "%s%s", i ? ", " : "; ", p->tags[i]);
    fclose(memory);
    return text;
}

static int put_page(subject *s) {
    FILE *out = stdout;
    const problem *p = &s->p;
    char *chain = chain_text(s->chain);
    if (!chain)
        return fputs("upconv: out of memory\n", stderr), EXIT_USAGE;
    fputs(cli_colour_on(out, CLI_BOLD), out);
    page_paragraph(out, "", p->title, strlen(p->title));
    fputs(cli_colour_off(out), out);
    fprintf(out, "%s\n%s", p->slug, cli_colour_on(out, CLI_DIM));
    char *about = about_text(p);
    page_paragraph(out, "", about ? about : "", about ? strlen(about) : 0);
    free(about);
    fprintf(out, "%s\n", cli_colour_off(out));
    page_markdown(out, p->body);

    page_heading(out, "Parameters of solution, in order, with their default");
    for (size_t i = 0; i < s->call->count; i++) {
        const parameter *parameter = &s->call->parameters[i];
        char type[64], value[128];
        c_type(s, parameter, type, sizeof type);
        default_text(s, parameter, value, sizeof value);
        fprintf(out, "  %2zu  %-16s  %-16s  %s\n", i + 1, type, parameter->name, value);
    }

    page_heading(out, "Default shape");
    page_paragraph(out, "  chain   ", chain, strlen(chain));
    char input[128], output[128];
    const uc_shape in = uc_chain_input(s->chain), result = uc_chain_output(s->chain);
    shape_text(&in, input, sizeof input);
    shape_text(&result, output, sizeof output);
    fprintf(out, "  input   %s, %.1f MB\n", input, bytes_of(&in, s->dtype) * 1e-6);
    fprintf(out, "  output  %s, %.1f MB\n", output, bytes_of(&result, s->dtype) * 1e-6);
    char work[128];
    snprintf(work, sizeof work,
             "%.1f GFLOP: 2 x the multiply-adds that touch real data and reach the output",
             uc_chain_flops(s->chain) * 1e-9);
    page_paragraph(out, "  work    ", work, strlen(work));
    free(chain);
    return EXIT_GOOD;
}

static cJSON *shape_json(const uc_shape *shape) {
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < shape->ndim; i++)
        cJSON_AddItemToArray(array, cJSON_CreateNumber((double)shape->dim[i]));
    return array;
}

static cJSON *parameters_json(subject *s) {
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < s->call->count; i++) {
        const parameter *p = &s->call->parameters[i];
        cJSON *object = cJSON_CreateObject();
        char type[64];
        c_type(s, p, type, sizeof type);
        cJSON_AddStringToObject(object, "name", p->name);
        cJSON_AddStringToObject(object, "c_type", type);
        if (p->kind == PARAMETER_SIZE) {
            const double value = (double)*parameter_size(&s->params, p);
            cJSON_AddNumberToObject(object, "default", value);
        } else if (p->kind == PARAMETER_REAL) {
            cJSON_AddNumberToObject(object, "default", *parameter_real(&s->params, p));
        } else {
            const uc_shape shape = shape_of(s, p);
            cJSON_AddItemToObject(object, "shape", shape_json(&shape));
        }
        cJSON_AddItemToArray(array, object);
    }
    return array;
}

static int put_json(subject *s) {
    char *chain = chain_text(s->chain), *prototype = NULL;
    size_t prototype_bytes = 0;
    FILE *memory = open_memstream(&prototype, &prototype_bytes);
    if (memory) {
        put_prototype(memory, s);
        fclose(memory);
    }
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "slug", s->p.slug);
    cJSON_AddStringToObject(object, "title", s->p.title);
    cJSON_AddStringToObject(object, "difficulty", s->p.difficulty);
    cJSON_AddStringToObject(object, "author", s->p.author);
    cJSON_AddItemToObject(
        object, "tags",
        cJSON_CreateStringArray((const char *const *)s->p.tags, (int)s->p.tag_count));
    cJSON_AddStringToObject(object, "dtype", uc_dtype_name(s->dtype));
    cJSON_AddItemToObject(object, "parameters", parameters_json(s));
    cJSON_AddStringToObject(object, "chain", chain ? chain : "");
    cJSON_AddNumberToObject(object, "flops", uc_chain_flops(s->chain));
    cJSON_AddStringToObject(object, "signature", prototype ? prototype : "");
    cJSON_AddStringToObject(object, "text", s->p.body);
    cJSON_AddStringToObject(object, "problem", s->p.text);
    const bool enough = json_print(object) && chain && prototype;
    free(prototype);
    free(chain);
    return enough ? EXIT_GOOD : (fputs("upconv: out of memory\n", stderr), EXIT_USAGE);
}

/* Reads the user's file, or what is built in for a slug. */
static bool read_problem(const char *argument, problem *p) {
    const embedded_file *file = problem_find(argument);
    if (file)
        return problem_parse(file->name, file->text, file->bytes, p);
    const size_t length = strlen(argument);
    const bool looks_like_file = strchr(argument, '/') || !strcmp(argument, "-") ||
                                 (length > 3 && !strcmp(argument + length - 3, ".md")) ||
                                 !access(argument, F_OK);
    const char *slug;
    return looks_like_file ? problem_read(argument, p) : cli_slug("show", argument, &slug);
}

static int show(const char *argument, const settings *with) {
    subject s = {.dtype = with->dtype};
    if (!read_problem(argument, &s.p))
        return EXIT_USAGE;
    int code = EXIT_GOOD;
    s.call = signature_find(s.p.slug);
    uc_status status = uc_operator_defaults(s.p.slug, &s.params);
    if (status == UC_OK)
        status = uc_operator_chain(s.p.slug, s.dtype, &s.params, &s.chain);
    if (status != UC_OK) {
        fprintf(stderr, "upconv: %s: %s\n", s.p.slug, uc_last_error());
        code = EXIT_USAGE;
    } else if (with->json) {
        code = put_json(&s);
    } else if (with->signature) {
        put_prototype(stdout, &s);
    } else if (with->problem) {
        fputs(s.p.text, stdout);
    } else {
        code = put_page(&s);
    }
    uc_chain_destroy(s.chain);
    problem_free(&s.p);
    return code;
}

int cli_show(int argc, char **argv) {
    static const struct option options[] = {
        {"signature", no_argument, NULL, 's'},   {"problem", no_argument, NULL, 'p'},
        {"dtype", required_argument, NULL, 'd'}, {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    settings with = {.dtype = UC_F32};
    for (int option; (option = cli_option("show", argc, argv, options)) != -1;)
        switch (option) {
        case 's':
            with.signature = true;
            break;
        case 'p':
            with.problem = true;
            break;
        case 'd':
            if (!cli_dtype("show", optarg, &with.dtype))
                return EXIT_USAGE;
            break;
        case 'j':
            with.json = true;
            break;
        case 'h':
            fputs(help, stdout);
            return EXIT_GOOD;
        default:
            return EXIT_USAGE;
        }
    if (with.signature && with.problem)
        return cli_usage("show", "--signature or --problem, not both (--json has both)");
    if (optind == argc)
        return cli_usage("show", "which operator? 'upconv list' names them");
    if (optind + 1 < argc)
        return cli_usage("show", "'%s' is one argument too many", argv[optind + 1]);
    return show(argv[optind], &with);
}
