/* UTF-8: is it text, and how many columns does it take.
 * Called by problem.c, which reads other people's text, and by page.c, which lays text out. */
#include "utf8.h"

#include <stdbool.h>
#include <stdint.h>

/* The length of the sequence at text, or 0 if there is no right one. */
static size_t sequence(const unsigned char *text, size_t bytes, uint32_t *point) {
    const unsigned char first = text[0];
    const size_t length = first < 0x80   ? 1
                          : first < 0xC2 ? 0
                          : first < 0xE0 ? 2
                          : first < 0xF0 ? 3
                          : first < 0xF5 ? 4
                                         : 0;
    if (!length || length > bytes)
        return 0;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    *point = length == 1 ? first : first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        *point = *point << 6 | (text[i] & 0x3F);
    }
    const bool surrogate = *point >= 0xD800 && *point <= 0xDFFF;
    return *point < smallest[length] || *point > 0x10FFFF || surrogate ? 0 : length;
}

size_t utf8_first_bad(const char *text, size_t bytes, const char **what) {
    const unsigned char *at = (const unsigned char *)text;
    *what = NULL;
    for (size_t i = 0; i < bytes;) {
        uint32_t point = 0;
        const size_t length = sequence(at + i, bytes - i, &point);
        if (!length)
            *what = "bytes that are not UTF-8";
        else if (!point)
            *what = "a NUL byte";
        else if ((point < 0x20 && point != '\t' && point != '\n' && point != '\r') ||
                 (point >= 0x7F && point < 0xA0))
            *what = "a control character";
        if (*what)
            return i;
        i += length;
    }
    return bytes;
}

size_t utf8_columns(const char *text, size_t bytes) {
    size_t columns = 0;
    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xC0) != 0x80;
    return columns;
}
