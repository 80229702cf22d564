/* Pages of text for a terminal: headings, paragraphs, lists and code, wrapped to its width.
 * Included by show. */
#ifndef UC_CLI_PAGE_H
#define UC_CLI_PAGE_H

#include <stddef.h>
#include <stdio.h>

/* Columns to fill: the terminal's (or COLUMNS, where it is set), within reason; 80 elsewhere. */
size_t page_width(FILE *stream);

/* A heading, with an empty line before it. */
void page_heading(FILE *stream, const char *text);

/* One paragraph, wrapped; the first line begins with `first`, the others with as many spaces. */
void page_paragraph(FILE *stream, const char *first, const char *text, size_t bytes);

/* Markdown as a problem file has it: headings, paragraphs, lists, code and tables. */
void page_markdown(FILE *stream, const char *text);

#endif
