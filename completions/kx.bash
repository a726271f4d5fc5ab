# bash completion for kx, made by "make completions".
# Nothing that is typed is evaluated: the words go to kx as arguments.

_kx() {
    local line=${COMP_LINE:0:COMP_POINT} word='' piece='' value
    local -a words=()
    local i last strip

    # readline takes words apart at = and :. Pieces without a space between
    # them are one word again.
    line=${line#*"${COMP_WORDS[0]}"}
    for ((i = 1; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        word=${line#"${line%%[![:space:]]*}"}
        if ((i == COMP_CWORD)); then
            piece=$word # up to the cursor
        fi
        if ((${#words[@]} > 0)) && [[ $word == "$line" && -n $piece ]]; then
            last=$((${#words[@]} - 1))
            words[last]+=$piece
        else
            words+=("$piece")
        fi
        line=${word#"$piece"}
    done

    # What readline does not replace of the word.
    word=${words[${#words[@]} - 1]}
    strip=$((${#word} - ${#piece}))
    if [[ $piece == [=:] ]]; then
        strip=${#word}
    fi

    COMPREPLY=()
    while IFS= read -r line; do
        value=${line%%$'\t'*}
        case $value in
        :files) compopt -o default 2>/dev/null ;;
        :dirs) compopt -o dirnames 2>/dev/null ;;
        *)
            printf -v value %q "${value:strip}"
            COMPREPLY+=("$value")
            ;;
        esac
    done < <("$1" __complete -- "${words[@]}" 2>/dev/null)
}

complete -F _kx kx
