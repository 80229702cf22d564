/* Bar charts of times as SVG: widths in percent, texts in pixels, so that they fit any screen.
 * Called by the sections of the report. */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <stdlib.h>
#include <string.h>

const char *const bar_names[BAR_KINDS] = {[BAR_OURS] = "upconv",
                                          [BAR_WHOLE] = "another library, the whole operator",
                                          [BAR_BARE] = "another library, the convolution alone",
                                          [BAR_SOLUTION] = "the solution that was judged",
                                          [BAR_LIMIT] = "the limit on this machine"};

static const char *const classes[BAR_KINDS] = {[BAR_OURS] = "ours",
                                               [BAR_WHOLE] = "whole",
                                               [BAR_BARE] = "bare",
                                               [BAR_SOLUTION] = "solution",
                                               [BAR_LIMIT] = "limit"};

/* Pixels. A row is a line of words and, below it, the bar. */
enum { ROW = 42, WORDS = 13, BAR_TOP = 20, BAR_HEIGHT = 15, LABEL_CHARACTERS = 34 };

/* The longest bar ends here, which leaves the rest for its value; in percent. */
#define LONGEST 74.0

void chart_patterns(FILE *out) {
    fputs("<svg class=\"defs\" aria-hidden=\"true\" focusable=\"false\"><defs>"
          "<pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(45)\"><rect class=\"hatch-paper\" width=\"7\" height=\"7\"/>"
          "<line class=\"hatch-line\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"7\"/></pattern>"
          "</defs></svg>\n",
          out);
}

void chart_legend(FILE *out, const bool kinds[BAR_KINDS]) {
    fputs("<ul class=\"legend\" aria-label=\"What the bars are\">\n", out);
    for (size_t i = 0; i < BAR_KINDS; i++)
        if (kinds[i])
            fprintf(out,
                    "<li><svg aria-hidden=\"true\" focusable=\"false\"><rect class=\"bar %s\" "
                    "x=\"1\" y=\"1\" width=\"24\" height=\"10\" rx=\"2\"/></svg>%s</li>\n",
                    classes[i], bar_names[i]);
    fputs("</ul>\n", out);
}

static int by_time(const void *a, const void *b) {
    const bar *left = a, *right = b;
    return (left->ms > right->ms) - (left->ms < right->ms);
}

/* What a bar is compared with: our own time, or the limit for ours (and for a lone solution). */
static void put_comparison(FILE *out, const bar *b, const bar *ours, const bar *limit) {
    char ratio[NUMBER_BYTES];
    if (b->kind == BAR_LIMIT)
        fputs(b->beatable ? "as measured here" : "nothing can be faster", out);
    else if (ours && b != ours)
        fprintf(out, "%s upconv’s time", number_ratio(ratio, b->ms / ours->ms));
    else if (limit)
        fprintf(out, "%s the limit", number_ratio(ratio, b->ms / limit->ms));
}

static void put_bar(FILE *out, const bar *b, const bar *ours, const bar *limit, double scale,
                    size_t row) {
    char value[NUMBER_BYTES], median[NUMBER_BYTES];
    const size_t top = row * ROW;
    const double width = b->ms * scale;
    const double end = b->median_ms > b->ms ? b->median_ms * scale : width;
    number_ms(value, b->ms);
    fputs("<g role=\"listitem\" tabindex=\"0\" aria-label=\"", out);
    html_format(out, "%s: %s, ", b->name, value);
    put_comparison(out, b, ours, limit);
    fputs("\"><title>", out);
    html_text(out, b->name);
    fprintf(out, ": %s at best", value);
    if (b->median_ms > 0)
        fprintf(out, ", %s in the median", number_ms(median, b->median_ms));
    fputs("</title>\n", out);
    fprintf(out,
            "<rect class=\"ring\" x=\"-4\" y=\"%zu\" width=\"100%%\" height=\"%d\" rx=\"5\" "
            "style=\"width:calc(100%% + 8px)\"/>",
            top, ROW - 3);
    fprintf(out, "<text x=\"0\" y=\"%zu\">", top + WORDS + 1);
    html_short_text(out, b->name, LABEL_CHARACTERS);
    fprintf(out, "</text><text class=\"about\" x=\"100%%\" y=\"%zu\">", top + WORDS + 1);
    put_comparison(out, b, ours, limit);
    fprintf(out,
            "</text>\n<rect class=\"bar %s\" data-kind=\"%s\" data-ms=\"%.9g\" x=\"0\" y=\"%zu\" "
            "width=\"%.3f%%\" height=\"%d\" rx=\"2.5\"/>",
            classes[b->kind], classes[b->kind], b->ms, top + BAR_TOP, width < 0.4 ? 0.4 : width,
            BAR_HEIGHT);
    if (b->median_ms > b->ms) {
        const double middle = (double)(top + BAR_TOP) + BAR_HEIGHT / 2.0;
        fprintf(out,
                "<line class=\"median\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<line class=\"median\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%.1f\" y2=\"%.1f\"/>",
                width, end, middle, middle, end, end, middle - 4, middle + 4);
    }
    if (limit && b != limit) /* a mark on the bar */
        fprintf(out,
                "<line class=\"limit-mark\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%zu\" y2=\"%zu\"/>",
                limit->ms * scale, limit->ms * scale, top + BAR_TOP - 1,
                top + BAR_TOP + BAR_HEIGHT + 3);
    fprintf(out, "<text class=\"value\" x=\"%.3f%%\" dx=\"8\" y=\"%zu\">%s</text></g>\n", end,
            top + BAR_TOP + 12, value);
}

