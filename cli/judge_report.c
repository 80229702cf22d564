/* What the judge tells: lines for people while it runs, one JSON object for machines at the end.
 * Called by judge.c. */
#define _POSIX_C_SOURCE 200809L
#include "facts.h"
#include "json.h"
#include "judge.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- The line that runs a test again ---------------------------------------------------- */

typedef struct line {
    char *at;
    size_t bytes, used;
} line;

static void add(line *l, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (l->used < l->bytes) {
        const int length = vsnprintf(l->at + l->used, l->bytes - l->used, format, arguments);
        l->used += length > 0 ? (size_t)length : 0;
    }
    va_end(arguments);
}

/* A word as a shell reads it. */
static void add_word(line *l, const char *word) {
    bool is_plain = *word != 0;
    for (const char *c = word; *c; c++)
        is_plain = is_plain && (isalnum((unsigned char)*c) || strchr("_-+=./,:@%", *c));
    add(l, is_plain ? " " : " '");
    for (const char *c = word; *c; c++)
        add(l, *c == '\'' ? "'\\''" : "%c", *c);
    add(l, is_plain ? "" : "'");
}

void report_reproducer(const judge_settings *with, const char *name, char *text, size_t bytes) {
    const judge_settings *w = with;
    char engine[ENGINE_MOST_WORDS];
    line l = {text, bytes, 0};
    text[0] = 0;
    add_word(&l, cli_program);
    add(&l, " judge %s", w->signature->slug);
    add_word(&l, w->solution);
    if (w->mode == MODE_SITE)
        add(&l, " --mode site");
    if (name)
        add(&l, " --case %s", name);
    add(&l, " --seed %llu --dtype %s", (unsigned long long)w->seed, uc_dtype_name(w->engine.dtype));
    if (strcmp(w->symbol, "solution") != 0) {
        add(&l, " --symbol");
        add_word(&l, w->symbol);
    }
    if (w->cflags) {
        add(&l, " --cflags");
        add_word(&l, w->cflags);
    }
    add(&l, " --batch %zu --time-limit %g --default-time-limit %g --memory-limit %zu", w->batch,
        w->time_limit, w->default_time_limit, w->memory_limit_mib);
    engine_words(&w->engine, engine, sizeof engine);
    add(&l, "%s", engine);
    if (name)
        add(&l, " --quick");
    else
        add(&l, " --timing %g", w->timing_budget);
    memmove(text, text + 1, strlen(text)); /* the space before the first word */
}

/* ---- For people ------------------------------------------------------------------------- */

void report_opening(const judge_settings *with, size_t tests) {
    printf("%s: %s, %s, %s, seed %llu, %zu test%s\n", with->solution, with->signature->slug,
           uc_dtype_name(with->engine.dtype), with->mode == MODE_SITE ? "as the site" : "strict",
           (unsigned long long)with->seed, tests, tests == 1 ? "" : "s");
    fflush(stdout);
}

/* What the solution has printed, without what could move a terminal's cursor. */
static void print_said(const test_result *r) {
    static char before[sizeof r->said]; /* it will say the same in every test */
    if (!r->said[0])
        return;
    if (strcmp(before, r->said) == 0) {
        printf("         it said the same again\n");
        return;
    }
    strcpy(before, r->said);
    printf("         it said:\n           | ");
    for (const char *c = r->said; *c; c++) {
        if (*c == '\n' && c[1])
            printf("\n           | ");
        else if (*c != '\n')
            putchar(isprint((unsigned char)*c) || (unsigned char)*c >= 0x80 || *c == '\t' ? *c
                                                                                          : '?');
    }
    printf("\n");
    if (r->said_more)
        printf("           (and %zu bytes more)\n", r->said_more);
}

/* The sign of a NaN means nothing, and "-nan" looks as if it did. */
static double unsigned_nan(double value) {
    return isnan(value) ? fabs(value) : value;
}

static void print_worst(const test_result *r) {
    const comparison *c = &r->comparison;
    char index[128];
    printf("         %zu of %zu elements are wrong; the worst:\n", c->wrong, c->elements);
    for (size_t i = 0; i < c->worst_count; i++)
        printf("           %-20s expected %-14.9g got %.9g\n",
               compare_index(&r->shape, c->worst[i].index, index, sizeof index),
               unsigned_nan(c->worst[i].expected), unsigned_nan(c->worst[i].got));
}

