/* The section of the report about a judged solution: verdict, times, every test.
 * Called by report.c. */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <stdlib.h>
#include <string.h>

static bool is_good(const char *verdict) {
    return !strcmp(verdict, "accepted");
}

static void put_verdict(FILE *out, const char *verdict) {
    const bool good = is_good(verdict);
    fprintf(out, "<span class=\"verdict %s\"><span aria-hidden=\"true\">%s</span>",
            good ? "good" : "bad", good ? "✓" : "✗");
    html_text(out, verdict);
    fputs("</span>", out);
}

static void put_times(FILE *out, const cJSON *judge, report_counts *counts) {
    const cJSON *timing = report_item(judge, "timing");
    size_t count;
    char text[NUMBER_BYTES];
    bar *bars = chart_judge_bars(judge, &count);
    if (bars && count) {
        fputs("<div class=\"cards\"><article class=\"card\"><h3>Time at the default shape</h3>\n"
              "<p class=\"small soft\">",
              out);
        if (report_number(timing, "gflops") > 0)
            fprintf(out, "%s\u202fGFLOP/s", number_plain(text, report_number(timing, "gflops")));
        if (report_number(timing, "peak_percent") > 0)
            fprintf(out, " · %s of the peak",
                    number_percent(text, report_number(timing, "peak_percent")));
        const double repetitions = report_number(timing, "repetitions");
        if (repetitions > 0)
            fprintf(out, " · %.0f repetition%s", repetitions, repetitions == 1 ? "" : "s");
        if (repetitions > 1 && report_number(timing, "cv") >= 0)
            fprintf(out, ", which vary by %s",
                    number_percent(text, 100 * report_number(timing, "cv")));
        fputs("</p>\n", out);
        chart_put(out, report_text(judge, "operator"), bars, count, counts);
        fputs("</article></div>\n", out);
    }
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(timing, "below_limit")))
        fputs("<p class=\"warning\">The measured time is below what the work needs on this "
              "machine at the very least: something was not computed.</p>\n",
              out);
    free(bars);
}

static void put_number(FILE *out, const cJSON *test, const char *name, const char *format) {
    const double value = report_number(test, name);
    fputs("<td class=\"number\">", out);
    if (value < 0)
        fputs("<span class=\"unknown\">–</span>", out);
    else
        fprintf(out, format, value);
    fputs("</td>", out);
}

static void put_line(FILE *out, const char *text) {
    if (!text || !*text)
        return;
    html_text(out, text);
    fputs("<br>", out);
}

/* A value, or what JSON has instead of those that it does not know. */
static void put_value(FILE *out, const cJSON *value) {
    if (cJSON_IsNumber(value))
        fprintf(out, "%.9g", value->valuedouble);
    else
        fputs("NaN or infinite", out);
}

static void put_element(FILE *out, const cJSON *element) {
    fputs("<span class=\"soft\">at ", out);
    html_text(out, report_text(element, "index"));
    fputs(" expected ", out);
    put_value(out, cJSON_GetObjectItemCaseSensitive(element, "expected"));
    fputs(", got ", out);
    put_value(out, cJSON_GetObjectItemCaseSensitive(element, "got"));
    fputs("</span><br>", out);
}

static void put_test(FILE *out, const cJSON *test) {
    const char *verdict = report_text(test, "verdict"), *hint = report_text(test, "hint");
    const char *reproduce = report_text(test, "reproduce");
    const char *strict = report_text(test, "strict_verdict"); /* judged as the site does */
    const bool good = is_good(verdict), disagree = strict && strcmp(strict, verdict) != 0;
    fprintf(out, "<tr data-test=\"%s\"><th scope=\"row\">", good ? "good" : "bad");
    html_text(out, report_text(test, "name"));
    fprintf(out, "</th><td class=\"%s\">%s ", good ? "good-text" : "bad-text", good ? "✓" : "✗");
    html_text(out, verdict);
    fputs("</td>", out);
    put_number(out, test, "error", "%.2e");
    put_number(out, test, "allowed", "%.2e");
    put_number(out, test, "wrong", "%.0f");
    put_number(out, test, "elements", "%.0f");
    fputs("</tr>\n", out);
    if (!disagree && (good || (!hint && !reproduce)))
        return;
    fputs("<tr class=\"detail\"><td colspan=\"6\">", out);
    if (disagree) {
        fputs("This is what the site would have said. The strict comparison disagrees: ", out);
        put_line(out, strict);
    }
    put_line(out, report_text(test, "detail"));
    put_line(out, hint);
    for (const cJSON *e = report_first(test, "worst"); e; e = e->next)
        put_element(out, e);
    if (reproduce && *reproduce) {
        fputs("<code>", out);
        html_text(out, reproduce);
        fputs("</code>", out);
    }
    fputs("</td></tr>\n", out);
}

void report_judge(FILE *out, const report_source *source, report_counts *counts) {
    const cJSON *judge = source->json, *first = report_first(judge, "tests");
    size_t total = 0, accepted = 0;
    for (const cJSON *test = first; test; test = test->next) {
        total++;
        accepted += is_good(report_text(test, "verdict"));
    }
    fputs("<div class=\"heading\"><h2>Judged: <span class=\"slug\">", out);
    html_text(out, report_text(judge, "operator"));
    fputs("</span></h2>", out);
    put_verdict(out, report_text(judge, "verdict"));
    fputs("</div>\n", out);
    report_meta(out, source);
    fputs("<p class=\"meta\">solution <code>", out);
    html_text(out, report_text(judge, "solution"));
    fprintf(out, "</code> · %zu of %zu tests accepted</p>\n", accepted, total);
    put_times(out, judge, counts);
    if (total) {
        fputs("<h4>Tests</h4>\n"
              "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of tests\">"
              "<table><thead><tr><th scope=\"col\">test</th><th scope=\"col\">verdict</th>"
              "<th scope=\"col\" class=\"number\">error</th>"
              "<th scope=\"col\" class=\"number\">allowed</th>"
              "<th scope=\"col\" class=\"number\">wrong</th>"
              "<th scope=\"col\" class=\"number\">elements</th></tr></thead>\n<tbody>\n",
              out);
        for (const cJSON *test = first; test; test = test->next)
            put_test(out, test);
        fputs("</tbody></table></div>\n", out);
    }
    report_machine(out, report_item(judge, "machine"));
}
