/* A peer: oneDNN's bare f32 deconvolution of an operator's shape, in the layouts it likes best.
 * Built once per oneDNN that is found; started by bench through peer.c, whose protocol it speaks.
 */
#define _GNU_SOURCE
#include <dnnl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timer.h"
#include "upconv.h"

#define MAX_SPACE 3
#define MAX_OPERATORS 8

/* Everything below is fatal: the bench goes on without this peer. */
static void check(dnnl_status_t status, const char *what) {
    if (status == dnnl_success)
        return;
    printf("failed: oneDNN status %d: %s\n", (int)status, what);
    exit(1);
}

typedef struct shape {
    int space; /* dimensions */
    dnnl_dims_t src, weights, dst, strides, padding_left, padding_right, dilates;
} shape;

/* The convolution of an operator alone: its input is what comes out of the pool before it. */
static shape shape_of(const char *slug, size_t batch) {
    uc_operator_params p;
    if (uc_operator_defaults(slug, &p) != UC_OK) {
        printf("failed: %s\n", uc_last_error());
        exit(1);
    }
    const size_t in[] = {p.depth, p.height, p.width};
    const size_t kernel[] = {p.kernel_d, p.kernel_h, p.kernel_w};
    const size_t stride[] = {p.stride_d, p.stride_h, p.stride_w};
    const size_t padding[] = {p.padding_d, p.padding_h, p.padding_w};
    const size_t extra[] = {p.output_padding_d, p.output_padding_h, p.output_padding_w};
    const size_t pool = p.pool_kernel ? p.pool_kernel : 1;

    shape s = {.space = p.depth ? 3 : 2};
    s.src[0] = s.dst[0] = (dnnl_dim_t)batch;
    s.src[1] = s.weights[1] = (dnnl_dim_t)p.in_channels;
    s.dst[1] = s.weights[0] = (dnnl_dim_t)p.out_channels;
    for (int i = 0, from = MAX_SPACE - s.space; i < s.space; i++, from++) {
        s.src[2 + i] = (dnnl_dim_t)(in[from] / pool);
        s.weights[2 + i] = (dnnl_dim_t)kernel[from];
        s.strides[i] = (dnnl_dim_t)stride[from];
        s.padding_left[i] = (dnnl_dim_t)padding[from];
        s.padding_right[i] = (dnnl_dim_t)padding[from] - (dnnl_dim_t)extra[from];
        s.dst[2 + i] = (s.src[2 + i] - 1) * s.strides[i] + s.weights[2 + i] - s.padding_left[i] -
                       s.padding_right[i];
    }
    return s;
}

/* ---- What differs between oneDNN 2 and 3 -------------------------------------------------- */

#if DNNL_VERSION_MAJOR >= 3

typedef const_dnnl_memory_desc_t chosen_layout;

static dnnl_primitive_desc_t describe(const shape *s, dnnl_engine_t engine) {
    const int ndims = s->space + 2;
    dnnl_memory_desc_t src, weights, dst;
    dnnl_primitive_desc_t description;
    check(dnnl_memory_desc_create_with_tag(&src, ndims, s->src, dnnl_f32, dnnl_format_tag_any),
          "input layout");
    check(dnnl_memory_desc_create_with_tag(&weights, ndims, s->weights, dnnl_f32,
                                           dnnl_format_tag_any),
          "weight layout");
    check(dnnl_memory_desc_create_with_tag(&dst, ndims, s->dst, dnnl_f32, dnnl_format_tag_any),
          "output layout");
    check(dnnl_deconvolution_forward_primitive_desc_create(
              &description, engine, dnnl_forward_inference, dnnl_deconvolution_direct, src, weights,
              NULL, dst, s->strides, s->dilates, s->padding_left, s->padding_right, NULL),
          "deconvolution");
    dnnl_memory_desc_destroy(src);
    dnnl_memory_desc_destroy(weights);
    dnnl_memory_desc_destroy(dst);
    return description;
}

#else

typedef const dnnl_memory_desc_t *chosen_layout;

