# Facts that every script here needs. It is sourced, with the repository as the working folder.

BINARY=${BINARY:-${CARGO_TARGET_DIR:-target}/release/pointsman}
OUT=${OUT:-${CARGO_TARGET_DIR:-target}/packages}
VERSION=$(sed -n '/^\[workspace.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
DESCRIPTION=$(sed -n 's/^description = "\(.*\)"/\1/p' crates/pointsman/Cargo.toml)
MAINTAINER="The Pointsman authors <maintainers@pointsman.invalid>"
# Packages of the same commit are the same, byte for byte.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)}
export SOURCE_DATE_EPOCH
umask 022

# Fills a template in for one of the two packages.
# usage: fill PACKAGE FILE
fill() {
    case $1 in
        pointsman)
            program=pointsman
            config=/etc/pointsman/pointsman.toml
            command="pointsman serve --config $config"
            tmp="PrivateTmp=yes"
            description="Pointsman, a MySQL proxy"
            ;;
        pointsman-proxysql)
            program=proxysql
            config=/etc/proxysql.cnf
            command="proxysql -f -c $config"
            # ProxySQL's usual sockets are in /tmp, where clients look for them.
            tmp="ReadWritePaths=/tmp"
            description="Pointsman in place of ProxySQL"
            ;;
    esac
    sed -e "s|@PACKAGE@|$1|g" -e "s|@PROGRAM@|$program|g" -e "s|@UNIT@|$program.service|g" \
        -e "s|@CONFIG@|$config|g" -e "s|@COMMAND@|$command|g" -e "s|@DESCRIPTION@|$description|g" \
        -e "s|@TMP@|$tmp|g" "$2"
}