void chart_put(FILE *out, const char *subject, bar *bars, size_t count, report_counts *counts) {
    qsort(bars, count, sizeof *bars, by_time);
    const bar *ours = NULL, *limit = NULL;
    double longest = 0;
    for (size_t i = 0; i < count; i++) {
        const double end = bars[i].median_ms > bars[i].ms ? bars[i].median_ms : bars[i].ms;
        longest = end > longest ? end : longest;
        ours = bars[i].kind == BAR_OURS ? &bars[i] : ours;
        limit = bars[i].kind == BAR_LIMIT ? &bars[i] : limit;
    }
    const double scale = LONGEST / longest;
    fprintf(out, "<svg class=\"chart\" role=\"list\" height=\"%zu\" aria-label=\"", count * ROW);
    html_format(out, "Times of %s, the shortest first", subject);
    fprintf(out, "\" data-bars=\"%zu\">\n", count);
    for (size_t i = 0; i < count; i++)
        put_bar(out, &bars[i], ours, limit, scale, i);
    fputs("</svg>\n", out);
    counts->charts++;
    counts->bars += count;
}

static void add(bar *bars, size_t *count, bar_kind kind, const char *name, const cJSON *from,
                const char *best, const char *median) {
    const double ms = report_number(from, best);
    if (ms > 0)
        bars[(*count)++] = (bar){kind, name, ms, median ? report_number(from, median) : -1, false};
}

bar *chart_bench_bars(const cJSON *result, size_t *count) {
    const cJSON *peers = report_item(result, "peers");
    bar *bars = malloc(((size_t)cJSON_GetArraySize(peers) + 2) * sizeof *bars);
    *count = 0;
    if (!bars)
        return NULL;
    add(bars, count, BAR_OURS, "upconv", result, "min_ms", "median_ms");
    const size_t limit = *count;
    add(bars, count, BAR_LIMIT, "limit of direct arithmetic", result, "limit_ms", NULL);
    if (*count > limit)
        bars[limit].beatable = true;
    for (const cJSON *peer = report_first(result, "peers"); peer; peer = peer->next) {
        const bool whole = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(peer, "whole"));
        add(bars, count, whole ? BAR_WHOLE : BAR_BARE, report_text(peer, "name"), peer, "min_ms",
            "median_ms");
    }
    return bars;
}

bar *chart_judge_bars(const cJSON *judge, size_t *count) {
    bar *bars = malloc(3 * sizeof *bars);
    const cJSON *timing = report_item(judge, "timing");
    *count = 0;
    if (!bars || !timing)
        return bars;
    const char *path = report_text(judge, "solution"), *slash = strrchr(path, '/');
    add(bars, count, BAR_SOLUTION, slash && slash[1] ? slash + 1 : path, timing, "solution_ms",
        NULL);
    add(bars, count, BAR_OURS, "upconv", timing, "ours_ms", NULL);
    add(bars, count, BAR_LIMIT, "physical limit", timing, "limit_ms", NULL);
    return bars;
}
