/* Words and numbers for the report's page.
 * Called by the parts of the report. */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/* One character, harmless inside of text and of quoted attributes. */
static void put(FILE *out, const char *at, size_t bytes) {
    switch (bytes == 1 ? *at : 0) {
    case '&':
        fputs("&amp;", out);
        break;
    case '<':
        fputs("&lt;", out);
        break;
    case '>':
        fputs("&gt;", out);
        break;
    case '"':
        fputs("&quot;", out);
        break;
    case '\'':
        fputs("&#39;", out);
        break;
    default:
        fwrite(at, 1, bytes, out);
    }
}

void html_short_text(FILE *out, const char *text, size_t most_characters) {
    const size_t bytes = strlen(text);
    const bool shorten = utf8_columns(text, bytes) > most_characters;
    size_t characters = 0;
    for (size_t i = 0; i < bytes && !(shorten && characters + 1 >= most_characters); characters++) {
        size_t length = 1;
        while (i + length < bytes && ((unsigned char)text[i + length] & 0xC0) == 0x80)
            length++;
        const char *bad;
        utf8_first_bad(text + i, length, &bad);
        if (bad)
            fputs("\xEF\xBF\xBD", out); /* the character for what is none */
        else
            put(out, text + i, length);
        i += length;
    }
    if (shorten)
        fputs("…", out);
}

void html_text(FILE *out, const char *text) {
    html_short_text(out, text, (size_t)-1);
}

void html_format(FILE *out, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (text) {
        vsnprintf(text, (size_t)length + 1, format, again);
        html_text(out, text);
    }
    va_end(again);
    free(text);
}

/* Three digits, or all those before the point, and the unit behind a narrow space that does not
 * break. */
static const char *number(char text[NUMBER_BYTES], double value, const char *unit) {
    const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    if (value < 1e9)
        snprintf(text, NUMBER_BYTES, "%.*f%s", digits, value, unit);
    else
        snprintf(text, NUMBER_BYTES, "%.2e%s", value, unit);
    return text;
}

const char *number_ms(char text[NUMBER_BYTES], double ms) {
    return ms >= 1e4      ? number(text, ms * 1e-3, "\u202fs")
           : ms >= 0.0995 ? number(text, ms, "\u202fms")
                          : number(text, ms * 1e3, "\u202fµs");
}

const char *number_ratio(char text[NUMBER_BYTES], double ratio) {
    return number(text, ratio, "×");
}

const char *number_percent(char text[NUMBER_BYTES], double percent) {
    snprintf(text, NUMBER_BYTES, "%.*f\u202f%%", percent < 9.95 ? 1 : 0, percent);
    return text;
}

const char *number_plain(char text[NUMBER_BYTES], double value) {
    return number(text, value, "");
}

const char *number_flop(char text[NUMBER_BYTES], double flop) {
    return flop >= 1e9 ? number(text, flop * 1e-9, "\u202fGFLOP")
                       : number(text, flop * 1e-6, "\u202fMFLOP");
}

const char *number_bytes(char text[NUMBER_BYTES], double bytes) {
    return bytes >= 1 << 20   ? number(text, bytes / (1 << 20), "\u202fMiB")
           : bytes >= 1 << 10 ? number(text, bytes / (1 << 10), "\u202fKiB")
                              : number(text, bytes, "\u202fbytes");
}
