/* The operators' parameter lists, in the order of the specification, as data.
 * Called by show, init, judge, run, and by the reader of problem files. */
#include "signature.h"

#include <string.h>

#define IN(name)                                                                                   \
    { #name, PARAMETER_INPUT, 0 }
#define OUT(name)                                                                                  \
    { #name, PARAMETER_OUTPUT, 0 }
#define SIZE(name)                                                                                 \
    { #name, PARAMETER_SIZE, offsetof(uc_operator_params, name) }
#define REAL(name)                                                                                 \
    { #name, PARAMETER_REAL, offsetof(uc_operator_params, name) }

#define HEIGHT_WIDTH(stem) SIZE(stem##_h), SIZE(stem##_w)
#define DEPTH_HEIGHT_WIDTH(stem) SIZE(stem##_d), HEIGHT_WIDTH(stem)
#define COUNTS SIZE(batch_size), SIZE(in_channels), SIZE(out_channels)
#define VOLUME                                                                                     \
    COUNTS, SIZE(depth), SIZE(height), SIZE(width), DEPTH_HEIGHT_WIDTH(kernel),                    \
        DEPTH_HEIGHT_WIDTH(stride), DEPTH_HEIGHT_WIDTH(padding)

static const parameter avgpool_clamp[] = {
    IN(input),         IN(kernel),      IN(scale),
    OUT(output),       VOLUME,          DEPTH_HEIGHT_WIDTH(output_padding),
    SIZE(pool_kernel), REAL(clamp_min), REAL(clamp_max)};
static const parameter max_max[] = {IN(input), IN(kernel), IN(conv_bias), OUT(output), VOLUME};
static const parameter sum_layernorm[] = {
    IN(input),       IN(kernel), OUT(output), VOLUME, DEPTH_HEIGHT_WIDTH(output_padding),
    REAL(sum_weight)};
static const parameter softmax_biasadd[] = {IN(input),
                                            IN(kernel),
                                            IN(conv_bias),
                                            IN(add_bias),
                                            OUT(output),
                                            REAL(scaling_factor),
                                            COUNTS,
                                            SIZE(height),
                                            SIZE(width),
                                            HEIGHT_WIDTH(kernel),
                                            HEIGHT_WIDTH(stride),
                                            HEIGHT_WIDTH(padding),
                                            HEIGHT_WIDTH(output_padding)};
static const parameter layernorm_gelu[] = {
    IN(input),           IN(kernel), OUT(output), VOLUME, DEPTH_HEIGHT_WIDTH(output_padding),
    REAL(scaling_factor)};

#define LIST(parameters) parameters, sizeof parameters / sizeof *parameters

enum { AVGPOOL_CLAMP, MAX_MAX, SUM_LAYERNORM, SOFTMAX_BIASADD, LAYERNORM_GELU, SIGNATURES };
static const signature signatures[SIGNATURES] = {
    {"conv-transpose3d-avgpool-clamp-softmax-multiply", LIST(avgpool_clamp)},
    {"conv-transpose3d-max-max-sum", LIST(max_max)},
    {"conv-transpose3d-sum-layernorm-avgpool-gelu", LIST(sum_layernorm)},
    {"conv-transpose2d-softmax-biasadd-scaling-sigmoid", LIST(softmax_biasadd)},
    {"conv-transpose3d-layernorm-gelu-scaling", LIST(layernorm_gelu)},
};

const signature *signature_find(const char *slug) {
    for (size_t i = 0; i < SIGNATURES; i++)
        if (strcmp(signatures[i].slug, slug) == 0)
            return &signatures[i];
    return NULL;
}

const parameter *signature_parameter(const signature *s, const char *name) {
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->parameters[i].name, name) == 0)
            return &s->parameters[i];
    return NULL;
}

size_t *parameter_size(uc_operator_params *params, const parameter *p) {
    return (size_t *)(void *)((char *)params + p->offset);
}

double *parameter_real(uc_operator_params *params, const parameter *p) {
    return (double *)(void *)((char *)params + p->offset);
}

const char *signature_element(uc_dtype dtype) {
    return dtype == UC_F32 ? "float" : dtype == UC_F64 ? "double" : "uint16_t";
}

void signature_print(FILE *stream, const signature *s, const char *function, const char *element) {
    int column = fprintf(stream, "void %s(", function);
    const int indent = column;
    for (size_t i = 0; i < s->count; i++) {
        const parameter *p = &s->parameters[i];
        char text[128];
        if (p->kind == PARAMETER_INPUT)
            snprintf(text, sizeof text, "const %s *%s", element, p->name);
        else if (p->kind == PARAMETER_OUTPUT)
            snprintf(text, sizeof text, "%s *%s", element, p->name);
        else
            snprintf(text, sizeof text, "%s %s", p->kind == PARAMETER_SIZE ? "size_t" : "double",
                     p->name);
        const int width = (int)strlen(text);
        if (i && column + 1 + width + 3 > 100) { /* 3: a comma or ") {" */
            column = fprintf(stream, "\n%*s", indent, "") - 1;
        } else if (i) {
            column += fprintf(stream, " ");
        }
        column += fprintf(stream, "%s%s", text, i + 1 < s->count ? "," : ")");
    }
}

/* Pointers of every element type look the same to the called function, so one call serves all. */
#define COUNTS_OF(p) p->batch_size, p->in_channels, p->out_channels
#define VOLUME_OF(p)                                                                               \
    COUNTS_OF(p), p->depth, p->height, p->width, p->kernel_d, p->kernel_h, p->kernel_w,            \
        p->stride_d, p->stride_h, p->stride_w, p->padding_d, p->padding_h, p->padding_w
#define OUTPUT_PADDING_OF(p) p->output_padding_d, p->output_padding_h, p->output_padding_w
#define SIZES_3 size_t, size_t, size_t
#define SIZES_15 SIZES_3, SIZES_3, SIZES_3, SIZES_3, SIZES_3

typedef void (*avgpool_clamp_function)(const void *, const void *, const void *, void *, SIZES_15,
                                       SIZES_3, size_t, double, double);
typedef void (*max_max_function)(const void *, const void *, const void *, void *, SIZES_15);
typedef void (*layernorm_function)(const void *, const void *, void *, SIZES_15, SIZES_3, double);
typedef void (*softmax_biasadd_function)(const void *, const void *, const void *, const void *,
                                         void *, double, SIZES_3, SIZES_3, SIZES_3, SIZES_3,
                                         size_t);

void signature_call(const signature *s, solution_function solution, const uc_operator_params *p,
                    const void *const in[], void *output) {
    switch (s - signatures) {
    case AVGPOOL_CLAMP:
        ((avgpool_clamp_function)solution)(in[0], in[1], in[2], output, VOLUME_OF(p),
                                           OUTPUT_PADDING_OF(p), p->pool_kernel, p->clamp_min,
                                           p->clamp_max);
        break;
    case MAX_MAX:
        ((max_max_function)solution)(in[0], in[1], in[2], output, VOLUME_OF(p));
        break;
    case SUM_LAYERNORM:
        ((layernorm_function)solution)(in[0], in[1], output, VOLUME_OF(p), OUTPUT_PADDING_OF(p),
                                       p->sum_weight);
        break;
    case SOFTMAX_BIASADD:
        ((softmax_biasadd_function)solution)(
            in[0], in[1], in[2], in[3], output, p->scaling_factor, COUNTS_OF(p), p->height,
            p->width, p->kernel_h, p->kernel_w, p->stride_h, p->stride_w, p->padding_h,
            p->padding_w, p->output_padding_h, p->output_padding_w);
        break;
    default:
        ((layernorm_function)solution)(in[0], in[1], output, VOLUME_OF(p), OUTPUT_PADDING_OF(p),
                                       p->scaling_factor);
    }
}
