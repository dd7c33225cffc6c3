#compdef sdsfs
# Completion of sdsfs for zsh. Made by scripts/tables.
_sdsfs_options() {
    _values -s , option \
        'allow_other[let other users in]' \
        'auto_unmount[unmount when the daemon is killed, too]' \
        'ca_bundle[certificates to trust instead of the system'\''s]:file:_files' \
        'cache_dir[where data from servers is kept (default /var/cache/sdsfs or ~/.cache/sdsfs)]:directory:_files -/' \
        'cache_size[bytes to keep there (default 10G; 0\: none)]:SIZE: ' \
        'client_cert[our own certificate for TLS (PEM)]:file:_files' \
        'client_key[its key (PEM)]:file:_files' \
        'config[where more options stand (default /etc/sdsfs/sdsfs.conf or ~/.config/sdsfs/sdsfs.conf)]:file:_files' \
        'endpoint[server to ask instead of the provider'\''s own]:URL: ' \
        'external[which absolute references to follow (default same)]:value:(none same any)' \
        'gid[group of everything (default\: the mounting user'\''s)]:NUMBER: ' \
        'log[how much to log (default info)]:value:(error warning info debug)' \
        'log_format[lines of the log (default text)]:value:(text json)' \
        'max_record[largest record to decode (default 1G)]:SIZE: ' \
        'mem_cache[memory for caches (default 96M)]:SIZE: ' \
        'no_sign_request[ask without credentials (public data)]' \
        'path_style[S3\: the bucket in the path, not in the host name]' \
        'prefetch[how much is read ahead of one reader (default 24M; 0\: nothing)]:SIZE: ' \
        'profile[S3\: profile of the shared configuration]:NAME: ' \
        'refresh[how long until annotations published by others are seen (default 1; 60 on a server)]:SECONDS: ' \
        'region[S3\: region of the bucket]:NAME: ' \
        'requester_pays[we pay for the requests]' \
        'retries[how often a failed request is repeated (default 5)]:0-100: ' \
        'state_dir[where drafts are kept (default /var/lib/sdsfs or ~/.local/state/sdsfs)]:directory:_files -/' \
        'threads[requests served at a time (default\: twice the processors)]:1-256: ' \
        'timeout[how long an operation on a server may take, retries and all (default 30)]:SECONDS: ' \
        'tolerate[go on without annotations that fail a check]:value:(annotations)' \
        'uid[owner of everything (default\: the mounting user)]:NUMBER: ' \
        'umask[permission bits to take away (default 0)]:OCTAL: ' \
        'views[files to show fields as (default npy,sigmf)]:value:(npy sigmf bin)' \
        'ro[nothing is published through the mount]'
}
_sdsfs() {
    if (( CURRENT == 2 )); then
        _values command \
            'mount[Mount a dataset]' \
            'umount[Unmount, and wait until the daemon has ended]' \
            'info[Tell what a dataset holds]' \
            'verify[Check a dataset from its root down]' \
            'ls[List a directory of a dataset]' \
            'cat[Write files of a dataset to standard output]' \
            'cp[Copy files out of a dataset]' \
            'shard[Look into an ArrayRecord file]' \
            'annotate[Publish annotations]' \
            'index[Build the index of all metadata]' \
            'query[Find records by their metadata]' \
            'status[Tell how a mount is]'
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
    mount)
        _arguments '--help[tell more]' '*-o[options]:option:_sdsfs_options' \
            '-f[stay in the foreground, log to standard error]' \
            '--config[read options from a file, the root and the mountpoint too]:FILE:_files' \
            '--fd[serve a mount that others made with this descriptor of /dev/fuse]:N: ' \
            '*:directory:_files -/'
        ;;
    umount)
        _arguments '--help[tell more]' \
            '*:directory:_files -/'
        ;;
    info)
        _arguments '--help[tell more]' '*-o[options]:option:_sdsfs_options' \
            '--json[as a JSON object]' \
            '*:directory:_files -/'
        ;;
    verify)
        _arguments '--help[tell more]' '*-o[options]:option:_sdsfs_options' \
            '--records[decode every record too]' \
            '--strict[warnings are problems]' \
            '--json[a JSON object a line, the last one a summary]' \
            '*:directory:_files -/'
        ;;
    ls)
        _arguments '--help[tell more]' '*-o[options]:option:_sdsfs_options' \
            '-l[also mode, size and what a link points to]' \
            '*:directory:_files -/'
        ;;
    cat)
        _arguments '--help[tell more]' '*-o[options]:option:_sdsfs_options' \
            '*:directory:_files -/'
        ;;
    cp)
        _arguments '--help[tell more]' '*-o[options]:option:_sdsfs_options' \
            '-r[directories with all that is in them]' \
            '-R[the same]' \
            '*:file:_files'
        ;;
    shard)
        _arguments '--help[tell more]' \
            '--json[an object a line\: {"index", "bytes", "sha256"} or {"index", "error"}]' \
            '*:file:_files'
        ;;
    annotate)
        _arguments '--help[tell more]' '*-o[options]:option:_sdsfs_options' \
            '--rows[the rows, one a line; - is standard input (kept in the state directory meanwhile)]:FILE:_files' \
            '--metadata[the set'\''s metadata, a JSON object]:FILE:_files' \
            '--publication-id[instead of one made from snapshot and set]:ID: ' \
            '--records-per-shard[rows in one object (default 10000)]:N: ' \
            '--shard[one worker'\''s rows, as logical shard ID of the set]:ID: ' \
            '--coordinate[make the set of workers'\'' shards, whose ids are in FILE, one a line]:FILE:_files' \
            '--check[only check]' \
            '--json[print the receipt]' \
            '*:directory:_files -/'
        ;;
    index)
        _arguments '--help[tell more]' '*-o[options]:option:_sdsfs_options' \
            '--json[tell of it as a JSON object]' \
            '*:directory:_files -/'
        ;;
    query)
        _arguments '--help[tell more]' '*-o[options]:option:_sdsfs_options' \
            '--paths[print paths below a mountpoint instead of ordinals]' \
            '--json[print the records'\'' lines of index/records.jsonl instead]' \
            '*:directory:_files -/'
        ;;
    status)
        _arguments '--help[tell more]' \
            '--json[print one JSON object\: state, status and metrics, or why there are none]' \
            '*:directory:_files -/'
        ;;
    esac
}
_sdsfs "$@"