static dnnl_primitive_desc_t describe(const shape *s, dnnl_engine_t engine) {
    const int ndims = s->space + 2;
    dnnl_memory_desc_t src, weights, dst;
    dnnl_deconvolution_desc_t deconvolution;
    dnnl_primitive_desc_t description;
    check(dnnl_memory_desc_init_by_tag(&src, ndims, s->src, dnnl_f32, dnnl_format_tag_any),
          "input layout");
    check(dnnl_memory_desc_init_by_tag(&weights, ndims, s->weights, dnnl_f32, dnnl_format_tag_any),
          "weight layout");
    check(dnnl_memory_desc_init_by_tag(&dst, ndims, s->dst, dnnl_f32, dnnl_format_tag_any),
          "output layout");
    check(dnnl_deconvolution_forward_desc_init(&deconvolution, dnnl_forward_inference,
                                               dnnl_deconvolution_direct, &src, &weights, NULL,
                                               &dst, s->strides, s->padding_left, s->padding_right),
          "deconvolution");
    check(dnnl_primitive_desc_create(&description, &deconvolution, NULL, engine, NULL),
          "deconvolution");
    return description;
}

#endif

/* ---- One operator's convolution, ready to run --------------------------------------------- */

typedef struct ready {
    char slug[64];
    size_t batch;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[3];
} ready;

/* Numbers that are neither zero nor subnormal, straight into the layout that oneDNN chose: there is
 * nothing to reorder. Writing the output too means that its pages are there. */
static dnnl_memory_t filled(dnnl_primitive_desc_t description, dnnl_query_t which,
                            dnnl_engine_t engine) {
    const chosen_layout layout = dnnl_primitive_desc_query_md(description, which, 0);
    dnnl_memory_t memory;
    void *mapped;
    check(dnnl_memory_create(&memory, layout, engine, DNNL_MEMORY_ALLOCATE), "memory");
    check(dnnl_memory_map_data(memory, &mapped), "mapping memory");
    float *values = mapped;
    const size_t count = dnnl_memory_desc_get_size(layout) / sizeof *values;
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((i * 2654435761u >> 8) % 1024 + 1) / 1024 - 0.4f;
    check(dnnl_memory_unmap_data(memory, mapped), "unmapping memory");
    return memory;
}

static void prepare(ready *r, const char *slug, size_t batch, dnnl_engine_t engine) {
    const shape s = shape_of(slug, batch);
    dnnl_primitive_desc_t description = describe(&s, engine);
    check(dnnl_primitive_create(&r->primitive, description), "primitive");
    r->args[0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, filled(description, dnnl_query_src_md, engine)};
    r->args[1] =
        (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, filled(description, dnnl_query_weights_md, engine)};
    r->args[2] = (dnnl_exec_arg_t){DNNL_ARG_DST, filled(description, dnnl_query_dst_md, engine)};
    dnnl_primitive_desc_destroy(description);
    snprintf(r->slug, sizeof r->slug, "%s", slug);
    r->batch = batch;
}

static double run(const ready *r, dnnl_stream_t stream) {
    const double start = now();
    check(dnnl_primitive_execute(r->primitive, stream, 3, r->args), "execution");
    check(dnnl_stream_wait(stream), "waiting");
    return now() - start;
}

int main(void) {
    static ready operators[MAX_OPERATORS];
    size_t count = 0;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    setvbuf(stdout, NULL, _IOLBF, 0);
    check(dnnl_engine_create(&engine, dnnl_cpu, 0), "no CPU engine");
    check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
    const dnnl_version_t *version = dnnl_version();
    const bool openmp = version->cpu_runtime == DNNL_RUNTIME_OMP;
    printf("bare oneDNN %d.%d.%d %s\n", version->major, version->minor, version->patch,
           openmp ? "OpenMP" : "SYCL");

    char line[1024], slug[64];
    size_t batch;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%63s batch_size=%zu", slug, &batch) != 2) {
            printf("failed: expected 'SLUG batch_size=N ...'\n");
            return 1;
        }
        size_t i = 0;
        while (i < count && (strcmp(operators[i].slug, slug) || operators[i].batch != batch))
            i++;
        if (i == count) {
            if (count == MAX_OPERATORS) {
                printf("failed: more operators than expected\n");
                return 1;
            }
            prepare(&operators[count++], slug, batch, engine);
            run(&operators[i], stream); /* what it compiles and allocates at first */
        }
        printf("%.9f\n", run(&operators[i], stream));
    }
    return 0;
}