static void print_failure(const judge_settings *with, const test_result *r, bool is_timing) {
    char again[2048];
    if (r->detail[0])
        printf("         %s\n", r->detail);
    if (r->comparison.wrong)
        print_worst(r);
    if (r->hint[0])
        printf("         hint: %s\n", r->hint);
    print_said(r);
    report_reproducer(with, is_timing ? NULL : r->test->name, again, sizeof again);
    printf("         again: %s\n", again);
}

static void print_verdict(verdict v) {
    const bool good = v == VERDICT_ACCEPTED;
    printf("%s%s%s", cli_colour_on(stdout, good ? CLI_GREEN : CLI_RED),
           good ? "ok" : verdict_name(v), cli_colour_off(stdout));
}

void report_test(const judge_settings *with, const test_result *r, size_t number, size_t tests) {
    printf("  %2zu/%zu  %-20s ", number, tests, r->test->name);
    print_verdict(r->verdict);
    if (r->verdict == VERDICT_ACCEPTED)
        printf("  error %.1e, allowed %.1e, %.*f ms", r->comparison.error, r->comparison.allowed,
               r->seconds < 0.1 ? 2 : 0, 1e3 * r->seconds);
    printf("\n");
    if (r->verdict == VERDICT_ACCEPTED)
        print_said(r);
    else if (r->verdict != VERDICT_NOT_RUN)
        print_failure(with, r, false);
    if (with->mode == MODE_SITE && r->other_mode == VERDICT_WRONG &&
        r->verdict == VERDICT_ACCEPTED) {
        printf("         %sthe site would accept it, the strict comparison says: wrong answer%s\n",
               cli_colour_on(stdout, CLI_YELLOW), cli_colour_off(stdout));
        if (r->hint[0])
            printf("         hint: %s\n", r->hint);
    } else if (with->mode == MODE_SITE && r->other_mode == VERDICT_ACCEPTED &&
               r->verdict == VERDICT_WRONG) {
        printf("         the strict comparison accepts it\n");
    }
    fflush(stdout);
}

static void print_timing(const judge_settings *with, const timing_result *t) {
    const double ratio = t->ours_seconds / t->solution_seconds;
    printf("time at the default shape, batch %zu: %.3f ms, ours %.3f ms: %.2f times %s than ours\n",
           with->batch, 1e3 * t->solution_seconds, 1e3 * t->ours_seconds,
           ratio >= 1 ? ratio : 1 / ratio, ratio >= 1 ? "faster" : "slower");
    printf("  %.1f GFLOP/s, %.0f %% of the peak; %zu repetition%s, variation %.1f %%\n", t->gflops,
           t->peak_percent, t->repetitions, t->repetitions == 1 ? "" : "s", 100 * t->cv);
}

static void print_limit(const timing_result *t) {
    if (t->below_limit)
        printf("  %sbelow the physical limit of %.3f ms: no honest computation is that fast%s\n",
               cli_colour_on(stdout, CLI_YELLOW), 1e3 * t->limit_seconds, cli_colour_off(stdout));
}

/* "3 wrong answer, 1 crash" */
static void print_counts(const test_result *results, size_t count) {
    bool is_first = true;
    for (int v = VERDICT_WRONG; v <= VERDICT_NOT_RUN; v++) {
        size_t same = 0;
        for (size_t i = 0; i < count; i++)
            same += results[i].verdict == (verdict)v;
        if (same)
            printf("%s%zu %s", is_first ? "" : ", ", same, verdict_name((verdict)v));
        is_first = is_first && !same;
    }
}

void report_closing(const judge_settings *with, const judge_results *all) {
    const timing_result *t = &all->timing;
    if (t->check.verdict != VERDICT_ACCEPTED) {
        printf("  timing  ");
        print_verdict(t->check.verdict);
        printf("\n");
        print_failure(with, &t->check, true);
    } else if (t->was_run) {
        print_timing(with, t);
    }
    print_limit(t);
    const bool good = all->verdict == VERDICT_ACCEPTED;
    printf("verdict: %s%s%s", cli_colour_on(stdout, good ? CLI_GREEN : CLI_RED),
           verdict_name(all->verdict), cli_colour_off(stdout));
    if (good) {
        printf(" (%zu test%s)", all->count, all->count == 1 ? "" : "s");
        /* As the site: there is one test. */
        if (with->mode == MODE_SITE && all->results[0].other_mode == VERDICT_WRONG)
            printf(" by the site, %swrong answer%s strictly", cli_colour_on(stdout, CLI_RED),
                   cli_colour_off(stdout));
        printf("\n");
    } else if (all->verdict == VERDICT_TOO_SLOW && all->failed == 1) {
        printf(" (right in the %zu other tests)\n", all->count - 1);
    } else if (all->failed) {
        printf(" (%zu of %zu tests: ", all->failed, all->count);
        print_counts(all->results, all->count);
        printf(")\n");
    } else {
        printf("\n");
    }
}

