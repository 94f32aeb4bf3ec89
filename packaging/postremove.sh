#!/bin/sh
# After the files went. deb: "remove", "purge", "upgrade"; rpm: how many versions stay. The data never goes with the package.
set -e
if [ -d /run/systemd/system ]; then systemctl --system daemon-reload >/dev/null || true; fi
case "${1:-}" in
  remove) deb-systemd-helper mask settee.service >/dev/null 2>&1 || true ;;
  purge)
    deb-systemd-helper purge settee.service >/dev/null 2>&1 || true
    deb-systemd-helper unmask settee.service >/dev/null 2>&1 || true
    [ ! -d /var/lib/settee ] || echo "settee: the data stays in /var/lib/settee; rm -r /var/lib/settee deletes it" >&2
    ;;
  1) [ ! -d /run/systemd/system ] || systemctl try-restart settee.service >/dev/null 2>&1 || true ;; # rpm: after an upgrade
esac
