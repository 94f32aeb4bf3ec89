#!/bin/sh
# The image's entry point, a drop-in of CouchDB's: the same commands, environment, paths and user. Nothing, "couchdb", CouchDB's
# binary, "settee", or options start the server; any other command runs as it is.
set -eu

home=${SETTEE_HOME:-/opt/couchdb}
etc=$home/etc

case "${1:-settee}" in
  settee | couchdb | /opt/couchdb/bin/couchdb)
    [ $# -eq 0 ] || shift
    # "settee version", "settee check …" are commands of the binary itself
    case "${1:-}" in
      '' | -* | +*) ;;
      *) exec settee "$@" ;;
    esac
    ;;
  -* | +*) ;;
  *) exec "$@" ;;
esac

# Options of the Erlang emulator, as CouchDB's charts pass them, mean nothing here: +X, -name, -setcookie, -couch_ini … and theirs.
options=
for option in "$@"; do
  case "$option" in
    --*) options="$options $option" ;;
  esac
done

# Secrets may be in files, as Docker and Kubernetes mount them. They are read here, since the server's user may not.
for name in COUCHDB_USER COUCHDB_PASSWORD COUCHDB_SECRET; do
  eval "value=\${$name:-} file=\${${name}_FILE:-}"
  if [ -n "$file" ]; then
    if [ -n "$value" ]; then
      echo "ERROR: $name and ${name}_FILE are both set: set one of them." >&2
      exit 1
    fi
    value=$(cat "$file") || { echo "ERROR: the file that ${name}_FILE names cannot be read." >&2; exit 1; }
    export "$name=$value"
  fi
done

# What is set over HTTP is written to the last file that is read: docker.ini, unless a mounted file sorts behind it.
mkdir -p "$home/data" "$etc/default.d" "$etc/local.d" 2>/dev/null || true
touch "$etc/local.d/docker.ini" 2>/dev/null || true

# FoundationDB's client keeps the cluster file up to date, so it is one of this node's own, and not a mounted one.
if [ -n "${FDB_CLUSTER_FILE_CONTENTS:-}" ] && [ ! -s "$home/data/fdb.cluster" ]; then
  printf '%s\n' "$FDB_CLUSTER_FILE_CONTENTS" >"$home/data/fdb.cluster"
fi

if [ "$(id -u)" = 0 ]; then
  # mounted directories belong to whoever made them; files that cannot be changed, as those of a config map, stay as they are
  find "$home" \! \( -user couchdb -group couchdb \) -exec chown -f couchdb:couchdb '{}' + || true
  find "$etc" "$home/data" -type d \! -perm 0755 -exec chmod -f 0755 '{}' + || true
  find "$etc" -type f \! -perm 0644 -exec chmod -f 0644 '{}' + || true
  drop="setpriv --reuid=couchdb --regid=couchdb --clear-groups"
  export HOME="$home"
else
  drop=
fi

if [ -z "${COUCHDB_USER:-}" ] || [ -z "${COUCHDB_PASSWORD:-}" ]; then
  # an administrator is a line name = password in a section [admins] of any ini file
  if ! cat "$etc"/*.ini "$etc"/default.d/*.ini "$etc"/local.d/*.ini 2>/dev/null |
    awk '/^[ \t]*\[/ { in_admins = ($0 ~ /^[ \t]*\[admins\]/) } in_admins && /^[ \t]*[^;# \t\[][^=]*=[ \t]*[^ \t]/ { found = 1 } END { exit !found }'; then
    cat >&2 <<'EOF'
ERROR: no administrator. A CouchDB without one would let everybody in, so this container does not start.
Set COUCHDB_USER and COUCHDB_PASSWORD (docker run -e COUCHDB_USER=admin -e COUCHDB_PASSWORD=...), or COUCHDB_USER_FILE and
COUCHDB_PASSWORD_FILE, or mount an ini file with a section [admins] at /opt/couchdb/etc/local.ini or in /opt/couchdb/etc/local.d.
EOF
    exit 1
  fi
fi

cd "$home"
# shellcheck disable=SC2086 # options and the command to drop rights are lists
exec $drop settee serve --config "$etc/default.ini" --config "$etc/default.d" --config "$etc/local.ini" --config "$etc/local.d" $options
