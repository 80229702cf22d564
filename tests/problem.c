/* The tests' own idea of a chain: enough to run, cost and print it without the library.
 * naive.c executes problems; property tests make random ones and hand their text to the library. */
#include "problem.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT_BYTES = 2048 };

/* How each stage is written: its word, how many numbers follow, whether its operand has a name. */
static const struct syntax {
    const char *word;
    int numbers;
    bool has_name, has_window;
} syntax[] = {
    [STAGE_CONV] = {"conv_transpose", 0, false, false},
    [STAGE_ADD] = {"add", 1, false, false},
    [STAGE_ADD_CHANNEL] = {"add", 0, true, false},
    [STAGE_MUL] = {"mul", 1, false, false},
    [STAGE_MUL_CHANNEL] = {"mul", 0, true, false},
    [STAGE_CLAMP] = {"clamp", 2, false, false},
    [STAGE_GELU] = {"gelu", 0, false, false},
    [STAGE_SIGMOID] = {"sigmoid", 0, false, false},
    [STAGE_SOFTMAX_CHANNEL] = {"softmax_channel", 0, false, false},
    [STAGE_SOFTMAX_SPACE] = {"softmax_space", 0, false, false},
    [STAGE_LAYERNORM_CHANNEL] = {"layernorm_channel", 1, false, false},
    [STAGE_AVGPOOL] = {"avgpool", 0, false, true},
    [STAGE_MAXPOOL] = {"maxpool", 0, false, true},
    [STAGE_SUM_CHANNEL] = {"sum_channel", 0, false, false},
};
enum { KINDS = sizeof syntax / sizeof *syntax };

size_t extent_positions(struct extent extent) {
    return extent.size[0] * extent.size[1] * extent.size[2];
}

size_t extent_elems(struct extent extent) {
    return extent.batch * extent.channels * extent_positions(extent);
}

static struct extent after_stage(struct extent extent, const struct stage *stage) {
    for (int d = 0; d < 3; d++) {
        if (stage->kind == STAGE_CONV) {
            const size_t whole = (extent.size[d] - 1) * stage->stride[d] + stage->kernel[d] +
                                 stage->output_padding[d];
            const size_t cut = 2 * stage->padding[d];
            extent.size[d] = extent.size[d] && whole > cut ? whole - cut : 0;
        } else if (syntax[stage->kind].has_window) {
            extent.size[d] /= stage->kernel[d];
        }
    }
    if (stage->kind == STAGE_CONV)
        extent.channels = stage->out_channels;
    if (stage->kind == STAGE_SUM_CHANNEL)
        extent.channels = 1;
    return extent;
}

struct extent problem_extent(const struct problem *problem, size_t stages_done) {
    struct extent extent = {
        problem->batch, problem->channels, {problem->size[0], problem->size[1], problem->size[2]}};
    for (size_t i = 0; i < stages_done; i++)
        extent = after_stage(extent, &problem->stage[i]);
    return extent;
}

struct extent problem_output(const struct problem *problem) {
    return problem_extent(problem, problem->stage_count);
}

size_t problem_operands(const struct problem *problem, size_t elems[MOST_OPERANDS]) {
    size_t count = 0;
    for (size_t i = 0; i < problem->stage_count; i++) {
        const struct stage *stage = &problem->stage[i];
        const size_t channels = problem_extent(problem, i).channels;
        if (stage->kind == STAGE_CONV) {
            elems[count++] = channels * stage->out_channels * stage->kernel[0] * stage->kernel[1] *
                             stage->kernel[2];
            if (stage->has_bias)
                elems[count++] = stage->out_channels;
        } else if (syntax[stage->kind].has_name) {
            elems[count++] = channels;
        }
    }
    return count;
}

bool problem_has(const struct problem *problem, enum stage_kind kind) {
    for (size_t i = 0; i < problem->stage_count; i++)
        if (problem->stage[i].kind == kind)
            return true;
    return false;
}

/* Text that grows at its end. */
struct text {
    char *start;
    size_t length;
};

static void append(struct text *text, const char *piece) {
    const size_t length = strlen(piece);
    if (text->length + length >= MOST_TEXT_BYTES)
        abort();
    memcpy(text->start + text->length, piece, length + 1);
    text->length += length;
}

static void append_number(struct text *text, double number) {
    char piece[40];
    snprintf(piece, sizeof piece, " %.17g", number);
    append(text, piece);
}

static void append_sizes(struct text *text, const char *word, const size_t size[3], size_t dims) {
    char piece[32];
    append(text, word);
    for (size_t d = 3 - dims; d < 3; d++) {
        snprintf(piece, sizeof piece, "%s%zu", d > 3 - dims ? "x" : " ", size[d]);
        append(text, piece);
    }
}

