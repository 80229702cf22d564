/* The text form of a chain: one line that parses and prints exactly (grammar: docs/chains.md).
 * Called by users, the command and the tests; stages reach the chain through uc_chain_push(). */
#include <stdarg.h>
#include <string.h>

#include "chain.h"
#include "status.h"
#include "text.h"

/* For "%.*s": messages quote what was typed, cut to a readable length. */
#define QUOTE(word) (int)((word).length < 40 ? (word).length : 40), (word).at

/* ---- Parsing ---- */

typedef struct parser {
    const char *begin, *at;
} parser;

static bool at_stage_end(const parser *p) {
    const char *ahead = p->at;
    const uc_word word = uc_text_next(&ahead);
    return !word.length || uc_word_is(word, ",");
}

/* The next word of this stage; length 0, and nothing consumed, at the stage's end. */
static uc_word next_word(parser *p) {
    const uc_word none = {.at = p->at};
    return at_stage_end(p) ? none : uc_text_next(&p->at);
}

static size_t column(const parser *p, uc_word word) {
    return (size_t)(word.at - p->begin) + 1;
}

static uc_status expected(const parser *p, const char *what, const char *after, uc_word got) {
    return uc_fail(UC_INVALID, "expected %s after '%s' at character %zu (got %s%.*s%s)", what,
                   after, column(p, got), got.length ? "'" : "", QUOTE(got),
                   got.length ? "'" : "nothing");
}

/* Sizes joined by x: "2x3x4" gives 3 of them. Returns how many, 0 where the word isn't that. */
static size_t split_sizes(uc_word word, size_t sizes[UC_MAX_DIMS]) {
    size_t count = 0;
    const char *at = word.at, *end = word.at + word.length;
    while (count < UC_MAX_DIMS) {
        const char *stop = at;
        while (stop < end && *stop != 'x')
            stop++;
        if (!uc_word_to_size((uc_word){at, (size_t)(stop - at)}, &sizes[count++]))
            return 0;
        if (stop == end)
            return count;
        at = stop + 1;
    }
    return 0;
}

/* One size for all dimensions, or one for each. */
static uc_status parse_sizes(parser *p, const uc_chain *chain, const char *after,
                             size_t sizes[UC_SPACE]) {
    const uc_word word = next_word(p);
    size_t given[UC_MAX_DIMS];
    const size_t count = split_sizes(word, given);
    if (count != 1 && count != chain->space)
        return expected(p, chain->space == 1 ? "a size" : "one size or one per dimension like 2x3",
                        after, word);
    for (size_t i = 0; i < chain->space; i++)
        sizes[UC_SPACE - chain->space + i] = given[count == 1 ? 0 : i];
    return UC_OK;
}

static uc_status parse_number(parser *p, const char *after, double *number) {
    const uc_word word = next_word(p);
    return uc_word_to_real(word, number) ? UC_OK : expected(p, "a number", after, word);
}

static uc_status parse_value(parser *p, const char *after, uc_stage *stage) {
    const uc_word word = next_word(p);
    if (uc_word_to_real(word, &stage->number[0]))
        return UC_OK;
    if (!uc_word_is_name(word))
        return expected(p, "a number or the name of an operand", after, word);
    if (word.length >= UC_NAME_BYTES)
        return uc_fail(UC_INVALID, "the operand name '%.*s' is longer than %d characters",
                       QUOTE(word), UC_NAME_BYTES - 1);
    memcpy(stage->operand, word.at, word.length);
    return UC_OK;
}

/* conv_transpose OUT_CHANNELS kernel SIZES [stride SIZES] [padding SIZES] [output_padding SIZES]
 * [bias] */
