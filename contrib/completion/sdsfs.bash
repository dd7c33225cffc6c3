# Completion of sdsfs for bash. Made by scripts/tables.
# The list behind -o. Sets COMPREPLY to whole words.
_sdsfs_options() {
    local item=${1##*,} kind='' values=''
    local front=${1%"$item"} name=${item%%=*}
    compopt -o nospace
    if [[ $item != *=* ]]; then
        mapfile -t COMPREPLY < <(compgen -P "$front" -W 'allow_other auto_unmount ca_bundle= cache_dir= cache_size= client_cert= client_key= config= endpoint= external= gid= log= log_format= max_record= mem_cache= no_sign_request path_style prefetch= profile= refresh= region= requester_pays retries= state_dir= threads= timeout= tolerate= uid= umask= views= ro' -- "$item")
        return
    fi
    case $name in
    cache_dir | state_dir) kind=-d ;;
    ca_bundle | client_cert | client_key | config) kind=-f ;;
    allow_other | auto_unmount | no_sign_request | path_style | requester_pays) values='yes no' ;;
    external) values='none same any' ;;
    log) values='error warning info debug' ;;
    log_format) values='text json' ;;
    tolerate) values='annotations' ;;
    views) values='npy sigmf bin' ;;
    esac
    [[ -z $kind ]] || compopt -o filenames
    mapfile -t COMPREPLY < <(compgen $kind -P "$front$name=" -W "$values" -- "${item#*=}")
}
_sdsfs() {
    # Bash takes "=" and ":" for the ends of words: what was typed is put together again, and what is
    # answered is only what stands behind the last of them.
    local i=$COMP_CWORD last=${COMP_WORDS[COMP_CWORD]}
    local word=$last
    while ((i > 1)) && [[ ${COMP_WORDS[i]} == [=:]* || ${COMP_WORDS[i-1]} == *[=:] ]]; do
        ((i--))
        word=${COMP_WORDS[i]}$word
    done
    local before=${COMP_WORDS[i-1]} kept=${word%"$last"}
    [[ $last != [=:]* ]] || kept=$word
    COMPREPLY=()
    if ((i == 1)); then
        mapfile -t COMPREPLY < <(compgen -W 'mount umount info verify ls cat cp shard annotate index query status --help --version' -- "$word")
    elif [[ $before == -o ]]; then
        _sdsfs_options "$word"
    else
        _sdsfs_arguments
    fi
    COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}
_sdsfs_arguments() {
    local switches='' kind=-d
    case ${COMP_WORDS[1]} in
    mount) switches='-o --help -f --config --fd' ;;
    umount) switches='--help' ;;
    info) switches='-o --help --json' ;;
    verify) switches='-o --help --records --strict --json' ;;
    ls) switches='-o --help -l' ;;
    cat) switches='-o --help' ;;
    cp) switches='-o --help -r -R' kind=-f ;;
    shard) switches='--help --json' kind=-f ;;
    annotate) switches='-o --help --rows --metadata --publication-id --records-per-shard --shard --coordinate --check --json' ;;
    index) switches='-o --help --json' ;;
    query) switches='-o --help --paths --json' ;;
    status) switches='--help --json' ;;
    esac
    case $before in
    --config | --rows | --metadata | --coordinate) kind=-f ;;
    --fd | --publication-id | --records-per-shard | --shard) return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$switches" -- "$word")
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen $kind -- "$word")
    fi
}
complete -F _sdsfs sdsfs
