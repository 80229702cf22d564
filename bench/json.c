/* The results as one JSON object.
 * Called by bench.c at the end, for --json FILE. */
#include <math.h>
#include <time.h>

#include "results.h"

/* JSON has no infinity: what was not measured is null. */
static void number(FILE *file, const char *name, double value, const char *after) {
    if (isfinite(value))
        fprintf(file, "\"%s\": %.6g%s", name, value, after);
    else
        fprintf(file, "\"%s\": null%s", name, after);
}

static void write_operator(const results *r, size_t op, FILE *file) {
    const subject *s = &r->ours[op][UC_F32];
    const bars bar = bars_of(s->slug);
    fprintf(file, "    {\"operator\": \"%s\",\n     ", s->slug);
    number(file, "flops", s->flops, ", ");
    number(file, "call_ms", s->one_shot * 1e3, ", ");
    number(file, "plan_execute_ms", s->execute * 1e3, ", ");
    number(file, "plan_create_ms", s->create * 1e3, ",\n     ");
    number(file, "gflops", gflops(s, s->one_shot), ", ");
    number(file, "fraction_of_peak", fraction_of_peak(r, op), ", ");
    number(file, "bar_fraction_of_peak", bar.peak, ",\n     ");
    number(file, "bare_ratio", isfinite(bare_seconds(r, op)) ? bare_ratio(r, op) : NAN, ", ");
    number(file, "bar_bare_ratio", bar.bare_ratio, ",\n     ");
    for (size_t dtype = UC_F64; dtype < DTYPES; dtype++) {
        char name[16];
        snprintf(name, sizeof name, "%s_call_ms", uc_dtype_name((uc_dtype)dtype));
        number(file, name, r->ours[op][dtype].one_shot * 1e3, ", ");
    }
    fprintf(file, "\n     \"peers\": {");
    for (size_t i = 0; i < r->peer_count; i++)
        number(file, r->peers[i].name, r->peer_seconds[i][op] * 1e3,
               i + 1 < r->peer_count ? ", " : "");
    fprintf(file, "}}");
}

bool write_json(const results *r, const char *path) {
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    char date[32];
    const time_t today = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&today));
    fprintf(file, "{\n  \"version\": \"%s\", \"date\": \"%s\", \"cpu\": \"%s\", \"isa\": \"%s\",\n",
            uc_version(), date, machine_cpu(), machine_isa());
    fprintf(file, "  \"threads\": %zu, \"batch\": %zu, \"repetitions\": %zu,\n  ", r->threads,
            r->batch, r->repetitions);
    number(file, "peak_f32_gflops", r->machine.gflops_f32, ", ");
    number(file, "peak_f64_gflops", r->machine.gflops_f64, ",\n  ");
    number(file, "read_gbs", r->machine.read_gbs, ", ");
    number(file, "write_gbs", r->machine.write_gbs, ", ");
    number(file, "nt_write_gbs", r->machine.nt_write_gbs, ",\n  \"bare_peers\": [");
    const char *comma = "";
    for (size_t i = 0; i < r->peer_count; i++)
        if (r->peers[i].bare) {
            fprintf(file, "%s\"%s\"", comma, r->peers[i].name);
            comma = ", ";
        }
    fprintf(file, "],\n  \"operators\": [\n");
    comma = "";
    for (size_t op = 0; op < OPERATORS; op++)
        if (measured(r, op)) {
            fprintf(file, "%s", comma);
            write_operator(r, op, file);
            comma = ",\n";
        }
    fprintf(file, "\n  ]\n}\n");
    return fclose(file) == 0;
}
