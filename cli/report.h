/* The report's parts: JSON files that were read and checked, the page, its charts.
 * Included by report.c and report_*.c. */
#ifndef UC_CLI_REPORT_H
#define UC_CLI_REPORT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "embedded.h"

extern const embedded_file report_files[]; /* the style sheet */

/* A file of results. What its kind must have is there, with the right type. */
typedef struct report_source {
    const char *path;
    cJSON *json;
    bool judge; /* by judge; otherwise by bench */
} report_source;

/* What was drawn. */
typedef struct report_counts {
    size_t charts, bars;
} report_counts;

/* report_read.c: reads and checks one; says what is wrong with it and returns false if something
 * is. A source that was read needs cJSON_Delete(). */
bool report_read(const char *path, report_source *source);

/* Fields of what was checked: NULL or a negative number where an optional one is missing. */
const cJSON *report_item(const cJSON *object, const char *name);
const cJSON *report_first(const cJSON *object, const char *name); /* of a list; then ->next */
const char *report_text(const cJSON *object, const char *name);
double report_number(const cJSON *object, const char *name);

/* report_html.c: text with everything that HTML would take for markup made harmless, and numbers
 * with as many digits as matter. */
void html_text(FILE *out, const char *text);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void html_format(FILE *out, const char *format, ...);
void html_short_text(FILE *out, const char *text, size_t most_characters);
#define NUMBER_BYTES 32
const char *number_ms(char text[NUMBER_BYTES], double ms);
const char *number_ratio(char text[NUMBER_BYTES], double ratio);
const char *number_percent(char text[NUMBER_BYTES], double percent);
const char *number_plain(char text[NUMBER_BYTES], double value);
const char *number_flop(char text[NUMBER_BYTES], double flop);
const char *number_bytes(char text[NUMBER_BYTES], double bytes);

/* report_chart.c: bars of times, shortest first, drawn as SVG. */
typedef enum bar_kind {
    BAR_OURS,
    BAR_WHOLE,
    BAR_BARE,
    BAR_SOLUTION,
    BAR_LIMIT,
    BAR_KINDS
} bar_kind;
extern const char *const bar_names[BAR_KINDS]; /* for people */
typedef struct bar {
    bar_kind kind;
    const char *name;
    double ms, median_ms; /* median_ms negative: unknown */
    bool beatable;        /* a limit, but of one algorithm */
} bar;
void chart_patterns(FILE *out);
void chart_legend(FILE *out, const bool kinds[BAR_KINDS]);
void chart_put(FILE *out, const char *subject, bar *bars, size_t count, report_counts *counts);

/* The bars of a result of bench and of a judge's file (no timing: none), for the caller to free.
 * NULL: out of memory. */
bar *chart_bench_bars(const cJSON *result, size_t *count);
bar *chart_judge_bars(const cJSON *judge, size_t *count);

/* report_bench.c, report_judge.c: the section of one file. report_machine: facts as a list. */
void report_bench(FILE *out, const report_source *source, report_counts *counts);
void report_judge(FILE *out, const report_source *source, report_counts *counts);
void report_machine(FILE *out, const cJSON *machine);
void report_meta(FILE *out, const report_source *source);

#endif
