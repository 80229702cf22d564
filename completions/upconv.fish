# Completion of upconv for fish: subcommands, options and their values, operators, files.

function __upconv_slugs
    upconv list 2>/dev/null | string replace -r '^(\S+)\s+' '$1\t'
end

# upconv_option SUBCOMMANDS OPTION DESCRIPTION [ARGUMENTS OF complete...]
function __upconv_option
    complete -c upconv -n "__fish_seen_subcommand_from $argv[1]" -l $argv[2] -d $argv[3] $argv[4..]
end

complete -c upconv -f
complete -c upconv -n __fish_use_subcommand -l help -d 'Show the subcommands'
complete -c upconv -n __fish_use_subcommand -l version -d 'Show the version'
complete -c upconv -n __fish_use_subcommand -a list -d 'List the operators'
complete -c upconv -n __fish_use_subcommand -a show -d 'Show a problem'
complete -c upconv -n __fish_use_subcommand -a init -d 'Write a starter'
complete -c upconv -n __fish_use_subcommand -a run -d 'Run on your own .npy files'
complete -c upconv -n __fish_use_subcommand -a check -d 'Check our implementation against the oracle'
complete -c upconv -n __fish_use_subcommand -a judge -d 'Judge your own implementation'
complete -c upconv -n __fish_use_subcommand -a bench -d 'Measure speed'
complete -c upconv -n __fish_use_subcommand -a plan -d 'Tell what would run, and why'
complete -c upconv -n __fish_use_subcommand -a cpu -d 'Show and measure this machine'
complete -c upconv -n __fish_use_subcommand -a report -d 'Make a web page of results'

# Operators and files
complete -c upconv -n '__fish_seen_subcommand_from show init run check judge bench plan' -a '(__upconv_slugs)'
complete -c upconv -n '__fish_seen_subcommand_from check' -a all -d 'All operators'
complete -c upconv -n '__fish_seen_subcommand_from show' -a '(__fish_complete_suffix .md)'
complete -c upconv -n '__fish_seen_subcommand_from init' -a '(__fish_complete_directories)'
complete -c upconv -n '__fish_seen_subcommand_from judge' -a '(__fish_complete_suffix .c; __fish_complete_suffix .so)'
complete -c upconv -n '__fish_seen_subcommand_from report' -a '(__fish_complete_suffix .json)'

# Options of many
set -l all list show init run check judge bench plan cpu report
__upconv_option "$all" help 'Show its help'
__upconv_option "$all" json 'Print JSON'
__upconv_option 'show init run check judge bench plan' dtype 'Element type' -x -a 'f32 f64 f16 bf16'
__upconv_option 'run check judge bench plan cpu' threads 'At most this many threads' -x
__upconv_option 'run check judge bench plan' isa 'Instruction set' -x -a 'auto portable avx2 avx512'
__upconv_option 'run check judge bench plan' algorithm 'Of the convolution' -x -a 'auto direct winograd'
__upconv_option 'run check judge bench plan' accuracy 'Of the convolution' -x -a 'strict x3 bf16'
__upconv_option 'check bench plan' shape 'Another shape' -x
__upconv_option 'judge bench plan' batch 'Batch size' -x
__upconv_option 'check judge' seed 'The numbers of another run' -x
__upconv_option 'check judge' case 'Only the test of this name' -x

# Options of one
__upconv_option list chains 'Print chains instead'
__upconv_option show signature 'Print the C prototype'
__upconv_option show problem 'Print the problem file'
__upconv_option init force 'Replace files that are there'
for tensor in input kernel conv_bias add_bias scale
    __upconv_option run $tensor 'A .npy file' -x -a '(__fish_complete_suffix .npy)'
end
__upconv_option run output 'The .npy file to write' -s o -x -a '(__fish_complete_suffix .npy)'
for size in stride padding output_padding
    for dimension in '' _d _h _w
        __upconv_option run $size$dimension 'Of the convolution' -x
    end
end
__upconv_option run pool_kernel 'Window of the pool' -x
__upconv_option run clamp_min 'Lower bound' -x
__upconv_option run clamp_max 'Upper bound' -x
__upconv_option run sum_weight 'What is added' -x
__upconv_option run scaling_factor 'What is multiplied by' -x
__upconv_option run reference 'Compute with the oracle'
__upconv_option check count 'Random shapes' -x
__upconv_option check full 'The default shape, too'
__upconv_option check family 'Only this kind of data' -x
__upconv_option judge problem 'A problem file' -x -a '(__fish_complete_suffix .md)'
__upconv_option judge symbol 'Name of the function' -x
__upconv_option judge quick 'Small cases only, no timing'
__upconv_option judge mode 'How strict' -x -a 'strict site'
__upconv_option judge cflags 'More words for the compiler' -x
__upconv_option judge list 'List the tests'
__upconv_option judge time-limit 'Seconds for a call in a small test' -x
__upconv_option judge default-time-limit 'Seconds for a call at the default shape' -x
__upconv_option judge timing 'Seconds for the timing' -x
__upconv_option judge memory-limit 'MiB that the solution may have' -x
__upconv_option bench repetitions 'Rounds' -x
__upconv_option bench check 'Check the outputs, too'
__upconv_option bench save 'Keep the results' -x -a '(__fish_complete_suffix .json)'
__upconv_option bench output 'The same' -s o -x -a '(__fish_complete_suffix .json)'
__upconv_option bench against 'Compare with kept results' -x -a '(__fish_complete_suffix .json)'
__upconv_option bench tolerance 'Percent slower that are fine' -x
__upconv_option bench peers 'Measure other libraries, too'
__upconv_option bench peer 'Measure a program, too' -x
__upconv_option report output 'The page to write' -s o -x -a '(__fish_complete_suffix .html)'
__upconv_option report title "The page's heading" -x
