/* upconv report: one web page, complete in itself, of what bench and judge have found.
 * Called by main.c. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "newfile.h"
#include "report.h"

static const char help[] =
    "Usage: upconv report FILE.json... [-o FILE.html] [--title TEXT] [--json]\n\n"
    "Makes one web page of the results that 'upconv bench --json' and 'upconv judge --json' "
    "print:\n"
    "bar charts of the times beside other libraries and the limit, tables, the machine.\n"
    "The page needs no network and no script, and suits phones, keyboards and dark screens.\n\n"
    "  -o, --output FILE  the page (default report.html; '-' is standard output)\n"
    "  --title TEXT       the page's heading\n"
    "  --json             print what was drawn as a JSON object\n"
    "  --help             show this\n\n"
    "Example: upconv bench --peers --json > bench.json && upconv report bench.json -o "
    "report.html\n";

typedef struct settings {
    const char *output, *title;
    bool json;
} settings;

/* Which kinds of bars the page has, for its legend. */
static bool find_kinds(const report_source *sources, size_t count, bool kinds[BAR_KINDS]) {
    for (size_t i = 0; i < count; i++) {
        const cJSON *each =
            sources[i].judge ? sources[i].json : report_first(sources[i].json, "results");
        for (; each; each = sources[i].judge ? NULL : each->next) {
            size_t bar_count;
            bar *bars = sources[i].judge ? chart_judge_bars(each, &bar_count)
                                         : chart_bench_bars(each, &bar_count);
            if (!bars)
                return false;
            for (size_t b = 0; b < bar_count; b++)
                kinds[bars[b].kind] = true;
            free(bars);
        }
    }
    return true;
}

static const char *default_title(const report_source *sources, size_t count) {
    size_t judged = 0;
    for (size_t i = 0; i < count; i++)
        judged += sources[i].judge;
    return !judged           ? "Fused transposed convolution, measured"
           : judged == count ? "Fused transposed convolution, judged"
                             : "Fused transposed convolution, measured and judged";
}

static void put_head(FILE *out, const char *title) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; img-src data:\">\n<meta name=\"generator\" content=\"",
          out);
    html_format(out, "upconv %s", uc_version());
    fputs("\">\n<link rel=\"icon\" href=\"data:,\">\n<title>", out);
    html_text(out, title);
    fputs("</title>\n<style>\n", out);
    fwrite(report_files[0].text, 1, report_files[0].bytes, out);
    fputs(
        "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#results\">Skip to the results</a>\n",
        out);
    chart_patterns(out);
}

/* Links to the sections, where there is more than one. */
static void put_contents(FILE *out, const report_source *sources, size_t count) {
    if (count < 2)
        return;
    fputs("<nav aria-label=\"Files\"><ul>\n", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "<li><a href=\"#file-%zu\">", i + 1);
        html_text(out, sources[i].path);
        fputs("</a></li>\n", out);
    }
    fputs("</ul></nav>\n", out);
}

static void put_page(FILE *out, const report_source *sources, size_t count,
                     const bool kinds[BAR_KINDS], const char *title, report_counts *counts) {
    put_head(out, title);
    fputs("<div class=\"page\">\n<header>\n<p class=\"mark\">upconv</p>\n<h1>", out);
    html_text(out, title);
    fputs("</h1>\n", out);
    bool any = false;
    for (size_t i = 0; i < BAR_KINDS; i++)
        any = any || kinds[i];
    if (any)
        fputs("<p class=\"soft\">Shorter bars are faster. A bar is the best of many "
              "repetitions; a whisker at its end leads to their median.</p>\n",
              out);
    put_contents(out, sources, count);
    if (any)
        chart_legend(out, kinds);
    fputs("</header>\n<main id=\"results\" tabindex=\"-1\">\n", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "<section id=\"file-%zu\">\n", i + 1);
        (sources[i].judge ? report_judge : report_bench)(out, &sources[i], counts);
        fputs("</section>\n", out);
    }
    fputs("</main>\n<footer>Made by ", out);
    html_format(out, "upconv %s", uc_version());
    fputs(". GFLOP counts the multiply-adds that touch real data and reach the output, twice. The "
          "limit of direct arithmetic is this work at the measured peak, or its memory traffic at "
          "the measured bandwidth, whichever takes longer; only an algorithm with fewer "
          "multiplications, as Winograd’s, can be faster. A judge’s physical limit leaves room for "
          "those that need an eighth of the operations."
          "</footer>\n</div>\n</body>\n</html>\n",
          out);
}

/* False: nobody takes the output. */
static bool tell(const settings *with, size_t files, const report_counts *counts) {
    if (with->json) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "output", with->output);
        cJSON_AddNumberToObject(object, "files", (double)files);
        cJSON_AddNumberToObject(object, "charts", (double)counts->charts);
        cJSON_AddNumberToObject(object, "bars", (double)counts->bars);
        return json_print(object);
    }
    if (strcmp(with->output, "-") != 0)
        printf("%s: %zu chart%s with %zu bars from %zu file%s\n", with->output, counts->charts,
               counts->charts == 1 ? "" : "s", counts->bars, files, files == 1 ? "" : "s");
    return fflush(stdout) == 0;
}

static int make_page(char **paths, size_t count, const settings *with) {
    report_source *sources = calloc(count, sizeof *sources);
    bool kinds[BAR_KINDS] = {false};
    int code = EXIT_USAGE;
    size_t read = 0;
    while (sources && read < count && report_read(paths[read], &sources[read]))
        read++;
    newfile page;
    if (!sources || (read == count && !find_kinds(sources, count, kinds))) {
        fputs("upconv: out of memory\n", stderr);
    } else if (read == count && !newfile_open(&page, with->output)) {
        fprintf(stderr, "upconv: %s: %s\n", with->output, strerror(errno));
    } else if (read == count) {
        report_counts counts = {0, 0};
        put_page(page.stream, sources, count, kinds,
                 with->title ? with->title : default_title(sources, count), &counts);
        if (newfile_commit(&page)) {
            code = tell(with, count, &counts) ? EXIT_GOOD : EXIT_USAGE;
        } else {
            fprintf(stderr, "upconv: %s: %s\n", with->output, strerror(errno));
        }
    }
    for (size_t i = 0; i < read; i++)
        cJSON_Delete(sources[i].json);
    free(sources);
    return code;
}

int cli_report(int argc, char **argv) {
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"title", required_argument, NULL, 't'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    settings with = {.output = "report.html"};
    for (int option; (option = cli_option("report", argc, argv, options)) != -1;)
        switch (option) {
        case 'o':
            with.output = optarg;
            break;
        case 't':
            with.title = optarg;
            break;
        case 'j':
            with.json = true;
            break;
        case 'h':
            fputs(help, stdout);
            return EXIT_GOOD;
        default:
            return EXIT_USAGE;
        }
    if (optind == argc)
        return cli_usage("report", "which results? Name files that 'upconv bench --json' or "
                                   "'upconv judge --json' have printed");
    if (!*with.output)
        return cli_usage("report", "--output needs a file name");
    if (with.json && !strcmp(with.output, "-"))
        return cli_usage("report", "--json and '-o -' both want standard output");
    return make_page(argv + optind, (size_t)(argc - optind), &with);
}
