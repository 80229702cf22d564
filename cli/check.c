/* upconv check: our own implementation against the float64 oracle, on many shapes and kinds of
 * data. Called by main.c. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "compare.h"
#include "data.h"
#include "engine.h"
#include "json.h"
#include "shape.h"
#include "signature.h"
#include "target.h"

static const char help[] =
    "Usage: upconv check SLUG...|all [OPTION...]\n\n"
    "Checks our own implementation against the float64 oracle, as strictly as 'upconv judge' "
    "checks\n"
    "yours: errors are relative to the largest value of each (batch, channel) slice, and at most "
    "a\n"
    "small multiple of what unfused arithmetic loses. The cases are the judge's, then random "
    "shapes\n"
    "and kinds of data. One line a case; exits with 1 if any is wrong. Where --algorithm names "
    "one,\n"
    "shapes that it can't compute are skipped; --accuracy allows as much more as its name says.\n\n"
    "  --count N        random shapes for each operator and element type (default 10)\n"
    "  --full           the default shape as well, with a batch of 1: takes a minute and more\n"
    "  --case NAME      only the cases of that name\n"
    "  --shape TEXT     only this shape, with every kind of data: \"1x8x5x6x7 out_channels=16\n"
    "                   kernel=3 stride=2x2x1 padding=1\"; what is not named keeps its default\n"
    "  --family NAME    only this kind of data: site, normal, integer, large, ...\n"
    "  --seed N         the same numbers as in another run (default: new ones)\n"
    "  --dtype TYPE     f32, f64, f16 or bf16 (default: all four)\n" ENGINE_HELP
    "  --json           print one JSON object\n"
    "  --help           show this\n\n"
    "Example: upconv check conv-transpose3d-max-max-sum --dtype f32 --seed 1\n"
    "         upconv check all\n";

#define MOST_COUNT 1000000

typedef struct check {
    engine with;
    const char *shape, *only_case;
    family only_family; /* FAMILIES: all */
    uint64_t seed;
    size_t count;
    bool has_seed, full, json;
    bool counting; /* first only to know how many cases there are */
    size_t done, failed, skipped, steps;
    cJSON *results;
} check;

/* ---- One case -------------------------------------------------------------------------- */

/* What is to be run, and the words that run it again. */
typedef struct subject {
    const signature *s;
    test_case test;
    uc_dtype dtype;
    bool is_suite; /* found by its name; else by shape and family */
} subject;

static void reproducer(const check *k, const subject *u, char *line, size_t bytes) {
    char shape[512], which[640], engine[ENGINE_MOST_WORDS];
    engine_words(&k->with, engine, sizeof engine);
    if (u->is_suite) {
        snprintf(which, sizeof which, "--case %s%s", u->test.name,
                 u->test.is_default_shape ? " --full" : "");
    } else {
        shape_text(u->s, &u->test.params, shape, sizeof shape);
        snprintf(which, sizeof which, "--shape \"%s\" --family %s", shape,
                 family_name(u->test.family));
    }
    snprintf(line, bytes, "upconv check %s %s --dtype %s --seed %" PRIu64 "%s", u->s->slug, which,
             uc_dtype_name(u->dtype), k->seed, engine);
}

static void print_result(const check *k, const subject *u, const uc_shape *shape,
                         const comparison *c) {
    char line[1024], index[96];
    const bool right = c->wrong == 0;
    reproducer(k, u, line, sizeof line);
    if (k->json) {
        char text[512];
        shape_text(u->s, &u->test.params, text, sizeof text);
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "operator", u->s->slug);
        cJSON_AddStringToObject(object, "name", u->test.name);
        cJSON_AddStringToObject(object, "dtype", uc_dtype_name(u->dtype));
        cJSON_AddStringToObject(object, "family", family_name(u->test.family));
        cJSON_AddStringToObject(object, "shape", text);
        cJSON_AddBoolToObject(object, "pass", right);
        json_number(object, "error", c->error);
        json_number(object, "allowed", c->allowed);
        json_number(object, "wrong", (double)c->wrong);
        json_number(object, "elements", (double)c->elements);
        cJSON_AddStringToObject(object, "reproduce", line);
        cJSON_AddItemToArray(k->results, object);
        return;
    }
    cli_progress(NULL);
    printf("%s%s%s %s %-4s %-24s %-12s error %.2e of %.2e allowed\n",
           cli_colour_on(stdout, right ? CLI_GREEN : CLI_RED), right ? "PASS" : "FAIL",
           cli_colour_off(stdout), u->s->slug, uc_dtype_name(u->dtype), u->test.name,
           family_name(u->test.family), c->error, c->allowed);
    if (right)
        return;
    printf("     %zu of %zu elements are wrong\n", c->wrong, c->elements);
    for (size_t i = 0; i < c->worst_count; i++)
        printf("     %s: expected %.9g, got %.9g\n",
               compare_index(shape, c->worst[i].index, index, sizeof index), c->worst[i].expected,
               c->worst[i].got);
    printf("     again: %s\n", line);
}