static uc_status parse_conv(parser *p, const uc_chain *chain, uc_conv *conv) {
    const struct {
        const char *name;
        size_t *sizes;
    } parts[] = {{"kernel", conv->kernel},
                 {"stride", conv->stride},
                 {"padding", conv->padding},
                 {"output_padding", conv->output_padding}};
    bool given[sizeof parts / sizeof *parts] = {false};
    for (size_t i = 0; i < UC_SPACE; i++)
        conv->stride[i] = 1;

    uc_word word = next_word(p);
    if (!uc_word_to_size(word, &conv->out_channels))
        return expected(p, "the number of output channels", "conv_transpose", word);
    while ((word = next_word(p)).length) {
        bool *seen = &conv->bias;
        size_t part = 0;
        if (!uc_word_is(word, "bias")) {
            while (part < sizeof parts / sizeof *parts && !uc_word_is(word, parts[part].name))
                part++;
            if (part == sizeof parts / sizeof *parts)
                return expected(p, "kernel, stride, padding, output_padding or bias",
                                "conv_transpose", word);
            seen = &given[part];
        }
        if (*seen)
            return uc_fail(UC_INVALID, "conv_transpose has %.*s twice", QUOTE(word));
        *seen = true;
        if (seen != &conv->bias) {
            const uc_status status = parse_sizes(p, chain, parts[part].name, parts[part].sizes);
            if (status != UC_OK)
                return status;
        }
    }
    return given[0] ? UC_OK : expected(p, "kernel SIZES", "conv_transpose", word);
}

static uc_status unknown_op(const parser *p, uc_word word) {
    char known[256] = "";
    size_t length = 0;
    for (size_t op = 0; op < UC_OP_COUNT && length < sizeof known; op++)
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", op ? ", " : "",
                                   uc_ops[op].name);
    if (!word.length)
        return uc_fail(UC_INVALID, "a stage is missing at character %zu (known ops: %s)",
                       column(p, word), known);
    return uc_fail(UC_INVALID, "unknown op '%.*s' at character %zu (known: %s)", QUOTE(word),
                   column(p, word), known);
}

/* One stage, up to a comma or the end of the text. */
static uc_status parse_stage(parser *p, uc_chain *chain) {
    const uc_word word = next_word(p);
    uc_stage stage = {.op = UC_OP_COUNT};
    for (size_t op = 0; op < UC_OP_COUNT; op++)
        if (uc_word_is(word, uc_ops[op].name))
            stage.op = (uc_op)op;
    if (stage.op == UC_OP_COUNT)
        return unknown_op(p, word);

    const char *name = uc_ops[stage.op].name;
    uc_status status = UC_OK;
    switch (uc_ops[stage.op].arguments) {
    case UC_ARGUMENTS_NONE:
        break;
    case UC_ARGUMENTS_VALUE:
        status = parse_value(p, name, &stage);
        break;
    case UC_ARGUMENTS_NUMBER:
        status = parse_number(p, name, &stage.number[0]);
        break;
    case UC_ARGUMENTS_RANGE:
        status = parse_number(p, name, &stage.number[0]);
        if (status == UC_OK)
            status = parse_number(p, name, &stage.number[1]);
        break;
    case UC_ARGUMENTS_SIZES:
        status = parse_sizes(p, chain, name, stage.window);
        break;
    case UC_ARGUMENTS_CONV:
        status = parse_conv(p, chain, &stage.conv);
        break;
    }
    if (status == UC_OK && !at_stage_end(p))
        status = expected(p, "a comma", name, next_word(p));
    return status == UC_OK ? uc_chain_push(chain, &stage) : status;
}

static uc_status parse_input(parser *p, uc_chain **chain) {
    uc_word word = next_word(p);
    int dtype = UC_F32;
    while (uc_dtype_name((uc_dtype)dtype) && !uc_word_is(word, uc_dtype_name((uc_dtype)dtype)))
        dtype++;
    if (!uc_dtype_name((uc_dtype)dtype))
        return uc_fail(UC_INVALID,
                       "a chain starts with f32, f64, f16 or bf16 and a shape like 2x32x16x16 "
                       "(got '%.*s')",
                       QUOTE(word));
    word = next_word(p);
    uc_shape shape;
    shape.ndim = split_sizes(word, shape.dim);
    if (shape.ndim < 3)
        return expected(p, "a shape of 3 to 5 sizes like 2x32x16x16",
                        uc_dtype_name((uc_dtype)dtype), word);
    if (!at_stage_end(p))
        return expected(p, "a comma", "the shape", next_word(p));
    return uc_chain_create((uc_dtype)dtype, &shape, chain);
}

uc_status uc_chain_parse(const char *text, uc_chain **chain) {
    if (!chain)
        return uc_fail(UC_INVALID, "chain must not be NULL");
    *chain = NULL;
    if (!text)
        return uc_fail(UC_INVALID, "text must not be NULL");

    parser p = {text, text};
    uc_chain *parsed = NULL;
    uc_status status = parse_input(&p, &parsed);
    while (status == UC_OK && uc_text_next(&p.at).length)
        status = parse_stage(&p, parsed);
    if (status == UC_OK)
        status = uc_chain_check(parsed);
    if (status == UC_OK)
        *chain = parsed;
    else
        uc_chain_destroy(parsed);
    return status;
}