/* ---- For machines ----------------------------------------------------------------------- */

static cJSON *json_test(const judge_settings *with, const test_result *r, bool is_timing) {
    cJSON *object = cJSON_CreateObject();
    const bool compared = r->comparison.elements > 0;
    cJSON_AddStringToObject(object, "name", is_timing ? "timing" : r->test->name);
    cJSON_AddStringToObject(object, "verdict", verdict_name(r->verdict));
    json_number(object, "error", compared ? r->comparison.error : (double)NAN);
    json_number(object, "allowed", compared ? r->comparison.allowed : (double)NAN);
    cJSON_AddNumberToObject(object, "wrong", (double)r->comparison.wrong);
    cJSON_AddNumberToObject(object, "elements", (double)r->comparison.elements);
    json_number(object, "ms", 1e3 * r->seconds);
    cJSON *worst = cJSON_AddArrayToObject(object, "worst");
    for (size_t i = 0; i < r->comparison.worst_count; i++) {
        char index[128];
        cJSON *element = cJSON_CreateObject();
        cJSON_AddItemToArray(worst, element);
        cJSON_AddStringToObject(
            element, "index",
            compare_index(&r->shape, r->comparison.worst[i].index, index, sizeof index));
        json_number(element, "expected", r->comparison.worst[i].expected);
        json_number(element, "got", r->comparison.worst[i].got);
    }
    cJSON_AddStringToObject(object, "detail", r->detail);
    cJSON_AddStringToObject(object, "hint", r->hint);
    cJSON_AddStringToObject(object, "said", r->said);
    if (with->mode == MODE_SITE)
        cJSON_AddStringToObject(
            object, "strict_verdict",
            verdict_name(r->verdict == VERDICT_ACCEPTED || r->verdict == VERDICT_WRONG
                             ? r->other_mode
                             : r->verdict));
    char again[2048];
    report_reproducer(with, is_timing ? NULL : r->test->name, again, sizeof again);
    cJSON_AddStringToObject(object, "reproduce", again);
    return object;
}

static void add_timing(cJSON *object, const timing_result *t) {
    cJSON *timing = cJSON_AddObjectToObject(object, "timing");
    json_number(timing, "solution_ms", 1e3 * t->solution_seconds);
    json_number(timing, "ours_ms", 1e3 * t->ours_seconds);
    json_number(timing, "ratio", t->ours_seconds / t->solution_seconds);
    json_number(timing, "gflops", t->gflops);
    json_number(timing, "peak_percent", t->peak_percent);
    json_number(timing, "limit_ms", 1e3 * t->limit_seconds);
    cJSON_AddNumberToObject(timing, "repetitions", (double)t->repetitions);
    json_number(timing, "cv", t->cv);
    cJSON_AddBoolToObject(timing, "below_limit", t->below_limit);
}

bool report_json(const judge_settings *with, const judge_results *all) {
    cJSON *object = json_opening("judge", true);
    const facts f = facts_of_machine();
    cJSON_AddItemToObject(
        object, "machine",
        facts_json(&f, &all->machine, with->engine.dtype, engine_threads(&with->engine)));
    cJSON_AddStringToObject(object, "operator", with->signature->slug);
    cJSON_AddStringToObject(object, "solution", with->solution);
    cJSON_AddStringToObject(object, "mode", with->mode == MODE_SITE ? "site" : "strict");
    cJSON_AddStringToObject(object, "dtype", uc_dtype_name(with->engine.dtype));
    char seed[32]; /* as text: 64 bits are more than JSON's numbers keep */
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)with->seed);
    cJSON_AddStringToObject(object, "seed", seed);
    cJSON_AddStringToObject(object, "verdict", verdict_name(all->verdict));
    cJSON *tests = cJSON_AddArrayToObject(object, "tests");
    for (size_t i = 0; i < all->count; i++)
        cJSON_AddItemToArray(tests, json_test(with, &all->results[i], false));
    if (all->timing.check.verdict != VERDICT_ACCEPTED)
        cJSON_AddItemToArray(tests, json_test(with, &all->timing.check, true));
    if (all->timing.was_run)
        add_timing(object, &all->timing);
    else
        cJSON_AddNullToObject(object, "timing");
    return json_print(object);
}
