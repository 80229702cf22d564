/* UTF-8: is it text, and how many columns does it take.
 * Included by what reads other people's text and by what lays text out. */
#ifndef UC_CLI_UTF8_H
#define UC_CLI_UTF8_H

#include <stddef.h>

/* Where the first thing lies that is not plain text (a NUL or another control character but tab,
 * line feed and carriage return, or a sequence that is not UTF-8), and what to call it; bytes, with
 * *what NULL, if there is none. */
size_t utf8_first_bad(const char *text, size_t bytes, const char **what);

/* Columns of a text on a terminal: one for each character. */
size_t utf8_columns(const char *text, size_t bytes);

#endif