uc_status uc_chain_add(uc_chain *chain, const char *stage) {
    if (!chain)
        return uc_fail(UC_INVALID, "chain must not be NULL");
    if (!stage)
        return uc_fail(UC_INVALID, "stage must not be NULL");
    parser p = {stage, stage};
    uc_chain added = *chain;
    const uc_status status = parse_stage(&p, &added);
    if (status != UC_OK)
        return status;
    const uc_word rest = uc_text_next(&p.at);
    if (rest.length)
        return expected(&p, "nothing more", "one stage", rest);
    *chain = added;
    return UC_OK;
}

/* ---- Printing ---- */

typedef struct printer {
    char *buffer;
    size_t bytes, length;
} printer;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
print(printer *p, const char *format, ...) {
    const bool room = p->length < p->bytes;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(room ? p->buffer + p->length : NULL,
                                 room ? p->bytes - p->length : 0, format, arguments);
    va_end(arguments);
    if (length > 0)
        p->length += (size_t)length;
}

static void print_number(printer *p, double number) {
    char text[UC_REAL_BYTES];
    uc_text_from_real(number, text);
    print(p, " %s", text);
}

static void print_sizes(printer *p, const uc_chain *chain, const size_t sizes[UC_SPACE]) {
    const size_t *given = sizes + (UC_SPACE - chain->space);
    bool same = true;
    for (size_t i = 1; i < chain->space; i++)
        same = same && given[i] == given[0];
    for (size_t i = 0; i < (same ? 1 : chain->space); i++)
        print(p, "%s%zu", i ? "x" : " ", given[i]);
}

/* Left out where every dimension has the default. */
static void print_part(printer *p, const uc_chain *chain, const char *name,
                       const size_t sizes[UC_SPACE], size_t unless) {
    bool all = true;
    for (size_t i = UC_SPACE - chain->space; i < UC_SPACE; i++)
        all = all && sizes[i] == unless;
    if (all)
        return;
    print(p, " %s", name);
    print_sizes(p, chain, sizes);
}

static void print_conv(printer *p, const uc_chain *chain, const uc_conv *conv) {
    print(p, " %zu", conv->out_channels);
    print_part(p, chain, "kernel", conv->kernel, 0);
    print_part(p, chain, "stride", conv->stride, 1);
    print_part(p, chain, "padding", conv->padding, 0);
    print_part(p, chain, "output_padding", conv->output_padding, 0);
    if (conv->bias)
        print(p, " bias");
}

static void print_stage(printer *p, const uc_chain *chain, const uc_stage *stage) {
    print(p, ", %s", uc_ops[stage->op].name);
    switch (uc_ops[stage->op].arguments) {
    case UC_ARGUMENTS_NONE:
        break;
    case UC_ARGUMENTS_VALUE:
        if (*stage->operand)
            print(p, " %s", stage->operand);
        else
            print_number(p, stage->number[0]);
        break;
    case UC_ARGUMENTS_NUMBER:
        print_number(p, stage->number[0]);
        break;
    case UC_ARGUMENTS_RANGE:
        print_number(p, stage->number[0]);
        print_number(p, stage->number[1]);
        break;
    case UC_ARGUMENTS_SIZES:
        print_sizes(p, chain, stage->window);
        break;
    case UC_ARGUMENTS_CONV:
        print_conv(p, chain, &stage->conv);
        break;
    }
}

size_t uc_chain_text(const uc_chain *chain, char *buffer, size_t buffer_bytes) {
    printer p = {buffer, buffer ? buffer_bytes : 0, 0};
    if (p.bytes)
        *buffer = 0;
    if (!chain)
        return 0;
    const uc_shape input = uc_chain_input(chain);
    print(&p, "%s ", uc_dtype_name(chain->dtype));
    for (size_t i = 0; i < input.ndim; i++)
        print(&p, "%s%zu", i ? "x" : "", input.dim[i]);
    for (size_t i = 0; i < chain->stage_count; i++)
        print_stage(&p, chain, &chain->stage[i]);
    return p.length;
}