/* Not every shape can be computed by the algorithm that was asked for. */
static bool is_skipped(const check *k, uc_status status) {
    return status == UC_UNSUPPORTED && k->with.options.algorithm != UC_ALGORITHM_AUTO;
}

static void print_skipped(const check *k, const subject *u) {
    if (k->json)
        return;
    cli_progress(NULL);
    printf("SKIP %s %-4s %-24s %-12s %s\n", u->s->slug, uc_dtype_name(u->dtype), u->test.name,
           family_name(u->test.family), uc_last_error());
}

/* The memory of one case; all NULL at first. */
typedef struct room {
    uc_chain *chain;
    data d;
    uc_plan *plan;
    void *output, *workspace;
    double *expected, *noise;
} room;

static uc_status compute(const check *k, const subject *u, room *r, comparison *result) {
    uc_status status = uc_operator_chain(u->s->slug, u->dtype, &u->test.params, &r->chain);
    if (status != UC_OK)
        return status;
    const uc_shape out = uc_chain_output(r->chain);
    const size_t bytes = elems_of(&out) * uc_dtype_bytes(u->dtype);
    r->output = malloc(bytes + 1);
    r->expected = malloc((elems_of(&out) + 1) * sizeof *r->expected);
    if (!data_new(r->chain, &r->d) || !r->output || !r->expected)
        return UC_NO_MEMORY;
    if (u->is_suite)
        cases_fill(u->s, &u->test, k->seed, 0, &r->d);
    else
        data_fill(&r->d, k->seed, u->test.family);
    memset(r->output, 0xFF, bytes); /* NaN in every type: what is not written shows */
    status = uc_plan_create(r->chain, data_operands(&r->d), &k->with.options, &r->plan);
    if (status == UC_OK && !(r->workspace = malloc(uc_plan_workspace_bytes(r->plan) + 1)))
        status = UC_NO_MEMORY;
    if (status == UC_OK)
        status = uc_plan_execute(r->plan, r->d.tensor[0], r->output, r->workspace);
    if (status == UC_OK)
        status = uc_chain_reference(r->chain, r->d.tensor[0], data_operands(&r->d), r->expected);
    if (status == UC_OK && !compare_fairly(u->s, &u->test.params, &r->d, &out, r->expected,
                                           engine_slack(&k->with), r->output, &r->noise, result))
        status = UC_NO_MEMORY;
    if (status == UC_OK)
        print_result(k, u, &out, result);
    return status;
}

static bool run(check *k, const subject *u) {
    room r = {0};
    comparison result = {0};
    if (k->counting) {
        k->steps++;
        return true;
    }
    cli_progress_step(u->s->slug, u->test.name, k->done, k->steps);
    uc_status status = compute(k, u, &r, &result);
    if (is_skipped(k, status)) {
        print_skipped(k, u);
        k->skipped++;
        status = UC_OK;
    }
    if (status != UC_OK)
        target_failed("check", u->s->slug, status);
    k->done++;
    k->failed += result.wrong > 0;
    free(r.noise);
    free(r.expected);
    free(r.workspace);
    uc_plan_destroy(r.plan);
    free(r.output);
    data_free(&r.d);
    uc_chain_destroy(r.chain);
    return status == UC_OK;
}

/* ---- Which cases ----------------------------------------------------------------------- */

