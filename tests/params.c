/* The parameters of the five operators by name: which operator has which, and where it is stored.
 * Golden cases are read through it, and error tests go through all of them. */
#include "params.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) #field, offsetof(uc_operator_params, field)

const struct param params[] = {
    {AT(batch_size), "amstl", false, true},
    {AT(in_channels), "amstl", false, false},
    {AT(out_channels), "amstl", false, false},
    {AT(depth), "amsl", false, false},
    {AT(height), "amstl", false, false},
    {AT(width), "amstl", false, false},
    {AT(kernel_d), "amsl", false, false},
    {AT(kernel_h), "amstl", false, false},
    {AT(kernel_w), "amstl", false, false},
    {AT(stride_d), "amsl", false, false},
    {AT(stride_h), "amstl", false, false},
    {AT(stride_w), "amstl", false, false},
    {AT(padding_d), "amsl", false, true},
    {AT(padding_h), "amstl", false, true},
    {AT(padding_w), "amstl", false, true},
    {AT(output_padding_d), "asl", false, true},
    {AT(output_padding_h), "astl", false, true},
    {AT(output_padding_w), "astl", false, true},
    {AT(pool_kernel), "a", false, false},
    {AT(clamp_min), "a", true, true},
    {AT(clamp_max), "a", true, true},
    {AT(sum_weight), "s", true, true},
    {AT(scaling_factor), "tl", true, true},
};
const size_t param_count = sizeof params / sizeof *params;

const struct operator_info operators[] = {
    {"conv-transpose3d-avgpool-clamp-softmax-multiply", 'a', 2, {"kernel", "scale", NULL}},
    {"conv-transpose3d-max-max-sum", 'm', 2, {"kernel", "conv_bias", NULL}},
    {"conv-transpose3d-sum-layernorm-avgpool-gelu", 's', 1, {"kernel", NULL, NULL}},
    {"conv-transpose2d-softmax-biasadd-scaling-sigmoid",
     't',
     3,
     {"kernel", "conv_bias", "add_bias"}},
    {"conv-transpose3d-layernorm-gelu-scaling", 'l', 1, {"kernel", NULL, NULL}},
};
const size_t operator_total = sizeof operators / sizeof *operators;

const struct operator_info *operator_find(const char *slug) {
    for (size_t i = 0; i < operator_total; i++)
        if (strcmp(operators[i].slug, slug) == 0)
            return &operators[i];
    return NULL;
}

bool operator_has(const struct operator_info *op, const struct param *param) {
    return strchr(param->operators, op->letter);
}

size_t *param_size(uc_operator_params *values, const struct param *param) {
    return (size_t *)(void *)((char *)values + param->offset);
}

double *param_real(uc_operator_params *values, const struct param *param) {
    return (double *)(void *)((char *)values + param->offset);
}

bool param_set(uc_operator_params *values, const char *name, size_t length, const char *text) {
    for (size_t i = 0; i < param_count; i++) {
        const struct param *param = &params[i];
        if (strlen(param->name) != length || strncmp(param->name, name, length))
            continue;
        if (param->is_real)
            *param_real(values, param) = strtod(text, NULL);
        else
            *param_size(values, param) = strtoull(text, NULL, 10);
        return true;
    }
    return false;
}

uc_operator_params params_small(void) {
    return (uc_operator_params){.batch_size = 2,
                                .in_channels = 3,
                                .out_channels = 5,
                                .depth = 5,
                                .height = 6,
                                .width = 7,
                                .kernel_d = 3,
                                .kernel_h = 4,
                                .kernel_w = 5,
                                .stride_d = 2,
                                .stride_h = 3,
                                .stride_w = 2,
                                .padding_d = 1,
                                .padding_h = 0,
                                .padding_w = 2,
                                .output_padding_d = 1,
                                .output_padding_h = 2,
                                .output_padding_w = 1,
                                .pool_kernel = 2,
                                .clamp_min = -1.5,
                                .clamp_max = 2.5,
                                .sum_weight = 0.75,
                                .scaling_factor = -1.25};
}
