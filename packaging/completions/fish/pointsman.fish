# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_pointsman_global_optspecs
    string join \n h/help V/version
end

function __fish_pointsman_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_pointsman_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_pointsman_using_subcommand
    set -l cmd (__fish_pointsman_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c pointsman -n "__fish_pointsman_needs_command" -s h -l help -d 'Print help'
complete -c pointsman -n "__fish_pointsman_needs_command" -s V -l version -d 'Print version'
complete -c pointsman -n "__fish_pointsman_needs_command" -f -a "serve" -d 'Serve clients until SIGTERM or Ctrl-C'
complete -c pointsman -n "__fish_pointsman_needs_command" -f -a "check" -d 'Say whether a configuration file can be used, and what is wrong with it'
complete -c pointsman -n "__fish_pointsman_needs_command" -f -a "import" -d 'Take the configuration that ProxySQL 2 has saved in its proxysql.db'
complete -c pointsman -n "__fish_pointsman_needs_command" -f -a "demo" -d 'Start a MariaDB primary with two replicas, the proxy in front, and a load: see it work'
complete -c pointsman -n "__fish_pointsman_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pointsman -n "__fish_pointsman_using_subcommand serve" -s c -l config -d 'The configuration: a pointsman.toml, a proxysql.cnf, a mysqlrouter.conf, kingshard\'s file, or the folder of ShardingSphere-Proxy\'s files; its content tells which' -r -F
complete -c pointsman -n "__fish_pointsman_using_subcommand serve" -l log-format -d 'Form of the log, in place of `log_format` of the configuration' -r -f -a "text\t'Lines of text'
json\t'A JSON object in each line'"
complete -c pointsman -n "__fish_pointsman_using_subcommand serve" -l strict -d 'Refuse a proxysql.cnf or mysqlrouter.conf with settings that cannot be used, instead of leaving them out with a warning'
complete -c pointsman -n "__fish_pointsman_using_subcommand serve" -l initial -d 'Start with the file even if datadir has a saved configuration, which is put aside as pointsman.db.bak'
complete -c pointsman -n "__fish_pointsman_using_subcommand serve" -l reload -d 'Add the rows of the file to the saved configuration, where they replace those with the same keys'
complete -c pointsman -n "__fish_pointsman_using_subcommand serve" -l reuse-port -d 'Listen beside other instances that were started with this option, on the same TCP ports for clients (`SO_REUSEPORT`)'
complete -c pointsman -n "__fish_pointsman_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pointsman -n "__fish_pointsman_using_subcommand check" -s c -l config -d 'The configuration: a pointsman.toml, a proxysql.cnf, a mysqlrouter.conf, kingshard\'s file, or the folder of ShardingSphere-Proxy\'s files; its content tells which' -r -F
complete -c pointsman -n "__fish_pointsman_using_subcommand check" -l strict -d 'Refuse a proxysql.cnf or mysqlrouter.conf with settings that cannot be used, instead of leaving them out with a warning'
complete -c pointsman -n "__fish_pointsman_using_subcommand check" -s h -l help -d 'Print help'
complete -c pointsman -n "__fish_pointsman_using_subcommand import" -l datadir -d 'Where the saved configuration, pointsman.db, is made' -r -F
complete -c pointsman -n "__fish_pointsman_using_subcommand import" -s h -l help -d 'Print help'
complete -c pointsman -n "__fish_pointsman_using_subcommand demo" -l seconds -d 'End by itself after this time, in seconds, with exit code 0 only if no query failed; otherwise run until Ctrl-C' -r
complete -c pointsman -n "__fish_pointsman_using_subcommand demo" -l connections -d 'Clients of the load' -r
complete -c pointsman -n "__fish_pointsman_using_subcommand demo" -l port -d 'Where the proxy listens on 127.0.0.1; a free port is taken if another process has this one' -r
complete -c pointsman -n "__fish_pointsman_using_subcommand demo" -l failover -d 'Kill the primary after five seconds of load and promote a replica; show the errors and how long nothing was written'
complete -c pointsman -n "__fish_pointsman_using_subcommand demo" -l cache -d 'Cache point selects in two proxies, one near the clients and one near the servers; show their hits, what reaches the servers, and clients without a cache beside that'
complete -c pointsman -n "__fish_pointsman_using_subcommand demo" -l shards -d 'Split the tables of a shop over four servers; show the rows of each shard, and statements that go to one shard beside those that go to all'
complete -c pointsman -n "__fish_pointsman_using_subcommand demo" -s h -l help -d 'Print help'
complete -c pointsman -n "__fish_pointsman_using_subcommand help; and not __fish_seen_subcommand_from serve check import demo help" -f -a "serve" -d 'Serve clients until SIGTERM or Ctrl-C'
complete -c pointsman -n "__fish_pointsman_using_subcommand help; and not __fish_seen_subcommand_from serve check import demo help" -f -a "check" -d 'Say whether a configuration file can be used, and what is wrong with it'
complete -c pointsman -n "__fish_pointsman_using_subcommand help; and not __fish_seen_subcommand_from serve check import demo help" -f -a "import" -d 'Take the configuration that ProxySQL 2 has saved in its proxysql.db'
complete -c pointsman -n "__fish_pointsman_using_subcommand help; and not __fish_seen_subcommand_from serve check import demo help" -f -a "demo" -d 'Start a MariaDB primary with two replicas, the proxy in front, and a load: see it work'
complete -c pointsman -n "__fish_pointsman_using_subcommand help; and not __fish_seen_subcommand_from serve check import demo help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
