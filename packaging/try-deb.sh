#!/usr/bin/env bash
# Installs, starts, upgrades, removes and purges the Debian package of dist/ in a Debian of its own that runs its own systemd.
# Root on a Debian or Ubuntu with debootstrap, systemd-nspawn (package systemd-container) and ar (binutils); nothing outside of
# DEB_ROOT changes, and no port is taken: the container has a network of its own.
#   DEB_ROOT   the directory of the Debian, made if it is not there and kept (/var/tmp/settee-deb)
#   DEB        the package (the one of dist/ for this architecture)
set -euo pipefail
cd "$(dirname "$0")/.."

root=${DEB_ROOT:-/var/tmp/settee-deb}
arch=$(dpkg --print-architecture)
if [ -z "${DEB:-}" ]; then
  found=(dist/settee_*_"$arch".deb)
  DEB=${found[0]}
fi
[ -f "$DEB" ] || { echo "try-deb: $DEB is not there: make release" >&2; exit 1; }
port=5985 # another one than the default, by a changed local.ini
base=http://127.0.0.1:$port
step() { printf '\n=== %s\n' "$*"; }
fail() { echo "try-deb: $*" >&2; exit 1; }

if [ ! -x "$root/usr/bin/systemctl" ]; then
  step "a Debian in $root"
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,init-system-helpers,ca-certificates,curl bookworm "$root"
fi
work=$(mktemp -d)
stop() {
  if [ -n "${machine:-}" ]; then
    kill -s RTMIN+4 "$leader" 2>/dev/null || kill "$machine" || true # power off
    wait "$machine" || true
  fi
  rm -rf "$work"
}
trap stop EXIT

# The next version: the same files under a higher number.
version=$(dpkg-deb -f "$DEB" Version)
mkdir "$work/control"
dpkg-deb -e "$DEB" "$work/control"
sed -i "s/^Version: .*/Version: ${version%-*}.1-1/" "$work/control/control"
tar -C "$work/control" -czf "$work/control.tar.gz" .
cp "$DEB" "$root/first.deb"
(cd "$work" && ar x "$root/first.deb" debian-binary data.tar.xz && ar rc "$root/next.deb" debian-binary control.tar.gz data.tar.xz)

step "boot"
systemd-nspawn --quiet --register=no --keep-unit --private-network --directory "$root" --boot --console=pipe </dev/null >"$work/console" 2>&1 &
machine=$!
leader=
inside() { nsenter --target "$leader" --all -- "$@"; } # a command in the container
for _ in $(seq 100); do
  leader=$(pgrep -P "$machine" | head -1) || true
  [ -n "$leader" ] && inside systemctl is-system-running 2>/dev/null | grep -Eq 'running|degraded' && break
  sleep 0.3
done
inside systemctl is-system-running 2>/dev/null | grep -Eq 'running|degraded' || { cat "$work/console" >&2; fail "no system came up"; }
apt() { # apt ACTION PACKAGE, in the container, which says what it said if it fails
  inside env DEBIAN_FRONTEND=noninteractive apt-get "$1" -y -qq "$2" >"$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "apt-get $*"; }
}
ask() { inside curl --fail --silent --show-error --max-time 20 "$@"; }
up() {
  for _ in $(seq 100); do
    if inside curl --silent --output /dev/null "$base/"; then return; fi
    sleep 0.2
  done
  inside journalctl --no-pager -n 20 -u settee >&2
  fail "the server does not answer"
}

[ ! -e "$root/var/lib/dpkg/info/settee.list" ] || apt purge settee # of a run before
rm -rf "$root/var/lib/settee" "$root/etc/settee"

step "install: it runs, with an administrator whose password the journal has"
apt install /first.deb
inside sed -i "s/^;port = .*/port = $port/" /etc/settee/local.ini # a changed conffile
inside systemctl restart settee
up
password=$(inside journalctl --no-pager --boot -o cat -u settee --grep 'Created the administrator' | sed -n 's/.*with the password //p' | tail -1)
[ -n "$password" ] || fail "no password in the journal"
admin=http://admin:$password@127.0.0.1:$port
ask "$base/" | grep "\"git_sha\":\"${version%-*}" || fail "another server answers"
[ "$(inside curl --silent --output /dev/null --write-out '%{http_code}' "$base/_all_dbs")" = 401 ] || fail "strangers are let in"
[ "$(inside stat -c '%U:%G %a' /etc/settee/local.ini)" = "root:settee 640" ] || fail "local.ini is open to others"
[ "$(inside systemctl show -P User settee)" = settee ] || fail "it does not run as settee"
! ask -X PUT "$base/_node/_local/_config/log/level" -d '"debug"' 2>/dev/null || fail "strangers change settings"
ask -X PUT "$admin/_node/_local/_config/log/level" -d '"info"'

step "the unit lets JavaScript run, and confine itself"
ask -X PUT "$admin/kept"
ask -X PUT "$admin/kept/doc" -d '{"n":7}'
ask -X PUT "$admin/kept/_design/d" -d '{"views":{"v":{"map":"function (doc) { emit(doc.n * 6) }"}}}'
ask "$admin/kept/_design/d/_view/v" | grep '"key":42'
inside journalctl --no-pager -o cat -u settee --grep 'JavaScript workers are confined' | grep seccomp || fail "workers are not confined"

kept() { ask "$admin/kept/doc" | grep '"n":7' || fail "the document is gone"; }
step "upgrade: another process, the same data and settings"
before=$(inside systemctl show -P MainPID settee)
apt install /next.deb
up
kept
[ "$(inside systemctl show -P MainPID settee)" != "$before" ] || fail "the old program goes on"
inside grep "^port = $port" /etc/settee/local.ini || fail "the changed local.ini was replaced"

step "remove: it is stopped; data and settings stay; installed anew it goes on"
apt remove settee
! inside curl --silent --output /dev/null "$base/" || fail "the server still answers"
[ -d "$root/var/lib/settee/pebble" ] || fail "remove took the data"
[ -f "$root/etc/settee/local.ini" ] || fail "remove took the settings"
[ ! -e "$root/usr/bin/settee" ] || fail "remove left the program"
apt install /next.deb
up
kept
[ "$(inside systemctl is-enabled settee)" = enabled ] || fail "it would not start with the machine"

step "purge: only the data is left"
apt purge settee
[ -d "$root/var/lib/settee/pebble" ] || fail "purge took the data"
[ ! -e "$root/etc/settee" ] || fail "purge left settings"
! inside systemctl cat settee >/dev/null 2>&1 || fail "the unit is still there"
rm -rf "$root/var/lib/settee"

step "an administrator that was set before"
install -d "$root/etc/settee"
printf '[admins]\nanna = secret\n[chttpd]\nport = %s\n' "$port" >"$root/etc/settee/10-admin.ini"
apt install /first.deb
up
ask "http://anna:secret@127.0.0.1:$port/_all_dbs"
inside grep '^anna = -pbkdf2' /var/lib/settee/local.ini || fail "no hash was stored"
apt purge settee
rm -rf "$root/var/lib/settee" "$root/etc/settee" "$root"/{first,next}.deb
printf '\ntry-deb: all of it passed, %s\n' "$DEB"
