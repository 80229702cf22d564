# Stack accesses of vectors inside the innermost loops that multiply and add, in a disassembly by objdump -d
# --no-show-raw-insn.
# Read by spills.sh, which sets `wanted`, a pattern for the functions' names. For each of those
# functions prints: name, its loops with multiply-adds, multiply-adds in them, stack accesses in them.
# A loop is what a jump back encloses; it is an innermost one if no other jump back lies inside it.

function report(    i, j, k, inner, loops, fmas, spills) {
    if (name == "" || !count)
        return
    for (i = 1; i <= count; i++) {
        if (!(i in target) || !(target[i] in at) || at[target[i]] > i)
            continue
        inner = 1
        for (j = at[target[i]]; j < i; j++)
            if ((j in target) && (target[j] in at) && at[target[j]] <= j && at[target[j]] >= at[target[i]])
                inner = 0
        if (!inner)
            continue
        k = 0
        for (j = at[target[i]]; j <= i; j++)
            k += text[j] ~ /^vfn?m(add|sub)/
        if (!k)
            continue
        loops++
        fmas += k
        for (j = at[target[i]]; j <= i; j++)
            # Of vectors: a counter on the stack waits for nothing. %rbp is the frame's only where it
            # was set from %rsp.
            spills += text[j] ~ /mm[0-9]/ &&
                (text[j] ~ /\(%rsp/ || (has_frame && text[j] ~ /\(%rbp/))
    }
    print name, loops + 0, fmas + 0, spills + 0
}

# 0000000000001230 <conv_6x2_f32>:
/^[0-9a-f]+ <.*>:$/ {
    report()
    name = substr($2, 2, length($2) - 3)
    if (name !~ wanted)
        name = ""
    count = has_frame = 0
    delete target
    delete at
    delete text
    next
}

#     1234:	vaddps %ymm1,%ymm0,%ymm0
name != "" && /^ *[0-9a-f]+:\t/ {
    split($0, part, "\t")
    sub(/^ */, "", part[1])
    sub(/:.*/, "", part[1])
    count++
    at[part[1]] = count
    text[count] = part[2]
    if (part[2] ~ /^mov +%rsp,%rbp/)
        has_frame = 1
    if (part[2] ~ /^j[a-z]+ +[0-9a-f]+ </) {
        split(part[2], word, / +/)
        target[count] = word[2]
    }
}

END { report() }