static void append_stage(struct text *text, const struct stage *stage, size_t dims) {
    const struct syntax *form = &syntax[stage->kind];
    append(text, ", ");
    append(text, form->word);
    if (form->numbers > 0)
        append_number(text, stage->low);
    if (form->numbers > 1)
        append_number(text, stage->high);
    if (form->has_name) {
        append(text, " ");
        append(text, stage->name);
    }
    if (form->has_window)
        append_sizes(text, "", stage->kernel, dims);
    if (stage->kind == STAGE_CONV) {
        append_number(text, (double)stage->out_channels);
        append_sizes(text, " kernel", stage->kernel, dims);
        append_sizes(text, " stride", stage->stride, dims);
        append_sizes(text, " padding", stage->padding, dims);
        append_sizes(text, " output_padding", stage->output_padding, dims);
        append(text, stage->has_bias ? " bias" : "");
    }
}

char *problem_text(const struct problem *problem) {
    struct text text = {check_alloc(MOST_TEXT_BYTES), 0};
    char piece[80];
    snprintf(piece, sizeof piece, "%s %zux%zu", uc_dtype_name(problem->dtype), problem->batch,
             problem->channels);
    append(&text, piece);
    for (size_t d = 3 - problem->dims; d < 3; d++) {
        snprintf(piece, sizeof piece, "x%zu", problem->size[d]);
        append(&text, piece);
    }
    for (size_t i = 0; i < problem->stage_count; i++)
        append_stage(&text, &problem->stage[i], problem->dims);
    return text.start;
}

/* Reads "4x5x6" into at most `most` sizes and returns how many there were. */
static size_t read_sizes(const char *word, size_t *size, size_t most) {
    size_t count = 0;
    for (char *end; count < most; word = end + 1) {
        size[count++] = strtoull(word, &end, 10);
        if (*end != 'x')
            break;
    }
    return count;
}

/* One number stands for every dimension; those that the problem does not have get `neutral`. */
static void read_dimensions(const char *word, size_t dims, size_t neutral, size_t size[3]) {
    size_t given[3];
    const size_t count = read_sizes(word, given, 3);
    for (size_t d = 0; d < 3; d++)
        size[d] = d < 3 - dims ? neutral : given[count == 1 ? 0 : d - (3 - dims)];
}

static bool is_number(const char *word) {
    char *end;
    strtod(word, &end);
    return *word && !*end;
}

static bool parse_conv(char **words, size_t count, size_t dims, struct stage *stage) {
    const struct {
        const char *word;
        size_t *size, preset, neutral;
    } options[] = {{"kernel", stage->kernel, 0, 1},
                   {"stride", stage->stride, 1, 1},
                   {"padding", stage->padding, 0, 0},
                   {"output_padding", stage->output_padding, 0, 0}};
    for (size_t i = 0; i < 4; i++)
        for (size_t d = 0; d < 3; d++)
            options[i].size[d] = d < 3 - dims ? options[i].neutral : options[i].preset;
    stage->out_channels = count > 1 ? strtoull(words[1], NULL, 10) : 0;
    for (size_t w = 2; w < count; w++) {
        stage->has_bias |= strcmp(words[w], "bias") == 0;
        for (size_t i = 0; i < 4 && w + 1 < count; i++)
            if (strcmp(words[w], options[i].word) == 0)
                read_dimensions(words[w + 1], dims, options[i].neutral, options[i].size);
    }
    return stage->out_channels && stage->kernel[2];
}

static bool parse_stage(char **words, size_t count, size_t dims, struct stage *stage) {
    *stage = (struct stage){0};
    if (count == 0)
        return false;
    if (strcmp(words[0], "conv_transpose") == 0)
        return parse_conv(words, count, dims, stage);
    const bool has_name = count == 2 && !is_number(words[1]);
    for (size_t kind = 0; kind < KINDS; kind++) {
        const struct syntax *form = &syntax[kind];
        const bool has_argument = form->numbers == 1 || form->has_name || form->has_window;
        if (strcmp(words[0], form->word) ||
            count != 1u + (size_t)form->numbers + form->has_name + form->has_window)
            continue;
        if (has_argument && !form->has_window && has_name != form->has_name)
            continue;
        stage->kind = (enum stage_kind)kind;
        if (form->has_window)
            read_dimensions(words[1], dims, 1, stage->kernel);
        if (form->has_name)
            snprintf(stage->name, sizeof stage->name, "%s", words[1]);
        if (form->numbers > 0)
            stage->low = strtod(words[1], NULL);
        if (form->numbers > 1)
            stage->high = strtod(words[2], NULL);
        return true;
    }
    return false;
}

static bool parse_input(char **words, size_t count, struct problem *problem) {
    size_t size[5];
    if (count != 2)
        return false;
    while (strcmp(uc_dtype_name(problem->dtype), words[0]))
        if (!uc_dtype_name(++problem->dtype))
            return false;
    const size_t ndim = read_sizes(words[1], size, 5);
    if (ndim < 3)
        return false;
    problem->dims = ndim - 2;
    problem->batch = size[0];
    problem->channels = size[1];
    for (size_t d = 0; d < 3; d++)
        problem->size[d] = d < 3 - problem->dims ? 1 : size[2 + d - (3 - problem->dims)];
    return true;
}

