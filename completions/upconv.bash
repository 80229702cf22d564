# Completion of upconv for bash: subcommands, options and their values, operators, files.
# Installed where bash-completion looks for it; "source" it to have it without.

# The words that a subcommand takes behind its name, besides files.
_upconv_options() {
    case $1 in
    list) echo --chains --json ;;
    show) echo --signature --problem --dtype --json ;;
    init) echo --dtype --force --json ;;
    run)
        echo --input --kernel --conv_bias --add_bias --scale --output --stride --stride_d \
            --stride_h --stride_w --padding --padding_d --padding_h --padding_w --output_padding \
            --output_padding_d --output_padding_h --output_padding_w --pool_kernel --clamp_min \
            --clamp_max --sum_weight --scaling_factor --dtype --reference --threads --isa \
            --algorithm --accuracy --json
        ;;
    check)
        echo --count --full --case --shape --family --seed --dtype --threads --isa \
            --algorithm --accuracy --json
        ;;
    judge)
        echo --quick --mode --dtype --symbol --cflags --case --seed --list --problem --batch \
            --time-limit --default-time-limit --timing --memory-limit --threads --isa \
            --algorithm --accuracy --json
        ;;
    bench)
        echo --batch --shape --dtype --threads --isa --algorithm --accuracy --repetitions \
            --check --save --output --against --tolerance --peers --peer --json
        ;;
    plan) echo --shape --batch --dtype --threads --isa --algorithm --accuracy --json ;;
    cpu) echo --threads --json ;;
    report) echo --output --title --json ;;
    esac
    echo --help
}

# Files that end in one of the given letters, and folders to look for them in.
_upconv_files() {
    local ending word
    compopt -o filenames 2>/dev/null
    for ending in "$@"; do
        while IFS= read -r word; do
            COMPREPLY+=("$word")
        done < <(compgen -f -X "!*.$ending" -- "$cur")
    done
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <(compgen -d -- "$cur")
}

_upconv_words() {
    local word
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <(compgen -W "$1" -- "$cur")
}

_upconv_slugs() {
    _upconv_words "$("${COMP_WORDS[0]}" list 2>/dev/null | cut -d ' ' -f 1)"
}

# Completes the value of an option; false if the option takes none.
_upconv_value() {
    case $1:$2 in
    *:--dtype) _upconv_words "f32 f64 f16 bf16" ;;
    *:--isa) _upconv_words "auto portable avx2 avx512" ;;
    *:--algorithm) _upconv_words "auto direct winograd" ;;
    *:--accuracy) _upconv_words "strict x3 bf16" ;;
    judge:--mode) _upconv_words "strict site" ;;
    judge:--problem) _upconv_files md ;;
    run:--input | run:--kernel | run:--conv_bias | run:--add_bias | run:--scale) _upconv_files npy ;;
    run:--output | run:-o) _upconv_files npy ;;
    report:--output | report:-o) _upconv_files html ;;
    bench:--against | bench:--save | bench:--output | bench:-o) _upconv_files json ;;
    # Numbers and words that nobody can guess.
    *:--threads | *:--batch | *:--shape | *:--seed | *:--count | *:--repetitions) ;;
    *:--tolerance | *:--symbol | *:--title | *:--peer | *:--case | *:--family) ;;
    *:--cflags | *:--timing | *:--*-limit) ;;
    run:--stride* | run:--padding* | run:--output_padding* | run:--pool_kernel) ;;
    run:--clamp_* | run:--sum_weight | run:--scaling_factor) ;;
    *) return 1 ;;
    esac
    return 0
}

# How many arguments that are neither options nor their values come before the one at the cursor.
_upconv_arguments() {
    local i count=0
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -* ]]; then
            [[ ${COMP_WORDS[i + 1]} != = ]] && _upconv_value "$1" "${COMP_WORDS[i]}" && i=$((i + 1))
        elif [[ ${COMP_WORDS[i]} == = ]]; then
            i=$((i + 1))
        else
            count=$((count + 1))
        fi
    done
    COMPREPLY=()
    return $count
}

_upconv() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    # --option=value comes as three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if ((COMP_CWORD == 1)); then
        _upconv_words "list show init run check judge bench plan cpu report --help --version"
        return
    fi
    local subcommand=${COMP_WORDS[1]}
    _upconv_value "$subcommand" "$prev" && return
    if [[ $cur == -* ]]; then
        _upconv_words "$(_upconv_options "$subcommand")"
        return
    fi
    local first=
    _upconv_arguments "$subcommand" && first=yes
    case $subcommand in
    show)
        _upconv_slugs
        _upconv_files md
        ;;
    init) if [[ $first ]]; then _upconv_slugs; else _upconv_files; fi ;;
    judge) if [[ $first && " ${COMP_WORDS[*]} " != *" --problem"* ]]; then _upconv_slugs; else _upconv_files c so; fi ;;
    check)
        _upconv_slugs
        _upconv_words all
        ;;
    run | bench | plan) _upconv_slugs ;;
    report) _upconv_files json ;;
    esac
}

complete -F _upconv upconv
