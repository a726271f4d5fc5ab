# fish completion for kx, made by "make completions".
# Nothing that is typed is evaluated: the words go to kx as arguments.

function __kx_complete
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    set -l path (string replace -r -- '^--[^=]*=' '' "$word")
    set -l flag (string sub -l (math (string length -- "$word") - (string length -- "$path")) -- "$word")
    for line in (command $before[1] __complete -- $before[2..-1] "$word" 2>/dev/null)
        switch $line
            case :files
                for name in (__fish_complete_path "$path")
                    echo -- "$flag$name"
                end
            case :dirs
                for name in (__fish_complete_directories "$path" '')
                    echo -- "$flag$name"
                end
            case '*'
                echo -- $line
        end
    end
end

complete -c kx -f -a '(__kx_complete)'
