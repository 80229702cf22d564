/* The section of the report about a run of bench: figures, charts, table; and what sections share.
 * Called by report.c. */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- What sections share -------------------------------------------------------------------- */

/* A fact of a list, if it is known. */
static void fact(FILE *out, const char *name, const char *value) {
    if (!value || !*value)
        return;
    fprintf(out, "<div><dt>%s</dt><dd>", name);
    html_text(out, value);
    fputs("</dd></div>\n", out);
}

static void fact_number(FILE *out, const char *name, double value, const char *unit) {
    char text[64];
    snprintf(text, sizeof text, "%.*f%s", value < 10 && value != floor(value) ? 1 : 0, value, unit);
    fact(out, name, value > 0 ? text : NULL);
}

void report_machine(FILE *out, const cJSON *machine) {
    if (!machine)
        return;
    fputs("<h4>Machine</h4>\n<dl class=\"machine\">\n", out);
    fact(out, "Processor", report_text(machine, "cpu"));
    fact(out, "Instruction set", report_text(machine, "isa"));
    fact_number(out, "Cores", report_number(machine, "cores"), "");
    fact_number(out, "Threads", report_number(machine, "threads"), "");
    const cJSON *caches = report_item(machine, "caches");
    static const char *const levels[][2] = {
        {"l1d_bytes", "L1 data cache"}, {"l2_bytes", "L2 cache"}, {"l3_bytes", "L3 cache"}};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        char text[NUMBER_BYTES];
        const double bytes = report_number(caches, levels[i][0]);
        fact(out, levels[i][1], bytes > 0 ? number_bytes(text, bytes) : NULL);
    }
    fact_number(out, "Measured multiply-add peak", report_number(machine, "peak_gflops"),
                " GFLOP/s");
    fact_number(out, "Measured memory reading", report_number(machine, "read_gbs"), " GB/s");
    fact_number(out, "Measured memory writing", report_number(machine, "write_gbs"), " GB/s");
    fputs("</dl>\n", out);
}

/* "2026-11-15T12:34:56Z" as people write it; anything else as it is. */
static void put_date(FILE *out, const char *date) {
    fputs(" · <time datetime=\"", out);
    html_text(out, date);
    fputs("\">", out);
    const size_t length = strlen(date);
    if (length == 20 && date[10] == 'T' && date[19] == 'Z')
        html_format(out, "%.10s %.5s UTC", date, date + 11);
    else
        html_text(out, date);
    fputs("</time>", out);
}

void report_meta(FILE *out, const report_source *source) {
    const cJSON *settings = report_item(source->json, "settings");
    const char *dtype = report_text(settings ? settings : source->json, "dtype");
    const char *mode = report_text(source->json, "mode");
    const char *version = report_text(source->json, "version");
    const char *date = report_text(source->json, "date");
    fputs("<p class=\"meta\">from <code>", out);
    html_text(out, source->path);
    fputs("</code>", out);
    if (date)
        put_date(out, date);
    if (version)
        html_format(out, " · upconv %s", version);
    if (dtype)
        html_format(out, " · %s", dtype);
    if (mode)
        html_format(out, " · %s mode", mode);
    if (report_number(settings, "batch") > 0)
        html_format(out, " · batch %.0f", report_number(settings, "batch"));
    if (report_number(settings, "threads") > 0)
        html_format(out, " · %.0f thread%s", report_number(settings, "threads"),
                    report_number(settings, "threads") == 1 ? "" : "s");
    fputs("</p>\n", out);
}

/* ---- A run of bench ------------------------------------------------------------------------- */

static const char *name_of(const cJSON *result) {
    const char *slug = report_text(result, "operator");
    return slug ? slug : report_text(result, "chain");
}

/* The fastest peer; those that do the whole operator come before those that do a part. */
static const bar *best_peer(const bar *bars, size_t count) {
    const bar *best = NULL;
    for (size_t i = 0; i < count; i++) {
        if (bars[i].kind != BAR_WHOLE && bars[i].kind != BAR_BARE)
            continue;
        const bool other = best && best->kind != bars[i].kind;
        if (!best || (other ? bars[i].kind == BAR_WHOLE : bars[i].ms < best->ms))
            best = &bars[i];
    }
    return best;
}

/* Geometric means over the results: of the share of the peak, and of the best peer's time. */
static void put_figures(FILE *out, const cJSON *first) {
    double peak = 0, over_limit = 0, speedup = 0;
    size_t total = 0, peaks = 0, limits = 0, peers = 0;
    for (const cJSON *result = first; result; result = result->next) {
        total++;
        const double ms = report_number(result, "min_ms");
        const double percent = report_number(result, "peak_percent");
        const double limit = report_number(result, "limit_ms");
        if (percent > 0)
            peak += (peaks++, log(percent));
        if (limit > 0)
            over_limit += (limits++, log(ms / limit));
        size_t count;
        bar *bars = chart_bench_bars(result, &count);
        const bar *best = bars ? best_peer(bars, count) : NULL;
        if (best && best->kind == BAR_WHOLE)
            speedup += (peers++, log(best->ms / ms));
        free(bars);
    }
    char text[NUMBER_BYTES];
    fputs("<dl class=\"figures\">\n", out);
    snprintf(text, sizeof text, "%zu", total);
    fact(out, total == 1 ? "operator measured" : "operators measured", text);
    if (peaks) {
        fact(out, "of the arithmetic peak, on average",
             number_percent(text, exp(peak / (double)peaks)));
    }
    if (limits)
        fact(out, "the time of direct arithmetic’s limit, on average",
             number_ratio(text, exp(over_limit / (double)limits)));
    if (peers)
        fact(out, "as fast as the best other library",
             number_ratio(text, exp(speedup / (double)peers)));
    fputs("</dl>\n", out);
}