static size_t between(rng *r, size_t low, size_t high) {
    return low + rng_below(r, high - low + 1);
}

/* Small, and of every kind that the rules allow: drawn until the operator takes it. */
static uc_operator_params random_shape(const signature *s, rng *r) {
    for (;;) {
        uc_operator_params p = {0};
        const size_t channels[] = {1, 2, 3, 5, 8, 16, 17, 33};
        uc_operator_defaults(s->slug, &p);
        p.batch_size = between(r, 1, 2);
        p.in_channels = channels[rng_below(r, 6)];
        p.out_channels = channels[rng_below(r, 8)];
        size_t *const dims[][5] = {
            {&p.depth, &p.kernel_d, &p.stride_d, &p.padding_d, &p.output_padding_d},
            {&p.height, &p.kernel_h, &p.stride_h, &p.padding_h, &p.output_padding_h},
            {&p.width, &p.kernel_w, &p.stride_w, &p.padding_w, &p.output_padding_w}};
        for (size_t i = 0; i < 3; i++) {
            *dims[i][0] = between(r, 1, i == 2 ? 20 : 8);
            *dims[i][1] = between(r, 1, 5);
            *dims[i][2] = between(r, 1, 3);
            *dims[i][3] = between(r, 0, 2);
            *dims[i][4] = between(r, 0, *dims[i][2] - 1);
        }
        p.pool_kernel = between(r, 1, 3);
        p.clamp_min = (double)rng_below(r, 5) * 0.5 - 1.5;
        p.clamp_max = p.clamp_min + (double)rng_below(r, 5) * 0.5;
        p.sum_weight = rng_normal(r);
        p.scaling_factor = rng_normal(r);
        uc_chain *chain = NULL;
        const bool good = uc_operator_chain(s->slug, UC_F32, &p, &chain) == UC_OK;
        uc_chain_destroy(chain);
        if (good)
            return p;
    }
}

static bool is_wanted(const check *k, const test_case *test) {
    return (!k->only_case || !strcmp(test->name, k->only_case)) &&
           (k->only_family == FAMILIES || test->family == k->only_family) &&
           (k->full || !test->is_default_shape);
}

static bool run_suite(check *k, const signature *s, uc_dtype dtype) {
    test_case all[CASES_MOST];
    const size_t count = cases_list(s->slug, 1, all);
    for (size_t i = 0; i < count; i++)
        if (is_wanted(k, &all[i]) &&
            !run(k, &(subject){.s = s, .test = all[i], .dtype = dtype, .is_suite = true}))
            return false;
    return true;
}

static bool run_random(check *k, const signature *s, uc_dtype dtype) {
    rng r = {k->seed ^ (uint64_t)dtype << 32};
    for (size_t i = 0; i < k->count; i++) {
        subject u = {.s = s, .dtype = dtype};
        snprintf(u.test.name, sizeof u.test.name, "random-%zu", i + 1);
        u.test.params = random_shape(s, &r);
        u.test.family = (family)rng_below(&r, FAMILIES);
        if (is_wanted(k, &u.test) && !run(k, &u))
            return false;
    }
    return true;
}

static bool run_shape(check *k, const signature *s, uc_dtype dtype) {
    subject u = {.s = s, .dtype = dtype, .test = {.name = "shape"}};
    if (uc_operator_defaults(s->slug, &u.test.params) != UC_OK ||
        !shape_read("check", s, k->shape, &u.test.params))
        return false;
    if (!u.test.params.batch_size) {
        cli_usage("check", "a batch of 0 has nothing to check");
        return false;
    }
    for (int f = 0; f < FAMILIES; f++) {
        u.test.family = (family)f;
        if (is_wanted(k, &u.test) && !run(k, &u))
            return false;
    }
    return true;
}

static bool run_operator(check *k, const char *slug) {
    const signature *s = signature_find(slug);
    for (int dtype = 0; uc_dtype_name((uc_dtype)dtype); dtype++) {
        if (k->with.has_dtype && k->with.dtype != (uc_dtype)dtype)
            continue;
        if (k->shape ? !run_shape(k, s, (uc_dtype)dtype)
                     : !run_suite(k, s, (uc_dtype)dtype) || !run_random(k, s, (uc_dtype)dtype))
            return false;
    }
    return true;
}

