/* Words and numbers in text, the same in every locale.
 * Used by chain_text.c to read and write a chain's text form. */
#ifndef UC_TEXT_H
#define UC_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A word of some text; length 0 where there was none. */
typedef struct uc_word {
    const char *at;
    size_t length;
} uc_word;

/* The next word at *text: up to white space, a comma or the end, and a comma is a word by itself.
 * Moves *text behind it. */
uc_word uc_text_next(const char **text);

bool uc_word_is(uc_word word, const char *expected);

/* The whole word as a number; false where it is not one. Reals may be decimal, hexadecimal, inf or
 * nan. */
bool uc_word_to_size(uc_word word, size_t *value);
bool uc_word_to_real(uc_word word, double *value);

/* A word that starts like a name: a letter or underscore, then letters, digits, underscores. */
bool uc_word_is_name(uc_word word);

/* The shortest decimal that reads back as the same double. */
#define UC_REAL_BYTES 32
void uc_text_from_real(double value, char text[UC_REAL_BYTES]);

#endif