static void put_card(FILE *out, const cJSON *result, report_counts *counts) {
    size_t count;
    bar *bars = chart_bench_bars(result, &count);
    if (!bars)
        return;
    const char *slug = report_text(result, "operator"), *chain = report_text(result, "chain");
    const char *dtype = report_text(result, "dtype");
    char text[NUMBER_BYTES];
    fputs("<article class=\"card\"><h3 class=\"slug\">", out);
    html_text(out, name_of(result));
    fputs("</h3>\n<p class=\"small soft\">", out);
    if (report_number(result, "flops") > 0)
        fputs(number_flop(text, report_number(result, "flops")), out);
    if (dtype)
        html_format(out, " · %s", dtype);
    if (report_number(result, "gflops") > 0)
        fprintf(out, " · %s\u202fGFLOP/s", number_plain(text, report_number(result, "gflops")));
    if (report_number(result, "peak_percent") > 0)
        fprintf(out, " · %s of the peak",
                number_percent(text, report_number(result, "peak_percent")));
    fputs("</p>\n", out);
    chart_put(out, name_of(result), bars, count, counts);
    if (slug && chain) {
        fputs("<p class=\"small soft\"><code>", out);
        html_text(out, chain);
        fputs("</code></p>\n", out);
    }
    fputs("</article>\n", out);
    free(bars);
}

/* A cell with a number, or a dash where it is not known. */
static void cell(FILE *out, double value, const char *text) {
    fputs("<td class=\"number\">", out);
    if (value < 0)
        fputs("<span class=\"unknown\">–</span>", out);
    else
        fputs(text, out);
    fputs("</td>", out);
}

enum { COLUMNS = 7 };

/* One row per bar: ours with all there is to say, the others with their times. */
static void put_rows(FILE *out, const cJSON *result) {
    size_t count;
    bar *bars = chart_bench_bars(result, &count);
    const double ours = report_number(result, "min_ms");
    fprintf(
        out,
        "<tbody><tr class=\"group\"><th scope=\"rowgroup\" colspan=\"%d\"><span class=\"slug\">",
        COLUMNS);
    html_text(out, name_of(result));
    fputs("</span></th></tr>\n", out);
    for (size_t i = 0; bars && i < count; i++) {
        const bool main = bars[i].kind == BAR_OURS;
        char text[NUMBER_BYTES];
        fprintf(out, "<tr%s>", main ? " class=\"main\"" : "");
        fputs("<td>", out);
        html_text(out, bars[i].name);
        fputs(bars[i].kind == BAR_BARE ? " <span class=\"soft\">(convolution alone)</span></td>"
                                       : "</td>",
              out);
        cell(out, bars[i].ms, number_ms(text, bars[i].ms));
        cell(out, bars[i].median_ms, number_ms(text, bars[i].median_ms));
        cell(out, ours, number_ratio(text, bars[i].ms / ours));
        const double gflops = main ? report_number(result, "gflops") : -1;
        const double peak = main ? report_number(result, "peak_percent") : -1;
        const double bandwidth = main ? report_number(result, "bandwidth_percent") : -1;
        cell(out, gflops, number_plain(text, gflops));
        cell(out, peak, number_percent(text, peak));
        cell(out, bandwidth, number_percent(text, bandwidth));
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n", out);
    free(bars);
}

void report_bench(FILE *out, const report_source *source, report_counts *counts) {
    const cJSON *first = report_first(source->json, "results");
    fputs("<h2>Benchmark</h2>\n", out);
    report_meta(out, source);
    put_figures(out, first);
    fputs("<div class=\"cards\">\n", out);
    for (const cJSON *result = first; result; result = result->next)
        put_card(out, result, counts);
    fputs(
        "</div>\n<h4>All numbers</h4>\n"
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of times\">"
        "<table><thead><tr><th scope=\"col\">by</th>"
        "<th scope=\"col\" class=\"number\">best</th><th scope=\"col\" class=\"number\">median</th>"
        "<th scope=\"col\" class=\"number\">upconv = 1</th>"
        "<th scope=\"col\" class=\"number\">GFLOP/s</th>"
        "<th scope=\"col\" class=\"number\">of peak</th>"
        "<th scope=\"col\" class=\"number\">of bandwidth</th></tr></thead>\n",
        out);
    for (const cJSON *result = first; result; result = result->next)
        put_rows(out, result);
    fputs("</table></div>\n", out);
    report_machine(out, report_item(source->json, "machine"));
}