bool problem_parse(const char *text, struct problem *problem) {
    enum { MOST_WORDS = 16 };
    char *copy = check_text("%s", text), *rest = copy;
    bool is_good = true;
    *problem = (struct problem){0};
    for (bool is_input = true; is_good && *rest; is_input = false) {
        char *end = rest + strcspn(rest, ","), *words[MOST_WORDS];
        char *next = *end ? end + 1 : end;
        size_t count = 0;
        *end = 0;
        for (char *word = rest + strspn(rest, " "); *word && count < MOST_WORDS;) {
            words[count++] = word;
            word += strcspn(word, " ");
            if (*word)
                *word++ = 0;
            word += strspn(word, " ");
        }
        if (is_input)
            is_good = parse_input(words, count, problem);
        else
            is_good =
                problem->stage_count < MOST_STAGES &&
                parse_stage(words, count, problem->dims, &problem->stage[problem->stage_count++]);
        rest = next;
    }
    free(copy);
    return is_good && problem->dims;
}

static void add_stage(struct problem *problem, struct stage stage) {
    problem->stage[problem->stage_count++] = stage;
}

static void add_plain(struct problem *problem, enum stage_kind kind, double low, double high) {
    add_stage(problem, (struct stage){.kind = kind, .low = low, .high = high});
}

static void add_channel_op(struct problem *problem, enum stage_kind kind, const char *name) {
    struct stage stage = {.kind = kind};
    snprintf(stage.name, sizeof stage.name, "%s", name);
    add_stage(problem, stage);
}

static void add_pool(struct problem *problem, enum stage_kind kind, size_t window) {
    add_stage(problem, (struct stage){.kind = kind, .kernel = {window, window, window}});
}

static void add_conv(struct problem *problem, const uc_operator_params *p, bool has_bias) {
    struct stage conv = {
        .kind = STAGE_CONV,
        .has_bias = has_bias,
        .out_channels = p->out_channels,
        .kernel = {p->kernel_d, p->kernel_h, p->kernel_w},
        .stride = {p->stride_d, p->stride_h, p->stride_w},
        .padding = {p->padding_d, p->padding_h, p->padding_w},
        .output_padding = {p->output_padding_d, p->output_padding_h, p->output_padding_w}};
    if (problem->dims == 2) {
        conv.kernel[0] = conv.stride[0] = 1;
        conv.padding[0] = conv.output_padding[0] = 0;
    }
    add_stage(problem, conv);
}

struct problem problem_of_operator(const char *slug, uc_dtype dtype,
                                   const uc_operator_params *params) {
    const bool is_2d = strstr(slug, "transpose2d");
    struct problem problem = {.dtype = dtype,
                              .dims = is_2d ? 2 : 3,
                              .batch = params->batch_size,
                              .channels = params->in_channels,
                              .size = {is_2d ? 1 : params->depth, params->height, params->width}};
    if (strcmp(slug, "conv-transpose3d-avgpool-clamp-softmax-multiply") == 0) {
        add_pool(&problem, STAGE_AVGPOOL, params->pool_kernel);
        add_conv(&problem, params, false);
        add_plain(&problem, STAGE_CLAMP, params->clamp_min, params->clamp_max);
        add_plain(&problem, STAGE_SOFTMAX_SPACE, 0, 0);
        add_channel_op(&problem, STAGE_MUL_CHANNEL, "scale");
    } else if (strcmp(slug, "conv-transpose3d-max-max-sum") == 0) {
        add_conv(&problem, params, true);
        for (size_t d = 0; d < 3; d++)
            problem.stage[0].output_padding[d] = 0;
        add_pool(&problem, STAGE_MAXPOOL, 2);
        add_pool(&problem, STAGE_MAXPOOL, 3);
        add_plain(&problem, STAGE_SUM_CHANNEL, 0, 0);
    } else if (strcmp(slug, "conv-transpose3d-sum-layernorm-avgpool-gelu") == 0) {
        add_conv(&problem, params, false);
        add_plain(&problem, STAGE_ADD, params->sum_weight, 0);
        add_plain(&problem, STAGE_LAYERNORM_CHANNEL, 1e-5, 0);
        add_pool(&problem, STAGE_AVGPOOL, 2);
        add_plain(&problem, STAGE_GELU, 0, 0);
    } else if (strcmp(slug, "conv-transpose2d-softmax-biasadd-scaling-sigmoid") == 0) {
        add_conv(&problem, params, true);
        add_plain(&problem, STAGE_SOFTMAX_CHANNEL, 0, 0);
        add_channel_op(&problem, STAGE_ADD_CHANNEL, "add_bias");
        add_plain(&problem, STAGE_MUL, params->scaling_factor, 0);
        add_plain(&problem, STAGE_SIGMOID, 0, 0);
    } else if (strcmp(slug, "conv-transpose3d-layernorm-gelu-scaling") == 0) {
        add_conv(&problem, params, false);
        add_plain(&problem, STAGE_LAYERNORM_CHANNEL, 1e-5, 0);
        add_plain(&problem, STAGE_GELU, 0, 0);
        add_plain(&problem, STAGE_MUL, params->scaling_factor, 0);
    } else {
        fprintf(stderr, "problem_of_operator: unknown slug %s\n", slug);
        abort();
    }
    return problem;
}
