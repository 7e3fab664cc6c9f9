complete -c proxysql -s c -l config -d 'The configuration file [default: proxysql.cnf or proxysql.cfg, here or in /etc]' -r -F
complete -c proxysql -s D -l datadir -d 'The folder of the saved configuration [default: that of the file, or /var/lib/proxysql]' -r
complete -c proxysql -s S -l admin-socket -d 'Where the admin port listens, in place of admin-mysql_ifaces' -r
complete -c proxysql -s U -l uuid -d 'Identity in a cluster' -r
complete -c proxysql -s d -l debug -d 'Verbosity of debug builds: the variable `RUST_LOG` has that of this program' -r
complete -c proxysql -s a -l admin-pathname -d 'File of the saved configuration: it is always in datadir' -r -F
complete -c proxysql -l initial -d 'Start with the file even if datadir has a saved configuration, which is put aside'
complete -c proxysql -l reload -d 'Add the rows of the file to the saved configuration, where they replace those with the same keys'
complete -c proxysql -s n -l no-start -d 'Open the admin port only, and no port for clients'
complete -c proxysql -s M -l no-monitor -d 'Check no servers'
complete -c proxysql -s r -l reuseport -d 'Listen beside other instances on the same TCP ports (`SO_REUSEPORT`)'
complete -c proxysql -s h -l help -l usage -d 'Print this'
complete -c proxysql -s V -l version -d 'Print the version'
complete -c proxysql -s f -l foreground -d 'Stay in the foreground: it always does'
complete -c proxysql -s e -l exit-on-error -d 'Start no other process after a crash: the service manager does'
complete -c proxysql -l idle-threads -d 'Threads for idle clients: they need none'
complete -c proxysql -l no-version-check -d 'Do not look for newer versions: it never does'
complete -c proxysql -l sqlite3-server -d 'A server of SQLite: there is none'
complete -c proxysql -l clickhouse-server -d 'A server for `ClickHouse`: there is none'
