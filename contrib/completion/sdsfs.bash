# Completion of sdsfs for bash. Made by scripts/tables.
_sdsfs() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local switches='' options='allow_other auto_unmount ca_bundle= cache_dir= cache_size= client_cert= client_key= config= endpoint= external= gid= log= log_format= max_record= mem_cache= no_sign_request path_style profile= refresh= region= requester_pays retries= state_dir= threads= timeout= tolerate= uid= umask= views='
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'mount umount info verify ls cat cp shard annotate index query status --help --version' -- "$word")
        return
    fi
    if [ "$before" = -o ]; then
        compopt -o nospace
        local done=${word%"${word##*,}"}
        mapfile -t COMPREPLY < <(compgen -P "$done" -W "$options" -- "${word##*,}")
        return
    fi
    case ${COMP_WORDS[1]} in
    mount) switches='-o --help -f --config --fd' ;;
    umount) switches='--help' ;;
    info) switches='-o --help --json' ;;
    verify) switches='-o --help --records --strict --json' ;;
    ls) switches='-o --help -l' ;;
    cat) switches='-o --help' ;;
    cp) switches='-o --help -r -R' ;;
    shard) switches='--help --json' ;;
    annotate) switches='-o --help --rows --metadata --publication-id --records-per-shard --shard --coordinate --check --json' ;;
    index) switches='-o --help --json' ;;
    query) switches='-o --help --paths --json' ;;
    status) switches='--help --json' ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$switches" -- "$word")
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -F _sdsfs sdsfs