/* ---- The command line ------------------------------------------------------------------ */

static bool take_family(const char *name, family *f) {
    for (*f = (family)0; *f < FAMILIES; *f = (family)(*f + 1))
        if (!strcmp(name, family_name(*f)))
            return true;
    cli_usage("check", "there is no family '%s'; the first are site, normal, integer, large", name);
    return false;
}

static bool take_seed(const char *text, check *k) {
    size_t seed;
    k->has_seed = true;
    if (!cli_size("check", "--seed", text, &seed))
        return false;
    k->seed = seed;
    return true;
}

/* 1: go on, 0: help was shown, -1: bad. */
static int read_options(int argc, char **argv, check *k) {
    static const struct option options[] = {{"count", required_argument, NULL, 'c'},
                                            {"full", no_argument, NULL, 'f'},
                                            {"case", required_argument, NULL, 'n'},
                                            {"shape", required_argument, NULL, 's'},
                                            {"family", required_argument, NULL, 'y'},
                                            {"seed", required_argument, NULL, 'r'},
                                            ENGINE_OPTIONS,
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    bool good = true;
    for (int option; good && (option = cli_option("check", argc, argv, options)) != -1;)
        switch (option) {
        case 'c':
            good = cli_size("check", "--count", optarg, &k->count);
            if (good && k->count > MOST_COUNT)
                good = cli_usage("check", "--count is at most %d", MOST_COUNT) == EXIT_GOOD;
            break;
        case 'f':
            k->full = true;
            break;
        case 'n':
            k->only_case = optarg;
            break;
        case 's':
            k->shape = optarg;
            break;
        case 'y':
            good = take_family(optarg, &k->only_family);
            break;
        case 'r':
            good = take_seed(optarg, k);
            break;
        case 'j':
            k->json = true;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        default:
            good = engine_option("check", option, optarg, &k->with);
        }
    return good ? 1 : -1;
}

static bool run_all(int count, char **words, check *k) {
    const bool all = count == 1 && !strcmp(words[0], "all");
    const size_t operators = all ? uc_operator_count() : (size_t)count;
    for (size_t i = 0; i < operators; i++) {
        const char *slug = all ? uc_operator_slug(i) : NULL;
        if ((!slug && !cli_slug("check", words[i], &slug)) || !run_operator(k, slug))
            return false;
    }
    return true;
}

int cli_check(int argc, char **argv) {
    check k = {.with = ENGINE_INIT, .only_family = FAMILIES, .count = 10};
    const int go_on = read_options(argc, argv, &k);
    if (go_on <= 0)
        return go_on ? EXIT_USAGE : EXIT_GOOD;
    if (optind == argc)
        return cli_usage("check", "which operator? 'upconv list' names them; or 'all'");
    if (!k.has_seed)
        k.seed = rng_fresh_seed() >> 11; /* short enough for JSON's numbers */
    if (k.json)
        k.results = cJSON_CreateArray();
    else
        printf("seed %" PRIu64 "\n", k.seed);

    k.counting = true;
    bool good = run_all(argc - optind, argv + optind, &k);
    k.counting = false;
    good = good && run_all(argc - optind, argv + optind, &k);
    cli_progress(NULL);
    if (!good || k.done == k.skipped) {
        cJSON_Delete(k.results);
        return good ? cli_usage("check", "no case is left with these options") : EXIT_USAGE;
    }
    if (k.json) {
        cJSON *object = json_opening("check", true);
        json_number(object, "seed", (double)k.seed);
        json_number(object, "cases", (double)(k.done - k.skipped));
        json_number(object, "skipped", (double)k.skipped);
        json_number(object, "failed", (double)k.failed);
        cJSON_AddItemToObject(object, "results", k.results);
        if (!json_print(object))
            return EXIT_USAGE;
    } else {
        printf("%zu cases, %zu wrong", k.done - k.skipped, k.failed);
        if (k.skipped)
            printf(", %zu skipped", k.skipped);
        printf("\n");
    }
    return k.failed ? EXIT_WRONG : EXIT_GOOD;
}
