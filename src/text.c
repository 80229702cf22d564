/* Words and numbers in text, the same in every locale.
 * Called by chain_text.c. */
#define _POSIX_C_SOURCE 200809L
#include "text.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* isspace() follows the locale. */
static bool is_space(char letter) {
    return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

uc_word uc_text_next(const char **text) {
    const char *at = *text;
    while (is_space(*at))
        at++;
    uc_word word = {.at = at};
    if (*at == ',')
        at++;
    else
        while (*at && *at != ',' && !is_space(*at))
            at++;
    word.length = (size_t)(at - word.at);
    *text = at;
    return word;
}

bool uc_word_is(uc_word word, const char *expected) {
    return strlen(expected) == word.length && !memcmp(word.at, expected, word.length);
}

bool uc_word_to_size(uc_word word, size_t *value) {
    size_t total = 0;
    for (size_t i = 0; i < word.length; i++) {
        const unsigned digit = (unsigned)((unsigned char)word.at[i] - '0');
        if (digit > 9 || total > (SIZE_MAX - digit) / 10)
            return false;
        total = total * 10 + digit;
    }
    *value = total;
    return word.length > 0;
}

bool uc_word_is_name(uc_word word) {
    for (size_t i = 0; i < word.length; i++) {
        const unsigned char letter = (unsigned char)word.at[i];
        const bool digit = letter >= '0' && letter <= '9';
        const bool alphabetic = (letter | 0x20) >= 'a' && (letter | 0x20) <= 'z';
        if (!(alphabetic || letter == '_' || (digit && i)))
            return false;
    }
    return word.length > 0;
}

/* strtod and printf follow the thread's locale, where 0.5 may be "0,5": use C's meanwhile. */
static locale_t enter_c_locale(locale_t *c) {
    *c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return *c ? uselocale(*c) : (locale_t)0;
}

static void leave_c_locale(locale_t c, locale_t before) {
    if (!c)
        return;
    uselocale(before);
    freelocale(c);
}

bool uc_word_to_real(uc_word word, double *value) {
    char copy[64], *end = copy;
    if (!word.length || word.length >= sizeof copy)
        return false;
    memcpy(copy, word.at, word.length);
    copy[word.length] = 0;
    if (strchr(copy, '(')) /* nan(...) carries bits that printing would lose */
        return false;
    locale_t c;
    const locale_t before = enter_c_locale(&c);
    *value = strtod(copy, &end);
    leave_c_locale(c, before);
    return end == copy + word.length;
}

void uc_text_from_real(double value, char text[UC_REAL_BYTES]) {
    if (value != value) {
        snprintf(text, UC_REAL_BYTES, "nan");
        return;
    }
    locale_t c;
    const locale_t before = enter_c_locale(&c);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, UC_REAL_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    leave_c_locale(c, before);
}
